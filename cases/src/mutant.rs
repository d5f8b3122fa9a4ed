//! What becomes of a sound text by one edit, who says what the edit does, and what is found of it.
//!
//! A verdict is worth what it says of texts that nobody thought of. So a sound text is edited at
//! random, in six kinds of ways; somebody who is not the reader says what the edit does: the
//! program that reads such texts, by what it prints back, or a written rule; and the verifier
//! judges the edited text as if it had been rendered. None that opens or cuts may be proved.

mod edit;
mod frr;
mod hostile;
mod insert;
mod judge;
mod kernel;
mod kubernetes;
mod packets;
mod pkey;
mod printed;
mod rule;
mod slurm;
mod sound;
mod switch;
mod vm;
mod weave;
mod written;

use std::collections::BTreeSet;

use model::{DeviceId, Dialect};

use crate::{Chance, World};

pub use frr::Frr;
pub use judge::{Judged, judge, run};
pub use kubernetes::ApiServer;
pub use packets::Packets;
pub use pkey::OpenSm;
pub use rule::Rules;
pub use slurm::Slurmctld;
pub use sound::sound;
pub use vm::Libvirt;
pub use written::{StatementRule, is_ruled};

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
    /// The texts that follow are of this device. Who reads each text for itself need not know.
    fn at(&mut self, _device: DeviceId) {}

    /// Says what the edit does to whoever reads the text.
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified;
}

/// Who says what edits of a dialect do where no program is started: packets, or a written rule.
#[must_use]
pub fn without_programs(world: &World, dialect: Dialect) -> Box<dyn Consumer + '_> {
    let first = world.artifacts.iter().find(|artifact| artifact.dialect == dialect);
    match first.map(|artifact| artifact.device) {
        Some(device) if is_of_packets(dialect) => Box::new(Packets::new(world, dialect, device)),
        Some(device) if is_ruled(dialect) => Box::new(StatementRule::new(world, dialect, device)),
        _ => Box::new(Rules(dialect)),
    }
}

/// Whether the simulated fabric says what an edit does.
const fn is_of_packets(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Linux | Dialect::Nxos | Dialect::Table)
}

/// So many edits of a text, each another one; fewer where there are no more to be found. `others`
/// are all texts of its dialect in the world, of whose lines some are put into this one.
///
/// First what can be counted up: every line that may be added, every kind of line that may be
/// gone. Then chance.
#[must_use]
pub fn mutants(
    dialect: Dialect,
    sound: &str,
    others: &[&str],
    chance: &mut Chance,
    count: usize,
) -> Vec<Mutant> {
    /// How often chance may come upon an edit that was there before, for each that is wanted.
    const PATIENCE: usize = 60;
    let mut all = Vec::with_capacity(count);
    let mut seen: BTreeSet<String> = BTreeSet::from([sound.to_owned()]);
    let mut keep = |mutant: Mutant, all: &mut Vec<Mutant>| {
        if all.len() < count && seen.insert(mutant.text.clone()) {
            all.push(mutant);
        }
    };
    let hostile = hostile::lines(dialect);
    let threads = weave::Threads::of(dialect, sound, others, &hostile);
    // Those of the list leave room for others, most of all where lines are woven.
    let most = if threads.is_empty() { count * 2 / 3 } else { count / 4 };
    let mut listed = insert::all(dialect, sound);
    while listed.len() > most {
        listed.swap_remove(chance.below(listed.len()));
    }
    for mutant in listed.into_iter().chain(edit::absences(dialect, sound)) {
        keep(mutant, &mut all);
    }
    for _ in 0..count * PATIENCE {
        if all.len() >= count {
            break;
        }
        let is_woven = !threads.is_empty() && (sound.is_empty() || chance.percent(60));
        let mutant = match is_woven {
            true => weave::insert(sound, &threads, chance),
            false => edit::at_random(dialect, sound, chance),
        };
        if let Some(mutant) = mutant {
            keep(mutant, &mut all);
        }
    }
    all
}
