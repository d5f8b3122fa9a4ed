//! A job comes while FRR holds something else than it was sent, and nobody has put that right.

use lab::Fault;

use crate::DEVICE;
use crate::killed::{change, plug};
use crate::standing::{Standing, agents, until};

#[test]
fn what_a_hand_did_to_frr_is_undone_when_it_is_told_of_the_next_job() {
    let lab = Standing::up("told", 2);
    plug(&lab);
    // Agents tell of drift and leave it alone.
    // An FRR that was just restarted may refuse; then it is applied again.
    let words = ["apply", "--to", "agents", "--on-drift", "alarm", "--prune", "--yes"];
    let apply = || {
        until("the plan is in force", || {
            let (code, said) = lab.ask(&words);
            code == Some(0) && !said.contains("Not in force")
        });
    };
    let proof = || lab.ask(&["verify", "--held", "--from", "agents"]).0;
    apply();
    let policies = || agents(&lab).statuses().into_values();
    assert!(policies().all(|status| status.unwrap().on_drift == apply::OnDrift::Alarm));
    for fault in [Fault::RouteTarget, Fault::SecondNeighbor, Fault::FrrRestarted] {
        lab.break_(fault, Some(DEVICE)).unwrap();
        // A daemon that was restarted says nothing at first.
        until(&format!("{fault} is found"), || proof() == Some(1));
        change(&lab, true);
        apply();
        until(&format!("all is proved after {fault}"), || proof() == Some(0));
        change(&lab, false);
        apply();
    }
}
