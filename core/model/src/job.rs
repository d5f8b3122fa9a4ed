//! What a job asks for, and the permits by which jobs of two owners may meet.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{JobName, Name, NodeId, Rate, TenantName, Terms};

/// Work of one tenant that is kept apart from all other work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Job {
    /// Its tenant and name.
    pub name: JobName,
    /// Where it runs, or how large it is.
    pub want: Want,
    /// How its packets are treated.
    pub class: TrafficClass,
    /// The bandwidth it never exceeds, beside that of its tenant.
    pub ceiling: Option<Rate>,
    /// The pod it must run in, if it matters.
    pub pod: Option<Name>,
    /// What else it demands of its place.
    pub terms: Terms,
}

/// What a job asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Want {
    /// Exactly these interfaces.
    Endpoints(Vec<NicRef>),
    /// So many GPUs, all or none.
    Gpus(u32),
    /// So many slices of GPUs, all or none.
    Slices {
        /// The kind of slice, such as `1g.10gb`.
        profile: SmolStr,
        /// How many.
        count: u32,
    },
}

/// One network interface of one node.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NicRef {
    /// The node.
    pub node: NodeId,
    /// Which of its interfaces, from 0.
    pub nic: u16,
}

/// How packets of a job are treated where there is a queue.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficClass {
    /// RoCE in the lossless class.
    #[default]
    Lossless,
    /// Small and urgent.
    Latency,
    /// Whatever is left.
    Bulk,
}

impl TrafficClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Lossless, Self::Latency, Self::Bulk];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::Latency => "latency",
            Self::Bulk => "bulk",
        }
    }
}

impl fmt::Display for TrafficClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TrafficClass {
    type Err = NotATrafficClass;

    fn from_str(text: &str) -> Result<Self, NotATrafficClass> {
        Self::ALL.into_iter().find(|class| class.as_str() == text).ok_or(NotATrafficClass)
    }
}

/// The word is no traffic class.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotATrafficClass;

impl fmt::Display for NotATrafficClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a traffic class is lossless, latency or bulk")
    }
}

impl std::error::Error for NotATrafficClass {}

/// One side's consent that two jobs may meet at one service. Alone it opens nothing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Permit {
    /// What the document is called.
    pub name: Name,
    /// Who consents.
    pub tenant: TenantName,
    /// Which of its jobs.
    pub job: Name,
    /// Whether that job asks or answers.
    pub side: Side,
    /// The job on the other side.
    pub peer: JobName,
    /// What may be spoken.
    pub service: Service,
}

/// Which end of a service.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Asks.
    Client,
    /// Answers.
    Provider,
}

/// A transport protocol a service may use.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

impl FromStr for Protocol {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "tcp" => Ok(Self::Tcp),
            "udp" => Ok(Self::Udp),
            _ => Err("a service speaks tcp or udp"),
        }
    }
}

/// A protocol and the provider's port, such as storage on TCP 2049.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Service {
    /// The protocol.
    pub protocol: Protocol,
    /// The port the provider listens on.
    pub port: u16,
}

impl Service {
    /// RoCEv2 is judged strictly by job: no permit can name it (UDP 4791).
    pub const ROCE: Self = Self { protocol: Protocol::Udp, port: 4791 };
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, self.port)
    }
}
