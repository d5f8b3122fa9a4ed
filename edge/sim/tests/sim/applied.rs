//! What apply does to devices: forward only, one receipt for each artifact.

use std::fmt::Write;

use apply::{Outcome, apply};
use expect_test::{Expect, expect};
use model::{Artifact, Dialect, Generation, Owners, Part, PartText};
use observe::Holds;
use sim::Fabric;

use crate::world::{Side, World};

/// Two texts that say next to nothing, so that nobody objects to them.
const A: &str = "router bgp 4200000001\n";
const B: &str = "router bgp 4200000002\n";

/// Sends a text of a generation to the spine and both leaves, one after the other, and tells the
/// receipts and what the first leaf holds at last. The second leaf is cut off before the last.
fn check(sent: &[(u64, &str)], expect: Expect) {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = Fabric::new(world.fleet());
    let mut told = String::new();
    for (position, &(generation, text)) in sent.iter().enumerate() {
        if position + 1 == sent.len() {
            fabric.cut(world.device("leaf-2"));
        }
        let artifacts = artifacts(&world, generation, text);
        let cleared = verify::clear(&world.fleet(), &Owners::default(), artifacts).unwrap();
        let applied = apply(&cleared, &mut fabric);
        for receipt in &applied.receipts {
            let name = world.fleet().device_name(receipt.device).clone();
            match &receipt.outcome {
                Ok(Outcome::Stale { theirs }) => writeln!(told, "{name}: stale, has {theirs}"),
                Ok(outcome) => writeln!(told, "{name}: {outcome:?}"),
                Err(unreachable) => writeln!(told, "{unreachable}"),
            }
            .unwrap();
        }
        writeln!(told, "in force: {}", applied.in_force()).unwrap();
    }
    let held = fabric.held(world.device("leaf-1"), Dialect::Nxos);
    let held = held.unwrap().unwrap();
    write!(told, "generation {} holds {}", held.generation, held.text).unwrap();
    expect.assert_eq(&told);
}

fn artifacts(world: &World, generation: u64, text: &str) -> Vec<Artifact> {
    let artifact = |device| Artifact {
        device,
        dialect: Dialect::Nxos,
        generation: Generation(generation),
        parts: vec![PartText { part: Part::Whole, text: text.into() }],
    };
    world.fleet().devices().map(artifact).collect()
}

#[test]
fn a_later_text_is_held_and_who_does_not_answer_keeps_none_waiting() {
    check(
        &[(1, A), (2, B)],
        expect![[r#"
        spine-1: Held
        leaf-1: Held
        leaf-2: Held
        in force: true
        spine-1: Held
        leaf-1: Held
        leaf-2 does not answer
        in force: false
        generation 2 holds router bgp 4200000002
    "#]],
    );
}

#[test]
fn the_same_again_is_unchanged() {
    check(
        &[(1, A), (1, A)],
        expect![[r#"
        spine-1: Held
        leaf-1: Held
        leaf-2: Held
        in force: true
        spine-1: Unchanged
        leaf-1: Unchanged
        leaf-2 does not answer
        in force: false
        generation 1 holds router bgp 4200000001
    "#]],
    );
}

#[test]
fn a_stale_writer_is_refused() {
    check(
        &[(2, B), (1, A)],
        expect![[r#"
        spine-1: Held
        leaf-1: Held
        leaf-2: Held
        in force: true
        spine-1: stale, has 2
        leaf-1: stale, has 2
        leaf-2 does not answer
        in force: false
        generation 2 holds router bgp 4200000002
    "#]],
    );
}

#[test]
fn an_unchanged_text_still_moves_the_generation_so_that_the_one_between_is_stale() {
    check(
        &[(1, A), (3, A), (2, B)],
        expect![[r#"
        spine-1: Held
        leaf-1: Held
        leaf-2: Held
        in force: true
        spine-1: Unchanged
        leaf-1: Unchanged
        leaf-2: Unchanged
        in force: true
        spine-1: stale, has 3
        leaf-1: stale, has 3
        leaf-2 does not answer
        in force: false
        generation 3 holds router bgp 4200000001
    "#]],
    );
}

#[test]
fn a_text_that_drifted_is_repaired_by_the_same_generation() {
    check(
        &[(1, A), (1, B)],
        expect![[r#"
        spine-1: Held
        leaf-1: Held
        leaf-2: Held
        in force: true
        spine-1: Held
        leaf-1: Held
        leaf-2 does not answer
        in force: false
        generation 1 holds router bgp 4200000002
    "#]],
    );
}
