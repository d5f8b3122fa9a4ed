//! What a plan changes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ipnet::Ipv4Net;
use model::{Consent, Name, Rate, Service, TrafficClass};
use serde::Serialize;

use crate::ledger::Ledger;
use crate::record::{Lease, SeatAt};
use crate::report::count;
use crate::shape::{JobNet, Plan};

/// What a plan changes.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Diff {
    /// Tenants that get or lose a VRF.
    pub tenants: Vec<Change<TenantNumber>>,
    /// Jobs that come, go or change.
    pub jobs: Vec<Change<JobLine>>,
    /// Consents that open or end.
    pub consents: Vec<Change<ConsentLine>>,
}

/// One thing before and after.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Change<T> {
    /// What happens to it.
    pub sign: Sign,
    /// What it is called.
    pub name: String,
    /// How it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<T>,
    /// How it will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<T>,
}

/// What happens to a thing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// It comes.
    Added,
    /// It changes and goes on.
    Changed,
    /// It ends and begins anew with other numbers or elsewhere.
    Replaced,
    /// It goes.
    Removed,
}

/// A tenant's number.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct TenantNumber {
    /// The number that VRF, VNI and targets are made of.
    pub number: u16,
}

/// A job's numbers and places.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct JobLine {
    /// Its group tag.
    pub tag: u16,
    /// Its addresses.
    pub subnet: Ipv4Net,
    /// How its packets are treated.
    pub class: TrafficClass,
    /// The bandwidth it never exceeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Rate>,
    /// Its interfaces in the order of their addresses.
    pub endpoints: Vec<SeatAt>,
    /// The VLAN on each device that is touched.
    pub devices: BTreeMap<Name, u16>,
}

/// What was consented to.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct ConsentLine {
    /// The service.
    pub service: Service,
}

/// What changes from what the ledger holds to what the plan says.
#[must_use]
pub fn diff(before: &Ledger, after: &Plan) -> Diff {
    let tenants_before = before.tenants().iter();
    let tenants_after = after.tenants.iter();
    let jobs_before = before.jobs().iter();
    let jobs_after = after.jobs.iter();
    let consents_after: BTreeSet<&Consent> = after.consents.values().flatten().collect();
    Diff {
        tenants: changes(
            tenants_before.map(|(name, &number)| (name, TenantNumber { number })),
            tenants_after.map(|(name, net)| (name, TenantNumber { number: net.number })),
            |_, _| true,
        ),
        jobs: changes(
            jobs_before.map(|(name, lease)| (name, JobLine::leased(lease))),
            jobs_after.map(|(name, net)| (name, JobLine::planned(after, net))),
            JobLine::goes_on_as,
        ),
        consents: changes(
            before.consents().iter().map(Meeting::of),
            consents_after.into_iter().map(Meeting::of),
            |_, _| true,
        ),
    }
}

impl Diff {
    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many things change.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.tenants.len() + self.jobs.len() + self.consents.len()
    }
}

/// Two ordered lists side by side. What is the same on both is left out.
fn changes<K: Ord + ToString, T: Eq>(
    before: impl Iterator<Item = (K, T)>,
    after: impl Iterator<Item = (K, T)>,
    goes_on: impl Fn(&T, &T) -> bool,
) -> Vec<Change<T>> {
    let mut both: BTreeMap<K, (Option<T>, Option<T>)> = BTreeMap::new();
    for (name, line) in before {
        both.entry(name).or_default().0 = Some(line);
    }
    for (name, line) in after {
        both.entry(name).or_default().1 = Some(line);
    }
    both.into_iter()
        .filter(|(_, (before, after))| before != after)
        .map(|(name, (before, after))| Change {
            sign: match (&before, &after) {
                (None, _) => Sign::Added,
                (_, None) => Sign::Removed,
                (Some(before), Some(after)) if goes_on(before, after) => Sign::Changed,
                _ => Sign::Replaced,
            },
            name: name.to_string(),
            before,
            after,
        })
        .collect()
}

impl JobLine {
    /// Whether a job that had this and gets that goes on meanwhile: it keeps its interfaces and all
    /// its numbers.
    fn goes_on_as(&self, after: &Self) -> bool {
        (self.tag, self.subnet, &self.endpoints, &self.devices)
            == (after.tag, after.subnet, &after.endpoints, &after.devices)
    }

    fn leased(lease: &Lease) -> Self {
        let vlans = lease.vlans.iter();
        Self {
            tag: lease.tag.get(),
            subnet: lease.subnet,
            class: lease.class,
            ceiling: lease.ceiling,
            endpoints: lease.seats.clone(),
            devices: vlans.map(|at| (at.device.clone(), at.vlan.get())).collect(),
        }
    }

    fn planned(plan: &Plan, net: &JobNet) -> Self {
        let fleet = &plan.fleet;
        let mut seats: Vec<_> = net.groups.iter().flat_map(|group| &group.seats).collect();
        seats.sort_by_key(|seat| seat.address);
        let groups = net.groups.iter();
        Self {
            tag: net.tag.get(),
            subnet: net.subnet,
            class: net.class,
            ceiling: net.ceiling,
            endpoints: seats
                .into_iter()
                .map(|seat| SeatAt {
                    node: fleet.nodes[seat.nic.node.index()].name.clone(),
                    nic: seat.nic.nic,
                })
                .collect(),
            devices: groups
                .map(|group| (fleet.device_name(group.device).clone(), group.vlan.get()))
                .collect(),
        }
    }
}

/// A consent as a reader would name it.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
struct Meeting<'a>(&'a Consent);

impl<'a> Meeting<'a> {
    fn of(consent: &'a Consent) -> (Self, ConsentLine) {
        let service = consent.service;
        (Self(consent), ConsentLine { service })
    }
}

impl fmt::Display for Meeting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.0.client, self.0.provider)
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "nothing changes");
        }
        write_all(f, "tenant", &self.tenants)?;
        write_all(f, "job", &self.jobs)?;
        write_all(f, "consent", &self.consents)
    }
}

fn write_all<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    changes: &[Change<T>],
) -> fmt::Result {
    for Change { sign, name, before, after } in changes {
        match (before, after) {
            (Some(before), Some(after)) => {
                writeln!(f, "{sign} {kind} {name}")?;
                writeln!(f, "    {before}")?;
                writeln!(f, " -> {after}")?;
            }
            (Some(line), None) | (None, Some(line)) => {
                writeln!(f, "{sign} {kind} {name}  {line}")?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "+",
            Self::Changed => "~",
            Self::Replaced => "-/+",
            Self::Removed => "-",
        })
    }
}

impl fmt::Display for TenantNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {}", self.number)
    }
}

impl fmt::Display for JobLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tag, subnet, class) = (self.tag, self.subnet, self.class);
        let endpoints = count(self.endpoints.len() as u32, "endpoint");
        write!(f, "tag {tag}, {subnet}, {class}")?;
        if let Some(ceiling) = self.ceiling {
            write!(f, ", at most {ceiling}")?;
        }
        write!(f, ", {endpoints} on")?;
        for (position, (device, vlan)) in self.devices.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma} {device} vlan {vlan}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ConsentLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.service.fmt(f)
    }
}
