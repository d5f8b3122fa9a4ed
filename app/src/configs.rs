//! How configurations differ: lines of the parts of a text, or statements where a device says what
//! it holds in its own order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use control::Silent;
use model::{Artifact, Dialect, Fleet, Part};
use serde::Serialize;

use crate::words::{self, BAD, DIM, Format, GOOD, HEAD};

/// The configurations of all devices at one time.
pub(crate) struct Side<'a> {
    /// Which time, in a word.
    pub(crate) what: &'static str,
    pub(crate) fleet: &'a Fleet,
    pub(crate) artifacts: &'a [Artifact],
}

/// Lines that stand together and differ.
#[derive(Serialize)]
pub(crate) struct Differing {
    pub(crate) device: String,
    dialect: Dialect,
    #[serde(skip)]
    what: [&'static str; 2],
    /// The part of the text, or the blocks around the statements.
    at: String,
    lines: Vec<Line>,
}

#[derive(Clone, Serialize)]
struct Line {
    sign: Sign,
    text: String,
}

#[derive(Clone, Copy, Eq, PartialEq, Serialize)]
enum Sign {
    #[serde(rename = " ")]
    Both,
    #[serde(rename = "-")]
    Before,
    #[serde(rename = "+")]
    After,
}

impl Differing {
    /// How many lines it is.
    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }
}

impl Side<'_> {
    /// Whether this device is configured.
    pub(crate) fn has(&self, device: &str) -> bool {
        let mut names = self.artifacts.iter().map(|one| self.fleet.device_name(one.device));
        names.any(|name| name.as_str() == device)
    }

    /// By device and dialect.
    fn texts(&self) -> BTreeMap<(&str, Dialect), &Artifact> {
        let keyed = self.artifacts.iter().map(|artifact| {
            ((self.fleet.device_name(artifact.device).as_str(), artifact.dialect), artifact)
        });
        keyed.collect()
    }
}

/// The lines that differ, part by part.
pub(crate) fn differences(before: &Side<'_>, after: &Side<'_>) -> Vec<Differing> {
    each_text(before, after, |_, was, is| {
        let is_whole = [was, is]
            .into_iter()
            .flatten()
            .any(|artifact| artifact.parts.iter().any(|part| part.part == Part::Whole));
        let (was, is) = (parts(was, is_whole), parts(is, is_whole));
        let all: BTreeSet<&Part> = was.keys().chain(is.keys()).collect();
        let hunks = all.into_iter().flat_map(|part| {
            let text = |of: &BTreeMap<Part, String>| of.get(part).cloned().unwrap_or_default();
            let hunks = hunks(&lines(&text(&was), &text(&is)));
            hunks.into_iter().map(|lines| (part.to_string(), lines))
        });
        hunks.collect()
    })
}

/// The statements that differ, whatever their order, block by block.
pub(crate) fn statements(before: &Side<'_>, after: &Side<'_>) -> Vec<Differing> {
    each_text(before, after, |dialect, was, is| {
        let text = |artifact: Option<&Artifact>| artifact.map(Artifact::text).unwrap_or_default();
        let mut by_block: BTreeMap<Vec<String>, Vec<Line>> = BTreeMap::new();
        for differs in read::differences(dialect, &text(was), &text(is)) {
            let sign = if differs.is_missing { Sign::Before } else { Sign::After };
            let line = Line { sign, text: differs.statement };
            by_block.entry(differs.blocks).or_default().push(line);
        }
        by_block.into_iter().map(|(blocks, lines)| (blocks.join(" > "), lines)).collect()
    })
}

fn each_text(
    before: &Side<'_>,
    after: &Side<'_>,
    differ: impl Fn(Dialect, Option<&Artifact>, Option<&Artifact>) -> Vec<(String, Vec<Line>)>,
) -> Vec<Differing> {
    let (was, is) = (before.texts(), after.texts());
    let all: BTreeSet<_> = was.keys().chain(is.keys()).copied().collect();
    let mut differing = Vec::new();
    for (device, dialect) in all {
        let at = (device, dialect);
        let found = differ(dialect, was.get(&at).copied(), is.get(&at).copied()).into_iter();
        differing.extend(found.map(|(at, lines)| {
            let what = [before.what, after.what];
            Differing { device: device.to_owned(), dialect, what, at, lines }
        }));
    }
    differing
}

/// The text of each part, or of all together: what was taken from a device has no parts.
fn parts(artifact: Option<&Artifact>, is_whole: bool) -> BTreeMap<Part, String> {
    let mut parts: BTreeMap<Part, String> = BTreeMap::new();
    for part in artifact.into_iter().flat_map(|artifact| &artifact.parts) {
        let at = if is_whole { Part::Whole } else { part.part.clone() };
        parts.entry(at).or_default().push_str(&part.text);
    }
    parts
}

/// The lines of both texts in one order, with as few differences as can be.
fn lines(before: &str, after: &str) -> Vec<Line> {
    let (was, is): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let first = was.iter().zip(&is).take_while(|(one, other)| one == other).count();
    let ends = was[first..].iter().rev().zip(is[first..].iter().rev());
    let last = ends.take_while(|(one, other)| one == other).count();
    let line = |sign| move |text: &&str| Line { sign, text: (*text).to_owned() };
    let mut lines: Vec<Line> = was[..first].iter().map(line(Sign::Both)).collect();
    lines.extend(middle(&was[first..was.len() - last], &is[first..is.len() - last]));
    lines.extend(was[was.len() - last..].iter().map(line(Sign::Both)));
    lines
}

/// The longest lines in common, by the table of how many are left of both (Wagner and Fischer).
/// Where that table would be too large, nothing is looked for.
fn middle(was: &[&str], is: &[&str]) -> Vec<Line> {
    const LARGEST: usize = 4_000_000;
    let width = is.len() + 1;
    let is_small = (was.len() + 1).saturating_mul(width) <= LARGEST;
    let mut common = vec![0_u32; if is_small { (was.len() + 1) * width } else { 0 }];
    if is_small {
        for (row, one) in was.iter().enumerate().rev() {
            for (column, other) in is.iter().enumerate().rev() {
                let at = row * width + column;
                let (down, right) = (common[at + width], common[at + 1]);
                common[at] =
                    if one == other { common[at + width + 1] + 1 } else { down.max(right) };
            }
        }
    }
    let left = |row: usize, column: usize| common.get(row * width + column).copied().unwrap_or(0);
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < was.len() || column < is.len() {
        let is_equal = is_small && was.get(row) == is.get(column);
        let goes = column == is.len()
            || row < was.len() && (left(row + 1, column) >= left(row, column + 1));
        let (sign, text) = match () {
            () if is_equal => (Sign::Both, was[row]),
            () if goes => (Sign::Before, was[row]),
            () => (Sign::After, is[column]),
        };
        row += usize::from(sign != Sign::After);
        column += usize::from(sign != Sign::Before);
        lines.push(Line { sign, text: text.to_owned() });
    }
    lines
}

/// The lines that differ with a few around them.
fn hunks(lines: &[Line]) -> Vec<Vec<Line>> {
    const AROUND: usize = 2;
    let differs: Vec<usize> =
        (0..lines.len()).filter(|&place| lines[place].sign != Sign::Both).collect();
    let together = differs.chunk_by(|one, other| other - one <= 2 * AROUND + 1);
    let hunk = |places: &[usize]| {
        let (first, last) = (places.first()?, places.last()?);
        let end = lines.len().min(last + AROUND + 1);
        Some(lines[first.saturating_sub(AROUND)..end].to_vec())
    };
    together.filter_map(hunk).collect()
}

/// As `diff -u` writes it, or as data. Who does not answer has no differences.
pub(crate) fn write_differences(
    differing: &[Differing],
    silent: &[Silent],
    format: Format,
    out: &mut dyn Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Answer<'a> {
        differences: &'a [Differing],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        silent: &'a [Silent],
    }
    if format != Format::Text {
        return words::data(out, format, &Answer { differences: differing, silent });
    }
    if differing.is_empty() {
        return writeln!(out, "{GOOD}No difference{GOOD:#}.");
    }
    let same = |one: &Differing, other: &Differing| {
        one.device == other.device && one.dialect == other.dialect
    };
    for of_text in differing.chunk_by(same) {
        let Differing { device, dialect, what: [before, after], .. } = &of_text[0];
        writeln!(out, "{HEAD}--- {device} {dialect} ({before}){HEAD:#}")?;
        writeln!(out, "{HEAD}+++ {device} {dialect} ({after}){HEAD:#}")?;
        for Differing { at, lines, .. } in of_text {
            writeln!(out, "{DIM}@@ {at} @@{DIM:#}")?;
            for Line { sign, text } in lines {
                match sign {
                    Sign::Both => writeln!(out, " {text}")?,
                    Sign::Before => writeln!(out, "{BAD}-{text}{BAD:#}")?,
                    Sign::After => writeln!(out, "{GOOD}+{text}{GOOD:#}")?,
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let signed = lines(before, after);
        let said: Vec<String> = signed
            .iter()
            .map(|line| match line.sign {
                Sign::Both => format!(" {}", line.text),
                Sign::Before => format!("-{}", line.text),
                Sign::After => format!("+{}", line.text),
            })
            .collect();
        assert_eq!(said.join(""), expected);
    }

    #[test]
    fn lines_in_common_are_kept() {
        check("a\nb\nc\n", "a\nb\nc\n", " a b c");
        check("a\nb\nc\nd\n", "a\nc\nx\nd\n", " a-b c+x d");
        check("", "a\nb\n", "+a+b");
        check("a\nb\n", "", "-a-b");
        check("a\nx\nb\ny\n", "x\na\ny\nb\n", "-a x-b+a y+b");
    }

    #[test]
    fn what_is_far_apart_stands_apart() {
        let before: String = (0..30).map(|number| format!("{number}\n")).collect();
        let after = before.replace("\n3\n", "\nthree\n").replace("\n20\n", "\ntwenty\n");
        let hunks = hunks(&lines(&before, &after));
        let sizes: Vec<usize> = hunks.iter().map(Vec::len).collect();
        assert_eq!(sizes, [6, 6]);
    }
}
