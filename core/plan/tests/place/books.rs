//! Who holds what, kept the slow way: as a list, from which everything is worked out anew for
//! every question. It shares nothing with the indexes it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{
    ApartLevel, Capacity, Generation, Grade, Health, JobName, Name, NodeId, NodeModel, Tenant,
    TenantName, mig_profiles,
};
use plan::place::{Entered, Entry, GangState, Ground, SliceAt, Spot};

use crate::world::World;

/// All gangs, and what is known of the nodes.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    pub(crate) world: World,
    pub(crate) gangs: BTreeMap<(JobName, Generation), Held>,
    pub(crate) nodes: Vec<Known>,
    /// All sets of GPUs that can be one job's, for each kind of node.
    sets: Rc<Vec<Vec<u64>>>,
}

/// What one gang holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Held {
    pub(crate) capacity: Capacity,
    pub(crate) state: GangState,
    pub(crate) spot: Spot,
    /// The whole GPUs of the spot.
    pub(crate) gpus: Vec<(NodeId, u64)>,
}

/// What is known of a node, whoever is on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Known {
    pub(crate) is_lost: bool,
    pub(crate) health: Health,
    pub(crate) quarantined: u64,
}

/// A rule that does not hold, in words.
pub(crate) type Broken = String;

impl Held {
    pub(crate) fn new(ground: &Ground, capacity: Capacity, spot: &Spot) -> Self {
        let gpus = ground.gpus(spot).collect();
        Self { capacity, state: GangState::Reserved, spot: spot.clone(), gpus }
    }

    pub(crate) fn slices(&self) -> &[SliceAt] {
        &self.spot.slices
    }

    pub(crate) fn nodes(&self) -> BTreeSet<NodeId> {
        let whole = self.gpus.iter().map(|&(node, _)| node);
        whole.chain(self.slices().iter().map(|slice| slice.node)).collect()
    }

    /// The GPUs of a node it has any part of.
    pub(crate) fn on(&self, node: NodeId) -> u64 {
        let whole = self.gpus.iter().filter(|(one, _)| *one == node).map(|&(_, gpus)| gpus);
        let cut = self.slices().iter().filter(|slice| slice.node == node);
        whole.chain(cut.map(|slice| 1 << slice.gpu)).fold(0, |all, gpus| all | gpus)
    }

    /// What it counts for: a GPU it has slices of counts once.
    pub(crate) fn count(&self) -> u32 {
        self.nodes().into_iter().map(|node| self.on(node).count_ones()).sum()
    }

    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, GangState::Reserved | GangState::Active)
    }
}

impl Books {
    pub(crate) fn new(world: World) -> Self {
        let known = |health| Known { is_lost: false, health, quarantined: 0 };
        let nodes = world.fleet.nodes.iter().map(|node| known(node.health)).collect();
        let sets = Rc::new(world.fleet.node_models.iter().map(sets).collect());
        Self { world, gangs: BTreeMap::new(), nodes, sets }
    }

    /// Writes down what happens to nodes, and how far a gang is. A new gang is added by hand.
    /// Says what the entry does, or nothing if it cannot be.
    pub(crate) fn write(&mut self, entry: &Entry) -> Option<Entered> {
        match entry {
            Entry::Reserved { .. } => None,
            Entry::Activated { job, generation } => self.step(job, *generation, GangState::Active),
            Entry::Draining { job, generation } => self.step(job, *generation, GangState::Draining),
            Entry::Fenced { job, generation } => self.step(job, *generation, GangState::Sanitising),
            Entry::Freed { job, generation } => self.step(job, *generation, GangState::Free),
            &Entry::NodeLost { node } => {
                let held = self.held(node);
                self.know(node, |known| {
                    known.quarantined |= if known.is_lost { 0 } else { held };
                    known.is_lost = true;
                })
            }
            &Entry::NodeFound { node } => self.know(node, |known| known.is_lost = false),
            &Entry::NodeHealth { node, health } => self.know(node, |known| known.health = health),
            &Entry::Quarantined { node, gpus } => {
                let all = all(self.model(node));
                self.know(node, |known| known.quarantined |= gpus & all)
            }
            &Entry::Returned { node, gpus } => self.know(node, |known| known.quarantined &= !gpus),
        }
    }

    fn know(&mut self, node: NodeId, change: impl FnOnce(&mut Known)) -> Option<Entered> {
        let known = &mut self.nodes[node.index()];
        let before = *known;
        change(known);
        Some(if *known == before { Entered::Already } else { Entered::Done })
    }

    fn step(&mut self, job: &JobName, generation: Generation, to: GangState) -> Option<Entered> {
        let key = (job.clone(), generation);
        let Some(held) = self.gangs.get_mut(&key) else {
            return Some(Entered::Stale);
        };
        if held.state == to {
            return Some(Entered::Already);
        }
        let order = [
            GangState::Reserved,
            GangState::Active,
            GangState::Draining,
            GangState::Sanitising,
            GangState::Free,
        ];
        let place = |state| order.iter().position(|one| *one == state);
        let skips_active = (held.state, to) == (GangState::Reserved, GangState::Draining);
        if place(to) != place(held.state).map(|at| at + 1) && !skips_active {
            return None;
        }
        held.state = to;
        if to == GangState::Free {
            self.gangs.remove(&key);
        }
        Some(Entered::Done)
    }

    pub(crate) fn model(&self, node: NodeId) -> &NodeModel {
        let fleet = &self.world.fleet;
        &fleet.node_models[fleet.nodes[node.index()].model.index()]
    }

    /// All sets of a node's GPUs that can be one job's.
    pub(crate) fn sets(&self, node: NodeId) -> &[u64] {
        &self.sets[self.world.fleet.nodes[node.index()].model.index()]
    }

    pub(crate) fn tenant(&self, name: &TenantName) -> &Tenant {
        &self.world.tenants[name]
    }

    pub(crate) fn grade(&self, name: &TenantName) -> Grade {
        self.tenant(name).grade
    }

    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The GPUs of a node that somebody has any part of.
    pub(crate) fn held(&self, node: NodeId) -> u64 {
        self.gangs.values().fold(0, |all, held| all | held.on(node))
    }

    pub(crate) fn is_usable(&self, node: NodeId) -> bool {
        let known = &self.nodes[node.index()];
        known.health == Health::Good && !known.is_lost
    }

    pub(crate) fn free(&self, node: NodeId) -> u64 {
        all(self.model(node)) & !self.held(node) & !self.nodes[node.index()].quarantined
    }

    /// The tenants of the gangs on those nodes that a place is made of.
    pub(crate) fn tenants_at(&self, is_there: impl Fn(NodeId) -> bool) -> BTreeSet<&TenantName> {
        let there = self.gangs.iter().filter(|(_, held)| held.nodes().into_iter().any(&is_there));
        there.map(|((job, _), _)| &job.tenant).collect()
    }

    /// Whether two nodes share a place of this level.
    pub(crate) fn share(&self, level: ApartLevel, one: NodeId, other: NodeId) -> bool {
        let fleet = &self.world.fleet;
        let [a, b] = [one, other].map(|node| &fleet.nodes[node.index()]);
        match level {
            ApartLevel::Node => one == other,
            ApartLevel::Leaf => a.uplinks[0].leaf == b.uplinks[0].leaf,
            ApartLevel::Pod => a.pod == b.pod,
            ApartLevel::Site => fleet.pods[a.pod.index()].site == fleet.pods[b.pod.index()].site,
        }
    }

    /// How far two tenants keep from each other, whoever of them said so.
    pub(crate) fn apart(&self, one: &TenantName, other: &TenantName) -> Option<ApartLevel> {
        let said = |a: &TenantName, b: &TenantName| {
            let words = self.tenant(a).apart.iter();
            let about_b = words.filter(|apart| b.lineage().any(|above| above == apart.from));
            about_b.map(|apart| apart.level).max()
        };
        if one == other { None } else { said(one, other).max(said(other, one)) }
    }

    /// GPUs of live gangs of a tenant and all below it.
    pub(crate) fn used(&self, tenant: &TenantName, class: Option<Capacity>) -> u32 {
        let own = self.gangs.iter().filter(|((job, _), held)| {
            held.is_live()
                && class.is_none_or(|class| class == held.capacity)
                && job.tenant.lineage().any(|above| above == *tenant)
        });
        own.map(|(_, held)| held.count()).sum()
    }
}

/// Every rule that holds at any time.
impl Books {
    pub(crate) fn audit(&self, ground: &Ground) -> Result<(), Broken> {
        for node in self.all_nodes() {
            self.one_owner(node)?;
            self.one_owner_of_interfaces(node)?;
            self.slots_are_apart(node, ground)?;
            self.keys_hold_on(node)?;
        }
        self.keys_hold_on_leaves()?;
        self.all_are_apart()?;
        self.fabric_keys_are_apart()?;
        self.quotas_hold()
    }

    fn gangs_on(&self, node: NodeId) -> impl Iterator<Item = (&JobName, &Held)> {
        let all = self.gangs.iter().map(|((job, _), held)| (job, held));
        all.filter(move |(_, held)| held.on(node) != 0)
    }

    fn one_owner(&self, node: NodeId) -> Result<(), Broken> {
        let mut whole = 0;
        for (job, held) in self.gangs_on(node) {
            for &(_, gpus) in held.gpus.iter().filter(|(one, _)| *one == node) {
                ensure(gpus & whole == 0, || format!("{job} shares a GPU of {node:?}"))?;
                let exact = self.sets(node).contains(&gpus);
                ensure(exact, || format!("{job} has {gpus:b} of {node:?}: no partition"))?;
                whole |= gpus;
            }
        }
        let cut = self.gangs_on(node).flat_map(|(_, held)| held.slices());
        let cut = cut.filter(|slice| slice.node == node).fold(0, |cut, slice| cut | 1 << slice.gpu);
        ensure(cut & whole == 0, || format!("a GPU of {node:?} is whole and cut"))
    }

    /// An interface and an IOMMU group go with their GPUs.
    fn one_owner_of_interfaces(&self, node: NodeId) -> Result<(), Broken> {
        let model = self.model(node);
        for one in 0..model.gpus {
            for other in (0..one).filter(|&other| are_tied(model, one, other)) {
                let owners = |gpu: u16| {
                    let owners =
                        self.gangs_on(node).filter(move |(_, held)| held.on(node) & 1 << gpu != 0);
                    owners.map(|(job, _)| job).collect::<BTreeSet<_>>()
                };
                let same = owners(one) == owners(other);
                ensure(same, || format!("GPUs {one} and {other} of {node:?} are parted"))?;
            }
        }
        Ok(())
    }

    fn slots_are_apart(&self, node: NodeId, ground: &Ground) -> Result<(), Broken> {
        let profiles = mig_profiles(&self.model(node).gpu.product);
        let (mut slots, mut media, mut functions) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (job, held) in self.gangs_on(node) {
            for slice in held.slices().iter().filter(|slice| slice.node == node) {
                let profile = &profiles[usize::from(slice.profile)];
                let starts = profile.starts.contains(&slice.start);
                ensure(starts, || format!("{job}: no {} at {}", profile.name, slice.start))?;
                for slot in slice.start..slice.start + profile.memory_slices {
                    let is_new = slots.insert((slice.gpu, slot));
                    ensure(is_new, || format!("{job} shares slot {slot} of {node:?}"))?;
                }
                let alone = !profile.media_engines || media.insert(slice.gpu);
                ensure(alone, || format!("{job} shares media engines of {node:?}"))?;
                let function = ground.vf(slice);
                let exists = function
                    .is_some_and(|(nic, vf)| self.model(node).nics[usize::from(nic)].vfs > vf);
                let is_new = functions.insert(function);
                ensure(exists && is_new, || {
                    format!("{job} has no function of its own: {function:?}")
                })?;
            }
        }
        Ok(())
    }

    fn keys_hold_on(&self, node: NodeId) -> Result<(), Broken> {
        let on = |gpus: u64| -> BTreeSet<&TenantName> {
            let there = self.gangs_on(node).filter(|(_, held)| held.on(node) & gpus != 0);
            there.map(|(job, _)| &job.tenant).collect()
        };
        self.alone(&on(u64::MAX), Grade::Node, || format!("{node:?}"))?;
        (0..self.model(node).gpus).try_for_each(|gpu| {
            self.alone(&on(1 << gpu), Grade::Gpu, || format!("{node:?} GPU {gpu}"))
        })
    }

    fn keys_hold_on_leaves(&self) -> Result<(), Broken> {
        self.all_nodes().try_for_each(|node| {
            let below = self.tenants_at(|other| self.share(ApartLevel::Leaf, node, other));
            self.alone(&below, Grade::Domain, || format!("the leaf of {node:?}"))
        })
    }

    /// Nobody whose grade is this or stricter is with others.
    fn alone(
        &self,
        tenants: &BTreeSet<&TenantName>,
        grade: Grade,
        place: impl Fn() -> String,
    ) -> Result<(), Broken> {
        let strict = tenants.iter().find(|tenant| self.grade(tenant) <= grade);
        let broken = strict.filter(|_| tenants.len() > 1);
        ensure(broken.is_none(), || format!("{tenants:?} are together on {}", place()))
    }

    fn all_are_apart(&self) -> Result<(), Broken> {
        for ((one, _), a) in &self.gangs {
            for ((other, _), b) in &self.gangs {
                let Some(level) = self.apart(&one.tenant, &other.tenant) else { continue };
                let meet = a.nodes().into_iter().find(|&node| {
                    b.nodes().into_iter().any(|other| self.share(level, node, other))
                });
                ensure(meet.is_none(), || {
                    format!("{one} and {other} meet at a {level}: {meet:?}")
                })?;
            }
        }
        Ok(())
    }

    /// Every gang has an InfiniBand partition of its own, and where NVLink joins nodes a memory
    /// channel of its own.
    fn fabric_keys_are_apart(&self) -> Result<(), Broken> {
        let (mut pkeys, mut channels) = (BTreeSet::new(), BTreeSet::new());
        for ((job, _), held) in &self.gangs {
            let keys = held.spot.keys;
            let own = keys.pkey.is_some_and(|pkey| pkeys.insert(pkey));
            ensure(own, || format!("{job} has no partition of its own: {keys:?}"))?;
            let nodes = held.nodes().into_iter().map(|node| &self.world.fleet.nodes[node.index()]);
            let joined = nodes.filter(|node| node.nvlink_domain != node.name);
            let domains: BTreeSet<&Name> = joined.map(|node| &node.nvlink_domain).collect();
            for domain in domains {
                let own = keys.channel.is_some_and(|channel| channels.insert((domain, channel)));
                ensure(own, || format!("{job} has no channel of its own in {domain}: {keys:?}"))?;
            }
        }
        Ok(())
    }

    fn quotas_hold(&self) -> Result<(), Broken> {
        for tenant in self.world.tenants.values() {
            let caps = [
                (None, tenant.quota_gpus),
                (Some(Capacity::Reserved), Some(tenant.quotas.reserved.unwrap_or(0))),
                (Some(Capacity::OnDemand), tenant.quotas.on_demand),
                (Some(Capacity::Preemptible), tenant.quotas.preemptible),
            ];
            for (class, cap) in caps {
                let used = self.used(&tenant.name, class);
                let within = cap.is_none_or(|cap| used <= cap);
                ensure(within, || format!("{} has {used} of {cap:?} {class:?}", tenant.name))?;
            }
        }
        Ok(())
    }
}

pub(crate) fn ensure(holds: bool, broken: impl FnOnce() -> Broken) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(broken()) }
}

pub(crate) const fn all(model: &NodeModel) -> u64 {
    u64::MAX >> (64 - model.gpus)
}

/// Whether two GPUs have an interface or an IOMMU group in common.
fn are_tied(model: &NodeModel, one: u16, other: u16) -> bool {
    let nic = |gpu: u16| usize::from(gpu) * model.nics.len() / usize::from(model.gpus);
    let groups = |gpu: u16| [model.gpu_groups[usize::from(gpu)], model.nics[nic(gpu)].iommu_group];
    groups(one).iter().any(|group| groups(other).contains(group))
}

/// All sets of a node's GPUs that can be one job's.
fn sets(model: &NodeModel) -> Vec<u64> {
    let partitions: Option<&[u64]> = match model.gpu.board.as_str() {
        "HGX-H100/H200-8GPU" => Some(&[0b101, 0b1010, 0b101_0000, 0b1010_0000]),
        "HGX-B200-8GPU" => Some(&[0b11, 0b1100, 0b11_0000, 0b1100_0000]),
        _ => None,
    };
    let joined = |set: u64| match partitions {
        None => true,
        Some(pairs) => {
            set.count_ones() == 1 || pairs.contains(&set) || [0x0f, 0xf0, 0xff].contains(&set)
        }
    };
    let parted = |set: u64| {
        let has = |gpu: u16| set & 1 << gpu != 0;
        let gpus = || 0..model.gpus;
        gpus().all(|one| gpus().all(|other| has(one) == has(other) || !are_tied(model, one, other)))
    };
    (1..=all(model)).filter(|&set| joined(set) && parted(set)).collect()
}
