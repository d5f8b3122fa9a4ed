use std::net::Ipv4Addr;

use model::VrfName;
use wire::Vni;

use crate::lines::{Line, lines};
use crate::values::{Why, address, bridge, mac, port, prefixed, vni, vrf};
use crate::{Bridge, Claim, Fact, Reading, Unknown};

/// Lines that are none of our business, by how they begin: comments.
pub(crate) const IGNORED: &[&str] = &["#"];

pub(crate) fn read(text: &str) -> Reading {
    let mut reading = Reading::with_room_for(text);
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        if IGNORED.iter().any(|begin| line.text.starts_with(begin)) {
            reading.ignored.push(line.number);
            continue;
        }
        if let Err(why) = facts(&line, &mut reading.claims) {
            reading.unknown.push(Unknown { line: line.number, text: line.text.into(), why });
        }
    }
    reading
}

/// Claims what one line says, all of it or nothing.
fn facts(line: &Line<'_>, claims: &mut Vec<Claim>) -> Result<(), Why> {
    let mut claim = |fact| {
        claims.push(Claim { line: line.number, fact });
    };
    match line.words().as_slice() {
        ["neigh", at, "lladdr", ethernet, "dev", on, "master", name] => claim(Fact::Bound {
            port: port(on)?,
            bridge: bridge(name),
            address: address(at)?,
            mac: mac(ethernet)?,
        }),
        ["link", on, "master", name] => {
            claim(Fact::Attached { port: port(on)?, bridge: bridge(name) })
        }
        ["bridge", name, options @ ..] => bridge_facts(bridge(name), options, claim)?,
        ["vxlan", _name, options @ ..] => tunnel_facts(Tunnel::from_options(options)?, claim),
        // A VRF alone joins nothing; what is in it says so itself.
        ["vrf", _name] => {}
        ["vtep", at] => claim(Fact::Vtep(address(at)?)),
        _ => return Err("no line of this dialect is written so"),
    }
    Ok(())
}

fn bridge_facts(bridge: Bridge, options: &[&str], mut claim: impl FnMut(Fact)) -> Result<(), Why> {
    let mut routed: Option<VrfName> = None;
    let mut gateway = None;
    let mut ethernet = None;
    let mut rest = options;
    while !rest.is_empty() {
        rest = match rest {
            ["vrf", name, rest @ ..] if routed.is_none() => {
                routed = Some(vrf(name));
                rest
            }
            ["address", at, rest @ ..] if gateway.is_none() => {
                gateway = Some(prefixed(at)?);
                rest
            }
            ["mac", word, rest @ ..] if ethernet.is_none() => {
                ethernet = Some(mac(word)?);
                rest
            }
            _ => return Err("a bridge has at most one each of vrf, address and mac"),
        };
    }
    if let Some(vrf) = routed {
        claim(Fact::RoutedIn { bridge: bridge.clone(), vrf });
    }
    if let Some((address, prefix)) = gateway {
        claim(Fact::Gateway { bridge, address, prefix });
    }
    Ok(())
}

/// A VXLAN device, as far as it matters where its frames go.
struct Tunnel {
    vni: Vni,
    local: Ipv4Addr,
    learns: bool,
    tagged: bool,
    /// The bridge whose segment it carries.
    bridge: Option<Bridge>,
    /// The VRF whose routed traffic it carries.
    vrf: Option<VrfName>,
}

fn tunnel_facts(tunnel: Tunnel, mut claim: impl FnMut(Fact)) {
    let vni = tunnel.vni;
    if let Some(bridge) = tunnel.bridge {
        claim(Fact::SegmentOf { bridge, vni });
    }
    if let Some(vrf) = tunnel.vrf {
        claim(Fact::RoutedTunnel { vrf, vni });
    }
    claim(Fact::TunnelEnds(vni));
    if tunnel.tagged {
        claim(Fact::Tagged(vni));
    }
    claim(Fact::TunnelFrom { vni, address: tunnel.local });
    if tunnel.learns {
        claim(Fact::Learns(vni));
    }
}

impl Tunnel {
    fn from_options(options: &[&str]) -> Result<Self, Why> {
        let given = Options::read(options)?;
        if given.port != Some("4789") {
            return Err("tunnels of this fabric use dstport 4789");
        }
        if !given.inherits_tos {
            return Err(TOS);
        }
        Ok(Self {
            vni: vni(given.id.ok_or("a tunnel needs its id")?)?,
            local: address(given.local.ok_or("a tunnel needs its local address")?)?,
            learns: !given.nolearning,
            tagged: given.gbp,
            bridge: given.master.map(bridge),
            vrf: given.vrf.map(vrf),
        })
    }
}

const TOS: Why = "without `tos inherit` the lossless class ends at the tunnel";

/// The options of a VXLAN device as they are written.
#[derive(Default)]
struct Options<'a> {
    id: Option<&'a str>,
    local: Option<&'a str>,
    port: Option<&'a str>,
    nolearning: bool,
    inherits_tos: bool,
    gbp: bool,
    master: Option<&'a str>,
    vrf: Option<&'a str>,
}

impl<'a> Options<'a> {
    /// Takes the options in any order, each at most once.
    fn read(mut rest: &[&'a str]) -> Result<Self, Why> {
        let mut given = Self::default();
        while !rest.is_empty() {
            let placed = match rest {
                ["id", value, ..] => given.id.replace(value).is_none(),
                ["local", value, ..] => given.local.replace(value).is_none(),
                ["dstport", value, ..] => given.port.replace(value).is_none(),
                ["master", value, ..] => given.master.replace(value).is_none(),
                ["vrf", value, ..] => given.vrf.replace(value).is_none(),
                ["tos", "inherit", ..] => !std::mem::replace(&mut given.inherits_tos, true),
                ["tos", ..] => return Err(TOS),
                ["nolearning", ..] => !std::mem::replace(&mut given.nolearning, true),
                ["gbp", ..] => !std::mem::replace(&mut given.gbp, true),
                _ => return Err("a tunnel has no such option"),
            };
            if !placed {
                return Err("an option of the tunnel stands twice");
            }
            let words = if matches!(rest[0], "nolearning" | "gbp") { 1 } else { 2 };
            rest = &rest[words..];
        }
        if given.master.is_some() && given.vrf.is_some() {
            return Err("a tunnel is of a bridge or of a VRF, not of both");
        }
        Ok(given)
    }
}
