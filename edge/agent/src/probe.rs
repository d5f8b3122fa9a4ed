//! Questions to the network that agents ask in the name of the workloads behind their ports.
//!
//! A probe is a frame that a workload could have sent itself: its source is the endpoint that the
//! packet program knows behind the port, and the program judges it there. Its transport checksum
//! is wrong on purpose, so that whoever receives it lets it fall without an answer, and no
//! application is disturbed. It ends in a mark by which the agents know it again.

mod frame;
mod station;

use std::fmt;
use std::net::Ipv4Addr;

use model::{Protocol, Service};
use serde::{Deserialize, Serialize};

pub use station::Station;

/// What is sent.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeWay {
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

/// One probe, as an agent is asked to send it. Who it is from is not said: that is the endpoint
/// behind the port, as the packet program there knows it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeRequest {
    /// Through which port, by its name.
    pub port: String,
    /// To whom.
    pub to: Ipv4Addr,
    /// The number of the tenant whose address that is; IPv6 addresses are made of it.
    pub tenant: u16,
    /// The Ethernet address that the frame goes to: of the one that is meant, or of the gateway.
    pub via: [u8; 6],
    /// What is sent.
    pub way: ProbeWay,
    /// In which protocol.
    pub family: Family,
    /// Whether it looks like an answer: the two ports are the other way around then.
    pub answers: bool,
    /// The port of whoever asks; no service may have it.
    pub asker: u16,
}

/// A probe that a packet program dropped.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// Where: when a workload sent it, when it came from the fabric, when it was routed, or before a
    /// workload got it.
    pub hook: String,
    /// At which port.
    pub port: String,
    /// The verdict.
    pub reason: String,
    /// What the verdict means.
    pub meaning: String,
    /// The tag of the sender's job; 0 if it was not known.
    pub source: u16,
    /// The tag of the receiver's job; 0 if it was not known.
    pub destination: u16,
}

/// What a controller asks of a station.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Sounding {
    /// Hear the probes of this run from now on.
    Listen { run: u64 },
    /// Send these, each with its number.
    Send { run: u64, asks: Vec<(u32, ProbeRequest)> },
    /// Say what was heard since this was asked last.
    Heard { run: u64 },
    /// The run is over.
    End { run: u64 },
}

/// What a station answers.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Sounded {
    Done,
    /// Those that were not sent, and why.
    Sent {
        unsent: Vec<(u32, String)>,
    },
    Heard(Heard),
}

/// What became of probes at one node.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Heard {
    /// Those that left through a port towards the workload behind it.
    pub(crate) arrived: Vec<(u32, String)>,
    pub(crate) dropped: Vec<(u32, Dropped)>,
}

impl ProbeWay {
    /// How a service is asked for.
    #[must_use]
    pub const fn of(service: Service) -> Self {
        match service.protocol {
            Protocol::Tcp => Self::Tcp(service.port),
            Protocol::Udp => Self::Udp(service.port),
        }
    }

    /// The service that is asked for, if it is one.
    #[must_use]
    pub const fn service(self) -> Option<Service> {
        match self {
            Self::Icmp => None,
            Self::Tcp(port) => Some(Service { protocol: Protocol::Tcp, port }),
            Self::Udp(port) => Some(Service { protocol: Protocol::Udp, port }),
            Self::Roce => Some(Service::ROCE),
        }
    }
}

impl fmt::Display for ProbeWay {
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
