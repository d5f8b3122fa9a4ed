//! Which GPUs the switches of a board can join, each set by its fabric manager's number.

use crate::{GpuModel, NodeModel};

/// GPUs that the switches of a board can join.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BoardPartition {
    /// The number by which the fabric manager knows it.
    pub number: u16,
    /// Its GPUs: module `g + 1` is bit `g`.
    pub gpus: u64,
}

impl GpuModel {
    /// Whether it is one of AMD's, which have other drivers, device files and partitions.
    #[must_use]
    pub fn is_amd(&self) -> bool {
        self.product.starts_with("MI")
    }
}

impl NodeModel {
    /// What the board's switches can join, as the document says or as the board is known for.
    /// Nothing is a board whose GPUs need no partition; no partitions are a board whose table
    /// nobody has seen.
    ///
    /// Tables differ by board and release of the fabric manager, and so do the numbers. A
    /// document's partitions are numbered from 0 in their order.
    #[must_use]
    pub fn board_partitions(&self) -> Option<Vec<BoardPartition>> {
        if let Some(partitions) = &self.partitions {
            let sets = partitions.iter().map(|modules| of_modules(modules));
            return Some(numbered(0, sets));
        }
        let (first, pairs) = match self.gpu.board.as_str() {
            "HGX-H100/H200-8GPU" => (0, [[1, 3], [2, 4], [5, 7], [6, 8]]),
            "HGX-B200-8GPU" => (1, [[1, 2], [3, 4], [5, 6], [7, 8]]),
            board if board.starts_with("HGX") => return Some(Vec::new()),
            _ => return None,
        };
        let whole_and_halves = [0xff, 0x0f, 0xf0].into_iter();
        let pairs = pairs.iter().map(|pair| of_modules(pair));
        let sets = whole_and_halves.chain(pairs).chain((0..8).map(|gpu| 1 << gpu));
        Some(numbered(first, sets))
    }
}

fn numbered(first: u16, sets: impl Iterator<Item = u64>) -> Vec<BoardPartition> {
    (first..).zip(sets).map(|(number, gpus)| BoardPartition { number, gpus }).collect()
}

/// Modules are counted from 1, and none above 64 exists.
fn of_modules(modules: &[u16]) -> u64 {
    modules.iter().fold(0, |set, &module| set | 1 << (module - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PciLayout, Versions};

    #[test]
    fn partitions_have_the_numbers_of_their_fabric_manager() {
        // As fabric managers of the two boards list them: module ids, and not the PCI order.
        check(
            "HGX-H100/H200-8GPU",
            None,
            &[(0, 0xff), (1, 0x0f), (3, 0b101), (6, 0xa0), (14, 0x80)],
        );
        check("HGX-B200-8GPU", None, &[(1, 0xff), (3, 0xf0), (4, 0b11), (8, 1), (15, 0x80)]);
        check("HGX-H100/H200-8GPU", Some(vec![vec![1, 5], vec![2]]), &[(0, 0x11), (1, 0b10)]);
    }

    #[test]
    fn a_board_nobody_has_seen_has_none_and_one_without_switches_needs_none() {
        assert_eq!(model("HGX-A100-8GPU", None).board_partitions(), Some(Vec::new()));
        assert_eq!(model("PCIe", None).board_partitions(), None);
    }

    fn check(board: &str, partitions: Option<Vec<Vec<u16>>>, expected: &[(u16, u64)]) {
        let found = model(board, partitions).board_partitions().unwrap();
        for &(number, gpus) in expected {
            assert!(
                found.contains(&BoardPartition { number, gpus }),
                "{board} {number}: {found:?}"
            );
        }
    }

    fn model(board: &str, partitions: Option<Vec<Vec<u16>>>) -> NodeModel {
        NodeModel {
            name: "m".parse().unwrap(),
            gpu: GpuModel { product: "H100-80GB".into(), board: board.into() },
            gpus: 8,
            partitions,
            gpu_groups: Vec::new(),
            gpu_numa: Vec::new(),
            nics: Vec::new(),
            pci: PciLayout::default(),
            versions: Versions::default(),
        }
    }
}
