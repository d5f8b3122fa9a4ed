//! The matrix: jobs against jobs, and what passes between them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use lab::{Crowd, Family, Probe, ProbeWay, Seen};

use super::answer::write_reasons;
use crate::words::{BAD, DIM, GOOD, NAME, PLAIN, Table, aside, cell, painted, plural};

/// A letter for each reason at each hook.
pub(super) type Letters<'a> = BTreeMap<(&'a str, &'a str), char>;

/// The probes in a few parts, so that one sees something move.
pub(super) fn parts(probes: &[Probe]) -> Vec<(Family, Vec<ProbeWay>)> {
    let mut ways: BTreeMap<(Family, u8), BTreeSet<ProbeWay>> = BTreeMap::new();
    for probe in probes {
        let kind = u8::from(matches!(probe.way, ProbeWay::Tcp(_)));
        ways.entry((probe.family, kind)).or_default().insert(probe.way);
    }
    ways.into_iter().map(|((family, _), ways)| (family, ways.into_iter().collect())).collect()
}

/// Says how one part went.
pub(super) fn tell(family: Family, ways: &[ProbeWay], seen: &[Seen]) {
    let names: Vec<String> = ways.iter().map(ToString::to_string).collect();
    let wrong = seen.iter().filter(|seen| !seen.is_right()).count();
    let (colour, word) = if wrong == 0 { (GOOD, "✓") } else { (BAD, "✗") };
    let differ = match wrong {
        0 => String::new(),
        wrong => format!(", {BAD}{wrong} differ{BAD:#}"),
    };
    aside(format_args!(
        "  {colour}{word}{colour:#} {family} {}: {}{differ}",
        names.join(", "),
        plural(seen.len(), "probe")
    ));
}

/// One row for each job that asks, one column for each that is asked.
///
/// `all` passes, a service passes alone; for the rest, letters tell why it was dropped, and `=` that
/// one of its own has that address. What differs from the plan is marked.
pub(super) fn write(crowd: &Crowd, seen: &[Seen], out: &mut dyn Write) -> io::Result<()> {
    let job_of: BTreeMap<&str, String> =
        crowd.workloads().iter().map(|one| (one.name.as_str(), one.job.to_string())).collect();
    let jobs: BTreeSet<&String> =
        seen.iter().filter_map(|seen| job_of.get(&*seen.probe.from)).collect();
    let mut cells: BTreeMap<(&String, &String), Cell<'_>> = BTreeMap::new();
    for seen in seen {
        let (from, to) = (job_of.get(&*seen.probe.from), job_of.get(&*seen.probe.to));
        if let (Some(from), Some(to)) = (from, to) {
            cells.entry((from, to)).or_default().add(seen);
        }
    }
    let letters = letters(seen);
    let columns: Vec<String> = (1..=jobs.len()).map(|number| number.to_string()).collect();
    let mut head = vec!["", "from \\ to"];
    head.extend(columns.iter().map(String::as_str));
    let mut table = Table::with_head(2, &head);
    for (number, from) in columns.iter().zip(&jobs) {
        let mut row = vec![painted(DIM, number), painted(NAME, from)];
        row.extend(jobs.iter().map(|to| match cells.get(&(*from, *to)) {
            None => cell(""),
            Some(found) => {
                let (style, text) = found.said(&letters);
                painted(style, text)
            }
        }));
        table.push(row);
    }
    table.write(out)?;
    write_reasons(seen, out)
}

/// Which letter means what.
pub(super) fn letters(seen: &[Seen]) -> Letters<'_> {
    let drops = seen.iter().flat_map(|seen| &seen.drops);
    let causes: BTreeSet<(&str, &str)> =
        drops.map(|drop| (&*drop.dropped.reason, &*drop.dropped.hook)).collect();
    causes.into_iter().zip('a'..='z').collect()
}

/// Where a hook stands, as one would say it.
pub(super) fn hook_in_words(hook: &str) -> &'static str {
    match hook {
        "workload" => "as it was sent",
        "fabric" => "as it came from the fabric",
        "route" => "as it was routed",
        _ => "before it was received",
    }
}

/// Whether a packet is gone and nobody says where.
pub(super) fn is_lost(seen: &Seen) -> bool {
    let somewhere = seen.arrived || seen.astray.is_some() || seen.instead.is_some();
    !somewhere && seen.drops.is_empty() && seen.unsent.is_none()
}

/// What is known of two jobs.
#[derive(Default)]
struct Cell<'a> {
    asked: usize,
    wrong: usize,
    passed: Vec<&'a Seen>,
    stopped: Vec<&'a Seen>,
}

impl<'a> Cell<'a> {
    fn add(&mut self, seen: &'a Seen) {
        self.asked += 1;
        self.wrong += usize::from(!seen.is_right());
        if seen.arrived && (seen.answered || !seen.probe.expected) {
            self.passed.push(seen);
        } else {
            self.stopped.push(seen);
        }
    }

    fn said(&self, letters: &Letters<'_>) -> (anstyle::Style, String) {
        let ways: BTreeSet<ProbeWay> = self.passed.iter().map(|seen| seen.probe.way).collect();
        let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
        let text = match self.passed.len() {
            0 => self.why(letters),
            all if all == self.asked => "all".to_owned(),
            _ => format!("{} {}", ways.join(", "), self.why(letters)),
        };
        match self.wrong {
            0 if self.passed.is_empty() => (DIM, text),
            0 if self.passed.len() == self.asked => (GOOD, text),
            0 => (PLAIN, text),
            wrong => (BAD, format!("{text} !{wrong}")),
        }
    }

    /// The letters of all reasons for which something was dropped.
    fn why(&self, letters: &Letters<'_>) -> String {
        let drops = self.stopped.iter().flat_map(|seen| &seen.drops);
        let found = drops.filter_map(|drop| {
            letters.get(&(drop.dropped.reason.as_str(), drop.dropped.hook.as_str()))
        });
        let mut why: BTreeSet<char> = found.copied().collect();
        if self.stopped.iter().any(|seen| seen.instead.is_some()) {
            why.insert('=');
        }
        if self.stopped.iter().any(|seen| is_lost(seen)) {
            why.insert('?');
        }
        format!(".{}", why.into_iter().collect::<String>())
    }
}
