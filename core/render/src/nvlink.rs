use model::{Manager, NodeId, Part, Share};
use plan::Plan;

pub(crate) fn head(_plan: &Plan, _node: NodeId, _out: &mut String) {}

pub(crate) fn job(_plan: &Plan, _node: NodeId, _share: Share, _out: &mut String) {}

pub(crate) fn domain(_plan: &Plan, _manager: &Manager, _part: &Part, _out: &mut String) {}
