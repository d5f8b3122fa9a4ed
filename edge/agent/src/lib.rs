//! The same rooms on one node: receives, applies, reports, renews.
//!
//! Takes: cleared artifacts from whoever the authority named as the controller. Gives: receipts,
//! and what the node holds. Never: touches another node; decides what shall be.
//!
//! An [`Agent`] stands beside one node and works on it, one thing after the other. [`Agents`] are
//! all of them as the controller sees them. An [`Authority`] says who is who.
//! The last two are the feature `controller`, which the program for nodes does not have.

#![cfg_attr(not(feature = "controller"), allow(dead_code, reason = "the other end calls it"))]

mod address;
#[cfg(feature = "controller")]
mod authority;
mod files;
#[cfg(feature = "controller")]
mod fleet;
mod identity;
mod keeper;
#[cfg(feature = "controller")]
mod line;
mod memory;
mod message;
mod probe;
mod record;
#[cfg(feature = "controller")]
mod rehearse;
mod serve;

pub use address::{Address, Listener, NotAnAddress};
#[cfg(feature = "controller")]
pub use authority::{Authority, AuthorityError, GOOD_FOR, Rotated, Turn};
#[cfg(feature = "controller")]
pub use fleet::{Agents, AgentsSaid, Event, Fate, FleetError, Reached, SurveyError};
pub use identity::{CONTROLLER, Identity, IdentityError};
pub use keeper::{AgentTerms, Changes};
#[cfg(feature = "controller")]
pub use line::TalkError;
pub use memory::{MemoryChanges, MemoryDevice, MemoryNode};
pub use message::{Counters, Differing, Holding, News, Status};
pub use probe::{Dropped, Family, ProbeRequest, ProbeWay, Station};
#[cfg(feature = "controller")]
pub use rehearse::{Rehearsal, RehearseError, rehearse};
pub use serve::{Agent, AgentError, serve};
