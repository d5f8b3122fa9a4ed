/// Members `0..size`, each in at most one numbered bucket, found from the fullest or the
/// emptiest bucket without looking at the others. All of it lies in three arrays, because what a
/// change costs is how much memory it touches.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    /// For each bucket the bits of its members.
    words: Vec<u64>,
    /// For each bucket a bit for each of those words that is not zero.
    summary: Vec<u64>,
    /// A bit for each bucket that has members.
    filled: Vec<u64>,
    words_each: usize,
    summary_each: usize,
    count: usize,
}

impl Buckets {
    pub(crate) fn new(buckets: usize, size: u32) -> Self {
        let words_each = (size as usize).div_ceil(64);
        let summary_each = words_each.div_ceil(64);
        Self {
            words: vec![0; buckets * words_each],
            summary: vec![0; buckets * summary_each],
            filled: vec![0; buckets.div_ceil(64)],
            words_each,
            summary_each,
            count: buckets,
        }
    }

    pub(crate) fn insert(&mut self, bucket: usize, member: u32) {
        let word = member as usize / 64;
        let at = &mut self.words[bucket * self.words_each + word];
        debug_assert!(*at & (1 << (member % 64)) == 0, "{member} is in the bucket already");
        *at |= 1 << (member % 64);
        self.summary[bucket * self.summary_each + word / 64] |= 1 << (word % 64);
        self.filled[bucket / 64] |= 1 << (bucket % 64);
    }

    pub(crate) fn remove(&mut self, bucket: usize, member: u32) {
        let word = member as usize / 64;
        let at = &mut self.words[bucket * self.words_each + word];
        debug_assert!(*at & (1 << (member % 64)) != 0, "{member} is not in the bucket");
        *at &= !(1 << (member % 64));
        if *at != 0 {
            return;
        }
        let summary =
            &mut self.summary[bucket * self.summary_each..(bucket + 1) * self.summary_each];
        summary[word / 64] &= !(1 << (word % 64));
        if summary.iter().all(|bits| *bits == 0) {
            self.filled[bucket / 64] &= !(1 << (bucket % 64));
        }
    }

    /// Members of this bucket and those above it, lowest bucket first, lowest number first.
    pub(crate) fn upwards(&self, from: usize) -> impl Iterator<Item = (usize, u32)> {
        let mut bucket = first_bit(&self.filled, from);
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let at = bucket?;
                if let Some(member) = self.first_from(at, next) {
                    next = member + 1;
                    return Some((at, member));
                }
                bucket = first_bit(&self.filled, at + 1);
                next = 0;
            }
        })
    }

    /// Members of all buckets but the first, highest bucket first, lowest number first.
    pub(crate) fn downwards(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut bucket = self.filled_below(self.count);
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let at = bucket.filter(|&bucket| bucket > 0)?;
                if let Some(member) = self.first_from(at, next) {
                    next = member + 1;
                    return Some((at, member));
                }
                bucket = self.filled_below(at);
                next = 0;
            }
        })
    }

    fn filled_below(&self, below: usize) -> Option<usize> {
        let mut word = below.checked_sub(1)? / 64;
        let mut bits = self.filled[word] & (u64::MAX >> (63 - (below - 1) % 64));
        loop {
            if bits != 0 {
                return Some(word * 64 + 63 - bits.leading_zeros() as usize);
            }
            word = word.checked_sub(1)?;
            bits = self.filled[word];
        }
    }

    fn first_from(&self, bucket: usize, from: u32) -> Option<u32> {
        let words = &self.words[bucket * self.words_each..(bucket + 1) * self.words_each];
        let word = from as usize / 64;
        let rest = words.get(word)? & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(word as u32 * 64 + rest.trailing_zeros());
        }
        let summary = &self.summary[bucket * self.summary_each..(bucket + 1) * self.summary_each];
        let word = first_bit(summary, word + 1)?;
        Some(word as u32 * 64 + words[word].trailing_zeros())
    }
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
            from in 0_usize..130,
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
            let up: Vec<_> = sorted.range((from, 0)..).copied().collect();
            prop_assert_eq!(buckets.upwards(from).collect::<Vec<_>>(), up);
            let mut down: Vec<_> = sorted.range((1, 0)..).copied().collect();
            down.sort_by_key(|&(bucket, member)| (std::cmp::Reverse(bucket), member));
            prop_assert_eq!(buckets.downwards().collect::<Vec<_>>(), down);
        }
    }
}
