//! Which addresses have which record. Lines overlap and repeat one another, and stand for many
//! addresses each: this works with whole runs and costs what the lines say.

use std::num::NonZeroU32;

use super::TableRefusal;
use super::policy::Space;

/// What one line says of addresses: all have one tag and are behind one tunnel endpoint, or each
/// block of so many behind the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) vtep: u32,
    pub(super) every: Option<NonZeroU32>,
    pub(super) tag: u16,
    pub(super) line: u32,
}

/// A part of a run that no other stretch overlaps.
pub(super) struct Stretch {
    pub(super) from: u32,
    pub(super) to: u32,
    run: Run,
}

/// Addresses with the same record.
#[derive(Clone, Copy)]
pub(super) struct Same {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) vtep: u32,
    pub(super) tag: u16,
}

/// The records of a space.
pub(super) struct Records {
    /// In the order of addresses.
    pub(super) stretches: Vec<Stretch>,
    /// How many addresses have a record.
    pub(super) count: u32,
    /// The first address that has one.
    pub(super) first: u32,
    /// How many addresses there are from the first to the last with a record.
    pub(super) span: u32,
}

impl Records {
    pub(super) fn of(space: &Space, allowed: u32) -> Result<Self, TableRefusal> {
        let stretches = disjoint(space)?;
        let has = stretches.iter().map(|stretch| u64::from(stretch.to - stretch.from) + 1).sum();
        let count = u32::try_from(has).ok().filter(|count| *count <= allowed);
        let count = count.ok_or_else(|| TableRefusal::TooManyRecords {
            space: space.name.clone(),
            has,
            allowed,
        })?;
        let [Some(first), Some(last)] = [stretches.first(), stretches.last()] else {
            return Ok(Self { stretches, count, first: 0, span: 0 });
        };
        let (first, last) = (first.from, last.to);
        let span = (last - first).checked_add(1).ok_or_else(|| TableRefusal::TooWide {
            space: space.name.clone(),
            first: first.into(),
            last: last.into(),
        })?;
        Ok(Self { stretches, count, first, span })
    }

    /// All of them in the order of addresses.
    pub(super) fn same(&self) -> impl Iterator<Item = Same> {
        self.stretches.iter().flat_map(Stretch::same)
    }
}

/// The same records, each address in one stretch only.
///
/// Runs are taken in the order of their first addresses. Of those taken, the one that reaches
/// furthest covers all that the next one can overlap, and all of them agreed there: comparing
/// with that one is comparing with all.
fn disjoint(space: &Space) -> Result<Vec<Stretch>, TableRefusal> {
    let mut runs = space.runs.clone();
    runs.sort_unstable_by_key(|run| (run.first, run.line));
    let mut stretches = Vec::with_capacity(runs.len());
    let mut furthest: Option<Run> = None;
    for run in runs {
        let mut from = run.first;
        if let Some(other) = furthest.filter(|other| run.first <= other.last) {
            if let Some(address) = run.differs(&other) {
                return Err(TableRefusal::AddressTwice {
                    space: space.name.clone(),
                    address: address.into(),
                    first_line: run.line.min(other.line),
                    line: run.line.max(other.line),
                });
            }
            if run.last <= other.last {
                continue;
            }
            from = other.last + 1;
        }
        stretches.push(Stretch { from, to: run.last, run });
        furthest = Some(run);
    }
    Ok(stretches)
}

impl Run {
    /// The first address of both that this run and one that begins before it say differently.
    ///
    /// Blocks of one size with the same borders agree everywhere if they agree once. Otherwise
    /// one of the two comes to the next tunnel endpoint alone, at the next border of either: the
    /// walk is short.
    fn differs(&self, before: &Self) -> Option<u32> {
        let (mut at, last) = (self.first, self.last.min(before.last));
        if self.tag != before.tag || self.vtep_of(at) != before.vtep_of(at) {
            return Some(at);
        }
        if self.every == before.every && self.block_end(at) == before.block_end(at) {
            return None;
        }
        loop {
            at = self.block_end(at).min(before.block_end(at));
            if at >= last {
                return None;
            }
            at += 1;
            if self.vtep_of(at) != before.vtep_of(at) {
                return Some(at);
            }
        }
    }

    /// The tunnel endpoint that an address of the run is behind. The reader knows that all of
    /// them are addresses.
    fn vtep_of(&self, address: u32) -> u32 {
        self.vtep + self.every.map_or(0, |every| (address - self.first) / every)
    }

    /// The last address that is behind the same tunnel endpoint.
    fn block_end(&self, address: u32) -> u32 {
        self.every.map_or(self.last, |every| {
            let place = (address - self.first) % every;
            address + (every.get() - 1 - place)
        })
    }
}

impl Stretch {
    fn same(&self) -> impl Iterator<Item = Same> {
        let run = self.run;
        let mut next = Some(self.from);
        std::iter::from_fn(move || {
            let from = next?;
            let to = run.block_end(from).min(self.to);
            next = (to < self.to).then(|| to + 1);
            Some(Same { from, to, vtep: run.vtep_of(from), tag: run.tag })
        })
    }
}
