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
pub struct SentFrame {
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
    Unicast(Ipv4Addr, SentPacket),
}

/// What a unicast packet says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SentPacket {
    /// Its transport protocol.
    pub protocol: Protocol,
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Whether it begins a connection; only TCP knows.
    pub opens: bool,
}

/// A frame that left the fabric.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Delivery {
    /// From this device,
    pub device: DeviceId,
    /// by this port.
    pub port: Port,
    /// How it came there.
    pub way: WalkWay,
}

/// How a frame came to the port where it was delivered.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum WalkWay {
    /// Inside one bridge domain of one device.
    BridgedLocal,
    /// Between two bridge domains of one device.
    RoutedLocal,
    /// Through a segment's tunnel.
    BridgedRemote,
    /// Through a VRF's tunnel.
    RoutedRemote,
}

impl SentPacket {
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
    pub fn send(&self, from: (DeviceId, Port), frame: &SentFrame) -> Vec<Delivery> {
        let (device, port) = from;
        let Some((machine, name)) = self.entered(from, frame) else {
            return Vec::new();
        };
        let domain = &machine.domains[name];
        let mut out = BTreeSet::new();
        let stamps = match machine.is_bare(port) {
            true => vec![Stamp { tag: None, space: None }],
            false => machine.policy.stamps(port, domain.vrf.as_ref(), frame),
        };
        for stamp in stamps {
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
        frame: &SentFrame,
    ) -> Option<(&Machine, &SmolStr)> {
        let machine = self.machine(device)?;
        let domain = machine.domain_of(port)?;
        let admitted = machine.admits(port, domain, frame);
        admitted.then_some((machine, domain))
    }

    /// The remote ways of P4.
    fn send_away(&self, sender: &Sender<'_>, out: &mut BTreeSet<Delivery>) {
        self.bridge_away(sender, sender.domain, Hop::Bridged, out);
        let (Some(name), Some(vrf)) = (sender.routed_in(), sender.vrf()) else { return };
        let To::Unicast(address, _) = sender.frame.to else { return };
        let reached = vrf.reached(address);
        if !reached.is_empty() {
            let Some(tunnel) = vrf.tunnels.values().next() else { return };
            for (vtep, vni) in reached {
                let packet = sender.wrap(*tunnel, vni, Hop::Reached);
                for other in self.routes().ends_for(sender.device, (vtep, vni)) {
                    packet.iter().for_each(|packet| self.receive(other, packet, out));
                }
            }
            return;
        }
        for by in sender.machine.connected(name, address) {
            if by != sender.name && !sender.machine.follows_exporters() {
                self.bridge_away(sender, &sender.machine.domains[by], Hop::ByNeighbour, out);
            }
        }
        let Some((own, tunnel)) = vrf.tunnel().filter(|_| sender.is_told_anything()) else {
            return;
        };
        let follows = sender.machine.follows_exporters();
        for (other, vni) in self.routes().vrfs_for(sender.device, &vrf.targets.imports) {
            if let Some(packet) = sender.wrap(tunnel, vni, Hop::Taught)
                && (follows || vni == own)
            {
                self.receive(other, &packet, out);
            }
        }
    }

    /// Sends a frame through the tunnels of a bridge domain of the sender's device.
    fn bridge_away(
        &self,
        sender: &Sender<'_>,
        by: &Domain,
        hop: Hop,
        out: &mut BTreeSet<Delivery>,
    ) {
        let routes = self.routes();
        for (vni, &tunnel) in by.tunnels.iter().filter(|_| sender.is_told_anything()) {
            let Some(targets) = sender.machine.segments.get(vni) else {
                continue;
            };
            for (other, vni) in routes.segments_for(sender.device, &targets.imports) {
                let heard = |from| !sender.machine.is_deaf_to(from);
                if let Some(packet) = sender.wrap(tunnel, vni, hop)
                    && routes.source(other, vni).is_some_and(heard)
                {
                    self.receive(other, &packet, out);
                }
            }
        }
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
            packet.sender.frame.source,
            header.tag,
        ) else {
            return;
        };
        let came = Came::Through(landed);
        let frame = Arriving { tag: header.tag, to: packet.sender.frame.to, came };
        let exit = Exit { device, machine, way: packet.hop.way() };
        for domain in exit.landing(header, packet.hop) {
            let taught = || self.taught(device, domain, packet.sender);
            let leads_to = || exit.leads_to(domain, packet.sender.frame.to);
            let goes = match packet.hop {
                Hop::Bridged => true,
                Hop::Reached => leads_to(),
                Hop::Taught => leads_to() && taught() == Some(true),
                Hop::ByNeighbour => taught().is_none(),
            };
            if goes {
                exit.leave(domain, &frame, out);
            }
        }
    }

    /// P4: whether a sender was taught a route to a bridge domain of another device that comes
    /// before its own networks, and whether that leads there. FRR tells endpoints by their segment's
    /// tunnel, and their network by that of the VRF; and nobody takes a route to a network that is
    /// its own.
    fn taught(&self, device: DeviceId, domain: &SmolStr, sender: &Sender<'_>) -> Option<bool> {
        let machine = self.machine(device)?;
        let domain = &machine.domains[domain];
        let (ours, theirs) = (sender.vrf()?, machine.vrfs.get(domain.vrf.as_ref()?)?);
        ours.tunnel()?;
        let (vni, of_network) = theirs.tunnel()?;
        let told = self.routes().vrfs_for(sender.device, &ours.targets.imports);
        if !sender.is_told_anything() || !told.contains(&(device, vni)) {
            return None;
        }
        let of_network = || {
            let is_heard = !sender.machine.is_deaf_to(of_network.local);
            machine.shows(of_network.local) && is_heard
        };
        if machine.follows_exporters() {
            return Some(of_network());
        }
        let ways = domain.tunnels.values().map(|tunnel| tunnel.local);
        let mut ways = ways.filter(|way| !sender.machine.is_deaf_to(*way));
        if ways.clone().any(|way| machine.shows(way)) {
            return Some(true);
        }
        if ways.any(|way| self.machines().any(|(_, other)| other.shows(way))) {
            return Some(false); // it goes astray
        }
        (!sender.is_connected()).then(of_network)
    }
}

/// A frame that was let in, and where.
struct Sender<'a> {
    device: DeviceId,
    machine: &'a Machine,
    name: &'a SmolStr,
    domain: &'a Domain,
    stamp: Stamp,
    frame: SentFrame,
}

impl Sender<'_> {
    /// The local ways of P4.
    fn send_locally(&self, out: &mut BTreeSet<Delivery>) {
        let came = Came::From(self.frame.source, self.stamp.space.clone());
        let frame = Arriving { tag: self.stamp.tag, to: self.frame.to, came };
        self.exit(WalkWay::BridgedLocal).leave(self.name, &frame, out);
        let exit = self.exit(WalkWay::RoutedLocal);
        for vrf in self.known_here() {
            for domain in self.machine.routed_in(vrf) {
                if domain != self.name && exit.leads_to(domain, self.frame.to) {
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
        vrf.filter(|_| unicast && !self.domain.gateways.is_empty())
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
        let sends = |tunnel: &Tunnel| self.machine.sends_from(tunnel.local);
        let leaves = self.vrf().is_some_and(|vrf| vrf.tunnels.values().any(sends));
        let lands = |vrf: &Vrf| {
            vrf.tunnels.iter().any(|(&vni, tunnel)| reached.contains(&(tunnel.local, vni)))
        };
        let vrfs = self.machine.vrfs.iter().filter(|(_, vrf)| leaves && lands(vrf));
        vrfs.map(|(name, _)| name).collect()
    }

    /// A VRF, and those of this switch whose routes it takes by targets without `evpn`.
    fn known_to<'a>(&'a self, vrf: &'a SmolStr) -> BTreeSet<&'a SmolStr> {
        let mut known = BTreeSet::from([vrf]);
        if let Some(importer) = self.machine.vrfs.get(vrf)
            && self.machine.follows_exporters()
        {
            let exporters = self.machine.vrfs.iter().filter(|(_, exporter)| {
                let exports = &exporter.leaks.exports;
                !importer.leaks.imports.is_disjoint(exports)
            });
            known.extend(exporters.map(|(name, _)| name));
        }
        known
    }

    /// Whether EVPN routes come to its device.
    fn is_told_anything(&self) -> bool {
        self.machine.speaker.advertises_evpn
    }

    /// P5.
    fn wrap(&self, tunnel: Tunnel, vni: Vni, hop: Hop) -> Option<Packet<'_>> {
        let header = Header { vni, tag: self.stamp.tag.filter(|_| tunnel.tagged) };
        self.machine.sends_from(tunnel.local).then(|| Packet {
            outer_source: tunnel.local,
            header: header.encode(),
            hop,
            sender: self,
        })
    }

    /// Whether the frame is for a network of this device.
    fn is_connected(&self) -> bool {
        match (self.routed_in(), self.frame.to) {
            (Some(vrf), To::Unicast(address, _)) => {
                !self.machine.connected(vrf, address).is_empty()
            }
            _ => false,
        }
    }

    fn exit(&self, way: WalkWay) -> Exit<'_> {
        Exit { device: self.device, machine: self.machine, way }
    }
}

/// A frame inside a tunnel.
struct Packet<'a> {
    outer_source: Ipv4Addr,
    header: [u8; 8],
    hop: Hop,
    sender: &'a Sender<'a>,
}

/// What sent a frame into a tunnel. Its inner Ethernet address tells whether it is routed where it
/// lands.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Hop {
    /// Its bridge domain.
    Bridged,
    /// A route that was set by hand.
    Reached,
    /// A route that the other device told of.
    Taught,
    /// A network of the sender's own device, in which the receiver is.
    ByNeighbour,
}

impl Hop {
    const fn way(self) -> WalkWay {
        match self {
            Self::Bridged => WalkWay::BridgedRemote,
            Self::Reached | Self::Taught | Self::ByNeighbour => WalkWay::RoutedRemote,
        }
    }
}

/// The device where a frame leaves the fabric.
struct Exit<'a> {
    device: DeviceId,
    machine: &'a Machine,
    way: WalkWay,
}

impl<'a> Exit<'a> {
    /// The bridge domains out of which a frame with this header may leave. A tunnel that does not
    /// know tags takes no tagged frame (P5).
    fn landing(&self, header: Header, hop: Hop) -> Vec<&'a SmolStr> {
        let takes = |vni: Vni, tunnel: &Tunnel| {
            vni == header.vni && (tunnel.tagged || header.tag.is_none())
        };
        if matches!(hop, Hop::Reached | Hop::Taught) {
            let vrfs = self.machine.vrfs.iter();
            vrfs.filter(|(_, vrf)| vrf.tunnels.iter().any(|(&vni, tunnel)| takes(vni, tunnel)))
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

    /// Whether what is routed to this address goes into this bridge domain. Linux sends it into the
    /// smallest network that holds it, unless a route that was set by hand takes it elsewhere.
    fn leads_to(&self, domain: &SmolStr, to: To) -> bool {
        let (Some(vrf), To::Unicast(address, _)) = (&self.machine.domains[domain].vrf, to) else {
            return false;
        };
        if self.machine.follows_exporters() {
            return true;
        }
        let stays = self.machine.vrfs.get(vrf).is_none_or(|vrf| vrf.reached(address).is_empty());
        stays && self.machine.connected(vrf, address).contains(domain)
    }

    /// Delivers the frame to the ports of a bridge domain that shall have it and may (P8).
    fn leave(&self, domain: &SmolStr, frame: &Arriving, out: &mut BTreeSet<Delivery>) {
        let vrf = self.machine.domains[domain].vrf.as_ref();
        let ports: Vec<Port> = match frame.to {
            To::Flood => self.machine.hearers(domain).collect(),
            To::Unicast(address, _) => self.machine.receivers(address, domain).collect(),
        };
        for port in ports {
            if self.machine.is_bare(port) || self.machine.policy.delivers(vrf, port, frame) {
                out.insert(Delivery { device: self.device, port, way: self.way });
            }
        }
    }
}
