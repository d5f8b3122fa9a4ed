//! What `bulkhead apply` does, with lines to the agents that stay open.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use ::lab::Lab;
use agent::{Agents, Reached};
use apply::{Devices, HoldTerms, Numbered, OnDrift, Order, Outcome, Receipt, Standing};
use control::{Control, Hurry, Request};
use intent::Source;
use model::{DeviceId, Dialect};
use observe::{Held, Holds, Unreachable};
use store::Folder;

use crate::documents::{Unreadable, text_of};
use crate::ending::Stop;
use crate::runtime;
use crate::state::{now, who};

/// Plans, proves, writes down and sends.
pub(super) struct Controller {
    /// The lab's own documents: file and text.
    papers: Vec<(String, String)>,
    control: Control<Folder>,
    pub(super) agents: Agents,
}

/// How long each step of an apply took.
pub(super) struct Steps {
    /// Reading, planning, rendering and proving.
    pub(super) thought: Duration,
    /// Until the log had it.
    pub(super) logged: Duration,
    /// Until the last device held it.
    pub(super) held: Duration,
    /// Until the last device had opened its ports.
    pub(super) started: Duration,
    /// All of it.
    pub(super) whole: Duration,
    /// How many devices had to change something.
    pub(super) touched: usize,
}

/// What the bench asks for is not provable.
#[derive(Debug, thiserror::Error)]
#[error("the proof of the lab's plan has {0} findings; `bulkhead verify` tells them")]
struct NotProved(usize);

/// The plan is not in force everywhere.
#[derive(Debug, thiserror::Error)]
#[error("not every device of the lab holds the plan and started it; see its agents' logs")]
struct NotInForce;

impl Controller {
    pub(super) fn of(lab: &Lab) -> Result<Self, Stop> {
        let folder = lab.documents();
        let unreadable = |source| Unreadable { path: folder.clone(), source };
        let mut papers = Vec::new();
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            papers.push((path.display().to_string(), text_of(&path)?));
        }
        papers.sort();
        let control = Control::open(Folder::open(lab.state())?, who("lab bench"))?;
        Ok(Self { papers, control, agents: Agents::open(&lab.authority(), runtime::handle()?)? })
    }

    /// Puts the lab's documents and these in force, and says how long that took from the moment
    /// they were there.
    pub(super) fn apply(&mut self, more: &str, on_drift: OnDrift) -> Result<Steps, Stop> {
        let began = Instant::now();
        let own = self.papers.iter().map(|(file, text)| Source { file, text });
        let more = Source { file: "more.yaml", text: more };
        let request = Request::only(&own.chain([more]).collect::<Vec<_>>());
        let draft = self.control.journal().draft(&request, now()).map_err(Stop::no_draft)?;
        let proof = draft.prove().map_err(|unproved| NotProved(unproved.findings.len()))?;
        let thought = began.elapsed();
        let committed = self.control.commit(draft, proof, Hurry::default(), now())?;
        let logged = began.elapsed() - thought;
        let fleet = &committed.draft.intent.fleet;
        let reached = Reached { fleet, agents: &self.agents };
        let mut devices = Timed { reached, held: Duration::ZERO, started: Duration::ZERO };
        // A fabric that holds it already is told so once more: that is what is measured then.
        let all = committed.cleared.devices().map(|(device, _)| fleet.device_name(device).clone());
        let nobody = BTreeSet::new();
        let again = if committed.changed.is_empty() { all.collect() } else { nobody.clone() };
        let applied =
            self.control.send(&committed, &again, on_drift, &nobody, &mut devices, now())?;
        let whole = thought + logged + devices.held + devices.started;
        if !applied.is_started || !applied.in_force() {
            return Err(NotInForce.into());
        }
        let touched = applied.receipts.iter().filter(|receipt| changed(receipt));
        Ok(Steps {
            thought,
            logged,
            held: devices.held,
            started: devices.started,
            whole,
            touched: touched.count(),
        })
    }
}

fn changed(receipt: &Receipt) -> bool {
    matches!(&receipt.outcome, Ok(Outcome::Held { changed }) if !changed.is_empty())
}

/// Agents, and how long both steps took.
struct Timed<'a> {
    reached: Reached<'a>,
    held: Duration,
    started: Duration,
}

impl Holds for Timed<'_> {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        self.reached.held(device, dialect)
    }
}

impl Devices for Timed<'_> {
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        let began = Instant::now();
        let receipts = self.reached.hold(orders, terms);
        self.held = began.elapsed();
        receipts
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        let began = Instant::now();
        let receipts = self.reached.start(orders);
        self.started = began.elapsed();
        receipts
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.reached.confirm(devices)
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.reached.renew(devices)
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        self.reached.standing(device)
    }
}
