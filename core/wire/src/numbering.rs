//! IPv4 and IPv6 are one numbering: whoever has an address of one has an address of the other.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Mac;

/// The number that stands for the underlay where a tenant's number would be.
pub(crate) const UNDERLAY: u32 = 0;

/// The first three groups of every IPv6 address of the numbering.
const PREFIX: [u16; 3] = [0xfd8e, 0x5b3a, 0x71c4];

/// The IPv6 address of whoever has the IPv4 address in the tenant with this number; number 0 is
/// the underlay, whose addresses are those of tunnel endpoints.
#[must_use]
pub const fn ipv6_of(number: u16, address: Ipv4Addr) -> Ipv6Addr {
    let [p0, p1, p2] = PREFIX;
    let [a, b, c, d] = address.octets();
    Ipv6Addr::new(p0, p1, p2, number, 0, 0, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// The number and the IPv4 address that an IPv6 address was made of; none if it was not.
#[must_use]
pub const fn ipv4_of(address: Ipv6Addr) -> Option<(u16, Ipv4Addr)> {
    let [p0, p1, p2, number, 0, 0, high, low] = address.segments() else { return None };
    if p0 != PREFIX[0] || p1 != PREFIX[1] || p2 != PREFIX[2] {
        return None;
    }
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some((number, Ipv4Addr::new(a, b, c, d)))
}

/// The Ethernet address that the router of the tenant with this number has at this tunnel endpoint.
/// Every device can tell it without asking: the number and the endpoint's address are all of it.
/// A tenant's number has 13 bits, so that it fits; it is locally administered and of no group.
#[must_use]
pub const fn router_mac(tenant: u16, vtep: Ipv4Addr) -> Mac {
    const LOCAL: u8 = 0x02;
    let [high, low] = tenant.to_be_bytes();
    let [a, b, c, d] = vtep.octets();
    Mac([LOCAL | high << 2, low, a, b, c, d])
}

/// The address under which the tables know it: none if it belongs to another number or to nobody.
pub(crate) fn plain(address: IpAddr, number: u32) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => {
            ipv4_of(address).filter(|(its, _)| u32::from(*its) == number).map(|(_, plain)| plain)
        }
    }
}

/// The same of whichever tenant; the underlay is none.
pub(crate) fn plain_of_any(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(address) => {
            ipv4_of(address).filter(|(its, _)| u32::from(*its) != UNDERLAY).map(|(_, plain)| plain)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_in_the_fourth_group_and_the_address_in_the_last_two() {
        let address = ipv6_of(17, Ipv4Addr::new(10, 1, 0, 2));
        assert_eq!(address, "fd8e:5b3a:71c4:11::a01:2".parse::<Ipv6Addr>().unwrap());
    }

    #[test]
    fn every_address_made_is_read_back_under_its_own_number_only() {
        for number in [0, 1, 17, 8191, u16::MAX] {
            for plain_address in [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST] {
                let address = ipv6_of(number, plain_address);
                assert_eq!(ipv4_of(address), Some((number, plain_address)));
                assert_eq!(plain(address.into(), number.into()), Some(plain_address));
                assert_eq!(plain(address.into(), u32::from(number) + 0x1_0000), None);
            }
        }
    }

    #[test]
    fn a_routers_ethernet_address_holds_the_tenants_number_and_the_endpoints_address() {
        let vtep = Ipv4Addr::new(10, 255, 0, 3);
        assert_eq!(router_mac(17, vtep), "02:11:0a:ff:00:03".parse().unwrap());
        assert_eq!(router_mac(5535, vtep), "56:9f:0a:ff:00:03".parse().unwrap());
    }

    #[test]
    fn every_tenants_router_is_its_own_and_no_group() {
        let vtep = Ipv4Addr::new(10, 255, 0, 3);
        let macs: alloc::collections::BTreeSet<Mac> =
            (1..=5535).map(|tenant| router_mac(tenant, vtep)).collect();
        assert_eq!(macs.len(), 5535);
        assert!(macs.iter().all(|mac| !mac.is_group() && mac.0[0] & 0x02 != 0));
    }

    #[test]
    fn a_bit_elsewhere_in_the_first_twelve_bytes_is_no_address_of_the_numbering() {
        let made = ipv6_of(17, Ipv4Addr::new(10, 1, 0, 2)).octets();
        for at in (0..6).chain(8..12) {
            let mut other = made;
            other[at] ^= 1;
            assert_eq!(ipv4_of(other.into()), None, "byte {at}");
        }
    }
}
