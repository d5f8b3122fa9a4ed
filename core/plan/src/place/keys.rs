//! Partition keys and memory channels: which are free, and which a gang gets.

use std::collections::BTreeMap;

use model::{JobName, NicRef, NodeId};
use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::map::Map;
use super::spot::Spot;
use crate::number::Numbers;
use crate::refusal::PlanRefusal;

/// InfiniBand partition keys have 15 bits; zero is invalid and the last is the default partition
/// that everybody is in (InfiniBand specification, volume 1, 10.9.1.1).
const PKEYS: std::ops::RangeInclusive<u16> = 1..=0x7ffe;

/// NVLink memory channels of a domain. Channel zero is what software takes when nobody chose,
/// so nobody gets it.
const CHANNELS: std::ops::RangeInclusive<u16> = 1..=2047;

/// Channels below this one are kept in a word for each domain.
const FIRST_CHANNELS: u16 = u64::BITS as u16;

/// The numbers that keep a gang apart where GPUs meet over a fabric of their own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricKeys {
    /// Its InfiniBand partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pkey: Option<u16>,
    /// Its NVLink memory channel, the same in every NVLink domain it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
}

impl FabricKeys {
    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Which of these numbers are held, by gangs that live or rest.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pkeys: Numbers,
    channels: Channels,
}

impl Keys {
    pub(crate) fn new(domains: usize) -> Self {
        let channels = Channels { first: vec![0; domains], more: BTreeMap::new() };
        Self { pkeys: Numbers::default(), channels }
    }

    fn take(&mut self, keys: FabricKeys, domains: impl Iterator<Item = u32>) {
        if let Some(pkey) = keys.pkey {
            self.pkeys.take(pkey);
        }
        if let Some(channel) = keys.channel {
            domains.for_each(|domain| self.channels.take(domain, channel));
        }
    }

    fn give_back(&mut self, keys: FabricKeys, domains: impl Iterator<Item = u32>) {
        if let Some(pkey) = keys.pkey {
            self.pkeys.give_back(pkey);
        }
        if let Some(channel) = keys.channel {
            domains.for_each(|domain| self.channels.give_back(domain, channel));
        }
    }
}

/// The memory channels that are held in each NVLink domain.
#[derive(Clone, Debug)]
struct Channels {
    /// Those below 64, by domain. A gang over many domains looks at all of theirs, and seldom
    /// needs others.
    first: Vec<u64>,
    /// The others of domains that have any.
    more: BTreeMap<u32, Numbers>,
}

impl Channels {
    fn holds(&self, domain: u32, channel: u16) -> bool {
        match bit(channel) {
            Some(bit) => self.first[domain as usize] & bit != 0,
            None => self.more.get(&domain).is_some_and(|more| more.holds(channel)),
        }
    }

    fn take(&mut self, domain: u32, channel: u16) {
        match bit(channel) {
            Some(bit) => self.first[domain as usize] |= bit,
            None => self.more.entry(domain).or_default().take(channel),
        }
    }

    fn give_back(&mut self, domain: u32, channel: u16) {
        match (bit(channel), self.more.get_mut(&domain)) {
            (Some(bit), _) => self.first[domain as usize] &= !bit,
            (None, Some(more)) => more.give_back(channel),
            (None, None) => {}
        }
    }

    /// The lowest that is free in all of these domains.
    fn lowest_free(&self, domains: impl Iterator<Item = u32> + Clone) -> Option<u16> {
        let nobodys = (1 << CHANNELS.start()) - 1;
        let first =
            domains.clone().fold(nobodys, |held, domain| held | self.first[domain as usize]);
        if first != u64::MAX {
            return Some(first.trailing_ones() as u16);
        }
        let more = || domains.clone().filter_map(|domain| self.more.get(&domain));
        Numbers::lowest_free_in_all(more, &(FIRST_CHANNELS..=*CHANNELS.end()))
    }
}

/// The bit of a channel that is one of the first.
const fn bit(channel: u16) -> Option<u64> {
    if channel < FIRST_CHANNELS { Some(1 << channel) } else { None }
}

impl Ground {
    /// Numbers for a gang at this place: the lowest that nobody holds.
    ///
    /// # Errors
    /// If all are held.
    pub(crate) fn fresh_keys(&self, job: &JobName, spot: &Spot) -> Result<FabricKeys, PlanRefusal> {
        self.fresh(job, domains(&self.map, spot))
    }

    /// The same for interfaces.
    pub(crate) fn fresh_keys_for(
        &self,
        job: &JobName,
        nics: &[NicRef],
    ) -> Result<FabricKeys, PlanRefusal> {
        self.fresh(job, domains_of(&self.map, nics))
    }

    fn fresh(
        &self,
        job: &JobName,
        domains: impl Iterator<Item = u32> + Clone,
    ) -> Result<FabricKeys, PlanRefusal> {
        let Some(pkey) = self.keys.pkeys.lowest_free(&PKEYS) else {
            let limit = PKEYS.len() as u32;
            return Err(PlanRefusal::PkeysExhausted { job: job.clone(), limit });
        };
        let pkey = Some(pkey);
        if domains.clone().next().is_none() {
            return Ok(FabricKeys { pkey, channel: None });
        }
        let channel = self.keys.channels.lowest_free(domains);
        if channel.is_none() {
            let limit = CHANNELS.len() as u32;
            return Err(PlanRefusal::ChannelsExhausted { job: job.clone(), limit });
        }
        Ok(FabricKeys { pkey, channel })
    }

    /// Whether nobody holds the numbers of a place.
    pub(crate) fn are_keys_free(&self, spot: &Spot) -> bool {
        let pkey =
            spot.keys.pkey.is_none_or(|pkey| PKEYS.contains(&pkey) && !self.keys.pkeys.holds(pkey));
        pkey && spot.keys.channel.is_none_or(|channel| {
            let mut domains = domains(&self.map, spot);
            CHANNELS.contains(&channel)
                && domains.all(|domain| !self.keys.channels.holds(domain, channel))
        })
    }

    pub(crate) fn take_keys(&mut self, spot: &Spot) {
        self.keys.take(spot.keys, domains(&self.map, spot));
    }

    pub(crate) fn give_keys(&mut self, spot: &Spot) {
        self.keys.give_back(spot.keys, domains(&self.map, spot));
    }

    /// Notes the numbers of a lease. They are held as long as any of it rests, also when the
    /// same job took some of its interfaces back.
    pub(crate) fn take_keys_for(&mut self, nics: &[NicRef], keys: FabricKeys) {
        self.keys.take(keys, domains_of(&self.map, nics));
    }

    /// Frees the numbers of a lease that has rested.
    pub(crate) fn give_keys_for(&mut self, nics: &[NicRef], keys: FabricKeys) {
        self.keys.give_back(keys, domains_of(&self.map, nics));
    }
}

fn domains_of<'a>(map: &'a Map, nics: &'a [NicRef]) -> impl Iterator<Item = u32> + Clone + 'a {
    let blocks = nics.iter().map(|nic| map.nodes[nic.node.index()].block);
    blocks.filter(|&block| is_domain(map, block)).map(|block| map.blocks[block as usize].domain)
}

/// The NVLink domains of a place, some perhaps more than once. A gang never leaves its pool, so the
/// first block speaks for all.
fn domains<'a>(map: &'a Map, spot: &'a Spot) -> impl Iterator<Item = u32> + Clone + 'a {
    let of_node = |node: NodeId| map.nodes[node.index()].block;
    let stretches = spot.stretches.iter().map(|stretch| stretch.block);
    let parts = spot.parts.iter().map(move |part| of_node(part.node));
    let slices = spot.slices.iter().map(move |slice| of_node(slice.node));
    let blocks = stretches.chain(parts).chain(slices);
    let are_domains = blocks.clone().next().is_some_and(|block| is_domain(map, block));
    blocks.take_while(move |_| are_domains).map(|block| map.blocks[block as usize].domain)
}

fn is_domain(map: &Map, block: u32) -> bool {
    map.pools[map.blocks[block as usize].pool as usize].has_domains
}
