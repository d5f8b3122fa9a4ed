//! Lines that are inserted, made from the texts themselves: a statement of one node or job in which
//! a word or two are those of another statement of its kind. That puts another's function, GPU,
//! file, partition or channel where it should not be.

use model::Dialect;

use super::{Mutant, MutantKind, hostile};
use crate::Chance;

/// Every line of which others are woven: those of the dialect in a world, and the hostile ones.
pub(super) fn threads<'a>(dialect: Dialect, texts: &[&'a str]) -> Vec<&'a str> {
    let told = texts.iter().flat_map(|text| text.lines());
    // Words that are put in later stand in no line here.
    let hostile = hostile::lines(dialect).iter().flat_map(|lines| lines.lines());
    let hostile = hostile.filter(|line| !line.contains("EXPECTED") && !line.contains("OTHER"));
    let mut all: Vec<&str> = told.chain(hostile).filter(|line| line.contains(' ')).collect();
    all.retain(|line| !line.starts_with('#'));
    all.sort_unstable();
    all.dedup();
    all
}

/// A text with one more line, or with two that may belong together.
pub(super) fn insert(sound: &str, threads: &[&str], chance: &mut Chance) -> Option<Mutant> {
    let lines: Vec<&str> = sound.lines().collect();
    let mut new = vec![woven(threads, chance)?];
    if chance.percent(15) {
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

/// A line with words of another of its kind; often it is as it stood somewhere else.
fn woven(threads: &[&str], chance: &mut Chance) -> Option<String> {
    let line = *chance.pick(threads)?;
    let mut words: Vec<&str> = line.split(' ').collect();
    let kin: Vec<&&str> = threads.iter().filter(|other| is_kin(line, other)).collect();
    for _ in 0..chance.below(3) {
        let other: Vec<&str> = chance.pick(&kin)?.split(' ').collect();
        let place = chance.below(words.len().min(other.len()));
        words[place] = other[place];
    }
    Some(words.join(" "))
}

/// Statements of one kind begin with the same word and have as many, or end in a list.
fn is_kin(one: &str, other: &str) -> bool {
    let first = |line: &str| line.split(' ').next().map(str::to_owned);
    let count = |line: &str| line.split(' ').count();
    first(one) == first(other) && (count(one) == count(other) || one.contains(" gpus "))
}
