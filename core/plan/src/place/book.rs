//! The books of the ground: the life of each gang, from reserved to gone, entry by entry.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use model::{Capacity, Generation, Health, JobName, Name, NodeId};

use super::ground::{Ground, Stance};
use super::people::{TenantKey, class_index};
use super::spot::{Spot, SpotPart, Stretch};

/// A change of the books. Their sum is the ground.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Entry {
    /// A gang got its place; nothing runs there yet.
    Reserved {
        /// Whose it is.
        job: JobName,
        /// The generation that gave it.
        generation: Generation,
        /// Which part of the quota it uses.
        capacity: Capacity,
        /// The place.
        spot: Spot,
    },
    /// Every layer confirmed the gang.
    Activated {
        /// Whose it is.
        job: JobName,
        /// The generation that gave it.
        generation: Generation,
    },
    /// The gang ends; those that hold it are being told.
    Draining {
        /// Whose it was.
        job: JobName,
        /// The generation that gave it.
        generation: Generation,
    },
    /// Nobody holds the gang any more; what it used is being scrubbed.
    Fenced {
        /// Whose it was.
        job: JobName,
        /// The generation that gave it.
        generation: Generation,
    },
    /// There is evidence that it was scrubbed: all it had is free.
    Freed {
        /// Whose it was.
        job: JobName,
        /// The generation that gave it.
        generation: Generation,
    },
    /// A node vanished from the inventory. What was held on it is in quarantine from now on.
    NodeLost {
        /// The node.
        node: NodeId,
    },
    /// A node is back. What is in quarantine stays there.
    NodeFound {
        /// The node.
        node: NodeId,
    },
    /// Whether work may be put on a node.
    NodeHealth {
        /// The node.
        node: NodeId,
        /// Its health now.
        health: Health,
    },
    /// GPUs that nobody may get, held or not.
    Quarantined {
        /// The node.
        node: NodeId,
        /// Its GPUs.
        gpus: u64,
    },
    /// GPUs that left quarantine.
    Returned {
        /// The node.
        node: NodeId,
        /// Its GPUs.
        gpus: u64,
    },
}

/// What an entry did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Entered {
    /// What it says.
    Done,
    /// Nothing: it was so already.
    Already,
    /// Nothing: it speaks of a generation that is not held.
    Stale,
}

/// Why an entry cannot be true. The ground is as it was.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Wrong {
    #[error("tenant {} of job {job} is unknown", job.tenant)]
    TenantUnknown { job: JobName },
    #[error("job {job} holds a place already, of generation {held}")]
    JobHolds { job: JobName, held: Generation },
    #[error("job {job} would hold nothing")]
    Nothing { job: JobName },
    #[error("job {job} would get what is not free on node {}", node.0)]
    Taken { job: JobName, node: NodeId },
    #[error("job {job} would get a partition key or a memory channel that is held")]
    KeyTaken { job: JobName },
    #[error("job {job} would share what its grade or another's forbids on node {}", node.0)]
    BelowGrade { job: JobName, node: NodeId },
    #[error("job {job} would meet a tenant it must stay apart from on node {}", node.0)]
    NotApart { job: JobName, node: NodeId },
    #[error("job {job} would get GPUs of node {} that are no partition of its board", node.0)]
    NoPartition { job: JobName, node: NodeId },
    #[error("job {job} would bring a tenant above its quota")]
    OverQuota { job: JobName },
    #[error("job {job} is {state}, so it cannot become {wanted}")]
    OutOfOrder { job: JobName, state: GangState, wanted: GangState },
}

/// How far a gang is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum GangState {
    /// Its place is its own; nothing runs there yet.
    Reserved,
    /// It may run.
    Active,
    /// It ends; not everybody knows.
    Draining,
    /// Everybody knows; what it used is being scrubbed.
    Sanitising,
    /// It is gone.
    Free,
}

impl std::fmt::Display for GangState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Reserved => "reserved",
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Sanitising => "sanitising",
            Self::Free => "free",
        })
    }
}

/// One job's holding of one generation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gang {
    /// Whose it is.
    pub job: JobName,
    /// The generation that gave it.
    pub generation: Generation,
    pub(crate) tenant: TenantKey,
    /// Which part of the quota it uses.
    pub capacity: Capacity,
    /// How far it is.
    pub state: GangState,
    /// How many GPUs it counts for.
    pub gpus: u32,
    /// What it holds.
    pub spot: Spot,
}

impl Gang {
    /// Whether its GPUs count against the quota.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state <= GangState::Active
    }
}

/// A gang of this ground.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct GangId(NonZeroU32);

impl GangId {
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// All gangs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gangs {
    list: Vec<Option<Gang>>,
    unused: Vec<GangId>,
    /// By tenant, because few gangs are compared faster than all: a small tree is found whole in
    /// the caches where a large one costs a miss at every level.
    by_job: Vec<BTreeMap<(Name, Generation), GangId>>,
    /// GPUs of live gangs by class.
    held: [u64; 3],
}

impl Gangs {
    pub(crate) fn at(&self, id: GangId) -> Option<&Gang> {
        self.list.get(id.index())?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Gang> {
        self.ids().filter_map(|id| self.at(id))
    }

    pub(crate) fn iter_ids(&self) -> impl Iterator<Item = (GangId, &Gang)> {
        self.ids().filter_map(|id| Some((id, self.at(id)?)))
    }

    /// The gang of a job that is reserved or active.
    pub(crate) fn live_id(&self, tenant: TenantKey, job: &JobName) -> Option<GangId> {
        self.ids_of(tenant, job).find(|&id| self.at(id).is_some_and(Gang::is_live))
    }

    pub(crate) fn at_generation(
        &self,
        tenant: TenantKey,
        job: &JobName,
        generation: Generation,
    ) -> Option<GangId> {
        self.by_job.get(tenant.index())?.get(&(job.name.clone(), generation)).copied()
    }

    pub(crate) fn held_by(&self, class: Capacity) -> u64 {
        self.held[class_index(class)]
    }

    /// In the order of tenants, names and generations.
    fn ids(&self) -> impl Iterator<Item = GangId> {
        self.by_job.iter().flat_map(|of_tenant| of_tenant.values().copied())
    }

    fn ids_of(&self, tenant: TenantKey, job: &JobName) -> impl Iterator<Item = GangId> {
        let of_job = |generation| (job.name.clone(), Generation(generation));
        let of_tenant = self.by_job.get(tenant.index()).into_iter();
        of_tenant.flat_map(move |jobs| jobs.range(of_job(0)..=of_job(u64::MAX))).map(|(_, &id)| id)
    }

    fn last_of(&self, tenant: TenantKey, job: &JobName) -> Option<&Gang> {
        let latest = (job.name.clone(), Generation(u64::MAX));
        let jobs = self.by_job.get(tenant.index())?;
        let ((name, _), &id) = jobs.range(..=latest).next_back()?;
        if *name == job.name { self.at(id) } else { None }
    }

    fn add(&mut self, gang: Gang) -> GangId {
        let fresh = || GangId(NonZeroU32::MIN.saturating_add(self.list.len() as u32));
        let id = self.unused.pop().unwrap_or_else(fresh);
        if gang.is_live() {
            self.held[class_index(gang.capacity)] += u64::from(gang.gpus);
        }
        let tenant = gang.tenant.index();
        if self.by_job.len() <= tenant {
            self.by_job.resize_with(tenant + 1, BTreeMap::new);
        }
        self.by_job[tenant].insert((gang.job.name.clone(), gang.generation), id);
        match self.list.get_mut(id.index()) {
            Some(place) => *place = Some(gang),
            None => self.list.push(Some(gang)),
        }
        id
    }

    /// Takes out what a gang holds, so that it can be read while the ground changes.
    fn take_spot(&mut self, id: GangId) -> Spot {
        let gang = self.list.get_mut(id.index()).and_then(Option::as_mut);
        gang.map(|gang| std::mem::take(&mut gang.spot)).unwrap_or_default()
    }

    fn put_spot(&mut self, id: GangId, spot: Spot) {
        if let Some(gang) = self.list.get_mut(id.index()).and_then(Option::as_mut) {
            gang.spot = spot;
        }
    }

    fn set_state(&mut self, id: GangId, state: GangState) {
        if let Some(gang) = self.list.get_mut(id.index()).and_then(Option::as_mut) {
            let (was_live, gpus) = (gang.is_live(), u64::from(gang.gpus));
            gang.state = state;
            if was_live && !gang.is_live() {
                self.held[class_index(gang.capacity)] -= gpus;
            }
        }
    }

    fn remove(&mut self, id: GangId) -> Option<Gang> {
        let gang = self.list.get_mut(id.index())?.take()?;
        if gang.is_live() {
            self.held[class_index(gang.capacity)] -= u64::from(gang.gpus);
        }
        if let Some(jobs) = self.by_job.get_mut(gang.tenant.index()) {
            jobs.remove(&(gang.job.name.clone(), gang.generation));
        }
        self.unused.push(id);
        Some(gang)
    }
}

impl Ground {
    /// The sum of these entries on a fleet that nobody was on.
    ///
    /// # Errors
    /// If an entry cannot be true after those before it.
    pub fn replay<'a>(
        mut self,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<Self, Wrong> {
        for entry in entries {
            self.enter(entry)?;
        }
        Ok(self)
    }

    /// Adds one entry.
    ///
    /// # Errors
    /// If it cannot be true; then nothing has changed.
    pub fn enter(&mut self, entry: &Entry) -> Result<Entered, Wrong> {
        match entry {
            Entry::Reserved { job, generation, capacity, spot } => {
                self.reserve(job, *generation, *capacity, spot)
            }
            Entry::Activated { job, generation } => self.step(job, *generation, GangState::Active),
            Entry::Draining { job, generation } => self.step(job, *generation, GangState::Draining),
            Entry::Fenced { job, generation } => self.step(job, *generation, GangState::Sanitising),
            Entry::Freed { job, generation } => self.step(job, *generation, GangState::Free),
            &Entry::NodeLost { node } => Ok(self.lose(node)),
            &Entry::NodeFound { node } => Ok(self.regain(node)),
            &Entry::NodeHealth { node, health } => Ok(self.set_health(node, health)),
            &Entry::Quarantined { node, gpus } => Ok(self.quarantine(node, gpus, true)),
            &Entry::Returned { node, gpus } => Ok(self.quarantine(node, gpus, false)),
        }
    }

    /// All gangs, in the order of their names and generations.
    pub fn gangs(&self) -> impl Iterator<Item = &Gang> {
        self.gangs.iter()
    }

    /// The gang of a job that is reserved or active.
    #[must_use]
    pub fn live(&self, job: &JobName) -> Option<&Gang> {
        self.gangs.at(self.gangs.live_id(self.people.key(&job.tenant)?, job)?)
    }

    fn reserve(
        &mut self,
        job: &JobName,
        generation: Generation,
        capacity: Capacity,
        spot: &Spot,
    ) -> Result<Entered, Wrong> {
        let Some(tenant) = self.people.key(&job.tenant) else {
            return Err(Wrong::TenantUnknown { job: job.clone() });
        };
        let last = self.gangs.last_of(tenant, job);
        if let Some(held) = last.filter(|held| held.is_live() || held.generation >= generation) {
            if held.generation == generation && held.spot == *spot {
                return Ok(Entered::Already);
            }
            return Err(Wrong::JobHolds { job: job.clone(), held: held.generation });
        }
        if spot.is_empty() {
            return Err(Wrong::Nothing { job: job.clone() });
        }
        self.may_hold(job, tenant, spot)?;
        let gpus = self.count(spot);
        if self.over_quota(tenant, capacity, gpus).is_some() {
            return Err(Wrong::OverQuota { job: job.clone() });
        }
        self.hold(Gang {
            job: job.clone(),
            generation,
            tenant,
            capacity,
            state: GangState::Reserved,
            gpus,
            spot: spot.clone(),
        });
        Ok(Entered::Done)
    }

    /// Puts a gang where it says, whoever is there.
    pub(crate) fn hold(&mut self, gang: Gang) -> GangId {
        let tenant = gang.tenant;
        if gang.is_live() {
            self.people.count(tenant, gang.capacity, gang.gpus, true);
        }
        let id = self.gangs.add(gang);
        let spot = self.gangs.take_spot(id);
        self.take_keys(&spot);
        for stretch in &spot.stretches {
            self.take_nodes(id, tenant, stretch.block, stretch.nodes());
        }
        for part in &spot.parts {
            self.take_part(id, tenant, part.node, part.gpus);
        }
        for slice in &spot.slices {
            self.take_slice(id, tenant, slice);
        }
        self.gangs.put_spot(id, spot);
        id
    }

    /// Takes a gang away, however far it was.
    pub(crate) fn drop_gang(&mut self, id: GangId) -> Option<Gang> {
        // Lists are kept by who is where, so the gang goes last.
        let tenant = self.gangs.at(id)?.tenant;
        let spot = self.gangs.take_spot(id);
        self.give_keys(&spot);
        for stretch in &spot.stretches {
            self.give_nodes(tenant, stretch.block, stretch.nodes());
        }
        for part in &spot.parts {
            self.give_part(id, tenant, part.node);
        }
        for slice in &spot.slices {
            self.give_slice(id, tenant, slice);
        }
        let gang = self.gangs.remove(id)?;
        if gang.is_live() {
            self.people.count(tenant, gang.capacity, gang.gpus, false);
        }
        Some(Gang { spot, ..gang })
    }

    fn step(
        &mut self,
        job: &JobName,
        generation: Generation,
        wanted: GangState,
    ) -> Result<Entered, Wrong> {
        let held = self.people.key(&job.tenant).and_then(|tenant| {
            let id = self.gangs.at_generation(tenant, job, generation)?;
            Some((id, self.gangs.at(id)?))
        });
        let Some((id, gang)) = held else {
            return Ok(Entered::Stale);
        };
        let (state, tenant) = (gang.state, gang.tenant);
        let (capacity, gpus) = (gang.capacity, gang.gpus);
        match (state, wanted) {
            _ if state == wanted => return Ok(Entered::Already),
            (GangState::Sanitising, GangState::Free) => drop(self.drop_gang(id)),
            (GangState::Reserved | GangState::Active, GangState::Draining) => {
                self.gangs.set_state(id, wanted);
                self.people.count(tenant, capacity, gpus, false);
            }
            (GangState::Reserved, GangState::Active)
            | (GangState::Draining, GangState::Sanitising) => {
                self.gangs.set_state(id, wanted);
            }
            _ => return Err(Wrong::OutOfOrder { job: job.clone(), state, wanted }),
        }
        Ok(Entered::Done)
    }

    /// Whether a gang may hold all of this: it is free, nobody's grade is hurt, and it is what
    /// a board can separate.
    pub(crate) fn may_hold(
        &self,
        job: &JobName,
        tenant: TenantKey,
        spot: &Spot,
    ) -> Result<(), Wrong> {
        let job = || job.clone();
        if !self.are_keys_free(spot) {
            return Err(Wrong::KeyTaken { job: job() });
        }
        for stretch in &spot.stretches {
            self.may_hold_nodes(stretch, tenant, job)?;
        }
        for (place, part) in spot.parts.iter().enumerate() {
            self.may_hold_part(part, tenant, job)?;
            let twice = spot.parts[..place].iter().any(|before| before.node == part.node);
            if twice {
                return Err(Wrong::Taken { job: job(), node: part.node });
            }
        }
        self.may_hold_slices(&spot.slices, tenant, job)
    }

    fn may_hold_nodes(
        &self,
        stretch: &Stretch,
        tenant: TenantKey,
        job: impl Fn() -> JobName,
    ) -> Result<(), Wrong> {
        let block = &self.map.blocks[stretch.block as usize];
        let taken = stretch.nodes() & !self.blocks[stretch.block as usize];
        if taken != 0 {
            let node = block.nodes[taken.trailing_zeros() as usize % block.nodes.len()];
            return Err(Wrong::Taken { job: job(), node });
        }
        self.may_enter(block.nodes[0], tenant, job)
    }

    fn may_hold_part(
        &self,
        part: &SpotPart,
        tenant: TenantKey,
        job: impl Fn() -> JobName,
    ) -> Result<(), Wrong> {
        let node = part.node;
        let at = &self.nodes[node.index()];
        if !at.is_usable() || part.gpus & !self.free(node) != 0 {
            return Err(Wrong::Taken { job: job(), node });
        }
        if !self.map.shape_of(node).is_set(part.gpus) {
            return Err(Wrong::NoPartition { job: job(), node });
        }
        if !self.may_join_node(node, tenant) {
            return Err(Wrong::BelowGrade { job: job(), node });
        }
        if !self.is_apart_on(node, tenant) {
            return Err(Wrong::NotApart { job: job(), node });
        }
        self.may_enter(node, tenant, job)
    }

    /// Whether a tenant may come below the leaf of a node, into its pod and its site.
    pub(crate) fn may_enter(
        &self,
        node: NodeId,
        tenant: TenantKey,
        job: impl Fn() -> JobName,
    ) -> Result<(), Wrong> {
        let on = &self.map.nodes[node.index()];
        if !self.may_join_switch(on.switch, tenant) {
            return Err(Wrong::BelowGrade { job: job(), node });
        }
        let pod = self.map.pools[on.pool as usize].pod;
        if !self.is_apart_at(on.switch, tenant) || !self.is_apart_in(pod, tenant) {
            return Err(Wrong::NotApart { job: job(), node });
        }
        Ok(())
    }

    /// Whether a tenant may be on a node, as far as those on it go.
    pub(crate) fn may_join_node(&self, node: NodeId, tenant: TenantKey) -> bool {
        match self.stance_of_node(node) {
            Stance::Empty => true,
            Stance::Own(key) => key == tenant,
            Stance::Mixed => false,
            Stance::Open => {
                self.people.at(tenant).shares_host()
                    || self.gangs_on(node).all(|gang| gang.tenant == tenant)
            }
        }
    }

    /// Whether a tenant may be below a leaf switch, as far as those below it go.
    pub(crate) fn may_join_switch(&self, switch: model::SwitchId, tenant: TenantKey) -> bool {
        match self.stance_of_switch(switch) {
            Stance::Empty => true,
            Stance::Own(key) => key == tenant,
            Stance::Mixed => false,
            Stance::Open => {
                let here = &self.switches[switch.index()].tenants;
                !self.people.at(tenant).keys_leaf() || here.iter().all(|&(key, _)| key == tenant)
            }
        }
    }

    fn lose(&mut self, node: NodeId) -> Entered {
        if self.nodes[node.index()].is_lost {
            return Entered::Already;
        }
        let held = self.held(node);
        self.change(node, |ground| {
            let at = &mut ground.nodes[node.index()];
            at.is_lost = true;
            at.quarantined |= held;
        });
        Entered::Done
    }

    fn regain(&mut self, node: NodeId) -> Entered {
        if !self.nodes[node.index()].is_lost {
            return Entered::Already;
        }
        self.change(node, |ground| ground.nodes[node.index()].is_lost = false);
        Entered::Done
    }

    fn set_health(&mut self, node: NodeId, health: Health) -> Entered {
        if self.nodes[node.index()].health == health {
            return Entered::Already;
        }
        self.change(node, |ground| ground.nodes[node.index()].health = health);
        Entered::Done
    }

    fn quarantine(&mut self, node: NodeId, gpus: u64, comes: bool) -> Entered {
        let all = self.map.shape_of(node).all();
        let at = &self.nodes[node.index()];
        let after = if comes { at.quarantined | gpus & all } else { at.quarantined & !gpus };
        if at.quarantined == after {
            return Entered::Already;
        }
        self.change(node, |ground| ground.nodes[node.index()].quarantined = after);
        Entered::Done
    }
}
