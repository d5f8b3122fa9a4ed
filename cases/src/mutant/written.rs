//! What an edit does where each line stands for itself and only our own agents read it, by a
//! written rule: order, spaces, comments and repetitions are nothing; what the statements of a text
//! come to, all together, is compared with what those of the sound one came to.
//!
//! The rule knows whose everything is, and what each statement means by `docs/layers.md`. It has a
//! parser of its own and knows nothing of readers and verifiers.

mod board;
mod facts;
mod files;
mod past;
mod report;
mod software;
mod topology;

use std::collections::BTreeSet;

use model::{DeviceId, Dialect};

use super::{Classified, Consumer, Effect, Mutant};
use crate::World;
use facts::Facts;

const BY: &str = "rule: what the statements of a text come to, all together";

/// Whether the rule is about this dialect.
#[must_use]
pub fn is_ruled(dialect: Dialect) -> bool {
    meaning_of(dialect).is_some()
}

/// The written rule, in a world whose owners it knows.
pub struct StatementRule<'w> {
    world: &'w World,
    dialect: Dialect,
    facts: Facts,
    sound: Option<(String, Meaning)>,
}

/// What the statements of a text come to.
#[derive(Default)]
struct Meaning {
    /// Ways by which somebody can come to what is another's or nobody's, and fences that are down.
    open: BTreeSet<String>,
    /// What somebody must find as it is.
    given: BTreeSet<String>,
    /// Whether its consumer does not take it.
    is_refused: bool,
}

/// The words of a line.
type Statement<'t> = Vec<&'t str>;
/// None where a statement has no meaning at all, so that the whole text is refused.
type Rule = fn(&Facts, &BTreeSet<Statement<'_>>) -> Option<Meaning>;

fn meaning_of(dialect: Dialect) -> Option<Rule> {
    Some(match dialect {
        Dialect::Vfio => topology::functions,
        Dialect::Versions => software::versions,
        Dialect::Mig => board::instances,
        Dialect::Amd => board::divisions,
        Dialect::Nvlink => board::partitions,
        Dialect::Imex => board::channels,
        Dialect::Devices => files::opened,
        Dialect::Scrub => past::left,
        Dialect::Attest => report::vouched,
        _ => return None,
    })
}

impl<'w> StatementRule<'w> {
    /// The rule for texts of this dialect on this device; [`Consumer::at`] goes on to another one.
    #[must_use]
    pub fn new(world: &'w World, dialect: Dialect, device: DeviceId) -> Self {
        Self { world, dialect, facts: Facts::of(world, device), sound: None }
    }

    fn meaning(&self, text: &str) -> Option<Meaning> {
        let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\t' || byte == b'\n';
        let rule = meaning_of(self.dialect).filter(|_| text.bytes().all(is_plain))?;
        rule(&self.facts, &said(text))
    }
}

impl Consumer for StatementRule<'_> {
    fn at(&mut self, device: DeviceId) {
        self.facts = Facts::of(self.world, device);
        self.sound = None;
    }

    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        if self.sound.as_ref().is_none_or(|(text, _)| text != sound) {
            let meaning = self.meaning(sound).unwrap_or_default();
            self.sound = Some((sound.to_owned(), meaning));
        }
        let before = self.sound.as_ref().map(|(_, meaning)| meaning);
        let effect = match (before, self.meaning(&mutant.text)) {
            (Some(before), Some(after)) => effect(before, &after),
            _ => Effect::Refused,
        };
        Classified { effect, by: BY }
    }
}

/// The worst that the one text comes to and the other did not.
fn effect(before: &Meaning, after: &Meaning) -> Effect {
    if !after.open.is_subset(&before.open) {
        Effect::Opens
    } else if !before.given.is_subset(&after.given) {
        Effect::Cuts
    } else if after.is_refused {
        Effect::Refused
    } else {
        Effect::Harmless
    }
}

fn said(text: &str) -> BTreeSet<Statement<'_>> {
    let words = |line| str::split(line, [' ', '\t']).filter(|word| !word.is_empty()).collect();
    let lines = text.split('\n').map(words);
    lines
        .filter(|words: &Statement<'_>| words.first().is_some_and(|w| !w.starts_with('#')))
        .collect()
}

/// A number as people and programs write it: without a sign, without zeros in front.
fn number(word: &str) -> Option<u16> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = word.len() > 1 && word.starts_with('0');
    word.parse().ok().filter(|_| is_plain && !is_padded)
}

/// A GPU by its module id, as the number from 0 that it has in masks.
fn module(word: &str) -> Option<u16> {
    number(word).filter(|module| (1..=64).contains(module)).map(|module| module - 1)
}
