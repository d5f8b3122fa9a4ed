//! From documents to a plan, as most commands begin.

use std::collections::BTreeSet;

use intent::Intent;
use model::{DeviceId, JobName, Name, NodeId, Port};
use plan::{Lease, Ledger, Next, Record};

use crate::documents::Documents;
use crate::ending::Stop;
use crate::state::State;

/// What was asked for, what was before, and what comes next.
pub(crate) struct Draft {
    pub(crate) intent: Intent,
    pub(crate) ledger: Ledger,
    pub(crate) next: Next,
}

impl Draft {
    /// Reads the documents and plans on top of what the log says.
    pub(crate) fn new(documents: &Documents, state: &State) -> Result<Self, Stop> {
        Self::over(documents.load()?, state.ledger()?)
    }

    /// Plans on top of this ledger.
    pub(crate) fn over(intent: Intent, ledger: Ledger) -> Result<Self, Stop> {
        let next = plan::next(&intent, &ledger).map_err(Stop::plan)?;
        Ok(Self { intent, ledger, next })
    }

    /// The device with this name.
    pub(crate) fn device(&self, name: &str) -> Result<DeviceId, Stop> {
        let fleet = &self.intent.fleet;
        let mut devices = fleet.devices();
        devices.find(|&device| fleet.device_name(device).as_str() == name).ok_or_else(|| {
            Stop::argument(
                "device-unknown",
                format!("no device that is configured is called `{name}`"),
                "`bulkhead fleet show FILES --devices` lists them",
            )
        })
    }

    /// Where the endpoint `node/interface` is judged, if there is one of that name.
    pub(crate) fn endpoint(&self, name: &str) -> Option<(DeviceId, Port)> {
        let fleet = &self.intent.fleet;
        let (node, nic) = name.rsplit_once('/')?;
        let nic: u16 = nic.parse().ok()?;
        let mut nodes = (0..).map(NodeId).zip(&fleet.nodes);
        let (id, node) = nodes.find(|(_, known)| known.name.as_str() == node)?;
        let known = usize::from(nic) < node.uplinks.len();
        known.then(|| fleet.enforcement_point(id, nic))
    }

    /// The name of the endpoint that is judged there, if there is one.
    pub(crate) fn endpoint_at(&self, spot: (DeviceId, Port)) -> Option<String> {
        let fleet = &self.intent.fleet;
        let nodes = (0..).map(NodeId).zip(&fleet.nodes);
        let mut all = nodes.flat_map(|(id, node)| {
            let nics = 0..node.uplinks.len() as u16;
            nics.map(move |nic| (id, &node.name, nic))
        });
        let (_, node, nic) = all.find(|&(id, _, nic)| fleet.enforcement_point(id, nic) == spot)?;
        Some(format!("{node}/{nic}"))
    }

    /// Whether nothing is asked for that the last plan did not give already.
    pub(crate) fn repeats(&self) -> bool {
        let mut records = self.next.records.iter();
        records.all(|record| matches!(record, Record::Planned { .. }))
    }

    /// The devices whose jobs or consents change.
    pub(crate) fn touched(&self) -> BTreeSet<Name> {
        let mut touched = BTreeSet::new();
        for record in &self.next.records {
            match record {
                Record::JobLeased { lease, .. } => {
                    touched.extend(devices_with(lease));
                }
                Record::JobFreed { job } | Record::JobClassed { job, .. } => {
                    touched.extend(self.devices_of(job));
                }
                Record::ConsentOpened { client, provider, .. }
                | Record::ConsentEnded { client, provider, .. } => {
                    touched.extend(self.devices_of(client));
                    touched.extend(self.devices_of(provider));
                }
                Record::Planned { .. }
                | Record::TenantLeased { .. }
                | Record::TenantFreed { .. }
                | Record::TenantRestored { .. }
                | Record::JobRestored { .. }
                | Record::Scrubbed { .. }
                | Record::Seen { .. } => {}
            }
        }
        touched
    }

    /// Where a job is and where it was.
    fn devices_of(&self, job: &JobName) -> impl Iterator<Item = Name> {
        let fleet = &self.next.plan.fleet;
        let was = self.ledger.jobs().get(job);
        let was = was.into_iter().flat_map(devices_with);
        let is = self.next.plan.jobs.get(job);
        let is = is.into_iter().flat_map(|net| &net.groups);
        was.chain(is.map(|group| fleet.device_name(group.device).clone()))
    }
}

/// The devices that hold something of a lease, in whatever layer.
fn devices_with(lease: &Lease) -> impl Iterator<Item = Name> {
    let network = lease.vlans.iter().map(|at| &at.device);
    network.chain(&lease.layers).cloned()
}
