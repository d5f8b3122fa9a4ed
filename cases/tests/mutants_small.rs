//! Edits of the dialects whose lines stand for themselves, and of the packet program's table: a
//! written rule says what the statements of a text come to, and packets say what a table lets
//! through. A short form of `cargo xtask mutants`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use cases::Chance;
use cases::mutant::{Effect, Judged, MutantKind, run, sound, without_programs};
use model::Dialect;

#[test]
fn no_edit_of_what_is_on_the_bus_that_opens_or_cuts_is_proved() {
    check(&[Dialect::Vfio, Dialect::Versions, Dialect::Devices]);
}

#[test]
fn no_edit_of_what_gpus_are_cut_into_or_joined_to_that_opens_or_cuts_is_proved() {
    check(&[Dialect::Mig, Dialect::Amd, Dialect::Nvlink, Dialect::Imex]);
}

#[test]
fn no_edit_of_evidence_that_opens_or_cuts_is_proved() {
    check(&[Dialect::Scrub, Dialect::Attest]);
}

#[test]
fn no_edit_of_a_table_that_opens_or_cuts_is_proved() {
    check(&[Dialect::Table]);
}

fn check(dialects: &[Dialect]) {
    const COUNT: usize = 400;
    for &dialect in dialects {
        let world = sound(dialect).unwrap();
        let found = verify::findings(&world.plan.fleet, &world.owners, &world.artifacts);
        assert_eq!(found, [], "{dialect}: the world is sound");
        let mut consumer = without_programs(&world, dialect);
        let all = run(&world, dialect, consumer.as_mut(), &mut Chance::new(2), COUNT);
        assert!(all.len() >= COUNT, "{dialect}: {}", all.len());
        let missed = rows(&all, Judged::is_missed);
        assert!(missed.is_empty(), "{}", missed.join("\n"));
        let noise = rows(&all, is_told_of_nothing);
        assert!(noise.is_empty(), "{}", noise.join("\n"));
        let does = |effect| all.iter().filter(|one| one.classified.effect == effect).count();
        assert!(does(Effect::Opens) * 5 >= all.len(), "{dialect}: {} open", does(Effect::Opens));
        assert!(does(Effect::Harmless) > 0, "{dialect}: nothing to be silent about");
    }
}

/// Whether something is found where nothing but what stands between words is another. A comment
/// sign in front of a line takes the line away, and what it says may be demanded all the same.
fn is_told_of_nothing(one: &Judged) -> bool {
    let takes_away = one.mutant.what.contains(" -> # ");
    let is_silent = one.codes.is_empty() || takes_away || one.is_unseen();
    one.mutant.kind == MutantKind::Between
        && one.classified.effect == Effect::Harmless
        && !is_silent
}

fn rows(all: &[Judged], which: impl Fn(&Judged) -> bool) -> Vec<String> {
    all.iter().filter(|one| which(one)).map(Judged::row).collect()
}
