//! What an agent must still know after it was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apply::{Admitted, Gate, OnDrift};
use model::Generation;
use serde::{Deserialize, Serialize};

use crate::files::{self, Durable};

/// The agent's own memory, beside what the node was sent.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Record {
    pub(crate) lease: Span,
    pub(crate) on_drift: OnDrift,
    /// Why the gate must stay closed until the controller sends something.
    pub(crate) shut: Option<Gate>,
    /// The plan whose ports were opened.
    pub(crate) started: Option<Generation>,
    pub(crate) trial: Option<Trial>,
    /// The plan whose texts are held, if the agent went back to them.
    pub(crate) went_back_to: Option<Generation>,
}

/// A plan that must be confirmed.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Trial {
    pub(crate) generation: Generation,
    pub(crate) time: Span,
    /// What was in force before; none if nothing was.
    pub(crate) before: Option<Before>,
}

/// What a node goes back to.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Before {
    #[serde(flatten)]
    pub(crate) sent: Admitted,
    pub(crate) was_started: bool,
}

/// A time on the wall's clock, with when it began: a clock that was set back must not make it
/// longer.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Span {
    from_ms: u64,
    pub(crate) until_ms: u64,
}

impl Span {
    pub(crate) fn new(now_ms: u64, length: Duration) -> Self {
        let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        Self { from_ms: now_ms, until_ms: now_ms.saturating_add(length) }
    }

    /// What is left of it. Nothing, if the clock says that it has not even begun.
    pub(crate) fn left(self, now_ms: u64) -> Duration {
        let left = if now_ms < self.from_ms { 0 } else { self.until_ms.saturating_sub(now_ms) };
        Duration::from_millis(left)
    }
}

impl Record {
    /// What the folder says; nothing if it says nothing.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        match fs::read(file(folder)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes it down. Only what would open something if it were lost is worth waiting for the
    /// disk: without the rest a node stays closed until the controller comes.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        files::make_folder(folder)?;
        let keeps = self.shut.is_some() || self.trial.is_some();
        let durable = if keeps { Durable::Yes } else { Durable::No };
        files::put(&file(folder), &serde_json::to_vec(self)?, durable)
    }
}

impl Before {
    pub(crate) fn of(sent: &Admitted, record: &Record) -> Self {
        let generation = record.went_back_to.unwrap_or(sent.generation());
        Self {
            sent: sent.clone().under(sent.epoch(), generation),
            was_started: record.started == Some(sent.generation()),
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn file(folder: &Path) -> PathBuf {
    folder.join("agent.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_ends_a_span_and_does_not_stretch_it() {
        let span = Span::new(1_000, Duration::from_millis(500));
        let left = |now| span.left(now).as_millis();
        assert_eq!(
            [left(1_000), left(1_400), left(1_500), left(9_000), left(999)],
            [500, 100, 0, 0, 0]
        );
    }
}
