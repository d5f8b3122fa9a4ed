//! Faults in dialect `linux`: bridges, tunnels, bindings, routes between VRFs, and queues.

use std::net::Ipv4Addr;

use model::Dialect;
use plan::JobNet;

use super::{Change, Hole, Spot};
use crate::Chance;

const fn hole(name: &'static str, change: Change) -> Hole {
    Hole { name, dialect: Dialect::Linux, change }
}

pub(crate) const HOLES: &[Hole] = &[
    hole("a port is in another job's bridge", |spot, chance| {
        let ["link", _, "master", ..] = spot.words()[..] else { return None };
        spot.with(3, format_args!("br{}", spot.other_here(chance)?.0.tag))
    }),
    hole("a port that nobody owns is attached", |spot, _| {
        let ["link", _, "master", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(1, "swp60")?)
    }),
    hole("a port is bound to another job's address", |spot, chance| {
        let ["neigh", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(1, spot.sibling(chance)?.1.address)?)
    }),
    hole("another interface is told to be behind a port", |spot, _| {
        let ["neigh", _, "lladdr", ..] = spot.words()[..] else { return None };
        spot.with(3, "02:01:00:00:ff:ff")
    }),
    hole("a port is detached", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("link ")
    }),
    hole("a port is bound to nothing", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("neigh ")
    }),
    hole("a segment has no tunnel", |spot, _| {
        spot.is_stretched().then_some(())?;
        spot.dropped("vxlan ")
    }),
    hole("nothing stands at a cable", |spot, _| spot.dropped("uplink ")),
    hole("a segment has another job's VNI", |spot, chance| {
        let ["vxlan", _, "id", ..] = spot.words()[..] else { return None };
        spot.with(3, spot.other(chance)?.1.l2vni)
    }),
    hole("a VRF has another tenant's VNI", |spot, chance| {
        let ["vxlan", _, "id", ..] = spot.words()[..] else { return None };
        spot.with(3, spot.stranger(chance)?.l3vni)
    }),
    hole("a bridge is in another tenant's VRF", |spot, chance| {
        let ["bridge", _, "vrf", own, ..] = spot.words()[..] else { return None };
        let (_, group) = spot.other_here(chance)?;
        let other = spot.world.plan.tenants.get(&spot.owner_of(group)?.tenant)?;
        (other.vrf.0 != own).then_some(())?;
        spot.with(3, &other.vrf)
    }),
    hole("a bridge has another job's network", |spot, chance| {
        let other = another_network(spot, chance)?;
        spot.with(5, format_args!("{}/{}", other.gateway, other.subnet.prefix_len()))
    }),
    hole("a bridge has a part of another job's network", |spot, chance| {
        let other = another_network(spot, chance)?;
        spot.with(5, format_args!("{}/{}", other.gateway, other.subnet.prefix_len() + 1))
    }),
    // A job that is all on one device sends nothing through its tunnel.
    hole("a tunnel carries no tags", |spot, _| {
        spot.is_stretched().then_some(())?;
        without(spot, " gbp")
    }),
    hole("a tunnel comes from another address", |spot, chance| {
        spot.is_stretched().then_some(())?;
        let ["vxlan", _, _, _, "local", own, ..] = spot.words()[..] else { return None };
        spot.with(5, spot.other_vtep(own, chance)?)
    }),
    hole("a tunnel learns from packets", |spot, _| without(spot, " nolearning")),
    hole("nothing judges a port", |spot, _| {
        let ["link" | "uplink", ..] = spot.words()[..] else { return None };
        without(spot, " judged")
    }),
    hole("a port is down", |spot, _| {
        let ["link" | "uplink", ..] = spot.words()[..] else { return None };
        Some(vec![format!("{} down", spot.text)])
    }),
    hole("a port is too small for the fabric's frames", |spot, _| {
        let place = spot.words().iter().position(|word| *word == "mtu")?;
        spot.with(place + 1, 1500)
    }),
    hole("a router has another tenant's Ethernet address", |spot, chance| {
        let place = spot.words().iter().position(|word| *word == "mac")?;
        let vtep = spot.world.plan.fleet.vtep(spot.device)?.address;
        spot.with(place + 1, wire::router_mac(spot.stranger(chance)?.number, vtep))
    }),
    // What is said twice can be said once.
    hole("another tenant's addresses are out of reach", |spot, _| {
        let ["reach", run, "vrf", vrf, ..] = spot.words()[..] else { return None };
        spot.is_only_to_reach(vrf, run)?.then(Vec::new)
    }),
    hole("another tenant's addresses are behind the wrong tunnel endpoint", |spot, chance| {
        let ["reach", run, "vrf", vrf, "vtep", own, ..] = spot.words()[..] else { return None };
        spot.is_only_to_reach(vrf, run)?.then_some(())?;
        spot.with(5, spot.other_vtep(own, chance)?)
    }),
    hole("a VRF reaches into the network of a tenant that agreed to nothing", |spot, chance| {
        let ["vrf", own] = spot.words()[..] else { return None };
        let (other, vtep) = (spot.stranger(chance)?, spot.world.plan.fleet.vtep(spot.device)?);
        let vtep = spot.other_vtep(&vtep.address.to_string(), chance)?;
        spot.and([format!("reach 10.0.0.2-10.0.0.9 vrf {own} vtep {vtep} vni {}", other.l3vni)])
    }),
    hole("a VRF reaches into a network that nobody has", |spot, _| {
        let ["vrf", own] = spot.words()[..] else { return None };
        spot.and([format!("reach 10.0.0.2-10.0.0.9 vrf {own} vtep 10.255.0.1 vni 49999")])
    }),
    hole("a route that nobody planned", |spot, _| {
        let ["vrf", own] = spot.words()[..] else { return None };
        spot.and([format!("route 10.0.0.0/8 via 10.1.0.5 dev br1001 vrf {own}")])
    }),
    hole("an address that nobody planned", |spot, _| {
        let ["vtep", _] = spot.words()[..] else { return None };
        spot.and(["address 192.0.2.7/32 dev lo".into()])
    }),
    hole("a forwarding entry that nobody planned", |spot, _| {
        let ["vxlan", name, ..] = spot.words()[..] else { return None };
        spot.and([format!("fdb 02:00:00:00:00:99 dst 10.255.0.7 dev {name}")])
    }),
    hole("nothing waits at an uplink", |spot, _| {
        let ["queue", _, "rate", _] = spot.words()[..] else { return None };
        Some(Vec::new())
    }),
    hole("an uplink is slower than it is", |spot, _| {
        let ["queue", _, "rate", _] = spot.words()[..] else { return None };
        spot.with(3, 8)
    }),
    hole("frames wait at an uplink without a plan", |spot, _| {
        let ["uplink", port, ..] = spot.words()[..] else { return None };
        spot.world.plan.fleet.uplink_rate.is_none().then_some(())?;
        spot.and([format!("queue {port} rate 8")])
    }),
    hole("nobody says which queue a frame waits in", |spot, _| {
        let ["queue", _, "rate", _] = spot.words()[..] else { return None };
        Some(vec![format!("{} unnamed", spot.text)])
    }),
    hole("a tenant's queue is gone", |spot, _| {
        let ["queue", _, "vrf", ..] = spot.words()[..] else { return None };
        Some(Vec::new())
    }),
    hole("a tenant's queue has another rate", |spot, _| {
        let ["queue", _, "vrf", ..] = spot.words()[..] else { return None };
        spot.with(5, 8)
    }),
    hole("a tenant's queue has another ceiling", |spot, _| {
        let ["queue", _, "vrf", ..] = spot.words()[..] else { return None };
        spot.with(7, 8)
    }),
    hole("a line that nobody knows", |spot, _| spot.and(["nexthop id 7 dev eth0".into()])),
];

/// The line without these words.
fn without(spot: &Spot<'_>, words: &str) -> Option<Vec<String>> {
    spot.text.contains(words).then(|| vec![spot.text.replacen(words, "", 1)])
}

/// Another job with another network than that of the bridge on this line: another tenant's may be
/// the same.
fn another_network<'a>(spot: &Spot<'a>, chance: &mut Chance) -> Option<&'a JobNet> {
    let ["bridge", _, _, _, "address", own, ..] = spot.words()[..] else { return None };
    let own: Ipv4Addr = own.split('/').next()?.parse().ok()?;
    let other = spot.other(chance)?.1;
    (!other.subnet.contains(&own)).then_some(other)
}
