//! Addresses, routes, neighbours and forwarding entries, out of the bytes of the kernel's messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::DecodeError;
use netlink_packet_route::route::RouteType;
use wire::Mac;

use crate::bytes::{attributes, ip, ipv4, is_on, mac, u32_at};

/// What somebody set by hand, or we.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Entry {
    Address(Address),
    Route(Route),
    Neighbour(Neighbour),
    Forward(Forward),
    Rule(Rule),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Address {
    pub(crate) interface: u32,
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Route {
    pub(crate) kind: RouteType,
    pub(crate) destination: IpAddr,
    pub(crate) prefix: u8,
    pub(crate) via: Option<IpAddr>,
    pub(crate) interface: Option<u32>,
    pub(crate) metric: u32,
    pub(crate) table: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Neighbour {
    pub(crate) interface: u32,
    pub(crate) address: IpAddr,
    pub(crate) mac: Mac,
}

/// An entry of a bridge (where a port is) or of a tunnel (where a tunnel endpoint is).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Forward {
    pub(crate) interface: u32,
    pub(crate) mac: Mac,
    pub(crate) master: Option<u32>,
    pub(crate) remote: Option<Ipv4Addr>,
    pub(crate) vni: Option<u32>,
}

/// Which table is asked, and by whom.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Rule {
    pub(crate) is_ipv6: bool,
    pub(crate) priority: u32,
    /// In the kernel's number.
    pub(crate) action: u8,
    /// Zero if it is that of whoever's VRF asks.
    pub(crate) table: u32,
    /// Whether it is about all packets alike.
    pub(crate) is_for_all: bool,
}

impl Entry {
    /// From what follows the header of a netlink message about one of the kinds that are known
    /// here; none if the kernel or the routing daemons hold it by themselves.
    pub(crate) fn read(about: About, message: &[u8]) -> Result<Option<Self>, DecodeError> {
        match about {
            About::Address => Address::read(message).map(|found| found.map(Self::Address)),
            About::Route => Route::read(message).map(|found| found.map(Self::Route)),
            About::Neighbour if message.first() == Some(&AF_BRIDGE) => {
                Forward::read(message).map(|found| found.map(Self::Forward))
            }
            About::Neighbour => Neighbour::read(message).map(|found| found.map(Self::Neighbour)),
            About::Rule => Rule::read(message).map(|found| found.map(Self::Rule)),
        }
    }
}

/// What a message is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About {
    Address,
    Route,
    /// Or a forwarding entry.
    Neighbour,
    Rule,
}

impl About {
    /// By the type of a message: something came or changed, or went.
    pub(crate) const fn of(message_type: u16) -> Option<Self> {
        match message_type {
            RTM_NEWADDR | RTM_DELADDR => Some(Self::Address),
            RTM_NEWROUTE | RTM_DELROUTE => Some(Self::Route),
            RTM_NEWNEIGH | RTM_DELNEIGH => Some(Self::Neighbour),
            RTM_NEWRULE | RTM_DELRULE => Some(Self::Rule),
            _ => None,
        }
    }
}

impl Address {
    /// Whether the kernel made it up.
    pub(crate) const fn is_link_local(&self) -> bool {
        matches!(self.address, IpAddr::V6(address) if address.segments()[0] & 0xffc0 == 0xfe80)
    }

    fn read(message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (header, rest) = split::<8>(message, "an address")?;
        let (mut local, mut other) = (None, None);
        for attribute in attributes(rest) {
            match attribute? {
                (IFA_LOCAL, value) => local = ip(value),
                (IFA_ADDRESS, value) => other = ip(value),
                _ => {}
            }
        }
        let (prefix, interface) = (header[1], u32_at(&header[4..8]));
        Ok(local.or(other).map(|address| Self { interface, address, prefix }))
    }
}

impl Route {
    fn read(message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (header, rest) = split::<12>(message, "a route")?;
        let [family, prefix, _, _, table, protocol, _, kind, ..] = *header;
        let by_itself = [RTPROT_KERNEL, RTPROT_ZEBRA, RTPROT_BGP].contains(&protocol);
        if by_itself || u32_at(&header[8..12]) & RTM_F_CLONED != 0 {
            return Ok(None);
        }
        let destination = match family {
            AF_INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            AF_INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            _ => return Ok(None),
        };
        let (kind, table) = (RouteType::from(kind), u32::from(table));
        let mut found =
            Self { kind, destination, prefix, via: None, interface: None, metric: 0, table };
        for attribute in attributes(rest) {
            match attribute? {
                (RTA_DST, value) => found.destination = ip(value).ok_or("a strange destination")?,
                (RTA_GATEWAY, value) => found.via = ip(value),
                // A gateway of the other family, which stands before it.
                (RTA_VIA, value) => found.via = value.get(2..).and_then(ip),
                (RTA_OIF, value) => found.interface = Some(u32_at(value)),
                (RTA_PRIORITY, value) => found.metric = u32_at(value),
                (RTA_TABLE, value) => found.table = u32_at(value),
                _ => {}
            }
        }
        Ok(Some(found))
    }
}

impl Neighbour {
    /// What was learnt by asking passes away, and what the routing daemons know is their own.
    fn read(message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (header, rest) = split::<12>(message, "a neighbour")?;
        if state(header) & NUD_PERMANENT == 0 || is_learnt(header) {
            return Ok(None);
        }
        let (mut address, mut lladdr) = (None, Mac([0; 6]));
        for attribute in attributes(rest) {
            match attribute? {
                (NDA_DST, value) => address = ip(value),
                (NDA_LLADDR, value) => lladdr = mac(value),
                _ => {}
            }
        }
        let interface = u32_at(&header[4..8]);
        Ok(address.map(|address| Self { interface, address, mac: lladdr }))
    }
}

impl Forward {
    /// What bridges learnt passes away; what the routing daemons set is marked; a port's own address
    /// is no entry of anybody.
    fn read(message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (header, rest) = split::<12>(message, "a forwarding entry")?;
        if is_learnt(header) {
            return Ok(None);
        }
        let interface = u32_at(&header[4..8]);
        let mut found = Self { interface, mac: Mac([0; 6]), master: None, remote: None, vni: None };
        for attribute in attributes(rest) {
            match attribute? {
                (NDA_LLADDR, value) => found.mac = mac(value),
                (NDA_MASTER, value) => found.master = Some(u32_at(value)),
                (NDA_DST, value) => found.remote = ipv4(value),
                (NDA_VNI, value) => found.vni = Some(u32_at(value)),
                _ => {}
            }
        }
        let of_bridge = found.master.is_some() && found.remote.is_none();
        // A static entry of a bridge is marked as one that needs no asking; permanent ones are the
        // addresses of the ports themselves.
        let is_set =
            if of_bridge { state(header) & NUD_NOARP != 0 } else { found.remote.is_some() };
        // Where a tunnel floods to is the routing daemons' to say, and they do not mark it.
        let floods = found.mac == Mac([0; 6]) && found.vni.is_none();
        Ok((is_set && !found.mac.is_group() && !floods).then_some(found))
    }
}

impl Rule {
    /// Its priority and table, if it sends all packets there; the table is none if it is that of
    /// the VRF.
    pub(crate) fn plain(&self) -> Option<(u32, Option<u32>)> {
        let table = Some(self.table).filter(|table| *table != 0);
        (self.is_for_all && self.action == FR_ACT_TO_TBL).then_some((self.priority, table))
    }

    /// Whatever narrows a rule down makes it one that nobody planned, and so does what is not known
    /// here.
    fn read(message: &[u8]) -> Result<Option<Self>, DecodeError> {
        let (header, rest) = split::<12>(message, "a rule")?;
        let [family, to_bits, from_bits, tos, table, _, _, action, ..] = *header;
        // Rules about multicast routing have families of their own.
        if ![AF_INET, AF_INET6].contains(&family) {
            return Ok(None);
        }
        let is_inverted = u32_at(&header[8..12]) & FIB_RULE_INVERT != 0;
        let mut found = Self {
            is_ipv6: family == AF_INET6,
            priority: 0,
            action,
            table: table.into(),
            is_for_all: (to_bits, from_bits, tos) == (0, 0, 0) && !is_inverted,
        };
        let mut is_of_vrf = false;
        for attribute in attributes(rest) {
            match attribute? {
                (FRA_PRIORITY, value) => found.priority = u32_at(value),
                (FRA_TABLE, value) => found.table = u32_at(value),
                (FRA_L3MDEV, value) => is_of_vrf = is_on(value),
                (FRA_PROTOCOL | FRA_PAD, _) => {}
                // That nothing is left out is said as well.
                (FRA_SUPPRESS_PREFIXLEN, value) if u32_at(value) == u32::MAX => {}
                _ => found.is_for_all = false,
            }
        }
        found.is_for_all &= is_of_vrf == (found.table == 0);
        Ok(Some(found))
    }
}

/// The header of a message, and the attributes behind it.
fn split<'a, const BYTES: usize>(
    message: &'a [u8],
    about: &str,
) -> Result<(&'a [u8; BYTES], &'a [u8]), DecodeError> {
    let short = || DecodeError::from(format!("the message about {about} is too short"));
    message.split_first_chunk().ok_or_else(short)
}

/// The state in a `struct ndmsg`.
const fn state(header: &[u8; 12]) -> u16 {
    u16::from_ne_bytes([header[8], header[9]])
}

/// Whether a routing daemon set it.
const fn is_learnt(header: &[u8; 12]) -> bool {
    header[10] & NTF_EXT_LEARNED != 0
}

// Numbers of linux/rtnetlink.h, linux/neighbour.h, linux/if_addr.h, linux/fib_rules.h and the
// socket's families.
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_NEWNEIGH: u16 = 28;
const RTM_DELNEIGH: u16 = 29;
const RTM_NEWRULE: u16 = 32;
const RTM_DELRULE: u16 = 33;
const AF_INET: u8 = 2;
const AF_BRIDGE: u8 = 7;
const AF_INET6: u8 = 10;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTPROT_KERNEL: u8 = 2;
const RTPROT_ZEBRA: u8 = 11;
const RTPROT_BGP: u8 = 186;
const RTM_F_CLONED: u32 = 0x200;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const NUD_NOARP: u16 = 0x40;
const NUD_PERMANENT: u16 = 0x80;
const NTF_EXT_LEARNED: u8 = 0x10;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NDA_VNI: u16 = 7;
const NDA_MASTER: u16 = 9;
const FIB_RULE_INVERT: u32 = 0x2;
const FR_ACT_TO_TBL: u8 = 1;
const FRA_PRIORITY: u16 = 6;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_PAD: u16 = 18;
const FRA_L3MDEV: u16 = 19;
const FRA_PROTOCOL: u16 = 21;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use netlink_packet_route::AddressFamily;
    use netlink_packet_route::address::{AddressAttribute, AddressMessage};
    use netlink_packet_route::neighbour::{
        NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
    };
    use netlink_packet_route::route::{
        RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteVia,
    };
    use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};

    use super::*;

    const OWN: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
    const VTEP: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 9);
    const TWIN: Ipv6Addr = Ipv6Addr::new(0xfd8e, 0, 0, 1, 0, 0, 0xa01, 2);
    const MAC: Mac = Mac([2, 0, 0, 0, 0, 9]);
    const INDEX: u32 = 16_778_217;

    fn check(about: About, message: &impl netlink_packet_core::Emitable, wanted: Option<Entry>) {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        assert_eq!(Entry::read(about, &bytes).unwrap(), wanted);
        let header = if matches!(about, About::Address) { 8 } else { 12 };
        for length in 0..header {
            assert!(Entry::read(about, &bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn an_address_is_the_own_one_and_not_the_other_ends() {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = 28;
        message.header.index = INDEX;
        message.attributes.push(AddressAttribute::Address(VTEP.into()));
        let other = Address { interface: INDEX, address: VTEP.into(), prefix: 28 };
        check(About::Address, &message, Some(Entry::Address(other)));
        message.attributes.push(AddressAttribute::Local(OWN.into()));
        let own = Address { address: OWN.into(), ..other };
        check(About::Address, &message, Some(Entry::Address(own)));
    }

    fn route(protocol: RouteProtocol, attributes: Vec<RouteAttribute>) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = 254;
        message.header.protocol = protocol;
        message.header.kind = RouteType::Unicast;
        message.attributes = attributes;
        message
    }

    #[test]
    fn a_route_that_somebody_set() {
        let attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(OWN)),
            RouteAttribute::Gateway(RouteAddress::Inet(VTEP)),
            RouteAttribute::Oif(INDEX),
            RouteAttribute::Priority(20),
            RouteAttribute::Table(1001),
        ];
        let wanted = Route {
            kind: RouteType::Unicast,
            destination: OWN.into(),
            prefix: 32,
            via: Some(VTEP.into()),
            interface: Some(INDEX),
            metric: 20,
            table: 1001,
        };
        let found = route(RouteProtocol::Static, attributes);
        check(About::Route, &found, Some(Entry::Route(wanted)));
    }

    #[test]
    fn a_default_route_by_a_gateway_of_the_other_family() {
        let mut message =
            route(RouteProtocol::Boot, vec![RouteAttribute::Via(RouteVia::Inet6(TWIN))]);
        message.header.destination_prefix_length = 0;
        let wanted = Route {
            kind: RouteType::Unicast,
            destination: Ipv4Addr::UNSPECIFIED.into(),
            prefix: 0,
            via: Some(TWIN.into()),
            interface: None,
            metric: 0,
            table: 254,
        };
        check(About::Route, &message, Some(Entry::Route(wanted)));
    }

    #[test]
    fn routes_of_the_kernel_and_of_the_daemons_are_nobodys() {
        for protocol in [RouteProtocol::Kernel, RouteProtocol::Bgp, RouteProtocol::Zebra] {
            check(About::Route, &route(protocol, Vec::new()), None);
        }
        let mut cloned = route(RouteProtocol::Static, Vec::new());
        cloned.header.flags = RouteFlags::Cloned;
        check(About::Route, &cloned, None);
        let mut multicast = route(RouteProtocol::Static, Vec::new());
        multicast.header.address_family = AddressFamily::Other(129);
        check(About::Route, &multicast, None);
    }

    fn near(
        family: AddressFamily,
        state: NeighbourState,
        attributes: &[NeighbourAttribute],
    ) -> NeighbourMessage {
        let mut message = NeighbourMessage::default();
        message.header.family = family;
        message.header.ifindex = INDEX;
        message.header.state = state;
        message.attributes = attributes.to_vec();
        message
    }

    fn learnt(mut message: NeighbourMessage) -> NeighbourMessage {
        message.header.flags = NeighbourFlags::ExtLearned;
        message
    }

    #[test]
    fn neighbours_that_were_set_for_good_are_somebodys() {
        let four = NeighbourAttribute::Destination(NeighbourAddress::Inet(OWN));
        let six = NeighbourAttribute::Destination(NeighbourAddress::Inet6(TWIN));
        let lladdr = NeighbourAttribute::LinkLayerAddress(MAC.0.to_vec());
        for (family, address, destination) in [
            (AddressFamily::Inet, IpAddr::V4(OWN), four),
            (AddressFamily::Inet6, IpAddr::V6(TWIN), six),
        ] {
            let attributes = [destination, lladdr.clone()];
            let set = near(family, NeighbourState::Permanent, &attributes);
            let wanted = Neighbour { interface: INDEX, address, mac: MAC };
            check(About::Neighbour, &set, Some(Entry::Neighbour(wanted)));
            check(About::Neighbour, &learnt(set), None);
            let asked = near(family, NeighbourState::Reachable, &attributes);
            check(About::Neighbour, &asked, None);
        }
    }

    #[test]
    fn forwarding_entries_that_were_set_are_somebodys() {
        let lladdr = NeighbourAttribute::LinkLayerAddress(MAC.0.to_vec());
        let remote = NeighbourAttribute::Destination(NeighbourAddress::Inet(VTEP));
        let at_port = [lladdr.clone(), NeighbourAttribute::Controller(7)];
        let at_vtep = [lladdr, remote, NeighbourAttribute::Vni(50_018)];
        let station =
            Forward { interface: INDEX, mac: MAC, master: Some(7), remote: None, vni: None };
        let far = Forward { master: None, remote: Some(VTEP), vni: Some(50_018), ..station };
        let bridged = |state, attributes| near(AddressFamily::Bridge, state, attributes);
        let entry = |wanted| Some(Entry::Forward(wanted));
        check(About::Neighbour, &bridged(NeighbourState::Noarp, &at_port), entry(station));
        check(About::Neighbour, &bridged(NeighbourState::Permanent, &at_port), None);
        check(About::Neighbour, &bridged(NeighbourState::Reachable, &at_port), None);
        let set = bridged(NeighbourState::Permanent, &at_vtep);
        check(About::Neighbour, &set, entry(far));
        check(About::Neighbour, &learnt(set), None);
    }

    #[test]
    fn where_a_tunnel_floods_to_is_the_daemons_and_groups_are_nobodys() {
        let remote = NeighbourAttribute::Destination(NeighbourAddress::Inet(VTEP));
        for mac in [[0; 6], [0x33, 0x33, 0, 0, 0, 1]] {
            let lladdr = NeighbourAttribute::LinkLayerAddress(mac.to_vec());
            let attributes = [lladdr, remote.clone()];
            let set = near(AddressFamily::Bridge, NeighbourState::Permanent, &attributes);
            check(About::Neighbour, &set, None);
        }
    }

    #[test]
    fn a_rule_is_for_all_packets_or_for_some() {
        let check_rule = |family, attributes: &[RuleAttribute], wanted: Option<Rule>| {
            let mut message = RuleMessage::default();
            message.header.family = family;
            message.header.action = RuleAction::ToTable;
            message.attributes = attributes.to_vec();
            check(About::Rule, &message, wanted.map(Entry::Rule));
        };
        let all =
            |priority, table| Rule { is_ipv6: false, priority, action: 1, table, is_for_all: true };
        let of =
            |priority, table| vec![RuleAttribute::Priority(priority), RuleAttribute::Table(table)];
        let everything = RuleAttribute::SuppressPrefixLen(u32::MAX);
        let own = [of(32_766, 254), vec![everything.clone()]].concat();
        check_rule(AddressFamily::Inet, &own, Some(all(32_766, 254)));
        let vrf = [of(1000, 0), vec![RuleAttribute::L3MDev(true)]].concat();
        check_rule(AddressFamily::Inet, &vrf, Some(all(1000, 0)));
        check_rule(AddressFamily::Inet6, &vrf, Some(Rule { is_ipv6: true, ..all(1000, 0) }));
        let some = |rule| Some(Rule { is_for_all: false, ..rule });
        let narrow = [vrf, vec![RuleAttribute::Iifname("swp5".into())]].concat();
        check_rule(AddressFamily::Inet, &narrow, some(all(1000, 0)));
        check_rule(AddressFamily::Inet, &of(1000, 0), some(all(1000, 0)));
        let short = [of(9, 254), vec![RuleAttribute::SuppressPrefixLen(0)]].concat();
        check_rule(AddressFamily::Inet, &short, some(all(9, 254)));
        check_rule(AddressFamily::Other(128), &own, None);
    }
}
