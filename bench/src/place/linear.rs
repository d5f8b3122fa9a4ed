//! The same rules without an index: every node is looked at, in order.
//!
//! It is written as one would write it: arrays, one pass, and what holds for a leaf is asked once
//! for each leaf. It keeps its own books, so that it can also live through a trace by itself.

use std::collections::BTreeMap;

use model::{
    ApartLevel, Capacity, Fleet, Grade, Job, NodeId, SwitchId, Tenant, TenantName, Versions, Want,
    compare_versions,
};

/// Which of several nodes that would do is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Choice {
    /// The first.
    FirstFit,
    /// The one with the fewest free GPUs; the first of equals.
    BestFit,
}

/// The whole fleet, as lists.
pub(crate) struct Linear<'a> {
    fleet: &'a Fleet,
    choice: Choice,
    tenants: Vec<Person<'a>>,
    keys: BTreeMap<&'a TenantName, usize>,
    nodes: Vec<NodeNow>,
    /// By switch and by pod: how many holdings each tenant has.
    leaves: Vec<Vec<(usize, u32)>>,
    pods: Vec<Vec<(usize, u32)>>,
    idle: u32,
    lent: u32,
}

struct Person<'a> {
    tenant: &'a Tenant,
    lineage: Vec<usize>,
    apart: Vec<(usize, ApartLevel)>,
    /// Whether each combination of software is good enough.
    software: Vec<bool>,
    /// GPUs of it and all below it, by class.
    used: [u32; 3],
}

struct NodeNow {
    free: u64,
    all: u64,
    leaf: SwitchId,
    /// Which of the combinations of software that occur.
    software: usize,
    holdings: Vec<(usize, u64)>,
}

/// Where a gang goes: whole nodes and parts alike.
pub(crate) type Place = Vec<(NodeId, u64)>;

impl<'a> Linear<'a> {
    pub(crate) fn new(
        fleet: &'a Fleet,
        tenants: &'a BTreeMap<TenantName, Tenant>,
        choice: Choice,
    ) -> Self {
        let keys: BTreeMap<&TenantName, usize> = tenants.keys().zip(0..).collect();
        let gpus =
            |node: &model::Node| u64::MAX >> (64 - fleet.node_models[node.model.index()].gpus);
        let mut software: Vec<&Versions> = Vec::new();
        let mut nodes = Vec::with_capacity(fleet.nodes.len());
        for node in &fleet.nodes {
            let known = software.iter().position(|one| **one == node.versions);
            nodes.push(NodeNow {
                free: gpus(node),
                all: gpus(node),
                leaf: node.uplinks[0].leaf,
                software: known.unwrap_or(software.len()),
                holdings: Vec::new(),
            });
            if known.is_none() {
                software.push(&node.versions);
            }
        }
        let person = |tenant| Person::new(tenant, tenants, &keys, &software);
        Self {
            fleet,
            choice,
            tenants: tenants.values().map(person).collect(),
            keys,
            idle: nodes.iter().map(|node: &NodeNow| node.free.count_ones()).sum(),
            nodes,
            leaves: vec![Vec::new(); fleet.switches.len()],
            pods: vec![Vec::new(); fleet.pods.len()],
            lent: 0,
        }
    }

    /// The first place that does.
    pub(crate) fn seek(&self, job: &Job) -> Option<Place> {
        let &Want::Gpus(gpus) = &job.want else { return None };
        let key = self.keys[&job.name.tenant];
        if self.is_over_quota(key, job.terms.capacity, gpus) {
            return None;
        }
        let nodes = &self.fleet.nodes;
        // Nodes stand in the order of their pods, and a pod here has one kind of node.
        let mut start = 0;
        while start < nodes.len() {
            let pod = nodes[start].pod;
            let end = start + nodes[start..].iter().take_while(|node| node.pod == pod).count();
            if self.suits_pod(job, key, start)
                && let Some(place) = self.in_pod(job, key, gpus, start..end)
            {
                return Some(place);
            }
            start = end;
        }
        None
    }

    /// Puts a gang somewhere, or takes it away.
    pub(crate) fn change(&mut self, job: &Job, place: &[(NodeId, u64)], comes: bool) {
        let key = self.keys[&job.name.tenant];
        let mut gpus = 0;
        for &(node, set) in place {
            gpus += set.count_ones();
            let at = &mut self.nodes[node.index()];
            if comes {
                at.free &= !set;
                at.holdings.push((key, set));
            } else {
                at.free |= set;
                at.holdings.retain(|&holding| holding != (key, set));
            }
            let on = &self.fleet.nodes[node.index()];
            count(&mut self.leaves[at.leaf.index()], key, comes);
            count(&mut self.pods[on.pod.index()], key, comes);
        }
        let sum = |total: u32| if comes { total + gpus } else { total - gpus };
        let class = class_index(job.terms.capacity);
        for above in self.tenants[key].lineage.clone() {
            let used = &mut self.tenants[above].used[class];
            *used = sum(*used);
        }
        self.idle = if comes { self.idle - gpus } else { self.idle + gpus };
        if job.terms.capacity == Capacity::Preemptible {
            self.lent = sum(self.lent);
        }
    }

    /// The fewest leaves that a gang of whole nodes could have now.
    pub(crate) fn fewest_leaves(&self, job: &Job) -> Option<usize> {
        let &Want::Gpus(gpus) = &job.want else { return None };
        let key = self.keys[&job.name.tenant];
        let mut rooms: BTreeMap<usize, BTreeMap<SwitchId, u32>> = BTreeMap::new();
        for (place, node) in self.fleet.nodes.iter().enumerate() {
            let empty = self.nodes[place].free == self.nodes[place].all;
            if empty
                && self.suits_pod(job, key, place)
                && self.suits_node(key, place)
                && self.suits_leaf(key, place)
            {
                let leaf = self.nodes[place].leaf;
                *rooms.entry(node.pod.index()).or_default().entry(leaf).or_default() +=
                    self.nodes[place].all.count_ones();
            }
        }
        let fewest = |leaves: &BTreeMap<SwitchId, u32>| {
            let mut leaves: Vec<u32> = leaves.values().copied().collect();
            leaves.sort_unstable_by_key(|&room| std::cmp::Reverse(room));
            let mut left = gpus;
            leaves.iter().position(|&room| {
                left = left.saturating_sub(room);
                left == 0
            })
        };
        rooms.values().filter_map(fewest).min().map(|last| last + 1)
    }

    fn is_over_quota(&self, key: usize, class: Capacity, gpus: u32) -> bool {
        let over = |cap: Option<u32>, used: u32| cap.is_some_and(|cap| used + gpus > cap);
        let mut lineage = self.tenants[key].lineage.iter().map(|&above| &self.tenants[above]);
        let own = lineage.any(|person| {
            let quotas = &person.tenant.quotas;
            let cap = match class {
                Capacity::Reserved => Some(quotas.reserved.unwrap_or(0)),
                Capacity::OnDemand => quotas.on_demand,
                Capacity::Preemptible => quotas.preemptible,
            };
            over(person.tenant.quota_gpus, person.used.iter().sum())
                || over(cap, person.used[class_index(class)])
        });
        own || class == Capacity::OnDemand && gpus + self.kept(key) > self.idle + self.lent
    }

    /// What other roots reserved and do not use.
    fn kept(&self, key: usize) -> u32 {
        let root = self.tenants[key].lineage.last();
        let roots = self.tenants.iter().enumerate().filter(|(_, person)| person.lineage.len() == 1);
        let others = roots.filter(|(place, _)| root != Some(place));
        others
            .map(|(_, person)| {
                person.tenant.quotas.reserved.unwrap_or(0).saturating_sub(person.used[0])
            })
            .sum()
    }

    fn suits_pod(&self, job: &Job, key: usize, first: usize) -> bool {
        let node = &self.fleet.nodes[first];
        let site = &self.fleet.sites[self.fleet.pods[node.pod.index()].site.index()];
        let product = &self.fleet.node_models[node.model.index()].gpu.product;
        let person = &self.tenants[key];
        let laws = &person.tenant.jurisdictions;
        let mut far = person.apart.iter().filter(|(_, level)| *level >= ApartLevel::Pod);
        job.terms.product.as_ref().is_none_or(|wanted| wanted == product)
            && (laws.is_empty() || laws.contains(&site.jurisdiction))
            && far.all(|(other, _)| !holds(&self.pods[node.pod.index()], *other))
    }

    fn in_pod(
        &self,
        job: &Job,
        key: usize,
        gpus: u32,
        nodes: std::ops::Range<usize>,
    ) -> Option<Place> {
        let each = self.nodes[nodes.start].all.count_ones();
        if gpus < each {
            return self.part(key, gpus, nodes);
        }
        match job.terms.segment {
            Some(segment) => {
                self.segments(key, (gpus / each) as usize, usize::from(segment), nodes)
            }
            None => self.whole(key, (gpus / each) as usize, nodes),
        }
    }

    /// Some GPUs of one node.
    fn part(&self, key: usize, gpus: u32, nodes: std::ops::Range<usize>) -> Option<Place> {
        let mut best: Option<(u32, usize, u64)> = None;
        let mut leaf = (SwitchId(u32::MAX), false);
        for place in nodes {
            let at = &self.nodes[place];
            let free = at.free.count_ones();
            if free < gpus || best.is_some_and(|(least, _, _)| least <= free) {
                continue;
            }
            if self.leaf_suits(&mut leaf, key, place)
                && self.suits_node(key, place)
                && let Some(set) = self.lowest_set(place, gpus)
            {
                if self.choice == Choice::FirstFit {
                    return Some(vec![(NodeId(place as u32), set)]);
                }
                best = Some((free, place, set));
            }
        }
        best.map(|(_, place, set)| vec![(NodeId(place as u32), set)])
    }

    /// The first empty nodes.
    fn whole(&self, key: usize, count: usize, nodes: std::ops::Range<usize>) -> Option<Place> {
        let mut found = Vec::with_capacity(count);
        let mut leaf = (SwitchId(u32::MAX), false);
        for place in nodes {
            let at = &self.nodes[place];
            if at.free == at.all
                && self.leaf_suits(&mut leaf, key, place)
                && self.suits_node(key, place)
            {
                found.push((NodeId(place as u32), at.all));
                if found.len() == count {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The first empty nodes, so many of each NVLink domain.
    fn segments(
        &self,
        key: usize,
        count: usize,
        segment: usize,
        nodes: std::ops::Range<usize>,
    ) -> Option<Place> {
        let mut found = Vec::with_capacity(count);
        let mut leaf = (SwitchId(u32::MAX), false);
        let (mut domain, mut whole) = (None, 0);
        for place in nodes {
            let here = &self.fleet.nodes[place].nvlink_domain;
            if domain != Some(here) {
                found.truncate(whole);
                domain = Some(here);
            }
            let at = &self.nodes[place];
            if at.free == at.all
                && self.leaf_suits(&mut leaf, key, place)
                && self.suits_node(key, place)
            {
                found.push((NodeId(place as u32), at.all));
                whole += if found.len() - whole == segment { segment } else { 0 };
                if whole == count {
                    return Some(found);
                }
            }
        }
        None
    }

    /// Nodes of a leaf stand together, so that its answer is kept until the next leaf.
    fn leaf_suits(&self, last: &mut (SwitchId, bool), key: usize, place: usize) -> bool {
        let leaf = self.nodes[place].leaf;
        if last.0 != leaf {
            *last = (leaf, self.suits_leaf(key, place));
        }
        last.1
    }

    fn suits_leaf(&self, key: usize, place: usize) -> bool {
        let below = &self.leaves[self.nodes[place].leaf.index()];
        let person = &self.tenants[key];
        let is_domain = |key: usize| self.tenants[key].tenant.grade == Grade::Domain;
        let mut others = below.iter().filter(|(other, _)| *other != key);
        let mut near = person.apart.iter().filter(|(_, level)| *level == ApartLevel::Leaf);
        others.all(|&(other, _)| !is_domain(key) && !is_domain(other))
            && near.all(|(other, _)| !holds(below, *other))
    }

    fn suits_node(&self, key: usize, place: usize) -> bool {
        let person = &self.tenants[key];
        let at = &self.nodes[place];
        let is_strict = |key: usize| self.tenants[key].tenant.grade <= Grade::Node;
        let mut others = at.holdings.iter().filter(|(other, _)| *other != key);
        person.software[at.software]
            && others.all(|&(other, _)| {
                !is_strict(key)
                    && !is_strict(other)
                    && person.apart.iter().all(|(apart, _)| *apart != other)
            })
    }

    fn lowest_set(&self, place: usize, gpus: u32) -> Option<u64> {
        let at = &self.nodes[place];
        let model = &self.fleet.node_models[self.fleet.nodes[place].model.index()];
        let pairs: &[u64] = match model.gpu.board.as_str() {
            "HGX-H100/H200-8GPU" => &[0b101, 0b1010, 0b101_0000, 0b1010_0000],
            "HGX-B200-8GPU" => &[0b11, 0b1100, 0b11_0000, 0b1100_0000],
            // A tray joins any.
            _ => &[0b11, 0b101, 0b110, 0b1001, 0b1010, 0b1100],
        };
        let fits = |set: &u64| set & !at.free == 0;
        match gpus {
            1 => (0..64).map(|gpu| 1 << gpu).find(fits),
            2 => pairs.iter().copied().find(fits),
            _ => [0x0f, 0xf0].into_iter().find(fits),
        }
    }
}

impl<'a> Person<'a> {
    fn new(
        tenant: &'a Tenant,
        tenants: &BTreeMap<TenantName, Tenant>,
        keys: &BTreeMap<&TenantName, usize>,
        software: &[&Versions],
    ) -> Self {
        let driver = tenant.versions.at_least.get("driver");
        let is_good = |has: &&Versions| {
            (has.secure_boot || !tenant.versions.secure_boot)
                && driver.is_none_or(|least| compare_versions(&has.driver, least).is_ge())
        };
        let is_below =
            |name: &TenantName, above: &TenantName| name.lineage().any(|up| up == *above);
        let said = tenant.apart.iter().flat_map(|apart| {
            let below = tenants.keys().filter(|name| is_below(name, &apart.from));
            below.map(|name| (keys[name], apart.level))
        });
        let heard = tenants.values().flat_map(|other| {
            let about_me = other.apart.iter().filter(|apart| is_below(&tenant.name, &apart.from));
            about_me.map(|apart| (keys[&other.name], apart.level))
        });
        Self {
            tenant,
            lineage: tenant.name.lineage().map(|name| keys[&name]).collect(),
            apart: said.chain(heard).collect(),
            software: software.iter().map(is_good).collect(),
            used: [0; 3],
        }
    }
}

fn holds(counts: &[(usize, u32)], key: usize) -> bool {
    counts.iter().any(|&(one, _)| one == key)
}

fn count(counts: &mut Vec<(usize, u32)>, key: usize, comes: bool) {
    match counts.iter_mut().position(|(one, _)| *one == key) {
        Some(place) if comes => counts[place].1 += 1,
        Some(place) if counts[place].1 > 1 => counts[place].1 -= 1,
        Some(place) => drop(counts.swap_remove(place)),
        None => counts.push((key, 1)),
    }
}

const fn class_index(class: Capacity) -> usize {
    match class {
        Capacity::Reserved => 0,
        Capacity::OnDemand => 1,
        Capacity::Preemptible => 2,
    }
}
