//! `bulkhead plan`: what would change, shown or kept in a file for later.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use control::{Draft, Journal, KeptPlan, NoDraft, Passage};
use model::{Artifact, Name, Waiver};
use plan::{Coverage, Diff, PlanReport, Sign, UnwellJob};
use serde::Serialize;
use store::Folder;

use super::Output;
use super::observing::{Answered, Observing};
use super::render::{Unwritable, no_device};
use super::verify::Judged;
use crate::changes::write_changes;
use crate::configs::{Side, differences, write_differences};
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::passage;
use crate::state::{State, now};
use crate::words::{
    self, DIM, Format, GOOD, HEAD, NAME, NOTE, Table, aside, cell, examples, grouped, painted,
    plural, some, wrapped,
};

/// Show what would change, and change nothing
///
/// Every choice is made here: numbers, addresses, places. A job keeps what it has as long as its
/// document asks for the same; what is freed rests until every device was seen without it.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead plan cluster.yaml" => "what `apply` would change, and where packets are judged",
    "bulkhead plan fleet.yaml tenants/ -o json" => "the plan with every number, for programs",
    "bulkhead plan cluster.yaml --diff leaf-1" => "which lines of leaf-1 would change",
    "bulkhead plan cluster.yaml --out plan.json" => "keep it, for `apply plan.json`",
    "bulkhead fleet generate --gpus 64 --workload | bulkhead plan -" => "from a pipe",
))]
pub(crate) struct Plan {
    #[command(flatten)]
    documents: Documents,
    /// As if every document that is not among these were taken away
    #[arg(long)]
    prune: bool,
    /// Show how configurations change against those in force, of all devices or of this one
    #[arg(long, value_name = "DEVICE", num_args = 0..=1)]
    diff: Option<Option<String>>,
    /// Prove the plan and keep it in this file: `apply FILE` does just that, or nothing if the log
    /// moved on
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    out: Option<PathBuf>,
    /// Show every change, however many there are
    #[arg(long, short = 'v')]
    all: bool,
    #[command(flatten)]
    observing: Observing,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<Passage>,
    report: &'a PlanReport,
    plan: P,
}

impl Plan {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let (documents, device) = self.asked();
        let request = documents.request(self.prune)?;
        let journal = self.state.look()?;
        let draft = journal.draft(&request, now()).map_err(Stop::no_draft)?;
        if self.diff.is_some() {
            return self.differ(&journal, &draft, device, out);
        }
        if let Some(path) = &self.out
            && self.keep(path, &journal, &draft, out)? == Ended::Found
        {
            return Ok(Ended::Found);
        }
        let answered = self.observing.ask_those_there(&draft, &self.state)?;
        let stale = answered.as_ref().map(|answered| stale(&draft, answered)).unwrap_or_default();
        let passage = answered.map(|answered| answered.passage);
        if self.output.format == Format::Text {
            write(&draft, &stale, self.all, out)?;
            if let Some(passage) = &passage {
                passage::write_silent(passage, out)?;
                passage::write_closed(passage, now(), out)?;
            }
            if let Some(path) = &self.out {
                writeln!(
                    out,
                    "{GOOD}Kept{GOOD:#}: `bulkhead apply {}` does just that, unless the log moves \
                     on before.",
                    path.display()
                )?;
            }
        } else {
            let answer = Answer {
                changes: &plan::diff(draft.ledger(), &draft.next.plan),
                touched: draft.touched().into_iter().collect(),
                stale,
                passage,
                report: &draft.next.report,
                plan: plan::view(&draft.next.plan),
            };
            words::data(out, self.output.format, &answer)?;
        }
        Ok(Ended::Done)
    }
}

impl Plan {
    /// Whoever says `--diff` before the name of a file means the file.
    fn asked(&self) -> (Documents, Option<&str>) {
        let mut documents = self.documents.clone();
        let device = self.diff.as_ref().and_then(Option::as_deref);
        let file = device.filter(|name| *name == "-" || Path::new(name).exists());
        documents.extend(file);
        (documents, device.filter(|_| file.is_none()))
    }

    /// How configurations change against those in force.
    fn differ(
        &self,
        journal: &Journal<Folder>,
        draft: &Draft,
        device: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let before = match journal.in_force(now()) {
            Ok(before) => Some(before),
            Err(NoDraft::Nothing) => None,
            Err(none) => return Err(Stop::no_draft(none)),
        };
        let configs = |draft: &Draft| render::all(&draft.next.plan);
        let (now, then) = (before.as_ref().map(configs).unwrap_or_default(), configs(draft));
        let fleet = before.as_ref().map_or(&draft.intent.fleet, |before| &before.intent.fleet);
        let before = Side { what: "in force", fleet, artifacts: &now };
        let after = Side { what: "planned", fleet: &draft.intent.fleet, artifacts: &then };
        if let Some(name) = device.filter(|name| !before.has(name) && !after.has(name)) {
            return Err(no_device(name));
        }
        let mut differing = differences(&before, &after);
        differing.retain(|differing| device.is_none_or(|name| differing.device == name));
        write_differences(&differing, &[], self.output.format, out)?;
        Ok(Ended::Done)
    }

    /// Writes the file, if the plan is proved.
    fn keep(
        &self,
        path: &Path,
        journal: &Journal<Folder>,
        draft: &Draft,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let proof = match draft.prove() {
            Ok(proof) => proof,
            Err(unproved) => {
                aside(format_args!("{NOTE}Nothing was kept.{NOTE:#}"));
                return Judged::unproved(draft, &unproved).refuse(draft, self.output.format, out);
            }
        };
        let kept = KeptPlan::new(draft, journal.outcome(draft, &proof)?);
        let text = serde_json::to_string_pretty(&kept)?;
        let written = fs::write(path, text + "\n");
        written.map_err(|source| Unwritable { path: path.to_owned(), source })?;
        Ok(Ended::Done)
    }
}

/// The devices that were sent something and hold another text than the documents ask for: because
/// a job changed, or the fleet, or a rate, or because somebody else wrote there.
fn stale(draft: &Draft, answered: &Answered) -> Vec<Name> {
    let fleet = &draft.intent.fleet;
    let key = |artifact: &Artifact| (artifact.device, artifact.dialect);
    let held: BTreeMap<_, &Artifact> =
        answered.artifacts.iter().map(|artifact| (key(artifact), artifact)).collect();
    let planned = render::all(&draft.next.plan);
    let differs = |artifact: &&Artifact| {
        let held = held.get(&key(artifact));
        held.is_some_and(|held| {
            !answered.from.is_same(artifact.dialect, &artifact.text(), &held.text())
        })
    };
    let stale = planned.iter().filter(differs).map(|artifact| fleet.device_name(artifact.device));
    stale.cloned().collect::<BTreeSet<Name>>().into_iter().collect()
}

/// What changes, where packets are judged, what waits, and a summary.
pub(super) fn write(
    draft: &Draft,
    stale: &[Name],
    all: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let diff = plan::diff(draft.ledger(), &draft.next.plan);
    write_changes(&diff, all, out)?;
    write_report(&draft.next.report, all, out)?;
    write_waivers(&draft.intent.waivers, out)?;
    write_summary(draft, &diff, stale, out)
}

/// Where packets are judged and what waits.
fn write_report(report: &PlanReport, all: bool, out: &mut dyn Write) -> io::Result<()> {
    /// More of a kind than this are for those who ask for all.
    const MOST: usize = 12;
    let most = if all { usize::MAX } else { MOST };
    if !report.coverage.is_empty() {
        writeln!(out, "{HEAD}Where packets are judged{HEAD:#}")?;
        for coverage in &report.coverage {
            write_coverage(coverage, out)?;
        }
        writeln!(out)?;
    }
    if !report.pending.is_empty() {
        writeln!(out, "{HEAD}Permits without their other side{HEAD:#}")?;
        for pending in report.pending.iter().take(most) {
            let (permit, job) = (&pending.permit, &pending.job);
            let (other, service) = (&pending.waits_for, &pending.service);
            writeln!(
                out,
                "  {NOTE}{permit}{NOTE:#}: {job} waits for {other} to consent to {service}; \
                 it opens nothing"
            )?;
        }
        write_more(report.pending.len(), most, out)?;
    }
    if !report.unwell.is_empty() {
        writeln!(out, "{HEAD}Jobs on nodes that are not well{HEAD:#}")?;
        for UnwellJob { job, node, health } in report.unwell.iter().take(most) {
            let text = format!(
                "{job}: node {node} is {health}; the job goes on there, and ends when its document \
                 is deleted or names other places"
            );
            for line in wrapped(&text, 2) {
                writeln!(out, "{NOTE}{line}{NOTE:#}")?;
            }
        }
        write_more(report.unwell.len(), most, out)?;
    }
    if !report.resting.is_empty() {
        writeln!(out, "{HEAD}Freed, and resting until seen gone{HEAD:#}")?;
        for resting in report.resting.iter().take(most) {
            for line in wrapped(&resting.to_string(), 2) {
                writeln!(out, "{line}")?;
            }
        }
        write_more(report.resting.len(), most, out)?;
    }
    Ok(())
}

/// What people vouch for.
fn write_waivers(waivers: &[Waiver], out: &mut dyn Write) -> io::Result<()> {
    if waivers.is_empty() {
        return Ok(());
    }
    writeln!(out, "{HEAD}Lines that somebody vouches for{HEAD:#}")?;
    for Waiver { name, device, line, reason, by, until } in waivers {
        let expired = if until.end() <= now() { " (expired)" } else { "" };
        let until = until.as_str();
        let text = format!("{name}: `{line}` on {device}: {reason}; {by}, until {until}{expired}");
        for line in wrapped(&text, 2) {
            writeln!(out, "{NOTE}{line}{NOTE:#}")?;
        }
    }
    writeln!(out)
}

/// How many are not shown, and the end of a section.
fn write_more(count: usize, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if let Some(more) = count.checked_sub(most).filter(|&more| more > 0) {
        writeln!(out, "  {DIM}and {} more; `--all` shows them{DIM:#}", grouped(more))?;
    }
    writeln!(out)
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
    let replaced = match count(Sign::Replaced) {
        0 => String::new(),
        replaced => format!("{} to end and begin anew, ", grouped(replaced)),
    };
    let text = format!(
        "Plan: {} to add, {} to change, {replaced}{} to remove; {} touched (generation {before} to \
         {after}).",
        plural(count(Sign::Added), "job"),
        grouped(count(Sign::Changed)),
        grouped(count(Sign::Removed)),
        plural(draft.touched().len(), "device"),
    );
    let text = wrapped(&text, 2).join("\n");
    let text = text.trim_start();
    writeln!(out, "{HEAD}Plan{HEAD:#}{}", text.strip_prefix("Plan").unwrap_or(text))
}
