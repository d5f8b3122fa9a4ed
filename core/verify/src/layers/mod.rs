//! The layers besides the network: who shares what, who was given what, and whether all of them
//! name the same.
//!
//! Lines are not taken apart one by one: a place keeps which lines are about it, and is judged
//! from all of them again when one comes or goes, or when somebody's share does. A node is one
//! place; what joins several nodes are others.

mod agree;
mod attest;
mod board;
mod cluster;
mod fabric;
mod fence;
mod finding;
mod found;
mod hardware;
mod lines;
mod machine;
mod namespace;
mod node;
mod past;
mod pods;
mod slurm;
mod software;
mod weakness;
mod why;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    DeviceId, Dialect, Fleet, Grade, Guid, JobName, ManagerKind, Name, NodeId, Owners, Part, Past,
    PodId, Runtime, Share, TenantName, Trust, VersionPolicy,
};
use read::{Fact, Hold, Reading};
use smol_str::SmolStr;

pub use finding::{
    Atom, Disagree, Lack, LayerBreach, LayerPlace, LayerSevered, Member, Named, Owner, Strength,
    View,
};
pub use weakness::LayerWeakness;

use found::Findings;

use crate::cleared::Source;
use crate::device::At;
use crate::finding::{Finding, MissingLine};
use crate::verifier::{JobId, Verifier};
use crate::weakness::Weakness;

/// What is known of the layers besides the network.
#[derive(Debug)]
pub(crate) struct Layers {
    names: BTreeMap<Name, NodeId>,
    /// The interface that each port of the InfiniBand fabrics is, by GUID.
    ports: Vec<(Guid, NodeId, u16)>,
    managers: Managers,
    /// By node: who has what of it, in the order of their names.
    shares: Vec<Vec<(JobId, Share)>>,
    job_nodes: BTreeMap<JobId, BTreeMap<NodeId, Share>>,
    tenants: BTreeMap<TenantName, Holdings>,
    trusts: BTreeMap<TenantName, Trust>,
    /// What the log says was left on each node, if somebody told.
    pasts: Option<BTreeMap<NodeId, Vec<Past>>>,
    /// By node: its own sheets, in the order of dialects and parts.
    sheets: Vec<Vec<u32>>,
    /// By node: the lines of managers about who is on it.
    told: Vec<Vec<LineRef>>,
    /// By node: the lines of managers that say what it is.
    described: Vec<Vec<LineRef>>,
    /// By node: the lines that put one of its interfaces into an InfiniBand partition.
    keyed: Vec<Vec<PortLine>>,
    /// The lines about each place that is not a node.
    about: BTreeMap<Spot, Vec<LineRef>>,
    dirty: BTreeSet<Spot>,
    /// Places whose verdict names somebody elsewhere: judged again at every change.
    suspicious: BTreeSet<Spot>,
    findings: BTreeMap<Spot, Vec<Finding>>,
}

/// What all jobs of a tenant have.
#[derive(Debug, Default)]
struct Holdings {
    /// By node: how many of its jobs have something there.
    nodes: BTreeMap<NodeId, u32>,
    gpus: u64,
    /// How many of these are AMD's.
    amd: u64,
}

/// Who speaks for more than one node.
#[derive(Debug, Default)]
struct Managers {
    nvlink: BTreeMap<Name, DeviceId>,
    subnets: BTreeMap<PodId, DeviceId>,
    slurm: Option<DeviceId>,
    kubernetes: Option<DeviceId>,
}

/// A claim: its sheet and its place there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct LineRef {
    sheet: u32,
    claim: u32,
}

/// A claim about an interface of a node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct PortLine {
    nic: u16,
    line: LineRef,
}

/// Something that is judged by itself.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Spot {
    Sheet(u32),
    Device(DeviceId),
    /// Who is on a node, and what they have of it.
    Node(NodeId),
    /// What a node is, whoever is on it.
    Machine(NodeId),
    Job(JobId),
    Tenant(TenantName),
    /// A memory channel of an NVLink domain.
    Channel(Name, u16),
    /// A partition of an NVLink domain.
    Linked(DeviceId, u16),
    /// An InfiniBand partition.
    Key(DeviceId, u16),
    /// An interface of a node. Not judged: it is where a job finds its keys.
    Port(NodeId, u16),
    /// What holds for all of a cluster.
    Cluster(DeviceId),
    /// A partition of Slurm.
    Queue(DeviceId, SmolStr),
    Namespace(DeviceId, Name),
    Volumes(DeviceId, SmolStr),
}

/// What nobody said anything about shares nothing.
static STRICTEST: Trust = Trust {
    grade: Grade::Domain,
    versions: VersionPolicy { at_least: BTreeMap::new(), secure_boot: false },
    runtime: Runtime::Container,
    confidential: None,
    attestation: None,
    groups: Vec::new(),
};

impl Layers {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        let has_layers = !fleet.layers.dialects.is_empty();
        let nodes: &[model::Node] = if has_layers { &fleet.nodes } else { &[] };
        let ids = || (0..).map(NodeId).zip(nodes);
        let mut ports: Vec<(Guid, NodeId, u16)> = Vec::new();
        if fleet.layers.dialects.contains(&Dialect::Pkey) {
            ports.extend(ids().flat_map(|(id, node)| {
                let nics = (0..).zip(&node.uplinks);
                nics.map(move |(nic, uplink)| (Guid::of(uplink.mac), id, nic))
            }));
        }
        ports.sort_unstable();
        let devices = fleet.devices().filter(|_| has_layers);
        let managers = Managers::new(fleet);
        let subnets = managers.subnets.values();
        let default_keys: Vec<Spot> =
            subnets.map(|device| Spot::Key(*device, fabric::DEFAULT_KEY)).collect();
        Self {
            names: ids().map(|(id, node)| (node.name.clone(), id)).collect(),
            ports,
            managers,
            shares: vec![Vec::new(); nodes.len()],
            job_nodes: BTreeMap::new(),
            tenants: BTreeMap::new(),
            trusts: BTreeMap::new(),
            pasts: None,
            sheets: vec![Vec::new(); nodes.len()],
            told: vec![Vec::new(); nodes.len()],
            described: vec![Vec::new(); nodes.len()],
            keyed: vec![Vec::new(); nodes.len()],
            about: BTreeMap::new(),
            // A verdict about a node depends on what managers say, also where it is silent itself.
            dirty: devices
                .map(Spot::Device)
                .chain(ids().flat_map(|(id, _)| [Spot::Node(id), Spot::Machine(id)]))
                .chain(default_keys)
                .collect(),
            suspicious: BTreeSet::new(),
            findings: BTreeMap::new(),
        }
    }

    fn nic_of(&self, guid: Guid) -> Option<(NodeId, u16)> {
        let place = self.ports.binary_search_by_key(&guid, |(held, ..)| *held).ok()?;
        let (_, node, nic) = self.ports[place];
        Some((node, nic))
    }
}

impl Holdings {
    /// One job has this of a node from now on, and that no longer.
    fn exchange(
        &mut self,
        (node, is_amd): (NodeId, bool),
        before: Option<Share>,
        after: Option<Share>,
    ) {
        let gpus = |share: Option<Share>| share.map_or(0, |share| share.gpus.count_ones());
        self.gpus = self.gpus + u64::from(gpus(after)) - u64::from(gpus(before));
        if is_amd {
            self.amd = self.amd + u64::from(gpus(after)) - u64::from(gpus(before));
        }
        let jobs = self.nodes.entry(node).or_default();
        *jobs = *jobs + u32::from(after.is_some()) - u32::from(before.is_some());
        if *jobs == 0 {
            self.nodes.remove(&node);
        }
    }
}

impl Managers {
    fn new(fleet: &Fleet) -> Self {
        let mut managers = Self::default();
        for (place, manager) in fleet.managers.iter().enumerate() {
            let device = fleet.manager_device(place);
            match &manager.kind {
                ManagerKind::Nvlink(domain) => {
                    managers.nvlink.insert(domain.clone(), device);
                }
                ManagerKind::Subnet(pod) => {
                    managers.subnets.insert(*pod, device);
                }
                ManagerKind::Slurm => managers.slurm = Some(device),
                ManagerKind::Kubernetes => managers.kubernetes = Some(device),
            }
        }
        managers
    }
}

impl Verifier {
    /// Takes from the plan whose the GPUs and interfaces are, and what tenants may share.
    pub(crate) fn share_all(&mut self, owners: &Owners) {
        self.layers.pasts.clone_from(&owners.pasts);
        for (tenant, trust) in &owners.trusts {
            self.layers.trusts.insert(tenant.clone(), trust.clone());
        }
        for (node, jobs) in &owners.shares {
            for (job, share) in jobs {
                self.share(*node, job, Some(*share));
            }
        }
    }

    /// Says what a job has of a node from now on; none for nothing.
    pub fn share(&mut self, node: NodeId, job: &JobName, share: Option<Share>) {
        let id = self.job_id(job);
        let share = share.filter(|share| *share != Share::default());
        let Some(owners) = self.layers.shares.get(node.index()) else {
            // A fleet without layers is a network alone.
            return;
        };
        let place = owners.binary_search_by(|(held, _)| self.job_name(*held).cmp(job));
        let owners = &mut self.layers.shares[node.index()];
        let before = match (place, share) {
            (Ok(place), Some(share)) => Some(std::mem::replace(&mut owners[place].1, share)),
            (Ok(place), None) => Some(owners.remove(place).1),
            (Err(place), Some(share)) => {
                owners.insert(place, (id, share));
                None
            }
            (Err(_), None) => return,
        };
        let holdings = self.layers.tenants.entry(job.tenant.clone()).or_default();
        let fleet = &self.world.fleet;
        let model = &fleet.node_models[fleet.nodes[node.index()].model.index()];
        holdings.exchange((node, model.gpu.is_amd()), before, share);
        let nodes = self.layers.job_nodes.entry(id).or_default();
        match share {
            Some(share) => nodes.insert(node, share),
            None => nodes.remove(&node),
        };
        let touched = before.unwrap_or_default().with(share.unwrap_or_default());
        self.mark_share(node, touched, id, &job.tenant);
    }

    /// Says what a tenant may share and demands from now on.
    pub fn trust(&mut self, tenant: &TenantName, trust: Trust) {
        if self.layers.trusts.get(tenant) == Some(&trust) {
            return;
        }
        self.layers.trusts.insert(tenant.clone(), trust);
        let of_tenant = |job: &JobId| self.job_name(*job).tenant == *tenant;
        let jobs = self.layers.job_nodes.iter().filter(|(job, _)| of_tenant(job));
        let of_job = |(job, nodes): (&JobId, &BTreeMap<NodeId, Share>)| {
            let job = *job;
            nodes.iter().map(move |(node, share)| (*node, *share, job)).collect::<Vec<_>>()
        };
        let touched: Vec<(NodeId, Share, JobId)> = jobs.flat_map(of_job).collect();
        for (node, share, job) in touched {
            self.mark_share(node, share, job, tenant);
        }
        self.mark_tenant(tenant);
        // Whose people a group of the identity provider are, any namespace may depend on.
        let namespaces =
            self.layers.about.keys().filter(|spot| matches!(spot, Spot::Namespace(..)));
        let namespaces: Vec<Spot> = namespaces.cloned().collect();
        self.layers.dirty.extend(namespaces);
    }

    /// What a tenant may share, and what it demands.
    fn trust_of(&self, tenant: &TenantName) -> &Trust {
        self.layers.trusts.get(tenant).unwrap_or(&STRICTEST)
    }

    /// Takes in what a part of an artifact of a layer says now; none when the part is gone.
    pub(crate) fn take_layer(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        part: &Part,
        reading: Option<Reading>,
    ) {
        let id = self.sheet_id(device, dialect, part);
        self.digests.note(device, id, Source::of(reading.as_ref()));
        let gone = std::mem::take(&mut self.sheets[id as usize].claims);
        let was_strange = self.sheets[id as usize].is_strange();
        let was = self.sheets[id as usize].present;
        let is = reading.is_some();
        self.forget(id, device, &gone);
        let Reading { claims, unknown, lacking, .. } = reading.unwrap_or_default();
        self.learn(id, device, &claims);
        let sheet = &mut self.sheets[id as usize];
        sheet.claims = claims;
        sheet.unknown = unknown;
        sheet.lacking = lacking;
        sheet.present = is;
        self.keep_sheet(id, was, is, &gone);
        // Of NVLink every claim is compared with who says it.
        let is_told = dialect == Dialect::Nvlink;
        if was_strange || is_told || self.sheets[id as usize].is_strange() {
            self.layers.dirty.insert(Spot::Sheet(id));
        }
        if self.held.count(device, dialect, was, is) {
            self.layers.dirty.insert(Spot::Device(device));
            let node = self.world.fleet.node_of(device);
            self.layers.dirty.insert(node.map_or(Spot::Cluster(device), Spot::Machine));
            if dialect == Dialect::Pkey {
                self.layers.dirty.insert(Spot::Key(device, fabric::DEFAULT_KEY));
            }
            if dialect == Dialect::Slurm {
                let nodes = self.layers.names.values();
                self.layers.dirty.extend(nodes.map(|node| Spot::Machine(*node)));
            }
        }
    }

    /// Whether a device says anything in a dialect.
    fn is_heard(&self, device: DeviceId, dialect: Dialect) -> bool {
        self.held.has(device, dialect)
    }

    /// Judges what changed since the last time.
    pub(crate) fn judge_layers(&mut self) {
        let mut spots = std::mem::take(&mut self.layers.dirty);
        spots.append(&mut self.layers.suspicious);
        for spot in spots {
            let (findings, looked_elsewhere) = self.judge_spot(&spot);
            if looked_elsewhere {
                self.layers.suspicious.insert(spot.clone());
            }
            if findings.is_empty() {
                self.layers.findings.remove(&spot);
            } else {
                self.layers.findings.insert(spot, findings);
            }
        }
    }

    /// All that is not as it must be on the layers.
    pub(crate) fn layer_findings(&self) -> impl Iterator<Item = &Finding> {
        self.layers.findings.values().flatten()
    }

    /// The findings about a place, and whether they name somebody who is not there.
    fn judge_spot(&self, spot: &Spot) -> (Vec<Finding>, bool) {
        let mut found = Findings::new(self);
        match spot {
            Spot::Sheet(sheet) => self.judge_layer_sheet(*sheet, &mut found),
            Spot::Device(device) => self.judge_silence(*device, &mut found),
            Spot::Node(node) => self.judge_node(*node, &mut found),
            Spot::Machine(node) => self.judge_machine(*node, &mut found),
            Spot::Job(job) => self.judge_job_layers(*job, &mut found),
            Spot::Tenant(tenant) => self.judge_tenant(tenant, &mut found),
            Spot::Channel(domain, channel) => self.judge_channel(domain, *channel, &mut found),
            Spot::Linked(device, partition) => self.judge_linked(*device, *partition, &mut found),
            Spot::Key(device, pkey) => self.judge_key(*device, *pkey, &mut found),
            Spot::Port(..) => {}
            Spot::Cluster(device) => self.judge_cluster(*device, &mut found),
            Spot::Queue(device, queue) => self.judge_queue(*device, queue, &mut found),
            Spot::Namespace(device, name) => self.judge_namespace(*device, name, &mut found),
            Spot::Volumes(device, class) => self.judge_volumes(*device, class, &mut found),
        }
        (found.all, found.looked_elsewhere)
    }

    fn judge_layer_sheet(&self, id: u32, found: &mut Findings<'_>) {
        let sheet = &self.sheets[id as usize];
        for unknown in &sheet.unknown {
            let weakness = Weakness::UnknownLine { text: unknown.text.clone(), why: unknown.why };
            found.weak(Some(sheet.device), weakness, [At { sheet: id, line: unknown.line }]);
        }
        for lacking in &sheet.lacking {
            let at = (lacking.line > 0).then_some(At { sheet: id, line: lacking.line });
            found.weak(Some(sheet.device), Weakness::of(lacking), at);
            let (device, dialect) = (sheet.device, Some(sheet.dialect));
            found.lacks(MissingLine { device, dialect, text: lacking.text.to_string() });
        }
        self.judge_teller(id, found);
    }

    /// A board tells of its own GPUs, and a domain of those of its nodes. Whoever says what is the
    /// other's to say is heard by nobody, and a line that nobody hears is told.
    fn judge_teller(&self, id: u32, found: &mut Findings<'_>) {
        let sheet = &self.sheets[id as usize];
        if sheet.dialect != Dialect::Nvlink {
            return;
        }
        let is_board = self.world.fleet.node_of(sheet.device).is_some();
        for claim in &sheet.claims {
            let Fact::Holds(hold) = &claim.fact else { continue };
            let (what, planned) = match hold {
                Hold::Linked { .. } if is_board => {
                    ("what it says of a domain", "that this is for the domain to say")
                }
                Hold::Joinable { .. } | Hold::Active { .. } if !is_board => {
                    ("what it says of a board", "that this is for the board to say")
                }
                _ => continue,
            };
            let at = At { sheet: id, line: claim.line };
            software::drift(sheet.device, what.into(), &hold.to_string(), planned, Some(at), found);
        }
    }

    fn judge_silence(&self, device: DeviceId, found: &mut Findings<'_>) {
        for dialect in self.world.fleet.dialects(device).filter(|dialect| !dialect.is_network()) {
            if !self.is_heard(device, dialect) {
                found.weak(Some(device), Weakness::Silent(dialect), []);
            }
        }
    }
}
