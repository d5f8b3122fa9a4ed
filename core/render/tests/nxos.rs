//! What a plan becomes on NX-OS switches, word for word.
#![allow(clippy::unwrap_used, reason = "a test that cannot build its world fails")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{
    Asn, Consent, DeviceId, Dialect, Enforcement, Fleet, Generation, Health, JobName, Link,
    LinkEnd, Name, NicRef, Node, NodeId, NodeModelId, Part, PodId, Port, Protocol, RouteTarget,
    Service, SiteId, Switch, SwitchDialect, SwitchId, SwitchRole, TrafficClass, Uplink, Versions,
    VrfName, Vtep,
};
use plan::{Group, JobNet, Plan, Seat, TenantNet};
use wire::Mac;

const LEAF: DeviceId = DeviceId(0);
const LEAF_ABOVE_A_HOST: DeviceId = DeviceId(1);
const SPINE: DeviceId = DeviceId(2);
const CORE: DeviceId = DeviceId(3);
const HOST: DeviceId = DeviceId(5);

#[test]
fn a_leaf_ends_tunnels_and_judges_by_group() {
    check(
        LEAF,
        "head",
        expect![[r#"
            ! Platform: takes effect after `copy running-config startup-config` and a reload.
            system routing template-security-groups
            hardware access-list tcam region ipsg 512
            ! What needs the platform's lines in force.
            hostname leaf-1
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
              ip address 10.255.0.1/32
            interface nve1
              no shutdown
              host-reachability protocol bgp
              source-interface loopback1
            interface Ethernet1/33
              no switchport
              mtu 9216
              ip address 172.16.0.0/31
              no shutdown
            router bgp 4200000001
              router-id 10.255.0.1
              bestpath as-path multipath-relax
              address-family ipv4 unicast
                network 10.255.0.1/32
                maximum-paths 64
              address-family l2vpn evpn
                maximum-paths 64
              neighbor 172.16.0.1
                remote-as 4200000100
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
        "#]],
    );
}

#[test]
fn a_leaf_above_a_tunnel_endpoint_speaks_with_it_and_keeps_its_next_hop() {
    check(
        LEAF_ABOVE_A_HOST,
        "head",
        expect![[r#"
            ! Platform: takes effect after `copy running-config startup-config` and a reload.
            system routing template-security-groups
            hardware access-list tcam region ipsg 512
            ! What needs the platform's lines in force.
            hostname leaf-2
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
              ip address 10.255.0.2/32
            interface nve1
              no shutdown
              host-reachability protocol bgp
              source-interface loopback1
            interface Ethernet1/33
              no switchport
              mtu 9216
              ip address 172.16.0.2/31
              no shutdown
            interface Ethernet1/7
              no switchport
              mtu 9216
              ip address 172.17.0.8/31
              no shutdown
            route-map UNCHANGED permit 10
              set ip next-hop unchanged
            router bgp 4200000002
              router-id 10.255.0.2
              bestpath as-path multipath-relax
              address-family ipv4 unicast
                network 10.255.0.2/32
                maximum-paths 64
              address-family l2vpn evpn
                maximum-paths 64
                retain route-target all
              neighbor 172.16.0.3
                remote-as 4200000100
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
              neighbor 172.17.0.9
                remote-as 4200001001
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
        "#]],
    );
}

#[test]
fn a_spine_relays_and_ends_no_tunnel() {
    check(
        SPINE,
        "head",
        expect![[r#"
            hostname spine-1
            feature bgp
            nv overlay evpn
            interface loopback1
              ip address 10.255.1.0/32
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
            interface Ethernet1/64
              no switchport
              mtu 9216
              ip address 172.18.0.0/31
              no shutdown
            route-map UNCHANGED permit 10
              set ip next-hop unchanged
            router bgp 4200000100
              router-id 10.255.1.0
              bestpath as-path multipath-relax
              address-family ipv4 unicast
                network 10.255.1.0/32
                maximum-paths 64
              address-family l2vpn evpn
                maximum-paths 64
                retain route-target all
              neighbor 172.16.0.0
                remote-as 4200000001
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
              neighbor 172.16.0.2
                remote-as 4200000002
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
              neighbor 172.18.0.1
                remote-as 4200000200
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
        "#]],
    );
}

#[test]
fn a_core_is_written_like_a_spine() {
    check(
        CORE,
        "head",
        expect![[r#"
            hostname core-1
            feature bgp
            nv overlay evpn
            interface loopback1
              ip address 10.255.2.0/32
            interface Ethernet1/1
              no switchport
              mtu 9216
              ip address 172.18.0.1/31
              no shutdown
            route-map UNCHANGED permit 10
              set ip next-hop unchanged
            router bgp 4200000200
              router-id 10.255.2.0
              bestpath as-path multipath-relax
              address-family ipv4 unicast
                network 10.255.2.0/32
                maximum-paths 64
              address-family l2vpn evpn
                maximum-paths 64
                retain route-target all
              neighbor 172.18.0.0
                remote-as 4200000100
                address-family ipv4 unicast
                address-family l2vpn evpn
                  send-community extended
                  route-map UNCHANGED out
        "#]],
    );
}

#[test]
fn a_tenant_is_a_vrf_that_denies_by_default() {
    check(
        LEAF,
        "tenant acme/research",
        expect![[r#"
            vrf context t17
              description acme/research
              vni 50017 l3
              rd 10.255.0.1:60017
              address-family ipv4 unicast
                route-target import 65000:50017 evpn
                route-target export 65000:50017 evpn
              security enforce tag 999 default deny
            interface nve1
              member vni 50017 associate-vrf
            router bgp 4200000001
              vrf t17
                address-family ipv4 unicast
                  advertise l2vpn evpn
                  maximum-paths 64
        "#]],
    );
}

#[test]
fn a_job_is_a_segment_with_its_group_ports_and_contracts() {
    check(
        LEAF,
        "job acme/research/train",
        expect![[r#"
            vlan 100
              name J1001
              vn-segment 101001
            interface Vlan100
              description acme/research/train
              no shutdown
              mtu 9166
              vrf member t17
              ip address 10.1.0.1/28
              fabric forwarding mode anycast-gateway
            interface nve1
              member vni 101001
                suppress-arp
                ingress-replication protocol bgp
            evpn
              vni 101001 l2
                rd 10.255.0.1:1001
                route-target import 65000:101001
                route-target export 65000:101001
            ip dhcp snooping vlan 100
            security-group 1001 name J1001
              type layer4-7
              match connected-endpoints vrf t17 ipv4 10.1.0.2/32
              match connected-endpoints vrf t17 ipv4 10.1.0.3/32
            interface Ethernet1/5
              description n1 nic 0
              switchport
              switchport access vlan 100
              mtu 9166
              ip verify source dhcp-snooping-vlan
              no shutdown
            ip source binding 10.1.0.2 0200.0000.0005 vlan 100 interface Ethernet1/5
            interface Ethernet1/6
              description n1 nic 1
              switchport
              switchport access vlan 100
              mtu 9166
              ip verify source dhcp-snooping-vlan
              no shutdown
            ip source binding 10.1.0.3 0200.0000.0006 vlan 100 interface Ethernet1/6
            class-map type security match-any C-1001-tcp-2049
              match ipv4 tcp stateful dport 2049
            policy-map type security P-1001-tcp-2049
              class C-1001-tcp-2049
                permit
            vrf context t17
              address-family ipv4 unicast
                route-target import 65000:50018
                route-target import 65000:50018 evpn
                route-target export 65000:50017
              security contract source 1001 destination 2001 policy P-1001-tcp-2049
            class-map type security match-any C-1001-udp-53
              match ipv4 udp dport 53
            policy-map type security P-1001-udp-53
              class C-1001-udp-53
                permit
            vrf context t17
              security contract source 1001 destination 1002 policy P-1001-udp-53
        "#]],
    );
}

#[test]
fn the_provider_has_the_same_contract_in_its_own_vrf() {
    check(
        LEAF_ABOVE_A_HOST,
        "job store/files",
        expect![[r#"
            vlan 7
              name J2001
              vn-segment 102001
            interface Vlan7
              description store/files
              no shutdown
              mtu 9166
              vrf member t18
              ip address 10.9.0.1/29
              fabric forwarding mode anycast-gateway
            interface nve1
              member vni 102001
                suppress-arp
                ingress-replication protocol bgp
            evpn
              vni 102001 l2
                rd 10.255.0.2:2001
                route-target import 65000:102001
                route-target export 65000:102001
            ip dhcp snooping vlan 7
            security-group 2001 name J2001
              type layer4-7
              match connected-endpoints vrf t18 ipv4 10.9.0.2/32
            interface Ethernet1/9
              description n1 nic 0
              switchport
              switchport access vlan 7
              mtu 9166
              ip verify source dhcp-snooping-vlan
              no shutdown
            ip source binding 10.9.0.2 0200.0000.0009 vlan 7 interface Ethernet1/9
            class-map type security match-any C-2001-tcp-2049
              match ipv4 tcp stateful dport 2049
            policy-map type security P-2001-tcp-2049
              class C-2001-tcp-2049
                permit
            vrf context t18
              address-family ipv4 unicast
                route-target import 65000:50017
                route-target import 65000:50017 evpn
                route-target export 65000:50018
              security contract source 1001 destination 2001 policy P-2001-tcp-2049
        "#]],
    );
}

#[test]
fn a_consent_with_a_job_that_is_not_planned_opens_nothing() {
    check(
        LEAF_ABOVE_A_HOST,
        "job acme/research/names",
        expect![[r#"
            vlan 8
              name J1002
              vn-segment 101002
            interface Vlan8
              description acme/research/names
              no shutdown
              mtu 9166
              vrf member t17
              ip address 10.1.1.1/30
              fabric forwarding mode anycast-gateway
            interface nve1
              member vni 101002
                suppress-arp
                ingress-replication protocol bgp
            evpn
              vni 101002 l2
                rd 10.255.0.2:1002
                route-target import 65000:101002
                route-target export 65000:101002
            ip dhcp snooping vlan 8
            security-group 1002 name J1002
              type layer4-7
              match connected-endpoints vrf t17 ipv4 10.1.1.2/32
            interface Ethernet1/10
              description n1 nic 0
              switchport
              switchport access vlan 8
              mtu 9166
              ip verify source dhcp-snooping-vlan
              no shutdown
            ip source binding 10.1.1.2 0200.0000.000a vlan 8 interface Ethernet1/10
            class-map type security match-any C-1002-udp-53
              match ipv4 udp dport 53
            policy-map type security P-1002-udp-53
              class C-1002-udp-53
                permit
            vrf context t17
              security contract source 1001 destination 1002 policy P-1002-udp-53
        "#]],
    );
}

#[test]
fn a_host_is_not_configured_in_this_dialect() {
    check(HOST, "head", expect![""]);
}

fn check(device: DeviceId, part: &str, expect: Expect) {
    let part = match part.split_once(' ') {
        None => Part::Head,
        Some(("tenant", name)) => Part::Tenant(name.parse().unwrap()),
        Some((_, name)) => Part::Job(name.parse().unwrap()),
    };
    expect.assert_eq(&render::part(&plan(), device, Dialect::Nxos, &part).unwrap());
}

/// Two leaves, a spine and a core. The training of `acme/research` and the files of `store`
/// consented to each other, the training and the names of `acme/research` too; the names also
/// wait for a job that nobody planned.
fn plan() -> Plan {
    let mut plan = Plan {
        generation: Generation(1),
        fleet: Arc::new(fleet()),
        tenants: BTreeMap::new(),
        jobs: BTreeMap::new(),
        consents: BTreeMap::new(),
        devices: BTreeMap::new(),
        nodes: BTreeMap::new(),
        pasts: BTreeMap::new(),
    };
    plan.tenants.insert("acme/research".parse().unwrap(), tenant(17));
    plan.tenants.insert("store".parse().unwrap(), tenant(18));
    let (train, files, names) = ("acme/research/train", "store/files", "acme/research/names");
    seat(&mut plan, train, job(1001, "10.1.0.0/28", LEAF, 100, &[5, 6]));
    seat(&mut plan, files, job(2001, "10.9.0.0/29", LEAF_ABOVE_A_HOST, 7, &[9]));
    seat(&mut plan, names, job(1002, "10.1.1.0/30", LEAF_ABOVE_A_HOST, 8, &[10]));
    consent(&mut plan, train, files, Protocol::Tcp, 2049);
    consent(&mut plan, train, names, Protocol::Udp, 53);
    consent(&mut plan, "store/absent", names, Protocol::Udp, 54);
    plan
}

fn fleet() -> Fleet {
    let host = vtep([10, 255, 3, 1], 4_200_001_001);
    Fleet {
        name: "small".into(),
        target_asn: 65000,
        switches: vec![
            switch("leaf-1", SwitchRole::Leaf, [10, 255, 0, 1], 4_200_000_001),
            switch("leaf-2", SwitchRole::Leaf, [10, 255, 0, 2], 4_200_000_002),
            switch("spine-1", SwitchRole::Spine, [10, 255, 1, 0], 4_200_000_100),
            switch("core-1", SwitchRole::Core, [10, 255, 2, 0], 4_200_000_200),
        ],
        nodes: vec![
            node("n1", None, None),
            node("h1", Some(host), Some(Ipv4Addr::new(172, 17, 0, 8))),
        ],
        links: vec![
            link((0, 33, [172, 16, 0, 0]), (2, 1, [172, 16, 0, 1])),
            link((1, 33, [172, 16, 0, 2]), (2, 2, [172, 16, 0, 3])),
            link((2, 64, [172, 18, 0, 0]), (3, 1, [172, 18, 0, 1])),
        ],
        ..Fleet::default()
    }
}

fn vtep(address: [u8; 4], asn: u32) -> Vtep {
    Vtep { address: address.into(), asn: Asn(asn) }
}

fn switch(name: &str, role: SwitchRole, address: [u8; 4], asn: u32) -> Switch {
    Switch {
        name: name.parse().unwrap(),
        site: SiteId(0),
        pod: (role != SwitchRole::Core).then_some(PodId(0)),
        role,
        dialect: SwitchDialect::Nxos,
        vtep: vtep(address, asn),
    }
}

/// A node whose only cable is in the seventh port of the second leaf.
fn node(name: &str, vtep: Option<Vtep>, leaf_address: Option<Ipv4Addr>) -> Node {
    let name: Name = name.parse().unwrap();
    Node {
        name: name.clone(),
        pod: PodId(0),
        rack: name.clone(),
        model: NodeModelId(0),
        nvlink_domain: name,
        versions: Versions::default(),
        health: Health::Good,
        enforcement: if vtep.is_some() { Enforcement::Host } else { Enforcement::Leaf },
        vtep,
        uplinks: vec![Uplink {
            leaf: SwitchId(1),
            port: Port::Ethernet(7),
            mac: Mac([2, 0, 0, 0, 0, 7]),
            leaf_address,
        }],
    }
}

fn link(lower: (u32, u16, [u8; 4]), upper: (u32, u16, [u8; 4])) -> Link {
    let end = |(switch, port, address): (u32, u16, [u8; 4])| LinkEnd {
        switch: SwitchId(switch),
        port: Port::Ethernet(port),
        address: address.into(),
    };
    Link { a: end(lower), b: end(upper) }
}

fn tenant(number: u16) -> TenantNet {
    let l3vni = 50_000 + u32::from(number);
    TenantNet {
        number,
        vrf: VrfName(format!("t{number}").into()),
        l3vni: l3vni.try_into().unwrap(),
        rd_number: 60_000 + number,
        target: target(l3vni),
        guarantee: None,
        ceiling: None,
        queue: None,
        trust: model::Trust::default(),
    }
}

fn target(number: u32) -> RouteTarget {
    RouteTarget { asn: 65000, number }
}

/// A job with all its endpoints at these ports of one device.
fn job(tag: u16, subnet: &str, device: DeviceId, vlan: u16, ports: &[u8]) -> JobNet {
    let l2vni = 100_000 + u32::from(tag);
    let subnet: ipnet::Ipv4Net = subnet.parse().unwrap();
    let mut addresses = subnet.hosts();
    let gateway = addresses.next().unwrap();
    let seats = (0..).zip(ports).zip(addresses);
    let seats = seats.map(|((nic, &port), address)| Seat {
        nic: NicRef { node: NodeId(0), nic },
        port: Port::Ethernet(port.into()),
        address,
        mac: Mac([2, 0, 0, 0, 0, port]),
    });
    JobNet {
        tag: tag.try_into().unwrap(),
        l2vni: l2vni.try_into().unwrap(),
        target: target(l2vni),
        subnet,
        gateway,
        class: TrafficClass::Lossless,
        ceiling: None,
        keys: plan::place::FabricKeys::default(),
        groups: vec![Group { device, vlan: vlan.try_into().unwrap(), seats: seats.collect() }],
    }
}

fn seat(plan: &mut Plan, name: &str, job: JobNet) {
    let name: JobName = name.parse().unwrap();
    let device = plan.devices.entry(job.groups[0].device).or_default();
    device.jobs.insert(name.clone(), 0);
    plan.jobs.insert(name, job);
}

fn consent(plan: &mut Plan, client: &str, provider: &str, protocol: Protocol, port: u16) {
    let consent = Consent {
        client: client.parse().unwrap(),
        provider: provider.parse().unwrap(),
        service: Service { protocol, port },
    };
    for side in [&consent.client, &consent.provider] {
        let consents = plan.consents.entry(side.clone()).or_default();
        consents.push(consent.clone());
    }
}
