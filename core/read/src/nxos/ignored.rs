//! Lines of dialect `nxos` that let nothing through and stop nothing, each with its block.

use super::block::Block;

/// Makes one list into its two uses: what is shown to people, and what is looked up.
macro_rules! ignored {
    ($($place:literal $block:pat => [$($line:literal),* $(,)?],)*) => {
        /// The lines that are none of our business, each with the block it may stand in. A `*`
        /// stands for the rest of the line. Comments and empty lines are ignored everywhere.
        ///
        /// By the rules of delivery none of them lets a packet through or stops one.
        pub(crate) const IGNORED: &[&str] = &["!*", $($(concat!($place, $line)),*),*];

        fn lines_of(block: Block<'_>) -> &'static [&'static str] {
            match block {
                $($block => &[$($line),*],)*
                _ => &[],
            }
        }
    };
}

ignored! {
    "" Block::Top => [
        "hostname *",
        "feature bgp",
        "feature dhcp",
        "feature interface-vlan",
        "feature nv overlay",
        "feature vn-segment-vlan-based",
        "fabric forwarding anycast-gateway-mac *",
    ],
    "vlan / " Block::Vlan(_) => ["name *"],
    "interface loopback / " Block::Loopback(_) => ["description *"],
    "interface nve1 / " Block::Nve => ["description *", "no shutdown"],
    "interface nve1 / member vni / " Block::NveMember => [
        "ingress-replication protocol bgp",
        "suppress-arp",
    ],
    "interface Vlan / " Block::Svi(_) => [
        "description *",
        "fabric forwarding mode anycast-gateway",
        "mtu *",
        "no shutdown",
    ],
    "interface Ethernet / " Block::Port(_) => [
        "description *",
        "mtu *",
        "no shutdown",
        "no switchport",
        "switchport",
    ],
    "vrf context / " Block::Vrf(_) => ["description *"],
    "security-group / " Block::Group(_) => ["type layer4-7"],
    "route-map UNCHANGED permit 10 / " Block::Unchanged => ["set ip next-hop unchanged"],
    "router bgp / " Block::Bgp => ["router-id *"],
    "router bgp / address-family l2vpn evpn / " Block::BgpEvpn => ["retain route-target all"],
    "router bgp / neighbor / " Block::Neighbor(_) => ["description *"],
    "router bgp / neighbor / address-family l2vpn evpn / " Block::NeighborEvpn => [
        "route-map UNCHANGED out",
        "send-community extended",
    ],
    "router bgp / vrf / address-family ipv4 unicast / " Block::BgpVrfIpv4 => [
        "advertise l2vpn evpn",
    ],
}

/// Whether the block's list has this line.
pub(super) fn has(block: Block<'_>, line: &str) -> bool {
    lines_of(block).iter().any(|ignored| match ignored.strip_suffix('*') {
        Some(start) => line.starts_with(start),
        None => line == *ignored,
    })
}
