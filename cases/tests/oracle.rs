//! The verifier's answer is what packets do: in random worlds with a random cut, every breach it
//! names is a packet that crosses in `sim`, every packet that crosses is a breach it names, and
//! the same for what must be able to meet.

use std::collections::BTreeSet;

use cases::{Chance, Cut, World, at_random, world};
use model::{Consent, DeviceId, JobName, Port};
use sim::{Fabric, Pair, Passing};
use verify::{Endpoint, Finding, Severed, Talk, Weakness};

const WORLDS: u64 = 10_000;

/// An owner: a job, or a port of nobody's.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Who {
    Job(JobName),
    Nobody(DeviceId, Port),
}

/// What can happen in a world.
#[derive(Debug, Default, Eq, PartialEq)]
struct Truth {
    /// Owners whose packets reach others without consent.
    crossings: BTreeSet<(Who, Who)>,
    /// Jobs of which two members cannot meet.
    severed: BTreeSet<JobName>,
    /// Consents of which two members cannot meet.
    unmet: BTreeSet<Consent>,
}

#[test]
fn in_sound_worlds_nobody_crosses_and_nobody_is_severed() {
    for seed in 0..WORLDS / 10 {
        let world = world(seed);
        let found = verify::findings(&world.plan.fleet, &world.owners, &world.artifacts);
        assert!(found.is_empty(), "seed {seed}: {}", sentences(&world, &found));
        assert_eq!(by_packets(&world), Truth::default(), "seed {seed}\n{}", world.documents);
    }
}

#[test]
fn in_worlds_with_a_cut_the_verifier_says_what_packets_do() {
    let mut judged = 0;
    let mut skipped = 0;
    let mut crossing = 0;
    let mut severed = 0;
    let mut disagreements = Vec::new();
    for seed in 0.. {
        if judged == WORLDS {
            break;
        }
        let mut chance = Chance::new(seed ^ 0xc0ffee);
        let mut world = world(seed);
        let Some(cut) = at_random(&mut world.artifacts, &mut chance) else { continue };
        let found = verify::findings(&world.plan.fleet, &world.owners, &world.artifacts);
        if found.iter().any(is_beyond_the_oracle) {
            skipped += 1;
            continue;
        }
        judged += 1;
        let said = by_verifier(&found);
        crossing += u32::from(!said.crossings.is_empty());
        severed += u32::from(!said.severed.is_empty());
        disagreements.extend(disagreement(seed, &world, &cut, &said, &found));
    }
    let shown: String = disagreements.iter().take(5).map(String::as_str).collect();
    assert!(disagreements.is_empty(), "{} disagreements:\n{shown}", disagreements.len());
    println!("{judged} compared, {skipped} refused for a line unknown or contradicted");
    assert!(skipped < judged, "most cuts must be compared: {skipped} were not");
    assert!(crossing > 100 && severed > 100, "cuts hit: {crossing} crossings, {severed} severed");
}

fn disagreement(
    seed: u64,
    world: &World,
    cut: &Cut,
    said: &Truth,
    found: &[Finding],
) -> Option<String> {
    let done = by_packets(world);
    (*said != done).then(|| {
        let artifact = &world.artifacts[cut.artifact];
        format!(
            "seed {seed}: {} {}, part {}, line {}: {:?} became {:?}\n\
             the verifier: {said:?}\npackets: {done:?}\n{}\n",
            world.plan.fleet.device_name(artifact.device),
            artifact.dialect,
            artifact.parts[cut.part].part,
            cut.line,
            cut.before,
            cut.after,
            sentences(world, found),
        )
    })
}

/// A text with a line that nobody knows, or one that contradicts itself, is refused as it is:
/// what a device would make of it is not for us to say.
fn is_beyond_the_oracle(finding: &Finding) -> bool {
    matches!(
        finding,
        Finding::Weak(weak) if matches!(
            weak.weakness,
            Weakness::UnknownLine { .. } | Weakness::Contradiction { .. }
        )
    )
}

fn by_verifier(findings: &[Finding]) -> Truth {
    let mut truth = Truth::default();
    for finding in findings {
        match finding {
            Finding::Breach(breach) => {
                truth.crossings.insert((who(&breach.from), who(&breach.to)));
            }
            Finding::Severed(Severed { from, to, talk, .. }) => {
                let (Some(a), Some(b)) = (from.owner.clone(), to.owner.clone()) else { continue };
                match talk {
                    Talk::Any if (from.device, from.port) != (to.device, to.port) => {
                        truth.severed.insert(a);
                    }
                    Talk::Ask(service) => {
                        truth.unmet.insert(Consent { client: a, provider: b, service: *service });
                    }
                    Talk::Answer(service) => {
                        truth.unmet.insert(Consent { client: b, provider: a, service: *service });
                    }
                    Talk::Any | Talk::Flood => {}
                }
            }
            Finding::Weak(_) => {}
        }
    }
    truth
}

fn who(endpoint: &Endpoint) -> Who {
    match &endpoint.owner {
        Some(job) => Who::Job(job.clone()),
        None => Who::Nobody(endpoint.device, endpoint.port),
    }
}

fn by_packets(world: &World) -> Truth {
    let mut fabric = Fabric::new(world.plan.fleet.clone());
    fabric.load(&world.artifacts);
    let mut ports: BTreeSet<(DeviceId, Port)> = fabric.ports();
    ports.extend(world.owners.ports.keys().copied());
    let ports: Vec<(DeviceId, Port)> = ports.into_iter().collect();
    let owner = |port: &(DeviceId, Port)| match world.owners.ports.get(port) {
        Some(job) => Who::Job(job.clone()),
        None => Who::Nobody(port.0, port.1),
    };
    let mut truth = Truth::default();
    for (Pair { from, to }, passing) in fabric.meetings(&ports) {
        let (from, to) = (owner(&from), owner(&to));
        if from != to && !is_consented(world, &from, &to, &passing) {
            truth.crossings.insert((from, to));
        }
    }
    let nothing = Passing::default();
    let honest = fabric.conversations(&ports);
    for from in &ports {
        for to in ports.iter().filter(|to| *to != from) {
            let (Who::Job(a), Who::Job(b)) = (owner(from), owner(to)) else { continue };
            let passing = honest.get(&Pair { from: *from, to: *to }).unwrap_or(&nothing);
            if a == b && !passing.any {
                truth.severed.insert(a.clone());
            }
            for consent in &world.owners.consents {
                let asks = consent.client == a && consent.provider == b;
                let answers = consent.client == b && consent.provider == a;
                let met =
                    |services: &BTreeSet<_>| passing.any || services.contains(&consent.service);
                if (asks && !met(&passing.asks)) || (answers && !met(&passing.answers)) {
                    truth.unmet.insert(consent.clone());
                }
            }
        }
    }
    truth
}

fn is_consented(world: &World, from: &Who, to: &Who, passing: &Passing) -> bool {
    let (Who::Job(from), Who::Job(to)) = (from, to) else { return false };
    let agreed = |client: &JobName, provider: &JobName, service| {
        let consent = Consent { client: client.clone(), provider: provider.clone(), service };
        world.owners.consents.contains(&consent)
    };
    !passing.flood
        && !passing.any
        && passing.asks.iter().all(|service| agreed(from, to, *service))
        && passing.answers.iter().all(|service| agreed(to, from, *service))
}

fn sentences(world: &World, found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{}\n", finding.sentence(&world.plan.fleet))).collect()
}
