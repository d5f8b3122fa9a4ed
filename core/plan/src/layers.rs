//! Who else must know of a job: its nodes, and the managers that speak for them.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Confidential, DeviceId, Fleet, Grade, JobName, ManagerKind, Name, NicRef, NodeId, Part, PodId,
    Runtime, Share, Tenant, Trust,
};

use crate::planner::has_neighbour;
use crate::shape::{Plan, Touched};

/// Where the managers of a fleet's layers are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managers {
    nvlink: BTreeMap<Name, DeviceId>,
    subnets: BTreeMap<PodId, DeviceId>,
    /// Those that speak for the whole cluster.
    clusters: Vec<DeviceId>,
    /// The one of them that is told whose each node is.
    kubernetes: Option<DeviceId>,
    /// Whether there is any layer besides the network.
    has_layers: bool,
}

impl Managers {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        let mut managers =
            Self { has_layers: !fleet.layers.dialects.is_empty(), ..Self::default() };
        for (place, manager) in fleet.managers.iter().enumerate() {
            let device = fleet.manager_device(place);
            match &manager.kind {
                ManagerKind::Nvlink(domain) => {
                    managers.nvlink.insert(domain.clone(), device);
                }
                ManagerKind::Subnet(pod) => {
                    managers.subnets.insert(*pod, device);
                }
                ManagerKind::Slurm => managers.clusters.push(device),
                ManagerKind::Kubernetes => {
                    managers.clusters.push(device);
                    managers.kubernetes = Some(device);
                }
            }
        }
        managers
    }

    /// The devices of other layers that hold a job with these interfaces.
    pub(crate) fn of(&self, fleet: &Fleet, nics: &[NicRef]) -> BTreeSet<DeviceId> {
        let mut devices: BTreeSet<DeviceId> = self.clusters.iter().copied().collect();
        let mut last = None;
        for nic in nics.iter().filter(|nic| last.replace(nic.node) != Some(nic.node)) {
            let node = &fleet.nodes[nic.node.index()];
            let device = fleet.node_device(nic.node);
            let mut dialects = fleet.dialects(device);
            devices.extend(dialects.any(|dialect| !dialect.is_network()).then_some(device));
            devices.extend(self.nvlink.get(&node.nvlink_domain));
            devices.extend(self.subnets.get(&node.pod));
        }
        devices
    }

    /// Their names, for the lease: a job's things rest until all of them were seen without it.
    pub(crate) fn names_of(&self, fleet: &Fleet, nics: &[NicRef]) -> Vec<Name> {
        let devices = self.of(fleet, nics).into_iter();
        let mut names: Vec<Name> =
            devices.map(|device| fleet.device_name(device).clone()).collect();
        names.sort();
        names
    }

    /// Marks the parts that come or go with a job. What a cluster is told of all jobs of a tenant
    /// changes with each of them, and what it is told of the tenant itself with the first and the
    /// last.
    pub(crate) fn touch(&self, plan: &Plan, job: &JobName, nics: &[NicRef], touched: &mut Touched) {
        for device in self.of(&plan.fleet, nics) {
            touched.0.insert((device, Part::Job(job.clone())));
        }
        if let Some(cluster) = self.kubernetes {
            touched.0.extend(nics.iter().map(|nic| (cluster, Part::Node(nic.node))));
        }
        let is_alone = !has_neighbour(&plan.jobs, job);
        for &cluster in &self.clusters {
            touched.0.insert((cluster, Part::Holdings(job.tenant.clone())));
            if is_alone {
                touched.0.insert((cluster, Part::Tenant(job.tenant.clone())));
            }
        }
    }

    /// What the job has of each node, if a layer asks.
    pub(crate) fn shares(&self, fleet: &Fleet, nics: &[NicRef]) -> BTreeMap<NodeId, Share> {
        let mut shares: BTreeMap<NodeId, Share> = BTreeMap::new();
        for nic in nics.iter().filter(|_| self.has_layers) {
            let model = fleet.nodes[nic.node.index()].model;
            let share = shares.entry(nic.node).or_default();
            share.nics |= 1 << nic.nic;
            share.gpus |= fleet.node_models[model.index()].gpus_behind(nic.nic);
        }
        shares
    }
}

/// What a tenant may share, as its document says; one that nobody describes any more shares
/// nothing.
pub(crate) fn trust(tenant: Option<&Tenant>) -> Trust {
    let Some(tenant) = tenant else {
        return Trust::default();
    };
    Trust {
        grade: tenant.grade,
        versions: tenant.versions.clone(),
        runtime: runtime(tenant.grade, tenant.confidential),
        confidential: tenant.confidential,
        attestation: tenant.attestation,
        groups: tenant.groups.clone(),
    }
}

/// Whoever shares a host with others has a kernel of its own; so has whoever keeps the host out.
fn runtime(grade: Grade, confidential: Option<Confidential>) -> Runtime {
    match (grade, confidential) {
        (Grade::Gpu | Grade::Slice | Grade::Shared, _) | (_, Some(_)) => Runtime::Vm,
        (Grade::Domain | Grade::Node, None) => Runtime::Container,
    }
}
