//! Exactly what one gang gets: whole nodes, parts of nodes, slices and keys.

use model::{Name, NodeId};

use super::ground::Ground;
use super::keys::FabricKeys;
use super::map::bits;

/// Exactly what one gang gets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Spot {
    /// Whole nodes.
    pub stretches: Vec<Stretch>,
    /// Some GPUs of a node, with the interfaces and IOMMU groups that go with them.
    pub parts: Vec<SpotPart>,
    /// Slices of GPUs.
    pub slices: Vec<SliceAt>,
    /// The numbers that keep it apart on the fabrics of GPUs.
    pub keys: FabricKeys,
}

/// Whole nodes of one block.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Stretch {
    pub(crate) block: u32,
    /// In halves, so that a stretch is three words of four bytes and not four: gangs have many,
    /// and what is below a kilobyte is allocated faster.
    nodes: [u32; 2],
}

impl Stretch {
    pub(crate) const fn new(block: u32, nodes: u64) -> Self {
        Self { block, nodes: [nodes as u32, (nodes >> 32) as u32] }
    }

    /// A bit for each node of the block.
    pub(crate) fn nodes(self) -> u64 {
        let [low, high] = self.nodes.map(u64::from);
        low | high << 32
    }
}

impl std::fmt::Debug for Stretch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told = f.debug_struct("Stretch");
        told.field("block", &self.block).field("nodes", &self.nodes()).finish()
    }
}

/// Some GPUs of one node: module `g + 1` is bit `g`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SpotPart {
    /// The node.
    pub node: NodeId,
    /// Its GPUs. None are an interface that no GPU uses.
    pub gpus: u64,
}

/// One slice of one GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SliceAt {
    /// The node.
    pub node: NodeId,
    /// The GPU; its module id is one more.
    pub gpu: u16,
    /// The profile's place in the list of its product.
    pub profile: u8,
    /// Its first memory slot.
    pub start: u8,
}

impl Spot {
    /// Whether it is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.parts.is_empty() && self.slices.is_empty()
    }
}

/// Reading a spot.
impl Ground {
    /// The whole GPUs of a spot, node by node.
    pub fn gpus<'a>(&'a self, spot: &'a Spot) -> impl Iterator<Item = (NodeId, u64)> + 'a {
        let stretches = spot.stretches.iter();
        let whole = stretches.flat_map(|stretch| {
            let all = self.map.shape(self.map.blocks[stretch.block as usize].pool).all();
            self.map.nodes_in(stretch.block, stretch.nodes()).map(move |node| (node, all))
        });
        whole.chain(spot.parts.iter().map(|part| (part.node, part.gpus)))
    }

    /// How many GPUs a spot counts for: a GPU that is cut into slices counts once for each
    /// gang on it.
    #[must_use]
    pub fn count(&self, spot: &Spot) -> u32 {
        let whole = spot.stretches.iter().map(|stretch| {
            let pool = self.map.blocks[stretch.block as usize].pool;
            stretch.nodes().count_ones() * self.map.shape(pool).gpus()
        });
        let parts = spot.parts.iter().map(|part| part.gpus.count_ones());
        let mut sliced: Vec<(NodeId, u16)> =
            spot.slices.iter().map(|slice| (slice.node, slice.gpu)).collect();
        sliced.sort_unstable();
        sliced.dedup();
        whole.chain(parts).sum::<u32>() + sliced.len() as u32
    }

    /// The leaves of a spot, each with how many of its nodes.
    #[must_use]
    pub fn leaves(&self, spot: &Spot) -> Vec<(Name, u32)> {
        let slices = spot.slices.iter().map(|slice| (slice.node, 1));
        let mut nodes: Vec<NodeId> = self.gpus(spot).chain(slices).map(|(node, _)| node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut leaves: Vec<(Name, u32)> = Vec::new();
        for node in nodes {
            let switch = self.map.nodes[node.index()].switch;
            let name = &self.map.fleet.switches[switch.index()].name;
            match leaves.iter_mut().find(|(leaf, _)| leaf == name) {
                Some((_, count)) => *count += 1,
                None => leaves.push((name.clone(), 1)),
            }
        }
        leaves
    }

    /// The interfaces that go with some GPUs of a node.
    pub fn nics(&self, node: NodeId, gpus: u64) -> impl Iterator<Item = u16> {
        self.map.shape_of(node).nics_of(gpus)
    }

    /// The module ids of some GPUs.
    pub fn modules(gpus: u64) -> impl Iterator<Item = u32> {
        bits(gpus).map(|bit| bit + 1)
    }

    /// The virtual function that goes with a slice: eight for each GPU behind its interface.
    #[must_use]
    pub fn vf(&self, slice: &SliceAt) -> Option<(u16, u16)> {
        let shape = self.map.shape_of(slice.node);
        let nic = shape.nics_of(1 << slice.gpu).next()?;
        let before = shape.gpus_of(nic) & ((1 << slice.gpu) - 1);
        Some((nic, before.count_ones() as u16 * 8 + u16::from(slice.start)))
    }
}
