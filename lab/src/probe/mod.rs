//! Real packets between workloads: who reaches whom.

mod booth;
mod packet;
mod pump;

use std::fmt;

use model::{Protocol, Service};
use serde::{Deserialize, Serialize};

use crate::Trouble;
use crate::lab::Lab;
use crate::workload::Workload;

/// A port that no permit of a lab names.
const CONTROL: u16 = 4000;

/// What is sent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// An echo request.
    Icmp,
    /// A connection to this port.
    Tcp(u16),
    /// A datagram to this port.
    Udp(u16),
    /// A datagram that looks like RDMA: UDP 4791 with a base transport header.
    Roce,
}

/// In which protocol of the internet it is sent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// One question to the network.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Who sends.
    pub from: String,
    /// Who is meant.
    pub to: String,
    /// What is sent.
    pub way: Way,
    /// In which protocol.
    pub family: Family,
    /// Whether it must arrive and be answered; it must not arrive otherwise.
    pub expected: bool,
}

/// What the network answered.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The question.
    pub probe: Probe,
    /// Whether the one that was meant saw it.
    pub arrived: bool,
    /// Whether the one that asked saw the answer.
    pub answered: bool,
    /// Another one that saw it and must not have: some have the same address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub astray: Option<String>,
}

impl Seen {
    /// Whether the network did what it should.
    #[must_use]
    pub const fn is_right(&self) -> bool {
        match self.probe.expected {
            true => self.arrived && self.answered,
            false => !self.arrived && self.astray.is_none(),
        }
    }
}

impl Lab {
    /// Every question there is: from each workload to each other one, in every way, in both
    /// protocols.
    #[must_use]
    pub fn probes(&self) -> Vec<Probe> {
        let mut ways = vec![Way::Icmp, Way::Tcp(CONTROL), Way::Udp(CONTROL), Way::Roce];
        ways.extend(self.services().into_iter().map(Way::of));
        let workloads = self.workloads();
        let mut probes = Vec::new();
        for from in workloads {
            for to in workloads.iter().filter(|to| to.name != from.name) {
                for &way in &ways {
                    probes.extend([Family::V4, Family::V6].map(|family| Probe {
                        from: from.name.clone(),
                        to: to.name.clone(),
                        way,
                        family,
                        expected: self.may_meet(from, to, way),
                    }));
                }
            }
        }
        probes
    }

    /// Asks all of these, at once. The forbidden ones are given a second; the others as long as
    /// they need, up to a few.
    ///
    /// # Errors
    /// If a workload is not known or its namespace is gone.
    pub fn probe(&self, probes: &[Probe]) -> Result<Vec<Seen>, Trouble> {
        pump::ask(self, probes)
    }

    /// Whether a workload may ask another one this way: all of one job may, and those whose jobs
    /// both agreed on the service.
    pub(crate) fn may_meet(&self, from: &Workload, to: &Workload, way: Way) -> bool {
        let mut consents = self.plan().consents.get(&from.job).into_iter().flatten();
        from.job == to.job
            || way.service().is_some_and(|service| {
                consents.any(|consent| {
                    consent.client == from.job
                        && consent.provider == to.job
                        && consent.service == service
                })
            })
    }
}

impl Way {
    const fn of(service: Service) -> Self {
        match service.protocol {
            Protocol::Tcp => Self::Tcp(service.port),
            Protocol::Udp => Self::Udp(service.port),
        }
    }

    const fn service(self) -> Option<Service> {
        match self {
            Self::Icmp => None,
            Self::Tcp(port) => Some(Service { protocol: Protocol::Tcp, port }),
            Self::Udp(port) => Some(Service { protocol: Protocol::Udp, port }),
            Self::Roce => Some(Service::ROCE),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Icmp => f.pad("icmp"),
            Self::Tcp(port) => f.pad(&format!("tcp {port}")),
            Self::Udp(port) => f.pad(&format!("udp {port}")),
            Self::Roce => f.pad("roce"),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        })
    }
}
