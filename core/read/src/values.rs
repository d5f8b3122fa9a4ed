//! Words that several dialects share, such as addresses and names, or why they are none.

use std::net::Ipv4Addr;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

use model::{
    Asn, Confidential, JobName, Measurement, Memory, Name, PciAddress, Port, RouteDistinguisher,
    RouteTarget, Service, TrafficClass, VrfName,
};
use wire::{Mac, Tag, Vni};

use crate::Bridge;

/// Why a line cannot be understood: the sentence that stands in [`crate::Unknown`].
pub(crate) type Why = &'static str;

pub(crate) fn address(word: &str) -> Result<Ipv4Addr, Why> {
    value(word, "an address is four numbers such as 10.1.0.2")
}

/// An address and the length of its prefix: `10.1.0.1/28`.
pub(crate) fn prefixed(word: &str) -> Result<(Ipv4Addr, u8), Why> {
    const WHY: Why = "an address with its prefix is written 10.1.0.1/28";
    let (address, prefix) = word.split_once('/').ok_or(WHY)?;
    let prefix = value(prefix, WHY)?;
    if prefix > 32 {
        return Err(WHY);
    }
    Ok((value(address, WHY)?, prefix))
}

pub(crate) fn mac(word: &str) -> Result<Mac, Why> {
    value(word, "an Ethernet address is six bytes such as 02:00:00:00:00:01")
}

pub(crate) fn vni(word: &str) -> Result<Vni, Why> {
    value(word, "a VNI is a number from 1 to 16777215")
}

pub(crate) fn tag(word: &str) -> Result<Tag, Why> {
    value(word, "a group tag is a number from 1 to 65535")
}

pub(crate) fn port(word: &str) -> Result<Port, Why> {
    value(word, "a port is written Ethernet1/5, swp5, rep5 or nic5")
}

pub(crate) fn asn(word: &str) -> Result<Asn, Why> {
    value(word, "an AS is a number of 32 bits").map(Asn)
}

pub(crate) fn target(word: &str) -> Result<RouteTarget, Why> {
    value(word, "a route target is `AS:number` with an AS up to 65535 and no wildcard")
}

pub(crate) fn distinguisher(word: &str) -> Result<RouteDistinguisher, Why> {
    value(word, "a route distinguisher is `address:number` with a number up to 65535")
}

pub(crate) fn service(protocol: &str, port: &str) -> Result<Service, Why> {
    Ok(Service {
        protocol: value(protocol, "a service speaks tcp or udp")?,
        port: value(port, "the port of a service is a number up to 65535")?,
    })
}

pub(crate) fn bps(word: &str) -> Result<u64, Why> {
    value(word, "a rate is a whole number of bits a second")
}

/// A ceiling of zero would cut a tenant or a job off, so no table has one.
pub(crate) fn ceiling(word: &str) -> Result<u64, Why> {
    value(word, "a ceiling is a whole number of bits a second from 1").map(NonZeroU64::get)
}

pub(crate) fn class(word: &str) -> Result<TrafficClass, Why> {
    value(word, "a traffic class is lossless, latency or bulk")
}

pub(crate) fn seconds(word: &str) -> Result<u16, Why> {
    value(word, "a timer is a whole number of seconds up to 65535")
}

pub(crate) fn count(word: &str) -> Result<NonZeroU32, Why> {
    value(word, "a count is a whole number from 1")
}

pub(crate) fn vrf(word: &str) -> VrfName {
    VrfName(word.into())
}

pub(crate) fn bridge(word: &str) -> Bridge {
    Bridge(word.into())
}

pub(crate) fn pci(word: &str) -> Result<PciAddress, Why> {
    value(word, "a PCI address is written 0000:1b:00.0, in lower-case digits")
}

pub(crate) fn job(word: &str) -> Result<JobName, Why> {
    value(word, "a job is written with its tenant in front, such as acme/research/train")
}

pub(crate) fn name(word: &str) -> Result<Name, Why> {
    value(word, "a name is lower-case letters, digits and inner hyphens, at most 63")
}

/// A number that names something: a group, a partition, a NUMA node.
pub(crate) fn number(word: &str) -> Result<u16, Why> {
    value(word, "a number is whole and at most 65535")
}

/// An interface: they are told apart in a mask of 64 bits.
pub(crate) fn nic(word: &str) -> Result<u16, Why> {
    const WHY: Why = "an interface is a number from 0 to 63";
    value(word, WHY).and_then(|nic| if nic < 64 { Ok(nic) } else { Err(WHY) })
}

/// Interfaces with commas between them, as a mask.
pub(crate) fn nics(word: &str) -> Result<u64, Why> {
    let mut nics = 0_u64;
    for word in word.split(',') {
        let nic = 1 << nic(word)?;
        if nics & nic != 0 {
            return Err("an interface stands there twice");
        }
        nics |= nic;
    }
    Ok(nics)
}

pub(crate) fn memory(word: &str) -> Result<Memory, Why> {
    value(word, "a memory is hbm, sram, ram, nvme or nic")
}

pub(crate) fn technology(word: &str) -> Result<Confidential, Why> {
    value(word, "a machine is kept from its host by sev-snp or tdx")
}

pub(crate) fn measurement(word: &str) -> Result<Measurement, Why> {
    value(word, "a measurement is a SHA-384 in 96 lower-case hexadecimal digits")
}

pub(crate) fn age_s(word: &str) -> Result<u64, Why> {
    value(word, "an age is a whole number of seconds")
}

/// A GPU by its module id, as the number from 0 that it has here.
pub(crate) fn module(word: &str) -> Result<u16, Why> {
    const WHY: Why = "a GPU is written by its module id, a number from 1 to 64";
    match value(word, WHY)? {
        module @ 1..=64 => Ok(module - 1),
        _ => Err(WHY),
    }
}

/// GPUs by their module ids, as a mask.
pub(crate) fn modules<'a>(words: impl Iterator<Item = &'a str>) -> Result<u64, Why> {
    let mut gpus = 0_u64;
    for word in words {
        let gpu = 1 << module(word)?;
        if gpu <= gpus {
            return Err("GPUs are listed by ascending module ids, each once");
        }
        gpus |= gpu;
    }
    if gpus == 0 { Err("at least one GPU is named, by its module id") } else { Ok(gpus) }
}

/// A memory channel: a domain has 2048.
pub(crate) fn channel(word: &str) -> Result<u16, Why> {
    const WHY: Why = "a memory channel is a number from 0 to 2047";
    value(word, WHY).and_then(|channel| if channel < 2048 { Ok(channel) } else { Err(WHY) })
}

/// A memory slot of a GPU that is cut into instances.
pub(crate) fn slot(word: &str) -> Result<u8, Why> {
    const WHY: Why = "a memory slot is a number from 0 to 7";
    value(word, WHY).and_then(|slot| if slot < 8 { Ok(slot) } else { Err(WHY) })
}

/// Rust's numbers may have a plus in front, or zeros; nobody writes one so, and some would read it
/// as octal.
fn value<T: FromStr>(word: &str, why: Why) -> Result<T, Why> {
    let is_padded =
        word.len() > 1 && word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_padded || word.as_bytes().contains(&b'+') {
        return Err(why);
    }
    word.parse().map_err(|_| why)
}
