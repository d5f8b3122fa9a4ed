//! Written rules: what an edit does, where no consumer is asked.

use model::Dialect;

use super::{Classified, Consumer, Effect, Mutant, MutantKind, frr, insert, kubernetes, slurm};

/// Says by written rules what an edit does.
#[derive(Clone, Copy, Debug)]
pub struct Rules(pub Dialect);

impl Consumer for Rules {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        match self.0 {
            Dialect::Slurm => return slurm::by_rules(sound, mutant),
            Dialect::Kubernetes => return kubernetes::by_rules(sound, mutant),
            Dialect::Frr => return frr::by_rules(sound, mutant),
            _ => {}
        }
        if let Some(effect) = insert::effect_of(self.0, mutant) {
            return Classified { effect, by: "rule: the list of accepted lines" };
        }
        // Nothing is known of it, so nothing is asked of the verdict but that it is given.
        match mutant.kind {
            MutantKind::Delete | MutantKind::Absence => {
                Classified { effect: Effect::Cuts, by: "rule: no rendered line is spare" }
            }
            _ => Classified { effect: Effect::Refused, by: "rule: nobody was asked" },
        }
    }
}
