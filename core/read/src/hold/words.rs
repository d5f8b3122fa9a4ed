//! Claims about the layers besides the network, as sentences.

use std::fmt;

use model::{Confidential, Evidence, Runtime};

use super::{
    AttestReport, ClaimRequest, ClaimedGpu, DeviceFile, Direction, Function, Hold, Peer, SlurmFact,
};

/// What a claim says, in words.
impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A node.
            Self::Function { pci, what, group, numa } => {
                write!(f, "{pci} is {what} in IOMMU group {group} on NUMA node {numa}")
            }
            Self::Driven { pci, driver } => write!(f, "{pci} is driven by {driver}"),
            Self::Beneath { bridge, pci } => {
                write!(f, "{pci} is below {bridge}, which lets functions reach each other")
            }
            Self::Runs { component, version } => write!(f, "the {component} is {version}"),
            Self::BootedSecurely(true) => f.write_str("the node booted securely"),
            Self::BootedSecurely(false) => f.write_str("the node did not boot securely"),
            Self::Cuttable { gpu } => write!(f, "GPU {} can be cut", gpu + 1),
            Self::Instance { gpu, profile, start } => {
                write!(f, "GPU {} has an instance {profile} from slot {start}", gpu + 1)
            }
            Self::Divided { gpu, compute, memory } => {
                write!(f, "GPU {} is divided as {compute} and {memory}", gpu + 1)
            }
            Self::Joinable { partition, gpus } => {
                write!(f, "NVLink partition {partition} can join {}", Modules(*gpus))
            }
            Self::Active { partition } => write!(f, "NVLink partition {partition} is active"),
            Self::Linked { partition, node, gpus } => {
                write!(f, "NVLink partition {partition} joins {} of {node}", Modules(*gpus))
            }
            Self::Channel { job, channel } => write!(f, "{job} has memory channel {channel}"),
            Self::Member { pkey, guid, full } => {
                write!(f, "port {guid} is a {} of partition {pkey:#06x}", Membership(*full))
            }
            Self::EveryMember { pkey, full } => {
                write!(f, "every port is a {} of partition {pkey:#06x}", Membership(*full))
            }
            Self::Opens { job, file } => write!(f, "{job} may open {file}"),
            Self::Guest { job, confidential } => {
                write!(f, "{job} runs in a {}", Machine(*confidential))
            }
            Self::GuestHas { job, pci } => write!(f, "the virtual machine of {job} has {pci}"),
            Self::GuestNear { job, numa } => {
                write!(f, "the memory of {job}'s virtual machine is on NUMA node {numa}")
            }

            Self::Attested { job, node, report } => {
                let AttestReport { technology, measurement, by, at, age_s } = &**report;
                write!(f, "{by} vouches at {at}, {age_s} s ago, that {job} on {node} was ")?;
                write!(f, "launched with {technology} as {measurement}")
            }

            // What was there before.
            Self::Clean { job, nics } => {
                write!(f, "nothing was left on {} of {job}", Interfaces(*nics))
            }
            Self::After { job, nics, left } => {
                let (nics, owing) = (Interfaces(*nics), Listed(&left.owing, "nothing"));
                write!(f, "{} left {owing} on {nics} of {job}", left.by)
            }
            Self::Scrubbed { job, nics, cleaned } => {
                let Evidence { memory, method, read_back, by, at } = &cleaned.evidence;
                let (nics, after) = (Interfaces(*nics), &cleaned.after);
                write!(
                    f,
                    "{memory} of {after} is gone from {nics} of {job}: {by} scrubbed it at "
                )?;
                write!(f, "{at} by {method} and read it back by {read_back}")
            }

            // Slurm.
            Self::Schedulable { node, minors } => {
                write!(f, "Slurm gives out {} of {node}", Minors(*minors))
            }
            Self::Partition { partition, nodes, accounts, exclusive } => {
                let accounts = Listed(accounts, "every account");
                let nodes = Listed(nodes, "no node");
                let alone = if *exclusive { ", one user to a node" } else { "" };
                write!(f, "in Slurm partition {partition} {accounts} may use {nodes}{alone}")
            }
            Self::Together { place, nodes } => {
                write!(f, "{} hang together at {place}", Listed(nodes, "no nodes"))
            }
            Self::ConstrainsDevices(true) => f.write_str("Slurm keeps jobs from others' devices"),
            Self::ConstrainsDevices(false) => {
                f.write_str("Slurm does not keep jobs from others' devices")
            }
            Self::KeepsLabelsApart(true) => {
                f.write_str("Slurm keeps jobs of different labels on different nodes")
            }
            Self::KeepsLabelsApart(false) => {
                f.write_str("Slurm does not keep jobs of different labels apart")
            }
            Self::SlurmSays { fact, value } => write!(f, "Slurm has {value} for {fact}"),
            Self::Reserved { job, account, nodes } => {
                let nodes = Listed(nodes, "no node");
                write!(f, "Slurm keeps {nodes} for {job} of account {account}")
            }
            Self::Allocated { job, node, minors } => {
                write!(f, "Slurm gave {job} {} of {node}", Minors(*minors))
            }

            // Kubernetes.
            Self::Namespace { namespace, tenant } => {
                write!(f, "namespace {namespace} is {tenant}'s")
            }
            Self::DeniesByDefault { namespace, direction: Direction::Ingress } => {
                write!(f, "what no policy allows does not enter namespace {namespace}")
            }
            Self::DeniesByDefault { namespace, direction: Direction::Egress } => {
                write!(f, "what no policy allows does not leave namespace {namespace}")
            }
            Self::Lets { namespace, direction: Direction::Ingress, peer } => {
                write!(f, "{peer} may reach pods of namespace {namespace}")
            }
            Self::Lets { namespace, direction: Direction::Egress, peer } => {
                write!(f, "pods of namespace {namespace} may reach {peer}")
            }
            Self::LetsJob { namespace, job, direction: Direction::Ingress } => {
                write!(f, "pods of {job} in namespace {namespace} may be reached by each other")
            }
            Self::LetsJob { namespace, job, direction: Direction::Egress } => {
                write!(f, "pods of {job} in namespace {namespace} may reach each other")
            }
            Self::CalicoDenies { namespace, direction: Direction::Ingress } => {
                write!(
                    f,
                    "Calico lets nothing into namespace {namespace} that its policies do not allow"
                )
            }
            Self::CalicoDenies { namespace, direction: Direction::Egress } => {
                write!(
                    f,
                    "Calico lets nothing out of namespace {namespace} that its policies do not allow"
                )
            }
            Self::CalicoResolves { namespace } => {
                write!(f, "Calico lets pods of namespace {namespace} ask for names")
            }
            Self::CalicoLetsJob { namespace, job, direction: Direction::Ingress } => {
                write!(
                    f,
                    "Calico lets pods of {job} in namespace {namespace} be reached by each other"
                )
            }
            Self::CalicoLetsJob { namespace, job, direction: Direction::Egress } => {
                write!(f, "Calico lets pods of {job} in namespace {namespace} reach each other")
            }
            Self::StrictTls { namespace, strict: true } => {
                write!(f, "pods of namespace {namespace} speak only mutual TLS")
            }
            Self::StrictTls { namespace, strict: false } => {
                write!(f, "pods of namespace {namespace} speak also without TLS")
            }
            Self::MeshLets { namespace, callers } => {
                let callers = Listed(callers, "no namespace");
                write!(f, "the mesh lets callers of {callers} into namespace {namespace}")
            }
            Self::GpuQuota { namespace, of, gpus } => {
                write!(f, "namespace {namespace} may use {gpus} of {of}")
            }
            Self::StorageQuota { namespace, class, bytes } => {
                write!(f, "namespace {namespace} may store {bytes} bytes in class {class}")
            }
            Self::Bounded { namespace } => {
                write!(f, "containers of namespace {namespace} have bounds")
            }
            Self::Restricted { namespace, restricted: true } => {
                write!(f, "pods that could reach the host are refused in namespace {namespace}")
            }
            Self::Restricted { namespace, restricted: false } => {
                write!(f, "pods that can reach the host may run in namespace {namespace}")
            }
            Self::Governed { namespace, runtime: Runtime::Container } => {
                write!(f, "namespace {namespace} is under the rules for containers")
            }
            Self::Governed { namespace, runtime: Runtime::Vm } => {
                write!(f, "namespace {namespace} is under the rules for virtual machines")
            }
            Self::Meshed { namespace } => {
                write!(f, "pods of namespace {namespace} get the mesh's proxy")
            }
            Self::Refuses { policy } => write!(f, "policy {policy} is as planned"),
            Self::Enforced { policy } => write!(f, "policy {policy} holds where it is planned"),
            Self::Allows { role } => write!(f, "role {role} is as planned"),
            Self::Role { namespace: Some(namespace), group, role } => {
                write!(f, "members of {group} have role {role} in namespace {namespace}")
            }
            Self::Role { namespace: None, group, role } => {
                write!(f, "members of {group} have role {role} everywhere")
            }
            Self::Volumes { class, tenant } => write!(f, "volumes of class {class} are {tenant}'s"),
            Self::Claimed { namespace, job, node, gpu: ClaimedGpu::At { pci, class, request } } => {
                write!(f, "{job} claims {pci} of {node} by {} as {request} ", class.as_str())?;
                write!(f, "in namespace {namespace}")
            }
            Self::Claimed { namespace, job, node, gpu: ClaimedGpu::Minor(minor) } => {
                let gpu = Minors::one(*minor);
                write!(f, "a claim of {job} was given {gpu} of {node} in namespace {namespace}")
            }
            Self::Published { node, minor, pci } => {
                write!(f, "{node} publishes {pci} as {}", Minors::one(*minor))
            }
            Self::Admits { node, namespace } => {
                write!(f, "{node} lets in pods of namespace {namespace}")
            }
            Self::Fenced { node, value } => {
                write!(f, "{node} keeps off pods that do not bear its taint {value}")
            }
            Self::Label { node, key, value } => write!(f, "{node} has label {key}={value}"),
            Self::ControlPlane { tenant, namespace, kind } => {
                write!(f, "{tenant} has a {kind} of its own in namespace {namespace}")
            }
            Self::ClusterGuest { namespace, job, node, confidential } => {
                let machine = Machine(*confidential);
                write!(f, "{job} runs in a {machine} on {node} in namespace {namespace}")
            }
            Self::GuestTakes { job, node, request } => {
                write!(f, "the virtual machine of {job} on {node} takes {request}")
            }
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(gpu) => write!(f, "GPU {}", gpu + 1),
            Self::Nic(nic) => write!(f, "interface {nic}"),
            Self::Vf { nic, vf } => write!(f, "virtual function {vf} of interface {nic}"),
            Self::Other => f.write_str("something else"),
        }
    }
}

impl fmt::Display for DeviceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(minor) => write!(f, "{}", Minors::one(*minor)),
            Self::Control(path) => write!(f, "{path}"),
            Self::Group(group) => write!(f, "IOMMU group {group}"),
            Self::Verbs(nic) => write!(f, "interface {nic}"),
            Self::Channel(channel) => write!(f, "memory channel {channel}"),
            Self::Instance { minor, start } => {
                write!(f, "the instance of {} from slot {start}", Minors::one(*minor))
            }
            Self::Many(path) => write!(f, "whatever is in {path}"),
            Self::Management(path) => write!(f, "{path}, which manages the fabric"),
            Self::Strange(path) => write!(f, "{path}, which leads nobody knows where"),
        }
    }
}

impl fmt::Display for ClaimRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpu-{}", self.minor)?;
        match self.claim {
            0 => Ok(()),
            more => write!(f, " of claim {more}"),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(namespace) => write!(f, "pods of namespace {namespace}"),
            Self::Resolver => f.write_str("the resolver"),
            Self::Anyone => f.write_str("anybody"),
        }
    }
}

/// GPUs by their module ids.
struct Modules(u64);

impl fmt::Display for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_numbers(f, "GPU", self.0, 1)
    }
}

/// GPUs by the numbers of their device files.
struct Minors(u64);

impl Minors {
    /// One alone. A number that no mask has is shown as it is.
    fn one(minor: u16) -> impl fmt::Display {
        fmt::from_fn(move |f| write!(f, "GPU device {minor}"))
    }
}

impl fmt::Display for Minors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_numbers(f, "GPU device", self.0, 0)
    }
}

/// What Slurm says something of.
impl fmt::Display for SlurmFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controller => f.write_str("the host of its controller"),
            Self::Accounts => f.write_str("the host of its accounts"),
            Self::Cluster => f.write_str("the name of the cluster"),
            Self::Address(node) => write!(f, "the address of {node}"),
            Self::Gpus(node) => write!(f, "the GPUs of {node}"),
            Self::Product(node) => write!(f, "the type of GPUs of {node}"),
            Self::Above(switch) => write!(f, "the switch above {switch}"),
        }
    }
}

struct Interfaces(u64);

impl fmt::Display for Interfaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_numbers(f, "interface", self.0, 0)
    }
}

/// `GPU 1`, or `GPUs 1, 3`; the lowest bit has the first number.
fn write_numbers(f: &mut fmt::Formatter<'_>, what: &str, mask: u64, first: u32) -> fmt::Result {
    match mask.count_ones() {
        0 => return write!(f, "no {what}"),
        1 => f.write_str(what)?,
        _ => write!(f, "{what}s")?,
    }
    let mut between = " ";
    for bit in (0..64).filter(|bit| mask >> bit & 1 == 1) {
        write!(f, "{between}{}", bit + first)?;
        between = ", ";
    }
    Ok(())
}

/// How a port is in a partition: full or not.
struct Membership(bool);

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "full member" } else { "limited member" })
    }
}

struct Machine(Option<Confidential>);

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("virtual machine")?;
        match self.0 {
            Some(confidential) => write!(f, " with {confidential}"),
            None => Ok(()),
        }
    }
}

/// Names with commas between them, or the words for none.
struct Listed<'a, T>(&'a [T], &'static str);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else {
            return f.write_str(self.1);
        };
        write!(f, "{first}")?;
        rest.iter().try_for_each(|one| write!(f, ", {one}"))
    }
}
