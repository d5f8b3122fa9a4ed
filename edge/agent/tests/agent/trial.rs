//! A plan that must be confirmed.

use std::time::Duration;

use agent::{Agents, News};
use apply::HoldTerms;
use model::{Dialect, Generation};

use crate::stage::{Ear, NODES, OTHER, Plans, Stage, TRAIN};

const SOON: Duration = Duration::from_millis(800);
const NEVER: Duration = Duration::from_secs(3600);

/// A stage with one plan in force and another on trial.
fn on_trial(within: Duration) -> (Stage, Plans, Agents, Ear) {
    let stage = Stage::new();
    let plans = Plans::of(&[&[TRAIN], &[TRAIN, OTHER]]);
    let fleet = stage.fleet();
    assert!(plans.push(&fleet, 0).is_started);
    let ear = Ear::to(&fleet);
    ear.first("leaf-1");
    let terms = HoldTerms { confirm_within: Some(within), ..HoldTerms::default() };
    assert!(plans.push_on(&fleet, 1, &terms).is_started);
    (stage, plans, fleet, ear)
}

fn went_back(news: News) -> Option<(Generation, Option<Generation>)> {
    match news {
        News::WentBack { from, to, trouble: None } => Some((from, to)),
        _ => None,
    }
}

#[track_caller]
fn check_holds(stage: &Stage, plans: &Plans, plan: usize) {
    for dialect in [Dialect::Frr, Dialect::Linux, Dialect::Table] {
        let held = stage.node("leaf-1").text(dialect).unwrap();
        assert_eq!(held, plans.text(plan, "leaf-1", dialect), "{dialect}");
    }
}

#[test]
fn what_nobody_confirms_goes_back_under_the_later_number() {
    let (stage, plans, fleet, ear) = on_trial(SOON);
    let (from, to) = ear.news("leaf-1", went_back);
    assert_eq!((from, to), (Generation(2), Some(Generation(1))));
    check_holds(&stage, &plans, 0);
    let status = stage.status("leaf-1");
    assert_eq!(status.generation, Some(Generation(2)));
    assert_eq!(status.went_back_to, Some(Generation(1)));
    assert!(status.started && stage.node("leaf-1").is_open());
    // It is too late now.
    let late = plans.confirm(&fleet, 2)["leaf-1"].clone().unwrap_err();
    assert!(late.contains("apply again"), "{late}");
    // A writer with the number of what it holds is still late.
    assert!(!plans.push(&fleet, 0).in_force());
}

#[test]
fn what_is_confirmed_stays() {
    let (mut stage, plans, fleet, _ear) = on_trial(NEVER);
    assert!(stage.status("leaf-1").confirm_until_ms.is_some());
    assert!(plans.confirm(&fleet, 2).values().all(Result::is_ok));
    for node in NODES {
        assert_eq!(stage.status(node).confirm_until_ms, None, "{node}");
    }
    stage.kill("leaf-1");
    stage.start("leaf-1");
    check_holds(&stage, &plans, 1);
}

#[test]
fn an_agent_killed_during_a_trial_goes_back_when_its_time_is_over() {
    let (mut stage, plans, _fleet, ear) = on_trial(SOON);
    stage.kill("leaf-1");
    stage.start("leaf-1");
    ear.news("leaf-1", went_back);
    check_holds(&stage, &plans, 0);
}
