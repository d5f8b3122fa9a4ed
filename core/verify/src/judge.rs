//! The verdict about each place.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::Ipv4Addr;

use model::{Consent, DeviceId, Dialect, RouteDistinguisher, VrfName};
use read::{Bridge, Scope};
use wire::{Tag, Vni};

use crate::cross::{Crossings, Who, who};
use crate::device::{At, Device, Lines, Rule};
use crate::finding::{Diagnosis, Finding, MissingLine, ScopeAt, Talk, Weak};
use crate::index::{DomainKey, Seat};
use crate::verifier::{JobId, Spotted, Verifier};
use crate::weakness::Weakness;

/// The findings about one place.
#[derive(Default)]
pub(crate) struct Judgement {
    pub(crate) findings: Vec<Finding>,
    /// Whether the verdict depended on a walk over other places.
    pub(crate) walked: bool,
}

impl Judgement {
    /// Names a line whose absence is the cause of what was found last.
    pub(crate) fn lacks(&mut self, device: DeviceId, dialect: Dialect, text: impl Into<String>) {
        let line = MissingLine { device, dialect: Some(dialect), text: text.into() };
        if let Some(found) = self.findings.last_mut() {
            found.missing.push(line);
        }
    }
}

impl Verifier {
    pub(crate) fn judge_place(&self, place: &Spotted) -> Judgement {
        let mut judgement = Judgement::default();
        match place {
            Spotted::Sheet(sheet) => self.judge_sheet(*sheet, &mut judgement),
            Spotted::Device(device) => self.judge_device(*device, &mut judgement),
            Spotted::Sessions(device) => self.judge_sessions(*device, &mut judgement),
            Spotted::Bridge(key) => self.judge_bridge(key, &mut judgement),
            Spotted::Scope(device, scope) => self.judge_scope(*device, scope, &mut judgement),
            Spotted::Vrf(device, vrf) => self.judge_vrf(*device, vrf, &mut judgement),
            Spotted::Target(target) => self.judge_target(*target, &mut judgement),
            Spotted::Vni(vni) => {
                self.judge_vni(*vni, &mut judgement);
                self.judge_reaches(*vni, &mut judgement);
            }
            Spotted::Port(device, port) => self.judge_port(*device, *port, &mut judgement),
            Spotted::Tag(tag) => self.judge_tag(*tag, &mut judgement),
            Spotted::Job(job) => self.judge_job(*job, &mut judgement),
            Spotted::Rd(rd) => self.judge_rd(*rd, &mut judgement),
            Spotted::Loopback(address) => self.judge_loopback(*address, &mut judgement),
            Spotted::Address(vrf, address) => self.judge_address(vrf, *address, &mut judgement),
            Spotted::Consent(consent) => self.judge_consent(consent, &mut judgement),
        }
        judgement
    }

    pub(crate) fn weak(
        &self,
        judgement: &mut Judgement,
        device: Option<DeviceId>,
        weakness: Weakness,
        ats: impl IntoIterator<Item = At>,
    ) {
        let diagnosis = Diagnosis::Weak(Weak { weakness, device });
        judgement.findings.push(self.finding(diagnosis, ats));
    }

    fn judge_sheet(&self, id: u32, judgement: &mut Judgement) {
        let sheet = &self.sheets[id as usize];
        for unknown in &sheet.unknown {
            let weakness = Weakness::UnknownLine { text: unknown.text.clone(), why: unknown.why };
            let at = At { sheet: id, line: unknown.line };
            self.weak(judgement, Some(sheet.device), weakness, [at]);
        }
        for lacking in &sheet.lacking {
            let at = (lacking.line > 0).then_some(At { sheet: id, line: lacking.line });
            self.weak(judgement, Some(sheet.device), Weakness::of(lacking), at);
            judgement.lacks(sheet.device, sheet.dialect, lacking.text.as_str());
        }
    }

    fn judge_device(&self, device: DeviceId, judgement: &mut Judgement) {
        let dialects = self.world.fleet.network_dialects(device);
        for &dialect in dialects {
            if !self.held.has(device, dialect) {
                self.weak(judgement, Some(device), Weakness::Silent(dialect), []);
                judgement.lacks(device, dialect, "all of it");
            }
        }
        let facts = self.facts(device);
        self.contradiction(judgement, device, "the tunnel address", &facts.vtep);
        self.contradiction(judgement, device, "the local AS", &facts.local_as);
        for lines in facts.neighbors.values() {
            self.contradiction(judgement, device, "the AS of a neighbour", &lines.remote);
        }
        for ((what, line), lines) in &facts.strays {
            let weakness = Weakness::Stray { what: *what, line: line.clone() };
            self.weak(judgement, Some(device), weakness, lines.ats());
        }
        self.judge_cables(device, judgement);
        self.judge_queued_links(device, judgement);
        if dialects.contains(&Dialect::Table) && !facts.program_denies() {
            let ats = facts.table.passes.ats();
            self.weak(judgement, Some(device), Weakness::OpenProgram, ats);
            if facts.table.passes.is_empty() {
                judgement.lacks(device, Dialect::Table, "default drop");
            }
            let here: Vec<DomainKey> = self.domains_on(device).collect();
            self.walk_into(here, judgement);
        }
    }

    fn judge_sessions(&self, device: DeviceId, judgement: &mut Judgement) {
        for half in self.half.get(&device).into_iter().flatten() {
            let weakness = Weakness::HalfSession { neighbor: half.neighbor, other: half.other };
            self.weak(judgement, Some(device), weakness, half.said_at.iter().copied());
            let missing = self.lacking_session(device, half.neighbor);
            if let Some(found) = judgement.findings.last_mut() {
                found.missing = missing;
            }
        }
    }

    fn judge_bridge(&self, key: &DomainKey, judgement: &mut Judgement) {
        let (device, bridge) = key;
        let facts = self.facts(*device);
        let Some(lines) = facts.bridges.get(bridge) else {
            return;
        };
        self.contradiction(judgement, *device, "the segment of a bridge domain", &lines.vni);
        self.contradiction(judgement, *device, "the VRF of a bridge domain", &lines.vrf);
        if let Some((first, second)) = lines.gateway.contradiction() {
            let [one, other] = [first, second].map(|((at, prefix), _)| format!("{at}/{prefix}"));
            let what = "the gateway of a bridge domain";
            let weakness = Weakness::Contradiction { what, first: one, second: other };
            self.weak(judgement, Some(*device), weakness, [first.1, second.1]);
        }
        if let Some(vni) = lines.vni.first() {
            self.explicit_targets(*device, &Scope::Segment(*vni), &lines.vni, judgement);
            self.judge_tunnel(*device, *vni, lines.vrf.first(), judgement);
        }
        let Some(domain) = self.index.domain(key) else {
            return;
        };
        if lines.vrf.is_empty() && !domain.seats.is_empty() {
            let weakness = Weakness::Unrouted(bridge.clone());
            self.weak(judgement, Some(*device), weakness, lines.vni.ats());
        }
        if let Some(address) = domain.outside().filter(|_| !domain.nets.is_empty()) {
            let weakness = Weakness::Outside { bridge: bridge.clone(), address };
            self.weak(judgement, Some(*device), weakness, lines.gateway.ats());
        }
        let gateways: Vec<Ipv4Addr> = lines.gateway.values().map(|(at, _)| *at).collect();
        let own =
            domain.seats.iter().find(|seat| seat.address.is_some_and(|at| gateways.contains(&at)));
        if let Some(seat) = own {
            let weakness = Weakness::Contradiction {
                what: "whose address the gateway's is",
                first: format!("bridge domain {bridge}"),
                second: seat.port.to_string(),
            };
            let bound = facts.ports.get(&seat.port).into_iter().flat_map(|port| port.bound.iter());
            let of_gateway = bound.filter(|((_, address, _), _)| gateways.contains(address));
            let ats: Vec<At> = of_gateway.map(|(_, at)| *at).collect();
            self.weak(judgement, Some(*device), weakness, ats);
        }
        let owners: BTreeSet<Option<JobId>> = domain.seats.iter().map(|seat| seat.owner).collect();
        let mut crossings = Crossings::new();
        for seat in &domain.seats {
            let Some(port) = facts.ports.get(&seat.port) else {
                continue;
            };
            self.contradiction(judgement, *device, "the bridge domain of a port", &port.attached);
            let elsewhere = |(held, ..): &&(Bridge, _, _)| {
                held != bridge && port.attached.values().all(|attached| attached != held)
            };
            if let Some((strange, ..)) = port.bound.values().find(elsewhere) {
                let weakness = Weakness::Misbound { port: seat.port, bridge: strange.clone() };
                self.weak(judgement, Some(*device), weakness, port.bound.ats());
            }
            if seat.owner.is_none() {
                let weakness = Weakness::Unowned { port: seat.port, bridge: bridge.clone() };
                self.weak(judgement, Some(*device), weakness, port.attached.ats());
            }
            if self.world.is_switch(*device) && !facts.guards(port, bridge) {
                let weakness = Weakness::Unguarded(seat.port);
                self.weak(judgement, Some(*device), weakness, port.attached.ats());
                for text in facts.lacking_guard(port, bridge) {
                    judgement.lacks(*device, Dialect::Nxos, text);
                }
                judgement.walked = true;
                for to in self.reached_from(key) {
                    self.cross(key, &to, &mut crossings);
                }
            }
        }
        if owners.len() > 1 || (owners.contains(&None) && domain.seats.len() > 1) {
            judgement.walked = true;
            self.cross(key, key, &mut crossings);
            self.weak_sharing(key, &domain.seats, judgement);
        }
        judgement.findings.extend(crossings.into_values());
    }

    /// Names two owners in one bridge domain.
    fn weak_sharing(&self, key: &DomainKey, seats: &[Seat], judgement: &mut Judgement) {
        let Some(first) = seats.first() else { return };
        let Some(second) = seats.iter().find(|seat| who(key, seat) != who(key, first)) else {
            return;
        };
        let ports = &self.facts(key.0).ports;
        let lines = [first, second].into_iter().filter_map(|seat| ports.get(&seat.port));
        let ats: Vec<At> = lines.flat_map(|lines| lines.attached.ats()).collect();
        let (first, second) = (self.endpoint(key.0, first.port), self.endpoint(key.0, second.port));
        let weakness = Weakness::SharedBridge { bridge: key.1.clone(), first, second };
        self.weak(judgement, None, weakness, ats);
    }

    fn judge_scope(&self, device: DeviceId, scope: &Scope, judgement: &mut Judgement) {
        let Some(targets) = self.facts(device).scopes.get(scope) else {
            return;
        };
        if !targets.automatic.is_empty() {
            let weakness = Weakness::AutomaticTarget(scope.clone());
            self.weak(judgement, Some(device), weakness, targets.automatic.ats());
        }
        let used = targets.imports.ats().chain(targets.exports.ats()).next();
        if let Some(at) = used
            && targets.rds.is_empty()
        {
            self.weak(judgement, Some(device), Weakness::NoDistinguisher(scope.clone()), [at]);
            let is_switch = self.world.is_switch(device);
            judgement.lacks(device, if is_switch { Dialect::Nxos } else { Dialect::Frr }, "rd …");
        }
        self.contradiction(judgement, device, "a route distinguisher", &targets.rds);
    }

    fn judge_vrf(&self, device: DeviceId, vrf: &VrfName, judgement: &mut Judgement) {
        let facts = self.facts(device);
        let Some(lines) = facts.vrfs.get(vrf) else { return };
        self.contradiction(judgement, device, "the VNI of a VRF", &lines.vni);
        self.contradiction(judgement, device, "the tunnel of a VRF", &lines.tunnels);
        let mut tenants = self.index.tenants_in(device, vrf).cloned();
        if let (Some(first), Some(second)) = (tenants.next(), tenants.next()) {
            let weakness = Weakness::SharedVrf { vrf: vrf.clone(), first, second };
            let bridges = lines.bridges.iter().filter_map(|bridge| facts.bridges.get(bridge));
            let ats = bridges.flat_map(|lines| lines.vrf.ats());
            self.weak(judgement, Some(device), weakness, ats);
        }
        if lines.vni.is_empty() && !lines.bridges.is_empty() {
            let bridges = lines.bridges.iter().filter_map(|bridge| facts.bridges.get(bridge));
            let ats = bridges.flat_map(|lines| lines.vrf.ats());
            self.weak(judgement, Some(device), Weakness::NoVni(vrf.clone()), ats);
            if let Some(vni) = lines.tunnels.first() {
                judgement.lacks(device, Dialect::Frr, format!("vni {vni}"));
            }
        }
        let mut vnis: Vec<Vni> =
            lines.vni.values().chain(lines.tunnels.values()).copied().collect();
        vnis.sort_unstable();
        vnis.dedup();
        for vni in vnis {
            self.judge_tunnel(device, vni, Some(vrf), judgement);
        }
        if !lines.vni.is_empty() {
            self.explicit_targets(device, &Scope::Vrf(vrf.clone()), &lines.vni, judgement);
        }
        if self.world.is_switch(device) {
            let stands = !lines.vni.is_empty() || !lines.bridges.is_empty();
            if stands && !facts.vrf_denies(vrf) {
                let ats = lines.vni.ats();
                self.weak(judgement, Some(device), Weakness::OpenVrf(vrf.clone()), ats);
                if lines.denies.is_empty() {
                    judgement.lacks(device, Dialect::Nxos, "security enforce tag 999 default deny");
                }
                if facts.judges.is_empty() {
                    let both =
                        "feature security-group, and system routing template-security-groups";
                    judgement.lacks(device, Dialect::Nxos, both);
                }
                let here = lines.bridges.iter().map(|bridge| (device, bridge.clone())).collect();
                self.walk_into(here, judgement);
            }
            self.judge_rules(device, &lines.contracts, judgement);
            self.judge_switched(device, vrf, lines, judgement);
        } else {
            if let Some(vni) = lines.vni.first()
                && !lines.tunnels.values().any(|tunnel| tunnel == vni)
            {
                self.weak(judgement, Some(device), Weakness::DownVni(vrf.clone()), lines.vni.ats());
                judgement.lacks(device, Dialect::Linux, format!("vxlan … id {vni} … vrf {vrf}"));
            }
            self.judge_ways_out(device, lines, judgement);
            if let Some(permits) = facts.table.permits.get(vrf) {
                self.judge_rules(device, permits, judgement);
            }
            self.judge_promises(device, vrf, judgement);
            self.judge_networks(device, &lines.bridges, judgement);
        }
    }

    /// What announces something must say under which targets, or the device chooses them.
    fn explicit_targets<T: PartialEq>(
        &self,
        device: DeviceId,
        scope: &Scope,
        lines: &Lines<T>,
        judgement: &mut Judgement,
    ) {
        let targets = self.facts(device).scopes.get(scope);
        let [imports, exports] = [
            targets.and_then(|targets| targets.imports.first()),
            targets.and_then(|targets| targets.exports.first()),
        ];
        let is_switch = self.world.is_switch(device);
        let dialect = if is_switch { Dialect::Nxos } else { Dialect::Frr };
        let evpn = if is_switch && matches!(scope, Scope::Vrf(_)) { " evpn" } else { "" };
        if let (Some(_), Some(target), Some(targets)) = (imports, exports, targets) {
            if !targets.exports.values().any(|own| targets.imports.values().any(|held| held == own))
            {
                let text = format!("route-target import {target}{evpn} of {scope}").into();
                let why = "what other devices tell of it does not come in";
                let weakness = Weakness::MissingLine { text, why };
                self.weak(judgement, Some(device), weakness, targets.exports.ats());
                judgement.lacks(device, dialect, format!("route-target import {target}{evpn}"));
            }
            return;
        }
        let weakness = Weakness::AutomaticTarget(scope.clone());
        self.weak(judgement, Some(device), weakness, lines.ats());
        for (way, own, other) in [("import", imports, exports), ("export", exports, imports)] {
            if let (None, Some(target)) = (own, other) {
                judgement.lacks(device, dialect, format!("route-target {way} {target}{evpn}"));
            }
        }
        if let (None, None, Scope::Segment(vni)) = (imports, exports, scope) {
            let block = if is_switch { format!("vni {vni} l2") } else { format!("vni {vni}") };
            judgement.lacks(device, dialect, block);
        }
    }

    fn judge_rules(&self, device: DeviceId, rules: &Lines<Rule>, judgement: &mut Judgement) {
        for (rule, at) in rules.iter() {
            if self.rule_is_consented(rule) {
                continue;
            }
            let Rule { client, provider, service } = *rule;
            let weakness = Weakness::LooseRule { client, provider, service };
            self.weak(judgement, Some(device), weakness, [*at]);
            judgement.walked = true;
            let mut crossings = Crossings::new();
            for (from, to) in [(client, provider), (provider, client)] {
                for from in self.domains_tagged(from) {
                    for to in self.domains_tagged(to).filter(|to| to.0 == device) {
                        self.cross(from, to, &mut crossings);
                    }
                }
            }
            judgement.findings.extend(crossings.into_values());
        }
    }

    /// Whether every owner of the client's tag and every owner of the provider's consented.
    fn rule_is_consented(&self, rule: &Rule) -> bool {
        let (clients, providers) = (self.tag_owners(rule.client), self.tag_owners(rule.provider));
        let consented = |client: &Who, provider: &Who| match (client, provider) {
            (Who::Job(client), Who::Job(provider)) => {
                client == provider
                    || self.consents.contains(&Consent {
                        client: self.job_name(*client).clone(),
                        provider: self.job_name(*provider).clone(),
                        service: rule.service,
                    })
            }
            _ => false,
        };
        !clients.is_empty()
            && !providers.is_empty()
            && clients.iter().all(|client| providers.iter().all(|p| consented(client, p)))
    }

    fn judge_tag(&self, tag: Tag, judgement: &mut Judgement) {
        self.judge_peers(tag, judgement);
        let owners = self.tag_owners(tag);
        if owners.len() < 2 {
            return;
        }
        judgement.walked = true;
        let mut jobs = owners.iter().filter_map(|who| match who {
            Who::Job(job) => Some(self.job_name(*job).clone()),
            Who::Nobody(..) => None,
        });
        if let (Some(first), Some(second)) = (jobs.next(), jobs.next()) {
            let ats = self.one_line_of_each(tag);
            self.weak(judgement, None, Weakness::SharedTag { tag, first, second }, ats);
        }
        let mut crossings = Crossings::new();
        for from in self.domains_tagged(tag) {
            for to in self.domains_tagged(tag) {
                self.cross(from, to, &mut crossings);
            }
        }
        judgement.findings.extend(crossings.into_values());
    }

    /// One line for each owner that uses the tag, so that the evidence stays short.
    fn one_line_of_each(&self, tag: Tag) -> Vec<At> {
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for key in self.domains_tagged(tag) {
            for seat in self.seats(key).filter(|seat| seat.tag == Some(tag)) {
                if seen.insert(who(key, seat)) {
                    lines.extend(self.tag_line(key, seat));
                }
            }
        }
        lines
    }

    pub(crate) fn tag_line(&self, key: &DomainKey, seat: &Seat) -> Option<At> {
        let facts = self.facts(key.0);
        if self.world.is_switch(key.0) {
            let vrf = self.index.domain(key)?.vrf.as_ref()?;
            let mut groups = facts.groups(vrf, seat.address?);
            return groups.find(|(tag, _)| Some(*tag) == seat.tag).map(|(_, at)| *at);
        }
        let mut entries = facts.ports.get(&seat.port)?.entries.iter();
        entries.find(|(entry, _)| Some(entry.tag) == seat.tag).map(|(_, at)| *at)
    }

    fn judge_rd(&self, rd: RouteDistinguisher, judgement: &mut Judgement) {
        let mut users = self.index.rds.get(&rd).into_iter().flatten();
        let (Some(first), Some(second)) = (users.next(), users.next()) else {
            return;
        };
        let place = |at: &(DeviceId, Scope)| ScopeAt { device: at.0, scope: at.1.clone() };
        let ats: Vec<At> = [first, second]
            .into_iter()
            .filter_map(|(device, scope)| self.facts(*device).scopes.get(scope)?.rds.ats().next())
            .collect();
        let (first, second) = (place(first), place(second));
        self.weak(judgement, None, Weakness::SharedDistinguisher { rd, first, second }, ats);
    }

    fn judge_loopback(&self, address: Ipv4Addr, judgement: &mut Judgement) {
        let mut devices = self.index.loopbacks.get(&address).into_iter().flatten();
        let (Some(&first), Some(&second)) = (devices.next(), devices.next()) else {
            return;
        };
        let lines = [first, second].into_iter().flat_map(|device| self.facts(device).has(address));
        let ats: BTreeSet<At> = lines.collect();
        let weakness = Weakness::SharedLoopback { address, first, second };
        self.weak(judgement, None, weakness, ats);
    }

    fn judge_address(&self, vrf: &VrfName, address: Ipv4Addr, judgement: &mut Judgement) {
        let places = self.index.addresses.get(vrf).and_then(|held| held.get(&address));
        let mut places = places.into_iter().flatten();
        let (Some(first), Some(second)) = (places.next(), places.next()) else {
            return;
        };
        let ats: Vec<At> = [first, second]
            .into_iter()
            .flat_map(|(device, port)| self.facts(*device).ports.get(port))
            .flat_map(|lines| lines.bound.iter())
            .filter(|((_, held, _), _)| *held == address)
            .map(|(_, at)| *at)
            .collect();
        let (first, second) = (self.endpoint(first.0, first.1), self.endpoint(second.0, second.1));
        let weakness = Weakness::SharedAddress { vrf: vrf.clone(), address, first, second };
        self.weak(judgement, None, weakness, ats);
    }

    fn judge_consent(&self, consent: &Consent, judgement: &mut Judgement) {
        if !self.consents.contains(consent) {
            return;
        }
        let spots = |job| self.known_job(job).map(|job| self.spots_of(job)).unwrap_or_default();
        let (clients, providers) = (spots(&consent.client), spots(&consent.provider));
        for client in &clients {
            for provider in &providers {
                for (from, to, talk) in [
                    (client, provider, Talk::Ask(consent.service)),
                    (provider, client, Talk::Answer(consent.service)),
                ] {
                    if !self.meets_honestly(from, to, talk) {
                        judgement.walked = true;
                        judgement.findings.push(self.severed(from, to, talk));
                        return;
                    }
                }
            }
        }
    }

    fn judge_job(&self, job: JobId, judgement: &mut Judgement) {
        if self.joined_at_once(job).is_some() {
            return;
        }
        let spots = self.spots_of(job);
        judgement.walked = true;
        let severed = spots.iter().enumerate().find_map(|(position, from)| {
            let others = spots.iter().enumerate().filter(|(other, _)| *other != position);
            others
                .map(|(_, to)| to)
                .find(|to| !self.meets_honestly(from, to, Talk::Any))
                .map(|to| (from, to))
        });
        if let Some((from, to)) = severed {
            judgement.findings.push(self.severed(from, to, Talk::Any));
        } else if let [only] = spots.as_slice()
            && only.keys.is_empty()
        {
            judgement.findings.push(self.severed(only, only, Talk::Any));
        }
    }

    pub(crate) fn facts(&self, device: DeviceId) -> &Device {
        &self.world.devices[device.index()]
    }

    pub(crate) fn domains_on(&self, device: DeviceId) -> impl Iterator<Item = DomainKey> {
        self.index.domains[device.index()].keys().map(move |bridge| (device, bridge.clone()))
    }

    fn domains_tagged(&self, tag: Tag) -> impl Iterator<Item = &DomainKey> {
        self.index.tags.get(&tag).into_iter().flatten()
    }

    pub(crate) fn seats(&self, key: &DomainKey) -> impl Iterator<Item = &Seat> {
        self.index.domain(key).into_iter().flat_map(|domain| &domain.seats)
    }

    fn tag_owners(&self, tag: Tag) -> BTreeSet<Who> {
        let mut owners = BTreeSet::new();
        for key in self.domains_tagged(tag) {
            let mut last = None;
            for seat in self.seats(key).filter(|seat| seat.tag == Some(tag)) {
                let who = who(key, seat);
                if last.replace(who) != Some(who) {
                    owners.insert(who);
                }
            }
        }
        owners
    }

    pub(crate) fn contradiction<T: PartialEq + Display>(
        &self,
        judgement: &mut Judgement,
        device: DeviceId,
        what: &'static str,
        lines: &Lines<T>,
    ) {
        if let Some((first, second)) = lines.contradiction() {
            let weakness = Weakness::Contradiction {
                what,
                first: first.0.to_string(),
                second: second.0.to_string(),
            };
            self.weak(judgement, Some(device), weakness, [first.1, second.1]);
        }
    }
}
