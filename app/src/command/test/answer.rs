//! What was found out, for people and for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Instant;

use lab::{Crowd, DroppedAt, Probe, Seen};
use model::Name;
use serde::Serialize;

use super::matrix;
use crate::words::{
    self, BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, grouped, number, painted, plural, some,
};

/// What became of all probes.
pub(super) struct Outcome {
    pub(super) crowd: Crowd,
    pub(super) seen: Vec<Seen>,
    /// How many were left out.
    pub(super) skipped: usize,
    /// Devices whose endpoints nobody can ask for.
    pub(super) unasked: BTreeSet<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    workloads: usize,
    probes: usize,
    skipped: usize,
    unasked: &'a BTreeSet<String>,
    passed: usize,
    refused: usize,
    differing: Vec<SeenView<'a>>,
    drops: Vec<Pair<'a>>,
}

/// What became of one probe.
#[derive(Serialize)]
struct SeenView<'a> {
    probe: &'a Probe,
    arrived: bool,
    answered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    astray: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drops: Vec<DropView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsent: Option<&'a str>,
}

/// Where it was dropped, in the words of `filter drops`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DropView<'a> {
    device: &'a Name,
    hook: &'a str,
    port: &'a str,
    reason: &'a str,
    meaning: &'a str,
    source_tag: u16,
    destination_tag: u16,
}

/// Where the packets of one endpoint to another were dropped.
#[derive(Eq, Ord, PartialEq, PartialOrd, Serialize)]
struct Pair<'a> {
    from: &'a str,
    to: &'a str,
    device: &'a str,
    hook: &'a str,
    port: &'a str,
    reason: &'a str,
    probes: usize,
}

impl<'a> SeenView<'a> {
    fn of(seen: &'a Seen) -> Self {
        Self {
            probe: &seen.probe,
            arrived: seen.arrived,
            answered: seen.answered,
            astray: seen.astray.as_deref(),
            instead: seen.instead.as_deref(),
            drops: seen.drops.iter().map(DropView::of).collect(),
            unsent: seen.unsent.as_deref(),
        }
    }
}

impl<'a> DropView<'a> {
    fn of(DroppedAt { device, dropped }: &'a DroppedAt) -> Self {
        Self {
            device,
            hook: &dropped.hook,
            port: &dropped.port,
            reason: &dropped.reason,
            meaning: &dropped.meaning,
            source_tag: dropped.source,
            destination_tag: dropped.destination,
        }
    }
}

/// The probes between endpoints that a packet program judges, and the devices of the others.
pub(super) fn askable(crowd: &Crowd, all: Vec<Probe>) -> (Vec<Probe>, BTreeSet<String>) {
    let others = crowd.workloads().iter().filter(|one| !one.has_filter);
    let (others, devices): (BTreeSet<&str>, BTreeSet<String>) =
        others.map(|one| (one.name.as_str(), one.device.clone())).unzip();
    let is_askable = |probe: &Probe| {
        !others.contains(probe.from.as_str()) && !others.contains(probe.to.as_str())
    };
    (all.into_iter().filter(is_askable).collect(), devices)
}

/// How many endpoints ask.
pub(super) fn asking(probes: &[Probe]) -> usize {
    probes.iter().map(|probe| &probe.from).collect::<BTreeSet<_>>().len()
}

impl Outcome {
    pub(super) fn is_right(&self) -> bool {
        self.seen.iter().all(Seen::is_right)
    }

    pub(super) fn write(
        &self,
        format: Format,
        with_drops: bool,
        begin: Instant,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if format != Format::Text {
            return words::data(out, format, &self.answer());
        }
        matrix::write(&self.crowd, &self.seen, out)?;
        if with_drops {
            write_pairs(&self.pairs(), out)?;
        }
        write_differing(&self.differing(), out)?;
        if !self.unasked.is_empty() {
            writeln!(
                out,
                "{NOTE}Not asked{NOTE:#}: no packet program is on {}, so no agent can ask for its \
                 endpoints.",
                some(&self.unasked, 5)
            )?;
        }
        self.write_end(begin, out)
    }

    fn answer(&self) -> Answer<'_> {
        let passed = self.seen.iter().filter(|seen| seen.arrived && seen.answered).count();
        let refused = self.seen.iter().filter(|seen| !seen.arrived).count();
        let asking: BTreeSet<&String> = self.seen.iter().map(|seen| &seen.probe.from).collect();
        Answer {
            workloads: asking.len(),
            probes: self.seen.len(),
            skipped: self.skipped,
            unasked: &self.unasked,
            passed,
            refused,
            differing: self.differing().into_iter().map(SeenView::of).collect(),
            drops: self.pairs(),
        }
    }

    fn differing(&self) -> Vec<&Seen> {
        self.seen.iter().filter(|seen| !seen.is_right()).collect()
    }

    fn pairs(&self) -> Vec<Pair<'_>> {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for seen in &self.seen {
            for drop in &seen.drops {
                let (ends, at) = ((&*seen.probe.from, &*seen.probe.to), &drop.dropped);
                let place = (drop.device.as_str(), &*at.hook, &*at.port, &*at.reason);
                *counts.entry((ends, place)).or_default() += 1;
            }
        }
        let pair = |(((from, to), (device, hook, port, reason)), probes)| Pair {
            from,
            to,
            device,
            hook,
            port,
            reason,
            probes,
        };
        counts.into_iter().map(pair).collect()
    }

    fn write_end(&self, begin: Instant, out: &mut dyn Write) -> io::Result<()> {
        let wrong = self.differing().len();
        let (must, must_not): (Vec<&Seen>, Vec<&Seen>) =
            self.seen.iter().partition(|seen| seen.probe.expected);
        let seconds = begin.elapsed().as_secs_f64();
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(" {} skipped.", grouped(skipped)),
        };
        let (must, must_not) = (grouped(must.len()), grouped(must_not.len()));
        if wrong == 0 {
            writeln!(
                out,
                "{GOOD}As planned{GOOD:#}: {must} that should pass did, {must_not} that must not \
                 did not, in {seconds:.1} s.{skipped}"
            )
        } else {
            let wrong = match wrong {
                1 => "One is not".to_owned(),
                wrong => format!("{} are not", grouped(wrong)),
            };
            writeln!(
                out,
                "{BAD}{wrong} as planned{BAD:#}, of {must} that should pass and {must_not} that \
                 must not, in {seconds:.1} s.{skipped}"
            )
        }
    }
}

fn write_pairs(pairs: &[Pair<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::with_head(2, &["from", "to", "dropped by", "at", "", "reason", ""]);
    for pair in pairs {
        table.push(vec![
            painted(NAME, pair.from),
            painted(NAME, pair.to),
            cell(pair.device),
            cell(pair.hook),
            cell(pair.port),
            cell(pair.reason),
            number(pair.probes),
        ]);
    }
    table.write(out)
}

fn write_differing(differing: &[&Seen], out: &mut dyn Write) -> io::Result<()> {
    /// More than this are for programs.
    const MOST: usize = 40;
    let mut table = Table::new(2);
    for seen in differing.iter().take(MOST) {
        let Probe { from, to, way, family, expected } = &seen.probe;
        let expected = if *expected { "should pass" } else { "must not pass" };
        table.push(vec![
            cell(from),
            cell("to"),
            cell(to),
            cell(way),
            cell(family),
            cell(expected),
            painted(BAD, outcome(seen)),
        ]);
    }
    table.write(out)?;
    if let Some(more) = differing.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "  {DIM}and {} more{DIM:#}", grouped(more))?;
    }
    Ok(())
}

fn outcome(seen: &Seen) -> String {
    let mut said = match (&seen.unsent, &seen.astray, seen.arrived, seen.answered) {
        (Some(why), ..) => format!("was not asked: {why}"),
        (None, Some(astray), ..) => format!("arrived at {astray}"),
        (None, None, true, true) => "was answered".to_owned(),
        (None, None, true, false) if !seen.probe.expected => "arrived".to_owned(),
        (None, None, true, false) => "arrived, but the answer did not".to_owned(),
        (None, None, false, _) => "did not arrive".to_owned(),
    };
    for drop in &seen.drops {
        let at = &drop.dropped;
        said.push_str(&format!("; {} dropped it at {} ({})", drop.device, at.port, at.reason));
    }
    if matrix::is_lost(seen) {
        said.push_str(", and no device says why");
    }
    said
}

/// The reasons for which packets were dropped, with a letter each, and how often where.
pub(super) fn write_reasons(seen: &[Seen], out: &mut dyn Write) -> io::Result<()> {
    let letters = matrix::letters(seen);
    let mut table = Table::new(2);
    for ((reason, hook), letter) in &letters {
        let drops = seen.iter().flat_map(|seen| &seen.drops);
        let these: Vec<_> = drops
            .filter(|drop| drop.dropped.reason == *reason && drop.dropped.hook == *hook)
            .collect();
        let devices: BTreeSet<&str> = these.iter().map(|drop| drop.device.as_str()).collect();
        let meaning = these.first().map_or("", |drop| drop.dropped.meaning.as_str());
        table.push(vec![
            painted(DIM, letter),
            cell(reason),
            number(these.len()),
            cell(matrix::hook_in_words(hook)),
            painted(DIM, some(devices.iter(), 4)),
            painted(DIM, meaning),
        ]);
    }
    table.write(out)?;
    let instead = seen.iter().filter(|seen| seen.instead.is_some()).count();
    if instead > 0 {
        let instead = plural(instead, "packet");
        let who = "one who may be asked and has the same address";
        writeln!(out, "  {DIM}= {instead} arrived at {who}{DIM:#}")?;
    }
    let lost = seen.iter().filter(|seen| matrix::is_lost(seen)).count();
    if lost > 0 {
        let lost = plural(lost, "packet");
        writeln!(out, "  {DIM}? {lost} arrived nowhere, and no device says why{DIM:#}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use agent::Dropped;
    use lab::{Family, ProbeWay};

    use super::*;
    use crate::command::schema;

    #[test]
    fn whatever_became_of_a_probe_is_written_as_its_schema_has_it() {
        let ways = [ProbeWay::Icmp, ProbeWay::Tcp(22), ProbeWay::Udp(443), ProbeWay::Roce];
        let mut seen = Vec::new();
        for (way, family) in ways.into_iter().zip([Family::V4, Family::V6].into_iter().cycle()) {
            let (from, to) = ("red-1/0".to_owned(), "blue-1/0".to_owned());
            let dropped = Dropped {
                hook: "workload".to_owned(),
                port: "swp1".to_owned(),
                reason: "other-job".to_owned(),
                meaning: "it is of another job".to_owned(),
                source: 17,
                destination: 0,
            };
            seen.push(Seen {
                probe: Probe { from, to, way, family, expected: true },
                arrived: false,
                answered: false,
                astray: Some("blue-2/0".to_owned()),
                instead: Some("red-2/0".to_owned()),
                drops: vec![DroppedAt { device: "leaf-1".parse().unwrap(), dropped }],
                unsent: Some("there is no port swp9 here".to_owned()),
            });
        }
        let unasked = BTreeSet::from(["leaf-2".to_owned()]);
        let pair = Pair {
            from: "red-1/0",
            to: "blue-1/0",
            device: "leaf-1",
            hook: "workload",
            port: "swp1",
            reason: "other-job",
            probes: 4,
        };
        let answer = Answer {
            workloads: 1,
            probes: seen.len(),
            skipped: 0,
            unasked: &unasked,
            passed: 0,
            refused: seen.len(),
            differing: seen.iter().map(SeenView::of).collect(),
            drops: vec![pair],
        };
        schema::insist("test connectivity", &answer);
    }
}
