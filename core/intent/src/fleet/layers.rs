//! The layers besides the network: which of them a fleet has, and who is told.

use model::{
    Dialect, Fleet, Labels, Layers, Manager, ManagerKind, Memory, Name, PciAddress, PciLayout,
    PodId,
};
use smol_str::SmolStr;

use super::models::label;
use super::spec::Spec;
use crate::Problem;
use crate::form::{self, Form, Shape, Word};
use crate::refusal::Refusals;
use crate::tree::{At, Tree};

const LABELS: Shape =
    Shape { what: "topology labels", needs: &[], may: &["pod", "leaf", "rack", "nvlinkDomain"] };

impl Word for Dialect {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("vfio", Self::Vfio),
        ("versions", Self::Versions),
        ("mig", Self::Mig),
        ("amd", Self::Amd),
        ("nvlink", Self::Nvlink),
        ("imex", Self::Imex),
        ("pkey", Self::Pkey),
        ("devices", Self::Devices),
        ("vm", Self::Vm),
        ("slurm", Self::Slurm),
        ("kubernetes", Self::Kubernetes),
        ("attest", Self::Attest),
    ];
}

/// More interfaces than this are not told apart: a node's are a mask of 64 bits.
const MOST_NICS: usize = 64;

/// The layers that a fleet's document names.
pub(super) fn read(form: &Form<'_>, out: &mut Refusals) -> Option<At<Layers>> {
    let mut labels = Labels::default();
    if let Some(form) = form.form("topologyLabels", &LABELS, out) {
        let keys = [
            ("pod", &mut labels.pod),
            ("leaf", &mut labels.leaf),
            ("rack", &mut labels.rack),
            ("nvlinkDomain", &mut labels.nvlink_domain),
        ];
        for (key, value) in keys {
            if let Some(found) = label(&form, key, out) {
                *value = found;
            }
        }
    }
    form.get("layers")?;
    let items = form.list("layers", out).iter();
    let mut dialects: Vec<Dialect> = items
        .filter_map(|item| form::one_word::<Dialect>(item, "layers", out))
        .map(|at| at.value)
        .collect();
    dialects.sort();
    dialects.dedup();
    Some(At { value: Layers { dialects, labels }, pos: form.pos_of("layers") })
}

/// The memories that a fleet's document wants scrubbed.
pub(super) fn scrub(form: &Form<'_>, out: &mut Refusals) -> Vec<Memory> {
    let items = form.list("scrub", out).iter();
    let memories = items.filter_map(|item| form::one_word::<Memory>(item, "scrub", out));
    let mut memories: Vec<Memory> = memories.map(|at| at.value).collect();
    memories.sort();
    memories.dedup();
    memories
}

/// Where GPUs and interfaces sit, if the model says so: one address for each.
pub(super) fn pci(form: &Form<'_>, gpus: u16, nics: usize, out: &mut Refusals) -> PciLayout {
    PciLayout {
        gpus: addresses(form, "gpuPci", usize::from(gpus), out),
        nics: addresses(form, "nicPci", nics, out),
    }
}

fn addresses(
    form: &Form<'_>,
    key: &'static str,
    count: usize,
    out: &mut Refusals,
) -> Vec<PciAddress> {
    let Some(tree) = form.get(key) else {
        return Vec::new();
    };
    let items: &[Tree] = form::list(tree, key, out).unwrap_or_default();
    let mut addresses: Vec<PciAddress> = Vec::new();
    for item in items {
        let Some(address) = form::parsed::<PciAddress>(item, key, out) else {
            continue;
        };
        if addresses.contains(&address.value) {
            let problem = Problem::PciTwice { address: address.value.to_string() };
            out.refuse(address.pos, problem);
        }
        addresses.push(address.value);
    }
    if items.len() != count {
        let problem = Problem::OneAddressEach { key, found: items.len(), count };
        out.refuse(tree.pos, problem);
    }
    addresses
}

/// Gives the fleet its layers and their managers, if everything is said that they need.
pub(super) fn lay(fleet: &mut Fleet, spec: &Spec, out: &mut Refusals) {
    let Some(layers) = &spec.layers else {
        return;
    };
    let by_address = [Dialect::Vfio, Dialect::Devices, Dialect::Vm, Dialect::Slurm];
    let by_address = by_address.into_iter().chain([Dialect::Kubernetes]);
    let needs: Option<Dialect> =
        by_address.into_iter().find(|dialect| layers.value.dialects.contains(dialect));
    for model in &fleet.node_models {
        let said = !model.pci.gpus.is_empty() && !model.pci.nics.is_empty();
        if let (Some(layer), false) = (needs, said) {
            let (layer, model) = (layer.as_str(), model.name.to_string());
            out.refuse(layers.pos, Problem::NoPciAddresses { layer, model });
        }
        if model.nics.len() > MOST_NICS {
            let problem = Problem::TooManyNics { model: model.name.to_string(), most: MOST_NICS };
            out.refuse(layers.pos, problem);
        }
    }
    let has = |dialect| layers.value.dialects.contains(&dialect);
    if has(Dialect::Attest) && !has(Dialect::Vm) {
        out.refuse(layers.pos, Problem::LayerAlone { layer: "attest", needs: "vm" });
    }
    fleet.layers = layers.value.clone();
    if !fleet.layers.dialects.is_empty() && !fleet.scrub.is_empty() {
        fleet.layers.dialects.push(Dialect::Scrub);
    }
    for kind in kinds(fleet) {
        let name = manager_name(fleet, &kind);
        if let Some(name) = called(&name).filter(|name| is_new(fleet, name)) {
            fleet.managers.push(Manager { name, kind });
        } else {
            out.refuse(layers.pos, Problem::NoNameForManager { name: name.into() });
        }
    }
}

/// Who is told in each of the fleet's layers that is not a node's own.
fn kinds(fleet: &Fleet) -> Vec<ManagerKind> {
    let has = |dialect| fleet.layers.dialects.contains(&dialect);
    let mut kinds = Vec::new();
    if has(Dialect::Nvlink) {
        let joined = fleet.nodes.iter().filter(|node| node.nvlink_domain != node.name);
        let mut domains: Vec<&Name> = joined.map(|node| &node.nvlink_domain).collect();
        domains.sort();
        domains.dedup();
        kinds.extend(domains.into_iter().cloned().map(ManagerKind::Nvlink));
    }
    if has(Dialect::Pkey) {
        kinds.extend((0..fleet.pods.len() as u32).map(PodId).map(ManagerKind::Subnet));
    }
    kinds.extend(has(Dialect::Slurm).then_some(ManagerKind::Slurm));
    kinds.extend(has(Dialect::Kubernetes).then_some(ManagerKind::Kubernetes));
    kinds
}

fn manager_name(fleet: &Fleet, kind: &ManagerKind) -> SmolStr {
    match kind {
        ManagerKind::Nvlink(domain) => format!("nvlink-{domain}").into(),
        ManagerKind::Subnet(pod) => format!("subnet-{}", fleet.pods[pod.index()].name).into(),
        ManagerKind::Slurm => "slurm".into(),
        ManagerKind::Kubernetes => "kubernetes".into(),
    }
}

fn called(name: &str) -> Option<Name> {
    name.parse().ok()
}

fn is_new(fleet: &Fleet, name: &Name) -> bool {
    let switches = fleet.switches.iter().map(|switch| &switch.name);
    let mut names = switches.chain(fleet.nodes.iter().map(|node| &node.name));
    names.all(|taken| taken != name)
}
