//! Which devices can exchange routes: those that a chain of sessions joins (P6).

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::DeviceId;

use crate::device::{At, Device, Lines};

/// The islands of a world, and the neighbours that do not answer alike.
#[derive(Debug)]
pub(crate) struct Islands {
    pub(crate) of: Vec<DeviceId>,
    pub(crate) half: BTreeMap<DeviceId, Vec<HalfSession>>,
}

/// A neighbour that is named and does not name back, or not alike.
#[derive(Debug)]
pub(crate) struct HalfSession {
    pub(crate) neighbor: Ipv4Addr,
    /// The device that says it has this address.
    pub(crate) other: Option<DeviceId>,
    pub(crate) said_at: Vec<At>,
}

/// Finds the islands. Each is called after its first device, so the names are stable. Where a
/// packet program judges what comes by cables, a cable without it is down.
pub(crate) fn islands(devices: &[Device], judges_cables: &[bool]) -> Islands {
    let ids = || (0..u32::try_from(devices.len()).unwrap_or(u32::MAX)).map(DeviceId);
    // Two devices may say that they have the same address; a session may stand with either.
    let mut at_address: BTreeMap<Ipv4Addr, Vec<DeviceId>> = BTreeMap::new();
    let is_up = |id: DeviceId, address: &Ipv4Addr| {
        let device = &devices[id.index()];
        let mut ports = device.cables.get(address).into_iter().flat_map(Lines::values);
        ports.any(|port| !judges_cables[id.index()] || device.uplinks.contains_key(port))
    };
    for (id, device) in ids().zip(devices) {
        for address in device.cables.keys().filter(|address| is_up(id, address)) {
            at_address.entry(*address).or_default().push(id);
        }
    }
    let named = |id: DeviceId, address: &Ipv4Addr| {
        let device = &devices[id.index()];
        let there = at_address.get(address).into_iter().flatten().copied();
        let rightly = there.filter(|other| {
            *other != id && names_rightly(device, *address, &devices[other.index()])
        });
        rightly.collect::<Vec<DeviceId>>()
    };
    let mut names: BTreeSet<(DeviceId, DeviceId)> = BTreeSet::new();
    for (id, device) in ids().zip(devices) {
        let others = device.neighbors.keys().flat_map(|address| named(id, address));
        names.extend(others.map(|other| (id, other)));
    }
    let mut roots: Vec<DeviceId> = ids().collect();
    let mut half: BTreeMap<DeviceId, Vec<HalfSession>> = BTreeMap::new();
    for (id, device) in ids().zip(devices) {
        for (neighbor, lines) in &device.neighbors {
            let mut sessions = named(id, neighbor);
            sessions.retain(|other| names.contains(&(*other, id)));
            for other in &sessions {
                join(&mut roots, id, *other);
            }
            let answers = |other: &DeviceId| {
                let theirs = &devices[other.index()];
                is_up(id, &mate(*neighbor)) && names_rightly(theirs, mate(*neighbor), device)
            };
            if !sessions.iter().any(answers) && !lines.remote.is_empty() {
                let other = at_address.get(neighbor).and_then(|there| there.first()).copied();
                let said_at = lines.remote.ats().collect();
                let session = HalfSession { neighbor: *neighbor, other, said_at };
                half.entry(id).or_default().push(session);
            }
        }
    }
    let of = ids().map(|id| root(&mut roots, id)).collect();
    Islands { of, half }
}

/// Whether a device names this neighbour with the neighbour's AS and for both address families.
fn names_rightly(device: &Device, address: Ipv4Addr, other: &Device) -> bool {
    device.neighbors.get(&address).is_some_and(|lines| {
        lines.remote.first().is_some_and(|remote| other.local_as.first() == Some(remote))
            && !lines.underlay.is_empty()
            && !lines.evpn.is_empty()
    })
}

/// The other end of a cable: the two share a /31 (RFC 3021).
pub(crate) fn mate(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(address) ^ 1)
}

fn join(roots: &mut [DeviceId], a: DeviceId, b: DeviceId) {
    let (a, b) = (root(roots, a), root(roots, b));
    roots[a.max(b).index()] = a.min(b);
}

fn root(roots: &mut [DeviceId], id: DeviceId) -> DeviceId {
    let mut at = id;
    while roots[at.index()] != at {
        roots[at.index()] = roots[roots[at.index()].index()];
        at = roots[at.index()];
    }
    at
}
