//! What can be done with each GPU, summed by pod and by tenant.

use std::collections::BTreeMap;

use model::{Grade, Name, NodeId, TenantName};
use serde::Serialize;

use super::book::GangState;
use super::ground::{Ground, Stance};
use super::people::TenantKey;

/// How the fleet's GPUs are used, and why those that are free may be of no use.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Capacities {
    /// All of them.
    pub fleet: Split,
    /// By site and pod.
    pub pods: Vec<PodLine>,
    /// By tenant.
    pub tenants: Vec<TenantLine>,
}

/// GPUs by what can be done with them. Every GPU counts once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Split {
    /// All of them.
    pub gpus: u64,
    /// Held by jobs, cut or whole.
    pub used: u64,
    /// Held by jobs that end: not everybody knows, or they are not scrubbed.
    pub resting: u64,
    /// On nodes that take no work, lost, or in quarantine.
    pub unusable: u64,
    /// Free, but only for the one tenant that has the node or the leaf for itself.
    pub stranded: u64,
    /// Free, but on nodes that are partly used: no gang of whole nodes gets them.
    pub fragmented: u64,
    /// Free on empty nodes.
    pub free: u64,
}

/// A pod's GPUs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodLine {
    /// The site.
    pub site: Name,
    /// The pod.
    pub pod: Name,
    /// Its GPUs.
    #[serde(flatten)]
    pub split: Split,
    /// The most empty nodes below one leaf that is nobody's own, in GPUs.
    pub largest_in_a_leaf: u64,
}

/// What a tenant holds.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantLine {
    /// The tenant.
    pub tenant: TenantName,
    /// What it shares with others.
    pub grade: Grade,
    /// GPUs it holds as reserved, on demand and preemptible, with all below it.
    pub reserved: u64,
    /// On demand.
    pub on_demand: u64,
    /// Preemptible.
    pub preemptible: u64,
    /// What it may hold in all.
    pub quota: Option<u32>,
    /// What it reserved.
    pub reservation: Option<u32>,
    /// GPUs that are free and that only it can use.
    pub stranded: u64,
}

/// What one GPU is.
enum Use {
    Used,
    Resting,
    Unusable,
    Stranded(TenantKey),
    Fragmented,
    Free,
}

impl Ground {
    /// How all GPUs are used.
    #[must_use]
    pub fn capacities(&self) -> Capacities {
        let fleet = &self.map.fleet;
        let mut pods: Vec<Split> = vec![Split::default(); fleet.pods.len()];
        let mut stranded: BTreeMap<TenantKey, u64> = BTreeMap::new();
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            let pod = &mut pods[fleet.nodes[node.index()].pod.index()];
            for (gpus, is) in self.uses(node) {
                pod.add(&is, gpus);
                if let Use::Stranded(key) = is {
                    *stranded.entry(key).or_default() += gpus;
                }
            }
        }
        Capacities {
            fleet: pods.iter().fold(Split::default(), |sum, &split| sum.with(split)),
            pods: self.pod_lines(&pods),
            tenants: self.tenant_lines(&stranded),
        }
    }

    /// The GPUs of a node by what they are.
    fn uses(&self, node: NodeId) -> Vec<(u64, Use)> {
        let at = &self.nodes[node.index()];
        let held = self.held(node);
        let resting = self.resting_on(node);
        let mut uses = vec![
            (u64::from((held & !resting).count_ones()), Use::Used),
            (u64::from(resting.count_ones()), Use::Resting),
        ];
        let all = self.map.shape_of(node).all();
        let free = if at.is_usable() { self.free(node) } else { 0 };
        uses.push((u64::from((all & !held & !free).count_ones()), Use::Unusable));
        let free = u64::from(free.count_ones());
        let switch = self.map.nodes[node.index()].switch;
        uses.push(match (self.stance_of_switch(switch), self.stance_of_node(node)) {
            (Stance::Own(key), _) | (_, Stance::Own(key)) => (free, Use::Stranded(key)),
            (Stance::Mixed, _) | (_, Stance::Mixed) => (free, Use::Unusable),
            (_, Stance::Empty) if at.quarantined == 0 => (free, Use::Free),
            _ => (free, Use::Fragmented),
        });
        uses
    }

    /// GPUs that are held only by gangs that end.
    fn resting_on(&self, node: NodeId) -> u64 {
        let rests = |id| self.gangs.at(id).is_some_and(|gang| gang.state > GangState::Active);
        if let Some(gang) = self.wholes[node.index()] {
            return if rests(gang) { self.map.shape_of(node).all() } else { 0 };
        }
        let Some(parted) = self.parted[node.index()].as_deref() else {
            return 0;
        };
        let whole = parted.gangs.iter().filter(|(gang, _)| rests(*gang)).map(|&(_, gpus)| gpus);
        let cut = parted.sliced.iter().filter(|(_, mig)| mig.gangs().all(rests));
        whole.chain(cut.map(|(gpu, _)| 1 << gpu)).fold(0, |resting, gpus| resting | gpus)
    }

    fn pod_lines(&self, splits: &[Split]) -> Vec<PodLine> {
        let fleet = &self.map.fleet;
        let mut largest = vec![0_u64; fleet.pods.len()];
        for (pool, at) in self.map.pools.iter().zip(&self.pools) {
            let gpus = u64::from(self.map.shapes[pool.model.index()].gpus());
            let nodes = at.open.leaves.downwards().next().map_or(0, |(nodes, _)| nodes as u64);
            let largest = &mut largest[pool.pod.index()];
            *largest = (nodes * gpus).max(*largest);
        }
        let pods = fleet.pods.iter().zip(splits).zip(largest);
        pods.map(|((pod, &split), largest_in_a_leaf)| PodLine {
            site: fleet.sites[pod.site.index()].name.clone(),
            pod: pod.name.clone(),
            split,
            largest_in_a_leaf,
        })
        .collect()
    }

    fn tenant_lines(&self, stranded: &BTreeMap<TenantKey, u64>) -> Vec<TenantLine> {
        let people = self.people.iter().zip((0..).map(TenantKey));
        people
            .map(|(person, key)| {
                let account = self.people.account(key);
                let [reserved, on_demand, preemptible] = account.used.map(u64::from);
                TenantLine {
                    tenant: person.said.name.clone(),
                    grade: person.grade,
                    reserved,
                    on_demand,
                    preemptible,
                    quota: account.quota,
                    reservation: account.quotas.reserved,
                    stranded: stranded.get(&key).copied().unwrap_or(0),
                }
            })
            .collect()
    }
}

impl Split {
    fn add(&mut self, is: &Use, gpus: u64) {
        self.gpus += gpus;
        *match is {
            Use::Used => &mut self.used,
            Use::Resting => &mut self.resting,
            Use::Unusable => &mut self.unusable,
            Use::Stranded(_) => &mut self.stranded,
            Use::Fragmented => &mut self.fragmented,
            Use::Free => &mut self.free,
        } += gpus;
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            gpus: self.gpus + other.gpus,
            used: self.used + other.used,
            resting: self.resting + other.resting,
            unusable: self.unusable + other.unusable,
            stranded: self.stranded + other.stranded,
            fragmented: self.fragmented + other.fragmented,
            free: self.free + other.free,
        }
    }
}
