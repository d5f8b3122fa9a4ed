//! What an edit of Slurm's files does: the real controller prints back what it took.

use super::insert::Accepted;
use super::{Classified, Consumer, Effect, Mutant};

/// Lines that Slurm accepts.
pub(super) const ACCEPTED: &[Accepted] = &[];

/// What an edit does, by written rules.
pub(super) fn by_rules(_sound: &str, _mutant: &Mutant) -> Classified {
    Classified { effect: Effect::Refused, by: "rule: nobody was asked" }
}

/// The real controller.
#[derive(Debug, Default)]
pub struct Slurmctld;

impl Consumer for Slurmctld {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        by_rules(sound, mutant)
    }
}
