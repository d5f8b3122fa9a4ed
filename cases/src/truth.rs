//! What can happen in a world, said in one way by the verifier and by packets.

use std::collections::{BTreeMap, BTreeSet};

use model::{Consent, DeviceId, JobName, Owners, Port};
use sim::{Fabric, Pair, Passing};
use verify::{Breach, Code, Diagnosis, Endpoint, Finding, Severed, Talk};

/// An owner: a job, or a port of nobody's.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum PortOwner {
    /// A job.
    Job(JobName),
    /// Nobody, at this port.
    Nobody(DeviceId, Port),
}

/// What can happen in a world.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Truth {
    /// Owners whose packets reach others without consent.
    pub crossings: BTreeSet<(PortOwner, PortOwner)>,
    /// Jobs of which two members cannot meet.
    pub severed: BTreeSet<JobName>,
    /// Consents of which two members cannot meet.
    pub unmet: BTreeSet<Consent>,
}

/// A text with a line that nobody knows, one that contradicts itself, or one that leads packets by
/// a way of its own is refused as it is: what a device would make of it is not for us to say.
#[must_use]
pub fn is_beyond_the_oracle(finding: &Finding) -> bool {
    matches!(
        finding.code(),
        Code::UnknownLine
            | Code::Contradiction
            | Code::StrayRoute
            | Code::StrayForwarding
            | Code::StrayAddress
    )
}

/// What findings say.
#[must_use]
pub fn by_verifier(findings: &[Finding]) -> Truth {
    let mut truth = Truth::default();
    for finding in findings {
        match &finding.diagnosis {
            Diagnosis::Breach(Breach { from, to, .. }) => {
                truth.crossings.insert((who(from), who(to)));
            }
            Diagnosis::Severed(Severed { from, to, talk }) => {
                let (Some(a), Some(b)) = (from.owner.clone(), to.owner.clone()) else { continue };
                match talk {
                    Talk::Any if (from.device, from.port) != (to.device, to.port) => {
                        truth.severed.insert(a);
                    }
                    Talk::Ask(service) => {
                        truth.unmet.insert(Consent { client: a, provider: b, service: *service });
                    }
                    Talk::Answer(service) => {
                        truth.unmet.insert(Consent { client: b, provider: a, service: *service });
                    }
                    Talk::Any | Talk::Flood => {}
                }
            }
            // Packets tell nothing of the other layers.
            _ => {}
        }
    }
    truth
}

/// What passes between ports.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Every port that was asked.
    pub ports: BTreeSet<(DeviceId, Port)>,
    /// What passes of all that an attacker can think of.
    pub meetings: BTreeMap<Pair, Passing>,
    /// What passes of those who say the truth about themselves.
    pub conversations: BTreeMap<Pair, Passing>,
}

impl Walked {
    /// Sends everything between all ports that somebody owns or that a text names.
    #[must_use]
    pub fn of(fabric: &Fabric, owners: &Owners) -> Self {
        let mut ports = fabric.ports();
        ports.extend(owners.ports.keys().copied());
        let asked: Vec<(DeviceId, Port)> = ports.iter().copied().collect();
        let meetings = fabric.meetings(&asked);
        Self { ports, meetings, conversations: fabric.conversations(&asked) }
    }

    /// What happened to whom.
    #[must_use]
    pub fn truth(&self, owners: &Owners) -> Truth {
        by_packets(owners, &self.ports, &self.meetings, &self.conversations)
    }
}

/// What packets did: between which ports anything passed that an attacker can think of, and what
/// passed of those that said the truth about themselves.
#[must_use]
pub fn by_packets(
    owners: &Owners,
    ports: &BTreeSet<(DeviceId, Port)>,
    meetings: &BTreeMap<Pair, Passing>,
    conversations: &BTreeMap<Pair, Passing>,
) -> Truth {
    let mut truth = Truth::default();
    for (pair, _) in meetings.iter().filter(|(pair, passing)| crosses(owners, pair, passing)) {
        truth.crossings.insert((owner(owners, &pair.from), owner(owners, &pair.to)));
    }
    let nothing = Passing::default();
    for from in ports {
        for to in ports.iter().filter(|to| *to != from) {
            let (PortOwner::Job(a), PortOwner::Job(b)) = (owner(owners, from), owner(owners, to))
            else {
                continue;
            };
            let passing = conversations.get(&Pair { from: *from, to: *to }).unwrap_or(&nothing);
            if a == b && !passing.any {
                truth.severed.insert(a.clone());
            }
            for consent in &owners.consents {
                let asks = consent.client == a && consent.provider == b;
                let answers = consent.client == b && consent.provider == a;
                let met =
                    |services: &BTreeSet<_>| passing.any || services.contains(&consent.service);
                if (asks && !met(&passing.asks)) || (answers && !met(&passing.answers)) {
                    truth.unmet.insert(consent.clone());
                }
            }
        }
    }
    truth
}

/// Whether what passes goes from one owner to another who did not agree to it.
#[must_use]
pub fn crosses(owners: &Owners, pair: &Pair, passing: &Passing) -> bool {
    let (from, to) = (owner(owners, &pair.from), owner(owners, &pair.to));
    from != to && !is_consented(owners, &from, &to, passing)
}

fn owner(owners: &Owners, port: &(DeviceId, Port)) -> PortOwner {
    match owners.ports.get(port) {
        Some(job) => PortOwner::Job(job.clone()),
        None => PortOwner::Nobody(port.0, port.1),
    }
}

fn who(endpoint: &Endpoint) -> PortOwner {
    match &endpoint.owner {
        Some(job) => PortOwner::Job(job.clone()),
        None => PortOwner::Nobody(endpoint.device, endpoint.port),
    }
}

fn is_consented(owners: &Owners, from: &PortOwner, to: &PortOwner, passing: &Passing) -> bool {
    let (PortOwner::Job(from), PortOwner::Job(to)) = (from, to) else { return false };
    let agreed = |client: &JobName, provider: &JobName, service| {
        let consent = Consent { client: client.clone(), provider: provider.clone(), service };
        owners.consents.contains(&consent)
    };
    !passing.flood
        && !passing.any
        && passing.asks.iter().all(|service| agreed(from, to, *service))
        && passing.answers.iter().all(|service| agreed(to, from, *service))
}
