//! Bridges that let functions below them reach each other past the IOMMU.
//!
//! A request from one function to another is routed by the first port on its way that knows both.
//! Access Control Services (PCI Express Base Specification, section 6.12) make a port send it up to
//! the IOMMU instead. The kernel forms IOMMU groups from that when it starts; the bits can be
//! changed afterwards, so they are read here and not believed.

use std::collections::{BTreeMap, BTreeSet};

use model::PciAddress;

use super::files::{Files, Unread};
use super::function::PciFunction;

/// What a port must do: validate sources, redirect requests and completions, forward upstream.
const NEEDED: u16 = 0x01 | 0x04 | 0x08 | 0x10;
/// The extended capability (section 7.7.8), and where in it the control register stands.
const ACS: u16 = 0x000d;
const ACS_CONTROL: usize = 6;
/// The PCI Express capability, and where in it the type of port stands.
const EXPRESS: u8 = 0x10;
const EXPRESS_TYPE: usize = 2;
/// Without being root, nothing after this can be read.
const HEADER: usize = 64;
const EXTENDED: usize = 256;
/// More capabilities do not fit; a list that is longer runs in a circle.
const MOST_CAPABILITIES: usize = 960;

/// The bridges that join functions of ours, and which.
pub(super) fn beneath(
    files: &Files<'_>,
    functions: &BTreeMap<PciAddress, PciFunction>,
) -> Result<BTreeMap<PciAddress, BTreeSet<PciAddress>>, Unread> {
    let ours = || functions.iter().filter(|(_, function)| function.is_ours());
    let mut ports = BTreeMap::new();
    let mut joints = BTreeSet::new();
    for (_, function) in ours() {
        for (depth, bridge) in function.above.iter().enumerate() {
            if !ports.contains_key(bridge) {
                ports.insert(*bridge, Port::read(files, *bridge)?);
            }
            let above = depth.checked_sub(1).map(|above| function.above[above]);
            joints.extend(ports[bridge].joint(*bridge, above));
        }
    }
    let below = |joint: PciAddress| {
        let below = ours().filter(|(_, function)| function.above.contains(&joint));
        let below: BTreeSet<PciAddress> = below.map(|(address, _)| *address).collect();
        (below.len() > 1).then_some((joint, below))
    };
    Ok(joints.into_iter().filter_map(below).collect())
}

/// How a bridge treats what comes from below.
#[derive(Debug, Eq, PartialEq)]
enum Port {
    /// It sends everything up.
    Redirects,
    /// The inner side of a switch: the ports below it decide.
    Upstream,
    /// A port of a switch that lets requests go to its sisters.
    OpenDownstream,
    /// A bridge or root port below which all can reach each other.
    Open,
}

impl Port {
    fn read(files: &Files<'_>, bridge: PciAddress) -> Result<Self, Unread> {
        let file = format!("sys/bus/pci/devices/{bridge}/config");
        let path = || files.path(&file);
        let Some(config) = files.bytes(&file)? else {
            let why = "it says whether the bridge keeps apart what is below it";
            return Err(Unread::Missing { path: path(), why });
        };
        if config.len() <= HEADER {
            let said = format!("{} bytes", config.len());
            let why = "the capabilities are missing; run this as root";
            return Err(Unread::Strange { path: path(), said, why });
        }
        Ok(Self::of(&config))
    }

    fn of(config: &[u8]) -> Self {
        let Some(express) = capability(config, EXPRESS) else {
            return Self::Open;
        };
        let kind = word(config, express + EXPRESS_TYPE) >> 4 & 0xf;
        let control = extended(config, ACS).map_or(0, |acs| word(config, acs + ACS_CONTROL));
        let redirects = control & NEEDED == NEEDED;
        match kind {
            // A root port, or a port of a switch away from the root.
            4 | 6 if redirects => Self::Redirects,
            5 => Self::Upstream,
            6 => Self::OpenDownstream,
            _ => Self::Open,
        }
    }

    /// The bridge below which functions reach each other because of this one.
    fn joint(&self, own: PciAddress, above: Option<PciAddress>) -> Option<PciAddress> {
        match self {
            Self::Redirects | Self::Upstream => None,
            Self::OpenDownstream => above.or(Some(own)),
            Self::Open => Some(own),
        }
    }
}

/// Where a capability stands (PCI Local Bus Specification, section 6.7).
fn capability(config: &[u8], id: u8) -> Option<usize> {
    let byte = |at: usize| config.get(at).copied().unwrap_or_default();
    let mut at = usize::from(byte(0x34) & !3);
    for _ in 0..MOST_CAPABILITIES {
        match at {
            0 => return None,
            _ if byte(at) == id => return Some(at),
            _ => at = usize::from(byte(at + 1) & !3),
        }
    }
    None
}

/// Where an extended capability stands (PCI Express Base Specification, section 7.6.3).
fn extended(config: &[u8], id: u16) -> Option<usize> {
    let mut at = EXTENDED;
    for _ in 0..MOST_CAPABILITIES {
        if at < EXTENDED {
            return None;
        }
        if word(config, at) == id {
            return Some(at);
        }
        at = usize::from(word(config, at + 2) >> 4 & !3);
    }
    None
}

/// Sixteen bits, the lower ones first; what cannot be read is zero.
fn word(config: &[u8], at: usize) -> u16 {
    let byte = |at: usize| config.get(at).copied().unwrap_or_default();
    u16::from_le_bytes([byte(at), byte(at + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bridge with an Express capability of this type, and ACS with this control if there is one.
    fn port(kind: u8, control: Option<u16>) -> Port {
        let mut config = vec![0; 4096];
        config[0x34] = 0x40;
        config[0x40..0x44].copy_from_slice(&[0x01, 0x50, 0, 0]);
        config[0x50..0x54].copy_from_slice(&[EXPRESS, 0, kind << 4 | 2, 0]);
        if let Some(control) = control {
            config[0x100..0x104].copy_from_slice(&[0x01, 0, 0x01, 0x20]);
            config[0x200..0x204].copy_from_slice(&[0x0d, 0, 0x01, 0]);
            config[0x206..0x208].copy_from_slice(&control.to_le_bytes());
        }
        Port::of(&config)
    }

    #[test]
    fn a_port_keeps_apart_only_with_every_needed_bit() {
        for kind in [4, 6] {
            assert_eq!(port(kind, Some(0x1d)), Port::Redirects);
            assert_eq!(port(kind, Some(0x5f)), Port::Redirects);
            for bit in [0x01, 0x04, 0x08, 0x10] {
                assert_ne!(port(kind, Some(0x1d & !bit)), Port::Redirects, "without {bit:#x}");
            }
            assert_ne!(port(kind, None), Port::Redirects);
        }
        assert_eq!(port(5, None), Port::Upstream);
        assert_eq!(port(6, None), Port::OpenDownstream);
        // A bridge to conventional PCI has a bus below it, on which all hear each other.
        assert_eq!(port(7, Some(0x1d)), Port::Open);
        assert_eq!(Port::of(&[0; 256]), Port::Open);
    }

    #[test]
    fn a_list_that_runs_in_a_circle_ends() {
        let mut config = vec![0; 4096];
        config[0x34] = 0x40;
        config[0x41] = 0x40;
        config[0x102..0x104].copy_from_slice(&[0x00, 0x10]);
        assert_eq!(Port::of(&config), Port::Open);
        assert_eq!(extended(&config, ACS), None);
    }
}
