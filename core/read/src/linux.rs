//! Dialect `linux`: what the kernel of a tunnel endpoint holds, one thing a line.

use std::net::Ipv4Addr;

use model::numbering::tenant_of_l3vni;
use model::{Port, VrfName};
use wire::{GATEWAY, Mac, Vni, router_mac};

use crate::dialect::Description;
use crate::lines::{Line, lines};
use crate::run::Run;
use crate::values::{Why, address, bps, bridge, mac, port, prefixed, vni, vrf};
use crate::{Bridge, Claim, Fact, Reading, Stray, Unknown};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("the agent, for the kernel of a tunnel endpoint", read);

fn read(text: &str) -> Reading {
    let mut reading = Reading::with_room_for(text);
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        if line.text.starts_with('#') {
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
        ["link", on, "master", name, state @ ..] => {
            let port = port(on)?;
            state_of(port, state, &mut claim, |claim| {
                claim(Fact::Attached { port, bridge: bridge(name) });
            })?;
        }
        ["bridge", name, options @ ..] => bridge_facts(bridge(name), options, claim)?,
        ["vxlan", _name, options @ ..] => tunnel_facts(Tunnel::from_options(options)?, claim),
        ["reach", run, "vrf", name, "vtep", at, "vni", number] => {
            claim(reach(Run::read(run, at, None)?, name, number)?);
        }
        ["reach", run, "vrf", name, "vtep", at, "every", block, "vni", number] => {
            claim(reach(Run::read(run, at, Some(block))?, name, number)?);
        }
        // A VRF alone joins nothing; what is in it says so itself.
        ["vrf", _name] => {}
        ["vtep", at] => {
            let own = address(at)?;
            claim(Fact::Vtep(own));
            claim(Fact::Has(own));
        }
        ["uplink", on, state @ ..] => {
            let port = port(on)?;
            // Where nothing judges what comes by a cable, it is none that the plan can use.
            let is_judged = state.contains(&"judged");
            state_of(port, state, &mut claim, |claim| {
                if is_judged {
                    claim(Fact::Uplink(port));
                }
            })?;
        }
        ["queue", on, "rate", rate] => {
            claim(Fact::QueuedLink { port: port(on)?, rate_bps: queued(rate)? });
        }
        ["queue", on, "vrf", name, "rate", rate, "ceil", ceil] => {
            let (rate_bps, ceil_bps) = (queued(rate)?, queued(ceil)?);
            claim(Fact::Queue { port: port(on)?, vrf: vrf(name), rate_bps, ceil_bps });
        }
        ["queue", ..] => return Err("a queue has its rates and nothing else that was changed"),
        // What a device says it holds besides.
        ["route", ..] => claim(stray(Stray::Route, line)),
        ["fdb", ..] => claim(stray(Stray::Forwarding, line)),
        ["address", ..] => claim(stray(Stray::Address, line)),
        _ => return Err("no line of this dialect is written so"),
    }
    Ok(())
}

/// What is said of a port after its name: the frames that fit through it, that the packet program
/// stands there, and that it is down. What the port is for is claimed only if all of it is known.
fn state_of<C: FnMut(Fact)>(
    port: Port,
    state: &[&str],
    claim: &mut C,
    what: impl FnOnce(&mut C),
) -> Result<(), Why> {
    const WHY: Why = "a port is said to have `mtu 9216 judged`, less of it, or `down` after it";
    const FABRIC_MTU: u32 = 9216;
    let (state, is_down) = match state {
        [state @ .., "down"] => (state, true),
        _ => (state, false),
    };
    let (mtu, is_judged) = match state {
        ["mtu", mtu] => (mtu, false),
        ["mtu", mtu, "judged"] => (mtu, true),
        _ => return Err(WHY),
    };
    let mtu: u32 = mtu.parse().map_err(|_| WHY)?;
    what(claim);
    if !is_judged {
        claim(Fact::Unfiltered(port));
    }
    if mtu != FABRIC_MTU {
        claim(Fact::ShortFrames { port, mtu });
    }
    if is_down {
        claim(Fact::Down(port));
    }
    Ok(())
}

fn stray(what: Stray, line: &Line<'_>) -> Fact {
    Fact::Stray { what, line: line.text.into() }
}

/// The kernel's queues count whole bytes a second.
fn queued(word: &str) -> Result<u64, Why> {
    const WHY: Why = "a queue's rate is in bits a second, a multiple of eight from 8";
    let bps = bps(word).map_err(|_| WHY)?;
    if bps > 0 && bps.is_multiple_of(8) { Ok(bps) } else { Err(WHY) }
}

fn reach(run: Run, name: &str, number: &str) -> Result<Fact, Why> {
    let Run { first, last, vtep, every } = run;
    Ok(Fact::Reaches { vrf: vrf(name), first, last, vtep, every, vni: vni(number)? })
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
    if gateway.is_some() != ethernet.is_some_and(|ethernet| ethernet == GATEWAY) {
        return Err("a gateway, and no other bridge, has the Ethernet address of all gateways");
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
        let vni = vni(given.id.ok_or("a tunnel needs its id")?)?;
        let local = address(given.local.ok_or("a tunnel needs its local address")?)?;
        let router = given.vrf.map(|_| router(vni, local).ok_or(ROUTER)).transpose()?;
        if given.mac.map(mac).transpose()? != router {
            return Err(ROUTER);
        }
        Ok(Self {
            vni,
            local,
            learns: !given.nolearning,
            tagged: given.gbp,
            bridge: given.master.map(bridge),
            vrf: given.vrf.map(vrf),
        })
    }
}

const TOS: Why = "without `tos inherit` the lossless class ends at the tunnel";

const ROUTER: Why = "a VRF's tunnel, and no other, has the router's Ethernet address, which is made \
                     of the tenant's number and the tunnel endpoint";

/// The Ethernet address that others send a tenant's routed frames to; none if the VNI is no
/// tenant's.
fn router(vni: Vni, local: Ipv4Addr) -> Option<Mac> {
    tenant_of_l3vni(vni.get()).map(|tenant| router_mac(tenant, local))
}

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
    mac: Option<&'a str>,
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
                ["mac", value, ..] => given.mac.replace(value).is_none(),
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
