//! How a tunnel endpoint of another tenant's VNI is called in the kernel's routing table.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The neighbour on a VRF's own bridge behind which a tunnel endpoint is reached in another VNI.
///
/// It is link-local and made of both numbers, so that it means the same in every VRF, serves IPv4
/// and IPv6 routes alike, and is none of those that the routing daemons make up.
#[must_use]
pub const fn next_hop(vni: u32, vtep: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = vtep.octets();
    let [_, v, w, x] = vni.to_be_bytes();
    let bytes = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, v, w, x, a, b, c, d];
    Ipv6Addr::from_bits(u128::from_be_bytes(bytes))
}

/// The VNI and the tunnel endpoint that a neighbour was made of; none if it was not.
pub(crate) fn behind(next_hop: Ipv6Addr) -> Option<(u32, Ipv4Addr)> {
    let [0xfe80, 0, 0, 0, v, w, high, low] = next_hop.segments() else { return None };
    let vni = u32::from(v) << 16 | u32::from(w);
    let vtep = Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    (1..1 << 24).contains(&vni).then_some((vni, vtep))
}
