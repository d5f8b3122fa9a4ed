//! Which GPUs a job gets of a node, board by board.

use expect_test::{Expect, expect};
use model::{GpuModel, Nic, NodeModel, Versions};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Says the sizes of a node, then answers each line `free modules: size` with the best set.
fn check(model: &NodeModel, asked: &str, expected: Expect) {
    let shape = Shape::new(model);
    let mut told = format!("sizes {:?}\n", shape.sizes());
    for line in asked.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (free, size) = line.split_once(": ").unwrap();
        let best = shape.best(mask(free), size.parse().unwrap());
        let best = best.map_or("none".to_owned(), modules);
        told += &format!("{line} -> {best}\n");
    }
    expected.assert_eq(&told);
}

fn mask(modules: &str) -> u64 {
    let modules = modules.split(' ').map(|module| module.parse::<u32>().unwrap());
    modules.fold(0, |set, module| set | 1 << (module - 1))
}

fn modules(set: u64) -> String {
    let modules = (0..64).filter(|gpu| set & 1 << gpu != 0).map(|gpu| (gpu + 1).to_string());
    modules.collect::<Vec<_>>().join(" ")
}

/// Every interface and every GPU has an IOMMU group of its own.
fn model(board: &str, gpus: u16, nics: u16) -> NodeModel {
    NodeModel {
        name: "m".parse().unwrap(),
        gpu: GpuModel { product: "H100-80GB".into(), board: board.into() },
        gpus,
        partitions: None,
        gpu_groups: (nics..nics + gpus).collect(),
        gpu_numa: vec![0; usize::from(gpus)],
        nics: (0..nics)
            .map(|nic| Nic { rate_bps: 400_000_000_000, vfs: 8, numa: 0, iommu_group: nic })
            .collect(),
        pci: model::PciLayout::default(),
        versions: Versions::default(),
    }
}

fn with_partitions(partitions: &[&[u16]]) -> NodeModel {
    let partitions = partitions.iter().map(|modules| modules.to_vec()).collect();
    NodeModel { partitions: Some(partitions), ..model("HGX-H100/H200-8GPU", 8, 8) }
}

#[test]
fn a_pair_is_one_of_the_boards_pairs_and_breaks_nothing_larger() {
    check(
        &model("HGX-H100/H200-8GPU", 8, 8),
        "1 2 3 4 5 6 7 8: 2
         1 2 3: 1
         1 2 3: 2
         1 2: 2
         1 2 3 4 6: 1
         1 2 3 4 5 7: 2
         1 2 3 4 5 6: 3
         1 2 3 4 5 6: 4
         3 4 5 6: 4",
        expect![[r#"
            sizes [1, 2, 4, 8]
            1 2 3 4 5 6 7 8: 2 -> 1 3
            1 2 3: 1 -> 2
            1 2 3: 2 -> 1 3
            1 2: 2 -> none
            1 2 3 4 6: 1 -> 6
            1 2 3 4 5 7: 2 -> 5 7
            1 2 3 4 5 6: 3 -> none
            1 2 3 4 5 6: 4 -> 1 2 3 4
            3 4 5 6: 4 -> none
        "#]],
    );
}

#[test]
fn another_board_has_other_pairs() {
    check(
        &model("HGX-B200-8GPU", 8, 8),
        "1 2 3: 2
         1 3 5 7: 2
         1 3 5 6: 1
         2 3 4 7 8: 2",
        expect![[r#"
            sizes [1, 2, 4, 8]
            1 2 3: 2 -> 1 2
            1 3 5 7: 2 -> none
            1 3 5 6: 1 -> 1
            2 3 4 7 8: 2 -> 3 4
        "#]],
    );
}

#[test]
fn the_documents_table_wins_over_the_known_one() {
    check(
        &with_partitions(&[&[1, 2, 5, 6], &[3, 4, 7, 8], &[1, 3], &[1]]),
        "1 2 3 4 5 6 7 8: 4
         1 2 3 4 5 6 7 8: 1
         2 3 4 5 6 7 8: 1
         1 2 3 4 5 6 7 8: 2
         1 2 3 4: 4",
        expect![[r#"
            sizes [1, 2, 4, 8]
            1 2 3 4 5 6 7 8: 4 -> 3 4 7 8
            1 2 3 4 5 6 7 8: 1 -> 1
            2 3 4 5 6 7 8: 1 -> none
            1 2 3 4 5 6 7 8: 2 -> 1 3
            1 2 3 4: 4 -> none
        "#]],
    );
}

#[test]
fn of_a_board_nobody_knows_only_the_whole_is_given() {
    check(
        &model("HGX-A100-8GPU", 8, 8),
        "1 2 3 4 5 6 7 8: 8\n 1 2 3 4: 4",
        expect![[r#"
            sizes [8]
            1 2 3 4 5 6 7 8: 8 -> 1 2 3 4 5 6 7 8
            1 2 3 4: 4 -> none
        "#]],
    );
}

#[test]
fn gpus_behind_one_interface_stay_together() {
    // Pairs 1 3 and 2 4 would share interfaces with each other.
    check(
        &model("HGX-H100/H200-8GPU", 8, 4),
        "1 2 3 4 5 6 7 8: 4",
        expect![[r#"
            sizes [4, 8]
            1 2 3 4 5 6 7 8: 4 -> 1 2 3 4
        "#]],
    );
    check(
        &model("HGX-B200-8GPU", 8, 4),
        "1 2 3 4 5 6 7 8: 2",
        expect![[r#"
            sizes [2, 4, 8]
            1 2 3 4 5 6 7 8: 2 -> 1 2
        "#]],
    );
    check(
        &model("GB200-NVL72", 4, 2),
        "1 2 3: 2\n 2 3 4: 2\n 2 3: 2",
        expect![[r#"
            sizes [2, 4]
            1 2 3: 2 -> 1 2
            2 3 4: 2 -> 3 4
            2 3: 2 -> none
        "#]],
    );
}

#[test]
fn gpus_in_one_iommu_group_stay_together() {
    let groups = vec![20, 20, 21, 22, 23, 20, 21, 24];
    let mut model = NodeModel { gpu_groups: groups, ..model("PCIe", 8, 8) };
    let asked = "1 2 3 4 5 6 7 8: 1
                 1 2 3 4 5 6 7 8: 3
                 1 2 3 4 5 6 7 8: 5
                 1 2 3 4: 1
                 1 2 3 4: 2";
    check(
        &model,
        asked,
        expect![[r#"
            sizes [1, 2, 3, 4, 5, 6, 7, 8]
            1 2 3 4 5 6 7 8: 1 -> 4
            1 2 3 4 5 6 7 8: 3 -> 1 2 6
            1 2 3 4 5 6 7 8: 5 -> 1 2 3 6 7
            1 2 3 4: 1 -> 4
            1 2 3 4: 2 -> none
        "#]],
    );
    // Interface 7, which goes with GPU 7, is in the group of GPU 0.
    model.nics[7].iommu_group = 20;
    check(
        &model,
        "1 2 6 8: 3\n 1 2 6 8: 4",
        expect![[r#"
            sizes [1, 2, 3, 4, 5, 6, 7, 8]
            1 2 6 8: 3 -> none
            1 2 6 8: 4 -> 1 2 6 8
        "#]],
    );
}

#[test]
fn a_node_without_partitions_gives_any_set_however_large_it_is() {
    check(
        &model("PCIe", 4, 4),
        "2 4: 1\n 2 3 4: 2\n 2: 2",
        expect![[r#"
            sizes [1, 2, 3, 4]
            2 4: 1 -> 2
            2 3 4: 2 -> 2 3
            2: 2 -> none
        "#]],
    );
    let sixty_four = Shape::new(&model("PCIe", 64, 64));
    assert_eq!(sixty_four.best(u64::MAX, 64), Some(u64::MAX));
    assert_eq!(sixty_four.best(u64::MAX << 60, 3), Some(0b111 << 60));
    assert_eq!(sixty_four.best(u64::MAX, 65), None);
    assert_eq!(sixty_four.ranks(), 65);
}

#[test]
fn interfaces_go_with_their_gpus() {
    let shape = Shape::new(&model("PCIe", 8, 4));
    assert_eq!([0, 3].map(|nic| shape.gpus_of(nic)), [0b11, 0b1100_0000]);
    assert!(shape.nics_of(0b0011_1100).eq([1, 2]));
    // Every second interface serves no GPU.
    let shape = Shape::new(&model("PCIe", 2, 4));
    assert!(shape.nics_of(0b11).eq([0, 2]));
}

/// Any kind of node of so many GPUs: few IOMMU groups, so that some are shared.
fn any_model(gpus: std::ops::Range<u16>) -> impl Strategy<Value = NodeModel> {
    let boards = ["HGX-H100/H200-8GPU", "HGX-B200-8GPU", "HGX-new", "PCIe"];
    (gpus, 0..boards.len()).prop_flat_map(move |(gpus, board)| {
        let groups = vec(0..4 * gpus, usize::from(gpus));
        let nics = vec(0..4 * gpus, 1..=usize::from(2 * gpus));
        let modules: Vec<u16> = (1..=gpus).collect();
        let partition = proptest::sample::subsequence(modules, 1..=usize::from(gpus));
        let partitions = proptest::option::of(vec(partition, 0..8));
        (groups, nics, partitions).prop_map(move |(groups, nic_groups, partitions)| {
            let mut model = model(boards[board], gpus, nic_groups.len() as u16);
            model.gpu_groups = groups;
            for (nic, group) in model.nics.iter_mut().zip(nic_groups) {
                nic.iommu_group = group;
            }
            NodeModel { partitions, ..model }
        })
    })
}

/// Whether GPUs can be one job's, by the words of the rule: no GPU outside has an interface or a
/// group with one inside, and the board can join them.
fn may_be_one(model: &NodeModel, set: u64) -> bool {
    let gpus = usize::from(model.gpus);
    let nic = |gpu: usize| gpu * model.nics.len() / gpus;
    let of_gpu = |gpu: usize| [model.gpu_groups[gpu], model.nics[nic(gpu)].iommu_group];
    let (inside, outside): (Vec<usize>, Vec<usize>) =
        (0..gpus).partition(|gpu| set & 1 << gpu != 0);
    let parted = inside.iter().all(|&one| {
        let meets = |&other: &usize| of_gpu(one).iter().any(|g| of_gpu(other).contains(g));
        !outside.iter().any(meets)
    });
    let partitions = model.board_partitions();
    let joined = outside.is_empty()
        || partitions.is_none_or(|sets| sets.iter().any(|partition| partition.gpus == set));
    set != 0 && parted && joined
}

/// Of all sets of a size, the one after which the most sets are left.
fn searched(sets: &[u64], free: u64, size: u32) -> Option<u64> {
    let left = |set: u64| sets.iter().filter(|&other| other & !(free & !set) == 0).count();
    let fits = sets.iter().copied().filter(|set| set & !free == 0 && set.count_ones() == size);
    fits.min_by_key(|&set| (std::cmp::Reverse(left(set)), set))
}

proptest! {
    #[test]
    fn sets_are_those_of_the_rule_and_the_best_is_that_of_a_search(
        model in any_model(1..11),
        states in vec(any::<u64>(), 1..20),
    ) {
        let shape = Shape::new(&model);
        let sets: Vec<u64> = (1..=shape.all()).filter(|&set| may_be_one(&model, set)).collect();
        for set in 0..=shape.all() {
            prop_assert_eq!(shape.is_set(set), sets.contains(&set), "{:b}", set);
        }
        for free in states.into_iter().map(|free| free & shape.all()).chain([0, shape.all()]) {
            for size in 0..=shape.gpus() + 1 {
                prop_assert_eq!(shape.best(free, size), searched(&sets, free, size));
            }
        }
        for size in 0..=shape.gpus() {
            let has = sets.iter().any(|set| set.count_ones() == size);
            prop_assert_eq!(shape.sizes().contains(&size), has);
        }
    }

    #[test]
    fn ranks_grow_with_the_largest_set_and_none_below_the_lowest_has_a_size(
        model in any_model(1..14),
        states in vec(any::<u64>(), 2..20),
    ) {
        let shape = Shape::new(&model);
        let states: Vec<u64> = states.into_iter().map(|free| free & shape.all()).collect();
        let largest = |free| (1..=shape.gpus()).rev().find(|&n| shape.best(free, n).is_some());
        prop_assert_eq!(shape.rank(shape.all()), shape.ranks() - 1);
        for &free in &states {
            prop_assert!(shape.rank(free) < shape.ranks());
            prop_assert_eq!(shape.rank(free) == 0, largest(free).is_none());
            for &other in &states {
                prop_assert!(largest(free) >= largest(other) || shape.rank(free) < shape.rank(other));
            }
            for size in (0..=shape.gpus()).filter(|&size| shape.best(free, size).is_some()) {
                prop_assert!(shape.lowest_rank(size).is_some_and(|least| least <= shape.rank(free)));
            }
        }
        for size in 0..=shape.gpus() {
            prop_assert_eq!(shape.lowest_rank(size).is_some(), shape.sizes().contains(&size));
        }
    }
}
