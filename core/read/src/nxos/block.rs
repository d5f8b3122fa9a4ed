//! The grammar of each block of dialect `nxos`, and what its lines claim.

use std::net::Ipv4Addr;

use model::Port;
use wire::{Tag, Vni};

use super::values::{self, UNCLASSIFIED, Why};
use super::{Below, Reader};
use crate::lines::Line;
use crate::{Fact, Scope, Stray};

/// Where a line stands: the grammar that holds there and whose it is.
#[derive(Clone, Copy)]
pub(super) enum Block<'a> {
    Top,
    /// `vlan 100`
    Vlan(&'a str),
    /// `interface loopback1`
    Loopback(&'a str),
    /// `interface nve1`
    Nve,
    /// `member vni 101001`
    NveMember,
    /// `interface Vlan100`, the routed interface of a VLAN
    Svi(&'a str),
    /// `interface Ethernet1/5`
    Port(Port),
    /// `router bgp 4200000001`
    Bgp,
    BgpIpv4,
    BgpEvpn,
    Neighbor(Ipv4Addr),
    NeighborIpv4,
    NeighborEvpn,
    BgpVrf,
    BgpVrfIpv4,
    /// `route-map UNCHANGED permit 10`, the only route map there is
    Unchanged,
    /// `vrf context t17`
    Vrf(&'a str),
    VrfIpv4(&'a str),
    Evpn,
    /// `vni 101001 l2`
    Segment(Vni),
    /// `security-group 1001`
    Group(Tag),
    /// `class-map type security match-any C-tcp-2049`
    Class(&'a str),
    /// `policy-map type security P-tcp-2049`
    Policy(&'a str),
    PolicyClass {
        policy: &'a str,
        class: &'a str,
    },
    /// Nothing may stand here, for this reason.
    Closed(&'static str),
}

impl Block<'_> {
    pub(super) const NOTHING_BELOW: Self = Self::Closed("nothing can stand below the line above");
    pub(super) const BELOW_UNKNOWN: Self = Self::Closed("it stands below a line that is unknown");
}

/// The line is understood and has nothing below it.
const DONE: Below<'static> = Ok(Some(Block::NOTHING_BELOW));

fn opens(block: Block<'_>) -> Below<'_> {
    Ok(Some(block))
}

impl<'a> Reader<'a> {
    /// Says what a line says in its block.
    pub(super) fn understand(&mut self, block: Block<'a>, line: Line<'a>) -> Below<'a> {
        let words = line.words();
        let words = words.as_slice();
        match block {
            Block::Top => self.top(line, words),
            Block::Vlan(vlan) => self.vlan(line, words, vlan),
            Block::Loopback(name) => self.loopback(line, words, name),
            Block::Nve => self.nve(line, words),
            Block::Svi(vlan) => self.svi(line, words, vlan),
            Block::Port(port) => self.port(line, words, port),
            Block::Bgp => self.bgp(words),
            Block::BgpIpv4 => self.bgp_ipv4(line, words),
            Block::Neighbor(address) => self.neighbor(line, words, address),
            Block::BgpVrf => bgp_vrf(words),
            Block::Vrf(name) => self.vrf(line, words, name),
            Block::VrfIpv4(name) => self.vrf_ipv4(line, words, name),
            Block::Evpn => evpn(words),
            Block::Segment(vni) => self.segment(line, words, vni),
            Block::Group(tag) => self.group(line, words, tag),
            Block::Class(name) => self.class(words, name),
            Block::Policy(name) => self.policy(words, name),
            Block::PolicyClass { policy, class } => self.policy_class(words, policy, class),
            // These have nothing but lines that are ignored.
            Block::NveMember
            | Block::BgpEvpn
            | Block::NeighborIpv4
            | Block::NeighborEvpn
            | Block::BgpVrfIpv4
            | Block::Unchanged
            | Block::Closed(_) => Ok(None),
        }
    }

    fn top(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["interface", name] => interface(name),
            ["ip", "source", "binding", address, mac, "vlan", vlan, "interface", port] => {
                let bound = Fact::Bound {
                    port: values::port(port)?,
                    bridge: values::bridge(vlan)?,
                    address: values::address(address)?,
                    mac: values::mac(mac)?,
                };
                self.claim(line, bound);
                DONE
            }
            ["ip", "dhcp", "snooping"] => {
                self.claim(line, Fact::KeepsSources);
                DONE
            }
            ["ip", "dhcp", "snooping", "vlan", vlan] => {
                let bridge = values::bridge(vlan)?;
                self.claim(line, Fact::KeepsSourcesOf(bridge));
                DONE
            }
            ["vlan", vlan] => {
                values::bridge(vlan)?;
                opens(Block::Vlan(vlan))
            }
            ["evpn"] => opens(Block::Evpn),
            ["security-group", tag, "name", _] => opens(Block::Group(values::group(tag)?)),
            ["vrf", "context", name] => opens(Block::Vrf(name)),
            ["router", "bgp", asn] => {
                let asn = values::asn(asn)?;
                self.claim(line, Fact::LocalAs(asn));
                opens(Block::Bgp)
            }
            ["class-map", "type", "security", "match-any", name] => {
                self.late.policies.class(name);
                opens(Block::Class(name))
            }
            ["policy-map", "type", "security", name] => {
                self.late.policies.policy(name);
                opens(Block::Policy(name))
            }
            ["route-map", "UNCHANGED", "permit", "10"] => opens(Block::Unchanged),
            ["feature", "security-group"] => {
                self.late.groups = true;
                DONE
            }
            ["system", "routing", "template-security-groups"] => {
                self.late.template = Some(line);
                DONE
            }
            ["ip" | "ipv6", "route", ..] => self.stray(line),
            ["nv", "overlay", "evpn"] => {
                self.late.evpn = true;
                DONE
            }
            _ => Ok(None),
        }
    }

    fn vlan(&mut self, line: Line<'a>, words: &[&'a str], vlan: &'a str) -> Below<'a> {
        let ["vn-segment", vni] = *words else {
            return Ok(None);
        };
        let segment = Fact::SegmentOf { bridge: values::bridge(vlan)?, vni: values::vni(vni)? };
        self.claim(line, segment);
        DONE
    }

    fn loopback(&mut self, line: Line<'a>, words: &[&'a str], name: &'a str) -> Below<'a> {
        let ["ip", "address", host] = *words else {
            return Ok(None);
        };
        let address = values::host(host)?;
        self.late.loopback(name, address)?;
        self.claim(line, Fact::Loopback(address));
        DONE
    }

    fn nve(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["member", "vni", vni, ref rest @ ..] => {
                let below = match *rest {
                    [] => Block::NveMember,
                    ["associate-vrf"] => Block::NOTHING_BELOW,
                    _ => return Ok(None),
                };
                let vni = values::vni(vni)?;
                self.claim(line, Fact::TunnelEnds(vni));
                // This dialect's tunnels always carry the group.
                self.claim(line, Fact::Tagged(vni));
                opens(below)
            }
            ["host-reachability", "protocol", "bgp"] => {
                self.late.reachability.get_or_insert(line);
                DONE
            }
            ["source-interface", loopback] => {
                self.late.source(line, loopback)?;
                DONE
            }
            _ => Ok(None),
        }
    }

    fn svi(&mut self, line: Line<'a>, words: &[&'a str], vlan: &'a str) -> Below<'a> {
        let bridge = values::bridge(vlan)?;
        let fact = match *words {
            ["vrf", "member", vrf] => Fact::RoutedIn { bridge, vrf: values::vrf(vrf) },
            ["ip", "address", prefixed] => {
                let (address, prefix) = values::prefixed(prefixed)?;
                Fact::Gateway { bridge, address, prefix }
            }
            _ => return Ok(None),
        };
        self.claim(line, fact);
        DONE
    }

    fn port(&mut self, line: Line<'a>, words: &[&'a str], port: Port) -> Below<'a> {
        let fact = match *words {
            ["switchport", "access", "vlan", vlan] => {
                Fact::Attached { port, bridge: values::bridge(vlan)? }
            }
            ["ip", "verify", "source", "dhcp-snooping-vlan"] => Fact::Guarded(port),
            ["shutdown"] => Fact::Down(port),
            ["ip", "address", prefixed] => {
                let (address, _) = values::prefixed(prefixed)?;
                self.late.cable(port, address)?;
                Fact::CableAddress { port, address }
            }
            _ => return Ok(None),
        };
        self.claim(line, fact);
        DONE
    }

    fn bgp(&mut self, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["neighbor", address] => opens(Block::Neighbor(values::address(address)?)),
            ["vrf", _] => opens(Block::BgpVrf),
            ["address-family", "ipv4", "unicast"] => opens(Block::BgpIpv4),
            ["address-family", "l2vpn", "evpn"] => opens(Block::BgpEvpn),
            _ => Ok(None),
        }
    }

    fn bgp_ipv4(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        let ["network", host] = *words else {
            return Ok(None);
        };
        let host = values::host(host)?;
        self.claim(line, Fact::Announces(host));
        DONE
    }

    fn neighbor(&mut self, line: Line<'a>, words: &[&'a str], address: Ipv4Addr) -> Below<'a> {
        match *words {
            ["remote-as", asn] => {
                let remote = values::asn(asn)?;
                self.claim(line, Fact::Neighbor { address, remote });
                DONE
            }
            ["address-family", "ipv4", "unicast"] => {
                self.claim(line, Fact::UnderlayWith(address));
                opens(Block::NeighborIpv4)
            }
            ["address-family", "l2vpn", "evpn"] => {
                self.claim(line, Fact::EvpnWith(address));
                opens(Block::NeighborEvpn)
            }
            _ => Ok(None),
        }
    }

    fn vrf(&mut self, line: Line<'a>, words: &[&'a str], name: &'a str) -> Below<'a> {
        let vrf = values::vrf(name);
        let fact = match *words {
            ["address-family", "ipv4", "unicast"] => return opens(Block::VrfIpv4(name)),
            ["vni", vni] => Fact::VrfVni { vrf, vni: values::vni(vni)? },
            ["ip" | "ipv6", "route", ..] => return self.stray(line),
            ["rd", rd] => distinguisher(Scope::Vrf(vrf), rd)?,
            // With any other tag the unclassified would be members of that group.
            ["security", "enforce", "tag", UNCLASSIFIED, "default", "deny"] => {
                Fact::DeniesByDefault(vrf)
            }
            ["security", "contract", ref contract @ ..] => {
                self.late.contract(line, name, contract)?;
                return DONE;
            }
            _ => return Ok(None),
        };
        self.claim(line, fact);
        DONE
    }

    fn vrf_ipv4(&mut self, line: Line<'a>, words: &[&'a str], name: &'a str) -> Below<'a> {
        let scope = || Scope::Vrf(values::vrf(name));
        match *words {
            ["route-target", way, "auto"] => self.targets(line, scope(), way, "auto"),
            ["route-target", way, target, "evpn"] => self.targets(line, scope(), way, target),
            _ => Ok(None),
        }
    }

    fn segment(&mut self, line: Line<'a>, words: &[&'a str], vni: Vni) -> Below<'a> {
        let scope = Scope::Segment(vni);
        match *words {
            ["rd", rd] => {
                let fact = distinguisher(scope, rd)?;
                self.claim(line, fact);
                DONE
            }
            ["route-target", way, target] => self.targets(line, scope, way, target),
            _ => Ok(None),
        }
    }

    /// A route that somebody set by hand.
    fn stray(&mut self, line: Line<'a>) -> Below<'a> {
        self.claim(line, Fact::Stray { what: Stray::Route, line: line.text.into() });
        DONE
    }

    /// `import`, `export` or `both` of a target.
    fn targets(&mut self, line: Line<'a>, scope: Scope, way: &str, target: &str) -> Below<'a> {
        let (import, export) = match way {
            "import" => (true, false),
            "export" => (false, true),
            "both" => (true, true),
            _ => return Ok(None),
        };
        if target == "auto" {
            self.claim(line, Fact::AutomaticTarget(scope));
            return DONE;
        }
        let target = values::target(target)?;
        if import {
            let scope = scope.clone();
            self.claim(line, Fact::Imports { scope, target });
        }
        if export {
            self.claim(line, Fact::Exports { scope, target });
        }
        DONE
    }

    fn group(&mut self, line: Line<'a>, words: &[&'a str], tag: Tag) -> Below<'a> {
        let ["match", "connected-endpoints", "vrf", vrf, "ipv4", net] = *words else {
            return Ok(None);
        };
        let member = Fact::InGroup { vrf: values::vrf(vrf), addresses: values::subnet(net)?, tag };
        self.claim(line, member);
        DONE
    }

    fn class(&mut self, words: &[&'a str], name: &'a str) -> Below<'a> {
        let ["match", "ipv4", protocol, "dport", port] = *words else {
            return Ok(None);
        };
        let service = values::service(protocol, port)?;
        self.late.policies.matches(name, service);
        DONE
    }

    fn policy(&mut self, words: &[&'a str], policy: &'a str) -> Below<'a> {
        let ["class", class] = *words else {
            return Ok(None);
        };
        self.late.policies.names(policy, class);
        opens(Block::PolicyClass { policy, class })
    }

    fn policy_class(&mut self, words: &[&'a str], policy: &'a str, class: &'a str) -> Below<'a> {
        let ["permit"] = *words else {
            return Ok(None);
        };
        self.late.policies.permits(policy, class);
        DONE
    }
}

fn interface(name: &str) -> Below<'_> {
    if name == "nve1" {
        return opens(Block::Nve);
    }
    if let Some(vlan) = name.strip_prefix("Vlan") {
        values::bridge(vlan)?;
        return opens(Block::Svi(vlan));
    }
    if name.starts_with("loopback") {
        return opens(Block::Loopback(name));
    }
    match values::port(name) {
        Ok(port) => opens(Block::Port(port)),
        Err(_) => Err("an interface is Ethernet1/5, Vlan100, loopback1 or nve1"),
    }
}

fn bgp_vrf<'a>(words: &[&'a str]) -> Below<'a> {
    match *words {
        ["address-family", "ipv4", "unicast"] => opens(Block::BgpVrfIpv4),
        _ => Ok(None),
    }
}

fn evpn<'a>(words: &[&'a str]) -> Below<'a> {
    match *words {
        ["vni", vni, "l2"] => opens(Block::Segment(values::vni(vni)?)),
        _ => Ok(None),
    }
}

fn distinguisher(scope: Scope, word: &str) -> Result<Fact, Why> {
    if word == "auto" {
        return Ok(Fact::AutomaticTarget(scope));
    }
    let rd = values::distinguisher(word)?;
    Ok(Fact::Distinguisher { scope, rd })
}
