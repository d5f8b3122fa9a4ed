//! Which numbers there are to lease, and the lowest that is free.

use std::ops::RangeInclusive;

use model::numbering::TENANT_NUMBERS;

/// NX-OS reserves 0, 1 and 15, and 999 is the tag of what nobody classified. Tags stay below
/// the second halves of the VRFs' route distinguishers.
pub(crate) const TAGS: [RangeInclusive<u16>; 2] = [16..=998, 1000..=59_999];

/// NX-OS keeps 3,967 and above for itself.
const VLANS: RangeInclusive<u16> = 2..=3_966;

/// How many addresses one NX-OS leaf can put into groups.
const SELECTORS: u32 = 8_000;

/// How many of everything there is to lease.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) tags: Vec<RangeInclusive<u16>>,
    pub(crate) tenant_numbers: RangeInclusive<u16>,
    pub(crate) vlans: RangeInclusive<u16>,
    pub(crate) selectors: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            tags: TAGS.to_vec(),
            tenant_numbers: TENANT_NUMBERS,
            vlans: VLANS,
            selectors: SELECTORS,
        }
    }
}

impl Bounds {
    /// How many tags there are.
    pub(crate) fn tag_count(&self) -> u32 {
        self.tags.iter().map(|range| range.len() as u32).sum()
    }
}

/// The numbers of one kind that somebody holds, resting ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    words: Vec<u64>,
    /// No word before this one has a number that is free: numbers are leased from below, so that
    /// a walk from the start would pass all that are held.
    full: usize,
}

impl Numbers {
    pub(crate) fn holds(&self, number: u16) -> bool {
        let (word, bit) = place(number);
        self.words.get(word).is_some_and(|held| held & bit != 0)
    }

    pub(crate) fn take(&mut self, number: u16) {
        let (word, bit) = place(number);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
        while self.words.get(self.full) == Some(&u64::MAX) {
            self.full += 1;
        }
    }

    pub(crate) fn give_back(&mut self, number: u16) {
        let (word, bit) = place(number);
        if let Some(held) = self.words.get_mut(word) {
            *held &= !bit;
            self.full = word.min(self.full);
        }
    }

    /// The lowest number of the range that is free in all of these.
    pub(crate) fn lowest_free_in_all<'a, I: Iterator<Item = &'a Self>>(
        all: impl Fn() -> I,
        range: &RangeInclusive<u16>,
    ) -> Option<u16> {
        let full = all().map(|one| one.full).max().unwrap_or(0);
        let words = place(*range.start()).0.max(full)..=place(*range.end()).0;
        lowest_free(words, range, |word| all().fold(0, |held, one| held | one.word(word)))
    }

    /// The lowest number of the range that nobody holds: which one is free depends on nothing
    /// but what is held, so the same ledger always leases the same number.
    pub(crate) fn lowest_free(&self, range: &RangeInclusive<u16>) -> Option<u16> {
        let first = place(*range.start()).0.max(self.full);
        lowest_free(first..=place(*range.end()).0, range, |word| self.word(word))
    }

    fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }
}

fn lowest_free(
    words: RangeInclusive<usize>,
    range: &RangeInclusive<u16>,
    held_in: impl Fn(usize) -> u64,
) -> Option<u16> {
    for word in words {
        let held = held_in(word) | below(range, word);
        if held != u64::MAX {
            let number = word as u32 * 64 + held.trailing_ones();
            return u16::try_from(number).ok().filter(|number| range.contains(number));
        }
    }
    None
}

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        let longest = self.words.len().max(other.words.len());
        (0..longest).all(|at| self.word(at) == other.word(at))
    }
}

impl Eq for Numbers {}

fn place(number: u16) -> (usize, u64) {
    (usize::from(number / 64), 1 << (number % 64))
}

/// The bits of a word that stand for numbers before the range.
fn below(range: &RangeInclusive<u16>, word: usize) -> u64 {
    let (first_word, first_bit) = place(*range.start());
    if word == first_word { first_bit - 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_free_number_is_the_one_a_walk_finds(
            held in proptest::collection::btree_set(0_u16..400, 0..400),
            first in 0_u16..400,
            length in 0_u16..400,
        ) {
            let mut numbers = Numbers::default();
            held.iter().for_each(|&number| numbers.take(number));
            let range = first..=first + length;
            let walked = range.clone().find(|number| !held.contains(number));
            prop_assert_eq!(numbers.lowest_free(&range), walked);
        }

        #[test]
        fn what_is_given_back_is_held_no_more(
            held in proptest::collection::btree_set(0_u16..200, 0..100),
            back in proptest::collection::btree_set(0_u16..200, 0..100),
        ) {
            let mut numbers = Numbers::default();
            held.iter().for_each(|&number| numbers.take(number));
            back.iter().for_each(|&number| numbers.give_back(number));
            let left: BTreeSet<u16> = (0..200).filter(|&number| numbers.holds(number)).collect();
            prop_assert_eq!(left, held.difference(&back).copied().collect::<BTreeSet<u16>>());
        }
    }
}
