//! What devices tell each other: P6, and who exports what.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::{DeviceId, Port, RouteTarget};
use wire::Vni;

use crate::machine::{Machine, Neighbor, Speaker};

/// What the sessions between all devices carry.
#[derive(Default)]
pub(crate) struct Routes {
    /// Devices with the same number know the way to each other's tunnel addresses.
    underlay: Islands,
    /// Devices with the same number hear each other's EVPN routes.
    evpn: Islands,
    segments: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    vrfs: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    /// Devices where the tunnels of a VRF end, by tunnel address and VNI.
    ends: BTreeMap<(Ipv4Addr, Vni), BTreeSet<DeviceId>>,
    /// What tunnels of each VNI of each device come from.
    sources: BTreeMap<(DeviceId, Vni), Ipv4Addr>,
}

/// Devices by the island they are on.
type Islands = BTreeMap<DeviceId, usize>;
/// Both ends of every cable, by either end.
pub(crate) type Cables = BTreeMap<(DeviceId, Port), (DeviceId, Port)>;

impl Routes {
    pub(crate) fn learn(machines: &BTreeMap<DeviceId, &Machine>, cables: &Cables) -> Self {
        let sessions = sessions(machines, cables);
        let underlay = islands(machines, &sessions, |session| session.underlay);
        // A route to where a device knows no way is passed on by nobody.
        let evpn = islands(machines, &sessions, |session| {
            session.evpn && underlay[&session.from] == underlay[&session.to]
        });
        let mut routes = Self { underlay, evpn, ..Self::default() };
        for (&device, machine) in machines {
            routes.export(device, machine);
        }
        routes
    }

    /// Segments of other devices whose routes a segment of this device takes.
    pub(crate) fn segments_for(
        &self,
        device: DeviceId,
        imports: &BTreeSet<RouteTarget>,
    ) -> BTreeSet<(DeviceId, Vni)> {
        self.reachable(device, imports, &self.segments)
    }

    /// VRFs of other devices, by their VNI, whose routes a VRF of this device takes.
    pub(crate) fn vrfs_for(
        &self,
        device: DeviceId,
        imports: &BTreeSet<RouteTarget>,
    ) -> BTreeSet<(DeviceId, Vni)> {
        self.reachable(device, imports, &self.vrfs)
    }

    /// Other devices where packets to this tunnel address with this VNI of a VRF arrive.
    pub(crate) fn ends_for(&self, device: DeviceId, end: (Ipv4Addr, Vni)) -> Vec<DeviceId> {
        let others = self.ends.get(&end).into_iter().flatten().copied();
        let known = |other: &DeviceId| self.underlay.get(&device) == self.underlay.get(other);
        others.filter(|other| *other != device && known(other)).collect()
    }

    /// What tunnels with this VNI of a device come from.
    pub(crate) fn source(&self, device: DeviceId, vni: Vni) -> Option<Ipv4Addr> {
        self.sources.get(&(device, vni)).copied()
    }

    fn reachable(
        &self,
        device: DeviceId,
        imports: &BTreeSet<RouteTarget>,
        exporters: &BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    ) -> BTreeSet<(DeviceId, Vni)> {
        let heard = |other: &DeviceId| self.evpn.get(&device) == self.evpn.get(other);
        imports
            .iter()
            .filter_map(|target| exporters.get(target))
            .flatten()
            .filter(|(other, _)| *other != device && heard(other))
            .copied()
            .collect()
    }

    /// Only what ends in a tunnel address that the underlay knows can be reached by others.
    fn export(&mut self, device: DeviceId, machine: &Machine) {
        let speaker = &machine.speaker;
        for (&vni, tunnel) in machine.domains.values().flat_map(|domain| &domain.tunnels) {
            let Some(targets) = machine.segments.get(&vni) else {
                continue;
            };
            if machine.shows(tunnel.local) {
                self.sources.insert((device, vni), tunnel.local);
                for &target in &targets.exports {
                    self.segments.entry(target).or_default().insert((device, vni));
                }
            }
        }
        for vrf in machine.vrfs.values() {
            // Packets that a hand sent there need no route of EVPN.
            for (&vni, tunnel) in &vrf.tunnels {
                if speaker.announces.contains(&tunnel.local) {
                    self.ends.entry((tunnel.local, vni)).or_default().insert(device);
                }
            }
            if let Some((vni, _)) = vrf.tunnel()
                && speaker.advertises_evpn
            {
                for &target in &vrf.targets.exports {
                    self.vrfs.entry(target).or_default().insert((device, vni));
                }
            }
        }
    }
}

/// What a device exchanges with another one.
struct Session {
    from: DeviceId,
    to: DeviceId,
    underlay: bool,
    evpn: bool,
}

/// Numbers the sets of devices that chains of such sessions hold together.
fn islands(
    machines: &BTreeMap<DeviceId, &Machine>,
    sessions: &BTreeMap<DeviceId, Vec<Session>>,
    counts: impl Fn(&&Session) -> bool,
) -> Islands {
    let mut islands = Islands::new();
    for (island, &first) in machines.keys().enumerate() {
        let mut found = vec![first];
        while let Some(device) = found.pop() {
            if let std::collections::btree_map::Entry::Vacant(place) = islands.entry(device) {
                place.insert(island);
                let own = sessions.get(&device).into_iter().flatten();
                found.extend(own.filter(&counts).map(|session| session.to));
            }
        }
    }
    islands
}

/// The sessions over all cables, by each of their devices: those at its ends have its two addresses
/// at it, and each names the other's with the right AS.
fn sessions(
    machines: &BTreeMap<DeviceId, &Machine>,
    cables: &Cables,
) -> BTreeMap<DeviceId, Vec<Session>> {
    let mut sessions: BTreeMap<DeviceId, Vec<Session>> = BTreeMap::new();
    for (&from, machine) in machines {
        let ours = &machine.speaker;
        for (&address, port) in &ours.cables {
            let Some(&(to, end)) = cables.get(&(from, *port)) else { continue };
            let Some(theirs) = machines.get(&to).map(|machine| &machine.speaker) else { continue };
            let there = Ipv4Addr::from(u32::from(address) ^ 1);
            if theirs.cables.get(&there) == Some(&end)
                && let Some(out) = expected(ours, there, theirs)
                && let Some(back) = expected(theirs, address, ours)
            {
                let (underlay, evpn) = (out.underlay && back.underlay, out.evpn && back.evpn);
                let session = Session { from, to, underlay, evpn };
                sessions.entry(from).or_default().push(session);
            }
        }
    }
    sessions
}

/// What one device carries to a neighbour with this address, if it expects the other's AS there.
fn expected<'a>(one: &'a Speaker, address: Ipv4Addr, other: &Speaker) -> Option<&'a Neighbor> {
    let neighbor = one.neighbors.get(&address)?;
    (neighbor.remote.is_some() && neighbor.remote == other.asn).then_some(neighbor)
}
