use model::JobName;
use plan::JobNet;

pub(crate) fn job(_name: &JobName, _job: &JobNet, _out: &mut String) {}
