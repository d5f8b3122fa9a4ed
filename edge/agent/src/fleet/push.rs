//! A plan in two steps: hold everywhere, and only if everybody does, start everywhere.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use apply::{Applied, Outcome, Receipt, Sent};
use model::{Dialect, Generation, Name};
use verify::Cleared;

use super::{Fleet, done, understand, unreachable};
use crate::line::TalkError;
use crate::message::{Answer, OnDrift, Request};

/// How a plan is to be held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// What a node does when it holds something else.
    pub on_drift: OnDrift,
    /// Nodes go back by themselves unless the plan is confirmed within this time.
    pub confirm_within: Option<Duration>,
}

/// What became of a plan.
#[derive(Debug)]
pub struct Pushed {
    /// One receipt for each text.
    pub applied: Applied,
    /// Whether the ports it brings were opened; if anybody could not hold it, nobody's were.
    pub is_started: bool,
    /// How long it took until the last one held it, or failed to.
    pub held_in: Duration,
    /// How long the second step took after that.
    pub started_in: Duration,
}

/// What became of both steps.
pub(crate) struct Steps {
    pub(crate) kept: Kept,
    pub(crate) is_started: bool,
    held_in: Duration,
    started_in: Duration,
}

/// What each node did with its texts.
pub(crate) type Kept = BTreeMap<Name, Result<Vec<(Dialect, Outcome)>, TalkError>>;

impl Fleet {
    /// Sends every artifact to the agent of its device. Ports that are new open only when every
    /// agent has said that it holds its part.
    #[must_use]
    pub fn push(&self, fleet: &model::Fleet, cleared: &Cleared, wish: &Wish) -> Pushed {
        let mut sent: BTreeMap<Name, Sent> = BTreeMap::new();
        for artifact in cleared.artifacts() {
            let name = fleet.device_name(artifact.device).clone();
            let generation = artifact.generation;
            let node = sent.entry(name).or_insert_with(|| Sent { generation, texts: Vec::new() });
            node.texts.push((artifact.dialect, artifact.text()));
        }
        let Steps { kept, is_started, held_in, started_in } = self.push_texts(sent, wish);
        let receipts = cleared.artifacts().iter().map(|artifact| {
            let name = fleet.device_name(artifact.device);
            Receipt {
                device: artifact.device,
                dialect: artifact.dialect,
                outcome: outcome(&kept, name, artifact.dialect)
                    .map_err(|error| unreachable(name, error)),
            }
        });
        let applied = Applied { receipts: receipts.collect() };
        Pushed { applied, is_started, held_in, started_in }
    }

    /// Both steps, with texts that somebody cleared.
    pub(crate) fn push_texts(&self, sent: BTreeMap<Name, Sent>, wish: &Wish) -> Steps {
        let began = Instant::now();
        let generations: Vec<(Name, Generation)> =
            sent.iter().map(|(name, sent)| (name.clone(), sent.generation)).collect();
        let holds = sent.into_iter().map(|(name, sent)| (name, hold(sent, wish))).collect();
        let held = self.runtime.block_on(self.each(holds));
        let mut kept = understand(held, |answer| match answer {
            Answer::Kept(kept) => {
                Some(kept.into_iter().map(|(dialect, kept)| (dialect, kept.into())).collect())
            }
            _ => None,
        });
        if !kept.values().all(is_held) {
            let (held_in, started_in) = (began.elapsed(), Duration::ZERO);
            return Steps { kept, is_started: false, held_in, started_in };
        }
        let held_in = began.elapsed();
        let starts = generations.into_iter();
        let starts = starts.map(|(name, generation)| (name, Request::Start { generation }));
        let started = understand(self.runtime.block_on(self.each(starts.collect())), done);
        let mut is_started = true;
        for (name, started) in started {
            if let Err(error) = started {
                is_started = false;
                kept.insert(name, Err(error));
            }
        }
        Steps { kept, is_started, held_in, started_in: began.elapsed() - held_in }
    }
}

fn hold(sent: Sent, wish: &Wish) -> Request {
    let within = wish.confirm_within.map(|within| within.as_millis());
    Request::Hold {
        generation: sent.generation,
        texts: sent.texts,
        on_drift: wish.on_drift,
        confirm_within_ms: within.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX)),
    }
}

fn is_held(kept: &Result<Vec<(Dialect, Outcome)>, TalkError>) -> bool {
    let is_held = |outcome: &Outcome| matches!(outcome, Outcome::Held | Outcome::Unchanged);
    kept.as_ref().is_ok_and(|kept| kept.iter().all(|(_, outcome)| is_held(outcome)))
}

/// What a node did with the text in this dialect. An agent that says nothing about a text that it
/// was sent does not hold it.
fn outcome(kept: &Kept, name: &Name, dialect: Dialect) -> Result<Outcome, TalkError> {
    let outcomes = match kept.get(name) {
        Some(Ok(outcomes)) => outcomes,
        Some(Err(error)) => return Err(error.clone()),
        None => return Err(TalkError::NotEnrolled(name.clone())),
    };
    let known = outcomes.iter().find(|(known, _)| *known == dialect);
    known.map(|(_, outcome)| *outcome).ok_or_else(|| TalkError::Failed {
        step: "hold".into(),
        said: format!("its agent says nothing about its {dialect} text"),
    })
}
