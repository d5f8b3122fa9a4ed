//! No edit of a cluster's objects that opens or cuts is proved: a short form of `cargo xtask
//! mutants --dialect kubernetes`, by another parser and a written table. The long form asks a real
//! API server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use cases::Chance;
use cases::mutant::{Effect, Judged, MutantKind, Rules, run, sound};
use model::Dialect;

#[test]
fn no_edit_of_a_clusters_objects_that_opens_or_cuts_is_proved() {
    let world = sound(Dialect::Kubernetes).unwrap();
    let mut rules = Rules(Dialect::Kubernetes);
    let all = run(&world, Dialect::Kubernetes, &mut rules, &mut Chance::new(1), 420);
    let missed: Vec<String> = all.iter().filter(|one| one.is_missed()).map(Judged::row).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    // What servers print by themselves, and comments, are met with silence.
    let is_own = |one: &&Judged| {
        one.is_noise() && !one.is_unseen() && one.mutant.what.contains(" is printed with ")
    };
    let noise: Vec<String> = all.iter().filter(is_own).map(Judged::row).collect();
    assert!(noise.is_empty(), "{}", noise.join("\n"));
    let does = |effect| all.iter().filter(|one| one.classified.effect == effect).count();
    assert!(does(Effect::Opens) * 5 >= all.len(), "{}", does(Effect::Opens));
    assert!(does(Effect::Harmless) * 10 >= all.len(), "{}", does(Effect::Harmless));
    for kind in [MutantKind::Delete, MutantKind::Change, MutantKind::Insert, MutantKind::Ignored] {
        assert!(all.iter().any(|one| one.mutant.kind == kind), "{kind:?}");
    }
}
