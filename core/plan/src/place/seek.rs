//! The best place for a gang: below one leaf if it can be, with as little as possible broken up.

use std::ops::Range;

use model::{NodeId, NodeModelId, Within};

use super::ask::{Ask, Size};
use super::ground::{Ground, PoolAt, Rooms};
use super::map::{Pool, lowest};
use super::part::FoundPart;
use super::people::{Person, TenantKey};
use super::shape::Shape;
use super::spot::{Spot, SpotPart, Stretch};
use crate::refusal::PlanRefusal;

impl Ground {
    /// The best place for a gang, all or nothing: a partly used node before an empty one, the
    /// fullest leaf that holds it, then the fullest pod, then the fewest leaves of that pod.
    ///
    /// # Errors
    /// If there is none: the constraint that binds, and what comes nearest.
    pub fn seek(&self, ask: &Ask) -> Result<Spot, PlanRefusal> {
        let mut spot = match &ask.size {
            &Size::Gpus(gpus) => {
                self.within_quota(&ask.job, ask.tenant, ask.capacity, gpus)?;
                self.find(ask).ok_or_else(|| self.why_not(ask))?
            }
            Size::Slices { profile, count } => self.seek_slices(ask, profile, *count)?,
        };
        spot.keys = self.fresh_keys(&ask.job, &spot)?;
        Ok(spot)
    }

    /// How many GPUs are cut for slices is known only with the place, so that one pool may be
    /// within the quota where another is not.
    fn seek_slices(&self, ask: &Ask, profile: &str, count: u32) -> Result<Spot, PlanRefusal> {
        let within =
            |spot: &Spot| self.within_quota(&ask.job, ask.tenant, ask.capacity, self.count(spot));
        let seek = Seek::new(self, ask);
        let allowed = seek.slices(profile, count, &|spot| within(spot).is_ok());
        allowed.map_or_else(
            || {
                let spot = self.find(ask).ok_or_else(|| self.why_not(ask))?;
                within(&spot).map(|()| spot)
            },
            Ok,
        )
    }

    /// The best place, whatever the quota says.
    pub(crate) fn find(&self, ask: &Ask) -> Option<Spot> {
        let seek = Seek::new(self, ask);
        match &ask.size {
            &Size::Gpus(gpus) => seek.together_or_spread(gpus),
            Size::Slices { profile, count } => seek.slices(profile, *count, &|_| true),
        }
    }
}

/// A gang that looks for its place.
pub(crate) struct Seek<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) ask: &'a Ask,
    pub(crate) key: TenantKey,
    pub(crate) person: &'a Person,
}

/// A pool that is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Here<'a> {
    pub(crate) pool: u32,
    pub(crate) map: &'a Pool,
    pub(crate) at: &'a PoolAt,
    pub(crate) shape: &'a Shape,
}

/// A place, and what taking it costs.
struct Found {
    cost: Cost,
    place: Place,
}

/// Where a gang that is not spread could go. What exactly it takes there is decided for the best
/// place only.
enum Place {
    Part(SpotPart),
    Blocks(Range<u32>, Need),
}

/// Lower is better: whether an empty node is broken up, then how far the gang is spread, then
/// how much stays free beside it.
pub(crate) type Cost = (u8, u32);

pub(crate) const ON_A_PARTED_NODE: u8 = 0;
pub(crate) const IN_A_BLOCK: u8 = 1;
const IN_A_LEAF: u8 = 2;

/// What a gang needs of a pool: whole nodes in segments, and some GPUs of one node more.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    pub(crate) nodes: u32,
    pub(crate) rest: u32,
    pub(crate) segment: u32,
}

impl<'a> Seek<'a> {
    pub(crate) fn new(ground: &'a Ground, ask: &'a Ask) -> Self {
        Self { ground, ask, key: ask.tenant, person: ground.people.at(ask.tenant) }
    }

    /// Below one leaf, or else over several of one pod.
    fn together_or_spread(&self, gpus: u32) -> Option<Spot> {
        self.in_one_leaf(gpus).or_else(|| self.spread(gpus))
    }

    fn in_one_leaf(&self, gpus: u32) -> Option<Spot> {
        let mut best: Option<Found> = None;
        for here in self.pools().map(|pool| self.here(pool)) {
            let Some(need) = self.need(here, gpus) else {
                continue;
            };
            let cost = best.as_ref().map(|best| best.cost);
            let found = match need.nodes {
                0 => self.part_below(here, need.rest, cost).map(Found::of_part),
                _ => self.together(here, need, cost),
            };
            let is_better =
                |found: &Found| best.as_ref().is_none_or(|least| found.cost < least.cost);
            best = found.filter(is_better).or(best);
            if best.as_ref().is_some_and(|found| found.cost.1 == 0) {
                break;
            }
        }
        match best?.place {
            Place::Part(part) => Some(Spot { parts: vec![part], ..Spot::default() }),
            Place::Blocks(blocks, need) => self.take(blocks, need),
        }
    }

    fn slices(&self, profile: &str, count: u32, allows: &dyn Fn(&Spot) -> bool) -> Option<Spot> {
        let mut pools = self.pools();
        pools.find_map(|pool| self.slices_of(pool, profile, count).filter(allows))
    }

    fn slices_of(&self, pool: u32, profile: &str, count: u32) -> Option<Spot> {
        let profile = self.ground.profile_in(pool, profile)?;
        let at = &self.ground.map.pools[pool as usize];
        let on = |node: NodeId| &self.ground.map.nodes[node.index()];
        let slices = |suits: &dyn Fn(NodeId) -> bool| self.slices_in(pool, profile, count, suits);
        match self.ask.within {
            Within::Pod => slices(&|_| true),
            Within::Leaf => {
                at.leaves.clone().find_map(|leaf| slices(&|node| on(node).leaf == leaf))
            }
            Within::NvlinkDomain if at.has_domains => {
                at.blocks.clone().find_map(|block| slices(&|node| on(node).block == block))
            }
            Within::Node | Within::NvlinkDomain => {
                at.nodes.iter().find_map(|&one| slices(&|node| node == one))
            }
        }
    }

    /// The pools that the terms allow and where nobody is whom the tenant stays apart from.
    pub(crate) fn pools(&self) -> impl Iterator<Item = u32> {
        let pod = |pool: u32| self.ground.map.pools[pool as usize].pod;
        let pools = self.ask.pools.iter().copied();
        pools.filter(move |&pool| {
            self.person.apart.is_empty() || self.ground.is_apart_in(pod(pool), self.key)
        })
    }

    pub(crate) fn here(&self, pool: u32) -> Here<'a> {
        let ground = self.ground;
        let map = &ground.map.pools[pool as usize];
        let shape = &ground.map.shapes[map.model.index()];
        Here { pool, map, at: &ground.pools[pool as usize], shape }
    }

    /// What the gang needs of the nodes of a pool, unless they cannot give it at all.
    pub(crate) fn need(&self, here: Here<'_>, gpus: u32) -> Option<Need> {
        let each = here.shape.gpus();
        let (nodes, rest) = (gpus / each, gpus % each);
        let segment = self.ask.segment.unwrap_or(1);
        let is_node = match self.ask.within {
            Within::Node => true,
            Within::NvlinkDomain => !here.map.has_domains,
            Within::Leaf | Within::Pod => false,
        };
        let fits_node = !is_node || nodes + u32::from(rest > 0) <= 1;
        let fits_board = rest == 0 || here.shape.sizes().contains(&rest);
        let fits_segment =
            segment == 1 || (rest == 0 && nodes.is_multiple_of(segment) && here.map.has_domains);
        (fits_node && fits_board && fits_segment).then_some(Need { nodes, rest, segment })
    }

    /// The whole gang below one leaf, in one block of it if that is possible. A place that costs
    /// as much as the best one is of no use, so nobody looks for it.
    fn together(&self, here: Here<'_>, need: Need, best: Option<Cost>) -> Option<Found> {
        if need.nodes > self.person.taste.largest_leaf[here.pool as usize] {
            return None;
        }
        let gpus = here.shape.gpus();
        let found = |blocks: Range<u32>, level: u8, empty: u32| Found {
            cost: (level, (empty - need.nodes) * gpus),
            place: Place::Blocks(blocks, need),
        };
        // How many nodes may be empty there.
        let empty = |level: u8| match best {
            Some((best, left)) if best == level => need.nodes..need.nodes + left.div_ceil(gpus),
            Some((best, _)) if best < level => need.nodes..need.nodes,
            _ => need.nodes..u32::MAX,
        };
        if here.map.has_blocks {
            let block = self.first_block(here, empty(IN_A_BLOCK), |block| {
                self.holds(block..block + 1, need).then_some(block)
            });
            if let Some(block) = block {
                let empty = self.ground.blocks[block as usize].count_ones();
                return Some(found(block..block + 1, IN_A_BLOCK, empty));
            }
            if self.ask.within == Within::NvlinkDomain {
                return None;
            }
        }
        let level = if here.map.has_blocks { IN_A_LEAF } else { IN_A_BLOCK };
        let leaf = self.first_leaf(here, empty(level), |leaf| {
            self.holds(self.blocks_below(here, leaf), need).then_some(leaf)
        })?;
        Some(found(self.blocks_below(here, leaf), level, self.ground.leaves[leaf as usize]))
    }

    fn holds(&self, blocks: Range<u32>, need: Need) -> bool {
        match need.rest {
            0 => self.room_in(blocks, need.segment) >= need.nodes,
            _ => self.take(blocks, need).is_some(),
        }
    }

    /// Takes what is needed from some blocks, if they have it.
    fn take(&self, blocks: Range<u32>, need: Need) -> Option<Spot> {
        if self.room_in(blocks.clone(), need.segment) < need.nodes {
            return None;
        }
        let mut spot = Spot { stretches: Vec::with_capacity(1), ..Spot::default() };
        self.take_nodes(blocks.clone(), need.nodes, need.segment, &mut spot.stretches);
        if need.rest > 0 {
            spot.parts.push(self.rest_in(blocks, need.rest, &spot.stretches)?);
        }
        Some(spot)
    }

    /// Takes whole nodes, of which there are enough: from the smallest block that has them all,
    /// or else from the largest ones first.
    pub(crate) fn take_nodes(
        &self,
        blocks: Range<u32>,
        mut left: u32,
        segment: u32,
        stretches: &mut Vec<Stretch>,
    ) {
        if blocks.len() == 1 {
            let block = blocks.start;
            let nodes = lowest(self.eligible(block), left);
            stretches.push(Stretch::new(block, nodes));
            return;
        }
        if left >= self.room_in(blocks.clone(), segment) {
            self.take_all(blocks, segment, stretches);
            return;
        }
        let mut rooms: Vec<(u32, u32)> = blocks
            .map(|block| (whole_segments(self.eligible(block), segment), block))
            .filter(|&(room, _)| room > 0)
            .collect();
        rooms.sort_unstable();
        while left > 0 {
            let holds_all = rooms.iter().position(|&(room, _)| room >= left);
            let Some(place) = holds_all.or_else(|| rooms.len().checked_sub(1)) else {
                return;
            };
            let (room, block) = rooms.remove(place);
            let count = room.min(left);
            stretches.push(Stretch::new(block, lowest(self.eligible(block), count)));
            left -= count;
        }
    }

    /// Takes every whole segment of some blocks.
    pub(crate) fn take_all(&self, blocks: Range<u32>, segment: u32, stretches: &mut Vec<Stretch>) {
        for block in blocks {
            let nodes = self.eligible(block);
            let nodes = lowest(nodes, whole_segments(nodes, segment));
            if nodes != 0 {
                stretches.push(Stretch::new(block, nodes));
            }
        }
    }

    pub(crate) fn is_taken(&self, node: NodeId, stretches: &[Stretch]) -> bool {
        let on = &self.ground.map.nodes[node.index()];
        stretches.iter().any(|at| at.block == on.block && at.nodes() & (1 << on.bit) != 0)
    }

    /// The empty nodes of a block whose software is good enough.
    pub(crate) fn eligible(&self, block: u32) -> u64 {
        self.ground.blocks[block as usize] & self.person.taste.good[block as usize]
    }

    /// Whether software, neighbours below the leaf and on the node are as the tenant wants.
    pub(crate) fn suits_node(&self, node: NodeId) -> bool {
        let on = &self.ground.map.nodes[node.index()];
        self.person.taste.software[usize::from(on.software)]
            && self.ground.may_join_switch(on.switch, self.key)
            && self.ground.is_apart_at(on.switch, self.key)
            && self.ground.is_apart_on(node, self.key)
    }

    pub(crate) fn is_apart_below(&self, leaf: u32) -> bool {
        self.person.apart.is_empty()
            || self.ground.is_apart_at(self.ground.map.leaves[leaf as usize].switch, self.key)
    }

    /// How many nodes the tenant could take of some blocks, in whole segments.
    pub(crate) fn room_in(&self, blocks: Range<u32>, segment: u32) -> u32 {
        blocks.map(|block| whole_segments(self.eligible(block), segment)).sum()
    }

    pub(crate) fn blocks_below(&self, here: Here<'_>, leaf: u32) -> Range<u32> {
        if here.map.has_blocks {
            return self.ground.map.leaves[leaf as usize].blocks.clone();
        }
        // Every leaf is one block, so that they have the same order.
        let block = here.map.blocks.start + (leaf - here.map.leaves.start);
        block..block + 1
    }

    /// The first leaf that gives something, of those with so many empty nodes: the tenant's own
    /// first, however empty, because nobody else can use them, then the fullest.
    pub(crate) fn first_leaf<T>(
        &self,
        here: Here<'_>,
        nodes: Range<u32>,
        give: impl Fn(u32) -> Option<T>,
    ) -> Option<T> {
        let give = |leaf| if self.is_apart_below(leaf) { give(leaf) } else { None };
        if self.has_leaves() {
            let own = self.own_leaves_downwards(here).into_iter().rev();
            let mut own = own.filter(|&leaf| self.ground.leaves[leaf as usize] >= nodes.start);
            if let Some(found) = own.find_map(give) {
                return Some(found);
            }
        }
        let first = here.map.leaves.start;
        let mut listed = self.rooms(here).leaves.upwards(in_buckets(nodes));
        listed.find_map(|(_, leaf)| give(first + leaf))
    }

    /// The same for blocks.
    fn first_block<T>(
        &self,
        here: Here<'_>,
        nodes: Range<u32>,
        give: impl Fn(u32) -> Option<T>,
    ) -> Option<T> {
        let map = &self.ground.map;
        let is_apart = |block: u32| {
            self.person.apart.is_empty() || self.is_apart_below(map.blocks[block as usize].leaf)
        };
        let give = |block| if is_apart(block) { give(block) } else { None };
        if self.has_leaves() {
            let empty = |block: &u32| self.ground.blocks[*block as usize].count_ones();
            let own = self.own_leaves(here).flat_map(|leaf| self.blocks_below(here, leaf));
            let mut own: Vec<u32> = own.filter(|block| empty(block) >= nodes.start).collect();
            own.sort_unstable_by_key(|block| (empty(block), *block));
            if let Some(found) = own.into_iter().find_map(give) {
                return Some(found);
            }
        }
        let first = here.map.blocks.start;
        let mut listed = self.rooms(here).blocks.upwards(in_buckets(nodes));
        listed.find_map(|(_, block)| give(first + block))
    }

    pub(crate) fn rooms(&self, here: Here<'a>) -> &'a Rooms {
        if self.person.keys_leaf() { &here.at.vacant } else { &here.at.open }
    }

    /// Whether there are leaves that nobody else may use. Few tenants have any.
    pub(crate) fn has_leaves(&self) -> bool {
        !self.person.leaves.is_empty()
    }

    pub(crate) fn own_leaves(&self, here: Here<'_>) -> impl Iterator<Item = u32> {
        self.person.leaves.range(here.map.leaves.clone()).copied()
    }

    /// The tenant's own leaves, emptiest first.
    pub(crate) fn own_leaves_downwards(&self, here: Here<'_>) -> Vec<u32> {
        let mut own: Vec<u32> = self.own_leaves(here).collect();
        own.sort_by_key(|&leaf| std::cmp::Reverse(self.ground.leaves[leaf as usize]));
        own
    }

    pub(crate) fn model_of(&self, pool: u32) -> NodeModelId {
        self.ground.map.pools[pool as usize].model
    }
}

impl Found {
    fn of_part(found: FoundPart) -> Self {
        Self { cost: found.cost, place: Place::Part(found.part) }
    }
}

/// What is together stands in the bucket of its number.
const fn in_buckets(nodes: Range<u32>) -> Range<usize> {
    nodes.start as usize..nodes.end as usize
}

/// How many of some nodes are in whole segments.
pub(crate) fn whole_segments(nodes: u64, segment: u32) -> u32 {
    let count = nodes.count_ones();
    // Most gangs have no segments, and to divide takes longer than to ask.
    if segment == 1 { count } else { count - count % segment }
}
