//! The GPUs of a node model: which of them NVLink can join, and which of them stand together.

use std::collections::BTreeSet;

use model::Nic;

use super::models::{MOST_GROUP, MOST_NUMA};
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
    let said = Numbers { key: "gpuIommuGroups", count: gpus, of: "GPUs", most: MOST_GROUP };
    said.read(form, out).unwrap_or_else(|| {
        let first = nics.iter().map(|nic| nic.iommu_group + 1).max().unwrap_or_default();
        Some((first..).take(usize::from(gpus)).collect())
    })
}

/// The NUMA node of each GPU: what the document says, or spread evenly over those that the
/// interfaces hang on.
pub(super) fn numa(
    form: &Form<'_>,
    gpus: u16,
    nics: &[Nic],
    out: &mut Refusals,
) -> Option<Vec<u16>> {
    let said = Numbers { key: "gpuNumaNodes", count: gpus, of: "GPUs", most: MOST_NUMA };
    said.read(form, out).unwrap_or_else(|| {
        let numa_nodes = nics.iter().map(|nic| u32::from(nic.numa) + 1).max().unwrap_or(1);
        // The quotient is below the number of NUMA nodes.
        let spread = |gpu| (gpu * numa_nodes / u32::from(gpus)) as u16;
        Some((0..u32::from(gpus)).map(spread).collect())
    })
}

/// What the document says of each interface takes the place of what was made up.
pub(super) fn place_nics(form: &Form<'_>, nics: &mut [Nic], out: &mut Refusals) -> Option<()> {
    // There are at most a thousand interfaces.
    let count = nics.len() as u16;
    let groups = Numbers { key: "nicIommuGroups", count, of: "interfaces", most: MOST_GROUP };
    let nodes = Numbers { key: "nicNumaNodes", count, of: "interfaces", most: MOST_NUMA };
    let (groups, nodes) = (groups.read(form, out), nodes.read(form, out));
    if let Some(groups) = groups {
        nics.iter_mut().zip(groups?).for_each(|(nic, group)| nic.iommu_group = group);
    }
    if let Some(nodes) = nodes {
        nics.iter_mut().zip(nodes?).for_each(|(nic, node)| nic.numa = node);
    }
    Some(())
}

/// A list with one number for each of some equal things.
struct Numbers {
    key: &'static str,
    count: u16,
    /// What they are.
    of: &'static str,
    /// The largest number.
    most: u64,
}

impl Numbers {
    /// Nothing if the document has no such list; nothing in it if it is refused.
    fn read(&self, form: &Form<'_>, out: &mut Refusals) -> Option<Option<Vec<u16>>> {
        let tree = form.get(self.key)?;
        Some(self.read_list(tree, out))
    }

    fn read_list(&self, tree: &Tree, out: &mut Refusals) -> Option<Vec<u16>> {
        let Self { key, count, of, most } = *self;
        let items = form::list(tree, key, out)?;
        let numbers: Vec<u16> = items
            .iter()
            .filter_map(|item| form::number(item, key, 0, most, out))
            .map(|number| number.value)
            .collect();
        if items.len() != usize::from(count) {
            out.refuse(tree.pos, Problem::OneForEach { key, found: items.len(), count, of });
            return None;
        }
        (numbers.len() == items.len()).then_some(numbers)
    }
}
