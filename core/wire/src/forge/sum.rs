//! Internet checksums (RFC 1071).

use core::net::IpAddr;

/// The checksum over bytes in which the checksum's own place is zero.
pub(super) fn of(bytes: &[u8]) -> u16 {
    fold(words(bytes))
}

/// The checksum of a transport, which also covers the addresses (RFC 9293, section 3.1; RFC 8200,
/// section 8.1).
pub(super) fn of_transport(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    payload: &[u8],
) -> u16 {
    let addresses = [source, destination].map(|address| match address {
        IpAddr::V4(address) => words(&address.octets()),
        IpAddr::V6(address) => words(&address.octets()),
    });
    let length = payload.len() as u64;
    fold(addresses[0] + addresses[1] + u64::from(protocol) + length + words(payload))
}

fn words(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| match *pair {
        [high, low] => u64::from(u16::from_be_bytes([high, low])),
        [high] => u64::from(high) << 8,
        _ => 0,
    };
    bytes.chunks(2).map(word).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_its_checksum_sums_to_nothing() {
        let mut header =
            [0x45, 0, 0, 0x54, 0xa6, 0xf2, 0x40, 0, 0x40, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let [high, low] = of(&header).to_be_bytes();
        (header[10], header[11]) = (high, low);
        assert_eq!(of(&header), 0);
        assert_eq!([high, low], [0x7f, 0xb4]);
    }
}
