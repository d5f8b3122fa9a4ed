//! `bulkhead scrub`: which memories wait to be scrubbed, and evidence that they were.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use control::NoEvidence;
use model::{Evidence, JobName, Memory, Name, Untimely};
use plan::{Ledger, Resting};
use serde::Serialize;

use super::Output;
use crate::ending::{Ended, Stop};
use crate::state::{State, now};
use crate::words::{self, Format, GOOD, NAME, Table, cell, examples, painted, some};

/// Show what waits to be scrubbed, or write down that it was
///
/// Where a fleet names memories to be scrubbed, nobody else gets what a job had before every device
/// was seen without it and evidence for each memory was written down. Nothing is scrubbed here:
/// whoever did it says when, how, and how it was read back. Evidence is of a moment after the last
/// device was seen without the job, and not after now.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead scrub" => "the nodes that wait, after whom, and for which memories",
    "bulkhead scrub h1 acme/train --evidence done.json" => "write evidence down",
    "echo '[{\"memory\": \"hbm\", \"method\": \"zeros\", \"readBack\": \"sha256:e3b0…\", \"by\": \"h1\", \"at\": \"2026-11-16T09:00:00Z\"}]' > done.json"
        => "what evidence looks like",
))]
pub(crate) struct Scrub {
    /// The node that was scrubbed; without one, all that wait are shown
    #[arg(value_name = "NODE", requires = "evidence")]
    node: Option<Name>,
    /// The job whose traces were there
    #[arg(value_name = "JOB", requires = "evidence")]
    job: Option<JobName>,
    /// The evidence: a JSON list with one entry for each memory
    #[arg(long, value_name = "FILE", requires = "job")]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// One node that waits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    node: String,
    job: String,
    memories: Vec<Memory>,
    /// Devices that must be seen without the job first.
    fenced_by: Vec<String>,
}

/// What became of evidence.
#[derive(Serialize)]
struct Written<'a> {
    node: &'a Name,
    job: String,
    /// Memories of the node that still wait.
    left: Vec<Memory>,
}

/// The evidence cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
struct Unreadable {
    path: PathBuf,
    source: std::io::Error,
}

impl Scrub {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        if let (Some(node), Some(job), Some(path)) = (&self.node, &self.job, &self.evidence) {
            self.write_down(node, job, path, out)?;
            return Ok(Ended::Done);
        }
        let waiting = waiting(self.state.look()?.state().ledger());
        if self.output.format != Format::Text {
            words::data(out, self.output.format, &waiting)?;
            return Ok(Ended::Done);
        }
        if waiting.is_empty() {
            writeln!(out, "Nothing waits to be scrubbed.")?;
            return Ok(Ended::Done);
        }
        let mut table = Table::with_head(2, &["node", "after", "memories", "first to be seen"]);
        for one in &waiting {
            let memories = some(&one.memories, Memory::ALL.len());
            let first = some(&one.fenced_by, 4);
            table.push(vec![painted(NAME, &one.node), cell(&one.job), cell(memories), cell(first)]);
        }
        table.write(out)?;
        Ok(Ended::Done)
    }

    fn write_down(
        &self,
        node: &Name,
        job: &JobName,
        path: &Path,
        out: &mut dyn Write,
    ) -> Result<(), Stop> {
        let evidence = read(path)?;
        let mut control = self.state.control("scrub")?;
        control.scrubbed(node, job, evidence, now())?.map_err(|why| {
            let (code, remedy) = refusal(&why);
            Stop::argument(code, why.to_string(), remedy)
        })?;
        let left = waiting(control.journal().state().ledger()).into_iter();
        let left = left.filter(|one| one.node == node.as_str() && one.job == job.to_string());
        let left: Vec<Memory> = left.flat_map(|one| one.memories).collect();
        if self.output.format != Format::Text {
            let written = Written { node, job: job.to_string(), left };
            return Ok(words::data(out, self.output.format, &written)?);
        }
        match left.as_slice() {
            [] => writeln!(out, "{GOOD}Written down{GOOD:#}: {node} is clean of {job}.")?,
            left => writeln!(
                out,
                "{GOOD}Written down{GOOD:#}; {} of {node} still wait.",
                some(left, Memory::ALL.len())
            )?,
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<Evidence>, Stop> {
    let text =
        fs::read_to_string(path).map_err(|source| Unreadable { path: path.to_owned(), source })?;
    let none = |why: &dyn std::fmt::Display| {
        let problem = format!("{} is no list of evidence: {why}", path.display());
        Stop::argument("no-evidence", problem, "`bulkhead scrub --help` shows one")
    };
    let evidence: Vec<Evidence> = serde_json::from_str(&text).map_err(|wrong| none(&wrong))?;
    for one in &evidence {
        if let Some(flaw) = one.flaw() {
            return Err(none(&format!("of {}, {flaw}", one.memory)));
        }
    }
    Ok(evidence)
}

/// What tells why evidence is not taken, and what to do then.
fn refusal(why: &NoEvidence) -> (&'static str, &'static str) {
    match why {
        NoEvidence::Contradiction(_) => {
            ("not-scrubbed", "`bulkhead scrub` shows what waits, and for whom")
        }
        NoEvidence::Flaw { .. } => ("no-evidence", "`bulkhead scrub --help` shows one"),
        NoEvidence::Untimely { why: Untimely::BeforeRelease { .. }, .. } => (
            "untimely-evidence",
            "until then it could be written again: scrub it once more, and say when",
        ),
        NoEvidence::Untimely { .. } => (
            "untimely-evidence",
            "say when it was scrubbed, or set the clock of whoever scrubbed, or of this machine",
        ),
    }
}

fn waiting(ledger: &Ledger) -> Vec<Waiting> {
    let rests = ledger.rests().filter_map(|rest| match &rest.what {
        Resting::Job { job, .. } => Some((job, rest)),
        Resting::Tenant { .. } => None,
    });
    let nodes = rests.flat_map(|(job, rest)| {
        rest.unscrubbed.iter().map(move |(node, memories)| Waiting {
            node: node.to_string(),
            job: job.to_string(),
            memories: memories.iter().copied().collect(),
            fenced_by: rest.waits.keys().map(ToString::to_string).collect(),
        })
    });
    nodes.collect()
}
