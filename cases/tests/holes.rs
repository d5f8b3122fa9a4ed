//! One hole in a sound world is found and named, whatever it is and in whatever dialect; a change
//! that lets nothing more through is met with silence.

use std::collections::{BTreeMap, BTreeSet};

use cases::{Chance, HARMLESS, HOLES, Harmless, Hole, World, Wound, world};
use model::{Artifact, Part, PartText};
use verify::Finding;

/// Of each kind of hole.
const CUTS: usize = 200;

/// Of each kind of harmless change.
const CHANGES: usize = 300;

#[test]
fn every_hole_is_found_and_its_line_is_named() {
    let kinds: Vec<&Hole> = HOLES.into_iter().flatten().collect();
    assert!(kinds.len() * CUTS >= 10_000, "too few kinds of holes: {}", kinds.len());
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    in_worlds(&kinds, CUTS, |hole, seed, world, chance| {
        let Some(wound) = hole.cut(world, chance) else { return false };
        if let Some(why) = why_missed(world, &wound, chance.percent(50)) {
            let kind = format!("{}: {}", hole.dialect, hole.name);
            missed.entry(kind).or_default().push(format!("seed {seed}: {why}"));
        }
        true
    });
    let report: String = missed
        .iter()
        .map(|(kind, all)| format!("{kind}: {} of {CUTS}, such as\n{}", all.len(), all[0]))
        .collect();
    assert!(missed.is_empty(), "holes that were not found or not named:\n{report}");
}

#[test]
fn harmless_changes_are_met_with_silence() {
    let kinds: Vec<&Harmless> = HARMLESS.iter().collect();
    assert!(kinds.len() * CHANGES >= 2_000, "too few kinds of changes: {}", kinds.len());
    in_worlds(&kinds, CHANGES, |harmless, seed, world, chance| {
        let Some(changed) = harmless.change(world, chance) else { return false };
        let findings = findings(world, &as_held(changed, chance.percent(50)));
        let found = sentences(world, &findings);
        assert!(found.is_empty(), "seed {seed}, {}:\n{found}", harmless.name);
        true
    });
}

/// Tries every kind in random worlds until each was possible so many times.
fn in_worlds<T>(
    kinds: &[T],
    times: usize,
    mut attempt: impl FnMut(&T, u64, &World, &mut Chance) -> bool,
) {
    const MOST_WORLDS: u64 = 5_000;
    let mut left = vec![times; kinds.len()];
    for seed in 0..MOST_WORLDS {
        let world = world(seed);
        let mut chance = Chance::new(seed ^ 0x5a17);
        for (kind, left) in kinds.iter().zip(&mut left).filter(|(_, left)| **left > 0) {
            *left -= usize::from(attempt(kind, seed, &world, &mut chance));
        }
        if left.iter().all(|left| *left == 0) {
            return;
        }
    }
    panic!("some kinds were not possible often enough; of each are left: {left:?}");
}

/// Why a hole counts as missed; none if some finding names its line, and each has a name of its own.
fn why_missed(world: &World, wound: &Wound, whole: bool) -> Option<String> {
    let held = as_held(wound.artifacts.clone(), whole);
    let findings = findings(world, &held);
    let ids: BTreeSet<String> =
        findings.iter().map(|finding| finding.id(&world.plan.fleet)).collect();
    let is_named = findings.iter().any(|finding| wound.is_named_by(finding, &held));
    (!is_named || ids.len() < findings.len()).then(|| {
        let Wound { device, part, before, after, .. } = wound;
        let device = world.plan.fleet.device_name(*device);
        let found = sentences(world, &findings);
        format!("{device}, {part}\n  - {before}\n  + {after:?}\n{found}")
    })
}

fn findings(world: &World, artifacts: &[Artifact]) -> Vec<Finding> {
    verify::findings(&world.plan.fleet, &world.owners, artifacts)
}

fn sentences(world: &World, findings: &[Finding]) -> String {
    let mut told = String::new();
    for finding in findings {
        told += &format!("  found: {}\n", finding.sentence(&world.plan.fleet));
        for line in &finding.missing {
            told += &format!("    {}\n", line.show(&world.plan.fleet));
        }
    }
    told
}

/// The artifacts in their parts, or each as one text as a device holds it.
fn as_held(artifacts: Vec<Artifact>, whole: bool) -> Vec<Artifact> {
    let one = |artifact: Artifact| {
        let parts = vec![PartText { part: Part::Whole, text: artifact.text() }];
        Artifact { parts, ..artifact }
    };
    if whole { artifacts.into_iter().map(one).collect() } else { artifacts }
}
