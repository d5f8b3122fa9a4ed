//! Slices are cut where the most room is left for the larger ones.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Cuts the slices of a line one after the other, and says where each came to be.
fn check(product: &str, wanted: &str, expected: Expect) {
    let geometry = Geometry::of(product).unwrap();
    let (mut busy, mut has_me) = (0, false);
    let mut told = String::new();
    for name in wanted.split(' ') {
        let profile = geometry.profile(name).unwrap();
        match geometry.best(busy, has_me, profile) {
            Some((start, loss)) => {
                busy |= geometry.slots(profile, start);
                has_me |= geometry.has_me(profile);
                told += &format!("{name} at {start}, loss {loss}: {busy:08b}\n");
            }
            None => told += &format!("{name} has no room: {busy:08b}\n"),
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn small_slices_fill_the_end_first_and_leave_the_large_their_room() {
    check(
        "H100-80GB",
        "1g.10gb 1g.10gb 4g.40gb 2g.20gb 1g.10gb",
        expect![[r#"
            1g.10gb at 6, loss 5: 01000000
            1g.10gb at 4, loss 4: 01010000
            4g.40gb at 0, loss 14: 01011111
            2g.20gb has no room: 01011111
            1g.10gb at 5, loss 2: 01111111
        "#]],
    );
    check(
        "H100-80GB",
        "3g.40gb 3g.40gb 1g.10gb",
        expect![[r#"
            3g.40gb at 4, loss 11: 11110000
            3g.40gb at 0, loss 14: 11111111
            1g.10gb has no room: 11111111
        "#]],
    );
    check(
        "A100-40GB",
        "7g.40gb 1g.5gb",
        expect![[r#"
            7g.40gb at 0, loss 25: 11111111
            1g.5gb has no room: 11111111
        "#]],
    );
    check(
        "GB200-186GB",
        "2g.47gb 1g.47gb 4g.93gb",
        expect![[r#"
            2g.47gb at 4, loss 6: 00110000
            1g.47gb at 6, loss 2: 11110000
            4g.93gb at 0, loss 10: 11111111
        "#]],
    );
}

#[test]
fn a_gpu_has_media_engines_for_one_slice() {
    check(
        "H200-141GB",
        "1g.18gb+me 1g.18gb+me 1g.18gb 4g.71gb",
        expect![[r#"
            1g.18gb+me at 6, loss 11: 01000000
            1g.18gb+me has no room: 01000000
            1g.18gb at 4, loss 3: 01010000
            4g.71gb at 0, loss 10: 01011111
        "#]],
    );
}

/// Every way to cut a GPU by these profiles, as profiles and where they begin; the uncut GPU is
/// one of them.
fn layouts(geometry: &Geometry, profiles: &[usize]) -> BTreeSet<BTreeSet<(usize, u8)>> {
    let mut found = BTreeSet::from([BTreeSet::new()]);
    let mut last = found.clone();
    while !last.is_empty() {
        let mut next = BTreeSet::new();
        for layout in &last {
            for cut in choices(geometry, profiles, layout) {
                let mut larger: BTreeSet<(usize, u8)> = layout.clone();
                larger.insert(cut);
                next.insert(larger);
            }
        }
        found.extend(next.iter().cloned());
        last = next;
    }
    found
}

fn choices(
    geometry: &Geometry,
    profiles: &[usize],
    layout: &BTreeSet<(usize, u8)>,
) -> Vec<(usize, u8)> {
    let busy =
        layout.iter().fold(0, |busy, &(profile, start)| busy | geometry.slots(profile, start));
    let all =
        profiles.iter().flat_map(|&one| geometry.starts(one).iter().map(move |&at| (one, at)));
    all.filter(|&(profile, start)| busy & geometry.slots(profile, start) == 0).collect()
}

/// How many layouts there are, and how many of them have room for nothing more.
fn counts(geometry: &Geometry, names: &[&str]) -> (usize, usize) {
    let profiles: Vec<usize> = names.iter().map(|name| geometry.profile(name).unwrap()).collect();
    let all = layouts(geometry, &profiles);
    let maximal = all.iter().filter(|layout| choices(geometry, &profiles, layout).is_empty());
    (all.len(), maximal.count())
}

#[test]
fn layouts_are_as_many_as_were_counted_on_real_tables() {
    let h100 = Geometry::of("H100-80GB").unwrap();
    let plain = ["1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"];
    assert_eq!(counts(&h100, &plain), (298, 19));
    let with_double = [plain.as_slice(), &["1g.20gb"]].concat();
    assert_eq!(counts(&h100, &with_double), (723, 78));
}

#[test]
fn no_layout_has_more_than_seven_compute_slices() {
    let h100 = Geometry::of("H100-80GB").unwrap();
    let all: Vec<usize> = (0..h100.names().count()).collect();
    for layout in layouts(&h100, &all) {
        let slices: u8 = layout.iter().map(|&(one, _)| h100.profiles[one].compute_slices).sum();
        assert!(slices <= 7, "{layout:?}");
    }
}

#[test]
fn a_product_nobody_cuts_has_no_geometry() {
    assert!(Geometry::of("V100-32GB").is_none());
    assert_eq!(Geometry::of("H100-80GB").unwrap().profile("1g.5gb"), None);
}

proptest! {
    #[test]
    fn a_cut_is_free_and_no_other_start_would_cost_less(
        busy: u8,
        has_me: bool,
        profile in 0_usize..7,
    ) {
        let h100 = Geometry::of("H100-80GB").unwrap();
        let media = h100.has_me(profile);
        let left = |busy: u8, has_me: bool| {
            let slices = (0..7).filter(|&one| !(has_me && h100.has_me(one)));
            let all = slices.flat_map(|one| h100.starts(one).iter().map(move |&at| (one, at)));
            all.filter(|&(one, at)| h100.slots(one, at) & busy == 0).count() as u32
        };
        let may = |start: &u8| busy & h100.slots(profile, *start) == 0 && !(media && has_me);
        let starts: Vec<u8> = h100.starts(profile).iter().copied().filter(may).collect();
        match h100.best(busy, has_me, profile) {
            None => prop_assert!(starts.is_empty()),
            Some((start, loss)) => {
                prop_assert!(starts.contains(&start));
                let after = |start: u8| left(busy | h100.slots(profile, start), has_me || media);
                prop_assert_eq!(loss, left(busy, has_me) - after(start));
                prop_assert!(starts.iter().all(|&other| after(other) <= after(start)));
            }
        }
    }

    #[test]
    fn gpus_are_tried_from_the_least_loss_and_the_uncut_ones_last(profile in 0_usize..7) {
        let h100 = Geometry::of("H100-80GB").unwrap();
        let order = h100.by_loss(profile);
        let loss = |busy: u8| h100.best(busy, false, profile).map(|(_, loss)| loss);
        let with_room: BTreeSet<u8> = (0..=u8::MAX).filter(|&busy| loss(busy).is_some()).collect();
        prop_assert_eq!(order.iter().copied().collect::<BTreeSet<u8>>(), with_room);
        prop_assert_eq!(order.last(), Some(&0));
        prop_assert!(order[..order.len() - 1].is_sorted_by_key(|&busy| loss(busy)));
    }
}
