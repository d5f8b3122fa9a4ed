//! Whose everything is on one device, as the plan says.

use std::collections::{BTreeMap, BTreeSet};

use model::{DeviceId, NodeId, NodeModel, Runtime, Share, Trust, Versions};

use crate::World;

/// What the rule knows of a device and of the others.
pub(super) struct Facts {
    /// The node that it is; none for one who manages several.
    pub(super) node: Option<Node>,
    /// Every node by its name.
    pub(super) nodes: BTreeMap<String, Node>,
    /// Every job that there is.
    pub(super) jobs: BTreeSet<String>,
}

/// A node, and who has what of it.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) model: NodeModel,
    pub(super) versions: Versions,
    /// By job: what it has, and what its tenant demands.
    pub(super) jobs: BTreeMap<String, (Share, Trust)>,
}

impl Facts {
    pub(super) fn of(world: &World, device: DeviceId) -> Self {
        let fleet = &world.plan.fleet;
        let ids = (0..fleet.nodes.len() as u32).map(NodeId);
        let nodes: BTreeMap<String, Node> =
            ids.map(|id| Node::of(world, id)).map(|node| (node.name.clone(), node)).collect();
        let node = fleet.node_of(device).map(|id| &fleet.nodes[id.index()]);
        let jobs = nodes.values().flat_map(|node| node.jobs.keys().cloned()).collect();
        let node = node.and_then(|node| nodes.get(node.name.as_str())).cloned();
        Self { node, nodes, jobs }
    }
}

impl Node {
    fn of(world: &World, id: NodeId) -> Self {
        let fleet = &world.plan.fleet;
        let node = &fleet.nodes[id.index()];
        let shares = world.owners.shares.get(&id).into_iter().flatten();
        let jobs = shares.filter_map(|(job, share)| {
            let trust = world.owners.trusts.get(&job.tenant)?;
            Some((job.to_string(), (*share, trust.clone())))
        });
        Self {
            name: node.name.to_string(),
            model: fleet.node_models[node.model.index()].clone(),
            versions: node.versions.clone(),
            jobs: jobs.collect(),
        }
    }

    /// Whose a GPU is; none is nobody, also where there is no such GPU.
    pub(super) fn owner_of_gpu(&self, gpu: u16) -> Option<&str> {
        let has = |share: &Share| gpu < 64 && share.gpus >> gpu & 1 == 1;
        self.jobs.iter().find(|(_, (share, _))| has(share)).map(|(job, _)| job.as_str())
    }

    /// Whose an interface is.
    pub(super) fn owner_of_nic(&self, nic: u16) -> Option<&str> {
        let has = |share: &Share| nic < 64 && share.nics >> nic & 1 == 1;
        self.jobs.iter().find(|(_, (share, _))| has(share)).map(|(job, _)| job.as_str())
    }

    pub(super) fn is_in_machine(&self, job: &str) -> bool {
        self.jobs.get(job).is_some_and(|(_, trust)| trust.runtime == Runtime::Vm)
    }

    pub(super) fn has_gpu(&self, gpu: u16) -> bool {
        gpu < self.model.gpus
    }
}
