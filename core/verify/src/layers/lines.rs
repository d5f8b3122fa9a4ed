//! Which lines are about which place, and what is judged again when one comes or goes.

use model::{DeviceId, Dialect, JobName, Name, NodeId, Share, TenantName};
use read::{Claim, DeviceFile, Fact, Hold, Peer};

use super::machine::describes;
use super::{LineRef, PortLine, Spot};
use crate::device::At;
use crate::verifier::{JobId, Sheet, Verifier};

impl Verifier {
    /// The places besides a node's own that a claim is about. Where GPUs of one job are claimed one
    /// after the other on one node, the first of them stands for all but in the node itself.
    fn spots(&self, device: DeviceId, before: Option<&Claim>, claim: &Claim, out: &mut Vec<Spot>) {
        let Fact::Holds(hold) = &claim.fact else {
            return;
        };
        let known = |name: &Name, spot: fn(NodeId) -> Spot| {
            let known = self.layers.names.get(name);
            known.map_or(Spot::Cluster(device), |node| spot(*node))
        };
        let node = |name: &Name| known(name, Spot::Node);
        let machine = |name: &Name| known(name, Spot::Machine);
        let job = |name: &JobName| self.known_job(name).map(Spot::Job);
        let space = |name: &Name| Spot::Namespace(device, name.clone());
        match hold {
            Hold::Channel { channel, .. }
            | Hold::Opens { file: DeviceFile::Channel(channel), .. } => {
                out.extend(self.channel_at(device, *channel));
            }
            Hold::Linked { partition, node: name, .. } => {
                out.extend([Spot::Linked(device, *partition), node(name)]);
            }
            Hold::Member { pkey, guid, .. } => {
                out.push(Spot::Key(device, *pkey));
                out.extend(self.layers.nic_of(*guid).map(|(node, nic)| Spot::Port(node, nic)));
            }
            Hold::EveryMember { pkey, .. } => out.push(Spot::Key(device, *pkey)),
            Hold::Schedulable { node: name, .. }
            | Hold::Published { node: name, .. }
            | Hold::Label { node: name, .. } => out.push(machine(name)),
            Hold::Allocated { job: of, node: name, .. } => {
                out.push(node(name));
                out.extend(job(of));
            }
            Hold::Admits { node: name, .. }
            | Hold::Fenced { node: name, .. }
            | Hold::GuestTakes { node: name, .. } => out.push(node(name)),
            Hold::Claimed { namespace, job: of, node: name, .. } => {
                out.push(node(name));
                if !before.is_some_and(|before| goes_on(before, claim)) {
                    out.push(space(namespace));
                    out.extend(job(of));
                }
            }
            Hold::Partition { partition, accounts, .. } => {
                out.push(Spot::Queue(device, partition.clone()));
                let tenants = accounts.iter().filter_map(|account| tenant_of(account));
                out.extend(tenants.map(Spot::Tenant));
            }
            Hold::Together { .. }
            | Hold::ConstrainsDevices(_)
            | Hold::KeepsLabelsApart(_)
            | Hold::SlurmSays { .. }
            | Hold::Refuses { .. }
            | Hold::Enforced { .. }
            | Hold::Allows { .. } => out.push(Spot::Cluster(device)),
            Hold::Reserved { job: name, .. } => out.extend(job(name)),
            Hold::Namespace { namespace, tenant }
            | Hold::ControlPlane { namespace, tenant, .. } => {
                out.extend([space(namespace), Spot::Tenant(tenant.clone())]);
            }
            Hold::Lets { namespace, peer: Peer::Namespace(other), .. } => {
                out.extend([space(namespace), space(other)]);
            }
            Hold::MeshLets { namespace, callers } => {
                out.push(space(namespace));
                out.extend(callers.iter().map(space));
            }
            Hold::DeniesByDefault { namespace, .. }
            | Hold::CalicoDenies { namespace, .. }
            | Hold::CalicoResolves { namespace }
            | Hold::Lets { namespace, .. }
            | Hold::StrictTls { namespace, .. }
            | Hold::GpuQuota { namespace, .. }
            | Hold::Bounded { namespace }
            | Hold::Restricted { namespace, .. }
            | Hold::Governed { namespace, .. }
            | Hold::Meshed { namespace }
            | Hold::Role { namespace: Some(namespace), .. } => out.push(space(namespace)),
            Hold::StorageQuota { namespace, class, .. } => {
                out.extend([space(namespace), Spot::Volumes(device, class.clone())]);
            }
            Hold::Role { namespace: None, .. } => out.push(Spot::Cluster(device)),
            Hold::Volumes { class, .. } => out.push(Spot::Volumes(device, class.clone())),
            Hold::LetsJob { namespace, job: name, .. }
            | Hold::CalicoLetsJob { namespace, job: name, .. } => {
                out.push(space(namespace));
                out.extend(job(name));
            }
            Hold::ClusterGuest { namespace, job: of, node: name, .. } => {
                out.extend([space(namespace), node(name)]);
                out.extend(job(of));
            }
            // A node is judged from all of its own sheets.
            Hold::Function { .. }
            | Hold::Driven { .. }
            | Hold::Beneath { .. }
            | Hold::Runs { .. }
            | Hold::BootedSecurely(_)
            | Hold::Cuttable { .. }
            | Hold::Instance { .. }
            | Hold::Divided { .. }
            | Hold::Joinable { .. }
            | Hold::Active { .. }
            | Hold::Opens { .. }
            | Hold::Guest { .. }
            | Hold::GuestHas { .. }
            | Hold::GuestNear { .. }
            | Hold::Attested { .. }
            | Hold::Clean { .. }
            | Hold::After { .. }
            | Hold::Scrubbed { .. } => {}
        }
    }

    fn channel_at(&self, device: DeviceId, channel: u16) -> Option<Spot> {
        let node = &self.world.fleet.nodes[self.world.fleet.node_of(device)?.index()];
        Some(Spot::Channel(node.nvlink_domain.clone(), channel))
    }

    /// Takes the lines of a sheet from all places they were about.
    pub(super) fn forget(&mut self, sheet: u32, device: DeviceId, gone: &[Claim]) {
        let (mut spots, mut before) = (Vec::new(), None);
        for claim in gone {
            let known = spots.len();
            self.spots(device, before.replace(claim), claim, &mut spots);
            self.mark_joined(claim, &spots[known..]);
        }
        spots.sort_unstable();
        spots.dedup();
        for spot in spots {
            self.mark_spot(&spot);
            match spot {
                Spot::Node(node) => {
                    self.layers.told[node.index()].retain(|line| line.sheet != sheet);
                }
                Spot::Machine(node) => {
                    self.layers.described[node.index()].retain(|line| line.sheet != sheet);
                }
                Spot::Port(node, _) => {
                    self.layers.keyed[node.index()].retain(|held| held.line.sheet != sheet);
                }
                spot => {
                    let Some(lines) = self.layers.about.get_mut(&spot) else { continue };
                    lines.retain(|line| line.sheet != sheet);
                    if lines.is_empty() {
                        self.layers.about.remove(&spot);
                    }
                }
            }
        }
    }

    /// Puts the lines of a sheet to all places they are about.
    pub(super) fn learn(&mut self, sheet: u32, device: DeviceId, claims: &[Claim]) {
        let (mut spots, mut touched) = (Vec::new(), Vec::new());
        let mut before = None;
        for (place, claim) in (0..).zip(claims) {
            // Names get their numbers here, so that a reader need not ask whether they have one.
            if let Fact::Holds(
                Hold::Reserved { job, .. }
                | Hold::ClusterGuest { job, .. }
                | Hold::LetsJob { job, .. }
                | Hold::CalicoLetsJob { job, .. }
                | Hold::Allocated { job, .. }
                | Hold::Claimed { job, .. },
            ) = &claim.fact
            {
                self.job_id(job);
            }
            self.spots(device, before.replace(claim), claim, &mut spots);
            self.mark_joined(claim, &spots);
            for spot in spots.drain(..) {
                self.insert_line(&spot, LineRef { sheet, claim: place });
                if touched.last() != Some(&spot) {
                    touched.push(spot);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched.iter().for_each(|spot| self.mark_spot(spot));
    }

    fn insert_line(&mut self, spot: &Spot, line: LineRef) {
        let sheets = &self.sheets;
        match spot {
            Spot::Node(node) => {
                insert_in_order(sheets, &mut self.layers.told[node.index()], line, |held| *held);
            }
            Spot::Machine(node) => {
                let lines = &mut self.layers.described[node.index()];
                insert_in_order(sheets, lines, line, |held| *held);
            }
            Spot::Port(node, nic) => {
                let (held, new) =
                    (&mut self.layers.keyed[node.index()], PortLine { nic: *nic, line });
                insert_in_order(sheets, held, new, |held| held.line);
            }
            spot => {
                let lines = self.layers.about.entry(spot.clone()).or_default();
                insert_in_order(sheets, lines, line, |held| *held);
            }
        }
    }

    /// Keeps a node's own sheets in order.
    pub(super) fn keep_sheet(&mut self, id: u32, was: bool, is: bool, gone: &[Claim]) {
        let Some(node) = self.world.fleet.node_of(self.sheets[id as usize].device) else {
            return;
        };
        let Some(held) = self.layers.sheets.get_mut(node.index()) else {
            return;
        };
        if was != is {
            let key = |id: &u32| {
                let sheet = &self.sheets[*id as usize];
                (sheet.dialect, &sheet.part)
            };
            if is {
                let place = held.partition_point(|other| key(other) < key(&id));
                held.insert(place, id);
            } else {
                held.retain(|other| *other != id);
            }
        }
        let lines = gone.iter().chain(&self.sheets[id as usize].claims);
        let mut holds = lines.filter_map(|claim| match &claim.fact {
            Fact::Holds(hold) => Some(hold),
            _ => None,
        });
        let is_other = holds.any(describes);
        self.layers.dirty.extend(is_other.then_some(Spot::Machine(node)));
        self.layers.dirty.insert(Spot::Node(node));
    }

    /// Marks a place whose lines changed, and what is judged from it.
    fn mark_spot(&mut self, spot: &Spot) {
        match spot {
            Spot::Port(node, nic) => self.mark_jobs(*node, |share| has(share.nics, *nic)),
            Spot::Namespace(device, name) => {
                self.mark_neighbours(*device, name);
                self.layers.dirty.insert(spot.clone());
            }
            _ => {
                self.layers.dirty.insert(spot.clone());
            }
        }
    }

    /// Marks the jobs that a line about these places joins over several nodes, or tells where a
    /// node is that they are on.
    fn mark_joined(&mut self, claim: &Claim, spots: &[Spot]) {
        let Fact::Holds(hold) = &claim.fact else { return };
        let joined = match hold {
            Hold::Channel { job, .. } => {
                self.layers.dirty.extend(self.known_job(job).map(Spot::Job));
                return;
            }
            // What its nodes keep off is told by the name of its namespace.
            Hold::Namespace { tenant, .. } => {
                let held = self.layers.tenants.get(tenant).into_iter();
                let nodes = held.flat_map(|held| held.nodes.keys().copied());
                self.layers.dirty.extend(nodes.map(Spot::Node));
                return;
            }
            Hold::Linked { gpus, .. } => Some(*gpus),
            Hold::Label { key, .. } if *key == self.world.fleet.layers.labels.pod => None,
            _ => return,
        };
        let matters = |share: Share| joined.is_none_or(|gpus| share.gpus & gpus != 0);
        for spot in spots {
            if let Spot::Node(node) | Spot::Machine(node) = spot {
                self.mark_jobs(*node, matters);
            }
        }
    }

    /// Marks the jobs with such shares of a node, which are judged over all their nodes.
    fn mark_jobs(&mut self, node: NodeId, matters: impl Fn(Share) -> bool) {
        let jobs = self.layers.shares.get(node.index()).into_iter().flatten();
        let jobs = jobs.filter(|(_, share)| matters(*share));
        self.layers.dirty.extend(jobs.map(|(job, _)| Spot::Job(*job)));
    }

    /// Marks the namespaces and classes whose lines name this one, because whose it is may have
    /// changed.
    fn mark_neighbours(&mut self, device: DeviceId, name: &Name) {
        let spot = Spot::Namespace(device, name.clone());
        let lines = self.layers.about.get(&spot).into_iter().flatten();
        let mut touched = Vec::new();
        for line in lines {
            let claim = &self.sheets[line.sheet as usize].claims;
            match claim.get(line.claim as usize).map(|claim| &claim.fact) {
                Some(Fact::Holds(
                    Hold::Lets { namespace, .. } | Hold::MeshLets { namespace, .. },
                )) if namespace != name => touched.push(Spot::Namespace(device, namespace.clone())),
                // Whom it lets in, or reaches, may do so as nobody's.
                Some(Fact::Holds(Hold::Lets { peer: Peer::Namespace(other), .. })) => {
                    touched.push(Spot::Namespace(device, other.clone()));
                }
                Some(Fact::Holds(Hold::MeshLets { callers, .. })) => {
                    touched
                        .extend(callers.iter().map(|name| Spot::Namespace(device, name.clone())));
                }
                Some(Fact::Holds(Hold::StorageQuota { class, .. })) => {
                    touched.push(Spot::Volumes(device, class.clone()));
                }
                _ => {}
            }
        }
        self.layers.dirty.extend(touched);
    }

    /// Marks what depends on who has this of a node.
    pub(super) fn mark_share(
        &mut self,
        node: NodeId,
        touched: Share,
        job: JobId,
        tenant: &TenantName,
    ) {
        let keyed = self.layers.keyed[node.index()].iter();
        let keyed = keyed.filter(|held| has(touched.nics, held.nic)).map(|held| &held.line);
        // Of what managers say of a node, only those of NVLink join it with others.
        let by_nvlink =
            |line: &&LineRef| self.sheets[line.sheet as usize].dialect == Dialect::Nvlink;
        let linked = self.layers.told[node.index()].iter().filter(by_nvlink);
        let joins = |line: &LineRef| {
            let sheet = &self.sheets[line.sheet as usize];
            match &sheet.claims.get(line.claim as usize)?.fact {
                Fact::Holds(Hold::Linked { partition, gpus, .. }) if gpus & touched.gpus != 0 => {
                    Some(Spot::Linked(sheet.device, *partition))
                }
                Fact::Holds(Hold::Member { pkey, .. }) => Some(Spot::Key(sheet.device, *pkey)),
                _ => None,
            }
        };
        self.layers.dirty.extend([Spot::Node(node), Spot::Job(job)]);
        self.layers.dirty.extend(keyed.chain(linked).filter_map(joins));
        self.mark_tenant(tenant);
    }

    /// Marks what depends on whether, and where, a tenant has anything.
    pub(super) fn mark_tenant(&mut self, tenant: &TenantName) {
        let spot = Spot::Tenant(tenant.clone());
        let lines = self.layers.about.get(&spot).into_iter().flatten();
        let mut places = Vec::new();
        for line in lines {
            let sheet = &self.sheets[line.sheet as usize];
            let claim = &sheet.claims[line.claim as usize];
            match &claim.fact {
                Fact::Holds(Hold::Partition { partition, .. }) => {
                    places.push(Spot::Queue(sheet.device, partition.clone()));
                }
                Fact::Holds(Hold::Namespace { namespace, .. }) => {
                    places.push(Spot::Namespace(sheet.device, namespace.clone()));
                }
                _ => {}
            }
        }
        self.layers.dirty.extend(places);
        self.layers.dirty.insert(spot);
    }

    /// The lines about a place that is not a node.
    pub(super) fn lines(&self, spot: &Spot) -> impl Iterator<Item = (&Hold, At)> {
        let lines = self.layers.about.get(spot).into_iter().flatten();
        lines.filter_map(|line| self.hold_at(*line))
    }

    /// The lines of managers that say what a node is.
    pub(super) fn described(&self, node: NodeId) -> impl Iterator<Item = (&Hold, At)> {
        self.layers.described[node.index()].iter().filter_map(|line| self.hold_at(*line))
    }

    /// The lines of managers about who is on a node.
    pub(super) fn told(&self, node: NodeId) -> impl Iterator<Item = (&Hold, At)> {
        self.layers.told[node.index()].iter().filter_map(|line| self.hold_at(*line))
    }

    /// The lines of InfiniBand partitions about an interface.
    pub(super) fn keyed(&self, node: NodeId, nic: u16) -> impl Iterator<Item = (&Hold, At)> {
        let lines = self.layers.keyed[node.index()].iter().filter(move |held| held.nic == nic);
        lines.filter_map(|held| self.hold_at(held.line))
    }

    fn hold_at(&self, line: LineRef) -> Option<(&Hold, At)> {
        let claim = self.sheets[line.sheet as usize].claims.get(line.claim as usize)?;
        let Fact::Holds(hold) = &claim.fact else { return None };
        Some((hold, At { sheet: line.sheet, line: claim.line }))
    }
}

/// Lines are kept in the order of artifacts, so that it does not matter when they came.
fn insert_in_order<T>(sheets: &[Sheet], lines: &mut Vec<T>, new: T, line: fn(&T) -> LineRef) {
    let key = |held: &T| {
        let sheet = &sheets[line(held).sheet as usize];
        (sheet.device, sheet.dialect, &sheet.part)
    };
    let follows = lines
        .last()
        .is_none_or(|last| line(last).sheet == line(&new).sheet || key(last) <= key(&new));
    let place =
        if follows { lines.len() } else { lines.partition_point(|held| key(held) <= key(&new)) };
    lines.insert(place, new);
}

const fn has(set: u64, number: u16) -> bool {
    number < 64 && set >> number & 1 == 1
}

/// Whether a line claims another GPU of the same node for the same job.
fn goes_on(before: &Claim, claim: &Claim) -> bool {
    fn of(claim: &Claim) -> Option<(&Name, &JobName, &Name)> {
        match &claim.fact {
            Fact::Holds(Hold::Claimed { namespace, job, node, .. }) => Some((namespace, job, node)),
            _ => None,
        }
    }
    of(before) == of(claim)
}

/// The tenant whose account this is: the path with dots for slashes.
pub(super) fn tenant_of(account: &str) -> Option<TenantName> {
    account.replace('.', "/").parse().ok()
}
