//! What passes over in dialect `nxos`, block by block.

use super::block::Block;
use crate::dialect::Ignored;

/// Lines that let nothing through and stop nothing, each with the block it may stand in.
///
/// By the rules of delivery none of them lets a packet through or stops one.
pub(super) const IGNORED: &[Ignored] = &[
    Ignored::free("", "!<text>", "a comment"),
    Ignored::fixed("", "hostname <word>", "a name for people"),
    Ignored::fixed("", "feature bgp", "a feature that other lines need"),
    Ignored::fixed("", "feature dhcp", "a feature that other lines need"),
    Ignored::fixed("", "feature interface-vlan", "a feature that other lines need"),
    Ignored::fixed("", "feature nv overlay", "a feature that other lines need"),
    Ignored::fixed("", "feature vn-segment-vlan-based", "a feature that other lines need"),
    Ignored::fixed(
        "",
        "fabric forwarding anycast-gateway-mac <word>",
        "the gateway's address, the same on every leaf",
    ),
    Ignored::fixed("vlan", "name <word>", "a name for people"),
    Ignored::fixed("interface loopback", "description <text>", "a name for people"),
    Ignored::fixed("interface nve1", "description <text>", "a name for people"),
    Ignored::fixed("interface nve1", "no shutdown", "what is so by default"),
    Ignored::fixed(
        "interface nve1 / member vni",
        "ingress-replication protocol bgp",
        "where floods go is told by EVPN",
    ),
    Ignored::fixed(
        "interface nve1 / member vni",
        "suppress-arp",
        "who answers for addresses that EVPN told",
    ),
    Ignored::fixed("interface Vlan", "description <text>", "a name for people"),
    Ignored::fixed(
        "interface Vlan",
        "fabric forwarding mode anycast-gateway",
        "the gateway's address, the same on every leaf",
    ),
    Ignored::fixed("interface Vlan", "mtu <number>", "how long frames may be"),
    Ignored::fixed("interface Vlan", "no shutdown", "what is so by default"),
    Ignored::fixed("interface Ethernet", "description <text>", "a name for people"),
    Ignored::fixed("interface Ethernet", "mtu <number>", "how long frames may be"),
    Ignored::fixed("interface Ethernet", "no shutdown", "what is so by default"),
    Ignored::fixed("interface Ethernet", "no switchport", "a port that is routed"),
    Ignored::fixed("interface Ethernet", "switchport", "a port that is bridged"),
    Ignored::fixed("vrf context", "description <text>", "a name for people"),
    Ignored::fixed("security-group", "type layer4-7", "the only kind of group"),
    Ignored::fixed(
        "route-map UNCHANGED permit 10",
        "set ip next-hop unchanged",
        "routes keep their next hop",
    ),
    Ignored::fixed("router bgp", "router-id <address>", "what the speaker calls itself"),
    Ignored::fixed(
        "router bgp / address-family l2vpn evpn",
        "retain route-target all",
        "routes of others are passed on",
    ),
    Ignored::fixed("router bgp / neighbor", "description <text>", "a name for people"),
    Ignored::fixed(
        "router bgp / neighbor / address-family l2vpn evpn",
        "route-map UNCHANGED out",
        "routes keep their next hop",
    ),
    Ignored::fixed(
        "router bgp / neighbor / address-family l2vpn evpn",
        "send-community extended",
        "targets and tags go with routes",
    ),
    Ignored::fixed(
        "router bgp / vrf / address-family ipv4 unicast",
        "advertise l2vpn evpn",
        "the VRF's own addresses",
    ),
];

impl Block<'_> {
    /// Where a line of it stands, as the list calls it.
    pub(super) const fn place(&self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Vlan(_) => "vlan",
            Self::Loopback(_) => "interface loopback",
            Self::Nve => "interface nve1",
            Self::NveMember => "interface nve1 / member vni",
            Self::Svi(_) => "interface Vlan",
            Self::Port(_) => "interface Ethernet",
            Self::Vrf(_) => "vrf context",
            Self::Group(_) => "security-group",
            Self::Unchanged => "route-map UNCHANGED permit 10",
            Self::Bgp => "router bgp",
            Self::BgpEvpn => "router bgp / address-family l2vpn evpn",
            Self::Neighbor(_) => "router bgp / neighbor",
            Self::NeighborEvpn => "router bgp / neighbor / address-family l2vpn evpn",
            Self::BgpVrfIpv4 => "router bgp / vrf / address-family ipv4 unicast",
            _ => "nowhere",
        }
    }
}
