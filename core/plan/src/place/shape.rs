//! Which GPUs of a node can be one job's.
//!
//! Takes: a kind of node. Gives: for any GPUs that are free, the set to take.
//! Never: a set that is not exactly one NVSwitch partition where the board has any, or that
//! shares an interface or an IOMMU group with a GPU outside.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::NodeModel;

/// Which GPUs of one kind of node can be one job's. GPUs are bits: the lowest is number 0, which
/// is module 1 of the board.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    gpus: u32,
    /// The GPUs behind each interface.
    behind: Vec<u64>,
    sets: Sets,
    sizes: Vec<u32>,
    /// What each rank stands for, ascending.
    keys: Vec<Key>,
    /// By size.
    lowest_ranks: Vec<Option<usize>>,
    /// By rank: how many GPUs are free at least on a node of this rank or above.
    fewest_free: Vec<u32>,
    tables: Option<Tables>,
}

/// The size of the largest set that is free, and how many GPUs are.
type Key = (u32, u32);

/// The largest node whose every state is looked up and not computed.
const TABLED_GPUS: u32 = 8;

impl Shape {
    /// # Panics
    /// If the node has more than 64 GPUs, which no document can say.
    pub(crate) fn new(model: &NodeModel) -> Self {
        let gpus = u32::from(model.gpus);
        assert!(gpus <= 64, "a node of {gpus} GPUs does not fit into a word of 64 bits");
        let sets = Sets::of(model);
        let sizes = sets.sizes(all(gpus));
        let keys = sets.keys(gpus, &sizes);
        let tables = (gpus <= TABLED_GPUS).then(|| Tables::new(gpus, &sets, &keys));
        // The set alone is the least that holds it.
        let lowest_rank = |size| sizes.contains(&size).then(|| position(&keys, (size, size)));
        let lowest_ranks = (0..=gpus).map(lowest_rank).collect();
        let mut fewest_free: Vec<u32> = keys.iter().map(|&(_, free)| free).collect();
        for rank in (1..fewest_free.len()).rev() {
            fewest_free[rank - 1] = fewest_free[rank - 1].min(fewest_free[rank]);
        }
        Self { gpus, behind: behind(model), sets, sizes, keys, lowest_ranks, fewest_free, tables }
    }

    /// How many GPUs the node has.
    pub(crate) const fn gpus(&self) -> u32 {
        self.gpus
    }

    /// All of them.
    pub(crate) fn all(&self) -> u64 {
        all(self.gpus)
    }

    /// How many GPUs a job can have of an empty node, ascending.
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Ranks are below this.
    pub(crate) fn ranks(&self) -> usize {
        self.keys.len()
    }

    /// The place of a node with these GPUs free among all such nodes: by the largest set that
    /// still fits, then by how many are free. Rank 0 has no set left.
    pub(crate) fn rank(&self, free: u64) -> usize {
        match &self.tables {
            Some(tables) => tables.rank(free),
            None => self.position(self.sets.key(free)),
        }
    }

    /// No node below this rank has a set of this size. One of this rank or above may have none
    /// either, where a larger set does not contain a smaller one.
    pub(crate) fn lowest_rank(&self, size: u32) -> Option<usize> {
        self.lowest_ranks.get(size as usize).copied().flatten()
    }

    /// On no node of this rank or above are fewer GPUs free than so many.
    pub(crate) fn rank_of_free(&self, free: u32) -> usize {
        self.fewest_free.partition_point(|&fewest| fewest < free)
    }

    /// The free set of this size after which the most sets remain; of equals the lowest number.
    pub(crate) fn best(&self, free: u64, size: u32) -> Option<u64> {
        match &self.tables {
            Some(tables) => tables.best(free, size),
            None => self.sets.best(free, size),
        }
    }

    /// Whether exactly these GPUs can be one job's.
    pub(crate) fn is_set(&self, gpus: u64) -> bool {
        self.sets.has(gpus)
    }

    /// The interfaces that go with these GPUs, ascending.
    pub(crate) fn nics_of(&self, gpus: u64) -> impl Iterator<Item = u16> {
        let nics = self.behind.iter().zip(0_u16..);
        nics.filter(move |&(behind, _)| behind & gpus != 0).map(|(_, nic)| nic)
    }

    /// The GPUs behind an interface.
    pub(crate) fn gpus_of(&self, nic: u16) -> u64 {
        self.behind[usize::from(nic)]
    }

    fn position(&self, key: Key) -> usize {
        position(&self.keys, key)
    }
}

/// The sets of a kind of node.
#[derive(Clone, Debug)]
enum Sets {
    /// These and no others, ascending.
    Listed(Vec<u64>),
    /// Any number of these bundles together, in the order of their highest GPUs.
    Unions(Vec<u64>),
}

impl Sets {
    fn of(model: &NodeModel) -> Self {
        let bundles = bundles(model);
        let Some(partitions) = model.board_partitions() else {
            return Self::Unions(bundles);
        };
        // The board as a whole needs no partition: its switches join everything by themselves. Of
        // a board whose table nobody has seen, only the whole is safe.
        let all = all(u32::from(model.gpus));
        let mut sets: Vec<u64> = partitions.iter().map(|partition| partition.gpus).collect();
        sets.push(all);
        sets.retain(|&set| set != 0 && set & !all == 0 && is_union(&bundles, set));
        sets.sort_unstable();
        sets.dedup();
        Self::Listed(sets)
    }

    fn has(&self, gpus: u64) -> bool {
        match self {
            Self::Listed(sets) => sets.binary_search(&gpus).is_ok(),
            Self::Unions(bundles) => gpus != 0 && is_union(bundles, gpus),
        }
    }

    fn best(&self, free: u64, size: u32) -> Option<u64> {
        match self {
            Self::Listed(sets) => {
                let lost = |set: u64| inside(sets, free).filter(|other| other & set != 0).count();
                inside(sets, free)
                    .filter(|set| set.count_ones() == size)
                    .min_by_key(|&set| (lost(set), set))
            }
            // Each bundle that remains doubles the sets that remain.
            Self::Unions(bundles) => Fewest::new(inside(bundles, free)).union_of(size),
        }
    }

    /// Every size there is, ascending.
    fn sizes(&self, all: u64) -> Vec<u32> {
        match self {
            Self::Listed(sets) => {
                let mut sizes: Vec<u32> = sets.iter().map(|set| set.count_ones()).collect();
                sizes.sort_unstable();
                sizes.dedup();
                sizes
            }
            Self::Unions(bundles) => Fewest::new(inside(bundles, all)).sizes().collect(),
        }
    }

    /// What a node with these GPUs free is ranked by. Free GPUs that no set reaches count where
    /// they may still become one with others; without a single set nothing counts.
    fn key(&self, free: u64) -> Key {
        match self {
            Self::Listed(sets) => match inside(sets, free).map(u64::count_ones).max() {
                Some(largest) => (largest, free.count_ones()),
                None => (0, 0),
            },
            Self::Unions(bundles) => {
                let largest = inside(bundles, free).map(u64::count_ones).sum();
                (largest, largest)
            }
        }
    }

    /// Every key there can be, ascending; on a node that is not tabled a few more.
    fn keys(&self, gpus: u32, sizes: &[u32]) -> Vec<Key> {
        let mut keys: Vec<Key> = vec![(0, 0)];
        match self {
            Self::Unions(_) => keys.extend(sizes.iter().map(|&size| (size, size))),
            Self::Listed(_) if gpus <= TABLED_GPUS => {
                keys.extend((0..=all(gpus)).map(|free| self.key(free)));
                keys.sort_unstable();
                keys.dedup();
            }
            Self::Listed(_) => {
                keys.extend(sizes.iter().flat_map(|&size| (size..=gpus).map(move |n| (size, n))));
            }
        }
        keys
    }
}

/// The answers for every state of a small node.
#[derive(Clone, Debug)]
struct Tables {
    gpus: u32,
    /// By the free GPUs.
    ranks: Vec<u8>,
    /// By size, then by the free GPUs; nothing is no set.
    best: Vec<u8>,
}

impl Tables {
    fn new(gpus: u32, sets: &Sets, keys: &[Key]) -> Self {
        let states = || 0..=all(gpus);
        let best = |size| states().map(move |free| sets.best(free, size).unwrap_or(0));
        Self {
            gpus,
            ranks: states().map(|free| position(keys, sets.key(free)) as u8).collect(),
            best: (0..=gpus).flat_map(best).map(|set| set as u8).collect(),
        }
    }

    fn rank(&self, free: u64) -> usize {
        usize::from(self.ranks[free as usize])
    }

    fn best(&self, free: u64, size: u32) -> Option<u64> {
        if size > self.gpus {
            return None;
        }
        let set = self.best[(size as usize) << self.gpus | free as usize];
        (set != 0).then_some(u64::from(set))
    }
}

/// The fewest bundles that make up each size.
struct Fewest {
    bundles: Vec<u64>,
    /// After none of the bundles, after the first, and so on: by size, how many are needed.
    rows: Vec<[Option<u8>; 65]>,
}

impl Fewest {
    fn new(bundles: impl Iterator<Item = u64>) -> Self {
        let bundles: Vec<u64> = bundles.collect();
        let mut row = [None; 65];
        row[0] = Some(0);
        let mut rows = vec![row];
        for bundle in &bundles {
            let (before, size) = (row, bundle.count_ones() as usize);
            for sum in size..row.len() {
                let with = before[sum - size].map(|count| count + 1);
                row[sum] = [before[sum], with].into_iter().flatten().min();
            }
            rows.push(row);
        }
        Self { bundles, rows }
    }

    fn sizes(&self) -> impl Iterator<Item = u32> {
        let last = &self.rows[self.bundles.len()];
        (1..=64).filter(|&size| last[size as usize].is_some())
    }

    /// The union of this size that needs the fewest; of equals the lowest number, which is the
    /// one that does without the highest bundles.
    fn union_of(&self, size: u32) -> Option<u64> {
        let mut left = size as usize;
        if left == 0 || left >= self.rows[0].len() {
            return None;
        }
        self.rows[self.bundles.len()][left]?;
        let mut union = 0;
        for (at, bundle) in self.bundles.iter().enumerate().rev() {
            if self.rows[at][left] != self.rows[at + 1][left] {
                union |= bundle;
                left -= bundle.count_ones() as usize;
            }
        }
        Some(union)
    }
}

/// The GPUs that can only go together, because they have an interface or an IOMMU group in
/// common, in the order of their highest.
fn bundles(model: &NodeModel) -> Vec<u64> {
    // An interface is in one group, so that the GPUs behind it are together there.
    let mut groups: BTreeMap<u16, u64> = BTreeMap::new();
    for (nic, behind) in model.nics.iter().zip(behind(model)) {
        *groups.entry(nic.iommu_group).or_default() |= behind;
    }
    for (group, gpu) in model.gpu_groups.iter().zip(0..model.gpus) {
        *groups.entry(*group).or_default() |= 1 << gpu;
    }
    let mut bundles = Vec::new();
    for together in (0..model.gpus).map(|gpu| 1 << gpu).chain(groups.into_values()) {
        join(&mut bundles, together);
    }
    bundles.sort_unstable_by_key(|bundle| Reverse(bundle.leading_zeros()));
    bundles
}

/// Puts GPUs into one bundle, with all that already go with one of them.
fn join(bundles: &mut Vec<u64>, together: u64) {
    let mut joined = together;
    bundles.retain(|&bundle| {
        let apart = bundle & together == 0;
        joined |= if apart { 0 } else { bundle };
        apart
    });
    if joined != 0 {
        bundles.push(joined);
    }
}

/// The GPUs behind each interface: GPU `g` uses `g * nics / gpus`.
fn behind(model: &NodeModel) -> Vec<u64> {
    let nics = model.nics.len();
    let mut behind = vec![0; nics];
    if nics > 0 {
        for gpu in 0..usize::from(model.gpus) {
            behind[gpu * nics / usize::from(model.gpus)] |= 1 << gpu;
        }
    }
    behind
}

/// The rank of a key is how many are below it.
fn position(keys: &[Key], key: Key) -> usize {
    keys.partition_point(|&one| one < key)
}

fn is_union(bundles: &[u64], gpus: u64) -> bool {
    bundles.iter().all(|&bundle| bundle & gpus == 0 || bundle & !gpus == 0)
}

fn inside(sets: &[u64], free: u64) -> impl Iterator<Item = u64> {
    sets.iter().copied().filter(move |set| set & !free == 0)
}

const fn all(gpus: u32) -> u64 {
    match gpus {
        0 => 0,
        _ => u64::MAX >> (64 - gpus),
    }
}

#[cfg(test)]
mod tests;
