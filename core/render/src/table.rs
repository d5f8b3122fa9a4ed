use model::{DeviceId, JobName, TenantName};
use plan::{Group, JobNet, Plan, TenantNet};

pub(crate) fn head(_plan: &Plan, _device: DeviceId, _out: &mut String) {}

pub(crate) fn tenant(
    _plan: &Plan,
    _device: DeviceId,
    _name: &TenantName,
    _tenant: &TenantNet,
    _out: &mut String,
) {
}

pub(crate) fn job(_plan: &Plan, _name: &JobName, _job: &JobNet, _group: &Group, _out: &mut String) {
}
