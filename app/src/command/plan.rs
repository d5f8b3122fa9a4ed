use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anstyle::Style;
use clap::Args;
use control::Draft;
use model::Name;
use observe::Holds;
use plan::{Change, Coverage, Diff, JobLine, Report, Sign};
use serde::Serialize;

use super::Output;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{
    self, BAD, DIM, Format, GOOD, HEAD, NAME, NOTE, Table, cell, examples, painted, plural, some,
    wrapped,
};

/// Show what would change, and change nothing
///
/// Every choice is made here: numbers, addresses, places. A job keeps what it has as long as its
/// document asks for the same; what is freed rests until every device was seen without it.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead plan cluster.yaml" => "what `apply` would change, and where packets are judged",
    "bulkhead plan fleet.yaml tenants/ -o json" => "the plan with every number, for programs",
    "bulkhead fleet generate --gpus 64 --workload | bulkhead plan -" => "from a pipe",
))]
pub(crate) struct Plan {
    #[command(flatten)]
    documents: Documents,
    /// As if every document that is not among these were taken away
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer<'a, P: Serialize> {
    changes: &'a Diff,
    touched: Vec<Name>,
    stale: Vec<Name>,
    report: &'a Report,
    plan: P,
}

impl Plan {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let request = self.documents.request(self.prune)?;
        let draft = self.state.look()?.draft(&request).map_err(Stop::no_draft)?;
        let stale = stale(&draft, &self.state)?;
        if self.output.format == Format::Text {
            write(&draft, &stale, out)?;
        } else {
            let answer = Answer {
                changes: &plan::diff(draft.ledger(), &draft.next.plan),
                touched: draft.touched().into_iter().collect(),
                stale,
                report: &draft.next.report,
                plan: plan::view(&draft.next.plan),
            };
            words::data(out, self.output.format, &answer)?;
        }
        Ok(Ended::Done)
    }
}

/// The devices that were sent something and hold another text than the documents ask for: because
/// a job changed, or the fleet, or a rate, or because somebody else wrote there.
fn stale(draft: &Draft, state: &State) -> Result<Vec<Name>, Stop> {
    let fleet = &draft.intent.fleet;
    let devices = state.devices(fleet);
    let mut stale = BTreeSet::new();
    for artifact in render::all(&draft.next.plan) {
        let held = devices.held(artifact.device, artifact.dialect)?;
        if held.is_some_and(|held| held.text != artifact.text()) {
            stale.insert(fleet.device_name(artifact.device).clone());
        }
    }
    Ok(stale.into_iter().collect())
}

/// What changes, where packets are judged, what waits, and a summary.
pub(super) fn write(draft: &Draft, stale: &[Name], out: &mut dyn Write) -> io::Result<()> {
    let diff = plan::diff(draft.ledger(), &draft.next.plan);
    write_changes(&diff, out)?;
    write_report(&draft.next.report, out)?;
    write_summary(draft, &diff, stale, out)
}

/// The changes alone.
pub(super) fn write_changes(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    if diff.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(2);
    for change in &diff.tenants {
        push(&mut table, "tenant", change, one_line(change));
    }
    for change in &diff.jobs {
        push(&mut table, "job", change, job_lines(change));
    }
    for change in &diff.consents {
        push(&mut table, "consent", change, one_line(change));
    }
    table.write(out)?;
    writeln!(out)
}

fn push<T>(table: &mut Table, kind: &str, change: &Change<T>, lines: Vec<String>) {
    let style = colour(change.sign);
    let mut lines = lines.into_iter();
    table.push(vec![
        painted(style, change.sign),
        cell(kind),
        painted(NAME, &change.name),
        cell(lines.next().unwrap_or_default()),
    ]);
    for line in lines {
        table.push(vec![cell(""), cell(""), cell(""), cell(line)]);
    }
}

const fn colour(sign: Sign) -> Style {
    match sign {
        Sign::Added => GOOD,
        Sign::Changed => NOTE,
        Sign::Removed => BAD,
    }
}

fn one_line<T: ToString>(change: &Change<T>) -> Vec<String> {
    let line = change.after.as_ref().or(change.before.as_ref());
    line.map(ToString::to_string).into_iter().collect()
}

/// One line for a job that comes or goes; what differs for one that changes.
fn job_lines(change: &Change<JobLine>) -> Vec<String> {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            let mut lines = Vec::new();
            let mut differs = |what: &str, before: String, after: String| {
                if before != after {
                    lines.push(format!("{what}: {before} -> {after}"));
                }
            };
            differs("tag", before.tag.to_string(), after.tag.to_string());
            differs("subnet", before.subnet.to_string(), after.subnet.to_string());
            differs("class", before.class.to_string(), after.class.to_string());
            differs("ceiling", ceiling(before), ceiling(after));
            differs("endpoints", endpoints(before), endpoints(after));
            differs("devices", devices(before), devices(after));
            lines
        }
        (Some(line), None) | (None, Some(line)) => vec![
            format!(
                "tag {}, {}, {}{}, {}",
                line.tag,
                line.subnet,
                line.class,
                line.ceiling.map(|rate| format!(" at most {rate}")).unwrap_or_default(),
                plural(line.endpoints.len(), "endpoint")
            ),
            format!("on {}", devices(line)),
        ],
        (None, None) => Vec::new(),
    }
}

fn ceiling(line: &JobLine) -> String {
    line.ceiling.map_or_else(|| "none".to_owned(), |rate| rate.to_string())
}

fn endpoints(line: &JobLine) -> String {
    let seats = line.endpoints.iter();
    let names: Vec<String> = seats.map(|seat| format!("{}/{}", seat.node, seat.nic)).collect();
    format!("{} ({})", names.len(), some(names, 4))
}

fn devices(line: &JobLine) -> String {
    let vlans = line.devices.iter();
    some(vlans.map(|(device, vlan)| format!("{device} vlan {vlan}")), 4)
}

/// Where packets are judged and what waits.
pub(super) fn write_report(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if !report.coverage.is_empty() {
        writeln!(out, "{HEAD}Where packets are judged{HEAD:#}")?;
        for coverage in &report.coverage {
            write_coverage(coverage, out)?;
        }
        writeln!(out)?;
    }
    if !report.pending.is_empty() {
        writeln!(out, "{HEAD}Permits without their other side{HEAD:#}")?;
        for pending in &report.pending {
            let (permit, job) = (&pending.permit, &pending.job);
            let (other, service) = (&pending.waits_for, &pending.service);
            writeln!(
                out,
                "  {NOTE}{permit}{NOTE:#}: {job} waits for {other} to consent to {service}; \
                 it opens nothing"
            )?;
        }
        writeln!(out)?;
    }
    if !report.resting.is_empty() {
        writeln!(out, "{HEAD}Freed, and resting until seen gone{HEAD:#}")?;
        for resting in &report.resting {
            for line in wrapped(&resting.to_string(), 2) {
                writeln!(out, "{line}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_coverage(coverage: &Coverage, out: &mut dyn Write) -> io::Result<()> {
    /// More devices than this are for programs.
    const MOST: usize = 6;
    let endpoints = plural(coverage.endpoints as usize, "endpoint");
    writeln!(out, "  {endpoints} {GOOD}{}{GOOD:#}", coverage.point)?;
    let mut by_device: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
    let mut by_themselves = Vec::new();
    for (node, devices) in &coverage.nodes {
        for device in devices {
            if device == node {
                by_themselves.push(node);
            } else {
                by_device.entry(device).or_default().push(node);
            }
        }
    }
    let mut table = Table::new(4);
    for (device, nodes) in by_device.iter().take(MOST) {
        table.push(vec![painted(NAME, device), cell(some(nodes, 3))]);
    }
    if !by_themselves.is_empty() {
        let nodes = some(by_themselves, 3);
        table.push(vec![painted(NAME, "each itself"), cell(nodes)]);
    }
    table.write(out)?;
    if let Some(more) = by_device.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "    {DIM}and {}{DIM:#}", plural(more, "more device"))?;
    }
    for sentence in coverage.not_covered {
        for (place, line) in wrapped(&format!("not covered: {sentence}"), 4).iter().enumerate() {
            let indent = if place == 0 { "" } else { "  " };
            writeln!(out, "{NOTE}{indent}{line}{NOTE:#}")?;
        }
    }
    Ok(())
}

fn write_summary(
    draft: &Draft,
    diff: &Diff,
    stale: &[Name],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (before, after) = (draft.ledger().generation(), draft.next.plan.generation);
    if draft.repeats() && !stale.is_empty() {
        let devices = plural(stale.len(), "device");
        return writeln!(
            out,
            "{NOTE}No job changes{NOTE:#}, but {devices} would get another text ({}): the fleet or \
             a rate changed, or somebody else wrote there.",
            some(stale, 3)
        );
    }
    if draft.repeats() {
        return writeln!(
            out,
            "{GOOD}No changes{GOOD:#}: generation {before} is what the documents ask for."
        );
    }
    let count = |sign: Sign| diff.jobs.iter().filter(|change| change.sign == sign).count();
    writeln!(
        out,
        "{HEAD}Plan{HEAD:#}: {} to add, {} to change, {} to remove; {} touched (generation {before} \
         to {after}).",
        plural(count(Sign::Added), "job"),
        count(Sign::Changed),
        count(Sign::Removed),
        plural(draft.touched().len(), "device"),
    )
}
