use std::ops::Range;

use model::{NodeId, NodeModelId, Within};

use super::ask::{Ask, Size};
use super::ground::{Ground, Rooms};
use super::map::{Pool, bits, lowest};
use super::people::{Person, TenantKey};
use super::spot::{Part, Spot, Stretch};
use crate::refusal::Refusal;

impl Ground {
    /// The best place for a gang, all or nothing: a partly used node before an empty one, the
    /// fullest leaf that holds it, then the fullest pod, then the fewest leaves of that pod.
    ///
    /// # Errors
    /// If there is none: the constraint that binds, and what comes nearest.
    pub fn seek(&self, ask: &Ask) -> Result<Spot, Refusal> {
        let spot = match &ask.size {
            &Size::Gpus(gpus) => {
                self.within_quota(&ask.job, ask.tenant, ask.capacity, gpus)?;
                self.find(ask).ok_or_else(|| self.why_not(ask))?
            }
            Size::Slices { profile, count } => self.seek_slices(ask, profile, *count)?,
        };
        let keys = self.fresh_keys(&ask.job, &spot)?;
        Ok(Spot { keys, ..spot })
    }

    /// How many GPUs are cut for slices is known only with the place, so that one pool may be
    /// within the quota where another is not.
    fn seek_slices(&self, ask: &Ask, profile: &str, count: u32) -> Result<Spot, Refusal> {
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

/// A place, and what taking it costs.
struct Found {
    cost: Cost,
    place: Place,
}

/// Where a gang that is not spread could go. What exactly it takes there is decided for the best
/// place only.
enum Place {
    Part(Part),
    Blocks(Range<u32>, Need),
}

/// Some GPUs of a node, and what taking them costs.
pub(crate) struct FoundPart {
    pub(crate) part: Part,
    cost: Cost,
}

/// Lower is better: whether an empty node is broken up, then how far the gang is spread, then
/// how much stays free beside it.
type Cost = (u8, u32);

const ON_A_PARTED_NODE: u8 = 0;
const IN_A_BLOCK: u8 = 1;
const IN_A_LEAF: u8 = 2;

/// What a gang needs of a pool: whole nodes in segments, and some GPUs of one node more.
#[derive(Clone, Copy)]
struct Need {
    nodes: u32,
    rest: u32,
    segment: u32,
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
        for pool in self.pools() {
            let Some(need) = self.need(pool, gpus) else {
                continue;
            };
            let found = match need.nodes {
                0 => self.part_in(pool, need.rest, &|_| true).map(FoundPart::into_found),
                _ if best.as_ref().is_some_and(|best| !self.may_beat(pool, need, best.cost)) => {
                    continue;
                }
                _ => self.together(pool, need),
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
                self.blocks_of(at).find_map(|block| slices(&|node| on(node).block == block))
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
        pools.filter(move |&pool| self.ground.is_apart_in(pod(pool), self.key))
    }

    /// What the gang needs of the nodes of a pool, unless they cannot give it at all.
    fn need(&self, pool: u32, gpus: u32) -> Option<Need> {
        let shape = self.ground.map.shape(pool);
        let at = &self.ground.map.pools[pool as usize];
        let (nodes, rest) = (gpus / shape.gpus(), gpus % shape.gpus());
        let segment = self.ask.segment.unwrap_or(1);
        let is_node = match self.ask.within {
            Within::Node => true,
            Within::NvlinkDomain => !at.has_domains,
            Within::Leaf | Within::Pod => false,
        };
        let fits_node = !is_node || nodes + u32::from(rest > 0) <= 1;
        let fits_board = rest == 0 || shape.sizes().contains(&rest);
        let fits_segment =
            segment == 1 || (rest == 0 && nodes.is_multiple_of(segment) && at.has_domains);
        (fits_node && fits_board && fits_segment).then_some(Need { nodes, rest, segment })
    }

    /// Some GPUs of one node that suits.
    pub(crate) fn part_in(
        &self,
        pool: u32,
        size: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        let lowest = self.ground.map.shape(pool).lowest_rank(size)?;
        let at = &self.ground.pools[pool as usize];
        let node_at =
            |(_, place): (usize, u32)| self.ground.map.pools[pool as usize].nodes[place as usize];
        let shared = self.person.shares_host().then(|| at.parts.upwards(lowest).map(node_at));
        let own = self.person.parts.range((pool, lowest, 0)..(pool + 1, 0, 0));
        let parted = shared.into_iter().flatten().chain(own.map(|&(_, _, node)| NodeId(node)));
        let bare = at.bare.upwards(lowest).map(node_at);
        parted
            .chain(bare)
            .filter(|&node| self.suits_node(node) && suits(node))
            .find_map(|node| self.part_of(node, size))
            .or_else(|| self.part_of_empty(pool, size, suits))
    }

    fn part_of(&self, node: NodeId, size: u32) -> Option<FoundPart> {
        let free = self.ground.free(node);
        let gpus = self.ground.map.shape_of(node).best(free, size)?;
        let cost = (ON_A_PARTED_NODE, free.count_ones() - size);
        Some(FoundPart { part: Part { node, gpus }, cost })
    }

    /// Breaks up an empty node below the fullest leaf that has one.
    fn part_of_empty(
        &self,
        pool: u32,
        size: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<FoundPart> {
        let shape = self.ground.map.shape(pool);
        let gpus = shape.best(shape.all(), size)?;
        let in_leaf = |leaf: u32| {
            let mut blocks = self.ground.map.leaves[leaf as usize].blocks.clone();
            blocks.find_map(|block| {
                let nodes = &self.ground.map.blocks[block as usize].nodes;
                let empty = bits(self.eligible(block)).map(|bit| nodes[bit as usize]);
                empty.into_iter().find(|&node| suits(node))
            })
        };
        let (leaf, node) = self.first_leaf(pool, 1, |leaf| Some((leaf, in_leaf(leaf)?)))?;
        let cost = (IN_A_BLOCK, self.ground.leaves[leaf as usize] * shape.gpus() - size);
        Some(FoundPart { part: Part { node, gpus }, cost })
    }

    /// Whether a pool might have a better place: the fullest leaf that has enough empty nodes
    /// says it, before anybody asks whether the tenant may use them.
    fn may_beat(&self, pool: u32, need: Need, cost: Cost) -> bool {
        let at = &self.ground.map.pools[pool as usize];
        if at.has_blocks || self.person.keys_leaf() {
            return true;
        }
        let fullest = self.rooms(pool).leaves.upwards(need.nodes as usize).next();
        let gpus = self.ground.map.shape(pool).gpus();
        fullest.is_some_and(|(empty, _)| (IN_A_BLOCK, (empty as u32 - need.nodes) * gpus) < cost)
    }

    /// The whole gang below one leaf, in one block of it if that is possible.
    fn together(&self, pool: u32, need: Need) -> Option<Found> {
        let at = &self.ground.map.pools[pool as usize];
        if need.nodes > at.largest_leaf {
            return None;
        }
        let gpus = self.ground.map.shape(pool).gpus();
        let only_blocks = self.ask.within == Within::NvlinkDomain;
        if at.has_blocks {
            let found = self.first_block(pool, need.nodes, |block| {
                let left = self.ground.blocks[block as usize].count_ones() - need.nodes;
                self.found(block..block + 1, need, (IN_A_BLOCK, left * gpus))
            });
            if found.is_some() || only_blocks {
                return found;
            }
        }
        let level = if at.has_blocks { IN_A_LEAF } else { IN_A_BLOCK };
        self.first_leaf(pool, need.nodes, |leaf| {
            let left = self.ground.leaves[leaf as usize] - need.nodes;
            self.found(self.blocks_below(leaf), need, (level, left * gpus))
        })
    }

    fn found(&self, blocks: Range<u32>, need: Need, cost: Cost) -> Option<Found> {
        let fits = match need.rest {
            0 => self.room_in(blocks.clone(), need.segment) >= need.nodes,
            _ => self.take(blocks.clone(), need).is_some(),
        };
        fits.then_some(Found { cost, place: Place::Blocks(blocks, need) })
    }

    /// The gang over several leaves of the fullest pod that holds it.
    fn spread(&self, gpus: u32) -> Option<Spot> {
        if self.ask.within != Within::Pod {
            return None;
        }
        let mut pools: Vec<(u32, u32, Need)> = self
            .pools()
            .filter_map(|pool| Some((self.empty_nodes(pool), pool, self.need(pool, gpus)?)))
            .filter(|&(empty, _, need)| need.nodes > 0 && empty >= need.nodes)
            .collect();
        pools.sort_unstable_by_key(|&(empty, pool, _)| (empty, pool));
        pools.into_iter().find_map(|(_, pool, need)| self.gather(pool, need))
    }

    /// Empty nodes of a pool below leaves that the tenant may use.
    fn empty_nodes(&self, pool: u32) -> u32 {
        let own = self.own_leaves(pool).map(|leaf| self.ground.leaves[leaf as usize]);
        self.rooms(pool).nodes + own.sum::<u32>()
    }

    /// The fullest use of the emptiest leaves, so that there are few of them; the last is the
    /// fullest that holds what is left.
    fn gather(&self, pool: u32, need: Need) -> Option<Spot> {
        let first = self.ground.map.pools[pool as usize].leaves.start;
        let listed = self.rooms(pool).leaves.downwards().map(|(_, leaf)| first + leaf);
        let few = need.nodes / self.ground.map.pools[pool as usize].largest_leaf + 4;
        let mut spot = Spot { stretches: Vec::with_capacity(few as usize), ..Spot::default() };
        let mut left = need.nodes;
        for leaf in self.own_leaves_downwards(pool).into_iter().chain(listed) {
            if left == 0 {
                break;
            }
            let room = self.room_below(leaf, need.segment);
            if room == 0 {
                continue;
            }
            let last = (room >= left).then(|| self.last_leaf(pool, left, need.segment, &spot));
            let leaf = last.flatten().unwrap_or(leaf);
            let count = room.min(left);
            self.take_nodes(self.blocks_below(leaf), count, need.segment, &mut spot.stretches);
            left -= count;
        }
        if left > 0 {
            return None;
        }
        if need.rest > 0 {
            let is_apart = |node| !self.is_taken(node, &spot.stretches);
            spot.parts.push(self.part_in(pool, need.rest, &is_apart)?.part);
        }
        Some(spot)
    }

    /// The fullest leaf that holds all that is left and is not used yet.
    fn last_leaf(&self, pool: u32, left: u32, segment: u32, spot: &Spot) -> Option<u32> {
        let used = |leaf: u32| {
            let mut stretches = spot.stretches.iter();
            stretches.any(|at| self.ground.map.blocks[at.block as usize].leaf == leaf)
        };
        self.first_leaf(pool, left, |leaf| {
            (!used(leaf) && self.room_below(leaf, segment) >= left).then_some(leaf)
        })
    }

    /// Takes what is needed from some blocks, if they have it.
    fn take(&self, blocks: Range<u32>, need: Need) -> Option<Spot> {
        if self.room_in(blocks.clone(), need.segment) < need.nodes {
            return None;
        }
        let mut spot = Spot::default();
        self.take_nodes(blocks.clone(), need.nodes, need.segment, &mut spot.stretches);
        if need.rest > 0 {
            spot.parts.push(self.rest_in(blocks, need.rest, &spot.stretches)?);
        }
        Some(spot)
    }

    /// Takes whole nodes: from the smallest block that has them all, or else from the largest
    /// ones first.
    fn take_nodes(
        &self,
        blocks: Range<u32>,
        mut left: u32,
        segment: u32,
        stretches: &mut Vec<Stretch>,
    ) {
        if blocks.len() == 1 {
            let block = blocks.start;
            let nodes = lowest(self.eligible(block), left);
            stretches.push(Stretch { block, nodes });
            return;
        }
        if left >= self.room_in(blocks.clone(), segment) {
            let all = blocks.map(|block| (block, self.eligible(block)));
            let rooms = all.map(|(block, nodes)| Stretch {
                block,
                nodes: lowest(nodes, whole_segments(nodes, segment)),
            });
            stretches.extend(rooms.filter(|stretch| stretch.nodes != 0));
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
            stretches.push(Stretch { block, nodes: lowest(self.eligible(block), count) });
            left -= count;
        }
    }

    /// Some GPUs of one node of these blocks beside the nodes that are taken.
    fn rest_in(&self, blocks: Range<u32>, size: u32, taken: &[Stretch]) -> Option<Part> {
        let map = &self.ground.map;
        let nodes = blocks.clone().flat_map(|block| &map.blocks[block as usize].nodes).copied();
        let parted = nodes
            .filter(|&node| self.is_parted_for_me(node) && self.suits_node(node))
            .filter_map(|node| self.part_of(node, size))
            .min_by_key(|found| (found.cost, found.part.node));
        if let Some(found) = parted {
            return Some(found.part);
        }
        let mut empty = blocks.flat_map(|block| map.nodes_in(block, self.eligible(block)));
        let node = empty.find(|&node| !self.is_taken(node, taken))?;
        let shape = map.shape_of(node);
        Some(Part { node, gpus: shape.best(shape.all(), size)? })
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

    fn is_taken(&self, node: NodeId, stretches: &[Stretch]) -> bool {
        let on = &self.ground.map.nodes[node.index()];
        stretches.iter().any(|at| at.block == on.block && at.nodes & (1 << on.bit) != 0)
    }

    /// The empty nodes of a block whose software is good enough.
    pub(crate) fn eligible(&self, block: u32) -> u64 {
        self.ground.blocks[block as usize] & self.person.good[block as usize]
    }

    /// Whether software, neighbours below the leaf and on the node are as the tenant wants.
    pub(crate) fn suits_node(&self, node: NodeId) -> bool {
        let on = &self.ground.map.nodes[node.index()];
        self.person.software[usize::from(on.software)]
            && self.ground.may_join_switch(on.switch, self.key)
            && self.ground.is_apart_at(on.switch, self.key)
            && self.ground.is_apart_on(node, self.key)
    }

    /// How many nodes the tenant could take below a leaf, in whole segments.
    fn room_below(&self, leaf: u32, segment: u32) -> u32 {
        if !self.ground.is_apart_at(self.ground.map.leaves[leaf as usize].switch, self.key) {
            return 0;
        }
        self.room_in(self.blocks_below(leaf), segment)
    }

    fn room_in(&self, blocks: Range<u32>, segment: u32) -> u32 {
        blocks.map(|block| whole_segments(self.eligible(block), segment)).sum()
    }

    fn blocks_below(&self, leaf: u32) -> Range<u32> {
        self.ground.map.leaves[leaf as usize].blocks.clone()
    }

    /// The first leaf that gives something, of those with so many empty nodes: the tenant's own
    /// first, because nobody else can use them, then the fullest.
    fn first_leaf<T>(&self, pool: u32, nodes: u32, give: impl Fn(u32) -> Option<T>) -> Option<T> {
        let map = &self.ground.map;
        let first = map.pools[pool as usize].leaves.start;
        let switch = |leaf: u32| map.leaves[leaf as usize].switch;
        let own = self.own_leaves_downwards(pool).into_iter().rev();
        let own = own.filter(|&leaf| self.ground.leaves[leaf as usize] >= nodes);
        let listed = self.rooms(pool).leaves.upwards(nodes as usize);
        own.chain(listed.map(|(_, leaf)| first + leaf))
            .filter(|&leaf| self.ground.is_apart_at(switch(leaf), self.key))
            .find_map(give)
    }

    /// The same for blocks.
    fn first_block<T>(&self, pool: u32, nodes: u32, give: impl Fn(u32) -> Option<T>) -> Option<T> {
        let map = &self.ground.map;
        let first = map.leaves[map.pools[pool as usize].leaves.start as usize].blocks.start;
        let switch = |block: u32| map.leaves[map.blocks[block as usize].leaf as usize].switch;
        let empty = |block: &u32| self.ground.blocks[*block as usize].count_ones();
        let mut own: Vec<u32> =
            self.own_leaves(pool).flat_map(|leaf| self.blocks_below(leaf)).collect();
        own.retain(|block| empty(block) >= nodes);
        own.sort_unstable_by_key(|block| (empty(block), *block));
        let listed = self.rooms(pool).blocks.upwards(nodes as usize);
        own.into_iter()
            .chain(listed.map(|(_, block)| first + block))
            .filter(|&block| self.ground.is_apart_at(switch(block), self.key))
            .find_map(give)
    }

    fn rooms(&self, pool: u32) -> &Rooms {
        let at = &self.ground.pools[pool as usize];
        if self.person.keys_leaf() { &at.vacant } else { &at.open }
    }

    fn own_leaves(&self, pool: u32) -> impl Iterator<Item = u32> {
        let leaves = self.ground.map.pools[pool as usize].leaves.clone();
        self.person.leaves.range(leaves).copied()
    }

    /// The tenant's own leaves, emptiest first.
    fn own_leaves_downwards(&self, pool: u32) -> Vec<u32> {
        let mut own: Vec<u32> = self.own_leaves(pool).collect();
        own.sort_by_key(|&leaf| std::cmp::Reverse(self.ground.leaves[leaf as usize]));
        own
    }

    fn blocks_of(&self, pool: &Pool) -> Range<u32> {
        let leaves = &self.ground.map.leaves;
        let (first, last) = (pool.leaves.start as usize, pool.leaves.end as usize - 1);
        leaves[first].blocks.start..leaves[last].blocks.end
    }

    pub(crate) fn model_of(&self, pool: u32) -> NodeModelId {
        self.ground.map.pools[pool as usize].model
    }
}

impl FoundPart {
    fn into_found(self) -> Found {
        Found { cost: self.cost, place: Place::Part(self.part) }
    }
}

/// How many of some nodes are in whole segments.
fn whole_segments(nodes: u64, segment: u32) -> u32 {
    let count = nodes.count_ones();
    count - count % segment
}
