//! What do these bytes mean?
//!
//! Takes: header bytes. Gives: the numbers in them, each of a type that cannot be wrong.
//! Never: allocates.
#![no_std]

mod mac;
mod tag;
mod vni;
mod vxlan;

pub use mac::{Mac, NotAMac};
pub use tag::{NotATag, Tag};
pub use vni::{NotAVni, Vni};
pub use vxlan::{Header, NotVxlan};
