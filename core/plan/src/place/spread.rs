//! A gang that is too large for one leaf.

use model::Within;

use super::seek::{Here, Need, Seek, whole_segments};
use super::spot::Spot;

/// For so many stretches there is room from the beginning, and few gangs have more. A kilobyte
/// or more is what allocators tidy up for first, which takes longer than the search.
const STRETCHES: u32 = 80;

impl Seek<'_> {
    /// The gang over several leaves of the fullest pod that holds it.
    pub(crate) fn spread(&self, gpus: u32) -> Option<Spot> {
        if self.ask.within != Within::Pod {
            return None;
        }
        let mut pools: Vec<(u32, u32, Need)> = self
            .pools()
            .map(|pool| self.here(pool))
            .filter_map(|here| Some((self.empty_nodes(here), here.pool, self.need(here, gpus)?)))
            .filter(|&(empty, _, need)| need.nodes > 0 && empty >= need.nodes)
            .collect();
        pools.sort_unstable_by_key(|&(empty, pool, _)| (empty, pool));
        pools.into_iter().find_map(|(_, pool, need)| self.gather(self.here(pool), need))
    }

    /// Empty nodes of a pool below leaves that the tenant may use.
    fn empty_nodes(&self, here: Here<'_>) -> u32 {
        let listed = self.rooms(here).nodes;
        if !self.has_leaves() {
            return listed;
        }
        let own = self.own_leaves(here).map(|leaf| self.ground.leaves[leaf as usize]);
        listed + own.sum::<u32>()
    }

    /// The fullest use of the emptiest leaves, so that there are few of them; the last is the
    /// fullest that holds what is left.
    fn gather(&self, here: Here<'_>, need: Need) -> Option<Spot> {
        if !self.may_hold(here, need) {
            return None;
        }
        let first = here.map.leaves.start;
        let listed = self.rooms(here).leaves.downwards().map(|(_, leaf)| first + leaf);
        let own = if self.has_leaves() { self.own_leaves_downwards(here) } else { Vec::new() };
        let stretches = Vec::with_capacity((need.nodes / need.segment).min(STRETCHES) as usize);
        let mut spot = Spot { stretches, ..Spot::default() };
        let mut left = need.nodes;
        for leaf in own.into_iter().chain(listed).filter(|&leaf| self.is_apart_below(leaf)) {
            let blocks = self.blocks_below(here, leaf);
            let room = self.room_in(blocks.clone(), need.segment);
            if room < left {
                self.take_all(blocks, need.segment, &mut spot.stretches);
                left -= room;
                continue;
            }
            let last = self.last_leaf(here, left, need.segment, &spot).unwrap_or(leaf);
            let blocks = self.blocks_below(here, last);
            self.take_nodes(blocks, left, need.segment, &mut spot.stretches);
            left = 0;
            break;
        }
        if left > 0 {
            return None;
        }
        if need.rest > 0 {
            let is_apart = |node| !self.is_taken(node, &spot.stretches);
            spot.parts.push(self.part_in(here.pool, need.rest, &is_apart)?.part);
        }
        Some(spot)
    }

    /// Whether a pool has enough empty nodes whose software is good enough, before anybody asks
    /// below which leaves they are.
    fn may_hold(&self, here: Here<'_>, need: Need) -> bool {
        let mut left = need.nodes;
        here.map.blocks.clone().any(|block| {
            left = left.saturating_sub(whole_segments(self.eligible(block), need.segment));
            left == 0
        })
    }

    /// The fullest leaf that holds all that is left and is not used yet.
    fn last_leaf(&self, here: Here<'_>, left: u32, segment: u32, spot: &Spot) -> Option<u32> {
        let is_used = |leaf: u32| {
            let blocks = self.blocks_below(here, leaf);
            spot.stretches.iter().any(|stretch| blocks.contains(&stretch.block))
        };
        self.first_leaf(here, left..u32::MAX, |leaf| {
            let holds = self.room_in(self.blocks_below(here, leaf), segment) >= left;
            (holds && !is_used(leaf)).then_some(leaf)
        })
    }
}
