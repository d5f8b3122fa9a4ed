//! Two NX-OS leaves: what one changed line opens and cuts.

use expect_test::{Expect, expect};
use model::Protocol;
use sim::SentPacket;

use crate::world::{Side, World, differences};

fn check(change: impl FnOnce(World) -> World, expect: Expect) {
    expect.assert_eq(&differences(Side::Nxos, Side::Nxos, change));
}

#[test]
fn p1_a_port_in_another_vlan_hears_what_floods_there_and_its_guard_keeps_it_silent() {
    check(
        |world| {
            let port = "interface Ethernet1/1\n  description red/train 1\n  switchport\n";
            let moved = port.to_owned() + "  switchport access vlan 300";
            let home = port.to_owned() + "  switchport access vlan 100";
            world.swap("leaf-1 nxos", &home, &moved)
        },
        expect![[r#"
            opens store-1 -> train-1: flood
            opens store-2 -> train-1: flood
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p1_a_port_that_moved_with_its_binding_floods_both_ways_but_unicast_is_judged() {
    check(
        |world| {
            world
                .swap(
                    "leaf-1 nxos",
                    "red/train 1\n  switchport\n  switchport access vlan 100",
                    "red/train 1\n  switchport\n  switchport access vlan 300",
                )
                .swap(
                    "leaf-1 nxos",
                    "vlan 100 interface Ethernet1/1",
                    "vlan 300 interface Ethernet1/1",
                )
        },
        expect![[r#"
            opens store-1 -> train-1: flood
            opens store-2 -> train-1: flood
            opens train-1 -> store-1: flood
            opens train-1 -> store-2: flood
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p1_a_port_that_no_line_puts_elsewhere_is_in_vlan_1() {
    check(
        |world| {
            world
                .drop("leaf-1 nxos", "  switchport access vlan 100")
                .drop("leaf-1 nxos", "  switchport access vlan 300")
        },
        expect![[r#"
            opens store-1 -> train-1: flood
            opens train-1 -> store-1: flood
            cuts store-1 -> store-2
            cuts store-2 -> store-1
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p1_a_port_that_is_shut_is_alone() {
    check(
        |world| world.add("leaf-1 nxos", "interface Ethernet1/1\n  shutdown\n"),
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p1_a_port_in_vlan_1_is_alone_if_nobody_else_is_there() {
    check(
        |world| world.drop("leaf-1 nxos", "  switchport access vlan 100"),
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p2_without_the_guard_a_forged_source_speaks_as_another_job() {
    check(
        |world| {
            world.swap(
                "leaf-1 nxos",
                "  switchport access vlan 100\n  mtu 9166\n  ip verify source dhcp-snooping-vlan\n",
                "  switchport access vlan 100\n  mtu 9166\n",
            )
        },
        expect![[r#"
            opens train-1 -> serve-1: any; honestly nothing
            opens train-1 -> serve-2: any; honestly nothing
        "#]],
    );
}

#[test]
fn p2_bound_sources_are_kept_only_with_the_feature_and_room_for_them() {
    for line in ["ip dhcp snooping", "feature dhcp", "hardware access-list tcam region ipsg 512"] {
        check(
            |world| world.drop("leaf-1 nxos", line),
            expect![[r#"
                opens serve-1 -> train-1: any; honestly nothing
                opens serve-1 -> train-2: any; honestly nothing
                opens train-1 -> serve-1: any; honestly nothing
                opens train-1 -> serve-2: any; honestly nothing
            "#]],
        );
    }
}

#[test]
fn p2_a_binding_in_another_vlan_lets_nothing_pass() {
    check(
        |world| {
            world.swap(
                "leaf-1 nxos",
                "vlan 100 interface Ethernet1/1",
                "vlan 200 interface Ethernet1/1",
            )
        },
        expect![[r#"
            turns train-2 -> train-1: flood
            cuts train-1 -> train-2
        "#]],
    );
}

#[test]
fn p3_who_is_in_no_group_is_only_heard_when_it_floods() {
    check(
        |world| world.drop("leaf-1 nxos", "  match connected-endpoints vrf t17 ipv4 10.1.0.11/32"),
        expect![[r#"
            turns train-1 -> train-2: flood
            turns train-2 -> train-1: flood
        "#]],
    );
}

#[test]
fn p3_a_selector_with_another_tag_moves_the_endpoint_to_another_job() {
    check(
        |world| world.swap("leaf-1 nxos", "security-group 1001 name", "security-group 1002 name"),
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-2 -> train-1: any
            opens train-1 -> serve-1: any
            opens train-1 -> serve-2: any
            turns train-1 -> train-2: flood
            turns train-2 -> train-1: flood
        "#]],
    );
}

#[test]
fn p3_a_shorter_prefix_does_not_win() {
    check(
        |world| {
            world.add(
                "leaf-1 nxos",
                "security-group 1002 name J1002\n  match connected-endpoints vrf t17 ipv4 10.1.0.0/24\n",
            )
        },
        expect![[""]],
    );
}

#[test]
fn p3_a_selector_in_another_vrf_says_nothing_here() {
    check(
        |world| {
            world.swap(
                "leaf-1 nxos",
                "match connected-endpoints vrf t17 ipv4 10.1.0.11/32",
                "match connected-endpoints vrf t18 ipv4 10.1.0.11/32",
            )
        },
        expect![[r#"
            turns train-1 -> train-2: flood
            turns train-2 -> train-1: flood
        "#]],
    );
}

#[test]
fn p4_a_segment_that_imports_another_ones_target_floods_into_it() {
    check(
        |world| {
            world
                .add("leaf-1 nxos", "evpn\n  vni 101001 l2\n    route-target import 65000:102001\n")
        },
        expect![[r#"
            opens train-1 -> store-2: flood
        "#]],
    );
}

#[test]
fn p4_an_imported_vrf_is_still_judged_there() {
    check(|world| world.add("leaf-1 nxos", IMPORT_T18), expect![[""]]);
}

#[test]
fn p4_an_imported_vrf_that_denies_nothing_is_open_on_this_device_and_the_other() {
    check(
        |world| {
            world
                .add("leaf-1 nxos", IMPORT_T18)
                .add("leaf-1 nxos", T18_PERMITS)
                .add("leaf-2 nxos", T18_PERMITS)
        },
        expect![[r#"
            opens serve-1 -> store-2: any
            opens train-1 -> store-2: any
        "#]],
    );
}

const IMPORT_T18: &str =
    "vrf context t17\n  address-family ipv4 unicast\n    route-target import 65000:50018 evpn\n";
const T18_PERMITS: &str = "vrf context t18\n  security enforce tag 999 default permit\n";

#[test]
fn p4_without_a_gateway_nothing_is_routed_however_open_the_vrf() {
    check(
        |world| {
            world.add("leaf-1 nxos", T17_PERMITS).drop("leaf-1 nxos", "  ip address 10.1.0.1/28")
        },
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-2 -> train-1: any
            opens train-2 -> serve-1: any
        "#]],
    );
}

const T17_PERMITS: &str = "vrf context t17\n  security enforce tag 999 default permit\n";

#[test]
fn p4_a_segment_whose_tunnel_does_not_end_here_still_routes() {
    check(
        |world| {
            world.drop(
                "leaf-1 nxos",
                "  member vni 101001\n    suppress-arp\n    ingress-replication protocol bgp",
            )
        },
        expect![[r#"
            turns train-1 -> train-2: any
            turns train-2 -> train-1: any
        "#]],
    );
}

#[test]
fn p4_with_neither_tunnel_there_is_no_remote_way() {
    check(
        |world| {
            world
                .drop(
                    "leaf-1 nxos",
                    "  member vni 101001\n    suppress-arp\n    ingress-replication protocol bgp",
                )
                .drop("leaf-1 nxos", "  member vni 50017 associate-vrf")
        },
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p4_a_way_out_needs_an_import_and_a_way_in_an_export() {
    check(
        |world| {
            world
                .drop("leaf-1 nxos", "    route-target export 65000:101001")
                .drop("leaf-1 nxos", "    route-target export 65000:50017 evpn")
        },
        expect![[r#"
            cuts train-2 -> train-1
        "#]],
    );
}

#[test]
fn p4_a_vrf_whose_vni_is_down_routes_nothing_between_leaves() {
    let no_segment = "  member vni 101001\n    suppress-arp\n    ingress-replication protocol bgp";
    check(
        |world| {
            world.drop("leaf-1 nxos", no_segment).swap(
                "leaf-1 nxos",
                "  vni 50017 l3",
                "  vni 50017",
            )
        },
        expect![[r#"
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
    );
    let vlan =
        "vlan 3000\n  vn-segment 50017\ninterface Vlan3000\n  no shutdown\n  vrf member t17\n";
    for (says, expected) in [
        (
            "  ip forward\n",
            expect![[r#"
        turns train-1 -> train-2: any
        turns train-2 -> train-1: any
    "#]],
        ),
        (
            "",
            expect![[r#"
        cuts train-1 -> train-2
        cuts train-2 -> train-1
    "#]],
        ),
    ] {
        check(
            |world| {
                world
                    .drop("leaf-1 nxos", no_segment)
                    .swap("leaf-1 nxos", "  vni 50017 l3", "  vni 50017")
                    .add("leaf-1 nxos", &format!("{vlan}{says}"))
            },
            expected,
        );
    }
}

#[test]
fn p4_vrfs_of_one_switch_take_each_others_routes_by_targets_without_evpn() {
    let permits = |world: World| {
        world.add("leaf-1 nxos", T18_PERMITS).swap(
            "leaf-2 nxos",
            "  member vni 50018 associate-vrf\n",
            "",
        )
    };
    check(|world| permits(world).add("leaf-1 nxos", IMPORT_T18), expect![[""]]);
    check(
        |world| permits(world).add("leaf-1 nxos", &IMPORT_T18.replace(" evpn", "")),
        expect![[r#"
            opens serve-1 -> store-1: any
            opens train-1 -> store-1: any
        "#]],
    );
}

#[test]
fn p6_what_passes_on_routes_keeps_them_with_targets_and_next_hops() {
    for line in [
        "    retain route-target all",
        "      send-community extended",
        "      route-map UNCHANGED out",
        "  set ip next-hop unchanged",
    ] {
        check(
            |world| world.drop("spine-1 nxos", line),
            expect![[r#"
            cuts serve-1 -> serve-2
            cuts serve-2 -> serve-1
            cuts store-1 -> store-2
            cuts store-2 -> store-1
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
        );
    }
}

#[test]
fn p6_a_reflector_keeps_routes_and_their_next_hops() {
    check(
        |world| {
            world.drop("spine-1 nxos", "    retain route-target all").swap(
                "spine-1 nxos",
                "      route-map UNCHANGED out",
                "      route-reflector-client",
            )
        },
        expect![[""]],
    );
}

#[test]
fn p6_a_cable_is_routed_and_up_only_if_it_is_told() {
    for line in ["no switchport", "no shutdown"] {
        check(
            |world| world.swap("leaf-1 nxos", &format!("  {line}\n"), ""),
            expect![[r#"
            cuts serve-1 -> serve-2
            cuts serve-2 -> serve-1
            cuts store-1 -> store-2
            cuts store-2 -> store-1
            cuts train-1 -> train-2
            cuts train-2 -> train-1
        "#]],
        );
    }
}

#[test]
fn p5_the_exporters_vni_is_carried_so_that_two_numbers_of_one_target_still_meet() {
    check(
        |world| {
            world
                .swap("leaf-2 nxos", "vn-segment 101001", "vn-segment 101777")
                .swap("leaf-2 nxos", "member vni 101001", "member vni 101777")
                .swap("leaf-2 nxos", "vni 101001 l2", "vni 101777 l2")
        },
        expect![[""]],
    );
}

#[test]
fn p8_without_the_default_deny_everything_routed_into_the_vrf_arrives() {
    check(
        |world| {
            world.swap(
                "leaf-1 nxos",
                "    route-target export 65000:50017 evpn\n  security enforce tag 999 default deny\n",
                "    route-target export 65000:50017 evpn\n",
            )
        },
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-2 -> train-1: any
            opens train-1 -> serve-1: any
            opens train-2 -> serve-1: any
        "#]],
    );
}

#[test]
fn p8_a_switch_without_the_feature_judges_nobody() {
    check(
        |world| world.drop("leaf-1 nxos", "feature security-group"),
        expect![[r#"
        opens serve-1 -> train-1: any
        opens serve-2 -> train-1: any
        opens train-1 -> serve-1: any
        opens train-2 -> serve-1: any
    "#]],
    );
}

#[test]
fn p8_a_switch_without_room_for_groups_judges_nobody() {
    check(
        |world| world.drop("leaf-1 nxos", "system routing template-security-groups"),
        expect![[r#"
            opens serve-1 -> train-1: any
            opens serve-2 -> train-1: any
            opens train-1 -> serve-1: any
            opens train-2 -> serve-1: any
        "#]],
    );
}

#[test]
fn p8_a_bridge_domain_without_vrf_denies_nothing() {
    check(
        |world| {
            world
                .drop("leaf-1 nxos", "  vrf member t18")
                .drop("leaf-2 nxos", "  vrf member t18")
                .add("leaf-1 nxos", "evpn\n  vni 101001 l2\n    route-target import 65000:102001\n")
        },
        expect![[r#"
            opens train-1 -> store-2: flood, any
        "#]],
    );
}

#[test]
fn p8_a_contract_opens_its_service_from_client_to_provider_and_back() {
    check(
        |world| world.add("leaf-1 nxos", CONTRACT),
        expect![[r#"
        opens serve-1 -> train-1: answer tcp 2049
        opens serve-2 -> train-1: answer tcp 2049
        opens train-1 -> serve-1: ask tcp 2049
        opens train-2 -> serve-1: ask tcp 2049
    "#]],
    );
}

const CONTRACT: &str = "class-map type security match-any C-tcp-2049
  match ipv4 tcp dport 2049
policy-map type security P-tcp-2049
  class C-tcp-2049
    permit
vrf context t17
  security contract source 1001 destination 1002 policy P-tcp-2049 bidir
";

#[test]
fn p8_a_contract_of_one_way_lets_nobody_answer_and_one_as_printed_does() {
    check(
        |world| world.add("leaf-1 nxos", &CONTRACT.replace(" bidir", "")),
        expect![[r#"
        opens serve-1 -> train-1: answer tcp 2049
        opens serve-2 -> train-1: answer tcp 2049
        opens train-1 -> serve-1: ask tcp 2049
        opens train-2 -> serve-1: ask tcp 2049
    "#]],
    );
    check(
        |world| world.add("leaf-1 nxos", &CONTRACT.replace(" bidir", " unidir")),
        expect![[r#"
            opens train-1 -> serve-1: ask tcp 2049
            opens train-2 -> serve-1: ask tcp 2049
        "#]],
    );
}

#[test]
fn p8_who_answers_may_begin_unless_the_class_is_stateful() {
    let opens = |contract: &str| {
        let world = World::sound(Side::Nxos, Side::Nxos).add("leaf-1 nxos", contract);
        let ends = (world.port("serve-1"), world.port("train-1"));
        let service = |opens| SentPacket {
            protocol: Protocol::Tcp,
            source_port: 2049,
            destination_port: 22,
            opens,
        };
        [true, false].map(|begins| world.fabric().delivers(ends.0, ends.1, service(begins)))
    };
    assert_eq!(opens(CONTRACT), [true, true]);
    assert_eq!(opens(&CONTRACT.replace("tcp dport", "tcp stateful dport")), [false, true]);
}

#[test]
fn p8_a_contract_whose_policy_nobody_defined_opens_nothing() {
    check(
        |world| {
            world.add(
                "leaf-1 nxos",
                "vrf context t17\n  security contract source 1001 destination 1002 policy P bidir\n",
            )
        },
        expect![[""]],
    );
}

#[test]
fn p8_a_contract_of_two_tenants_needs_the_import_and_stands_where_it_is_received() {
    let between = CONTRACT.replace("destination 1002", "destination 2001");
    let provider = between.replace("vrf context t17", "vrf context t18");
    check(
        |world| {
            world
                .add("leaf-1 nxos", &between)
                .add("leaf-1 nxos", IMPORT_T18)
                .add("leaf-2 nxos", &provider)
                .add(
                    "leaf-2 nxos",
                    "vrf context t18\n  address-family ipv4 unicast\n    route-target import 65000:50017 evpn\n",
                )
        },
        expect![[r#"
            opens store-2 -> train-1: answer tcp 2049
            opens train-1 -> store-2: ask tcp 2049
        "#]],
    );
}

#[test]
fn a_line_that_nobody_knows_does_nothing() {
    check(
        |world| world.add("leaf-1 nxos", "! vlan 300\nopen everything\n  to everybody\n"),
        expect![[""]],
    );
}

#[test]
fn two_tenants_with_the_same_addresses_do_not_meet() {
    check(
        |world| {
            world.swap("leaf-1 nxos", "10.9.0.", "10.1.0.").swap(
                "leaf-2 nxos",
                "10.9.0.",
                "10.1.0.",
            )
        },
        expect![[""]],
    );
}
