//! The verifier's answer is what packets do: in random worlds with a random cut, every breach it
//! names is a packet that crosses in `sim`, every packet that crosses is a breach it names, and
//! the same for what must be able to meet.

use cases::truth::{Truth, Walked, by_verifier, is_beyond_the_oracle};
use cases::{Chance, Cut, World, at_random, world};
use sim::Fabric;
use verify::Finding;

const WORLDS: u64 = 10_000;

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

fn by_packets(world: &World) -> Truth {
    let mut fabric = Fabric::new(world.plan.fleet.clone());
    fabric.load(&world.artifacts);
    Walked::of(&fabric, &world.owners).truth(&world.owners)
}

fn sentences(world: &World, found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{}\n", finding.sentence(&world.plan.fleet))).collect()
}
