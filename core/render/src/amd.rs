//! Dialect `amd`: every AMD GPU of a node is one, undivided.

use model::NodeId;
use plan::Plan;

use crate::node::model;
use crate::say::say;

/// Every GPU is one: the plan divides none.
pub(crate) fn head(plan: &Plan, node: NodeId, out: &mut String) {
    for module in 1..=model(plan, node).gpus {
        say!(out, "gpu ", module, " compute SPX memory NPS1\n");
    }
}
