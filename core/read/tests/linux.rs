#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const HEAD: &str = "vtep 10.255.0.3\nuplink swp33 mtu 9216 judged\nqueue swp33 rate 400000000000\n";

const TENANT: &str = "\
vrf t17
vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:11:0a:ff:00:03
";

const JOB: &str = "\
bridge br1001 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:01
vxlan vx101001 id 101001 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp master br1001
link swp5 master br1001 mtu 9216 judged
neigh 10.1.0.2 lladdr 02:00:00:00:00:05 dev swp5 master br1001
reach 10.9.0.2-10.9.0.5 vrf t17 vtep 10.255.0.9 every 2 vni 50018
";

#[test]
fn a_head_names_the_tunnel_endpoint() {
    check(
        HEAD,
        expect![[r#"
            1: Vtep(10.255.0.3)
            1: Has(10.255.0.3)
            2: Uplink(Swp(33))
            3: QueuedLink { port: Swp(33), rate_bps: 400000000000 }
        "#]],
    );
}

#[test]
fn a_tenant_part_tells_the_tunnel_of_routed_traffic() {
    check(
        TENANT,
        expect![[r#"
            2: RoutedTunnel { vrf: VrfName("t17"), vni: Vni(50017) }
            2: TunnelEnds(Vni(50017))
            2: Tagged(Vni(50017))
            2: TunnelFrom { vni: Vni(50017), address: 10.255.0.3 }
        "#]],
    );
}

#[test]
fn a_job_part_tells_bridge_tunnel_and_ports() {
    check(
        JOB,
        expect![[r#"
            1: RoutedIn { bridge: Bridge("br1001"), vrf: VrfName("t17") }
            1: Gateway { bridge: Bridge("br1001"), address: 10.1.0.1, prefix: 28 }
            2: SegmentOf { bridge: Bridge("br1001"), vni: Vni(101001) }
            2: TunnelEnds(Vni(101001))
            2: Tagged(Vni(101001))
            2: TunnelFrom { vni: Vni(101001), address: 10.255.0.3 }
            3: Attached { port: Swp(5), bridge: Bridge("br1001") }
            4: Bound { port: Swp(5), bridge: Bridge("br1001"), address: 10.1.0.2, mac: Mac([2, 0, 0, 0, 0, 5]) }
            5: Reaches { vrf: VrfName("t17"), first: 10.9.0.2, last: 10.9.0.5, vtep: 10.255.0.9, every: Some(2), vni: Vni(50018) }
        "#]],
    );
}

#[test]
fn a_tunnel_that_learns_or_carries_no_tags_says_so_by_silence() {
    check(
        "vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit master br7\n",
        expect![[r#"
            1: SegmentOf { bridge: Bridge("br7"), vni: Vni(7) }
            1: TunnelEnds(Vni(7))
            1: TunnelFrom { vni: Vni(7), address: 10.255.0.3 }
            1: Learns(Vni(7))
        "#]],
    );
}

#[test]
fn the_order_of_options_does_not_matter() {
    check(
        "\
vxlan vx7 master br7 gbp tos inherit nolearning dstport 4789 local 10.255.0.3 id 7
bridge br7 mac 02:00:00:00:00:01 address 10.1.0.1/28 vrf t17
",
        expect![[r#"
            1: SegmentOf { bridge: Bridge("br7"), vni: Vni(7) }
            1: TunnelEnds(Vni(7))
            1: Tagged(Vni(7))
            1: TunnelFrom { vni: Vni(7), address: 10.255.0.3 }
            2: RoutedIn { bridge: Bridge("br7"), vrf: VrfName("t17") }
            2: Gateway { bridge: Bridge("br7"), address: 10.1.0.1, prefix: 28 }
        "#]],
    );
}

#[test]
fn a_bridge_may_be_routed_nowhere() {
    check(
        "bridge br7\nbridge br8 vrf t17\n",
        expect![[r#"
        2: RoutedIn { bridge: Bridge("br8"), vrf: VrfName("t17") }
    "#]],
    );
}

#[test]
fn a_tunnel_that_is_not_of_this_fabric_is_unknown() {
    check(
        "\
vxlan vx7 id 7 local 10.255.0.3 nolearning tos inherit gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 8472 nolearning tos inherit gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos 0 gbp
vxlan vx7 id 7 dstport 4789 nolearning tos inherit gbp
vxlan vx7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp
vxlan vx7 id 7 id 8 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp external
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp master br7 vrf t17
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp master
vxlan vx7 id 0 local 10.255.0.3 dstport 4789 tos inherit gbp
",
        expect![[r#"
            1? vxlan vx7 id 7 local 10.255.0.3 nolearning tos inherit gbp
               tunnels of this fabric use dstport 4789
            2? vxlan vx7 id 7 local 10.255.0.3 dstport 8472 nolearning tos inherit gbp
               tunnels of this fabric use dstport 4789
            3? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning gbp
               without `tos inherit` the lossless class ends at the tunnel
            4? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos 0 gbp
               without `tos inherit` the lossless class ends at the tunnel
            5? vxlan vx7 id 7 dstport 4789 nolearning tos inherit gbp
               a tunnel needs its local address
            6? vxlan vx7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp
               a tunnel needs its id
            7? vxlan vx7 id 7 id 8 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp
               an option of the tunnel stands twice
            8? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp gbp
               an option of the tunnel stands twice
            9? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp external
               a tunnel has no such option
            10? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp master br7 vrf t17
               a tunnel is of a bridge or of a VRF, not of both
            11? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 tos inherit gbp master
               a tunnel has no such option
            12? vxlan vx7 id 0 local 10.255.0.3 dstport 4789 tos inherit gbp
               a VNI is a number from 1 to 16777215
        "#]],
    );
}

#[test]
fn lines_that_are_written_otherwise_are_unknown() {
    check(
        "\
# a comment
link swp5
link swp5 master br1001
link eth0 master br1001
neigh 10.1.0.2 lladdr 02:00:00:00:00 dev swp5 master br1001
neigh 10.1.0.2 lladdr 02:00:00:00:00:05 dev swp5
bridge br7 vrf t17 vrf t18
bridge br7 address 10.1.0.1
bridge br7 address 10.1.0.1/33
bridge br7 stp
vtep
reach 10.9.0.5-10.9.0.2 vrf t17 vtep 10.255.0.9 vni 50018
reach 10.9.0.2-10.9.0.5 vrf t17 vtep 10.255.0.9 every 3 vni 50018
reach 10.9.0.2-10.9.0.5 vtep 10.255.0.9 vni 50018
",
        expect![[r#"
            2? link swp5
               no line of this dialect is written so
            3? link swp5 master br1001
               a port is said to have `mtu 9216 judged`, less of it, or `down` after it
            4? link eth0 master br1001
               a port is written Ethernet1/5, swp5, rep5 or nic5
            5? neigh 10.1.0.2 lladdr 02:00:00:00:00 dev swp5 master br1001
               an Ethernet address is six bytes such as 02:00:00:00:00:01
            6? neigh 10.1.0.2 lladdr 02:00:00:00:00:05 dev swp5
               no line of this dialect is written so
            7? bridge br7 vrf t17 vrf t18
               a bridge has at most one each of vrf, address and mac
            8? bridge br7 address 10.1.0.1
               an address with its prefix is written 10.1.0.1/28
            9? bridge br7 address 10.1.0.1/33
               an address with its prefix is written 10.1.0.1/28
            10? bridge br7 stp
               a bridge has at most one each of vrf, address and mac
            11? vtep
               no line of this dialect is written so
            12? reach 10.9.0.5-10.9.0.2 vrf t17 vtep 10.255.0.9 vni 50018
               a run of addresses is written `first-last`, the lower first
            13? reach 10.9.0.2-10.9.0.5 vrf t17 vtep 10.255.0.9 every 3 vni 50018
               a run is divided into whole blocks, each behind the next tunnel endpoint
            14? reach 10.9.0.2-10.9.0.5 vtep 10.255.0.9 vni 50018
               no line of this dialect is written so
            ignored: [1]
        "#]],
    );
}

#[test]
fn a_port_that_is_not_judged_or_down_or_too_small_is_unknown() {
    check(
        "\
link swp5 master br1001 mtu 9216
link swp5 master br1001 mtu 9216 judged down
link swp5 master br1001 mtu 1500 judged
link swp5 master br1001 judged
uplink swp33 mtu 9216
uplink swp33 mtu 9216 down
uplink eth0 mtu 9216 judged
",
        expect![[r#"
            1: Attached { port: Swp(5), bridge: Bridge("br1001") }
            1: Unfiltered(Swp(5))
            2: Attached { port: Swp(5), bridge: Bridge("br1001") }
            2: Down(Swp(5))
            3: Attached { port: Swp(5), bridge: Bridge("br1001") }
            3: ShortFrames { port: Swp(5), mtu: 1500 }
            5: Unfiltered(Swp(33))
            6: Unfiltered(Swp(33))
            6: Down(Swp(33))
            4? link swp5 master br1001 judged
               a port is said to have `mtu 9216 judged`, less of it, or `down` after it
            7? uplink eth0 mtu 9216 judged
               a port is written Ethernet1/5, swp5, rep5 or nic5
        "#]],
    );
}

#[test]
fn a_queue_has_its_rates_and_nothing_more() {
    check(
        "\
queue swp33 rate 400000000000
queue swp33 vrf t17 rate 25000000000 ceil 100000000000
queue swp33 rate 0
queue swp33 rate 12
queue swp33 vrf t17 rate 8 ceil 0
queue eth0 rate 8
queue swp33 vrf t17 rate 8
queue swp33 rate 400000000000 unnamed
queue swp33 vrf t17 rate 8 ceil 16 tuned
",
        expect![[r#"
            1: QueuedLink { port: Swp(33), rate_bps: 400000000000 }
            2: Queue { port: Swp(33), vrf: VrfName("t17"), rate_bps: 25000000000, ceil_bps: 100000000000 }
            3? queue swp33 rate 0
               a queue's rate is in bits a second, a multiple of eight from 8
            4? queue swp33 rate 12
               a queue's rate is in bits a second, a multiple of eight from 8
            5? queue swp33 vrf t17 rate 8 ceil 0
               a queue's rate is in bits a second, a multiple of eight from 8
            6? queue eth0 rate 8
               a port is written Ethernet1/5, swp5, rep5 or nic5
            7? queue swp33 vrf t17 rate 8
               a queue has its rates and nothing else that was changed
            8? queue swp33 rate 400000000000 unnamed
               a queue has its rates and nothing else that was changed
            9? queue swp33 vrf t17 rate 8 ceil 16 tuned
               a queue has its rates and nothing else that was changed
        "#]],
    );
}

#[test]
fn the_tunnel_of_a_vrf_has_the_routers_address_and_no_other_has_it() {
    check(
        "\
vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17
vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:12:0a:ff:00:03
vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:11:0a:ff:00:03 gbp
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17
vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp master br7 mac 02:11:0a:ff:00:03
",
        expect![[r#"
            1? vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17
               a VRF's tunnel, and no other, has the router's Ethernet address, which is made of the tenant's number and the tunnel endpoint
            2? vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:12:0a:ff:00:03
               a VRF's tunnel, and no other, has the router's Ethernet address, which is made of the tenant's number and the tunnel endpoint
            3? vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:11:0a:ff:00:03 gbp
               an option of the tunnel stands twice
            4? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17
               a VRF's tunnel, and no other, has the router's Ethernet address, which is made of the tenant's number and the tunnel endpoint
            5? vxlan vx7 id 7 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp master br7 mac 02:11:0a:ff:00:03
               a VRF's tunnel, and no other, has the router's Ethernet address, which is made of the tenant's number and the tunnel endpoint
        "#]],
    );
}

#[test]
fn what_a_device_holds_besides_is_refused_by_name() {
    check(
        "\
route 10.0.0.0/8 via 10.1.0.5 dev br1001 vrf t17
fdb 02:00:00:00:00:05 dst 10.255.0.7 dev vx101001
address 10.3.0.1/24 dev br1001
",
        expect![[r#"
            1: Stray { what: Route, line: "route 10.0.0.0/8 via 10.1.0.5 dev br1001 vrf t17" }
            2: Stray { what: Forwarding, line: "fdb 02:00:00:00:00:05 dst 10.255.0.7 dev vx101001" }
            3: Stray { what: Address, line: "address 10.3.0.1/24 dev br1001" }
        "#]],
    );
}

#[test]
fn what_is_on_the_list_is_ignored() {
    page::the_list_is_ignored(Dialect::Linux);
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&page::told(Dialect::Linux, text));
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Linux, &text);
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[HEAD, TENANT, JOB])) {
        page::no_line_is_known_and_unknown(Dialect::Linux, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[HEAD, TENANT, JOB])) {
        page::parts_say_together_what_they_say_alone(Dialect::Linux, &parts);
    }
}
