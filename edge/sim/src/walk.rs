//! The way of one frame through the fabric.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use model::{DeviceId, Port, Protocol, Service};
use smol_str::SmolStr;
use wire::{Header, Mac, Vni};

use crate::Fabric;
use crate::machine::{Domain, Machine, Tunnel, Vrf};
use crate::policy::{Arriving, Came, Stamp};

/// What an endpoint sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame {
    /// The address it says it comes from.
    pub source: Ipv4Addr,
    /// The Ethernet address it says it comes from; none is whichever the device wants to see.
    pub mac: Option<Mac>,
    /// Where it shall go.
    pub to: To,
}

/// Where a frame shall go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum To {
    /// To everybody in the bridge domain.
    Flood,
    /// To one address, saying this.
    Unicast(Ipv4Addr, Talk),
}

/// What a unicast packet says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Talk {
    /// Its transport protocol.
    pub protocol: Protocol,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

/// A frame that left the fabric.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Delivery {
    /// From this device,
    pub device: DeviceId,
    /// by this port.
    pub port: Port,
    /// How it came there.
    pub way: Way,
}

/// How a frame came to the port where it was delivered.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Way {
    /// Inside one bridge domain of one device.
    BridgedLocal,
    /// Between two bridge domains of one device.
    RoutedLocal,
    /// Through a segment's tunnel.
    BridgedRemote,
    /// Through a VRF's tunnel.
    RoutedRemote,
}

impl Talk {
    /// Whether it asks at this service.
    #[must_use]
    pub fn asks(self, service: Service) -> bool {
        self.protocol == service.protocol && self.destination_port == service.port
    }

    /// Whether it answers from this service.
    #[must_use]
    pub fn answers(self, service: Service) -> bool {
        self.protocol == service.protocol && self.source_port == service.port
    }
}

impl Fabric {
    /// Sends a frame into a port and tells where it leaves the fabric, in order and each place
    /// once. Where a text leaves two outcomes possible, both happen.
    #[must_use]
    pub fn send(&self, from: (DeviceId, Port), frame: &Frame) -> Vec<Delivery> {
        let (device, port) = from;
        let Some((machine, name)) = self.entered(from, frame) else {
            return Vec::new();
        };
        let domain = &machine.domains[name];
        let mut out = BTreeSet::new();
        for stamp in machine.policy.stamps(port, domain.vrf.as_ref(), frame) {
            let sender = Sender { device, machine, name, domain, stamp, frame: *frame };
            sender.send_locally(&mut out);
            if machine.policy.lets_out(&sender.stamp, frame.to) {
                self.send_away(&sender, &mut out);
            }
        }
        out.retain(|delivery| (delivery.device, delivery.port) != from);
        out.into_iter().collect()
    }

    /// The bridge domain that a frame enters at this port, if it gets in at all (P1 and P2).
    pub(crate) fn entered(
        &self,
        (device, port): (DeviceId, Port),
        frame: &Frame,
    ) -> Option<(&Machine, &SmolStr)> {
        let machine = self.machine(device)?;
        let domain = machine.domain_of(port)?;
        let admitted = machine.admits(port, domain, frame);
        admitted.then_some((machine, domain))
    }

    /// The remote ways of P4.
    fn send_away(&self, sender: &Sender<'_>, out: &mut BTreeSet<Delivery>) {
        let routes = self.routes();
        for (vni, &tunnel) in &sender.domain.tunnels {
            let Some(targets) = sender.machine.segments.get(vni) else {
                continue;
            };
            for (other, vni) in routes.segments_for(sender.device, &targets.imports) {
                if let Some(packet) = sender.wrap(tunnel, vni, Way::BridgedRemote) {
                    self.receive(other, &packet, out);
                }
            }
        }
        for (other, vni) in self.routed_away(sender) {
            if let Some((_, tunnel)) = sender.vrf().and_then(Vrf::tunnel)
                && let Some(packet) = sender.wrap(tunnel, vni, Way::RoutedRemote)
            {
                self.receive(other, &packet, out);
            }
        }
    }

    /// The other devices that a routed frame goes to, each with the VNI it carries.
    fn routed_away(&self, sender: &Sender<'_>) -> BTreeSet<(DeviceId, Vni)> {
        let Some(vrf) = sender.vrf() else {
            return BTreeSet::new();
        };
        let routes = self.routes();
        let reached = sender.reached();
        if !reached.is_empty() {
            let ends = reached.into_iter().flat_map(|end| {
                let devices = routes.ends_for(sender.device, end).into_iter();
                devices.map(move |device| (device, end.1))
            });
            return ends.collect();
        }
        let own = vrf.tunnel().map(|(vni, _)| vni);
        let learnt = routes.vrfs_for(sender.device, &vrf.targets.imports).into_iter();
        let follows = sender.machine.follows_exporters();
        learnt.filter(|(_, vni)| follows || Some(*vni) == own).collect()
    }

    /// P7: unwraps the packet and sends it on from where it lands.
    fn receive(&self, device: DeviceId, packet: &Packet<'_>, out: &mut BTreeSet<Delivery>) {
        let (Some(machine), Ok(header)) = (self.machine(device), Header::decode(packet.header))
        else {
            return;
        };
        let Some(landed) = machine.policy.lets_in(
            header.vni,
            packet.outer_source,
            packet.inner.source,
            header.tag,
        ) else {
            return;
        };
        let came = Came::Through(landed);
        let frame = Arriving { tag: header.tag, to: packet.inner.to, came };
        let exit = Exit { device, machine, way: packet.way };
        for domain in exit.landing(header) {
            if self.is_told(machine, &machine.domains[domain], packet) {
                exit.leave(domain, &frame, out);
            }
        }
    }

    /// P4: whether what a device told of its endpoints in a bridge domain led a packet there. FRR
    /// tells them by their segment's tunnel, which comes before the network's route; and nobody
    /// takes a route to a network that is its own.
    fn is_told(&self, machine: &Machine, domain: &Domain, packet: &Packet<'_>) -> bool {
        let Some(learner) = packet.learner else { return true };
        let mut ways = domain.tunnels.values().map(|tunnel| tunnel.local);
        if machine.follows_exporters() || ways.clone().any(|way| machine.shows(way)) {
            return true;
        }
        let is_astray = ways.any(|way| {
            !learner.machine.shows(way) && self.machines().any(|(_, other)| other.shows(way))
        });
        !is_astray && !learner.is_connected()
    }
}

/// A frame that was let in, and where.
struct Sender<'a> {
    device: DeviceId,
    machine: &'a Machine,
    name: &'a SmolStr,
    domain: &'a Domain,
    stamp: Stamp,
    frame: Frame,
}

impl Sender<'_> {
    /// The local ways of P4.
    fn send_locally(&self, out: &mut BTreeSet<Delivery>) {
        let came = Came::From(self.frame.source, self.stamp.space.clone());
        let frame = Arriving { tag: self.stamp.tag, to: self.frame.to, came };
        self.exit(Way::BridgedLocal).leave(self.name, &frame, out);
        let exit = self.exit(Way::RoutedLocal);
        for vrf in self.known_here() {
            for domain in self.machine.routed_in(vrf) {
                if domain != self.name {
                    exit.leave(domain, &frame, out);
                }
            }
        }
    }

    /// The VRF that routes this frame, if any does: it must be for one address, and its bridge
    /// domain must have a gateway and a VRF.
    fn routed_in(&self) -> Option<&SmolStr> {
        let unicast = matches!(self.frame.to, To::Unicast(..));
        let vrf = self.domain.vrf.as_ref();
        vrf.filter(|_| unicast && self.domain.gateway.is_some())
    }

    fn vrf(&self) -> Option<&Vrf> {
        self.machine.vrfs.get(self.routed_in()?)
    }

    /// Where routes that were set by hand send the frame.
    fn reached(&self) -> Vec<(Ipv4Addr, Vni)> {
        match (self.vrf(), self.frame.to) {
            (Some(vrf), To::Unicast(address, _)) => vrf.reached(address),
            _ => Vec::new(),
        }
    }

    /// The VRFs of this device that know where a routed frame goes.
    fn known_here(&self) -> BTreeSet<&SmolStr> {
        let Some(vrf) = self.routed_in() else {
            return BTreeSet::new();
        };
        let reached = self.reached();
        if reached.is_empty() {
            return self.known_to(vrf);
        }
        // By its own tunnel out and in again.
        let leaves = self.vrf().is_some_and(|vrf| vrf.tunnel().is_some());
        let lands = |vrf: &Vrf| {
            vrf.tunnel().is_some_and(|(vni, tunnel)| reached.contains(&(tunnel.local, vni)))
        };
        let vrfs = self.machine.vrfs.iter().filter(|(_, vrf)| leaves && lands(vrf));
        vrfs.map(|(name, _)| name).collect()
    }

    /// A VRF, and those of this device whose routes it imports.
    fn known_to<'a>(&'a self, vrf: &'a SmolStr) -> BTreeSet<&'a SmolStr> {
        let mut known = BTreeSet::from([vrf]);
        if let Some(importer) = self.machine.vrfs.get(vrf)
            && self.machine.follows_exporters()
        {
            let exporters = self.machine.vrfs.iter().filter(|(_, exporter)| {
                let exports = &exporter.targets.exports;
                !importer.targets.imports.is_disjoint(exports)
            });
            known.extend(exporters.map(|(name, _)| name));
        }
        known
    }

    /// P5; nothing comes of it unless this device shows itself to the others (P6).
    fn wrap(&self, tunnel: Tunnel, vni: Vni, way: Way) -> Option<Packet<'_>> {
        let header = Header { vni, tag: self.stamp.tag.filter(|_| tunnel.tagged) };
        let is_learnt = way == Way::RoutedRemote && self.reached().is_empty();
        self.machine.shows(tunnel.local).then(|| Packet {
            outer_source: tunnel.local,
            header: header.encode(),
            inner: self.frame,
            way,
            learner: is_learnt.then_some(self),
        })
    }

    /// Whether the frame is for a network of this device.
    fn is_connected(&self) -> bool {
        match (self.routed_in(), self.frame.to) {
            (Some(vrf), To::Unicast(address, _)) => self.machine.is_connected(vrf, address),
            _ => false,
        }
    }

    fn exit(&self, way: Way) -> Exit<'_> {
        Exit { device: self.device, machine: self.machine, way }
    }
}

/// A frame inside a tunnel. The inner Ethernet address tells a bridged one from a routed one.
struct Packet<'a> {
    outer_source: Ipv4Addr,
    header: [u8; 8],
    inner: Frame,
    way: Way,
    /// Who sent it where the receiver's device told to.
    learner: Option<&'a Sender<'a>>,
}

/// The device where a frame leaves the fabric.
struct Exit<'a> {
    device: DeviceId,
    machine: &'a Machine,
    way: Way,
}

impl<'a> Exit<'a> {
    /// The bridge domains out of which a frame with this header may leave. A tunnel that does not
    /// know tags takes no tagged frame (P5).
    fn landing(&self, header: Header) -> Vec<&'a SmolStr> {
        let takes = |vni: Vni, tunnel: &Tunnel| {
            vni == header.vni && (tunnel.tagged || header.tag.is_none())
        };
        if self.way == Way::RoutedRemote {
            let vrfs = self.machine.vrfs.iter();
            vrfs.filter(|(_, vrf)| vrf.tunnel().is_some_and(|(vni, tunnel)| takes(vni, &tunnel)))
                .flat_map(|(vrf, _)| self.machine.routed_in(vrf))
                .collect()
        } else {
            let domains = self.machine.domains.iter();
            domains
                .filter(|(_, domain)| {
                    domain.tunnels.iter().any(|(&vni, tunnel)| takes(vni, tunnel))
                })
                .map(|(name, _)| name)
                .collect()
        }
    }

    /// Delivers the frame to the ports of a bridge domain that shall have it and may (P8).
    fn leave(&self, domain: &SmolStr, frame: &Arriving, out: &mut BTreeSet<Delivery>) {
        let vrf = self.machine.domains[domain].vrf.as_ref();
        let ports: Vec<Port> = match frame.to {
            To::Flood => self.machine.hearers(domain).collect(),
            To::Unicast(address, _) => self.machine.receivers(address, domain).collect(),
        };
        for port in ports {
            if self.machine.policy.delivers(vrf, port, frame) {
                out.insert(Delivery { device: self.device, port, way: self.way });
            }
        }
    }
}
