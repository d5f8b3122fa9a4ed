//! What one device does: the state that its texts put it into.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Asn, Dialect, Port, RouteTarget};
use smol_str::SmolStr;
use wire::Vni;

use crate::policy::Policy;
use crate::walk::SentFrame;
use crate::{frr, linux, nxos, table};

/// A device as it behaves. Which words brought it there is forgotten.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) speaker: Speaker,
    /// The addresses of a Linux tunnel endpoint itself.
    pub(crate) own: BTreeSet<Ipv4Addr>,
    /// Its cables at which the packet program stands.
    pub(crate) uplinks: BTreeSet<Port>,
    /// Bridge domains by the device's own name for them: a VLAN or a Linux bridge.
    pub(crate) domains: BTreeMap<SmolStr, Domain>,
    pub(crate) vrfs: BTreeMap<SmolStr, Vrf>,
    /// What EVPN imports and exports for each segment.
    pub(crate) segments: BTreeMap<Vni, Targets>,
    pub(crate) ports: BTreeMap<Port, Jack>,
    pub(crate) bindings: BTreeSet<Binding>,
    /// Bridge domains whose bound sources a switch keeps, so that its ports can be guarded.
    pub(crate) kept: BTreeSet<SmolStr>,
    pub(crate) policy: Policy,
}

/// The device among its neighbours.
#[derive(Default)]
pub(crate) struct Speaker {
    pub(crate) asn: Option<Asn>,
    pub(crate) cables: BTreeMap<Ipv4Addr, Port>,
    pub(crate) neighbors: BTreeMap<Ipv4Addr, Neighbor>,
    pub(crate) announces: BTreeSet<Ipv4Addr>,
    pub(crate) advertises_evpn: bool,
    /// Routes that nothing here imports are kept. FRR keeps them by itself.
    pub(crate) retains: bool,
}

/// What is expected of a neighbour, and what is carried to it.
#[derive(Default)]
pub(crate) struct Neighbor {
    pub(crate) remote: Option<Asn>,
    pub(crate) underlay: bool,
    pub(crate) evpn: bool,
    /// Routes go there with their targets. FRR sends them by itself.
    pub(crate) told_targets: bool,
    /// Routes go there with the next hop they came with. FRR leaves it by itself.
    pub(crate) told_next_hops: bool,
    /// It is a client of this reflector.
    pub(crate) is_reflected: bool,
}

/// A bridge domain.
#[derive(Default)]
pub(crate) struct Domain {
    /// Its segments whose tunnels end here.
    pub(crate) tunnels: BTreeMap<Vni, Tunnel>,
    pub(crate) vrf: Option<SmolStr>,
    /// The networks that it is the gateway of.
    pub(crate) gateways: Vec<Ipv4Net>,
}

/// A routing table.
#[derive(Default)]
pub(crate) struct Vrf {
    pub(crate) vni: Option<Vni>,
    /// The tunnels that end in it.
    pub(crate) tunnels: BTreeMap<Vni, Tunnel>,
    pub(crate) targets: Targets,
    /// What it takes from other VRFs of a switch, and gives to them.
    pub(crate) leaks: Targets,
    /// Routes that somebody set by hand; they come before what was learnt.
    pub(crate) reaches: Vec<Reach>,
}

/// Addresses whose packets go to this tunnel endpoint with this VNI.
pub(crate) struct Reach {
    pub(crate) first: Ipv4Addr,
    pub(crate) last: Ipv4Addr,
    pub(crate) vtep: Ipv4Addr,
    pub(crate) vni: Vni,
}

/// What comes in and how it goes out.
#[derive(Default)]
pub(crate) struct Targets {
    pub(crate) imports: BTreeSet<RouteTarget>,
    pub(crate) exports: BTreeSet<RouteTarget>,
}

/// The device's end of the tunnels with one VNI.
#[derive(Clone, Copy)]
pub(crate) struct Tunnel {
    pub(crate) local: Ipv4Addr,
    pub(crate) tagged: bool,
}

/// A port towards an endpoint.
#[derive(Default)]
pub(crate) struct Jack {
    pub(crate) domain: Option<SmolStr>,
    /// Lets only bound sources pass.
    pub(crate) guarded: bool,
    /// No packet program stands here.
    pub(crate) bare: bool,
}

/// An address that is known behind a port of a bridge domain.
#[derive(Clone, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Binding {
    pub(crate) address: Ipv4Addr,
    pub(crate) port: Port,
    pub(crate) domain: SmolStr,
}

/// What the fleet's cables make of a device.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    /// Whether a packet program judges what comes by its cables.
    pub(crate) judges_cables: bool,
    /// Whether tunnels of others depend on the routes that it passes on.
    pub(crate) passes_on: bool,
}

impl Speaker {
    /// A switch tells a neighbour of routes only with their targets; and where others depend on
    /// it, what it does not keep and tell with the next hop it came with helps nobody.
    fn carry(&mut self, is_switch: bool, passes_on: bool) {
        let retains = self.retains;
        for neighbor in self.neighbors.values_mut().filter(|_| is_switch) {
            let passes = !passes_on || (retains && neighbor.told_next_hops);
            neighbor.evpn &= neighbor.told_targets && passes;
        }
    }
}

impl Machine {
    /// The device that these texts make, where the fleet has it. A cable without the packet program is down where the
    /// program judges what comes by cables.
    pub(crate) fn boot<'a>(texts: impl Iterator<Item = (Dialect, &'a str)>, fleet: Place) -> Self {
        let mut machine = Self::default();
        for (dialect, text) in texts {
            match dialect {
                Dialect::Frr => frr::load(text, &mut machine),
                Dialect::Nxos => nxos::load(text, &mut machine),
                Dialect::Linux => linux::load(text, &mut machine),
                Dialect::Table => table::load(text, &mut machine),
                // Packets know nothing of the other layers.
                _ => {}
            }
        }
        // A port may be put into a bridge domain of which nothing else is said.
        for domain in machine.ports.values().filter_map(|jack| jack.domain.clone()) {
            machine.domains.entry(domain).or_default();
        }
        machine.forget_strange_addresses();
        machine.speaker.carry(matches!(machine.policy, Policy::Groups(_)), fleet.passes_on);
        if fleet.judges_cables {
            let uplinks = &machine.uplinks;
            machine.speaker.cables.retain(|_, port| uplinks.contains(port));
        }
        machine
    }

    /// Whether routes that a VRF learnt lead into the VNI of whoever exported them. A Linux kernel
    /// sends them in the VNI of the VRF that learnt them.
    pub(crate) fn follows_exporters(&self) -> bool {
        matches!(self.policy, Policy::Groups(_))
    }

    /// P6: FRR announces no address that the kernel does not have.
    fn forget_strange_addresses(&mut self) {
        if matches!(self.policy, Policy::Program(_)) {
            let own = &self.own;
            self.speaker.announces.retain(|address| own.contains(address));
        }
    }

    /// P1: the bridge domain a port sends into and hears.
    pub(crate) fn domain_of(&self, port: Port) -> Option<&SmolStr> {
        self.ports.get(&port)?.domain.as_ref()
    }

    /// P2: whether a frame with this source may enter here.
    pub(crate) fn admits(&self, port: Port, domain: &SmolStr, from: &SentFrame) -> bool {
        let guarded = self.ports.get(&port).is_some_and(|jack| jack.guarded);
        let guarded = guarded && self.kept.contains(domain);
        let bound = || self.ports_bound(from.source, domain).any(|bound| bound == port);
        (!guarded || bound()) && (self.is_bare(port) || self.policy.admits(port, from))
    }

    /// Whether no packet program stands at a port: it marks nothing there and judges nothing.
    pub(crate) fn is_bare(&self, port: Port) -> bool {
        self.ports.get(&port).is_some_and(|jack| jack.bare)
    }

    /// Ports where unicast to this address leaves this bridge domain.
    pub(crate) fn receivers<'a>(
        &'a self,
        address: Ipv4Addr,
        domain: &'a SmolStr,
    ) -> impl Iterator<Item = Port> + 'a {
        self.ports_bound(address, domain).filter(move |&port| self.domain_of(port) == Some(domain))
    }

    /// Ports where a flooded frame leaves this bridge domain.
    pub(crate) fn hearers<'a>(&'a self, domain: &'a SmolStr) -> impl Iterator<Item = Port> + 'a {
        self.ports
            .iter()
            .filter(move |(_, jack)| jack.domain.as_ref() == Some(domain))
            .map(|(&port, _)| port)
    }

    /// The bridge domains that are routed in a VRF.
    pub(crate) fn routed_in<'a>(&'a self, vrf: &'a SmolStr) -> impl Iterator<Item = &'a SmolStr> {
        self.domains
            .iter()
            .filter(move |(_, domain)| domain.vrf.as_ref() == Some(vrf))
            .map(|(name, _)| name)
    }

    /// Where a packet for this address leaves a VRF into one of its own networks: the smallest that
    /// holds it, or several that are as small.
    pub(crate) fn connected(&self, vrf: &SmolStr, address: Ipv4Addr) -> BTreeSet<&SmolStr> {
        let gateways = self.domains.iter().filter(|(_, domain)| domain.vrf.as_ref() == Some(vrf));
        let holding: Vec<(u8, &SmolStr)> = gateways
            .flat_map(|(name, domain)| domain.gateways.iter().map(move |net| (net, name)))
            .filter(|(net, _)| net.contains(&address))
            .map(|(net, name)| (net.prefix_len(), name))
            .collect();
        let longest = holding.iter().map(|(len, _)| *len).max();
        let holding = holding.into_iter().filter(|(len, _)| Some(*len) == longest);
        holding.map(|(_, name)| name).collect()
    }

    /// FRR takes the source of a segment's tunnel for an address of its own, whoever has it, and
    /// hears no route from its own addresses.
    pub(crate) fn is_deaf_to(&self, address: Ipv4Addr) -> bool {
        let mut tunnels = self.domains.values().flat_map(|domain| domain.tunnels.values());
        self.own.contains(&address) || tunnels.any(|tunnel| tunnel.local == address)
    }

    /// Whether packets can be sent from this address, which Linux must have.
    pub(crate) fn sends_from(&self, address: Ipv4Addr) -> bool {
        self.follows_exporters() || self.own.contains(&address)
    }

    /// Whether a tunnel address of this device is known to the others.
    pub(crate) fn shows(&self, address: Ipv4Addr) -> bool {
        self.speaker.advertises_evpn && self.speaker.announces.contains(&address)
    }

    fn ports_bound(&self, address: Ipv4Addr, domain: &SmolStr) -> impl Iterator<Item = Port> {
        self.bindings
            .iter()
            .filter(move |binding| binding.address == address && binding.domain == *domain)
            .map(|binding| binding.port)
    }
}

impl Vrf {
    /// Its VNI and tunnel, if it has both and they are about the same number.
    pub(crate) fn tunnel(&self) -> Option<(Vni, Tunnel)> {
        let vni = self.vni?;
        Some((vni, *self.tunnels.get(&vni)?))
    }

    /// Where packets for this address go by routes that were set by hand: tunnel endpoint and VNI.
    pub(crate) fn reached(&self, address: Ipv4Addr) -> Vec<(Ipv4Addr, Vni)> {
        let holding = self.reaches.iter().filter(|reach| {
            let Reach { first, last, .. } = reach;
            (first..=last).contains(&&address)
        });
        holding.map(|reach| (reach.vtep, reach.vni)).collect()
    }
}

impl Targets {
    /// Takes a `route-target` statement: `import`, `export` or `both`.
    pub(crate) fn add(&mut self, direction: &str, target: &str) {
        let Ok(target) = target.parse() else { return };
        if matches!(direction, "import" | "both") {
            self.imports.insert(target);
        }
        if matches!(direction, "export" | "both") {
            self.exports.insert(target);
        }
    }
}
