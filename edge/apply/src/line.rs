//! The lines of dialect `linux`, as things that can be done and undone.

use std::net::{IpAddr, Ipv4Addr};

use model::numbering::tenant_of_vrf;
use wire::Mac;

/// A line that a plan can hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Line<'a> {
    Vtep { address: Ipv4Addr },
    Uplink { port: &'a str, mtu: u32 },
    Vrf { name: &'a str },
    Router { name: &'a str, vni: u32, local: Ipv4Addr, vrf: &'a str, mac: Mac },
    Tunnel { name: &'a str, vni: u32, local: Ipv4Addr, master: &'a str },
    Bridge { name: &'a str, vrf: &'a str, address: Ipv4Addr, prefix: u8, mac: Mac },
    Link { port: &'a str, master: &'a str, mtu: u32 },
    Neighbour { address: Ipv4Addr, mac: Mac, dev: &'a str, master: &'a str },
    Reach { first: Ipv4Addr, last: Ipv4Addr, vrf: &'a str, vtep: Ipv4Addr, vni: u32 },
    Queues { port: &'a str, rate_bps: u64 },
    Queue { port: &'a str, tenant: u16, rate_bps: u64, ceil_bps: u64 },
}

/// A line that a device holds and nobody planned, as far as it has to be known to be undone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Extra<'a> {
    Vtep {
        address: Ipv4Addr,
    },
    Uplink {
        port: &'a str,
    },
    Vrf {
        name: &'a str,
    },
    /// A VRF device with another table than its own: it cannot be given another.
    VrfOfTable {
        name: &'a str,
    },
    /// Where VRFs are devices: a rule that can lead past them.
    Rule {
        is_ipv6: bool,
        priority: u32,
        action: u8,
        table: u32,
    },
    /// A bridge or a tunnel.
    Made {
        name: &'a str,
        vrf: Option<&'a str>,
    },
    Link {
        port: &'a str,
    },
    /// Of the port of a bridge: its entry in the bridge goes too.
    Neighbour {
        address: Ipv4Addr,
        mac: Mac,
        dev: &'a str,
        master: &'a str,
    },
    Reach {
        first: Ipv4Addr,
        last: Ipv4Addr,
        vrf: &'a str,
        vni: u32,
    },
    /// All queues of an uplink.
    Queues {
        port: &'a str,
    },
    Queue {
        port: &'a str,
        tenant: u16,
    },
    LoneNeighbour {
        address: IpAddr,
        dev: &'a str,
        vrf: &'a str,
    },
    Address {
        address: IpAddr,
        prefix: u8,
        dev: &'a str,
        vrf: &'a str,
    },
    Station {
        mac: Mac,
        dev: &'a str,
        vrf: &'a str,
    },
    Remote {
        mac: Mac,
        vtep: Ipv4Addr,
        vni: Option<u32>,
        dev: &'a str,
        vrf: &'a str,
    },
    Route {
        address: IpAddr,
        prefix: u8,
        vrf: Option<&'a str>,
        metric: Option<u32>,
        table: Option<u32>,
    },
}

impl<'a> Line<'a> {
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(match *words.as_slice() {
            ["vtep", address] => Self::Vtep { address: address.parse().ok()? },
            ["uplink", port, "mtu", mtu, "judged"] => Self::Uplink { port, mtu: mtu.parse().ok()? },
            ["vrf", name] => Self::Vrf { name },
            [
                "vxlan",
                name,
                "id",
                vni,
                "local",
                local,
                "dstport",
                "4789",
                "nolearning",
                "tos",
                "inherit",
                "gbp",
                ref of @ ..,
            ] => {
                let (vni, local) = (vni.parse().ok()?, local.parse().ok()?);
                match *of {
                    ["vrf", vrf, "mac", mac] => {
                        Self::Router { name, vni, local, vrf, mac: mac.parse().ok()? }
                    }
                    ["master", master] => Self::Tunnel { name, vni, local, master },
                    _ => return None,
                }
            }
            ["bridge", name, "vrf", vrf, "address", address, "mac", mac] => {
                let (address, prefix) = address.split_once('/')?;
                let (address, prefix) = (address.parse().ok()?, prefix.parse().ok()?);
                Self::Bridge { name, vrf, address, prefix, mac: mac.parse().ok()? }
            }
            ["link", port, "master", master, "mtu", mtu, "judged"] => {
                Self::Link { port, master, mtu: mtu.parse().ok()? }
            }
            ["neigh", address, "lladdr", mac, "dev", dev, "master", master] => {
                let (address, mac) = (address.parse().ok()?, mac.parse().ok()?);
                Self::Neighbour { address, mac, dev, master }
            }
            ["reach", run, "vrf", vrf, "vtep", vtep, "vni", vni] => {
                let (first, last) = range(run)?;
                Self::Reach { first, last, vrf, vtep: vtep.parse().ok()?, vni: vni.parse().ok()? }
            }
            ["queue", port, "rate", rate] => Self::Queues { port, rate_bps: rate.parse().ok()? },
            ["queue", port, "vrf", vrf, "rate", rate, "ceil", ceil] => {
                let (rate_bps, ceil_bps) = (rate.parse().ok()?, ceil.parse().ok()?);
                Self::Queue { port, tenant: tenant_of_vrf(vrf)?, rate_bps, ceil_bps }
            }
            _ => return None,
        })
    }
}

impl<'a> Extra<'a> {
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(match *words.as_slice() {
            ["vtep", address] => Self::Vtep { address: address.parse().ok()? },
            ["uplink", port, ..] => Self::Uplink { port },
            ["vrf", name, "table", ..] => Self::VrfOfTable { name },
            ["vrf", name, ..] => Self::Vrf { name },
            ["rule", priority, family, "action", action, "table", table] => Self::Rule {
                is_ipv6: family == "ipv6",
                priority: priority.parse().ok()?,
                action: action.parse().ok()?,
                table: table.parse().ok()?,
            },
            ["vxlan" | "bridge", name, ref rest @ ..] => {
                Self::Made { name, vrf: after(rest, "vrf") }
            }
            ["link", port, ..] => Self::Link { port },
            ["neigh", address, "lladdr", mac, "dev", dev, "master", master, ..] => {
                let (address, mac) = (address.parse().ok()?, mac.parse().ok()?);
                Self::Neighbour { address, mac, dev, master }
            }
            ["neigh", address, "lladdr", _, "dev", dev, "vrf", vrf] => {
                Self::LoneNeighbour { address: address.parse().ok()?, dev, vrf }
            }
            ["reach", run, "vrf", vrf, "vtep", _, "vni", vni] => {
                let (first, last) = range(run)?;
                Self::Reach { first, last, vrf, vni: vni.parse().ok()? }
            }
            ["queue", port, "vrf", vrf, ..] => Self::Queue { port, tenant: tenant_of_vrf(vrf)? },
            ["queue", port, ..] => Self::Queues { port },
            ["address", address, "dev", dev, "vrf", vrf] => {
                let (address, prefix) = cidr(address)?;
                Self::Address { address, prefix, dev, vrf }
            }
            ["fdb", mac, "dev", dev, "vrf", vrf] => {
                Self::Station { mac: mac.parse().ok()?, dev, vrf }
            }
            ["fdb", mac, "dst", vtep, ref rest @ ..] => {
                let (mac, vtep) = (mac.parse().ok()?, vtep.parse().ok()?);
                match *rest {
                    ["vni", vni, "dev", dev, "vrf", vrf] => {
                        Self::Remote { mac, vtep, vni: Some(vni.parse().ok()?), dev, vrf }
                    }
                    ["dev", dev, "vrf", vrf] => Self::Remote { mac, vtep, vni: None, dev, vrf },
                    _ => return None,
                }
            }
            ["route", ref rest @ ..] => Self::route(rest)?,
            _ => return None,
        })
    }

    fn route(words: &[&'a str]) -> Option<Self> {
        // A word for its kind may come first.
        let (address, prefix) = words.iter().take(2).find_map(|word| match *word {
            "default" => Some((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)),
            word => cidr(word),
        })?;
        let number = |word| after(words, word).and_then(|text| text.parse().ok());
        let (metric, table) = (number("metric"), number("table"));
        Some(Self::Route { address, prefix, vrf: after(words, "vrf"), metric, table })
    }
}

/// The word after this one.
fn after<'a>(words: &[&'a str], word: &str) -> Option<&'a str> {
    let place = words.iter().position(|other| *other == word)?;
    words.get(place + 1).copied()
}

fn range(run: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (first, last) = run.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    Some((address.parse().ok()?, prefix.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_that_is_planned_can_be_done_and_undone() {
        for line in [
            "vtep 10.255.0.3",
            "uplink swp33 mtu 9216 judged",
            "vrf t17",
            "vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp \
             vrf t17 mac 02:11:0a:ff:00:03",
            "vxlan vx101001 id 101001 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp \
             master br1001",
            "bridge br1001 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:01",
            "link swp5 master br1001 mtu 9216 judged",
            "neigh 10.1.0.2 lladdr 02:00:00:00:00:05 dev swp5 master br1001",
            "reach 10.9.0.2-10.9.0.5 vrf t17 vtep 10.255.0.9 vni 50018",
            "queue swp33 rate 100000000",
            "queue swp33 vrf t17 rate 30000000 ceil 100000000",
        ] {
            assert!(Line::read(line).is_some(), "{line}");
            assert!(Extra::read(line).is_some(), "{line}");
        }
    }

    #[test]
    fn every_stray_thing_can_be_undone_and_none_can_be_asked_for() {
        for line in [
            "uplink swp34 mtu 1500 down",
            "vrf t17 table 9 down",
            "vrf t17 down open norule",
            "rule 100 ipv6 action 1 table 50018",
            "queue swp33 rate 100000000 unnamed norest tuned",
            "queue swp33 vrf t17 rate 30000000 ceil 100000000 unqueued",
            "link tun0 vrf t17 mtu 1500",
            "route 10.0.0.0/8 via 10.1.0.5 dev br1001 vrf t17",
            "route default via 172.16.0.5 dev swp33",
            "route blackhole 10.0.0.0/8 metric 7 table 9",
            "route fd00::/8 dev br1001 vrf t17 metric 7",
            "fdb 02:00:00:00:00:09 dst 10.255.0.7 dev vx101001 vrf t17",
            "fdb 02:00:00:00:00:09 dst 10.255.0.7 vni 9 dev vx101001 vrf t17",
            "fdb 02:00:00:00:00:09 dev swp5 vrf t17",
            "address 10.3.0.1/24 dev br1001 vrf t17",
            "neigh fe80::1 lladdr 02:00:00:00:00:09 dev br1001 vrf t17",
        ] {
            assert!(Line::read(line).is_none(), "{line}");
            assert!(Extra::read(line).is_some(), "{line}");
        }
    }
}
