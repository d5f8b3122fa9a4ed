//! From the ledger to the plan that the intent asks for: what goes, what stays, what comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use intent::Intent;
use model::{Consent, Fleet, Job, JobName, Tenant, Want};

use crate::layers::Managers;
use crate::ledger::Ledger;
use crate::meet::{Partners, by_both_sides};
use crate::net::{Astray, Index};
use crate::number::Bounds;
use crate::place::{Ground, Turn};
use crate::planner::Planner;
use crate::record::{Choice, Lease};
use crate::refusal::PlanRefusal;
use crate::shape::{Plan, Touched};

/// From the ledger to the plan that the intent asks for.
impl Planner {
    /// The state the ledger tells of. What it leased stays leased, whatever the fleet has now.
    pub(crate) fn load(bounds: Bounds, intent: &Intent, ledger: &Ledger) -> Self {
        let fleet = Arc::clone(&intent.fleet);
        let tenants = intent.tenants.iter();
        let mut planner = Self {
            tenants: tenants
                .map(|(name, tenant)| (name.clone(), Arc::new(tenant.clone())))
                .collect(),
            wishes: by_both_sides(&intent.consents),
            pending: intent.pending.clone(),
            bounds,
            plan: empty_plan(&fleet, ledger),
            index: Index::new(&fleet),
            managers: Managers::new(&fleet),
            ground: Ground::new(&fleet, &intent.tenants),
            fleet,
            ledger: ledger.clone(),
            blocks: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            partners: Partners::default(),
            astray: BTreeMap::new(),
            records: Vec::new(),
            sealed: true,
        };
        planner.load_rests(ledger);
        planner.load_leases(ledger);
        planner
    }

    fn load_rests(&mut self, ledger: &Ledger) {
        for (id, job, lease) in ledger.resting_jobs() {
            self.hold_rest(job, id, lease);
            let nics = self.present(lease.seats.iter());
            self.ground.take_keys_for(&nics, lease.keys);
        }
    }

    fn load_leases(&mut self, ledger: &Ledger) {
        for (tenant, &number) in ledger.tenants() {
            self.name_tenant(tenant, number);
        }
        for (job, lease) in ledger.jobs() {
            let nics = self.present(lease.seats.iter());
            self.ground.take_keys_for(&nics, lease.keys);
            match self.index.nics(&self.fleet, &lease.seats) {
                Ok(nics) => {
                    self.hold(job, lease, &nics, Turn::Living);
                    self.seat(job, &nics);
                }
                Err(astray) => {
                    let nics = self.present(lease.seats.iter());
                    self.hold(job, lease, &nics, Turn::Living);
                    self.astray.insert(job.clone(), astray);
                }
            }
        }
        for consent in ledger.consents() {
            self.note(consent);
        }
    }

    /// Releases what the intent no longer has or has changed, judges what stays, and admits
    /// what is new: first the jobs that name their interfaces, so that no placed job takes them
    /// away, then the others, both in the order of their names.
    pub(crate) fn follow(&mut self, intent: &Intent) -> Vec<PlanRefusal> {
        self.begin();
        let mut refusals = Vec::new();
        self.release_unwanted(intent);
        self.end_unwished();
        self.judge_kept(intent, &mut refusals);
        self.judge_promises(&mut refusals);
        self.judge_meetings(&mut refusals);
        self.open_between_kept(&mut refusals);
        let new = |job: &&Job| !self.ledger.jobs().contains_key(&job.name);
        let mut new: Vec<&Job> = intent.jobs.values().filter(new).collect();
        new.sort_by_key(|job| matches!(job.want, Want::Gpus(_)));
        for job in new {
            if let Err(refusal) = self.admit(job) {
                refusals.push(refusal);
            }
        }
        self.dismiss_idle();
        // What is about room alone may be an echo of what stands before it.
        refusals.sort_by_key(PlanRefusal::is_of_room);
        refusals
    }

    fn release_unwanted(&mut self, intent: &Intent) {
        let unwanted: Vec<JobName> = self
            .ledger
            .jobs()
            .iter()
            .filter(|(name, lease)| {
                let job = intent.jobs.get(name);
                job.is_none_or(|job| !self.still_asks_for(job, lease))
            })
            .map(|(name, _)| name.clone())
            .collect();
        for job in unwanted {
            self.withdraw(&job);
        }
    }

    /// Whether a job's document still asks for what the job has.
    fn still_asks_for(&self, job: &Job, lease: &Lease) -> bool {
        let in_pool = |tenant: &Arc<Tenant>| {
            let mut pools = tenant.pools.iter();
            pools.any(|pool| pool.trunc().contains(&lease.subnet))
        };
        self.tenants.get(&job.name.tenant).is_some_and(in_pool)
            && self.astray.get(&job.name) != Some(&Astray::Moved)
            && self.in_pinned_pod(job, lease)
            && self.same_seats(job, lease)
    }

    fn in_pinned_pod(&self, job: &Job, lease: &Lease) -> bool {
        let Some(pinned) = &job.pod else {
            return true;
        };
        let mut nics = lease.seats.iter().filter_map(|seat| self.index.nic(&self.fleet, seat));
        nics.all(|nic| {
            let pod = self.fleet.nodes[nic.node.index()].pod;
            self.fleet.pods[pod.index()].name == *pinned
        })
    }

    fn same_seats(&self, job: &Job, lease: &Lease) -> bool {
        match &job.want {
            Want::Endpoints(nics) => {
                let wanted: BTreeSet<(&str, u16)> = nics
                    .iter()
                    .map(|nic| (self.fleet.nodes[nic.node.index()].name.as_str(), nic.nic))
                    .collect();
                let mut seats = lease.seats.iter();
                wanted.len() == lease.seats.len()
                    && seats.all(|seat| wanted.contains(&(seat.node.as_str(), seat.nic)))
            }
            // An interface comes with all GPUs behind it, so a job may hold a few more than it
            // asked for, but never so many that one interface less would do.
            &Want::Gpus(asked) => {
                let seats = lease.seats.iter();
                let largest = seats
                    .filter_map(|seat| self.index.nic(&self.fleet, seat))
                    .map(|nic| self.ground.gpus_behind(nic))
                    .max()
                    .unwrap_or(1);
                asked <= lease.gpus && lease.gpus < asked + largest
            }
            // No lease is of slices yet.
            Want::Slices { .. } => false,
        }
    }

    /// Ends consents that one side took back.
    fn end_unwished(&mut self) {
        let wished = |consent: &Consent| {
            let wishes = self.wishes.get(&consent.client);
            wishes.is_some_and(|wishes| wishes.binary_search(consent).is_ok())
        };
        let consents = self.ledger.consents().iter();
        let ended: Vec<Consent> = consents.filter(|one| !wished(one)).cloned().collect();
        for consent in ended {
            self.part(&consent, &mut Touched::default());
        }
    }

    /// What stays is judged by the same rules as what comes, except that work may go on where
    /// no new work may be put.
    fn judge_kept(&mut self, intent: &Intent, refusals: &mut Vec<PlanRefusal>) {
        for (name, tenant) in &self.tenants {
            let held = self.ledger.gpus_of(name);
            if let Some(quota) = tenant.quota_gpus
                && held > quota
            {
                let tenant = name.clone();
                refusals.push(PlanRefusal::QuotaBelowUse { tenant, quota, held });
            }
        }
        let kept: Vec<JobName> = self.ledger.jobs().keys().cloned().collect();
        for name in kept {
            let Some(job) = intent.jobs.get(&name) else {
                unreachable!("what the intent does not have was released");
            };
            if let Err(refusal) = self.judge(job) {
                refusals.push(refusal);
            }
            self.classify(job);
        }
    }

    fn judge(&mut self, job: &Job) -> Result<(), PlanRefusal> {
        if let Some(Astray::Vanished(seat)) = self.astray.get(&job.name) {
            return Err(PlanRefusal::NodeVanished {
                job: job.name.clone(),
                node: seat.node.clone(),
                nic: seat.nic,
            });
        }
        let Some(tenant) = self.tenants.get(&job.name.tenant).map(Arc::clone) else {
            let job = job.name.clone();
            return Err(PlanRefusal::TenantUnknown { job });
        };
        let key = self.ground.tenant_like(&tenant);
        let seeker = self.seeker(job, &tenant, key);
        let groups = self.plan.jobs.get(&job.name).into_iter();
        let seats = groups.flat_map(|net| &net.groups).flat_map(|group| &group.seats);
        let nodes: BTreeSet<_> = seats.map(|seat| seat.nic.node).collect();
        nodes.into_iter().try_for_each(|node| seeker.judge(node))
    }

    /// A job is treated as its document says now; all else that it holds stays.
    fn classify(&mut self, job: &Job) {
        let Job { class, ceiling, .. } = *job;
        let capacity = job.terms.capacity;
        let Some(lease) = self.ledger.jobs().get(&job.name) else {
            return;
        };
        if lease.capacity != capacity {
            self.ground.reclass(&job.name, capacity);
        }
        if (lease.class, lease.ceiling, lease.capacity) != (class, ceiling, capacity) {
            self.enter(Choice::JobClassed { job: job.name.clone(), class, ceiling, capacity });
            if let Some(net) = self.plan.jobs.get_mut(&job.name) {
                net.class = class;
                net.ceiling = ceiling;
            }
        }
    }

    /// Pools may have grown into each other since the consents were opened.
    fn judge_meetings(&mut self, refusals: &mut Vec<PlanRefusal>) {
        let partners = std::mem::take(&mut self.partners);
        let kept: Vec<Consent> = self.ledger.consents().iter().cloned().collect();
        refusals.extend(self.may_join(&kept).err());
        self.partners = partners;
    }

    fn open_between_kept(&mut self, refusals: &mut Vec<PlanRefusal>) {
        let wishes = self.wishes.iter();
        let by_client = wishes
            .flat_map(|(job, wishes)| wishes.iter().filter(move |consent| consent.client == *job));
        let opening: Vec<Consent> = by_client
            .filter(|one| self.plan.jobs.contains_key(&one.client))
            .filter(|one| self.plan.jobs.contains_key(&one.provider))
            .filter(|one| !self.ledger.consents().contains(one))
            .cloned()
            .collect();
        for consent in opening {
            match self.may_join(std::slice::from_ref(&consent)) {
                Ok(()) => self.join(consent, &mut Touched::default()),
                Err(refusal) => refusals.push(refusal),
            }
        }
    }

    fn dismiss_idle(&mut self) {
        let tenants = self.ledger.tenants().keys();
        let idle: Vec<_> = tenants
            .filter(|tenant| self.ledger.jobs_of(tenant).next().is_none())
            .cloned()
            .collect();
        for tenant in idle {
            self.dismiss(&tenant);
        }
    }
}

fn empty_plan(fleet: &Arc<Fleet>, ledger: &Ledger) -> Plan {
    Plan {
        generation: ledger.generation(),
        fleet: Arc::clone(fleet),
        tenants: BTreeMap::new(),
        jobs: BTreeMap::new(),
        consents: BTreeMap::new(),
        devices: BTreeMap::new(),
        nodes: BTreeMap::new(),
        pasts: BTreeMap::new(),
    }
}
