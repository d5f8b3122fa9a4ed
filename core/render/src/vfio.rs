//! Dialect `vfio`: where a node's functions stand, and which driver each has for which job.

use model::{JobName, NodeId, Runtime, Share};
use plan::Plan;

use crate::node::{bits, model, runtime};
use crate::say::say;

/// Where each function of the node stands.
pub(crate) fn head(plan: &Plan, node: NodeId, out: &mut String) {
    let model = model(plan, node);
    out.reserve(52 * (model.pci.gpus.len() + model.pci.nics.len())); // about as long as it gets
    let gpus = model.pci.gpus.iter().zip(&model.gpu_groups).zip(&model.gpu_numa);
    for (module, ((pci, group), numa)) in (1_u16..).zip(gpus) {
        say!(out, "function ", pci, " gpu ", module, " group ", group, " numa ", numa, "\n");
    }
    for (number, (pci, nic)) in (0_u16..).zip(model.pci.nics.iter().zip(&model.nics)) {
        say!(out, "function ", pci, " nic ", number);
        say!(out, " group ", nic.iommu_group, " numa ", nic.numa, "\n");
    }
}

/// A virtual machine takes its functions whole; processes of the host's kernel use the host's
/// drivers. What belongs to nobody has no driver.
pub(crate) fn job(plan: &Plan, node: NodeId, name: &JobName, share: Share, out: &mut String) {
    let model = model(plan, node);
    let (driver, nics) = match runtime(plan, name) {
        Some(Runtime::Vm) => ("vfio-pci", share.nics),
        Some(Runtime::Container) if model.gpu.is_amd() => ("amdgpu", 0),
        Some(Runtime::Container) => ("nvidia", 0),
        None => return,
    };
    let gpus = bits(share.gpus).filter_map(|gpu| model.pci.gpus.get(usize::from(gpu)));
    let nics = bits(nics).filter_map(|nic| model.pci.nics.get(usize::from(nic)));
    for pci in gpus.chain(nics) {
        say!(out, "bind ", pci, " ", driver, "\n");
    }
}
