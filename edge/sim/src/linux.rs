//! What the kernel of a Linux tunnel endpoint does: bridges, tunnels, neighbours, and routes into
//! the networks of other tenants.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::Port;

use crate::machine::{Binding, Machine, Reach, Tunnel};

/// Does what each line says; a line that lacks a word it needs does nothing.
pub(crate) fn load(text: &str, machine: &mut Machine) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        take(&words, machine);
    }
}

fn take(words: &[&str], machine: &mut Machine) -> Option<()> {
    match words {
        ["vtep", address] => {
            machine.own.extend(address.parse::<Ipv4Addr>());
            Some(())
        }
        ["uplink", _, state @ ..] if state.contains(&"down") || !state.contains(&"judged") => None,
        ["uplink", port, ..] => {
            machine.uplinks.extend(port.parse::<Port>());
            Some(())
        }
        ["bridge", name, rest @ ..] => bridge(name, rest, machine),
        ["vxlan", _, rest @ ..] => vxlan(rest, machine),
        ["link", port, rest @ ..] => link(port, rest, machine),
        ["neigh", address, rest @ ..] => neighbour(address, rest, machine),
        ["reach", range, rest @ ..] => reach(range, rest, machine),
        _ => None,
    }
}

/// The word that stands after this one.
pub(crate) fn after<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == key)?;
    words.get(at + 1).copied()
}

fn bridge(name: &str, words: &[&str], machine: &mut Machine) -> Option<()> {
    let domain = machine.domains.entry(name.into()).or_default();
    domain.vrf = after(words, "vrf").map(Into::into);
    domain.gateways.extend(after(words, "address")?.parse::<Ipv4Net>());
    Some(())
}

fn vxlan(words: &[&str], machine: &mut Machine) -> Option<()> {
    let vni = after(words, "id")?.parse().ok()?;
    let tunnel =
        Tunnel { local: after(words, "local")?.parse().ok()?, tagged: words.contains(&"gbp") };
    if let Some(bridge) = after(words, "master") {
        let domain = machine.domains.entry(bridge.into()).or_default();
        domain.tunnels.insert(vni, tunnel);
    }
    if let Some(vrf) = after(words, "vrf") {
        let vrf = machine.vrfs.entry(vrf.into()).or_default();
        vrf.tunnels.insert(vni, tunnel);
    }
    Some(())
}

fn link(port: &str, words: &[&str], machine: &mut Machine) -> Option<()> {
    if words.contains(&"down") {
        return None;
    }
    let jack = machine.ports.entry(port.parse().ok()?).or_default();
    jack.domain = Some(after(words, "master")?.into());
    jack.bare = !words.contains(&"judged");
    Some(())
}

fn neighbour(address: &str, words: &[&str], machine: &mut Machine) -> Option<()> {
    machine.bindings.insert(Binding {
        address: address.parse().ok()?,
        port: after(words, "dev")?.parse().ok()?,
        domain: after(words, "master")?.into(),
    });
    Some(())
}

fn reach(range: &str, words: &[&str], machine: &mut Machine) -> Option<()> {
    let vni = after(words, "vni")?.parse().ok()?;
    let vrf = machine.vrfs.entry(after(words, "vrf")?.into()).or_default();
    for (first, last, vtep) in blocks(range, words)? {
        vrf.reaches.push(Reach { first, last, vtep, vni });
    }
    Some(())
}

/// A table has no room for more.
const MOST_BLOCKS: usize = 1 << 16;

/// The addresses of a run, first and last, with the tunnel endpoint they are behind: all of them
/// behind one, or with `every` each so many behind the next one.
pub(crate) fn blocks(range: &str, words: &[&str]) -> Option<Vec<(Ipv4Addr, Ipv4Addr, Ipv4Addr)>> {
    let (first, last) = range.split_once('-')?;
    let (first, last): (Ipv4Addr, Ipv4Addr) = (first.parse().ok()?, last.parse().ok()?);
    let vtep: Ipv4Addr = after(words, "vtep")?.parse().ok()?;
    let Some(every) = after(words, "every") else {
        return Some(vec![(first, last, vtep)]);
    };
    let every: usize = every.parse().ok().filter(|every| *every > 0)?;
    let starts = (u32::from(first)..=last.into()).step_by(every).take(MOST_BLOCKS);
    let ends = |start: u32| start.saturating_add(every as u32 - 1).min(last.into());
    let vteps = (u32::from(vtep)..=u32::MAX).map(Ipv4Addr::from);
    let blocks = starts.zip(vteps).map(|(start, vtep)| (start.into(), ends(start).into(), vtep));
    Some(blocks.collect())
}
