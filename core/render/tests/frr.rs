#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use expect_test::{Expect, expect};
use model::Dialect;

#[test]
fn a_leaf_speaks_with_its_spine_and_with_the_hosts_below() {
    check(
        "leaf-1",
        "head",
        expect![[r#"
            frr version 8.4.4
            frr defaults datacenter
            hostname leaf-1
            no zebra nexthop kernel enable
            service integrated-vtysh-config
            interface lo
             ip address 10.255.0.1/32
            exit
            interface swp33
             ip address 172.16.0.0/31
            exit
            interface swp9
             ip address 172.17.0.0/31
            exit
            router bgp 4200000001
             bgp router-id 10.255.0.1
             no bgp default ipv4-unicast
             bgp bestpath as-path multipath-relax
             neighbor 172.16.0.1 remote-as 4200000100
             neighbor 172.16.0.1 timers 1 3
             neighbor 172.16.0.1 timers connect 1
             neighbor 172.17.0.1 remote-as 4200001001
             neighbor 172.17.0.1 timers 1 3
             neighbor 172.17.0.1 timers connect 1
             address-family ipv4 unicast
              network 10.255.0.1/32
              neighbor 172.16.0.1 activate
              neighbor 172.17.0.1 activate
             exit-address-family
             address-family l2vpn evpn
              neighbor 172.16.0.1 activate
              neighbor 172.17.0.1 activate
              advertise-all-vni
             exit-address-family
            exit
        "#]],
    );
}

#[test]
fn a_spine_ends_no_tunnels() {
    check(
        "spine-1",
        "head",
        expect![[r#"
            frr version 8.4.4
            frr defaults datacenter
            hostname spine-1
            no zebra nexthop kernel enable
            service integrated-vtysh-config
            interface lo
             ip address 10.255.0.100/32
            exit
            interface swp1
             ip address 172.16.0.1/31
            exit
            interface swp2
             ip address 172.16.0.3/31
            exit
            router bgp 4200000100
             bgp router-id 10.255.0.100
             no bgp default ipv4-unicast
             bgp bestpath as-path multipath-relax
             neighbor 172.16.0.0 remote-as 4200000001
             neighbor 172.16.0.0 timers 1 3
             neighbor 172.16.0.0 timers connect 1
             neighbor 172.16.0.2 remote-as 4200000002
             neighbor 172.16.0.2 timers 1 3
             neighbor 172.16.0.2 timers connect 1
             address-family ipv4 unicast
              network 10.255.0.100/32
              neighbor 172.16.0.0 activate
              neighbor 172.16.0.2 activate
             exit-address-family
             address-family l2vpn evpn
              neighbor 172.16.0.0 activate
              neighbor 172.16.0.2 activate
             exit-address-family
            exit
        "#]],
    );
}

#[test]
fn a_host_has_the_other_side_of_each_cable() {
    check(
        "h1",
        "head",
        expect![[r#"
            frr version 8.4.4
            frr defaults datacenter
            hostname h1
            no zebra nexthop kernel enable
            service integrated-vtysh-config
            interface lo
             ip address 10.255.1.1/32
            exit
            interface nic0
             ip address 172.17.0.1/31
            exit
            interface nic1
             ip address 172.17.0.3/31
            exit
            router bgp 4200001001
             bgp router-id 10.255.1.1
             no bgp default ipv4-unicast
             bgp bestpath as-path multipath-relax
             neighbor 172.17.0.0 remote-as 4200000001
             neighbor 172.17.0.0 timers 1 3
             neighbor 172.17.0.0 timers connect 1
             neighbor 172.17.0.2 remote-as 4200000002
             neighbor 172.17.0.2 timers 1 3
             neighbor 172.17.0.2 timers connect 1
             address-family ipv4 unicast
              network 10.255.1.1/32
              neighbor 172.17.0.0 activate
              neighbor 172.17.0.2 activate
             exit-address-family
             address-family l2vpn evpn
              neighbor 172.17.0.0 activate
              neighbor 172.17.0.2 activate
              advertise-all-vni
             exit-address-family
            exit
        "#]],
    );
}

#[test]
fn a_tenant_is_a_vrf_with_its_targets() {
    check(
        "leaf-2",
        "tenant acme/research",
        expect![[r#"
            vrf t17
             vni 50017
            exit-vrf
            router bgp 4200000002 vrf t17
             address-family ipv4 unicast
              redistribute connected
             exit-address-family
             address-family ipv6 unicast
              redistribute connected
             exit-address-family
             address-family l2vpn evpn
              advertise ipv4 unicast
              advertise ipv6 unicast
              rd 10.255.0.2:60017
              route-target import 65000:50017
              route-target export 65000:50017
             exit-address-family
            exit
        "#]],
    );
}

#[test]
fn a_consent_inside_a_tenant_needs_no_import() {
    check(
        "leaf-1",
        "job acme/research/eval",
        expect![[r#"
        router bgp 4200000001
         address-family l2vpn evpn
          vni 101002
           rd 10.255.0.1:1002
           route-target import 65000:101002
           route-target export 65000:101002
          exit-vni
         exit-address-family
        exit
    "#]],
    );
}

#[test]
fn a_consent_with_another_tenant_imports_nothing_either() {
    check(
        "leaf-2",
        "job acme/research/train",
        expect![[r#"
            router bgp 4200000002
             address-family l2vpn evpn
              vni 101001
               rd 10.255.0.2:1001
               route-target import 65000:101001
               route-target export 65000:101001
              exit-vni
             exit-address-family
            exit
        "#]],
    );
}

fn check(device: &str, part: &str, expected: Expect) {
    expected.assert_eq(&world::text(device, Dialect::Frr, part));
}
