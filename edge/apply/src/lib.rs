//! Make it so, forward only.
//!
//! Takes: orders, made of what was judged and found without breach. Gives: a receipt for each.
//! Never: decides.

mod admitted;
mod before;
mod change;
mod devices;
pub mod frr;
pub mod hardware;
mod line;
mod linux;
mod node;
mod order;
mod putting;
mod queues;
mod requests;
mod scrub;
mod slots;
mod state;
mod texts;
mod vrf;

pub use admitted::{Admitted, NotAdmitted, Offer, OfferedPart};
pub use devices::{Applied, Devices, Gate, Numbered, Outcome, Receipt, Standing, push};
pub use linux::Linux;
pub use node::{Counted, ManagedNode, NodeError, with_causes};
pub use order::{HoldTerms, OnDrift, Order, Texts};
pub use scrub::{CannotScrub, Left, NodeMemories, ReadBack, Scrubbed, Scrubs, scrub};
pub use state::kept;
