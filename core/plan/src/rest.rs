//! What was freed and may not be leased again yet, and whom it waits for.

use std::collections::{BTreeMap, BTreeSet};

use model::{Evidence, Generation, JobName, Memory, Name, TenantName};

use crate::ledger::first_of;
use crate::record::Lease;

/// What was freed and may not be leased again before everybody who held it was seen without it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rest {
    /// What rests.
    pub what: Resting,
    /// The generation that freed it.
    pub since: Generation,
    /// The devices that may still hold it, each with the generation it must be seen at.
    pub waits: BTreeMap<Name, Generation>,
    /// The nodes on which a job's traces were not scrubbed yet, each with the memories in question.
    pub unscrubbed: BTreeMap<Name, BTreeSet<Memory>>,
}

/// A thing that rests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Resting {
    /// A tenant's number.
    Tenant {
        /// Whose it was.
        tenant: TenantName,
        /// The number.
        number: u16,
    },
    /// A job's tag, subnet, VLANs and interfaces, all together.
    Job {
        /// Whose they were.
        job: JobName,
        /// What they are.
        lease: Lease,
    },
}

impl Rest {
    fn is_over(&self) -> bool {
        self.waits.is_empty() && self.unscrubbed.is_empty()
    }
}

/// Why scrubbing a node does not count.
pub(crate) enum Unscrubbed {
    /// Nothing of that job waits for it.
    Unasked,
    /// Somebody may still hold what was the job's, and write there again.
    TooEarly,
}

/// What is free again.
pub(crate) enum Finished {
    Tenant,
    Job { id: RestId, job: JobName, lease: Lease },
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct RestId(u64);

impl RestId {
    /// Rests are numbered from one.
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

/// Everything that rests, found by the device it waits for and by the job it was of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Rests {
    last: u64,
    rests: BTreeMap<RestId, Rest>,
    by_device: BTreeMap<Name, BTreeSet<RestId>>,
    by_job: BTreeMap<JobName, BTreeSet<RestId>>,
}

impl Rests {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rest> {
        self.rests.values()
    }

    pub(crate) fn jobs(&self) -> impl Iterator<Item = (RestId, &JobName, &Lease)> {
        self.rests.iter().filter_map(|(id, rest)| match &rest.what {
            Resting::Job { job, lease } => Some((*id, job, lease)),
            Resting::Tenant { .. } => None,
        })
    }

    pub(crate) fn get(&self, id: RestId) -> Option<&Rest> {
        self.rests.get(&id)
    }

    pub(crate) fn is_of(&self, id: RestId, job: &JobName) -> bool {
        self.by_job.get(job).is_some_and(|ids| ids.contains(&id))
    }

    pub(crate) fn of_job<'a>(&'a self, job: &JobName) -> impl Iterator<Item = (RestId, &'a Lease)> {
        let ids = self.by_job.get(job).into_iter().flatten();
        ids.filter_map(|id| match &self.rests.get(id)?.what {
            Resting::Job { lease, .. } => Some((*id, lease)),
            Resting::Tenant { .. } => None,
        })
    }

    /// What the resting jobs of a tenant wait for, the latest generation of each device.
    pub(crate) fn waits_of(&self, tenant: &TenantName) -> BTreeMap<Name, Generation> {
        let mut all: BTreeMap<Name, Generation> = BTreeMap::new();
        let ids = self
            .by_job
            .range(first_of(tenant)..)
            .take_while(|(job, _)| job.tenant == *tenant)
            .flat_map(|(_, ids)| ids);
        for rest in ids.filter_map(|id| self.rests.get(id)) {
            for (device, &generation) in &rest.waits {
                let latest = all.entry(device.clone()).or_insert(generation);
                *latest = generation.max(*latest);
            }
        }
        all
    }

    /// What rests of a tenant with this number.
    pub(crate) fn of_number(&self, of: &TenantName, wanted: u16) -> Option<RestId> {
        let is_it = |what: &Resting| match what {
            Resting::Tenant { tenant, number } => tenant == of && *number == wanted,
            Resting::Job { .. } => false,
        };
        self.rests.iter().find(|(_, rest)| is_it(&rest.what)).map(|(id, _)| *id)
    }

    pub(crate) fn lease_of(&self, id: RestId) -> Option<&Lease> {
        match &self.rests.get(&id)?.what {
            Resting::Job { lease, .. } => Some(lease),
            Resting::Tenant { .. } => None,
        }
    }

    /// Ends a rest before its time: whoever had it has it again.
    pub(crate) fn end(&mut self, id: RestId) -> Option<Rest> {
        for waiting in self.by_device.values_mut() {
            waiting.remove(&id);
        }
        self.by_device.retain(|_, waiting| !waiting.is_empty());
        self.take(id).map(|(_, rest)| rest)
    }

    /// The name of what rests next.
    pub(crate) const fn next_id(&self) -> RestId {
        RestId(self.last + 1)
    }

    pub(crate) fn begin(
        &mut self,
        what: Resting,
        since: Generation,
        waits: BTreeMap<Name, Generation>,
    ) {
        let id = self.next_id();
        self.last = id.0;
        for device in waits.keys() {
            self.by_device.entry(device.clone()).or_default().insert(id);
        }
        let mut unscrubbed = BTreeMap::new();
        if let Resting::Job { job, lease } = &what {
            self.by_job.entry(job.clone()).or_default().insert(id);
            let memories: BTreeSet<Memory> = lease.scrub.iter().copied().collect();
            let nodes = lease.seats.iter().filter(|_| !memories.is_empty());
            unscrubbed = nodes.map(|seat| (seat.node.clone(), memories.clone())).collect();
        }
        self.rests.insert(id, Rest { what, since, waits, unscrubbed });
    }

    /// Notes what was scrubbed after a job on a node, and takes out what waited for nothing else.
    pub(crate) fn scrub(
        &mut self,
        node: &Name,
        job: &JobName,
        evidence: &[Evidence],
    ) -> Result<Vec<(RestId, Rest)>, Unscrubbed> {
        let ids: Vec<RestId> = self.by_job.get(job).into_iter().flatten().copied().collect();
        let asked = |id: &&RestId| self.rests[id].unscrubbed.contains_key(node);
        let ids: Vec<RestId> = ids.iter().filter(asked).copied().collect();
        if ids.is_empty() {
            return Err(Unscrubbed::Unasked);
        }
        let fenced = |id: &&RestId| self.rests[id].waits.is_empty();
        let ids: Vec<RestId> = ids.iter().filter(fenced).copied().collect();
        if ids.is_empty() {
            return Err(Unscrubbed::TooEarly);
        }
        let mut over = Vec::new();
        for id in ids {
            let Some(rest) = self.rests.get_mut(&id) else { continue };
            if let Some(memories) = rest.unscrubbed.get_mut(node) {
                memories.retain(|memory| evidence.iter().all(|one| one.memory != *memory));
                if memories.is_empty() {
                    rest.unscrubbed.remove(node);
                }
            }
            over.extend(rest.is_over().then_some(id));
        }
        Ok(over.into_iter().filter_map(|id| self.take(id)).collect())
    }

    /// A job took all back that it had on a node: its traces there are its own.
    pub(crate) fn forgive(&mut self, id: RestId, node: &Name) -> Option<(RestId, Rest)> {
        let rest = self.rests.get_mut(&id)?;
        rest.unscrubbed.remove(node)?;
        if rest.is_over() { self.take(id) } else { None }
    }

    /// Takes out what waited for nothing but this device at this generation.
    pub(crate) fn see(&mut self, device: &Name, generation: Generation) -> Vec<(RestId, Rest)> {
        let Some(waiting) = self.by_device.get_mut(device) else {
            return Vec::new();
        };
        let rests = &mut self.rests;
        let mut idle = Vec::new();
        waiting.retain(|id| {
            let Some(rest) = rests.get_mut(id) else {
                return false;
            };
            if rest.waits.get(device).is_some_and(|&until| until > generation) {
                return true;
            }
            rest.waits.remove(device);
            if rest.is_over() {
                idle.push(*id);
            }
            false
        });
        if waiting.is_empty() {
            self.by_device.remove(device);
        }
        idle.into_iter().filter_map(|id| self.take(id)).collect()
    }

    fn take(&mut self, id: RestId) -> Option<(RestId, Rest)> {
        let rest = self.rests.remove(&id)?;
        if let Resting::Job { job, .. } = &rest.what
            && let Some(ids) = self.by_job.get_mut(job)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_job.remove(job);
            }
        }
        Some((id, rest))
    }
}
