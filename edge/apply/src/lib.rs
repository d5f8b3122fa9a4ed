//! Make it so, forward only.
//!
//! Takes: artifacts that were judged and found without breach. Gives: a receipt for each.
//! Never: decides.

mod before;
mod change;
pub mod frr;
pub mod hardware;
mod line;
mod linux;
mod node;
mod putting;
mod queues;
mod requests;
mod scrub;
mod slots;
mod state;
mod texts;
mod vrf;

pub use linux::Linux;
pub use node::{Counted, Node, NodeError, Sent, with_causes};
pub use scrub::{CannotScrub, Left, NodeMemories, ReadBack, Scrubbed, Scrubs, scrub};

use model::{Artifact, DeviceId, Dialect, Generation};
use observe::{Held, Holds, Unreachable};

/// Devices that can be told what to hold.
pub trait Keeps: Holds {
    /// Makes the device hold this text instead of what it held in this dialect.
    fn hold(&mut self, device: DeviceId, dialect: Dialect, held: Held) -> Result<(), Unreachable>;
}

/// What became of every artifact, in the order they were sent.
#[derive(Debug)]
pub struct Applied {
    /// One for each artifact.
    pub receipts: Vec<Receipt>,
}

/// What became of one artifact.
#[derive(Debug)]
pub struct Receipt {
    /// Where it was sent.
    pub device: DeviceId,
    /// The language of its text.
    pub dialect: Dialect,
    /// What the device did with it, or why it did not answer.
    pub outcome: Result<Outcome, Unreachable>,
}

/// What a device did with an artifact.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It holds the new text.
    Held,
    /// It held this text already.
    Unchanged,
    /// It was sent a later generation before, and refused this one.
    Stale {
        /// The generation it holds.
        theirs: Generation,
    },
}

impl Applied {
    /// Whether every device now holds what it was sent.
    #[must_use]
    pub fn in_force(&self) -> bool {
        let holds =
            |receipt: &Receipt| matches!(receipt.outcome, Ok(Outcome::Held | Outcome::Unchanged));
        self.receipts.iter().all(holds)
    }
}

/// Sends every artifact to its device. One that does not answer keeps none of the others waiting.
pub fn apply(cleared: &verify::Cleared, devices: &mut dyn Keeps) -> Applied {
    let artifacts = cleared.artifacts().iter();
    let receipts = artifacts.map(|artifact| Receipt {
        device: artifact.device,
        dialect: artifact.dialect,
        outcome: apply_one(artifact, devices),
    });
    Applied { receipts: receipts.collect() }
}

fn apply_one(artifact: &Artifact, devices: &mut dyn Keeps) -> Result<Outcome, Unreachable> {
    let sent = Held { generation: artifact.generation, text: artifact.text() };
    let mut outcome = Outcome::Held;
    if let Some(held) = devices.held(artifact.device, artifact.dialect)? {
        if sent.generation < held.generation {
            let theirs = held.generation;
            return Ok(Outcome::Stale { theirs });
        }
        if sent == held {
            return Ok(Outcome::Unchanged);
        }
        // The same text of a later generation is still sent: a device that did not learn the
        // generation would let a stale writer in between pass.
        if sent.text == held.text {
            outcome = Outcome::Unchanged;
        }
    }
    devices.hold(artifact.device, artifact.dialect, sent)?;
    Ok(outcome)
}
