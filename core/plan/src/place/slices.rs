//! GPUs that are cut into slices: who has which, and where the next ones go.

use std::collections::BTreeMap;

use model::{JobName, NodeId};

use super::book::{GangId, Wrong};
use super::ground::{CutLike, Ground, Stance};
use super::map::bits;
use super::people::TenantKey;
use super::seek::Seek;
use super::spot::{SliceAt, Spot};

/// A GPU that is cut into slices: who has which.
#[derive(Clone, Debug, Default)]
pub(crate) struct MigGpu {
    slices: Vec<(GangId, u8, u8)>,
}

impl MigGpu {
    /// The gangs on it, each as often as it has a slice.
    pub(crate) fn gangs(&self) -> impl Iterator<Item = GangId> {
        self.slices.iter().map(|&(gang, _, _)| gang)
    }
}

/// What of a GPU is cut: the busy slots, and whether the media engines are taken.
#[derive(Clone, Copy, Debug, Default)]
struct Cuts {
    busy: u8,
    has_me: bool,
}

/// Keeping the lists of GPUs that are cut.
impl Ground {
    pub(crate) fn take_slice(&mut self, gang: GangId, key: TenantKey, slice: &SliceAt) {
        let node = slice.node;
        self.change(node, |ground| {
            let parted = ground.parted[node.index()].get_or_insert_default();
            let gpu = parted.sliced.entry(slice.gpu).or_default();
            gpu.slices.push((gang, slice.profile, slice.start));
            gpu.slices.sort_unstable();
            ground.note(ground.map.nodes[node.index()].switch, key, 1, true);
        });
    }

    pub(crate) fn give_slice(&mut self, gang: GangId, key: TenantKey, slice: &SliceAt) {
        let node = slice.node;
        self.change(node, |ground| {
            if let Some(parted) = &mut ground.parted[node.index()]
                && let Some(gpu) = parted.sliced.get_mut(&slice.gpu)
            {
                gpu.slices.retain(|&one| one != (gang, slice.profile, slice.start));
                if gpu.slices.is_empty() {
                    parted.sliced.remove(&slice.gpu);
                }
            }
            ground.note(ground.map.nodes[node.index()].switch, key, 1, false);
        });
    }

    pub(crate) fn list_sliced(&mut self, node: NodeId) {
        let pool = self.map.nodes[node.index()].pool;
        for (gpu, key) in self.sliced_keys(node) {
            self.pools[pool as usize].sliced.entry(key).or_default().insert((node, gpu));
        }
    }

    pub(crate) fn delist_sliced(&mut self, node: NodeId) {
        let pool = self.map.nodes[node.index()].pool;
        for (gpu, key) in self.sliced_keys(node) {
            let listed = &mut self.pools[pool as usize].sliced;
            if let Some(gpus) = listed.get_mut(&key) {
                gpus.remove(&(node, gpu));
                if gpus.is_empty() {
                    listed.remove(&key);
                }
            }
        }
    }

    /// The list each cut GPU of a node belongs on.
    fn sliced_keys(&self, node: NodeId) -> Vec<(u16, CutLike)> {
        let at = &self.nodes[node.index()];
        let Some(parted) = self.parted[node.index()].as_deref().filter(|_| at.is_usable()) else {
            return Vec::new();
        };
        let whole = parted.sliced.iter().filter(|(gpu, _)| at.quarantined & (1 << **gpu) == 0);
        whole
            .filter_map(|(&gpu, mig)| match self.stance_of_gpu(mig) {
                Stance::Open => Some((gpu, (None, self.cuts(node, mig).busy))),
                Stance::Own(key) => Some((gpu, (Some(key), self.cuts(node, mig).busy))),
                Stance::Empty | Stance::Mixed => None,
            })
            .collect()
    }

    fn stance_of_gpu(&self, mig: &MigGpu) -> Stance {
        let tenants = mig.gangs().filter_map(|gang| self.gangs.at(gang)).map(|gang| gang.tenant);
        self.stance(tenants, |key| !self.people.at(key).shares_gpu())
    }

    fn cuts(&self, node: NodeId, mig: &MigGpu) -> Cuts {
        let Some(geometry) = self.map.geometry(node) else {
            return Cuts { busy: u8::MAX, has_me: true };
        };
        mig.slices.iter().fold(Cuts::default(), |cuts, &(_, profile, start)| Cuts {
            busy: cuts.busy | geometry.slots(usize::from(profile), start),
            has_me: cuts.has_me || geometry.has_me(usize::from(profile)),
        })
    }

    fn cuts_at(&self, node: NodeId, gpu: u16) -> Option<(&MigGpu, Cuts)> {
        let mig = self.parted[node.index()].as_deref()?.sliced.get(&gpu)?;
        Some((mig, self.cuts(node, mig)))
    }

    /// Whether a tenant may hold all these slices.
    pub(crate) fn may_hold_slices(
        &self,
        slices: &[SliceAt],
        tenant: TenantKey,
        job: impl Fn() -> JobName,
    ) -> Result<(), Wrong> {
        let mut cut: BTreeMap<(NodeId, u16), Cuts> = BTreeMap::new();
        for slice in slices {
            let (node, gpu) = (slice.node, slice.gpu);
            let taken = || Wrong::Taken { job: job(), node };
            let at = &self.nodes[node.index()];
            let held = self.cuts_at(node, gpu);
            let is_there = held.is_some() || self.free(node) & (1 << gpu) != 0;
            if !at.is_usable() || at.quarantined & (1 << gpu) != 0 || !is_there {
                return Err(taken());
            }
            let may_join = held.is_none_or(|(mig, _)| self.may_join_gpu(mig, tenant));
            if !may_join || !self.may_join_node(node, tenant) {
                return Err(Wrong::BelowGrade { job: job(), node });
            }
            if !self.is_apart_on(node, tenant) {
                return Err(Wrong::NotApart { job: job(), node });
            }
            self.may_enter(node, tenant, &job)?;
            let before = held.map(|(_, cuts)| cuts).unwrap_or_default();
            let cuts = cut.entry((node, gpu)).or_insert(before);
            *cuts = self.cut(node, *cuts, slice).ok_or_else(taken)?;
        }
        Ok(())
    }

    /// What is cut after one more slice, if there is room exactly there.
    fn cut(&self, node: NodeId, cuts: Cuts, slice: &SliceAt) -> Option<Cuts> {
        let geometry = self.map.geometry(node)?;
        let profile = usize::from(slice.profile);
        let may_start =
            profile < geometry.names().count() && geometry.starts(profile).contains(&slice.start);
        let slots = may_start.then(|| geometry.slots(profile, slice.start))?;
        let needs_me = geometry.has_me(profile);
        (cuts.busy & slots == 0 && !(needs_me && cuts.has_me))
            .then_some(Cuts { busy: cuts.busy | slots, has_me: cuts.has_me || needs_me })
    }

    /// Whether a tenant may have a slice of a GPU, as far as those on it go.
    fn may_join_gpu(&self, mig: &MigGpu, tenant: TenantKey) -> bool {
        match self.stance_of_gpu(mig) {
            Stance::Empty => true,
            Stance::Own(key) => key == tenant,
            Stance::Mixed => false,
            Stance::Open => {
                self.people.at(tenant).shares_gpu()
                    || mig
                        .gangs()
                        .all(|gang| self.gangs.at(gang).is_some_and(|gang| gang.tenant == tenant))
            }
        }
    }
}

/// Slices that one gang is about to get, over what is cut already.
#[derive(Default)]
struct Draft {
    cuts: BTreeMap<(NodeId, u16), Cuts>,
    /// GPUs that were whole before.
    opened: BTreeMap<NodeId, u64>,
    slices: Vec<SliceAt>,
}

/// Looking for slices.
impl Seek<'_> {
    /// So many slices in one pool, each where it costs the fewest others.
    pub(crate) fn slices_in(
        &self,
        pool: u32,
        profile: usize,
        count: u32,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<Spot> {
        let mut draft = Draft::default();
        for _ in 0..count {
            let (node, gpu, start) = self
                .cheapest_cut(pool, profile, &draft, suits)
                .or_else(|| self.fresh_gpu(pool, profile, &draft, suits))?;
            draft.add(self.ground, SliceAt { node, gpu, profile: profile as u8, start })?;
        }
        Some(Spot { slices: draft.slices, ..Spot::default() })
    }

    /// A slice of a GPU that is cut already.
    fn cheapest_cut(
        &self,
        pool: u32,
        profile: usize,
        draft: &Draft,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<(NodeId, u16, u8)> {
        let geometry = self.ground.map.geometries[self.model_of(pool).index()].as_ref()?;
        let drafted = draft.cuts.iter().filter_map(|(&(node, gpu), cuts)| {
            let (start, loss) = geometry.best(cuts.busy, cuts.has_me, profile)?;
            Some((loss, node, gpu, start))
        });
        let listed = self.listed_cuts(pool, profile, draft, suits);
        let best = drafted.chain(listed).min_by_key(|&(loss, node, gpu, _)| (loss, node, gpu));
        best.map(|(_, node, gpu, start)| (node, gpu, start))
    }

    /// The first GPU of the least loss among those that are cut, not counting the draft's.
    fn listed_cuts(
        &self,
        pool: u32,
        profile: usize,
        draft: &Draft,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<(u32, NodeId, u16, u8)> {
        let geometry = self.ground.map.geometries[self.model_of(pool).index()].as_ref()?;
        let listed = &self.ground.pools[pool as usize].sliced;
        let owners = match self.person.shares_gpu() {
            true => [None, Some(self.key)],
            false => [Some(self.key), None],
        };
        let busy = geometry.by_loss(profile).iter();
        let gpus = busy.flat_map(|&busy| {
            let lists = owners.into_iter().filter_map(move |owner| listed.get(&(owner, busy)));
            lists.flatten()
        });
        let mut fitting = gpus.filter_map(|&(node, gpu)| {
            let is_new = !draft.cuts.contains_key(&(node, gpu));
            let (mig, cuts) = self.ground.cuts_at(node, gpu).filter(|_| is_new)?;
            let may = self.ground.may_join_gpu(mig, self.key) && self.suits_node(node);
            let (start, loss) = geometry.best(cuts.busy, cuts.has_me, profile)?;
            (may && suits(node)).then_some((loss, node, gpu, start))
        });
        fitting.next()
    }

    /// The first slice of a GPU that is whole.
    fn fresh_gpu(
        &self,
        pool: u32,
        profile: usize,
        draft: &Draft,
        suits: &dyn Fn(NodeId) -> bool,
    ) -> Option<(NodeId, u16, u8)> {
        let shape = self.ground.map.shape(pool);
        let again = draft.opened.iter().find_map(|(&node, &opened)| {
            let free = self.ground.free(node) & !opened;
            Some((node, shape.best(free, 1)?))
        });
        let (node, gpu) = again.or_else(|| {
            let is_new = |node| !draft.opened.contains_key(&node) && suits(node);
            self.part_in(pool, 1, &is_new).map(|found| (found.part.node, found.part.gpus))
        })?;
        let geometry = self.ground.map.geometry(node)?;
        let (start, _) = geometry.best(0, false, profile)?;
        Some((node, bits(gpu).next()? as u16, start))
    }
}

impl Draft {
    fn add(&mut self, ground: &Ground, slice: SliceAt) -> Option<()> {
        let (node, gpu) = (slice.node, slice.gpu);
        let held = ground.cuts_at(node, gpu).map(|(_, cuts)| cuts);
        let before = self.cuts.get(&(node, gpu)).copied().or(held);
        if before.is_none() {
            *self.opened.entry(node).or_default() |= 1 << gpu;
        }
        let cuts = ground.cut(node, before.unwrap_or_default(), &slice)?;
        self.cuts.insert((node, gpu), cuts);
        self.slices.push(slice);
        Some(())
    }
}
