//! A switch that runs NX-OS.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Port, Service};
use smol_str::SmolStr;
use wire::{Tag, Vni};

use crate::machine::{Binding, Domain, Jack, Machine, Speaker, Tunnel, Vrf};
use crate::policy::{Groups, Policy, Rule};
use crate::tree::{self, Block};

/// Does what the text says. A later statement about the same thing replaces an earlier one.
pub(crate) fn load(text: &str, machine: &mut Machine) {
    let mut switch = Switch::default();
    for block in tree::blocks(text) {
        switch.take(&block, machine);
    }
    switch.join(machine);
}

/// What several blocks say together and no single one decides.
#[derive(Default)]
struct Switch<'a> {
    overlay: bool,
    keeps_sources: bool,
    knows_groups: bool,
    has_room_for_groups: bool,
    by_bgp: bool,
    tunnel_source: Option<&'a str>,
    loopbacks: BTreeMap<&'a str, Ipv4Addr>,
    members: BTreeSet<Vni>,
    segment_of: BTreeMap<SmolStr, Vni>,
    classes: BTreeMap<&'a str, Vec<Service>>,
    policies: BTreeMap<&'a str, Vec<&'a str>>,
    contracts: Vec<Contract<'a>>,
    groups: Groups,
}

struct Contract<'a> {
    vrf: &'a str,
    client: Tag,
    provider: Tag,
    policy: &'a str,
    both_ways: bool,
}

impl<'a> Switch<'a> {
    fn take(&mut self, block: &Block<'a>, machine: &mut Machine) {
        match block.words[..] {
            ["nv", "overlay", "evpn"] => self.overlay = true,
            ["ip", "dhcp", "snooping"] => self.keeps_sources = true,
            ["ip", "dhcp", "snooping", "vlan", vlan] => {
                machine.kept.insert(vlan.into());
            }
            ["feature", "security-group"] => self.knows_groups = true,
            ["system", "routing", "template-security-groups"] => self.has_room_for_groups = true,
            ["interface", name] => self.interface(name, block, machine),
            ["vlan", id] => self.vlan(id, block),
            ["vrf", "context", name] => self.vrf(name, block, machine),
            ["evpn"] => evpn(block, machine),
            ["router", "bgp", asn] => {
                machine.speaker.asn = asn.parse().ok().map(model::Asn).or(machine.speaker.asn);
                bgp(block, &mut machine.speaker);
            }
            ["security-group", tag, "name", _] => self.group(tag, block),
            ["class-map", "type", "security", "match-any", name] => {
                let services = block.inner.iter().filter_map(service);
                self.classes.entry(name).or_default().extend(services);
            }
            ["policy-map", "type", "security", name] => {
                let classes = block.inner.iter().filter_map(permitted_class);
                self.policies.entry(name).or_default().extend(classes);
            }
            ["ip", "source", "binding", address, _, "vlan", vlan, "interface", port] => {
                if let (Ok(address), Ok(port)) = (address.parse(), port.parse()) {
                    let domain = vlan.into();
                    machine.bindings.insert(Binding { address, port, domain });
                }
            }
            _ => {}
        }
    }

    fn interface(&mut self, name: &'a str, block: &Block<'a>, machine: &mut Machine) {
        if name == "nve1" {
            self.nve(block);
        } else if name.starts_with("loopback") {
            self.loopbacks.extend(address(block).map(|at| (name, at)));
        } else if let Some(vlan) = name.strip_prefix("Vlan") {
            gateway(block, machine.domains.entry(vlan.into()).or_default());
        } else if let Ok(port) = name.parse::<Port>() {
            machine.speaker.cables.extend(address(block).map(|at| (at, port)));
            jack(block, machine.ports.entry(port).or_default());
        }
    }

    fn nve(&mut self, block: &Block<'a>) {
        for line in &block.inner {
            match line.words[..] {
                ["host-reachability", "protocol", "bgp"] => self.by_bgp = true,
                ["source-interface", name] => self.tunnel_source = Some(name),
                ["member", "vni", vni] | ["member", "vni", vni, "associate-vrf"] => {
                    self.members.extend(vni.parse::<Vni>());
                }
                _ => {}
            }
        }
    }

    fn vlan(&mut self, id: &str, block: &Block<'a>) {
        for line in &block.inner {
            if let ["vn-segment", vni] = line.words[..]
                && let Ok(vni) = vni.parse()
            {
                self.segment_of.insert(id.into(), vni);
            }
        }
    }

    fn vrf(&mut self, name: &'a str, block: &Block<'a>, machine: &mut Machine) {
        let vrf = machine.vrfs.entry(name.into()).or_default();
        for line in &block.inner {
            match line.words[..] {
                ["vni", vni] => vrf.vni = vni.parse().ok().or(vrf.vni),
                ["address-family", "ipv4", "unicast"] => vrf_targets(line, vrf),
                ["security", "enforce", "tag", _, "default", "deny"] => {
                    self.groups.denying.insert(name.into());
                }
                ["security", "enforce", "tag", _, "default", "permit"] => {
                    self.groups.denying.remove(name);
                }
                ["security", "contract", ref rest @ ..] => {
                    self.contracts.extend(contract(name, rest));
                }
                _ => {}
            }
        }
    }

    fn group(&mut self, tag: &str, block: &Block<'a>) {
        let Ok(tag) = tag.parse::<Tag>() else { return };
        for line in &block.inner {
            if let ["match", "connected-endpoints", "vrf", vrf, "ipv4", net] = line.words[..]
                && let Ok(net) = net.parse::<Ipv4Net>()
            {
                let selectors = self.groups.selectors.entry(vrf.into()).or_default();
                selectors.push((net, tag));
            }
        }
    }

    /// Resolves what the blocks said by name, now that all of them were seen.
    fn join(mut self, machine: &mut Machine) {
        let source = self.tunnel_source.and_then(|name| self.loopbacks.get(name));
        let tunnel = source.map(|&local| Tunnel { local, tagged: true });
        let ends = |vni: Vni| Some((vni, tunnel.filter(|_| self.members.contains(&vni))?));
        for (vlan, vni) in &self.segment_of {
            let domain = machine.domains.entry(vlan.clone()).or_default();
            domain.tunnels.extend(ends(*vni));
        }
        for vrf in machine.vrfs.values_mut() {
            vrf.tunnels.extend(vrf.vni.and_then(ends));
        }
        machine.speaker.advertises_evpn = self.overlay && self.by_bgp;
        self.groups.contracts = self.rules();
        if !self.keeps_sources {
            machine.kept.clear();
        }
        if !(self.knows_groups && self.has_room_for_groups) {
            self.groups.denying.clear();
        }
        machine.policy = Policy::Groups(self.groups);
    }

    /// A contract for each service of its policy. A policy that nobody defined permits nothing.
    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for contract in &self.contracts {
            let classes = self.policies.get(contract.policy).into_iter().flatten();
            let services = classes.filter_map(|class| self.classes.get(class));
            for &service in services.flatten() {
                rules.push(Rule {
                    place: contract.vrf.into(),
                    client: contract.client,
                    provider: contract.provider,
                    service,
                    answered: contract.both_ways,
                });
            }
        }
        rules
    }
}

fn address(block: &Block<'_>) -> Option<Ipv4Addr> {
    network(block).map(|net| net.addr())
}

fn network(block: &Block<'_>) -> Option<Ipv4Net> {
    block.inner.iter().rev().find_map(|line| match line.words[..] {
        ["ip", "address", net] => net.parse().ok(),
        _ => None,
    })
}

fn gateway(block: &Block<'_>, domain: &mut Domain) {
    if let Some(net) = network(block) {
        domain.gateways = vec![net];
    }
    for line in &block.inner {
        if let ["vrf", "member", vrf] = line.words[..] {
            domain.vrf = Some(vrf.into());
        }
    }
}

fn jack(block: &Block<'_>, jack: &mut Jack) {
    for line in &block.inner {
        match line.words[..] {
            ["switchport", "access", "vlan", vlan] => jack.domain = Some(vlan.into()),
            ["ip", "verify", "source", "dhcp-snooping-vlan"] => jack.guarded = true,
            _ => {}
        }
    }
}

fn vrf_targets(block: &Block<'_>, vrf: &mut Vrf) {
    for line in &block.inner {
        if let ["route-target", direction, target, "evpn"] = line.words[..] {
            vrf.targets.add(direction, target);
        }
    }
}

fn evpn(block: &Block<'_>, machine: &mut Machine) {
    for segment in &block.inner {
        let ["vni", vni, "l2"] = segment.words[..] else {
            continue;
        };
        let Ok(vni) = vni.parse() else { continue };
        let targets = machine.segments.entry(vni).or_default();
        for line in &segment.inner {
            if let ["route-target", direction, target] = line.words[..] {
                targets.add(direction, target);
            }
        }
    }
}

fn bgp(block: &Block<'_>, speaker: &mut Speaker) {
    for line in &block.inner {
        match line.words[..] {
            ["address-family", "ipv4", "unicast"] => {
                let networks = line.inner.iter().filter_map(|line| match line.words[..] {
                    ["network", net] => net.parse::<Ipv4Net>().ok(),
                    _ => None,
                });
                let hosts = networks.filter(|net| net.prefix_len() == 32);
                speaker.announces.extend(hosts.map(|net| net.addr()));
            }
            ["neighbor", address] => {
                let Ok(address) = address.parse() else {
                    continue;
                };
                let neighbor = speaker.neighbors.entry(address).or_default();
                for line in &line.inner {
                    match line.words[..] {
                        ["remote-as", asn] => neighbor.remote = asn.parse().ok().map(model::Asn),
                        ["address-family", "ipv4", "unicast"] => neighbor.underlay = true,
                        ["address-family", "l2vpn", "evpn"] => neighbor.evpn = true,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn contract<'a>(vrf: &'a str, words: &[&'a str]) -> Option<Contract<'a>> {
    let (words, both_ways) = match words {
        [words @ .., "bidir"] => (words, true),
        words => (words, false),
    };
    let &["source", client, "destination", provider, "policy", policy] = words else {
        return None;
    };
    Some(Contract {
        vrf,
        client: client.parse().ok()?,
        provider: provider.parse().ok()?,
        policy,
        both_ways,
    })
}

fn service(line: &Block<'_>) -> Option<Service> {
    let ["match", "ipv4", protocol, "dport", port] = line.words[..] else {
        return None;
    };
    Some(Service { protocol: protocol.parse().ok()?, port: port.parse().ok()? })
}

fn permitted_class<'a>(line: &Block<'a>) -> Option<&'a str> {
    let ["class", name] = line.words[..] else {
        return None;
    };
    let permits = line.inner.iter().any(|line| line.words == ["permit"]);
    permits.then_some(name)
}
