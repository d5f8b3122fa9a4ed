//! What schedulers hold: partitions, reservations, machines, and what is open in all of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use model::admission::{GUARDS, MEMBER_ROLES};
use model::{DeviceId, Dialect, Name, Node, NodeId, Runtime, Share, TenantName, Uplink};
use read::{Direction, Hold};
use smol_str::SmolStr;

use super::found::Findings;
use super::lines::tenant_of;
use super::slurm::Said;
use super::{Atom, Lack, LayerPlace, LayerWeakness, Member, Named, Owner, Spot, Strength};
use crate::device::At;
use crate::verifier::{JobId, Verifier};

impl Verifier {
    /// What holds for all of a cluster. A manager that nothing is known of is told of as silent.
    pub(super) fn judge_cluster(&self, device: DeviceId, found: &mut Findings<'_>) {
        let (mut constrains, mut keeps_apart) = (Vec::new(), Vec::new());
        let mut hung: BTreeSet<(&str, &Name)> = BTreeSet::new();
        let mut said = Said::new();
        for (hold, at) in self.lines(&Spot::Cluster(device)) {
            match hold {
                Hold::SlurmSays { fact, value } => {
                    said.entry(fact).or_default().push((value, at));
                    self.judge_fact(device, fact, value, at, found);
                }
                Hold::ConstrainsDevices(does) => constrains.push((*does, at)),
                Hold::KeepsLabelsApart(does) => keeps_apart.push((*does, at)),
                Hold::Role { namespace: None, group, role } => {
                    let (group, role) = (group.clone(), role.clone());
                    found.open(device, LayerWeakness::WideRole { group, role }, [at]);
                }
                Hold::Together { place, nodes } => {
                    hung.extend(nodes.iter().map(|node| (place.as_str(), node)));
                    self.judge_together(device, place, nodes, at, found);
                }
                Hold::Admits { node, .. }
                | Hold::Fenced { node, .. }
                | Hold::ClusterGuest { node, .. }
                | Hold::GuestTakes { node, .. }
                | Hold::Linked { node, .. }
                | Hold::Schedulable { node, .. }
                | Hold::Allocated { node, .. }
                | Hold::Published { node, .. }
                | Hold::Claimed { node, .. }
                | Hold::Label { node, .. } => {
                    found.open(device, LayerWeakness::StrangeNode { node: node.clone() }, [at]);
                }
                _ => {}
            }
        }
        let is_known = self.is_heard(device, Dialect::Slurm);
        if self.layers.managers.slurm == Some(device) && is_known {
            let is_shut =
                |lines: &[(bool, At)]| !lines.is_empty() && lines.iter().all(|line| line.0);
            let ats = |lines: &[(bool, At)]| lines.iter().map(|line| line.1).collect::<Vec<At>>();
            if !is_shut(&constrains) {
                let (text, ats) = ("ConstrainDevices=yes", ats(&constrains));
                found.absent((device, Dialect::Slurm), text, LayerWeakness::Unconstrained, ats);
            }
            if !is_shut(&keeps_apart) {
                let (text, ats) = ("MCSPlugin=mcs/account", ats(&keeps_apart));
                found.absent((device, Dialect::Slurm), text, LayerWeakness::Unlabelled, ats);
            }
            self.judge_hung(device, &hung, found);
            self.judge_unsaid(device, &said, found);
        }
        if self.layers.managers.kubernetes == Some(device)
            && self.is_heard(device, Dialect::Kubernetes)
        {
            self.judge_guards(device, found);
        }
    }

    /// Everything that refuses what members of tenants must not do is there, and so are the roles
    /// by which they do the rest.
    fn judge_guards(&self, device: DeviceId, found: &mut Findings<'_>) {
        let spot = Spot::Cluster(device);
        let has = |wanted: &Hold| self.lines(&spot).any(|(hold, _)| hold == wanted);
        let guards = GUARDS.iter().flat_map(|guard| {
            let policy: SmolStr = guard.name.into();
            [
                (format!("policy {policy}"), Hold::Refuses { policy: policy.clone() }),
                (format!("the binding of policy {policy}"), Hold::Enforced { policy }),
            ]
        });
        let roles = MEMBER_ROLES
            .iter()
            .map(|role| (format!("role {}", role.name), Hold::Allows { role: role.name.into() }));
        for (what, wanted) in guards.chain(roles) {
            if !has(&wanted) {
                let weakness = LayerWeakness::Unruled { what: what.clone() };
                found.absent((device, Dialect::Kubernetes), what, weakness, []);
            }
        }
    }

    /// Slurm knows of every node below which leaf it hangs, and with which others NVLink joins it.
    fn judge_hung(
        &self,
        device: DeviceId,
        hung: &BTreeSet<(&str, &Name)>,
        found: &mut Findings<'_>,
    ) {
        let fleet = &self.world.fleet;
        for node in &fleet.nodes {
            let leaf = node.uplinks.first().map(|up| &fleet.switches[up.leaf.index()].name);
            let domain = (node.nvlink_domain != node.name).then_some(&node.nvlink_domain);
            let missing = leaf.into_iter().chain(domain);
            for place in missing.filter(|place| !hung.contains(&(place.as_str(), &node.name))) {
                let what = format!("where {} hangs", node.name);
                let (held, planned) = ("unknown".into(), place.to_string());
                let text = format!("{} at {planned}", node.name);
                let weakness = LayerWeakness::Drift { what, held, planned };
                found.absent((device, Dialect::Slurm), text, weakness, []);
            }
        }
    }

    /// Nodes that Slurm takes for neighbours below a leaf, or in an NVLink domain, are.
    fn judge_together(
        &self,
        device: DeviceId,
        place: &str,
        nodes: &[Name],
        at: At,
        found: &mut Findings<'_>,
    ) {
        let fleet = &self.world.fleet;
        let leaf = fleet.switches.iter().position(|switch| switch.name.as_str() == place);
        let is_domain = |node: &Node| node.nvlink_domain.as_str() == place;
        let is_domain = leaf.is_none() && fleet.nodes.iter().any(is_domain);
        for name in nodes {
            let Some(node) = self.layers.names.get(name) else {
                found.open(device, LayerWeakness::StrangeNode { node: name.clone() }, [at]);
                continue;
            };
            let node = &fleet.nodes[node.index()];
            let held = place.to_owned();
            let what = format!("where {name} hangs");
            if !is_domain {
                let hangs = |uplink: &Uplink| Some(uplink.leaf.index()) == leaf;
                if !node.uplinks.iter().any(hangs) {
                    let uplink = node.uplinks.first();
                    let planned =
                        uplink.map(|uplink| fleet.switches[uplink.leaf.index()].name.to_string());
                    let planned = planned.unwrap_or_default();
                    found.open(device, LayerWeakness::Drift { what, held, planned }, [at]);
                }
            } else if node.nvlink_domain.as_str() != place {
                let planned = node.nvlink_domain.to_string();
                found.open(device, LayerWeakness::Drift { what, held, planned }, [at]);
            }
        }
    }

    /// A partition of Slurm lets each account run only where its tenant has something.
    pub(super) fn judge_queue(&self, device: DeviceId, queue: &str, found: &mut Findings<'_>) {
        for (hold, at) in self.lines(&Spot::Queue(device, queue.into())) {
            let Hold::Partition { partition, nodes, accounts, .. } = hold else { continue };
            if accounts.is_empty() && !nodes.is_empty() {
                let partition = partition.clone();
                found.open(device, LayerWeakness::OpenQueue { partition }, [at]);
            }
            if let [account] = accounts.as_slice()
                && account != partition
            {
                // Its tenant's jobs ask for it by its name.
                let what = format!("the partition of account {account}");
                let (held, planned) = (partition.to_string(), account.to_string());
                found.open(device, LayerWeakness::Drift { what, held, planned }, [at]);
            }
            if let [account] = accounts.as_slice()
                && self.account_of(account).is_some_and(|tenant| self.is_all_of(&tenant, nodes))
            {
                continue;
            }
            let mut known: Vec<NodeId> = Vec::with_capacity(nodes.len());
            for node in nodes {
                match self.layers.names.get(node) {
                    Some(node) => known.push(*node),
                    None => {
                        let node = node.clone();
                        found.open(device, LayerWeakness::StrangeNode { node }, [at]);
                    }
                }
            }
            for account in accounts {
                let Some(tenant) = self.account_of(account) else {
                    let (partition, account) = (partition.clone(), account.clone());
                    let weakness = LayerWeakness::StrangeAccount { partition, account };
                    found.open(device, weakness, [at]);
                    continue;
                };
                let foreign = known.iter().find(|node| !self.is_on(&tenant, **node));
                if let Some(&node) = foreign {
                    found.looked_elsewhere = true;
                    let owner = Owner::Tenant(tenant);
                    let runner = Member { atom: Atom::Account(account.clone()), owner };
                    let pair = (runner, self.host_member(node));
                    let place = LayerPlace::Queue(partition.clone());
                    found.breach(place, pair, Strength::Data, [at]);
                }
            }
        }
    }

    /// The tenant whose account this is, if anybody knows it.
    fn account_of(&self, account: &str) -> Option<TenantName> {
        tenant_of(account).filter(|tenant| self.layers.trusts.contains_key(tenant))
    }

    /// Whether these are the nodes where a tenant has something, in the order of the fleet. That is
    /// the rule, and saves looking up every name.
    fn is_all_of(&self, tenant: &TenantName, nodes: &[Name]) -> bool {
        let holdings = self.layers.tenants.get(tenant).into_iter();
        let own = holdings.flat_map(|holdings| holdings.nodes.keys());
        !nodes.is_empty() && own.map(|node| &self.world.fleet.nodes[node.index()].name).eq(nodes)
    }

    /// A tenant that has something is known to every scheduler.
    pub(super) fn judge_tenant(&self, tenant: &TenantName, found: &mut Findings<'_>) {
        let holdings = self.layers.tenants.get(tenant);
        let Some(holdings) = holdings.filter(|holdings| !holdings.nodes.is_empty()) else {
            return;
        };
        let spot = Spot::Tenant(tenant.clone());
        let lines = || self.lines(&spot).map(|(hold, _)| hold);
        let owner = || Owner::Tenant(tenant.clone());
        if self.layers.managers.slurm.is_some() {
            self.judge_queues_of(tenant, &holdings.nodes, found);
        }
        let named = lines().any(|hold| matches!(hold, Hold::Namespace { .. }));
        if self.layers.managers.kubernetes.is_some() && !named {
            found.severed(Dialect::Kubernetes, owner(), None, Lack::Everything, []);
        }
    }

    /// A tenant may run wherever it has something.
    fn judge_queues_of(
        &self,
        tenant: &TenantName,
        nodes: &BTreeMap<NodeId, u32>,
        found: &mut Findings<'_>,
    ) {
        let (mut open, mut ats): (BTreeSet<&NodeId>, _) = (BTreeSet::new(), Vec::new());
        for (hold, at) in self.lines(&Spot::Tenant(tenant.clone())) {
            let Hold::Partition { nodes, .. } = hold else { continue };
            if self.is_all_of(tenant, nodes) {
                return;
            }
            open.extend(nodes.iter().filter_map(|node| self.layers.names.get(node)));
            ats.push(at);
        }
        let missing: Vec<NodeId> =
            nodes.keys().filter(|node| !open.contains(node)).copied().collect();
        if !missing.is_empty() {
            let lacks =
                if ats.is_empty() { Lack::Everything } else { Lack::Some(Named::Nodes(missing)) };
            found.severed(Dialect::Slurm, Owner::Tenant(tenant.clone()), None, lacks, ats);
        }
    }

    /// Slurm keeps exactly the job's nodes for it.
    pub(super) fn judge_reservation(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let Some(device) = self.layers.managers.slurm else {
            return;
        };
        let name = self.job_name(job);
        let owner = || Owner::Job(name.clone());
        let (mut kept, mut ats) = (BTreeSet::new(), Vec::new());
        for (hold, at) in self.lines(&Spot::Job(job)) {
            let Hold::Reserved { account, nodes: reserved, .. } = hold else { continue };
            ats.push(at);
            if nodes.is_empty() {
                let weakness = LayerWeakness::Leftover { layer: Dialect::Slurm, job: name.clone() };
                found.open(device, weakness, [at]);
            }
            for node in reserved {
                match self.layers.names.get(node) {
                    Some(node) => {
                        kept.insert(*node);
                    }
                    None => {
                        let node = node.clone();
                        found.open(device, LayerWeakness::StrangeNode { node }, [at]);
                    }
                }
            }
            let tenant = tenant_of(account);
            if tenant.as_ref() != Some(&name.tenant)
                && let Some(node) = nodes.keys().next()
            {
                let stranger = tenant.map_or(Owner::Nobody, Owner::Tenant);
                let runner = Member { atom: Atom::Account(account.clone()), owner: stranger };
                let host = Member { atom: Atom::Node(*node), owner: owner() };
                found.breach(
                    LayerPlace::Given(Dialect::Slurm),
                    (runner, host),
                    Strength::Data,
                    [at],
                );
            }
        }
        let foreign = kept.iter().find(|node| !nodes.contains_key(node));
        if let Some(foreign) = foreign.filter(|_| !nodes.is_empty()) {
            found.looked_elsewhere = true;
            let account = Atom::Account(name.tenant.as_str().replace('/', ".").into());
            let pair = (Member { atom: account, owner: owner() }, self.host_member(*foreign));
            let place = LayerPlace::Given(Dialect::Slurm);
            found.breach(place, pair, Strength::Data, ats.iter().copied());
        }
        let missing: Vec<NodeId> =
            nodes.keys().filter(|node| !kept.contains(node)).copied().collect();
        if !missing.is_empty() {
            let lacks =
                if ats.is_empty() { Lack::Everything } else { Lack::Some(Named::Nodes(missing)) };
            found.severed(Dialect::Slurm, owner(), None, lacks, ats);
        }
    }

    /// A machine that Kubernetes starts is what its tenant asks for.
    pub(super) fn judge_cluster_guest(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let Some(device) = self.layers.managers.kubernetes else {
            return;
        };
        let name = self.job_name(job);
        let trust = self.trust_of(&name.tenant);
        let mut named: BTreeSet<&NodeId> = BTreeSet::new();
        for (hold, at) in self.lines(&Spot::Job(job)) {
            let Hold::ClusterGuest { confidential, node, .. } = hold else { continue };
            named.extend(self.layers.names.get(node));
            let job = name.clone();
            let (held, planned) = (*confidential, trust.confidential);
            let weakness = if nodes.is_empty() {
                LayerWeakness::Leftover { layer: Dialect::Kubernetes, job }
            } else if trust.runtime == Runtime::Container {
                LayerWeakness::WrongRuntime { job, planned: Runtime::Container }
            } else if held != planned {
                LayerWeakness::NotConfidential { job, held, planned }
            } else {
                continue;
            };
            found.open(device, weakness, [at]);
        }
        let missing: Vec<NodeId> =
            nodes.keys().filter(|node| !named.contains(node)).copied().collect();
        if trust.runtime == Runtime::Vm && !missing.is_empty() {
            let owner = Owner::Job(name.clone());
            let lacks = if missing.len() == nodes.len() {
                Lack::Everything
            } else {
                Lack::Some(Named::Nodes(missing))
            };
            found.severed(Dialect::Kubernetes, owner, None, lacks, []);
        }
    }

    /// The pods of a job reach each other, and its tenant's other jobs do not come between.
    pub(super) fn judge_pods_of(
        &self,
        job: JobId,
        nodes: &BTreeMap<NodeId, Share>,
        found: &mut Findings<'_>,
    ) {
        let manager = self.layers.managers.kubernetes;
        let Some(device) = manager.filter(|device| self.is_heard(*device, Dialect::Kubernetes))
        else {
            return;
        };
        let name = self.job_name(job);
        let (mut ways, mut ats) = (BTreeSet::new(), Vec::new());
        for (hold, at) in self.lines(&Spot::Job(job)) {
            if let Hold::LetsJob { direction, .. } = hold {
                ways.insert(*direction);
                ats.push(at);
            }
        }
        if nodes.is_empty() {
            if !ats.is_empty() {
                let (layer, job) = (Dialect::Kubernetes, name.clone());
                found.open(device, LayerWeakness::Leftover { layer, job }, ats);
            }
            return;
        }
        for way in [Direction::Ingress, Direction::Egress] {
            if !ways.contains(&way) {
                let weakness = LayerWeakness::ShutJob { job: name.clone(), direction: way };
                let text = format!("what lets pods of {name} {}", weakness.place());
                found.absent((device, Dialect::Kubernetes), text, weakness, ats.iter().copied());
            }
        }
    }

    /// Whether a job of the tenant has something of the node.
    fn is_on(&self, tenant: &TenantName, node: NodeId) -> bool {
        let owners = self.layers.shares[node.index()].iter();
        owners.map(|(job, _)| self.job_name(*job)).any(|job| job.tenant == *tenant)
    }

    /// A node and the first who has something of it.
    fn host_member(&self, node: NodeId) -> Member {
        let first = self.layers.shares[node.index()].first();
        let owner = first.map_or(Owner::Nobody, |(job, _)| Owner::Job(self.job_name(*job).clone()));
        Member { atom: Atom::Node(node), owner }
    }
}
