//! `bulkhead history` and `bulkhead rollback`: what was asked for, and the way back to it.

use std::io::Write;

use clap::Args;
use control::{HistoryLine, Request};
use store::Revision;

use super::Output;
use super::sending::Sending;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{self, DIM, Format, NAME, Table, cell, examples, painted, some};

/// Tell who asked for what, when, and what became of it
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead history" => "everything, the oldest first",
    "bulkhead history --last 5 -o json" => "the last few, for programs",
    "bulkhead rollback 12 --to sim" => "ask again for what was asked for then",
))]
pub(crate) struct History {
    /// Only so many, the latest
    #[arg(long, value_name = "COUNT")]
    last: Option<usize>,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

impl History {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let all = self.state.look()?.history()?;
        let skipped = all.len().saturating_sub(self.last.unwrap_or(usize::MAX));
        let lines = &all[skipped..];
        if self.output.format != Format::Text {
            words::data(out, self.output.format, &lines)?;
            return Ok(Ended::Done);
        }
        if lines.is_empty() {
            writeln!(out, "Nothing happened yet.")?;
            return Ok(Ended::Done);
        }
        let mut table = Table::with_head(0, &["revision", "when", "who", "what"]);
        for line in lines {
            table.push(vec![
                painted(NAME, line.revision),
                painted(DIM, line.at),
                cell(&line.actor),
                cell(what(line)),
            ]);
        }
        table.write(out)?;
        Ok(Ended::Done)
    }
}

/// Everything that an append says, in a line.
fn what(line: &HistoryLine) -> String {
    const MOST: usize = 3;
    let mut parts = Vec::new();
    parts.extend(line.generation.map(|generation| format!("generation {generation}")));
    if !line.put.is_empty() {
        parts.push(format!("put {}", some(&line.put, MOST)));
    }
    if !line.deleted.is_empty() {
        parts.push(format!("deleted {}", some(&line.deleted, MOST)));
    }
    parts.extend(line.events.iter().cloned());
    parts.join("; ")
}

/// Ask again for what was asked for before
///
/// The documents of then come in place of those of now, and are planned, proved and sent as ever.
/// The log only grows: a rollback is one more request.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead history" => "which revisions there are",
    "bulkhead rollback 12 --to sim" => "the documents as they were at revision 12",
))]
pub(crate) struct Rollback {
    /// The revision whose documents shall stand again
    #[arg(value_name = "REVISION")]
    revision: u64,
    #[command(flatten)]
    pub(super) sending: Sending,
}

impl Rollback {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut control = self.sending.state.control("rollback")?;
        let last = control.journal().at();
        if self.revision == 0 || Revision(self.revision) > last {
            return Err(Stop::argument(
                "revision-unknown",
                format!("the log has no revision {}", self.revision),
                "`bulkhead history` lists them",
            ));
        }
        let put = control.journal().documents_at(Revision(self.revision))?;
        let request = Request { put, prune: true, ..Request::default() };
        self.sending.run(&mut control, &request, out)
    }
}
