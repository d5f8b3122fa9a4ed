//! Whose everything is and what was promised to whom: the verifier's side of a plan.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use crate::{
    Attestation, Confidential, DeviceId, Grade, JobName, NodeId, Past, Port, Rate, Runtime,
    Service, TenantName, Timestamp, TrafficClass, VersionPolicy, Waiver,
};

/// Who owns what, who agreed to meet, and what they were promised: all that the verifier takes from
/// the plan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Owners {
    /// The job behind each port. A port that is not here belongs to nobody.
    pub ports: BTreeMap<(DeviceId, Port), JobName>,
    /// What both sides consented to.
    pub consents: Vec<Consent>,
    /// What each tenant was promised of the network. One that is not here was promised nothing that
    /// anybody knows of.
    pub promises: BTreeMap<TenantName, Promise>,
    /// How the packets of each job are to be treated, likewise.
    pub treatments: BTreeMap<JobName, Treatment>,
    /// Whose the GPUs and interfaces of each node are. What is not here belongs to nobody.
    pub shares: BTreeMap<NodeId, BTreeMap<JobName, Share>>,
    /// What each tenant may share with others, and what it demands.
    pub trusts: BTreeMap<TenantName, Trust>,
    /// Lines that somebody vouches for.
    pub waivers: Vec<Waiver>,
    /// Lines that nobody vouches for any more.
    pub expired: Vec<Waiver>,
    /// What the log says of who was where before, and of what was scrubbed since. None where nobody
    /// has the log: then nothing is compared with it.
    pub pasts: Option<BTreeMap<NodeId, Vec<Past>>>,
}

impl Owners {
    /// The same, where these were written: those that stand at this moment, and those that do not.
    #[must_use]
    pub fn vouched(self, waivers: &[Waiver], now: Timestamp) -> Self {
        let (waivers, expired) = waivers.iter().cloned().partition(|one| one.stands(now));
        Self { waivers, expired, ..self }
    }
}

/// What a job has of one node.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Share {
    /// Its GPUs: module `g + 1` is bit `g`.
    pub gpus: u64,
    /// Its interfaces: interface `n` is bit `n`.
    pub nics: u64,
}

impl Share {
    /// All that is in one of the two.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self { gpus: self.gpus | other.gpus, nics: self.nics | other.nics }
    }
}

/// What a tenant may share with others, and what it demands of the nodes it is on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trust {
    /// What it may share.
    pub grade: Grade,
    /// What it demands of a node's software.
    pub versions: VersionPolicy,
    /// In what its jobs run.
    pub runtime: Runtime,
    /// What keeps the host out of their memory, if it asks for that.
    pub confidential: Option<Confidential>,
    /// What it demands of the reports about their machines, if it wants any.
    pub attestation: Option<Attestation>,
    /// Groups of the identity provider whose members act for it.
    pub groups: Vec<SmolStr>,
}

/// What a tenant was promised of the network.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rates {
    /// The bandwidth it always has.
    pub guarantee: Option<Rate>,
    /// The bandwidth it never exceeds.
    pub ceiling: Option<Rate>,
}

/// All that a tenant is to get of the network.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Promise {
    /// What it was promised of every link.
    pub rates: Rates,
    /// Its queue at every uplink, where the fleet has queues.
    pub queue: Option<Queue>,
}

/// What a queue lets through, in rates that a queue can have ([`Rate::queued`]).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Queue {
    /// What it has in any case.
    pub rate: Rate,
    /// What it never exceeds.
    pub ceiling: Rate,
}

/// How a job's packets are to be treated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Treatment {
    /// Their class.
    pub class: TrafficClass,
    /// The bandwidth they never exceed.
    pub ceiling: Option<Rate>,
}

/// Two jobs whose owners both agreed that they may meet at one service.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Consent {
    /// Who asks.
    pub client: JobName,
    /// Who answers.
    pub provider: JobName,
    /// At which service.
    pub service: Service,
}

/// A tenant of whom nobody knows anything shares nothing.
impl Default for Trust {
    fn default() -> Self {
        Self {
            grade: Grade::Domain,
            versions: VersionPolicy::default(),
            runtime: Runtime::Container,
            confidential: None,
            attestation: None,
            groups: Vec::new(),
        }
    }
}
