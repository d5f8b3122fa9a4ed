//! Some GPUs of one node: of one that is partly used, or else of an empty one.

use std::ops::Range;

use model::NodeId;

use super::buckets::Buckets;
use super::map::bits;
use super::seek::{Cost, Here, IN_A_BLOCK, ON_A_PARTED_NODE, Seek};
use super::shape::Shape;
use super::spot::{SpotPart, Stretch};

/// Some GPUs of a node, and what taking them costs.
pub(crate) struct FoundPart {
    pub(crate) part: SpotPart,
    pub(crate) cost: Cost,
}

impl Seek<'_> {
    /// Some GPUs of one node, if that costs less than the best place. Otherwise they may be found
    /// or not.
    pub(crate) fn part_below(
        &self,
        here: Here<'_>,
        size: u32,
        best: Option<Cost>,
    ) -> Option<FoundPart> {
        let lowest = here.shape.lowest_rank(size)?;
        match best {
            // Only nodes that are shared can be better, and only where fewer GPUs are free.
            Some((ON_A_PARTED_NODE, left))
                if self.person.parts.is_empty() && here.at.bare.lowest(lowest).is_none() =>
            {
                let ranks = lowest..here.shape.rank_of_free(size + left);
                self.shared_part(here, size, ranks, &|_| true)
            }
            _ => self.part_in(here.pool, size, &|_| true),
        }
    }

    /// Some GPUs of one node that suits.
    pub(crate) fn part_in(
        &self,
        pool: u32,
        size: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        let here = self.here(pool);
        let ranks = here.shape.lowest_rank(size)?..usize::MAX;
        self.shared_part(here, size, ranks.clone(), suits)
            .or_else(|| {
                let mut own = self.person.parts.range((pool, ranks.start, 0)..(pool + 1, 0, 0));
                own.find_map(|&(_, _, node)| self.part_of(here.shape, NodeId(node), size, suits))
            })
            .or_else(|| self.listed_part(here, &here.at.bare, size, ranks.clone(), suits))
            .or_else(|| self.part_of_empty(here, size, suits))
    }

    fn shared_part(
        &self,
        here: Here<'_>,
        size: u32,
        ranks: Range<usize>,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        if !self.person.shares_host() {
            return None;
        }
        self.listed_part(here, &here.at.parts, size, ranks, suits)
    }

    fn listed_part(
        &self,
        here: Here<'_>,
        listed: &Buckets,
        size: u32,
        ranks: Range<usize>,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        listed.upwards(ranks).find_map(|(_, place)| {
            self.part_of(here.shape, here.map.nodes[place as usize], size, suits)
        })
    }

    fn part_of(
        &self,
        shape: &Shape,
        node: NodeId,
        size: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        if !self.suits_node(node) || !suits(node) {
            return None;
        }
        let free = self.ground.nodes[node.index()].free_in_parts();
        let gpus = shape.best(free, size)?;
        let cost = (ON_A_PARTED_NODE, free.count_ones() - size);
        Some(FoundPart { part: SpotPart { node, gpus }, cost })
    }

    /// Breaks up an empty node below the fullest leaf that has one.
    fn part_of_empty(
        &self,
        here: Here<'_>,
        size: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        let shape = here.shape;
        let gpus = shape.best(shape.all(), size)?;
        let in_leaf = |leaf: u32| {
            let mut blocks = self.blocks_below(here, leaf);
            blocks.find_map(|block| {
                let nodes = &self.ground.map.blocks[block as usize].nodes;
                let empty = bits(self.eligible(block)).map(|bit| nodes[bit as usize]);
                empty.into_iter().find(|&node| suits(node))
            })
        };
        let (leaf, node) =
            self.first_leaf(here, 1..u32::MAX, |leaf| Some((leaf, in_leaf(leaf)?)))?;
        let cost = (IN_A_BLOCK, self.ground.leaves[leaf as usize] * shape.gpus() - size);
        Some(FoundPart { part: SpotPart { node, gpus }, cost })
    }

    /// Some GPUs of one node of these blocks beside the nodes that are taken.
    pub(crate) fn rest_in(
        &self,
        blocks: Range<u32>,
        size: u32,
        taken: &[Stretch],
    ) -> Option<SpotPart> {
        let map = &self.ground.map;
        let nodes = blocks.clone().flat_map(|block| &map.blocks[block as usize].nodes).copied();
        let parted = nodes
            .filter(|&node| self.is_parted_for_me(node))
            .filter_map(|node| self.part_of(map.shape_of(node), node, size, &|_| true))
            .min_by_key(|found| (found.cost, found.part.node));
        if let Some(found) = parted {
            return Some(found.part);
        }
        let mut empty = blocks.flat_map(|block| map.nodes_in(block, self.eligible(block)));
        let node = empty.find(|&node| !self.is_taken(node, taken))?;
        let shape = map.shape_of(node);
        Some(SpotPart { node, gpus: shape.best(shape.all(), size)? })
    }

    /// Whether a node is usable, not empty, and open to the tenant.
    fn is_parted_for_me(&self, node: NodeId) -> bool {
        let at = &self.ground.nodes[node.index()];
        let on = &self.ground.map.nodes[node.index()];
        let is_empty = self.ground.blocks[on.block as usize] & (1 << on.bit) != 0;
        at.is_usable()
            && self.ground.wholes[node.index()].is_none()
            && !is_empty
            && self.ground.may_join_node(node, self.key)
    }
}
