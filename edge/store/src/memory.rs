//! A log without a disk, with failures to order.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Digest, Epoch};

use crate::line::{self, Position};
use crate::salt::Salts;
use crate::{AppendError, Batch, Beginning, FORMAT, Kept, LogEntry, ReadError, Revision, Store};

/// A log without a disk: the same answers and the same salts every time, and as many failures as
/// somebody asks for.
#[derive(Debug)]
pub struct MemoryStore {
    held: Arc<Mutex<Held>>,
    salts: Arc<Salts>,
    /// The end of what this one wrote last.
    own: Option<Position>,
    failed: bool,
}

/// How an append fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AppendFault {
    /// The process ends before anything of the batch is there.
    Before,
    /// The process ends when the batch is there, and before it was told so.
    After,
    /// The machine stops: the batch is gone, and with it all that was not durable.
    PowerLoss,
}

#[derive(Debug)]
struct Held {
    installation: String,
    entries: Vec<LogEntry>,
    end: Position,
    /// Where the log ends after a loss of power.
    durable: Position,
    objects: BTreeMap<Digest, Vec<u8>>,
    /// What stands beside the log and is lost with the power.
    passing: Vec<Digest>,
    appends: u64,
    faults: BTreeMap<u64, AppendFault>,
}

impl MemoryStore {
    /// An empty one. The same seed gives the same salts and the same installation.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let secret = Digest::of(&seed.to_be_bytes());
        let mut installation = Digest::of(secret.as_bytes()).to_string();
        installation.truncate(32);
        let held = Held {
            installation,
            entries: Vec::new(),
            end: Position::start(),
            durable: Position::start(),
            objects: BTreeMap::new(),
            passing: Vec::new(),
            appends: 0,
            faults: BTreeMap::new(),
        };
        let salts = Arc::new(Salts::from_secret(secret));
        Self { held: Arc::new(Mutex::new(held)), salts, own: None, failed: false }
    }

    /// The same log, as another process or the next one sees it.
    #[must_use]
    pub fn again(&self) -> Self {
        let (held, salts) = (Arc::clone(&self.held), Arc::clone(&self.salts));
        Self { held, salts, own: None, failed: false }
    }

    /// How many appends were written or failed in writing, by anybody.
    #[must_use]
    pub fn appends(&self) -> u64 {
        self.held().appends
    }

    /// Lets an append fail, counted from 1 as [`MemoryStore::appends`] counts them.
    pub fn fail_at(&self, append: u64, fault: AppendFault) {
        self.held().faults.insert(append, fault);
    }

    /// Takes away everything that is not durable.
    pub fn lose_power(&self) {
        self.held().lose_power();
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn began(&self) -> Result<Option<Beginning>, ReadError> {
        Ok(self.held().end.beginning.clone())
    }

    fn read(&self, after: Revision) -> Result<Vec<LogEntry>, ReadError> {
        let held = self.held();
        let at = held.end.revision;
        if after > at {
            return Err(ReadError::Rewritten { path: nowhere(), at, known: after });
        }
        let position = held.entries.partition_point(|entry| entry.revision <= after);
        Ok(held.entries[position..].to_vec())
    }

    fn append(&mut self, expected: Revision, batch: Batch<'_>) -> Result<Revision, AppendError> {
        if self.failed {
            return Err(AppendError::FailedBefore { path: nowhere() });
        }
        line::fit(&batch.bodies)?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.end.revision != expected {
            return Err(AppendError::Moved { at: held.end.revision });
        }
        let from = match &self.own {
            Some(own) if own.sum == held.end.sum => own.clone(),
            _ => held.end.clone(),
        };
        let (begun, mut end) = held.compose(&batch, from)?;
        // As in a folder: what others wrote last may not be durable, and is relied on now.
        let is_own =
            begun.is_some() || self.own.as_ref().is_some_and(|own| own.sum == held.end.sum);
        let is_durable = batch.is_durable || !is_own;
        let is_nothing = begun.is_none() && batch.bodies.is_empty();
        held.appends += 1;
        let number = held.appends;
        let fault = held.faults.remove(&number);
        match fault {
            Some(AppendFault::PowerLoss) => held.lose_power(),
            Some(AppendFault::Before) => {}
            Some(AppendFault::After) | None => held.add(&batch, begun, &end, is_durable),
        }
        self.failed = fault.is_some();
        if self.failed {
            let source = io::Error::other("it was told to fail");
            return Err(AppendError::Unwritable { path: nowhere(), source });
        }
        let revision = end.revision;
        if is_durable && !batch.bodies.is_empty() {
            end.synced = revision;
        }
        if !is_nothing {
            self.own = Some(end);
        }
        Ok(revision)
    }

    fn keep(&self, content: &[u8]) -> Kept {
        self.salts.keep(content)
    }

    fn beside(&self, digest: &Digest) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(self.held().objects.get(digest).cloned())
    }
}

impl Held {
    /// The record that begins the log, if nothing does yet, and where the log will end.
    fn compose(
        &self,
        batch: &Batch<'_>,
        mut from: Position,
    ) -> Result<(Option<(LogEntry, Position)>, Position), AppendError> {
        let mut begun = None;
        if from.revision == Revision(0) {
            let installation = self.installation.as_str().into();
            let beginning = Beginning { format: FORMAT, installation, epoch: Epoch(1) };
            let body = line::began(&beginning, None);
            let (_, end) = line::write(&batch.envelope, &[&body], &from)?;
            from = Position { synced: end.revision, ..end.clone() };
            let (revision, envelope) = (from.revision, batch.envelope.clone());
            begun = Some((LogEntry { revision, envelope, body }, end));
        }
        let (_, end) = line::write(&batch.envelope, &batch.bodies, &from)?;
        Ok((begun, end))
    }

    fn add(
        &mut self,
        batch: &Batch<'_>,
        begun: Option<(LogEntry, Position)>,
        end: &Position,
        is_durable: bool,
    ) {
        if let Some((entry, end)) = begun {
            self.entries.push(entry);
            (self.durable, self.end) = (end.clone(), end);
        }
        if batch.bodies.is_empty() {
            return;
        }
        for body in &batch.bodies {
            let revision = self.end.revision.next();
            self.end.revision = revision;
            let (envelope, body) = (batch.envelope.clone(), body.clone());
            self.entries.push(LogEntry { revision, envelope, body });
        }
        for kept in batch.beside {
            self.objects.insert(kept.digest, kept.content.clone());
            self.passing.push(kept.digest);
        }
        self.end = end.clone();
        if is_durable {
            self.durable = end.clone();
            self.passing.clear();
        }
    }

    fn lose_power(&mut self) {
        self.end = self.durable.clone();
        let kept = self.entries.partition_point(|entry| entry.revision <= self.end.revision);
        self.entries.truncate(kept);
        for digest in self.passing.drain(..) {
            self.objects.remove(&digest);
        }
    }
}

fn nowhere() -> PathBuf {
    PathBuf::from("(memory)")
}
