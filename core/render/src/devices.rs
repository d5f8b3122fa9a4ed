//! Dialect `devices`: the device files of a job's GPUs, interfaces and memory channel.

use std::collections::BTreeSet;

use model::{JobName, NodeId, NodeModel, Runtime, Share};
use plan::{JobNet, Plan};

use crate::node::{bits, model, runtime};
use crate::say::say;

/// The number of the first GPU's render device (Linux, Documentation/gpu/drm-uapi.rst).
const FIRST_RENDER_DEVICE: u16 = 128;

/// The device files that the job's processes may open, or those of its virtual machine.
pub(crate) fn job(
    plan: &Plan,
    node: NodeId,
    name: &JobName,
    job: &JobNet,
    share: Share,
    out: &mut String,
) {
    let model = model(plan, node);
    let count = share.gpus.count_ones() + share.nics.count_ones() + 3;
    out.reserve(64 * count as usize); // about as long as it gets
    let mut files = Files { job: name, out };
    match runtime(plan, name) {
        Some(Runtime::Container) => files.of_container(model, job, share),
        Some(Runtime::Vm) => files.of_machine(model, share),
        None => {}
    }
}

struct Files<'a> {
    job: &'a JobName,
    out: &'a mut String,
}

impl Files<'_> {
    fn of_container(&mut self, model: &NodeModel, job: &JobNet, share: Share) {
        let is_amd = model.gpu.is_amd();
        for minor in bits(share.gpus).filter_map(|gpu| model.pci.minor(gpu)) {
            match is_amd {
                true => self.numbered("/dev/dri/renderD", FIRST_RENDER_DEVICE + minor),
                false => self.numbered("/dev/nvidia", minor),
            }
        }
        match is_amd {
            _ if share.gpus == 0 => {}
            true => self.open("/dev/kfd"),
            false => {
                self.open("/dev/nvidiactl");
                self.open("/dev/nvidia-uvm");
            }
        }
        for nic in bits(share.nics) {
            self.numbered("/dev/infiniband/uverbs", nic);
        }
        if let Some(channel) = job.keys.channel {
            self.numbered("/dev/nvidia-caps-imex-channels/channel", channel);
        }
    }

    /// Functions go to a virtual machine by their IOMMU groups.
    fn of_machine(&mut self, model: &NodeModel, share: Share) {
        let of_gpus = bits(share.gpus).filter_map(|gpu| model.gpu_groups.get(usize::from(gpu)));
        let nics = bits(share.nics).filter_map(|nic| model.nics.get(usize::from(nic)));
        let groups: BTreeSet<u16> =
            of_gpus.copied().chain(nics.map(|nic| nic.iommu_group)).collect();
        for group in groups {
            self.numbered("/dev/vfio/", group);
        }
        self.open("/dev/vfio/vfio");
    }

    fn numbered(&mut self, file: &str, number: u16) {
        say!(self.out, "open ", self.job, " ", file, number, "\n");
    }

    fn open(&mut self, file: &str) {
        say!(self.out, "open ", self.job, " ", file, "\n");
    }
}
