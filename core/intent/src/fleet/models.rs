//! Models: what a thousand equal things have in common, said once.

use std::collections::BTreeMap;

use model::{Enforcement, GpuModel, Name, Nic, NodeModel, NodeModelId, SwitchDialect, Versions};
use smol_str::SmolStr;

use super::{gpus, layers};
use crate::Problem;
use crate::form::{self, Form, Shape};
use crate::refusal::Refusals;
use crate::tree::{At, Tree};

/// The models of a fleet. A model that was refused keeps its name, without content.
#[derive(Default)]
pub(super) struct Models {
    pub(super) nodes: Vec<NodeModel>,
    pub(super) node_ids: BTreeMap<SmolStr, Option<NodeModelId>>,
    racks: BTreeMap<SmolStr, Option<Rack>>,
    pub(super) pods: BTreeMap<SmolStr, Option<PodModel>>,
}

/// A kind of rack.
#[derive(Clone, Copy)]
pub(super) struct Rack {
    pub(super) model: NodeModelId,
    pub(super) nodes: u32,
    pub(super) nvlink: NvlinkDomain,
}

/// How far NVLink reaches.
#[derive(Clone, Copy)]
pub(super) enum NvlinkDomain {
    /// HGX: the GPUs of one node.
    Node,
    /// NVL72: all GPUs of one rack.
    Rack,
}

impl form::Word for NvlinkDomain {
    const WORDS: &'static [(&'static str, Self)] = &[("node", Self::Node), ("rack", Self::Rack)];
}

/// A kind of pod.
#[derive(Clone, Copy)]
pub(super) struct PodModel {
    pub(super) rack: Rack,
    pub(super) racks: u32,
    pub(super) racks_per_leaf: u32,
    pub(super) spines: u32,
    pub(super) ways: Ways,
}

impl PodModel {
    pub(super) fn leaves(&self) -> u32 {
        self.racks.div_ceil(self.racks_per_leaf)
    }
}

/// How the devices of a pod are spoken to, unless one says otherwise.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    pub(super) leaf: SwitchDialect,
    pub(super) spine: SwitchDialect,
    pub(super) enforcement: Enforcement,
}

const MODELS: Shape = Shape { what: "models", needs: &["nodes"], may: &["racks", "pods"] };

const NODE: Shape = Shape {
    what: "a node model",
    needs: &["gpu", "gpus", "nics"],
    may: &[
        "gpuIommuGroups",
        "gpuNumaNodes",
        "gpuPci",
        "nicIommuGroups",
        "nicNumaNodes",
        "nicPci",
        "versions",
    ],
};

const GPU: Shape =
    Shape { what: "a GPU model", needs: &["product", "board"], may: &["partitions"] };

const NICS: Shape = Shape {
    what: "interfaces",
    needs: &["count", "rate"],
    may: &["vfs", "numaNodes", "firstIommuGroup"],
};

pub(super) const VERSIONS: Shape = Shape {
    what: "versions",
    needs: &[],
    may: &["driver", "kernel", "firmware", "toolkit", "secureBoot"],
};

const RACK: Shape = Shape { what: "a rack model", needs: &["nodes"], may: &["nvlinkDomain"] };

const POD: Shape = Shape {
    what: "a pod model",
    needs: &["racks"],
    may: &["racksPerLeaf", "spines", "dialect", "leafDialect", "spineDialect", "enforcement"],
};

const SOME_NODES: Shape =
    Shape { what: "the nodes of a rack", needs: &["model", "count"], may: &[] };

const SOME_RACKS: Shape =
    Shape { what: "the racks of a pod", needs: &["model", "count"], may: &[] };

/// No single count is larger, so that products of a few of them are still numbers.
pub(super) const MOST: u64 = 100_000;

/// More interfaces are in no node.
const MOST_NICS: u64 = 1024;

/// More GPUs are in no node: the sets of them are masks of 64 bits.
const MOST_GPUS: u64 = 64;

/// IOMMU groups are numbered below this, so that those of a whole node can follow any first one.
pub(super) const MOST_GROUP: u64 = 32_768;

/// No node has a NUMA node with a larger number.
pub(super) const MOST_NUMA: u64 = 1023;

pub(super) fn read(tree: &Tree, out: &mut Refusals) -> Models {
    let mut models = Models::default();
    let Some(form) = Form::open(tree, &MODELS, out) else {
        return models;
    };
    for (name, tree) in form.named("nodes", out) {
        let id = node(name, tree, out).map(|model| {
            models.nodes.push(model);
            NodeModelId(models.nodes.len() as u32 - 1)
        });
        models.node_ids.insert(name.value.clone(), id);
    }
    for (name, tree) in form.named("racks", out) {
        model_name(name, out);
        let rack = rack(tree, &models, out);
        models.racks.insert(name.value.clone(), rack);
    }
    for (name, tree) in form.named("pods", out) {
        model_name(name, out);
        let pod = pod(tree, &models, out);
        models.pods.insert(name.value.clone(), pod);
    }
    models
}

/// Finds what a name stands for; a name that nothing has is refused.
pub(super) fn find<T: Copy>(
    kind: &'static str,
    known: &BTreeMap<SmolStr, Option<T>>,
    name: &At<SmolStr>,
    out: &mut Refusals,
) -> Option<T> {
    if let Some(found) = known.get(&name.value) {
        return *found;
    }
    let problem = Problem::Dangling {
        kind,
        name: form::shown(&name.value),
        near: out.near(&name.value, known.keys().map(SmolStr::as_str)),
    };
    out.refuse(name.pos, problem);
    None
}

fn model_name(name: &At<SmolStr>, out: &mut Refusals) -> Option<Name> {
    form::name(name, out)
}

fn node(name: &At<SmolStr>, tree: &Tree, out: &mut Refusals) -> Option<NodeModel> {
    let name = model_name(name, out);
    let form = Form::open(tree, &NODE, out)?;
    let gpu = form.form("gpu", &GPU, out);
    let product = gpu.and_then(|gpu| label(&gpu, "product", out));
    let board = gpu.and_then(|gpu| label(&gpu, "board", out));
    let gpus = form.number::<u16>("gpus", 1, MOST_GPUS, out);
    let nics = form.form("nics", &NICS, out).and_then(|form| nics(&form, out));
    let mut versions = Versions::default();
    if let Some(form) = form.form("versions", &VERSIONS, out) {
        change(&mut versions, &form, out);
    }
    let (gpus, mut nics) = (gpus?.value, nics?);
    let placed = gpus::place_nics(&form, &mut nics, out);
    let partitions = gpu.and_then(|gpu| gpus::partitions(&gpu, gpus, out));
    let gpu_groups = gpus::iommu_groups(&form, gpus, &nics, out);
    let gpu_numa = gpus::numa(&form, gpus, &nics, out);
    placed?;
    Some(NodeModel {
        name: name?,
        gpu: GpuModel { product: product?, board: board? },
        gpus,
        partitions,
        gpu_groups: gpu_groups?,
        gpu_numa: gpu_numa?,
        pci: layers::pci(&form, gpus, nics.len(), out),
        nics,
        versions,
    })
}

/// Interfaces in order, spread evenly over the NUMA nodes, each in an IOMMU group of its own.
fn nics(form: &Form<'_>, out: &mut Refusals) -> Option<Vec<Nic>> {
    let count = form.number::<u16>("count", 1, MOST_NICS, out);
    let rate = form.rate("rate", out);
    let vfs = form.number::<u16>("vfs", 0, 4096, out);
    let numa_nodes = form.number::<u16>("numaNodes", 1, 64, out);
    let first_group = form.number::<u16>("firstIommuGroup", 0, MOST_GROUP, out);
    let (count, rate) = (count?.value, rate?.value);
    let vfs = vfs.map_or(0, |at| at.value);
    let numa_nodes = numa_nodes.map_or(1, |at| at.value);
    let first_group = first_group.map_or(0, |at| at.value);
    let nic = |place: u16| Nic {
        rate_bps: rate.bps,
        vfs,
        // The quotient is below the number of NUMA nodes.
        numa: (u32::from(place) * u32::from(numa_nodes) / u32::from(count)) as u16,
        iommu_group: first_group + place,
    };
    Some((0..count).map(nic).collect())
}

/// Changes the versions that the form names.
pub(super) fn change(versions: &mut Versions, form: &Form<'_>, out: &mut Refusals) {
    let components = [
        ("driver", &mut versions.driver),
        ("kernel", &mut versions.kernel),
        ("firmware", &mut versions.firmware),
        ("toolkit", &mut versions.toolkit),
    ];
    for (key, version) in components {
        if let Some(found) = label(form, key, out) {
            *version = found;
        }
    }
    if let Some(secure) = form.truth("secureBoot", out) {
        versions.secure_boot = secure.value;
    }
}

pub(super) fn label(form: &Form<'_>, key: &'static str, out: &mut Refusals) -> Option<SmolStr> {
    let found = form::label(form.get(key)?, key, out)?;
    Some(found.value)
}

fn rack(tree: &Tree, models: &Models, out: &mut Refusals) -> Option<Rack> {
    let form = Form::open(tree, &RACK, out)?;
    let nvlink = form.word("nvlinkDomain", out);
    let nodes = form.form("nodes", &SOME_NODES, out)?;
    let count = nodes.number("count", 1, MOST, out);
    let model =
        nodes.text("model", out).and_then(|name| find("node model", &models.node_ids, &name, out));
    Some(Rack {
        model: model?,
        nodes: count?.value,
        nvlink: nvlink.map_or(NvlinkDomain::Node, |at| at.value),
    })
}

fn pod(tree: &Tree, models: &Models, out: &mut Refusals) -> Option<PodModel> {
    let form = Form::open(tree, &POD, out)?;
    let racks_per_leaf = form.number("racksPerLeaf", 1, MOST, out);
    let spines = form.number("spines", 0, MOST, out);
    let ways = ways(&form, out);
    let racks = form.form("racks", &SOME_RACKS, out)?;
    let count = racks.number("count", 1, MOST, out);
    let rack =
        racks.text("model", out).and_then(|name| find("rack model", &models.racks, &name, out));
    let pod = PodModel {
        rack: rack?,
        racks: count?.value,
        racks_per_leaf: racks_per_leaf.map_or(1, |at| at.value),
        spines: spines.map_or(2, |at| at.value),
        ways,
    };
    if pod.spines == 0 && pod.leaves() > 1 {
        let leaves = pod.leaves() as usize;
        out.refuse(form.pos_of("spines"), Problem::NoSpine { leaves });
    }
    Some(pod)
}

/// `leafDialect` and `spineDialect` say more than `dialect` does.
pub(super) fn ways(form: &Form<'_>, out: &mut Refusals) -> Ways {
    let both = form.word::<SwitchDialect>("dialect", out);
    let leaf = form.word::<SwitchDialect>("leafDialect", out).or(both);
    let spine = form.word::<SwitchDialect>("spineDialect", out).or(both);
    let enforcement = form.word::<Enforcement>("enforcement", out);
    Ways {
        leaf: leaf.map_or(SwitchDialect::Frr, |at| at.value),
        spine: spine.map_or(SwitchDialect::Frr, |at| at.value),
        enforcement: enforcement.map_or(Enforcement::Leaf, |at| at.value),
    }
}
