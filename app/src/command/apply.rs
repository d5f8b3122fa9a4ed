use std::collections::BTreeMap;
use std::io::{self, Write};

use apply::{Applied, Outcome, Receipt};
use clap::{Args, ValueEnum};
use model::{Dialect, Fleet, Generation};
use observe::{Held, Holds, Unreachable};
use plan::{Ledger, Record};
use serde::Serialize;
use verify::Cleared;

use super::Output;
use super::plan::write_changes;
use super::verify::answer;
use crate::documents::Documents;
use crate::draft::Draft;
use crate::ending::{Ended, Stop};
use crate::evidence::Extent;
use crate::state::State;
use crate::words::{
    self, BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, examples, painted, plural, some,
};

/// Make it so: plan, render, prove, write down, and only then send
///
/// Nothing is sent that was not proved, and nothing before it stands in the log. A device that
/// holds something else than it should, for whatever reason, is put right.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead apply cluster.yaml --to sim" => "let the simulated devices hold the plan",
    "bulkhead apply cluster.yaml --to sim --state /tmp/try" => "with a log of its own",
    "bulkhead verify cluster.yaml --held && echo sound" => "look at them afterwards",
))]
pub(crate) struct Apply {
    #[command(flatten)]
    documents: Documents,
    /// Which devices to send to
    #[arg(long, value_name = "DEVICES", value_enum)]
    to: To,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Whom to send to.
#[derive(Clone, Copy, ValueEnum)]
enum To {
    /// Simulated devices: files below the state folder that can be read and edited
    Sim,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    generation: Generation,
    in_force: bool,
    receipts: Vec<ReceiptView>,
}

#[derive(Serialize)]
struct ReceiptView {
    device: String,
    dialect: Dialect,
    outcome: String,
}

impl Apply {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let To::Sim = self.to;
        let format = self.output.format;
        let intent = self.documents.load()?;
        let (mut log, ledger) = self.state.log()?;
        let draft = Draft::over(intent, ledger)?;
        let (fleet, next) = (&draft.intent.fleet, &draft.next);
        let owners = next.plan.owners();
        let artifacts = render::all(&next.plan);
        let extent = Extent::of(&owners, &artifacts);
        let cleared = match verify::clear(fleet, &owners, artifacts) {
            Ok(cleared) => cleared,
            Err(refused) => {
                words::aside(format_args!("{BAD}Nothing was sent.{BAD:#}"));
                let (texts, findings) = (&refused.artifacts, &refused.findings);
                return answer(fleet, texts, &extent, findings, format, out);
            }
        };
        let mut devices = self.state.devices(fleet);
        let last = draft.ledger.generation();
        let (generation, applied) = if draft.repeats() && all_hold(&cleared, last, &devices)? {
            (last, untouched(&cleared))
        } else {
            log.append(&next.records)?;
            (next.plan.generation, apply::apply(&cleared, &mut devices))
        };
        log.append(&seen(fleet, &applied, &draft.ledger, generation))?;
        // Words come last: a reader who goes away keeps nothing from being done.
        if format == Format::Text {
            write_changes(&plan::diff(&draft.ledger, &next.plan), out)?;
            extent.write_verdict(out, &[])?;
            write_receipts(fleet, &applied, generation, out)?;
        } else {
            words::data(out, format, &Answer::of(fleet, &applied, generation))?;
        }
        ended(applied)
    }
}

/// Whether every device holds these very texts since that generation, so that nothing is to be
/// sent and no generation to be begun.
fn all_hold(
    cleared: &Cleared,
    since: Generation,
    devices: &dyn Holds,
) -> Result<bool, Unreachable> {
    for artifact in cleared.artifacts() {
        let held = devices.held(artifact.device, artifact.dialect)?;
        let same = |held: Held| held.generation == since && held.text == artifact.text();
        if !held.is_some_and(same) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn untouched(cleared: &Cleared) -> Applied {
    let receipts = cleared.artifacts().iter().map(|artifact| Receipt {
        device: artifact.device,
        dialect: artifact.dialect,
        outcome: Ok(Outcome::Unchanged),
    });
    Applied { receipts: receipts.collect() }
}

/// What is now known about the devices that hold everything they were sent.
pub(super) fn seen(
    fleet: &Fleet,
    applied: &Applied,
    ledger: &Ledger,
    generation: Generation,
) -> Vec<Record> {
    let mut holds: BTreeMap<_, bool> = BTreeMap::new();
    for receipt in &applied.receipts {
        *holds.entry(receipt.device).or_insert(true) &= is_held(receipt);
    }
    let names = holds.into_iter().filter(|(_, all)| *all);
    let names = names.map(|(device, _)| fleet.device_name(device).clone());
    names
        .filter(|name| ledger.seen().get(name) != Some(&generation))
        .map(|device| Record::Seen { device, generation })
        .collect()
}

const fn is_held(receipt: &Receipt) -> bool {
    matches!(receipt.outcome, Ok(Outcome::Held | Outcome::Unchanged))
}

/// What changed on which device, what failed, and whether all is in force.
pub(super) fn write_receipts(
    fleet: &Fleet,
    applied: &Applied,
    generation: Generation,
    out: &mut dyn Write,
) -> io::Result<()> {
    /// More devices than this are for programs.
    const MOST: usize = 24;
    let mut changed: BTreeMap<_, Vec<Dialect>> = BTreeMap::new();
    for receipt in &applied.receipts {
        if matches!(receipt.outcome, Ok(Outcome::Held)) {
            changed.entry(receipt.device).or_default().push(receipt.dialect);
        }
    }
    let mut table = Table::new(2);
    for (device, dialects) in changed.iter().take(MOST) {
        let name = fleet.device_name(*device);
        table.push(vec![painted(NAME, name), cell("holds"), cell(some(dialects, 4))]);
    }
    for receipt in applied.receipts.iter().filter(|receipt| !is_held(receipt)) {
        let name = fleet.device_name(receipt.device);
        let said = format!("{}: {}", receipt.dialect, outcome(receipt));
        table.push(vec![painted(NAME, name), painted(BAD, "failed"), cell(said)]);
    }
    table.write(out)?;
    if let Some(more) = changed.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "  {DIM}and {}{DIM:#}", plural(more, "more device"))?;
    }
    let devices: std::collections::BTreeSet<_> =
        applied.receipts.iter().map(|receipt| receipt.device).collect();
    let devices = plural(devices.len(), "device");
    if !applied.in_force() {
        let failed = applied.receipts.iter().filter(|receipt| !is_held(receipt)).count();
        let failed = plural(failed, "text");
        writeln!(out, "{NOTE}Not in force{NOTE:#}: {failed} of generation {generation} not held.")
    } else if changed.is_empty() {
        writeln!(out, "{GOOD}Nothing to do{GOOD:#}: {devices} hold generation {generation}.")
    } else {
        writeln!(out, "{GOOD}In force{GOOD:#}: {devices} hold generation {generation}.")
    }
}

fn outcome(receipt: &Receipt) -> String {
    match &receipt.outcome {
        Ok(Outcome::Held) => "held".into(),
        Ok(Outcome::Unchanged) => "unchanged".into(),
        Ok(Outcome::Stale { theirs }) => format!("refused: it holds generation {theirs}"),
        Err(error) => format!("{error}: {}", error.source),
    }
}

impl Answer {
    fn of(fleet: &Fleet, applied: &Applied, generation: Generation) -> Self {
        let receipts = applied.receipts.iter().map(|receipt| ReceiptView {
            device: fleet.device_name(receipt.device).to_string(),
            dialect: receipt.dialect,
            outcome: outcome(receipt),
        });
        Self { generation, in_force: applied.in_force(), receipts: receipts.collect() }
    }
}

/// A device that did not answer is the world's failure; one that refused is an answer.
fn ended(applied: Applied) -> Result<Ended, Stop> {
    let in_force = applied.in_force();
    for receipt in applied.receipts {
        receipt.outcome?;
    }
    Ok(if in_force { Ended::Done } else { Ended::Found })
}
