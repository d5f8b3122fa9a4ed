//! What devices can be told and what they answer, and the push in two steps over all of them.

use model::{DeviceId, Dialect, Digest, Epoch, Generation, Timestamp};
use observe::{Holds, Unreachable};
use serde::{Deserialize, Serialize};

use crate::admitted::in_turn;
use crate::{HoldTerms, NotAdmitted, OnDrift, Order};

/// The number by which a device and its controller know what it holds.
pub type Numbered = (DeviceId, Epoch, Generation);

/// Devices that can be told what to hold, in two steps, so that a job starts everywhere or nowhere.
pub trait Devices: Holds {
    /// First step: hold these; ports that are new stay shut. One that does not answer keeps none of
    /// the others waiting.
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt>;
    /// Second step: open the ports of what they hold.
    fn start(&mut self, orders: &[Order]) -> Vec<Receipt>;
    /// Stay with what is held on trial.
    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)>;
    /// The controller lives, and knows that this is in force there.
    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)>;
    /// What a device says of itself; none if it was never sent anything.
    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable>;
}

/// What became of one order.
#[derive(Debug)]
pub struct Receipt {
    /// Whose it was.
    pub device: DeviceId,
    /// What the device did with it, or why it did not answer.
    pub outcome: Result<Outcome, Unreachable>,
}

/// What a device did with an order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It holds what is new, or its ports are open.
    Held {
        /// The languages in which it held something else.
        changed: Vec<Dialect>,
    },
    /// It was so already.
    Unchanged,
    /// It was sent a later one before, and refused this one.
    Stale {
        /// The epoch of what it was sent.
        epoch: Epoch,
        /// The generation of what it was sent.
        generation: Generation,
    },
    /// It did not take it, or could not hold it.
    Refused {
        /// What it says.
        why: String,
    },
}

/// What a device says of itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Standing {
    /// The epoch of what it was last sent.
    pub epoch: Epoch,
    /// The generation of what it was last sent.
    pub generation: Generation,
    /// What the texts come down to that it was last sent; none if nobody said.
    pub digest: Option<Digest>,
    /// Whether the ports of it were opened.
    pub started: bool,
    /// Whether it goes back by itself unless it is confirmed.
    pub on_trial: bool,
    /// The generation whose texts it holds again, if nobody confirmed the last.
    pub went_back_to: Option<Generation>,
    /// Whether packets of tenants pass.
    pub gate: Gate,
    /// What it does when it holds something else.
    pub on_drift: OnDrift,
    /// When the controller's lease ends, where there is one.
    pub lease_until: Option<Timestamp>,
}

/// Whether packets of tenants pass, and if not, why.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// They pass.
    Open,
    /// Nothing was ever sent.
    Empty,
    /// The controller said so.
    Told,
    /// A drift was found, and the policy is to quarantine.
    Quarantine,
    /// The controller was away for longer than its lease.
    LeaseOver,
    /// It could not hold what it was sent.
    Fault,
}

/// What became of a push, one receipt for each order in their order.
#[derive(Debug)]
pub struct Applied {
    /// Of the last step that each device came to.
    pub receipts: Vec<Receipt>,
    /// Whether the ports it brings were opened; if anybody could not hold it, nobody's were.
    pub is_started: bool,
}

impl Outcome {
    /// Whether the device now is as it was told to be.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Unchanged)
    }
}

impl Receipt {
    /// Whether the device now is as it was told to be.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.outcome.as_ref().is_ok_and(Outcome::is_held)
    }
}

impl Applied {
    /// Whether every device now holds what it was sent.
    #[must_use]
    pub fn in_force(&self) -> bool {
        self.receipts.iter().all(Receipt::is_held)
    }
}

impl Standing {
    /// Why a device that stands so must not take this, if it must not.
    #[must_use]
    pub fn refusal(&self, epoch: Epoch, generation: Generation, digest: Digest) -> Option<Outcome> {
        let last = (self.epoch, self.generation, self.digest);
        in_turn(last, (epoch, generation, digest)).err().map(Outcome::from)
    }
}

impl From<NotAdmitted> for Outcome {
    fn from(why: NotAdmitted) -> Self {
        match why {
            NotAdmitted::Late { epoch, generation } => Self::Stale { epoch, generation },
            other => Self::Refused { why: other.to_string() },
        }
    }
}

/// Has every device hold its order, and only if every one of them does, has all of them start.
pub fn push(orders: &[Order], terms: &HoldTerms, devices: &mut dyn Devices) -> Applied {
    let mut receipts = devices.hold(orders, terms);
    if !receipts.iter().all(Receipt::is_held) {
        return Applied { receipts, is_started: false };
    }
    let mut is_started = true;
    for started in devices.start(orders) {
        if started.is_held() {
            continue;
        }
        is_started = false;
        match receipts.iter_mut().find(|receipt| receipt.device == started.device) {
            Some(receipt) => *receipt = started,
            None => receipts.push(started),
        }
    }
    Applied { receipts, is_started }
}
