//! Edits of a text by chance, in the ways that people and programs edit.

use std::collections::BTreeSet;

use model::Dialect;
use read::description;

use super::{Mutant, MutantKind, frr, kubernetes, pkey, vm};
use crate::Chance;

/// One edit; none where chance came upon a line that cannot be edited so.
pub(super) fn at_random(dialect: Dialect, sound: &str, chance: &mut Chance) -> Option<Mutant> {
    let lines: Vec<&str> = sound.lines().collect();
    let at = chance.below(lines.len());
    let line = *lines.get(at)?;
    if dialect == Dialect::Slurm && lines[at..].iter().take(2).any(|line| is_heading(line)) {
        return None;
    }
    if chance.percent(60) {
        let own = match dialect {
            Dialect::Frr | Dialect::Nxos => Some(frr::edit(&lines, at, chance)?),
            Dialect::Pkey => Some(pkey::edit(&lines, at, chance)?),
            Dialect::Vm => Some(vm::edit(&lines, at, chance)?),
            Dialect::Kubernetes => Some(kubernetes::edit(&lines, at, chance)?),
            _ => None,
        };
        if let Some((kind, what, text)) = own {
            return Some(Mutant { kind, line: at as u32 + 1, what, text });
        }
    }
    let (kind, what, text) = match chance.below(100) {
        0..12 => (MutantKind::Delete, format!("gone: {line}"), with(&lines, at, &[])),
        12..52 => changed(dialect, &lines, at, chance)?,
        52..60 => ignored(dialect, &lines, at, chance)?,
        _ => between(dialect, &lines, at, chance)?,
    };
    Some(Mutant { kind, line: at as u32 + 1, what, text })
}

/// The lines that part Slurm's files stand in none of them.
fn is_heading(line: &str) -> bool {
    matches!(line, "# reservations" | "# jobs")
        || (line.starts_with("# ") && line.ends_with(".conf"))
}

/// For every word that lines begin with: a text without any such line.
pub(super) fn absences(dialect: Dialect, sound: &str) -> Vec<Mutant> {
    let first = |line: &str| {
        let line = line.trim_start();
        let end = line.find([' ', '=', '>']).unwrap_or(line.len());
        line[..end].to_owned()
    };
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for (at, line) in (1..).zip(sound.lines()) {
        let word = first(line);
        if line.trim().is_empty() || line.starts_with(sign(dialect)) || !seen.insert(word.clone()) {
            continue;
        }
        let kept = sound.lines().filter(|line| first(line) != word);
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        all.push(Mutant {
            kind: MutantKind::Absence,
            line: at,
            what: format!("every {word}"),
            text,
        });
    }
    all
}

pub(super) type Edit = (MutantKind, String, String);

/// The text with these lines in place of one.
pub(super) fn with(lines: &[&str], at: usize, new: &[&str]) -> String {
    let all = lines[..at].iter().chain(new).chain(&lines[at + 1..]);
    all.map(|line| format!("{line}\n")).collect()
}

pub(super) fn edited(kind: MutantKind, lines: &[&str], at: usize, new: &str) -> Option<Edit> {
    let what = format!("{} -> {new}", lines[at].trim());
    (new != lines[at]).then(|| (kind, what, with(lines, at, &[new])))
}

/// A value is another one: of another line, a digit more, a word that people write there.
fn changed(dialect: Dialect, lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const WORDS: [&str; 12] =
        ["ALL", "NO", "YES", "no", "yes", "none", "root", "0", "1", "(null)", "other", ""];
    let line = lines[at];
    if line.starts_with(sign(dialect)) {
        return None;
    }
    let values = values(line);
    let (from, to) = *chance.pick(&values)?;
    let value = &line[from..to];
    let new = match chance.below(6) {
        0 => (*chance.pick(&WORDS)?).to_owned(),
        1 => {
            let digits: Vec<usize> = value
                .bytes()
                .enumerate()
                .filter(|(_, byte)| byte.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            let at = *chance.pick(&digits)?;
            format!("{}{}{}", &value[..at], chance.below(10), &value[at + 1..])
        }
        2 => {
            let other = lines[chance.below(lines.len())];
            let others = self::values(other);
            let (from, to) = *chance.pick(&others)?;
            other[from..to].to_owned()
        }
        3 => {
            let mut words: Vec<&str> = value.split(',').collect();
            if words.len() > 1 {
                words.remove(chance.below(words.len()));
            }
            words.join(",")
        }
        4 => {
            let other = lines[chance.below(lines.len())];
            let others = self::values(other);
            let (from, to) = *chance.pick(&others)?;
            format!("{value},{}", &other[from..to])
        }
        _ => {
            let rest = line[to..].trim_start();
            let start = line[..from].rfind(' ').map_or(0, |at| at + 1);
            let rest = format!("{}{rest}", &line[..start]);
            return edited(MutantKind::Change, lines, at, rest.trim_end());
        }
    };
    edited(MutantKind::Change, lines, at, &format!("{}{new}{}", &line[..from], &line[to..]))
}

/// Where values stand in a line: words, and what stands behind an equals sign or in quotes.
fn values(line: &str) -> Vec<(usize, usize)> {
    let is_end = |byte: u8| matches!(byte, b' ' | b'=' | b'\'' | b'"' | b'<' | b'>' | b'/' | b':');
    let mut all = Vec::new();
    let mut from = 0;
    for (at, byte) in line.bytes().chain([b' ']).enumerate() {
        // A slash or a colon joins more often than it parts.
        let is_end = is_end(byte) && !(matches!(byte, b'/' | b':') && line.contains('='));
        if is_end {
            if at > from && line.is_char_boundary(from) && line.is_char_boundary(at) {
                all.push((from, at));
            }
            from = at + 1;
        }
    }
    all
}

/// A line that passes over has another value.
fn ignored(dialect: Dialect, lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let ignored = chance.pick(description(dialect).ignored)?;
    let line = ignored.example();
    let (begin, value) = line.split_at(line.find(['=', ' '])? + 1);
    let is_here = lines.iter().position(|line| line.trim_start().starts_with(begin));
    let words = [
        "root",
        "0",
        "no",
        "ALL",
        "/tmp/x",
        "none",
        "-1",
        "999999999999",
        "a b",
        "h1",
        "YES",
        "INFINITE",
    ];
    let new = if chance.percent(30) { value } else { *chance.pick(&words)? };
    let new = format!("{begin}{new}");
    let place = ignored.place;
    let at = is_here.unwrap_or_else(|| {
        let head = lines.iter().position(|line| line.trim_start_matches(['#', ' ']) == place);
        head.unwrap_or(at)
    });
    let old = lines[at];
    let text =
        if is_here.is_some() { with(lines, at, &[&new]) } else { with(lines, at, &[old, &new]) };
    Some((
        MutantKind::Ignored,
        format!("{} -> {new}", if is_here.is_some() { old } else { "" }),
        text,
    ))
}

/// What stands between words: seen or not, read or not.
fn between(dialect: Dialect, lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    const KIND: MutantKind = MutantKind::Between;
    let (line, sign) = (lines[at], sign(dialect));
    let gaps: Vec<usize> = line
        .bytes()
        .enumerate()
        .filter(|(_, byte)| b" ,=".contains(byte))
        .map(|(at, _)| at)
        .collect();
    let gap = |chance: &mut Chance| chance.pick(&gaps).copied();
    let new = match chance.below(14) {
        0 => format!("{line}  "),
        1 => format!("  {line}"),
        2 => format!("{line}\t"),
        3 => format!("{line} {sign} looked at on Monday"),
        4 => {
            let gap = gap(chance)?;
            format!("{} {sign} {}", &line[..gap], &line[gap..])
        }
        5 => {
            let gap = gap(chance)?;
            format!("{}\\\n{}", &line[..=gap], &line[gap + 1..])
        }
        6 => format!("{line}\r"),
        7 => {
            let hidden =
                *chance.pick(&['\u{a0}', '\u{2028}', '\u{85}', '\u{200b}', '\u{b}', '\u{c}'])?;
            let gap = gap(chance)?;
            format!("{}{hidden}{}", &line[..=gap], &line[gap + 1..])
        }
        8 => {
            let end = line.find(['=', ' ']).unwrap_or(line.len());
            format!("{}{}", line[..end].to_ascii_uppercase(), &line[end..])
        }
        9 => line.to_ascii_lowercase(),
        10 => format!("{sign} {line}"),
        11 => format!("{line}\n{sign} somebody was here"),
        12 => format!("{line}\n"),
        _ => {
            let next = *lines.get(at + 1)?;
            let rest = with(lines, at, &[next, line]);
            let mut swapped: Vec<&str> = rest.lines().collect();
            swapped.remove(at + 2);
            let text = swapped.iter().map(|line| format!("{line}\n")).collect();
            return Some((KIND, format!("swapped with the next: {line}"), text));
        }
    };
    edited(KIND, lines, at, &new)
}

/// What begins a comment.
const fn sign(dialect: Dialect) -> char {
    match dialect {
        Dialect::Nxos | Dialect::Frr => '!',
        _ => '#',
    }
}
