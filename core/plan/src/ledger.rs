//! The books: who holds which number, address and interface, and what rests.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::Ipv4Net;
use model::{
    Capacity, Consent, Evidence, Fleet, Generation, JobName, Name, NodeId, Past, Rate, TenantName,
    TrafficClass, numbering::TENANT_NUMBERS,
};

use crate::blocks::{overlap, prefix_for};
use crate::contradiction::Contradiction;
use crate::number::{Numbers, TAGS};
use crate::past::Pasts;
use crate::record::{Choice, Lease, SeatAt};
use crate::rest::{Finished, Rest, RestId, Resting, Rests, Unscrubbed};

/// Who holds what, and what rests: the sum of all records. Use is read here and never
/// recomputed from what the fleet happens to have.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ledger {
    generation: Generation,
    /// Whether changes still belong to this generation: it ends when a device was seen with it.
    open: bool,
    tenants: BTreeMap<TenantName, u16>,
    jobs: BTreeMap<JobName, Lease>,
    consents: BTreeSet<Consent>,
    /// How many consents each job is a side of.
    consenting: BTreeMap<JobName, u32>,
    /// Devices that may still hold a living job's tag, because a consent with somebody there
    /// ended: each with the generation that took it away.
    lingering: BTreeMap<JobName, BTreeMap<Name, Generation>>,
    rests: Rests,
    pasts: Pasts,
    seen: BTreeMap<Name, Generation>,

    // The same once more, by what must not be held twice.
    numbers: Numbers,
    tags: Numbers,
    pkeys: Numbers,
    vlans: BTreeMap<Name, Numbers>,
    subnets: BTreeMap<TenantName, BTreeMap<u32, Ipv4Net>>,
    seats: BTreeMap<Name, BTreeMap<u16, Holder>>,
    gpus: BTreeMap<TenantName, u64>,
    /// Tags and tenant numbers that rest.
    resting_tags: u32,
    resting_numbers: u32,
}

/// Who has an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Holder {
    /// A job.
    Job(JobName),
    /// Nobody any more, but not everybody knows.
    Rest(RestId),
}

impl Ledger {
    /// The sum of these records.
    ///
    /// # Errors
    /// If a record contradicts those before it.
    pub fn replay<'a>(
        records: impl IntoIterator<Item = &'a Choice>,
    ) -> Result<Self, Contradiction> {
        let mut ledger = Self::default();
        for record in records {
            ledger.apply(record)?;
        }
        Ok(ledger)
    }

    /// Adds one record.
    ///
    /// # Errors
    /// If it contradicts those before it; the ledger is then as it was.
    pub fn apply(&mut self, record: &Choice) -> Result<(), Contradiction> {
        self.enter(record).map(drop)
    }

    /// The last generation that was planned.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// The tenants with their numbers.
    #[must_use]
    pub const fn tenants(&self) -> &BTreeMap<TenantName, u16> {
        &self.tenants
    }

    /// The jobs with what they hold.
    #[must_use]
    pub const fn jobs(&self) -> &BTreeMap<JobName, Lease> {
        &self.jobs
    }

    /// Who may meet.
    #[must_use]
    pub const fn consents(&self) -> &BTreeSet<Consent> {
        &self.consents
    }

    /// What was freed and may not be leased again yet, oldest first.
    pub fn rests(&self) -> impl Iterator<Item = &Rest> {
        self.rests.iter()
    }

    /// The generation each device was last seen to hold.
    #[must_use]
    pub const fn seen(&self) -> &BTreeMap<Name, Generation> {
        &self.seen
    }

    /// What others left on each node of a fleet, and what was scrubbed since.
    #[must_use]
    pub fn pasts_in(&self, fleet: &Fleet) -> BTreeMap<NodeId, Vec<Past>> {
        self.pasts.all(fleet)
    }

    /// What a job left on a node that nobody holds any more and that waits to be scrubbed: the
    /// generations that freed it.
    #[must_use]
    pub fn released(&self, node: &Name, job: &JobName) -> BTreeSet<Generation> {
        let rests = self.rests_of(job).filter_map(|(id, _)| self.rests.get(id));
        let released =
            rests.filter(|rest| rest.waits.is_empty() && rest.unscrubbed.contains_key(node));
        released.map(|rest| rest.since).collect()
    }

    /// The devices that something freed waits for, each with the last generation it must be seen at.
    #[must_use]
    pub fn awaited(&self) -> BTreeMap<&Name, Generation> {
        let rests = self.rests.iter().flat_map(|rest| &rest.waits);
        let mut awaited: BTreeMap<&Name, Generation> = BTreeMap::new();
        for (device, &generation) in rests.chain(self.lingering.values().flatten()) {
            let last = awaited.entry(device).or_insert(generation);
            *last = generation.max(*last);
        }
        awaited
    }

    /// Adds one record and says what ended its rest by it.
    pub(crate) fn enter(&mut self, record: &Choice) -> Result<Vec<Finished>, Contradiction> {
        match record {
            Choice::Planned { generation } => self.plan(*generation)?,
            Choice::Seen { device, generation } => return self.see(device, *generation),
            Choice::Scrubbed { node, job, evidence } => return self.scrub(node, job, evidence),
            _ if !self.open => return Err(Contradiction::NotPlanned),
            Choice::TenantLeased { tenant, number } => self.lease_tenant(tenant, *number)?,
            Choice::TenantFreed { tenant } => self.free_tenant(tenant)?,
            Choice::JobLeased { job, lease } => return self.lease_job(job, lease),
            Choice::JobClassed { job, class, ceiling, capacity } => {
                self.class_job(job, *class, *ceiling, *capacity)?;
            }
            Choice::JobFreed { job } => self.free_job(job)?,
            Choice::TenantRestored { tenant, number } => self.restore_tenant(tenant, *number)?,
            Choice::JobRestored { job, tag } => return self.restore_job(job, tag.get()),
            Choice::ConsentOpened { client, provider, service } => self.open(Consent {
                client: client.clone(),
                provider: provider.clone(),
                service: *service,
            })?,
            Choice::ConsentEnded { client, provider, service } => self.end(&Consent {
                client: client.clone(),
                provider: provider.clone(),
                service: *service,
            })?,
        }
        Ok(Vec::new())
    }

    fn plan(&mut self, generation: Generation) -> Result<(), Contradiction> {
        if generation <= self.generation {
            return Err(Contradiction::GenerationNotAfter { generation, last: self.generation });
        }
        self.generation = generation;
        self.open = true;
        Ok(())
    }

    fn lease_tenant(&mut self, tenant: &TenantName, number: u16) -> Result<(), Contradiction> {
        if self.tenants.contains_key(tenant) {
            return Err(Contradiction::TenantTwice(tenant.clone()));
        }
        if !TENANT_NUMBERS.contains(&number) {
            let tenant = tenant.clone();
            return Err(Contradiction::NotATenantNumber { tenant, number });
        }
        if self.numbers.holds(number) {
            return Err(Contradiction::NumberTaken { tenant: tenant.clone(), number });
        }
        self.numbers.take(number);
        self.tenants.insert(tenant.clone(), number);
        Ok(())
    }

    fn free_tenant(&mut self, tenant: &TenantName) -> Result<(), Contradiction> {
        let Some(&number) = self.tenants.get(tenant) else {
            return Err(Contradiction::TenantUnknown(tenant.clone()));
        };
        if let Some(job) = self.jobs_of(tenant).next() {
            return Err(Contradiction::TenantHasJobs(job.clone()));
        }
        self.tenants.remove(tenant);
        // Whatever still holds the VRF, or imports it, held one of its jobs.
        let waits = self.rests.waits_of(tenant);
        if waits.is_empty() {
            self.numbers.give_back(number);
            return Ok(());
        }
        self.resting_numbers += 1;
        let what = Resting::Tenant { tenant: tenant.clone(), number };
        self.rests.begin(what, self.generation, waits);
        Ok(())
    }

    fn lease_job(&mut self, job: &JobName, lease: &Lease) -> Result<Vec<Finished>, Contradiction> {
        self.may_lease(job, lease)?;
        self.tags.take(lease.tag.get());
        if let Some(pkey) = lease.keys.pkey {
            self.pkeys.take(pkey);
        }
        let subnets = self.subnets.entry(job.tenant.clone()).or_default();
        subnets.insert(lease.subnet.network().to_bits(), lease.subnet);
        for at in &lease.vlans {
            let vlans = self.vlans.entry(at.device.clone()).or_default();
            vlans.take(at.vlan.get());
        }
        let over = self.sit_down(job, lease);
        Ok(self.finish(over))
    }

    /// Gives a job its interfaces and counts its GPUs. What it had there itself before rests no
    /// longer on that node.
    fn sit_down(&mut self, job: &JobName, lease: &Lease) -> Vec<(RestId, Rest)> {
        let mut over = Vec::new();
        for (node, nics) in by_node(&lease.seats) {
            let held = self.seats.entry(node.clone()).or_default();
            let mut rests = BTreeSet::new();
            for nic in nics {
                if let Some(Holder::Rest(id)) = held.insert(nic, Holder::Job(job.clone())) {
                    rests.insert(id);
                }
            }
            let rest_there = |id| held.values().any(|holder| *holder == Holder::Rest(id));
            rests.retain(|id| !rest_there(*id));
            over.extend(rests.into_iter().filter_map(|id| self.rests.forgive(id, node)));
        }
        for tenant in job.tenant.lineage() {
            *self.gpus.entry(tenant).or_default() += u64::from(lease.gpus);
        }
        self.jobs.insert(job.clone(), lease.clone());
        over
    }

    fn may_lease(&self, job: &JobName, lease: &Lease) -> Result<(), Contradiction> {
        if !self.tenants.contains_key(&job.tenant) {
            return Err(Contradiction::TenantUnknown(job.tenant.clone()));
        }
        if self.jobs.contains_key(job) {
            return Err(Contradiction::JobTwice(job.clone()));
        }
        if lease.seats.is_empty() || lease.vlans.is_empty() {
            return Err(Contradiction::NothingLeased(job.clone()));
        }
        if !TAGS.iter().any(|tags| tags.contains(&lease.tag.get())) {
            let (job, tag) = (job.clone(), lease.tag.get());
            return Err(Contradiction::NotAJobTag { job, tag });
        }
        let endpoints = lease.seats.len();
        if prefix_for(endpoints).is_none_or(|needed| lease.subnet.prefix_len() > needed) {
            return Err(Contradiction::SubnetTooSmall {
                job: job.clone(),
                subnet: lease.subnet,
                endpoints,
            });
        }
        if self.tags.holds(lease.tag.get()) {
            let (job, tag) = (job.clone(), lease.tag.get());
            return Err(Contradiction::TagTaken { job, tag });
        }
        if let Some(pkey) = lease.keys.pkey.filter(|&pkey| self.pkeys.holds(pkey)) {
            return Err(Contradiction::PkeyTaken { job: job.clone(), pkey });
        }
        if let Some(held) = self.subnet_within(&job.tenant, lease.subnet) {
            let (job, subnet) = (job.clone(), lease.subnet);
            return Err(Contradiction::SubnetTaken { job, subnet, held });
        }
        for at in &lease.vlans {
            if self.vlans_at(&at.device).is_some_and(|held| held.holds(at.vlan.get())) {
                return Err(Contradiction::VlanTaken {
                    job: job.clone(),
                    device: at.device.clone(),
                    vlan: at.vlan.get(),
                });
            }
        }
        self.may_seat(job, lease)
    }

    fn may_seat(&self, job: &JobName, lease: &Lease) -> Result<(), Contradiction> {
        for (node, mut nics) in by_node(&lease.seats) {
            nics.sort_unstable();
            let held = self.seats.get(node);
            let foreign = |nic: u16| {
                let holder = held.and_then(|held| held.get(&nic));
                holder.is_some_and(|holder| !self.may_take(job, holder))
            };
            let twice = nics.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            if let Some(nic) = twice.or_else(|| nics.iter().copied().find(|&nic| foreign(nic))) {
                let (job, node) = (job.clone(), node.clone());
                return Err(Contradiction::SeatTaken { job, node, nic });
            }
        }
        Ok(())
    }

    /// A job may take back an interface that it held itself: it never had another owner.
    pub(crate) fn may_take(&self, job: &JobName, holder: &Holder) -> bool {
        match holder {
            Holder::Job(_) => false,
            Holder::Rest(id) => self.rests.is_of(*id, job),
        }
    }

    fn class_job(
        &mut self,
        job: &JobName,
        class: TrafficClass,
        ceiling: Option<Rate>,
        capacity: Capacity,
    ) -> Result<(), Contradiction> {
        match self.jobs.get_mut(job) {
            Some(lease) => {
                lease.class = class;
                lease.ceiling = ceiling;
                lease.capacity = capacity;
                Ok(())
            }
            None => Err(Contradiction::JobUnknown(job.clone())),
        }
    }

    fn free_job(&mut self, job: &JobName) -> Result<(), Contradiction> {
        if self.consenting.contains_key(job) {
            return Err(Contradiction::JobConsents(job.clone()));
        }
        let Some(lease) = self.jobs.remove(job) else {
            return Err(Contradiction::JobUnknown(job.clone()));
        };
        for tenant in job.tenant.lineage() {
            if let Some(gpus) = self.gpus.get_mut(&tenant) {
                *gpus -= u64::from(lease.gpus);
            }
        }
        let mut waits = self.lingering.remove(job).unwrap_or_default();
        for at in &lease.vlans {
            waits.insert(at.device.clone(), self.generation);
        }
        waits.extend(lease.layers.iter().map(|device| (device.clone(), self.generation)));
        self.resting_tags += 1;
        self.pasts.leave(job, &lease);
        let id = self.rests.next_id();
        for (node, nics) in by_node(&lease.seats) {
            if let Some(held) = self.seats.get_mut(node) {
                held.extend(nics.into_iter().map(|nic| (nic, Holder::Rest(id))));
            }
        }
        let what = Resting::Job { job: job.clone(), lease };
        self.rests.begin(what, self.generation, waits);
        Ok(())
    }

    fn restore_tenant(&mut self, tenant: &TenantName, number: u16) -> Result<(), Contradiction> {
        if self.tenants.contains_key(tenant) {
            return Err(Contradiction::TenantTwice(tenant.clone()));
        }
        let Some(id) = self.rests.of_number(tenant, number) else {
            return Err(Contradiction::TenantNotResting { tenant: tenant.clone(), number });
        };
        self.rests.end(id);
        self.resting_numbers -= 1;
        self.tenants.insert(tenant.clone(), number);
        Ok(())
    }

    /// Nobody else could have had any of it: it never ceased to rest.
    fn restore_job(&mut self, job: &JobName, tag: u16) -> Result<Vec<Finished>, Contradiction> {
        if !self.tenants.contains_key(&job.tenant) {
            return Err(Contradiction::TenantUnknown(job.tenant.clone()));
        }
        if self.jobs.contains_key(job) {
            return Err(Contradiction::JobTwice(job.clone()));
        }
        let id = self.rests_of(job).find(|(_, lease)| lease.tag.get() == tag).map(|(id, _)| id);
        let not_resting = || Contradiction::JobNotResting { job: job.clone(), tag };
        let lease = id.and_then(|id| self.rests.lease_of(id)).ok_or_else(not_resting)?.clone();
        self.may_seat(job, &lease)?;
        let rest = id.and_then(|id| self.rests.end(id)).ok_or_else(not_resting)?;
        self.resting_tags -= 1;
        self.lingering.entry(job.clone()).or_default().extend(rest.waits);
        let over = self.sit_down(job, &lease);
        Ok(self.finish(over))
    }

    fn open(&mut self, consent: Consent) -> Result<(), Contradiction> {
        for job in [&consent.client, &consent.provider] {
            if !self.jobs.contains_key(job) {
                return Err(Contradiction::JobUnknown(job.clone()));
            }
        }
        if self.consents.contains(&consent) {
            return Err(Contradiction::ConsentTwice(consent));
        }
        for job in [&consent.client, &consent.provider] {
            *self.consenting.entry(job.clone()).or_default() += 1;
        }
        self.consents.insert(consent);
        Ok(())
    }

    /// Each side's devices held the other side's tag, and do so until they are seen again.
    fn end(&mut self, consent: &Consent) -> Result<(), Contradiction> {
        if !self.consents.remove(consent) {
            return Err(Contradiction::ConsentUnknown(consent.clone()));
        }
        let sides = [(&consent.client, &consent.provider), (&consent.provider, &consent.client)];
        for (job, other) in sides {
            if let Some(count) = self.consenting.get_mut(job) {
                *count -= 1;
                if *count == 0 {
                    self.consenting.remove(job);
                }
            }
            let Some(lease) = self.jobs.get(other) else {
                continue;
            };
            let lingering = self.lingering.entry(job.clone()).or_default();
            for at in &lease.vlans {
                lingering.insert(at.device.clone(), self.generation);
            }
        }
        Ok(())
    }

    fn see(
        &mut self,
        device: &Name,
        generation: Generation,
    ) -> Result<Vec<Finished>, Contradiction> {
        if generation > self.generation {
            return Err(Contradiction::SeenBeforePlanned {
                device: device.clone(),
                generation,
                last: self.generation,
            });
        }
        self.open &= generation < self.generation;
        self.seen.insert(device.clone(), generation);
        self.lingering.retain(|_, devices| {
            if devices.get(device).is_some_and(|&since| since <= generation) {
                devices.remove(device);
            }
            !devices.is_empty()
        });
        let finished = self.rests.see(device, generation);
        Ok(self.finish(finished))
    }

    fn scrub(
        &mut self,
        node: &Name,
        job: &JobName,
        evidence: &[Evidence],
    ) -> Result<Vec<Finished>, Contradiction> {
        let (at, of) = (node.clone(), job.clone());
        let fenced: Vec<u16> = self.fenced_nics(node, job);
        match self.rests.scrub(node, job, evidence) {
            Ok(finished) => {
                self.pasts.scrub(node, &fenced, job, evidence);
                Ok(self.finish(finished))
            }
            Err(Unscrubbed::Unasked) => Err(Contradiction::ScrubUnasked { node: at, job: of }),
            Err(Unscrubbed::TooEarly) => Err(Contradiction::ScrubTooEarly { node: at, job: of }),
        }
    }

    /// The interfaces of a node that a job left and that nobody else may still reach.
    fn fenced_nics(&self, node: &Name, job: &JobName) -> Vec<u16> {
        let is_fenced = |holder: &Holder| match holder {
            Holder::Job(_) => false,
            Holder::Rest(id) => {
                let rest = self.rests.get(*id);
                self.rests.is_of(*id, job) && rest.is_some_and(|rest| rest.waits.is_empty())
            }
        };
        let held = self.seats.get(node).into_iter().flatten();
        held.filter(|(_, holder)| is_fenced(holder)).map(|(nic, _)| *nic).collect()
    }

    /// Makes free what has rested.
    fn finish(&mut self, rests: Vec<(RestId, Rest)>) -> Vec<Finished> {
        rests
            .into_iter()
            .map(|(id, rest)| match rest.what {
                Resting::Tenant { number, .. } => {
                    self.numbers.give_back(number);
                    self.resting_numbers -= 1;
                    Finished::Tenant
                }
                Resting::Job { job, lease } => {
                    self.finish_job(id, &job, &lease);
                    Finished::Job { id, job, lease }
                }
            })
            .collect()
    }

    /// What the same job took back stays its own.
    fn finish_job(&mut self, id: RestId, job: &JobName, lease: &Lease) {
        self.tags.give_back(lease.tag.get());
        if let Some(pkey) = lease.keys.pkey {
            self.pkeys.give_back(pkey);
        }
        self.resting_tags -= 1;
        if let Some(subnets) = self.subnets.get_mut(&job.tenant) {
            subnets.remove(&lease.subnet.network().to_bits());
        }
        for at in &lease.vlans {
            if let Some(vlans) = self.vlans.get_mut(&at.device) {
                vlans.give_back(at.vlan.get());
            }
        }
        for (node, nics) in by_node(&lease.seats) {
            let Some(held) = self.seats.get_mut(node) else {
                continue;
            };
            for nic in nics {
                if held.get(&nic) == Some(&Holder::Rest(id)) {
                    held.remove(&nic);
                }
            }
        }
    }
}

/// What the planner asks of the books.
impl Ledger {
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    pub(crate) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    pub(crate) fn tags(&self) -> &Numbers {
        &self.tags
    }

    pub(crate) fn vlans_at(&self, device: &Name) -> Option<&Numbers> {
        self.vlans.get(device)
    }

    /// The addresses of a tenant that are held, leased or resting.
    pub(crate) fn subnets_of(&self, tenant: &TenantName) -> impl Iterator<Item = Ipv4Net> {
        let subnets = self.subnets.get(tenant);
        subnets.into_iter().flat_map(|held| held.values().copied())
    }

    pub(crate) fn holder(&self, node: &Name, nic: u16) -> Option<&Holder> {
        self.seats.get(node)?.get(&nic)
    }

    /// How many GPUs a tenant and all below it hold.
    pub(crate) fn gpus_of(&self, tenant: &TenantName) -> u32 {
        let gpus = self.gpus.get(tenant).copied().unwrap_or(0);
        u32::try_from(gpus).unwrap_or(u32::MAX)
    }

    pub(crate) fn rest(&self, id: RestId) -> Option<&Rest> {
        self.rests.get(id)
    }

    pub(crate) fn resting_jobs(&self) -> impl Iterator<Item = (RestId, &JobName, &Lease)> {
        self.rests.jobs()
    }

    /// What the job held before and still rests.
    pub(crate) fn rests_of<'a>(
        &'a self,
        job: &'a JobName,
    ) -> impl Iterator<Item = (RestId, &'a Lease)> {
        self.rests.of_job(job)
    }

    pub(crate) fn jobs_of<'a>(
        &'a self,
        tenant: &'a TenantName,
    ) -> impl Iterator<Item = &'a JobName> {
        let from = self.jobs.range(first_of(tenant)..);
        from.map(|(job, _)| job).take_while(move |job| job.tenant == *tenant)
    }

    /// Whether this number of a tenant rests.
    pub(crate) fn rests_number(&self, tenant: &TenantName, number: u16) -> bool {
        self.rests.of_number(tenant, number).is_some()
    }

    pub(crate) const fn pasts(&self) -> &Pasts {
        &self.pasts
    }

    pub(crate) const fn resting_tags(&self) -> u32 {
        self.resting_tags
    }

    pub(crate) const fn resting_numbers(&self) -> u32 {
        self.resting_numbers
    }

    /// A held subnet of the tenant that has an address of this one.
    fn subnet_within(&self, tenant: &TenantName, subnet: Ipv4Net) -> Option<Ipv4Net> {
        let held = self.subnets.get(tenant)?;
        let before = held.range(..=subnet.broadcast().to_bits()).next_back()?;
        overlap(*before.1, subnet).then_some(*before.1)
    }
}

/// Seats by node: names are long to compare, so each is looked up once.
fn by_node(seats: &[SeatAt]) -> BTreeMap<&Name, Vec<u16>> {
    let mut nodes: BTreeMap<&Name, Vec<u16>> = BTreeMap::new();
    for seat in seats {
        nodes.entry(&seat.node).or_default().push(seat.nic);
    }
    nodes
}

/// The first name a job of this tenant can have: jobs are ordered by tenant first, and no label
/// comes before `0`.
pub(crate) fn first_of(tenant: &TenantName) -> JobName {
    match "0".parse() {
        Ok(name) => JobName { tenant: tenant.clone(), name },
        Err(_) => unreachable!("`0` is a name"),
    }
}
