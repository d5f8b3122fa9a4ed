//! A small world: a leaf with two plain nodes, a leaf with a node and a host that is a tunnel
//! endpoint itself, one spine. One tenant trains and evaluates, another one stores.
//!
//! | job                 | tag  | leaf-1             | leaf-2                  | h1         |
//! |---------------------|------|--------------------|-------------------------|------------|
//! | acme/research/train | 1001 | 10.1.0.2, 10.1.0.3 | 10.1.0.4, .5 and .7     | 10.1.0.6   |
//! | acme/research/eval  | 1002 | 10.1.0.18          |                         |            |
//! | blue/store          | 2001 | 10.9.0.2           |                         | 10.9.0.3   |
//!
//! Train asks store on TCP 2049 and UDP 111, and eval asks train on TCP 22. Store is bulk and has
//! a ceiling.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::{
    Asn, Consent, DeviceId, Dialect, Enforcement, Fleet, Generation, Health, JobName, Link,
    LinkEnd, NicRef, Node, NodeId, NodeModelId, Part, PodId, Port, Protocol, Queue, Rate,
    RouteTarget, Service, SiteId, Switch, SwitchDialect, SwitchId, SwitchRole, TrafficClass,
    Uplink, Versions, VrfName, Vtep,
};
use plan::{DevicePlan, Group, JobNet, Plan, Seat, TenantNet};
use wire::Mac;

const LEAF_1: DeviceId = DeviceId(0);
const LEAF_2: DeviceId = DeviceId(1);
const H1: DeviceId = DeviceId(5);

/// The text of one part of one device's artifact; the part is written as it is displayed.
pub(crate) fn text(device: &str, dialect: Dialect, part: &str) -> String {
    let plan = plan();
    let id =
        plan.fleet.devices().find(|&id| plan.fleet.device_name(id).as_str() == device).unwrap();
    let part = match part.split_once(' ') {
        Some(("tenant", name)) => Part::Tenant(name.parse().unwrap()),
        Some(("holdings", name)) => Part::Holdings(name.parse().unwrap()),
        Some(("job", name)) => Part::Job(name.parse().unwrap()),
        _ => Part::Head,
    };
    render::part(&plan, id, dialect, &part).unwrap()
}

fn plan() -> Plan {
    let jobs = BTreeMap::from([
        (
            name("acme/research/train"),
            job(
                1001,
                "10.1.0.0/28",
                vec![
                    group(LEAF_1, 1, &[(Port::Swp(1), 2), (Port::Swp(2), 3)]),
                    group(LEAF_2, 1, &[(Port::Swp(1), 4), (Port::Swp(2), 5), (Port::Swp(3), 7)]),
                    group(H1, 1, &[(Port::Rep(0), 6)]),
                ],
            ),
        ),
        (
            name("acme/research/eval"),
            job(1002, "10.1.0.16/29", vec![group(LEAF_1, 1, &[(Port::Swp(3), 18)])]),
        ),
        (
            name("blue/store"),
            JobNet {
                class: TrafficClass::Bulk,
                ceiling: Some(Rate { bps: 10_000_000_000 }),
                ..job(
                    2001,
                    "10.9.0.0/29",
                    vec![
                        group(LEAF_1, 9, &[(Port::Swp(4), 2)]),
                        group(H1, 9, &[(Port::Rep(1), 3)]),
                    ],
                )
            },
        ),
    ]);
    Plan {
        generation: Generation(1),
        fleet: Arc::new(fleet()),
        tenants: BTreeMap::from([
            ("acme/research".parse().unwrap(), tenant(17, Some((25_000_000_000, 100_000_000_000)))),
            ("blue".parse().unwrap(), tenant(18, None)),
        ]),
        consents: consents(),
        nodes: BTreeMap::new(),
        pasts: BTreeMap::new(),
        devices: seated(&jobs),
        jobs,
    }
}

fn consents() -> BTreeMap<JobName, Vec<Consent>> {
    let mut consents: BTreeMap<JobName, Vec<Consent>> = BTreeMap::new();
    for (client, provider, protocol, port) in [
        ("acme/research/eval", "acme/research/train", Protocol::Tcp, 22),
        ("acme/research/train", "blue/store", Protocol::Tcp, 2049),
        ("acme/research/train", "blue/store", Protocol::Udp, 111),
    ] {
        let consent = Consent {
            client: name(client),
            provider: name(provider),
            service: Service { protocol, port },
        };
        for side in [client, provider] {
            consents.entry(name(side)).or_default().push(consent.clone());
        }
    }
    consents
}

fn seated(jobs: &BTreeMap<JobName, JobNet>) -> BTreeMap<DeviceId, DevicePlan> {
    let mut devices: BTreeMap<DeviceId, DevicePlan> = BTreeMap::new();
    for (name, job) in jobs {
        for (position, group) in job.groups.iter().enumerate() {
            let seated = devices.entry(group.device).or_default();
            seated.jobs.insert(name.clone(), position);
        }
    }
    devices
}

/// A tenant that is promised this rate and ceiling, or nothing: then it has a hundredth of a link.
fn tenant(number: u16, promised: Option<(u64, u64)>) -> TenantNet {
    let l3vni = 50_000 + u32::from(number);
    let (rate, ceiling) = promised.unwrap_or((4_000_000_000, 400_000_000_000));
    TenantNet {
        number,
        vrf: VrfName(format!("t{number}").into()),
        l3vni: l3vni.try_into().unwrap(),
        rd_number: 60_000 + number,
        target: RouteTarget { asn: 65_000, number: l3vni },
        guarantee: promised.map(|(bps, _)| Rate { bps }),
        ceiling: promised.map(|(_, bps)| Rate { bps }),
        queue: Some(Queue { rate: Rate { bps: rate }, ceiling: Rate { bps: ceiling } }),
        trust: model::Trust::default(),
    }
}

fn job(tag: u16, subnet: &str, groups: Vec<Group>) -> JobNet {
    let subnet: ipnet::Ipv4Net = subnet.parse().unwrap();
    let l2vni = 100_000 + u32::from(tag);
    JobNet {
        tag: tag.try_into().unwrap(),
        l2vni: l2vni.try_into().unwrap(),
        target: RouteTarget { asn: 65_000, number: l2vni },
        subnet,
        gateway: next(subnet.network()),
        class: TrafficClass::Lossless,
        ceiling: None,
        keys: plan::place::FabricKeys::default(),
        groups,
    }
}

/// Seats in `10.<net>.0.0/24` by port and the last byte of the address, which is the last of the
/// Ethernet address too.
fn group(device: DeviceId, net: u8, seats: &[(Port, u8)]) -> Group {
    let seats = seats.iter().map(|&(port, last)| Seat {
        nic: NicRef { node: NodeId(0), nic: 0 },
        port,
        address: Ipv4Addr::new(10, net, 0, last),
        mac: Mac([2, 0, 0, 0, 0, last]),
    });
    Group { device, vlan: 100.try_into().unwrap(), seats: seats.collect() }
}

fn fleet() -> Fleet {
    Fleet {
        target_asn: 65_000,
        switches: vec![
            switch("leaf-1", SwitchRole::Leaf, 1),
            switch("leaf-2", SwitchRole::Leaf, 2),
            switch("spine-1", SwitchRole::Spine, 100),
        ],
        links: vec![link(0, 0), link(1, 2)],
        nodes: vec![node("n1", 0), node("n2", 1), host("h1")],
        uplink_rate: Some(Rate { bps: 400_000_000_001 }),
        ..Fleet::default()
    }
}

fn switch(name: &str, role: SwitchRole, number: u8) -> Switch {
    Switch {
        name: name.parse().unwrap(),
        site: SiteId(0),
        pod: Some(PodId(0)),
        role,
        dialect: SwitchDialect::Frr,
        vtep: Vtep {
            address: Ipv4Addr::new(10, 255, 0, number),
            asn: Asn(4_200_000_000 + u32::from(number)),
        },
    }
}

/// A cable from a leaf's port 33 to the spine.
fn link(leaf: u32, address: u8) -> Link {
    let address = Ipv4Addr::new(172, 16, 0, address);
    Link {
        a: LinkEnd { switch: SwitchId(leaf), port: Port::Swp(33), address },
        b: LinkEnd {
            switch: SwitchId(2),
            port: Port::Swp(1 + leaf as u16),
            address: next(address),
        },
    }
}

/// A node that its leaf judges.
fn node(name: &str, leaf: u32) -> Node {
    Node {
        name: name.parse().unwrap(),
        pod: PodId(0),
        rack: "r1".parse().unwrap(),
        model: NodeModelId(0),
        nvlink_domain: name.parse().unwrap(),
        versions: Versions::default(),
        health: Health::Good,
        enforcement: Enforcement::Leaf,
        vtep: None,
        uplinks: (1..=4).map(|port| uplink(leaf, port, None)).collect(),
    }
}

/// A host that is a tunnel endpoint, with a cable to each leaf.
fn host(name: &str) -> Node {
    let cable = |last| Some(Ipv4Addr::new(172, 17, 0, last));
    Node {
        enforcement: Enforcement::Host,
        vtep: Some(Vtep { address: Ipv4Addr::new(10, 255, 1, 1), asn: Asn(4_200_001_001) }),
        uplinks: vec![uplink(0, 9, cable(0)), uplink(1, 9, cable(2))],
        ..node(name, 0)
    }
}

fn uplink(leaf: u32, port: u16, leaf_address: Option<Ipv4Addr>) -> Uplink {
    Uplink {
        leaf: SwitchId(leaf),
        port: Port::Swp(port),
        mac: Mac([2, 0, 0, 0, 1, port as u8]),
        leaf_address,
    }
}

fn name(text: &str) -> JobName {
    text.parse().unwrap()
}

fn next(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(address) + 1)
}
