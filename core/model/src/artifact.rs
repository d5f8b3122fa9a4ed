//! What a device is to hold: its configuration in one dialect, by parts, under a generation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{DeviceId, JobName, NodeId, TenantName};

/// A plan's place in history. Generations only grow.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which life of the log speaks. A log that was lost, cut or restored goes on in a new one, and
/// devices refuse every message of an earlier one: only that epoch may know less than they do.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A language a device is configured in.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// FRRouting 8.4: BGP and EVPN of a Linux switch or host.
    Frr,
    /// Cisco NX-OS: EVPN and security groups.
    Nxos,
    /// Bridges, VXLAN devices and neighbours of a Linux VTEP.
    Linux,
    /// The packet program's policy.
    Table,
    /// PCI functions of a node: their IOMMU groups, NUMA nodes and drivers.
    Vfio,
    /// What software a node reports.
    Versions,
    /// Instances of NVIDIA GPUs that are cut into slices.
    Mig,
    /// Partition modes of AMD GPUs.
    Amd,
    /// Which GPUs NVLink joins.
    Nvlink,
    /// The NVLink memory channel of each job.
    Imex,
    /// InfiniBand partitions by port.
    Pkey,
    /// The device files that each job may open.
    Devices,
    /// The virtual machines of jobs, as libvirt domains.
    Vm,
    /// Slurm: nodes, topology, partitions, reservations, cgroups.
    Slurm,
    /// Kubernetes: namespaces, policies, quotas, roles, claims of exact devices.
    Kubernetes,
    /// Who had a job's interfaces before it, and by what evidence nothing of that is left.
    Scrub,
    /// Who vouches for the confidential machines of jobs, and since when. Never configured.
    Attest,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Frr,
        Self::Nxos,
        Self::Linux,
        Self::Table,
        Self::Vfio,
        Self::Versions,
        Self::Mig,
        Self::Amd,
        Self::Nvlink,
        Self::Imex,
        Self::Pkey,
        Self::Devices,
        Self::Vm,
        Self::Slurm,
        Self::Kubernetes,
        Self::Scrub,
        Self::Attest,
    ];

    /// The word for it, also used as a file name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Frr => "frr",
            Self::Nxos => "nxos",
            Self::Linux => "linux",
            Self::Table => "table",
            Self::Vfio => "vfio",
            Self::Versions => "versions",
            Self::Mig => "mig",
            Self::Amd => "amd",
            Self::Nvlink => "nvlink",
            Self::Imex => "imex",
            Self::Pkey => "pkey",
            Self::Devices => "devices",
            Self::Vm => "vm",
            Self::Slurm => "slurm",
            Self::Kubernetes => "kubernetes",
            Self::Scrub => "scrub",
            Self::Attest => "attest",
        }
    }

    /// Whether packets are what it is about. All others are layers that a fleet asks for by name.
    #[must_use]
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Frr | Self::Nxos | Self::Linux | Self::Table)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == text).ok_or(
            "a dialect is frr, nxos, linux, table, vfio, versions, mig, amd, nvlink, imex, pkey, \
             devices, vm, slurm, kubernetes, scrub or attest",
        )
    }
}

/// What one device holds, or shall hold, in one dialect.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Artifact {
    /// Whose it is.
    pub device: DeviceId,
    /// The language of its text.
    pub dialect: Dialect,
    /// The plan it came from.
    pub generation: Generation,
    /// Its text in order. Each part can be read by itself.
    pub parts: Vec<PartText>,
}

/// One part of an artifact.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PartText {
    /// What it is about.
    pub part: Part,
    /// Whole lines.
    pub text: String,
}

/// What a part of an artifact is about. A change of one job touches only its own parts.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The device itself and its sessions.
    Head,
    /// A node, as a manager of many speaks of it: whose it is. By its number in the fleet.
    Node(NodeId),
    /// A tenant's VRF.
    Tenant(TenantName),
    /// What all jobs of a tenant have together, which changes with every one of them.
    Holdings(TenantName),
    /// A job's segment and endpoints.
    Job(JobName),
    /// Everything: text taken from a device, which does not tell where its parts begin.
    Whole,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("head"),
            Self::Node(node) => write!(f, "node {}", node.0),
            Self::Tenant(tenant) => write!(f, "tenant {tenant}"),
            Self::Holdings(tenant) => write!(f, "holdings {tenant}"),
            Self::Job(job) => write!(f, "job {job}"),
            Self::Whole => f.write_str("whole"),
        }
    }
}

impl Artifact {
    /// The text a device is sent.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}
