//! The packet program, its loader, its tables.
//!
//! Takes: a table artifact. Gives: the same policy in force in the kernel, its counters, and what
//! the kernel holds as text again. Never: differs from `wire`; opens when it is left alone.

pub mod bench;
mod compile;
mod counters;
mod events;
mod fault;
mod kernel;
mod lock;
pub mod pcap;
mod probe;
mod queue;
mod quota;
mod say;
mod standing;
mod sys;
mod trial;
mod ways;

pub use compile::{Compiled, Limits, TableRefusal, compile};
pub use counters::{Bursts, Cause, JobTraffic, SIZES, Tally, WINDOW_NS, Whose};
pub use events::{DropEvent, Events};
pub use fault::{Fault, PutError};
pub use kernel::{
    GateLease, Kernel, Mode, PolicyInForce, Settings, interface_index, interface_name,
};
pub use probe::{Ear, Mark, Prober};
pub use queue::{QUEUES, REST};
pub use say::say;
pub use standing::PinnedLink;
pub use trial::{TrialFilter, TrialVerdict};
pub use ways::Ways;
