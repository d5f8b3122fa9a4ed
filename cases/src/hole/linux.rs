use model::Dialect;

use super::{Change, Hole, Spot};

const fn hole(name: &'static str, change: Change) -> Hole {
    Hole { name, dialect: Dialect::Linux, change }
}

pub(crate) const HOLES: &[Hole] = &[
    hole("a port is in another job's bridge", |spot, chance| {
        let ["link", _, "master", _] = spot.words()[..] else { return None };
        spot.with(3, format_args!("br{}", spot.other_here(chance)?.0.tag))
    }),
    hole("a port that nobody owns is attached", |spot, _| {
        let ["link", _, "master", _] = spot.words()[..] else { return None };
        spot.and(spot.with(1, "swp60")?)
    }),
    hole("a port is bound to another job's address", |spot, chance| {
        let ["neigh", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(1, spot.sibling(chance)?.1.address)?)
    }),
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
    hole("a line that nobody knows", |spot, _| spot.and(["route 0.0.0.0/0 dev eth0".into()])),
];

/// The line without these words.
fn without(spot: &Spot<'_>, words: &str) -> Option<Vec<String>> {
    spot.text.contains(words).then(|| vec![spot.text.replacen(words, "", 1)])
}
