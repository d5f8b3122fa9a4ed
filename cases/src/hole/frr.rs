//! Faults in dialect `frr`: route targets, VNIs, sessions and announcements.

use model::{Dialect, Part};

use super::{Change, Hole};

const fn hole(name: &'static str, change: Change) -> Hole {
    Hole { name, dialect: Dialect::Frr, change }
}

pub(crate) const HOLES: &[Hole] = &[
    hole("a VRF imports another tenant's routes", |spot, chance| {
        let ["route-target", "import", _] = spot.words()[..] else { return None };
        spot.and(spot.with(2, spot.stranger(chance)?.target)?)
    }),
    hole("a VRF imports the routes of a tenant it has a consent with", |spot, chance| {
        let ["route-target", "import", _] = spot.words()[..] else { return None };
        spot.and(spot.with(2, spot.partner(chance)?.target)?)
    }),
    hole("a segment imports another job's routes", |spot, chance| {
        let ["route-target", "import", _] = spot.words()[..] else { return None };
        spot.text.starts_with("   ").then_some(())?;
        spot.and(spot.with(2, spot.other(chance)?.1.target)?)
    }),
    hole("a segment has another job's VNI", |spot, chance| {
        let (["vni", _], Part::Job(_)) = (&spot.words()[..], spot.part) else { return None };
        spot.with(1, spot.other(chance)?.1.l2vni)
    }),
    hole("a VRF has another tenant's VNI", |spot, chance| {
        let (["vni", _], Part::Tenant(_)) = (&spot.words()[..], spot.part) else { return None };
        spot.with(1, spot.stranger(chance)?.l3vni)
    }),
    hole("two scopes share a route distinguisher", |spot, chance| {
        let ["rd", _] = spot.words()[..] else { return None };
        spot.with(1, spot.other_distinguisher(chance)?)
    }),
    hole("a target is automatic", |spot, _| {
        let ["route-target", _, _] = spot.words()[..] else { return None };
        spot.with(2, "auto")
    }),
    hole("a target is dropped", |spot, _| spot.dropped("route-target export")),
    hole("a segment imports nothing", |spot, _| {
        spot.is_stretched().then_some(())?;
        spot.dropped("route-target import")
    }),
    hole("a tunnel address is not announced", |spot, _| {
        let ["network", _] = spot.words()[..] else { return None };
        let stretched = |job: &plan::JobNet| {
            let here = |group: &plan::Group| group.device == spot.device;
            job.groups.len() > 1 && job.groups.iter().any(here)
        };
        spot.world.plan.jobs.values().any(stretched).then(Vec::new)
    }),
    hole("a cable is shut down", |spot, _| {
        let ["interface", port] = spot.words()[..] else { return None };
        (port != "lo").then_some(())?;
        spot.and([" shutdown".into()])
    }),
    hole("a route that nobody planned", |spot, _| {
        let ["service", ..] = spot.words()[..] else { return None };
        spot.and(["ip route 0.0.0.0/0 10.9.9.9".into()])
    }),
    hole("a neighbour is dropped", |spot, _| {
        let ["neighbor", _, "remote-as", _] = spot.words()[..] else { return None };
        Some(Vec::new())
    }),
    hole("a neighbour is told nothing", |spot, _| {
        let ["neighbor", _, "activate"] = spot.words()[..] else { return None };
        Some(Vec::new())
    }),
    hole("a cable's address stands at another port", |spot, _| {
        let ["interface", port] = spot.words()[..] else { return None };
        (port != "lo").then_some(())?;
        spot.with(1, "swp60")
    }),
    hole("a loopback has a network", |spot, _| {
        let ["ip", "address", address] = spot.words()[..] else { return None };
        spot.with(2, format_args!("{}/31", address.strip_suffix("/32")?))
    }),
    hole("a loopback has another device's address", |spot, chance| {
        let ["ip", "address", address] = spot.words()[..] else { return None };
        let other = spot.other_vtep(address.strip_suffix("/32")?, chance)?;
        spot.with(2, format_args!("{other}/32"))
    }),
    hole("a line that nobody knows", |spot, _| spot.and(["ip nhrp network-id 7".into()])),
];
