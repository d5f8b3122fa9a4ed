//! What devices tell each other: P6, and who exports what.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::{DeviceId, RouteTarget};
use wire::Vni;

use crate::machine::{Machine, Speaker};

/// What the sessions between all devices carry.
#[derive(Default)]
pub(crate) struct Routes {
    /// Devices with the same number are joined by a chain of sessions.
    island_of: BTreeMap<DeviceId, usize>,
    segments: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    vrfs: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    /// Devices where the tunnels of a VRF end, by tunnel address and VNI.
    ends: BTreeMap<(Ipv4Addr, Vni), BTreeSet<DeviceId>>,
}

impl Routes {
    pub(crate) fn learn(machines: &BTreeMap<DeviceId, &Machine>) -> Self {
        let mut routes = Self { island_of: islands(machines), ..Self::default() };
        for (&device, machine) in machines {
            if machine.speaker.advertises_evpn {
                routes.export(device, machine);
            }
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
        others.filter(|other| *other != device && self.joined(device, *other)).collect()
    }

    /// Whether a chain of sessions joins the two.
    fn joined(&self, one: DeviceId, other: DeviceId) -> bool {
        self.island_of.get(&one) == self.island_of.get(&other)
    }

    fn reachable(
        &self,
        device: DeviceId,
        imports: &BTreeSet<RouteTarget>,
        exporters: &BTreeMap<RouteTarget, BTreeSet<(DeviceId, Vni)>>,
    ) -> BTreeSet<(DeviceId, Vni)> {
        imports
            .iter()
            .filter_map(|target| exporters.get(target))
            .flatten()
            .filter(|(other, _)| *other != device && self.joined(device, *other))
            .copied()
            .collect()
    }

    /// Only what ends in a tunnel address that the underlay knows can be reached by others.
    fn export(&mut self, device: DeviceId, machine: &Machine) {
        let announced = &machine.speaker.announces;
        for (&vni, tunnel) in machine.domains.values().flat_map(|domain| &domain.tunnels) {
            let Some(targets) = machine.segments.get(&vni) else {
                continue;
            };
            if announced.contains(&tunnel.local) {
                for &target in &targets.exports {
                    self.segments.entry(target).or_default().insert((device, vni));
                }
            }
        }
        for vrf in machine.vrfs.values() {
            let Some((vni, tunnel)) = vrf.tunnel() else {
                continue;
            };
            if announced.contains(&tunnel.local) {
                self.ends.entry((tunnel.local, vni)).or_default().insert(device);
                for &target in &vrf.targets.exports {
                    self.vrfs.entry(target).or_default().insert((device, vni));
                }
            }
        }
    }
}

/// Numbers the sets of devices that chains of sessions join.
fn islands(machines: &BTreeMap<DeviceId, &Machine>) -> BTreeMap<DeviceId, usize> {
    let neighbors = sessions(machines);
    let mut island_of = BTreeMap::new();
    for (island, &first) in machines.keys().enumerate() {
        let mut found = vec![first];
        while let Some(device) = found.pop() {
            if let std::collections::btree_map::Entry::Vacant(place) = island_of.entry(device) {
                place.insert(island);
                found.extend(neighbors.get(&device).into_iter().flatten());
            }
        }
    }
    island_of
}

fn sessions(machines: &BTreeMap<DeviceId, &Machine>) -> BTreeMap<DeviceId, Vec<DeviceId>> {
    let mut owners: BTreeMap<_, Vec<DeviceId>> = BTreeMap::new();
    for (&device, machine) in machines {
        for &address in machine.speaker.cables.keys() {
            owners.entry(address).or_default().push(device);
        }
    }
    let mut sessions: BTreeMap<DeviceId, Vec<DeviceId>> = BTreeMap::new();
    for (&device, machine) in machines {
        let speaker = &machine.speaker;
        for other in speaker.neighbors.keys().filter_map(|at| owners.get(at)).flatten() {
            let theirs = &machines[other].speaker;
            if *other != device && expects(speaker, theirs) && expects(theirs, speaker) {
                sessions.entry(device).or_default().push(*other);
            }
        }
    }
    sessions
}

/// Whether one device names an address of the other with the right AS, and carries both families.
fn expects(one: &Speaker, other: &Speaker) -> bool {
    one.neighbors.iter().any(|(address, neighbor)| {
        other.cables.contains_key(address)
            && neighbor.remote.is_some()
            && neighbor.remote == other.asn
            && neighbor.underlay
            && neighbor.evpn
    })
}
