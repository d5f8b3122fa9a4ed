//! A cluster made of memory.
//!
//! Takes: the texts that devices hold. Gives: where a packet arrives by what they say, and the
//! same ports that real devices have. Never: is cleverer than hardware; uses the reader or the
//! verifier, because an oracle that shares their mistakes is blind.
//!
//! The rules P1 to P9 that comments name are those of `docs/network.md`.

mod fabric;
mod folder;
mod frr;
mod linux;
mod machine;
mod memory;
mod nxos;
mod oracle;
mod policy;
mod routes;
mod steps;
mod table;
mod tree;
mod walk;

pub use fabric::Fabric;
pub use folder::DeviceFolder;
pub use memory::Memories;
pub use oracle::{Pair, Passing};
pub use walk::{Delivery, SentFrame, SentPacket, To, WalkWay};
