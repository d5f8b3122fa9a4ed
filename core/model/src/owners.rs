use std::collections::BTreeMap;

use crate::{DeviceId, JobName, Port, Rate, Service, TenantName, TrafficClass};

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
    pub rates: BTreeMap<TenantName, Rates>,
    /// How the packets of each job are to be treated, likewise.
    pub treatments: BTreeMap<JobName, Treatment>,
}

/// What a tenant was promised of the network.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rates {
    /// The bandwidth it always has.
    pub guarantee: Option<Rate>,
    /// The bandwidth it never exceeds.
    pub ceiling: Option<Rate>,
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
