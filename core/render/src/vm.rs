use model::{JobName, NodeId, Share};
use plan::Plan;

pub(crate) fn job(_plan: &Plan, _node: NodeId, _name: &JobName, _share: Share, _out: &mut String) {}
