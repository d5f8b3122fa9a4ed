//! A switch that runs NX-OS.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Port, Service};
use smol_str::SmolStr;
use wire::{Tag, Vni};

use crate::machine::{Binding, Machine, Neighbor, Speaker, Tunnel, Vrf};
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
    snoops: bool,
    keeps_sources: bool,
    has_room_for_sources: bool,
    knows_groups: bool,
    has_room_for_groups: bool,
    by_bgp: bool,
    tunnels_up: bool,
    tunnel_source: Option<&'a str>,
    loopbacks: BTreeMap<&'a str, Ipv4Addr>,
    members: BTreeSet<Vni>,
    segment_of: BTreeMap<SmolStr, Vni>,
    sockets: BTreeMap<Port, Socket>,
    /// Whether ports are routed, and bridged ones down, unless they are told.
    routed_by_default: bool,
    shut_by_default: bool,
    gateways: BTreeMap<&'a str, Gateway<'a>>,
    /// The VNI of each VRF, and whether it is said to stand without a VLAN.
    vnis: BTreeMap<&'a str, (Vni, bool)>,
    leaves_next_hops: bool,
    /// Each service of a class, and whether it is stateful.
    classes: BTreeMap<&'a str, Vec<(Service, bool)>>,
    policies: BTreeMap<&'a str, Vec<&'a str>>,
    contracts: Vec<Contract<'a>>,
    groups: Groups,
}

/// What the lines of one port say.
#[derive(Default)]
struct Socket {
    is_routed: Option<bool>,
    is_up: Option<bool>,
    access: Option<SmolStr>,
    address: Option<Ipv4Addr>,
    guarded: bool,
}

/// What the lines of the routed interface of one VLAN say.
#[derive(Default)]
struct Gateway<'a> {
    vrf: Option<&'a str>,
    net: Option<Ipv4Net>,
    forwards: bool,
    is_up: bool,
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
            ["feature", "dhcp"] => self.snoops = true,
            ["hardware", "access-list", "tcam", "region", "ipsg", size] => {
                self.has_room_for_sources = size.parse::<u32>().is_ok_and(|size| size > 0);
            }
            ["system", "default", "switchport"] => self.routed_by_default = false,
            ["no", "system", "default", "switchport"] => self.routed_by_default = true,
            ["system", "default", "switchport", "shutdown"] => self.shut_by_default = true,
            ["route-map", "UNCHANGED", "permit", _] => {
                let is_it = |line: &Block<'_>| line.words == ["set", "ip", "next-hop", "unchanged"];
                self.leaves_next_hops |= block.inner.iter().any(is_it);
            }
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
                machine.speaker.retains |= reflects(&machine.speaker);
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
            self.loopbacks.extend(network(block).map(|net| (name, net.addr())));
        } else if let Some(vlan) = name.strip_prefix("Vlan") {
            machine.domains.entry(vlan.into()).or_default();
            self.gateways.entry(vlan).or_default().take(block);
        } else if let Ok(port) = name.parse::<Port>() {
            self.sockets.entry(port).or_default().take(block);
        }
    }

    fn nve(&mut self, block: &Block<'a>) {
        for line in &block.inner {
            match line.words[..] {
                ["host-reachability", "protocol", "bgp"] => self.by_bgp = true,
                ["source-interface", name] => self.tunnel_source = Some(name),
                ["no", "shutdown"] => self.tunnels_up = true,
                ["shutdown"] => self.tunnels_up = false,
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
                ["vni", vni] => {
                    self.vnis.extend(vni.parse().map(|vni| (name, (vni, false))));
                }
                ["vni", vni, "l3"] => {
                    self.vnis.extend(vni.parse().map(|vni| (name, (vni, true))));
                }
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
        self.plug(machine);
        self.route(machine);
        let source = self.tunnel_source.and_then(|name| self.loopbacks.get(name));
        let source = source.filter(|_| self.tunnels_up);
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
        // `ip verify source` is refused without room for it, and silent while nothing is snooped.
        if !(self.keeps_sources && self.snoops && self.has_room_for_sources) {
            machine.kept.clear();
        }
        if !self.leaves_next_hops {
            let neighbors = machine.speaker.neighbors.values_mut();
            neighbors.for_each(|neighbor| neighbor.told_next_hops &= neighbor.is_reflected);
        }
        if !(self.knows_groups && self.has_room_for_groups) {
            self.groups.denying.clear();
        }
        machine.policy = Policy::Groups(self.groups);
    }

    /// Puts each port where it is: bridged in its VLAN, or routed as a cable, or nowhere if it is
    /// down. Routed ports are down until they are told, bridged ones in VLAN 1.
    fn plug(&self, machine: &mut Machine) {
        for (&port, socket) in &self.sockets {
            let jack = machine.ports.entry(port).or_default();
            let is_routed = socket.is_routed.unwrap_or(self.routed_by_default);
            let is_up = socket.is_up.unwrap_or(!is_routed && !self.shut_by_default);
            jack.guarded = socket.guarded;
            jack.domain = None;
            match socket.address {
                _ if !is_up => {}
                Some(address) if is_routed => {
                    machine.speaker.cables.insert(address, port);
                }
                _ if is_routed => {}
                _ => jack.domain = Some(socket.access.clone().unwrap_or_else(|| "1".into())),
            }
        }
    }

    /// Lets gateways route that are up, and the VNIs of VRFs carry that have one, or say that they
    /// need none.
    fn route(&self, machine: &mut Machine) {
        for (&vlan, gateway) in &self.gateways {
            let domain = machine.domains.entry(vlan.into()).or_default();
            domain.vrf = gateway.vrf.map(Into::into);
            domain.gateways = gateway.net.filter(|_| gateway.is_up).into_iter().collect();
        }
        for (&name, &(vni, stands_alone)) in &self.vnis {
            let mut vlans = self.segment_of.iter().filter(|(_, held)| **held == vni);
            let has_gateway = vlans.any(|(vlan, _)| {
                let gateway = self.gateways.get(vlan.as_str());
                gateway.is_some_and(|way| way.vrf == Some(name) && way.forwards && way.is_up)
            });
            let vrf = machine.vrfs.entry(name.into()).or_default();
            vrf.vni = (stands_alone || has_gateway).then_some(vni);
        }
    }

    /// A contract for each service of its policy. A policy that nobody defined permits nothing.
    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for contract in &self.contracts {
            let classes = self.policies.get(contract.policy).into_iter().flatten();
            let services = classes.filter_map(|class| self.classes.get(class));
            for &(service, is_stateful) in services.flatten() {
                rules.push(Rule {
                    place: contract.vrf.into(),
                    client: contract.client,
                    provider: contract.provider,
                    service,
                    answered: contract.both_ways,
                    answers_open: !is_stateful,
                });
            }
        }
        rules
    }
}

impl Socket {
    fn take(&mut self, block: &Block<'_>) {
        for line in &block.inner {
            match line.words[..] {
                ["switchport"] => self.is_routed = Some(false),
                ["no", "switchport"] => self.is_routed = Some(true),
                ["no", "shutdown"] => self.is_up = Some(true),
                ["shutdown"] => self.is_up = Some(false),
                ["switchport", "access", "vlan", vlan] => self.access = Some(vlan.into()),
                ["ip", "verify", "source", "dhcp-snooping-vlan"] => self.guarded = true,
                _ => {}
            }
        }
        self.address = network(block).map(|net| net.addr()).or(self.address);
    }
}

impl<'a> Gateway<'a> {
    fn take(&mut self, block: &Block<'a>) {
        for line in &block.inner {
            match line.words[..] {
                ["vrf", "member", vrf] => self.vrf = Some(vrf),
                ["ip", "forward"] => self.forwards = true,
                ["no", "shutdown"] => self.is_up = true,
                ["shutdown"] => self.is_up = false,
                _ => {}
            }
        }
        self.net = network(block).or(self.net);
    }
}

fn network(block: &Block<'_>) -> Option<Ipv4Net> {
    block.inner.iter().rev().find_map(|line| match line.words[..] {
        ["ip", "address", net] => net.parse().ok(),
        _ => None,
    })
}

fn vrf_targets(block: &Block<'_>, vrf: &mut Vrf) {
    for line in &block.inner {
        match line.words[..] {
            ["route-target", direction, target, "evpn"] => vrf.targets.add(direction, target),
            ["route-target", direction, target] => vrf.leaks.add(direction, target),
            _ => {}
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
            ["address-family", "l2vpn", "evpn"] => {
                let keeps = |line: &Block<'_>| line.words == ["retain", "route-target", "all"];
                speaker.retains |= line.inner.iter().any(keeps);
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
                        ["address-family", "l2vpn", "evpn"] => told(line, neighbor),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

fn reflects(speaker: &Speaker) -> bool {
    speaker.neighbors.values().any(|neighbor| neighbor.is_reflected)
}

/// How EVPN routes are told to a neighbour. Who reflects keeps them, and leaves their next hop.
fn told(block: &Block<'_>, neighbor: &mut Neighbor) {
    neighbor.evpn = true;
    for line in &block.inner {
        match line.words[..] {
            ["send-community", "extended" | "both"] => neighbor.told_targets = true,
            ["route-map", "UNCHANGED", "out"] => neighbor.told_next_hops = true,
            ["route-reflector-client"] => neighbor.is_reflected = true,
            _ => {}
        }
    }
    neighbor.told_next_hops |= neighbor.is_reflected;
}

fn contract<'a>(vrf: &'a str, words: &[&'a str]) -> Option<Contract<'a>> {
    // Both ways is what is meant where nothing is said, and nothing is printed.
    let (words, both_ways) = match words {
        [words @ .., "bidir"] => (words, true),
        [words @ .., "unidir"] => (words, false),
        words => (words, true),
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

/// A service, and whether its packets are known to belong to a connection.
fn service(line: &Block<'_>) -> Option<(Service, bool)> {
    let (protocol, port, is_stateful) = match line.words[..] {
        ["match", "ipv4", protocol, "dport", port] => (protocol, port, false),
        ["match", "ipv4", protocol, "stateful", "dport", port] => (protocol, port, true),
        _ => return None,
    };
    Some((Service { protocol: protocol.parse().ok()?, port: port.parse().ok()? }, is_stateful))
}

fn permitted_class<'a>(line: &Block<'a>) -> Option<&'a str> {
    let ["class", name] = line.words[..] else {
        return None;
    };
    let permits = line.inner.iter().any(|line| line.words == ["permit"]);
    permits.then_some(name)
}
