//! An interface, out of the bytes of the kernel's message about it.

use std::net::IpAddr;

use netlink_packet_core::DecodeError;
use netlink_packet_route::link::LinkFlags;
use wire::Mac;

use crate::bytes::{attributes, ip, is_on, mac, u32_at, words};

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Interface {
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) mac: Mac,
    pub(crate) mtu: u32,
    /// As the administrator wants it.
    pub(crate) is_up: bool,
    /// Whether it is also able to carry packets.
    pub(crate) runs: bool,
    pub(crate) master: Option<u32>,
    /// What it stands on in the same namespace: the other end of a cable, the link of a VLAN.
    pub(crate) beneath: Option<u32>,
    pub(crate) kind: Kind,
    /// What it is as the port of a bridge.
    pub(crate) port: Option<BridgePort>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Loopback,
    Bridge(Bridge),
    Tunnel(Tunnel),
    Vrf { table: u32 },
    Other,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Bridge {
    pub(crate) stp: bool,
    pub(crate) vlan_filtering: bool,
    pub(crate) snooping: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct BridgePort {
    pub(crate) learns: bool,
    pub(crate) suppresses: bool,
}

/// A VXLAN device.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tunnel {
    pub(crate) vni: u32,
    pub(crate) local: Option<IpAddr>,
    pub(crate) remote: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) learns: bool,
    pub(crate) tos: u8,
    pub(crate) tags: bool,
    pub(crate) external: bool,
}

impl Interface {
    /// From what follows the header of a netlink message about a link.
    pub(crate) fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let header = message.get(..HEADER_BYTES).ok_or("a link's message is too short")?;
        let flags = LinkFlags::from_bits_retain(u32_at(&header[8..12]));
        let mut found = Self {
            index: u32_at(&header[4..8]),
            name: String::new(),
            mac: Mac([0; 6]),
            mtu: 0,
            is_up: flags.contains(LinkFlags::Up),
            runs: flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
            master: None,
            beneath: None,
            kind: Kind::Other,
            port: None,
        };
        let mut is_elsewhere = false;
        for attribute in attributes(&message[HEADER_BYTES..]) {
            let (kind, value) = attribute?;
            match kind {
                IFLA_ADDRESS => found.mac = mac(value),
                IFLA_IFNAME => found.name = words(value),
                IFLA_MTU => found.mtu = u32_at(value),
                IFLA_LINK => found.beneath = Some(u32_at(value)),
                IFLA_MASTER => found.master = Some(u32_at(value)),
                IFLA_LINK_NETNSID => is_elsewhere = true,
                IFLA_LINKINFO => found.learn(value)?,
                _ => {}
            }
        }
        let index = found.index;
        found.beneath = found.beneath.filter(|link| !is_elsewhere && *link != 0 && *link != index);
        if flags.contains(LinkFlags::Loopback) {
            found.kind = Kind::Loopback;
        }
        Ok(found)
    }

    fn learn(&mut self, info: &[u8]) -> Result<(), DecodeError> {
        let (mut kind, mut port_of) = (&b""[..], &b""[..]);
        for attribute in attributes(info) {
            let (number, value) = attribute?;
            match (number, kind) {
                (IFLA_INFO_KIND, _) => {
                    kind = plain(value);
                    self.kind = match kind {
                        b"bridge" => Kind::Bridge(Bridge::default()),
                        b"vxlan" => Kind::Tunnel(Tunnel::default()),
                        b"vrf" => Kind::Vrf { table: 0 },
                        _ => Kind::Other,
                    };
                }
                (IFLA_INFO_DATA, b"bridge") => self.kind = Kind::Bridge(Bridge::read(value)?),
                (IFLA_INFO_DATA, b"vxlan") => self.kind = Kind::Tunnel(Tunnel::read(value)?),
                (IFLA_INFO_DATA, b"vrf") => self.kind = Kind::Vrf { table: table(value)? },
                (IFLA_INFO_SLAVE_KIND, _) => port_of = plain(value),
                (IFLA_INFO_SLAVE_DATA, _) if port_of == b"bridge" => {
                    self.port = Some(BridgePort::read(value)?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A word without the zero at its end.
fn plain(word: &[u8]) -> &[u8] {
    word.strip_suffix(b"\0").unwrap_or(word)
}

/// The table of a VRF device.
fn table(data: &[u8]) -> Result<u32, DecodeError> {
    let mut table = 0;
    for attribute in attributes(data) {
        if let (IFLA_VRF_TABLE, value) = attribute? {
            table = u32_at(value);
        }
    }
    Ok(table)
}

impl Bridge {
    fn read(data: &[u8]) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        for attribute in attributes(data) {
            let (kind, value) = attribute?;
            match kind {
                IFLA_BR_STP_STATE => found.stp = u32_at(value) != 0,
                IFLA_BR_VLAN_FILTERING => found.vlan_filtering = is_on(value),
                IFLA_BR_MCAST_SNOOPING => found.snooping = is_on(value),
                _ => {}
            }
        }
        Ok(found)
    }
}

impl BridgePort {
    fn read(data: &[u8]) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        for attribute in attributes(data) {
            let (kind, value) = attribute?;
            match kind {
                IFLA_BRPORT_LEARNING => found.learns = is_on(value),
                IFLA_BRPORT_NEIGH_SUPPRESS => found.suppresses = is_on(value),
                _ => {}
            }
        }
        Ok(found)
    }
}

impl Tunnel {
    fn read(data: &[u8]) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        for attribute in attributes(data) {
            let (kind, value) = attribute?;
            match kind {
                IFLA_VXLAN_ID => found.vni = u32_at(value),
                IFLA_VXLAN_LOCAL | IFLA_VXLAN_LOCAL6 => found.local = ip(value),
                IFLA_VXLAN_GROUP | IFLA_VXLAN_GROUP6 => found.remote = ip(value),
                IFLA_VXLAN_PORT => {
                    found.port = u16::from_be_bytes(value.try_into().unwrap_or([0; 2]));
                }
                IFLA_VXLAN_LEARNING => found.learns = is_on(value),
                IFLA_VXLAN_TOS => found.tos = value.first().copied().unwrap_or(0),
                IFLA_VXLAN_GBP => found.tags = true,
                IFLA_VXLAN_COLLECT_METADATA => found.external = is_on(value),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The bytes of `struct ifinfomsg` (linux/rtnetlink.h).
const HEADER_BYTES: usize = 16;

// Numbers of linux/if_link.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_VRF_TABLE: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_VLAN_FILTERING: u16 = 7;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BRPORT_LEARNING: u16 = 8;
const IFLA_BRPORT_NEIGH_SUPPRESS: u16 = 32;
const IFLA_VXLAN_ID: u16 = 1;
const IFLA_VXLAN_GROUP: u16 = 2;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_TOS: u16 = 6;
const IFLA_VXLAN_LEARNING: u16 = 7;
const IFLA_VXLAN_PORT: u16 = 15;
const IFLA_VXLAN_GROUP6: u16 = 16;
const IFLA_VXLAN_LOCAL6: u16 = 17;
const IFLA_VXLAN_GBP: u16 = 23;
const IFLA_VXLAN_COLLECT_METADATA: u16 = 25;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use netlink_packet_core::Emitable as _;
    use netlink_packet_route::link::{
        BridgeStpState, InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind,
        InfoVrf, InfoVxlan, LinkAttribute, LinkInfo, LinkMessage,
    };

    use super::*;

    fn check(attributes: Vec<LinkAttribute>, flags: LinkFlags, wanted: &Interface) {
        let mut message = LinkMessage::default();
        message.header.index = wanted.index;
        message.header.flags = flags;
        message.attributes = attributes;
        message.attributes.push(LinkAttribute::IfName(wanted.name.clone()));
        message.attributes.push(LinkAttribute::Mtu(wanted.mtu));
        message.attributes.push(LinkAttribute::Address(wanted.mac.0.to_vec()));
        let mut bytes = vec![0; message.buffer_len()];
        message.emit(&mut bytes);
        assert_eq!(&Interface::read(&bytes).unwrap(), wanted);
        for length in 0..HEADER_BYTES {
            assert!(Interface::read(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    fn plain(name: &str, index: u32) -> Interface {
        Interface {
            index,
            name: name.into(),
            mac: Mac([2, 0, 0, 0, 0, 9]),
            mtu: 9216,
            is_up: true,
            runs: true,
            master: None,
            beneath: None,
            kind: Kind::Other,
            port: None,
        }
    }

    fn info(kind: InfoKind, data: InfoData) -> Vec<LinkInfo> {
        vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]
    }

    #[test]
    fn a_tunnel_is_all_that_the_library_says_of_it() {
        let local = Ipv4Addr::new(10, 255, 0, 7);
        let remote = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 7);
        let about = vec![
            InfoVxlan::Id(101_001),
            InfoVxlan::Local(local),
            InfoVxlan::Group6(remote),
            InfoVxlan::Port(4789),
            InfoVxlan::Learning(true),
            InfoVxlan::Tos(1),
            InfoVxlan::Gbp,
            InfoVxlan::CollectMetadata(true),
        ];
        let mut linked = info(InfoKind::Vxlan, InfoData::Vxlan(about));
        linked.push(LinkInfo::PortKind(InfoPortKind::Bridge));
        linked.push(LinkInfo::PortData(InfoPortData::BridgePort(vec![
            InfoBridgePort::Learning(false),
            InfoBridgePort::NeighSupress(true),
        ])));
        let tunnel = Tunnel {
            vni: 101_001,
            local: Some(local.into()),
            remote: Some(remote.into()),
            port: 4789,
            learns: true,
            tos: 1,
            tags: true,
            external: true,
        };
        let wanted = Interface {
            master: Some(16_778_217),
            kind: Kind::Tunnel(tunnel),
            port: Some(BridgePort { learns: false, suppresses: true }),
            ..plain("vx101001", 33_655_433)
        };
        let attributes =
            vec![LinkAttribute::Controller(16_778_217), LinkAttribute::LinkInfo(linked)];
        check(attributes, LinkFlags::Up | LinkFlags::LowerUp, &wanted);
    }

    #[test]
    fn a_bridge_that_is_down_and_filters() {
        let about = vec![
            InfoBridge::StpState(BridgeStpState::KernelStp),
            InfoBridge::VlanFiltering(true),
            InfoBridge::MulticastSnooping(false),
        ];
        let bridge = Bridge { stp: true, vlan_filtering: true, snooping: false };
        let wanted = Interface {
            is_up: false,
            runs: false,
            kind: Kind::Bridge(bridge),
            ..plain("br1001", 16_778_217)
        };
        let linked = info(InfoKind::Bridge, InfoData::Bridge(about));
        check(vec![LinkAttribute::LinkInfo(linked)], LinkFlags::empty(), &wanted);
    }

    #[test]
    fn a_port_without_a_cable_is_up_and_does_not_run() {
        let wanted = Interface { runs: false, ..plain("swp5", 9) };
        check(Vec::new(), LinkFlags::Up, &wanted);
    }

    #[test]
    fn the_loopback_is_known_by_its_flag() {
        let wanted = Interface { kind: Kind::Loopback, ..plain("lo", 1) };
        check(Vec::new(), LinkFlags::Up | LinkFlags::LowerUp | LinkFlags::Loopback, &wanted);
    }

    #[test]
    fn a_vrf_device_has_its_table_and_what_is_in_it_is_no_port_of_a_bridge() {
        let table = vec![InfoVrf::TableId(50_017)];
        let linked = info(InfoKind::Vrf, InfoData::Vrf(table));
        let wanted = Interface { kind: Kind::Vrf { table: 50_017 }, ..plain("t17", 7) };
        let flags = LinkFlags::Up | LinkFlags::LowerUp;
        check(vec![LinkAttribute::LinkInfo(linked)], flags, &wanted);
        let inside = vec![
            LinkAttribute::Controller(7),
            LinkAttribute::LinkInfo(vec![LinkInfo::PortKind(InfoPortKind::Vrf)]),
        ];
        check(inside, flags, &Interface { master: Some(7), ..plain("br1001", 8) });
    }

    #[test]
    fn what_an_interface_stands_on_is_in_the_same_namespace_or_nowhere() {
        let flags = LinkFlags::Up | LinkFlags::LowerUp;
        let here = Interface { beneath: Some(9), ..plain("br1.7", 7) };
        check(vec![LinkAttribute::Link(9)], flags, &here);
        check(
            vec![LinkAttribute::Link(9), LinkAttribute::LinkNetNsId(0)],
            flags,
            &plain("swp5", 7),
        );
        check(vec![LinkAttribute::Link(0)], flags, &plain("tun0", 7));
    }
}
