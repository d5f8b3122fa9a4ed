//! The same policy as nftables says it.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::lab::feed;
use super::world::{Endpoint, VTEP, World};
use crate::Fault;

/// A set for who may send and one for who may receive, on the uplink itself: fields of the inner
/// headers are told by their place behind the UDP header.
pub(super) fn on_uplink(world: World) -> String {
    let sources = world.all().map(|e| {
        let Endpoint { vni, tag, address, vtep } = e;
        format!("{} . {:#x} . {tag:#x} . {address:#x}", Ipv4Addr::from(vtep), vni << 8)
    });
    let destinations =
        world.own().map(|e| format!("{:#x} . {:#x} . {:#x}", e.vni << 8, e.tag, e.address));
    let from = "ip saddr . @th,96,32 . @th,80,16 . @th,336,32";
    let to = "@th,96,32 . @th,80,16 . @th,368,32";
    ruleset(&["far".to_owned()], [from, to], "udp dport 4789 ", sources, destinations)
}

/// The same behind the kernel's VXLAN devices, one for each tenant: the device says the VNI and
/// puts the group into the mark. Who sent the frame is forgotten there.
pub(super) fn behind_vxlan(world: World) -> String {
    let said =
        |e: Endpoint| format!("\"vx{}\" . {:#x} . {}", e.vni, e.tag, Ipv4Addr::from(e.address));
    let from = "meta iif . meta mark . ip saddr";
    let to = "meta iif . meta mark . ip daddr";
    let names: Vec<String> = world.vnis().map(|vni| format!("vx{vni}")).collect();
    ruleset(&names, [from, to], "", world.all().map(said), world.own().map(said))
}

/// Makes the VXLAN devices of a world in the calling thread's namespace.
pub(super) fn add_vxlan_devices(world: World) -> Result<(), Fault> {
    let mut batch = format!("address add {VTEP}/32 dev lo\nroute add default dev far\n");
    for vni in world.vnis() {
        let _ = writeln!(
            batch,
            "link add vx{vni} type vxlan id {vni} local {VTEP} dstport 4789 nolearning gbp\n\
             link set vx{vni} addrgenmode none up"
        );
    }
    feed("ip", &["-batch", "-"], &batch).map(drop)
}

/// How many frames passed, by the calling thread's namespace.
pub(super) fn passed() -> Result<u64, Fault> {
    let said = feed("nft", &["list", "counter", "netdev", "bench", "passed"], "")?;
    let mut words = said.split_whitespace().skip_while(|word| *word != "packets").skip(1);
    Ok(words.next().and_then(|number| number.parse().ok()).unwrap_or(0))
}

/// Loads a ruleset into the calling thread's namespace.
pub(super) fn load(ruleset: &str) -> Result<(), Fault> {
    feed("nft", &["-f", "-"], ruleset).map(drop)
}

/// How many devices one chain may have: nftables takes fewer than 256.
const DEVICES: usize = 200;

/// A frame comes in through one device, and so through one of the chains.
fn ruleset(
    devices: &[String],
    [from, to]: [&str; 2],
    first: &str,
    sources: impl Iterator<Item = String>,
    destinations: impl Iterator<Item = String>,
) -> String {
    let set = |elements: Vec<String>| elements.join(",\n");
    let (sources, destinations) = (set(sources.collect()), set(destinations.collect()));
    let mut text = format!(
        "table netdev bench {{
            counter passed {{ }}
            set sources {{ typeof {from}; elements = {{ {sources} }} }}
            set destinations {{ typeof {to}; elements = {{ {destinations} }} }}
        "
    );
    for (number, devices) in devices.chunks(DEVICES).enumerate() {
        let _ = writeln!(
            text,
            "chain ingress{number} {{
                type filter hook ingress devices = {{ {} }} priority 0; policy drop;
                {first}{from} @sources {to} @destinations counter name passed drop
            }}",
            devices.join(", ")
        );
    }
    text.push('}');
    text
}
