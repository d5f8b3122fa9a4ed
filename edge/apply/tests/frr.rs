//! Real FRR daemons are told what to hold, and asked what they hold.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../observe/tests/daemons/mod.rs"]
mod daemons;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::thread::sleep;
use std::time::Duration;

use apply::frr::{FrrHeld, FrrTrouble, hold};
use daemons::Daemons;
use model::Dialect;
use observe::{Place, Vrfs};

const CHANGED: FrrHeld = FrrHeld { changed: true, forgot: false };
const UNCHANGED: FrrHeld = FrrHeld { changed: false, forgot: false };
const REPAIRED: FrrHeld = FrrHeld { changed: true, forgot: true };

#[test]
fn an_empty_frr_becomes_what_it_was_sent_and_is_not_touched_again() {
    let daemons = Daemons::start();
    let sent = text(&[HEAD, &tenant(17), &tenant(18), &job(1001), &job(2001)]);
    check(&daemons, &sent, REPAIRED);
}

#[test]
fn jobs_and_tenants_come_and_go_and_come_back() {
    let daemons = Daemons::start();
    let (red, blue) = (tenant(17), tenant(18));
    check(&daemons, HEAD, REPAIRED);
    check(&daemons, &text(&[HEAD, &red, &job(1001)]), CHANGED);
    check(&daemons, &text(&[HEAD, &red, &job(1001), &job(1002), &blue, &job(2001)]), CHANGED);
    check(&daemons, &text(&[HEAD, &red, &job(1002), &blue, &job(2001)]), CHANGED);
    check(&daemons, &text(&[HEAD, &red, &job(1002), CONSENT, &blue]), CHANGED);
    check(&daemons, &text(&[HEAD, &blue]), CHANGED);
    check(&daemons, &text(&[HEAD, &red, &blue, &job(1001)]), CHANGED);
    check(&daemons, HEAD, CHANGED);
}

#[test]
fn a_tenant_goes_though_its_vrf_and_tunnel_are_in_use() {
    let daemons = Daemons::start();
    make_vrf(&daemons);
    check(&daemons, &text(&[HEAD, &tenant(17), &job(1001)]), REPAIRED);
    await_vni(&daemons);
    check(&daemons, HEAD, CHANGED);
    check(&daemons, &text(&[HEAD, &tenant(17)]), CHANGED);
    check(&daemons, &text(&[HEAD, &tenant(18)]), CHANGED);
}

/// Whether bgpd misses that the VNI has gone is a race inside of FRR; about one of eight is lost.
#[test]
fn a_tenant_whose_namespace_went_first_goes_at_last_when_it_came_back() {
    const ENOUGH_TRIES: usize = 16;
    let daemons = Daemons::start();
    check(&daemons, HEAD, REPAIRED);
    for _ in 0..ENOUGH_TRIES {
        make_vrf(&daemons);
        check(&daemons, &text(&[HEAD, &tenant(17)]), CHANGED);
        daemons.shell("rm /run/netns/t17; umount -l /run/netns/.real/vrfs/t17");
        match hold(daemons.folder(), HEAD) {
            Ok(held) => assert_eq!(held, CHANGED),
            Err(FrrTrouble::Stuck { vrf, vni }) => {
                assert_eq!((vrf.as_str(), vni.as_str()), ("t17", "50017"));
                make_vrf(&daemons);
                check(&daemons, HEAD, CHANGED);
                daemons.shell("rm /run/netns/t17; umount -l /run/netns/.real/vrfs/t17");
            }
            Err(trouble) => panic!("{trouble}"),
        }
    }
}

#[test]
fn what_a_person_changed_is_seen_and_undone() {
    let mut daemons = Daemons::start();
    daemons.begin("staticd");
    let sent = text(&[HEAD, &tenant(17), &tenant(18), &job(1001)]);
    check(&daemons, &sent, REPAIRED);
    let by_hand: &[&[&str]] = &[
        &["router bgp 4200000003", EVPN, "vni 101001", "route-target import 65000:102001"],
        &["router bgp 4200000003", EVPN, "vni 101001", "rd 10.255.0.3:7"],
        &["router bgp 4200000003", EVPN, "vni 101001", "no route-target export 65000:101001"],
        &["router bgp 4200000003", EVPN, "no vni 101001"],
        &["router bgp 4200000003", EVPN, "vni 99"],
        &["router bgp 4200000003", EVPN, "advertise-default-gw"],
        &["router bgp 4200000003 vrf t17", EVPN, "route-target import 65000:50018"],
        &["router bgp 4200000003 vrf t17", EVPN, "default-originate ipv4"],
        &["router bgp 4200000003 vrf t17", UNICAST, "import vrf t18"],
        &["router bgp 4200000003 vrf t17", "neighbor 10.1.0.9 remote-as 7"],
        &["router bgp 4200000003 vrf t99", UNICAST, "redistribute connected"],
        &["router bgp 4200000003", "neighbor 172.16.0.5 remote-as 4200000101"],
        &["router bgp 4200000003", "no neighbor 172.16.0.5"],
        &["router bgp 4200000003", "neighbor 172.16.0.5 route-map LEAK out"],
        &["router bgp 4200000003", "neighbor A peer-group", "neighbor A remote-as external"],
        &[
            "router bgp 4200000003",
            "neighbor 172.16.9.9 remote-as 7",
            EVPN,
            "neighbor 172.16.9.9 activate",
        ],
        &["router bgp 4200000003", "neighbor 172.16.0.5 timers 60 180"],
        &["router bgp 4200000003", "bgp ebgp-requires-policy"],
        &["router bgp 4200000003", "bgp router-id 10.255.0.77"],
        &["router bgp 4200000003", UNICAST, "network 10.0.0.0/8"],
        &["route-map LEAK permit 10", "set metric 5"],
        &["vrf t17", "no vni 50017", "vni 50099"],
        &["vrf t18", "no vni 50018", "exit", "no router bgp 4200000003 vrf t18"],
        &["interface swp33", "description hello you"],
        &["interface swp33", "ip address 10.3.0.1/24"],
        &["interface lo", "ip address 10.255.0.99/32"],
        &["ip route 10.0.0.0/8 172.16.0.5"],
        &["vrf t17", "ip route 10.0.0.0/8 10.1.0.5"],
        &["ip prefix-list ALL seq 5 permit any"],
        &["zebra nexthop kernel enable"],
    ];
    for commands in by_hand {
        daemons.by_hand(commands);
        assert_ne!(differing(&daemons, &sent), Vec::<String>::new(), "not seen: {commands:?}");
        check(&daemons, &sent, CHANGED);
    }
}

#[test]
fn a_daemon_that_was_restarted_is_told_everything_again() {
    let mut daemons = Daemons::start();
    let sent = text(&[HEAD, &tenant(17), &job(1001)]);
    check(&daemons, &sent, REPAIRED);
    for daemon in ["bgpd", "zebra"] {
        daemons.end(daemon);
        daemons.begin(daemon);
        assert_ne!(differing(&daemons, &sent), Vec::<String>::new(), "{daemon} is empty");
        check(&daemons, &sent, REPAIRED);
    }
}

/// zebra refuses to give it up, without a word, and does.
#[test]
fn an_address_that_the_kernel_has_lost_gives_way_to_another() {
    let daemons = Daemons::start();
    check(&daemons, HEAD, REPAIRED);
    daemons.shell("ip address del 172.16.0.4/31 dev swp33");
    let mut zebra = observe::Vty::open(daemons.folder(), "zebra").unwrap();
    let is_lost = |_: &u32| {
        sleep(Duration::from_millis(1));
        !zebra.say("show interface swp33").unwrap().contains("172.16.0.4")
    };
    assert!((0..10_000).find(is_lost).is_some(), "zebra never heard that it is gone");
    check(&daemons, &HEAD.replace("172.16.0.4/31", "172.16.0.6/31"), CHANGED);
}

#[test]
fn a_refusal_names_the_daemon_the_command_and_its_words() {
    let daemons = Daemons::start();
    let sent = text(&[HEAD, &job(1001).replace("rd 10.255.0.3:1001", "rd nonsense")]);
    let trouble = hold(daemons.folder(), &sent).unwrap_err().to_string();
    let expected = "bgpd of FRR refuses `rd nonsense`: Malformed Route Distinguisher (status 1)";
    assert_eq!(trouble, expected);
}

#[test]
fn a_vrf_that_zebra_never_sees_is_named() {
    let daemons = Daemons::start();
    let trouble = apply::frr::await_vrfs(&place(&daemons), &["t17"]).unwrap_err().to_string();
    let expected = "zebra of FRR does not know the VRF t17; \
                    does it run with -n and see its namespace, or without if VRFs are devices?";
    assert_eq!(trouble, expected);
}

/// zebra does not come again by itself: here because the namespace was another VRF's when it came.
#[test]
fn a_vrf_that_zebra_has_overlooked_gets_its_name_again() {
    let daemons = Daemons::start();
    make_namespace(&daemons, "t18");
    daemons.shell(
        "touch /run/netns/.real/vrfs/t17
         mount --bind /run/netns/.real/vrfs/t18 /run/netns/.real/vrfs/t17
         ln -s .real/vrfs/t17 /run/netns/t17",
    );
    sleep(Duration::from_secs(1));
    daemons.shell("umount /run/netns/.real/vrfs/t17");
    daemons.shell("unshare -n mount --bind /proc/self/ns/net /run/netns/.real/vrfs/t17");
    let is_known = || observe::known_vrfs(daemons.folder()).unwrap().contains("t17");
    assert!(!is_known());
    apply::frr::await_vrfs(&place(&daemons), &["t18", "t17"]).unwrap();
    assert!(is_known());
}

/// bgpd says that it took the word before zebra has heard it.
#[test]
fn a_segment_is_awaited_until_zebra_has_heard_of_it() {
    let daemons = Daemons::start();
    make_vrf(&daemons);
    let mut zebra = observe::Vty::open(daemons.folder(), "zebra").unwrap();
    assert!(!zebra.say("show evpn vni").unwrap().contains("50017"), "EVPN is off");
    check(&daemons, HEAD, REPAIRED);
    await_segments(&daemons, &[(50017, "t17")]).unwrap();
    assert!(zebra.say("show evpn vni").unwrap().contains("50017"));
}

/// bgpd of a spine tells zebra nothing of segments.
#[test]
fn a_device_without_segments_waits_for_none() {
    let daemons = Daemons::start();
    await_segments(&daemons, &[]).unwrap();
}

#[test]
fn a_segment_that_zebra_never_sees_is_named() {
    let daemons = Daemons::start();
    make_namespace(&daemons, "t17");
    check(&daemons, HEAD, REPAIRED);
    let trouble = await_segments(&daemons, &[(101_001, "t17")]).unwrap_err().to_string();
    assert_eq!(
        trouble,
        "zebra of FRR does not know VNI 101001 as a segment of VRF t17: something changes there each \
         time zebra looks, or the tunnel or its bridge is not there; restart zebra"
    );
}

/// zebra asks for the number of a namespace through a socket that hears of addresses there, too,
/// and takes the first word for its answer: about one of four is misunderstood here.
#[test]
fn a_vrf_that_a_restarted_zebra_has_misunderstood_gets_its_name_again() {
    const ENOUGH_TRIES: usize = 16;
    let mut daemons = Daemons::start();
    make_vrf(&daemons);
    for _ in 0..ENOUGH_TRIES {
        daemons.end("bgpd");
        daemons.end("zebra");
        let changes = "address add 192.0.2.1/32 dev lo\naddress del 192.0.2.1/32 dev lo";
        daemons.shell(&format!(
            "exec >/dev/null 2>&1
             yes '{changes}' | timeout 1 nsenter --net=/run/netns/t17 ip -force -batch - &
             sleep 0.3"
        ));
        daemons.begin("zebra");
        sleep(Duration::from_secs(1));
        daemons.begin("bgpd");
        check(&daemons, HEAD, REPAIRED);
        let Vrfs::Namespaces(names) = place(&daemons).vrfs else { panic!("VRFs are namespaces") };
        let name = || names.join("t17").symlink_metadata().unwrap().ino();
        let before = name();
        await_segments(&daemons, &[(50017, "t17")]).unwrap();
        if name() != before {
            return;
        }
    }
}

fn await_segments(daemons: &Daemons, segments: &[(u32, &str)]) -> Result<(), FrrTrouble> {
    apply::frr::await_segments(&place(daemons), HEAD, &segments.iter().copied().collect())
}

/// Where the daemons are, as seen from here.
fn place(daemons: &Daemons) -> Place {
    let zebra = fs::read_to_string(daemons.folder().join("zebra.pid")).unwrap();
    Place {
        frr: daemons.folder().into(),
        filter: "/nowhere".into(),
        vrfs: Vrfs::Namespaces(format!("/proc/{}/root/run/netns", zebra.trim()).into()),
        state: "/run/netns/.real".into(),
    }
}

/// Makes the namespace of a VRF.
fn make_namespace(daemons: &Daemons, vrf: &str) {
    daemons.shell(&format!(
        "mkdir -p /run/netns/.real/vrfs
         touch /run/netns/.real/vrfs/{vrf}
         unshare -n mount --bind /proc/self/ns/net /run/netns/.real/vrfs/{vrf}
         ln -s .real/vrfs/{vrf} /run/netns/{vrf}"
    ));
    apply::frr::await_vrfs(&place(daemons), &[vrf]).unwrap();
}

/// Makes the namespace of a VRF, and as an agent does a bridge and then a tunnel for its VNI.
fn make_vrf(daemons: &Daemons) {
    make_namespace(daemons, "t17");
    daemons.shell(
        // The kernel takes its time with a namespace that went; until then the VNI is in use.
        "for _ in $(seq 1000); do
             ip link add vx50017 type vxlan id 50017 local 10.255.0.3 dstport 4789 gbp && break
             sleep 0.01
         done
         inside() { nsenter --net=/run/netns/t17 \"$@\"; }
         inside ip link add br50017 type bridge
         ip link set vx50017 netns /run/netns/t17
         inside ip link set vx50017 master br50017
         inside ip link set br50017 up
         inside ip link set vx50017 up",
    );
}

/// Waits until bgpd has learnt from zebra that the VNI of the VRF is in use.
fn await_vni(daemons: &Daemons) {
    let is_known = |_: &u32| {
        sleep(Duration::from_millis(1));
        let mut bgpd = observe::Vty::open(daemons.folder(), "bgpd").unwrap();
        bgpd.say("show bgp l2vpn evpn vni").unwrap().contains("50017      L3")
    };
    assert!((0..10_000).find(is_known).is_some(), "bgpd never heard of VNI 50017");
}

/// Sends the text: FRR becomes it in the way expected, then holds it, and a second time nothing
/// is to be done.
fn check(daemons: &Daemons, sent: &str, became: FrrHeld) {
    let folder = daemons.folder();
    let held = hold(folder, sent).unwrap_or_else(|trouble| panic!("{trouble}"));
    assert_eq!(differing(daemons, sent), Vec::<String>::new());
    assert_eq!(held, became);
    assert_eq!(hold(folder, sent).unwrap(), UNCHANGED);
}

fn differing(daemons: &Daemons, sent: &str) -> Vec<String> {
    let held = observe::frr(daemons.folder()).unwrap();
    let differences = read::differences(Dialect::Frr, sent, &held).into_iter();
    differences.map(|difference| format!("{difference:?}")).collect()
}

fn text(parts: &[&str]) -> String {
    parts.concat()
}

const EVPN: &str = "address-family l2vpn evpn";
const UNICAST: &str = "address-family ipv4 unicast";

const HEAD: &str = "\
frr version 8.4.4
frr defaults datacenter
hostname leaf-3
no zebra nexthop kernel enable
service integrated-vtysh-config
interface lo
 ip address 10.255.0.3/32
exit
interface swp33
 ip address 172.16.0.4/31
exit
router bgp 4200000003
 bgp router-id 10.255.0.3
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
 neighbor 172.16.0.5 remote-as 4200000100
 neighbor 172.16.0.5 timers 1 3
 neighbor 172.16.0.5 timers connect 1
 address-family ipv4 unicast
  network 10.255.0.3/32
  neighbor 172.16.0.5 activate
 exit-address-family
 address-family l2vpn evpn
  neighbor 172.16.0.5 activate
  advertise-all-vni
 exit-address-family
exit
";

/// What a job of tenant 17 with a consent to tenant 18 adds.
const CONSENT: &str = "\
router bgp 4200000003 vrf t17
 address-family l2vpn evpn
  route-target import 65000:50018
 exit-address-family
exit
";

fn tenant(number: u16) -> String {
    let (vni, rd) = (50_000 + u32::from(number), 60_000 + u32::from(number));
    format!(
        "\
vrf t{number}
 vni {vni}
exit-vrf
router bgp 4200000003 vrf t{number}
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 address-family ipv6 unicast
  redistribute connected
 exit-address-family
 address-family l2vpn evpn
  advertise ipv4 unicast
  advertise ipv6 unicast
  rd 10.255.0.3:{rd}
  route-target import 65000:{vni}
  route-target export 65000:{vni}
 exit-address-family
exit
"
    )
}

fn job(tag: u16) -> String {
    let vni = 100_000 + u32::from(tag);
    format!(
        "\
router bgp 4200000003
 address-family l2vpn evpn
  vni {vni}
   rd 10.255.0.3:{tag}
   route-target import 65000:{vni}
   route-target export 65000:{vni}
  exit-vni
 exit-address-family
exit
"
    )
}
