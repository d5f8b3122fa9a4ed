//! Which devices can exchange routes: those that a chain of sessions joins (P6).

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use model::{DeviceId, Port};

use crate::device::{At, Device, Lines, Neighbor};

/// The islands of a world, and the neighbours that do not answer alike.
#[derive(Debug)]
pub(crate) struct Islands {
    /// By device: those that know each other's tunnel addresses have the same.
    pub(crate) underlay: Vec<DeviceId>,
    /// By device: those that hear each other's EVPN routes have the same.
    pub(crate) evpn: Vec<DeviceId>,
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

/// What a device has to be told before its sessions carry EVPN routes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Duty {
    /// FRR needs not be told.
    Free,
    /// A switch must be told to send targets.
    Tells,
    /// A switch on which tunnels of others depend must also keep routes that it does not need, and
    /// leave their next hops alone.
    PassesOn,
}

impl Duty {
    /// Whether a device with these lines carries EVPN routes of and to this neighbour.
    fn carries(self, device: &Device, neighbor: &Neighbor) -> bool {
        let tells = || !neighbor.targets.is_empty();
        let passes_on = || !device.retains.is_empty() && !neighbor.next_hops.is_empty();
        !neighbor.evpn.is_empty()
            && match self {
                Self::Free => true,
                Self::Tells => tells(),
                Self::PassesOn => tells() && passes_on(),
            }
    }
}

/// What a session between two devices carries.
#[derive(Clone, Copy)]
struct Session {
    devices: (DeviceId, DeviceId),
    underlay: bool,
    evpn: bool,
}

/// By device and port: the other end of the cable that is plugged in there.
pub(crate) type Cables = Vec<BTreeMap<Port, (DeviceId, Port)>>;

/// Finds the islands. Each is called after its first device, so the names are stable. Where a
/// packet program judges what comes by cables, a cable without it is down.
pub(crate) fn islands(
    devices: &[Device],
    judges_cables: &[bool],
    duties: &[Duty],
    cables: &Cables,
) -> Islands {
    let ids = || (0..devices.len() as u32).map(DeviceId);
    let is_up = |id: DeviceId, port: &Port| {
        let device = &devices[id.index()];
        let is_judged = || !judges_cables[id.index()] || device.uplinks.contains_key(port);
        !device.is_down(*port) && is_judged()
    };
    let has = |id: DeviceId, address: Ipv4Addr, port: &Port| {
        let ports = devices[id.index()].cables.get(&address);
        ports.is_some_and(|lines| lines.values().any(|held| held == port)) && is_up(id, port)
    };
    // Two devices may say that they have the same address.
    let owners: OnceCell<BTreeMap<Ipv4Addr, DeviceId>> = OnceCell::new();
    let owned = || {
        let all = ids().zip(devices).rev();
        all.flat_map(|(id, device)| device.cables.keys().map(move |at| (*at, id))).collect()
    };
    let mut sessions = Vec::new();
    let mut half: BTreeMap<DeviceId, Vec<HalfSession>> = BTreeMap::new();
    for (id, device) in ids().zip(devices) {
        for (neighbor, lines) in device.neighbors.iter().filter(|(_, l)| !l.remote.is_empty()) {
            let own = mate(*neighbor);
            let ports = device.cables.get(&own).into_iter().flat_map(Lines::values);
            let ends = ports.filter(|port| is_up(id, port));
            let ends = ends.filter_map(|port| cables[id.index()].get(port));
            let mut others = ends.filter(|(other, port)| has(*other, *neighbor, port));
            let session = others.find_map(|(other, _)| session(devices, duties, (id, own), *other));
            if !session.is_some_and(|session| session.underlay && session.evpn) {
                let other = owners.get_or_init(owned).get(neighbor).copied();
                let said_at = lines.remote.ats().collect();
                let session = HalfSession { neighbor: *neighbor, other, said_at };
                half.entry(id).or_default().push(session);
            }
            sessions.extend(session);
        }
    }
    let underlay = joined(devices.len(), sessions.iter().filter(|session| session.underlay));
    // Nobody passes on a route to an address that it does not know itself.
    let known = |session: &&Session| {
        let (one, other) = session.devices;
        session.evpn && underlay[one.index()] == underlay[other.index()]
    };
    let evpn = joined(devices.len(), sessions.iter().filter(known));
    Islands { underlay, evpn, half }
}

/// The session of a device that has this address with the one at the other end of its cable, if
/// each of them names the other with the right AS.
fn session(
    devices: &[Device],
    duties: &[Duty],
    (id, own): (DeviceId, Ipv4Addr),
    other: DeviceId,
) -> Option<Session> {
    let (ours, theirs) = (&devices[id.index()], &devices[other.index()]);
    let (there, here) = (ours.neighbors.get(&mate(own))?, theirs.neighbors.get(&own)?);
    let expects = |lines: &Neighbor, of: &Device| {
        lines.remote.first().is_some_and(|remote| of.local_as.first() == Some(remote))
    };
    let share = there.secret.is_empty() == here.secret.is_empty();
    (share && expects(there, theirs) && expects(here, ours)).then(|| Session {
        devices: (id, other),
        underlay: !there.underlay.is_empty() && !here.underlay.is_empty(),
        evpn: duties[id.index()].carries(ours, there)
            && duties[other.index()].carries(theirs, here),
    })
}

/// The other end of a cable: the two share a /31 (RFC 3021).
pub(crate) fn mate(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(address) ^ 1)
}

/// Those that chains of sessions join, each called after the first of them.
fn joined<'a>(devices: usize, sessions: impl Iterator<Item = &'a Session>) -> Vec<DeviceId> {
    let mut roots: Vec<DeviceId> = (0..).map(DeviceId).take(devices).collect();
    for Session { devices: (a, b), .. } in sessions {
        let (a, b) = (root(&mut roots, *a), root(&mut roots, *b));
        roots[a.max(b).index()] = a.min(b);
    }
    (0..).map(DeviceId).take(devices).map(|id| root(&mut roots, id)).collect()
}

fn root(roots: &mut [DeviceId], id: DeviceId) -> DeviceId {
    let mut at = id;
    while roots[at.index()] != at {
        roots[at.index()] = roots[roots[at.index()].index()];
        at = roots[at.index()];
    }
    at
}
