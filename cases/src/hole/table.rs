//! Faults in dialect `table`: endpoints, peers, permits, rates and the default.

use model::{Dialect, Part, Service};

use super::{Change, Hole};

const fn hole(name: &'static str, change: Change) -> Hole {
    Hole { name, dialect: Dialect::Table, change }
}

pub(crate) const HOLES: &[Hole] = &[
    hole("an endpoint has another job's tag", |spot, chance| {
        let ["endpoint", ..] = spot.words()[..] else { return None };
        spot.with(8, spot.other(chance)?.1.tag)
    }),
    hole("an endpoint speaks with another interface's address", |spot, _| {
        let ["endpoint", _, _, "mac", ..] = spot.words()[..] else { return None };
        spot.with(4, "02:01:00:00:ff:ff")
    }),
    hole("an endpoint may speak for another job's", |spot, chance| {
        let ["endpoint", ..] = spot.words()[..] else { return None };
        let (job, seat) = spot.sibling(chance)?;
        let words = spot.with(2, seat.address)?.concat();
        let (before, _) = words.rsplit_once(' ')?;
        spot.and([format!("{before} {}", job.tag)])
    }),
    hole("an endpoint is behind a port that nobody owns", |spot, _| {
        let ["endpoint", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(6, "swp60")?)
    }),
    hole("the program no longer drops by default", |spot, _| spot.dropped("default drop")),
    hole("the program passes by default", |spot, _| {
        let ["default", "drop"] = spot.words()[..] else { return None };
        spot.with(1, "pass")
    }),
    hole("the program drops and passes by default", |spot, _| {
        let ["default", "drop"] = spot.words()[..] else { return None };
        spot.and(spot.with(1, "pass")?)
    }),
    hole("peers are behind a forged tunnel endpoint", |spot, chance| {
        let ["peers", _, _, _, vtep, ..] = spot.words()[..] else { return None };
        spot.with(4, spot.other_vtep(vtep, chance)?)
    }),
    hole("peers are behind a second tunnel endpoint too", |spot, chance| {
        let ["peers", _, _, _, vtep, ..] = spot.words()[..] else { return None };
        spot.and(spot.with(4, spot.other_vtep(vtep, chance)?)?)
    }),
    hole("peers have another job's tag", |spot, chance| {
        let ["peers", _, _, _, _, _, own] = spot.words()[..] else { return None };
        let (_, other) = spot.other_where(chance, |_, job| job.tag.to_string() != own)?;
        spot.with(6, other.tag)
    }),
    // What is on the device itself needs no peers, and what is said twice can be said once.
    hole("peers are dropped", |spot, _| {
        let ["peers", space, run, _, vtep, .., tag] = spot.words()[..] else { return None };
        let own = spot.world.plan.fleet.vtep(spot.device)?.address.to_string();
        (own != vtep && spot.is_only_to_expect(space, run, tag)?).then(Vec::new)
    }),
    hole("a segment's space has another job's VNI", |spot, chance| {
        let (["space", _, "vni", _], true) = (&spot.words()[..], spot.is_stretched()) else {
            return None;
        };
        spot.with(3, spot.other(chance)?.1.l2vni)
    }),
    hole("a permit names another service", |spot, _| {
        let ["permit", ..] = spot.words()[..] else { return None };
        spot.with(5, 22)
    }),
    hole("a permit names another group", |spot, chance| {
        let ["permit", _, client, _, protocol, port] = spot.words()[..] else { return None };
        let service = Service { protocol: protocol.parse().ok()?, port: port.parse().ok()? };
        spot.with(3, spot.unpermitted(client, service, chance)?)
    }),
    hole("a permit is dropped", |spot, _| spot.dropped_once("permit ")),
    hole("an endpoint is dropped", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("endpoint ")
    }),
    hole("a segment's space is dropped", |spot, _| {
        spot.is_stretched().then_some(())?;
        spot.dropped("space ")
    }),
    hole("a permit that nobody consented to", |spot, chance| {
        let (["endpoint", space, ..], (_, own)) = (&spot.words()[..], spot.job()?) else {
            return None;
        };
        let (_, other) = spot.other(chance)?;
        spot.and([format!("permit {space} {} {} tcp 22", own.tag, other.tag)])
    }),
    hole("a tenant is guaranteed less", |spot, _| {
        let ["rate", _, "guarantee", ..] = spot.words()[..] else { return None };
        spot.with(3, 1)
    }),
    hole("a tenant is limited to less", |spot, _| {
        let ["rate", .., "ceiling", _] = spot.words()[..] else { return None };
        spot.with(spot.words().len() - 1, 1)
    }),
    hole("a tenant is limited that was not", |spot, _| {
        let ["rate", _, "guarantee", _] = spot.words()[..] else { return None };
        Some(vec![format!("{} ceiling 1", spot.text)])
    }),
    hole("a tenant is limited to nothing", |spot, _| {
        let ["space", space, ..] = spot.words()[..] else { return None };
        spot.and([format!("rate {space} ceiling 0")])
    }),
    hole("a tenant without a promise has a ceiling", |spot, _| {
        let tenant = spot.tenant().filter(|_| matches!(spot.part, Part::Tenant(_)))?;
        let is_free = tenant.guarantee.is_none() && tenant.ceiling.is_none();
        is_free.then(|| spot.and([format!("rate {} ceiling 1", tenant.vrf)]))?
    }),
    hole("a tenant has two rates", |spot, _| {
        let ["rate", _, "guarantee", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(3, 1)?)
    }),
    hole("a tenant's rate is gone", |spot, _| spot.dropped("rate ")),
    hole("a job has another class", |spot, _| {
        let ["job", _, _, "class", class, ..] = spot.words()[..] else { return None };
        spot.with(4, if class == "bulk" { "latency" } else { "bulk" })
    }),
    hole("a job has another ceiling", |spot, _| {
        let ["job", .., "ceiling", _] = spot.words()[..] else { return None };
        spot.with(spot.words().len() - 1, 1)
    }),
    hole("a job is limited that was not", |spot, _| {
        let ["job", _, _, "class", _] = spot.words()[..] else { return None };
        Some(vec![format!("{} ceiling 1", spot.text)])
    }),
    hole("a job's class is gone", |spot, _| spot.dropped("job ")),
    hole("a line that nobody knows", |spot, _| spot.and(["allow all".into()])),
];
