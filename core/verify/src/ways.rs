//! P4 to P6: the ways between two spots, and the tunnels they need.

use std::net::Ipv4Addr;

use model::VrfName;
use read::Scope;
use wire::Vni;

use crate::device::At;
use crate::finding::Way;
use crate::world::{Spot, Tunnel, World, has_gateway, joined, segment, vrf};

/// A way, and the tunnel on it.
type OnWay = (Way, Option<Tunnel>);

impl World {
    /// P4: the bridged way between two spots.
    pub(crate) fn bridged(&self, from: Spot<'_>, to: Spot<'_>) -> Option<OnWay> {
        if from.device == to.device {
            return (from.bridge == to.bridge).then_some((Way::BridgedLocal, None));
        }
        let tunnel = self.segment_tunnel(from, to)?;
        Some((Way::BridgedRemote, Some(tunnel)))
    }

    /// P4: the routed way of a frame to this address. What a VRF reaches by a line of its own goes
    /// only where that line says.
    pub(crate) fn routed(&self, from: Spot<'_>, to: Spot<'_>, address: Ipv4Addr) -> Option<OnWay> {
        let here = from.device == to.device;
        if !has_gateway(from) || (here && from.bridge == to.bridge) {
            return None;
        }
        let (ours, theirs) = (vrf(from)?, vrf(to)?);
        let mut reaches = from.facts.reaches(ours, address).peekable();
        if reaches.peek().is_some() {
            let tunnel = self.reached(from, to, reaches)?;
            let way =
                if here { (Way::RoutedLocal, None) } else { (Way::RoutedRemote, Some(tunnel)) };
            return self.leads_to(to, theirs, address).then_some(way);
        }
        if here {
            let known = self.knows_locally(from, to) && self.leads_to(to, theirs, address);
            return known.then_some((Way::RoutedLocal, None));
        }
        let tunnel = match self.taught(from, to, address) {
            Some(next_hop) => self.vrf_tunnel(from, to, address, next_hop)?,
            None => self.by_neighbour(from, to, address)?,
        };
        Some((Way::RoutedRemote, Some(tunnel)))
    }

    /// The tunnel that a VRF's own lines about an address lead into, if the receiver is at its end.
    /// FRR has no part in it but that the underlay knows the other device.
    fn reached(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        reaches: impl Iterator<Item = (Ipv4Addr, Vni, At)>,
    ) -> Option<Tunnel> {
        let ends: Vec<(Ipv4Addr, Vni)> = reaches.map(|(vtep, vni, _)| (vtep, vni)).collect();
        let (ours, theirs) = (from.facts.vrfs.get(vrf(from)?)?, to.facts.vrfs.get(vrf(to)?)?);
        let own = *ours.tunnels.values().find(|vni| from.facts.sends(**vni))?;
        let landings = if self.is_switch(to.device) { &theirs.up } else { &theirs.tunnels };
        let mut landings = landings.values().filter(|vni| to.facts.ends(**vni));
        let (vtep, landing) = landings.find_map(|vni| {
            let end = (to.facts.tunnel_from(*vni)?, *vni);
            ends.contains(&end).then_some(end)
        })?;
        let is_known = self.underlay[from.device.index()] == self.underlay[to.device.index()]
            && to.facts.is_known(vtep);
        (from.device == to.device || is_known).then_some(Tunnel { own, landing })
    }

    /// The tunnel address that the sender's VRF was taught for an address of the receiver's, if that
    /// comes before its own networks. FRR tells an address by its segment's tunnel, and the network
    /// besides, which nobody takes who is in it.
    fn taught(&self, from: Spot<'_>, to: Spot<'_>, address: Ipv4Addr) -> Option<Ipv4Addr> {
        let (ours, theirs) = (vrf(from)?, vrf(to)?);
        let landing = self.vrf_vni(from, ours).and(self.vrf_vni(to, theirs))?;
        joined(from, &Scope::Vrf(ours.clone()), to, &Scope::Vrf(theirs.clone()))?;
        if !self.hears(from, to) {
            return None;
        }
        let of_network = to.facts.tunnel_from(landing);
        if self.is_switch(to.device) {
            return of_network;
        }
        let tunnel = segment(to).filter(|vni| to.facts.ends(*vni));
        let way = tunnel.and_then(|vni| to.facts.tunnel_from(vni));
        let way = way.filter(|way| !from.facts.is_deaf_to(*way));
        let is_announced = |way: &Ipv4Addr| {
            to.facts.announced(*way) || self.devices.iter().any(|other| other.announced(*way))
        };
        let is_apart = from.facts.connected(ours, address).is_empty();
        way.filter(is_announced).or_else(|| of_network.filter(|_| is_apart))
    }

    /// Between the VRFs of two spots, if the receiver's device is at the next hop. Linux sends what
    /// it learnt in the VNI of the VRF that learnt it.
    fn vrf_tunnel(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        address: Ipv4Addr,
        next_hop: Ipv4Addr,
    ) -> Option<Tunnel> {
        let (own, landing) = (self.vrf_vni(from, vrf(from)?)?, self.vrf_vni(to, vrf(to)?)?);
        let lands = own == landing || self.is_switch(from.device);
        let tunnel = Tunnel { own, landing };
        (lands && self.leads_to(to, vrf(to)?, address) && self.stands(from, to, tunnel, next_hop))
            .then_some(tunnel)
    }

    /// Where no route is taught, Linux sends what is for one of its own networks into that bridge
    /// domain, from where it is bridged.
    fn by_neighbour(&self, from: Spot<'_>, to: Spot<'_>, address: Ipv4Addr) -> Option<Tunnel> {
        if self.is_switch(from.device) {
            return None;
        }
        let bridges = from.facts.connected(vrf(from)?, address).into_iter();
        let others = bridges.filter(|bridge| *bridge != from.bridge);
        others.map(|bridge| Spot { bridge, ..from }).find_map(|by| self.segment_tunnel(by, to))
    }

    /// Between the segments of two bridge domains of different devices.
    fn segment_tunnel(&self, from: Spot<'_>, to: Spot<'_>) -> Option<Tunnel> {
        let (own, landing) = (segment(from)?, segment(to)?);
        joined(from, &Scope::Segment(own), to, &Scope::Segment(landing))?;
        let tunnel = Tunnel { own, landing };
        let next_hop = to.facts.tunnel_from(landing)?;
        self.stands(from, to, tunnel, next_hop).then_some(tunnel)
    }

    /// Whether what is for this address in a VRF goes into the receiver's bridge domain. Linux sends
    /// it into the smallest network that holds it, unless a line of the VRF's own leads it away.
    fn leads_to(&self, to: Spot<'_>, vrf: &VrfName, address: Ipv4Addr) -> bool {
        let is_led_away = || to.facts.reaches(vrf, address).next().is_some();
        let is_connected = || to.facts.connected(vrf, address).contains(&to.bridge);
        self.is_switch(to.device) || (is_connected() && !is_led_away())
    }

    /// Whether a VRF of a device knows the routes of another one of the same device: on a switch by
    /// targets without `evpn`. On Linux each is a world of its own.
    fn knows_locally(&self, from: Spot<'_>, to: Spot<'_>) -> bool {
        let (Some(ours), Some(theirs)) = (vrf(from), vrf(to)) else {
            return false;
        };
        ours == theirs || (self.is_switch(from.device) && from.facts.leaks(ours, theirs).is_some())
    }

    /// The VNI of a VRF's routed traffic. On Linux, routing and tunnel device must agree about it;
    /// on a switch it must be up.
    fn vrf_vni(&self, spot: Spot<'_>, vrf: &VrfName) -> Option<Vni> {
        let lines = spot.facts.vrfs.get(vrf)?;
        let vni = lines.vni.first()?;
        let carrying = if self.is_switch(spot.device) { &lines.up } else { &lines.tunnels };
        carrying.values().any(|held| held == vni).then_some(*vni)
    }

    /// P6: whether EVPN routes of the receiver's device come to the sender's.
    fn hears(&self, from: Spot<'_>, to: Spot<'_>) -> bool {
        self.evpn[from.device.index()] == self.evpn[to.device.index()]
            && !from.facts.advertises.is_empty()
    }

    /// P5 and P6: whether the sender's device hears of the receiver's tunnel and can send into it.
    /// FRR hears nothing from an address that it takes for its own.
    fn stands(
        &self,
        from: Spot<'_>,
        to: Spot<'_>,
        Tunnel { own, landing }: Tunnel,
        next_hop: Ipv4Addr,
    ) -> bool {
        self.hears(from, to)
            && from.facts.sends(own)
            && to.facts.ends(landing)
            && to.facts.announced(next_hop)
            && !from.facts.is_deaf_to(next_hop)
    }
}
