//! The plan one change at a time, at a cost that depends on the job and not on the fleet.

use std::collections::BTreeMap;
use std::sync::Arc;

use intent::Intent;
use model::{
    Consent, DeviceId, Evidence, Fleet, Generation, Grade, Job, JobName, Name, NicRef, Part,
    Permit, Quotas, Tenant, TenantName, VersionPolicy,
};

use crate::Next;
use crate::blocks::Blocks;
use crate::contradiction::Contradiction;
use crate::layers::Managers;
use crate::ledger::{Holder, Ledger};
use crate::meet::Partners;
use crate::net::{self, Astray, Index};
use crate::number::Bounds;
use crate::place::{Ground, Holding, TenantKey, Turn};
use crate::record::{Choice, Lease, SeatAt};
use crate::refusal::PlanRefusal;
use crate::report::PlanReport;
use crate::rest::{Finished, RestId};
use crate::shape::{Plan, Touched};

/// The plan with everything that makes the next change cheap: who holds what, what is free,
/// and who agreed to meet. What one change costs depends on the job and not on the fleet.
#[derive(Clone, Debug)]
pub struct Planner {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) tenants: BTreeMap<TenantName, Arc<Tenant>>,
    /// What both sides wrote, by each of the two jobs, whether the jobs are there or not.
    pub(crate) wishes: BTreeMap<JobName, Vec<Consent>>,
    pub(crate) pending: Vec<Permit>,
    pub(crate) bounds: Bounds,
    pub(crate) ledger: Ledger,
    pub(crate) plan: Plan,
    pub(crate) index: Index,
    pub(crate) managers: Managers,
    pub(crate) ground: Ground,
    pub(crate) blocks: BTreeMap<TenantName, Blocks>,
    /// How many endpoints each device judges.
    pub(crate) endpoints: BTreeMap<DeviceId, u32>,
    pub(crate) partners: Partners,
    /// Leased jobs that cannot be said in this fleet.
    pub(crate) astray: BTreeMap<JobName, Astray>,
    pub(crate) records: Vec<Choice>,
    pub(crate) sealed: bool,
}

/// Everything a job would get. Nothing is taken before all of it is found.
pub(crate) struct Offer {
    pub(crate) tenant_number: Option<u16>,
    pub(crate) lease: Lease,
    /// The interfaces of the lease, in its order.
    pub(crate) nics: Vec<NicRef>,
    pub(crate) consents: Vec<Consent>,
}

impl Planner {
    /// A planner that holds the plan of this intent: what the ledger has and the intent no
    /// longer asks for is released, then what is new is admitted.
    ///
    /// # Errors
    /// Every refusal, not only the first.
    pub fn new(intent: &Intent, ledger: &Ledger) -> Result<Self, Vec<PlanRefusal>> {
        Self::within(Bounds::default(), intent, ledger)
    }

    pub(crate) fn within(
        bounds: Bounds,
        intent: &Intent,
        ledger: &Ledger,
    ) -> Result<Self, Vec<PlanRefusal>> {
        let mut planner = Self::load(bounds, intent, ledger);
        let refusals = planner.follow(intent);
        if refusals.is_empty() { Ok(planner) } else { Err(refusals) }
    }

    /// Who is where.
    #[must_use]
    pub const fn ground(&self) -> &Ground {
        &self.ground
    }

    /// The plan as it is now.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The books as they are now.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where every endpoint is judged, what is not covered there, and what is waited for.
    #[must_use]
    pub fn report(&self) -> PlanReport {
        PlanReport::new(&self.plan, &self.ledger, &self.pending)
    }

    /// Adds a job.
    ///
    /// # Errors
    /// If it cannot be had; then nothing has changed.
    pub fn admit(&mut self, job: &Job) -> Result<Touched, PlanRefusal> {
        let lent = self.lend(&job.name);
        let touched = self.offer(job).map(|offer| self.accept(&job.name, offer));
        self.take_back(&job.name, lent);
        touched
    }

    /// Takes a job away. All it held rests until every device that held it was seen without it.
    ///
    /// # Errors
    /// If there is no such job.
    pub fn release(&mut self, job: &JobName) -> Result<Touched, PlanRefusal> {
        if !self.ledger.jobs().contains_key(job) {
            return Err(PlanRefusal::JobUnknown { job: job.clone() });
        }
        let touched = self.withdraw(job);
        if self.ledger.jobs_of(&job.tenant).next().is_none() {
            self.dismiss(&job.tenant);
        }
        Ok(touched)
    }

    /// Notes that a device was seen to hold what a generation gave it. What waited for nothing
    /// else is free again.
    ///
    /// # Errors
    /// If that generation was never planned.
    pub fn seen(&mut self, device: &Name, generation: Generation) -> Result<(), Contradiction> {
        self.note_end(Choice::Seen { device: device.clone(), generation })
    }

    /// Notes that the traces of a job were scrubbed on a node. What waited for nothing else is free
    /// again.
    ///
    /// # Errors
    /// If nothing of the job waits for that, or somebody may still hold what was the job's.
    pub fn scrubbed(
        &mut self,
        node: &Name,
        job: &JobName,
        evidence: Vec<Evidence>,
    ) -> Result<(), Contradiction> {
        self.note_end(Choice::Scrubbed { node: node.clone(), job: job.clone(), evidence })
    }

    /// Writes down something that may end rests.
    fn note_end(&mut self, record: Choice) -> Result<(), Contradiction> {
        let finished = self.ledger.enter(&record)?;
        self.records.push(record);
        for rest in finished {
            self.make_free(rest);
        }
        Ok(())
    }

    /// Ends this generation and hands out its records, to be written down before anything else
    /// happens. The next change begins the next generation.
    #[must_use]
    pub fn seal(&mut self) -> Vec<Choice> {
        self.sealed = true;
        std::mem::take(&mut self.records)
    }

    /// Ends this generation and hands out everything.
    #[must_use]
    pub fn into_next(mut self) -> Next {
        Next { records: self.seal(), report: self.report(), plan: self.plan }
    }

    /// Begins a generation unless one is open.
    pub(crate) fn begin(&mut self) {
        if self.sealed || !self.ledger.is_open() {
            self.sealed = false;
            let generation = self.ledger.generation().next();
            self.plan.generation = generation;
            self.enter(Choice::Planned { generation });
        }
    }

    pub(crate) fn enter(&mut self, record: Choice) {
        if let Err(contradiction) = self.note_end(record) {
            unreachable!("the planner contradicts its own ledger: {contradiction}");
        }
    }

    /// Gives a job what it was offered.
    fn accept(&mut self, job: &JobName, offer: Offer) -> Touched {
        self.begin();
        if let Some(number) = offer.tenant_number {
            let tenant = job.tenant.clone();
            self.enter(Choice::TenantLeased { tenant, number });
            self.name_tenant(&job.tenant, number);
        }
        self.hold(job, &offer.lease, &offer.nics, Turn::Living);
        self.ground.take_keys_for(&offer.nics, offer.lease.keys);
        self.take_block(&job.tenant, offer.lease.subnet);
        self.enter(Choice::JobLeased { job: job.clone(), lease: offer.lease });
        let mut touched = self.seat(job, &offer.nics);
        for consent in offer.consents {
            self.join(consent, &mut touched);
        }
        touched
    }

    /// Takes a job away and leaves its tenant.
    pub(crate) fn withdraw(&mut self, job: &JobName) -> Touched {
        self.begin();
        let mut touched = Touched::default();
        for consent in self.plan.consents.get(job).cloned().unwrap_or_default() {
            self.part(&consent, &mut touched);
        }
        self.enter(Choice::JobFreed { job: job.clone() });
        if let Some((id, _)) = self.ledger.rests_of(job).last() {
            self.ground.rest(job, id.number());
        }
        self.astray.remove(job);
        self.unseat(job, &mut touched);
        touched
    }

    /// Takes a tenant away that has no jobs.
    pub(crate) fn dismiss(&mut self, tenant: &TenantName) {
        self.begin();
        self.plan.tenants.remove(tenant);
        self.enter(Choice::TenantFreed { tenant: tenant.clone() });
    }

    /// Puts a leased job into the plan.
    pub(crate) fn seat(&mut self, job: &JobName, nics: &[NicRef]) -> Touched {
        let mut touched = Touched::default();
        let Some(lease) = self.ledger.jobs().get(job) else {
            unreachable!("only a leased job is seated");
        };
        let net = match net::job_net(&self.fleet, lease, nics) {
            Ok(net) => net,
            Err(astray) => {
                self.astray.insert(job.clone(), astray);
                return touched;
            }
        };
        for (position, group) in net.groups.iter().enumerate() {
            let device = self.plan.devices.entry(group.device).or_default();
            if !has_neighbour(&device.jobs, job) {
                let tenant = Part::Tenant(job.tenant.clone());
                touched.0.insert((group.device, tenant));
            }
            device.jobs.insert(job.clone(), position);
            touched.0.insert((group.device, Part::Job(job.clone())));
            *self.endpoints.entry(group.device).or_default() += group.seats.len() as u32;
        }
        let mut pasts = Vec::new();
        for (node, share) in self.managers.shares(&self.fleet, nics) {
            self.plan.nodes.entry(node).or_default().insert(job.clone(), share);
            let name = &self.fleet.nodes[node.index()].name;
            pasts.extend(self.ledger.pasts().of(name, node, share.nics));
        }
        if !pasts.is_empty() {
            self.plan.pasts.insert(job.clone(), pasts);
        }
        self.managers.touch(&self.plan, job, nics, &mut touched);
        self.plan.jobs.insert(job.clone(), net);
        touched
    }

    fn unseat(&mut self, job: &JobName, touched: &mut Touched) {
        let Some(net) = self.plan.jobs.remove(job) else {
            return;
        };
        self.plan.pasts.remove(job);
        for group in &net.groups {
            if let Some(endpoints) = self.endpoints.get_mut(&group.device) {
                *endpoints -= group.seats.len() as u32;
            }
            let Some(device) = self.plan.devices.get_mut(&group.device) else {
                continue;
            };
            device.jobs.remove(job);
            touched.0.insert((group.device, Part::Job(job.clone())));
            if !has_neighbour(&device.jobs, job) {
                let tenant = Part::Tenant(job.tenant.clone());
                touched.0.insert((group.device, tenant));
            }
            if device.jobs.is_empty() {
                self.plan.devices.remove(&group.device);
            }
        }
        let seats = net.groups.iter().flat_map(|group| &group.seats);
        let nics: Vec<NicRef> = seats.map(|seat| seat.nic).collect();
        self.managers.touch(&self.plan, job, &nics, touched);
        for nic in nics {
            if let Some(jobs) = self.plan.nodes.get_mut(&nic.node) {
                jobs.remove(job);
                if jobs.is_empty() {
                    self.plan.nodes.remove(&nic.node);
                }
            }
        }
    }

    pub(crate) fn name_tenant(&mut self, tenant: &TenantName, number: u16) {
        let net = net::tenant_net(&self.fleet, number, self.tenants.get(tenant).map(Arc::as_ref));
        self.plan.tenants.insert(tenant.clone(), net);
    }

    /// The key of a tenant in the room. One that nobody describes any more shares what it did.
    pub(crate) fn key_of(&mut self, tenant: &TenantName, lease: &Lease) -> TenantKey {
        if let Some(key) = self.ground.tenant(tenant) {
            return key;
        }
        self.ground.tenant_like(&undescribed(tenant, lease.grade))
    }

    /// Puts a job on interfaces.
    pub(crate) fn hold(&mut self, job: &JobName, lease: &Lease, nics: &[NicRef], turn: Turn) {
        let tenant = self.key_of(&job.tenant, lease);
        let holding = Holding { job, tenant, capacity: lease.capacity, turn };
        self.ground.hold_nics(&holding, nics);
    }

    /// Those of the interfaces that the fleet has.
    pub(crate) fn present<'a>(&self, seats: impl Iterator<Item = &'a SeatAt>) -> Vec<NicRef> {
        seats.filter_map(|seat| self.index.nic(&self.fleet, seat)).collect()
    }

    /// What is free of a tenant's pools, counted when it is first asked for.
    pub(crate) fn blocks(&mut self, tenant: &Tenant) -> &mut Blocks {
        let ledger = &self.ledger;
        self.blocks
            .entry(tenant.name.clone())
            .or_insert_with(|| Blocks::new(&tenant.pools, ledger.subnets_of(&tenant.name)))
    }

    pub(crate) fn endpoints_at(&self, device: DeviceId) -> u32 {
        self.endpoints.get(&device).copied().unwrap_or(0)
    }

    fn take_block(&mut self, tenant: &TenantName, subnet: ipnet::Ipv4Net) {
        if let Some(blocks) = self.blocks.get_mut(tenant) {
            blocks.take(subnet);
        }
    }

    fn make_free(&mut self, rest: Finished) {
        let Finished::Job { id, job, lease } = rest else {
            return;
        };
        if let Some(blocks) = self.blocks.get_mut(&job.tenant)
            && !blocks.give_back(lease.subnet)
        {
            self.blocks.remove(&job.tenant);
        }
        self.ground.release(&job, Turn::Resting(id.number()));
        let nics = self.present(lease.seats.iter());
        self.ground.give_keys_for(&nics, lease.keys);
    }

    /// Lets a job look for its place as if what it held itself were free: that never had
    /// another owner, so nobody has to be fenced off.
    fn lend(&mut self, job: &JobName) -> Vec<(RestId, Lease)> {
        let rests: Vec<(RestId, Lease)> =
            self.ledger.rests_of(job).map(|(id, lease)| (id, lease.clone())).collect();
        for (id, _) in &rests {
            self.ground.release(job, Turn::Resting(id.number()));
        }
        rests
    }

    /// What the job did not take goes on resting.
    fn take_back(&mut self, job: &JobName, lent: Vec<(RestId, Lease)>) {
        for (id, lease) in lent {
            self.hold_rest(job, id, &lease);
        }
    }

    /// Puts what still rests of a lease on the ground.
    pub(crate) fn hold_rest(&mut self, job: &JobName, id: RestId, lease: &Lease) {
        let rests =
            |seat: &&SeatAt| self.ledger.holder(&seat.node, seat.nic) == Some(&Holder::Rest(id));
        let nics = self.present(lease.seats.iter().filter(rests));
        self.hold(job, lease, &nics, Turn::Resting(id.number()));
    }
}

/// A tenant that nobody describes any more: it shares what it did, and gets nothing new.
fn undescribed(name: &TenantName, grade: Grade) -> Tenant {
    Tenant {
        name: name.clone(),
        grade,
        pools: Vec::new(),
        guarantee: None,
        ceiling: None,
        quota_gpus: None,
        quotas: Quotas::default(),
        apart: Vec::new(),
        versions: VersionPolicy::default(),
        jurisdictions: Vec::new(),
        groups: Vec::new(),
        confidential: None,
        attestation: None,
    }
}

/// Whether another job of the same tenant is on the list: jobs are ordered by tenant first, so
/// that one would stand beside it.
pub(crate) fn has_neighbour<T>(jobs: &BTreeMap<JobName, T>, job: &JobName) -> bool {
    use std::ops::Bound::{Excluded, Unbounded};
    let before = jobs.range(..job).next_back();
    let after = jobs.range((Excluded(job), Unbounded)).next();
    let mut beside = before.into_iter().chain(after);
    beside.any(|(other, _)| other.tenant == job.tenant)
}
