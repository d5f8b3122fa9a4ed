//! Where everything stands: nodes in blocks, blocks below leaves, leaves in pools.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use model::{Fleet, Node, NodeId, NodeModel, NodeModelId, PodId, SwitchId, Versions};

use super::mig::Geometry;
use super::shape::Shape;

/// Where everything stands: the levels of the fleet, numbered so that what belongs together
/// stands together. It never changes while a ground lives.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) shapes: Vec<Shape>,
    /// How the GPUs of each kind of node can be cut into slices.
    pub(crate) geometries: Vec<Option<Geometry>>,
    /// What runs on nodes: every combination that occurs, once.
    pub(crate) software: Vec<Versions>,
    pub(crate) nodes: Vec<NodeOn>,
    pub(crate) blocks: Vec<Block>,
    /// How many NVLink domains there are.
    pub(crate) domains: u32,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) pools: Vec<Pool>,
    /// The leaves of this map at each switch: one for each kind of node below it.
    pub(crate) at_switch: Vec<Vec<u32>>,
}

/// Where a node stands. A look at a node is a look at all of this, so it never lies in two lines
/// of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct NodeOn {
    pub(crate) block: u32,
    /// Which bit of the block's masks it is.
    pub(crate) bit: u8,
    pub(crate) leaf: u32,
    pub(crate) pool: u32,
    /// Its number inside the pool.
    pub(crate) place: u32,
    pub(crate) switch: SwitchId,
    pub(crate) model: NodeModelId,
    pub(crate) software: u16,
}

/// At most 64 nodes below one leaf that belong together: an NVLink domain of several nodes, or
/// nodes whose NVLink ends at their own board.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) leaf: u32,
    pub(crate) pool: u32,
    /// The NVLink domain of its nodes, which may have other blocks too: below another leaf, of
    /// another kind of node, or beyond 64. No two blocks without NVLink between nodes have the same.
    pub(crate) domain: u32,
    pub(crate) nodes: Vec<NodeId>,
    /// Which nodes run which software.
    pub(crate) software: Vec<(u16, u64)>,
}

/// The nodes of one kind below one leaf switch.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) switch: SwitchId,
    pub(crate) pool: u32,
    pub(crate) blocks: Range<u32>,
    pub(crate) nodes: u32,
}

/// The nodes of one kind in one pod. A gang never leaves its pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) pod: PodId,
    pub(crate) model: NodeModelId,
    pub(crate) leaves: Range<u32>,
    pub(crate) blocks: Range<u32>,
    pub(crate) nodes: Vec<NodeId>,
    /// How many nodes the largest leaf has.
    pub(crate) largest_leaf: u32,
    /// Whether leaves have several blocks.
    pub(crate) has_blocks: bool,
    /// Whether NVLink joins the nodes of each block.
    pub(crate) has_domains: bool,
}

/// Block, leaf and pool by what tells them apart.
type Key<'a> = (PodId, NodeModelId, SwitchId, &'a str, usize);

impl Map {
    pub(crate) fn new(fleet: &Arc<Fleet>) -> Self {
        let models = fleet.node_models.iter();
        let mut map = Self {
            fleet: Arc::clone(fleet),
            shapes: fleet.node_models.iter().map(Shape::new).collect(),
            geometries: models.map(geometry).collect(),
            software: Vec::new(),
            nodes: Vec::with_capacity(fleet.nodes.len()),
            blocks: Vec::new(),
            domains: 0,
            leaves: Vec::new(),
            pools: Vec::new(),
            at_switch: vec![Vec::new(); fleet.switches.len()],
        };
        let software = map.intern_software();
        let mut domains = BTreeMap::new();
        for (key, nodes) in grouped(fleet) {
            let fresh = map.domains;
            let domain = match key.3 {
                "" => fresh,
                name => *domains.entry(name).or_insert(fresh),
            };
            map.domains += u32::from(domain == fresh);
            map.add_block(key, domain, nodes, &software);
        }
        map.place_nodes(&software);
        map
    }

    pub(crate) fn shape(&self, pool: u32) -> &Shape {
        &self.shapes[self.pools[pool as usize].model.index()]
    }

    pub(crate) fn shape_of(&self, node: NodeId) -> &Shape {
        &self.shapes[self.nodes[node.index()].model.index()]
    }

    pub(crate) fn geometry(&self, node: NodeId) -> Option<&Geometry> {
        self.geometries[self.nodes[node.index()].model.index()].as_ref()
    }

    /// The nodes of a block that a mask names.
    pub(crate) fn nodes_in(&self, block: u32, mask: u64) -> impl Iterator<Item = NodeId> {
        let nodes = &self.blocks[block as usize].nodes;
        bits(mask).map(|bit| nodes[bit as usize])
    }

    fn intern_software(&mut self) -> Vec<u16> {
        let mut known: BTreeMap<[&str; 5], u16> = BTreeMap::new();
        let fleet = Arc::clone(&self.fleet);
        let of_node = fleet.nodes.iter().map(|node| {
            let versions = &node.versions;
            let boot = if versions.secure_boot { "secure" } else { "" };
            let key: [&str; 5] =
                [&versions.driver, &versions.kernel, &versions.firmware, &versions.toolkit, boot];
            *known.entry(key).or_insert_with(|| {
                self.software.push(versions.clone());
                // Beyond 65,536 combinations the rest would share one, so they share the last.
                u16::try_from(self.software.len() - 1).unwrap_or(u16::MAX)
            })
        });
        of_node.collect()
    }

    fn add_block(&mut self, key: Key<'_>, domain: u32, nodes: Vec<NodeId>, software: &[u16]) {
        let (pod, model, switch, _, _) = key;
        let is_new_pool =
            self.pools.last().is_none_or(|pool| (pool.pod, pool.model) != (pod, model));
        if is_new_pool {
            let (leaf, block) = (self.leaves.len() as u32, self.blocks.len() as u32);
            self.pools.push(Pool {
                pod,
                model,
                leaves: leaf..leaf,
                blocks: block..block,
                nodes: Vec::new(),
                largest_leaf: 0,
                has_blocks: false,
                has_domains: true,
            });
        }
        let pool = self.pools.len() as u32 - 1;
        let block = self.blocks.len() as u32;
        if is_new_pool || self.leaves.last().is_none_or(|leaf| leaf.switch != switch) {
            self.at_switch[switch.index()].push(self.leaves.len() as u32);
            self.leaves.push(Leaf { switch, pool, blocks: block..block, nodes: 0 });
        }
        let leaf = self.leaves.len() as u32 - 1;
        let (at_leaf, at_pool) = (&mut self.leaves[leaf as usize], &mut self.pools[pool as usize]);
        at_leaf.blocks.end = block + 1;
        at_leaf.nodes += nodes.len() as u32;
        at_pool.leaves.end = leaf + 1;
        at_pool.blocks.end = block + 1;
        at_pool.largest_leaf = at_pool.largest_leaf.max(at_leaf.nodes);
        at_pool.has_blocks |= at_leaf.blocks.len() > 1;
        at_pool.has_domains &= domain_nodes(&self.fleet.nodes[nodes[0].index()]).is_some();
        at_pool.nodes.extend(&nodes);
        let software = by_software(&nodes, software);
        self.blocks.push(Block { leaf, pool, domain, software, nodes });
    }

    fn place_nodes(&mut self, software: &[u16]) {
        let mut on = vec![None; self.fleet.nodes.len()];
        for (block, at) in (0..).zip(&self.blocks) {
            for (bit, node) in (0..).zip(&at.nodes) {
                on[node.index()] = Some(NodeOn {
                    block,
                    bit,
                    leaf: at.leaf,
                    pool: at.pool,
                    place: 0,
                    switch: self.leaves[at.leaf as usize].switch,
                    model: self.pools[at.pool as usize].model,
                    software: software[node.index()],
                });
            }
        }
        for pool in &self.pools {
            for (place, node) in (0..).zip(&pool.nodes) {
                if let Some(on) = &mut on[node.index()] {
                    on.place = place;
                }
            }
        }
        self.nodes = on.into_iter().flatten().collect();
        assert!(self.nodes.len() == self.fleet.nodes.len(), "every node stands in one block");
    }
}

/// How the GPUs of a kind of node can be cut, if each slice can have a virtual function of its
/// own: eight for each GPU behind an interface.
fn geometry(model: &NodeModel) -> Option<Geometry> {
    let behind = usize::from(model.gpus).div_ceil(model.nics.len().max(1));
    let enough = model.nics.iter().all(|nic| usize::from(nic.vfs) >= 8 * behind);
    if enough { Geometry::of(&model.gpu.product) } else { None }
}

/// The nodes of each block, in the order of pools, leaves and blocks.
fn grouped(fleet: &Fleet) -> BTreeMap<Key<'_>, Vec<NodeId>> {
    let mut groups: BTreeMap<Key<'_>, Vec<NodeId>> = BTreeMap::new();
    let mut counts: BTreeMap<(PodId, NodeModelId, SwitchId, &str), usize> = BTreeMap::new();
    for (node, id) in fleet.nodes.iter().zip((0..).map(NodeId)) {
        let leaf = node.uplinks.first().map_or(SwitchId(0), |uplink| uplink.leaf);
        let domain = domain_nodes(node).unwrap_or("");
        let before = counts.entry((node.pod, node.model, leaf, domain)).or_default();
        let key = (node.pod, node.model, leaf, domain, *before / 64);
        *before += 1;
        groups.entry(key).or_default().push(id);
    }
    groups
}

/// The NVLink domain of a node, if it reaches beyond the node.
fn domain_nodes(node: &Node) -> Option<&str> {
    (node.nvlink_domain != node.name).then_some(node.nvlink_domain.as_str())
}

fn by_software(nodes: &[NodeId], software: &[u16]) -> Vec<(u16, u64)> {
    let mut masks: BTreeMap<u16, u64> = BTreeMap::new();
    for (bit, node) in nodes.iter().enumerate() {
        *masks.entry(software[node.index()]).or_default() |= 1 << bit;
    }
    masks.into_iter().collect()
}

/// The positions of the bits that are set, lowest first.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

/// The lowest so many bits of those that are set.
pub(crate) fn lowest(mask: u64, count: u32) -> u64 {
    if mask.count_ones() <= count {
        return mask;
    }
    let mut rest = mask;
    for _ in 0..count {
        rest &= rest - 1;
    }
    mask ^ rest
}
