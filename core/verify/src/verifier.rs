//! Keeps the claims of all devices joined, and judges again only what a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use model::{
    Consent, DeviceId, Dialect, Fleet, JobName, Owners, Part, Port, Promise, RouteDistinguisher,
    RouteTarget, TenantName, Treatment, VrfName, Waiver,
};
use read::{Claim, Lacking, Reading, Scope, Unknown};
use wire::{Tag, Vni};

use crate::cleared::{Digests, Source};
use crate::consents::Consents;
use crate::device::{At, Turn};
use crate::finding::{Diagnosis, Endpoint, Finding, Said};
use crate::held::{Held, SheetIds};
use crate::index::{Domain, DomainKey, Index};
use crate::islands::{HalfSession, islands};
use crate::layers::Layers;
use crate::mark::Dirty;
use crate::vouched::Vouched;
use crate::world::World;

/// Joins the claims of all devices into meetings and judges them.
///
/// The same verifier serves a whole fleet at once and one job's change: lines come and go by
/// [`Verifier::take`], and [`Verifier::judge`] looks only at the places they touch.
#[derive(Debug)]
pub struct Verifier {
    pub(crate) world: World,
    /// The layers besides the network.
    pub(crate) layers: Layers,
    /// By device: the job behind each port.
    pub(crate) owners: Vec<BTreeMap<Port, JobId>>,
    pub(crate) job_names: Vec<JobName>,
    job_ids: BTreeMap<JobName, JobId>,
    /// The ports of each job, in their order.
    pub(crate) job_ports: BTreeMap<JobId, Vec<(DeviceId, Port)>>,
    pub(crate) consents: Consents,
    pub(crate) promises: BTreeMap<TenantName, Promise>,
    pub(crate) treatments: BTreeMap<JobId, Treatment>,
    pub(crate) sheet_ids: SheetIds,
    pub(crate) sheets: Vec<Sheet>,
    /// What the texts come down to that were read here.
    pub(crate) digests: Digests,
    pub(crate) held: Held,
    pub(crate) index: Index,
    /// The neighbours of each device that do not answer alike.
    pub(crate) half: BTreeMap<DeviceId, Vec<HalfSession>>,
    pub(crate) dirty: Dirty,
    pub(crate) findings: BTreeMap<Spotted, Vec<Finding>>,
    vouched: Vouched,
    /// Places whose verdict depended on a walk over others: judged again at every change.
    suspicious: BTreeSet<Spotted>,
}

/// A job as this verifier numbers it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct JobId(pub(crate) u32);

/// One part of one artifact, as it was read.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) device: DeviceId,
    pub(crate) dialect: Dialect,
    pub(crate) part: Part,
    pub(crate) claims: Vec<Claim>,
    pub(crate) unknown: Vec<Unknown>,
    pub(crate) lacking: Vec<Lacking>,
    /// Whether it was taken in. Text of a layer may have nothing to say.
    pub(crate) present: bool,
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
    Vni(Vni),
    Port(DeviceId, Port),
    Tag(Tag),
    Job(JobId),
    Rd(RouteDistinguisher),
    Loopback(Ipv4Addr),
    Address(VrfName, Ipv4Addr),
    Consent(Consent),
}

impl Verifier {
    /// A verifier that knows the devices, their owners, consents and promises, and no line yet.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>, owners: &Owners) -> Self {
        let has_network = |device: &DeviceId| !fleet.network_dialects(*device).is_empty();
        let configured: Vec<DeviceId> = fleet.devices().filter(has_network).collect();
        let count = fleet.device_count();
        let mut verifier = Self {
            layers: Layers::new(&fleet),
            world: World::new(fleet),
            owners: vec![BTreeMap::new(); count],
            job_names: Vec::new(),
            job_ids: BTreeMap::new(),
            job_ports: BTreeMap::new(),
            consents: Consents::default(),
            promises: owners.promises.clone(),
            treatments: BTreeMap::new(),
            sheet_ids: SheetIds::by(count),
            sheets: Vec::new(),
            digests: Digests::default(),
            held: Held::by(count),
            index: Index::of(count),
            half: BTreeMap::new(),
            dirty: Dirty::default(),
            findings: BTreeMap::new(),
            vouched: Vouched::of(owners),
            suspicious: BTreeSet::new(),
        };
        verifier.dirty.places.extend(configured.into_iter().map(Spotted::Device));
        let mut by_job: BTreeMap<&JobName, Vec<(DeviceId, Port)>> = BTreeMap::new();
        for (port, job) in &owners.ports {
            by_job.entry(job).or_default().push(*port);
        }
        for (job, ports) in by_job {
            verifier.own(Some(job), ports);
        }
        for consent in &owners.consents {
            verifier.consent(consent, true);
        }
        for (job, treatment) in &owners.treatments {
            verifier.treat(job, *treatment);
        }
        verifier.share_all(owners);
        verifier
    }

    /// Says whose these ports are from now on; none for nobody's.
    pub fn own(
        &mut self,
        owner: Option<&JobName>,
        ports: impl IntoIterator<Item = (DeviceId, Port)>,
    ) {
        let owner = owner.map(|name| self.job_id(name));
        self.dirty.places.extend(owner.map(Spotted::Job));
        for (device, port) in ports {
            let owners = &mut self.owners[device.index()];
            let before = match owner {
                Some(job) => owners.insert(port, job),
                None => owners.remove(&port),
            };
            if let Some(job) = before {
                if let Some(held) = self.job_ports.get_mut(&job)
                    && let Ok(place) = held.binary_search(&(device, port))
                {
                    held.remove(place);
                }
                self.dirty.places.insert(Spotted::Job(job));
            }
            if let Some(job) = owner {
                let held = self.job_ports.entry(job).or_default();
                if let Err(place) = held.binary_search(&(device, port)) {
                    held.insert(place, (device, port));
                }
            }
            self.mark_port(device, port);
        }
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

    /// Says what a tenant is promised of the network from now on.
    pub fn promise(&mut self, tenant: &TenantName, promise: Promise) {
        self.promises.insert(tenant.clone(), promise);
        for (device, vrfs) in (0..).map(DeviceId).zip(&self.index.tenants) {
            let of_tenant = vrfs.iter().filter(|(_, tenants)| tenants.contains_key(tenant));
            let places = of_tenant.map(|(vrf, _)| Spotted::Vrf(device, vrf.clone()));
            self.dirty.places.extend(places);
        }
    }

    /// Says how the packets of a job are to be treated from now on.
    pub fn treat(&mut self, job: &JobName, treatment: Treatment) {
        let job = self.job_id(job);
        self.treatments.insert(job, treatment);
        self.mark_job_vrfs(job);
    }

    /// Takes in what a part of an artifact says now, in place of what it said before; none when
    /// the part is gone. Claims without their text are judged like others, and never cleared.
    pub fn take(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        part: &Part,
        reading: Option<Reading>,
    ) {
        if !dialect.is_network() {
            self.take_layer(device, dialect, part, reading);
            return;
        }
        let id = self.sheet_id(device, dialect, part);
        self.digests.note(device, id, Source::of(reading.as_ref()));
        let was = !self.sheets[id as usize].is_empty();
        let was_strange = self.sheets[id as usize].is_strange();
        let gone = std::mem::take(&mut self.sheets[id as usize].claims);
        for claim in &gone {
            self.turn(device, id, claim, Turn::Goes);
        }
        let Reading { claims, unknown, lacking, .. } = reading.unwrap_or_default();
        for claim in &claims {
            self.turn(device, id, claim, Turn::Comes);
        }
        let sheet = &mut self.sheets[id as usize];
        sheet.claims = claims;
        sheet.unknown = unknown;
        sheet.lacking = lacking;
        let is = !sheet.is_empty();
        if self.held.count(device, dialect, was, is) {
            self.dirty.places.insert(Spotted::Device(device));
        }
        if was_strange || self.sheets[id as usize].is_strange() {
            self.dirty.places.insert(Spotted::Sheet(id));
        }
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
        self.judge_layers();
        let network = self.findings.values().flatten();
        let mut all: Vec<Finding> = network.chain(self.layer_findings()).cloned().collect();
        all.sort();
        // One diagnosis is one finding, whoever came upon it.
        all.dedup_by(|later, one| {
            let is_same = later.diagnosis == one.diagnosis;
            if is_same {
                one.add(later);
            }
            is_same
        });
        self.vouched.judge(&self.world.fleet, all)
    }

    /// Says which lines somebody vouches for from now on.
    pub fn vouch(&mut self, owners: &Owners) {
        self.vouched = Vouched::of(owners);
    }

    /// What was found the last time and is vouched for, each with who does.
    #[must_use]
    pub fn waived(&self) -> &[(Waiver, Finding)] {
        self.vouched.waived()
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
        let World { devices, judges_cables, duties, cables, underlay, evpn, .. } = &self.world;
        let new = islands(devices, judges_cables, duties, cables);
        for (old, new) in [(underlay, &new.underlay), (evpn, &new.evpn)] {
            let changed = old.iter().zip(new).zip(0..).filter(|((old, new), _)| old != new);
            self.dirty.devices.extend(changed.map(|(_, position)| DeviceId(position)));
        }
        let half = std::mem::replace(&mut self.half, new.half);
        let touched = half.keys().chain(self.half.keys()).copied();
        self.dirty.places.extend(touched.map(Spotted::Sessions));
        (self.world.underlay, self.world.evpn) = (new.underlay, new.evpn);
    }

    fn settle_bridge(&mut self, key: DomainKey) {
        let new = self.resolve(&key);
        let old = self.index.domains[key.0.index()].remove(&key.1).unwrap_or_default();
        let is_moved = old.nets != new.nets || old.vrf != new.vrf;
        self.mark_vrf(&key, &old, is_moved && self.overlaps(&old));
        self.unindex(&key, &old);
        self.enindex(&key, &new);
        // A bridge domain without ports carries what others of its VRF send.
        let is_way = new.seats.is_empty() || (is_moved && self.overlaps(&new));
        self.mark_vrf(&key, &new, is_way);
        self.mark_domain(&key, &old);
        self.mark_domain(&key, &new);
        let facts = &self.world.devices[key.0.index()];
        if let Some(vni) = facts.bridges.get(&key.1).and_then(|lines| lines.vni.first()) {
            let vni = *vni;
            self.dirty.places.insert(Spotted::Vni(vni));
            self.mark_targets(key.0, &Scope::Segment(vni));
        }
        if new != Domain::default() {
            self.index.domains[key.0.index()].insert(key.1.clone(), new);
        }
        self.dirty.places.insert(Spotted::Bridge(key));
    }

    /// Marks everybody in the VRF of a bridge domain, if need be.
    fn mark_vrf(&mut self, key: &DomainKey, domain: &Domain, is_needed: bool) {
        let vrf = domain.vrf.iter().filter(|_| is_needed);
        self.dirty.vrfs.extend(vrf.map(|vrf| (key.0, vrf.clone())));
    }

    fn settle_vrf(&mut self, device: DeviceId, vrf: VrfName) {
        self.mark_targets(device, &Scope::Vrf(vrf.clone()));
        let facts = &self.world.devices[device.index()];
        let lines = facts.vrfs.get(&vrf);
        let reached = lines.into_iter().flat_map(|lines| lines.reaches.values());
        self.dirty.places.extend(reached.map(|reach| Spotted::Vni(reach.vni)));
        for bridge in lines.into_iter().flat_map(|lines| &lines.bridges) {
            let Some(domain) = self.index.domains[device.index()].get(bridge) else {
                continue;
            };
            for seat in &domain.seats {
                self.dirty.places.extend(seat.owner.map(Spotted::Job));
                self.dirty.tags.extend(seat.tag);
            }
        }
        self.dirty.places.insert(Spotted::Vrf(device, vrf));
    }

    /// Takes one claim in or out, and marks what it touches.
    fn turn(&mut self, device: DeviceId, sheet: u32, claim: &Claim, turn: Turn) {
        let at = At { sheet, line: claim.line };
        // What a line joins is known before it goes and after it came.
        if turn == Turn::Goes {
            self.mark(device, &claim.fact);
        }
        self.world.devices[device.index()].turn(&claim.fact, at, turn);
        if turn == Turn::Comes {
            self.mark(device, &claim.fact);
        }
        self.index_line(device, &claim.fact);
    }

    pub(crate) fn sheet_id(&mut self, device: DeviceId, dialect: Dialect, part: &Part) -> u32 {
        if let Some(id) = self.sheet_ids.get(device, dialect, part) {
            return id;
        }
        let id = u32::try_from(self.sheets.len()).unwrap_or(u32::MAX);
        self.sheet_ids.add(device, dialect, part.clone(), id);
        self.sheets.push(Sheet::new(device, dialect, part.clone()));
        id
    }

    pub(crate) fn job_id(&mut self, name: &JobName) -> JobId {
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
        let owner = self.owners[device.index()].get(&port).map(|job| self.job_name(*job).clone());
        Endpoint { device, port, owner }
    }

    pub(crate) fn finding(
        &self,
        diagnosis: Diagnosis,
        ats: impl IntoIterator<Item = At>,
    ) -> Finding {
        let present = ats.into_iter().map(|at| self.said(at)).collect();
        Finding { diagnosis, present, missing: Vec::new() }
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
    fn new(device: DeviceId, dialect: Dialect, part: Part) -> Self {
        let (claims, unknown, lacking) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, dialect, part, claims, unknown, lacking, present: false }
    }

    fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.unknown.is_empty()
    }

    /// Whether a line of it is not known, or must be there and is not.
    pub(crate) fn is_strange(&self) -> bool {
        !self.unknown.is_empty() || !self.lacking.is_empty()
    }
}
