//! Whether a node of a Kubernetes cluster is open to the pods of those who have something of it, and
//! to nobody else's.

use std::collections::{BTreeMap, BTreeSet};

use model::admission::{NOBODYS_NODE, SHARED_NODE, TENANT_LABEL, TENANT_TAINT};
use model::{Dialect, JobName, Name, TenantName};
use read::{ClaimedGpu, Hold};

use super::found::Findings;
use super::node::{NodeView, Who};
use super::{LayerWeakness, Spot};
use crate::device::At;
use crate::verifier::Verifier;

impl Verifier {
    /// A node says by a taint whose it is, and by a label for each tenant that its pods may come.
    pub(super) fn judge_fence(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        let manager = self.layers.managers.kubernetes;
        let Some(device) = manager.filter(|device| self.is_heard(*device, Dialect::Kubernetes))
        else {
            return;
        };
        judge_claims(self, view, found);
        let node = &self.world.fleet.nodes[view.node.index()].name;
        let tenants: BTreeSet<&TenantName> =
            view.owners().map(|(_, job)| &job.name.tenant).collect();
        let spaces: Vec<(&Name, At)> =
            tenants.iter().filter_map(|tenant| self.namespace_of(tenant)).collect();
        if spaces.len() < tenants.len() {
            return; // A tenant without a namespace is told of as such.
        }
        let planned = match spaces.as_slice() {
            [] => NOBODYS_NODE,
            [(alone, _)] => alone.as_str(),
            _ => SHARED_NODE,
        };
        let wrong = |what, held: &str, planned: &str| LayerWeakness::WrongFence {
            node: node.clone(),
            what,
            held: held.into(),
            planned: planned.into(),
        };
        for (value, at) in view.fenced.iter().filter(|(value, _)| value.as_str() != planned) {
            found.open(device, wrong("taint", value, planned), [*at]);
        }
        if view.fenced.is_empty() {
            let text = format!("the taint {TENANT_TAINT}={planned} of {node}");
            let ats: Vec<At> = spaces.iter().map(|(_, at)| *at).collect();
            found.absent((device, Dialect::Kubernetes), text, wrong("taint", "none", planned), ats);
        }
        let admits = |name: &Name| view.admits.iter().any(|(held, _)| *held == name);
        for (name, at) in &view.admits {
            if spaces.iter().all(|(space, _)| space != name) {
                found.open(device, wrong("label", name.as_str(), "none for it"), [*at]);
            }
        }
        for (name, at) in spaces.iter().filter(|(name, _)| !admits(name)) {
            let text = format!("the label {TENANT_LABEL}{name} of {node}");
            let weakness = wrong("label", "none", name.as_str());
            found.absent((device, Dialect::Kubernetes), text, weakness, [*at]);
        }
    }

    /// The namespace of a tenant, and the line that says so.
    fn namespace_of(&self, tenant: &TenantName) -> Option<(&Name, At)> {
        self.lines(&Spot::Tenant(tenant.clone())).find_map(|(hold, at)| match hold {
            Hold::Namespace { namespace, .. } => Some((namespace, at)),
            _ => None,
        })
    }
}

/// A claim for a GPU that the node does not have, or that another claim of the job is for, is never
/// given.
fn judge_claims(verifier: &Verifier, view: &NodeView<'_>, found: &mut Findings<'_>) {
    let mut asked: BTreeMap<(Who, ClaimedGpu), At> = BTreeMap::new();
    for &(who, gpu, at) in &view.claimed {
        let ClaimedGpu::At(pci) = gpu else { continue };
        let job: &JobName = view.job(who).name;
        let what = || format!("the claim of {job} for {pci}");
        let drift = |held: &str, planned: &str| LayerWeakness::Drift {
            what: what(),
            held: held.into(),
            planned: planned.into(),
        };
        if view.model.pci.gpu_at(pci).is_none() {
            let device = verifier.layers.managers.kubernetes.unwrap_or(view.device);
            found.open(device, drift("there", "that no GPU is at this address"), [at]);
        } else if let Some(first) = asked.insert((who, gpu), at) {
            let device = verifier.layers.managers.kubernetes.unwrap_or(view.device);
            found.open(device, drift("there twice", "that a GPU is claimed once"), [first, at]);
        }
    }
}
