//! Which lines are about which place, and what is judged again when one comes or goes.

use model::{DeviceId, Dialect, Guid, JobName, Name, NodeId, TenantName};
use read::{Claim, DeviceFile, Fact, Hold, Peer};

use super::{LineRef, Spot};
use crate::device::At;
use crate::verifier::{JobId, Verifier};

impl Verifier {
    /// The places that these claims of one device are about, each once.
    fn places_of(&self, device: DeviceId, claims: &[Claim]) -> Vec<Spot> {
        let mut spots = Vec::new();
        let mut before = None;
        for claim in claims {
            self.spots(device, before.replace(claim), claim, &mut spots);
        }
        spots.sort_unstable();
        spots.dedup();
        spots
    }

    /// The places besides a node's own that a claim is about. Where GPUs of one job are claimed one
    /// after the other on one node, the first of them stands for all but in the node itself.
    fn spots(&self, device: DeviceId, before: Option<&Claim>, claim: &Claim, out: &mut Vec<Spot>) {
        let Fact::Holds(hold) = &claim.fact else {
            return;
        };
        let node = |name: &Name| {
            let known = self.layers.names.get(name);
            known.map_or(Spot::Cluster(device), |node| Spot::Node(*node))
        };
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
                out.extend([Spot::Key(device, *pkey), Spot::Port(*guid)]);
            }
            Hold::EveryMember { pkey, .. } => out.push(Spot::Key(device, *pkey)),
            Hold::Schedulable { node: name, .. }
            | Hold::Published { node: name, .. }
            | Hold::Label { node: name, .. } => out.push(node(name)),
            Hold::Allocated { job: of, node: name, .. } => {
                out.push(node(name));
                out.extend(job(of));
            }
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
            Hold::Together { .. } | Hold::ConstrainsDevices(_) | Hold::KeepsLabelsApart(_) => {
                out.push(Spot::Cluster(device));
            }
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
            | Hold::Lets { namespace, .. }
            | Hold::StrictTls { namespace, .. }
            | Hold::GpuQuota { namespace, .. }
            | Hold::Bounded { namespace }
            | Hold::Restricted { namespace, .. }
            | Hold::Role { namespace: Some(namespace), .. } => out.push(space(namespace)),
            Hold::StorageQuota { namespace, class, .. } => {
                out.extend([space(namespace), Spot::Volumes(device, class.clone())]);
            }
            Hold::Role { namespace: None, .. } => out.push(Spot::Cluster(device)),
            Hold::Volumes { class, .. } => out.push(Spot::Volumes(device, class.clone())),
            Hold::ClusterGuest { namespace, job: name, .. } => {
                out.push(space(namespace));
                out.extend(job(name));
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
        for spot in self.places_of(device, gone) {
            self.mark_spot(sheet, &spot);
            if let Spot::Node(node) = spot {
                self.layers.told[node.index()].retain(|line| line.sheet != sheet);
            } else if let Some(lines) = self.layers.about.get_mut(&spot) {
                lines.retain(|line| line.sheet != sheet);
                if lines.is_empty() {
                    self.layers.about.remove(&spot);
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
                | Hold::Allocated { job, .. }
                | Hold::Claimed { job, .. },
            ) = &claim.fact
            {
                self.job_id(job);
            }
            self.spots(device, before.replace(claim), claim, &mut spots);
            for spot in spots.drain(..) {
                self.insert_line(&spot, LineRef { sheet, claim: place });
                if touched.last() != Some(&spot) {
                    touched.push(spot);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched.iter().for_each(|spot| self.mark_spot(sheet, spot));
    }

    /// Lines are kept in the order of artifacts, so that it does not matter when they came.
    fn insert_line(&mut self, spot: &Spot, line: LineRef) {
        let sheets = &self.sheets;
        let key = |sheet: u32| {
            let sheet = &sheets[sheet as usize];
            (sheet.device, sheet.dialect, &sheet.part)
        };
        let lines = match spot {
            Spot::Node(node) => &mut self.layers.told[node.index()],
            spot => self.layers.about.entry(spot.clone()).or_default(),
        };
        let follows = lines
            .last()
            .is_none_or(|last| last.sheet == line.sheet || key(last.sheet) <= key(line.sheet));
        let place = if follows {
            lines.len()
        } else {
            lines.partition_point(|held| key(held.sheet) <= key(line.sheet))
        };
        lines.insert(place, line);
    }

    /// Keeps a node's own sheets in order.
    pub(super) fn keep_sheet(&mut self, id: u32, was: bool, is: bool) {
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
        self.mark_spot(id, &Spot::Node(node));
    }

    /// Marks a place whose lines changed, and what is judged from it.
    fn mark_spot(&mut self, sheet: u32, spot: &Spot) {
        // Only what joins nodes, and labels that say where they are, is judged over all nodes of
        // a job.
        let joins_nodes = [Dialect::Imex, Dialect::Nvlink, Dialect::Pkey, Dialect::Kubernetes];
        let joins_nodes = joins_nodes.contains(&self.sheets[sheet as usize].dialect);
        match spot {
            Spot::Port(guid) => {
                if let Some((node, _)) = self.layers.nic_of(*guid) {
                    self.mark_jobs(node);
                }
            }
            Spot::Node(node) if joins_nodes => self.mark_jobs(*node),
            Spot::Namespace(device, name) => self.mark_neighbours(*device, name),
            _ => {}
        }
        self.layers.dirty.insert(spot.clone());
    }

    /// Marks the jobs on a node, which are judged over all their nodes.
    fn mark_jobs(&mut self, node: NodeId) {
        let jobs = self.layers.shares.get(node.index()).into_iter().flatten();
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
                Some(Fact::Holds(Hold::StorageQuota { class, .. })) => {
                    touched.push(Spot::Volumes(device, class.clone()));
                }
                _ => {}
            }
        }
        self.layers.dirty.extend(touched);
    }

    /// Marks what depends on what a job has of a node.
    pub(super) fn mark_share(&mut self, node: NodeId, job: JobId, tenant: &TenantName) {
        self.layers.dirty.extend([Spot::Node(node), Spot::Job(job)]);
        let joins = |line: &LineRef| {
            let sheet = &self.sheets[line.sheet as usize];
            match &sheet.claims.get(line.claim as usize)?.fact {
                Fact::Holds(Hold::Linked { partition, .. }) => {
                    Some(Spot::Linked(sheet.device, *partition))
                }
                Fact::Holds(Hold::Member { pkey, .. }) => Some(Spot::Key(sheet.device, *pkey)),
                _ => None,
            }
        };
        let ports = self.world.fleet.nodes[node.index()].uplinks.iter();
        let ports =
            ports.filter_map(|uplink| self.layers.about.get(&Spot::Port(Guid::of(uplink.mac))));
        let lines = self.layers.told[node.index()].iter().chain(ports.flatten());
        let spots: Vec<Spot> = lines.filter_map(joins).collect();
        self.layers.dirty.extend(spots);
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

    /// The lines of managers about a node.
    pub(super) fn told(&self, node: NodeId) -> impl Iterator<Item = (&Hold, At)> {
        self.layers.told[node.index()].iter().filter_map(|line| self.hold_at(*line))
    }

    fn hold_at(&self, line: LineRef) -> Option<(&Hold, At)> {
        let claim = self.sheets[line.sheet as usize].claims.get(line.claim as usize)?;
        let Fact::Holds(hold) = &claim.fact else { return None };
        Some((hold, At { sheet: line.sheet, line: claim.line }))
    }
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
