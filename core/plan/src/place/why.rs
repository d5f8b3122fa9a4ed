//! Why a gang has no place: what each constraint left, and the one that binds.

use std::cmp::Reverse;
use std::fmt;

use model::{ApartLevel, Capacity, JobName, Name, NodeId, SwitchId, Within};
use serde::Serialize;

use super::ask::{Ask, Size};
use super::ground::Ground;
use super::people::{TenantKey, shortfall};
use super::quota::OverQuota;
use super::seek::Seek;
use super::spot::Spot;
use crate::refusal::{Binding, PlanRefusal};

/// How an answer came about: what was left after each constraint, and the best place at each
/// level.
#[derive(Clone, Debug)]
pub struct Explained {
    /// How many GPUs were asked for.
    pub wanted: u32,
    /// What was left after each constraint.
    pub steps: Vec<Step>,
    /// The best place at each level, narrowest first.
    pub levels: Vec<Tried>,
    /// The answer.
    pub answer: Result<Spot, PlanRefusal>,
}

/// What a constraint left.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The constraint.
    pub constraint: Constraint,
    /// GPUs left in the fleet.
    pub gpus: u64,
    /// GPUs left in the best pod.
    pub in_best_pod: u64,
}

/// The best place of one level.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Tried {
    /// The level.
    pub level: Within,
    /// The place with the most room.
    pub best: Name,
    /// How many GPUs the gang could get there.
    pub room: u32,
    /// Whether that is enough.
    pub fits: bool,
}

/// Why a GPU is not for a gang, in the order in which they are asked.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constraint {
    /// It is there at all.
    Fleet,
    /// It is under a law the tenant accepts.
    Jurisdiction,
    /// It is in the pod that the job names.
    Pod,
    /// It is at a core or an edge site, as the job wants.
    Site,
    /// It is of the product that the job names, and can be cut as it wants.
    Product,
    /// Work may be put on it.
    Health,
    /// The node's software is good enough.
    Versions,
    /// Nobody has it.
    Free,
    /// Nobody else is on the node, or below the leaf, whom a grade excludes.
    Grade,
    /// Nobody is near whom the tenant must stay apart from.
    Apart,
    /// It is on an empty node, or in a set that the gang can have.
    Fitting,
}

impl Constraint {
    const ALL: [Self; 11] = [
        Self::Fleet,
        Self::Jurisdiction,
        Self::Pod,
        Self::Site,
        Self::Product,
        Self::Health,
        Self::Versions,
        Self::Free,
        Self::Grade,
        Self::Apart,
        Self::Fitting,
    ];
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fleet => "in the fleet",
            Self::Jurisdiction => "under an allowed law",
            Self::Pod => "in the named pod",
            Self::Site => "at such a site",
            Self::Product => "of that product",
            Self::Health => "on healthy nodes",
            Self::Versions => "with good software",
            Self::Free => "free",
            Self::Grade => "shareable by grade",
            Self::Apart => "away from those named",
            Self::Fitting => "in sets or nodes that fit",
        })
    }
}

/// GPUs left after each constraint.
type Funnel = [u64; Constraint::ALL.len()];

impl Ground {
    /// Looks for a place and says how it went, level by level.
    #[must_use]
    pub fn explain(&self, ask: &Ask) -> Explained {
        let funnels: Vec<(u32, Funnel)> = self.funnels(ask);
        let wanted = u64::from(self.least(ask));
        let best = best_pool(&funnels, wanted).map(|(_, funnel)| *funnel).unwrap_or_default();
        let steps = Constraint::ALL.into_iter().enumerate().map(|(place, constraint)| Step {
            constraint,
            gpus: funnels.iter().map(|(_, funnel)| funnel[place]).sum(),
            in_best_pod: best[place],
        });
        Explained {
            wanted: ask.gpus(),
            steps: steps.collect(),
            levels: self.levels(ask),
            answer: self.seek(ask),
        }
    }

    /// Why there is no place: the constraint that binds in the best pod, with an offender.
    pub(crate) fn why_not(&self, ask: &Ask) -> PlanRefusal {
        if self.map.pools.is_empty() {
            return PlanRefusal::FleetEmpty { job: ask.job.clone() };
        }
        let funnels = self.funnels(ask);
        let wanted = u64::from(self.least(ask));
        let Some((pool, funnel)) = best_pool(&funnels, wanted) else {
            return PlanRefusal::FleetEmpty { job: ask.job.clone() };
        };
        let bound = Constraint::ALL.into_iter().zip(funnel).find(|(_, left)| **left < wanted);
        match bound {
            None | Some((Constraint::Pod, _)) => self.scattered(ask, *pool),
            Some((Constraint::Fleet, &gpus)) => self.beyond_pods(ask, *pool, gpus),
            Some((Constraint::Jurisdiction, _)) => self.unlawful(ask, *pool),
            Some((Constraint::Site, _)) => match ask.site {
                Some(site) => PlanRefusal::SiteAbsent { job: ask.job.clone(), site },
                None => self.scattered(ask, *pool),
            },
            Some((Constraint::Product, _)) => self.no_product(ask),
            Some((Constraint::Fitting, &fitting)) => {
                let free = funnel[Constraint::Apart as usize];
                self.fragmented(ask, *pool, free, fitting)
            }
            Some((constraint, &left)) => self.bound(ask, *pool, constraint, left),
        }
    }

    /// Whether a tenant may hold so many GPUs more of one class.
    ///
    /// # Errors
    /// If a quota or another's reservation forbids it.
    pub(crate) fn within_quota(
        &self,
        job: &JobName,
        tenant: TenantKey,
        capacity: Capacity,
        asked: u32,
    ) -> Result<(), PlanRefusal> {
        let Some(over) = self.over_quota(tenant, capacity, asked) else {
            return Ok(());
        };
        let job = job.clone();
        let name = |key: TenantKey| self.people.at(key).said.name.clone();
        Err(match over {
            OverQuota::Total { tenant, left } => {
                PlanRefusal::OverQuota { job, tenant: name(tenant), asked, left }
            }
            OverQuota::Class { tenant, left } => {
                PlanRefusal::OverClassQuota { job, tenant: name(tenant), capacity, asked, left }
            }
            OverQuota::Kept { left, kept } => PlanRefusal::KeptForOthers { job, asked, left, kept },
        })
    }

    /// How many GPUs must be left for a place to be possible: a slice needs no GPU of its own.
    fn least(&self, ask: &Ask) -> u32 {
        match ask.size {
            Size::Gpus(gpus) => gpus,
            Size::Slices { .. } => 1,
        }
    }

    fn funnels(&self, ask: &Ask) -> Vec<(u32, Funnel)> {
        let pools = 0..self.map.pools.len() as u32;
        pools.map(|pool| (pool, self.funnel(ask, pool))).collect()
    }

    fn funnel(&self, ask: &Ask, pool: u32) -> Funnel {
        let mut funnel = Funnel::default();
        let shape = self.map.shape(pool);
        let at = &self.map.pools[pool as usize];
        let all = at.nodes.len() as u64 * u64::from(shape.gpus());
        let terms = [
            true,
            self.people.at(ask.tenant).said.pools.binary_search(&pool).is_ok(),
            self.in_pod(ask, pool),
            self.at_site(ask, pool),
            self.of_product(ask, pool),
        ];
        for (left, _) in funnel.iter_mut().zip(terms).take_while(|(_, suits)| *suits) {
            *left = all;
        }
        if terms.contains(&false) {
            return funnel;
        }
        let apart_in = self.is_apart_in(at.pod, ask.tenant);
        for &node in &at.nodes {
            let offers = self.offers(ask, node, apart_in);
            let first = Constraint::Health as usize;
            for (left, offer) in funnel[first..].iter_mut().zip(offers) {
                *left += u64::from(offer);
            }
        }
        funnel
    }

    /// What a node could give the gang: if it is healthy, if its software is good enough, if
    /// nobody has it, if no grade and nobody else is in the way, if it is what the gang can have.
    fn offers(&self, ask: &Ask, node: NodeId, apart_in: bool) -> [u32; 6] {
        let seek = Seek::new(self, ask);
        let on = &self.map.nodes[node.index()];
        let at = &self.nodes[node.index()];
        let shape = self.map.shape_of(node);
        let whole = (shape.all() & !at.quarantined).count_ones();
        let mut offers = [0; 6];
        if !at.is_usable() || whole == 0 {
            return offers;
        }
        offers[0] = whole;
        if !seek.person.taste.software[usize::from(on.software)] {
            return offers;
        }
        offers[1] = whole;
        offers[2] = self.free_on(ask, node);
        if self.may_join_switch(on.switch, ask.tenant) && self.may_join_node(node, ask.tenant) {
            offers[3] = offers[2];
        }
        let apart = apart_in
            && self.is_apart_at(on.switch, ask.tenant)
            && self.is_apart_on(node, ask.tenant);
        if apart {
            offers[4] = offers[3];
        }
        if offers[4] > 0 {
            offers[5] = self.fitting_on(ask, node);
        }
        offers
    }

    /// How many GPUs of a node nobody has; for slices also those that are cut.
    fn free_on(&self, ask: &Ask, node: NodeId) -> u32 {
        let free = self.free(node).count_ones();
        match ask.size {
            Size::Slices { .. } => {
                let sliced = self.parted[node.index()].as_deref().map_or(0, |at| at.sliced.len());
                free + sliced as u32
            }
            Size::Gpus(_) => free,
        }
    }

    /// How many GPUs of a node are of use to the gang: all of an empty one, or what one of its
    /// sets gives to a gang that needs less than a node.
    fn fitting_on(&self, ask: &Ask, node: NodeId) -> u32 {
        let free = self.free(node);
        let shape = self.map.shape_of(node);
        if free == shape.all() {
            return shape.gpus();
        }
        match ask.size {
            Size::Slices { .. } => self.free_on(ask, node),
            Size::Gpus(gpus) => match gpus % shape.gpus() {
                0 => 0,
                rest => shape.best(free, rest).map_or(0, u64::count_ones),
            },
        }
    }

    /// Enough is left, but not together: what comes nearest at the level that is required.
    fn scattered(&self, ask: &Ask, pool: u32) -> PlanRefusal {
        if let Size::Gpus(gpus) = ask.size
            && let Some(refusal) = self.unsplittable(ask, gpus)
        {
            return refusal;
        }
        let levels = self.levels(ask);
        let nearest = levels.into_iter().find(|tried| tried.level == ask.within);
        let (best, room) = match nearest {
            Some(tried) => (tried.best, tried.room),
            None => (self.pod_name(pool), 0),
        };
        PlanRefusal::Scattered {
            job: ask.job.clone(),
            wanted: ask.amount(),
            within: ask.within,
            best,
            room,
        }
    }

    fn beyond_pods(&self, ask: &Ask, pool: u32, gpus: u64) -> PlanRefusal {
        PlanRefusal::BeyondPods {
            job: ask.job.clone(),
            wanted: ask.amount(),
            largest: self.pod_name(pool),
            gpus,
        }
    }

    fn fragmented(&self, ask: &Ask, pool: u32, free: u64, fitting: u64) -> PlanRefusal {
        let unsplittable = match ask.size {
            Size::Gpus(gpus) => self.unsplittable(ask, gpus),
            Size::Slices { .. } => None,
        };
        unsplittable.unwrap_or_else(|| PlanRefusal::Fragmented {
            job: ask.job.clone(),
            wanted: ask.amount(),
            best: self.pod_name(pool),
            free,
            fitting,
        })
    }

    fn pod_name(&self, pool: u32) -> Name {
        self.map.fleet.pods[self.map.pools[pool as usize].pod.index()].name.clone()
    }

    /// No board can be divided so, or no segment fits.
    fn unsplittable(&self, ask: &Ask, gpus: u32) -> Option<PlanRefusal> {
        let segment = ask.segment.unwrap_or(1);
        let mut sizes = Vec::new();
        let mut domain = 0;
        for &pool in &ask.pools {
            let shape = self.map.shape(pool);
            let at = &self.map.pools[pool as usize];
            let rest = gpus % shape.gpus();
            if rest > 0 && !shape.sizes().contains(&rest) {
                sizes.extend(shape.sizes());
                continue;
            }
            let blocks = self.map.blocks.iter().filter(|block| block.pool == pool);
            let largest = match at.has_domains {
                true => blocks.map(|block| block.nodes.len() as u32).max().unwrap_or(1),
                false => 1,
            };
            domain = domain.max(largest);
            let nodes = gpus / shape.gpus();
            if segment == 1 || (segment <= largest && rest == 0 && nodes.is_multiple_of(segment)) {
                return None;
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        let job = ask.job.clone();
        match ask.segment {
            Some(segment) if domain > 0 => {
                Some(PlanRefusal::SegmentUnfit { job, wanted: gpus, segment, domain })
            }
            _ if sizes.is_empty() => None,
            _ => Some(PlanRefusal::Unsplittable { job, wanted: gpus, sizes }),
        }
    }

    /// The place with the most room at each level.
    fn levels(&self, ask: &Ask) -> Vec<Tried> {
        let seek = Seek::new(self, ask);
        let mut best: [(u32, Option<Name>); 4] = Default::default();
        for pool in seek.pools() {
            self.room_in(ask, pool, &mut best);
        }
        let levels = [Within::Node, Within::NvlinkDomain, Within::Leaf, Within::Pod];
        let tried = levels.into_iter().zip(best).filter_map(|(level, (room, best))| {
            let (best, fits) = (best?, room >= self.least(ask));
            Some(Tried { level, best, room, fits })
        });
        tried.collect()
    }

    fn room_in(&self, ask: &Ask, pool: u32, best: &mut [(u32, Option<Name>); 4]) {
        let fleet = &self.map.fleet;
        let at = &self.map.pools[pool as usize];
        let mut keep = |level: usize, room: u32, name: &Name| {
            if room > best[level].0 || best[level].1.is_none() {
                best[level] = (room, Some(name.clone()));
            }
        };
        let mut in_pool = 0;
        for leaf in &self.map.leaves[at.leaves.start as usize..at.leaves.end as usize] {
            let mut in_leaf = 0;
            for block in &self.map.blocks[leaf.blocks.start as usize..leaf.blocks.end as usize] {
                let mut in_block = 0;
                for &node in &block.nodes {
                    let offer = self.offers(ask, node, true)[5];
                    keep(0, offer, &fleet.nodes[node.index()].name);
                    in_block += offer;
                }
                if at.has_domains {
                    keep(1, in_block, &fleet.nodes[block.nodes[0].index()].nvlink_domain);
                }
                in_leaf += in_block;
            }
            keep(2, in_leaf, &fleet.switches[leaf.switch.index()].name);
            in_pool += in_leaf;
        }
        keep(3, in_pool, &fleet.pods[at.pod.index()].name);
    }

    fn unlawful(&self, ask: &Ask, pool: u32) -> PlanRefusal {
        let pod = &self.map.fleet.pods[self.map.pools[pool as usize].pod.index()];
        let site = &self.map.fleet.sites[pod.site.index()];
        PlanRefusal::JurisdictionForbids {
            job: ask.job.clone(),
            site: site.name.clone(),
            jurisdiction: site.jurisdiction.clone(),
            allowed: self.people.at(ask.tenant).said.jurisdictions.clone(),
        }
    }

    fn no_product(&self, ask: &Ask) -> PlanRefusal {
        let job = ask.job.clone();
        let models = self.map.fleet.node_models.iter();
        let mut known: Vec<_> = models.map(|model| model.gpu.product.clone()).collect();
        known.sort();
        known.dedup();
        match (&ask.size, &ask.product) {
            (Size::Gpus(_), Some(product)) => {
                PlanRefusal::ProductAbsent { job, product: product.clone(), known }
            }
            (Size::Slices { profile, .. }, _) => {
                let lawful = self.people.at(ask.tenant).said.pools.iter().copied();
                let usable =
                    lawful.filter(|&pool| self.in_pod(ask, pool) && self.at_site(ask, pool));
                let models = usable.map(|pool| self.map.pools[pool as usize].model.index());
                let geometries = models.filter_map(|model| self.map.geometries[model].as_ref());
                let mut known: Vec<_> = geometries.flat_map(|one| one.names()).collect();
                known.sort_unstable();
                known.dedup();
                let known = known.into_iter().map(Into::into).collect();
                PlanRefusal::ProfileAbsent { job, profile: profile.clone(), known }
            }
            (Size::Gpus(_), None) => PlanRefusal::FleetEmpty { job },
        }
    }

    fn bound(&self, ask: &Ask, pool: u32, constraint: Constraint, left: u64) -> PlanRefusal {
        PlanRefusal::Bound {
            job: ask.job.clone(),
            wanted: ask.amount(),
            best: self.pod_name(pool),
            left: u32::try_from(left).unwrap_or(u32::MAX),
            by: self.binding(ask, pool, constraint),
        }
    }

    /// The first offender against a constraint, in the order of nodes.
    fn binding(&self, ask: &Ask, pool: u32, constraint: Constraint) -> Binding {
        let nodes = || self.map.pools[pool as usize].nodes.iter().copied();
        let name = |node: NodeId| self.map.fleet.nodes[node.index()].name.clone();
        let found = match constraint {
            Constraint::Health => nodes().find_map(|node| {
                let at = &self.nodes[node.index()];
                (!at.is_usable() || at.quarantined != 0)
                    .then(|| Binding::Health { node: name(node), health: at.health })
            }),
            Constraint::Versions => nodes().find_map(|node| {
                let versions = &self.map.fleet.nodes[node.index()].versions;
                let policy = &self.people.at(ask.tenant).said.versions;
                let (component, needs, has) = shortfall(policy, versions)?;
                Some(Binding::Versions { node: name(node), component, needs, has })
            }),
            Constraint::Grade => nodes().find_map(|node| {
                let (place, other) = self.stranger(node, ask.tenant)?;
                let (place, other) = (self.place_name(place), self.people.at(other));
                let (tenant, other_grade) = (other.said.name.clone(), other.grade);
                let grade = self.people.at(ask.tenant).grade;
                Some(Binding::Grade { grade, place, other: tenant, other_grade })
            }),
            Constraint::Apart => nodes().find_map(|node| {
                let (place, other) = self.too_near(node, ask.tenant)?;
                Some(Binding::Apart { place, other: self.people.at(other).said.name.clone() })
            }),
            _ => None,
        };
        found.unwrap_or(Binding::Free { resting: self.resting(pool) })
    }

    fn resting(&self, pool: u32) -> u32 {
        let pod = self.map.pools[pool as usize].pod;
        let rests = self.gangs.iter().filter(|gang| !gang.is_live());
        let in_pod = rests.filter(|gang| {
            let first = self.gpus(&gang.spot).map(|(node, _)| node).next();
            first.is_some_and(|node| self.map.fleet.nodes[node.index()].pod == pod)
        });
        in_pod.map(|gang| gang.gpus).sum()
    }
}

/// Where two may not be together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shared {
    Node(NodeId),
    Leaf(SwitchId),
}

/// Who is in the way.
impl Ground {
    /// Somebody on this node, or below its leaf, with whom a tenant may not be there.
    pub(crate) fn stranger(&self, node: NodeId, key: TenantKey) -> Option<(Shared, TenantKey)> {
        let me = self.people.at(key);
        let others = self.gangs_on(node).map(|gang| gang.tenant).filter(|&other| other != key);
        let mut on_node = others
            .filter(|&other| !me.shares_host() || !self.people.at(other).shares_host())
            .map(|other| (Shared::Node(node), other));
        let switch = self.map.nodes[node.index()].switch;
        let below = self.switches[switch.index()].tenants.iter().map(|&(other, _)| other);
        let mut at_leaf = below
            .filter(|&other| other != key)
            .filter(|&other| me.keys_leaf() || self.people.at(other).keys_leaf())
            .map(|other| (Shared::Leaf(switch), other));
        on_node.next().or_else(|| at_leaf.next())
    }

    /// Somebody near this node from whom a tenant must stay apart, and where.
    pub(crate) fn too_near(&self, node: NodeId, key: TenantKey) -> Option<(Name, TenantKey)> {
        let fleet = &self.map.fleet;
        let on = &self.map.nodes[node.index()];
        let pod = &fleet.pods[self.map.pools[on.pool as usize].pod.index()];
        let on_node = |other: TenantKey| self.gangs_on(node).any(|gang| gang.tenant == other);
        let below = &self.switches[on.switch.index()].tenants;
        let at_leaf = |other: TenantKey| below.iter().any(|&(here, _)| here == other);
        self.people.at(key).apart.iter().find_map(|&(other, level)| {
            let place = match level {
                _ if on_node(other) => &fleet.nodes[node.index()].name,
                ApartLevel::Node => return None,
                _ if at_leaf(other) => &fleet.switches[on.switch.index()].name,
                ApartLevel::Leaf => return None,
                _ if self.is_in_pod(on.pool, other) => &pod.name,
                ApartLevel::Pod => return None,
                ApartLevel::Site if self.is_at_site(on.pool, other) => {
                    &fleet.sites[pod.site.index()].name
                }
                ApartLevel::Site => return None,
            };
            Some((place.clone(), other))
        })
    }

    fn is_in_pod(&self, pool: u32, other: TenantKey) -> bool {
        self.pods[self.map.pools[pool as usize].pod.index()][other.index()] > 0
    }

    fn is_at_site(&self, pool: u32, other: TenantKey) -> bool {
        let pods = &self.map.fleet.pods;
        let site = pods[self.map.pools[pool as usize].pod.index()].site;
        let mut there = pods.iter().zip(&self.pods).filter(|(pod, _)| pod.site == site);
        there.any(|(_, tenants)| tenants[other.index()] > 0)
    }

    pub(crate) fn place_name(&self, place: Shared) -> Name {
        match place {
            Shared::Node(node) => self.map.fleet.nodes[node.index()].name.clone(),
            Shared::Leaf(leaf) => self.map.fleet.switches[leaf.index()].name.clone(),
        }
    }
}

/// The pool where the most constraints leave enough; of equals the one with the most left at
/// the end, then the first.
fn best_pool(funnels: &[(u32, Funnel)], wanted: u64) -> Option<&(u32, Funnel)> {
    let enough = |funnel: &Funnel| funnel.iter().take_while(|left| **left >= wanted).count();
    let reversed = |funnel: &Funnel| {
        let mut funnel = *funnel;
        funnel.reverse();
        funnel
    };
    funnels.iter().max_by_key(|(pool, funnel)| (enough(funnel), reversed(funnel), Reverse(*pool)))
}
