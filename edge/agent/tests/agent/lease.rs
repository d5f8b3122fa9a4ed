//! The controller goes away.

use std::time::Duration;

use agent::{AgentTerms, News};
use apply::Gate;

use crate::stage::{Ear, Plans, Stage, TRAIN, name};

fn short() -> AgentTerms {
    AgentTerms { lease: Duration::from_millis(1500), ..AgentTerms::default() }
}

#[test]
fn without_the_controller_the_gate_stays_open_until_its_lease_ends() {
    let stage = Stage::with(short());
    let plans = Plans::of(&[&[TRAIN]]);
    let fleet = stage.fleet();
    let ear = Ear::to(&fleet);
    ear.first("leaf-1");
    assert!(plans.push(&fleet, 0).is_started);
    assert!(stage.node("leaf-1").is_open());
    ear.news("leaf-1", |news| (news == News::Gate(Gate::LeaseOver)).then_some(()));
    assert!(!stage.node("leaf-1").is_open());
    // What it holds may be somebody else's by now: only a plan opens it again.
    let refused = plans.renew(&fleet, 1)["leaf-1"].clone().unwrap_err();
    assert!(refused.contains("the lease is over") && refused.contains("apply"), "{refused}");
    assert!(plans.push(&fleet, 0).is_started);
    assert!(stage.node("leaf-1").is_open());
}

#[test]
fn a_controller_that_believes_in_another_plan_does_not_renew() {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    let fleet = stage.fleet();
    assert!(plans.push(&fleet, 0).is_started);
    assert!(plans.renew(&fleet, 1).values().all(Result::is_ok));
    assert!(plans.renew(&fleet, 2).values().all(Result::is_err));
}

#[test]
fn a_gate_that_the_controller_closed_stays_closed_through_a_restart() {
    let mut stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN]]);
    let fleet = stage.fleet();
    assert!(plans.push(&fleet, 0).is_started);
    fleet.close(&name("leaf-2")).unwrap();
    assert!(!stage.node("leaf-2").is_open());
    stage.kill("leaf-2");
    stage.start("leaf-2");
    assert_eq!(stage.status("leaf-2").gate, Gate::Told);
    assert!(!stage.node("leaf-2").is_open());
}
