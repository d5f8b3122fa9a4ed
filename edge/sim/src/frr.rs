//! What FRR does on a Linux switch or host: sessions, announcements and route targets.

use ipnet::Ipv4Net;
use model::{Asn, Port};

use crate::machine::{Machine, Speaker, Targets};
use crate::tree::{self, Block};

/// Does what the text says. A later statement about the same thing replaces an earlier one.
pub(crate) fn load(text: &str, machine: &mut Machine) {
    for block in tree::blocks(text) {
        match block.words[..] {
            // A cable ends in a port; an address of anything else is none of a neighbour's.
            ["interface", name] => {
                let Ok(port) = name.parse::<Port>() else { continue };
                let addresses = block.inner.iter().filter_map(|line| match line.words[..] {
                    ["ip", "address", net] => net.parse::<Ipv4Net>().ok(),
                    _ => None,
                });
                let addresses = addresses.map(|net| (net.addr(), port));
                machine.speaker.cables.extend(addresses);
            }
            ["vrf", name] => {
                let vrf = machine.vrfs.entry(name.into()).or_default();
                for line in &block.inner {
                    if let ["vni", vni] = line.words[..] {
                        vrf.vni = vni.parse().ok().or(vrf.vni);
                    }
                }
            }
            ["router", "bgp", asn] => {
                let asn = asn.parse().ok().map(Asn);
                machine.speaker.asn = asn.or(machine.speaker.asn);
                underlay(&block, machine);
            }
            ["router", "bgp", _, "vrf", name] => {
                let vrf = machine.vrfs.entry(name.into()).or_default();
                for family in families(&block, ["l2vpn", "evpn"]) {
                    targets(family, &mut vrf.targets);
                }
            }
            _ => {}
        }
    }
}

fn underlay(block: &Block<'_>, machine: &mut Machine) {
    for line in &block.inner {
        if let ["neighbor", address, "remote-as", asn] = line.words[..]
            && let (Ok(address), Ok(asn)) = (address.parse(), asn.parse())
        {
            let neighbor = machine.speaker.neighbors.entry(address).or_default();
            neighbor.remote = Some(Asn(asn));
        }
    }
    for family in families(block, ["ipv4", "unicast"]) {
        carry(family, &mut machine.speaker);
    }
    for family in families(block, ["l2vpn", "evpn"]) {
        evpn(family, machine);
    }
}

fn carry(family: &Block<'_>, speaker: &mut Speaker) {
    for line in &family.inner {
        match line.words[..] {
            ["network", net] => {
                let net = net.parse::<Ipv4Net>().ok();
                let host = net.filter(|net| net.prefix_len() == 32);
                speaker.announces.extend(host.map(|net| net.addr()));
            }
            ["neighbor", address, "activate"] => {
                if let Ok(address) = address.parse() {
                    speaker.neighbors.entry(address).or_default().underlay = true;
                }
            }
            _ => {}
        }
    }
}

fn evpn(family: &Block<'_>, machine: &mut Machine) {
    for line in &family.inner {
        match line.words[..] {
            ["neighbor", address, "activate"] => {
                if let Ok(address) = address.parse() {
                    machine.speaker.neighbors.entry(address).or_default().evpn = true;
                }
            }
            ["advertise-all-vni"] => machine.speaker.advertises_evpn = true,
            ["vni", vni] => {
                if let Ok(vni) = vni.parse() {
                    targets(line, machine.segments.entry(vni).or_default());
                }
            }
            _ => {}
        }
    }
}

fn targets(block: &Block<'_>, targets: &mut Targets) {
    for line in &block.inner {
        if let ["route-target", direction, target] = line.words[..] {
            targets.add(direction, target);
        }
    }
}

fn families<'b, 'a>(
    block: &'b Block<'a>,
    family: [&'static str; 2],
) -> impl Iterator<Item = &'b Block<'a>> {
    let [afi, safi] = family;
    let wanted = move |line: &&Block<'_>| line.words == ["address-family", afi, safi];
    block.inner.iter().filter(wanted)
}
