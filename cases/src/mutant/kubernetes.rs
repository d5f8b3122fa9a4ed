//! What an edit of Kubernetes' objects does: by what the API server would hold, or by a parse that
//! is not the reader's, and in both cases a written table of what each difference means.

mod accepted;
mod api;
mod edits;
mod effect;
mod objects;

use serde_json::Value;

use super::{Classified, Effect, Mutant};

pub(super) use accepted::ACCEPTED;
pub use api::ApiServer;
pub(super) use edits::edit;

/// What an edit does, by another parser of YAML and the table.
pub(super) fn by_rules(sound: &str, mutant: &Mutant) -> Classified {
    const BY: &str = "rule: another parser and the table of kinds and paths";
    let changed = objects::changed(sound, &mutant.text, |documents| {
        documents.iter().map(|document| parsed(document)).collect()
    });
    let effect = changed.map_or(Effect::Refused, |(was, is)| effect::of(&was, &is));
    Classified { effect, by: BY }
}

/// What stands in one document; nothing where the parser does not take it.
fn parsed(document: &str) -> Option<Vec<Value>> {
    let value: Value = serde_saphyr::from_str(document).ok()?;
    objects::taken_apart(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutant::{insert, sound};
    use model::Dialect;

    /// Both are written by hand, so each is a check of the other.
    #[test]
    fn the_table_says_of_each_accepted_object_what_the_list_says() {
        let world = sound(Dialect::Kubernetes).unwrap_or_else(|why| panic!("{why}"));
        let says = |artifact: &&model::Artifact| artifact.dialect == Dialect::Kubernetes;
        let text = world.artifacts.iter().find(says).map(model::Artifact::text).unwrap_or_default();
        let otherwise = insert::all(Dialect::Kubernetes, &text).into_iter().filter_map(|mutant| {
            let listed = insert::effect_of(Dialect::Kubernetes, &mutant);
            let told = by_rules(&text, &mutant).effect;
            (listed != Some(told)).then(|| format!("{} is {told:?}", mutant.what))
        });
        let otherwise: Vec<String> = otherwise.collect();
        assert!(otherwise.is_empty(), "{}", otherwise.join("\n\n"));
    }
}
