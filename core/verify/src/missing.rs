//! Which lines are missing where two that must meet cannot.
//!
//! It is asked only once something was found. It follows the way that the plan's frames take, and
//! names every piece of it that no line says. What a line says wrongly is among those present.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use model::numbering::tunnel_name;
use model::{DeviceId, Dialect, Port, VrfName};
use read::Scope;
use wire::Vni;

use crate::cross::PortSpots;
use crate::device::Lines;
use crate::finding::{MissingLine, Talk};
use crate::islands::mate;
use crate::verifier::{JobId, Verifier};
use crate::world::{Spot, joined, segment, vrf};

/// A port that a cable is plugged into.
type CableEnd = (DeviceId, Port);

/// The lines that are missing, in the order in which a frame would need them.
pub(crate) struct Lacking<'a> {
    verifier: &'a Verifier,
    lines: Vec<MissingLine>,
}

impl Verifier {
    /// What is missing on the way of a frame from one port to another.
    pub(crate) fn lacking(&self, from: &PortSpots, to: &PortSpots, talk: Talk) -> Vec<MissingLine> {
        let mut lacking = Lacking { verifier: self, lines: Vec::new() };
        for port in [from, to] {
            if port.keys.is_empty() {
                lacking.attachment(port.device, port.port);
            }
        }
        if let (Some(a), Some(b)) = (from.keys.first(), to.keys.first()) {
            let a = self.world.spot(from.device, &a.1, from.port);
            let b = self.world.spot(to.device, &b.1, to.port);
            lacking.endpoint(a);
            lacking.endpoint(b);
            let is_one_segment = matches!(talk, Talk::Any | Talk::Flood);
            if a.device != b.device {
                lacking.fabric(a.device, b.device);
            }
            if is_one_segment {
                lacking.bridged(a, b);
            } else {
                lacking.routed(a, b);
                lacking.rule(a, b, talk);
            }
            if (a.device, a.bridge) != (b.device, b.bridge) {
                lacking.peers(a, b);
                lacking.peers(b, a);
            }
        }
        let mut lines = lacking.lines;
        lines.sort();
        lines.dedup();
        lines
    }

    /// What is missing for a session at this end of a cable.
    pub(crate) fn lacking_session(&self, device: DeviceId, neighbor: Ipv4Addr) -> Vec<MissingLine> {
        let mut lacking = Lacking { verifier: self, lines: Vec::new() };
        let ports = self.facts(device).cables.get(&mate(neighbor));
        let cables = &self.world.cables[device.index()];
        for port in ports.into_iter().flat_map(Lines::values) {
            if let Some(end) = cables.get(port) {
                lacking.session((device, *port), *end);
                lacking.session(*end, (device, *port));
            }
        }
        lacking.lines
    }

    fn job_at(&self, spot: Spot<'_>) -> Option<JobId> {
        self.owners[spot.device.index()].get(&spot.port).copied()
    }

    /// The tag that the job behind a port has elsewhere, if any line tells.
    fn tag_at(&self, spot: Spot<'_>) -> String {
        let keys = self.job_at(spot).and_then(|job| Some((job, self.index.jobs.get(&job)?)));
        let tag = keys.and_then(|(job, keys)| {
            let mut seats = keys.iter().flat_map(|key| self.seats(key));
            seats.find(|seat| seat.owner == Some(job) && seat.tag.is_some())?.tag
        });
        tag.map_or_else(|| "of its job".into(), |tag| tag.to_string())
    }
}

impl Lacking<'_> {
    fn line(&mut self, device: DeviceId, dialect: Dialect, text: String) {
        self.lines.push(MissingLine { device, dialect: Some(dialect), text });
    }

    /// The dialect of what the kernel of a device holds, or of all that a switch holds.
    fn kernel(&self, device: DeviceId) -> Dialect {
        if self.verifier.world.is_switch(device) { Dialect::Nxos } else { Dialect::Linux }
    }

    fn routing(&self, device: DeviceId) -> Dialect {
        if self.verifier.world.is_switch(device) { Dialect::Nxos } else { Dialect::Frr }
    }

    /// A port that is in no bridge domain.
    fn attachment(&mut self, device: DeviceId, port: Port) {
        let bound = self.verifier.facts(device).ports.get(&port);
        let bridge = bound.and_then(|lines| Some(lines.bound.first()?.0.to_string()));
        let bridge = bridge.unwrap_or_else(|| "of its job".into());
        let text = match self.kernel(device) {
            Dialect::Nxos => format!("switchport access vlan {bridge}"),
            _ => format!("link {port} master {bridge} mtu 9216 judged"),
        };
        self.line(device, self.kernel(device), text);
    }

    /// An address that is bound to the port, and the group or the entry it speaks under.
    fn endpoint(&mut self, spot: Spot<'_>) {
        let Some(lines) = spot.facts.ports.get(&spot.port) else { return };
        let Spot { device, bridge, port, .. } = spot;
        let is_switch = self.verifier.world.is_switch(device);
        let space = vrf(spot).map_or_else(|| "of its tenant".into(), ToString::to_string);
        let bound = lines.bound.values().filter(|(held, ..)| held == bridge);
        let Some((_, address, mac)) = bound.last() else {
            let text = match lines.entries.first() {
                // It is in VLAN 1 where no line says otherwise.
                _ if is_switch && bridge.0 == "1" && !lines.bound.is_empty() => {
                    let bound = lines.bound.first().map(|(held, ..)| held.to_string());
                    format!("switchport access vlan {}", bound.unwrap_or_default())
                }
                _ if is_switch => format!("ip source binding … vlan {bridge} interface {port}"),
                Some(entry) => {
                    let (address, mac) = (entry.address, entry.mac);
                    format!("neigh {address} lladdr {mac} dev {port} master {bridge}")
                }
                None => format!("neigh … dev {port} master {bridge}"),
            };
            return self.line(device, self.kernel(device), text);
        };
        let tag = self.verifier.tag_at(spot);
        let mut groups = vrf(spot).into_iter().flat_map(|vrf| spot.facts.groups(vrf, *address));
        if is_switch && groups.next().is_none() {
            let text = format!("match connected-endpoints vrf {space} ipv4 {address}/32");
            self.line(device, Dialect::Nxos, text);
        }
        if !is_switch && lines.entries.values().all(|entry| entry.address != *address) {
            let text = format!("endpoint {space} {address} mac {mac} port {port} tag {tag}");
            self.line(device, Dialect::Table, text);
        }
    }

    /// What joins two devices: cables, and a session over each.
    fn fabric(&mut self, from: DeviceId, to: DeviceId) {
        let world = &self.verifier.world;
        let are_apart = |islands: &[DeviceId]| islands[from.index()] != islands[to.index()];
        if !are_apart(&world.underlay) && !are_apart(&world.evpn) {
            return;
        }
        let Some(cables) = self.cables_between(from, to) else {
            let name = world.fleet.device_name(to);
            let text = format!("a cable to {name}, or devices in between that lead there");
            return self.lines.push(MissingLine { device: from, dialect: None, text });
        };
        for (one, other) in cables {
            self.session(one, other);
            self.session(other, one);
        }
    }

    /// The shortest way from one device to another by the fleet's cables.
    fn cables_between(&self, from: DeviceId, to: DeviceId) -> Option<Vec<(CableEnd, CableEnd)>> {
        let mut before = BTreeMap::from([(from, None)]);
        let mut queue = VecDeque::from([from]);
        while let Some(device) = queue.pop_front().filter(|_| !before.contains_key(&to)) {
            for (port, end) in &self.verifier.world.cables[device.index()] {
                before.entry(end.0).or_insert_with(|| {
                    queue.push_back(end.0);
                    Some(((device, *port), *end))
                });
            }
        }
        let mut cables = Vec::new();
        let mut at = to;
        while let Some(cable) = *before.get(&at)? {
            cables.push(cable);
            at = cable.0.0;
        }
        Some(cables)
    }

    /// What a device does not say of its session with the other end of a cable.
    fn session(&mut self, (device, port): CableEnd, (other, end): CableEnd) {
        let verifier = self.verifier;
        let (ours, theirs) = (verifier.facts(device), verifier.facts(other));
        let of = |cables: &BTreeMap<Ipv4Addr, Lines<Port>>, port: Port| {
            let mut cables = cables.iter();
            cables.find(|(_, lines)| lines.values().any(|held| *held == port)).map(|(at, _)| *at)
        };
        let known = of(&theirs.cables, end);
        let own = of(&ours.cables, port);
        if verifier.world.judges_cables[device.index()] && !ours.uplinks.contains_key(&port) {
            self.line(device, Dialect::Linux, format!("uplink {port} mtu 9216 judged"));
        }
        let Some(neighbor) = own.map(mate).or(known) else { return };
        let dialect = self.routing(device);
        if own.is_none() {
            let own = mate(neighbor);
            self.line(device, dialect, format!("ip address {own}/31 below interface {port}"));
        }
        let lines = ours.neighbors.get(&neighbor);
        let is_switch = dialect == Dialect::Nxos;
        if lines.is_none_or(|lines| lines.remote.is_empty()) {
            let remote = theirs.local_as.first();
            let remote = remote.map_or_else(|| "of the other".into(), ToString::to_string);
            self.line(
                device,
                dialect,
                match is_switch {
                    true => format!("neighbor {neighbor} with remote-as {remote}"),
                    false => format!("neighbor {neighbor} remote-as {remote}"),
                },
            );
        }
        self.lines.extend(verifier.lacking_of_switch(device, neighbor));
        for (family, is_missing) in [
            ("ipv4 unicast", lines.is_none_or(|lines| lines.underlay.is_empty())),
            ("l2vpn evpn", lines.is_none_or(|lines| lines.evpn.is_empty())),
        ] {
            if is_missing {
                self.line(
                    device,
                    dialect,
                    match is_switch {
                        true => format!("neighbor {neighbor} with address-family {family}"),
                        false => format!("neighbor {neighbor} activate in address-family {family}"),
                    },
                );
            }
        }
    }

    /// One segment on both devices, which import what the other exports.
    fn bridged(&mut self, a: Spot<'_>, b: Spot<'_>) {
        if a.device == b.device {
            return;
        }
        let vnis = (segment(a), segment(b));
        for (spot, own, other) in [(a, vnis.0, vnis.1), (b, vnis.1, vnis.0)] {
            if let Some(vni) = own.or(other)
                && (own.is_none() || !spot.facts.ends(vni))
            {
                self.tunnel(spot, vni, own.is_none());
            }
            self.announcement(spot);
        }
        if let (Some(ours), Some(theirs)) = vnis {
            self.targets((a, Scope::Segment(ours)), (b, Scope::Segment(theirs)));
        }
    }

    fn tunnel(&mut self, spot: Spot<'_>, vni: Vni, is_unmapped: bool) {
        let text = match self.kernel(spot.device) {
            Dialect::Nxos if is_unmapped => format!("vn-segment {vni}"),
            Dialect::Nxos => format!("member vni {vni}"),
            _ => {
                let name = tunnel_name(vni.get());
                let local = spot.facts.vtep.first().map_or_else(|| "…".into(), ToString::to_string);
                let options = "dstport 4789 nolearning tos inherit gbp";
                format!("vxlan {name} id {vni} local {local} {options} master {}", spot.bridge)
            }
        };
        self.line(spot.device, self.kernel(spot.device), text);
    }

    /// What tells others where the tunnels of a device end.
    fn announcement(&mut self, spot: Spot<'_>) {
        let (device, facts) = (spot.device, spot.facts);
        let dialect = self.routing(device);
        if facts.advertises.is_empty() {
            let text = match dialect {
                Dialect::Nxos => "nv overlay evpn, and host-reachability protocol bgp",
                _ => "advertise-all-vni",
            };
            self.line(device, dialect, text.into());
        }
        match self.verifier.world.fleet.vtep(device).map(|vtep| vtep.address) {
            Some(address) if !facts.announces.contains_key(&address) => {
                self.line(device, dialect, format!("network {address}/32"));
            }
            Some(address) if facts.vtep.is_empty() && dialect == Dialect::Frr => {
                self.line(device, Dialect::Linux, format!("vtep {address}"));
            }
            _ => {}
        }
    }

    /// The targets by which the first scope would hear of the second, and the second of the first.
    fn targets(&mut self, a: (Spot<'_>, Scope), b: (Spot<'_>, Scope)) {
        for ((from, ours), (to, theirs)) in [(&a, &b), (&b, &a)] {
            if joined(*from, ours, *to, theirs).is_some() {
                continue;
            }
            let imports = from.facts.scopes.get(ours).map(|targets| &targets.imports);
            let exports = to.facts.scopes.get(theirs).map(|targets| &targets.exports);
            let first = |lines: Option<&Lines<_>>| lines.and_then(Lines::first).copied();
            for (spot, way, scope, own, other) in [
                (from, "import", ours, first(imports), first(exports)),
                (to, "export", theirs, first(exports), first(imports)),
            ] {
                if let (None, Some(target)) = (own, other) {
                    let dialect = self.routing(spot.device);
                    let is_vrf = matches!((dialect, scope), (Dialect::Nxos, Scope::Vrf(_)));
                    let evpn = if is_vrf { " evpn" } else { "" };
                    self.line(spot.device, dialect, format!("route-target {way} {target}{evpn}"));
                }
            }
        }
    }

    /// VRFs that know each other's routes, or reach into each other by lines of their own.
    fn routed(&mut self, a: Spot<'_>, b: Spot<'_>) {
        for spot in [a, b] {
            let lines = spot.facts.bridges.get(spot.bridge);
            if lines.is_none_or(|lines| lines.gateway.is_empty()) {
                let (device, bridge) = (spot.device, spot.bridge);
                let text = match self.kernel(device) {
                    Dialect::Nxos => format!("ip address … of interface Vlan{bridge}"),
                    _ => format!("bridge {bridge} vrf … address …"),
                };
                self.line(device, self.kernel(device), text);
            }
        }
        let (Some(ours), Some(theirs)) = (vrf(a), vrf(b)) else { return };
        let is_one = ours == theirs;
        if is_one && a.device == b.device {
            return;
        }
        if a.device == b.device && self.verifier.world.is_switch(a.device) {
            self.leaks((a, ours), (b, theirs));
            return self.leaks((b, theirs), (a, ours));
        }
        self.down(a, ours);
        self.down(b, theirs);
        for (from, to) in [(a, b), (b, a)] {
            self.announcement(from);
            if !is_one && !self.verifier.world.is_switch(from.device) {
                self.reach(from, to);
            }
        }
        if is_one || self.verifier.world.is_switch(a.device) {
            self.targets((a, Scope::Vrf(ours.clone())), (b, Scope::Vrf(theirs.clone())));
        }
    }

    /// A VRF of a switch is carried by its VNI.
    fn down(&mut self, spot: Spot<'_>, vrf: &VrfName) {
        let Some(lines) = spot.facts.vrfs.get(vrf) else { return };
        if let Some(vni) = lines.vni.first()
            && self.verifier.world.is_switch(spot.device)
            && !lines.up.values().any(|up| up == vni)
        {
            self.line(spot.device, Dialect::Nxos, format!("vni {vni} l3"));
        }
    }

    /// VRFs of one switch take each other's routes by targets without `evpn`.
    fn leaks(&mut self, (from, ours): (Spot<'_>, &VrfName), (to, theirs): (Spot<'_>, &VrfName)) {
        if from.facts.leaks(ours, theirs).is_some() {
            return;
        }
        let exported = to.facts.scopes.get(&Scope::Vrf(theirs.clone()));
        let exported = exported.and_then(|targets| targets.exports.first().copied());
        let given = to.facts.vrfs.get(theirs).and_then(|lines| lines.leaks_out.first().copied());
        let Some(target) = given.or(exported) else { return };
        if given.is_none() {
            let text = format!("route-target export {target}");
            self.line(to.device, Dialect::Nxos, text);
        }
        self.line(from.device, Dialect::Nxos, format!("route-target import {target}"));
    }

    /// A VRF of Linux reaches another tenant's addresses by a line of its own.
    fn reach(&mut self, from: Spot<'_>, to: Spot<'_>) {
        let (Some(ours), Some(theirs)) = (vrf(from), vrf(to)) else { return };
        let Some(lines) = to.facts.ports.get(&to.port) else { return };
        let landing = to.facts.vrfs.get(theirs).and_then(|lines| lines.vni.first());
        for (_, address, _) in lines.bound.values() {
            if from.facts.reaches(ours, *address).next().is_some() {
                continue;
            }
            if let (Some(vni), Some(vtep)) =
                (landing, landing.and_then(|v| to.facts.tunnel_from(*v)))
            {
                let text = format!("reach {address}-{address} vrf {ours} vtep {vtep} vni {vni}");
                self.line(from.device, Dialect::Linux, text);
            }
        }
    }

    /// The rule that a service needs, at both ends that judge by rules.
    fn rule(&mut self, a: Spot<'_>, b: Spot<'_>, talk: Talk) {
        let (client, provider, service) = match talk {
            Talk::Ask(service) => (a, b, service),
            Talk::Answer(service) => (b, a, service),
            Talk::Flood | Talk::Any => return,
        };
        let [asks, answers] = [client, provider].map(|spot| self.verifier.tag_at(spot));
        if asks == answers {
            return;
        }
        for spot in [a, b] {
            let Some(space) = vrf(spot) else { continue };
            let is_switch = self.verifier.world.is_switch(spot.device);
            let rules = match is_switch {
                true => spot.facts.vrfs.get(space).map(|lines| &lines.contracts),
                false => spot.facts.table.permits.get(space),
            };
            let is_it = |rule: &crate::device::Rule| {
                let names = [rule.client.to_string(), rule.provider.to_string()];
                names == [asks.as_str(), answers.as_str()] && rule.service == service
            };
            if rules.into_iter().flat_map(Lines::values).any(is_it) {
                continue;
            }
            let (protocol, port) = (service.protocol, service.port);
            if is_switch {
                let is_client = (spot.device, spot.port) == (client.device, client.port);
                let own = if is_client { &asks } else { &answers };
                let text = format!(
                    "security contract source {asks} destination {answers} policy \
                     P-{own}-{protocol}-{port}"
                );
                self.line(spot.device, Dialect::Nxos, text);
            } else {
                let text = format!("permit {space} {asks} {answers} {protocol} {port}");
                self.line(spot.device, Dialect::Table, text);
            }
        }
    }

    /// A packet program knows whom it hears and whom it sends to: `there`, told to `here`.
    fn peers(&mut self, here: Spot<'_>, there: Spot<'_>) {
        let (Some(space), Some(lines)) = (vrf(here), there.facts.ports.get(&there.port)) else {
            return;
        };
        if self.verifier.world.is_switch(here.device) {
            return;
        }
        self.space(here);
        // On one device, those of one space know each other.
        if here.device == there.device && vrf(there) == Some(space) {
            return;
        }
        let tag = self.verifier.tag_at(there);
        let vni = segment(there);
        let Some(vtep) = vni.and_then(|vni| there.facts.tunnel_from(vni)) else { return };
        let peers = here.facts.table.peers.get(space);
        let knows = |address: Ipv4Addr| {
            let runs = peers.into_iter().flatten();
            let runs = runs.filter(|((group, _), _)| group.to_string() == tag);
            let mut runs =
                runs.flat_map(|((_, first), lines)| lines.values().map(|run| (*first, run)));
            runs.any(|(first, run)| (first..=run.last).contains(&address))
        };
        for (_, address, _) in lines.bound.values().filter(|(_, address, _)| !knows(*address)) {
            let text = format!("peers {space} {address}-{address} vtep {vtep} tag {tag}");
            self.line(here.device, Dialect::Table, text);
        }
    }

    /// What comes in with the VNI of a segment or of a VRF is judged in a space.
    fn space(&mut self, spot: Spot<'_>) {
        let Some(space) = vrf(spot) else { return };
        let routed = spot.facts.vrfs.get(space).and_then(|lines| lines.vni.first()).copied();
        for vni in segment(spot).into_iter().chain(routed) {
            if !spot.facts.table.spaces.contains_key(&vni) {
                self.line(spot.device, Dialect::Table, format!("space {space} vni {vni}"));
            }
        }
    }
}
