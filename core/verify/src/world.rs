//! The rules by which a frame is delivered (`docs/network.md`, P1 to P9), over what the lines of
//! all devices say.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::{DeviceId, Dialect, Fleet, Port, RouteTarget, VrfName};
use read::{Bridge, Scope};
use wire::{Mac, Tag, Vni};

use crate::device::{At, Device, Entry, Lines, Peers, PortLines, PortState, Rule};
use crate::finding::{Talk, Way};
use crate::islands::{Cables, Duty};

/// What all devices say, and which of them can exchange routes.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) fleet: Arc<Fleet>,
    /// By device.
    pub(crate) devices: Vec<Device>,
    /// By device: the Ethernet address of the interface behind each port.
    macs: Vec<BTreeMap<Port, Mac>>,
    /// By device: whether a packet program judges what comes by its cables.
    pub(crate) judges_cables: Vec<bool>,
    /// By device: what it has to be told before its sessions carry EVPN routes.
    pub(crate) duties: Vec<Duty>,
    /// By device: what its cables lead to.
    pub(crate) cables: Cables,
    /// By device: those that know each other's tunnel addresses have the same.
    pub(crate) underlay: Vec<DeviceId>,
    /// By device: those that hear each other's EVPN routes have the same.
    pub(crate) evpn: Vec<DeviceId>,
}

/// A port in a bridge domain of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) device: DeviceId,
    pub(crate) facts: &'a Device,
    pub(crate) bridge: &'a Bridge,
    pub(crate) port: Port,
}

/// Addresses a port can send from, and how they are tagged.
struct Source<'a> {
    first: Ipv4Addr,
    last: Ipv4Addr,
    tag: Option<Tag>,
    space: Option<&'a VrfName>,
}

/// What a port receives under.
struct Target<'a> {
    address: Option<Ipv4Addr>,
    tag: Option<Tag>,
    space: Option<&'a VrfName>,
}

/// A tunnel between two devices: the sender's VNI and the one on the wire.
#[derive(Clone, Copy)]
pub(crate) struct Tunnel {
    pub(crate) own: Vni,
    pub(crate) landing: Vni,
}

impl World {
    /// A world in which no device has said anything.
    pub(crate) fn new(fleet: Arc<Fleet>) -> Self {
        let count = fleet.device_count();
        let alone: Vec<DeviceId> = (0..).map(DeviceId).take(count).collect();
        let mut cables = vec![BTreeMap::new(); count];
        for [one, other] in fleet.cables() {
            cables[one.0.index()].insert(one.1, other);
            cables[other.0.index()].insert(other.1, one);
        }
        let mut macs = vec![BTreeMap::new(); count];
        for (device, port, mac) in fleet.interfaces() {
            macs[device.index()].insert(port, mac);
        }
        let mut judges_cables = vec![false; count];
        let mut duties = vec![Duty::Free; count];
        for device in fleet.devices() {
            judges_cables[device.index()] = fleet.judges_cables(device);
            if fleet.network_dialects(device).contains(&Dialect::Nxos) {
                let passes_on = fleet.passes_on(device);
                duties[device.index()] = if passes_on { Duty::PassesOn } else { Duty::Tells };
            }
        }
        let (underlay, evpn) = (alone.clone(), alone);
        let devices = vec![Device::default(); count];
        Self { fleet, devices, macs, judges_cables, duties, cables, underlay, evpn }
    }

    /// Whether this may be the Ethernet address of what is behind this port.
    pub(crate) fn is_own(&self, device: DeviceId, port: Port, mac: Mac) -> bool {
        self.macs[device.index()].get(&port).is_none_or(|own| *own == mac)
    }

    /// The spot of a port in a bridge domain.
    pub(crate) fn spot<'a>(&'a self, device: DeviceId, bridge: &'a Bridge, port: Port) -> Spot<'a> {
        Spot { device, facts: &self.devices[device.index()], bridge, port }
    }

    /// Whether the device judges by security groups; otherwise a packet program does.
    pub(crate) fn is_switch(&self, device: DeviceId) -> bool {
        self.duties[device.index()] != Duty::Free
    }

    /// Whether tunnels of others depend on the routes that this switch passes on.
    pub(crate) fn passes_on(&self, device: DeviceId) -> bool {
        self.duties[device.index()] == Duty::PassesOn
    }

    /// A line about a port with another Ethernet address than that of the interface behind it.
    pub(crate) fn strange_interface(&self, device: DeviceId, port: Port) -> Option<(Mac, At)> {
        let lines = self.devices[device.index()].ports.get(&port)?;
        let bound = lines.bound.iter().map(|((_, _, mac), at)| (*mac, *at));
        let entries = lines.entries.iter().map(|(entry, at)| (entry.mac, *at));
        bound.chain(entries).find(|(mac, _)| !self.is_own(device, port, *mac))
    }

    /// The first way on which a frame passes. An honest sender uses an address bound to its
    /// port; an attacker uses any that passes.
    pub(crate) fn passes(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        talk: Talk,
        honest: bool,
    ) -> Option<Way> {
        let sources = self.sources(from, honest);
        let targets = self.targets(to, talk);
        let bridged = self.bridged(from, to);
        for target in &targets {
            let routed = target.address.filter(|_| talk != Talk::Flood);
            let routed = routed.and_then(|address| self.routed(from, to, address));
            for (way, tunnel) in bridged.into_iter().chain(routed) {
                let mut sources = sources.iter();
                if sources.any(|source| self.delivered(from, to, source, target, tunnel, talk)) {
                    return Some(way);
                }
            }
        }
        None
    }

    /// P2 and P3: the addresses a port can send from, with the tag each of them gets. A packet
    /// program hears an honest sender only where it names the sender's own Ethernet address.
    fn sources<'a>(&self, from: Spot<'a>, honest: bool) -> Vec<Source<'a>> {
        let Some(port) = port_up(from) else {
            return Vec::new();
        };
        let bound = port.bound.values().filter(|(bridge, ..)| bridge == from.bridge);
        let bound = bound.map(|&(_, address, _)| address);
        if from.facts.is_unfiltered(from.port) {
            let own = bound.map(|address| Source::one(address, None, None));
            return if honest { own.collect() } else { vec![Source::anything()] };
        }
        if self.is_switch(from.device) {
            let vrf = vrf(from);
            let mut sources: Vec<Source<'_>> = bound
                .flat_map(|address| {
                    tags(from, address).into_iter().map(move |tag| Source::one(address, tag, None))
                })
                .collect();
            if !honest && !from.facts.guards(port, from.bridge) {
                let groups = vrf.and_then(|vrf| from.facts.vrfs.get(vrf));
                for (net, lines) in groups.iter().flat_map(|vrf| &vrf.groups) {
                    let (first, last) = (net.network(), net.broadcast());
                    let tags = lines.values().map(|tag| Some(*tag));
                    sources.extend(tags.map(|tag| Source { first, last, tag, space: None }));
                }
                sources.push(Source::anything());
            }
            return sources;
        }
        let entries = port.entries.values();
        let of_entry = |e: &'a Entry| Source::one(e.address, Some(e.tag), Some(&e.space));
        if !honest {
            let mut sources: Vec<Source<'_>> = entries.map(of_entry).collect();
            if !denies(from) {
                sources.push(Source::anything());
            }
            return sources;
        }
        let mut sources = Vec::new();
        for address in bound {
            let before = sources.len();
            let is_heard =
                |e: &&Entry| e.address == address && self.is_own(from.device, from.port, e.mac);
            sources.extend(entries.clone().filter(is_heard).map(of_entry));
            if sources.len() == before && !denies(from) {
                sources.push(Source::one(address, None, None));
            }
        }
        sources
    }

    /// What the port receives such a frame under.
    fn targets<'a>(&self, to: Spot<'a>, talk: Talk) -> Vec<Target<'a>> {
        let Some(port) = port_up(to) else {
            return Vec::new();
        };
        let bound = port.bound.values().filter(|(bridge, ..)| bridge == to.bridge);
        let bound = bound.map(|&(_, address, _)| address);
        let flooded = talk == Talk::Flood;
        if self.is_switch(to.device) {
            if flooded {
                return vec![Target { address: None, tag: None, space: None }];
            }
            let of_tag = |address| move |tag| Target { address: Some(address), tag, space: None };
            return bound.flat_map(|at| tags(to, at).into_iter().map(of_tag(at))).collect();
        }
        if judges(to) {
            let entries = port.entries.values().map(|entry| Target {
                address: Some(entry.address),
                tag: Some(entry.tag),
                space: Some(&entry.space),
            });
            let bound: Vec<Ipv4Addr> = bound.collect();
            return entries
                .filter(|target| flooded || target.address.is_some_and(|at| bound.contains(&at)))
                .collect();
        }
        if flooded {
            return vec![Target { address: None, tag: None, space: None }];
        }
        bound.map(|address| Target { address: Some(address), tag: None, space: None }).collect()
    }

    /// P5 and P7 to P9: whether this frame on this way is delivered.
    fn delivered(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        source: &Source<'_>,
        target: &Target<'_>,
        tunnel: Option<Tunnel>,
        talk: Talk,
    ) -> bool {
        let Some(tunnel) = tunnel else {
            return self.lets_across(from, to, source, target, talk)
                && self.verdict(to, source.tag, target, target.space, talk);
        };
        if !self.sender_lets(from, source, target, talk) {
            return false;
        }
        let tag = source.tag.filter(|_| from.facts.tagged(tunnel.own));
        if tag.is_some() && !to.facts.tagged(tunnel.landing) {
            return false;
        }
        if self.is_switch(to.device) || !denies(to) {
            return self.verdict(to, tag, target, None, talk);
        }
        let (Some(tag), Some(outer)) = (tag, from.facts.tunnel_from(tunnel.own)) else {
            return false;
        };
        let spaces = to.facts.table.spaces.get(&tunnel.landing);
        spaces.iter().flat_map(|lines| lines.values()).any(|space| {
            known_peer(to.facts, space, source, outer, tag)
                && self.verdict(to, Some(tag), target, Some(space), talk)
        })
    }

    /// P8, on one device: ends in two spaces know each other only as peers.
    fn lets_across(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        source: &Source<'_>,
        target: &Target<'_>,
        talk: Talk,
    ) -> bool {
        let (Some(space), Some(tag)) = (target.space, source.tag) else { return true };
        let is_known = || {
            let mut runs = to.facts.runs_of(space, tag);
            runs.any(|(first, (run, _))| first <= source.last && source.first <= run.last)
        };
        source.space == Some(space) || (is_known() && self.sender_lets(from, source, target, talk))
    }

    /// P9: whether the sender's program lets a unicast frame out.
    fn sender_lets(
        &self,
        from: Spot<'_>,
        source: &Source<'_>,
        target: &Target<'_>,
        talk: Talk,
    ) -> bool {
        if self.is_switch(from.device) || !denies(from) || talk == Talk::Flood {
            return true;
        }
        let (Some(space), Some(address), Some(tag)) = (source.space, target.address, source.tag)
        else {
            return false;
        };
        let permits = from.facts.table.permits.get(space);
        peers(from.facts, space)
            .filter(|(_, first, peers)| *first <= address && address <= peers.last)
            .any(|(theirs, ..)| allowed(tag, theirs, talk, permits))
    }

    /// P8: the receiver's verdict.
    fn verdict(
        &self,
        to: Spot<'_>,
        tag: Option<Tag>,
        target: &Target<'_>,
        space: Option<&VrfName>,
        talk: Talk,
    ) -> bool {
        let (denies, rules) = if self.is_switch(to.device) {
            let vrf = vrf(to);
            let denies = vrf.is_some_and(|vrf| to.facts.vrf_denies(vrf));
            let lines = vrf.and_then(|vrf| to.facts.vrfs.get(vrf));
            (denies && talk != Talk::Flood, lines.map(|lines| &lines.contracts))
        } else {
            (judges(to), space.and_then(|space| to.facts.table.permits.get(space)))
        };
        if !denies {
            return true;
        }
        match (tag, target.tag) {
            (Some(tag), Some(theirs)) => allowed(tag, theirs, talk, rules),
            _ => false,
        }
    }

    /// The services that the receiver's rules name.
    pub(crate) fn talks(&self, to: Spot<'_>) -> Vec<Talk> {
        let mut talks = vec![Talk::Flood, Talk::Any];
        let mut name =
            |rule: &Rule| talks.extend([Talk::Ask(rule.service), Talk::Answer(rule.service)]);
        if self.is_switch(to.device) {
            let vrf = vrf(to).and_then(|vrf| to.facts.vrfs.get(vrf));
            vrf.iter().flat_map(|vrf| vrf.contracts.values()).for_each(&mut name);
        } else {
            to.facts.table.permits.values().flat_map(Lines::values).for_each(&mut name);
        }
        talks.sort_unstable();
        talks.dedup();
        talks
    }

    /// The lines that decide about frames between two spots: where they are attached and bound,
    /// what joins them and how they are tagged, as far as it matters on this way.
    pub(crate) fn evidence(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        passage: Option<(Way, Talk)>,
    ) -> Vec<At> {
        let on = |ways: &[Way]| passage.is_none_or(|(way, _)| ways.contains(&way));
        let bridged = on(&[Way::BridgedLocal, Way::BridgedRemote]);
        let routed = on(&[Way::RoutedLocal, Way::RoutedRemote]);
        let flooded = passage.is_some_and(|(_, talk)| talk == Talk::Flood);
        let mut ats = Vec::new();
        for spot in [from, to] {
            let Some(port) = spot.facts.ports.get(&spot.port) else { continue };
            ats.extend(port.attached.ats().chain(port.bound.ats()).chain(port.entries.ats()));
            if let Some(PortState { down, unfiltered, .. }) = spot.facts.states.get(&spot.port) {
                ats.extend(down.ats().chain(unfiltered.ats()));
            }
            if let Some(lines) = spot.facts.bridges.get(spot.bridge) {
                ats.extend(lines.vni.ats().filter(|_| bridged));
                ats.extend(lines.vrf.ats().filter(|_| routed));
            }
            for (_, address, _) in port.bound.values().filter(|_| !flooded) {
                let vrf = vrf(spot).into_iter();
                ats.extend(vrf.flat_map(|v| spot.facts.groups(v, *address)).map(|(_, at)| *at));
            }
        }
        if let (true, Some(vrf), Some(port)) = (routed, vrf(from), to.facts.ports.get(&to.port)) {
            let reaches = port.bound.values().flat_map(|(_, at, _)| from.facts.reaches(vrf, *at));
            ats.extend(reaches.map(|(.., at)| at));
        }
        let segments = (segment(from).map(Scope::Segment), segment(to).map(Scope::Segment));
        let vrfs = (vrf(from).cloned().map(Scope::Vrf), vrf(to).cloned().map(Scope::Vrf));
        let same_vrf = from.device == to.device && vrfs.0 == vrfs.1;
        for (matters, scopes) in
            [(on(&[Way::BridgedRemote]), segments), (routed && !same_vrf, vrfs)]
        {
            if let (Some(ours), Some(theirs)) = scopes
                && matters
                && let Some((import, export)) = joined(from, &ours, to, &theirs)
            {
                ats.extend([import, export]);
            }
        }
        ats.sort_unstable();
        ats.dedup();
        ats
    }
}

impl Source<'_> {
    const fn one(address: Ipv4Addr, tag: Option<Tag>, space: Option<&VrfName>) -> Source<'_> {
        Source { first: address, last: address, tag, space }
    }

    const fn anything() -> Self {
        Self { first: Ipv4Addr::UNSPECIFIED, last: Ipv4Addr::BROADCAST, tag: None, space: None }
    }
}

/// Whether the packet program of the device drops what no entry names.
fn denies(spot: Spot<'_>) -> bool {
    spot.facts.program_denies()
}

/// Whether it stands at this port, too.
fn judges(spot: Spot<'_>) -> bool {
    denies(spot) && !spot.facts.is_unfiltered(spot.port)
}

/// What is said of a port through which anything passes.
fn port_up<'a>(spot: Spot<'a>) -> Option<&'a PortLines> {
    let port = spot.facts.ports.get(&spot.port)?;
    (!spot.facts.is_down(spot.port)).then_some(port)
}

pub(crate) fn segment(spot: Spot<'_>) -> Option<Vni> {
    spot.facts.bridges.get(spot.bridge)?.vni.first().copied()
}

pub(crate) fn vrf<'a>(spot: Spot<'a>) -> Option<&'a VrfName> {
    spot.facts.bridges.get(spot.bridge)?.vrf.first()
}

pub(crate) fn has_gateway(spot: Spot<'_>) -> bool {
    spot.facts.bridges.get(spot.bridge).is_some_and(|lines| !lines.gateway.is_empty())
}

/// The groups of an address on a switch; none is one of the answers when no line knows it.
fn tags(spot: Spot<'_>, address: Ipv4Addr) -> Vec<Option<Tag>> {
    let vrf = vrf(spot).into_iter();
    let tags = vrf.flat_map(|vrf| spot.facts.groups(vrf, address)).map(|(tag, _)| Some(*tag));
    let tags: Vec<Option<Tag>> = tags.collect();
    if tags.is_empty() { vec![None] } else { tags }
}

/// The two lines by which the first scope imports what the second exports.
pub(crate) fn joined(
    from: Spot<'_>,
    ours: &Scope,
    to: Spot<'_>,
    theirs: &Scope,
) -> Option<(At, At)> {
    let imports = &from.facts.scopes.get(ours)?.imports;
    let exports = &to.facts.scopes.get(theirs)?.exports;
    let matching = |target: &RouteTarget| exports.iter().find(|(held, _)| held == target);
    imports.iter().find_map(|(target, at)| Some((*at, matching(target)?.1)))
}

fn peers<'a>(
    facts: &'a Device,
    space: &VrfName,
) -> impl Iterator<Item = (Tag, Ipv4Addr, &'a Peers)> {
    let peers = facts.table.peers.get(space);
    peers
        .into_iter()
        .flatten()
        .flat_map(|((tag, first), lines)| lines.values().map(move |peers| (*tag, *first, peers)))
}

/// P7: whether some address of the source is a peer behind this tunnel endpoint with this tag.
fn known_peer(
    facts: &Device,
    space: &VrfName,
    source: &Source<'_>,
    outer: Ipv4Addr,
    tag: Tag,
) -> bool {
    facts.runs_of(space, tag).any(|(first, (peers, _))| {
        let mut blocks = peers.blocks(first).skip_while(|(_, last, _)| *last < source.first);
        blocks.any(|(first, _, vtep)| first <= source.last && vtep == outer)
    })
}

fn allowed(tag: Tag, theirs: Tag, talk: Talk, rules: Option<&Lines<Rule>>) -> bool {
    let named = |client, provider, service| {
        let rule = Rule { client, provider, service };
        rules.is_some_and(|rules| rules.values().any(|held| *held == rule))
    };
    tag == theirs
        || match talk {
            Talk::Flood | Talk::Any => false,
            Talk::Ask(service) => named(tag, theirs, service),
            Talk::Answer(service) => named(theirs, tag, service),
        }
}
