//! What becomes of a sound text by one edit, who says what the edit does, and what is found of it.
//!
//! A verdict is worth what it says of texts that nobody thought of. So a sound text is edited at
//! random, in six kinds of ways; somebody who is not the reader says what the edit does: the
//! program that reads such texts, by what it prints back, or a written rule; and the verifier
//! judges the edited text as if it had been rendered. None that opens or cuts may be proved.

mod edit;
mod insert;
mod judge;
mod kubernetes;
mod pkey;
mod rule;
mod slurm;
mod sound;
mod statements;
mod vm;

use std::collections::BTreeSet;

use model::Dialect;

use crate::Chance;

pub use judge::{Judged, judge, run};
pub use kubernetes::ApiServer;
pub use pkey::OpenSm;
pub use rule::Rules;
pub use slurm::Slurmctld;
pub use sound::sound;
pub use vm::Libvirt;

/// In which way a text is edited.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum MutantKind {
    /// A line or an element is gone.
    Delete,
    /// A line or an element says something else.
    Change,
    /// A line or an element that the consumer accepts was added.
    Insert,
    /// A value that passes over is another.
    Ignored,
    /// Bytes between tokens: spaces, comments, letter case, order, what is not seen.
    Between,
    /// Every line of a kind is gone.
    Absence,
}

/// What an edit does, as somebody else than the reader says.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    /// Owners can meet who could not, or a fence is down.
    Opens,
    /// Somebody does not get what was planned.
    Cuts,
    /// Neither.
    Harmless,
    /// The consumer does not take it.
    Refused,
}

/// A sound text with one edit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mutant {
    /// In which way it was edited.
    pub kind: MutantKind,
    /// Which line of the sound text, counted from 1.
    pub line: u32,
    /// What was done, for people.
    pub what: String,
    /// The whole edited text of one artifact.
    pub text: String,
}

/// An effect, and who says so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Classified {
    /// What the edit does.
    pub effect: Effect,
    /// A consumer by what it prints back, or a written rule by its name.
    pub by: &'static str,
}

/// Who says what an edit does.
pub trait Consumer {
    /// Says what the edit does to whoever reads the text.
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified;
}

/// So many edits of a text, each another one; fewer where there are no more to be found.
///
/// First what can be counted up: every line that may be added, every kind of line that may be
/// gone. Then chance.
#[must_use]
pub fn mutants(dialect: Dialect, sound: &str, chance: &mut Chance, count: usize) -> Vec<Mutant> {
    /// How often chance may come upon an edit that was there before, for each that is wanted.
    const PATIENCE: usize = 60;
    let mut all = Vec::with_capacity(count);
    let mut seen: BTreeSet<String> = BTreeSet::from([sound.to_owned()]);
    let mut keep = |mutant: Mutant, all: &mut Vec<Mutant>| {
        if all.len() < count && seen.insert(mutant.text.clone()) {
            all.push(mutant);
        }
    };
    for mutant in insert::all(dialect, sound).into_iter().chain(edit::absences(dialect, sound)) {
        keep(mutant, &mut all);
    }
    for _ in 0..count * PATIENCE {
        if all.len() >= count {
            break;
        }
        if let Some(mutant) = edit::at_random(dialect, sound, chance) {
            keep(mutant, &mut all);
        }
    }
    all
}
