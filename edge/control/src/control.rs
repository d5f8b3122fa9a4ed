//! From a request to devices, and back into the log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use apply::{Applied, Devices, HoldTerms, OnDrift, Order, Outcome, Receipt};
use model::{
    Artifact, DeviceId, Dialect, Epoch, Evidence, Fleet, Generation, JobName, Name, Timestamp,
};
use next::{Action, Put, Record, State, Trial, due};
use observe::{Held, Holds};
use plan::Choice;
use store::Store;
use verify::Cleared;

use crate::draft::{Draft, NoDraft, Proof, Unproved};
use crate::journal::{Journal, JournalError, Who};
use crate::request::Request;
use crate::scrubbed::NoEvidence;

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
    /// A plan is on trial until this moment: it is confirmed first, or goes back first.
    OnTrial(Timestamp),
}

/// What became of a plan on trial that was to stay.
#[derive(Debug)]
pub enum Stay {
    /// It stays. What the devices said that were asked.
    Confirmed(Vec<Receipt>),
    /// Not every device that was asked said that it stays with it.
    NotEverywhere(Vec<Receipt>),
    /// Its time was over: it goes back.
    TooLate,
    /// Nothing is on trial.
    NoTrial,
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
        self.go_back_if_due(now)?;
        if let (Some(trial), None) = (self.journal.state().trial(), hurry.confirm_within) {
            return Err(Stopped::OnTrial(trial.until));
        }
        let draft = match self.journal.draft(request, now) {
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
    ///
    /// # Panics
    /// If the proof is of another draft.
    pub fn commit(
        &mut self,
        draft: Draft,
        proof: Proof,
        hurry: Hurry,
        now: Timestamp,
    ) -> Result<Committed, JournalError> {
        let is_its_own = Arc::ptr_eq(proof.cleared.fleet(), &draft.intent.fleet);
        assert!(is_its_own, "what is written down as proved is what was proved");
        let mut beside = Vec::new();
        let mut put = Vec::new();
        for document in &draft.put {
            let Some(key) = document.key.clone() else { continue };
            let kept = self.journal.keep(document.text.as_bytes());
            let (digest, file) = (kept.digest, document.file.clone());
            put.push(Put { key, digest, file, lines_before: document.lines_before });
            beside.push(kept);
        }
        let mut records = draft.records(&proof, put);
        let is_tried = !records.is_empty() || draft.state.trial().is_some();
        if let Some(within) = hurry.confirm_within.filter(|_| is_tried) {
            let ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
            records.insert(0, Record::Tried { until: Timestamp(now.0.saturating_add(ms)) });
        }
        self.journal.append_at(draft.at, &self.who, now, &records, beside, true)?;
        let changed = proof.changed.into_iter().map(|target| target.device).collect();
        Ok(Committed { draft, cleared: proof.cleared, changed })
    }

    /// Has devices hold what they shall, and writes down which of them do: all of whom the log does
    /// not know it, and those in `again`. Those in `without` are left out, and waited for by nobody;
    /// but not those of which nobody heard since the log went back: what they hold may be what this
    /// log gives to others.
    ///
    /// # Errors
    /// If the log cannot be written; [`JournalError::is_moved`] if it says something later, which
    /// somebody else asked for: take up again from there. What devices say is no error.
    pub fn send(
        &mut self,
        committed: &Committed,
        again: &BTreeSet<Name>,
        on_drift: OnDrift,
        without: &BTreeSet<Name>,
        devices: &mut dyn Devices,
        now: Timestamp,
    ) -> Result<Applied, JournalError> {
        let cleared = &committed.cleared;
        self.journal.catch_up()?;
        let state = self.journal.state();
        if state.root() != Some(cleared.root()) {
            return Err(self.moved());
        }
        let heard = without.iter().filter(|device| !state.is_unheard(device));
        let without = &heard.cloned().collect();
        let is_due = |name: &Name| !state.is_in_force(name) || again.contains(name);
        // While something is on trial, just that is sent: whoever has no part in it would go back
        // from what it shall hold. All who have one hear how long from now on.
        let mut orders = self.orders(cleared, without, |_, name| match state.trial() {
            Some(_) => state.is_on_trial(name),
            None => is_due(name),
        });
        let left = |trial: &Trial| Duration::from_millis(trial.until.0.saturating_sub(now.0));
        let terms = HoldTerms { on_drift, confirm_within: state.trial().map(left) };
        if orders.is_empty() {
            let refused = self.keep_alive(cleared, without, devices);
            orders = self.orders(cleared, without, |device, _| refused.contains(&device));
        }
        if orders.is_empty() {
            return Ok(Applied { receipts: Vec::new(), is_started: true });
        }
        let applied = apply::push(&orders, &terms, devices);
        self.note_receipts(&orders, &applied, now)?;
        let fleet = cleared.fleet();
        match applied.receipts.iter().any(|receipt| self.is_superseded(fleet, receipt)) {
            true => Err(self.moved()),
            false => Ok(applied),
        }
    }

    /// Whether a device refused an order because it was sent a later one of this very log.
    fn is_superseded(&self, fleet: &Fleet, receipt: &Receipt) -> bool {
        let Ok(Outcome::Stale { epoch, generation }) = receipt.outcome else { return false };
        let state = self.journal.state();
        let desired = state.desired().get(fleet.device_name(receipt.device));
        epoch == state.epoch() && desired.is_some_and(|(last, _)| *last >= generation)
    }

    fn moved(&self) -> JournalError {
        store::AppendError::Moved { at: self.journal.at() }.into()
    }

    /// Tells devices to stay with what is on trial, and writes down that they do. Those in `without`
    /// are not asked, and are sent it anew when they answer.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn confirm(
        &mut self,
        devices: &mut dyn Devices,
        fleet: &Fleet,
        without: &BTreeSet<Name>,
        now: Timestamp,
    ) -> Result<Stay, JournalError> {
        self.journal.catch_up()?;
        if self.go_back_if_due(now)? {
            return Ok(Stay::TooLate);
        }
        let state = self.journal.state();
        if state.trial().is_none() {
            return Ok(Stay::NoTrial);
        }
        let generation = state.ledger().generation();
        let asked = fleet.devices().filter(|device| !without.contains(fleet.device_name(*device)));
        let answers = devices.confirm(&self.numbered(asked, fleet));
        let stays = answers.iter().all(|(_, answer)| answer.is_ok());
        let without: Vec<Name> = without.iter().cloned().collect();
        self.append_anew(now, true, |state| {
            let is_it = state.trial().is_some() && state.ledger().generation() == generation;
            let record = Record::Confirmed { generation, without: without.clone() };
            if stays && is_it { vec![record] } else { Vec::new() }
        })?;
        self.note_seen(now)?;
        let receipt = |(device, answer): (DeviceId, Result<(), _>)| Receipt {
            device,
            outcome: answer.map(|()| Outcome::Unchanged),
        };
        let receipts = answers.into_iter().map(receipt).collect();
        Ok(match self.journal.state().trial() {
            None => Stay::Confirmed(receipts),
            Some(_) => Stay::NotEverywhere(receipts),
        })
    }

    /// Writes down that the traces of a job were scrubbed on a node, by this evidence.
    ///
    /// # Errors
    /// If the log cannot be read or written. If it is no evidence, nothing is written.
    pub fn scrubbed(
        &mut self,
        node: &Name,
        job: &JobName,
        evidence: Vec<Evidence>,
        now: Timestamp,
    ) -> Result<Result<(), NoEvidence>, JournalError> {
        self.journal.catch_up()?;
        if let Err(why) = self.journal.may_count(node, job, &evidence, now)? {
            return Ok(Err(why));
        }
        let choice = Choice::Scrubbed { node: node.clone(), job: job.clone(), evidence };
        self.journal.append(&self.who, now, &[Record::Choice(choice)], Vec::new(), true)?;
        Ok(Ok(()))
    }

    /// Takes back what nobody confirmed in time: documents, leases and texts. Whether it was due.
    fn go_back_if_due(&mut self, now: Timestamp) -> Result<bool, JournalError> {
        if !due(self.journal.state(), now).contains(&Action::GoBack) {
            return Ok(false);
        }
        let at = self.journal.at();
        let back = self.journal.state().gone_back();
        let back = back.map_err(|source| JournalError::Inconsistent(at, source))?;
        let Some((mut records, before)) = back else { return Ok(false) };
        // What cannot be planned or proved any more is not sent: devices went back by themselves.
        if let Ok(draft) = self.journal.draft_over(Arc::new(before), &Request::default(), now)
            && let Ok(proof) = draft.prove()
        {
            records.extend(draft.records(&proof, Vec::new()));
        }
        self.journal.append(&self.who, now, &records, Vec::new(), true)?;
        Ok(true)
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
        let renewed = devices.renew(&self.numbered(here, fleet)).into_iter();
        renewed.filter(|(_, answer)| answer.is_err()).map(|(device, _)| device).collect()
    }

    fn numbered(
        &self,
        devices: impl Iterator<Item = DeviceId>,
        fleet: &Fleet,
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
        orders: &[Order],
        applied: &Applied,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let held = |order: &&Order| {
            let mut receipts = applied.receipts.iter();
            receipts.any(|receipt| receipt.device == order.device() && receipt.is_held())
        };
        let epoch = self.journal.state().epoch();
        let said = orders.iter().filter(held);
        let said: Vec<_> = said.map(|order| (order.name().clone(), order.generation())).collect();
        self.append_anew(now, false, |state| {
            let sent = |(device, held): &&(Name, Generation)| {
                let desired = state.desired().get(device);
                state.epoch() == epoch && desired.is_some_and(|(last, _)| held <= last)
            };
            let devices: Vec<_> = said.iter().filter(sent).cloned().collect();
            if devices.is_empty() {
                return Vec::new();
            }
            let mut records = vec![Record::Acknowledged { devices: devices.clone() }];
            records.extend(applied.is_started.then_some(Record::Started { devices }));
            records
        })?;
        self.note_seen(now)
    }

    /// What was freed is free when every device that could hold it holds a text without it.
    fn note_seen(&mut self, now: Timestamp) -> Result<(), JournalError> {
        self.append_anew(now, false, |state| {
            state.seen_unchanged().into_iter().map(Record::Choice).collect()
        })
    }

    /// Writes down what follows from the state. Whoever loses the race for the log reads on, and
    /// says what follows then.
    fn append_anew(
        &mut self,
        now: Timestamp,
        is_durable: bool,
        say: impl Fn(&State) -> Vec<Record>,
    ) -> Result<(), JournalError> {
        let mut tries = 0;
        loop {
            let records = say(self.journal.state());
            let done = self.journal.append(&self.who, now, &records, Vec::new(), is_durable);
            tries += 1;
            match done {
                Err(error) if error.is_moved() && tries < TRIES => drop(self.journal.catch_up()?),
                done => return done,
            }
        }
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
