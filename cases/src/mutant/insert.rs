//! Lines and elements that a consumer accepts, each put where it takes effect.

use model::Dialect;

use super::{Effect, Mutant, MutantKind, hostile};

/// A line that a consumer accepts.
pub(super) struct Accepted {
    /// It is put behind every first line that begins so; at the end of the text if nothing does.
    pub(super) behind: &'static str,
    /// What is put there: a line, or several.
    pub(super) line: &'static str,
    /// What it does, where no consumer says so.
    pub(super) effect: Effect,
}

/// What is known to be accepted in a dialect, hostile or not.
pub(super) const fn accepted(dialect: Dialect) -> &'static [Accepted] {
    match dialect {
        Dialect::Frr => super::frr::ACCEPTED,
        Dialect::Nxos => super::switch::ACCEPTED,
        Dialect::Slurm => super::slurm::ACCEPTED,
        Dialect::Pkey => super::pkey::ACCEPTED,
        Dialect::Vm => super::vm::ACCEPTED,
        Dialect::Kubernetes => super::kubernetes::ACCEPTED,
        _ => &[],
    }
}

/// Each accepted line, in the place where it takes effect.
pub(super) fn all(dialect: Dialect, sound: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = sound.lines().collect();
    let put = |accepted: &Accepted| {
        // Where the beginning is indented, so is the line.
        let begins = |line: &&str| {
            let is_indented = accepted.behind.starts_with(' ');
            let line = if is_indented { line } else { line.trim_start() };
            line.starts_with(accepted.behind)
        };
        let at = lines.iter().position(begins);
        let at = at.unwrap_or(lines.len().saturating_sub(1));
        let mut new = lines.clone();
        new.insert(at + 1, accepted.line);
        Mutant {
            kind: MutantKind::Insert,
            line: at as u32 + 1,
            what: format!("behind it: {}", accepted.line),
            text: new.join("\n") + "\n",
        }
    };
    accepted(dialect).iter().map(put).chain(hostile(dialect, sound)).collect()
}

/// Each hostile line, at the end.
fn hostile(dialect: Dialect, sound: &str) -> impl Iterator<Item = Mutant> {
    hostile::lines(dialect).into_iter().map(move |line| Mutant {
        kind: MutantKind::Insert,
        line: sound.lines().count() as u32 + 1,
        what: format!("one more: {line}"),
        text: format!("{sound}{line}\n"),
    })
}

/// What a line that was put in does, by the list.
pub(super) fn effect_of(dialect: Dialect, mutant: &Mutant) -> Option<Effect> {
    let line = mutant.what.strip_prefix("behind it: ")?;
    let mut list = accepted(dialect).iter();
    list.find(|accepted| accepted.line == line).map(|accepted| accepted.effect)
}
