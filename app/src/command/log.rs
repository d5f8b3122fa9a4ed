//! The log looked at and repaired.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bulkhead_agent::chain;
use clap::{Args, Subcommand};
use control::{Journal, speaks_of};
use model::Epoch;
use serde::Serialize;
use store::{Envelope, Folder, LogReport, Repair, RepairError, Repaired, Revision, check, repair};

use super::Output;
use crate::asking::is_agreed;
use crate::ending::{Ended, Stop};
use crate::state::{State, now, who};
use crate::words::{
    self, BAD, DIM, Format, GOOD, NAME, NOTE, aside, examples, grouped, plural, wrapped,
};

/// See whether the log is as it was written, and go on where it is not
///
/// The log is the only thing that cannot be computed again: who wanted what, what was chosen and
/// proved, and what devices hold. docs/backup.md tells how to keep a copy of it.
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead log check" => "whether every record and every document is as it was written",
    "bulkhead log check --state BACKUP" => "the same of a copy",
    "bulkhead log repair" => "keep what is sound, and go on in a new epoch",
))]
pub(crate) enum Log {
    Check(Check),
    Repair(Mend),
}

/// Look at every record and everything that records speak of
///
/// Nothing is written and nothing is locked. What a crash left at the end is no damage: nobody was
/// told that it is durable, and the next append cuts it off. The exit code is 1 if anything is
/// damaged, missing, lost or of another installation.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead log check" => "the log in bulkhead-state",
    "bulkhead log check --state BACKUP && echo good" => "whether a backup can be restored",
    "bulkhead log check -o json" => "the same for programs",
))]
pub(crate) struct Check {
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    output: Output,
}

/// Keep what is sound of a log, and begin the next epoch behind it
///
/// What cannot be read is left out, and nothing is deleted: the file as it was gets another name.
/// Devices refuse whoever speaks for an epoch before the one they have seen, so end every process
/// that uses this log first. Afterwards `apply` sends devices what the log says.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead log repair" => "of a damaged or lost log; asks before it does anything",
    "bulkhead log repair --yes" => "where nobody can be asked",
    "bulkhead log repair --restored --yes" => "after a backup was put in place of the log",
    "bulkhead log repair --restored --epoch 7 --yes" => "devices have seen a later epoch than it",
))]
pub(crate) struct Mend {
    /// The log comes from a backup: nothing is wrong with it, and still it went back
    #[arg(long)]
    restored: bool,
    /// The highest epoch that a device was seen to have; the new one is above it
    #[arg(long, value_name = "EPOCH", default_value_t = 0)]
    epoch: u64,
    /// Do it without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    sound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    installation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<Epoch>,
    records: u64,
    batches: u64,
    contents: u64,
    torn_bytes: u64,
    problems: Vec<Problem>,
}

/// Something that is wrong with a log, and what helps.
#[derive(Serialize)]
struct Problem {
    code: &'static str,
    problem: String,
    remedy: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    installation: &'a str,
    epoch: Epoch,
    after: Revision,
    left_out: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_as: Option<&'a PathBuf>,
}

impl Log {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Check(check) => check.run(out),
            Self::Repair(mend) => mend.run(out),
        }
    }

    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Check(check) => check.output.format,
            Self::Repair(mend) => mend.output.format,
        }
    }
}

impl Check {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let report = look(&self.state)?;
        let problems = problems(&report, &self.state)?;
        let ended = if problems.is_empty() { Ended::Done } else { Ended::Found };
        if self.output.format == Format::Text {
            write(&report, &problems, self.state.folder(), out)?;
        } else {
            let began = report.beginning.as_ref();
            let answer = Answer {
                sound: problems.is_empty(),
                installation: began.map(|began| began.installation.to_string()),
                epoch: began.map(|began| began.epoch),
                records: report.records,
                batches: report.batches,
                contents: report.objects,
                torn_bytes: report.torn_bytes,
                problems,
            };
            words::data(out, self.output.format, &answer)?;
        }
        Ok(ended)
    }
}

/// Everything in the folder. Whoever names the wrong folder must not be told that all is well.
fn look(state: &State) -> Result<LogReport, Stop> {
    let store = Folder::open(state.folder())?;
    let report = check(state.folder(), |body| speaks_of(&store, body))?;
    if report.problem.is_none() && report.beginning.is_none() && report.records == 0 {
        return Err(no_log(state.folder()));
    }
    Ok(report)
}

fn no_log(folder: &Path) -> Stop {
    Stop::argument(
        "no-log",
        format!("there is no log in {}", folder.display()),
        "name the folder of the log with `--state DIR`; the first `apply` begins one",
    )
}

/// Whatever is wrong. What stands there as it was written must also make sense.
fn problems(report: &LogReport, state: &State) -> Result<Vec<Problem>, Stop> {
    let mut problems = Vec::new();
    if let Some(why) = &report.problem {
        let (problem, remedy) = (chain(why), why.remedy());
        problems.push(Problem { code: why.code(), problem, remedy });
    }
    let restore = || "restore `objects` from a backup that holds it (docs/backup.md)".to_owned();
    for missing in &report.missing {
        let (revision, digest) = (missing.revision, missing.digest);
        let problem = format!("record {revision} speaks of content that is missing: {digest}");
        problems.push(Problem { code: "content-missing", problem, remedy: restore() });
    }
    for digest in &report.damaged {
        let problem = format!("content is not as it was written: {digest}");
        problems.push(Problem { code: "content-damaged", problem, remedy: restore() });
    }
    if problems.is_empty()
        && let Err(why) = Journal::open(Folder::open(state.folder())?)
    {
        let (problem, remedy) = (chain(&why), why.remedy());
        problems.push(Problem { code: "log-inconsistent", problem, remedy });
    }
    Ok(problems)
}

fn write(
    report: &LogReport,
    problems: &[Problem],
    folder: &Path,
    out: &mut dyn Write,
) -> io::Result<()> {
    const MOST: usize = 12;
    let count = |number: u64, thing| plural(usize::try_from(number).unwrap_or(usize::MAX), thing);
    if let Some(began) = &report.beginning {
        let (installation, epoch) = (&began.installation, began.epoch);
        writeln!(out, "{NAME}{}{NAME:#}: installation {installation}", folder.display())?;
        writeln!(
            out,
            "  epoch {epoch}; {} in {}, {} beside them",
            count(report.records, "sound record"),
            count(report.batches, "append"),
            count(report.objects, "content"),
        )?;
    }
    if report.torn_bytes > 0 {
        let bytes = count(report.torn_bytes, "byte");
        writeln!(
            out,
            "  {NOTE}A crash left {bytes} at the end{NOTE:#}; the next append cuts them off."
        )?;
    }
    for Problem { code, problem, remedy } in problems.iter().take(MOST) {
        let lines = wrapped(&format!("{code}  {problem}"), 2).join("\n");
        let lines = lines.trim_start();
        writeln!(out, "{BAD}{code}{BAD:#}{}", lines.strip_prefix(code).unwrap_or(lines))?;
        for line in wrapped(remedy, 2) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
    }
    if let Some(more) = problems.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "{DIM}... and {} more; `-o json` has all of them{DIM:#}", grouped(more))?;
    }
    if problems.is_empty() {
        writeln!(out, "{GOOD}Sound{GOOD:#}: everything is as it was written.")
    } else {
        writeln!(out, "{BAD}Not sound{BAD:#}: {}.", plural(problems.len(), "problem"))
    }
}

impl Mend {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let report = look(&self.state)?;
        if report.problem.is_none() && !self.restored {
            return Err(sound());
        }
        if !self.yes {
            self.ask(&report)?;
        }
        let who = who("log repair");
        let (actor, source) = (who.actor, who.source);
        let envelope = Envelope { at: now(), actor, source, request: None, cause: None };
        let (seen, is_restored) = (Epoch(self.epoch), self.restored);
        let wanted = Repair { envelope, seen, is_restored };
        let done = repair(self.state.folder(), &wanted).map_err(|error| match error {
            RepairError::Nothing { dir } => no_log(&dir),
            RepairError::Sound { .. } => sound(),
            RepairError::Failed(why) => why.into(),
        })?;
        self.tell(&done, out)?;
        Ok(Ended::Done)
    }

    fn ask(&self, report: &LogReport) -> Result<(), Stop> {
        let records = grouped(usize::try_from(report.records).unwrap_or(usize::MAX));
        let keeps = format!(
            "the first {records} records of the log in {} would be kept, and a new epoch begun",
            self.state.folder().display()
        );
        if self.output.format == Format::Text {
            if let Some(why) = &report.problem {
                aside(format_args!("{BAD}{}{BAD:#}", chain(why)));
            }
            aside(format_args!("To be done: {keeps}."));
        }
        if is_agreed(self.output.format)? {
            return Ok(());
        }
        Err(Stop::argument("repair-needs-yes", keeps, "`--yes` says that this is meant"))
    }

    fn tell(&self, done: &Repaired, out: &mut dyn Write) -> Result<(), Stop> {
        let Repaired { beginning, after, left_out, kept_as } = done;
        if self.output.format != Format::Text {
            let done = Done {
                installation: &beginning.installation,
                epoch: beginning.epoch,
                after: *after,
                left_out: *left_out,
                kept_as: kept_as.as_ref(),
            };
            return Ok(words::data(out, self.output.format, &done)?);
        }
        let epoch = beginning.epoch;
        writeln!(out, "{GOOD}Repaired{GOOD:#}: epoch {epoch} begins after record {after}.")?;
        if let Some(path) = kept_as {
            let lines = plural(usize::try_from(*left_out).unwrap_or(usize::MAX), "line");
            writeln!(out, "{lines} left out; the log as it was is {}.", path.display())?;
        }
        writeln!(out, "{DIM}`bulkhead apply` sends devices what the log says.{DIM:#}")?;
        Ok(())
    }
}

fn sound() -> Stop {
    Stop::argument(
        "log-sound",
        "nothing is wrong with the log".into(),
        "if it comes from a backup, say so with `--restored`; `log check` names contents that are \
         missing beside it",
    )
}
