//! Lines that are inserted, made from the texts themselves: a statement of one node or job in which
//! a word or two are those of another statement of its kind. That puts another's function, GPU,
//! file, partition or channel where it should not be.

use model::Dialect;

use super::{Mutant, MutantKind};
use crate::Chance;

/// Lines of which others are woven.
pub(super) struct Threads<'t> {
    /// Those of the text itself.
    own: Vec<&'t str>,
    /// Those that somebody hostile would write.
    hostile: Vec<&'t str>,
    /// The same, where several belong together.
    entries: Vec<&'t str>,
    /// All of them, and those of other nodes.
    all: Vec<&'t str>,
}

impl<'t> Threads<'t> {
    /// Those for a text of a dialect, in a world with these ones.
    pub(super) fn of(
        dialect: Dialect,
        sound: &'t str,
        texts: &[&'t str],
        entries: &'t [String],
    ) -> Self {
        // What a board says, no domain does.
        let is_domain = |text: &str| text.contains(" node ");
        let fits = |line: &&str| dialect != Dialect::Nvlink || is_domain(line) == is_domain(sound);
        let entries: Vec<&str> = entries.iter().map(String::as_str).filter(fits).collect();
        let hostile = said(entries.iter().flat_map(|entry| entry.lines()));
        let told = texts.iter().flat_map(|text| text.lines()).filter(fits);
        let all = said(told.chain(hostile.iter().copied()));
        Self { own: said(sound.lines()), hostile, entries, all }
    }

    /// Whether there is nothing to weave of.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn said<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut all: Vec<&str> =
        lines.filter(|line| line.contains(' ') && !line.starts_with('#')).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A text with one more line, or with two that may belong together.
pub(super) fn insert(sound: &str, threads: &Threads<'_>, chance: &mut Chance) -> Option<Mutant> {
    let lines: Vec<&str> = sound.lines().collect();
    let mut new = match chance.percent(25) {
        true => vec![(*chance.pick(&threads.entries)?).to_owned()],
        false => vec![woven(threads, chance)?],
    };
    if chance.percent(25) {
        new.push(woven(threads, chance)?);
    }
    if new.iter().all(|line| lines.contains(&line.as_str())) {
        return None;
    }
    let at = chance.below(lines.len() + 1);
    let new = new.join("\n");
    let all = lines[..at].iter().copied().chain([new.as_str()]).chain(lines[at..].iter().copied());
    let text = all.map(|line| format!("{line}\n")).collect();
    let what = format!("one more: {new}");
    Some(Mutant { kind: MutantKind::Insert, line: at as u32 + 1, what, text })
}

/// A line with words of others of its kind; often it is as it stood somewhere else.
fn woven(threads: &Threads<'_>, chance: &mut Chance) -> Option<String> {
    // Where a text says little there is little to weave of it.
    let from = match chance.below(10) {
        0..5 if threads.own.len() > 2 => &threads.own,
        0..8 => &threads.hostile,
        _ => &threads.all,
    };
    let line = *chance.pick(from)?;
    let mut words: Vec<&str> = line.split(' ').collect();
    let kin: Vec<&str> = threads.all.iter().copied().filter(|other| is_kin(line, other)).collect();
    let near: Vec<&str> = threads.own.iter().copied().filter(|other| is_kin(line, other)).collect();
    for _ in 0..chance.below(3) {
        let is_near = chance.percent(60) && near.len() > 1;
        let other = *chance.pick(if is_near { &near } else { &kin })?;
        let other: Vec<&str> = other.split(' ').collect();
        let both = words.len().min(other.len());
        let differ: Vec<usize> = (0..both).filter(|place| words[*place] != other[*place]).collect();
        let Some(place) = chance.pick(&differ).copied() else { continue };
        words[place] = other[place];
    }
    // What is about somebody else altogether does little here: often it is about one who is.
    if chance.percent(70)
        && let Some(subject) = chance.pick(&threads.own).and_then(|other| other.split(' ').nth(1))
    {
        words[1] = subject;
    }
    Some(words.join(" "))
}

/// Statements of one kind begin with the same word and have as many, or end in a list.
fn is_kin(one: &str, other: &str) -> bool {
    let first = |line: &str| line.split(' ').next().map(str::to_owned);
    let count = |line: &str| line.split(' ').count();
    first(one) == first(other) && (count(one) == count(other) || one.contains(" gpus "))
}
