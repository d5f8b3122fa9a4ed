//! Do it: the one way from a wish to devices and back.
//!
//! Takes: requests, a time, a log and devices. Gives: what became of them, written down before and
//! after.
//! Never: decides; acts on what woke it instead of on the state; exists twice; has a runtime, a
//! thread, a clock or chance of its own.
//!
//! [`Journal::draft`] answers what a request would change, [`Draft::prove`] whether that may be,
//! [`Control::commit`] writes it down in one append, and [`Control::send`] has devices hold what
//! they shall and writes down which of them do. A dry run is the same calls up to the append.
//! Killed anywhere, the next one goes on: what is due follows from the log alone.

mod concern;
mod control;
mod draft;
mod history;
mod journal;
mod kept;
mod observation;
mod observed;
mod passage;
mod placed;
mod request;
mod scrubbed;
mod spoofed;
mod verdict;

pub use concern::Concern;
pub use control::{Committed, Control, Hurry, Stay, Stopped};
pub use draft::{Draft, NoDraft, Proof, RefusedPlan, Unproved};
pub use history::{Line as HistoryLine, StandingDocument};
pub use journal::{Journal, JournalError, Who, speaks_of};
pub use kept::{KeptPlan, PlanOutcome};
pub use observation::{Judgement, Observation, SpoofedSource};
pub use observed::{answered, observed};
pub use passage::{Closed, Passage, Silent};
pub use placed::Placed;
pub use request::Request;
pub use scrubbed::NoEvidence;
pub use verdict::{Assumption, ProofResult, ProofScope, ProofVerdict};
