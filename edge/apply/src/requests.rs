//! What is asked of the kernel, one thing a function.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd as _;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage,
};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgeStpState, In6AddrGenMode, InfoBridge, InfoBridgePort,
    InfoData, InfoKind, InfoPortData, InfoPortKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo,
    LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteProtocol, RouteScope,
    RouteType, RouteVia,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc::{EADDRNOTAVAIL, EEXIST, ENODEV, ENOENT, EOPNOTSUPP, ESRCH};
use observe::{FIRST_RULE, KernelRequest, LAST_METRIC, PlainRule, RULES, new_device, table_of};
use wire::Mac;

/// The number of `lo` in every namespace.
pub(crate) const LOOPBACK: u32 = 1;
/// The UDP port of VXLAN (RFC 7348, section 5).
const VXLAN: u16 = 4789;
/// The outer header takes the inner one's traffic class.
const TOS_INHERIT: u8 = 1;
/// An entry that was set and does not age: `NUD_NOARP | NUD_REACHABLE` (linux/neighbour.h).
const STATIC: NeighbourState = NeighbourState::Other(0x42);

/// Groups of links that are removed together are numbered from here: nobody else's group.
const GROUPS: u32 = 1 << 30;

/// What the kernel says of things that are not there, each in its own way.
const GONE: &[i32] = &[ENODEV, ENOENT, ESRCH, EADDRNOTAVAIL];
const GONE_OR_OUT: &[i32] = &[ENODEV, ENOENT, ESRCH, EADDRNOTAVAIL, EOPNOTSUPP];

/// VRF devices have numbers of their own, as bridges and tunnels have.
const VRFS: u32 = 3 << 24;

/// The number of a VRF device is its tenant's.
pub(crate) fn vrf_index(name: &str) -> u32 {
    VRFS + table_of(name).unwrap_or_default()
}

/// Makes a VRF device, or what is missing of it: the rules by which the kernel asks the VRF's table
/// before its own, the routes that end the table, and only then the device goes up.
pub(crate) fn make_vrf(name: &str) -> Vec<KernelRequest> {
    let table = table_of(name).unwrap_or_default();
    let mut all = vec![new_device(name, vrf_index(name), table)];
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        all.extend(RULES.map(|rule| add_rule(family, rule)));
        let (priority, of) = FIRST_RULE;
        all.push(remove_rule(family, priority, RuleAction::ToTable, of));
        all.push(end_table(family, table));
    }
    let mut up = named(name);
    up.header.flags = LinkFlags::Up;
    up.header.change_mask = LinkFlags::Up;
    all.push(request(format!("bring {name} up"), RouteNetlinkMessage::SetLink(up), 0, &[]));
    all
}

/// Removes a VRF device, and the routes that ended its table.
pub(crate) fn end_vrf(name: &str) -> Vec<KernelRequest> {
    let message = RouteNetlinkMessage::DelLink(named(name));
    let mut all = vec![request(format!("remove the VRF device {name}"), message, 0, GONE)];
    let any = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()];
    if let Some(table) = table_of(name) {
        all.extend(any.map(|any| remove_route(any, 0, Some(LAST_METRIC), Some(table))));
    }
    all
}

/// Lets nothing fall through a VRF's table to the tables after it.
fn end_table(family: AddressFamily, table: u32) -> KernelRequest {
    let mut message = RouteMessage::default();
    message.header.address_family = family;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unreachable;
    message.attributes = vec![RouteAttribute::Table(table), RouteAttribute::Priority(LAST_METRIC)];
    let message = RouteNetlinkMessage::NewRoute(message);
    request(format!("end table {table}"), message, NLM_F_CREATE | NLM_F_EXCL, &[EEXIST])
}

fn add_rule(family: AddressFamily, (priority, table): PlainRule) -> KernelRequest {
    let mut message = about_rule(family, priority, RuleAction::ToTable, table);
    // As the kernel marks its own: otherwise one that is there already would be there twice.
    message.attributes.push(RuleAttribute::Protocol(RouteProtocol::Kernel));
    if table.is_none() {
        message.attributes.push(RuleAttribute::L3MDev(true));
    }
    let message = RouteNetlinkMessage::NewRule(message);
    request(format!("take the rule {priority}"), message, NLM_F_CREATE | NLM_F_EXCL, &[EEXIST])
}

pub(crate) fn remove_rule(
    family: AddressFamily,
    priority: u32,
    action: RuleAction,
    table: Option<u32>,
) -> KernelRequest {
    let message = RouteNetlinkMessage::DelRule(about_rule(family, priority, action, table));
    request(format!("give up the rule {priority}"), message, 0, GONE)
}

fn about_rule(
    family: AddressFamily,
    priority: u32,
    action: RuleAction,
    table: Option<u32>,
) -> RuleMessage {
    let mut message = RuleMessage::default();
    message.header.family = family;
    message.header.action = action;
    message.attributes.push(RuleAttribute::Priority(priority));
    message.attributes.extend(table.map(RuleAttribute::Table));
    message
}

/// A bridge of a VRF, made in the namespace where it stays: bridges cannot move. Where VRFs are
/// devices, it is put into its VRF's.
pub(crate) fn new_bridge(
    name: &str,
    index: u32,
    mac: Mac,
    device: Option<u32>,
) -> [KernelRequest; 2] {
    let about =
        vec![InfoBridge::StpState(BridgeStpState::Disabled), InfoBridge::MulticastSnooping(false)];
    let mut link = link(index);
    link.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::Address(mac.0.to_vec()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(about)),
        ]),
    ];
    [create(format!("make the bridge {name}"), link), settle(name, silent(index), device)]
}

/// Brings a bridge that is there already to what it should be.
pub(crate) fn mend_bridge(
    name: &str,
    index: u32,
    mac: Mac,
    device: Option<u32>,
) -> [KernelRequest; 2] {
    let about = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::MulticastSnooping(false),
        InfoBridge::VlanFiltering(false),
    ];
    let mut mended = link(index);
    mended.attributes = vec![LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Bridge),
        LinkInfo::Data(InfoData::Bridge(about)),
    ])];
    let mut addressed = silent(index);
    addressed.attributes.push(LinkAttribute::Address(mac.0.to_vec()));
    let what = format!("change the bridge {name}");
    [
        // A kernel without VLAN filtering refuses to hear of it, and has none either.
        request(what, RouteNetlinkMessage::NewLink(mended), 0, &[EOPNOTSUPP]),
        settle(name, addressed, device),
    ]
}

/// Where a tunnel shall stand.
pub(crate) struct Vrf<'a> {
    pub(crate) namespace: &'a File,
    /// Between VRFs of one namespace the kernel's short way from a tunnel to another tunnel of the
    /// same node does not work: the packet comes out with the route that it went in by, and takes it
    /// again until its time is over. So what is sent to oneself goes the whole way.
    pub(crate) is_device: bool,
}

/// A tunnel that learns nothing by itself, keeps the traffic class and carries group tags. Asked
/// for in the node's own namespace, where its packets are sent and received; it stands in the
/// VRF's.
pub(crate) fn new_tunnel(
    name: &str,
    index: u32,
    vni: u32,
    local: Ipv4Addr,
    mtu: Option<u32>,
    vrf: &Vrf<'_>,
) -> KernelRequest {
    let mut about = vec![
        InfoVxlan::Id(vni),
        InfoVxlan::Local(local),
        InfoVxlan::Port(VXLAN),
        InfoVxlan::Learning(false),
        InfoVxlan::Tos(TOS_INHERIT),
        InfoVxlan::Gbp,
    ];
    if vrf.is_device {
        about.push(InfoVxlan::Localbypass(false));
    }
    let mut link = link(index);
    link.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::NetNsFd(vrf.namespace.as_raw_fd()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vxlan),
            LinkInfo::Data(InfoData::Vxlan(about)),
        ]),
    ];
    link.attributes.extend(mtu.map(LinkAttribute::Mtu));
    create(format!("make the tunnel {name}"), link)
}

/// Puts a tunnel or a port of this MTU into its bridge. Everything that is said of a link at once is
/// told to whoever listens once.
pub(crate) fn put_into(name: &str, index: u32, bridge: u32, mtu: Option<u32>) -> KernelRequest {
    let mut link = silent(index);
    link.attributes.extend(mtu.map(LinkAttribute::Mtu));
    settle(name, link, Some(bridge))
}

fn settle(name: &str, mut link: LinkMessage, master: Option<u32>) -> KernelRequest {
    link.attributes.extend(master.map(LinkAttribute::Controller));
    request(format!("put {name} where it belongs"), RouteNetlinkMessage::SetLink(link), 0, &[])
}

/// A port of a bridge learns nothing: who is behind it is said.
pub(crate) fn set_port(name: &str, index: u32) -> KernelRequest {
    request(format!("stop {name} from learning"), unlearning(link(index), false), 0, &[])
}

/// A tunnel in a bridge learns nothing either, answers for neighbours that are known instead of
/// asking all, and goes up with that.
pub(crate) fn open_tunnel(name: &str, index: u32) -> KernelRequest {
    request(format!("bring {name} up"), unlearning(upwards(index), true), 0, &[])
}

fn unlearning(mut link: LinkMessage, suppresses: bool) -> RouteNetlinkMessage {
    let about = vec![InfoBridgePort::Learning(false), InfoBridgePort::NeighSupress(suppresses)];
    link.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::PortKind(InfoPortKind::Bridge),
        LinkInfo::PortData(InfoPortData::BridgePort(about)),
    ]));
    RouteNetlinkMessage::NewLink(link)
}

pub(crate) fn set_mtu(name: &str, index: u32, mtu: u32) -> KernelRequest {
    let mut link = link(index);
    link.attributes.push(LinkAttribute::Mtu(mtu));
    request(format!("give {name} an MTU of {mtu}"), RouteNetlinkMessage::SetLink(link), 0, &[])
}

pub(crate) fn set_up(name: &str, index: u32) -> KernelRequest {
    request(format!("bring {name} up"), RouteNetlinkMessage::SetLink(upwards(index)), 0, &[])
}

pub(crate) fn set_down(name: &str, index: u32) -> KernelRequest {
    let mut link = link(index);
    link.header.change_mask = LinkFlags::Up;
    request(format!("bring {name} down"), RouteNetlinkMessage::SetLink(link), 0, GONE)
}

/// Out of its bridge and down.
pub(crate) fn take_out(name: &str, index: u32) -> KernelRequest {
    let mut link = link(index);
    link.header.change_mask = LinkFlags::Up;
    link.attributes.push(LinkAttribute::Controller(0));
    request(format!("take {name} out"), RouteNetlinkMessage::SetLink(link), 0, GONE)
}

pub(crate) fn move_to(name: &str, index: u32, namespace: &File) -> KernelRequest {
    let mut link = link(index);
    link.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
    request(format!("move {name}"), RouteNetlinkMessage::SetLink(link), 0, GONE)
}

/// Removes links of one namespace. Several become a group first, by the number of the first, and go
/// at once: each by itself would keep everybody else from changing a link for grace periods.
pub(crate) fn remove_links(links: &[(&str, u32)]) -> Vec<KernelRequest> {
    let (name, index) = match *links {
        [] => return Vec::new(),
        [(name, index)] => {
            let message = RouteNetlinkMessage::DelLink(link(index));
            return vec![request(format!("remove {name}"), message, 0, GONE)];
        }
        [first, ..] => first,
    };
    let group = LinkAttribute::Group(GROUPS + index);
    let join = |(name, index): &(&str, u32)| {
        let mut link = link(*index);
        link.attributes.push(group.clone());
        request(format!("prepare to remove {name}"), RouteNetlinkMessage::SetLink(link), 0, GONE)
    };
    let mut all = link(0);
    all.attributes.push(group.clone());
    let what = format!("remove {name} and {} more", links.len() - 1);
    let remove = request(what, RouteNetlinkMessage::DelLink(all), 0, GONE);
    links.iter().map(join).chain([remove]).collect()
}

pub(crate) fn add_address(index: u32, address: IpAddr, prefix: u8) -> KernelRequest {
    let message = RouteNetlinkMessage::NewAddress(about_address(index, address, prefix));
    let flags = NLM_F_CREATE | NLM_F_EXCL;
    request(format!("take the address {address}/{prefix}"), message, flags, &[EEXIST])
}

pub(crate) fn remove_address(index: u32, address: IpAddr, prefix: u8) -> KernelRequest {
    let message = RouteNetlinkMessage::DelAddress(about_address(index, address, prefix));
    request(format!("give up {address}/{prefix}"), message, 0, GONE)
}

/// Who has this address; `announced` anew if the routing daemons have forgotten it: they hear only
/// of changes.
pub(crate) fn add_neighbour(
    index: u32,
    address: IpAddr,
    mac: Mac,
    announced: bool,
) -> Vec<KernelRequest> {
    let states = if announced {
        &[NeighbourState::Noarp, NeighbourState::Permanent][..]
    } else {
        &[NeighbourState::Permanent][..]
    };
    let set = |state: &NeighbourState| {
        let mut message = about_neighbour(index, address);
        message.header.state = *state;
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
        let what = format!("take the neighbour {address}");
        request(what, RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE, &[])
    };
    states.iter().map(set).collect()
}

pub(crate) fn remove_neighbour(index: u32, address: IpAddr) -> KernelRequest {
    let message = RouteNetlinkMessage::DelNeighbour(about_neighbour(index, address));
    request(format!("forget the neighbour {address}"), message, 0, GONE)
}

/// This Ethernet address is behind this port of a bridge.
pub(crate) fn add_station(port: u32, mac: Mac) -> KernelRequest {
    let mut message = about_entry(port, mac, NeighbourFlags::Controller);
    message.header.state = STATIC;
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    request(format!("forward to {mac}"), RouteNetlinkMessage::NewNeighbour(message), flags, &[])
}

pub(crate) fn remove_station(port: u32, mac: Mac) -> KernelRequest {
    let message = about_entry(port, mac, NeighbourFlags::Controller);
    let message = RouteNetlinkMessage::DelNeighbour(message);
    // A port that is in no bridge any more has no entry, and the kernel no word for that.
    request(format!("forget {mac}"), message, 0, GONE_OR_OUT)
}

/// This Ethernet address is behind this tunnel endpoint, in this VNI.
pub(crate) fn add_remote(tunnel: u32, mac: Mac, vtep: Ipv4Addr, vni: Option<u32>) -> KernelRequest {
    let mut message = about_remote(tunnel, mac, Some(vtep), vni);
    message.header.state = STATIC;
    let flags = NLM_F_CREATE | NLM_F_REPLACE;
    let what = format!("forward to {mac} at {vtep}");
    request(what, RouteNetlinkMessage::NewNeighbour(message), flags, &[])
}

pub(crate) fn remove_remote(
    tunnel: u32,
    mac: Mac,
    vtep: Option<Ipv4Addr>,
    vni: Option<u32>,
) -> KernelRequest {
    let message = RouteNetlinkMessage::DelNeighbour(about_remote(tunnel, mac, vtep, vni));
    request(format!("forget {mac}"), message, 0, GONE)
}

/// One address, reached through a neighbour on this bridge.
pub(crate) fn add_route(
    address: IpAddr,
    bridge: u32,
    via: Ipv6Addr,
    table: Option<u32>,
) -> KernelRequest {
    let prefix = if address.is_ipv4() { 32 } else { 128 };
    let mut message = about_route(address, prefix);
    message.attributes.extend(table.map(RouteAttribute::Table));
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.header.flags = RouteFlags::Onlink;
    message.attributes.push(RouteAttribute::Oif(bridge));
    message.attributes.push(if address.is_ipv4() {
        RouteAttribute::Via(RouteVia::Inet6(via))
    } else {
        RouteAttribute::Gateway(RouteAddress::Inet6(via))
    });
    let what = format!("reach {address}");
    request(what, RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_REPLACE, &[])
}

pub(crate) fn remove_route(
    address: IpAddr,
    prefix: u8,
    metric: Option<u32>,
    table: Option<u32>,
) -> KernelRequest {
    let mut message = about_route(address, prefix);
    message.header.scope = RouteScope::NoWhere;
    message.attributes.extend(metric.map(RouteAttribute::Priority));
    message.attributes.extend(table.map(RouteAttribute::Table));
    let what = format!("forget the route to {address}/{prefix}");
    request(what, RouteNetlinkMessage::DelRoute(message), 0, GONE)
}

fn named(name: &str) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.into()));
    link
}

fn link(index: u32) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link
}

fn upwards(index: u32) -> LinkMessage {
    let mut link = link(index);
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link
}

/// Lets the kernel make up no link-local address: what it would say by itself has no tag.
fn silent(index: u32) -> LinkMessage {
    let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let mut link = link(index);
    link.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])]));
    link
}

fn about_address(index: u32, address: IpAddr, prefix: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix;
    message.header.index = index;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    if address.is_ipv6() {
        // Every device has the gateway's address: nobody is to be asked whether it is free.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    message
}

fn about_neighbour(index: u32, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    let address = match address {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    };
    message.attributes.push(NeighbourAttribute::Destination(address));
    message
}

fn about_entry(index: u32, mac: Mac, flags: NeighbourFlags) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.header.ifindex = index;
    message.header.flags = flags;
    message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
    message
}

fn about_remote(
    tunnel: u32,
    mac: Mac,
    vtep: Option<Ipv4Addr>,
    vni: Option<u32>,
) -> NeighbourMessage {
    let mut message = about_entry(tunnel, mac, NeighbourFlags::Own);
    let destination = vtep.map(NeighbourAddress::Inet).map(NeighbourAttribute::Destination);
    message.attributes.extend(destination);
    message.attributes.extend(vni.map(NeighbourAttribute::Vni));
    message
}

fn about_route(address: IpAddr, prefix: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(address);
    message.header.destination_prefix_length = prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    if prefix > 0 {
        message.attributes.push(RouteAttribute::Destination(address.into()));
    }
    message
}

const fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn create(what: String, link: LinkMessage) -> KernelRequest {
    let message = RouteNetlinkMessage::NewLink(link);
    request(what, message, NLM_F_CREATE | NLM_F_EXCL, &[EEXIST])
}

const fn request(
    what: String,
    message: RouteNetlinkMessage,
    flags: u16,
    forgives: &'static [i32],
) -> KernelRequest {
    KernelRequest { what, message, flags, forgives }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable as _;

    use super::*;

    /// The kind of message and its bytes as words of four, so that numbers can be read.
    fn check(requests: &[KernelRequest], wanted: &[&str]) {
        let said: Vec<String> = requests.iter().map(|request| request.what.clone()).collect();
        assert_eq!(said, wanted);
    }

    fn words(message: &RouteNetlinkMessage) -> Vec<u32> {
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
        bytes.chunks(4).map(word).collect()
    }

    #[test]
    fn a_vrf_device_goes_up_when_its_table_and_its_rules_are_there() {
        check(
            &make_vrf("t17"),
            &[
                "make the VRF device t17",
                "take the rule 1000",
                "take the rule 32765",
                "give up the rule 0",
                "end table 50017",
                "take the rule 1000",
                "take the rule 32765",
                "give up the rule 0",
                "end table 50017",
                "bring t17 up",
            ],
        );
        check(
            &end_vrf("t17"),
            &[
                "remove the VRF device t17",
                "forget the route to 0.0.0.0/0",
                "forget the route to ::/0",
            ],
        );
    }

    #[test]
    fn the_bytes_are_those_that_the_kernel_expects() {
        let attribute = |kind: u32, bytes: u32| kind << 16 | (4 + bytes);
        let table = [attribute(15, 4), 50_017];
        // struct fib_rule_hdr: the family, and action 1 in the last byte of the second word.
        let rule = words(&add_rule(AddressFamily::Inet, (1000, None)).message);
        assert_eq!(rule[..5], [2, 1 << 24, 0, attribute(6, 4), 1000]);
        assert_eq!(rule[5..], [attribute(21, 1), 2, attribute(19, 1), 1]);
        let gone =
            words(&remove_rule(AddressFamily::Inet6, 0, RuleAction::ToTable, Some(255)).message);
        assert_eq!(gone, [10, 1 << 24, 0, attribute(6, 4), 0, attribute(15, 4), 255]);
        // struct rtmsg: unreachable is 7, static is 4.
        let last = words(&end_table(AddressFamily::Inet, 50_017).message);
        assert_eq!(last[1..3], [7 << 24 | 4 << 8, 0]);
        assert_eq!(last[3..], [table.as_slice(), &[attribute(6, 4), LAST_METRIC]].concat());
        let reach = |table| {
            let via = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
            words(&add_route(Ipv4Addr::new(10, 9, 0, 2).into(), 7, via, table).message)
        };
        let in_table = reach(Some(50_017));
        assert!(in_table.windows(2).any(|pair| pair == table));
        assert!(!reach(None).contains(&50_017));
    }
}
