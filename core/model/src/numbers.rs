//! Numbers of routing and ports as values that cannot be wrong: AS numbers, targets, VLANs, rates.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, ToSmolStr};

/// An autonomous system number, 32 bits (RFC 6793).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asn(pub u32);

impl fmt::Display for Asn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A route distinguisher of type 1, `address:number` (RFC 4364, section 4.2).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RouteDistinguisher {
    /// The device that announces: its VTEP address.
    pub device: Ipv4Addr,
    /// Which of its tables; 16 bits.
    pub number: u16,
}

impl fmt::Display for RouteDistinguisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.number)
    }
}

impl FromStr for RouteDistinguisher {
    type Err = NotAnRd;

    fn from_str(text: &str) -> Result<Self, NotAnRd> {
        let (device, number) = text.split_once(':').ok_or(NotAnRd)?;
        Ok(Self {
            device: device.parse().map_err(|_| NotAnRd)?,
            number: number.parse().map_err(|_| NotAnRd)?,
        })
    }
}

/// The text is no route distinguisher.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAnRd;

impl fmt::Display for NotAnRd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a route distinguisher is `address:number` with a number up to 65535")
    }
}

impl std::error::Error for NotAnRd {}

/// A route target of type 0, `AS:number` with a 16-bit AS (RFC 4360, section 4).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RouteTarget {
    /// Who hands the numbers out.
    pub asn: u16,
    /// Which target.
    pub number: u32,
}

impl fmt::Display for RouteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.asn, self.number)
    }
}

impl FromStr for RouteTarget {
    type Err = NotARouteTarget;

    fn from_str(text: &str) -> Result<Self, NotARouteTarget> {
        let (asn, number) = text.split_once(':').ok_or(NotARouteTarget)?;
        Ok(Self {
            asn: asn.parse().map_err(|_| NotARouteTarget)?,
            number: number.parse().map_err(|_| NotARouteTarget)?,
        })
    }
}

/// The text is no route target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotARouteTarget;

impl fmt::Display for NotARouteTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a route target is `AS:number` with an AS up to 65535")
    }
}

impl std::error::Error for NotARouteTarget {}

/// A VLAN id: 12 bits, 0 and 4095 excluded (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Vlan(u16);

impl Vlan {
    /// The number as it stands in a configuration.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl TryFrom<u16> for Vlan {
    type Error = NotAVlan;

    fn try_from(raw: u16) -> Result<Self, NotAVlan> {
        if (1..=4094).contains(&raw) { Ok(Self(raw)) } else { Err(NotAVlan) }
    }
}

impl FromStr for Vlan {
    type Err = NotAVlan;

    fn from_str(text: &str) -> Result<Self, NotAVlan> {
        text.parse::<u16>().map_err(|_| NotAVlan)?.try_into()
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number is no VLAN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAVlan;

impl fmt::Display for NotAVlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a VLAN is a number from 1 to 4094")
    }
}

impl std::error::Error for NotAVlan {}

/// A port of a device, written as its dialect writes it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Port {
    /// `Ethernet1/5`: a front-panel port of an NX-OS switch.
    Ethernet(u16),
    /// `swp5`: a front-panel port of a Linux switch.
    Swp(u16),
    /// `rep5`: the representor of the workload's fifth interface on a host or DPU.
    Rep(u16),
    /// `nic5`: a host's own interface towards its leaf.
    Nic(u16),
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(n) => write!(f, "Ethernet1/{n}"),
            Self::Swp(n) => write!(f, "swp{n}"),
            Self::Rep(n) => write!(f, "rep{n}"),
            Self::Nic(n) => write!(f, "nic{n}"),
        }
    }
}

impl FromStr for Port {
    type Err = NotAPort;

    fn from_str(text: &str) -> Result<Self, NotAPort> {
        let number = |digits: &str| digits.parse().map_err(|_| NotAPort);
        if let Some(digits) = text.strip_prefix("Ethernet1/") {
            number(digits).map(Self::Ethernet)
        } else if let Some(digits) = text.strip_prefix("swp") {
            number(digits).map(Self::Swp)
        } else if let Some(digits) = text.strip_prefix("rep") {
            number(digits).map(Self::Rep)
        } else if let Some(digits) = text.strip_prefix("nic") {
            number(digits).map(Self::Nic)
        } else {
            Err(NotAPort)
        }
    }
}

/// The text is no port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAPort;

impl fmt::Display for NotAPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a port is written Ethernet1/5, swp5, rep5 or nic5")
    }
}

impl std::error::Error for NotAPort {}

/// A bandwidth. Written with its unit: `25Gbps`, `400Mbps`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "SmolStr", into = "SmolStr")]
pub struct Rate {
    /// Bits in a second.
    pub bps: u64,
}

impl Rate {
    /// The nearest rate that a queue of the kernel can have: whole bytes a second, and at least one.
    #[must_use]
    pub fn queued(self) -> Self {
        Self { bps: (self.bps / 8).max(1) * 8 }
    }
}

const UNITS: [(&str, u64); 5] = [
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
];

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let largest =
            UNITS.iter().find(|(_, unit)| self.bps >= *unit && self.bps.is_multiple_of(*unit));
        match largest {
            Some((name, unit)) => write!(f, "{}{name}", self.bps / unit),
            None => write!(f, "{}bps", self.bps),
        }
    }
}

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let (name, unit) = UNITS.iter().find(|(name, _)| text.ends_with(name)).ok_or(NotARate)?;
        let number = text.strip_suffix(name).ok_or(NotARate)?;
        let number: u64 = number.parse().map_err(|_| NotARate)?;
        Ok(Self { bps: number.checked_mul(*unit).ok_or(NotARate)? })
    }
}

impl TryFrom<SmolStr> for Rate {
    type Error = NotARate;

    fn try_from(text: SmolStr) -> Result<Self, NotARate> {
        text.parse()
    }
}

impl From<Rate> for SmolStr {
    fn from(rate: Rate) -> Self {
        rate.to_smolstr()
    }
}

/// The text is no bandwidth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotARate;

impl fmt::Display for NotARate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bandwidth is a whole number with its unit: bps, kbps, Mbps, Gbps or Tbps")
    }
}

impl std::error::Error for NotARate {}
