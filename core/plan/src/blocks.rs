//! Which addresses of a tenant's pools are free, and the best block of them for a job.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// What is free in a tenant's pools, as the largest aligned blocks: two free halves are always
/// one free whole, so what is free depends on what is held and not on how it came about.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pools: Vec<Pool>,
}

#[derive(Clone, Debug)]
struct Pool {
    net: Ipv4Net,
    /// Prefix length and first address of every free block.
    free: BTreeSet<(u8, u32)>,
}

/// The smallest block with room for network, gateway, broadcast and all endpoints.
pub(crate) fn prefix_for(endpoints: usize) -> Option<u8> {
    let addresses = u32::try_from(endpoints).ok()?.checked_add(3)?;
    let size = addresses.checked_next_power_of_two()?;
    u8::try_from(32 - size.trailing_zeros()).ok()
}

impl Blocks {
    /// The pools without what is held, leased or resting.
    pub(crate) fn new(pools: &[Ipv4Net], held: impl Iterator<Item = Ipv4Net>) -> Self {
        let mut blocks = Self { pools: Vec::new() };
        for pool in pools {
            let net = pool.trunc();
            // A pool inside an earlier one adds nothing.
            if blocks.pools.iter().any(|known| known.net.contains(&net)) {
                continue;
            }
            // A pool around earlier ones adds only what they lack.
            let inner: Vec<Ipv4Net> = blocks.pools.iter().map(|known| known.net).collect();
            let mut pool = Pool::new(net);
            for known in inner.iter().filter(|known| net.contains(*known)) {
                pool.take(*known);
            }
            blocks.pools.push(pool);
        }
        for block in held {
            blocks.take(block);
        }
        blocks
    }

    /// The first free block with this prefix length, in the order of pools and addresses.
    pub(crate) fn first_free(&self, prefix: u8) -> Option<Ipv4Net> {
        self.pools.iter().find_map(|pool| pool.first_free(prefix))
    }

    /// Marks a block as held, as far as it lies in the pools.
    pub(crate) fn take(&mut self, block: Ipv4Net) {
        for pool in &mut self.pools {
            pool.take(block);
        }
    }

    /// Marks a block as free; false if it does not lie wholly in one pool, so that only a new
    /// count can tell what is free.
    #[must_use]
    pub(crate) fn give_back(&mut self, block: Ipv4Net) -> bool {
        let nested = self.pools.iter().filter(|pool| overlap(pool.net, block)).count();
        match self.pools.iter_mut().find(|pool| pool.net.contains(&block)) {
            Some(pool) if nested == 1 => {
                pool.give_back(block);
                true
            }
            _ => false,
        }
    }
}

/// Whether two prefixes have an address in common.
pub(crate) fn overlap(a: Ipv4Net, b: Ipv4Net) -> bool {
    a.contains(&b) || b.contains(&a)
}

impl Pool {
    fn new(net: Ipv4Net) -> Self {
        let whole = (net.prefix_len(), net.network().to_bits());
        Self { net, free: BTreeSet::from([whole]) }
    }

    /// The lowest start among free blocks that are large enough: a block of the wanted size
    /// begins there, and none begins earlier.
    fn first_free(&self, prefix: u8) -> Option<Ipv4Net> {
        (self.net.prefix_len()..=prefix)
            .filter_map(|length| {
                let first = self.free.range((length, 0)..=(length, u32::MAX)).next()?;
                Some(first.1)
            })
            .min()
            .map(|start| net(start, prefix))
    }

    fn take(&mut self, block: Ipv4Net) {
        if block.contains(&self.net) {
            self.free.clear();
        } else if self.net.contains(&block) && !self.split(block) {
            // No free block is around this one, so what is free of it lies inside.
            self.free.retain(|&(length, start)| !block.contains(&net(start, length)));
        }
    }

    /// Cuts the block out of the free block around it; false if there is none.
    fn split(&mut self, block: Ipv4Net) -> bool {
        let start = block.network().to_bits();
        let around = (self.net.prefix_len()..=block.prefix_len())
            .map(|length| (length, start & mask(length)))
            .find(|candidate| self.free.contains(candidate));
        let Some(around) = around else {
            return false;
        };
        self.free.remove(&around);
        for length in around.0 + 1..=block.prefix_len() {
            self.free.insert((length, buddy(start & mask(length), length)));
        }
        true
    }

    fn give_back(&mut self, block: Ipv4Net) {
        let (mut length, mut start) = (block.prefix_len(), block.network().to_bits());
        while length > self.net.prefix_len() && self.free.remove(&(length, buddy(start, length))) {
            length -= 1;
            start &= mask(length);
        }
        self.free.insert((length, start));
    }
}

/// The other half of the block one size larger.
fn buddy(start: u32, length: u8) -> u32 {
    start ^ (1 << (32 - u32::from(length)))
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

fn net(start: u32, length: u8) -> Ipv4Net {
    match Ipv4Net::new(Ipv4Addr::from_bits(start), length) {
        Ok(net) => net,
        Err(_) => unreachable!("a prefix length of a pool or below is at most 32"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pools() -> Vec<Ipv4Net> {
        ["10.0.0.0/25", "10.9.0.0/26", "10.0.0.64/26"].map(|pool| pool.parse().unwrap()).to_vec()
    }

    /// First fit by trying every aligned place in turn.
    fn walked(pools: &[Ipv4Net], held: &[Ipv4Net], prefix: u8) -> Option<Ipv4Net> {
        pools
            .iter()
            .filter(|pool| pool.prefix_len() <= prefix)
            .flat_map(|pool| pool.subnets(prefix).unwrap())
            .find(|block| !held.iter().any(|other| overlap(*other, *block)))
    }

    proptest! {
        #[test]
        fn first_fit_is_what_a_walk_over_all_places_finds(
            steps in proptest::collection::vec((24_u8..=30, any::<bool>(), 0_usize..64), 1..60),
        ) {
            let pools = pools();
            let mut held = Vec::new();
            let mut blocks = Blocks::new(&pools, std::iter::empty());
            for (prefix, give_back, which) in steps {
                if give_back && !held.is_empty() {
                    let back = held.swap_remove(which % held.len());
                    prop_assert!(blocks.give_back(back));
                } else {
                    let found = blocks.first_free(prefix);
                    prop_assert_eq!(found, walked(&pools, &held, prefix));
                    if let Some(found) = found {
                        blocks.take(found);
                        held.push(found);
                    }
                }
                let counted = Blocks::new(&pools, held.iter().copied());
                prop_assert_eq!(&counted.pools[0].free, &blocks.pools[0].free);
                prop_assert_eq!(&counted.pools[1].free, &blocks.pools[1].free);
            }
        }
    }

    #[test]
    fn the_smallest_block_has_room_for_network_gateway_and_broadcast() {
        let sizes = [1, 5, 6, 13, 14, 8192].map(|endpoints| prefix_for(endpoints).unwrap());
        assert_eq!(sizes, [30, 29, 28, 28, 27, 18]);
    }
}
