//! Memories of simulated nodes: what tenants leave in them, and scrubs that may lie.

use std::collections::{BTreeMap, BTreeSet};

use apply::{CannotScrub, ReadBack, Scrubs};
use model::{Digest, Memory, NodeId, Share};
use smol_str::SmolStr;

/// How much of each memory goes with one GPU or interface here.
const BYTES: usize = 4096;

/// The memories of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Memories {
    /// By node and memory: what stands beside each GPU or interface, by its number.
    held: BTreeMap<(NodeId, Memory), BTreeMap<u32, Vec<u8>>>,
    liars: BTreeSet<NodeId>,
    helpless: BTreeSet<NodeId>,
}

impl Memories {
    /// Leaves these words all over the memory that goes with a share, as work does.
    pub fn leave(&mut self, node: NodeId, share: Share, memory: Memory, words: &[u8]) {
        let held = self.held.entry((node, memory)).or_default();
        for place in places(share, memory) {
            held.insert(place, words.iter().copied().cycle().take(BYTES).collect());
        }
    }

    /// From now on the node says that it overwrites, and does not.
    pub fn lie(&mut self, node: NodeId) {
        self.liars.insert(node);
    }

    /// From now on the node cannot overwrite anything.
    pub fn break_down(&mut self, node: NodeId) {
        self.helpless.insert(node);
    }

    /// Whether these words stand anywhere in the memory that goes with a share.
    #[must_use]
    pub fn shows(&self, node: NodeId, share: Share, memory: Memory, words: &[u8]) -> bool {
        let Some(held) = self.held.get(&(node, memory)) else {
            return false;
        };
        let bytes = places(share, memory).filter_map(|place| held.get(&place));
        bytes.flat_map(|bytes| bytes.windows(words.len())).any(|window| window == words)
    }
}

/// What a memory goes with: interfaces have their own, everything else goes with GPUs.
fn places(share: Share, memory: Memory) -> impl Iterator<Item = u32> {
    let mask = if memory == Memory::Nic { share.nics } else { share.gpus };
    (0..u64::BITS).filter(move |place| mask >> place & 1 == 1)
}

impl Scrubs for Memories {
    fn overwrite(
        &mut self,
        node: NodeId,
        share: Share,
        memory: Memory,
    ) -> Result<SmolStr, CannotScrub> {
        if self.helpless.contains(&node) {
            return Err(CannotScrub("The node does not answer.".into()));
        }
        if !self.liars.contains(&node) {
            self.leave(node, share, memory, &[0]);
        }
        Ok("zeros".into())
    }

    fn read_back(
        &mut self,
        node: NodeId,
        share: Share,
        memory: Memory,
    ) -> Result<ReadBack, CannotScrub> {
        let held = self.held.entry((node, memory)).or_default();
        let bytes = places(share, memory).filter_map(|place| held.get(&place)).flatten();
        let bytes: Vec<u8> = bytes.copied().collect();
        let traces = bytes.iter().filter(|byte| **byte != 0).count() as u64;
        Ok(ReadBack { how: format!("sha256:{}", Digest::of(&bytes)).into(), traces })
    }
}
