//! An agent is killed, and another takes its place.

use std::fs;
use std::time::Duration;

use agent::{AgentTerms, News};
use apply::Gate;
use model::{Dialect, Generation};

use crate::stage::{Ear, Plans, Stage, TRAIN};

fn in_force(terms: AgentTerms) -> (Stage, Plans) {
    let stage = Stage::with(terms);
    let plans = Plans::of(&[&[TRAIN]]);
    assert!(plans.push(&stage.fleet(), 0).is_started);
    (stage, plans)
}

#[test]
fn the_next_agent_finishes_what_was_begun_and_keeps_the_gate_open() {
    let (mut stage, plans) = in_force(AgentTerms::default());
    stage.kill("leaf-1");
    stage.node("leaf-1").edit(Dialect::Table, String::clear);
    stage.start("leaf-1");
    let status = stage.status("leaf-1");
    assert_eq!((status.generation, status.started), (Some(Generation(1)), true));
    let fleet = stage.fleet();
    Ear::to(&fleet).first("leaf-1");
    let held = stage.node("leaf-1").text(Dialect::Table).unwrap();
    assert_eq!(held, plans.text(0, "leaf-1", Dialect::Table));
    assert!(stage.node("leaf-1").is_open());
    // It does not open more than was opened.
    assert_eq!(stage.node("leaf-1").started(), Some(Generation(1)));
}

#[test]
fn a_plan_that_was_held_and_never_started_is_not_started_by_the_next_agent() {
    let mut stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    stage.node("leaf-2").fail(Some("no room"));
    assert!(!plans.push(&stage.fleet(), 0).is_started);
    stage.kill("leaf-1");
    stage.start("leaf-1");
    assert!(!stage.status("leaf-1").started);
    assert_eq!(stage.node("leaf-1").started(), None);
}

#[test]
fn a_lease_goes_on_through_a_restart_and_ends_when_it_would_have() {
    let (mut stage, _) =
        in_force(AgentTerms { lease: Duration::from_millis(1500), ..AgentTerms::default() });
    stage.kill("leaf-1");
    stage.start("leaf-1");
    let fleet = stage.fleet();
    let ear = Ear::to(&fleet);
    ear.news("leaf-1", |news| (news == News::Gate(Gate::LeaseOver)).then_some(()));
    assert!(!stage.node("leaf-1").is_open());
}

#[test]
fn an_agent_that_forgot_its_lease_keeps_the_gate_closed() {
    let (mut stage, _) = in_force(AgentTerms::default());
    stage.kill("leaf-1");
    fs::remove_dir_all(stage.folder.join("state").join("leaf-1")).unwrap();
    stage.start("leaf-1");
    let fleet = stage.fleet();
    Ear::to(&fleet).first("leaf-1");
    assert_eq!(stage.status("leaf-1").gate, Gate::LeaseOver);
    assert!(!stage.node("leaf-1").is_open());
}
