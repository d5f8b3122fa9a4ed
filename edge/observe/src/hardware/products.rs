//! What GPUs are called in documents.

use std::collections::BTreeMap;

use model::PciAddress;

use super::function::PciFunction;

/// Vendor and device, the product's name in documents, and the board that so many of them are on.
struct Product {
    id: (u16, u16),
    name: &'static str,
    board: Option<(usize, &'static str)>,
}

/// What stands for the board of GPUs that are on none.
const NO_BOARD: &str = "PCIe";

const HGX_H100: &str = "HGX-H100/H200-8GPU";

/// The ids up to `0x2342`, and that of the L40S, stand in the public list of PCI ids or in NVIDIA's
/// own administration tools. Those of Blackwell and of AMD were compared with no list: whoever
/// discovers such a node reads the model that is printed. Boards are those of published tables.
const PRODUCTS: [Product; 12] = [
    Product { id: (0x10de, 0x20b0), name: "A100-40GB", board: Some((8, "HGX-A100-8GPU")) },
    Product { id: (0x10de, 0x20b2), name: "A100-80GB", board: Some((8, "HGX-A100-8GPU")) },
    Product { id: (0x10de, 0x20b5), name: "A100-80GB", board: None },
    Product { id: (0x10de, 0x2330), name: "H100-80GB", board: Some((8, HGX_H100)) },
    Product { id: (0x10de, 0x2331), name: "H100-80GB", board: None },
    Product { id: (0x10de, 0x2335), name: "H200-141GB", board: Some((8, HGX_H100)) },
    Product { id: (0x10de, 0x2342), name: "GH200-96GB", board: None },
    Product { id: (0x10de, 0x26b9), name: "L40S-48GB", board: None },
    Product { id: (0x10de, 0x2901), name: "B200-180GB", board: Some((8, "HGX-B200-8GPU")) },
    Product { id: (0x10de, 0x2941), name: "GB200-186GB", board: Some((4, "GB200-NVL72")) },
    Product { id: (0x1002, 0x74a1), name: "MI300X-192GB", board: Some((8, "MI300X-8GPU")) },
    Product { id: (0x1002, 0x74a5), name: "MI325X-256GB", board: Some((8, "MI325X-8GPU")) },
];

/// The product and its board; nothing where nobody listed the id.
pub(super) fn named(gpu: &PciFunction, count: usize) -> Option<(&'static str, &'static str)> {
    let product = PRODUCTS.iter().find(|product| product.id == (gpu.vendor, gpu.device))?;
    let board = product.board.filter(|(gpus, _)| *gpus == count);
    Some((product.name, board.map_or(NO_BOARD, |(_, board)| board)))
}

/// Whether these are known to be on no board, so that nothing depends on their order.
pub(super) fn are_cards(
    gpus: &[PciAddress],
    functions: &BTreeMap<PciAddress, PciFunction>,
) -> bool {
    gpus.iter().all(|gpu| {
        let named = functions.get(gpu).and_then(|found| named(found, gpus.len()));
        named.is_some_and(|(_, board)| board == NO_BOARD)
    })
}
