//! Scrubbing what a job left, with evidence or a reason why there is none.

use std::fmt;

use model::{Evidence, Memory, Name, NodeId, Share};
use smol_str::SmolStr;

/// Nodes whose memories can be overwritten and read back.
pub trait Scrubs {
    /// Overwrites the memory as far as it belongs to these GPUs and interfaces, and says how.
    ///
    /// # Errors
    /// If there is no way to do so here, or it failed.
    fn overwrite(
        &mut self,
        node: NodeId,
        share: Share,
        memory: Memory,
    ) -> Result<SmolStr, CannotScrub>;

    /// Reads the same memory, and says how and how many bytes are not what was written last.
    ///
    /// # Errors
    /// If there is no way to do so here, or it failed.
    fn read_back(
        &mut self,
        node: NodeId,
        share: Share,
        memory: Memory,
    ) -> Result<ReadBack, CannotScrub>;
}

/// What reading a memory showed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadBack {
    /// How it was read.
    pub how: SmolStr,
    /// How many bytes somebody left.
    pub traces: u64,
}

/// Why a memory was not scrubbed or read back: a whole sentence.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct CannotScrub(pub String);

/// What came of scrubbing a node after a job.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Scrubbed {
    /// What is clean, and how anybody knows.
    pub evidence: Vec<Evidence>,
    /// What is not, and why.
    pub left: Vec<(Memory, Left)>,
}

/// Why a memory does not count as scrubbed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Left {
    /// Nobody could overwrite it or read it.
    Cannot(CannotScrub),
    /// It was said to be overwritten, and these many bytes were not.
    Traces(u64),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(why) => why.fmt(f),
            Self::Traces(bytes) => {
                write!(f, "It was said to be overwritten, and {bytes} bytes of it were not.")
            }
        }
    }
}

/// Overwrites and reads back each of these memories. Whoever says that it overwrote something is
/// not believed before it was read.
pub fn scrub(
    nodes: &mut dyn Scrubs,
    node: NodeId,
    share: Share,
    memories: &[Memory],
    by: &Name,
    at: &str,
) -> Scrubbed {
    let mut scrubbed = Scrubbed::default();
    for &memory in memories {
        let done = nodes
            .overwrite(node, share, memory)
            .and_then(|method| Ok((method, nodes.read_back(node, share, memory)?)));
        match done {
            Ok((method, ReadBack { how, traces: 0 })) => scrubbed.evidence.push(Evidence {
                memory,
                method,
                read_back: how,
                by: by.clone(),
                at: at.into(),
            }),
            Ok((_, ReadBack { traces, .. })) => scrubbed.left.push((memory, Left::Traces(traces))),
            Err(why) => scrubbed.left.push((memory, Left::Cannot(why))),
        }
    }
    scrubbed
}

/// The memories of this very node. The libraries that are loaded on nodes have no call that clears or
/// reads a memory and no drive is touched yet, so the answer is what is missing, for each memory, and
/// never evidence.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeMemories;

impl NodeMemories {
    fn missing(memory: Memory) -> CannotScrub {
        let why = match memory {
            Memory::Hbm | Memory::Sram => {
                "The GPU's memory can only be overwritten and read by work on the GPU itself: NVIDIA's \
                 management library has no call for it, and no work is sent to GPUs here."
            }
            Memory::Ram => {
                "The host's memory is cleared by a restart with its firmware's overwrite turned on, \
                 which nothing here can read back."
            }
            Memory::Nvme => {
                "Drives are not touched: no list says which of them a job may have written."
            }
            Memory::Nic => {
                "An interface's own memory can only be reset by its driver, and nothing reads it back."
            }
        };
        CannotScrub(why.into())
    }
}

impl Scrubs for NodeMemories {
    fn overwrite(&mut self, _: NodeId, _: Share, memory: Memory) -> Result<SmolStr, CannotScrub> {
        Err(Self::missing(memory))
    }

    fn read_back(&mut self, _: NodeId, _: Share, memory: Memory) -> Result<ReadBack, CannotScrub> {
        Err(Self::missing(memory))
    }
}
