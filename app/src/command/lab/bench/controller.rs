//! What `bulkhead apply` does, with lines to the agents that stay open.

use std::fs;
use std::time::{Duration, Instant};

use ::lab::Lab;
use agent::{Fleet, Wish};
use apply::{Outcome, Receipt};
use intent::{Intent, Source};
use plan::Ledger;
use store::Log;

use crate::command::apply::seen;
use crate::documents::{Unreadable, text_of};
use crate::ending::Stop;

/// Plans, proves, writes down and sends.
pub(super) struct Controller {
    /// The lab's own documents: file and text.
    papers: Vec<(String, String)>,
    log: Log,
    ledger: Ledger,
    pub(super) agents: Fleet,
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
    /// How many texts a device had to change something for.
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
        let log = Log::open(lab.state().join("log"))?;
        let ledger = Ledger::replay(log.records())?;
        Ok(Self { papers, log, ledger, agents: Fleet::open(&lab.authority())? })
    }

    /// Puts the lab's documents and these in force, and says how long that took from the moment
    /// they were there.
    pub(super) fn apply(&mut self, more: &str, wish: &Wish) -> Result<Steps, Stop> {
        let began = Instant::now();
        let intent = self.intent(more)?;
        let next = plan::next(&intent, &self.ledger).map_err(Stop::plan)?;
        let artifacts = render::all(&next.plan);
        let cleared = verify::clear(&intent.fleet, &next.plan.owners(), artifacts)
            .map_err(|refused| NotProved(refused.findings.len()))?;
        let thought = began.elapsed();
        self.log.append(&next.records)?;
        let logged = began.elapsed() - thought;
        let pushed = self.agents.push(&intent.fleet, &cleared, wish);
        let whole = began.elapsed();
        if !pushed.is_started || !pushed.applied.in_force() {
            return Err(NotInForce.into());
        }
        next.records.iter().try_for_each(|record| self.ledger.apply(record))?;
        let seen = seen(&intent.fleet, &pushed.applied, &self.ledger, next.plan.generation);
        self.log.append(&seen)?;
        seen.iter().try_for_each(|record| self.ledger.apply(record))?;
        let touched = pushed.applied.receipts.iter().filter(|receipt| !is_untouched(receipt));
        Ok(Steps {
            thought,
            logged,
            held: pushed.held_in,
            started: pushed.started_in,
            whole,
            touched: touched.count(),
        })
    }

    fn intent(&self, more: &str) -> Result<Intent, Stop> {
        let own = self.papers.iter().map(|(file, text)| Source { file, text });
        let more =
            Some(Source { file: "more.yaml", text: more }).filter(|more| !more.text.is_empty());
        let sources: Vec<Source<'_>> = own.chain(more).collect();
        intent::load(&sources).map_err(Stop::documents)
    }
}

const fn is_untouched(receipt: &Receipt) -> bool {
    matches!(receipt.outcome, Ok(Outcome::Unchanged))
}
