//! Single words of dialect `nxos`: groups, VLANs, ports and subnets as NX-OS writes them.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Port, Vlan};
use wire::Tag;

use crate::Bridge;
use crate::values as shared;
pub(super) use crate::values::{
    Why, address, asn, distinguisher, mac, prefixed, service, target, vni, vrf,
};

/// The tag of packets that no selector classified.
pub(super) const UNCLASSIFIED: &str = "999";

/// The bridge domain of a VLAN.
pub(super) fn bridge(vlan: &str) -> Result<Bridge, Why> {
    // Two ways to write one number would be two bridge domains.
    let plain = vlan.as_bytes().first().is_some_and(|&first| first != b'0' && first != b'+');
    if plain && vlan.parse::<Vlan>().is_ok() {
        Ok(shared::bridge(vlan))
    } else {
        Err("a VLAN is a number from 1 to 4094")
    }
}

/// A tag that can be a group's own: 1 and 15 are reserved, and a group with the tag of the
/// unclassified would take in all that no selector names.
pub(super) fn group(word: &str) -> Result<Tag, Why> {
    match shared::tag(word) {
        Ok(tag) if !matches!(tag.get(), 1 | 15 | 999) => Ok(tag),
        _ => Err("a group's tag is a number from 2 to 65535 without 15 and 999"),
    }
}

/// A front-panel port of this dialect's switches.
pub(super) fn port(word: &str) -> Result<Port, Why> {
    match shared::port(word) {
        Ok(port @ Port::Ethernet(_)) => Ok(port),
        _ => Err("a port is written Ethernet1/5"),
    }
}

/// An address that stands for itself: its prefix has 32 bits.
pub(super) fn host(word: &str) -> Result<Ipv4Addr, Why> {
    match prefixed(word)? {
        (address, 32) => Ok(address),
        _ => Err("only a single address (/32) is known here"),
    }
}

/// All addresses of a prefix.
pub(super) fn subnet(word: &str) -> Result<Ipv4Net, Why> {
    let (address, prefix) = prefixed(word)?;
    let net = Ipv4Net::new(address, prefix).map_err(|_| "a prefix has at most 32 bits")?;
    Ok(net.trunc())
}
