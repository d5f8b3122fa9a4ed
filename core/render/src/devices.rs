use model::{JobName, NodeId, Share};
use plan::{JobNet, Plan};

pub(crate) fn job(
    _plan: &Plan,
    _node: NodeId,
    _name: &JobName,
    _job: &JobNet,
    _share: Share,
    _out: &mut String,
) {
}
