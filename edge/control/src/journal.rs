//! The log as records, and what they come to.

use std::sync::Arc;

use apply::Numbered;
use model::{Digest, Fleet, Timestamp};
use next::{Inconsistent, Record, State};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use store::{AppendError, Batch, Envelope, Kept, LogEntry, ReadError, Revision, Store};

/// A body that is longer stands beside the log: its line would be longer than a line may be.
const LONGEST_BODY_BYTES: usize = 3500;

/// An open log: every record was read, and the next append goes behind the last of them.
pub struct Journal<S> {
    store: S,
    state: Arc<State>,
    at: Revision,
}

/// Who wants something, and through what.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Who {
    /// Who.
    pub actor: SmolStr,
    /// The program or interface that speaks for them.
    pub source: SmolStr,
    /// Their own name for what they ask, if they gave it one.
    pub request: Option<SmolStr>,
}

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A record is none of ours.
    #[error(
        "record {0} of the log is none that this version knows: a later one wrote it, or it is damaged"
    )]
    Unknown(Revision, #[source] serde_json::Error),
    /// A record cannot follow those before it.
    #[error("record {0} of the log contradicts those before it")]
    Inconsistent(Revision, #[source] Inconsistent),
    /// A text that a record names is not beside the log.
    #[error("the log names a text that is not beside it: {0}")]
    Missing(Digest),
    /// A text beside the log is no text.
    #[error("what the log keeps as {0} is no text")]
    NotText(Digest),
    /// A record cannot be written as JSON.
    #[error("a record cannot be written")]
    Unsaid(#[source] serde_json::Error),
}

/// A record in the log, or where it stands if it is too long for a line.
#[derive(Deserialize)]
#[serde(untagged)]
enum Body {
    Beside { beside: Digest },
    Here(serde_json::Value),
}

#[derive(Serialize)]
struct Beside {
    beside: Digest,
}

impl<S: Store> Journal<S> {
    /// Reads the log to its end. Nothing is written by that, and no lock is taken.
    ///
    /// # Errors
    /// If it cannot be read, or is not sound.
    pub fn open(store: S) -> Result<Self, JournalError> {
        let mut journal = Self { store, state: Arc::default(), at: Revision::default() };
        journal.catch_up()?;
        Ok(journal)
    }

    /// Reads what was appended since; whether anything was.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn catch_up(&mut self) -> Result<bool, JournalError> {
        let entries = self.store.read(self.at)?;
        let state = Arc::make_mut(&mut self.state);
        for entry in &entries {
            let record = record(&self.store, entry)?;
            state
                .fold(&record)
                .map_err(|source| JournalError::Inconsistent(entry.revision, source))?;
            self.at = entry.revision;
        }
        Ok(!entries.is_empty())
    }

    /// What all records come to.
    #[must_use]
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// The last record that was read.
    #[must_use]
    pub const fn at(&self) -> Revision {
        self.at
    }

    /// Where the records are.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The devices that said that they hold what they shall, with the number of it.
    #[must_use]
    pub fn acknowledged(&self, fleet: &Fleet) -> Vec<Numbered> {
        let numbered = fleet.devices().filter_map(|device| {
            let name = fleet.device_name(device);
            let (generation, _) = self.state.desired().get(name)?;
            let is_known = self.state.is_acknowledged(name);
            is_known.then_some((device, self.state.epoch(), *generation))
        });
        numbered.collect()
    }

    /// All records from one on, with who said them and when.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn records(&self, after: Revision) -> Result<Vec<(LogEntry, Record)>, JournalError> {
        let entries = self.store.read(after)?.into_iter();
        entries.map(|entry| record(&self.store, &entry).map(|record| (entry, record))).collect()
    }

    /// The text that a record names.
    ///
    /// # Errors
    /// If it is not there, or is no text.
    pub fn text(&self, digest: &Digest) -> Result<String, JournalError> {
        let bytes = self.store.beside(digest)?.ok_or(JournalError::Missing(*digest))?;
        String::from_utf8(bytes).map_err(|_| JournalError::NotText(*digest))
    }

    /// Content for a record to name, to be given to the append of that record.
    pub fn keep(&self, content: &[u8]) -> Kept {
        self.store.keep(content)
    }

    /// Adds records behind those that were read, all or none.
    ///
    /// # Errors
    /// [`JournalError::is_moved`] if somebody else was quicker: catch up and think again.
    pub(crate) fn append(
        &mut self,
        who: &Who,
        at: Timestamp,
        records: &[Record],
        mut beside: Vec<Kept>,
        is_durable: bool,
    ) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        // A record that contradicts the others would make the log unreadable for good.
        let mut after = State::clone(&self.state);
        for record in records {
            after.fold(record).map_err(|source| JournalError::Inconsistent(self.at, source))?;
        }
        let mut bodies = Vec::with_capacity(records.len());
        for record in records {
            bodies.push(self.body(record, &mut beside)?);
        }
        let Who { actor, source, request } = who.clone();
        let envelope = Envelope { at, actor, source, request, cause: None };
        let batch = Batch { envelope, bodies, beside: &beside, is_durable };
        self.store.append(self.at, batch)?;
        // What is in force is what the log says, not what we meant to say.
        self.catch_up()?;
        Ok(())
    }

    /// Adds records behind this one, which must be the last.
    pub(crate) fn append_at(
        &mut self,
        expected: Revision,
        who: &Who,
        at: Timestamp,
        records: &[Record],
        beside: Vec<Kept>,
        is_durable: bool,
    ) -> Result<(), JournalError> {
        if self.at != expected {
            return Err(AppendError::Moved { at: self.at }.into());
        }
        self.append(who, at, records, beside, is_durable)
    }

    fn body(&self, record: &Record, beside: &mut Vec<Kept>) -> Result<Vec<u8>, JournalError> {
        let body = serde_json::to_vec(record).map_err(JournalError::Unsaid)?;
        if body.len() <= LONGEST_BODY_BYTES {
            return Ok(body);
        }
        let kept = self.store.keep(&body);
        let named = Beside { beside: kept.digest };
        beside.push(kept);
        serde_json::to_vec(&named).map_err(JournalError::Unsaid)
    }
}

impl JournalError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Read(why) => why.remedy(),
            Self::Append(why) => why.remedy(),
            Self::Unknown(..) => {
                "use the version that wrote it; if that is this one, restore a backup \
                 (docs/backup.md)"
                    .into()
            }
            Self::Inconsistent(..) | Self::Missing(_) | Self::NotText(_) => {
                "`log check` shows what is missing; restore a backup (docs/backup.md)".into()
            }
            Self::Unsaid(_) => "this is a fault of the program: report it".into(),
        }
    }

    /// Whether somebody else appended first.
    #[must_use]
    pub const fn is_moved(&self) -> bool {
        matches!(self, Self::Append(AppendError::Moved { .. }))
    }
}

/// The content that a body of the log speaks of, and that must stand beside it as long as the body
/// does.
pub fn speaks_of(store: &impl Store, body: &[u8]) -> Vec<Digest> {
    let mut spoken_of = Vec::new();
    let record = match serde_json::from_slice(body) {
        Ok(Body::Here(value)) => serde_json::from_value(value).ok(),
        Ok(Body::Beside { beside }) => {
            spoken_of.push(beside);
            let body = store.beside(&beside).ok().flatten();
            body.and_then(|body| serde_json::from_slice(&body).ok())
        }
        Err(_) => None,
    };
    if let Some(Record::Accepted { put, .. }) = record {
        spoken_of.extend(put.into_iter().map(|put| put.digest));
    }
    spoken_of
}

fn record(store: &impl Store, entry: &LogEntry) -> Result<Record, JournalError> {
    let unknown = |source| JournalError::Unknown(entry.revision, source);
    match serde_json::from_slice(&entry.body).map_err(unknown)? {
        Body::Here(value) => serde_json::from_value(value).map_err(unknown),
        Body::Beside { beside } => {
            let body = store.beside(&beside)?.ok_or(JournalError::Missing(beside))?;
            serde_json::from_slice(&body).map_err(unknown)
        }
    }
}
