//! Every choice, made once.
//!
//! Takes: an [`Intent`] and the [`Ledger`]. Gives: the next [`Plan`] with its records and its
//! report, or every [`PlanRefusal`].
//! Never: leaves a choice to a later room; looks at the clock; rolls dice.
//!
//! Numbers are leased in the ledger and stay with a job as long as its document asks for the
//! same. What is freed rests until every device that may hold it was seen without it.
//! A node that vanished from the fleet while a job holds it is not forgotten: the plan is
//! refused until the node is back, even as failed, or the job is deleted.

#![allow(
    clippy::result_large_err,
    reason = "a refusal is an answer that carries its offenders, and no hot path returns one"
)]

mod blocks;
mod contradiction;
mod diff;
mod follow;
mod go_back;
mod layers;
mod ledger;
mod meet;
mod net;
mod number;
mod offer;
mod past;
pub mod place;
mod planner;
mod promise;
mod record;
mod refusal;
mod report;
mod rest;
mod seats;
mod shape;
mod view;

#[cfg(test)]
mod tests;

use intent::Intent;

pub use contradiction::Contradiction;
pub use diff::{Change, ConsentLine, Diff, JobLine, Sign, TenantNumber, diff};
pub use go_back::go_back;
pub use ledger::Ledger;
pub use planner::Planner;
pub use promise::Overpromise;
pub use record::{Choice, Lease, SeatAt, VlanAt};
pub use refusal::{Amount, Binding, PlanRefusal};
pub use report::{Coverage, Pending, PlanReport, Point, RestingLine, UnwellJob};
pub use rest::{Rest, Resting};
pub use shape::{DevicePlan, Group, JobNet, Plan, Seat, TenantNet, Touched};
pub use view::view;

/// The plan that comes after the ledger's last.
#[derive(Clone, Debug)]
pub struct Next {
    /// What shall be.
    pub plan: Plan,
    /// What must be written down before anything of it is sent.
    pub records: Vec<Choice>,
    /// What people should know about it.
    pub report: PlanReport,
}

/// Plans what the intent asks for, on top of what the ledger holds.
///
/// # Errors
/// Every refusal, not only the first.
pub fn next(intent: &Intent, ledger: &Ledger) -> Result<Next, Vec<PlanRefusal>> {
    Planner::new(intent, ledger).map(Planner::into_next)
}
