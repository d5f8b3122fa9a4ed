//! An NX-OS leaf and a Linux leaf: each judges the other's frames by what the tunnel carries.

use expect_test::{Expect, expect};

use crate::world::{Side, World, differences};

fn check(change: impl FnOnce(World) -> World, expect: Expect) {
    expect.assert_eq(&differences(Side::Nxos, Side::Frr, change));
}

#[test]
fn in_sound_worlds_of_every_kind_each_job_reaches_itself_and_nobody_else() {
    let alone = "\
serve-1 -> serve-2: flood, any
serve-2 -> serve-1: flood, any
store-1 -> store-2: flood, any
store-2 -> store-1: flood, any
train-1 -> train-2: flood, any
train-2 -> train-1: flood, any
";
    let kinds = [
        (Side::Nxos, Side::Nxos),
        (Side::Frr, Side::Frr),
        (Side::Nxos, Side::Frr),
        (Side::Host, Side::Host),
    ];
    for (first, second) in kinds {
        let reach = World::sound(first, second).reach();
        let told: String = reach.iter().map(|(pair, said)| format!("{pair}: {said}\n")).collect();
        assert_eq!(told, alone);
    }
}

#[test]
fn p5_a_switch_with_another_tunnel_address_is_not_believed_by_the_table() {
    check(
        |world| world.swap("leaf-1 nxos", "10.255.0.1/32", "10.255.0.9/32"),
        expect![[r#"
            cuts serve-1 -> serve-2
            cuts store-1 -> store-2
            cuts train-1 -> train-2
        "#]],
    );
}

#[test]
fn p5_a_missing_gbp_severs_all_but_what_floods_to_the_switch() {
    check(
        |world| {
            world.swap("leaf-2 linux", "inherit gbp master br1001", "inherit master br1001").swap(
                "leaf-2 linux",
                "inherit gbp vrf t17",
                "inherit vrf t17",
            )
        },
        expect![[r#"
            turns train-2 -> train-1: flood
            cuts train-1 -> train-2
        "#]],
    );
}

#[test]
fn p7_a_forged_source_behind_an_unguarded_switch_is_believed_when_address_and_tag_fit() {
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
fn p8_a_segment_joined_to_another_floods_to_the_switch_only() {
    check(
        |world| {
            world
                .add(
                    "leaf-1 nxos",
                    "evpn\n  vni 101001 l2\n    route-target import 65000:102001\n",
                )
                .add(
                    "leaf-2 frr",
                    "router bgp 4200000002\n address-family l2vpn evpn\n  vni 101001\n   route-target import 65000:102001\n",
                )
        },
        expect![[r#"
            opens train-2 -> store-1: flood
        "#]],
    );
}
