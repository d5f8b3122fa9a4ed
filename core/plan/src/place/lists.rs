//! Lists of what is free: leaves and blocks by how many nodes are empty, partly used nodes by the rank
//! of what is left. Whoever changes who is where goes through here.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{NodeId, SwitchId};

use super::buckets::Buckets;
use super::ground::{Ground, PoolAt, Rooms, Stance};
use super::map::Map;
use super::people::TenantKey;

/// The list that a node stands on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Listed {
    Nowhere,
    Empty,
    Bare(usize),
    Open(usize),
    Own(TenantKey, usize),
}

impl Ground {
    pub(super) fn list_all(&mut self) {
        let map = Arc::clone(&self.map);
        for (block, at) in map.blocks.iter().enumerate() {
            for (bit, node) in at.nodes.iter().enumerate() {
                let here = &self.nodes[node.index()];
                if here.is_usable() {
                    self.idle += u64::from(here.free.count_ones());
                    self.blocks[block] |= 1 << bit;
                    self.leaves[at.leaf as usize] += 1;
                }
            }
        }
        for leaf in 0..map.leaves.len() as u32 {
            self.list_leaf(leaf);
        }
    }

    /// Changes who is on the nodes of a block, or how many of them are empty, and moves on the
    /// lists what that moves. Below a leaf that is shared before and after, that is at most the
    /// leaf and the block.
    pub(super) fn relist(&mut self, block: u32, change: impl FnOnce(&mut Self)) {
        let leaf = self.map.blocks[block as usize].leaf;
        let switch = self.map.leaves[leaf as usize].switch;
        if self.stance_of_switch(switch) != Stance::Open {
            self.delist_leaves(switch);
            change(self);
            self.list_leaves(switch);
            return;
        }
        let before = self.empty_at(leaf, block);
        change(self);
        let after = self.empty_at(leaf, block);
        let pool = self.map.blocks[block as usize].pool;
        self.pools[pool as usize].open.shift(&self.map, leaf, block, before, after);
        if self.stance_of_switch(switch) != Stance::Open {
            for place in 0..self.map.at_switch[switch.index()].len() {
                self.delist_open(self.map.at_switch[switch.index()][place]);
            }
            self.list_leaves(switch);
        }
    }

    /// How many nodes are empty below a leaf, and in a block.
    fn empty_at(&self, leaf: u32, block: u32) -> (u32, u32) {
        (self.leaves[leaf as usize], self.blocks[block as usize].count_ones())
    }

    fn delist_open(&mut self, leaf: u32) {
        let pool = &mut self.pools[self.map.leaves[leaf as usize].pool as usize];
        pool.open.remove(&self.map, leaf, &self.blocks, &self.leaves);
    }

    fn list_leaves(&mut self, switch: SwitchId) {
        for place in 0..self.map.at_switch[switch.index()].len() {
            self.list_leaf(self.map.at_switch[switch.index()][place]);
        }
    }

    fn delist_leaves(&mut self, switch: SwitchId) {
        for place in 0..self.map.at_switch[switch.index()].len() {
            self.delist_leaf(self.map.at_switch[switch.index()][place]);
        }
    }

    fn list_leaf(&mut self, leaf: u32) {
        let at = &self.map.leaves[leaf as usize];
        let stance = self.stance_of_switch(at.switch);
        let pool = &mut self.pools[at.pool as usize];
        match stance {
            Stance::Empty => {
                pool.open.insert(&self.map, leaf, &self.blocks, &self.leaves);
                pool.vacant.insert(&self.map, leaf, &self.blocks, &self.leaves);
            }
            Stance::Open => pool.open.insert(&self.map, leaf, &self.blocks, &self.leaves),
            Stance::Own(key) => drop(self.people.at_mut(key).leaves.insert(leaf)),
            Stance::Mixed => {}
        }
    }

    fn delist_leaf(&mut self, leaf: u32) {
        let at = &self.map.leaves[leaf as usize];
        let stance = self.stance_of_switch(at.switch);
        let pool = &mut self.pools[at.pool as usize];
        match stance {
            Stance::Empty => {
                pool.open.remove(&self.map, leaf, &self.blocks, &self.leaves);
                pool.vacant.remove(&self.map, leaf, &self.blocks, &self.leaves);
            }
            Stance::Open => pool.open.remove(&self.map, leaf, &self.blocks, &self.leaves),
            Stance::Own(key) => drop(self.people.at_mut(key).leaves.remove(&leaf)),
            Stance::Mixed => {}
        }
    }

    /// On which list a node belongs.
    fn listed(&self, node: NodeId) -> Listed {
        let at = &self.nodes[node.index()];
        if !at.is_usable() || self.wholes[node.index()].is_some() {
            return Listed::Nowhere;
        }
        let rank = || self.map.shape_of(node).rank(at.free);
        match self.stance_of_node(node) {
            Stance::Empty if at.quarantined == 0 => Listed::Empty,
            Stance::Empty => Listed::Bare(rank()),
            Stance::Open => Listed::Open(rank()),
            Stance::Own(key) => Listed::Own(key, rank()),
            Stance::Mixed => Listed::Nowhere,
        }
    }

    pub(super) fn list(&mut self, node: NodeId) {
        let on = self.map.nodes[node.index()];
        if self.nodes[node.index()].is_usable() {
            self.idle += u64::from(self.free(node).count_ones());
        }
        let listed = self.listed(node);
        let pool = &mut self.pools[on.pool as usize];
        match listed {
            Listed::Nowhere => {}
            Listed::Empty => {
                self.blocks[on.block as usize] |= 1 << on.bit;
                self.leaves[on.leaf as usize] += 1;
            }
            Listed::Bare(rank) => pool.bare.insert(rank, on.place),
            Listed::Open(rank) => pool.parts.insert(rank, on.place),
            Listed::Own(key, rank) => {
                self.people.at_mut(key).parts.insert((on.pool, rank, node.0));
            }
        }
        self.list_sliced(node);
    }

    pub(super) fn delist(&mut self, node: NodeId) {
        let on = self.map.nodes[node.index()];
        if self.nodes[node.index()].is_usable() {
            self.idle -= u64::from(self.free(node).count_ones());
        }
        let listed = self.listed(node);
        let pool = &mut self.pools[on.pool as usize];
        match listed {
            Listed::Nowhere => {}
            Listed::Empty => {
                self.blocks[on.block as usize] &= !(1 << on.bit);
                self.leaves[on.leaf as usize] -= 1;
            }
            Listed::Bare(rank) => pool.bare.remove(rank, on.place),
            Listed::Open(rank) => pool.parts.remove(rank, on.place),
            Listed::Own(key, rank) => {
                self.people.at_mut(key).parts.remove(&(on.pool, rank, node.0));
            }
        }
        self.delist_sliced(node);
    }

    /// Lists a node that nobody is on any more and that is not whole.
    pub(super) fn list_bare(&mut self, node: NodeId) {
        if let Listed::Bare(rank) = self.listed(node) {
            let on = self.map.nodes[node.index()];
            self.pools[on.pool as usize].bare.insert(rank, on.place);
        }
    }
}

impl PoolAt {
    pub(super) fn new(map: &Map, pool: usize) -> Self {
        let at = &map.pools[pool];
        let ranks = map.shapes[at.model.index()].ranks();
        let nodes = at.nodes.len() as u32;
        Self {
            open: Rooms::new(map, pool),
            vacant: Rooms::new(map, pool),
            parts: Buckets::new(ranks, nodes),
            bare: Buckets::new(ranks, nodes),
            sliced: BTreeMap::new(),
        }
    }
}

impl Rooms {
    fn new(map: &Map, pool: usize) -> Self {
        let at = &map.pools[pool];
        let leaves = at.leaves.len() as u32;
        let blocks = map.leaves[at.leaves.start as usize..at.leaves.end as usize]
            .iter()
            .map(|leaf| leaf.blocks.len() as u32)
            .sum();
        Self {
            leaves: Buckets::new(at.largest_leaf as usize + 1, leaves),
            blocks: Buckets::new(65, if at.has_blocks { blocks } else { 0 }),
            nodes: 0,
        }
    }

    fn insert(&mut self, map: &Map, leaf: u32, blocks: &[u64], leaves: &[u32]) {
        let at = &map.leaves[leaf as usize];
        let pool = &map.pools[at.pool as usize];
        self.nodes += leaves[leaf as usize];
        self.leaves.insert(leaves[leaf as usize] as usize, leaf - pool.leaves.start);
        if pool.has_blocks {
            let first = map.leaves[pool.leaves.start as usize].blocks.start;
            for block in at.blocks.clone() {
                self.blocks.insert(blocks[block as usize].count_ones() as usize, block - first);
            }
        }
    }

    /// Moves a leaf and one of its blocks, which have other numbers of empty nodes than before.
    fn shift(&mut self, map: &Map, leaf: u32, block: u32, before: (u32, u32), after: (u32, u32)) {
        let pool = &map.pools[map.leaves[leaf as usize].pool as usize];
        if before.0 != after.0 {
            let member = leaf - pool.leaves.start;
            self.nodes = self.nodes - before.0 + after.0;
            self.leaves.remove(before.0 as usize, member);
            self.leaves.insert(after.0 as usize, member);
        }
        if pool.has_blocks && before.1 != after.1 {
            let member = block - pool.blocks.start;
            self.blocks.remove(before.1 as usize, member);
            self.blocks.insert(after.1 as usize, member);
        }
    }

    fn remove(&mut self, map: &Map, leaf: u32, blocks: &[u64], leaves: &[u32]) {
        let at = &map.leaves[leaf as usize];
        let pool = &map.pools[at.pool as usize];
        self.nodes -= leaves[leaf as usize];
        self.leaves.remove(leaves[leaf as usize] as usize, leaf - pool.leaves.start);
        if pool.has_blocks {
            let first = map.leaves[pool.leaves.start as usize].blocks.start;
            for block in at.blocks.clone() {
                self.blocks.remove(blocks[block as usize].count_ones() as usize, block - first);
            }
        }
    }
}
