//! What an edit of Slurm's files does: the real controller prints back what it took, and a written
//! table says what each thing it printed otherwise does.

mod accepted;
mod effect;
mod printed;
mod room;

use super::{Classified, Consumer, Effect, Mutant};

pub(super) use accepted::ACCEPTED;
pub use room::Slurmctld;

/// What an edit does, by a small parser after Slurm's own and the same table.
pub(super) fn by_rules(sound: &str, mutant: &Mutant) -> Classified {
    const BY: &str = "rule: Slurm's parser and the table of its keys";
    let (sound, edited) = (printed::parsed(sound), printed::parsed(&mutant.text));
    let effect = match (sound, edited) {
        (Some(sound), Some(edited)) => effect::of(&sound, &edited),
        _ => Effect::Refused,
    };
    Classified { effect, by: BY }
}

impl Consumer for Slurmctld {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        const BY: &str = "slurmctld 22.05 by what scontrol prints, and the table of keys";
        const BESIDE: &str = "rule: the parser after Slurm's own, of what slurmd alone reads";
        if self.sound.is_none() {
            self.sound = self.printed(sound);
        }
        let edited = self.printed(&mutant.text);
        let (Some(planned), Some(edited)) = (&self.sound, &edited) else {
            return Classified { effect: Effect::Refused, by: BY };
        };
        let effect = effect::of(planned, edited);
        if effect != Effect::Harmless {
            return Classified { effect, by: BY };
        }
        // What slurmd alone reads, the controller does not print.
        match (printed::slurmd(sound), printed::slurmd(&mutant.text)) {
            (Some(sound), Some(edited)) if sound == edited => Classified { effect, by: BY },
            (Some(sound), Some(edited)) => {
                Classified { effect: effect::of(&sound, &edited), by: BESIDE }
            }
            _ => Classified { effect: Effect::Refused, by: BESIDE },
        }
    }
}
