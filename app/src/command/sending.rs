//! What all commands share that change what devices hold: to whom, on which terms, and how it went.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use agent::Reached;
use apply::{Applied, Devices, Gate, OnDrift, Outcome, Receipt};
use bulkhead_agent::Span;
use clap::{Args, ValueEnum};
use control::{Committed, Control, Draft, Hurry, ProofVerdict, Request, Stay, Stopped};
use model::{Dialect, Fleet, Generation, Name, Timestamp};
use serde::Serialize;
use store::Folder;

use super::Output;
use super::agent::policy;
use super::ca::CaFolder;
use super::observing::says_the_same;
use super::verify::Judged;
use crate::changes::write_changes;
use crate::ending::{Ended, Stop};
use crate::evidence::Extent;
use crate::state::{State, now};
use crate::words::{self, BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, painted, plural, some};

/// To whom, and on which terms.
#[derive(Args)]
pub(crate) struct Sending {
    /// Which devices to send to
    #[arg(long, value_name = "DEVICES", value_enum)]
    to: To,
    /// What an agent does when its device holds something else than it was sent
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Policy::Repair)]
    on_drift: Policy,
    /// Agents go back to what they held before, unless `apply --confirm` follows within this time
    #[arg(long, value_name = "TIME")]
    confirm_within: Option<Span>,
    /// Leave this device out, because it does not answer: nobody waits for it, and nothing is
    /// proved of what it holds
    #[arg(long, value_name = "DEVICE")]
    without: Vec<Name>,
    /// Show every change, however many there are
    #[arg(long, short = 'v')]
    all: bool,
    #[command(flatten)]
    ca: CaFolder,
    #[command(flatten)]
    pub(super) state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Whom to send to.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    generation: Generation,
    in_force: bool,
    changed: Vec<&'a Name>,
    without: &'a [Name],
    receipts: Vec<ReceiptView<'a>>,
}

/// What became of `--confirm`.
#[derive(Serialize)]
struct Confirmation<'a> {
    generation: Generation,
    /// Whether the devices stay with it.
    confirmed: bool,
    without: &'a [Name],
    receipts: Vec<ReceiptView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptView<'a> {
    device: &'a Name,
    held: bool,
    changed: Vec<Dialect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// How agents were before they were sent anything.
#[derive(Default)]
struct Before {
    /// How many gates were closed.
    closed: usize,
    /// What agents do on drift from now on, if one did something else.
    on_drift: Option<OnDrift>,
}

impl Sending {
    /// Takes a request, sends what is due because of it, and tells how it went.
    pub(super) fn run(
        &self,
        control: &mut Control<Folder>,
        request: &Request,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        self.check()?;
        let format = self.output.format;
        let hurry = Hurry { confirm_within: self.confirm_within.map(|span| span.0) };
        let committed = match control.take(request, hurry, now()) {
            Ok(committed) => committed,
            Err(Stopped::NoDraft(none)) => return Err(Stop::no_draft(none)),
            Err(Stopped::OnTrial(until)) => return Err(on_trial(until)),
            Err(Stopped::Unproved(draft, unproved)) => {
                words::aside(format_args!("{BAD}Nothing was sent.{BAD:#}"));
                return Judged::unproved(&draft, &unproved).refuse(&draft, format, out);
            }
        };
        let without = left_out(&self.without, &committed.draft)?;
        let (applied, before) = match self.to {
            To::Sim => {
                let mut devices = self.state.devices(&committed.draft.intent.fleet);
                let is_same = |_, desired: &str, held: &str| desired == held;
                let again = control.differing(&committed.cleared, &devices, is_same);
                (self.send(control, &committed, &again, &without, &mut devices)?, Before::default())
            }
            To::Agents => self.send_to_agents(control, &committed, &without)?,
        };
        // Words come last: a reader who goes away keeps nothing from being done.
        let generation = control.journal().state().ledger().generation();
        if format == Format::Text {
            let next = &committed.draft.next;
            write_changes(&plan::diff(committed.draft.ledger(), &next.plan), self.all, out)?;
            let extent = Extent::of(&next.plan.owners(), committed.cleared.artifacts());
            let verdict = ProofVerdict::of(&committed.draft, extent.devices(), &[], &[], None);
            extent.write_verdict(out, &[], &verdict)?;
            write_receipts(&committed, &applied, before.closed, generation, out)?;
            self.write_remarks(&applied, &before, out)?;
        } else {
            let fleet = &committed.draft.intent.fleet;
            let answer = Answer {
                generation,
                in_force: applied.in_force() && applied.is_started,
                changed: committed.changed.iter().collect(),
                without: &self.without,
                receipts: applied.receipts.iter().map(|one| view(fleet, one)).collect(),
            };
            words::data(out, format, &answer)?;
        }
        let is_stale = |receipt: &Receipt| matches!(receipt.outcome, Ok(Outcome::Stale { .. }));
        if applied.receipts.iter().any(is_stale) {
            return Ok(Ended::Found);
        }
        if format != Format::Text && !applied.receipts.iter().all(|one| one.outcome.is_ok()) {
            // Programs were told by the receipts.
            return Ok(Ended::Broken);
        }
        for receipt in applied.receipts {
            receipt.outcome?;
        }
        Ok(Ended::Done)
    }

    /// Tells the agents to stay with the last plan.
    pub(super) fn confirm(
        &self,
        control: &mut Control<Folder>,
        out: &mut dyn Write,
    ) -> Result<Ended, Stop> {
        self.check()?;
        if self.to == To::Sim {
            return Err(no_agents());
        }
        let draft = control.journal().in_force(now()).map_err(Stop::no_draft)?;
        let fleet = &draft.intent.fleet;
        let agents = self.ca.agents()?;
        let without = left_out(&self.without, &draft)?;
        let mut devices = Reached { fleet, agents: &agents };
        let (receipts, stays) = match control.confirm(&mut devices, fleet, &without, now())? {
            Stay::Confirmed(receipts) => (receipts, true),
            Stay::NotEverywhere(receipts) => (receipts, false),
            Stay::TooLate => return Err(too_late()),
            Stay::NoTrial => return Err(no_trial()),
        };
        let ended = if stays { Ended::Done } else { Ended::Found };
        let generation = control.journal().state().ledger().generation();
        if self.output.format != Format::Text {
            let confirmation = Confirmation {
                generation,
                confirmed: stays,
                without: &self.without,
                receipts: receipts.iter().map(|one| view(fleet, one)).collect(),
            };
            words::data(out, self.output.format, &confirmation)?;
            return Ok(ended);
        }
        let mut table = Table::new(2);
        for receipt in receipts.iter().filter(|receipt| !receipt.is_held()) {
            let name = fleet.device_name(receipt.device);
            let problem = problem(receipt).unwrap_or_default();
            table.push(vec![painted(NAME, name), painted(BAD, "failed"), cell(problem)]);
        }
        table.write(out)?;
        if stays {
            let agents = plural(receipts.len(), "agent");
            writeln!(out, "{GOOD}Confirmed{GOOD:#}: {agents} stay with generation {generation}.")?;
            self.write_left_out(out)?;
            return Ok(ended);
        }
        writeln!(
            out,
            "{NOTE}Not confirmed everywhere{NOTE:#}: it is still on trial. See to those above and \
             confirm again in time, or leave one out with `--without DEVICE`."
        )?;
        Ok(ended)
    }

    fn check(&self) -> Result<(), Stop> {
        if self.to == To::Sim && self.confirm_within.is_some() {
            return Err(no_agents());
        }
        Ok(())
    }

    fn send(
        &self,
        control: &mut Control<Folder>,
        committed: &Committed,
        again: &BTreeSet<Name>,
        without: &BTreeSet<Name>,
        devices: &mut dyn Devices,
    ) -> Result<Applied, Stop> {
        Ok(control.send(committed, again, self.on_drift.into(), without, devices, now())?)
    }

    /// Agents that hold the plan already, but do something else on drift, are sent it once more.
    fn send_to_agents(
        &self,
        control: &mut Control<Folder>,
        committed: &Committed,
        without: &BTreeSet<Name>,
    ) -> Result<(Applied, Before), Stop> {
        let fleet = &committed.draft.intent.fleet;
        let agents = self.ca.agents()?;
        let on_drift: OnDrift = self.on_drift.into();
        let statuses = agents.statuses();
        let seen = agents.look(fleet);
        let mut again = control.differing(&committed.cleared, &seen, says_the_same);
        let mut before = Before::default();
        for (name, status) in &statuses {
            let Ok(status) = status else { continue };
            before.closed += usize::from(!matches!(status.gate, Gate::Open | Gate::Empty));
            if status.on_drift != on_drift {
                before.on_drift = Some(on_drift);
            }
            if status.on_drift != on_drift || status.gate != Gate::Open {
                again.insert(name.clone());
            }
        }
        let mut devices = Reached { fleet, agents: &agents };
        let applied = self.send(control, committed, &again, without, &mut devices)?;
        Ok((applied, before))
    }

    fn write_left_out(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.without.is_empty() {
            return Ok(());
        }
        let names = some(&self.without, 6);
        writeln!(
            out,
            "{NOTE}Without {names}{NOTE:#}: what it holds is not what was proved, and numbers that \
             it may still hold stay taken. `bulkhead apply` includes it again."
        )
    }

    fn write_remarks(
        &self,
        applied: &Applied,
        before: &Before,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.write_left_out(out)?;
        if self.to == To::Sim {
            return Ok(());
        }
        if !applied.in_force() {
            return writeln!(
                out,
                "Nothing new starts anywhere until every device holds its part: see to those above \
                 and apply again, or leave one out with `--without DEVICE`."
            );
        }
        if let Some(on_drift) = before.on_drift {
            let policy = policy(on_drift);
            writeln!(out, "{NOTE}On drift{NOTE:#}: agents {policy} from now on.")?;
        }
        if let Some(within) = self.confirm_within {
            writeln!(
                out,
                "{NOTE}On trial{NOTE:#}: the devices go back in {within}, unless this is run before: \
                 `bulkhead apply --to agents --confirm`"
            )?;
        }
        Ok(())
    }
}

/// The devices that are left out, if all of them exist.
fn left_out(without: &[Name], draft: &Draft) -> Result<BTreeSet<Name>, Stop> {
    match without.iter().find(|name| draft.device(name.as_str()).is_none()) {
        Some(name) => Err(super::render::no_device(name.as_str())),
        None => Ok(without.iter().cloned().collect()),
    }
}

fn on_trial(until: Timestamp) -> Stop {
    let left = until.0.saturating_sub(now().0).div_ceil(1000);
    Stop::argument(
        "on-trial",
        format!("a plan is on trial: it goes back in {left} s unless it is confirmed"),
        "stay with it first, by `bulkhead apply --to agents --confirm`, or wait until it went back; \
         `--confirm-within TIME` adds to the trial",
    )
}

fn too_late() -> Stop {
    Stop::argument(
        "trial-over",
        "its time was over: the devices went back, and so did the log".into(),
        "apply the documents again, and confirm them in time",
    )
}

fn no_trial() -> Stop {
    Stop::argument(
        "no-trial",
        "no plan is on trial: there is nothing to confirm".into(),
        "`bulkhead history` says what was applied, confirmed and taken back",
    )
}

fn no_agents() -> Stop {
    Stop::argument(
        "no-agents",
        "simulated devices cannot go back by themselves".into(),
        "only agents can: `--to agents`",
    )
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

/// What changed on which device, what failed, and whether all is in force.
pub(super) fn write_receipts(
    committed: &Committed,
    applied: &Applied,
    closed: usize,
    generation: Generation,
    out: &mut dyn Write,
) -> io::Result<()> {
    /// More devices than this are for programs.
    const MOST: usize = 24;
    let fleet = &committed.draft.intent.fleet;
    let mut changed: BTreeMap<_, &Vec<Dialect>> = BTreeMap::new();
    for receipt in &applied.receipts {
        if let Ok(Outcome::Held { changed: dialects }) = &receipt.outcome
            && !dialects.is_empty()
        {
            changed.insert(receipt.device, dialects);
        }
    }
    let mut table = Table::new(2);
    for (device, dialects) in changed.iter().take(MOST) {
        let name = fleet.device_name(*device);
        table.push(vec![painted(NAME, name), cell("holds"), cell(some(*dialects, 4))]);
    }
    let failed: Vec<&Receipt> =
        applied.receipts.iter().filter(|receipt| !receipt.is_held()).collect();
    for receipt in &failed {
        let (name, problem) = (fleet.device_name(receipt.device), problem(receipt));
        let problem = cell(problem.unwrap_or_default());
        table.push(vec![painted(NAME, name), painted(BAD, "failed"), problem]);
    }
    table.write(out)?;
    if let Some(more) = changed.len().checked_sub(MOST).filter(|&more| more > 0) {
        writeln!(out, "  {DIM}and {}{DIM:#}", plural(more, "more device"))?;
    }
    let devices = plural(committed.cleared.devices().count(), "device");
    if !failed.is_empty() {
        let failed = plural(failed.len(), "device");
        return writeln!(
            out,
            "{NOTE}Not in force{NOTE:#}: {failed} without generation {generation}."
        );
    }
    if changed.is_empty() && closed > 0 {
        let gates = plural(closed, "gate");
        writeln!(
            out,
            "{GOOD}Open again{GOOD:#}: {gates} had closed; {devices} hold generation {generation}."
        )
    } else if changed.is_empty() {
        writeln!(out, "{GOOD}Nothing to do{GOOD:#}: {devices} hold generation {generation}.")
    } else {
        writeln!(out, "{GOOD}In force{GOOD:#}: {devices} hold generation {generation}.")
    }
}

fn view<'a>(fleet: &'a Fleet, receipt: &Receipt) -> ReceiptView<'a> {
    let changed = match &receipt.outcome {
        Ok(Outcome::Held { changed }) => changed.clone(),
        _ => Vec::new(),
    };
    ReceiptView {
        device: fleet.device_name(receipt.device),
        held: receipt.is_held(),
        changed,
        problem: problem(receipt),
    }
}

/// Why a device does not hold what it was sent.
fn problem(receipt: &Receipt) -> Option<String> {
    match &receipt.outcome {
        Ok(outcome) if outcome.is_held() => None,
        Ok(Outcome::Stale { epoch, generation }) => Some(format!(
            "it holds generation {generation} of epoch {epoch}, which this log does not know: \
             `bulkhead log repair` begins a new epoch"
        )),
        Ok(Outcome::Refused { why }) => Some(format!("refused: {why}")),
        Ok(_) => None,
        Err(error) => Some(apply::with_causes(error)),
    }
}
