use std::collections::BTreeMap;

use crate::{DeviceId, JobName, Port, Service};

/// Who owns what, and who agreed to meet: all that the verifier takes from the plan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Owners {
    /// The job behind each port. A port that is not here belongs to nobody.
    pub ports: BTreeMap<(DeviceId, Port), JobName>,
    /// What both sides consented to.
    pub consents: Vec<Consent>,
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
