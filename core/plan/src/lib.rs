//! Every choice, made once.
//!
//! Takes: an intent and the ledger. Gives: the next [`Plan`], or a refusal.
//! Never: leaves a choice to a later room; looks at the clock; rolls dice.

mod shape;

pub use shape::{DevicePlan, Group, JobNet, Plan, Seat, TenantNet, Touched};
