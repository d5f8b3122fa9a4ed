//! What every layer of a node asks before it speaks.

use model::{JobName, Node, NodeId, NodeModel, Runtime};
use plan::Plan;

use crate::say::say;

/// A node.
pub(crate) fn node(plan: &Plan, node: NodeId) -> &Node {
    &plan.fleet.nodes[node.index()]
}

/// Its kind.
pub(crate) fn model(plan: &Plan, id: NodeId) -> &NodeModel {
    &plan.fleet.node_models[node(plan, id).model.index()]
}

/// In what a job runs, if its tenant is planned.
pub(crate) fn runtime(plan: &Plan, job: &JobName) -> Option<Runtime> {
    plan.tenants.get(&job.tenant).map(|tenant| tenant.trust.runtime)
}

/// The numbers of a mask's bits, ascending.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u16> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lowest = left.trailing_zeros();
        left &= left.checked_sub(1)?;
        Some(lowest as u16)
    })
}

/// Says GPUs by their module ids: ` gpus 1 3`.
pub(crate) fn say_gpus(gpus: u64, out: &mut String) {
    out.push_str(" gpus");
    for gpu in bits(gpus) {
        say!(out, " ", gpu + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_lowest() {
        assert!(bits(0).next().is_none());
        assert!(bits(0b1010_0001 | 1 << 63).eq([0, 5, 7, 63]));
        assert!(bits(u64::MAX).eq(0..64));
    }
}
