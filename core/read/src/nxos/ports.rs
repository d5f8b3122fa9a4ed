//! Ports of dialect `nxos`: what all lines of a port come to, and what is so without a line.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::Port;

use super::Reader;
use super::values::{self, HOST_MTU, Why};
use crate::lines::Line;
use crate::{Bridge, Fact};

/// The ports of a text, and what is so where a port's lines are silent.
#[derive(Default)]
pub(super) struct Ports<'a> {
    /// Whether a port is routed where no line says which.
    pub(super) routed_by_default: bool,
    /// Whether a bridged port is down where no line says which.
    pub(super) shut_by_default: bool,
    /// The VLANs that there are, from the first of each run to its last.
    pub(super) vlans: Vec<(u16, u16)>,
    ports: BTreeMap<Port, Lines<'a>>,
}

/// What the lines of one port say together.
#[derive(Default)]
pub(super) struct Lines<'a> {
    /// Where its block is opened first.
    head: Option<Line<'a>>,
    /// Whether a line says that it is routed, or bridged.
    is_routed: Option<bool>,
    pub(super) is_up: bool,
    pub(super) is_shut: bool,
    /// The VLANs it is said to be in.
    pub(super) access: Vec<(Line<'a>, Bridge)>,
    mtu: Option<(Line<'a>, u32)>,
    address: Option<(Line<'a>, Ipv4Addr)>,
}

impl<'a> Ports<'a> {
    pub(super) fn opens(&mut self, port: Port, line: Line<'a>) {
        self.of(port).head.get_or_insert(line);
    }

    pub(super) fn of(&mut self, port: Port) -> &mut Lines<'a> {
        self.ports.entry(port).or_default()
    }

    /// Says what each port is, in its order.
    pub(super) fn say(&self, reader: &mut Reader<'a>) {
        let mut told = BTreeSet::new();
        for (&port, lines) in &self.ports {
            let Some(head) = lines.head else { continue };
            if lines.is_routed.unwrap_or(self.routed_by_default) {
                lines.say_routed(port, head, reader);
            } else {
                let is_down = lines.is_shut || (self.shut_by_default && !lines.is_up);
                lines.say_bridged(port, head, is_down, reader);
                let absent = lines.access.iter().filter(|(_, vlan)| !self.has(vlan));
                for (line, vlan) in absent.filter(|(_, vlan)| told.insert(vlan)) {
                    let why = "ports are in a VLAN that is not there, and dead";
                    reader.lacks_of(*line, format!("vlan {vlan}"), why);
                }
            }
        }
    }

    /// Whether there is such a VLAN; the first one always is.
    fn has(&self, vlan: &Bridge) -> bool {
        let number = vlan.0.parse().unwrap_or_default();
        number == 1 || self.vlans.iter().any(|(first, last)| (*first..=*last).contains(&number))
    }
}

impl<'a> Lines<'a> {
    /// A port is bridged or routed.
    pub(super) fn layer(&mut self, is_routed: bool) -> Result<(), Why> {
        match *self.is_routed.get_or_insert(is_routed) {
            first if first == is_routed => Ok(()),
            _ => Err("the port is said to be bridged and to be routed"),
        }
    }

    /// A cable's address. A second one would replace the first.
    pub(super) fn address(&mut self, line: Line<'a>, host: Ipv4Addr) -> Result<(), Why> {
        match *self.address.get_or_insert((line, host)) {
            (_, first) if first == host => Ok(()),
            _ => Err("the port has another address already"),
        }
    }

    /// How long its frames may be. A second line would replace the first.
    pub(super) fn mtu(&mut self, line: Line<'a>, bytes: u32) -> Result<(), Why> {
        match *self.mtu.get_or_insert((line, bytes)) {
            (_, first) if first == bytes => Ok(()),
            _ => Err("the port has another MTU already"),
        }
    }

    /// A port with an address is a cable of the fabric. Routed ports are down until they are told.
    fn say_routed(&self, port: Port, head: Line<'a>, reader: &mut Reader<'a>) {
        for (line, _) in &self.access {
            reader.unknown(*line, "a routed port is in no VLAN");
        }
        let Some((line, address)) = self.address else { return };
        if self.is_up || self.is_shut {
            reader.claim(line, Fact::CableAddress { port, address });
        } else {
            reader.lacks(head, "no shutdown", "a routed port is down until it is told");
        }
        match self.mtu {
            Some((line, mtu)) if mtu < values::CABLE_MTU => {
                reader.claim(line, Fact::ShortFrames { port, mtu });
            }
            Some(_) => {}
            None => reader.lacks(head, "mtu 9216", "frames of more than 1,500 bytes are lost"),
        }
    }

    /// A bridged port is in VLAN 1 until it is told otherwise.
    fn say_bridged(&self, port: Port, head: Line<'a>, is_down: bool, reader: &mut Reader<'a>) {
        if self.address.is_some() {
            reader.lacks(head, "no switchport", "a bridged port has no address: its cable is dead");
        }
        if is_down && !self.is_shut {
            reader.claim(head, Fact::Down(port));
        }
        for (line, bridge) in &self.access {
            reader.claim(*line, Fact::Attached { port, bridge: bridge.clone() });
        }
        if self.access.is_empty() {
            if !is_down && self.address.is_none() {
                let bridge = Bridge(DEFAULT_VLAN.into());
                reader.claim(head, Fact::Attached { port, bridge });
            }
            return;
        }
        match self.mtu {
            Some((line, mtu)) if mtu > HOST_MTU => {
                reader.claim(line, Fact::LongFrames { port, mtu });
            }
            Some((line, mtu)) if mtu < HOST_MTU => {
                reader.claim(line, Fact::ShortFrames { port, mtu });
            }
            Some(_) => {}
            None => reader.lacks(head, "mtu 9166", "frames of more than 1,500 bytes are lost"),
        }
    }
}

/// The VLAN of every bridged port that no line puts into another one.
const DEFAULT_VLAN: &str = "1";
