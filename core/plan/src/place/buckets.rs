/// Members `0..size`, each in at most one numbered bucket, found from the fullest or the
/// emptiest bucket without looking at the others.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    buckets: Vec<Members>,
    /// A bit for each bucket that has members.
    filled: Vec<u64>,
    size: u32,
}

/// A set of small numbers with a summary: a bit for each word that is not zero.
#[derive(Clone, Debug, Default)]
struct Members {
    words: Vec<u64>,
    summary: Vec<u64>,
    count: u32,
}

impl Buckets {
    pub(crate) fn new(buckets: usize, size: u32) -> Self {
        Self {
            buckets: vec![Members::default(); buckets],
            filled: vec![0; buckets.div_ceil(64)],
            size,
        }
    }

    pub(crate) fn insert(&mut self, bucket: usize, member: u32) {
        let members = &mut self.buckets[bucket];
        if members.words.is_empty() {
            // Most buckets are never used: memory comes with the first member.
            let words = (self.size as usize).div_ceil(64);
            members.words = vec![0; words];
            members.summary = vec![0; words.div_ceil(64)];
        }
        members.insert(member);
        self.filled[bucket / 64] |= 1 << (bucket % 64);
    }

    pub(crate) fn remove(&mut self, bucket: usize, member: u32) {
        let members = &mut self.buckets[bucket];
        members.remove(member);
        if members.count == 0 {
            self.filled[bucket / 64] &= !(1 << (bucket % 64));
        }
    }

    /// Members of this bucket and those above it, lowest bucket first, lowest number first.
    pub(crate) fn upwards(&self, from: usize) -> impl Iterator<Item = (usize, u32)> {
        let mut bucket = self.filled_from(from);
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let at = bucket?;
                if let Some(member) = self.buckets[at].first_from(next) {
                    next = member + 1;
                    return Some((at, member));
                }
                bucket = self.filled_from(at + 1);
                next = 0;
            }
        })
    }

    /// Members of all buckets but the first, highest bucket first, lowest number first.
    pub(crate) fn downwards(&self) -> impl Iterator<Item = (usize, u32)> {
        let mut bucket = self.filled_below(self.buckets.len());
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let at = bucket.filter(|&bucket| bucket > 0)?;
                if let Some(member) = self.buckets[at].first_from(next) {
                    next = member + 1;
                    return Some((at, member));
                }
                bucket = self.filled_below(at);
                next = 0;
            }
        })
    }

    fn filled_from(&self, from: usize) -> Option<usize> {
        first_bit(&self.filled, from)
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
}

impl Members {
    fn insert(&mut self, member: u32) {
        let word = member as usize / 64;
        let bit = 1 << (member % 64);
        debug_assert!(self.words[word] & bit == 0, "{member} is in the bucket already");
        self.words[word] |= bit;
        self.summary[word / 64] |= 1 << (word % 64);
        self.count += 1;
    }

    fn remove(&mut self, member: u32) {
        let word = member as usize / 64;
        let bit = 1 << (member % 64);
        debug_assert!(self.words[word] & bit != 0, "{member} is not in the bucket");
        self.words[word] &= !bit;
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
        self.count -= 1;
    }

    fn first_from(&self, from: u32) -> Option<u32> {
        let word = from as usize / 64;
        let rest = self.words.get(word)? & (u64::MAX << (from % 64));
        if rest != 0 {
            return Some(word as u32 * 64 + rest.trailing_zeros());
        }
        let word = first_bit(&self.summary, word + 1)?;
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
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
