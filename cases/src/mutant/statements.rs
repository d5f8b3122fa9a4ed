//! What an edit does where each line stands for itself and only our own agents read it, by a
//! written rule: order, spaces, comments and repetitions are nothing, a rendered line that is gone
//! or is another one cuts, and one more of the same kind opens.

use std::collections::BTreeSet;

use model::Dialect;

use super::{Classified, Effect, Mutant};

const BY: &str = "rule: statements are a set, and none is spare";

/// Whether the rule is about this dialect.
pub(super) const fn is_about(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::Vfio
            | Dialect::Devices
            | Dialect::Imex
            | Dialect::Mig
            | Dialect::Amd
            | Dialect::Nvlink
            | Dialect::Versions
    )
}

/// What an edit does.
pub(super) fn classify(sound: &str, mutant: &Mutant) -> Classified {
    let (was, is) = (said(sound), said(&mutant.text));
    let kind = |line: &str| line.split(' ').next().map(str::to_owned);
    let kinds: BTreeSet<_> = was.iter().filter_map(|line| kind(line)).collect();
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\t' || byte == b'\n';
    let is_strange = |line: &String| kind(line).is_none_or(|kind| !kinds.contains(&kind));
    let effect = if !mutant.text.bytes().all(is_plain) || is.difference(&was).any(is_strange) {
        Effect::Refused
    } else if !was.is_subset(&is) {
        Effect::Cuts
    } else if !is.is_subset(&was) {
        Effect::Opens
    } else {
        Effect::Harmless
    };
    Classified { effect, by: BY }
}

fn said(text: &str) -> BTreeSet<String> {
    let words = |line: &str| {
        line.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let lines = text.split('\n').map(words);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
