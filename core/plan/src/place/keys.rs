use model::{JobName, NicRef, NodeId};
use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::spot::Spot;
use crate::number::Numbers;
use crate::refusal::Refusal;

/// InfiniBand partition keys have 15 bits; zero is invalid and the last is the default partition
/// that everybody is in (InfiniBand specification, volume 1, 10.9.1.1).
const PKEYS: std::ops::RangeInclusive<u16> = 1..=0x7ffe;

/// NVLink memory channels of a domain. Channel zero is what software takes when nobody chose,
/// so nobody gets it.
const CHANNELS: std::ops::RangeInclusive<u16> = 1..=2047;

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
    /// By block.
    channels: Vec<Numbers>,
}

impl Keys {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { pkeys: Numbers::default(), channels: vec![Numbers::default(); blocks] }
    }

    fn take(&mut self, keys: FabricKeys, domains: &[u32]) {
        if let Some(pkey) = keys.pkey {
            self.pkeys.take(pkey);
        }
        if let Some(channel) = keys.channel {
            domains.iter().for_each(|&block| self.channels[block as usize].take(channel));
        }
    }

    fn give_back(&mut self, keys: FabricKeys, domains: &[u32]) {
        if let Some(pkey) = keys.pkey {
            self.pkeys.give_back(pkey);
        }
        if let Some(channel) = keys.channel {
            domains.iter().for_each(|&block| self.channels[block as usize].give_back(channel));
        }
    }
}

impl Ground {
    /// Numbers for a gang at this place: the lowest that nobody holds.
    ///
    /// # Errors
    /// If all are held.
    pub(crate) fn fresh_keys(&self, job: &JobName, spot: &Spot) -> Result<FabricKeys, Refusal> {
        self.fresh(job, &self.domains(spot))
    }

    /// The same for interfaces.
    pub(crate) fn fresh_keys_for(
        &self,
        job: &JobName,
        nics: &[NicRef],
    ) -> Result<FabricKeys, Refusal> {
        self.fresh(job, &self.domains_of(nics))
    }

    fn fresh(&self, job: &JobName, domains: &[u32]) -> Result<FabricKeys, Refusal> {
        let Some(pkey) = self.keys.pkeys.lowest_free(&PKEYS) else {
            let limit = PKEYS.len() as u32;
            return Err(Refusal::PkeysExhausted { job: job.clone(), limit });
        };
        let held = || domains.iter().map(|&block| &self.keys.channels[block as usize]);
        let channel = Numbers::lowest_free_in_all(held, &CHANNELS);
        if channel.is_none() {
            let limit = CHANNELS.len() as u32;
            return Err(Refusal::ChannelsExhausted { job: job.clone(), limit });
        }
        let channel = channel.filter(|_| !domains.is_empty());
        Ok(FabricKeys { pkey: Some(pkey), channel })
    }

    /// Whether nobody holds the numbers of a place.
    pub(crate) fn are_keys_free(&self, spot: &Spot) -> bool {
        let pkey =
            spot.keys.pkey.is_none_or(|pkey| PKEYS.contains(&pkey) && !self.keys.pkeys.holds(pkey));
        pkey && spot.keys.channel.is_none_or(|channel| {
            let mut held = self.domains(spot).into_iter();
            CHANNELS.contains(&channel)
                && held.all(|block| !self.keys.channels[block as usize].holds(channel))
        })
    }

    pub(crate) fn take_keys(&mut self, spot: &Spot) {
        self.keys.take(spot.keys, &self.domains(spot));
    }

    pub(crate) fn give_keys(&mut self, spot: &Spot) {
        self.keys.give_back(spot.keys, &self.domains(spot));
    }

    /// Notes the numbers of a lease. They are held as long as any of it rests, also when the
    /// same job took some of its interfaces back.
    pub(crate) fn take_keys_for(&mut self, nics: &[NicRef], keys: FabricKeys) {
        self.keys.take(keys, &self.domains_of(nics));
    }

    /// Frees the numbers of a lease that has rested.
    pub(crate) fn give_keys_for(&mut self, nics: &[NicRef], keys: FabricKeys) {
        self.keys.give_back(keys, &self.domains_of(nics));
    }

    fn domains_of(&self, nics: &[NicRef]) -> Vec<u32> {
        let blocks = nics.iter().map(|nic| self.map.nodes[nic.node.index()].block);
        once_each(blocks.filter(|&block| self.is_domain(block)))
    }

    /// The blocks of a place whose nodes NVLink joins. A gang never leaves its pool, so the first
    /// block speaks for all.
    fn domains(&self, spot: &Spot) -> Vec<u32> {
        let of_node = |node: NodeId| self.map.nodes[node.index()].block;
        let stretches = spot.stretches.iter().map(|stretch| stretch.block);
        let parts = spot.parts.iter().map(|part| of_node(part.node));
        let slices = spot.slices.iter().map(|slice| of_node(slice.node));
        let mut blocks = stretches.chain(parts).chain(slices).peekable();
        match blocks.peek().is_some_and(|&block| self.is_domain(block)) {
            true => once_each(blocks),
            false => Vec::new(),
        }
    }

    fn is_domain(&self, block: u32) -> bool {
        self.map.pools[self.map.blocks[block as usize].pool as usize].has_domains
    }
}

fn once_each(blocks: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut blocks: Vec<u32> = blocks.collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}
