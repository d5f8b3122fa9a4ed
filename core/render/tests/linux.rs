#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn a_head_names_the_tunnel_endpoint() {
    check(
        "leaf-1",
        "head",
        expect![[r#"
        vtep 10.255.0.1
    "#]],
    );
}

#[test]
fn what_is_over_the_rate_of_an_uplink_waits_there() {
    check(
        "h1",
        "head",
        expect![[r#"
        vtep 10.255.1.1
        uplink nic0 mtu 9216 judged
        queue nic0 rate 400000000000
        uplink nic1 mtu 9216 judged
        queue nic1 rate 400000000000
    "#]],
    );
}

#[test]
fn a_tenants_queue_has_what_it_is_guaranteed() {
    check(
        "h1",
        "tenant acme/research",
        expect![[r#"
        vrf t17
        vxlan vx50017 id 50017 local 10.255.1.1 dstport 4789 nolearning tos inherit gbp vrf t17 mac 02:11:0a:ff:01:01
        queue nic0 vrf t17 rate 25000000000 ceil 100000000000
        queue nic1 vrf t17 rate 25000000000 ceil 100000000000
    "#]],
    );
}

#[test]
fn a_tenant_is_a_vrf_with_a_tunnel_for_routed_traffic() {
    check(
        "h1",
        "tenant blue",
        expect![[r#"
            vrf t18
            vxlan vx50018 id 50018 local 10.255.1.1 dstport 4789 nolearning tos inherit gbp vrf t18 mac 02:12:0a:ff:01:01
            queue nic0 vrf t18 rate 4000000000 ceil 400000000000
            queue nic1 vrf t18 rate 4000000000 ceil 400000000000
        "#]],
    );
}

#[test]
fn a_job_is_a_bridge_with_its_ports() {
    check(
        "leaf-2",
        "job acme/research/train",
        expect![[r#"
            bridge br1001 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:01
            vxlan vx101001 id 101001 local 10.255.0.2 dstport 4789 nolearning tos inherit gbp master br1001
            link swp1 master br1001 mtu 9216 judged
            link swp2 master br1001 mtu 9216 judged
            link swp3 master br1001 mtu 9216 judged
            neigh 10.1.0.4 lladdr 02:00:00:00:00:04 dev swp1 master br1001
            neigh 10.1.0.5 lladdr 02:00:00:00:00:05 dev swp2 master br1001
            neigh 10.1.0.7 lladdr 02:00:00:00:00:07 dev swp3 master br1001
            reach 10.9.0.2-10.9.0.2 vrf t17 vtep 10.255.0.1 vni 50018
            reach 10.9.0.3-10.9.0.3 vrf t17 vtep 10.255.1.1 vni 50018
        "#]],
    );
}

#[test]
fn a_host_attaches_representors() {
    check(
        "h1",
        "job acme/research/train",
        expect![[r#"
            bridge br1001 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:01
            vxlan vx101001 id 101001 local 10.255.1.1 dstport 4789 nolearning tos inherit gbp master br1001
            link rep0 master br1001 mtu 9216 judged
            neigh 10.1.0.6 lladdr 02:00:00:00:00:06 dev rep0 master br1001
            reach 10.9.0.2-10.9.0.2 vrf t17 vtep 10.255.0.1 vni 50018
            reach 10.9.0.3-10.9.0.3 vrf t17 vtep 10.255.1.1 vni 50018
        "#]],
    );
}

fn check(device: &str, part: &str, expected: Expect) {
    expected.assert_eq(&world::text(device, Dialect::Linux, part));
}
