//! Sessions and announcements, in each dialect: whatever is missing severs, and opens nothing (P6).

use crate::world::{Side, World};

/// The change severs the first leaf from the second, and nothing else happens.
fn check(first: Side, second: Side, change: impl FnOnce(World) -> World) {
    let reach = change(World::sound(first, second)).reach();
    assert!(reach.is_empty(), "still there: {reach:#?}");
}

const NXOS: (Side, Side) = (Side::Nxos, Side::Nxos);
const FRR: (Side, Side) = (Side::Frr, Side::Frr);
const MIXED: (Side, Side) = (Side::Nxos, Side::Frr);
const HOST: (Side, Side) = (Side::Host, Side::Host);

/// Nobody sends to a device whose tunnel address is not known, and what it sends arrives.
fn check_is_not_heard_of(first: Side, second: Side, place: &str, line: &str) {
    let sound = World::sound(first, second).reach();
    let expected: Vec<_> = sound.keys().filter(|pair| pair.ends_with("-2")).collect();
    let reach = World::sound(first, second).swap(place, line, "").reach();
    assert!(!expected.is_empty());
    assert_eq!(reach.keys().collect::<Vec<_>>(), expected);
}

#[test]
fn a_leaf_that_does_not_announce_its_tunnel() {
    check_is_not_heard_of(NXOS.0, NXOS.1, "leaf-1 nxos", "    network 10.255.0.1/32\n");
}

#[test]
fn a_frr_leaf_that_does_not_announce_its_tunnel() {
    check_is_not_heard_of(FRR.0, FRR.1, "leaf-1 frr", "  network 10.255.0.1/32\n");
}

macro_rules! severed {
    ($($name:ident: $sides:ident, $place:literal, $old:literal => $new:literal;)*) => {$(
        #[test]
        fn $name() {
            let (first, second) = $sides;
            check(first, second, |world| world.swap($place, $old, $new));
        }
    )*};
}

severed! {
    a_leaf_that_names_no_neighbor: NXOS, "leaf-1 nxos", "  neighbor 172.16.1.1\n" => "";
    a_leaf_that_expects_another_as: NXOS, "leaf-1 nxos", "remote-as 4200000100" => "remote-as 4200000101";
    a_leaf_that_speaks_as_another_as: NXOS, "leaf-1 nxos", "bgp 4200000001" => "bgp 4200000009";
    a_leaf_with_another_cable_address: NXOS, "leaf-1 nxos", "ip address 172.16.1.0/31" => "ip address 172.16.7.0/31";
    a_leaf_that_carries_no_evpn: NXOS, "leaf-1 nxos", "    address-family l2vpn evpn\n      send" => "      send";
    a_leaf_that_carries_no_underlay: NXOS, "leaf-1 nxos", "4200000100\n    address-family ipv4 unicast\n" => "4200000100\n";
    a_leaf_without_overlay: NXOS, "leaf-1 nxos", "nv overlay evpn\n" => "";
    a_leaf_whose_tunnels_do_not_listen_to_bgp: NXOS, "leaf-1 nxos", "  host-reachability protocol bgp\n" => "";
    a_leaf_without_tunnel_source: NXOS, "leaf-1 nxos", "  source-interface loopback1\n" => "";
    a_spine_that_names_one_leaf_only: NXOS, "spine-1 nxos", "  neighbor 172.16.2.0\n" => "";
    a_frr_leaf_that_names_no_neighbor: FRR, "leaf-1 frr", " neighbor 172.16.1.1 remote-as 4200000100\n" => "";
    a_frr_leaf_that_expects_another_as: FRR, "leaf-1 frr", "remote-as 4200000100" => "remote-as 4200000101";
    a_frr_leaf_that_carries_no_evpn: FRR, "leaf-1 frr", "  neighbor 172.16.1.1 activate\n  advertise" => "  advertise";
    a_frr_leaf_that_carries_no_underlay: FRR, "leaf-1 frr", "  neighbor 172.16.1.1 activate\n exit" => " exit";
    a_frr_leaf_that_advertises_no_vni: FRR, "leaf-1 frr", "  advertise-all-vni\n" => "";
    a_frr_leaf_that_does_not_have_its_tunnel_address: FRR, "leaf-1 linux", "vtep 10.255.0.1" => "vtep 10.255.0.9";
    a_frr_leaf_whose_cable_is_plugged_in_elsewhere: FRR, "leaf-1 frr", "interface swp33" => "interface swp34";
    a_frr_spine_with_a_cable_address_at_another_port: FRR, "spine-1 frr", "interface swp1" => "interface swp3";
    a_spine_with_a_cable_address_at_another_port: NXOS, "spine-1 nxos", "interface Ethernet1/1" => "interface Ethernet1/3";
    a_frr_leaf_whose_tunnels_come_from_the_other_leaf: FRR, "leaf-1 linux", "local 10.255.0.1" => "local 10.255.0.2";
    a_frr_leaf_whose_tunnels_come_from_elsewhere: FRR, "leaf-1 linux", "local 10.255.0.1" => "local 10.255.0.9";
    a_frr_spine_that_names_one_leaf_only: FRR, "spine-1 frr", " neighbor 172.16.2.0 remote-as 4200000002\n" => "";
    a_frr_leaf_below_an_nxos_spine: MIXED, "leaf-2 frr", "ip address 172.16.2.0/31" => "ip address 172.16.7.0/31";
    a_host_that_names_no_neighbor: HOST, "host-1 frr", " neighbor 172.16.1.1 remote-as 4200000100\n" => "";
}
