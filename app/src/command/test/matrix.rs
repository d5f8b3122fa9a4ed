//! The matrix: jobs against jobs, and what passes between them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use lab::{Family, Lab, Probe, Seen, Way};

use crate::words::{BAD, DIM, GOOD, NAME, PLAIN, Table, aside, cell, painted, plural};

/// The probes in a few parts, so that one sees something move.
pub(super) fn parts(probes: &[Probe]) -> Vec<(Family, Vec<Way>)> {
    let mut ways: BTreeMap<(Family, u8), BTreeSet<Way>> = BTreeMap::new();
    for probe in probes {
        let kind = u8::from(matches!(probe.way, Way::Tcp(_)));
        ways.entry((probe.family, kind)).or_default().insert(probe.way);
    }
    ways.into_iter().map(|((family, _), ways)| (family, ways.into_iter().collect())).collect()
}

/// Says how one part went.
pub(super) fn tell(family: Family, ways: &[Way], seen: &[Seen]) {
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
/// `all` passes, `.` does not, a service passes alone; what differs from the plan is marked.
pub(super) fn write(lab: &Lab, seen: &[Seen], out: &mut dyn Write) -> io::Result<()> {
    let job_of: BTreeMap<&str, String> =
        lab.workloads().iter().map(|one| (one.name.as_str(), one.job.to_string())).collect();
    let jobs: BTreeSet<&String> = job_of.values().collect();
    let mut cells: BTreeMap<(&String, &String), Cell<'_>> = BTreeMap::new();
    for seen in seen {
        let (from, to) = (job_of.get(&*seen.probe.from), job_of.get(&*seen.probe.to));
        if let (Some(from), Some(to)) = (from, to) {
            cells.entry((from, to)).or_default().add(seen);
        }
    }
    let columns: Vec<String> = (1..=jobs.len()).map(|number| number.to_string()).collect();
    let mut head = vec!["", "from \\ to"];
    head.extend(columns.iter().map(String::as_str));
    let mut table = Table::with_head(2, &head);
    for (number, from) in columns.iter().zip(&jobs) {
        let mut row = vec![painted(DIM, number), painted(NAME, from)];
        row.extend(jobs.iter().map(|to| match cells.get(&(*from, *to)) {
            None => cell(""),
            Some(found) => {
                let (style, text) = found.said();
                painted(style, text)
            }
        }));
        table.push(row);
    }
    table.write(out)
}

/// What is known of two jobs.
#[derive(Default)]
struct Cell<'a> {
    asked: usize,
    wrong: usize,
    passed: Vec<&'a Seen>,
}

impl<'a> Cell<'a> {
    fn add(&mut self, seen: &'a Seen) {
        self.asked += 1;
        self.wrong += usize::from(!seen.is_right());
        if seen.arrived && seen.answered {
            self.passed.push(seen);
        }
    }

    fn said(&self) -> (anstyle::Style, String) {
        let ways: BTreeSet<Way> = self.passed.iter().map(|seen| seen.probe.way).collect();
        let ways: Vec<String> = ways.iter().map(ToString::to_string).collect();
        let text = match self.passed.len() {
            0 => ".".to_owned(),
            all if all == self.asked => "all".to_owned(),
            _ => ways.join(", "),
        };
        match self.wrong {
            0 if self.passed.is_empty() => (DIM, text),
            0 if self.passed.len() == self.asked => (GOOD, text),
            0 => (PLAIN, text),
            wrong => (BAD, format!("{text} !{wrong}")),
        }
    }
}
