//! Holes that a sound world can be cut: each kind by its name, in the dialect it is cut into.

mod frr;
mod linux;
mod nxos;
mod spot;
mod table;

use std::net::Ipv4Addr;

use model::{Artifact, DeviceId, Dialect, Part};
use verify::{Finding, MissingLine, Said};

use crate::{Chance, World};
use spot::Spot;

/// One kind of hole.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    /// What is wrong afterwards.
    pub name: &'static str,
    /// The dialect it is cut into.
    pub dialect: Dialect,
    change: Change,
}

/// The lines that come in place of one; none where the hole cannot be cut.
type Change = fn(&Spot<'_>, &mut Chance) -> Option<Vec<String>>;

/// A world's texts with one hole.
#[derive(Clone, Debug)]
pub struct Wound {
    /// All texts, the changed one among them.
    pub artifacts: Vec<Artifact>,
    /// The device that holds the changed one.
    pub device: DeviceId,
    /// The dialect of the changed one.
    pub dialect: Dialect,
    /// The part that was changed.
    pub part: Part,
    /// The line that stood there.
    pub before: String,
    /// The lines that stand there now.
    pub after: Vec<String>,
}

/// Every kind of hole, dialect by dialect.
pub const HOLES: [&[Hole]; 4] = [frr::HOLES, nxos::HOLES, linux::HOLES, table::HOLES];

impl Wound {
    /// Whether a finding names the line: one that stands there now is among those present, or the
    /// one that stood there among those missing.
    #[must_use]
    pub fn is_named_by(&self, finding: &Finding, held: &[Artifact]) -> bool {
        let here = |device: DeviceId, dialect| (device, dialect) == (self.device, self.dialect);
        // A line that stands below new ones has moved.
        let is_moved = self.after.first() != Some(&self.before);
        let is_new = |text: &str| {
            let mut new = self.after.iter().filter(|line| is_moved || **line != self.before);
            // What a class map matches is said by the contract that uses it.
            let uses = |line: &str| {
                line.trim().starts_with("match ipv4") && text.starts_with("security contract")
            };
            new.any(|line| line.trim() == text.trim() || uses(line))
        };
        let says_new = |said: &Said| {
            let mut held = held.iter().filter(|held| here(held.device, held.dialect));
            held.any(|held| said.quote(held).is_some_and(|(_, text)| is_new(text.trim())))
        };
        let present = finding.present.iter();
        let mut present = present.filter(|said| here(said.device, said.dialect));
        let names_old = |line: &MissingLine| {
            line.dialect.is_some_and(|dialect| here(line.device, dialect))
                && is_about(&line.text, self.before.trim())
        };
        present.any(says_new) || finding.missing.iter().any(names_old)
    }
}

/// Whether a missing line is this one, says it among other things, or says a part of its run.
fn is_about(missing: &str, line: &str) -> bool {
    let words = |text| -> Vec<String> { str::split(text, ' ').map(Into::into).collect() };
    let (missing_words, line_words) = (words(missing), words(line));
    let first = |words: &[String]| -> Option<Ipv4Addr> {
        let run = words.iter().find_map(|word| word.split_once('-'))?;
        run.0.parse().ok()
    };
    let holds = |address: Ipv4Addr| {
        let run = line_words.iter().find_map(|word| word.split_once('-'));
        let ends = run.map(|(first, last)| (first.parse(), last.parse::<Ipv4Addr>()));
        matches!(ends, Some((Ok(first), Ok(last))) if (first..=last).contains(&address))
    };
    // A word that cannot be known is left open.
    let is_open = || {
        let (begin, end) = missing.split_once('…')?;
        Some(line.starts_with(begin) && line.ends_with(end))
    };
    missing.contains(line)
        || is_open().unwrap_or(false)
        || (missing_words.first() == line_words.first() && first(&missing_words).is_some_and(holds))
}

impl Hole {
    /// Cuts a hole of this kind somewhere; none if this world has no place for it.
    pub fn cut(&self, world: &World, chance: &mut Chance) -> Option<Wound> {
        let mut spots: Vec<Spot<'_>> = Spot::all(world, self.dialect).collect();
        while !spots.is_empty() {
            let spot = spots.swap_remove(chance.below(spots.len()));
            if let Some(after) = (self.change)(&spot, chance) {
                return Some(spot.wound(after));
            }
        }
        None
    }
}
