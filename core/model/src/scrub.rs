//! Memories in which tenants leave traces, and evidence that nothing of them is left.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::words::words;
use crate::{JobName, Name, NodeId};

/// A memory in which a tenant leaves traces.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// The GPUs' own memory.
    Hbm,
    /// Registers, caches and shared memory of the GPUs.
    Sram,
    /// The host's memory.
    Ram,
    /// Local drives.
    Nvme,
    /// What interfaces keep of connections and registered memory.
    Nic,
}

words! {
    Memory: "hbm" Hbm, "sram" Sram, "ram" Ram, "nvme" Nvme, "nic" Nic;
}

/// That a memory was scrubbed, and how anybody knows.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// Which memory.
    pub memory: Memory,
    /// By which method it was overwritten.
    pub method: SmolStr,
    /// How it was read back afterwards; it was found without a trace.
    pub read_back: SmolStr,
    /// Who did it.
    pub by: Name,
    /// When, as whoever did it says.
    pub at: SmolStr,
}

/// What another one left where a job is now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Past {
    /// The node.
    pub node: NodeId,
    /// Those of the job's interfaces there that the other one had last: interface `n` is bit `n`.
    pub nics: u64,
    /// Who left them.
    pub left_by: JobName,
    /// What had to be scrubbed when it left.
    pub owing: Vec<Memory>,
    /// What was, since then.
    pub evidence: Vec<Evidence>,
}
