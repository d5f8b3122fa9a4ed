//! What the verifier says about two leaves and a spine when one line is another one.
//!
//! Red has a job on both leaves (tag 17) and one on the first (tag 18); blue has one on the
//! first (tag 20), with red's addresses.

#![allow(clippy::unwrap_used, reason = "a fixture that is wrong fails its test")]

use std::net::Ipv4Addr;
use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{
    Artifact, Asn, DeviceId, Dialect, Fleet, Generation, Link, LinkEnd, Owners, Part, PartText,
    Pod, PodId, Port, Site, SiteId, SiteKind, Switch, SwitchDialect, SwitchId, SwitchRole, Vtep,
};

/// Judges the world in which `from` became `to` on a device, and shows every finding with the
/// lines that say so.
fn check(device: &str, from: &str, to: &str, expect: Expect) {
    let fleet = Arc::new(fleet());
    let mut artifacts = artifacts();
    for artifact in &mut artifacts {
        if fleet.device_name(artifact.device).as_str() == device {
            let text = &mut artifact.parts[0].text;
            assert!(text.contains(from), "{device} does not say {from}");
            *text = text.replacen(from, to, 1);
        }
    }
    let findings = verify::findings(&fleet, &owners(), &artifacts);
    let mut told = String::new();
    for finding in findings {
        told += &format!("{}: {}\n", finding.code(), finding.sentence(&fleet));
        for said in &finding.present {
            let artifact =
                artifacts.iter().find(|artifact| artifact.device == said.device).unwrap();
            let (line, text) = said.quote(artifact).unwrap();
            let name = fleet.device_name(said.device);
            told += &format!("  {name} {}:{line}  {}\n", said.dialect, text.trim());
        }
        for line in &finding.missing {
            told += &format!("  {}\n", line.show(&fleet));
        }
    }
    expect.assert_eq(&told);
}

#[test]
fn a_sound_world_is_met_with_silence() {
    check("leaf-1", "description", "description of", expect![[""]]);
}

#[test]
fn a_port_in_another_tenants_segment_is_a_breach() {
    check(
        "leaf-1",
        "interface Ethernet1/3\n  switchport access vlan 20",
        "interface Ethernet1/3\n  switchport access vlan 17",
        expect![[r#"
            breach: leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/3 (blue/train): flooded frames, bridged on the device
              leaf-1 nxos:65  vn-segment 100017
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:88  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:135  switchport access vlan 17
              leaf-1 nxos:138  ip source binding 10.0.0.2 0200.0000.0003 vlan 20 interface Ethernet1/3
            breach: leaf-2 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/3 (blue/train): flooded frames, bridged through a tunnel
              leaf-1 nxos:65  vn-segment 100017
              leaf-1 nxos:79  route-target export 65000:100017
              leaf-1 nxos:135  switchport access vlan 17
              leaf-1 nxos:138  ip source binding 10.0.0.2 0200.0000.0003 vlan 20 interface Ethernet1/3
              leaf-2 nxos:51  vn-segment 100017
              leaf-2 nxos:64  route-target import 65000:100017
              leaf-2 nxos:71  switchport access vlan 17
              leaf-2 nxos:74  ip source binding 10.0.0.3 0200.0000.0001 vlan 17 interface Ethernet1/1
            shared-vrf: leaf-1: blue and red are both in VRF t1
              leaf-1 nxos:69  vrf member t1
              leaf-1 nxos:94  vrf member t1
            shared-bridge: leaf-1 Ethernet1/1 (red/train) and leaf-1 Ethernet1/3 (blue/train) are both in bridge domain 17
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:135  switchport access vlan 17
            misbound: leaf-1: Ethernet1/3 is bound in 20, which it is not attached to
              leaf-1 nxos:138  ip source binding 10.0.0.2 0200.0000.0003 vlan 20 interface Ethernet1/3
        "#]],
    );
}

#[test]
fn a_tag_moved_to_another_job_is_found_at_its_line() {
    check(
        "leaf-1",
        "security-group 18 name J18\n  type",
        "security-group 17 name J17\n  type",
        expect![[r#"
            breach: leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/2 (red/tune): unicast, routed on the device
              leaf-1 nxos:69  vrf member t1
              leaf-1 nxos:83  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:88  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:94  vrf member t1
              leaf-1 nxos:108  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:110  switchport access vlan 18
              leaf-1 nxos:113  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            breach: leaf-1 Ethernet1/2 (red/tune) meets leaf-1 Ethernet1/1 (red/train): unicast, routed on the device
              leaf-1 nxos:69  vrf member t1
              leaf-1 nxos:83  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:88  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:94  vrf member t1
              leaf-1 nxos:108  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:110  switchport access vlan 18
              leaf-1 nxos:113  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            shared-tag: tag 17 is used by red/train and by red/tune
              leaf-1 nxos:83  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:108  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
        "#]],
    );
}

#[test]
fn a_group_that_comes_by_itself_is_judged_where_its_addresses_are() {
    let fleet = Arc::new(fleet());
    let mut artifacts = artifacts();
    let leaf = artifacts.iter().position(|one| fleet.device_name(one.device).as_str() == "leaf-1");
    let leaf = leaf.unwrap();
    let mut kept = verify::reading(&fleet, &owners(), &artifacts);
    assert_eq!(kept.judge(), []);

    let text = "security-group 17 name J17\n  match connected-endpoints vrf t1 ipv4 10.0.0.10/32\n";
    let part = PartText { part: Part::Job("red/tune".parse().unwrap()), text: text.into() };
    let reading = read::claims(Dialect::Nxos, text);
    kept.take(artifacts[leaf].device, Dialect::Nxos, &part.part, Some(reading));
    artifacts[leaf].parts.push(part);
    let found = kept.judge();
    assert!(found.iter().any(|finding| finding.code() == verify::Code::SharedTag), "{found:?}");
    assert_eq!(found, verify::findings(&fleet, &owners(), &artifacts));
}

#[test]
fn a_vrf_that_imports_another_tenants_routes_is_found() {
    check(
        "leaf-1",
        "    route-target import 65000:50001 evpn",
        "    route-target import 65000:50001 evpn\n    route-target import 65000:50002 evpn",
        expect![[r#"
            joined: leaf-1: VRF t1 of red imports 65000:50002 of blue in VRF t2 on leaf-1 without a consent of both
              leaf-1 nxos:42  route-target import 65000:50002 evpn
        "#]],
    );
}

#[test]
fn a_vrf_that_does_not_deny_by_default_lets_jobs_meet() {
    check(
        "leaf-1",
        "  security enforce tag 999 default deny\n",
        "",
        expect![[r#"
            breach: leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/2 (red/tune): unicast, routed on the device
              leaf-1 nxos:68  vrf member t1
              leaf-1 nxos:82  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:84  switchport access vlan 17
              leaf-1 nxos:87  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:93  vrf member t1
              leaf-1 nxos:107  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:109  switchport access vlan 18
              leaf-1 nxos:112  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            breach: leaf-1 Ethernet1/2 (red/tune) meets leaf-1 Ethernet1/1 (red/train): unicast, routed on the device
              leaf-1 nxos:68  vrf member t1
              leaf-1 nxos:82  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:84  switchport access vlan 17
              leaf-1 nxos:87  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:93  vrf member t1
              leaf-1 nxos:107  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:109  switchport access vlan 18
              leaf-1 nxos:112  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            open-vrf: leaf-1: VRF t1 does not deny by default
              leaf-1 nxos:38  vni 50001 l3
              leaf-1 nxos lacks security enforce tag 999 default deny
        "#]],
    );
}

#[test]
fn a_port_without_source_guard_can_speak_for_others() {
    check(
        "leaf-1",
        "vlan 18\n  mtu 9166\n  ip verify source dhcp-snooping-vlan",
        "vlan 18\n  mtu 9166",
        expect![[r#"
            breach: leaf-1 Ethernet1/2 (red/tune) meets leaf-1 Ethernet1/1 (red/train): unicast, routed on the device
              leaf-1 nxos:69  vrf member t1
              leaf-1 nxos:83  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:88  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:94  vrf member t1
              leaf-1 nxos:108  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:110  switchport access vlan 18
              leaf-1 nxos:112  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            unguarded: leaf-1: Ethernet1/2 lets any source address pass
              leaf-1 nxos:110  switchport access vlan 18
              leaf-1 nxos lacks ip verify source dhcp-snooping-vlan
        "#]],
    );
}

#[test]
fn a_segment_without_an_explicit_import_is_told() {
    check(
        "leaf-2",
        "    route-target import 65000:100017\n",
        "",
        expect![[r#"
            automatic-target: leaf-2: segment 100017 chooses its route targets itself, so any AS can inject
              leaf-2 nxos:51  vn-segment 100017
              leaf-2 nxos lacks route-target import 65000:100017
        "#]],
    );
}

#[test]
fn a_session_that_only_one_side_names_severs_what_crosses_it() {
    check(
        "leaf-2",
        "  neighbor 172.16.0.3\n    remote-as 65100",
        "  neighbor 172.16.0.3\n    remote-as 65101",
        expect![[r#"
            severed: leaf-1 Ethernet1/1 (red/train) cannot reach leaf-2 Ethernet1/1 (red/train): unicast
              leaf-1 nxos:41  route-target import 65000:50001 evpn
              leaf-1 nxos:65  vn-segment 100017
              leaf-1 nxos:69  vrf member t1
              leaf-1 nxos:78  route-target import 65000:100017
              leaf-1 nxos:83  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:85  switchport access vlan 17
              leaf-1 nxos:88  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-2 nxos:42  route-target export 65000:50001 evpn
              leaf-2 nxos:51  vn-segment 100017
              leaf-2 nxos:55  vrf member t1
              leaf-2 nxos:65  route-target export 65000:100017
              leaf-2 nxos:69  match connected-endpoints vrf t1 ipv4 10.0.0.3/32
              leaf-2 nxos:71  switchport access vlan 17
              leaf-2 nxos:74  ip source binding 10.0.0.3 0200.0000.0001 vlan 17 interface Ethernet1/1
            half-session: spine: neighbour 172.16.0.2 does not name this device back, or not alike, or is not at the other end of the cable
              spine nxos:27  remote-as 65002
            half-session: leaf-2: neighbour 172.16.0.3 does not name this device back, or not alike, or is not at the other end of the cable
              leaf-2 nxos:32  remote-as 65101
        "#]],
    );
}

#[test]
fn a_line_that_nobody_knows_is_told() {
    check(
        "leaf-2",
        "vlan 17\n",
        "ip route 0.0.0.0/0 10.9.9.9\nvlan 17\n",
        expect![[r#"
            stray-route: leaf-2: a route that nobody planned: `ip route 0.0.0.0/0 10.9.9.9`
              leaf-2 nxos:50  ip route 0.0.0.0/0 10.9.9.9
        "#]],
    );
}

#[test]
fn an_automatic_route_target_is_told() {
    check(
        "leaf-2",
        "    route-target export 65000:100017",
        "    route-target export 65000:100017\n    route-target import auto",
        expect![[r#"
            automatic-target: leaf-2: segment 100017 chooses its route targets itself, so any AS can inject
              leaf-2 nxos:66  route-target import auto
        "#]],
    );
}

#[test]
fn an_address_that_two_devices_have_is_told() {
    check(
        "spine",
        "router bgp 65100",
        "interface loopback1\n  ip address 10.255.0.2/32\nrouter bgp 65100",
        expect![[r#"
            shared-loopback: 10.255.0.2 is an address of leaf-2 and of spine: what is for one may end at the other
              leaf-2 nxos:14  ip address 10.255.0.2/32
              leaf-2 nxos:18  source-interface loopback1
              spine nxos:16  ip address 10.255.0.2/32
        "#]],
    );
}

#[test]
fn a_distinguisher_used_twice_is_told() {
    check(
        "leaf-1",
        "rd 10.255.0.1:18",
        "rd 10.255.0.1:17",
        expect![[r#"
            shared-distinguisher: route distinguisher 10.255.0.1:17 is used by segment 100017 on leaf-1 and by segment 100018 on leaf-1
              leaf-1 nxos:77  rd 10.255.0.1:17
              leaf-1 nxos:102  rd 10.255.0.1:17
        "#]],
    );
}

#[test]
fn a_contract_without_consent_is_a_breach_at_its_service() {
    check(
        "leaf-1",
        "  security enforce tag 999 default deny\n",
        "  security enforce tag 999 default deny\n  security contract source 17 destination 18 \
         policy P bidir\nclass-map type security match-any C\n  match ipv4 tcp dport 22\n\
         policy-map type security P\n  class C\n    permit\n",
        expect![[r#"
            breach: leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/2 (red/tune): unicast to tcp 22, routed on the device
              leaf-1 nxos:75  vrf member t1
              leaf-1 nxos:89  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:91  switchport access vlan 17
              leaf-1 nxos:94  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:100  vrf member t1
              leaf-1 nxos:114  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:116  switchport access vlan 18
              leaf-1 nxos:119  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            breach: leaf-1 Ethernet1/2 (red/tune) meets leaf-1 Ethernet1/1 (red/train): unicast from tcp 22, routed on the device
              leaf-1 nxos:75  vrf member t1
              leaf-1 nxos:89  match connected-endpoints vrf t1 ipv4 10.0.0.2/32
              leaf-1 nxos:91  switchport access vlan 17
              leaf-1 nxos:94  ip source binding 10.0.0.2 0200.0000.0001 vlan 17 interface Ethernet1/1
              leaf-1 nxos:100  vrf member t1
              leaf-1 nxos:114  match connected-endpoints vrf t1 ipv4 10.0.0.10/32
              leaf-1 nxos:116  switchport access vlan 18
              leaf-1 nxos:119  ip source binding 10.0.0.10 0200.0000.0002 vlan 18 interface Ethernet1/2
            open-answers: leaf-1: group 18 may open connections to every port of group 17 from tcp 22
              leaf-1 nxos:44  security contract source 17 destination 18 policy P bidir
              leaf-1 nxos lacks match ipv4 tcp stateful dport 22
            loose-rule: leaf-1: a rule lets group 17 speak to group 18 at tcp 22 without a consent of both owners
              leaf-1 nxos:44  security contract source 17 destination 18 policy P bidir
        "#]],
    );
}

fn fleet() -> Fleet {
    let switch = |name: &str, role, number: u8, asn| Switch {
        name: name.parse().unwrap(),
        site: SiteId(0),
        pod: Some(PodId(0)),
        role,
        dialect: SwitchDialect::Nxos,
        vtep: Vtep { address: Ipv4Addr::new(10, 255, 0, number), asn: Asn(asn) },
    };
    Fleet {
        name: "two-leaves".into(),
        target_asn: 65000,
        sites: vec![Site {
            name: "s".parse().unwrap(),
            jurisdiction: "NL".into(),
            kind: SiteKind::Core,
        }],
        pods: vec![Pod { name: "p".parse().unwrap(), site: SiteId(0) }],
        switches: vec![
            switch("leaf-1", SwitchRole::Leaf, 1, 65001),
            switch("leaf-2", SwitchRole::Leaf, 2, 65002),
            switch("spine", SwitchRole::Spine, 9, 65100),
        ],
        links: vec![link(0, 1), link(1, 2)],
        ..Fleet::default()
    }
}

/// The cable between a leaf and a port of the spine.
fn link(leaf: u32, port: u8) -> Link {
    let end = |switch, port, last| LinkEnd {
        switch: SwitchId(switch),
        port: Port::Ethernet(port),
        address: Ipv4Addr::new(172, 16, 0, last),
    };
    Link { a: end(leaf, 33, 2 * port - 2), b: end(2, port.into(), 2 * port - 1) }
}

fn owners() -> Owners {
    let mut owners = Owners::default();
    for (device, port, job) in
        [(0, 1, "red/train"), (0, 2, "red/tune"), (0, 3, "blue/train"), (1, 1, "red/train")]
    {
        owners.ports.insert((DeviceId(device), Port::Ethernet(port)), job.parse().unwrap());
    }
    owners
}

fn artifacts() -> Vec<Artifact> {
    let leaf = |number, asn, cable, jobs: &[Job]| {
        let mut text = head(number, asn, cable);
        for tenant in [1, 2].iter().filter(|tenant| jobs.iter().any(|job| job.tenant == **tenant)) {
            text += &vrf(number, *tenant);
        }
        jobs.iter().for_each(|job| text += &segment(number, job));
        text
    };
    let train = |port, last| Job { tenant: 1, tag: 17, port, address: format!("10.0.0.{last}") };
    let tune = Job { tenant: 1, tag: 18, port: 2, address: "10.0.0.10".into() };
    let blue = Job { tenant: 2, tag: 20, port: 3, address: "10.0.0.2".into() };
    let texts =
        [leaf(1, 65001, 0, &[train(1, 2), tune, blue]), leaf(2, 65002, 2, &[train(1, 3)]), spine()];
    let artifact = |(device, text)| Artifact {
        device: DeviceId(device),
        dialect: Dialect::Nxos,
        generation: Generation(1),
        parts: vec![PartText { part: Part::Whole, text }],
    };
    (0..).zip(texts).map(artifact).collect()
}

/// One endpoint of a job on a leaf.
struct Job {
    tenant: u16,
    tag: u16,
    port: u16,
    address: String,
}

fn head(number: u8, asn: u32, cable: u8) -> String {
    format!(
        "\
system routing template-security-groups
hardware access-list tcam region ipsg 512
feature bgp
feature interface-vlan
feature vn-segment-vlan-based
feature nv overlay
feature dhcp
feature security-group
nv overlay evpn
system jumbomtu 9166
ip dhcp snooping
fabric forwarding anycast-gateway-mac 0200.0000.0001
interface loopback1
  ip address 10.255.0.{number}/32
interface nve1
  no shutdown
  host-reachability protocol bgp
  source-interface loopback1
interface Ethernet1/33
  no switchport
  mtu 9216
  ip address 172.16.0.{cable}/31
  no shutdown
router bgp {asn}
  bestpath as-path multipath-relax
  address-family ipv4 unicast
    network 10.255.0.{number}/32
    maximum-paths 64
  address-family l2vpn evpn
    maximum-paths 64
  neighbor 172.16.0.{}
    remote-as 65100
    address-family ipv4 unicast
    address-family l2vpn evpn
      send-community extended
",
        cable + 1
    )
}

fn vrf(number: u8, tenant: u16) -> String {
    format!(
        "\
vrf context t{tenant}
  description a tenant
  vni 5000{tenant} l3
  rd 10.255.0.{number}:6000{tenant}
  address-family ipv4 unicast
    route-target import 65000:5000{tenant} evpn
    route-target export 65000:5000{tenant} evpn
  security enforce tag 999 default deny
interface nve1
  member vni 5000{tenant} associate-vrf
router bgp 6500{number}
  vrf t{tenant}
    address-family ipv4 unicast
      maximum-paths 64
"
    )
}

fn segment(number: u8, job: &Job) -> String {
    let Job { tenant, tag, port, address } = job;
    format!(
        "\
vlan {tag}
  vn-segment 1000{tag}
interface Vlan{tag}
  no shutdown
  mtu 9166
  vrf member t{tenant}
  ip address 10.0.0.1/24
  fabric forwarding mode anycast-gateway
interface nve1
  member vni 1000{tag}
    ingress-replication protocol bgp
evpn
  vni 1000{tag} l2
    rd 10.255.0.{number}:{tag}
    route-target import 65000:1000{tag}
    route-target export 65000:1000{tag}
ip dhcp snooping vlan {tag}
security-group {tag} name J{tag}
  type layer4-7
  match connected-endpoints vrf t{tenant} ipv4 {address}/32
interface Ethernet1/{port}
  switchport access vlan {tag}
  mtu 9166
  ip verify source dhcp-snooping-vlan
ip source binding {address} 0200.0000.000{port} vlan {tag} interface Ethernet1/{port}
"
    )
}

fn spine() -> String {
    "\
feature bgp
nv overlay evpn
interface Ethernet1/1
  no switchport
  mtu 9216
  ip address 172.16.0.1/31
  no shutdown
interface Ethernet1/2
  no switchport
  mtu 9216
  ip address 172.16.0.3/31
  no shutdown
route-map UNCHANGED permit 10
  set ip next-hop unchanged
router bgp 65100
  bestpath as-path multipath-relax
  address-family l2vpn evpn
    maximum-paths 64
    retain route-target all
  neighbor 172.16.0.0
    remote-as 65001
    address-family ipv4 unicast
    address-family l2vpn evpn
      send-community extended
      route-map UNCHANGED out
  neighbor 172.16.0.2
    remote-as 65002
    address-family ipv4 unicast
    address-family l2vpn evpn
      send-community extended
      route-map UNCHANGED out
"
    .into()
}
