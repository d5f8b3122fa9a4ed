//! What must happen next?
//!
//! Takes: the records of the log, one after the other, and a time. Gives: the [`State`] they come
//! to, and the [`Action`]s that are due by it.
//! Never: awaits; remembers what the log does not say; looks at the clock.
//!
//! The plan in force is a function of this state alone: whoever has the log, and the documents that
//! it names, knows what every device shall hold.

mod due;
mod record;
mod state;

pub use due::{Action, due};
pub use record::{Put, Record, Target};
pub use state::{Inconsistent, State, Trial};
