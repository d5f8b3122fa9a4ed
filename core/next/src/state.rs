//! The sum of all records.

use std::collections::{BTreeMap, BTreeSet};

use intent::Key;
use model::{Digest, Epoch, Generation, Name, Timestamp};
use plan::{Contradiction, Ledger};
use smol_str::SmolStr;

use crate::record::{Put, Record, Target};

/// What was asked for, who holds which numbers, and what devices shall hold and do hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct State {
    epoch: Epoch,
    documents: BTreeMap<Key, Put>,
    ledger: Ledger,
    root: Option<Digest>,
    /// By device: the last generation that changed it, and what its texts come down to since.
    desired: BTreeMap<Name, (Generation, Digest)>,
    /// The generation that each device said it holds, in this life of the log.
    acknowledged: BTreeMap<Name, Generation>,
    /// The generation whose ports each device opened, likewise.
    started: BTreeMap<Name, Generation>,
    trial: Option<Trial>,
    /// Devices that may have gone back by themselves from what they were sent last: what they hold
    /// under its number, nobody knows before they are sent something under another.
    doubted: BTreeSet<Name>,
    findings: BTreeSet<SmolStr>,
}

/// The first life of a log.
const FIRST: Epoch = Epoch(1);

/// A plan that goes back by itself unless somebody confirms it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trial {
    /// It goes back at this moment.
    pub until: Timestamp,
    /// What was asked for before, and who held which numbers.
    documents: BTreeMap<Key, Put>,
    ledger: Ledger,
}

/// A record that cannot follow those before it: the log is not ours, or damaged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Inconsistent {
    #[error(transparent)]
    Choice(#[from] Contradiction),
    #[error("{0} was deleted and was not there")]
    NotThere(Key),
    #[error("generation {generation} was proved, but the last that was planned is {last}")]
    NotPlanned { generation: Generation, last: Generation },
    #[error("{device} acknowledged generation {generation}, which was not sent there")]
    NotSent { device: Name, generation: Generation },
    #[error("no plan is on trial")]
    NoTrial,
    #[error("epoch {epoch} began after epoch {last}")]
    EpochNotAfter { epoch: Epoch, last: Epoch },
}

impl State {
    /// The sum of these records.
    ///
    /// # Errors
    /// If one cannot follow those before it.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, Inconsistent> {
        let mut state = Self::default();
        for record in records {
            state.fold(record)?;
        }
        Ok(state)
    }

    /// Adds one record.
    ///
    /// # Errors
    /// If it cannot follow those before it.
    pub fn fold(&mut self, record: &Record) -> Result<(), Inconsistent> {
        match record {
            Record::Began { epoch, .. } => self.begin(*epoch)?,
            Record::Tried { until } => self.try_out(*until),
            Record::Accepted { put, delete } => self.accept(put, delete)?,
            Record::Choice(choice) => self.ledger.apply(choice)?,
            Record::Proved { generation, root, changed, gone } => {
                self.prove(*generation, *root, changed, gone)?;
            }
            Record::Acknowledged { devices } => {
                for (device, generation) in devices {
                    self.acknowledge(device, *generation)?;
                }
            }
            Record::Started { devices } => {
                for (device, generation) in devices {
                    later(&mut self.started, device, *generation);
                }
            }
            Record::Confirmed { without, .. } => self.confirm(without)?,
            Record::WentBack { .. } => self.go_back()?,
            Record::Found { id, .. } => drop(self.findings.insert(id.clone())),
            Record::Resolved { id } => drop(self.findings.remove(id)),
            Record::Refused { .. } | Record::Drifted { .. } => {}
        }
        Ok(())
    }

    /// Which life of the log this is.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// What is asked for.
    #[must_use]
    pub const fn documents(&self) -> &BTreeMap<Key, Put> {
        &self.documents
    }

    /// Who holds which numbers.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What all texts of all devices come down to; none before the first plan.
    #[must_use]
    pub const fn root(&self) -> Option<Digest> {
        self.root
    }

    /// What each device shall hold: the last generation that changed it, and its digest.
    #[must_use]
    pub const fn desired(&self) -> &BTreeMap<Name, (Generation, Digest)> {
        &self.desired
    }

    /// Whether a device said that it holds what it shall.
    #[must_use]
    pub fn is_acknowledged(&self, device: &Name) -> bool {
        let desired = self.desired.get(device).map(|(generation, _)| generation);
        desired == self.acknowledged.get(device)
    }

    /// Whether a device said that it holds what it shall, and opened the ports of it.
    #[must_use]
    pub fn is_in_force(&self, device: &Name) -> bool {
        self.is_acknowledged(device) && self.acknowledged.get(device) == self.started.get(device)
    }

    /// The plan that goes back unless it is confirmed.
    #[must_use]
    pub const fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    /// Whether a device was sent something on trial that it may have gone back from by itself. It
    /// must be sent what it shall hold under a later number, be it the same text.
    #[must_use]
    pub fn is_doubted(&self, device: &Name) -> bool {
        self.doubted.contains(device)
    }

    /// Whether nobody heard of a device in this life of the log, and the log had another before: it
    /// may hold what this one does not know.
    #[must_use]
    pub fn is_unheard(&self, device: &Name) -> bool {
        self.epoch > FIRST && !self.acknowledged.contains_key(device)
    }

    /// Whether a device was sent something that is on trial.
    #[must_use]
    pub fn is_on_trial(&self, device: &Name) -> bool {
        let desired = self.desired.get(device);
        let tried = |trial: &Trial| desired.is_some_and(|(is, _)| *is > trial.ledger.generation());
        self.trial.as_ref().is_some_and(tried)
    }

    /// What this comes to when nobody confirms the plan on trial: what was asked for before it, and
    /// the numbers of before, with the records that say so. None if nothing is on trial.
    ///
    /// # Errors
    /// If what was before does not follow.
    pub fn gone_back(&self) -> Result<Option<(Vec<Record>, Self)>, Inconsistent> {
        let Some(trial) = &self.trial else { return Ok(None) };
        let mut records = vec![Record::WentBack { generation: self.ledger.generation() }];
        let choices = plan::go_back(&trial.ledger, &self.ledger);
        records.extend(choices.into_iter().map(Record::Choice));
        let mut before = self.clone();
        records.iter().try_for_each(|record| before.fold(record))?;
        Ok(Some((records, before)))
    }

    /// The findings that stand, by what tells them apart.
    #[must_use]
    pub const fn findings(&self) -> &BTreeSet<SmolStr> {
        &self.findings
    }

    /// What was freed and waits for a device that no longer says anything of it: its text did not
    /// change, and it holds that text. So it was seen without.
    #[must_use]
    pub fn seen_unchanged(&self) -> Vec<plan::Choice> {
        if self.trial.is_some() {
            return Vec::new();
        }
        let awaited = self.ledger.awaited().into_iter();
        let seen = awaited.filter(|(device, since)| {
            let desired = self.desired.get(*device);
            desired.is_some_and(|(held, _)| held < since) && self.is_acknowledged(device)
        });
        seen.map(|(device, generation)| plan::Choice::Seen { device: device.clone(), generation })
            .collect()
    }

    /// Nobody knows what devices were told in the life before.
    fn begin(&mut self, epoch: Epoch) -> Result<(), Inconsistent> {
        if epoch <= self.epoch {
            return Err(Inconsistent::EpochNotAfter { epoch, last: self.epoch });
        }
        self.epoch = epoch;
        self.acknowledged.clear();
        self.started.clear();
        Ok(())
    }

    /// One that follows another goes back to where that would have gone.
    fn try_out(&mut self, until: Timestamp) {
        match &mut self.trial {
            Some(trial) => trial.until = until,
            None => {
                let (documents, ledger) = (self.documents.clone(), self.ledger.clone());
                self.trial = Some(Trial { until, documents, ledger });
            }
        }
    }

    fn accept(&mut self, put: &[Put], delete: &[Key]) -> Result<(), Inconsistent> {
        for key in delete {
            if self.documents.remove(key).is_none() {
                return Err(Inconsistent::NotThere(key.clone()));
            }
        }
        self.documents.extend(put.iter().map(|put| (put.key.clone(), put.clone())));
        Ok(())
    }

    fn prove(
        &mut self,
        generation: Generation,
        root: Digest,
        changed: &[Target],
        gone: &[Name],
    ) -> Result<(), Inconsistent> {
        let last = self.ledger.generation();
        if generation != last {
            return Err(Inconsistent::NotPlanned { generation, last });
        }
        self.root = Some(root);
        for device in gone {
            self.desired.remove(device);
            self.forget(device);
            self.doubted.remove(device);
        }
        for Target { device, digest } in changed {
            self.desired.insert(device.clone(), (generation, *digest));
            self.doubted.remove(device);
        }
        Ok(())
    }

    /// Nobody knows any more what a device holds.
    fn forget(&mut self, device: &Name) {
        self.acknowledged.remove(device);
        self.started.remove(device);
    }

    /// They may have gone back by themselves, or will.
    fn doubt(&mut self, devices: impl IntoIterator<Item = Name>) {
        for device in devices {
            self.forget(&device);
            self.doubted.insert(device);
        }
    }

    /// Whoever holds a plan on trial may go back: it is seen without what it held before only when
    /// the trial is over.
    fn acknowledge(&mut self, device: &Name, generation: Generation) -> Result<(), Inconsistent> {
        let desired = self.desired.get(device).map(|(generation, _)| *generation);
        if desired.is_none_or(|desired| generation > desired) {
            return Err(Inconsistent::NotSent { device: device.clone(), generation });
        }
        later(&mut self.acknowledged, device, generation);
        if self.trial.is_none() {
            self.see(device.clone(), generation)?;
        }
        Ok(())
    }

    fn see(&mut self, device: Name, generation: Generation) -> Result<(), Inconsistent> {
        Ok(self.ledger.apply(&plan::Choice::Seen { device, generation })?)
    }

    fn confirm(&mut self, without: &[Name]) -> Result<(), Inconsistent> {
        let tried = without.iter().filter(|device| self.is_on_trial(device));
        let tried: Vec<Name> = tried.cloned().collect();
        self.trial.take().ok_or(Inconsistent::NoTrial)?;
        self.doubt(tried);
        self.see_acknowledged()
    }

    fn go_back(&mut self) -> Result<(), Inconsistent> {
        let tried = self.desired.keys().filter(|device| self.is_on_trial(device));
        let tried: Vec<Name> = tried.cloned().collect();
        let trial = self.trial.take().ok_or(Inconsistent::NoTrial)?;
        self.doubt(tried);
        self.documents = trial.documents;
        self.see_acknowledged()
    }

    /// What was acknowledged while something was on trial counts now that nothing is.
    fn see_acknowledged(&mut self) -> Result<(), Inconsistent> {
        for (device, generation) in self.acknowledged.clone() {
            if self.ledger.seen().get(&device).is_none_or(|seen| *seen < generation) {
                self.see(device, generation)?;
            }
        }
        Ok(())
    }
}

/// What a device said of an earlier generation may be written down late, and takes nothing back.
fn later(said: &mut BTreeMap<Name, Generation>, device: &Name, generation: Generation) {
    let last = said.entry(device.clone()).or_insert(generation);
    *last = generation.max(*last);
}
