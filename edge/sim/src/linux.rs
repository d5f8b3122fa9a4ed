//! What the kernel of a Linux tunnel endpoint does: bridges, tunnels and neighbours.

use ipnet::Ipv4Net;

use crate::machine::{Binding, Machine, Tunnel};

/// Does what each line says; a line that lacks a word it needs does nothing.
pub(crate) fn load(text: &str, machine: &mut Machine) {
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        take(&words, machine);
    }
}

fn take(words: &[&str], machine: &mut Machine) -> Option<()> {
    match words {
        ["bridge", name, rest @ ..] => bridge(name, rest, machine),
        ["vxlan", _, rest @ ..] => vxlan(rest, machine),
        ["link", port, rest @ ..] => link(port, rest, machine),
        ["neigh", address, rest @ ..] => neighbour(address, rest, machine),
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
    domain.has_gateway = after(words, "address")?.parse::<Ipv4Net>().is_ok();
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
    let jack = machine.ports.entry(port.parse().ok()?).or_default();
    jack.domain = Some(after(words, "master")?.into());
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
