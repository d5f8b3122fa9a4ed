//! Everywhere or nowhere.

use std::collections::BTreeMap;

use apply::{Applied, Outcome};
use model::{Dialect, Generation};

use crate::stage::{NODES, OTHER, Plans, Stage, TRAIN};

fn push(stage: &Stage, plans: &Plans, plan: usize) -> Applied {
    plans.push(&stage.fleet(), plan)
}

/// What each device's receipt says, in short.
fn outcomes(applied: &Applied, plans: &Plans) -> BTreeMap<String, String> {
    let said = |receipt: &apply::Receipt| match &receipt.outcome {
        Ok(Outcome::Refused { why }) => why.clone(),
        Ok(outcome) => format!("{outcome:?}"),
        Err(error) => error.source.to_string(),
    };
    let receipts = applied.receipts.iter();
    let name = |receipt: &apply::Receipt| plans.fleet.device_name(receipt.device).to_string();
    receipts.map(|receipt| (name(receipt), said(receipt))).collect()
}

#[test]
fn what_all_hold_starts_everywhere() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    let pushed = push(&stage, &plans, 0);
    assert!(pushed.in_force() && pushed.is_started);
    for node in NODES {
        assert_eq!(stage.node(node).started(), Some(Generation(1)), "{node}");
        assert!(stage.node(node).is_open(), "{node}");
    }
    let held = stage.node("leaf-2").text(Dialect::Table).unwrap();
    assert_eq!(held, plans.text(0, "leaf-2", Dialect::Table));
}

#[test]
fn if_one_of_them_refuses_nobody_starts_and_it_is_named() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    stage.node("leaf-2").fail(Some("no room for the table"));
    let pushed = push(&stage, &plans, 0);
    assert!(!pushed.in_force() && !pushed.is_started);
    let failed = "hold failed: no room for the table";
    assert_eq!(outcomes(&pushed, &plans)["leaf-2"], failed);
    for node in NODES {
        assert_eq!(stage.node(node).started(), None, "{node}");
    }
    assert!(!stage.node("leaf-2").is_open(), "what could not be held is closed");
    // The next run completes.
    stage.node("leaf-2").fail(None);
    let pushed = push(&stage, &plans, 0);
    assert!(pushed.in_force() && pushed.is_started);
    assert!(stage.node("leaf-2").is_open());
    assert_eq!(outcomes(&pushed, &plans)["leaf-1"], "Unchanged");
}

#[test]
fn if_one_of_them_does_not_answer_nobody_starts_and_it_is_named() {
    let mut stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    stage.kill("leaf-3");
    let pushed = push(&stage, &plans, 0);
    assert!(!pushed.in_force() && !pushed.is_started);
    let outcomes = outcomes(&pushed, &plans);
    assert!(outcomes["leaf-3"].starts_with("nobody answers at"), "{outcomes:?}");
    assert!(NODES.iter().all(|node| stage.node(node).started().is_none()));
}

#[test]
fn a_device_that_nobody_enrolled_is_named_with_the_remedy() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    std::fs::remove_dir_all(stage.identity_folder("leaf-1")).unwrap();
    let pushed = push(&stage, &plans, 0);
    assert!(!pushed.is_started);
    let said = &outcomes(&pushed, &plans)["leaf-1"];
    assert!(said.contains("`ca enroll leaf-1 --address"), "{said}");
}

#[test]
fn a_late_writer_is_refused_and_changes_nothing() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN], &[TRAIN, OTHER]]);
    assert!(push(&stage, &plans, 1).is_started);
    let writes = stage.node("leaf-1").writes();
    let pushed = push(&stage, &plans, 0);
    assert!(!pushed.in_force() && !pushed.is_started);
    let stale = |receipt: &apply::Receipt| {
        let outcome = receipt.outcome.as_ref().unwrap();
        matches!(outcome, Outcome::Stale { generation: Generation(2), .. })
    };
    assert!(pushed.receipts.iter().all(stale), "{pushed:?}");
    assert_eq!(stage.node("leaf-1").writes(), writes);
}

#[test]
fn what_agents_say_their_nodes_hold_can_be_judged() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    assert!(push(&stage, &plans, 0).is_started);
    let fleet = stage.fleet();
    let seen = fleet.look(&plans.fleet);
    for artifact in plans.cleared[0].artifacts() {
        let held = observe::Holds::held(&seen, artifact.device, artifact.dialect).unwrap().unwrap();
        assert_eq!(held.generation, Generation(1));
        assert_eq!(held.text, artifact.text());
    }
}
