//! Edits of machines and of partitions, of which a real libvirt and a real subnet manager say what
//! they do: a short form of `cargo xtask mutants`. Where neither is installed nobody can say it,
//! and the test tells that it was skipped.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use cases::Chance;
use cases::mutant::{Consumer, Effect, Judged, Libvirt, OpenSm, run, sound};
use model::Dialect;

#[test]
fn no_edit_of_a_machine_that_opens_or_cuts_is_proved() {
    check(Dialect::Vm, &mut Libvirt::default(), 120);
}

#[test]
fn no_edit_of_partitions_that_opens_or_cuts_is_proved() {
    check(Dialect::Pkey, &mut OpenSm::default(), 18);
}

fn check(dialect: Dialect, consumer: &mut dyn Consumer, count: usize) {
    let world = sound(dialect).unwrap();
    let judged = run(&world, dialect, consumer, &mut Chance::new(1), count);
    assert!(judged.len() >= count / 2, "{}", judged.len());
    if judged.iter().all(|one| one.classified.by.starts_with("rule: nobody")) {
        println!("skipped: nobody here reads {dialect}");
        return;
    }
    let does = |effect| judged.iter().filter(|one| one.classified.effect == effect).count();
    assert!(does(Effect::Opens) > 0 && does(Effect::Harmless) > 0);
    let missed: Vec<String> =
        judged.iter().filter(|one| one.is_missed()).map(Judged::row).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
