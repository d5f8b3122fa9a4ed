//! What happened, in which order, for sure?
//!
//! Takes: bytes that are records, and the revision behind which they belong. Gives: the same
//! bytes, in the same order, after any crash.
//! Never: rewrites; acknowledges as durable what is not; understands a record; writes, locks or
//! shortens anything in order to read.
//!
//! A log is a folder ([`Folder`]): one file of JSON lines, one record a line, and beside it the
//! content that records speak of by digest. Every line carries its number, how many lines of its
//! batch are still to come, and SHA-256 over itself and the sum of the line before. A batch is
//! there as a whole or not at all. [`MemoryStore`] is the same without a disk, for simulation.

mod before;
mod carry;
mod check;
mod disk;
mod error;
mod folder;
mod line;
mod memory;
mod objects;
mod repair;
mod salt;
mod snapshot;

use std::fmt;

use model::{Digest, Epoch, Timestamp};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

pub use check::{LogReport, Missing, check};
pub use disk::WrittenBytes;
pub use error::{AppendError, Damage, Foreign, ReadError, Unfit};
pub use folder::{Folder, Torn};
pub use memory::{AppendFault, MemoryStore};
pub use repair::{Repair, RepairError, Repaired, repair};
pub use salt::Kept;

/// The form of the log that this room writes.
pub const FORMAT: u32 = 1;

/// How long a line may be with everything around its body, and its end.
pub const LONGEST_LINE_BYTES: usize = 4096;

/// The number of a record, counted from 1; 0 is before the first.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

/// Who says a record, when and why.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// When.
    pub at: Timestamp,
    /// Who wanted it.
    pub actor: SmolStr,
    /// Through what they said it.
    pub source: SmolStr,
    /// The request that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<SmolStr>,
    /// The record that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Revision>,
}

/// A record where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogEntry {
    /// Its number.
    pub revision: Revision,
    /// Who said it, when and why.
    pub envelope: Envelope,
    /// What it says: one JSON value without a line break, as it was given.
    pub body: Vec<u8>,
}

/// Records that are there together or not at all.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// Who says them, when and why.
    pub envelope: Envelope,
    /// One JSON value each, without a line break.
    pub bodies: Vec<Vec<u8>>,
    /// The content that they speak of and that is not there yet.
    pub beside: &'a [Kept],
    /// Whether it survives a loss of power when the append returns. What can be observed again
    /// need not: it becomes durable with the next append that is.
    pub is_durable: bool,
}

/// What the log says of itself.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// The form of its lines.
    pub format: u32,
    /// The installation whose log it is: 128 random bits.
    pub installation: SmolStr,
    /// The epoch that lasts. Another begins when the log went back: repaired, lost or restored.
    pub epoch: Epoch,
}

/// Where records are.
pub trait Store {
    /// What the log says of itself; nothing if it has not begun.
    ///
    /// # Errors
    /// If the log cannot be read, or is not sound.
    fn began(&self) -> Result<Option<Beginning>, ReadError>;

    /// Every record after this one. Takes no lock, writes nothing and never sees a part of a
    /// batch.
    ///
    /// # Errors
    /// If the log cannot be read, is not sound, or is not the one that was read before.
    fn read(&self, after: Revision) -> Result<Vec<LogEntry>, ReadError>;

    /// Adds records behind this one and gives the revision of the last. The first append also
    /// begins the log, with a record of its own before them.
    ///
    /// # Errors
    /// [`AppendError::Moved`] if somebody else appended: read on and begin anew. Otherwise if a
    /// body is no record, the log is not sound, or the disk fails.
    fn append(&mut self, expected: Revision, batch: Batch<'_>) -> Result<Revision, AppendError>;

    /// Content with a salt of its own, for a record to speak of and an append to write.
    fn keep(&self, content: &[u8]) -> Kept;

    /// The content of this digest.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    fn beside(&self, digest: &Digest) -> Result<Option<Vec<u8>>, ReadError>;
}

impl Revision {
    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
