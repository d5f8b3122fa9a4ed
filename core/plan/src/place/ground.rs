//! Who is where and what is free, kept so that a place is found without looking at everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{ApartLevel, Capacity, Fleet, Health, NodeId, PodId, SwitchId, Tenant, TenantName};

use super::book::{Gang, GangId, Gangs};
use super::buckets::Buckets;
use super::keys::Keys;
use super::map::{Map, bits};
use super::people::{People, TenantKey};
use super::presence::Presence;
use super::slices::MigGpu;

/// Who is where on all of the fleet, and what is free, indexed so that a place for one more is
/// found without looking at everybody. It is the sum of its entries and is never computed from
/// what the inventory happens to show.
#[derive(Clone, Debug)]
pub struct Ground {
    pub(crate) map: Arc<Map>,
    pub(crate) people: People,
    pub(crate) gangs: Gangs,
    pub(crate) nodes: Vec<NodeAt>,
    /// The gang that holds all of a node. They stand by themselves, so that a large gang touches
    /// little memory.
    pub(crate) wholes: Vec<Option<GangId>>,
    /// Who is on the nodes that are not held as a whole.
    pub(crate) parted: Vec<Option<Box<Parted>>>,
    /// The nodes of each block that are usable and empty.
    pub(crate) blocks: Vec<u64>,
    /// How many those are below each leaf.
    pub(crate) leaves: Vec<u32>,
    pub(crate) switches: Vec<SwitchAt>,
    /// The same by tenant.
    pub(crate) presence: Presence,
    pub(crate) pools: Vec<PoolAt>,
    /// How many holdings each tenant has in each pod.
    pub(crate) pods: Vec<Vec<u32>>,
    /// Partition keys and memory channels that somebody holds.
    pub(crate) keys: Keys,
    /// Free GPUs on usable nodes.
    pub(crate) idle: u64,
}

/// What is known of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeAt {
    /// GPUs that no part of it holds and that are not in quarantine.
    pub(super) free: u64,
    /// GPUs that nobody may get, held or not.
    pub(crate) quarantined: u64,
    pub(crate) health: Health,
    pub(crate) is_lost: bool,
}

impl NodeAt {
    /// What is free if no gang holds all of it.
    pub(crate) const fn free_in_parts(&self) -> u64 {
        self.free
    }

    /// Whether new work may be put here.
    pub(crate) fn is_usable(&self) -> bool {
        self.health == Health::Good && !self.is_lost
    }
}

/// Who is on a node that is held in parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parted {
    /// Whole GPUs by gang; a gang may hold an interface without any GPU.
    pub(crate) gangs: Vec<(GangId, u64)>,
    /// GPUs that are cut into slices.
    pub(crate) sliced: BTreeMap<u16, MigGpu>,
}

impl Parted {
    fn is_empty(&self) -> bool {
        self.gangs.is_empty() && self.sliced.is_empty()
    }
}

/// Who is below a leaf switch.
#[derive(Clone, Debug, Default)]
pub(crate) struct SwitchAt {
    /// How many holdings each tenant has, in the order of keys.
    pub(crate) tenants: Vec<(TenantKey, u32)>,
    /// How many of those tenants want the leaf for themselves.
    keyed: u32,
}

/// What is free in a pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolAt {
    /// Below leaves that nobody has for himself.
    pub(crate) open: Rooms,
    /// Below leaves that nobody is on.
    pub(crate) vacant: Rooms,
    /// Partly used nodes whose tenants share a host, by the rank of what is free.
    pub(crate) parts: Buckets,
    /// Nodes that nobody is on but that are not whole, because a GPU is in quarantine.
    pub(crate) bare: Buckets,
    /// GPUs cut into slices, with room: by who has them for himself (nobody if they are
    /// shared), by which slots are busy.
    pub(crate) sliced: BTreeMap<CutLike, BTreeSet<(NodeId, u16)>>,
}

/// How a GPU is cut: who has it for himself, and which slots are busy.
pub(crate) type CutLike = (Option<TenantKey>, u8);

/// Empty nodes, by how many are together.
#[derive(Clone, Debug)]
pub(crate) struct Rooms {
    pub(crate) leaves: Buckets,
    /// Kept only where leaves have several blocks.
    pub(crate) blocks: Buckets,
    pub(crate) nodes: u32,
}

/// To whom a place belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stance {
    /// Nobody is there.
    Empty,
    /// Everybody there shares it.
    Open,
    /// One tenant has it for itself.
    Own(TenantKey),
    /// Tenants are together who may not be: nobody may join them.
    Mixed,
}

impl Ground {
    /// A fleet that nobody is on.
    #[must_use]
    pub fn new(fleet: &Arc<Fleet>, tenants: &BTreeMap<TenantName, Tenant>) -> Self {
        let map = Arc::new(Map::new(fleet));
        let people = People::new(&map, tenants);
        let mut ground = Self {
            gangs: Gangs::default(),
            nodes: Vec::with_capacity(map.nodes.len()),
            wholes: vec![None; map.nodes.len()],
            parted: vec![None; map.nodes.len()],
            blocks: vec![0; map.blocks.len()],
            leaves: vec![0; map.leaves.len()],
            switches: vec![SwitchAt::default(); fleet.switches.len()],
            presence: Presence::new(people.len(), fleet.switches.len()),
            pools: (0..map.pools.len()).map(|pool| PoolAt::new(&map, pool)).collect(),
            pods: vec![vec![0; people.len()]; fleet.pods.len()],
            keys: Keys::new(map.domains as usize),
            idle: 0,
            people,
            map,
        };
        for (node, on) in fleet.nodes.iter().zip(&ground.map.nodes) {
            ground.nodes.push(NodeAt {
                free: ground.map.shapes[on.model.index()].all(),
                quarantined: 0,
                health: node.health,
                is_lost: false,
            });
        }
        ground.list_all();
        ground
    }

    /// The key of a tenant.
    #[must_use]
    pub fn tenant(&self, name: &TenantName) -> Option<TenantKey> {
        self.people.key(name)
    }

    /// The fleet.
    #[must_use]
    pub fn fleet(&self) -> &Arc<Fleet> {
        &self.map.fleet
    }

    /// The key of a tenant, which is added if nobody described it.
    pub(crate) fn tenant_like(&mut self, tenant: &Tenant) -> TenantKey {
        let key = self.people.add(&self.map, tenant);
        for tenants in &mut self.pods {
            tenants.resize(self.people.len(), 0);
        }
        self.presence.grow(self.people.len());
        key
    }

    /// Puts a gang on whole nodes of a block. They are empty, unless the gang comes back to
    /// nodes that were lost or fell ill while it was there.
    pub(crate) fn take_nodes(&mut self, gang: GangId, key: TenantKey, block: u32, mask: u64) {
        let map = Arc::clone(&self.map);
        let empty = mask & self.blocks[block as usize];
        for node in map.nodes_in(block, mask & !empty) {
            self.change(node, |ground| ground.wholes[node.index()] = Some(gang));
        }
        let leaf = map.blocks[block as usize].leaf;
        let switch = map.leaves[leaf as usize].switch;
        let gpus = map.shape(map.blocks[block as usize].pool).gpus();
        for node in map.nodes_in(block, empty) {
            self.wholes[node.index()] = Some(gang);
        }
        self.idle -= u64::from(empty.count_ones()) * u64::from(gpus);
        self.relist(block, |ground| {
            ground.blocks[block as usize] &= !empty;
            ground.leaves[leaf as usize] -= empty.count_ones();
            ground.note(switch, key, mask.count_ones(), true);
        });
    }

    /// Takes a gang off whole nodes of a block.
    pub(crate) fn give_nodes(&mut self, key: TenantKey, block: u32, mask: u64) {
        let map = Arc::clone(&self.map);
        let leaf = map.blocks[block as usize].leaf;
        let switch = map.leaves[leaf as usize].switch;
        let mut empty = 0;
        for (node, bit) in map.nodes_in(block, mask).zip(bits(mask)) {
            self.wholes[node.index()] = None;
            let at = &self.nodes[node.index()];
            if at.is_usable() {
                self.idle += u64::from(at.free.count_ones());
                empty |= u64::from(at.quarantined == 0) << bit;
            }
        }
        self.relist(block, |ground| {
            ground.blocks[block as usize] |= empty;
            ground.leaves[leaf as usize] += empty.count_ones();
            ground.note(switch, key, mask.count_ones(), false);
        });
        for node in map.nodes_in(block, mask & !empty) {
            self.list_bare(node);
        }
    }

    /// Changes what is on one node, or what is known of it, and keeps every list right.
    pub(crate) fn change(&mut self, node: NodeId, change: impl FnOnce(&mut Self)) {
        self.relist(self.map.nodes[node.index()].block, |ground| {
            ground.delist(node);
            change(ground);
            let all = ground.map.shape_of(node).all();
            let held = ground.held_in_parts(node);
            let at = &mut ground.nodes[node.index()];
            at.free = all & !held & !at.quarantined;
            if ground.parted[node.index()].as_ref().is_some_and(|parted| parted.is_empty()) {
                ground.parted[node.index()] = None;
            }
            ground.list(node);
        });
    }

    /// Puts a gang on some GPUs of a node.
    pub(crate) fn take_part(&mut self, gang: GangId, key: TenantKey, node: NodeId, gpus: u64) {
        self.change(node, |ground| {
            let parted = ground.parted[node.index()].get_or_insert_default();
            parted.gangs.push((gang, gpus));
            parted.gangs.sort_unstable();
            ground.note(ground.map.nodes[node.index()].switch, key, 1, true);
        });
    }

    /// Takes a gang off the GPUs of a node.
    pub(crate) fn give_part(&mut self, gang: GangId, key: TenantKey, node: NodeId) {
        self.change(node, |ground| {
            if let Some(parted) = &mut ground.parted[node.index()] {
                parted.gangs.retain(|(one, _)| *one != gang);
            }
            ground.note(ground.map.nodes[node.index()].switch, key, 1, false);
        });
    }

    /// The GPUs of a node that somebody holds.
    pub(crate) fn held(&self, node: NodeId) -> u64 {
        match self.wholes[node.index()] {
            Some(_) => self.map.shape_of(node).all(),
            None => self.held_in_parts(node),
        }
    }

    /// The GPUs of a node that nobody holds and that are not in quarantine.
    pub(crate) fn free(&self, node: NodeId) -> u64 {
        match self.wholes[node.index()] {
            Some(_) => 0,
            None => self.nodes[node.index()].free,
        }
    }

    fn held_in_parts(&self, node: NodeId) -> u64 {
        let parted = self.parted[node.index()].as_deref();
        let whole = parted.into_iter().flat_map(|parted| &parted.gangs).map(|&(_, gpus)| gpus);
        let sliced = parted.into_iter().flat_map(|parted| parted.sliced.keys());
        whole.chain(sliced.map(|&gpu| 1 << gpu)).fold(0, |held, gpus| held | gpus)
    }

    /// The gangs on a node, each as often as it holds something there.
    pub(crate) fn gangs_on(&self, node: NodeId) -> impl Iterator<Item = &Gang> {
        let whole = self.wholes[node.index()];
        let parted = self.parted[node.index()].as_deref();
        let parts = parted.into_iter().flat_map(|parted| &parted.gangs).map(|&(gang, _)| gang);
        let sliced = parted.into_iter().flat_map(|parted| parted.sliced.values());
        let slices = sliced.flat_map(MigGpu::gangs);
        whole.into_iter().chain(parts).chain(slices).filter_map(|gang| self.gangs.at(gang))
    }

    /// To whom a node belongs.
    pub(crate) fn stance_of_node(&self, node: NodeId) -> Stance {
        let tenants = self.gangs_on(node).map(|gang| gang.tenant);
        self.stance(tenants, |key| !self.people.at(key).shares_host())
    }

    /// To whom a leaf switch belongs.
    pub(crate) fn stance_of_switch(&self, switch: SwitchId) -> Stance {
        let at = &self.switches[switch.index()];
        match (at.tenants.as_slice(), at.keyed) {
            ([], _) => Stance::Empty,
            (_, 0) => Stance::Open,
            ([(key, _)], _) => Stance::Own(*key),
            _ => Stance::Mixed,
        }
    }

    pub(crate) fn stance(
        &self,
        tenants: impl Iterator<Item = TenantKey>,
        keys: impl Fn(TenantKey) -> bool,
    ) -> Stance {
        let mut stance = Stance::Empty;
        let mut first = None;
        for key in tenants {
            let same = first.is_none_or(|first| first == key);
            first = first.or(Some(key));
            stance = match (stance, keys(key)) {
                (Stance::Empty, true) => Stance::Own(key),
                (Stance::Empty | Stance::Open, false) => Stance::Open,
                (Stance::Own(owner), _) if owner == key => stance,
                (Stance::Open, true) if same => Stance::Own(key),
                _ => Stance::Mixed,
            };
        }
        stance
    }

    /// Whether two that must stay apart would meet below this switch.
    pub(crate) fn is_apart_at(&self, switch: SwitchId, key: TenantKey) -> bool {
        let apart = &self.people.at(key).apart;
        let mut near = apart.iter().filter(|(_, level)| *level >= ApartLevel::Leaf);
        near.all(|&(other, _)| !self.presence.is_below(other, switch))
    }

    /// Whether two that must stay apart would meet in this pod, or at its site.
    pub(crate) fn is_apart_in(&self, pod: PodId, key: TenantKey) -> bool {
        let fleet = &self.map.fleet;
        self.people.at(key).apart.iter().all(|&(other, level)| match level {
            ApartLevel::Node | ApartLevel::Leaf => true,
            ApartLevel::Pod => self.pods[pod.index()][other.index()] == 0,
            ApartLevel::Site => {
                let site = fleet.pods[pod.index()].site;
                let mut there = fleet.pods.iter().zip(&self.pods);
                there.all(|(pod, tenants)| pod.site != site || tenants[other.index()] == 0)
            }
        })
    }

    /// Whether two that must stay apart would meet on this node.
    pub(crate) fn is_apart_on(&self, node: NodeId, key: TenantKey) -> bool {
        let switch = self.map.nodes[node.index()].switch;
        self.people.at(key).apart.iter().all(|&(other, _)| {
            // Who is not even below the leaf is not on the node.
            !self.presence.is_below(other, switch)
                || self.gangs_on(node).all(|gang| gang.tenant != other)
        })
    }

    /// Notes that a tenant came, or went, below a switch.
    pub(crate) fn note(&mut self, switch: SwitchId, key: TenantKey, count: u32, comes: bool) {
        let keys_leaf = u32::from(self.people.at(key).keys_leaf());
        let at = &mut self.switches[switch.index()];
        match at.tenants.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(place) if comes => at.tenants[place].1 += count,
            Ok(place) if at.tenants[place].1 > count => at.tenants[place].1 -= count,
            Ok(place) => {
                at.tenants.remove(place);
                at.keyed -= keys_leaf;
                self.presence.goes(key, switch);
            }
            Err(place) => {
                assert!(comes, "a tenant goes only from where it is");
                at.tenants.insert(place, (key, count));
                at.keyed += keys_leaf;
                self.presence.comes(key, switch);
            }
        }
        if let Some(pod) = self.map.fleet.switches[switch.index()].pod {
            let held = &mut self.pods[pod.index()][key.index()];
            *held = if comes { *held + count } else { *held - count };
        }
    }

    /// Free GPUs, or GPUs that a preemptible job holds.
    pub(crate) fn within_reach(&self) -> u64 {
        self.idle + self.gangs.held_by(Capacity::Preemptible)
    }
}
