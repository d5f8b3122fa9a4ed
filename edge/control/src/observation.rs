//! What devices say that they hold, judged by the plan in force, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apply::Gate;
use model::{
    Artifact, DeviceId, Dialect, Fleet, Generation, JobName, Name, Owners, Part, PartText,
    Timestamp, Waiver,
};
use next::State;
use plan::Plan;
use verify::{Finding, Verifier};
use wire::Reason;

use crate::concern::{self, Concern};
use crate::draft::Draft;
use crate::passage::Passage;
use crate::spoofed::{Dropped, SpoofedSources};

/// What is known about the devices, and what was found in it.
pub struct Observation {
    /// The last that was planned when this plan was read.
    generation: Generation,
    plan: Plan,
    devices: BTreeMap<Name, DeviceId>,
    verifier: Verifier,
    /// Lines that somebody vouches for, until a day.
    waivers: Vec<Waiver>,
    held: BTreeMap<Name, Holding>,
    artifacts: BTreeMap<(DeviceId, Dialect), Artifact>,
    findings: BTreeSet<Finding>,
    gates: BTreeMap<Name, Gate>,
    /// Those who were not heard yet.
    awaited: BTreeSet<Name>,
    /// Those who do not answer, and why.
    gone: BTreeMap<Name, String>,
    spoofed: SpoofedSources,
}

/// What one device said that it holds: the generation that it was sent, if any, and its texts.
type Holding = (Option<Generation>, Vec<(Dialect, String)>);

/// What differs from the judgement before.
#[derive(Debug)]
pub struct Judgement {
    /// What was not found before.
    pub new: Vec<Finding>,
    /// How many findings are over.
    pub resolved: usize,
    /// How many findings stand.
    pub left: usize,
}

/// Frames from a source that does not belong at their port: another host is there, or it lies.
#[derive(Debug, Eq, PartialEq)]
pub struct SpoofedSource {
    /// Why they were refused.
    pub reason: Reason,
    /// How many.
    pub frames: u64,
    /// Whose port it is.
    pub jobs: Vec<JobName>,
}

impl Observation {
    /// Of what is in force by this draft, on devices that are heard one by one.
    #[must_use]
    pub fn new(draft: Draft, awaited: BTreeSet<Name>) -> Self {
        let (generation, owners) = (draft.state.ledger().generation(), draft.owners());
        let plan = draft.next.plan;
        Self {
            generation,
            devices: named(&plan.fleet),
            verifier: Verifier::new(Arc::clone(&plan.fleet), &owners),
            waivers: draft.intent.waivers,
            plan,
            held: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            findings: BTreeSet::new(),
            gates: BTreeMap::new(),
            awaited,
            gone: BTreeMap::new(),
            spoofed: SpoofedSources::default(),
        }
    }

    /// Whether the log says another plan than the one that is judged by.
    #[must_use]
    pub fn is_behind(&self, state: &State) -> bool {
        state.ledger().generation() > self.generation
    }

    /// Judges by what is in force by this draft from now on.
    pub fn follow(&mut self, draft: Draft) {
        let new = Self::new(draft, BTreeSet::new());
        let Self { generation, plan, devices, verifier, waivers, .. } = new;
        (self.generation, self.plan, self.waivers) = (generation, plan, waivers);
        (self.devices, self.verifier) = (devices, verifier);
        self.artifacts.clear();
        for (name, (generation, texts)) in std::mem::take(&mut self.held) {
            self.take(&name, generation, texts);
        }
    }

    /// Takes in what a device says that it holds.
    pub fn take(
        &mut self,
        name: &Name,
        generation: Option<Generation>,
        texts: Vec<(Dialect, String)>,
    ) {
        if let Some(&device) = self.devices.get(name) {
            for (dialect, text) in texts.clone() {
                let reading = read::part(dialect, &Part::Whole, &text);
                self.verifier.take(device, dialect, &Part::Whole, Some(reading));
                let generation = generation.unwrap_or_default();
                let parts = vec![PartText { part: Part::Whole, text }];
                let artifact = Artifact { device, dialect, generation, parts };
                self.artifacts.insert((device, dialect), artifact);
            }
        }
        self.held.insert(name.clone(), (generation, texts));
    }

    /// What is new and what is over since the last judgement.
    pub fn judge(&mut self, now: Timestamp) -> Judgement {
        self.verifier.vouch(&Owners::default().vouched(&self.waivers, now));
        let found: BTreeSet<Finding> = self.verifier.judge().into_iter().collect();
        let new = found.difference(&self.findings).cloned().collect();
        let resolved = self.findings.difference(&found).count();
        let left = found.len();
        self.findings = found;
        Judgement { new, resolved, left }
    }

    /// The device said something.
    pub fn hear(&mut self, name: &Name) {
        self.awaited.remove(name);
        self.gone.remove(name);
    }

    /// The device does not answer.
    pub fn lose(&mut self, name: &Name, why: String) {
        self.awaited.remove(name);
        self.gone.insert(name.clone(), why);
    }

    /// The gate of a device opened or closed.
    pub fn turn(&mut self, name: &Name, gate: Gate) {
        self.gates.insert(name.clone(), gate);
    }

    /// Who began to send from a source that is not theirs, by what a device refused so far.
    pub fn spoofed(&mut self, name: &Name, dropped: &[Dropped]) -> Vec<SpoofedSource> {
        let named = self.spoofed.take(name, dropped).into_iter();
        let named = named.map(|((reason, tag), frames)| {
            let jobs = self.plan.jobs.iter().filter(|(_, job)| job.tag.get() == tag);
            let jobs = jobs.map(|(name, _)| name.clone()).collect();
            SpoofedSource { reason, frames, jobs }
        });
        named.collect()
    }

    /// Whom a line of a device concerns.
    #[must_use]
    pub fn concern(&self, name: &Name, line: &str) -> Concern {
        let device = self.devices.get(name);
        device.map(|device| concern::of_line(&self.plan, *device, line)).unwrap_or_default()
    }

    /// Whether packets of tenants pass, as far as devices said.
    #[must_use]
    pub fn passage(&self) -> Passage {
        let said = self.devices.keys().map(|name| {
            let gate = self.gates.get(name).copied().unwrap_or(Gate::Open);
            let said = self.gone.get(name).cloned().map_or(Ok((gate, None)), Err);
            (name.clone(), said)
        });
        Passage::of(&self.plan.fleet, &self.plan.owners(), said)
    }

    /// Whether every device was heard, or does not answer.
    #[must_use]
    pub fn heard_all(&self) -> bool {
        self.awaited.is_empty()
    }

    /// How many findings stand.
    #[must_use]
    pub fn findings(&self) -> usize {
        self.findings.len()
    }

    /// How many devices were not heard yet, or do not answer.
    #[must_use]
    pub fn silent(&self) -> usize {
        self.awaited.len() + self.gone.len()
    }

    /// The last that was planned when this plan was read.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// Who is who.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.plan.fleet
    }

    /// What is held, to quote from.
    #[must_use]
    pub fn artifacts(&self) -> Vec<Artifact> {
        self.artifacts.values().cloned().collect()
    }
}

fn named(fleet: &Fleet) -> BTreeMap<Name, DeviceId> {
    fleet.devices().map(|device| (fleet.device_name(device).clone(), device)).collect()
}
