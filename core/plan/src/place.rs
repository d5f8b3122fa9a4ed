//! Where a gang goes.
//!
//! Takes: the fleet, the tenants, and who is where. Gives: the exact GPUs, slices and interfaces
//! of one gang, or the constraint that binds.
//! Never: gives a part of a gang; gives what somebody has; goes below a grade; looks at what it
//! can look up.
//!
//! Levels are site, pod, leaf, block (an NVLink domain), node, GPU and slot. Each of leaf, node
//! and GPU may carry a tenant's key: a grade is only a choice of which of them do. Indexes are
//! changed with every entry and never rebuilt.

mod ask;
mod book;
mod buckets;
mod capacity;
mod ground;
mod holds;
mod keys;
mod lists;
mod map;
mod mig;
mod part;
mod people;
mod presence;
mod quota;
mod seek;
mod shape;
mod slices;
mod spot;
mod spread;
mod way;
mod why;

pub use ask::{Ask, MOST_GPUS};
pub use book::{Entered, Entry, Gang, GangState, Wrong};
pub use capacity::{Capacities, PodLine, Split, TenantLine};
pub use ground::Ground;
pub(crate) use holds::{Holding, Turn};
pub use keys::FabricKeys;
pub use people::TenantKey;
pub(crate) use people::shortfall;
pub use spot::{SliceAt, Spot, SpotPart, Stretch};
pub use way::{Defrag, Move, Preemption, Victim};
pub(crate) use why::Shared;
pub use why::{Constraint, Explained, Step, Tried};
