//! What NX-OS text says, line by line.

mod switch;

use expect_test::expect;
use model::Dialect;
use proptest::prelude::*;
use proptest::sample::Index;
use read::{Reading, claims};
use switch::{CONSENT, HEAD, JOB, TENANT, check};

#[test]
fn a_head_says_who_the_device_is_among_its_neighbours() {
    check(
        HEAD,
        expect![[r#"
             9 JudgesByGroups
            12 KeepsSources
            15 Loopback(10.255.0.1)
            18 AdvertisesEvpn
            19 Vtep(10.255.0.1)
            19 Has(10.255.0.1)
            23 CableAddress { port: Ethernet(33), address: 172.16.0.0 }
            27 LocalAs(Asn(4200000001))
            31 Announces(10.255.0.1)
            35 RetainsRoutes
            37 Neighbor { address: 172.16.0.1, remote: Asn(4200000100) }
            38 UnderlayWith(172.16.0.1)
            39 EvpnWith(172.16.0.1)
            40 TellsTargets(172.16.0.1)
            41 KeepsNextHop(172.16.0.1)
            ignored [1, 2, 3, 4, 5, 11, 13, 28]
        "#]],
    );
}

#[test]
fn a_tenant_says_its_vrf() {
    check(
        TENANT,
        expect![[r#"
             3 VrfUp { vrf: VrfName("t17"), vni: Vni(50017) }
             3 VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
             4 Distinguisher { scope: Vrf(VrfName("t17")), rd: RouteDistinguisher { device: 10.255.0.1, number: 60017 } }
             6 Imports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
             7 Exports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
             8 DeniesByDefault(VrfName("t17"))
            10 TunnelEnds(Vni(50017))
            10 Tagged(Vni(50017))
            11 LocalAs(Asn(4200000001))
            ignored [2, 14]
        "#]],
    );
}

#[test]
fn a_job_says_its_segment_its_group_and_its_ports() {
    check(
        JOB,
        expect![[r#"
             3 SegmentOf { bridge: Bridge("100"), vni: Vni(101001) }
             8 RoutedIn { bridge: Bridge("100"), vrf: VrfName("t17") }
             9 Gateway { bridge: Bridge("100"), address: 10.1.0.1, prefix: 28 }
            12 TunnelEnds(Vni(101001))
            12 Tagged(Vni(101001))
            17 Distinguisher { scope: Segment(Vni(101001)), rd: RouteDistinguisher { device: 10.255.0.1, number: 1001 } }
            18 Imports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
            19 Exports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
            20 KeepsSourcesOf(Bridge("100"))
            23 InGroup { vrf: VrfName("t17"), addresses: 10.1.0.2/32, tag: Tag(1001) }
            27 Attached { port: Ethernet(5), bridge: Bridge("100") }
            29 Guarded(Ethernet(5))
            31 Bound { port: Ethernet(5), bridge: Bridge("100"), address: 10.1.0.2, mac: Mac([2, 0, 0, 0, 0, 5]) }
            ignored [2, 5, 13, 25]
        "#]],
    );
}

#[test]
fn a_consent_says_who_may_ask_whom_for_what() {
    check(
        CONSENT,
        expect![[r#"
             8 LeaksIn { vrf: VrfName("t17"), target: RouteTarget { asn: 65000, number: 50018 } }
             9 Imports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50018 } }
            10 LeaksOut { vrf: VrfName("t17"), target: RouteTarget { asn: 65000, number: 50017 } }
            11 Contract { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
            ignored []
        "#]],
    );
}

#[test]
fn what_belongs_together_may_stand_in_any_order() {
    check(
        "\
vrf context t17
  security contract source 1001 destination 2001 policy P bidir
policy-map type security P
  class C
    permit
  class D
    permit
class-map type security match-any D
  match ipv4 udp dport 53
class-map type security match-any C
  match ipv4 tcp dport 2049
  match ipv4 tcp dport 111
interface nve1
  source-interface loopback7
  host-reachability protocol bgp
interface loopback7
  ip address 10.255.0.7/32
nv overlay evpn
",
        expect![[r#"
             2 AnswersOpenly { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 111 } }
             2 Contract { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 111 } }
             2 AnswersOpenly { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
             2 Contract { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
             2 Contract { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Udp, port: 53 } }
            15 AdvertisesEvpn
            17 Loopback(10.255.0.7)
            14 lacks no shutdown of interface nve1: no tunnel of the switch is up
            ignored []
        "#]],
    );
}

#[test]
fn a_device_that_chooses_by_itself_is_told() {
    check(
        "\
vrf context t17
  rd auto
  address-family ipv4 unicast
    route-target both auto
    route-target both auto evpn
    route-target both 65000:50017 evpn
evpn
  vni 101001 l2
    rd auto
    route-target import auto
    route-target both 65000:101001
",
        expect![[r#"
             2 AutomaticTarget(Vrf(VrfName("t17")))
             4 AutomaticTarget(Vrf(VrfName("t17")))
             5 AutomaticTarget(Vrf(VrfName("t17")))
             6 Imports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
             6 Exports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
             9 AutomaticTarget(Segment(Vni(101001)))
            10 AutomaticTarget(Segment(Vni(101001)))
            11 Imports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
            11 Exports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
            ignored []
        "#]],
    );
}

#[test]
fn the_width_of_an_indent_does_not_matter() {
    let wide = TENANT.replace("  ", "\t ");
    assert_eq!(claims(Dialect::Nxos, &wide), claims(Dialect::Nxos, TENANT));
    let dos = claims(Dialect::Nxos, &TENANT.replace('\n', " \r\n"));
    let refused = dos.unknown.len();
    assert_eq!((dos.claims, refused), (vec![], TENANT.lines().count()), "lines end otherwise");
}

#[test]
fn comments_and_empty_lines_are_ignored_everywhere() {
    check(
        "!\nvlan 100\n! within\n\n  vn-segment 101001\n",
        expect![[r#"
             5 SegmentOf { bridge: Bridge("100"), vni: Vni(101001) }
             5 lacks member vni 101001 of interface nve1: the segment has no tunnel to other leaves
            ignored [1, 3, 4]
        "#]],
    );
}

#[test]
fn what_opens_something_is_not_known() {
    check(
        "\
interface Ethernet1/5
  switchport mode trunk
  switchport trunk allowed vlan 100,200
  shutdown
  no ip verify source dhcp-snooping-vlan
  ip dhcp snooping trust
  ip access-group OPEN in
  ip address 10.0.0.1/24 secondary
  vrf member t17
interface nve1
  shutdown
  member vni 101001-101002
  member vni 101001
    mcast-group 239.0.0.1
vrf context t17
  security enforce tag 999 default permit
  security enforce tag 1001 default deny
  no security enforce tag 999 default deny
  ip route 0.0.0.0/0 10.0.0.1 vrf default
  address-family ipv4 unicast
    route-target import 65000:50018
    import vrf default map ANY
router bgp 4200000001
  vrf t17
    neighbor 10.1.0.2
      remote-as 65001
    address-family ipv4 unicast
      redistribute direct route-map ANY
  address-family ipv4 unicast
    network 10.0.0.0/8
    redistribute direct route-map ANY
route-map ANY permit 10
  set ip next-hop unchanged
no feature security-group
",
        expect![[r#"
             4 Down(Ethernet(5))
            13 TunnelEnds(Vni(101001))
            13 Tagged(Vni(101001))
            19 Stray { what: Route, line: "ip route 0.0.0.0/0 10.0.0.1 vrf default" }
            21 LeaksIn { vrf: VrfName("t17"), target: RouteTarget { asn: 65000, number: 50018 } }
            23 LocalAs(Asn(4200000001))
             2 ? switchport mode trunk: no such line is known here
             3 ? switchport trunk allowed vlan 100,200: no such line is known here
             5 ? no ip verify source dhcp-snooping-vlan: no such line is known here
             6 ? ip dhcp snooping trust: no such line is known here
             7 ? ip access-group OPEN in: no such line is known here
             8 ? ip address 10.0.0.1/24 secondary: no such line is known here
             9 ? vrf member t17: no such line is known here
            11 ? shutdown: no such line is known here
            12 ? member vni 101001-101002: a VNI is a number from 1 to 16777215
            14 ? mcast-group 239.0.0.1: no such line is known here
            16 ? security enforce tag 999 default permit: no such line is known here
            17 ? security enforce tag 1001 default deny: no such line is known here
            18 ? no security enforce tag 999 default deny: no such line is known here
            22 ? import vrf default map ANY: no such line is known here
            25 ? neighbor 10.1.0.2: no such line is known here
            26 ? remote-as 65001: it stands below a line that is unknown
            28 ? redistribute direct route-map ANY: no such line is known here
            30 ? network 10.0.0.0/8: only a single address (/32) is known here
            31 ? redistribute direct route-map ANY: no such line is known here
            32 ? route-map ANY permit 10: no such line is known here
            33 ? set ip next-hop unchanged: it stands below a line that is unknown
            34 ? no feature security-group: no such line is known here
            13 lacks ingress-replication protocol bgp of member vni 101001: nothing that floods leaves the switch, so that nobody finds anybody
            27 lacks maximum-paths 64 of address-family ipv4 unicast of vrf t17: one uplink carries all that is sent
            29 lacks maximum-paths 64 of address-family ipv4 unicast: one uplink carries all that is sent
            29 lacks address-family l2vpn evpn of router bgp: one uplink carries all that is sent
            29 lacks bestpath as-path multipath-relax of router bgp: ways over spines of different AS are not alike, so that one carries all
            ignored []
        "#]],
    );
}

#[test]
fn a_value_that_cannot_be_is_not_known() {
    check(
        "\
vlan 4095
vlan 0100
vlan 100
  vn-segment 16777216
  vn-segment +1
interface Vlan0
interface swp5
interface port-channel1
interface loopback1
  ip address 10.255.0.1/24
  ip address 10.255.0.1
interface Ethernet1/5
  ip address 10.255.0.1/33
  switchport access vlan 100,200
router bgp 65000.1
evpn
  vni 101001 l2
    rd 65000:1
    route-target import *:101001
    route-target all 65000:1
ip source binding 10.1.0.2 0200.0000.00 vlan 100 interface Ethernet1/5
",
        expect![[r#"
            12 Attached { port: Ethernet(5), bridge: Bridge("1") }
             1 ? vlan 4095: a VLAN is a number from 1 to 4094
             2 ? vlan 0100: a VLAN is a number from 1 to 4094
             4 ? vn-segment 16777216: a VNI is a number from 1 to 16777215
             5 ? vn-segment +1: a VNI is a number from 1 to 16777215
             6 ? interface Vlan0: a VLAN is a number from 1 to 4094
             7 ? interface swp5: an interface is Ethernet1/5, Vlan100, loopback1 or nve1
             8 ? interface port-channel1: an interface is Ethernet1/5, Vlan100, loopback1 or nve1
            10 ? ip address 10.255.0.1/24: only a single address (/32) is known here
            11 ? ip address 10.255.0.1: an address with its prefix is written 10.1.0.1/28
            13 ? ip address 10.255.0.1/33: an address with its prefix is written 10.1.0.1/28
            14 ? switchport access vlan 100,200: a VLAN is a number from 1 to 4094
            15 ? router bgp 65000.1: an AS is a number of 32 bits
            18 ? rd 65000:1: a route distinguisher is `address:number` with a number up to 65535
            19 ? route-target import *:101001: a route target is `AS:number` with an AS up to 65535 and no wildcard
            20 ? route-target all 65000:1: no such line is known here
            21 ? ip source binding 10.1.0.2 0200.0000.00 vlan 100 interface Ethernet1/5: an Ethernet address is six bytes such as 02:00:00:00:00:01
            ignored []
        "#]],
    );
}

#[test]
fn the_unclassified_and_the_reserved_are_no_groups() {
    check(
        "\
security-group 999 name ANY
  match connected-endpoints vrf t17 ipv4 10.1.0.0/32
security-group 15 name RESERVED
security-group 1001 name J1001
  match connected-endpoints vrf t17 ipv4 10.1.0.9/32
  match external-subnets vrf t17 ipv4 0.0.0.0/0
vrf context t17
  security contract source 999 destination 1001 policy P bidir
  security contract source any destination 1001 policy P bidir
",
        expect![[r#"
             5 InGroup { vrf: VrfName("t17"), addresses: 10.1.0.9/32, tag: Tag(1001) }
             1 ? security-group 999 name ANY: a group's tag is a number from 2 to 65535 without 15 and 999
             2 ? match connected-endpoints vrf t17 ipv4 10.1.0.0/32: it stands below a line that is unknown
             3 ? security-group 15 name RESERVED: a group's tag is a number from 2 to 65535 without 15 and 999
             6 ? match external-subnets vrf t17 ipv4 0.0.0.0/0: no such line is known here
             8 ? security contract source 999 destination 1001 policy P bidir: a group's tag is a number from 2 to 65535 without 15 and 999
             9 ? security contract source any destination 1001 policy P bidir: a group's tag is a number from 2 to 65535 without 15 and 999
             4 lacks type layer4-7 of security-group 1001: the group is not told what it selects by
            ignored []
        "#]],
    );
}

#[test]
fn a_contract_that_is_not_understood_is_not_nothing() {
    check(
        "\
class-map type security match-any C
  match ipv4 tcp dport 2049
class-map type security match-any WIDE
  match ipv4 any
class-map type security match-all ALL
  match ipv4 tcp dport 2049
policy-map type security P
  class C
    permit
policy-map type security EMPTY
policy-map type security DENIES
  class C
    deny
policy-map type security ELSEWHERE
  class class-default
    permit
policy-map type security NOTHING
  class WIDE
    permit
vrf context t17
  security contract source 1001 destination 2001 policy P
  security contract source 1001 destination 2001 policy P unidir
  security contract source 1001 destination 2001 policy ABSENT bidir
  security contract source 1001 destination 2001 policy EMPTY bidir
  security contract source 1001 destination 2001 policy DENIES bidir
  security contract source 1001 destination 2001 policy ELSEWHERE bidir
  security contract source 1001 destination 2001 policy NOTHING bidir
",
        expect![[r#"
            21 AnswersOpenly { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
            21 Contract { vrf: VrfName("t17"), client: Tag(1001), provider: Tag(2001), service: Service { protocol: Tcp, port: 2049 } }
             4 ? match ipv4 any: no such line is known here
             5 ? class-map type security match-all ALL: no such line is known here
             6 ? match ipv4 tcp dport 2049: it stands below a line that is unknown
            13 ? deny: no such line is known here
            22 ? security contract source 1001 destination 2001 policy P unidir: a contract is `source S destination D policy P`, and answers pass
            23 ? security contract source 1001 destination 2001 policy ABSENT bidir: its policy is not defined here
            24 ? security contract source 1001 destination 2001 policy EMPTY bidir: its policy has no class
            25 ? security contract source 1001 destination 2001 policy DENIES bidir: its policy has a class without `permit`
            26 ? security contract source 1001 destination 2001 policy ELSEWHERE bidir: its policy has a class that is not defined here
            27 ? security contract source 1001 destination 2001 policy NOTHING bidir: its policy has a class that matches nothing
            ignored []
        "#]],
    );
}

#[test]
fn where_tunnels_come_from_is_never_guessed() {
    check(
        "\
interface nve1
  source-interface loopback2
  source-interface loopback1
interface loopback1
  ip address 10.255.0.1/32
  ip address 10.255.0.1/32
  ip address 10.255.0.9/32
",
        expect![[r#"
             5 Loopback(10.255.0.1)
             6 Loopback(10.255.0.1)
             2 ? source-interface loopback2: this loopback has no address here
             3 ? source-interface loopback1: nve1 has another source interface already
             7 ? ip address 10.255.0.9/32: the loopback has another address already
             2 lacks host-reachability protocol bgp of interface nve1: nobody is told what is behind the switch
            ignored []
        "#]],
    );
}

#[test]
fn a_line_below_one_that_takes_none_is_not_known() {
    check(
        "\
hostname leaf-1
  vrf context t17
    vni 50017
interface Ethernet1/5
  switchport
    switchport access vlan 100
  ip verify source dhcp-snooping-vlan
  switchport access vlan 7
",
        expect![[r#"
             7 Guarded(Ethernet(5))
             8 Attached { port: Ethernet(5), bridge: Bridge("7") }
             2 ? vrf context t17: nothing can stand below the line above
             3 ? vni 50017: nothing can stand below the line above
             6 ? switchport access vlan 100: nothing can stand below the line above
             4 lacks mtu 9166 of interface Ethernet1/5: frames of more than 1,500 bytes are lost
             8 lacks vlan 7: ports are in a VLAN that is not there, and dead
            ignored [1]
        "#]],
    );
}

#[test]
fn only_spaces_and_tabs_part_words() {
    let text = "nv\toverlay  evpn \t\nfeature\u{c}security-group\nip dhcp snooping\u{b}\n";
    let unknown = claims(Dialect::Nxos, text).unknown;
    assert_eq!(unknown.iter().map(|line| line.line).collect::<Vec<_>>(), [2, 3]);
}

proptest! {
    #[test]
    fn parts_say_alone_what_they_say_together(parts in prop::collection::vec(part(), 0..8)) {
        let parts: Vec<_> = std::iter::once(HEAD.to_owned()).chain(parts).collect();
        let mut alone = Reading::default();
        let mut before = 0;
        for part in &parts {
            let reading = claims(Dialect::Nxos, part);
            for mut claim in reading.claims {
                claim.line += before;
                alone.claims.push(claim);
            }
            for mut line in reading.unknown {
                line.line += before;
                alone.unknown.push(line);
            }
            alone.ignored.extend(reading.ignored.iter().map(|line| line + before));
            before += u32::try_from(part.lines().count()).unwrap();
        }
        prop_assert_eq!(claims(Dialect::Nxos, &parts.concat()), alone);
    }

    #[test]
    fn every_line_is_told_or_opens_a_block(text in tampered()) {
        let reading = claims(Dialect::Nxos, &text);
        let lines: Vec<u32> = reading.claims.iter().map(|claim| claim.line).collect();
        prop_assert!(lines.is_sorted());
        prop_assert!(reading.unknown.iter().map(|line| line.line).is_sorted());
        for (number, line) in (1..).zip(text.lines()) {
            let told = lines.contains(&number)
                || reading.unknown.iter().any(|unknown| unknown.line == number)
                || reading.ignored.contains(&number);
            let spaced = line.replace('\t', " ");
            let is_silent = SILENT.iter().any(|start| spaced.trim().starts_with(start));
            prop_assert!(told || is_silent, "{line}");
        }
    }

    #[test]
    fn any_text_is_read_and_only_its_own_lines_are_told(
        text in any::<String>(),
        lines in prop::collection::vec("[ ]{0,6}[!-~ ]{0,40}", 0..20),
    ) {
        for text in [text, lines.join("\n")] {
            let reading = claims(Dialect::Nxos, &text);
            let told = reading.claims.iter().map(|claim| claim.line);
            let told = told.chain(reading.unknown.iter().map(|line| line.line));
            let told = told.chain(reading.ignored).max().unwrap_or(0);
            prop_assert!(told as usize <= text.lines().count());
        }
    }
}

/// What says nothing by itself: the first lines of blocks, and lines that count only with others.
const SILENT: [&str; 33] = [
    "address-family",
    "bestpath as-path multipath-relax",
    "class",
    "evpn",
    "fabric forwarding mode anycast-gateway",
    "feature dhcp",
    "feature security-group",
    "hardware access-list tcam region ipsg",
    "host-reachability protocol bgp",
    "ingress-replication protocol bgp",
    "interface",
    "ip address",
    "ip dhcp snooping",
    "match ipv4",
    "maximum-paths",
    "mtu",
    "neighbor",
    "no shutdown",
    "no switchport",
    "nv overlay evpn",
    "permit",
    "policy-map",
    "route-map UNCHANGED permit 10",
    "route-map UNCHANGED out",
    "security-group",
    "set ip next-hop unchanged",
    "source-interface",
    "switchport",
    "system routing template-security-groups",
    "type layer4-7",
    "vlan",
    "vni",
    "vrf",
];

/// A tenant, a job or a consent with other numbers than the samples.
fn part() -> impl Strategy<Value = String> {
    let sample = prop::sample::select(vec![TENANT, JOB, CONSENT, "some line nobody knows\n"]);
    (sample, 16_u16..999, 2_u16..4000).prop_map(|(sample, number, vlan)| {
        sample
            .replace("1001", &(1000 + number).to_string())
            .replace("2001", &(2000 + number).to_string())
            .replace("t17", &format!("t{number}"))
            .replace("vlan 100", &format!("vlan {vlan}"))
            .replace("Vlan100", &format!("Vlan{vlan}"))
    })
}

/// The samples with lines lost, doubled, moved in or out, or with a letter changed.
fn tampered() -> impl Strategy<Value = String> {
    let cut = (any::<Index>(), any::<Index>(), 0..5_u8, any::<char>());
    prop::collection::vec(cut, 1..8).prop_map(|cuts| {
        let whole = [HEAD, TENANT, JOB, CONSENT].concat();
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        for (line, letter, kind, other) in cuts {
            let at = line.index(lines.len());
            match kind {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[at].clone()),
                2 => lines[at].insert_str(0, "  "),
                3 => lines[at] = lines[at].trim_start().to_owned(),
                _ => {
                    let mut letters: Vec<char> = lines[at].chars().collect();
                    if let Some(place) = letters.len().checked_sub(1) {
                        letters[letter.index(place + 1)] = other;
                    }
                    lines[at] = letters.into_iter().collect();
                }
            }
        }
        lines.join("\n")
    })
}
