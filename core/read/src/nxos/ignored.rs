//! What passes over in dialect `nxos`, block by block, and what must be there.

use super::block::Block;
use crate::dialect::{Demanded, Ignored};

/// Lines that let nothing through and stop nothing, each with the block it may stand in.
///
/// By the rules of delivery none of them lets a packet through or stops one. Of what is the
/// operator's own only values pass that open nothing: no shell, no program, no other VRF.
pub(super) const IGNORED: &[Ignored] = &[
    Ignored::free("", "!<text>", "a comment"),
    Ignored::fixed("", "hostname <word>", "a name for people"),
    Ignored::fixed(
        "",
        "feature (bgp|dhcp|interface-vlan|vn-segment-vlan-based|security-group)",
        "a feature that is demanded",
    ),
    Ignored::fixed("", "feature nv overlay", "a feature that is demanded"),
    Ignored::free(
        "",
        "feature (lldp|lacp)",
        "tells neighbours of itself, and joins no ports by itself",
    ),
    Ignored::free("", "feature ssh", "how people log in, with a key"),
    Ignored::fixed(
        "",
        "system jumbomtu 9166",
        "how long frames of endpoints may be, as is demanded",
    ),
    Ignored::fixed(
        "",
        "fabric forwarding anycast-gateway-mac 0200.0000.0001",
        "the gateway's address, the same on every leaf and for Linux",
    ),
    Ignored::free("", "version <version> Bios:version <version>", "which program printed it"),
    Ignored::free("", "version <version>", "which program printed it"),
    Ignored::free(
        "vdc",
        "limit-resource <name> minimum <number> maximum <number>",
        "how much of it may be used at most",
    ),
    Ignored::free(
        "",
        "username admin password 5 <word> role network-admin",
        "who may log in, with a password that is not shown",
    ),
    Ignored::free(
        "",
        "username <name> password 5 <word> role network-operator",
        "who may log in and look",
    ),
    Ignored::free("", "no password strength-check", "which passwords people may choose"),
    Ignored::free("", "password strength-check", "which passwords people may choose"),
    Ignored::free(
        "",
        "snmp-server user <name> (network-admin|network-operator) auth (md5|sha) <hex> priv <hex> (localizedkey|localizedV2key)",
        "who may ask for counters, each with a key",
    ),
    Ignored::free(
        "",
        "snmp-server user <name> (network-admin|network-operator) auth (md5|sha) <hex> priv aes-128 <hex> (localizedkey|localizedV2key)",
        "who may ask for counters, each with a key",
    ),
    Ignored::free("", "snmp-server (contact|location) <text>", "what is told to people"),
    Ignored::free(
        "",
        "rmon event <number> log trap public description <word> owner <word>",
        "what is told to people",
    ),
    Ignored::free(
        "",
        "rmon event <number> description <word> owner <word>",
        "what is told to people",
    ),
    Ignored::free(
        "",
        "copp profile (strict|moderate|lenient|dense)",
        "how much reaches the processor of the switch",
    ),
    Ignored::free("", "icam monitor scale", "what the switch counts of itself"),
    Ignored::free("", "ip domain-lookup", "which names people may write instead of addresses"),
    Ignored::free("", "no ip domain-lookup", "which names people may write instead of addresses"),
    Ignored::free("", "ip domain-name <word>", "which names people may write instead of addresses"),
    Ignored::free(
        "",
        "ip name-server <address> use-vrf management",
        "which names people may write instead of addresses",
    ),
    Ignored::free("", "ntp server <address> use-vrf management", "which time it is"),
    Ignored::free("", "ntp server <address> prefer use-vrf management", "which time it is"),
    Ignored::free("", "ntp source-interface mgmt0", "which time it is"),
    Ignored::free("", "clock timezone <name> <number> <number>", "which time it is"),
    Ignored::free(
        "",
        "logging server <address> <number> use-vrf management",
        "what the switch writes of itself",
    ),
    Ignored::free(
        "",
        "logging timestamp (milliseconds|microseconds|seconds)",
        "what the switch writes of itself",
    ),
    Ignored::free("", "logging (console|monitor) <number>", "what the switch writes of itself"),
    Ignored::free("", "no logging (console|monitor)", "what the switch writes of itself"),
    Ignored::free(
        "",
        "logging logfile <name> <number> size <number>",
        "what the switch writes of itself",
    ),
    Ignored::free("", "logging level <name> <number>", "what the switch writes of itself"),
    Ignored::free(
        "",
        "cli alias name (wr|wri) copy (run|running-config) (start|startup-config)",
        "a short name for saving what runs",
    ),
    Ignored::free("", "boot nxos bootflash:<path>", "which program starts"),
    Ignored::free(
        "",
        "service dhcp",
        "relays are told their servers elsewhere, and are found there",
    ),
    Ignored::free(
        "",
        "ip dhcp relay",
        "relays are told their servers elsewhere, and are found there",
    ),
    Ignored::free(
        "",
        "ipv6 dhcp relay",
        "relays are told their servers elsewhere, and are found there",
    ),
    Ignored::free(
        "",
        "spanning-tree mode (rapid-pvst|mst)",
        "which bridged ways a switch leaves alone so that none is a circle",
    ),
    Ignored::free("line", "exec-timeout <number>", "how long and how many"),
    Ignored::free("line", "session-limit <number>", "how long and how many"),
    Ignored::free(
        "interface mgmt0",
        "description <text>",
        "the port for people, which forwards nothing",
    ),
    Ignored::free(
        "interface mgmt0",
        "ip address <prefix>",
        "the port for people, which forwards nothing",
    ),
    Ignored::free("vrf context management", "ip route 0.0.0.0/0 <address>", "where people are"),
    Ignored::free("vrf context management", "ip name-server <address>", "where people are"),
    Ignored::free("vrf context management", "ip domain-name <word>", "where people are"),
    Ignored::fixed("vlan", "name <word>", "a name for people"),
    Ignored::fixed("interface loopback", "description <text>", "a name for people"),
    Ignored::fixed("interface nve1", "description <text>", "a name for people"),
    Ignored::free(
        "interface nve1",
        "source-interface hold-down-time <number>",
        "how long the switch waits after it started",
    ),
    Ignored::fixed(
        "interface nve1 / member vni",
        "suppress-arp",
        "who answers for addresses that EVPN told",
    ),
    Ignored::fixed("interface Vlan", "description <text>", "a name for people"),
    Ignored::free("interface Vlan", "no ip redirects", "the switch tells no other way"),
    Ignored::free("interface Vlan", "no ipv6 redirects", "the switch tells no other way"),
    Ignored::fixed("interface Ethernet", "description <text>", "a name for people"),
    Ignored::free("interface Ethernet", "no ip redirects", "the switch tells no other way"),
    Ignored::free("interface Ethernet", "no ipv6 redirects", "the switch tells no other way"),
    Ignored::free(
        "interface Ethernet",
        "switchport mode access",
        "how a bridged port is without a word",
    ),
    Ignored::free(
        "interface Ethernet",
        "spanning-tree port type edge",
        "an endpoint and no switch is there",
    ),
    Ignored::free(
        "interface Ethernet",
        "spanning-tree bpduguard enable",
        "an endpoint and no switch is there",
    ),
    Ignored::free(
        "interface Ethernet",
        "load-interval counter (1|2|3) <number>",
        "how often it counts",
    ),
    Ignored::free("interface Ethernet", "speed <number>", "how both ends of the cable speak"),
    Ignored::free(
        "interface Ethernet",
        "fec (auto|off|rs-fec|fc-fec)",
        "how both ends of the cable speak",
    ),
    Ignored::free("interface Ethernet", "no negotiate auto", "how both ends of the cable speak"),
    Ignored::fixed("vrf context", "description <text>", "a name for people"),
    Ignored::fixed("router bgp", "router-id <address>", "what the speaker calls itself"),
    Ignored::free("router bgp", "log-neighbor-changes", "what the switch writes of itself"),
    Ignored::fixed("router bgp / neighbor", "description <text>", "a name for people"),
    Ignored::free(
        "router bgp / neighbor",
        "bfd",
        "who the neighbour is, and how soon its loss is noticed",
    ),
    Ignored::free(
        "router bgp / neighbor",
        "timers (1|3|10|60) (3|9|30|180)",
        "who the neighbour is, and how soon its loss is noticed",
    ),
    Ignored::free(
        "router bgp / neighbor / address-family ipv4 unicast",
        "route-reflector-client",
        "routes of the underlay are passed on",
    ),
    Ignored::free(
        "router bgp / neighbor / address-family ipv4 unicast",
        "send-community",
        "what goes with routes of the underlay",
    ),
    Ignored::free(
        "router bgp / neighbor / address-family ipv4 unicast",
        "send-community extended",
        "what goes with routes of the underlay",
    ),
    Ignored::free(
        "router bgp / neighbor / address-family ipv4 unicast",
        "soft-reconfiguration inbound always",
        "what goes with routes of the underlay",
    ),
    Ignored::free(
        "router bgp / neighbor / address-family l2vpn evpn",
        "send-community",
        "what goes with routes besides their targets",
    ),
    Ignored::fixed(
        "router bgp / vrf / address-family ipv4 unicast",
        "advertise l2vpn evpn",
        "the VRF's routes go into EVPN; since 9.2(1) they do without it",
    ),
];

/// Every leaf has this tunnel device, and no spine.
const LEAF: &str = "interface nve1";

/// Every switch that speaks BGP.
const SPEAKER: &str = "router bgp <number>";

const fn demanded(beside: &'static str, line: &'static str, why: &'static str) -> Demanded {
    Demanded { place: "", line, beside, why }
}

/// What the head of a text must have.
pub(super) const DEMANDED: &[Demanded] = &[
    demanded(SPEAKER, "feature bgp", "the switch exchanges no routes"),
    demanded(SPEAKER, "nv overlay evpn", "the switch exchanges no EVPN routes"),
    demanded(LEAF, "feature interface-vlan", "the switch has no gateways"),
    demanded(LEAF, "feature vn-segment-vlan-based", "no VLAN is a segment of the fabric"),
    demanded(LEAF, "feature nv overlay", "the switch has no tunnels"),
    demanded(LEAF, "feature dhcp", "bound sources are not kept: any source passes"),
    demanded(LEAF, "feature security-group", "no VRF judges by groups: all that is routed passes"),
    demanded(
        LEAF,
        "system routing template-security-groups",
        "groups are refused: all that is routed passes",
    ),
    demanded(
        LEAF,
        "hardware access-list tcam region ipsg (512|256|768|1024)",
        "`ip verify source` is refused: any source passes",
    ),
    demanded(LEAF, "ip dhcp snooping", "`ip verify source` does nothing: any source passes"),
    demanded(LEAF, "system jumbomtu 9166", "no port takes frames of 9,166 bytes"),
    demanded(
        LEAF,
        "fabric forwarding anycast-gateway-mac 0200.0000.0001",
        "gateways are down, or each leaf's has an address of its own",
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
            Self::NveMember(_) => "interface nve1 / member vni",
            Self::Svi(_) => "interface Vlan",
            Self::Port(_) => "interface Ethernet",
            Self::Mgmt => "interface mgmt0",
            Self::Vdc => "vdc",
            Self::Terminal => "line",
            Self::Vrf(_) => "vrf context",
            Self::Management => "vrf context management",
            Self::Bgp => "router bgp",
            Self::Neighbor(_) => "router bgp / neighbor",
            Self::NeighborIpv4 => "router bgp / neighbor / address-family ipv4 unicast",
            Self::NeighborEvpn(_) => "router bgp / neighbor / address-family l2vpn evpn",
            Self::BgpVrfIpv4(_) => "router bgp / vrf / address-family ipv4 unicast",
            _ => "nowhere",
        }
    }
}
