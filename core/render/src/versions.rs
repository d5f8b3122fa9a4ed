use model::NodeId;
use plan::Plan;

pub(crate) fn head(_plan: &Plan, _node: NodeId, _out: &mut String) {}
