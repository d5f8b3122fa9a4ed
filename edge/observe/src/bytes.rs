//! What the kernel's messages are made of.
//!
//! The netlink library words an error for every attribute before it knows whether it needs one, and
//! an interface has hundreds, a fabric's leaf has as many routes and neighbours: to read them took
//! it longer than the kernel needs to say them. So the few attributes that decide anything are
//! picked out of the bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{DecodeError, NlaBuffer, NlasIterator};
use wire::Mac;

/// Length and kind before each value (linux/netlink.h).
const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// The number and the value of each attribute.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), DecodeError>> {
    NlasIterator::new(bytes).map(|nla| nla.map(attribute))
}

fn attribute(nla: NlaBuffer<&[u8]>) -> (u16, &[u8]) {
    let (kind, length) = (nla.kind(), nla.length() as usize);
    (kind, &nla.into_inner()[ATTRIBUTE_HEADER_BYTES..length])
}

pub(crate) fn u32_at(value: &[u8]) -> u32 {
    u32::from_ne_bytes(value.try_into().unwrap_or([0; 4]))
}

pub(crate) fn is_on(value: &[u8]) -> bool {
    value.first().is_some_and(|first| *first != 0)
}

pub(crate) fn words(value: &[u8]) -> String {
    String::from_utf8_lossy(value.strip_suffix(b"\0").unwrap_or(value)).into_owned()
}

pub(crate) fn mac(value: &[u8]) -> Mac {
    Mac(value.try_into().unwrap_or([0; 6]))
}

pub(crate) fn ip(value: &[u8]) -> Option<IpAddr> {
    let six = || <[u8; 16]>::try_from(value).ok().map(|bytes| Ipv6Addr::from(bytes).into());
    ipv4(value).map(IpAddr::V4).or_else(six)
}

pub(crate) fn ipv4(value: &[u8]) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(value).ok().map(Ipv4Addr::from)
}
