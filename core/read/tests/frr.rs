#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const HEAD: &str = "\
frr version 8.4.4
frr defaults datacenter
hostname leaf-3
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

const TENANT: &str = "\
vrf t17
 vni 50017
exit-vrf
router bgp 4200000003 vrf t17
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
 address-family ipv6 unicast
  redistribute connected
 exit-address-family
 address-family l2vpn evpn
  advertise ipv4 unicast
  advertise ipv6 unicast
  rd 10.255.0.3:60017
  route-target import 65000:50017
  route-target export 65000:50017
 exit-address-family
exit
";

const JOB: &str = "\
router bgp 4200000003
 address-family l2vpn evpn
  vni 101001
   rd 10.255.0.3:1001
   route-target import 65000:101001
   route-target export 65000:101001
  exit-vni
 exit-address-family
exit
";

#[test]
fn a_head_tells_the_neighbours() {
    check(
        HEAD,
        expect![[r#"
            6: Loopback(10.255.0.3)
            9: CableAddress { port: Swp(33), address: 172.16.0.4 }
            11: LocalAs(Asn(4200000003))
            15: Neighbor { address: 172.16.0.5, remote: Asn(4200000100) }
            19: Announces(10.255.0.3)
            20: UnderlayWith(172.16.0.5)
            23: EvpnWith(172.16.0.5)
            24: AdvertisesEvpn
            ignored: [1, 2, 3, 4, 12, 13, 14]
        "#]],
    );
}

#[test]
fn a_tenant_part_tells_the_vrf() {
    check(
        TENANT,
        expect![[r#"
            2: VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
            14: Distinguisher { scope: Vrf(VrfName("t17")), rd: RouteDistinguisher { device: 10.255.0.3, number: 60017 } }
            15: Imports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
            16: Exports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
            ignored: [6, 9, 12, 13]
        "#]],
    );
}

#[test]
fn a_job_part_tells_the_segment() {
    check(
        JOB,
        expect![[r#"
            1: LocalAs(Asn(4200000003))
            4: Distinguisher { scope: Segment(Vni(101001)), rd: RouteDistinguisher { device: 10.255.0.3, number: 1001 } }
            5: Imports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
            6: Exports { scope: Segment(Vni(101001)), target: RouteTarget { asn: 65000, number: 101001 } }
        "#]],
    );
}

#[test]
fn both_ways_at_once_are_two_claims() {
    check(
        "\
router bgp 1
 address-family l2vpn evpn
  vni 7
   route-target both 65000:7
",
        expect![[r#"
            1: LocalAs(Asn(1))
            4: Imports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            4: Exports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
        "#]],
    );
}

#[test]
fn targets_that_nobody_named_are_automatic() {
    check(
        "\
router bgp 1
 address-family l2vpn evpn
  vni 7
   rd 10.255.0.3:7
  exit-vni
  vni 8
   route-target import 65000:8
  exit-vni
  vni 9
   route-target export 65000:9
   route-target import auto
  exit-vni
 exit-address-family
exit
vrf t17
 vni 50017
exit-vrf
router bgp 1 vrf t18
 address-family l2vpn evpn
  advertise ipv4 unicast
 exit-address-family
exit
",
        expect![[r#"
            1: LocalAs(Asn(1))
            3: AutomaticTarget(Segment(Vni(7)))
            4: Distinguisher { scope: Segment(Vni(7)), rd: RouteDistinguisher { device: 10.255.0.3, number: 7 } }
            6: AutomaticTarget(Segment(Vni(8)))
            7: Imports { scope: Segment(Vni(8)), target: RouteTarget { asn: 65000, number: 8 } }
            10: Exports { scope: Segment(Vni(9)), target: RouteTarget { asn: 65000, number: 9 } }
            11: AutomaticTarget(Segment(Vni(9)))
            16: VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
            16: AutomaticTarget(Vrf(VrfName("t17")))
            19: AutomaticTarget(Vrf(VrfName("t18")))
            ignored: [20]
        "#]],
    );
}

#[test]
fn a_block_that_is_entered_again_is_the_same_block() {
    check(
        "\
router bgp 1
 address-family l2vpn evpn
  vni 7
   route-target import 65000:7
  exit-vni
 exit-address-family
exit
router bgp 1
 address-family l2vpn evpn
  vni 7
   route-target export 65000:7
",
        expect![[r#"
            1: LocalAs(Asn(1))
            4: Imports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            8: LocalAs(Asn(1))
            11: Exports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
        "#]],
    );
}

#[test]
fn a_line_without_indentation_closes_every_block() {
    check(
        "\
router bgp 1
 address-family l2vpn evpn
  vni 7
   route-target both 65000:7
!
vrf t17
 vni 50017
!
router bgp 1 vrf t17
 address-family l2vpn evpn
  route-target both 65000:50017
neighbor 172.16.0.5 activate
 vni 8
",
        expect![[r#"
            1: LocalAs(Asn(1))
            4: Imports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            4: Exports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            7: VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
            11: Imports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
            11: Exports { scope: Vrf(VrfName("t17")), target: RouteTarget { asn: 65000, number: 50017 } }
            12? neighbor 172.16.0.5 activate
               no line of this block is written so
            13? vni 8
               no line of this block is written so
            ignored: [5, 8]
        "#]],
    );
}

#[test]
fn a_word_closes_only_what_is_open() {
    check(
        "\
exit
interface swp1
exit-vrf
 ip address 172.16.0.0/31
exit
 ip address 172.16.0.2/31
router bgp 1
 exit-address-family
 address-family l2vpn evpn
  exit-vni
  vni 7
   route-target both 65000:7
 exit-address-family
 neighbor 172.16.0.5 remote-as 2
",
        expect![[r#"
            4: CableAddress { port: Swp(1), address: 172.16.0.0 }
            7: LocalAs(Asn(1))
            12: Imports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            12: Exports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            14: Neighbor { address: 172.16.0.5, remote: Asn(2) }
            1? exit
               it closes a block that is not open
            3? exit-vrf
               it closes a block that is not open
            6? ip address 172.16.0.2/31
               no line of this block is written so
            8? exit-address-family
               it closes a block that is not open
            10? exit-vni
               it closes a block that is not open
        "#]],
    );
}

#[test]
fn what_would_tell_the_underlay_more_is_not_ignored() {
    check(
        "\
router bgp 1
 address-family ipv4 unicast
  redistribute connected
  network 10.0.0.0/8
  import vrf t17
 exit-address-family
 address-family l2vpn evpn
  advertise ipv4 unicast
 exit-address-family
exit
",
        expect![[r#"
            1: LocalAs(Asn(1))
            3? redistribute connected
               the underlay is told nothing but what `network` names
            4? network 10.0.0.0/8
               only single addresses are announced: /32
            5? import vrf t17
               no line of this block is written so
            8? advertise ipv4 unicast
               the underlay's routes do not belong into EVPN
        "#]],
    );
}

#[test]
fn lines_that_open_a_vrf_otherwise_are_unknown() {
    check(
        "\
router bgp 1 vrf t17
 neighbor 172.16.0.5 remote-as 2
 address-family ipv4 unicast
  import vrf t18
  rt vpn both 65000:1
  network 10.1.0.0/16
 exit-address-family
 address-family l2vpn evpn
  advertise-all-vni
  vni 7
 exit-address-family
exit
router bgp 1 vrf default
vrf default
interface swp1 vrf t17
",
        expect![[r#"
            8: AutomaticTarget(Vrf(VrfName("t17")))
            2? neighbor 172.16.0.5 remote-as 2
               no line of this block is written so
            4? import vrf t18
               no line of this block is written so
            5? rt vpn both 65000:1
               no line of this block is written so
            6? network 10.1.0.0/16
               no line of this block is written so
            9? advertise-all-vni
               no line of this block is written so
            10? vni 7
               no line of this block is written so
            13? router bgp 1 vrf default
               the default VRF is written without a name
            14? vrf default
               the default VRF is written without a name
            15? interface swp1 vrf t17
               no line of this block is written so
        "#]],
    );
}

#[test]
fn a_neighbour_is_one_or_is_unknown() {
    check(
        "\
router bgp 1
 neighbor 172.16.0.5 remote-as external
 neighbor 172.16.0.5 remote-as +2
 neighbor 172.16.0 remote-as 2
 neighbor 172.16.0.5 shutdown
 neighbor 172.16.0.5 route-map IN in
 no neighbor 172.16.0.5 remote-as 2
 address-family ipv4 unicast
  neighbor 172.16.0.5 route-map IN in
  no neighbor 172.16.0.5 activate
",
        expect![[r#"
            1: LocalAs(Asn(1))
            2? neighbor 172.16.0.5 remote-as external
               an AS is a number of 32 bits
            3? neighbor 172.16.0.5 remote-as +2
               an AS is a number of 32 bits
            4? neighbor 172.16.0 remote-as 2
               an address is four numbers such as 10.1.0.2
            5? neighbor 172.16.0.5 shutdown
               no line of this block is written so
            6? neighbor 172.16.0.5 route-map IN in
               no line of this block is written so
            7? no neighbor 172.16.0.5 remote-as 2
               no line of this block is written so
            9? neighbor 172.16.0.5 route-map IN in
               no line of this block is written so
            10? no neighbor 172.16.0.5 activate
               no line of this block is written so
        "#]],
    );
}

#[test]
fn numbers_out_of_range_are_unknown() {
    check(
        "\
router bgp 4294967296
router bgp 1
 address-family l2vpn evpn
  vni 16777216
  vni 0
  vni 7
   rd auto
   rd 10.255.0.3:65536
   route-target import *:7
   route-target import 65536:7
   route-target both 65000:7
",
        expect![[r#"
            2: LocalAs(Asn(1))
            11: Imports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            11: Exports { scope: Segment(Vni(7)), target: RouteTarget { asn: 65000, number: 7 } }
            1? router bgp 4294967296
               an AS is a number of 32 bits
            4? vni 16777216
               a VNI is a number from 1 to 16777215
            5? vni 0
               a VNI is a number from 1 to 16777215
            7? rd auto
               a route distinguisher is `address:number` with a number up to 65535
            8? rd 10.255.0.3:65536
               a route distinguisher is `address:number` with a number up to 65535
            9? route-target import *:7
               a route target is `AS:number` with an AS up to 65535 and no wildcard
            10? route-target import 65536:7
               a route target is `AS:number` with an AS up to 65535 and no wildcard
        "#]],
    );
}

#[test]
fn an_address_family_nobody_knows_hides_nothing() {
    check(
        "\
router bgp 1
 address-family ipv6 unicast
  neighbor 172.16.0.5 activate
  no bgp default ipv4-unicast
 exit-address-family
 neighbor 172.16.0.5 remote-as 2
route-map OUT permit 10
 set ip next-hop unchanged
exit
",
        expect![[r#"
            1: LocalAs(Asn(1))
            6: Neighbor { address: 172.16.0.5, remote: Asn(2) }
            2? address-family ipv6 unicast
               only ipv4 unicast, l2vpn evpn, and in a VRF ipv6 unicast are known
            3? neighbor 172.16.0.5 activate
               it stands in an address family nobody knows
            4? no bgp default ipv4-unicast
               it stands in an address family nobody knows
            7? route-map OUT permit 10
               no line of this block is written so
            8? set ip next-hop unchanged
               no line of this block is written so
            9? exit
               it closes a block that is not open
        "#]],
    );
}

#[test]
fn nothing_is_configured_after_the_end() {
    check(
        "\
vrf t17
 vni 50017
end
router bgp 1
hostname leaf-1
",
        expect![[r#"
            2: VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
            2: AutomaticTarget(Vrf(VrfName("t17")))
            4? router bgp 1
               it stands after `end`
            5? hostname leaf-1
               it stands after `end`
            ignored: [3]
        "#]],
    );
}

#[test]
fn a_word_that_only_begins_like_an_ignored_one_is_unknown() {
    check(
        "hostnames leaf-1\nhostname leaf-1\n! hostnames\n\n",
        expect![[r#"
        1? hostnames leaf-1
           no line of this block is written so
        ignored: [2, 3]
    "#]],
    );
}

#[test]
fn what_frr_says_of_itself_is_no_riddle() {
    check(
        "\
frr defaults datacenter
frr defaults traditional
vrf t17
 netns /run/netns/t17
exit-vrf
vrf t18
 netns /run/netns/t17
exit-vrf
no ipv6 forwarding
no zebra nexthop kernel enable
no ip forwarding
router bgp 1
 bgp ebgp-requires-policy
 neighbor 172.16.0.5 timers 1 never
",
        expect![[r#"
            12: LocalAs(Asn(1))
            2? frr defaults traditional
               only with `frr defaults datacenter` do sessions stand
            7? netns /run/netns/t17
               a VRF is the namespace of its own name
            11? no ip forwarding
               a device that does not forward carries nobody's packets
            13? bgp ebgp-requires-policy
               no line of this block is written so
            14? neighbor 172.16.0.5 timers 1 never
               a timer is a whole number of seconds up to 65535
            ignored: [1, 9, 10]
        "#]],
    );
}

#[test]
fn what_is_on_the_list_is_ignored() {
    page::the_list_is_ignored(Dialect::Frr);
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&page::told(Dialect::Frr, text));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Frr, &text);
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[HEAD, TENANT, JOB])) {
        page::no_line_is_known_and_unknown(Dialect::Frr, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[HEAD, TENANT, JOB])) {
        page::parts_say_together_what_they_say_alone(Dialect::Frr, &parts);
    }
}
