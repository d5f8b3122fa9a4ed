//! What a node runs, and what it is said to be.

use model::{Component, DeviceId, Dialect, compare_versions};
use smol_str::SmolStr;

use super::LayerWeakness;
use super::found::Findings;
use super::machine::Machine;
use super::node::NodeView;
use crate::device::At;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    /// A node runs what the fleet says.
    pub(super) fn judge_versions(&self, view: &Machine<'_>, found: &mut Findings<'_>) {
        if !self.hears(view.device, Dialect::Versions) {
            return;
        }
        let planned = &self.world.fleet.nodes[view.node.index()].versions;
        for &component in Component::ALL {
            let planned = match component {
                Component::Driver => &planned.driver,
                Component::Kernel => &planned.kernel,
                Component::Firmware => &planned.firmware,
                Component::Toolkit => &planned.toolkit,
            };
            let runs: Vec<(&SmolStr, At)> = view.runs_of(component).collect();
            let what = || component.to_string();
            match runs.as_slice() {
                [] if planned.is_empty() => {}
                [] => found.unsaid(Dialect::Versions, view.node, what(), planned),
                [(held, at), others @ ..] => {
                    if *held != planned && !planned.is_empty() {
                        drift(view.device, what(), held, planned, Some(*at), found);
                    }
                    if let Some((other, other_at)) = others.iter().find(|(other, _)| other != held)
                    {
                        let weakness = Weakness::Contradiction {
                            what: "a version",
                            first: format!("{component} {held}"),
                            second: format!("{component} {other}"),
                        };
                        found.weak(Some(view.device), weakness, [*at, *other_at]);
                    }
                }
            }
        }
        let word = |securely: bool| if securely { "secure" } else { "not secure" };
        for &(securely, at) in view.boot.iter().filter(|line| line.0 != planned.secure_boot) {
            let planned = word(planned.secure_boot);
            drift(view.device, "its boot".into(), word(securely), planned, Some(at), found);
        }
        if view.boot.is_empty() {
            let planned = word(planned.secure_boot);
            found.unsaid(Dialect::Versions, view.node, "its boot".into(), planned);
        }
    }

    /// Each tenant on a node finds there at least what it demands.
    pub(super) fn judge_demands(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        if !self.speaks(view.device, Dialect::Versions) {
            return;
        }
        let mut last = None;
        for (_, job) in view.owners() {
            let tenant = &job.name.tenant;
            if last.replace(tenant) == Some(tenant) {
                continue;
            }
            let policy = &job.trust.versions;
            for (component, needs) in &policy.at_least {
                let lines = view.runs.iter().filter(|line| line.0.as_str() == component.as_str());
                let lines: Vec<_> = lines.collect();
                let enough = |has: &str| !compare_versions(has, needs).is_lt();
                if !lines.is_empty() && lines.iter().all(|(_, has, _)| enough(has)) {
                    continue;
                }
                let old = lines.iter().find(|(_, has, _)| !enough(has));
                let weakness = LayerWeakness::OldVersion {
                    tenant: tenant.clone(),
                    component: component.clone(),
                    needs: needs.clone(),
                    has: old.map_or_else(|| "unknown".into(), |(_, has, _)| (*has).clone()),
                };
                found.open(view.device, weakness, old.map(|(.., at)| *at));
            }
            let booted = !view.boot.is_empty() && view.boot.iter().all(|(securely, _)| *securely);
            if policy.secure_boot && !booted {
                let weakness = LayerWeakness::InsecureBoot { tenant: tenant.clone() };
                found.open(view.device, weakness, view.boot.iter().map(|(_, at)| *at));
            }
        }
    }

    /// What managers say of a node is what the fleet says of it.
    pub(super) fn judge_labels(&self, view: &Machine<'_>, found: &mut Findings<'_>) {
        let fleet = &self.world.fleet;
        let node = &fleet.nodes[view.node.index()];
        let keys = &fleet.layers.labels;
        let leaf = node.uplinks.first().and_then(|uplink| fleet.switches.get(uplink.leaf.index()));
        let hostname = SmolStr::new_static("kubernetes.io/hostname");
        let planned = [
            (&hostname, Some(&node.name)),
            (&keys.pod, Some(&fleet.pods[node.pod.index()].name)),
            (&keys.leaf, leaf.map(|leaf| &leaf.name)),
            (&keys.rack, Some(&node.rack)),
            (&keys.nvlink_domain, Some(&node.nvlink_domain)),
        ];
        // Of a node that nobody labels or publishes, Kubernetes does not speak.
        let is_known = !view.labels.is_empty() || !view.published.is_empty();
        for (key, planned) in planned.into_iter().filter_map(|(key, name)| Some((key, name?))) {
            let what = || format!("the label {key}");
            let lines = || view.labels.iter().filter(|line| line.0 == key);
            for &(_, value, at) in lines().filter(|line| planned.as_str() != line.1) {
                drift(view.device, what(), value, planned.as_str(), Some(at), found);
            }
            if is_known && lines().next().is_none() {
                found.unsaid(Dialect::Kubernetes, view.node, what(), planned.as_str());
            }
        }
        for (place, &(minor, pci, at)) in view.published.iter().enumerate() {
            // Of a pool in which a device stands twice, nobody is given anything.
            if view.published[..place].iter().any(|(held, ..)| *held == minor) {
                let what = format!("how often device gpu-{minor} is published");
                drift(view.device, what, "twice", "once", Some(at), found);
            }
            let gpu = view.model.pci.gpu_of_minor(minor);
            let planned = gpu.and_then(|gpu| view.model.pci.gpus.get(usize::from(gpu)));
            if planned != Some(&pci) {
                let planned = planned.map_or("that there is none".into(), ToString::to_string);
                let what = format!("the published device gpu-{minor}");
                drift(view.device, what, &pci.to_string(), &planned, Some(at), found);
            }
        }
        for (gpu, pci) in (0..).zip(&view.model.pci.gpus).filter(|_| is_known) {
            let Some(minor) = view.model.pci.minor(gpu) else { continue };
            if view.published.iter().all(|(held, ..)| *held != minor) {
                let what = format!("the published device gpu-{minor}");
                found.unsaid(Dialect::Kubernetes, view.node, what, &pci.to_string());
            }
        }
    }
}

impl Machine<'_> {
    fn runs_of(&self, component: Component) -> impl Iterator<Item = (&SmolStr, At)> {
        let lines = self.runs.iter().filter(move |line| line.0 == component);
        lines.map(|(_, version, at)| (*version, *at))
    }
}

pub(super) fn drift(
    device: DeviceId,
    what: String,
    held: &str,
    planned: &str,
    at: Option<At>,
    found: &mut Findings<'_>,
) {
    let weakness = LayerWeakness::Drift { what, held: held.into(), planned: planned.into() };
    found.open(device, weakness, at);
}
