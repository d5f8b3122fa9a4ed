//! Whether a node of a Kubernetes cluster is open to the pods of those who have something of it, and
//! to nobody else's.

use std::collections::{BTreeMap, BTreeSet};

use model::admission::{NOBODYS_NODE, SHARED_NODE, TENANT_LABEL, TENANT_TAINT};
use model::{DeviceId, Dialect, Name, PciAddress, Runtime, TenantName};
use read::{ClaimRequest, ClaimedGpu, GpuClass, Hold};

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
        judge_claims(device, view, found);
        judge_takes(device, view, found);
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
/// given; nor is one of another class than the job can have.
fn judge_claims(device: DeviceId, view: &NodeView<'_>, found: &mut Findings<'_>) {
    let mut asked: BTreeMap<(Who, PciAddress), At> = BTreeMap::new();
    for &(who, gpu, at) in &view.claimed {
        let ClaimedGpu::At { pci, class, request } = gpu else { continue };
        let job = view.job(who);
        let mut drift = |what: &str, held: &str, planned: &str, ats: &[At]| {
            let what = format!("{what} of {} for {pci}", job.name);
            let (held, planned) = (held.into(), planned.into());
            let weakness = LayerWeakness::Drift { what, held, planned };
            found.open(device, weakness, ats.iter().copied());
        };
        let Some(gpu) = view.model.pci.gpu_at(pci) else {
            drift("the claim", "there", "that no GPU is at this address", &[at]);
            continue;
        };
        if let Some(first) = asked.insert((who, pci), at) {
            drift("the claim", "there twice", "that a GPU is claimed once", &[first, at]);
        }
        let planned = class_of(view, who);
        if view.is_owner(who) && class != planned {
            drift("the class of the claim", class.as_str(), planned.as_str(), &[at]);
        }
        if let Some(minor) = view.model.pci.minor(gpu).filter(|minor| *minor != request.minor) {
            let (held, planned) = (request.to_string(), format!("gpu-{minor}"));
            drift("the name in the claim", &held, &planned, &[at]);
        }
    }
}

/// Of which class the GPUs are that a job gets here. A machine gets them whole, past the host.
fn class_of(view: &NodeView<'_>, who: Who) -> GpuClass {
    match view.job(who).trust.runtime {
        _ if view.model.gpu.is_amd() => GpuClass::Amd,
        Runtime::Container => GpuClass::Nvidia,
        Runtime::Vm => GpuClass::NvidiaVfio,
    }
}

/// A machine takes what its claims are for: all of it, and by the names that they give to it.
/// Otherwise it never starts, or starts without a GPU that the job has.
fn judge_takes(device: DeviceId, view: &NodeView<'_>, found: &mut Findings<'_>) {
    let claimed = |who: Who| {
        view.claimed.iter().filter_map(move |line| match line {
            (of, ClaimedGpu::At { request, .. }, at) if *of == who => Some((*request, *at)),
            _ => None,
        })
    };
    let taken = |who: Who| view.taken.iter().filter(move |line| line.0 == who);
    for &(who, machine) in view.started.iter().filter(|(who, _)| view.is_owner(*who)) {
        let name = &view.job(who).name;
        let mut drift = |request: ClaimRequest, held: &str, planned: &str, at: At| {
            let what = format!("{request} of the machine of {name}");
            let (held, planned) = (held.into(), planned.into());
            let weakness = LayerWeakness::Drift { what, held, planned };
            found.open(device, weakness, [machine, at]);
        };
        for (_, request, at) in taken(who) {
            if claimed(who).all(|(asked, _)| asked != *request) {
                drift(*request, "taken", "that no claim of it asks for this", *at);
            }
        }
        for (request, at) in claimed(who) {
            if taken(who).all(|(_, held, _)| *held != request) {
                drift(request, "claimed and not taken", "that the machine has it", at);
            }
        }
    }
}
