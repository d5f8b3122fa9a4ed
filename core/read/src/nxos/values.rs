//! Single words of dialect `nxos`: groups, VLANs, ports and subnets as NX-OS writes them.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Port, Vlan};
use wire::Tag;

use crate::Bridge;
use crate::values as shared;
pub(super) use crate::values::{
    Why, address, asn, count, distinguisher, mac, prefixed, service, target, vni, vrf,
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

/// How long frames on a cable may be.
pub(super) const CABLE_MTU: u32 = 9216;

/// How long frames of an endpoint may be: they still fit into a tunnel over IPv4 then.
pub(super) const HOST_MTU: u32 = CABLE_MTU - 50;

/// How long frames of a port may be.
pub(super) fn mtu(word: &str) -> Result<u32, Why> {
    match shared::count(word) {
        Ok(bytes) if (576..=CABLE_MTU).contains(&bytes.get()) => Ok(bytes.get()),
        _ => Err("the longest frames have 576 to 9216 bytes"),
    }
}

/// How long frames of a gateway may be: it would drop what its ports take.
pub(super) fn gateway_mtu(word: &str) -> Result<u32, Why> {
    match mtu(word)? {
        bytes if bytes >= HOST_MTU => Ok(bytes),
        _ => Err("a gateway takes the frames that its ports take, of 9166 bytes"),
    }
}

/// Over how many ways an address family spreads what it sends.
pub(super) fn ways(word: &str) -> Result<u32, Why> {
    match shared::count(word) {
        Ok(ways) if (2..=64).contains(&ways.get()) => Ok(ways.get()),
        _ => Err("what is sent is spread over 2 to 64 ways"),
    }
}

/// A list of VLANs, as a switch prints all that it has: `1,100-105`.
pub(super) fn vlans(list: &str) -> Result<Vec<(u16, u16)>, Why> {
    const WHY: Why = "a list of VLANs is written 1,100-105, each once and in their order";
    let mut last = 0_u16;
    let mut runs = Vec::new();
    for run in list.split(',') {
        let (first, end) = run.split_once('-').unwrap_or((run, run));
        let ends = [first, end].map(|vlan| bridge(vlan).ok().and_then(|_| vlan.parse().ok()));
        match ends {
            [Some(first), Some(end)] if last < first && first <= end => {
                runs.push((first, end));
                last = end;
            }
            _ => return Err(WHY),
        }
    }
    Ok(runs)
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
