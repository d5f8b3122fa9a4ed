//! Why a text does not become a policy, each reason with its lines.

use std::net::Ipv4Addr;

use model::{Port, Service, VrfName};
use wire::{Tag, Vni};

/// Why a text does not become the policy of the packet program: what is wrong, and the lines.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum TableRefusal {
    // The head.
    #[error("line {line}, `{text}`, is not understood: {why}")]
    Unknown { line: u32, text: String, why: &'static str },
    #[error("no line says `default drop`")]
    NoDefault,
    #[error("line {line} says `default pass`, but the packet program only drops by default")]
    PassesByDefault { line: u32 },
    #[error("no line tells the own tunnel address")]
    NoVtep,
    #[error("the own tunnel address is told twice, in lines {first_line} and {line}")]
    VtepTwice { first_line: u32, line: u32 },

    // Spaces.
    #[error("line {line} names space {space}, but a space is named t1 to t8191")]
    SpaceMisnamed { space: VrfName, line: u32 },
    #[error("line {line} is about space {space}, but no line gives it a VNI")]
    SpaceUnknown { space: VrfName, line: u32 },
    #[error(
        "VNI {vni} is of space {first} in line {first_line}, but of space {other} in line {line}"
    )]
    VniTwice { vni: Vni, first: VrfName, first_line: u32, other: VrfName, line: u32 },
    #[error("the rate of {space} is told in two ways, in lines {first_line} and {line}")]
    RateTwice { space: VrfName, first_line: u32, line: u32 },
    #[error("tag {tag} of {space} is treated in two ways, in lines {first_line} and {line}")]
    JobTwice { space: VrfName, tag: Tag, first_line: u32, line: u32 },

    // Endpoints.
    #[error("{address} of {space} is told in two ways, in lines {first_line} and {line}")]
    AddressTwice { space: VrfName, address: Ipv4Addr, first_line: u32, line: u32 },
    #[error("two endpoints are behind {port}, in lines {first_line} and {line}")]
    PortTwice { port: Port, first_line: u32, line: u32 },
    #[error("there is no interface for {port} of line {line}")]
    NoInterface { port: Port, line: u32 },
    #[error(
        "{first} of line {first_line} and {port} of line {line} are the same interface, {interface}"
    )]
    InterfaceTwice { interface: u32, first: Port, first_line: u32, port: Port, line: u32 },

    // Room.
    #[error("{space} has {has} addresses, more than the {allowed} it may have")]
    TooManyRecords { space: VrfName, has: u64, allowed: u32 },
    #[error("{space} has {has} permits, more than the {allowed} it may have")]
    TooManyPermits { space: VrfName, has: u64, allowed: u32 },
    #[error("{has} ports have an endpoint, more than the {allowed} that may")]
    TooManyPorts { has: u64, allowed: u32 },
    #[error(
        "no counters are left for {space} tag {tag} of line {line}: {allowed} jobs may have them"
    )]
    TooManyJobs { space: VrfName, tag: Tag, line: u32, allowed: u32 },
    #[error("no burst counters are left for {port} of line {line}: {slots} ports have them")]
    NoSlot { port: Port, line: u32, slots: u32 },
    #[error(
        "in {space} the permit of line {line}, {client} to {provider} at {service}, finds its \
         bucket full, even with {buckets} of them"
    )]
    Crowded {
        space: VrfName,
        client: Tag,
        provider: Tag,
        service: Service,
        line: u32,
        buckets: u32,
    },
    #[error("the addresses of {space} reach from {first} to {last}, more than can be counted")]
    TooWide { space: VrfName, first: Ipv4Addr, last: Ipv4Addr },
    #[error("the tables need {has} bytes, {most} of them for {what}, but may take {allowed}")]
    TooLarge { has: u64, what: String, most: u64, allowed: u32 },
}
