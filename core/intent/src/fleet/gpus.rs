//! The GPUs of a node model: which of them NVLink can join, and which of them stand together.

use std::collections::BTreeSet;

use model::Nic;

use super::models::MOST_GROUP;
use crate::Problem;
use crate::form::{self, Form};
use crate::refusal::Refusals;
use crate::tree::Tree;

/// The sets of modules that the board can join, if the document gives them, in its order: the
/// fabric manager knows them by number.
pub(super) fn partitions(form: &Form<'_>, gpus: u16, out: &mut Refusals) -> Option<Vec<Vec<u16>>> {
    let tree = form.get("partitions")?;
    let already = out.count();
    let sets = form.list("partitions", out);
    if sets.is_empty() && out.count() == already {
        out.refuse(tree.pos, Problem::EmptyList { key: "partitions" });
    }
    let mut seen = BTreeSet::new();
    let mut partitions: Vec<Vec<u16>> = Vec::new();
    for set in sets {
        let modules = partition(set, gpus, out);
        partitions.push(modules.iter().copied().collect());
        if !modules.is_empty() && !seen.insert(modules.clone()) {
            out.refuse(set.pos, Problem::PartitionTwice { modules: modules.into_iter().collect() });
        }
    }
    (out.count() == already).then_some(partitions)
}

/// One set of modules, from 1.
fn partition(tree: &Tree, gpus: u16, out: &mut Refusals) -> BTreeSet<u16> {
    let mut modules = BTreeSet::new();
    let items = form::list(tree, "partitions", out);
    if items.is_some_and(<[Tree]>::is_empty) {
        out.refuse(tree.pos, Problem::EmptyList { key: "partitions" });
    }
    for item in items.unwrap_or_default() {
        let module = form::number::<u16>(item, "partitions", 1, u64::from(gpus), out);
        if let Some(module) = module
            && !modules.insert(module.value)
        {
            let module = module.value;
            out.refuse(item.pos, Problem::ModuleTwice { module });
        }
    }
    modules
}

/// The IOMMU group of each GPU: what the document says, or each in a group of its own after
/// those of the interfaces.
pub(super) fn iommu_groups(
    form: &Form<'_>,
    gpus: u16,
    nics: &[Nic],
    out: &mut Refusals,
) -> Option<Vec<u16>> {
    let key = "gpuIommuGroups";
    let Some(tree) = form.get(key) else {
        let first = nics.iter().map(|nic| nic.iommu_group + 1).max().unwrap_or_default();
        return Some((first..).take(usize::from(gpus)).collect());
    };
    let items = form::list(tree, key, out)?;
    let groups: Vec<u16> = items
        .iter()
        .filter_map(|item| form::number(item, key, 0, MOST_GROUP, out))
        .map(|group| group.value)
        .collect();
    if items.len() != usize::from(gpus) {
        let problem = Problem::OneForEachGpu { key, found: items.len(), gpus };
        out.refuse(tree.pos, problem);
        return None;
    }
    (groups.len() == items.len()).then_some(groups)
}

/// GPUs in order, spread evenly over the NUMA nodes that the interfaces hang on.
pub(super) fn numa(gpus: u16, nics: &[Nic]) -> Vec<u16> {
    let numa_nodes = nics.iter().map(|nic| u32::from(nic.numa) + 1).max().unwrap_or(1);
    // The quotient is below the number of NUMA nodes.
    (0..u32::from(gpus)).map(|gpu| (gpu * numa_nodes / u32::from(gpus)) as u16).collect()
}
