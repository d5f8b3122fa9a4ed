//! What can be wrong on the layers besides the network, in words.

use std::fmt;

use model::{
    DeviceId, Dialect, Fleet, Guid, JobName, Memory, Name, NodeId, PciAddress, TenantName,
};
use smol_str::SmolStr;

use crate::finding::Party;

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

impl LayerBreach {
    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let (first, second) = (self.pair.0.show(fleet), self.pair.1.show(fleet));
        let strength = self.strength;
        match &self.place {
            LayerPlace::Given(layer) => {
                format!("{first} was given {second} by {layer}: {strength}")
            }
            place => {
                let place = place.show(fleet);
                format!("{first} meets {second} in {place}: {strength}")
            }
        }
    }
}

impl LayerSevered {
    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let at = here(self.node, fleet);
        let (layer, owner) = (self.layer, &self.owner);
        match &self.lacks {
            Lack::Everything => format!("{at}{layer} does not name {owner}"),
            Lack::Some(named) => {
                let lacks = named.show(fleet);
                format!("{at}{layer} does not give {owner} its {lacks}")
            }
            Lack::Joint(named) => {
                let parted = named.show(fleet);
                format!("{at}{layer} does not join {parted} of {owner} with each other")
            }
        }
    }
}

impl LayerSevered {
    /// What would have to be said.
    pub(crate) fn lacking(&self, fleet: &Fleet) -> String {
        let owner = &self.owner;
        match &self.lacks {
            Lack::Everything => owner.to_string(),
            Lack::Some(named) => format!("{} of {owner}", named.show(fleet)),
            Lack::Joint(named) => format!("{} of {owner} together", named.show(fleet)),
        }
    }

    pub(crate) fn place(&self, fleet: &Fleet) -> String {
        let what = match &self.lacks {
            Lack::Everything => self.layer.to_string(),
            Lack::Some(named) | Lack::Joint(named) => named.show(fleet),
        };
        format!("{}{what}", here(self.node, fleet))
    }
}

impl Disagree {
    pub(crate) fn place(&self, fleet: &Fleet) -> String {
        format!("{}{} and {}", here(self.node, fleet), self.first.layer, self.second.layer)
    }

    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        let at = here(self.node, fleet);
        let said = |view: &View| format!("{} names {}", view.layer, view.names.show(fleet));
        let (first, second) = (said(&self.first), said(&self.second));
        format!("{at}of {} {first} and {second}", self.job)
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
pub(super) fn numbered(what: &str, numbers: impl Iterator<Item: ToString>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    match numbers.as_slice() {
        [] => format!("no {what}"),
        [one] => format!("{what} {one}"),
        many => format!("{what}s {}", many.join(", ")),
    }
}

impl Member {
    pub(crate) fn party(&self, fleet: &Fleet) -> Party {
        Party { name: self.atom.show(fleet), owner: self.owner.clone() }
    }

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
    pub(crate) const fn remedy(&self) -> &'static str {
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
