//! What happened, for people and programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use intent::{Key, Written};
use model::{Digest, Generation, Timestamp};
use next::{Put, Record, State};
use serde::Serialize;
use smol_str::SmolStr;
use store::{LogEntry, Revision, Store};

use crate::journal::{Journal, JournalError};

/// What one append came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The last record of it.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: SmolStr,
    /// Through what.
    pub source: SmolStr,
    /// Their own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<SmolStr>,
    /// The plan that came of it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// Documents that were put.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<Key>,
    /// Documents that were taken away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<Key>,
    /// What else was written down, each in a few words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
}

impl<S: Store> Journal<S> {
    /// One line for each append, the oldest first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn history(&self) -> Result<Vec<Line>, JournalError> {
        let mut lines: Vec<Line> = Vec::new();
        for (entry, record) in self.records(Revision::default())? {
            let envelope = entry.envelope;
            let is_more = lines.last().is_some_and(|line| {
                (line.at, &line.actor, &line.source, &line.request)
                    == (envelope.at, &envelope.actor, &envelope.source, &envelope.request)
            });
            if !is_more {
                lines.push(Line {
                    revision: entry.revision,
                    at: envelope.at,
                    actor: envelope.actor,
                    source: envelope.source,
                    request: envelope.request,
                    generation: None,
                    put: Vec::new(),
                    deleted: Vec::new(),
                    events: Vec::new(),
                });
            }
            if let Some(line) = lines.last_mut() {
                line.revision = entry.revision;
                line.take(record);
            }
        }
        Ok(lines)
    }
}

/// A document that stands.
#[derive(Clone, Debug)]
pub struct StandingDocument {
    /// What it is about.
    pub key: Key,
    /// The document.
    pub written: Written,
    /// The record that put it.
    pub revision: Revision,
    /// When that was.
    pub at: Timestamp,
    /// Who put it.
    pub actor: SmolStr,
}

impl<S: Store> Journal<S> {
    /// What is asked for, and who asked for it when.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn documents(&self) -> Result<Vec<StandingDocument>, JournalError> {
        let mut putting: BTreeMap<Digest, LogEntry> = BTreeMap::new();
        for (entry, record) in self.records(Revision::default())? {
            if let Record::Accepted { put, .. } = record {
                putting.extend(put.iter().map(|put| (put.digest, entry.clone())));
            }
        }
        let mut documents = Vec::new();
        for (key, put) in self.state().documents() {
            let Some(entry) = putting.get(&put.digest) else { continue };
            documents.push(StandingDocument {
                key: key.clone(),
                written: self.written(put)?,
                revision: entry.revision,
                at: entry.envelope.at,
                actor: entry.envelope.actor.clone(),
            });
        }
        Ok(documents)
    }

    pub(crate) fn written(&self, put: &Put) -> Result<Written, JournalError> {
        let text = self.text(&put.digest)?;
        let (key, file) = (Some(put.key.clone()), put.file.clone());
        Ok(Written { key, file, lines_before: put.lines_before, text })
    }

    /// What was asked for at a revision.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn documents_at(&self, revision: Revision) -> Result<Vec<Written>, JournalError> {
        let mut state = State::default();
        for (entry, record) in self.records(Revision::default())? {
            if entry.revision > revision {
                break;
            }
            let contradiction = |source| JournalError::Inconsistent(entry.revision, source);
            state.fold(&record).map_err(contradiction)?;
        }
        state.documents().values().map(|put| self.written(put)).collect()
    }
}

impl Line {
    fn take(&mut self, record: Record) {
        match record {
            Record::Accepted { put, delete } => {
                self.put.extend(put.into_iter().map(|put| put.key));
                self.deleted.extend(delete);
            }
            Record::Choice(plan::Choice::Planned { generation }) => {
                self.generation = Some(generation);
            }
            Record::Choice(plan::Choice::Scrubbed { node, job, .. }) => {
                self.events.push(format!("{node} scrubbed after {job}"));
            }
            Record::Choice(_) => {}
            Record::Proved { changed, gone, .. } => {
                let changed = changed.len() + gone.len();
                self.events.push(format!("proved; {changed} devices change"));
            }
            Record::Began { epoch, .. } => self.events.push(format!("epoch {epoch} began")),
            Record::Tried { until } => self.events.push(format!("on trial until {until}")),
            Record::Refused { reasons, first } => {
                self.events.push(format!("refused: {} ({reasons} in all)", first.join(", ")));
            }
            Record::Acknowledged { devices } => {
                self.events.push(format!("{} devices hold it", devices.len()));
            }
            Record::Started { .. } => {}
            Record::Confirmed { generation, without } => {
                let mut event = format!("generation {generation} confirmed");
                if !without.is_empty() {
                    let names: Vec<&str> = without.iter().map(|name| name.as_str()).collect();
                    let _ = write!(event, " without {}", names.join(", "));
                }
                self.events.push(event);
            }
            Record::WentBack { generation } => {
                self.events.push(format!("generation {generation} was not confirmed: went back"));
            }
            Record::Found { code, devices, .. } => {
                let devices: Vec<&str> = devices.iter().map(|device| device.as_str()).collect();
                self.events.push(format!("found {code} at {}", devices.join(", ")));
            }
            Record::Resolved { id } => self.events.push(format!("resolved {id}")),
            Record::Drifted { device, statements, is_repaired } => {
                let end = if is_repaired { "repaired" } else { "not repaired" };
                self.events.push(format!("{device} drifted by {statements} statements: {end}"));
            }
        }
    }
}
