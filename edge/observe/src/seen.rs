//! What the kernel holds in one network namespace, in the words of the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkExtentMask, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use wire::Mac;

use crate::door::Told;
use crate::link::Interface;
use crate::{Door, Trouble};

/// Everything of one network namespace that decides where packets go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) routes: Vec<Route>,
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) forwards: Vec<Forward>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) interface: u32,
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
}

impl Address {
    /// Whether the kernel made it up.
    pub(crate) const fn is_link_local(&self) -> bool {
        matches!(self.address, IpAddr::V6(address) if address.segments()[0] & 0xffc0 == 0xfe80)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) kind: RouteType,
    pub(crate) destination: IpAddr,
    pub(crate) prefix: u8,
    pub(crate) via: Option<IpAddr>,
    pub(crate) interface: Option<u32>,
    pub(crate) metric: u32,
    pub(crate) table: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    pub(crate) interface: u32,
    pub(crate) address: IpAddr,
    pub(crate) mac: Mac,
}

/// An entry of a bridge (where a port is) or of a tunnel (where a tunnel endpoint is).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forward {
    pub(crate) interface: u32,
    pub(crate) mac: Mac,
    pub(crate) master: Option<u32>,
    pub(crate) remote: Option<Ipv4Addr>,
    pub(crate) vni: Option<u32>,
}

impl Seen {
    /// Asks the kernel.
    pub(crate) fn through(door: &mut Door) -> Result<Self, Trouble> {
        let mut seen = Self::default();
        let mut links = LinkMessage::default();
        links.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let mut bridged = NeighbourMessage::default();
        bridged.header.family = AddressFamily::Bridge;
        let questions = [
            RouteNetlinkMessage::GetLink(links),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            RouteNetlinkMessage::GetRoute(RouteMessage::default()),
            RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
            RouteNetlinkMessage::GetNeighbour(bridged),
        ];
        for question in questions {
            for answer in door.dump(question)? {
                seen.take(answer);
            }
        }
        Ok(seen)
    }

    fn take(&mut self, answer: Told) {
        let answer = match answer {
            Told::Link { interface, .. } => return self.interfaces.push(interface),
            Told::Other(answer) => answer,
        };
        match answer {
            RouteNetlinkMessage::NewAddress(found) => self.addresses.extend(address(found)),
            RouteNetlinkMessage::NewRoute(found) => self.routes.extend(route(found)),
            RouteNetlinkMessage::NewNeighbour(found)
                if found.header.family == AddressFamily::Bridge =>
            {
                self.forwards.extend(forward(&found));
            }
            RouteNetlinkMessage::NewNeighbour(found) => self.neighbours.extend(neighbour(&found)),
            _ => {}
        }
    }

    /// Whether a change of this can change what is seen.
    pub(crate) fn knows(told: Told) -> bool {
        let message = match told {
            Told::Link { family, .. } => return family != AddressFamily::Inet6,
            Told::Other(message) => message,
        };
        match message {
            RouteNetlinkMessage::NewRoute(found) | RouteNetlinkMessage::DelRoute(found) => {
                route(found).is_some()
            }
            RouteNetlinkMessage::NewNeighbour(found) | RouteNetlinkMessage::DelNeighbour(found) => {
                neighbour(&found).is_some() || forward(&found).is_some()
            }
            RouteNetlinkMessage::NewAddress(found) | RouteNetlinkMessage::DelAddress(found) => {
                address(found).is_some_and(|found| !found.is_link_local())
            }
            _ => true,
        }
    }

    pub(crate) fn interface(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.index == index)
    }

    pub(crate) fn name(&self, index: u32) -> &str {
        self.interface(index).map_or("gone", |interface| &interface.name)
    }
}

fn address(message: AddressMessage) -> Option<Address> {
    let mut found = None;
    for attribute in message.attributes {
        match attribute {
            AddressAttribute::Local(address) => found = Some(address),
            AddressAttribute::Address(address) => found = found.or(Some(address)),
            _ => {}
        }
    }
    let address = found?;
    Some(Address { interface: message.header.index, address, prefix: message.header.prefix_len })
}

/// A route that somebody set by hand, or we: not one of the kernel or the routing daemons.
fn route(message: RouteMessage) -> Option<Route> {
    let RouteMessage { header, attributes, .. } = message;
    let by_itself = [RouteProtocol::Kernel, RouteProtocol::Bgp, RouteProtocol::Zebra]
        .contains(&header.protocol);
    if by_itself || header.flags.contains(netlink_packet_route::route::RouteFlags::Cloned) {
        return None;
    }
    let destination = match header.address_family {
        AddressFamily::Inet => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AddressFamily::Inet6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return None,
    };
    let RouteHeader { kind, destination_prefix_length: prefix, table, .. } = header;
    let table = u32::from(table);
    let mut found =
        Route { kind, destination, prefix, via: None, interface: None, metric: 0, table };
    for attribute in attributes {
        match attribute {
            RouteAttribute::Destination(address) => found.destination = ip(&address)?,
            RouteAttribute::Gateway(address) => found.via = ip(&address),
            RouteAttribute::Via(RouteVia::Inet6(address)) => found.via = Some(address.into()),
            RouteAttribute::Oif(interface) => found.interface = Some(interface),
            RouteAttribute::Priority(metric) => found.metric = metric,
            RouteAttribute::Table(table) => found.table = table,
            _ => {}
        }
    }
    Some(found)
}

const fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}

/// A neighbour that somebody set by hand, or we: what was learnt by asking passes away, and what
/// the routing daemons know is their own.
fn neighbour(message: &NeighbourMessage) -> Option<Neighbour> {
    let header = &message.header;
    let is_set = u16::from(header.state) & u16::from(NeighbourState::Permanent) != 0;
    if !is_set || header.flags.contains(NeighbourFlags::ExtLearned) {
        return None;
    }
    let (mut address, mut lladdr) = (None, Mac([0; 6]));
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(found)) => {
                address = Some(IpAddr::V4(*found));
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(found)) => {
                address = Some(IpAddr::V6(*found));
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => lladdr = mac(bytes),
            _ => {}
        }
    }
    Some(Neighbour { interface: header.ifindex, address: address?, mac: lladdr })
}

/// An entry that somebody set by hand, or we. What bridges learnt passes away; what the routing
/// daemons set is marked; a port's own address is no entry of anybody.
fn forward(message: &NeighbourMessage) -> Option<Forward> {
    let header = &message.header;
    let state = u16::from(header.state);
    let mut found = Forward {
        interface: header.ifindex,
        mac: Mac([0; 6]),
        master: None,
        remote: None,
        vni: None,
    };
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::LinkLayerAddress(bytes) => found.mac = mac(bytes),
            NeighbourAttribute::Controller(master) => found.master = Some(*master),
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => {
                found.remote = Some(*address);
            }
            NeighbourAttribute::Destination(NeighbourAddress::Other(bytes)) => {
                found.remote = <[u8; 4]>::try_from(bytes.as_slice()).ok().map(Ipv4Addr::from);
            }
            NeighbourAttribute::Vni(vni) => found.vni = Some(*vni),
            _ => {}
        }
    }
    let of_bridge = found.master.is_some() && found.remote.is_none();
    // A static entry of a bridge is marked as one that needs no asking; permanent ones are the
    // addresses of the ports themselves.
    let is_static = state & u16::from(NeighbourState::Noarp) != 0;
    let is_ours = !header.flags.contains(NeighbourFlags::ExtLearned)
        && !found.mac.is_group()
        && if of_bridge { is_static } else { found.remote.is_some() };
    // Where a tunnel floods to is the routing daemons' to say, and they do not mark it.
    let floods = found.mac == Mac([0; 6]) && found.vni.is_none();
    (is_ours && !floods).then_some(found)
}

fn mac(bytes: &[u8]) -> Mac {
    Mac(bytes.try_into().unwrap_or([0; 6]))
}
