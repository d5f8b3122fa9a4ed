//! Members sorted by how full they are, so that the fullest is found without a look at the others.

use std::ops::Range;

/// Members `0..size`, each in at most one numbered bucket, found from the fullest or the
/// emptiest bucket without looking at the others. All of it lies in one array, and what is looked
/// at together lies side by side, because what a look or a change costs is how much memory it
/// touches.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    /// A bit for each bucket that has members; then a row for each bucket: a bit for each of its
    /// words that is not zero, and the words, which are the bits of its members.
    bits: Vec<u64>,
    count: usize,
    summary: usize,
    row: usize,
}

impl Buckets {
    pub(crate) fn new(buckets: usize, size: u32) -> Self {
        let words = (size as usize).div_ceil(64);
        let summary = words.div_ceil(64);
        let row = summary + words;
        let bits = vec![0; buckets.div_ceil(64) + buckets * row];
        Self { bits, count: buckets, summary, row }
    }

    pub(crate) fn insert(&mut self, bucket: usize, member: u32) {
        let (summary, words) = self.row_mut(bucket);
        let word = member as usize / 64;
        debug_assert!(words[word] & bit(member) == 0, "{member} is in the bucket already");
        words[word] |= bit(member);
        summary[word / 64] |= 1 << (word % 64);
        self.bits[bucket / 64] |= 1 << (bucket % 64);
    }

    pub(crate) fn remove(&mut self, bucket: usize, member: u32) {
        let (summary, words) = self.row_mut(bucket);
        let word = member as usize / 64;
        debug_assert!(words[word] & bit(member) != 0, "{member} is not in the bucket");
        words[word] &= !bit(member);
        if words[word] != 0 {
            return;
        }
        summary[word / 64] &= !(1 << (word % 64));
        if summary.iter().all(|bits| *bits == 0) {
            self.bits[bucket / 64] &= !(1 << (bucket % 64));
        }
    }

    /// The first bucket from this one on that has members.
    pub(crate) fn lowest(&self, from: usize) -> Option<usize> {
        first_bit(self.filled(), from)
    }

    /// Members of these buckets, lowest bucket first, lowest number first.
    pub(crate) fn upwards(&self, buckets: Range<usize>) -> impl Iterator<Item = (usize, u32)> {
        let lowest = move |from: usize| self.lowest(from).filter(|&bucket| bucket < buckets.end);
        let mut bucket = lowest(buckets.start);
        let mut members = self.members(bucket);
        std::iter::from_fn(move || {
            loop {
                let at = bucket?;
                if let Some(member) = members.next() {
                    return Some((at, member));
                }
                bucket = lowest(at + 1);
                members = self.members(bucket);
            }
        })
    }

    /// Members of all buckets but the first, highest bucket first, lowest number first.
    pub(crate) fn downwards(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut bucket = self.filled_below(self.count);
        let mut members = self.members(bucket);
        std::iter::from_fn(move || {
            loop {
                let at = bucket.filter(|&bucket| bucket > 0)?;
                if let Some(member) = members.next() {
                    return Some((at, member));
                }
                bucket = self.filled_below(at);
                members = self.members(bucket);
            }
        })
    }

    fn filled_below(&self, below: usize) -> Option<usize> {
        let filled = self.filled();
        let mut word = below.checked_sub(1)? / 64;
        let mut bits = filled[word] & (u64::MAX >> (63 - (below - 1) % 64));
        loop {
            if bits != 0 {
                return Some(word * 64 + 63 - bits.leading_zeros() as usize);
            }
            word = word.checked_sub(1)?;
            bits = filled[word];
        }
    }

    fn members(&self, bucket: Option<usize>) -> Members<'_> {
        let row = bucket.map_or(&[][..], |bucket| &self.bits[self.row_at(bucket)]);
        let (summary, words) = row.split_at(self.summary.min(row.len()));
        Members { summary, words, word: 0, bits: words.first().copied().unwrap_or(0) }
    }

    fn filled(&self) -> &[u64] {
        &self.bits[..self.count.div_ceil(64)]
    }

    fn row_mut(&mut self, bucket: usize) -> (&mut [u64], &mut [u64]) {
        let row = self.row_at(bucket);
        self.bits[row].split_at_mut(self.summary)
    }

    fn row_at(&self, bucket: usize) -> Range<usize> {
        let start = self.count.div_ceil(64) + bucket * self.row;
        start..start + self.row
    }
}

/// The members of one bucket that are left.
struct Members<'a> {
    summary: &'a [u64],
    words: &'a [u64],
    word: usize,
    /// Of this word.
    bits: u64,
}

impl Iterator for Members<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.bits == 0 {
            self.word = first_bit(self.summary, self.word + 1)?;
            self.bits = self.words[self.word];
        }
        let member = self.word as u32 * 64 + self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(member)
    }
}

const fn bit(member: u32) -> u64 {
    1 << (member % 64)
}

/// The first bit that is set, from this one on.
fn first_bit(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = words.get(word)? & (u64::MAX << (from % 64));
    loop {
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        word += 1;
        bits = *words.get(word)?;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn buckets_list_what_a_sorted_set_lists(
            moves in proptest::collection::vec((0_usize..130, 0_u32..5_000), 0..200),
            (from, to) in (0_usize..130, 0_usize..200),
        ) {
            let mut buckets = Buckets::new(130, 5_000);
            let mut sorted: BTreeSet<(usize, u32)> = BTreeSet::new();
            for (bucket, member) in moves {
                let before = sorted.iter().find(|&&(_, one)| one == member).copied();
                if let Some((old, _)) = before {
                    buckets.remove(old, member);
                    sorted.remove(&(old, member));
                }
                buckets.insert(bucket, member);
                sorted.insert((bucket, member));
            }
            prop_assert_eq!(buckets.lowest(from), sorted.range((from, 0)..).next().map(|one| one.0));
            let up: Vec<_> = sorted.range((from, 0)..).copied().collect();
            prop_assert_eq!(buckets.upwards(from..usize::MAX).collect::<Vec<_>>(), up);
            let up: Vec<_> = sorted.range((from, 0)..(to.max(from), 0)).copied().collect();
            prop_assert_eq!(buckets.upwards(from..to).collect::<Vec<_>>(), up);
            let mut down: Vec<_> = sorted.range((1, 0)..).copied().collect();
            down.sort_by_key(|&(bucket, member)| (std::cmp::Reverse(bucket), member));
            prop_assert_eq!(buckets.downwards().collect::<Vec<_>>(), down);
        }
    }
}
