//! What people should know about a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipnet::Ipv4Net;
use model::{
    DeviceAt, DeviceId, Enforcement, Fleet, Generation, Health, JobName, Memory, Name, Node,
    Permit, Service, Switch, SwitchDialect,
};
use serde::Serialize;

use crate::ledger::Ledger;
use crate::refusal::word_for;
use crate::rest::{Rest, Resting};
use crate::shape::Plan;

/// What people should know about a plan: where each endpoint is judged, what is not covered
/// there, and what is waited for.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct PlanReport {
    /// Where endpoints are judged, one entry for each kind of place.
    pub coverage: Vec<Coverage>,
    /// Permits that wait for the other side and open nothing.
    pub pending: Vec<Pending>,
    /// Jobs that go on where no new work is put.
    pub unwell: Vec<UnwellJob>,
    /// What was freed and what it waits for.
    pub resting: Vec<RestingLine>,
}

/// A job on a node that takes no work.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct UnwellJob {
    /// The job.
    pub job: String,
    /// The node.
    pub node: Name,
    /// How that node is.
    pub health: &'static str,
}

/// The endpoints that one kind of place judges.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The kind of place.
    pub point: Point,
    /// How many endpoints it judges.
    pub endpoints: u32,
    /// Their nodes, each with the devices that judge its endpoints.
    pub nodes: BTreeMap<Name, BTreeSet<Name>>,
    /// What no device of this kind judges.
    pub not_covered: &'static [&'static str],
}

/// A kind of place where packets are judged.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// A leaf switch with security groups.
    LeafNxos,
    /// A Linux leaf with the packet program.
    LeafLinux,
    /// The kernel of the node itself, with the packet program.
    Host,
    /// The DPU of the node, with the packet program.
    Dpu,
}

/// A permit without its other side.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// What the document is called.
    pub permit: Name,
    /// The job whose owner consents.
    pub job: String,
    /// The job whose owner did not, so far.
    pub waits_for: String,
    /// The service.
    pub service: Service,
}

/// Something that rests.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestingLine {
    /// Whose it was: a tenant or a job.
    pub of: String,
    /// A tenant's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    /// A job's tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<u16>,
    /// A job's addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet: Option<Ipv4Net>,
    /// How many of a job's GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// The generation that freed it.
    pub since: Generation,
    /// The devices that must be seen, each at this generation or a later one.
    pub waits_for: BTreeMap<Name, Generation>,
    /// The nodes whose memories must be scrubbed after that, with evidence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unscrubbed: BTreeMap<Name, BTreeSet<Memory>>,
}

impl PlanReport {
    pub(crate) fn new(plan: &Plan, ledger: &Ledger, pending: &[Permit]) -> Self {
        Self {
            coverage: coverage(plan),
            pending: pending.iter().map(Pending::of).collect(),
            unwell: unwell(plan),
            resting: ledger.rests().map(RestingLine::of).collect(),
        }
    }
}

impl Point {
    /// Where a device judges packets.
    #[must_use]
    pub fn of(fleet: &Fleet, device: DeviceId) -> Self {
        match fleet.at(device) {
            DeviceAt::Switch(Switch { dialect: SwitchDialect::Nxos, .. }) => Self::LeafNxos,
            DeviceAt::Switch(_) => Self::LeafLinux,
            DeviceAt::Node(Node { enforcement: Enforcement::Dpu, .. }) => Self::Dpu,
            DeviceAt::Node(_) | DeviceAt::Manager(_) => Self::Host,
        }
    }

    /// What is not judged here. Each is a whole sentence.
    #[must_use]
    pub const fn not_covered(self) -> &'static [&'static str] {
        match self {
            Self::LeafNxos => &[
                "Flooded frames are not judged by group; they stay inside the job's own segment.",
                "Two virtual functions of one interface can talk in its embedded switch unseen; \
                 an interface belongs to one job.",
                "Bandwidth guarantees and ceilings are not enforced.",
                "RoCE is not kept lossless: no class, PFC or ECN is configured.",
                "By a permit for a UDP service, the provider may also begin, from that port.",
                "Rendered, not proved on the device: groups and source guard are in force only \
                 after a reload with the platform's lines, and while DHCP snooping is active.",
                "Rendered, not proved on the device: VNIs of tenants are up, and neighbours are \
                 capable of group policy.",
            ],
            Self::LeafLinux => &[
                "What never leaves the host is not seen.",
                "Two virtual functions of one interface can talk in its embedded switch unseen; \
                 an interface belongs to one job.",
            ],
            Self::Host => &[
                "RDMA through SR-IOV bypasses the kernel, so RoCE is not judged here.",
                "Whoever becomes root on the host can take the program away.",
            ],
            Self::Dpu => &[
                "What the host moves between its own interfaces without the DPU is not seen.",
                "The leaf trusts the DPU: it carries whatever the DPU sends.",
            ],
        }
    }
}

impl Pending {
    fn of(permit: &Permit) -> Self {
        let job = JobName { tenant: permit.tenant.clone(), name: permit.job.clone() };
        Self {
            permit: permit.name.clone(),
            job: job.to_string(),
            waits_for: permit.peer.to_string(),
            service: permit.service,
        }
    }
}

impl RestingLine {
    fn of(rest: &Rest) -> Self {
        let (of, number, lease) = match &rest.what {
            Resting::Tenant { tenant, number } => (tenant.to_string(), Some(*number), None),
            Resting::Job { job, lease } => (job.to_string(), None, Some(lease)),
        };
        Self {
            of,
            number,
            tag: lease.map(|lease| lease.tag.get()),
            subnet: lease.map(|lease| lease.subnet),
            gpus: lease.map(|lease| lease.gpus),
            since: rest.since,
            waits_for: rest.waits.clone(),
            unscrubbed: rest.unscrubbed.clone(),
        }
    }
}

fn coverage(plan: &Plan) -> Vec<Coverage> {
    let fleet = &plan.fleet;
    let mut by_point: BTreeMap<Point, Coverage> = BTreeMap::new();
    for group in plan.jobs.values().flat_map(|job| &job.groups) {
        let point = Point::of(fleet, group.device);
        let coverage = by_point.entry(point).or_insert_with(|| Coverage {
            point,
            endpoints: 0,
            nodes: BTreeMap::new(),
            not_covered: point.not_covered(),
        });
        coverage.endpoints += group.seats.len() as u32;
        for on_node in group.seats.chunk_by(|a, b| a.nic.node == b.nic.node) {
            let node = &fleet.nodes[on_node[0].nic.node.index()].name;
            let devices = coverage.nodes.entry(node.clone()).or_default();
            devices.insert(fleet.device_name(group.device).clone());
        }
    }
    by_point.into_values().collect()
}

fn unwell(plan: &Plan) -> Vec<UnwellJob> {
    let mut unwell = Vec::new();
    for (job, net) in &plan.jobs {
        let seats = net.groups.iter().flat_map(|group| &group.seats);
        let nodes: BTreeSet<_> = seats.map(|seat| seat.nic.node).collect();
        let nodes = nodes.into_iter().map(|node| &plan.fleet.nodes[node.index()]);
        unwell.extend(nodes.filter(|node| node.health != Health::Good).map(|node| UnwellJob {
            job: job.to_string(),
            node: node.name.clone(),
            health: word_for(node.health),
        }));
    }
    unwell
}

/// `1 node`, `2 nodes`
pub(crate) fn count(number: u32, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

impl fmt::Display for PlanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for coverage in &self.coverage {
            let endpoints = count(coverage.endpoints, "endpoint");
            let nodes = count(coverage.nodes.len() as u32, "node");
            writeln!(f, "{endpoints} of {nodes} judged {}", coverage.point)?;
            for sentence in coverage.not_covered {
                writeln!(f, "  not covered: {sentence}")?;
            }
        }
        for permit in &self.pending {
            writeln!(
                f,
                "permit {} of {} waits for {} ({}) and opens nothing",
                permit.permit, permit.job, permit.waits_for, permit.service
            )?;
        }
        for UnwellJob { job, node, health } in &self.unwell {
            writeln!(f, "job {job} is on node {node}, whose health is {health}")?;
        }
        self.resting.iter().try_for_each(|rest| writeln!(f, "{rest}"))
    }
}

impl fmt::Display for RestingLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "resting number {number} of tenant {}", self.of)?;
        }
        if let (Some(tag), Some(subnet), Some(gpus)) = (self.tag, self.subnet, self.gpus) {
            let gpus = count(gpus, "GPU");
            write!(f, "resting tag {tag}, {subnet} and {gpus} of job {}", self.of)?;
        }
        let waits = self.waits_for.iter();
        let waits: Vec<String> = waits
            .map(|(device, generation)| format!("{device} at generation {generation}"))
            .collect();
        if !waits.is_empty() || self.unscrubbed.is_empty() {
            write!(f, " until seen: {}", waits.join(", "))?;
        }
        if self.unscrubbed.is_empty() {
            return Ok(());
        }
        let nodes = self.unscrubbed.iter().map(|(node, memories)| {
            let memories: Vec<&str> = memories.iter().map(|memory| memory.as_str()).collect();
            format!("{} of {node}", memories.join(" "))
        });
        let nodes: Vec<String> = nodes.collect();
        let joined = if waits.is_empty() { " until" } else { "; then" };
        write!(f, "{joined} scrubbed with evidence: {}", nodes.join(", "))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeafNxos => "on the leaf (security groups)",
            Self::LeafLinux => "on the leaf (packet program)",
            Self::Host => "in the host's kernel (packet program)",
            Self::Dpu => "on the host's DPU (packet program)",
        })
    }
}
