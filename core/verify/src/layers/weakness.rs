//! Which fences of a layer can be down, in words.

use std::fmt;

use model::{Confidential, Dialect, JobName, Measurement, Name, PciAddress, Runtime, TenantName};
use read::Direction;
use smol_str::SmolStr;

use super::finding::{Owner, bits, numbered};
use crate::code::Code;

/// Which fence of a layer is down.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum LayerWeakness {
    /// A line names a job that has nothing on this node, or at all.
    Leftover { layer: Dialect, job: JobName },
    /// A partition of GPUs that nobody owns is active.
    LeftoverPartition { partition: u16 },
    /// An InfiniBand partition has only ports that nobody owns.
    LeftoverKey { pkey: u16 },
    /// Two active partitions of a board have a GPU in common.
    DoublePartition { first: u16, second: u16 },
    /// A job has the memory channel that software takes when nobody chose one.
    DefaultChannel { job: JobName },
    /// A GPU is cut, and none of its owners asked for a part.
    LeftoverCut { gpu: u16 },
    /// A partition is active that the board does not know.
    UnknownPartition { partition: u16 },
    /// An instance that the product does not have, or that lies on another one.
    BadInstance { gpu: u16, profile: SmolStr, start: u8 },
    /// A GPU that nobody owns has a driver.
    NobodysDriver { gpu: u16, driver: SmolStr },
    /// A job runs in something else than its tenant's jobs run in.
    WrongRuntime { job: JobName, planned: Runtime },
    /// A virtual machine that is not confidential as its tenant asks.
    NotConfidential { job: JobName, held: Option<Confidential>, planned: Option<Confidential> },
    /// The memory of a virtual machine is on a NUMA node where none of its GPUs is.
    FarMemory { job: JobName, numa: u16 },
    /// The memory of a virtual machine is not on a NUMA node where GPUs of it are.
    LooseMemory { job: JobName, numa: u16 },
    /// A group is given to virtual machines while the host drives one of its functions.
    UnviableGroup { group: u16, pci: PciAddress },
    /// Whoever has a port is in this InfiniBand partition.
    OpenKey { pkey: u16 },
    /// A job may open something that is more than its own.
    OpenDevices { job: JobName, file: SmolStr, why: &'static str },
    /// Slurm does not keep jobs from devices that it did not give them.
    Unconstrained,
    /// Slurm does not keep the jobs of different tenants off each other's nodes.
    Unlabelled,
    /// Everybody may run in this partition of Slurm.
    OpenQueue { partition: SmolStr },
    /// An account is let into a partition of Slurm that is no tenant's.
    StrangeAccount { partition: SmolStr, account: SmolStr },
    /// A scheduler has a job in pods where none of its nodes is: no fabric joins it with them.
    AcrossPods { job: JobName, strays: Vec<SmolStr>, own: Vec<Name> },
    /// A manager speaks of a node that the fleet does not have.
    StrangeNode { node: Name },
    /// A namespace that is no tenant's has something of a tenant.
    NobodysNamespace { namespace: Name },
    /// What no policy allows still enters or leaves the namespace.
    OpenNamespace { namespace: Name, direction: Direction },
    /// A policy lets anybody in or out.
    LetsAnyone { namespace: Name, direction: Direction },
    /// Pods of the namespace are kept from what is their own.
    ShutNamespace { namespace: Name, way: &'static str },
    /// Pods of the namespace may speak without mutual TLS.
    PermissiveTls { namespace: Name },
    /// The mesh lets anybody call the namespace.
    OpenMesh { namespace: Name },
    /// The namespace may use as many GPUs as there are, or store without end.
    NoQuota { namespace: Name, of: &'static str },
    /// The namespace may use or store more or less than its tenant has.
    WrongQuota { namespace: Name, of: &'static str, held: u64, planned: u64 },
    /// A namespace may store in a class that is no tenant's.
    NobodysVolumes { class: SmolStr },
    /// People of the tenant can do nothing in its namespace.
    NoRole { namespace: Name, group: SmolStr },
    /// Containers of the namespace have no bounds by default.
    Unbounded { namespace: Name },
    /// Pods of the namespace may reach the host.
    Unrestricted { namespace: Name },
    /// A rule for members of tenants, or a role of theirs, is not there as it is planned.
    Unruled { what: String },
    /// The rules that hold in the namespace are not those for what its tenant's jobs run in.
    Ungoverned { namespace: Name, planned: Runtime },
    /// Pods of the namespace get no proxy of the mesh.
    Unmeshed { namespace: Name },
    /// A node lets in pods of others, or keeps off those of its own.
    WrongFence { node: Name, what: &'static str, held: String, planned: String },
    /// People of a tenant have another role than members have, or one in a namespace of others.
    WrongRole { namespace: Name, group: SmolStr, role: SmolStr },
    /// Pods of different jobs of the namespace reach each other.
    JobsMeet { namespace: Name, direction: Direction },
    /// Pods of the job are kept from each other.
    ShutJob { job: JobName, direction: Direction },
    /// A role that holds in all namespaces.
    WideRole { group: SmolStr, role: SmolStr },
    /// A statement about the node contradicts the fleet.
    Drift { what: String, held: String, planned: String },
    /// Nothing is said of a function that the fleet has.
    MissingFunction { what: String, planned: PciAddress },
    /// A node's software is older than a tenant on it accepts.
    OldVersion { tenant: TenantName, component: SmolStr, needs: SmolStr, has: SmolStr },
    /// A tenant on the node demands secure boot.
    InsecureBoot { tenant: TenantName },
    /// Nobody vouches for a confidential machine whose tenant wants that.
    Unattested { job: JobName },
    /// The youngest report about a machine is older than its tenant accepts.
    OldReport { job: JobName, age_s: u64, max_age_s: u32 },
    /// A machine was launched with something else than its tenant expects.
    WrongMeasurement { job: JobName, held: Box<Measurement>, planned: Box<Measurement> },
    /// A report is of another technology than the tenant asks for.
    WrongTechnology { job: JobName, held: Confidential, planned: Option<Confidential> },
    /// A report is about a machine that is not on the node that holds it.
    StrayReport { job: JobName, node: Name },
    /// Nobody says who had interfaces of a job before it.
    UnknownPast { job: JobName, nics: u64 },
    /// Lines say otherwise than the log who had interfaces of a job before it, or what was scrubbed.
    OtherPast { job: JobName, nics: u64 },
}

impl LayerWeakness {
    pub(crate) const fn code(&self) -> Code {
        match self {
            Self::Leftover { .. } => Code::Leftover,
            Self::LeftoverPartition { .. } => Code::LeftoverPartition,
            Self::LeftoverKey { .. } => Code::LeftoverKey,
            Self::DoublePartition { .. } => Code::DoublePartition,
            Self::DefaultChannel { .. } => Code::DefaultChannel,
            Self::LeftoverCut { .. } => Code::LeftoverCut,
            Self::UnknownPartition { .. } => Code::UnknownPartition,
            Self::BadInstance { .. } => Code::BadInstance,
            Self::NobodysDriver { .. } => Code::NobodysDriver,
            Self::WrongRuntime { .. } => Code::WrongRuntime,
            Self::NotConfidential { .. } => Code::NotConfidential,
            Self::FarMemory { .. } => Code::FarMemory,
            Self::LooseMemory { .. } => Code::LooseMemory,
            Self::UnviableGroup { .. } => Code::UnviableGroup,
            Self::OpenKey { .. } => Code::OpenKey,
            Self::OpenDevices { .. } => Code::OpenDevices,
            Self::Unconstrained => Code::Unconstrained,
            Self::Unlabelled => Code::Unlabelled,
            Self::OpenQueue { .. } => Code::OpenQueue,
            Self::StrangeAccount { .. } => Code::StrangeAccount,
            Self::AcrossPods { .. } => Code::AcrossPods,
            Self::StrangeNode { .. } => Code::StrangeNode,
            Self::NobodysNamespace { .. } => Code::NobodysNamespace,
            Self::OpenNamespace { .. } => Code::OpenNamespace,
            Self::LetsAnyone { .. } => Code::LetsAnyone,
            Self::ShutNamespace { .. } => Code::ShutNamespace,
            Self::WrongQuota { .. } => Code::WrongQuota,
            Self::NobodysVolumes { .. } => Code::NobodysVolumes,
            Self::NoRole { .. } => Code::NoRole,
            Self::PermissiveTls { .. } => Code::PermissiveTls,
            Self::OpenMesh { .. } => Code::OpenMesh,
            Self::NoQuota { .. } => Code::NoQuota,
            Self::Unbounded { .. } => Code::Unbounded,
            Self::Unrestricted { .. } => Code::Unrestricted,
            Self::Unruled { .. } => Code::Unruled,
            Self::Ungoverned { .. } => Code::Ungoverned,
            Self::Unmeshed { .. } => Code::Unmeshed,
            Self::WrongFence { .. } => Code::WrongFence,
            Self::WrongRole { .. } => Code::WrongRole,
            Self::JobsMeet { .. } => Code::JobsMeet,
            Self::ShutJob { .. } => Code::ShutJob,
            Self::WideRole { .. } => Code::WideRole,
            Self::Drift { .. } => Code::Drift,
            Self::MissingFunction { .. } => Code::MissingFunction,
            Self::OldVersion { .. } => Code::OldVersion,
            Self::InsecureBoot { .. } => Code::InsecureBoot,
            Self::Unattested { .. } => Code::Unattested,
            Self::OldReport { .. } => Code::OldReport,
            Self::WrongMeasurement { .. } => Code::WrongMeasurement,
            Self::WrongTechnology { .. } => Code::WrongTechnology,
            Self::StrayReport { .. } => Code::StrayReport,
            Self::UnknownPast { .. } => Code::UnknownPast,
            Self::OtherPast { .. } => Code::OtherPast,
        }
    }

    /// What it is about, on its device.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Leftover { layer, .. } => layer.to_string(),
            Self::LeftoverPartition { partition } | Self::UnknownPartition { partition } => {
                format!("NVLink partition {partition}")
            }
            Self::DoublePartition { first, second } => {
                format!("NVLink partitions {first} and {second}")
            }
            Self::LeftoverKey { pkey } | Self::OpenKey { pkey } => {
                format!("InfiniBand partition {pkey:#06x}")
            }
            Self::LeftoverCut { gpu } | Self::NobodysDriver { gpu, .. } => {
                format!("GPU {}", gpu + 1)
            }
            Self::BadInstance { gpu, profile, start } => {
                format!("instance {profile} at slot {start} of GPU {}", gpu + 1)
            }
            Self::FarMemory { numa, .. } | Self::LooseMemory { numa, .. } => {
                format!("NUMA node {numa}")
            }
            Self::UnviableGroup { group, pci } => format!("function {pci} of IOMMU group {group}"),
            Self::OpenDevices { file, .. } => file.to_string(),
            Self::OpenQueue { partition } => format!("Slurm partition {partition}"),
            Self::StrangeAccount { partition, account } => {
                format!("account {account} of Slurm partition {partition}")
            }
            Self::StrangeNode { node } | Self::StrayReport { node, .. } => format!("node {node}"),
            Self::OpenNamespace { namespace, direction }
            | Self::LetsAnyone { namespace, direction }
            | Self::JobsMeet { namespace, direction } => {
                format!("what {} namespace {namespace}", passes(*direction))
            }
            Self::ShutNamespace { namespace, way: of }
            | Self::NoQuota { namespace, of }
            | Self::WrongQuota { namespace, of, .. } => format!("{of} of namespace {namespace}"),
            Self::NobodysNamespace { namespace }
            | Self::Ungoverned { namespace, .. }
            | Self::Unmeshed { namespace }
            | Self::PermissiveTls { namespace }
            | Self::OpenMesh { namespace }
            | Self::Unbounded { namespace }
            | Self::Unrestricted { namespace } => format!("namespace {namespace}"),
            Self::Unruled { what } => what.clone(),
            Self::WrongFence { node, what, .. } => format!("the {what} of node {node}"),
            Self::WrongRole { namespace, group, role } => {
                format!("role {role} of group {group} in namespace {namespace}")
            }
            Self::ShutJob { direction: Direction::Ingress, .. } => {
                "be reached by each other".into()
            }
            Self::ShutJob { direction: Direction::Egress, .. } => "reach each other".into(),
            Self::NoRole { namespace, group } => format!("group {group} in namespace {namespace}"),
            Self::NobodysVolumes { class } => format!("volume class {class}"),
            Self::WideRole { group, role } => format!("role {role} of group {group}"),
            Self::Drift { what, .. } | Self::MissingFunction { what, .. } => what.clone(),
            Self::OldVersion { component, .. } => component.to_string(),
            Self::UnknownPast { nics, .. } | Self::OtherPast { nics, .. } => {
                numbered("interface", bits(*nics))
            }
            Self::DefaultChannel { .. }
            | Self::WrongRuntime { .. }
            | Self::NotConfidential { .. }
            | Self::Unconstrained
            | Self::Unlabelled
            | Self::AcrossPods { .. }
            | Self::InsecureBoot { .. }
            | Self::Unattested { .. }
            | Self::OldReport { .. }
            | Self::WrongMeasurement { .. }
            | Self::WrongTechnology { .. } => String::new(),
        }
    }

    /// Whom it is about, if it is about one.
    pub(crate) fn owner(&self) -> Option<Owner> {
        match self {
            Self::Leftover { job, .. }
            | Self::DefaultChannel { job }
            | Self::WrongRuntime { job, .. }
            | Self::NotConfidential { job, .. }
            | Self::FarMemory { job, .. }
            | Self::LooseMemory { job, .. }
            | Self::OpenDevices { job, .. }
            | Self::AcrossPods { job, .. }
            | Self::Unattested { job }
            | Self::OldReport { job, .. }
            | Self::WrongMeasurement { job, .. }
            | Self::WrongTechnology { job, .. }
            | Self::StrayReport { job, .. }
            | Self::ShutJob { job, .. }
            | Self::UnknownPast { job, .. }
            | Self::OtherPast { job, .. } => Some(Owner::Job(job.clone())),
            Self::OldVersion { tenant, .. } | Self::InsecureBoot { tenant } => {
                Some(Owner::Tenant(tenant.clone()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for LayerWeakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leftover { layer, job } => {
                write!(f, "{layer} still names {job}, which has nothing here")
            }
            Self::LeftoverPartition { partition } => {
                write!(f, "NVLink partition {partition} joins GPUs that nobody owns")
            }
            Self::LeftoverKey { pkey } => {
                write!(f, "InfiniBand partition {pkey:#06x} joins ports that nobody owns")
            }
            Self::DoublePartition { first, second } => write!(
                f,
                "NVLink partitions {first} and {second} are both active and have GPUs in common"
            ),
            Self::DefaultChannel { job } => {
                write!(f, "{job} has memory channel 0, which is everybody's who chose none")
            }
            Self::LeftoverCut { gpu } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} is cut, and nobody asked for a part of it")
            }
            Self::UnknownPartition { partition } => write!(
                f,
                "NVLink partition {partition} is active, and the board does not say which GPUs \
                 it joins"
            ),
            Self::BadInstance { gpu, profile, start } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} cannot have the instance {profile} at slot {start}")
            }
            Self::NobodysDriver { gpu, driver } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} is nobody's and driven by {driver}")
            }
            Self::WrongRuntime { job, planned: Runtime::Vm } => {
                write!(f, "{job} shares the host's kernel; it must run in a virtual machine")
            }
            Self::WrongRuntime { job, planned: Runtime::Container } => {
                write!(f, "{job} has a virtual machine; it must run in containers")
            }
            Self::NotConfidential { job, held, planned } => {
                let (held, planned) = (word(*held), word(*planned));
                write!(f, "the machine of {job} is launched with {held}; it asks for {planned}")
            }
            Self::FarMemory { job, numa } => write!(
                f,
                "the machine of {job} has its memory on NUMA node {numa}, where none of its GPUs is"
            ),
            Self::LooseMemory { job, numa } => write!(
                f,
                "the machine of {job} is not bound to NUMA node {numa}, where GPUs of it are"
            ),
            Self::UnviableGroup { group, pci } => write!(
                f,
                "IOMMU group {group} is given to a virtual machine while the host has function \
                 {pci} of it"
            ),
            Self::OpenKey { pkey } => write!(
                f,
                "everybody can reach the full members of InfiniBand partition {pkey:#06x}"
            ),
            Self::OpenDevices { job, file, why } => {
                write!(f, "{job} may open {file}, {why}")
            }
            Self::Unconstrained => {
                f.write_str("Slurm does not keep jobs from devices that it did not give them")
            }
            Self::Unlabelled => {
                f.write_str("Slurm does not keep jobs of different accounts off each other's nodes")
            }
            Self::OpenQueue { partition } => {
                write!(f, "every account may run in Slurm partition {partition}")
            }
            Self::StrangeAccount { partition, account } => write!(
                f,
                "Slurm partition {partition} lets in account {account}, which is no tenant's"
            ),
            Self::AcrossPods { job, strays, own } => {
                let own: Vec<&str> = own.iter().map(Name::as_str).collect();
                let (strays, own) = (strays.join(", "), own.join(", "));
                write!(
                    f,
                    "{job} is in pod {own}, and is also placed in pod {strays}, which another \
                     fabric joins"
                )
            }
            Self::StrangeNode { node } => {
                write!(f, "it speaks of node {node}, which the fleet does not have")
            }
            Self::NobodysNamespace { namespace } => {
                write!(f, "namespace {namespace} is no tenant's and has something of one")
            }
            Self::OpenNamespace { namespace, direction } => {
                let does = passes(*direction);
                write!(f, "what no policy allows still {does} namespace {namespace}")
            }
            Self::LetsAnyone { namespace, direction } => {
                let does = passes(*direction);
                write!(f, "a policy lets pass whatever {does} namespace {namespace}")
            }
            Self::ShutNamespace { namespace, way } => {
                write!(f, "pods of {namespace} cannot {way}")
            }
            Self::WrongQuota { namespace, of, held, planned } => write!(
                f,
                "the quota of {namespace} is {held} {of}; what its tenant has allows {planned}"
            ),
            Self::NobodysVolumes { class } => {
                write!(f, "volumes of class {class} may be asked for, and are no tenant's")
            }
            Self::NoRole { namespace, group } => {
                write!(f, "members of {group} have no role in their namespace {namespace}")
            }
            Self::PermissiveTls { namespace } => {
                write!(f, "pods of {namespace} may speak without mutual TLS")
            }
            Self::OpenMesh { namespace } => {
                write!(f, "the mesh lets anybody call {namespace}")
            }
            Self::NoQuota { namespace, of } => {
                write!(f, "namespace {namespace} has no quota of {of}")
            }
            Self::Unbounded { namespace } => {
                write!(f, "containers of {namespace} have no bounds by default")
            }
            Self::Unrestricted { namespace } => {
                write!(f, "pods of {namespace} may reach the host")
            }
            Self::Unruled { what } => {
                write!(f, "{what} is not there as it is planned, so nobody knows what it refuses")
            }
            Self::Ungoverned { namespace, planned } => write!(
                f,
                "namespace {namespace} is not under the rules for jobs that run in {}",
                runtime_words(*planned)
            ),
            Self::Unmeshed { namespace } => {
                write!(f, "pods of {namespace} get no proxy of the mesh")
            }
            Self::WrongFence { node, what, held, planned } => write!(
                f,
                "the {what} by which {node} tells pods apart is {held}; what its owners have \
                 makes it {planned}"
            ),
            Self::WrongRole { namespace, group, role } => write!(
                f,
                "group {group} of a tenant has role {role} in {namespace}, which is none of the \
                 roles planned there"
            ),
            Self::JobsMeet { namespace, direction } => {
                let does = passes(*direction);
                write!(f, "a policy lets what {does} pods of one job of {namespace} pass to others")
            }
            Self::ShutJob { job, .. } => write!(f, "pods of {job} cannot {}", self.place()),
            Self::WideRole { group, role } => {
                write!(f, "group {group} has role {role} in all namespaces")
            }
            Self::Drift { what, held, planned } => {
                write!(f, "{what} is {held}; the fleet says {planned}")
            }
            Self::MissingFunction { what, planned } => {
                write!(f, "nothing is known of {what}, which the fleet has at {planned}")
            }
            Self::OldVersion { tenant, component, needs, has } => {
                write!(f, "{component} is {has}; {tenant}, which is here, needs {needs}")
            }
            Self::InsecureBoot { tenant } => {
                write!(f, "it did not boot securely, which {tenant} on it demands")
            }
            Self::Unattested { job } => {
                write!(f, "no report vouches for the machine of {job}, whose tenant demands one")
            }
            Self::OldReport { job, age_s, max_age_s } => write!(
                f,
                "the youngest report about the machine of {job} is {age_s} s old; its tenant \
                 accepts {max_age_s} s"
            ),
            Self::WrongMeasurement { job, held, planned } => write!(
                f,
                "the machine of {job} was launched as {held}; its tenant expects {planned}"
            ),
            Self::WrongTechnology { job, held, planned } => {
                let planned = word(*planned);
                write!(
                    f,
                    "a report about the machine of {job} is of {held}; its tenant asks for \
                     {planned}"
                )
            }
            Self::StrayReport { job, node } => {
                write!(f, "a report is about a machine of {job} on {node}, which is not here")
            }
            Self::UnknownPast { job, nics } => {
                let nics = numbered("interface", bits(*nics));
                write!(f, "nobody says who had {nics} of {job} last")
            }
            Self::OtherPast { job, nics } => {
                let nics = numbered("interface", bits(*nics));
                write!(
                    f,
                    "what was left behind {nics} of {job}, and what was scrubbed, is another thing \
                     in the log"
                )
            }
        }
    }
}

fn word(kind: Option<Confidential>) -> String {
    kind.map_or_else(|| "nothing".to_owned(), |kind| kind.to_string())
}

const fn runtime_words(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Container => "containers",
        Runtime::Vm => "virtual machines",
    }
}

const fn passes(direction: Direction) -> &'static str {
    match direction {
        Direction::Ingress => "enters",
        Direction::Egress => "leaves",
    }
}
