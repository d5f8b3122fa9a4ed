//! Every reason why a frame passes or is refused, with its number and its word.

use core::fmt;

use crate::Broken;

/// Why a frame passes or does not: the table "Verdicts" of the README.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Reason {
    /// Both ends are of one job.
    Job = 0,
    /// A permit names both jobs and this service.
    Permit = 1,
    /// It is the host's own traffic with the fabric.
    Underlay = 2,
    /// It is ARP or neighbour discovery of one job.
    Neighbour = 3,
    /// There is no policy, or its lease has ended.
    Closed = 16,
    /// The policy contradicts itself.
    Table = 17,
    /// No endpoint is known on this port.
    Port = 18,
    /// The frame ends inside a header.
    Truncated = 19,
    /// There is a VLAN tag where none may be.
    Vlan = 20,
    /// The frame is neither IP nor ARP.
    Ethertype = 21,
    /// A header says what cannot be.
    Header = 22,
    /// There are IPv4 options or IPv6 extension headers.
    Options = 23,
    /// It is a fragment that may not be one.
    Fragment = 24,
    /// A length does not tell the truth.
    Length = 25,
    /// The transport is not known.
    Protocol = 26,
    /// It is a tunnel that is not ours.
    Tunnel = 27,
    /// The outer destination is not this tunnel endpoint.
    NotOurs = 28,
    /// The VXLAN header has bits that must not be.
    Vxlan = 29,
    /// There is no group tag: no entry.
    Untagged = 30,
    /// The VNI has no space here.
    Vni = 31,
    /// It is multicast or broadcast, but neither ARP nor neighbour discovery.
    Flood = 32,
    /// The Ethernet source is not the one bound to the port, or is a group address.
    SourceMac = 33,
    /// The source address is not known, or not bound to the port.
    Source = 34,
    /// The source is not behind this tunnel endpoint.
    OuterSource = 35,
    /// The tag on the wire is not the source's.
    Tag = 36,
    /// The destination address is not known.
    Destination = 37,
    /// The destination is not on this device.
    Elsewhere = 38,
    /// These are two jobs without a permit for this service.
    OtherJob = 39,
    /// It is RoCEv2 between two jobs, which no permit can allow.
    Roce = 40,
    /// The RoCEv2 header cannot be.
    Bth = 41,
    /// It is ARP or neighbour discovery that lies, or that may not be said.
    Forged = 42,
    /// The tenant is over its rate; only the program in the kernel says so.
    Rate = 43,
}

impl Reason {
    /// Every reason, in the order of its code.
    pub const ALL: [Self; 32] = [
        Self::Job,
        Self::Permit,
        Self::Underlay,
        Self::Neighbour,
        Self::Closed,
        Self::Table,
        Self::Port,
        Self::Truncated,
        Self::Vlan,
        Self::Ethertype,
        Self::Header,
        Self::Options,
        Self::Fragment,
        Self::Length,
        Self::Protocol,
        Self::Tunnel,
        Self::NotOurs,
        Self::Vxlan,
        Self::Untagged,
        Self::Vni,
        Self::Flood,
        Self::SourceMac,
        Self::Source,
        Self::OuterSource,
        Self::Tag,
        Self::Destination,
        Self::Elsewhere,
        Self::OtherJob,
        Self::Roce,
        Self::Bth,
        Self::Forged,
        Self::Rate,
    ];

    /// The code that events and counters carry.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason of a code, if it is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// Whether the frame goes on.
    #[must_use]
    pub const fn passes(self) -> bool {
        self.code() < Self::Closed.code()
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Permit => "permit",
            Self::Underlay => "underlay",
            Self::Neighbour => "neighbour",
            Self::Closed => "closed",
            Self::Table => "table",
            Self::Port => "port",
            Self::Truncated => "truncated",
            Self::Vlan => "vlan",
            Self::Ethertype => "ethertype",
            Self::Header => "header",
            Self::Options => "options",
            Self::Fragment => "fragment",
            Self::Length => "length",
            Self::Protocol => "protocol",
            Self::Tunnel => "tunnel",
            Self::NotOurs => "not-ours",
            Self::Vxlan => "vxlan",
            Self::Untagged => "untagged",
            Self::Vni => "vni",
            Self::Flood => "flood",
            Self::SourceMac => "source-mac",
            Self::Source => "source",
            Self::OuterSource => "outer-source",
            Self::Tag => "tag",
            Self::Destination => "destination",
            Self::Elsewhere => "elsewhere",
            Self::OtherJob => "other-job",
            Self::Roce => "roce",
            Self::Bth => "bth",
            Self::Forged => "forged",
            Self::Rate => "rate",
        }
    }

    /// A sentence for people.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Job => "Both ends are of one job.",
            Self::Permit => "A permit names both jobs and this service.",
            Self::Underlay => "It is the host's own traffic with the fabric.",
            Self::Neighbour => "It is ARP or neighbour discovery of one job.",
            Self::Closed => "There is no policy, or its lease has ended.",
            Self::Table => "The policy contradicts itself.",
            Self::Port => "No endpoint is known on this port.",
            Self::Truncated => "The frame ends inside a header.",
            Self::Vlan => "There is a VLAN tag where none may be.",
            Self::Ethertype => "The frame is neither IP nor ARP.",
            Self::Header => "A header says what cannot be.",
            Self::Options => "There are IPv4 options or IPv6 extension headers.",
            Self::Fragment => "It is a fragment that may not be one.",
            Self::Length => "A length does not tell the truth.",
            Self::Protocol => "The transport is not known.",
            Self::Tunnel => "It is a tunnel that is not ours.",
            Self::NotOurs => "The outer destination is not this tunnel endpoint.",
            Self::Vxlan => "The VXLAN header has bits that must not be.",
            Self::Untagged => "There is no group tag: no entry.",
            Self::Vni => "The VNI has no space here.",
            Self::Flood => "It is multicast or broadcast, but neither ARP nor neighbour discovery.",
            Self::SourceMac => {
                "The Ethernet source is not the one bound to the port, or is a group address."
            }
            Self::Source => "The source address is not known, or not bound to the port.",
            Self::OuterSource => "The source is not behind this tunnel endpoint.",
            Self::Tag => "The tag on the wire is not the source's.",
            Self::Destination => "The destination address is not known.",
            Self::Elsewhere => "The destination is not on this device.",
            Self::OtherJob => "These are two jobs without a permit for this service.",
            Self::Roce => "It is RoCEv2 between two jobs, which no permit can allow.",
            Self::Bth => "The RoCEv2 header cannot be.",
            Self::Forged => "It is ARP or neighbour discovery that lies, or that may not be said.",
            Self::Rate => "The tenant is over its rate; only the program in the kernel says so.",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<Broken> for Reason {
    fn from(_: Broken) -> Self {
        Self::Table
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::{format, vec::Vec};

    use super::*;

    #[test]
    fn codes_and_names_are_those_of_the_readme() {
        let page = include_str!("../README.md");
        let verdicts = page.split("## Verdicts").nth(1).unwrap().split("A verdict also").next();
        let rows: Vec<String> = verdicts
            .unwrap()
            .lines()
            .filter_map(|line| line.split('|').nth(1)?.trim().parse::<u8>().ok().map(|_| line))
            .map(|line| line.split('|').take(3).collect::<Vec<_>>().join("|"))
            .collect();
        let ours: Vec<String> = Reason::ALL
            .into_iter()
            .map(|reason| format!("| {} | `{reason}` ", reason.code()))
            .collect();
        assert_eq!(rows, ours);
    }

    #[test]
    fn only_what_the_readme_calls_a_pass_passes() {
        let page = include_str!("../README.md");
        for reason in Reason::ALL {
            let pass = page.contains(&format!("| `{reason}` | pass: "));
            assert_eq!(reason.passes(), pass, "{reason}");
        }
    }

    #[test]
    fn every_code_is_read_back_and_no_other_number_is_one() {
        for code in 0..=u8::MAX {
            let known = Reason::ALL.into_iter().find(|reason| reason.code() == code);
            assert_eq!(Reason::from_code(code), known);
        }
        assert_eq!(Reason::from_code(43), Some(Reason::Rate));
        assert_eq!(Reason::from_code(4), None);
    }
}
