//! What do these bytes mean, and may this packet pass?
//!
//! Takes: header bytes, and one policy's tables. Gives: the numbers in them, each of a type that
//! cannot be wrong, and one [`Verdict`] for each frame, as the README defines it.
//! Never: allocates; panics, whatever the bytes.
#![no_std]

#[cfg(any(test, feature = "forge"))]
extern crate alloc;

mod arrival;
mod flow;
#[cfg(any(test, feature = "forge"))]
pub mod forge;
mod headers;
mod inner;
mod ip;
mod judge;
mod mac;
mod numbering;
mod outer;
mod reason;
mod tables;
mod tag;
#[cfg(test)]
mod tests;
mod vni;
mod vxlan;

pub use arrival::{Arrival, Hook};
pub use flow::{Flow, FlowTransport, Packet, Spoken, flow};
pub use headers::{Arp, Bth, Ethernet, Vxlan};
pub use judge::{GATEWAY, Verdict, judge};
pub use mac::{Mac, NotAMac};
pub use numbering::{ipv4_of, ipv6_of, router_mac};
pub use reason::Reason;
pub use tables::{AddressRecord, Broken, MAGIC, PortSeat, Space, TablePermit, Tables, layout};
pub use tag::{NotATag, Tag};
pub use vni::{NotAVni, Vni};
pub use vxlan::{Header, NotVxlan};
