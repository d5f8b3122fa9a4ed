//! The layers besides the network: which a fleet has, who manages them, and their own words.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::words::words;
use crate::{Dialect, Name, PciAddress, PodId};

/// The group of everything that people write, and of the words that other programs keep for us.
pub const API_GROUP: &str = "bulkhead.dev";

/// How much a tenant may store for each GPU that it has. No document asks for storage yet, and a
/// namespace without a limit would take all there is, so everybody gets the same: room for several
/// copies of what a GPU of today can hold, and a whole number of the unit that quotas are written
/// in. Who writes the quota and who judges it take it from here.
pub const STORAGE_BYTES_PER_GPU: u64 = 1 << 40;

/// The layers besides the network that a fleet has configured. A fleet that names none is a
/// network alone.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Layers {
    /// In which dialects, in order.
    pub dialects: Vec<Dialect>,
    /// Under which keys Kubernetes nodes carry where they stand.
    pub labels: Labels,
}

/// The keys of the labels that say where a node stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Labels {
    /// The fabric domain.
    pub pod: SmolStr,
    /// The leaf switch.
    pub leaf: SmolStr,
    /// The rack.
    pub rack: SmolStr,
    /// The NVLink domain.
    pub nvlink_domain: SmolStr,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            pod: SmolStr::new_static("fabric.topograph.run/tier-1"),
            leaf: SmolStr::new_static("fabric.topograph.run/tier-0"),
            rack: SmolStr::new_static("topology.kubernetes.io/rack"),
            nvlink_domain: SmolStr::new_static("accelerator.topograph.run/domain"),
        }
    }
}

/// Something that is configured and is neither switch nor node: it speaks for many of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Manager {
    /// Its name, unique in the fleet.
    pub name: Name,
    /// What it manages.
    pub kind: ManagerKind,
}

/// What a manager manages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ManagerKind {
    /// The partitions of an NVLink domain that joins several nodes.
    Nvlink(Name),
    /// The InfiniBand partitions of a pod.
    Subnet(PodId),
    /// The cluster's Slurm controller.
    Slurm,
    /// The cluster's Kubernetes API.
    Kubernetes,
}

impl ManagerKind {
    /// The language it is configured in.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        match self {
            Self::Nvlink(_) => Dialect::Nvlink,
            Self::Subnet(_) => Dialect::Pkey,
            Self::Slurm => Dialect::Slurm,
            Self::Kubernetes => Dialect::Kubernetes,
        }
    }
}

/// Where the devices of a kind of node sit on its PCI bus. Empty where nobody said so.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PciLayout {
    /// Each GPU, in the order of module ids.
    pub gpus: Vec<PciAddress>,
    /// Each interface.
    pub nics: Vec<PciAddress>,
}

impl PciLayout {
    /// The number that the driver gives a GPU's device file: GPUs are counted in the order of
    /// their addresses, which is not the order of module ids.
    #[must_use]
    pub fn minor(&self, gpu: u16) -> Option<u16> {
        let address = self.gpus.get(usize::from(gpu))?;
        Some(self.gpus.iter().filter(|other| *other < address).count() as u16)
    }

    /// The GPU whose device file has this number.
    #[must_use]
    pub fn gpu_of_minor(&self, minor: u16) -> Option<u16> {
        (0..self.gpus.len() as u16).find(|gpu| self.minor(*gpu) == Some(minor))
    }

    /// The GPU at this address.
    #[must_use]
    pub fn gpu_at(&self, address: PciAddress) -> Option<u16> {
        self.gpus.iter().position(|at| *at == address).map(|gpu| gpu as u16)
    }

    /// The interface at this address.
    #[must_use]
    pub fn nic_at(&self, address: PciAddress) -> Option<u16> {
        self.nics.iter().position(|at| *at == address).map(|nic| nic as u16)
    }
}

/// In what a job runs.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Processes of the host's kernel.
    Container,
    /// A virtual machine with a kernel of its own.
    Vm,
}

/// What keeps the host out of a virtual machine's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidential {
    /// AMD SEV-SNP.
    SevSnp,
    /// Intel TDX.
    Tdx,
}

/// A part of a node's software that has a version.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The GPU driver.
    Driver,
    /// The kernel.
    Kernel,
    /// The board's firmware.
    Firmware,
    /// The container toolkit.
    Toolkit,
}

words! {
    Runtime: "container" Container, "vm" Vm;
    Confidential: "sev-snp" SevSnp, "tdx" Tdx;
    Component: "driver" Driver, "kernel" Kernel, "firmware" Firmware, "toolkit" Toolkit;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_files_are_counted_by_address_and_not_by_module() {
        // Modules 1 to 4 of the second board of the published partition tables.
        let gpus = ["0000:4c:00.0", "0000:19:00.0", "0000:5d:00.0", "0000:3b:00.0"];
        let gpus = gpus.map(|address| address.parse().unwrap()).to_vec();
        let layout = PciLayout { gpus, nics: Vec::new() };
        let minors: Vec<_> = (0..5).map(|gpu| layout.minor(gpu)).collect();
        assert_eq!(minors, [Some(2), Some(0), Some(3), Some(1), None]);
        assert!((0..4).all(|gpu| layout.gpu_of_minor(layout.minor(gpu).unwrap()) == Some(gpu)));
    }
}
