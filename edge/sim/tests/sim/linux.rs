//! Two Linux tunnel endpoints, leaves and hosts: what one changed line opens and cuts.

use expect_test::{Expect, expect};

use crate::world::{Side, World, differences};

fn check(change: impl FnOnce(World) -> World, expect: Expect) {
    expect.assert_eq(&differences(Side::Frr, Side::Frr, change));
}

#[test]
fn p1_a_port_of_another_bridge_hears_nothing_there_because_of_its_tag() {
    check(
        |world| {
            world.swap("leaf-1 linux", "link swp1 master br1001 mtu", "link swp1 master br2001 mtu")
        },
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p1_a_port_of_another_bridge_hears_everything_there_if_the_table_lets_it() {
    check(
        |world| {
            world
                .swap("leaf-1 linux", "link swp1 master br1001 mtu", "link swp1 master br2001 mtu")
                .drop("leaf-1 table", "default drop")
        },
        expect![[r#"
            opens store-1 -> train-1: flood
            opens store-2 -> train-1: flood
            opens train-1 -> store-1: flood, any
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p2_an_endpoint_line_for_an_address_lets_the_port_speak_from_it_with_its_tag() {
    check(
        |world| {
            world.add(
                "leaf-1 table",
                "endpoint t17 10.1.0.21 mac 02:00:00:00:02:01 port swp1 tag 1002\n",
            )
        },
        expect![[r#"
            opens train-1 -> serve-1: any; honestly nothing
            opens train-1 -> serve-2: any; honestly nothing
        "#]],
    );
}

#[test]
fn p2_without_an_endpoint_line_nothing_passes_in_either_direction() {
    check(
        |world| {
            world.drop(
                "leaf-1 table",
                "endpoint t17 10.1.0.11 mac 02:00:00:00:01:01 port swp1 tag 1001",
            )
        },
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p3_another_tag_takes_the_endpoint_out_of_its_job_and_its_new_peers_do_not_know_it() {
    check(
        |world| world.swap("leaf-1 table", "port swp1 tag 1001", "port swp1 tag 1002"),
        expect![[r#"
            opens serve-1 -> train-1: any
            opens train-1 -> serve-1: any
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p4_a_bridge_with_a_second_tunnel_is_in_both_segments() {
    check(
        |world| {
            world.erase("leaf-1 table").erase("leaf-2 table").add(
                "leaf-1 linux",
                "vxlan vx9 id 102001 local 10.255.0.1 dstport 4789 nolearning gbp master br1001\n",
            )
        },
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-1 -> train-2: any
            opens serve-2 -> train-1: any
            opens serve-2 -> train-2: any
            opens store-2 -> train-1: flood, any
            opens train-1 -> serve-1: any
            opens train-1 -> serve-2: any
            opens train-1 -> store-2: flood, any
            opens train-2 -> serve-1: any
            opens train-2 -> serve-2: any
        "#]],
    );
}

#[test]
fn p4_an_import_leads_into_no_other_tenants_vrf_be_it_here_or_elsewhere() {
    let import = "router bgp 4200000001 vrf t17\n address-family l2vpn evpn\n  route-target import 65000:50018\n";
    let open = |world: World| world.erase("leaf-1 table").erase("leaf-2 table");
    let with = differences(Side::Frr, Side::Frr, |world| open(world).add("leaf-1 frr", import));
    assert_eq!(with, differences(Side::Frr, Side::Frr, open));
}

#[test]
fn p4_a_reach_leads_into_another_tenants_vrf_of_the_same_device() {
    check(
        |world| {
            world.drop("leaf-1 table", "default drop").add(
                "leaf-1 linux",
                "reach 10.9.0.11-10.9.0.11 vrf t17 vtep 10.255.0.1 vni 50018\n",
            )
        },
        expect![[r#"
            opens serve-1 -> store-1: any
            opens serve-1 -> train-1: any
            opens train-1 -> serve-1: any
            opens train-1 -> store-1: any
        "#]],
    );
}

#[test]
fn p4_a_reach_takes_an_address_away_from_what_was_learnt() {
    check(
        |world| {
            world.add("leaf-1 table", "permit t17 1001 1002 tcp 2049\n").add(
                "leaf-1 linux",
                "reach 10.1.0.21-10.1.0.21 vrf t17 vtep 10.255.0.2 vni 50018\n",
            )
        },
        expect![[r#"
            opens serve-1 -> train-1: answer tcp 2049
        "#]],
    );
}

#[test]
fn p4_a_reach_leads_away_what_arrives_too() {
    let sound = asking(World::sound(Side::Frr, Side::Frr)).reach();
    assert_eq!(sound["train-1 -> serve-2"], "ask tcp 2049");
    let led = asking(World::sound(Side::Frr, Side::Frr))
        .add("leaf-2 linux", "reach 10.1.0.16-10.1.0.31 vrf t17 vtep 10.255.0.1 vni 50018\n");
    assert_eq!(led.reach().get("train-1 -> serve-2"), None);
}

#[test]
fn p4_a_vrf_whose_vni_has_no_tunnel_here_routes_into_its_networks_and_bridges_from_there() {
    check(
        |world| {
            world.erase("leaf-1 table").erase("leaf-2 table").swap(
                "leaf-1 frr",
                " vni 50017",
                " vni 50019",
            )
        },
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-1 -> train-2: any
            opens serve-2 -> train-1: any
            opens serve-2 -> train-2: any
            opens train-1 -> serve-1: any
            opens train-1 -> serve-2: any
            opens train-2 -> serve-1: any
            opens train-2 -> serve-2: any
        "#]],
    );
}

#[test]
fn p5_a_tunnel_without_gbp_sends_no_tag_and_takes_none() {
    check(
        |world| {
            world.swap("leaf-1 linux", "inherit gbp master br1001", "inherit master br1001").swap(
                "leaf-1 linux",
                "inherit gbp vrf t17",
                "inherit vrf t17",
            )
        },
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p5_without_tables_a_tunnel_without_gbp_still_takes_no_tag() {
    check(
        |world| {
            world
                .erase("leaf-1 table")
                .swap("leaf-1 linux", "inherit gbp master br1001", "inherit master br1001")
                .swap("leaf-1 linux", "inherit gbp vrf t17", "inherit vrf t17")
        },
        expect![[r#"
            opens serve-1 -> train-1: any
            opens train-1 -> serve-1: any
            cuts serve-1 -> serve-2
            cuts store-1 -> store-2
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p7_a_vni_without_space_is_dropped() {
    check(
        |world| {
            world
                .drop("leaf-1 table", "space t17 vni 101001")
                .drop("leaf-1 table", "space t17 vni 50017")
        },
        expect![[r#"
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p7_a_peer_behind_another_tunnel_endpoint_is_not_believed() {
    check(
        |world| world.swap("leaf-1 table", "vtep 10.255.0.2 tag 1001", "vtep 10.255.0.9 tag 1001"),
        expect![[r#"
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p7_a_peer_with_another_tag_is_not_believed_and_not_spoken_to() {
    check(
        |world| world.swap("leaf-1 table", "vtep 10.255.0.2 tag 1001", "vtep 10.255.0.2 tag 1002"),
        expect![[r#"
            turns train-1 -> train-2: flood
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p8_without_the_default_drop_the_device_hears_whom_it_is_sent_and_its_own() {
    check(
        |world| world.drop("leaf-1 table", "default drop"),
        expect![[r#"
            opens serve-1 -> train-1: any
            opens train-1 -> serve-1: any
        "#]],
    );
}

#[test]
fn p8_a_port_must_be_bound_and_have_an_endpoint_line_for_the_same_address() {
    check(
        |world| world.swap("leaf-1 linux", "neigh 10.1.0.11", "neigh 10.1.0.13"),
        expect![[r#"
            turns train-1 -> train-2: flood, any; honestly nothing
            turns train-2 -> train-1: flood
        "#]],
    );
}

#[test]
fn p8_a_permit_opens_its_service_between_two_jobs_of_one_device() {
    check(
        |world| world.add("leaf-1 table", "permit t17 1001 1002 tcp 2049\n"),
        expect![[r#"
            opens serve-1 -> train-1: answer tcp 2049
            opens train-1 -> serve-1: ask tcp 2049
        "#]],
    );
}

#[test]
fn p8_a_permit_of_another_space_opens_nothing() {
    check(|world| world.add("leaf-1 table", "permit t18 1001 1002 tcp 2049\n"), expect![[""]]);
}

const CLIENT: &str = "peers t17 10.9.0.12-10.9.0.12 vtep 10.255.0.2 tag 2001
permit t17 1001 2001 tcp 2049
";
const PROVIDER: &str = "peers t18 10.1.0.11-10.1.0.11 vtep 10.255.0.1 tag 1001
permit t18 1001 2001 tcp 2049
";
const REACH_T18: &str = "reach 10.9.0.12-10.9.0.12 vrf t17 vtep 10.255.0.2 vni 50018\n";
const REACH_T17: &str = "reach 10.1.0.11-10.1.0.11 vrf t18 vtep 10.255.0.1 vni 50017\n";

/// Both tenants' tables and routes allow the client at the first leaf to ask at the second.
fn consented(world: World) -> World {
    world
        .add("leaf-1 table", CLIENT)
        .add("leaf-1 linux", REACH_T18)
        .add("leaf-2 table", PROVIDER)
        .add("leaf-2 linux", REACH_T17)
}

#[test]
fn p9_a_consent_of_two_tenants_opens_its_service_between_two_devices() {
    check(
        consented,
        expect![[r#"
            opens store-2 -> train-1: answer tcp 2049
            opens train-1 -> store-2: ask tcp 2049
        "#]],
    );
}

#[test]
fn p8_what_comes_out_of_a_tunnel_is_permitted_in_the_space_where_it_landed() {
    check(
        |world| {
            consented(world).swap(
                "leaf-2 table",
                "endpoint t18 10.9.0.12",
                "endpoint t17 10.9.0.12",
            )
        },
        expect![[r#"
            turns store-2 -> store-1: flood
            opens train-1 -> store-2: ask tcp 2049
        "#]],
    );
}

#[test]
fn p9_without_the_clients_side_the_client_cannot_ask_though_the_provider_would_hear() {
    check(
        |world| {
            world
                .add("leaf-1 linux", REACH_T18)
                .add("leaf-2 table", PROVIDER)
                .add("leaf-2 linux", REACH_T17)
        },
        expect![[""]],
    );
}

#[test]
fn p4_a_reach_needs_nothing_of_evpn() {
    for missing in ["  neighbor 172.16.1.1 activate\n  advertise-all-vni\n", " vni 50017\n"] {
        let reach = consented(World::sound(Side::Frr, Side::Frr)).swap("leaf-1 frr", missing, "");
        let reach = reach.reach();
        assert_eq!(reach["train-1 -> store-2"], "ask tcp 2049", "without {missing}");
        assert_eq!(reach["store-2 -> train-1"], "answer tcp 2049", "without {missing}");
    }
}

/// The tables let one job of a tenant ask another one.
fn asking(world: World) -> World {
    let permit = "permit t17 1001 1002 tcp 2049\n";
    world.add("leaf-1 table", permit).add("leaf-2 table", permit)
}

#[test]
fn p4_what_no_route_is_taught_for_is_bridged_from_a_network_of_the_sender() {
    let untaught =
        |world: World| asking(world).swap("leaf-2 frr", "export 65000:50017", "export 65000:1");
    let gateway = "bridge br1002 vrf t17 address 10.1.0.17/28 mac 02:00:00:00:00:01";
    let reach = untaught(World::sound(Side::Frr, Side::Frr)).reach();
    assert_eq!(reach["train-1 -> serve-2"], "ask tcp 2049");
    let reach = untaught(World::sound(Side::Frr, Side::Frr)).drop("leaf-1 linux", gateway).reach();
    assert_eq!(reach.get("train-1 -> serve-2"), None);
}

#[test]
fn p4_a_bridge_with_another_network_takes_what_is_for_it() {
    check(
        |world| asking(world).swap("leaf-2 linux", "address 10.1.0.17/28", "address 10.1.0.33/28"),
        expect![[r#"
            opens serve-1 -> train-1: answer tcp 2049
            opens serve-1 -> train-2: answer tcp 2049
            opens serve-2 -> train-1: answer tcp 2049
            opens serve-2 -> train-2: answer tcp 2049
            opens train-1 -> serve-1: ask tcp 2049
            opens train-2 -> serve-1: ask tcp 2049
        "#]],
    );
    check(
        |world| asking(world).swap("leaf-1 linux", "address 10.1.0.1/28", "address 10.1.0.17/29"),
        expect![[r#"
            opens serve-1 -> train-2: answer tcp 2049
            opens serve-2 -> train-2: answer tcp 2049
            opens train-1 -> serve-2: ask tcp 2049
            opens train-2 -> serve-2: ask tcp 2049
        "#]],
    );
}

#[test]
fn p4_without_the_reach_a_permit_opens_nothing() {
    check(|world| world.add("leaf-1 table", CLIENT).add("leaf-2 table", PROVIDER), expect![[""]]);
}

#[test]
fn p4_a_reach_behind_another_tunnel_endpoint_or_in_another_vni_leads_nowhere() {
    for wrong in ["vtep 10.255.0.9 vni 50018", "vtep 10.255.0.2 vni 50017"] {
        check(
            |world| consented(world).swap("leaf-1 linux", "vtep 10.255.0.2 vni 50018", wrong),
            expect![[r#"
                opens store-2 -> train-1: answer tcp 2049
            "#]],
        );
    }
}

#[test]
fn p9_an_unknown_peer_is_not_spoken_to_but_hears_what_floods() {
    check(
        |world| {
            world.swap(
                "leaf-1 table",
                "peers t17 10.1.0.12-10.1.0.12",
                "peers t18 10.1.0.12-10.1.0.12",
            )
        },
        expect![[r#"
            turns train-1 -> train-2: flood
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn on_hosts_the_same_tables_hold_and_the_same_hole_opens_the_same() {
    let on_hosts =
        differences(Side::Host, Side::Host, |world| world.drop("host-1 table", "default drop"));
    let on_leaves =
        differences(Side::Frr, Side::Frr, |world| world.drop("leaf-1 table", "default drop"));
    assert_eq!(on_hosts, on_leaves);
}
