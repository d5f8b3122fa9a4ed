//! What a line can say on the layers besides the network.

mod words;

use model::{
    Component, Confidential, Evidence, Guid, JobName, Measurement, Memory, Name, PciAddress,
    Runtime, TenantName,
};
use smol_str::SmolStr;

/// What a line of a layer besides the network can say.
///
/// Three kinds of sentences: what something *is* (a function, a version), what *joins* several
/// things (an IOMMU group, a partition, a key), and what a *job* was given (a device, a claim).
/// GPUs are counted from 0 in the order of their module ids, except where a device file's number
/// is meant, which is called minor.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Hold {
    // PCI functions of a node.
    /// The function is this, and stands in this IOMMU group and NUMA node.
    Function { pci: PciAddress, what: Function, group: u16, numa: u16 },
    /// The function is driven by this driver.
    Driven { pci: PciAddress, driver: SmolStr },
    /// The function is below a bridge that lets its functions reach each other past the IOMMU.
    Beneath { bridge: PciAddress, pci: PciAddress },

    // Software of a node.
    /// This part of the software has this version.
    Runs { component: Component, version: SmolStr },
    /// Whether the node booted securely.
    BootedSecurely(bool),

    // Cuts of a GPU.
    /// The GPU can be cut into instances.
    Cuttable { gpu: u16 },
    /// An instance of this profile begins at this memory slot of the GPU.
    Instance { gpu: u16, profile: SmolStr, start: u8 },
    /// The AMD GPU is divided in this way.
    Divided { gpu: u16, compute: SmolStr, memory: SmolStr },

    // Fabrics of GPUs.
    /// The node's board can join these GPUs under this number; nothing is joined yet.
    Joinable { partition: u16, gpus: u64 },
    /// The partition with this number of the node's board is active.
    Active { partition: u16 },
    /// The domain's partition with this number holds these GPUs of this node.
    Linked { partition: u16, node: Name, gpus: u64 },
    /// The job's memory channel on this node.
    Channel { job: JobName, channel: u16 },
    /// The port is in the InfiniBand partition; a full member speaks with all, a limited one
    /// only with full ones.
    Member { pkey: u16, guid: Guid, full: bool },
    /// Every port is in the InfiniBand partition.
    EveryMember { pkey: u16, full: bool },

    // What a job was given on a node.
    /// The processes of the job may open this device file.
    Opens { job: JobName, file: DeviceFile },
    /// The job runs in a virtual machine on this node.
    Guest { job: JobName, confidential: Option<Confidential> },
    /// The job's virtual machine has this function.
    GuestHas { job: JobName, pci: PciAddress },
    /// The memory of the job's virtual machine is on this NUMA node.
    GuestNear { job: JobName, numa: u16 },

    /// Somebody vouches for the job's virtual machine on this node.
    Attested { job: JobName, node: Name, report: Box<AttestReport> },

    // What was there before a job.
    /// Nobody left anything on these interfaces of the job.
    Clean { job: JobName, nics: u64 },
    /// Another one had these interfaces of the job last.
    After { job: JobName, nics: u64, left: Box<PastOwner> },
    /// What another one left on these interfaces of the job was scrubbed.
    Scrubbed { job: JobName, nics: u64, cleaned: Box<Cleaned> },

    // Slurm.
    /// Slurm gives out these GPUs of the node, by minor.
    Schedulable { node: Name, minors: u64 },
    /// Jobs of these accounts may run on these nodes. An empty list of accounts is everybody.
    Partition { partition: SmolStr, nodes: Vec<Name>, accounts: Vec<SmolStr>, exclusive: bool },
    /// The nodes hang together below this switch or in this block.
    Together { place: SmolStr, nodes: Vec<Name> },
    /// Slurm keeps jobs from devices that it did not give them.
    ConstrainsDevices(bool),
    /// Slurm keeps jobs of different labels off each other's nodes.
    KeepsLabelsApart(bool),
    /// Slurm says this of itself, of a node, or of a switch.
    SlurmSays { fact: SlurmFact, value: SmolStr },
    /// These nodes are kept for the job.
    Reserved { job: JobName, account: SmolStr, nodes: Vec<Name> },
    /// Slurm gave the job these GPUs of the node, by minor.
    Allocated { job: JobName, node: Name, minors: u64 },

    // Kubernetes.
    /// The namespace is this tenant's.
    Namespace { namespace: Name, tenant: TenantName },
    /// What no policy allows does not enter the namespace, or does not leave it.
    DeniesByDefault { namespace: Name, direction: Direction },
    /// Pods of the namespace may be reached from, or reach, these.
    Lets { namespace: Name, direction: Direction, peer: Peer },
    /// Pods of the job in the namespace may be reached from, or reach, others of the same job.
    LetsJob { namespace: Name, job: JobName, direction: Direction },
    /// What no policy of Calico allows is denied by the last one, past what Kubernetes' own allow.
    CalicoDenies { namespace: Name, direction: Direction },
    /// Calico's policies let pods of the namespace ask for names.
    CalicoResolves { namespace: Name },
    /// Calico's policies let pods of the job reach each other, or be reached.
    CalicoLetsJob { namespace: Name, job: JobName, direction: Direction },
    /// Pods of the namespace speak only mutually authenticated TLS; permissive is not.
    StrictTls { namespace: Name, strict: bool },
    /// Only callers from these namespaces are let in by the mesh. An empty list is nobody.
    MeshLets { namespace: Name, callers: Vec<Name> },
    /// The namespace may use so many GPUs of what is called so.
    GpuQuota { namespace: Name, of: SmolStr, gpus: u32 },
    /// The namespace may store so many bytes in this class.
    StorageQuota { namespace: Name, class: SmolStr, bytes: u64 },
    /// Containers of the namespace have bounds also when they ask for none.
    Bounded { namespace: Name },
    /// Pods of the namespace that could reach the host are refused, or not.
    Restricted { namespace: Name, restricted: bool },
    /// The rules for tenants whose jobs run so hold in the namespace.
    Governed { namespace: Name, runtime: Runtime },
    /// Pods of the namespace get the mesh's proxy.
    Meshed { namespace: Name },
    /// The policy refuses exactly what it shall refuse.
    Refuses { policy: SmolStr },
    /// The policy holds in exactly the namespaces where it shall hold.
    Enforced { policy: SmolStr },
    /// The role allows exactly what members of tenants may do.
    Allows { role: SmolStr },
    /// Members of the group have this role in the namespace; without one, everywhere.
    Role { namespace: Option<Name>, group: SmolStr, role: SmolStr },
    /// Volumes of the class are this tenant's.
    Volumes { class: SmolStr, tenant: TenantName },
    /// The claim of the job in the namespace asks for this GPU of the node, or was given it.
    Claimed { namespace: Name, job: JobName, node: Name, gpu: ClaimedGpu },
    /// The driver publishes this GPU of the node.
    Published { node: Name, minor: u16, pci: PciAddress },
    /// The node lets in pods of this namespace.
    Admits { node: Name, namespace: Name },
    /// The node keeps off whoever does not bear its taint with this value.
    Fenced { node: Name, value: SmolStr },
    /// The node carries this label.
    Label { node: Name, key: SmolStr, value: SmolStr },
    /// The tenant has a control plane of its own of this kind.
    ControlPlane { tenant: TenantName, namespace: Name, kind: SmolStr },
    /// The job runs in a virtual machine that Kubernetes starts for the namespace on the node.
    ClusterGuest { namespace: Name, job: JobName, node: Name, confidential: Option<Confidential> },
    /// The virtual machine that Kubernetes starts for the job on the node takes what a claim of it
    /// calls so.
    GuestTakes { job: JobName, node: Name, request: ClaimRequest },
}

/// What a PCI function is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Function {
    /// The GPU with this number.
    Gpu(u16),
    /// The interface with this number.
    Nic(u16),
    /// A virtual function of an interface.
    Vf {
        /// The interface.
        nic: u16,
        /// Which of its virtual functions, from 0.
        vf: u16,
    },
    /// Something else that stands in a group with one of those.
    Other,
}

/// What a device file leads to.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum DeviceFile {
    /// A GPU, by minor.
    Gpu(u16),
    /// The drivers' control devices and what every process opens: they give nothing by themselves.
    Control(SmolStr),
    /// A VFIO group.
    Group(u16),
    /// The verbs of the interface with this number.
    Verbs(u16),
    /// A memory channel.
    Channel(u16),
    /// A capability of a GPU's instance: the GPU by minor, and the first memory slot.
    Instance {
        /// The GPU.
        minor: u16,
        /// The slot.
        start: u8,
    },
    /// Whatever stands in this directory, or matches this pattern.
    Many(SmolStr),
    /// Management of an InfiniBand fabric: subnet manager, raw datagrams.
    Management(SmolStr),
    /// A file that leads somewhere nobody knows.
    Strange(SmolStr),
}

/// What Slurm's files name by a word of their own.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SlurmFact {
    /// The host of the controller.
    Controller,
    /// The host where accounts are kept.
    Accounts,
    /// The cluster, to which accounts belong.
    Cluster,
    /// Where the daemon of this node is reached.
    Address(Name),
    /// The GPUs of this node: their type, and how many.
    Gpus(Name),
    /// The type of this node's GPUs where their files are named.
    Product(Name),
    /// The switch that this switch hangs below.
    Above(Name),
}

/// Into a namespace or out of it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Direction {
    /// Into it.
    Ingress,
    /// Out of it.
    Egress,
}

/// Whom a network policy lets in or out.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Peer {
    /// Pods of this namespace.
    Namespace(Name),
    /// Names of services only: port 53 of the cluster's resolver.
    Resolver,
    /// Anybody.
    Anyone,
}

/// How a claim names a GPU.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum ClaimedGpu {
    /// What it asks for: the GPU at this address, of this class, and what the claim calls it.
    At { pci: PciAddress, class: GpuClass, request: ClaimRequest },
    /// What it was given: the GPU with this device file, by minor.
    Minor(u16),
}

/// A class of devices: by which driver a GPU is given, and whether to containers or to a machine.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum GpuClass {
    /// NVIDIA's, with a device file for containers.
    Nvidia,
    /// NVIDIA's, passed through to a virtual machine.
    NvidiaVfio,
    /// AMD's, to either.
    Amd,
}

impl GpuClass {
    /// Every class that there is.
    pub const ALL: [Self; 3] = [Self::Nvidia, Self::NvidiaVfio, Self::Amd];

    /// What Kubernetes calls it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nvidia => "gpu.nvidia.com",
            Self::NvidiaVfio => "vfio.gpu.nvidia.com",
            Self::Amd => "gpu.amd.com",
        }
    }
}

/// What a claim of a job on a node calls one of its GPUs. Several claims are counted from 0.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ClaimRequest {
    /// Which of the job's claims on the node.
    pub claim: u16,
    /// The number in the name, which is the minor of the GPU.
    pub minor: u16,
}

/// Who left something, and what had to be scrubbed then.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PastOwner {
    /// Who.
    pub by: JobName,
    /// What.
    pub owing: Vec<Memory>,
}

/// Whose traces are gone, and how anybody knows.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Cleaned {
    /// Whose.
    pub after: JobName,
    /// How.
    pub evidence: Evidence,
}

/// What somebody vouches for. Nobody here checks signatures: whoever is named did.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct AttestReport {
    /// What keeps the host out of the machine.
    pub technology: Confidential,
    /// What it was launched with.
    pub measurement: Measurement,
    /// Who vouches.
    pub by: Name,
    /// Since when, as that one says.
    pub at: SmolStr,
    /// How long ago that was when somebody looked.
    pub age_s: u64,
}
