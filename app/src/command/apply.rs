use std::collections::BTreeMap;
use std::io::{self, Write};

use agent::{OnDrift, Status, Wish};
use apply::{Applied, Outcome, Receipt};
use clap::{Args, ValueEnum};
use model::{Dialect, Fleet, Generation, Name};
use observe::{Held, Holds, Unreachable};
use plan::{Ledger, Record};
use serde::Serialize;
use store::Log;
use verify::Cleared;

use super::Output;
use super::agent::policy;
use super::ca::CaFolder;
use super::plan::write_changes;
use super::verify::answer;
use crate::documents::Documents;
use crate::draft::Draft;
use crate::ending::{Ended, Stop};
use crate::evidence::Extent;
use crate::span::Span;
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
    "bulkhead apply cluster.yaml --to agents" => "let real devices hold it, through their agents",
    "bulkhead apply cluster.yaml --to agents --confirm-within 5m"
        => "devices go back by themselves, unless this follows in time:",
    "bulkhead apply cluster.yaml --to agents --confirm" => "stay with it",
))]
pub(crate) struct Apply {
    #[command(flatten)]
    documents: Documents,
    /// Which devices to send to
    #[arg(long, value_name = "DEVICES", value_enum)]
    to: To,
    /// What an agent does when its device holds something else than it was sent
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Policy::Repair)]
    on_drift: Policy,
    /// Agents go back to what they held before, unless `--confirm` follows within this time
    #[arg(long, value_name = "TIME")]
    confirm_within: Option<Span>,
    /// Plan and send nothing: stay with what was sent with `--confirm-within`
    #[arg(long, conflicts_with = "confirm_within")]
    confirm: bool,
    #[command(flatten)]
    ca: CaFolder,
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
    /// Real devices, each through its agent: all of them hold it, or nothing new starts anywhere
    Agents,
}

/// What to do about a drift.
#[derive(Clone, Copy, ValueEnum)]
enum Policy {
    /// Tell whoever watches
    Alarm,
    /// Tell, and put it right
    Repair,
    /// Tell, and let no packet of a tenant pass until something is applied
    Quarantine,
}

/// What was sent, if anything had to be, and under which number.
struct Sent {
    generation: Generation,
    applied: Applied,
    /// What agents do on drift from now on, if they hold this plan already and did something else.
    on_drift: Option<OnDrift>,
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
        self.check()?;
        let format = self.output.format;
        let intent = self.documents.load()?;
        let (mut log, ledger) = self.state.log()?;
        if self.confirm {
            return self.stay(&intent.fleet, &mut log, &ledger, out);
        }
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
        let Sent { generation, applied, on_drift } = match self.to {
            To::Sim => self.send_to_sim(&draft, &cleared, &mut log)?,
            To::Agents => self.send_to_agents(&draft, &cleared, &mut log)?,
        };
        // Devices that may go back still hold what they held: nobody was seen without it.
        if self.confirm_within.is_none() {
            log.append(&seen(fleet, &applied, &draft.ledger, generation))?;
        }
        // Words come last: a reader who goes away keeps nothing from being done.
        if format == Format::Text {
            write_changes(&plan::diff(&draft.ledger, &next.plan), out)?;
            extent.write_verdict(out, &[])?;
            write_receipts(fleet, &applied, generation, out)?;
            self.write_remarks(&applied, on_drift, out)?;
        } else {
            words::data(out, format, &Answer::of(fleet, &applied, generation))?;
        }
        ended(applied)
    }

    fn check(&self) -> Result<(), Stop> {
        let is_sim = matches!(self.to, To::Sim);
        if is_sim && (self.confirm || self.confirm_within.is_some()) {
            return Err(Stop::argument(
                "no-agents",
                "simulated devices cannot go back by themselves".into(),
                "only agents can: `--to agents`",
            ));
        }
        Ok(())
    }

    fn send_to_sim(&self, draft: &Draft, cleared: &Cleared, log: &mut Log) -> Result<Sent, Stop> {
        let mut devices = self.state.devices(&draft.intent.fleet);
        let generation = draft.ledger.generation();
        if draft.repeats() && all_hold(cleared, generation, &devices, is_same)? {
            return Ok(Sent { generation, applied: untouched(cleared), on_drift: None });
        }
        log.append(&draft.next.records)?;
        let applied = apply::apply(cleared, &mut devices);
        Ok(Sent { generation: draft.next.plan.generation, applied, on_drift: None })
    }

    /// Whoever holds this plan already, and does on drift what is asked, is only told that the
    /// controller lives; applying a plan once more without a trial also confirms it.
    fn send_to_agents(
        &self,
        draft: &Draft,
        cleared: &Cleared,
        log: &mut Log,
    ) -> Result<Sent, Stop> {
        let (agents, fleet) = (self.ca.agents()?, &draft.intent.fleet);
        let generation = draft.ledger.generation();
        let on_drift = self.on_drift.into();
        let is_held = draft.repeats()
            && self.confirm_within.is_none()
            && all_hold(cleared, generation, &agents.look(fleet), says_the_same).unwrap_or(false);
        let does_otherwise = is_held && !all_do(fleet, &agents.statuses(), on_drift);
        if is_held
            && !does_otherwise
            && all_agree(fleet, &agents.confirm(generation))
            && all_agree(fleet, &agents.renew(generation))
        {
            return Ok(Sent { generation, applied: untouched(cleared), on_drift: None });
        }
        log.append(&draft.next.records)?;
        let wish = Wish { on_drift, confirm_within: self.confirm_within.map(|span| span.0) };
        let applied = agents.push(fleet, cleared, &wish).applied;
        let on_drift = does_otherwise.then_some(on_drift);
        Ok(Sent { generation: draft.next.plan.generation, applied, on_drift })
    }

    /// Tells the agents to stay with the last plan, and notes what is then known about them.
    fn stay(
        &self,
        fleet: &Fleet,
        log: &mut Log,
        ledger: &Ledger,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        let generation = ledger.generation();
        let mut confirmed = self.ca.agents()?.confirm(generation);
        let ours: Vec<&Name> = fleet.devices().map(|device| fleet.device_name(device)).collect();
        confirmed.retain(|name, _| ours.contains(&name));
        let names = ours.iter().filter(|name| matches!(confirmed.get(**name), Some(Ok(()))));
        let records = names
            .filter(|name| ledger.seen().get(**name) != Some(&generation))
            .map(|name| Record::Seen { device: Name::clone(name), generation });
        log.append(&records.collect::<Vec<_>>())?;
        let mut table = Table::new(2);
        for (name, error) in
            confirmed.iter().filter_map(|(name, is)| Some((name, is.as_ref().err()?)))
        {
            table.push(vec![painted(NAME, name), painted(BAD, "failed"), cell(error)]);
        }
        table.write(out)?;
        if all_agree(fleet, &confirmed) {
            let agents = plural(confirmed.len(), "agent");
            writeln!(out, "{GOOD}Confirmed{GOOD:#}: {agents} stay with generation {generation}.")?;
            return Ok(Ended::Done);
        }
        writeln!(
            out,
            "{NOTE}Not confirmed everywhere{NOTE:#}: apply again, so that all hold the same."
        )?;
        Ok(Ended::Found)
    }

    fn write_remarks(
        &self,
        applied: &Applied,
        on_drift: Option<OnDrift>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if matches!(self.to, To::Sim) {
            return Ok(());
        }
        if !applied.in_force() {
            return writeln!(
                out,
                "Nothing new starts anywhere until every device holds its part: see to those above \
                 and apply again."
            );
        }
        if let Some(on_drift) = on_drift {
            let policy = policy(on_drift);
            writeln!(out, "{NOTE}On drift{NOTE:#}: agents {policy} from now on.")?;
        }
        if let Some(within) = self.confirm_within {
            writeln!(
                out,
                "{NOTE}On trial{NOTE:#}: the devices go back in {within}, unless this is run before: \
                 `bulkhead apply … --to agents --confirm`"
            )?;
        }
        Ok(())
    }
}

impl From<Policy> for OnDrift {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Alarm => Self::Alarm,
            Policy::Repair => Self::Repair,
            Policy::Quarantine => Self::Quarantine,
        }
    }
}

/// Whether every device holds these texts since that generation, so that nothing is to be sent and
/// no generation to be begun.
fn all_hold(
    cleared: &Cleared,
    since: Generation,
    devices: &dyn Holds,
    same: fn(Dialect, &str, &str) -> bool,
) -> Result<bool, Unreachable> {
    for artifact in cleared.artifacts() {
        let held = devices.held(artifact.device, artifact.dialect)?;
        let holds = |held: Held| {
            held.generation == since && same(artifact.dialect, &artifact.text(), &held.text)
        };
        if !held.is_some_and(holds) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether every device of the fleet says yes. Agents of other devices have no say.
fn all_agree<E>(fleet: &Fleet, answers: &BTreeMap<Name, Result<(), E>>) -> bool {
    let mut names = fleet.devices().map(|device| fleet.device_name(device));
    names.all(|name| matches!(answers.get(name), Some(Ok(()))))
}

/// Whether every agent does this on drift.
fn all_do<E>(
    fleet: &Fleet,
    statuses: &BTreeMap<Name, Result<Status, E>>,
    on_drift: OnDrift,
) -> bool {
    let mut names = fleet.devices().map(|device| fleet.device_name(device));
    names.all(|name| matches!(statuses.get(name), Some(Ok(status)) if status.on_drift == on_drift))
}

/// A simulated device holds the very text.
fn is_same(_: Dialect, sent: &str, held: &str) -> bool {
    sent == held
}

/// A real device says what it holds in its own order.
fn says_the_same(dialect: Dialect, sent: &str, held: &str) -> bool {
    read::differences(dialect, sent, held).is_empty()
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
