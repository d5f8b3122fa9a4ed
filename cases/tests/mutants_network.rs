//! Edits of what leaves and spines hold: a short form of `cargo xtask mutants`. Of FRR real daemons
//! say what an edit does; where they are not installed nobody can say it, and the test tells that
//! it was skipped. Of other texts packets in the simulated fabric say it, and a written rule.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use cases::Chance;
use cases::mutant::{Consumer, Effect, Frr, Judged, MutantKind, run, sound, without_programs};
use model::Dialect;

#[test]
fn no_edit_of_frrs_configuration_that_opens_or_cuts_is_proved() {
    match Frr::new() {
        Some(mut daemons) => check(Dialect::Frr, Some(&mut daemons), 100),
        None => println!("skipped: no daemon of FRR runs here"),
    }
}

#[test]
fn no_edit_of_frrs_configuration_is_proved_that_opens_or_cuts_by_its_statements() {
    check(Dialect::Frr, None, 400);
}

#[test]
fn no_edit_of_a_linux_device_that_opens_or_cuts_is_proved() {
    check(Dialect::Linux, None, 600);
}

#[test]
fn no_edit_of_a_switch_that_opens_or_cuts_is_proved() {
    check(Dialect::Nxos, None, 600);
}

fn check(dialect: Dialect, consumer: Option<&mut dyn Consumer>, count: usize) {
    let world = sound(dialect).unwrap();
    let mut chance = Chance::new(7);
    let judged = match consumer {
        Some(consumer) => run(&world, dialect, consumer, &mut chance, count),
        None => {
            run(&world, dialect, without_programs(&world, dialect).as_mut(), &mut chance, count)
        }
    };
    let does = |effect| judged.iter().filter(|one| one.classified.effect == effect).count();
    assert!(does(Effect::Opens) * 5 >= judged.len(), "{} open", does(Effect::Opens));
    assert!(does(Effect::Harmless) * 20 >= judged.len(), "{} harmless", does(Effect::Harmless));
    let rows = |of: &dyn Fn(&&Judged) -> bool| -> Vec<String> {
        judged.iter().filter(of).map(Judged::row).collect()
    };
    assert_eq!(rows(&|one| one.is_missed()), [""; 0]);
    let told = rows(&|one| {
        one.mutant.kind == MutantKind::Between && one.is_noise() && !is_told_all_the_same(one)
    });
    assert_eq!(told, [""; 0]);
}

/// A block that is left otherwise than devices print it is not read, whatever its lines do; and a
/// line that is written as a comment, or indented otherwise, is not what was planned.
fn is_told_all_the_same(one: &Judged) -> bool {
    const WORDS: [&str; 4] = ["exit", "swapped", "-> !", "-> #"];
    let is_indented =
        one.mutant.what.split_once(" -> ").is_some_and(|(old, new)| old == new.trim());
    one.is_unseen() || is_indented || WORDS.iter().any(|word| one.mutant.what.contains(word))
}
