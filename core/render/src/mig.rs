use model::{NodeId, Share};
use plan::Plan;

pub(crate) fn job(_plan: &Plan, _node: NodeId, _share: Share, _out: &mut String) {}
