//! No edit that opens or cuts is proved. The long form is `cargo xtask mutants`, with the programs
//! that read such texts; this one has written rules.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use std::collections::BTreeMap;

use cases::Chance;
use cases::mutant::{Effect, Judged, MutantKind, Rules, run, sound};
use model::Dialect;

/// Lines whose absence is a finding though Slurm 22.05 has the same value by itself: others of the
/// versions that are spoken to may have another; and defaults that every line behind says itself.
const DEMANDED_ALL_THE_SAME: [&str; 3] = ["ProctrackType", "AutoDetect", "PartitionName=DEFAULT"];

#[test]
fn no_edit_of_slurms_files_that_opens_or_cuts_is_proved() {
    let all = judged(Dialect::Slurm, 600);
    let mut counts: BTreeMap<Effect, usize> = BTreeMap::new();
    for one in &all {
        *counts.entry(one.classified.effect).or_default() += 1;
    }
    let missed: Vec<String> = all.iter().filter(|one| one.is_missed()).map(Judged::row).collect();
    assert_eq!(missed, [""; 0]);
    // A value that is not known to be harmless is told, whatever it does.
    let is_new = |one: &&Judged| {
        let is_written = matches!(one.mutant.kind, MutantKind::Between | MutantKind::Insert);
        is_written
            && one.is_noise()
            && !one.is_unseen()
            && !DEMANDED_ALL_THE_SAME.iter().any(|key| one.mutant.what.contains(key))
    };
    let noise: Vec<String> = all.iter().filter(is_new).map(Judged::row).collect();
    assert_eq!(noise, [""; 0]);
    // A fifth of them opens, and there are harmless ones enough to be silent about.
    assert!(counts[&Effect::Opens] * 5 >= all.len(), "{counts:?}");
    assert!(counts[&Effect::Harmless] * 10 >= all.len(), "{counts:?}");
}

#[test]
fn edits_of_every_kind_are_made() {
    for dialect in [Dialect::Slurm, Dialect::Pkey, Dialect::Vm, Dialect::Frr] {
        let kinds = judged(dialect, 300).into_iter().map(|one| one.mutant.kind);
        let mut kinds: Vec<MutantKind> = kinds.collect();
        kinds.sort_unstable();
        kinds.dedup();
        // Lines that may be inserted are written down for some dialects alone; and where each line
        // begins with a word of its own, without it is without any such line.
        kinds.retain(|kind| !matches!(kind, MutantKind::Insert | MutantKind::Delete));
        assert_eq!(kinds.len(), 4, "{dialect}: {kinds:?}");
    }
}

fn judged(dialect: Dialect, count: usize) -> Vec<Judged> {
    let world = sound(dialect).unwrap();
    run(&world, dialect, &mut Rules(dialect), &mut Chance::new(1), count)
}
