use std::collections::{BTreeMap, BTreeSet};

use model::{Fleet, Grade, Health, NicRef, Node, NodeId, NodeModel, PodId, SwitchId, TenantName};

/// Who is where, kept so that a place for one more is found without looking at everybody.
/// What rests still takes its place.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    nodes: Vec<NodeRoom>,
    leaves: Vec<LeafRoom>,
    pods: Vec<PodRoom>,
    keys: BTreeMap<TenantName, TenantKey>,
    tenants: Vec<(TenantName, Grade)>,
}

/// A tenant in this room: a small number is compared faster than a name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct TenantKey(u32);

/// Where two may not be together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shared {
    Node(NodeId),
    Leaf(SwitchId),
}

/// How many interfaces or nodes each tenant has somewhere. Few tenants are in one place.
type Counts = Vec<(TenantKey, u32)>;

/// The tenants below a leaf, with how many nodes each has there.
#[derive(Clone, Debug, Default)]
struct LeafRoom {
    tenants: Counts,
    /// Those of them that share no leaf: nearly always nobody, and asked for very often.
    strict: Counts,
}

#[derive(Clone, Debug)]
struct NodeRoom {
    pod: PodId,
    /// Whether new work may be put here.
    usable: bool,
    nics: Vec<NicRoom>,
    tenants: Counts,
    leaves: Vec<SwitchId>,
}

#[derive(Clone, Copy, Debug)]
struct NicRoom {
    gpus: u16,
    free: bool,
}

#[derive(Clone, Debug, Default)]
struct PodRoom {
    free_gpus: u32,
    /// Usable nodes with room that nobody is on.
    empty: BTreeSet<NodeId>,
    /// Usable nodes with room whose tenants all share a host.
    open: BTreeSet<NodeId>,
    /// Usable nodes with room by the only tenant on them, which shares no host.
    own: BTreeMap<TenantKey, BTreeSet<NodeId>>,
}

impl Room {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        let mut room = Self {
            nodes: fleet.nodes.iter().map(|node| NodeRoom::new(fleet, node)).collect(),
            leaves: vec![LeafRoom::default(); fleet.switches.len()],
            pods: vec![PodRoom::default(); fleet.pods.len()],
            keys: BTreeMap::new(),
            tenants: Vec::new(),
        };
        for node in (0..fleet.nodes.len() as u32).map(NodeId) {
            room.enlist(node);
        }
        room
    }

    /// The key of a tenant, which shares with others what this grade allows.
    pub(crate) fn key(&mut self, tenant: &TenantName, grade: Grade) -> TenantKey {
        if let Some(&key) = self.keys.get(tenant) {
            return key;
        }
        let key = TenantKey(self.tenants.len() as u32);
        self.keys.insert(tenant.clone(), key);
        self.tenants.push((tenant.clone(), grade));
        key
    }

    pub(crate) fn tenant(&self, key: TenantKey) -> &(TenantName, Grade) {
        &self.tenants[key.0 as usize]
    }

    /// How many GPUs use this interface.
    pub(crate) fn gpus_behind(&self, nic: NicRef) -> u32 {
        u32::from(self.nodes[nic.node.index()].nics[usize::from(nic.nic)].gpus)
    }

    pub(crate) fn free_gpus(&self, pod: PodId) -> u32 {
        self.pods[pod.index()].free_gpus
    }

    /// The free interfaces of a node with the number of GPUs behind each.
    pub(crate) fn free_nics(&self, node: NodeId) -> impl Iterator<Item = (NicRef, u32)> {
        let nics = self.nodes[node.index()].nics.iter().zip(0_u16..);
        nics.filter(|(room, _)| room.free && room.gpus > 0)
            .map(move |(room, nic)| (NicRef { node, nic }, u32::from(room.gpus)))
    }

    /// The nodes of a pod that have room and that a tenant of this grade may use as far as the
    /// other tenants on the node go, in order.
    pub(crate) fn candidates(&self, pod: PodId, key: TenantKey) -> impl Iterator<Item = NodeId> {
        let pod = &self.pods[pod.index()];
        let partly =
            if shares_host(self.tenant(key).1) { Some(&pod.open) } else { pod.own.get(&key) };
        merge(pod.empty.iter().copied(), partly.into_iter().flatten().copied())
    }

    /// Somebody on this node, or under one of its leaves, with whom this tenant may not be
    /// there.
    pub(crate) fn stranger(&self, node: NodeId, key: TenantKey) -> Option<(Shared, TenantKey)> {
        let grade = self.tenant(key).1;
        let room = &self.nodes[node.index()];
        let on_node = others(&room.tenants, key)
            .find(|&other| !shares_host(grade) || !shares_host(self.tenant(other).1))
            .map(|other| (Shared::Node(node), other));
        on_node.or_else(|| {
            room.leaves.iter().find_map(|&leaf| {
                let below = &self.leaves[leaf.index()];
                let unwelcome = if grade == Grade::Domain { &below.tenants } else { &below.strict };
                others(unwelcome, key).next().map(|other| (Shared::Leaf(leaf), other))
            })
        })
    }

    /// Puts a tenant on interfaces of one node; those it is on already stay as they are.
    pub(crate) fn occupy(&mut self, node: NodeId, nics: &[u16], key: TenantKey) {
        self.change(node, nics, key, false);
    }

    /// Takes a tenant off interfaces of one node.
    pub(crate) fn vacate(&mut self, node: NodeId, nics: &[u16], key: TenantKey) {
        self.change(node, nics, key, true);
    }

    fn change(&mut self, node: NodeId, nics: &[u16], key: TenantKey, free: bool) {
        self.delist(node);
        let room = &mut self.nodes[node.index()];
        let mut changed = 0;
        for &nic in nics {
            let nic = &mut room.nics[usize::from(nic)];
            changed += u32::from(nic.free != free);
            nic.free = free;
        }
        let before = count_of(&room.tenants, key);
        let after = if free { before - changed } else { before + changed };
        set_count(&mut room.tenants, key, after);
        if (before == 0) != (after == 0) {
            let strict = self.tenants[key.0 as usize].1 == Grade::Domain;
            for leaf in &room.leaves {
                let below = &mut self.leaves[leaf.index()];
                let nodes = count_of(&below.tenants, key);
                let nodes = if free { nodes - 1 } else { nodes + 1 };
                set_count(&mut below.tenants, key, nodes);
                if strict {
                    set_count(&mut below.strict, key, nodes);
                }
            }
        }
        self.enlist(node);
    }

    fn enlist(&mut self, node: NodeId) {
        let Some((list, pod)) = self.listed(node) else {
            return;
        };
        let gpus = self.free_gpus_on(node);
        let pod = &mut self.pods[pod.index()];
        pod.free_gpus += gpus;
        match list {
            List::Empty => pod.empty.insert(node),
            List::Open => pod.open.insert(node),
            List::Own(key) => pod.own.entry(key).or_default().insert(node),
            List::Mixed => false,
        };
    }

    fn delist(&mut self, node: NodeId) {
        let Some((list, pod)) = self.listed(node) else {
            return;
        };
        let gpus = self.free_gpus_on(node);
        let pod = &mut self.pods[pod.index()];
        pod.free_gpus -= gpus;
        match list {
            List::Empty => drop(pod.empty.remove(&node)),
            List::Open => drop(pod.open.remove(&node)),
            List::Own(key) => {
                if let Some(own) = pod.own.get_mut(&key) {
                    own.remove(&node);
                }
            }
            List::Mixed => {}
        }
    }

    /// On which list of its pod a node belongs, if it has room for new work at all.
    fn listed(&self, node: NodeId) -> Option<(List, PodId)> {
        let room = &self.nodes[node.index()];
        if !room.usable || self.free_gpus_on(node) == 0 {
            return None;
        }
        let list = match room.tenants.as_slice() {
            [] => List::Empty,
            tenants if tenants.iter().all(|&(key, _)| shares_host(self.tenant(key).1)) => {
                List::Open
            }
            [(key, _)] => List::Own(*key),
            _ => List::Mixed,
        };
        Some((list, room.pod))
    }

    fn free_gpus_on(&self, node: NodeId) -> u32 {
        self.free_nics(node).map(|(_, gpus)| gpus).sum()
    }
}

/// The list of a pod that a node with room stands on.
enum List {
    Empty,
    Open,
    Own(TenantKey),
    /// Tenants are together who may not be: nobody may join them.
    Mixed,
}

impl NodeRoom {
    fn new(fleet: &Fleet, node: &Node) -> Self {
        let model = &fleet.node_models[node.model.index()];
        let leaves: BTreeSet<SwitchId> = node.uplinks.iter().map(|uplink| uplink.leaf).collect();
        Self {
            pod: node.pod,
            usable: node.health == Health::Good,
            nics: (0..model.nics.len())
                .map(|nic| NicRoom { gpus: gpus_behind(model, nic), free: true })
                .collect(),
            tenants: Counts::new(),
            leaves: leaves.into_iter().collect(),
        }
    }
}

/// How many GPUs `g` have `g * nics / gpus` equal to this interface.
fn gpus_behind(model: &NodeModel, nic: usize) -> u16 {
    let (gpus, nics) = (usize::from(model.gpus), model.nics.len());
    let first_of = |nic: usize| (nic * gpus).div_ceil(nics);
    match u16::try_from(first_of(nic + 1) - first_of(nic)) {
        Ok(gpus) => gpus,
        Err(_) => unreachable!("one interface serves no more GPUs than the node has"),
    }
}

fn shares_host(grade: Grade) -> bool {
    grade >= Grade::Gpu
}

fn others(counts: &Counts, key: TenantKey) -> impl Iterator<Item = TenantKey> {
    let keys = counts.iter().map(|&(other, _)| other);
    keys.filter(move |&other| other != key)
}

fn count_of(counts: &Counts, key: TenantKey) -> u32 {
    let found = counts.binary_search_by_key(&key, |&(other, _)| other);
    found.map_or(0, |at| counts[at].1)
}

/// The order of tenants must not depend on who came first: it stays that of their keys.
fn set_count(counts: &mut Counts, key: TenantKey, count: u32) {
    match (counts.binary_search_by_key(&key, |&(other, _)| other), count) {
        (Ok(at), 0) => drop(counts.remove(at)),
        (Ok(at), _) => counts[at].1 = count,
        (Err(_), 0) => {}
        (Err(at), _) => counts.insert(at, (key, count)),
    }
}

/// Two ascending sequences without common members as one.
fn merge(
    a: impl Iterator<Item = NodeId>,
    b: impl Iterator<Item = NodeId>,
) -> impl Iterator<Item = NodeId> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(first), Some(second)) if second < first => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}
