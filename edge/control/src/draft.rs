//! What a request would come to, before anything of it is written down.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use intent::{Intent, Key, SourcePlace, Written};
use model::{Artifact, DeviceId, JobName, Name, NodeId, Owners, Port, Timestamp};
use next::{Action, Record, State, Target, due};
use plan::{Lease, Ledger, Next};
use store::{Revision, Store};
use verify::{Cleared, Finding};

use crate::journal::{Journal, JournalError};
use crate::request::Request;

/// What was asked for, what was before, and what comes next.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Everything that is asked for with this request.
    pub intent: Intent,
    /// The plan for it.
    pub next: Next,
    /// What the log came to before.
    pub(crate) state: Arc<State>,
    /// The last record that this was made from.
    pub(crate) at: Revision,
    /// The moment at which it was made.
    pub(crate) now: Timestamp,
    /// Documents that differ from those that stand.
    pub(crate) put: Vec<Written>,
    pub(crate) delete: Vec<Key>,
}

/// Why there is nothing to plan.
#[derive(Debug)]
pub enum NoDraft {
    /// The documents are not accepted.
    Documents(Vec<intent::Refusal>),
    /// There is no such plan.
    Plan(Vec<RefusedPlan>),
    /// These were to be taken away and are not there.
    NotThere(Vec<Key>),
    /// Nobody ever asked for anything.
    Nothing,
    /// It comes to something else than when somebody looked at it: the log moved on.
    Stale,
    /// The log cannot be used.
    Journal(JournalError),
}

/// A reason why there is no such plan.
#[derive(Debug)]
pub struct RefusedPlan {
    /// Where the document stands that asks for it, if it is one.
    pub place: Option<SourcePlace>,
    /// The reason.
    pub refusal: plan::PlanRefusal,
}

impl fmt::Display for RefusedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        self.refusal.fmt(f)
    }
}

/// A draft whose texts were judged and found without fault.
#[derive(Debug)]
pub struct Proof {
    /// What may be sent.
    pub cleared: Cleared,
    /// The devices whose text differs from before, and those of which nobody knows what they hold
    /// under the number of before.
    pub changed: Vec<Target>,
    /// The devices that are configured no longer.
    pub gone: Vec<Name>,
}

/// Texts that were judged and not found without fault.
#[derive(Debug)]
pub struct Unproved {
    /// Who owns what.
    pub owners: Owners,
    /// What was judged.
    pub artifacts: Vec<Artifact>,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl From<JournalError> for NoDraft {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl<S: Store> Journal<S> {
    /// What a request would come to at this moment. Nothing is written.
    ///
    /// # Errors
    /// Every reason why it cannot be.
    pub fn draft(&self, request: &Request, now: Timestamp) -> Result<Draft, NoDraft> {
        self.draft_over(self.state_at(now), request, now)
    }

    /// The plan in force at this moment: a function of the log, and of nothing else.
    ///
    /// # Errors
    /// If nobody ever asked for anything, or the log cannot be used.
    pub fn in_force(&self, now: Timestamp) -> Result<Draft, NoDraft> {
        self.draft(&Request::default(), now)
    }

    /// Everything that is asked for with a request, checked and not planned.
    ///
    /// # Errors
    /// If the documents are not accepted.
    pub fn asked(&self, request: &Request, now: Timestamp) -> Result<Intent, NoDraft> {
        self.merged(&self.state_at(now), request).map(|merged| merged.intent)
    }

    /// What the log comes to at this moment: a plan on trial whose time is over goes back, whether
    /// somebody wrote that down yet or not.
    #[must_use]
    pub fn state_at(&self, now: Timestamp) -> Arc<State> {
        let is_over = due(self.state(), now).contains(&Action::GoBack);
        match is_over.then(|| self.state().gone_back()) {
            Some(Ok(Some((_, before)))) => Arc::new(before),
            _ => Arc::clone(self.state()),
        }
    }

    pub(crate) fn draft_over(
        &self,
        state: Arc<State>,
        request: &Request,
        now: Timestamp,
    ) -> Result<Draft, NoDraft> {
        let Merged { intent, put, delete, stay } = self.merged(&state, request)?;
        let next = plan::next(&intent, state.ledger()).map_err(|refusals| {
            let placed = |refusal: plan::PlanRefusal| {
                let mut documents = stay.iter().chain(&request.put).rev();
                let key = refusal.key();
                let document =
                    key.and_then(|key| documents.find(|one| one.key.as_ref() == Some(&key)));
                RefusedPlan { place: document.map(Written::place), refusal }
            };
            NoDraft::Plan(refusals.into_iter().map(placed).collect())
        })?;
        Ok(Draft { intent, next, at: self.at(), state, now, put, delete })
    }

    /// Documents merge by kind, tenant and name. What a request does not name stays.
    fn merged(&self, state: &State, request: &Request) -> Result<Merged, NoDraft> {
        let standing = state.documents();
        let missing = request.delete.iter().filter(|key| !standing.contains_key(key));
        let missing: Vec<Key> = missing.cloned().collect();
        if !missing.is_empty() {
            return Err(NoDraft::NotThere(missing));
        }
        let named = request.keys();
        let deleted: BTreeSet<&Key> = request.delete.iter().collect();
        let goes = |key: &Key| deleted.contains(key) || (request.prune && !named.contains(key));
        let mut stay: Vec<Written> = Vec::new();
        let mut before: BTreeMap<&Key, Written> = BTreeMap::new();
        for (key, put) in standing.iter().filter(|(key, _)| !goes(key)) {
            let written = self.written(put)?;
            if named.contains(key) {
                before.insert(key, written);
            } else {
                stay.push(written);
            }
        }
        stay.sort_by(|one, other| {
            (&one.file, one.lines_before).cmp(&(&other.file, other.lines_before))
        });
        let all: Vec<&Written> = request.put.iter().chain(&stay).collect();
        if all.is_empty() && request.delete.is_empty() {
            return Err(NoDraft::Nothing);
        }
        let intent = intent::load_written(&all).map_err(NoDraft::Documents)?;
        let is_new = |document: &&Written| {
            document.key.as_ref().is_none_or(|key| before.get(key) != Some(*document))
        };
        let put = request.put.iter().filter(is_new).cloned().collect();
        let delete = standing.keys().filter(|key| goes(key)).cloned().collect();
        Ok(Merged { intent, put, delete, stay })
    }
}

/// Documents put together.
struct Merged {
    intent: Intent,
    put: Vec<Written>,
    delete: Vec<Key>,
    /// Documents that the request does not name.
    stay: Vec<Written>,
}

impl Draft {
    /// Who held which numbers before.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.state.ledger()
    }

    /// What the log came to before.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Who owns what by it, and who vouches for what at its moment.
    ///
    /// What was left where a job is, and scrubbed since, is told from the log and not from the plan.
    #[must_use]
    pub fn owners(&self) -> Owners {
        let owners = self.next.plan.owners().vouched(&self.intent.waivers, self.now);
        let pasts = match self.repeats() {
            true => self.ledger().pasts_in(&self.intent.fleet),
            false => self.ledger_after().pasts_in(&self.intent.fleet),
        };
        Owners { pasts: Some(pasts), ..owners }
    }

    /// Who holds which numbers when this is written down.
    fn ledger_after(&self) -> Ledger {
        let mut ledger = self.ledger().clone();
        // What does not follow is refused when it is written down; until then it was not.
        let _ = self.next.records.iter().try_for_each(|record| ledger.apply(record));
        ledger
    }

    /// The documents that it takes away.
    #[must_use]
    pub fn deleted(&self) -> &[Key] {
        &self.delete
    }

    /// Judges the very bytes that would be sent.
    ///
    /// # Errors
    /// If something is not as it must be.
    pub fn prove(&self) -> Result<Proof, Box<Unproved>> {
        self.prove_texts(render::all(&self.next.plan))
    }

    /// The same of texts that a story's broken renderer wrote.
    ///
    /// # Errors
    /// As [`Draft::prove`].
    pub fn prove_texts(&self, artifacts: Vec<Artifact>) -> Result<Proof, Box<Unproved>> {
        let (fleet, owners) = (&self.intent.fleet, self.owners());
        let cleared = match verify::clear(fleet, &owners, artifacts) {
            Ok(cleared) => cleared,
            Err(refused) => {
                let (artifacts, findings) = (refused.artifacts, refused.findings);
                return Err(Box::new(Unproved { owners, artifacts, findings }));
            }
        };
        let desired = self.state.desired();
        let named = cleared.devices().map(|(device, digest)| (fleet.device_name(device), digest));
        let is_new = |device: &Name, digest| {
            desired.get(device).is_none_or(|is| is.1 != digest) || self.state.is_doubted(device)
        };
        let changed = named.filter(|(device, digest)| is_new(device, *digest));
        let changed = changed.map(|(device, digest)| Target { device: device.clone(), digest });
        let changed = changed.collect();
        let stays: BTreeSet<&Name> =
            cleared.devices().map(|(device, _)| fleet.device_name(device)).collect();
        let gone = desired.keys().filter(|device| !stays.contains(device)).cloned().collect();
        Ok(Proof { cleared, changed, gone })
    }

    /// Whether nothing is asked for that the last plan did not give already.
    #[must_use]
    pub fn repeats(&self) -> bool {
        let mut records = self.next.records.iter();
        records.all(|record| matches!(record, plan::Choice::Planned { .. }))
    }

    /// The device with this name.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<DeviceId> {
        let fleet = &self.intent.fleet;
        let mut devices = fleet.devices();
        devices.find(|&device| fleet.device_name(device).as_str() == name)
    }

    /// Where the endpoint `node/interface` is judged, if there is one of that name.
    #[must_use]
    pub fn endpoint(&self, name: &str) -> Option<(DeviceId, Port)> {
        let fleet = &self.intent.fleet;
        let (node, nic) = name.rsplit_once('/')?;
        let nic: u16 = nic.parse().ok()?;
        let mut nodes = (0..).map(NodeId).zip(&fleet.nodes);
        let (id, node) = nodes.find(|(_, known)| known.name.as_str() == node)?;
        let known = usize::from(nic) < node.uplinks.len();
        known.then(|| fleet.enforcement_point(id, nic))
    }

    /// The name of the endpoint that is judged there, if there is one.
    #[must_use]
    pub fn endpoint_at(&self, spot: (DeviceId, Port)) -> Option<String> {
        let fleet = &self.intent.fleet;
        let nodes = (0..).map(NodeId).zip(&fleet.nodes);
        let mut all = nodes.flat_map(|(id, node)| {
            let nics = 0..node.uplinks.len() as u16;
            nics.map(move |nic| (id, &node.name, nic))
        });
        let (_, node, nic) = all.find(|&(id, _, nic)| fleet.enforcement_point(id, nic) == spot)?;
        Some(format!("{node}/{nic}"))
    }

    /// The devices whose jobs or consents change.
    #[must_use]
    pub fn touched(&self) -> BTreeSet<Name> {
        use plan::Choice;
        let mut touched = BTreeSet::new();
        for record in &self.next.records {
            match record {
                Choice::JobLeased { lease, .. } => touched.extend(devices_with(lease)),
                Choice::JobFreed { job }
                | Choice::JobClassed { job, .. }
                | Choice::JobRestored { job, .. } => touched.extend(self.devices_of(job)),
                Choice::ConsentOpened { client, provider, .. }
                | Choice::ConsentEnded { client, provider, .. } => {
                    touched.extend(self.devices_of(client));
                    touched.extend(self.devices_of(provider));
                }
                Choice::Planned { .. }
                | Choice::TenantLeased { .. }
                | Choice::TenantFreed { .. }
                | Choice::TenantRestored { .. }
                | Choice::Scrubbed { .. }
                | Choice::Seen { .. } => {}
            }
        }
        touched
    }

    /// Where a job is and where it was.
    fn devices_of(&self, job: &JobName) -> impl Iterator<Item = Name> {
        let fleet = &self.next.plan.fleet;
        let was = self.ledger().jobs().get(job);
        let was = was.into_iter().flat_map(devices_with);
        let is = self.next.plan.jobs.get(job);
        let is = is.into_iter().flat_map(|net| &net.groups);
        was.chain(is.map(|group| fleet.device_name(group.device).clone()))
    }

    /// Everything that is written down before anything is sent; nothing if nothing changes.
    pub(crate) fn records(&self, proof: &Proof, put: Vec<next::Put>) -> Vec<Record> {
        let mut records = Vec::new();
        if !put.is_empty() || !self.delete.is_empty() {
            records.push(Record::Accepted { put, delete: self.delete.clone() });
        }
        if self.repeats() && proof.changed.is_empty() && proof.gone.is_empty() {
            return records;
        }
        records.extend(self.next.records.iter().cloned().map(Record::Choice));
        records.push(Record::Proved {
            generation: self.next.plan.generation,
            root: proof.cleared.root(),
            changed: proof.changed.clone(),
            gone: proof.gone.clone(),
        });
        records
    }
}

/// The devices that hold something of a lease, in whatever layer.
fn devices_with(lease: &Lease) -> impl Iterator<Item = Name> {
    let network = lease.vlans.iter().map(|at| &at.device);
    network.chain(&lease.layers).cloned()
}
