//! From a request to devices, and back into the log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apply::{Applied, Devices, HoldTerms, Order, Receipt};
use model::{Artifact, DeviceId, Dialect, Epoch, Generation, Name, Timestamp};
use next::{Action, Put, Record, due};
use observe::{Held, Holds};
use plan::Contradiction;
use store::Store;
use verify::Cleared;

use crate::draft::{Draft, NoDraft, Proof, Unproved};
use crate::journal::{Journal, JournalError, Who};
use crate::request::Request;

/// The one controller of a log.
pub struct Control<S> {
    journal: Journal<S>,
    who: Who,
}

/// How soon a request must be confirmed, if at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hurry {
    /// Everything goes back unless it is confirmed within this time.
    pub confirm_within: Option<Duration>,
}

/// A request that was proved and written down, or that changes nothing.
#[derive(Debug)]
pub struct Committed {
    /// What it came to.
    pub draft: Draft,
    /// What may be sent.
    pub cleared: Cleared,
    /// The devices whose text differs from before.
    pub changed: BTreeSet<Name>,
}

/// Why a request was not taken.
#[derive(Debug)]
pub enum Stopped {
    /// There is no plan for it.
    NoDraft(NoDraft),
    /// Its texts were not found without fault.
    Unproved(Box<Draft>, Box<Unproved>),
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Self {
        Self::NoDraft(NoDraft::Journal(error))
    }
}

impl From<NoDraft> for Stopped {
    fn from(none: NoDraft) -> Self {
        Self::NoDraft(none)
    }
}

/// Others may append at the same time; whoever loses so often gives up.
const TRIES: u32 = 8;

impl<S: Store> Control<S> {
    /// Whoever this is speaks through this controller.
    ///
    /// # Errors
    /// If the log cannot be used.
    pub fn open(store: S, who: Who) -> Result<Self, JournalError> {
        Ok(Self { journal: Journal::open(store)?, who })
    }

    /// The log.
    #[must_use]
    pub const fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    /// Reads what others wrote since; whether anything was.
    ///
    /// # Errors
    /// If the log cannot be used.
    pub fn catch_up(&mut self) -> Result<bool, JournalError> {
        self.journal.catch_up()
    }

    /// Takes a request: plans it, proves it, and writes it down in one append. Nothing is sent.
    ///
    /// # Errors
    /// If it cannot be; then nothing of it is kept but that it was refused.
    pub fn take(
        &mut self,
        request: &Request,
        hurry: Hurry,
        now: Timestamp,
    ) -> Result<Committed, Stopped> {
        for _ in 1..TRIES {
            match self.take_once(request, hurry, now) {
                Err(Stopped::NoDraft(NoDraft::Journal(error))) if error.is_moved() => {
                    self.journal.catch_up()?;
                }
                other => return other,
            }
        }
        self.take_once(request, hurry, now)
    }

    fn take_once(
        &mut self,
        request: &Request,
        hurry: Hurry,
        now: Timestamp,
    ) -> Result<Committed, Stopped> {
        self.journal.catch_up()?;
        if due(self.journal.state(), now).contains(&Action::GoBack) {
            self.go_back(now)?;
        }
        let draft = match self.journal.draft(request) {
            Err(NoDraft::Journal(error)) => return Err(error.into()),
            Err(_) if request.expected.is_some() => return Err(NoDraft::Stale.into()),
            Err(none) => {
                self.note_refusal(&none, now)?;
                return Err(none.into());
            }
            Ok(draft) => draft,
        };
        match (draft.prove(), &request.expected) {
            (Err(_), Some(_)) => Err(NoDraft::Stale.into()),
            (Ok(proof), Some(expected)) if self.journal.outcome(&draft, &proof)? != *expected => {
                Err(NoDraft::Stale.into())
            }
            (Ok(proof), _) => self.commit(draft, proof, hurry, now).map_err(Stopped::from),
            (Err(unproved), None) => {
                let codes = unproved.findings.iter().map(|finding| finding.code().as_str());
                self.note_reasons(codes, now)?;
                Err(Stopped::Unproved(Box::new(draft), unproved))
            }
        }
    }

    /// Writes a proved draft down, so that it is what devices shall hold.
    ///
    /// # Errors
    /// If the log cannot be written, or somebody wrote to it since the draft was made.
    pub fn commit(
        &mut self,
        draft: Draft,
        proof: Proof,
        hurry: Hurry,
        now: Timestamp,
    ) -> Result<Committed, JournalError> {
        let mut beside = Vec::new();
        let mut put = Vec::new();
        for document in &draft.put {
            let Some(key) = document.key.clone() else { continue };
            let kept = self.journal.keep(document.text.as_bytes());
            let (digest, file) = (kept.digest, document.file.clone());
            put.push(Put { key, digest, file, lines_before: document.lines_before });
            beside.push(kept);
        }
        let mut records = self.terms(hurry, now);
        let own = draft.records(&proof, put);
        if own.is_empty() {
            records.retain(|record| matches!(record, Record::Confirmed { .. }));
        }
        records.extend(own);
        self.journal.append_at(draft.at, &self.who, now, &records, beside, true)?;
        let changed = proof.changed.into_iter().map(|target| target.device).collect();
        Ok(Committed { draft, cleared: proof.cleared, changed })
    }

    /// Whoever asks for something without a trial stays with what is on trial.
    fn terms(&self, hurry: Hurry, now: Timestamp) -> Vec<Record> {
        let state = self.journal.state();
        let generation = state.ledger().generation();
        match hurry.confirm_within {
            Some(within) => {
                let ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
                vec![Record::Tried { until: Timestamp(now.0.saturating_add(ms)) }]
            }
            None if state.trial().is_some() => vec![Record::Confirmed { generation }],
            None => Vec::new(),
        }
    }

    /// Has devices hold what they shall, and writes down which of them do: all of whom the log does
    /// not know it, and those in `again`. Those in `without` are left out, and waited for by nobody.
    ///
    /// # Errors
    /// If the log cannot be written. What devices say is no error.
    pub fn send(
        &mut self,
        committed: &Committed,
        again: &BTreeSet<Name>,
        terms: &HoldTerms,
        without: &BTreeSet<Name>,
        devices: &mut dyn Devices,
        now: Timestamp,
    ) -> Result<Applied, JournalError> {
        let cleared = &committed.cleared;
        let mut orders = self.orders(cleared, without, |_, name| {
            !self.journal.state().is_in_force(name) || again.contains(name)
        });
        if orders.is_empty() {
            let refused = self.keep_alive(cleared, without, devices);
            orders = self.orders(cleared, without, |device, _| refused.contains(&device));
        }
        if orders.is_empty() {
            return Ok(Applied { receipts: Vec::new(), is_started: true });
        }
        let applied = apply::push(&orders, terms, devices);
        self.note_receipts(cleared, &applied, now)?;
        Ok(applied)
    }

    /// Tells devices to stay with what is on trial.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn confirm(
        &mut self,
        devices: &mut dyn Devices,
        fleet: &model::Fleet,
        now: Timestamp,
    ) -> Result<Vec<Receipt>, JournalError> {
        self.journal.catch_up()?;
        let numbered = self.numbered(fleet.devices(), fleet);
        let answers = devices.confirm(&numbered);
        let all = answers.iter().all(|(_, answer)| answer.is_ok());
        if all && self.journal.state().trial().is_some() {
            let generation = self.journal.state().ledger().generation();
            let record = Record::Confirmed { generation };
            self.journal.append(&self.who, now, &[record], Vec::new(), true)?;
            self.note_seen(now)?;
        }
        let receipt = |(device, answer): (DeviceId, Result<(), _>)| Receipt {
            device,
            outcome: answer.map(|()| apply::Outcome::Unchanged),
        };
        Ok(answers.into_iter().map(receipt).collect())
    }

    /// Writes a choice down that was made or seen elsewhere, such as the evidence of a scrub.
    ///
    /// # Errors
    /// If it contradicts the log; then nothing is written. Otherwise if the log cannot be written.
    pub fn note(
        &mut self,
        choice: plan::Choice,
        now: Timestamp,
    ) -> Result<Result<(), Contradiction>, JournalError> {
        self.journal.catch_up()?;
        if let Err(contradiction) = self.journal.state().ledger().clone().apply(&choice) {
            return Ok(Err(contradiction));
        }
        self.journal.append(&self.who, now, &[Record::Choice(choice)], Vec::new(), true)?;
        Ok(Ok(()))
    }

    /// Takes back what nobody confirmed in time: documents, leases and texts.
    fn go_back(&mut self, now: Timestamp) -> Result<(), JournalError> {
        let state = self.journal.state();
        let generation = state.ledger().generation();
        let mut records = vec![Record::WentBack { generation }];
        records.extend(state.way_back().into_iter().map(Record::Choice));
        let mut before = next::State::clone(state);
        let at = self.journal.at();
        for record in &records {
            before.fold(record).map_err(|source| JournalError::Inconsistent(at, source))?;
        }
        // What cannot be planned or proved any more is not sent: devices went back by themselves.
        if let Ok(draft) = self.journal.draft_over(Arc::new(before), &Request::default())
            && let Ok(proof) = draft.prove()
        {
            records.extend(draft.records(&proof, Vec::new()));
        }
        self.journal.append(&self.who, now, &records, Vec::new(), true)
    }

    /// One order for each device that has texts and is wanted.
    fn orders(
        &self,
        cleared: &Cleared,
        without: &BTreeSet<Name>,
        mut is_wanted: impl FnMut(DeviceId, &Name) -> bool,
    ) -> Vec<Order> {
        let state = self.journal.state();
        let mut orders = Vec::new();
        for (device, _) in cleared.devices() {
            let name = cleared.fleet().device_name(device);
            let Some((generation, _)) = state.desired().get(name) else { continue };
            if !without.contains(name) && is_wanted(device, name) {
                orders.extend(Order::of(cleared, device, state.epoch(), *generation));
            }
        }
        orders
    }

    /// The devices that hold something else than the log knows that they were sent, as this comparison
    /// of what shall be held with what is has it, or that do not say what they hold.
    #[must_use]
    pub fn differing(
        &self,
        cleared: &Cleared,
        devices: &dyn Holds,
        same: fn(Dialect, &str, &str) -> bool,
    ) -> BTreeSet<Name> {
        let state = self.journal.state();
        let holds = |artifact: &Artifact| {
            let name = cleared.fleet().device_name(artifact.device);
            let desired = state.desired().get(name).map(|(generation, _)| *generation);
            let held = devices.held(artifact.device, artifact.dialect);
            let is_same = |held: Held| {
                Some(held.generation) == desired
                    && same(artifact.dialect, &artifact.text(), &held.text)
            };
            held.is_ok_and(|held| held.is_some_and(is_same))
        };
        let other = cleared.artifacts().iter().filter(|artifact| !holds(artifact));
        other.map(|artifact| cleared.fleet().device_name(artifact.device).clone()).collect()
    }

    /// Everybody hears that the controller lives; those who hold something else say so.
    fn keep_alive(
        &self,
        cleared: &Cleared,
        without: &BTreeSet<Name>,
        devices: &mut dyn Devices,
    ) -> BTreeSet<DeviceId> {
        let fleet = cleared.fleet();
        let here = cleared.devices().map(|(device, _)| device);
        let here = here.filter(|device| !without.contains(fleet.device_name(*device)));
        let numbered = self.numbered(here, fleet);
        let confirmed = devices.confirm(&numbered).into_iter();
        let renewed = devices.renew(&numbered).into_iter();
        let refused = confirmed.chain(renewed).filter(|(_, answer)| answer.is_err());
        refused.map(|(device, _)| device).collect()
    }

    fn numbered(
        &self,
        devices: impl Iterator<Item = DeviceId>,
        fleet: &model::Fleet,
    ) -> Vec<(DeviceId, Epoch, Generation)> {
        let state = self.journal.state();
        let numbered = devices.filter_map(|device| {
            let (generation, _) = state.desired().get(fleet.device_name(device))?;
            Some((device, state.epoch(), *generation))
        });
        numbered.collect()
    }

    /// What was heard can be heard again, so it is not waited for until it is on the disk.
    fn note_receipts(
        &mut self,
        cleared: &Cleared,
        applied: &Applied,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let state = self.journal.state();
        let held = applied.receipts.iter().filter(|receipt| receipt.is_held());
        let held = held.filter_map(|receipt| {
            let name = cleared.fleet().device_name(receipt.device);
            let (generation, _) = state.desired().get(name)?;
            Some((name.clone(), *generation))
        });
        let devices: Vec<(Name, Generation)> = held.collect();
        if devices.is_empty() {
            return Ok(());
        }
        let mut records = vec![Record::Acknowledged { devices: devices.clone() }];
        if applied.is_started {
            records.push(Record::Started { devices });
        }
        self.journal.append(&self.who, now, &records, Vec::new(), false)?;
        self.note_seen(now)
    }

    /// What was freed is free when every device that could hold it holds a text without it.
    fn note_seen(&mut self, now: Timestamp) -> Result<(), JournalError> {
        let seen = self.journal.state().seen_unchanged();
        let records: Vec<Record> = seen.into_iter().map(Record::Choice).collect();
        self.journal.append(&self.who, now, &records, Vec::new(), false)
    }

    fn note_refusal(&mut self, none: &NoDraft, now: Timestamp) -> Result<(), JournalError> {
        match none {
            NoDraft::Documents(refusals) => {
                self.note_reasons(refusals.iter().map(intent::Refusal::code), now)
            }
            NoDraft::Plan(refusals) => {
                self.note_reasons(refusals.iter().map(|one| one.refusal.code()), now)
            }
            NoDraft::NotThere(_) | NoDraft::Nothing | NoDraft::Stale | NoDraft::Journal(_) => {
                Ok(())
            }
        }
    }

    /// Nothing else of a refused request is kept. A log that has not begun does not begin with one.
    fn note_reasons<'a>(
        &mut self,
        codes: impl ExactSizeIterator<Item = &'a str>,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        const MOST: usize = 8;
        if self.journal.at().0 == 0 {
            return Ok(());
        }
        let reasons = u32::try_from(codes.len()).unwrap_or(u32::MAX);
        let first = codes.take(MOST).map(Into::into).collect();
        let record = Record::Refused { reasons, first };
        self.journal.append(&self.who, now, &[record], Vec::new(), false)
    }
}
