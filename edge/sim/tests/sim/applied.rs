//! What a push does to devices: forward only, one receipt for each order.

use std::fmt::Write;

use apply::{Devices as _, HoldTerms, Order, Outcome, push};
use expect_test::{Expect, expect};
use model::{Artifact, Dialect, Epoch, Generation, Owners, Part, PartText};
use observe::{Held, Holds};
use sim::Fabric;

use crate::world::{Side, World};

/// Two texts that say next to nothing, so that nobody objects to them.
const A: &str = "feature bgp\nnv overlay evpn\nrouter bgp 4200000001\n";
const B: &str = "feature bgp\nnv overlay evpn\nrouter bgp 4200000002\n";

/// Sends a text of an epoch and generation to the spine and both leaves, one after the other, and
/// tells the receipts and what the first leaf holds at last. The second leaf is cut off before the
/// last.
fn check(sent: &[(u64, u64, &str)], expect: Expect) {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = Fabric::new(world.fleet());
    let mut told = String::new();
    for (position, &(epoch, generation, text)) in sent.iter().enumerate() {
        if position + 1 == sent.len() {
            fabric.cut(world.device("leaf-2"));
        }
        let artifacts = artifacts(&world, generation, text);
        let cleared = verify::clear(&world.fleet(), &Owners::default(), artifacts).unwrap();
        let orders = Order::all(&cleared, Epoch(epoch), Generation(generation));
        let applied = push(&orders, &HoldTerms::default(), &mut fabric);
        for receipt in &applied.receipts {
            let name = world.fleet().device_name(receipt.device).clone();
            match &receipt.outcome {
                Ok(Outcome::Stale { epoch, generation }) => {
                    writeln!(told, "{name}: stale, has {generation} of epoch {epoch}")
                }
                Ok(Outcome::Held { .. }) => writeln!(told, "{name}: held"),
                Ok(Outcome::Unchanged) => writeln!(told, "{name}: unchanged"),
                Ok(Outcome::Refused { why }) => writeln!(told, "{name}: {why}"),
                Err(unreachable) => writeln!(told, "{unreachable}"),
            }
            .unwrap();
        }
        let (in_force, is_started) = (applied.in_force(), applied.is_started);
        writeln!(told, "in force: {in_force}, started: {is_started}").unwrap();
    }
    let held = fabric.held(world.device("leaf-1"), Dialect::Nxos);
    let held = held.unwrap().unwrap();
    let last = held.text.lines().last().unwrap_or_default();
    writeln!(told, "generation {} holds {last}", held.generation).unwrap();
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
        &[(1, 1, A), (1, 2, B)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: held
            leaf-1: held
            leaf-2 does not answer
            in force: false, started: false
            generation 2 holds router bgp 4200000002
        "#]],
    );
}

#[test]
fn the_same_again_is_unchanged() {
    check(
        &[(1, 1, A), (1, 1, A)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: unchanged
            leaf-1: unchanged
            leaf-2 does not answer
            in force: false, started: false
            generation 1 holds router bgp 4200000001
        "#]],
    );
}

#[test]
fn a_stale_writer_is_refused() {
    check(
        &[(1, 2, B), (1, 1, A)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: stale, has 2 of epoch 1
            leaf-1: stale, has 2 of epoch 1
            leaf-2 does not answer
            in force: false, started: false
            generation 2 holds router bgp 4200000002
        "#]],
    );
}

#[test]
fn an_unchanged_text_still_moves_the_generation_so_that_the_one_between_is_stale() {
    check(
        &[(1, 1, A), (1, 3, A), (1, 2, B)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: unchanged
            leaf-1: unchanged
            leaf-2: unchanged
            in force: true, started: true
            spine-1: stale, has 3 of epoch 1
            leaf-1: stale, has 3 of epoch 1
            leaf-2 does not answer
            in force: false, started: false
            generation 3 holds router bgp 4200000001
        "#]],
    );
}

#[test]
fn another_text_under_a_known_number_is_refused() {
    check(
        &[(1, 1, A), (1, 1, B)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: it knows another text as generation 1: send this as a later one
            leaf-1: it knows another text as generation 1: send this as a later one
            leaf-2 does not answer
            in force: false, started: false
            generation 1 holds router bgp 4200000001
        "#]],
    );
}

#[test]
fn whoever_speaks_for_an_earlier_epoch_is_refused_whatever_the_generation() {
    check(
        &[(2, 1, A), (1, 9, B)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: stale, has 1 of epoch 2
            leaf-1: stale, has 1 of epoch 2
            leaf-2 does not answer
            in force: false, started: false
            generation 1 holds router bgp 4200000001
        "#]],
    );
}

#[test]
fn a_new_epoch_is_followed_from_whatever_generation_it_comes() {
    check(
        &[(1, 9, A), (2, 1, B)],
        expect![[r#"
            spine-1: held
            leaf-1: held
            leaf-2: held
            in force: true, started: true
            spine-1: held
            leaf-1: held
            leaf-2 does not answer
            in force: false, started: false
            generation 1 holds router bgp 4200000002
        "#]],
    );
}

#[test]
fn a_text_that_drifted_is_repaired_by_the_same_generation() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = Fabric::new(world.fleet());
    let orders = orders(&world, A);
    assert!(push(&orders, &HoldTerms::default(), &mut fabric).is_started);
    let leaf = world.device("leaf-1");
    let drifted = Held { generation: Generation(1), text: B.into() };
    fabric.load_text(leaf, Dialect::Nxos, drifted);
    let applied = push(&orders, &HoldTerms::default(), &mut fabric);
    let receipt = applied.receipts.iter().find(|receipt| receipt.device == leaf).unwrap();
    assert_eq!(receipt.outcome.as_ref().unwrap(), &Outcome::Held { changed: vec![Dialect::Nxos] });
    assert_eq!(fabric.held(leaf, Dialect::Nxos).unwrap().unwrap().text, A);
}

#[test]
fn a_text_that_stays_the_same_has_the_same_digest_under_a_later_plan() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let cleared = |generation| {
        let artifacts = artifacts(&world, generation, A);
        verify::clear(&world.fleet(), &Owners::default(), artifacts).unwrap()
    };
    let (first, later) = (cleared(1), cleared(2));
    assert_eq!(first.root(), later.root());
    assert!(first.devices().eq(later.devices()));
    let mut fabric = Fabric::new(world.fleet());
    push(&Order::all(&first, Epoch(1), Generation(1)), &HoldTerms::default(), &mut fabric);
    for (device, digest) in later.devices() {
        let standing = fabric.standing(device).unwrap().unwrap();
        assert_eq!(standing.digest, Some(digest), "nothing is to be sent");
    }
}

fn orders(world: &World, text: &str) -> Vec<Order> {
    let artifacts = artifacts(world, 1, text);
    let cleared = verify::clear(&world.fleet(), &Owners::default(), artifacts).unwrap();
    Order::all(&cleared, Epoch(1), Generation(1))
}
