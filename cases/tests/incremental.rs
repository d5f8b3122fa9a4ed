//! After any sequence of changes the verifier that judged only what each change touched says the
//! same as one that reads everything anew; and a change of one job is in no other job's texts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use cases::{Chance, HOLES, Hole, World, at_random, two_leaves, world};
use intent::{Intent, Source};
use model::{Artifact, DeviceId, Dialect, JobName, Part};
use plan::{Ledger, Plan};
use verify::{Finding, Verifier};

#[test]
fn judging_what_changed_equals_judging_everything() {
    for seed in 0..300 {
        let mut chance = Chance::new(seed ^ 0xbeef);
        let world = world(seed);
        let fleet = &world.plan.fleet;
        let mut artifacts = world.artifacts.clone();
        let mut kept = verify::reading(fleet, &world.owners, &artifacts);
        assert_eq!(kept.judge(), [], "seed {seed} is sound at first");
        for step in 0..20 {
            let before = artifacts.clone();
            if chance.percent(20) {
                artifacts.clone_from(&world.artifacts);
            } else if at_random(&mut artifacts, &mut chance).is_none() {
                continue;
            }
            check_alike(
                &world,
                &mut kept,
                &before,
                &artifacts,
                &format!("seed {seed}, step {step}"),
            );
        }
    }
}

#[test]
fn a_hole_that_comes_and_goes_is_judged_like_everything_anew() {
    let kinds: Vec<&Hole> = HOLES.into_iter().flatten().collect();
    for (seed, world) in (0..100).flat_map(|seed| [(seed, world(seed)), (seed, two_leaves(seed))]) {
        let mut chance = Chance::new(seed ^ 0xfade);
        let sound = &world.artifacts;
        let mut kept = verify::reading(&world.plan.fleet, &world.owners, sound);
        kept.judge();
        for hole in &kinds {
            let Some(wound) = hole.cut(&world, &mut chance) else { continue };
            let what = format!("seed {seed}, {}", hole.name);
            check_alike(&world, &mut kept, sound, &wound.artifacts, &what);
            check_alike(&world, &mut kept, &wound.artifacts, sound, &what);
        }
    }
}

/// Has a verifier that judged one set of texts judge another one; it says what one says that reads
/// them anew, for the same reasons.
fn check_alike(
    world: &World,
    kept: &mut Verifier,
    before: &[Artifact],
    after: &[Artifact],
    what: &str,
) {
    let fleet = &world.plan.fleet;
    for (before, after) in before.iter().zip(after) {
        let parts = before.parts.iter().zip(&after.parts);
        for (old, new) in parts.filter(|(old, new)| old != new) {
            assert_eq!(old.part, new.part);
            let reading = read::part(after.dialect, &new.part, &new.text);
            kept.take(after.device, after.dialect, &new.part, Some(reading));
        }
    }
    let anew = verify::findings(fleet, &world.owners, after);
    let show = |found: &[Finding]| -> Vec<String> {
        found.iter().map(|finding| finding.sentence(fleet)).collect()
    };
    let kept_says = kept.judge();
    assert_eq!(show(&kept_says), show(&anew), "{what}");
    for (kept, anew) in kept_says.iter().zip(&anew) {
        assert_eq!(kept, anew, "{what}: the evidence differs");
    }
}

#[test]
fn another_ceiling_is_in_the_tables_of_its_job_and_nowhere_else() {
    let mut tables = 0;
    for seed in 0..300 {
        let world = world(seed);
        let Some((job, documents)) = with_another_ceiling(&world.documents) else { continue };
        let before = intended(&world.documents);
        let after = intended(&documents);
        let first = plan::next(&before, &Ledger::default()).unwrap();
        let ledger = Ledger::replay(&first.records).unwrap();
        let next = plan::next(&after, &ledger).unwrap();
        let at_once = plan::next(&after, &Ledger::default()).unwrap().plan;
        let generation = next.plan.generation;
        assert_eq!(next.plan, Plan { generation, ..at_once }, "seed {seed}");

        let artifacts = render::all(&next.plan);
        let changed = changed(&world.artifacts, &artifacts);
        assert_eq!(changed, tables_of(&next.plan, &job), "seed {seed}\n{documents}");
        tables += changed.len();

        let mut kept = verify::reading(&world.plan.fleet, &world.owners, &world.artifacts);
        kept.treat(&job, next.plan.owners().treatments[&job]);
        for (device, dialect, part) in &changed {
            let text = render::part(&next.plan, *device, *dialect, part).unwrap();
            kept.take(*device, *dialect, part, Some(read::part(*dialect, part, &text)));
        }
        assert_eq!(kept.judge(), [], "seed {seed}");
    }
    assert!(tables > 100, "only {tables} tables were compared");
}

/// The documents with another ceiling for the first job that has one.
fn with_another_ceiling(documents: &str) -> Option<(JobName, String)> {
    let job = documents.split("---\n").find(|text| text.contains("ceiling: 10Gbps"))?;
    let (_, tenant) = job.split_once("tenant: ").unwrap();
    let (_, name) = job.split_once("name: ").unwrap();
    let word = |text: &str| text.split([',', '}']).next().unwrap().to_owned();
    let path = format!("{}/{}", word(tenant), word(name));
    let changed = job.replace("ceiling: 10Gbps", "ceiling: 9Gbps");
    Some((path.parse().unwrap(), documents.replace(job, &changed)))
}

fn intended(documents: &str) -> Intent {
    intent::load(&[Source { file: "documents.yaml", text: documents }]).unwrap()
}

type Spots = BTreeSet<(DeviceId, Dialect, Part)>;

/// The parts whose texts differ.
fn changed(before: &[Artifact], after: &[Artifact]) -> Spots {
    assert_eq!(before.len(), after.len());
    let both = before.iter().zip(after);
    both.flat_map(|(before, after)| {
        let parts = after.parts.iter().filter(|part| !before.parts.contains(part));
        parts.map(|part| (after.device, after.dialect, part.part.clone()))
    })
    .collect()
}

/// The parts of a job on the devices that have a packet program.
fn tables_of(plan: &Plan, job: &JobName) -> Spots {
    let devices = plan.jobs[job].groups.iter().map(|group| group.device);
    devices
        .filter(|device| plan.fleet.network_dialects(*device).contains(&Dialect::Table))
        .map(|device| (device, Dialect::Table, Part::Job(job.clone())))
        .collect()
}
