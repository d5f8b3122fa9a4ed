//! What can be wrong on the layers besides the network, in words.

use std::fmt;

use model::{
    Confidential, DeviceId, Dialect, Fleet, Guid, JobName, Memory, Name, NodeId, PciAddress,
    Runtime, TenantName,
};
use read::Direction;
use smol_str::SmolStr;

use crate::finding::Said;

/// Two owners share a place that their grades do not let them share, or a job was given what is
/// not its own.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct LayerBreach {
    /// Where they meet.
    pub place: LayerPlace,
    /// Two that meet there.
    pub pair: (Member, Member),
    /// What crosses.
    pub strength: Strength,
    /// The lines that say so.
    pub said_by: Vec<Said>,
}

/// A job, or a tenant, that a layer must name and does not, or not with all that is its own.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct LayerSevered {
    /// The layer.
    pub layer: Dialect,
    /// Whom it forgets.
    pub owner: Owner,
    /// On which node, if it is about one.
    pub node: Option<NodeId>,
    /// What is lacking.
    pub lacks: Lack,
    /// The lines that are all there is about it.
    pub said_by: Vec<Said>,
}

/// Two layers name different things for the same job.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Disagree {
    /// The job.
    pub job: JobName,
    /// On which node, if it is about one.
    pub node: Option<NodeId>,
    /// What one layer names.
    pub first: View,
    /// What the other one names.
    pub second: View,
    /// The lines of both.
    pub said_by: Vec<Said>,
}

/// What one layer says a job has.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct View {
    /// The layer.
    pub layer: Dialect,
    /// What it names.
    pub names: Named,
}

/// Things that a layer names.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Named {
    /// GPUs of a node; bit `g` is module `g + 1`.
    Gpus(u64),
    /// Interfaces of a node.
    Nics(u64),
    /// GPUs of a node, by the numbers of their device files.
    Minors(u64),
    /// NVLink memory channels.
    Channels(Vec<u16>),
    /// Device files.
    Files(Vec<&'static str>),
    /// Nodes.
    Nodes(Vec<NodeId>),
}

/// What a layer does not say of somebody.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Lack {
    /// Anything.
    Everything,
    /// These of its things.
    Some(Named),
    /// Its GPUs or interfaces are named, and not joined with each other.
    Joint(Named),
}

/// One of two that meet.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Member {
    /// What it is.
    pub atom: Atom,
    /// Whose it is.
    pub owner: Owner,
}

/// Something that has an owner.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "the fields are what they are called")]
pub enum Atom {
    /// A node as a whole: its host kernel.
    Node(NodeId),
    /// A GPU, counted from 0.
    Gpu { node: NodeId, gpu: u16 },
    /// An interface.
    Nic { node: NodeId, nic: u16 },
    /// A virtual function of an interface.
    Vf { node: NodeId, nic: u16, vf: u16 },
    /// Another PCI function.
    Function { node: NodeId, pci: PciAddress },
    /// An IOMMU group.
    Group { node: NodeId, group: u16 },
    /// A port of an InfiniBand fabric that the fleet does not know.
    Port(Guid),
    /// A namespace.
    Namespace(Name),
    /// A class of volumes.
    Volumes(SmolStr),
    /// A control plane.
    ControlPlane(SmolStr),
    /// A group of the identity provider.
    People(SmolStr),
    /// An account of Slurm.
    Account(SmolStr),
}

/// Whose something is.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Owner {
    /// A job's.
    Job(JobName),
    /// A tenant's, and none of its jobs' in particular.
    Tenant(TenantName),
    /// Nobody's: it belongs in a quarantine of one.
    Nobody,
}

/// A place that joins what is in it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "the fields are what they are called")]
pub enum LayerPlace {
    /// An IOMMU group, or several that a bridge joins.
    IommuGroup { node: NodeId, group: u16 },
    /// An active NVLink partition of a board, or one of a domain of several nodes.
    Partition { device: DeviceId, partition: u16 },
    /// A memory channel of an NVLink domain.
    Channel { domain: Name, channel: u16 },
    /// An InfiniBand partition.
    Key { device: DeviceId, pkey: u16 },
    /// A GPU that several have a part of, or take turns on.
    Gpu { node: NodeId, gpu: u16 },
    /// One instance of a GPU.
    Instance { node: NodeId, gpu: u16, start: u8 },
    /// The kernel of a node.
    Host(NodeId),
    /// A partition of Slurm.
    Queue(SmolStr),
    /// A namespace.
    Namespace(Name),
    /// A class of volumes.
    Volumes(SmolStr),
    /// A role in a namespace.
    Role { namespace: Name, role: SmolStr },
    /// A memory in which another one left something.
    Memory { node: NodeId, memory: Memory },
    /// What a layer gave to a job.
    Given(Dialect),
}

/// What crosses where two meet.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Strength {
    /// Bytes.
    Data,
    /// Only how busy the other one is.
    Timing,
}

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
    /// Nobody says who had interfaces of a job before it.
    UnknownPast { job: JobName, nics: u64 },
}

impl LayerBreach {
    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let (first, second) = (self.pair.0.show(fleet), self.pair.1.show(fleet));
        let strength = self.strength;
        let remedy = self.place.remedy();
        match &self.place {
            LayerPlace::Given(layer) => {
                format!("{first} was given {second} by {layer}: {strength}; {remedy}")
            }
            place => {
                let place = place.show(fleet);
                format!("{first} meets {second} in {place}: {strength}; {remedy}")
            }
        }
    }
}

impl LayerSevered {
    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let at = here(self.node, fleet);
        let (layer, owner) = (self.layer, &self.owner);
        let remedy = "send the plan again";
        match &self.lacks {
            Lack::Everything => format!("{at}{layer} does not name {owner}; {remedy}"),
            Lack::Some(named) => {
                let lacks = named.show(fleet);
                format!("{at}{layer} does not give {owner} its {lacks}; {remedy}")
            }
            Lack::Joint(named) => {
                let parted = named.show(fleet);
                format!("{at}{layer} does not join {parted} of {owner} with each other; {remedy}")
            }
        }
    }
}

impl Disagree {
    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let at = here(self.node, fleet);
        let said = |view: &View| format!("{} names {}", view.layer, view.names.show(fleet));
        let (first, second) = (said(&self.first), said(&self.second));
        format!("{at}of {} {first} and {second}; send the plan again to both", self.job)
    }
}

fn here(node: Option<NodeId>, fleet: &Fleet) -> String {
    node.map_or_else(String::new, |node| format!("{}: ", fleet.nodes[node.index()].name))
}

impl Named {
    pub(super) fn show(&self, fleet: &Fleet) -> String {
        match self {
            Self::Gpus(mask) => numbered("GPU", bits(*mask).map(|gpu| gpu + 1)),
            Self::Nics(mask) => numbered("interface", bits(*mask)),
            Self::Minors(mask) => numbered("GPU device", bits(*mask)),
            Self::Files(files) => numbered("file", files.iter().copied()),
            Self::Channels(channels) => numbered("channel", channels.iter().copied()),
            Self::Nodes(nodes) => {
                let names: Vec<&str> =
                    nodes.iter().map(|node| fleet.nodes[node.index()].name.as_str()).collect();
                match names.as_slice() {
                    [] => "no node".into(),
                    [one] => format!("node {one}"),
                    many => format!("nodes {}", many.join(", ")),
                }
            }
        }
    }
}

/// The positions of the bits that are set.
pub(crate) fn bits(mask: u64) -> impl Iterator<Item = u16> + Clone {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

/// `GPU 1`, `GPUs 1, 3`, `no GPU`.
fn numbered(what: &str, numbers: impl Iterator<Item: ToString>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    match numbers.as_slice() {
        [] => format!("no {what}"),
        [one] => format!("{what} {one}"),
        many => format!("{what}s {}", many.join(", ")),
    }
}

impl Member {
    fn show(&self, fleet: &Fleet) -> String {
        let atom = self.atom.show(fleet);
        match &self.owner {
            Owner::Nobody => format!("{atom} (nobody's)"),
            owner => format!("{atom} ({owner})"),
        }
    }
}

impl Atom {
    fn show(&self, fleet: &Fleet) -> String {
        let on = |node: &NodeId| &fleet.nodes[node.index()].name;
        match self {
            Self::Node(node) => on(node).to_string(),
            Self::Gpu { node, gpu } => format!("{} GPU {}", on(node), gpu + 1),
            Self::Nic { node, nic } => format!("{} interface {nic}", on(node)),
            Self::Vf { node, nic, vf } => format!("{} interface {nic} VF {vf}", on(node)),
            Self::Function { node, pci } => format!("{} function {pci}", on(node)),
            Self::Group { node, group } => format!("{} IOMMU group {group}", on(node)),
            Self::Port(guid) => format!("port {guid}"),
            Self::Namespace(namespace) => format!("namespace {namespace}"),
            Self::Volumes(class) => format!("volumes of class {class}"),
            Self::ControlPlane(kind) => format!("control plane {kind}"),
            Self::People(group) => format!("group {group}"),
            Self::Account(account) => format!("account {account}"),
        }
    }
}

impl LayerPlace {
    /// The place in words, with the fleet's names.
    #[must_use]
    pub fn show(&self, fleet: &Fleet) -> String {
        let on = |node: &NodeId| &fleet.nodes[node.index()].name;
        match self {
            Self::IommuGroup { node, group } => format!("IOMMU group {group} of {}", on(node)),
            Self::Partition { device, partition } => {
                format!("NVLink partition {partition} of {}", fleet.device_name(*device))
            }
            Self::Channel { domain, channel } => {
                format!("NVLink memory channel {channel} of {domain}")
            }
            Self::Key { device, pkey } => {
                format!("InfiniBand partition {pkey:#06x} of {}", fleet.device_name(*device))
            }
            Self::Gpu { node, gpu } => format!("GPU {} of {}", gpu + 1, on(node)),
            Self::Instance { node, gpu, start } => {
                format!("the instance at slot {start} of GPU {} of {}", gpu + 1, on(node))
            }
            Self::Host(node) => format!("the host kernel of {}", on(node)),
            Self::Queue(partition) => format!("Slurm partition {partition}"),
            Self::Namespace(namespace) => format!("namespace {namespace}"),
            Self::Volumes(class) => format!("volume class {class}"),
            Self::Role { namespace, role } => format!("role {role} of namespace {namespace}"),
            Self::Memory { node, memory } => {
                format!("the {memory} of {}, which was not scrubbed in between", on(node))
            }
            Self::Given(layer) => format!("what {layer} gives"),
        }
    }

    /// What to do about two owners in it.
    const fn remedy(&self) -> &'static str {
        match self {
            Self::IommuGroup { .. } => "give the whole group to one of them, or switch ACS on",
            Self::Partition { .. } => "deactivate it and activate one for each",
            Self::Channel { .. } => "give each job a channel of its own",
            Self::Key { .. } => "take one of them out of it",
            Self::Gpu { .. } => "give the GPU to one of them, or cut it for grades that allow it",
            Self::Instance { .. } => "give each an instance of its own",
            Self::Host(_) => "move one of them to another node",
            Self::Queue(_) => "take the node or the account out of it",
            Self::Namespace(_) => "give each tenant a namespace of its own",
            Self::Volumes(_) => "give each tenant a class of its own",
            Self::Role { .. } => "bind the role to groups of the namespace's tenant only",
            Self::Memory { .. } => {
                "take it away from the job, scrub it and write the evidence down"
            }
            Self::Given(_) => "take it away from the job",
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job) => write!(f, "{job}"),
            Self::Tenant(tenant) => write!(f, "{tenant}"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "data can cross",
            Self::Timing => "timing can be seen",
        })
    }
}

impl LayerWeakness {
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Leftover { .. } => "leftover",
            Self::LeftoverPartition { .. } => "leftover-partition",
            Self::LeftoverKey { .. } => "leftover-key",
            Self::DoublePartition { .. } => "double-partition",
            Self::DefaultChannel { .. } => "default-channel",
            Self::LeftoverCut { .. } => "leftover-cut",
            Self::UnknownPartition { .. } => "unknown-partition",
            Self::BadInstance { .. } => "bad-instance",
            Self::NobodysDriver { .. } => "nobodys-driver",
            Self::WrongRuntime { .. } => "wrong-runtime",
            Self::NotConfidential { .. } => "not-confidential",
            Self::FarMemory { .. } => "far-memory",
            Self::LooseMemory { .. } => "loose-memory",
            Self::UnviableGroup { .. } => "unviable-group",
            Self::OpenKey { .. } => "open-key",
            Self::OpenDevices { .. } => "open-devices",
            Self::Unconstrained => "unconstrained",
            Self::Unlabelled => "unlabelled",
            Self::OpenQueue { .. } => "open-queue",
            Self::StrangeAccount { .. } => "strange-account",
            Self::AcrossPods { .. } => "across-pods",
            Self::StrangeNode { .. } => "strange-node",
            Self::NobodysNamespace { .. } => "nobodys-namespace",
            Self::OpenNamespace { .. } => "open-namespace",
            Self::LetsAnyone { .. } => "lets-anyone",
            Self::ShutNamespace { .. } => "shut-namespace",
            Self::WrongQuota { .. } => "wrong-quota",
            Self::NobodysVolumes { .. } => "nobodys-volumes",
            Self::NoRole { .. } => "no-role",
            Self::PermissiveTls { .. } => "permissive-tls",
            Self::OpenMesh { .. } => "open-mesh",
            Self::NoQuota { .. } => "no-quota",
            Self::Unbounded { .. } => "unbounded",
            Self::Unrestricted { .. } => "unrestricted",
            Self::WideRole { .. } => "wide-role",
            Self::Drift { .. } => "drift",
            Self::MissingFunction { .. } => "missing-function",
            Self::OldVersion { .. } => "old-version",
            Self::InsecureBoot { .. } => "insecure-boot",
            Self::UnknownPast { .. } => "unknown-past",
        }
    }
}

impl fmt::Display for LayerWeakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leftover { layer, job } => {
                write!(f, "{layer} still names {job}, which has nothing here; take the line away")
            }
            Self::LeftoverPartition { partition } => {
                write!(f, "NVLink partition {partition} joins GPUs that nobody owns; deactivate it")
            }
            Self::LeftoverKey { pkey } => write!(
                f,
                "InfiniBand partition {pkey:#06x} joins ports that nobody owns; take them out of it"
            ),
            Self::DoublePartition { first, second } => write!(
                f,
                "NVLink partitions {first} and {second} are both active and have GPUs in common; \
                 deactivate the one that nobody planned"
            ),
            Self::DefaultChannel { job } => write!(
                f,
                "{job} has memory channel 0, which is everybody's who chose none; give it one of \
                 its own"
            ),
            Self::LeftoverCut { gpu } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} is cut, and nobody asked for a part of it; make it whole")
            }
            Self::UnknownPartition { partition } => write!(
                f,
                "NVLink partition {partition} is active, and the board does not say which GPUs \
                 it joins; deactivate it"
            ),
            Self::BadInstance { gpu, profile, start } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} cannot have the instance {profile} at slot {start}")
            }
            Self::NobodysDriver { gpu, driver } => {
                let gpu = gpu + 1;
                write!(f, "GPU {gpu} is nobody's and driven by {driver}; unbind it")
            }
            Self::WrongRuntime { job, planned: Runtime::Vm } => {
                write!(f, "{job} shares the host's kernel; it must run in a virtual machine")
            }
            Self::WrongRuntime { job, planned: Runtime::Container } => {
                write!(f, "{job} has a virtual machine; it must run in containers")
            }
            Self::NotConfidential { job, held, planned } => {
                let word = |kind: &Option<Confidential>| {
                    kind.map_or_else(|| "nothing".to_owned(), |kind| kind.to_string())
                };
                let (held, planned) = (word(held), word(planned));
                write!(f, "the machine of {job} is launched with {held}; it asks for {planned}")
            }
            Self::FarMemory { job, numa } => write!(
                f,
                "the machine of {job} has its memory on NUMA node {numa}, where none of its GPUs is"
            ),
            Self::LooseMemory { job, numa } => write!(
                f,
                "the machine of {job} is not bound to NUMA node {numa}, where GPUs of it are; \
                 bind its memory there"
            ),
            Self::UnviableGroup { group, pci } => write!(
                f,
                "IOMMU group {group} is given to a virtual machine while the host has function \
                 {pci} of it; unbind that one too"
            ),
            Self::OpenKey { pkey } => write!(
                f,
                "everybody can reach the full members of InfiniBand partition {pkey:#06x}; make \
                 them limited"
            ),
            Self::OpenDevices { job, file, why } => {
                write!(f, "{job} may open {file}, {why}; name the files that it needs")
            }
            Self::Unconstrained => f.write_str(
                "Slurm does not keep jobs from devices that it did not give them; set \
                 ConstrainDevices=yes",
            ),
            Self::Unlabelled => f.write_str(
                "Slurm does not keep jobs of different accounts off each other's nodes; set \
                 MCSPlugin=mcs/account",
            ),
            Self::OpenQueue { partition } => {
                write!(f, "every account may run in Slurm partition {partition}; name its accounts")
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
                     fabric joins; place it in one"
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
                write!(f, "what no policy allows still {does} namespace {namespace}; deny it")
            }
            Self::LetsAnyone { namespace, direction } => {
                let does = passes(*direction);
                write!(f, "a policy lets pass whatever {does} namespace {namespace}")
            }
            Self::ShutNamespace { namespace, way } => {
                write!(f, "pods of {namespace} cannot {way}; let them")
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
                write!(f, "pods of {namespace} may speak without mutual TLS; make it strict")
            }
            Self::OpenMesh { namespace } => {
                write!(f, "the mesh lets anybody call {namespace}; name who may")
            }
            Self::NoQuota { namespace, of } => {
                write!(f, "namespace {namespace} has no quota of {of}")
            }
            Self::Unbounded { namespace } => {
                write!(f, "containers of {namespace} have no bounds by default")
            }
            Self::Unrestricted { namespace } => {
                write!(f, "pods of {namespace} may reach the host; restrict them")
            }
            Self::WideRole { group, role } => {
                write!(f, "group {group} has role {role} in all namespaces; bind it to one")
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
            Self::UnknownPast { job, nics } => {
                let nics = numbered("interface", bits(*nics));
                write!(f, "nobody says who had {nics} of {job} last; tell it from the log")
            }
        }
    }
}

const fn passes(direction: Direction) -> &'static str {
    match direction {
        Direction::Ingress => "enters",
        Direction::Egress => "leaves",
    }
}
