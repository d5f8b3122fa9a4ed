//! Keeps the claims of all devices joined, and judges again only what a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::{
    Consent, DeviceId, Dialect, Fleet, JobName, Owners, Part, Port, RouteDistinguisher,
    RouteTarget, TenantName, VrfName,
};
use read::{Bridge, Claim, Fact, Reading, Scope, Unknown};
use wire::Tag;

use crate::consents::Consents;
use crate::device::{At, Lines, Rule, Turn};
use crate::finding::{Endpoint, Finding, Said};
use crate::islands::{HalfSession, islands};
use crate::world::World;

/// Joins the claims of all devices into meetings and judges them.
///
/// The same verifier serves a whole fleet at once and one job's change: lines come and go by
/// [`Verifier::take`], and [`Verifier::judge`] looks only at the places they touch.
#[derive(Debug)]
pub struct Verifier {
    pub(crate) world: World,
    pub(crate) owners: BTreeMap<(DeviceId, Port), JobId>,
    pub(crate) job_names: Vec<JobName>,
    job_ids: BTreeMap<JobName, JobId>,
    pub(crate) job_ports: BTreeMap<JobId, BTreeSet<(DeviceId, Port)>>,
    pub(crate) consents: Consents,
    sheet_ids: BTreeMap<(DeviceId, Dialect, Part), u32>,
    pub(crate) sheets: Vec<Sheet>,
    /// How many sheets each device has in each dialect; none is a silent device.
    pub(crate) held: BTreeMap<(DeviceId, Dialect), u32>,
    pub(crate) index: Index,
    /// The neighbours of each device that do not answer alike.
    pub(crate) half: BTreeMap<DeviceId, Vec<HalfSession>>,
    dirty: Dirty,
    findings: BTreeMap<Spotted, Vec<Finding>>,
    /// Places whose verdict depended on a walk over others: judged again at every change.
    suspicious: BTreeSet<Spotted>,
}

/// A job as this verifier numbers it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct JobId(u32);

/// One part of one artifact, as it was read.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) device: DeviceId,
    pub(crate) dialect: Dialect,
    pub(crate) part: Part,
    claims: Vec<Claim>,
    pub(crate) unknown: Vec<Unknown>,
}

/// A bridge domain of a device.
pub(crate) type DomainKey = (DeviceId, Bridge);

/// What the lines about one bridge domain come to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Domain {
    pub(crate) vrf: Option<VrfName>,
    pub(crate) seats: Vec<Seat>,
}

/// A port in a bridge domain, under one address or none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Seat {
    pub(crate) port: Port,
    pub(crate) owner: Option<JobId>,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) tag: Option<Tag>,
}

/// Where things are, over all devices.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) domains: BTreeMap<DomainKey, Domain>,
    pub(crate) importers: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Scope)>>,
    pub(crate) exporters: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Scope)>>,
    pub(crate) rds: BTreeMap<RouteDistinguisher, BTreeSet<(DeviceId, Scope)>>,
    pub(crate) tags: BTreeMap<Tag, BTreeSet<DomainKey>>,
    pub(crate) jobs: BTreeMap<JobId, BTreeSet<DomainKey>>,
    pub(crate) addresses: BTreeMap<(VrfName, Ipv4Addr), BTreeSet<(DeviceId, Port)>>,
    /// Where rules name each tag.
    pub(crate) rules: BTreeMap<Tag, BTreeSet<(DeviceId, VrfName)>>,
    /// The tenants in each VRF of each device, with the number of their bridge domains.
    pub(crate) tenants: BTreeMap<(DeviceId, VrfName), BTreeMap<TenantName, u32>>,
}

/// Something that is judged by itself.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Spotted {
    Sheet(u32),
    Device(DeviceId),
    Sessions(DeviceId),
    Bridge(DomainKey),
    Scope(DeviceId, Scope),
    Vrf(DeviceId, VrfName),
    Target(RouteTarget),
    Tag(Tag),
    Job(JobId),
    Rd(RouteDistinguisher),
    Address(VrfName, Ipv4Addr),
    Consent(Consent),
}

/// What changed since the last judgement.
#[derive(Debug, Default)]
struct Dirty {
    fabric: bool,
    devices: BTreeSet<DeviceId>,
    bridges: BTreeSet<DomainKey>,
    /// The bridge domain that was marked last: the lines of a part are mostly about one.
    last_bridge: Option<DomainKey>,
    vrfs: BTreeSet<(DeviceId, VrfName)>,
    tags: BTreeSet<Tag>,
    places: BTreeSet<Spotted>,
}

impl Dirty {
    fn bridge(&mut self, device: DeviceId, bridge: &Bridge) {
        let is_last = |(at, held): &DomainKey| *at == device && held == bridge;
        if !self.last_bridge.as_ref().is_some_and(is_last) {
            let key = (device, bridge.clone());
            self.bridges.insert(key.clone());
            self.last_bridge = Some(key);
        }
    }
}

impl Verifier {
    /// A verifier that knows the devices, their owners and consents, and no line yet.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>, owners: &Owners) -> Self {
        let configured: Vec<DeviceId> = fleet.devices().collect();
        let mut verifier = Self {
            world: World::new(fleet),
            owners: BTreeMap::new(),
            job_names: Vec::new(),
            job_ids: BTreeMap::new(),
            job_ports: BTreeMap::new(),
            consents: Consents::default(),
            sheet_ids: BTreeMap::new(),
            sheets: Vec::new(),
            held: BTreeMap::new(),
            index: Index::default(),
            half: BTreeMap::new(),
            dirty: Dirty::default(),
            findings: BTreeMap::new(),
            suspicious: BTreeSet::new(),
        };
        verifier.dirty.places.extend(configured.into_iter().map(Spotted::Device));
        for ((device, port), job) in &owners.ports {
            verifier.own(*device, *port, Some(job));
        }
        for consent in &owners.consents {
            verifier.consent(consent, true);
        }
        verifier
    }

    /// Says whose a port is from now on; none for nobody's.
    pub fn own(&mut self, device: DeviceId, port: Port, owner: Option<&JobName>) {
        let before = self.owners.remove(&(device, port));
        if let Some(job) = before {
            if let Some(ports) = self.job_ports.get_mut(&job) {
                ports.remove(&(device, port));
            }
            self.dirty.places.insert(Spotted::Job(job));
        }
        if let Some(name) = owner {
            let job = self.job_id(name);
            self.owners.insert((device, port), job);
            self.job_ports.entry(job).or_default().insert((device, port));
            self.dirty.places.insert(Spotted::Job(job));
        }
        self.mark_port(device, port);
    }

    /// Says that both sides consented, or no longer do.
    pub fn consent(&mut self, consent: &Consent, stands: bool) {
        self.consents.set(consent, stands);
        for job in [&consent.client, &consent.provider] {
            let job = self.job_id(job);
            self.mark_job_vrfs(job);
        }
        self.dirty.places.insert(Spotted::Consent(consent.clone()));
    }

    /// Takes in what a part of an artifact says now, in place of what it said before; none when
    /// the part is gone.
    pub fn take(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        part: &Part,
        reading: Option<Reading>,
    ) {
        let id = self.sheet_id(device, dialect, part);
        let was = !self.sheets[id as usize].is_empty();
        let gone = std::mem::take(&mut self.sheets[id as usize].claims);
        for claim in gone {
            self.turn(device, id, claim, Turn::Goes);
        }
        let Reading { claims, unknown, .. } = reading.unwrap_or_default();
        for claim in &claims {
            self.turn(device, id, claim.clone(), Turn::Comes);
        }
        let sheet = &mut self.sheets[id as usize];
        sheet.claims = claims;
        sheet.unknown = unknown;
        let is = !sheet.is_empty();
        self.count_held(device, dialect, was, is);
        self.dirty.places.insert(Spotted::Sheet(id));
    }

    /// Judges what changed since the last time, and tells all that is not as it must be.
    pub fn judge(&mut self) -> Vec<Finding> {
        self.settle();
        let places = std::mem::take(&mut self.dirty.places);
        let again = std::mem::take(&mut self.suspicious);
        for place in places.union(&again) {
            let judgement = self.judge_place(place);
            if judgement.walked {
                self.suspicious.insert(place.clone());
            }
            if judgement.findings.is_empty() {
                self.findings.remove(place);
            } else {
                self.findings.insert(place.clone(), judgement.findings);
            }
        }
        let mut all: Vec<Finding> = self.findings.values().flatten().cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// Brings the index up to date with all lines, and marks the places that this touches.
    fn settle(&mut self) {
        if std::mem::take(&mut self.dirty.fabric) {
            self.settle_islands();
        }
        for device in std::mem::take(&mut self.dirty.devices) {
            let facts = &self.world.devices[device.index()];
            self.dirty.bridges.extend(facts.bridges.keys().map(|b| (device, b.clone())));
            self.dirty.vrfs.extend(facts.vrfs.keys().map(|v| (device, v.clone())));
            self.dirty.places.insert(Spotted::Device(device));
        }
        self.dirty.last_bridge = None;
        for key in std::mem::take(&mut self.dirty.bridges) {
            self.settle_bridge(key);
        }
        for (device, vrf) in std::mem::take(&mut self.dirty.vrfs) {
            self.settle_vrf(device, vrf);
        }
        for tag in std::mem::take(&mut self.dirty.tags) {
            self.mark_tag_owners(tag);
            let ruled = self.index.rules.get(&tag).into_iter().flatten();
            self.dirty.places.extend(ruled.map(|(d, vrf)| Spotted::Vrf(*d, vrf.clone())));
            self.dirty.places.insert(Spotted::Tag(tag));
        }
        let jobs = self.dirty.places.iter().filter_map(|place| match place {
            Spotted::Job(job) => Some(self.job_name(*job)),
            _ => None,
        });
        let consents = jobs.flat_map(|job| self.consents.of(job)).cloned();
        let consents: Vec<Spotted> = consents.map(Spotted::Consent).collect();
        self.dirty.places.extend(consents);
    }

    fn settle_islands(&mut self) {
        let new = islands(&self.world.devices);
        for (position, (old, new)) in self.world.islands.iter().zip(&new.of).enumerate() {
            if old != new {
                self.dirty.devices.extend(u32::try_from(position).map(DeviceId));
            }
        }
        let half = std::mem::replace(&mut self.half, new.half);
        let touched = half.keys().chain(self.half.keys()).copied();
        self.dirty.places.extend(touched.map(Spotted::Sessions));
        self.world.islands = new.of;
    }

    fn settle_bridge(&mut self, key: DomainKey) {
        let new = self.resolve(&key);
        let old = self.index.domains.remove(&key).unwrap_or_default();
        self.unindex(&key, &old);
        self.enindex(&key, &new);
        self.mark_domain(&key, &old);
        self.mark_domain(&key, &new);
        let facts = &self.world.devices[key.0.index()];
        if let Some(vni) = facts.bridges.get(&key.1).and_then(|lines| lines.vni.first()) {
            self.mark_targets(key.0, &Scope::Segment(*vni));
        }
        if !new.seats.is_empty() || new.vrf.is_some() {
            self.index.domains.insert(key.clone(), new);
        }
        self.dirty.places.insert(Spotted::Bridge(key));
    }

    fn settle_vrf(&mut self, device: DeviceId, vrf: VrfName) {
        self.mark_targets(device, &Scope::Vrf(vrf.clone()));
        let facts = &self.world.devices[device.index()];
        let bridges = facts.vrfs.get(&vrf).map(|lines| &lines.bridges);
        for bridge in bridges.into_iter().flatten() {
            let Some(domain) = self.index.domains.get(&(device, bridge.clone())) else {
                continue;
            };
            for seat in &domain.seats {
                self.dirty.places.extend(seat.owner.map(Spotted::Job));
                self.dirty.tags.extend(seat.tag);
            }
        }
        self.dirty.places.insert(Spotted::Vrf(device, vrf));
    }

    /// What the lines about a bridge domain come to.
    fn resolve(&self, (device, bridge): &DomainKey) -> Domain {
        let facts = &self.world.devices[device.index()];
        let Some(lines) = facts.bridges.get(bridge) else {
            return Domain::default();
        };
        let vrf = lines.vrf.first().cloned();
        let switch = self.world.is_switch(*device);
        let mut seats = Vec::with_capacity(lines.ports.len());
        for port in &lines.ports {
            let owner = self.owners.get(&(*device, *port)).copied();
            let Some(port_lines) = facts.ports.get(port) else {
                continue;
            };
            let bound = port_lines.bound.values().filter(|(held, ..)| held == bridge);
            let before = seats.len();
            let seat = |address, tag| Seat { port: *port, owner, address, tag };
            for (_, address, _) in bound {
                let known = seats.len();
                if switch {
                    let tags = vrf.iter().flat_map(|vrf| facts.groups(vrf, *address));
                    seats.extend(tags.map(|(tag, _)| seat(Some(*address), Some(*tag))));
                } else {
                    let entries = port_lines.entries.values().filter(|e| e.address == *address);
                    seats.extend(entries.map(|entry| seat(Some(*address), Some(entry.tag))));
                }
                if seats.len() == known {
                    seats.push(seat(Some(*address), None));
                }
            }
            // An entry lets the port speak under its tag, also where no address is bound to it.
            let spoken_for = |tag| seats[before..].iter().any(|held| held.tag == Some(tag));
            let tags = port_lines.entries.values().map(|entry| entry.tag);
            let strange: Vec<Tag> = tags.filter(|tag| !spoken_for(*tag)).collect();
            seats.extend(strange.into_iter().map(|tag| seat(None, Some(tag))));
            if seats.len() == before {
                seats.push(seat(None, None));
            }
        }
        Domain { vrf, seats }
    }

    fn unindex(&mut self, key: &DomainKey, domain: &Domain) {
        self.count_tenants(key, domain, false);
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                remove_from(&mut self.index.tags, &tag, key);
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                remove_from(&mut self.index.jobs, &job, key);
            }
            if let (Some(vrf), Some(address)) = (&domain.vrf, seat.address) {
                let place = (vrf.clone(), address);
                self.mark_shared_address(&place);
                remove_from(&mut self.index.addresses, &place, &(key.0, seat.port));
            }
        }
    }

    fn enindex(&mut self, key: &DomainKey, domain: &Domain) {
        self.count_tenants(key, domain, true);
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                self.index.tags.entry(tag).or_default().insert(key.clone());
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                self.index.jobs.entry(job).or_default().insert(key.clone());
            }
            if let (Some(vrf), Some(address)) = (&domain.vrf, seat.address) {
                let place = (vrf.clone(), address);
                let at = self.index.addresses.entry(place.clone()).or_default();
                at.insert((key.0, seat.port));
                self.mark_shared_address(&place);
            }
        }
    }

    /// Counts the tenants of a bridge domain in its VRF, and marks what the VRF exchanges when a
    /// tenant appears there or leaves.
    fn count_tenants(&mut self, key: &DomainKey, domain: &Domain, comes: bool) {
        let Some(vrf) = &domain.vrf else { return };
        let jobs: BTreeSet<JobId> = domain.seats.iter().filter_map(|seat| seat.owner).collect();
        let tenants: BTreeSet<TenantName> =
            jobs.iter().map(|job| self.job_names[job.0 as usize].tenant.clone()).collect();
        let counts = self.index.tenants.entry((key.0, vrf.clone())).or_default();
        let mut changed = false;
        for tenant in tenants {
            let count = counts.entry(tenant.clone()).or_default();
            if comes {
                *count += 1;
                changed |= *count == 1;
            } else {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&tenant);
                    changed = true;
                }
            }
        }
        if changed {
            self.mark_targets(key.0, &Scope::Vrf(vrf.clone()));
        }
    }

    /// An address is a place of its own only while it is in two places.
    fn mark_shared_address(&mut self, place: &(VrfName, Ipv4Addr)) {
        if self.index.addresses.get(place).is_some_and(|at| at.len() > 1) {
            self.dirty.places.insert(Spotted::Address(place.0.clone(), place.1));
        }
    }

    fn mark_domain(&mut self, key: &DomainKey, domain: &Domain) {
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                self.dirty.tags.insert(tag);
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                self.dirty.places.insert(Spotted::Job(job));
            }
        }
        if let Some(vrf) = &domain.vrf {
            self.dirty.places.insert(Spotted::Vrf(key.0, vrf.clone()));
        }
    }

    /// Takes one claim in or out, and marks what it touches.
    fn turn(&mut self, device: DeviceId, sheet: u32, claim: Claim, turn: Turn) {
        let at = At { sheet, line: claim.line };
        // What a line joins is known before it goes and after it came.
        if turn == Turn::Goes {
            self.mark(device, &claim.fact);
        }
        self.world.devices[device.index()].turn(claim.fact.clone(), at, turn);
        if turn == Turn::Comes {
            self.mark(device, &claim.fact);
        }
        self.index_line(device, claim.fact);
    }

    /// Keeps the index of targets, distinguishers and rules in step with the lines.
    fn index_line(&mut self, device: DeviceId, fact: Fact) {
        let lines = |scope: &Scope| self.world.devices[device.index()].scopes.get(scope);
        match fact {
            Fact::Imports { scope, target } => {
                let still = lines(&scope).is_some_and(|l| l.imports.values().any(|t| *t == target));
                set(&mut self.index.importers, target, (device, scope), still);
            }
            Fact::Exports { scope, target } => {
                let still = lines(&scope).is_some_and(|l| l.exports.values().any(|t| *t == target));
                set(&mut self.index.exporters, target, (device, scope), still);
            }
            Fact::Distinguisher { scope, rd } => {
                let still = lines(&scope).is_some_and(|l| l.rds.values().any(|r| *r == rd));
                set(&mut self.index.rds, rd, (device, scope), still);
                if self.index.rds.get(&rd).is_some_and(|users| users.len() > 1) {
                    self.dirty.places.insert(Spotted::Rd(rd));
                }
            }
            Fact::Contract { vrf, client, provider, .. } => {
                let lines = self.world.devices[device.index()].vrfs.get(&vrf);
                let rules = lines.map(|lines| &lines.contracts);
                index_rules(&mut self.index.rules, [client, provider], (device, vrf), rules);
            }
            Fact::TablePermit { space, client, provider, .. } => {
                let rules = self.world.devices[device.index()].table.permits.get(&space);
                index_rules(&mut self.index.rules, [client, provider], (device, space), rules);
            }
            _ => {}
        }
    }

    /// Marks what a line touches.
    fn mark(&mut self, device: DeviceId, fact: &Fact) {
        match fact {
            Fact::LocalAs(asn) => {
                // Every block of the protocol repeats it; only the first and a strange one matter.
                let mut lines = self.world.devices[device.index()].local_as.values();
                if lines.clone().count() == 1 || lines.any(|held| held != asn) {
                    self.dirty.fabric = true;
                    self.dirty.places.insert(Spotted::Device(device));
                }
            }
            Fact::Neighbor { .. } => {
                self.dirty.fabric = true;
                self.dirty.places.insert(Spotted::Device(device));
            }
            Fact::CableAddress(_) | Fact::UnderlayWith(_) | Fact::EvpnWith(_) => {
                self.dirty.fabric = true
            }
            Fact::Announces(_)
            | Fact::AdvertisesEvpn
            | Fact::Vtep(_)
            | Fact::JudgesByGroups
            | Fact::TableDeniesByDefault
            | Fact::TablePassesByDefault => {
                self.dirty.devices.insert(device);
            }
            Fact::SegmentOf { bridge, vni } => {
                self.mark_targets(device, &Scope::Segment(*vni));
                self.dirty.bridge(device, bridge);
            }
            Fact::RoutedIn { bridge, .. } | Fact::Gateway { bridge, .. } => {
                self.dirty.bridge(device, bridge);
            }
            Fact::Attached { port, bridge } | Fact::Bound { port, bridge, .. } => {
                self.dirty.bridge(device, bridge);
                self.mark_port(device, *port);
            }
            Fact::TunnelEnds(vni)
            | Fact::Tagged(vni)
            | Fact::TunnelFrom { vni, .. }
            | Fact::Learns(vni)
            | Fact::TableSpace { vni, .. } => self.mark_vni(device, *vni),
            Fact::VrfVni { vrf, .. }
            | Fact::RoutedTunnel { vrf, .. }
            | Fact::DeniesByDefault(vrf)
            | Fact::Contract { vrf, .. }
            | Fact::TablePermit { space: vrf, .. } => {
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
            Fact::Distinguisher { scope, rd } => {
                if self.index.rds.get(rd).is_some_and(|users| users.len() > 1) {
                    self.dirty.places.insert(Spotted::Rd(*rd));
                }
                self.dirty.places.insert(Spotted::Scope(device, scope.clone()));
            }
            Fact::Imports { scope, target } | Fact::Exports { scope, target } => {
                self.dirty.places.insert(Spotted::Target(*target));
                self.mark_scope(device, scope);
            }
            Fact::AutomaticTarget(scope) => self.mark_scope(device, scope),
            Fact::Guarded(port) | Fact::TableEndpoint { port, .. } => self.mark_port(device, *port),
            Fact::InGroup { vrf, addresses, tag } => {
                self.dirty.tags.insert(*tag);
                self.mark_addresses(device, vrf, *addresses);
            }
            Fact::TablePeers { tag, .. } => {
                self.dirty.tags.insert(*tag);
            }
            Fact::TableRate { .. } => {}
        }
    }

    fn mark_vni(&mut self, device: DeviceId, vni: wire::Vni) {
        let facts = &self.world.devices[device.index()];
        if let Some(tunnel) = facts.tunnels.get(&vni) {
            tunnel.bridges.iter().for_each(|bridge| self.dirty.bridge(device, bridge));
        }
        let carrying = facts.vrfs.iter().filter(|(_, lines)| lines.vni.first() == Some(&vni));
        self.dirty.vrfs.extend(carrying.map(|(vrf, _)| (device, vrf.clone())));
    }

    fn mark_scope(&mut self, device: DeviceId, scope: &Scope) {
        self.dirty.places.insert(Spotted::Scope(device, scope.clone()));
        match scope {
            Scope::Segment(vni) => self.mark_vni(device, *vni),
            Scope::Vrf(vrf) => {
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
        }
    }

    fn mark_targets(&mut self, device: DeviceId, scope: &Scope) {
        if let Some(targets) = self.world.devices[device.index()].scopes.get(scope) {
            let touched = targets.imports.values().chain(targets.exports.values());
            self.dirty.places.extend(touched.copied().map(Spotted::Target));
        }
    }

    fn mark_port(&mut self, device: DeviceId, port: Port) {
        let facts = &self.world.devices[device.index()];
        if let Some(lines) = facts.ports.get(&port) {
            lines.attached.values().for_each(|bridge| self.dirty.bridge(device, bridge));
        }
    }

    fn mark_addresses(&mut self, device: DeviceId, vrf: &VrfName, addresses: ipnet::Ipv4Net) {
        let facts = &self.world.devices[device.index()];
        if addresses.prefix_len() < 32 {
            let bridges = facts.vrfs.get(vrf).map(|lines| &lines.bridges);
            bridges.into_iter().flatten().for_each(|bridge| self.dirty.bridge(device, bridge));
            return;
        }
        let ports: Vec<Port> =
            facts.addresses.get(&addresses.addr()).into_iter().flatten().copied().collect();
        for port in ports {
            self.mark_port(device, port);
        }
    }

    fn mark_tag_owners(&mut self, tag: Tag) {
        for key in self.index.tags.get(&tag).into_iter().flatten() {
            let seats = self.index.domains.get(key).map(|domain| &domain.seats);
            let mut last = None;
            for seat in seats.into_iter().flatten() {
                if seat.owner.is_some() && last != seat.owner {
                    last = seat.owner;
                    self.dirty.places.extend(seat.owner.map(Spotted::Job));
                }
            }
        }
    }

    fn mark_job_vrfs(&mut self, job: JobId) {
        for key in self.index.jobs.get(&job).into_iter().flatten() {
            if let Some(vrf) = self.index.domains.get(key).and_then(|domain| domain.vrf.clone()) {
                self.dirty.vrfs.insert((key.0, vrf));
            }
        }
    }

    fn count_held(&mut self, device: DeviceId, dialect: Dialect, was: bool, is: bool) {
        let count = self.held.entry((device, dialect)).or_default();
        let before = *count;
        *count = before + u32::from(is) - u32::from(was);
        if (before == 0) != (*count == 0) {
            self.dirty.places.insert(Spotted::Device(device));
        }
    }

    fn sheet_id(&mut self, device: DeviceId, dialect: Dialect, part: &Part) -> u32 {
        let key = (device, dialect, part.clone());
        if let Some(id) = self.sheet_ids.get(&key) {
            return *id;
        }
        let id = u32::try_from(self.sheets.len()).unwrap_or(u32::MAX);
        let (claims, unknown) = (Vec::new(), Vec::new());
        self.sheets.push(Sheet { device, dialect, part: part.clone(), claims, unknown });
        self.sheet_ids.insert(key, id);
        id
    }

    fn job_id(&mut self, name: &JobName) -> JobId {
        if let Some(id) = self.job_ids.get(name) {
            return *id;
        }
        let id = JobId(u32::try_from(self.job_names.len()).unwrap_or(u32::MAX));
        self.job_names.push(name.clone());
        self.job_ids.insert(name.clone(), id);
        id
    }

    /// What a job is called.
    pub(crate) fn job_name(&self, job: JobId) -> &JobName {
        &self.job_names[job.0 as usize]
    }

    pub(crate) fn known_job(&self, name: &JobName) -> Option<JobId> {
        self.job_ids.get(name).copied()
    }

    pub(crate) fn endpoint(&self, device: DeviceId, port: Port) -> Endpoint {
        let owner = self.owners.get(&(device, port)).map(|job| self.job_name(*job).clone());
        Endpoint { device, port, owner }
    }

    pub(crate) fn said(&self, at: At) -> Said {
        let sheet = &self.sheets[at.sheet as usize];
        Said {
            device: sheet.device,
            dialect: sheet.dialect,
            part: sheet.part.clone(),
            line: at.line,
        }
    }
}

impl Sheet {
    fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.unknown.is_empty()
    }
}

fn index_rules(
    index: &mut BTreeMap<Tag, BTreeSet<(DeviceId, VrfName)>>,
    tags: [Tag; 2],
    place: (DeviceId, VrfName),
    rules: Option<&Lines<Rule>>,
) {
    for tag in tags {
        let mut rules = rules.into_iter().flat_map(Lines::values);
        let still = rules.any(|rule| rule.client == tag || rule.provider == tag);
        set(index, tag, place.clone(), still);
    }
}

fn set<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: K, value: V, stays: bool) {
    if stays {
        map.entry(key).or_default().insert(value);
    } else {
        remove_from(map, &key, &value);
    }
}

fn remove_from<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = map.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            map.remove(key);
        }
    }
}
