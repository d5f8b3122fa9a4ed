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
    NveMember(Vni),
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
    NeighborEvpn(Ipv4Addr),
    BgpVrf(&'a str),
    BgpVrfIpv4(&'a str),
    /// `route-map UNCHANGED permit 10`, the only route map there is
    Unchanged,
    /// `interface mgmt0`, the port for people
    Mgmt,
    /// `vrf context management`, where that port is
    Management,
    /// `vdc leaf-1 id 1`, the only device there is
    Vdc,
    /// `line vty`
    Terminal,
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
            Block::Mgmt => self.mgmt(words),
            Block::NveMember(vni) => self.nve_member(words, vni),
            Block::Svi(vlan) => self.svi(line, words, vlan),
            Block::Port(port) => self.port(line, words, port),
            Block::Bgp => self.bgp(line, words),
            Block::BgpIpv4 => self.bgp_ipv4(line, words),
            Block::BgpEvpn => self.bgp_evpn(line, words),
            Block::Neighbor(address) => self.neighbor(line, words, address),
            Block::NeighborEvpn(address) => self.neighbor_evpn(line, words, address),
            Block::BgpVrf(vrf) => self.bgp_vrf(line, words, vrf),
            Block::BgpVrfIpv4(vrf) => self.bgp_vrf_ipv4(words, vrf),
            Block::Unchanged => self.unchanged(words),
            Block::Vrf(name) => self.vrf(line, words, name),
            Block::VrfIpv4(name) => self.vrf_ipv4(line, words, name),
            Block::Evpn => evpn(words),
            Block::Segment(vni) => self.segment(line, words, vni),
            Block::Group(tag) => self.group(line, words, tag),
            Block::Class(name) => self.class(words, name),
            Block::Policy(name) => self.policy(words, name),
            Block::PolicyClass { policy, class } => self.policy_class(words, policy, class),
            // These have nothing but lines that are ignored.
            Block::Management
            | Block::Vdc
            | Block::Terminal
            | Block::NeighborIpv4
            | Block::Closed(_) => Ok(None),
        }
    }

    fn top(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["interface", name] => self.interface(line, name),
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
                self.late.snooping = Some(line);
                DONE
            }
            ["ip", "dhcp", "snooping", "vlan", vlan] => {
                let bridge = values::bridge(vlan)?;
                self.claim(line, Fact::KeepsSourcesOf(bridge));
                DONE
            }
            ["vlan", list] if list.contains([',', '-']) => {
                self.late.ports.vlans.extend(values::vlans(list)?);
                DONE
            }
            ["vlan", vlan] => {
                values::bridge(vlan)?;
                self.late.ports.vlans.extend(values::vlans(vlan)?);
                opens(Block::Vlan(vlan))
            }
            ["evpn"] => opens(Block::Evpn),
            ["security-group", tag, "name", name] if name.is_ascii() => {
                let tag = values::group(tag)?;
                self.late.groups_of_type.entry(tag).or_insert((line, false));
                opens(Block::Group(tag))
            }
            ["vrf", "context", "management"] => opens(Block::Management),
            ["vrf", "context", name] => opens(Block::Vrf(name)),
            ["vdc", _, "id", "1"] => opens(Block::Vdc),
            ["line", "console" | "vty"] => opens(Block::Terminal),
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
            ["feature", "dhcp"] => {
                self.late.dhcp = true;
                DONE
            }
            ["system", "routing", "template-security-groups"] => {
                self.late.template = Some(line);
                DONE
            }
            ["hardware", "access-list", "tcam", "region", "ipsg", size] => {
                values::count(size)?;
                self.late.guard_room = true;
                DONE
            }
            ["system", "default", "switchport"] => {
                self.late.ports.routed_by_default = false;
                DONE
            }
            ["no", "system", "default", "switchport"] => {
                self.late.ports.routed_by_default = true;
                DONE
            }
            ["system", "default", "switchport", "shutdown"] => {
                self.late.ports.shut_by_default = true;
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

    fn interface(&mut self, line: Line<'a>, name: &'a str) -> Below<'a> {
        if name == "nve1" {
            return opens(Block::Nve);
        }
        if name == "mgmt0" {
            self.late.mgmt.get_or_insert((line, false));
            return opens(Block::Mgmt);
        }
        if let Some(vlan) = name.strip_prefix("Vlan") {
            values::bridge(vlan)?;
            self.late.gateways.opens(vlan, line);
            return opens(Block::Svi(vlan));
        }
        if name.starts_with("loopback") {
            return opens(Block::Loopback(name));
        }
        let why = "an interface is Ethernet1/5, Vlan100, loopback1 or nve1";
        let port = values::port(name).map_err(|_| why)?;
        self.late.ports.opens(port, line);
        opens(Block::Port(port))
    }

    fn vlan(&mut self, line: Line<'a>, words: &[&'a str], vlan: &'a str) -> Below<'a> {
        let ["vn-segment", vni] = *words else {
            return Ok(None);
        };
        if vlan == "1" {
            return Err("every port without a VLAN of its own is in VLAN 1");
        }
        self.late.gateways.segments.push((line, vlan, values::vni(vni)?));
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
                    [] => Block::NveMember(values::vni(vni)?),
                    ["associate-vrf"] => Block::NOTHING_BELOW,
                    _ => return Ok(None),
                };
                let vni = values::vni(vni)?;
                self.claim(line, Fact::TunnelEnds(vni));
                // This dialect's tunnels always carry the group.
                self.claim(line, Fact::Tagged(vni));
                if rest.is_empty() {
                    self.late.members.entry(vni).or_insert((line, false));
                }
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
            ["no", "shutdown"] => {
                self.late.tunnels_up = true;
                DONE
            }
            _ => Ok(None),
        }
    }

    fn mgmt(&mut self, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["vrf", "member", "management"] => {
                self.late.mgmt = self.late.mgmt.map(|(line, _)| (line, true));
                DONE
            }
            _ => Ok(None),
        }
    }

    fn nve_member(&mut self, words: &[&'a str], vni: Vni) -> Below<'a> {
        match *words {
            ["ingress-replication", "protocol", "bgp"] => {
                self.late.members.entry(vni).and_modify(|(_, floods)| *floods = true);
                DONE
            }
            _ => Ok(None),
        }
    }

    fn svi(&mut self, line: Line<'a>, words: &[&'a str], vlan: &'a str) -> Below<'a> {
        let bridge = values::bridge(vlan)?;
        let own = self.late.gateways.of(vlan);
        match *words {
            ["vrf", "member", vrf] => {
                own.vrf = Some(vrf);
                self.claim(line, Fact::RoutedIn { bridge, vrf: values::vrf(vrf) });
            }
            ["ip", "address", prefixed] => {
                let (address, prefix) = values::prefixed(prefixed)?;
                own.addresses.push((line, Fact::Gateway { bridge, address, prefix }));
            }
            ["ip", "forward"] => own.forwards = true,
            ["fabric", "forwarding", "mode", "anycast-gateway"] => own.is_anycast = true,
            ["mtu", bytes] => own.mtu = Some(values::gateway_mtu(bytes)?),
            ["no", "shutdown"] => own.is_up = true,
            ["shutdown"] => own.is_shut = true,
            _ => return Ok(None),
        }
        DONE
    }

    fn port(&mut self, line: Line<'a>, words: &[&'a str], port: Port) -> Below<'a> {
        let own = self.late.ports.of(port);
        match *words {
            ["switchport"] => own.layer(false)?,
            ["no", "switchport"] => own.layer(true)?,
            ["switchport", "access", "vlan", vlan] => {
                own.access.push((line, values::bridge(vlan)?));
            }
            ["ip", "verify", "source", "dhcp-snooping-vlan"] => {
                self.claim(line, Fact::Guarded(port));
            }
            ["no", "shutdown"] => own.is_up = true,
            ["shutdown"] => {
                own.is_shut = true;
                self.claim(line, Fact::Down(port));
            }
            ["mtu", bytes] => own.mtu(line, values::mtu(bytes)?)?,
            ["ip", "address", prefixed] => {
                let (address, _) = values::prefixed(prefixed)?;
                own.address(line, address)?;
            }
            _ => return Ok(None),
        }
        DONE
    }

    fn bgp(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["neighbor", address] => opens(Block::Neighbor(values::address(address)?)),
            ["neighbor", neighbor, "remote-as", asn] => {
                let (address, remote) = (values::address(neighbor)?, values::asn(asn)?);
                self.claim(line, Fact::Neighbor { address, remote });
                opens(Block::Neighbor(address))
            }
            ["vrf", name] => opens(Block::BgpVrf(name)),
            ["bestpath", "as-path", "multipath-relax"] => {
                self.late.ways.is_relaxed = true;
                DONE
            }
            ["address-family", "ipv4", "unicast"] => {
                self.late.ways.family(None, "ipv4 unicast", line);
                self.late.underlay.get_or_insert(line);
                opens(Block::BgpIpv4)
            }
            ["address-family", "l2vpn", "evpn"] => {
                self.late.ways.family(None, "l2vpn evpn", line);
                opens(Block::BgpEvpn)
            }
            _ => Ok(None),
        }
    }

    fn bgp_ipv4(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["network", host] => {
                let host = values::host(host)?;
                self.late.announced.insert(host);
                self.claim(line, Fact::Announces(host));
                DONE
            }
            ["maximum-paths", ways] => self.ways(None, "ipv4 unicast", ways),
            _ => Ok(None),
        }
    }

    fn bgp_evpn(&mut self, line: Line<'a>, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["retain", "route-target", "all"] => {
                self.claim(line, Fact::RetainsRoutes);
                DONE
            }
            ["maximum-paths", ways] => self.ways(None, "l2vpn evpn", ways),
            _ => Ok(None),
        }
    }

    fn bgp_vrf(&mut self, line: Line<'a>, words: &[&'a str], vrf: &'a str) -> Below<'a> {
        match *words {
            ["address-family", "ipv4", "unicast"] => {
                self.late.ways.family(Some(vrf), "ipv4 unicast", line);
                self.late.routed.insert(vrf);
                opens(Block::BgpVrfIpv4(vrf))
            }
            _ => Ok(None),
        }
    }

    fn bgp_vrf_ipv4(&mut self, words: &[&'a str], vrf: &'a str) -> Below<'a> {
        match *words {
            ["maximum-paths", ways] => self.ways(Some(vrf), "ipv4 unicast", ways),
            _ => Ok(None),
        }
    }

    /// Over how many ways an address family spreads what it sends.
    fn ways(&mut self, vrf: Option<&'a str>, family: &'static str, ways: &str) -> Below<'a> {
        self.late.ways.spread(vrf, family, values::ways(ways)?);
        DONE
    }

    fn neighbor(&mut self, line: Line<'a>, words: &[&'a str], address: Ipv4Addr) -> Below<'a> {
        match *words {
            ["remote-as", asn] => {
                let remote = values::asn(asn)?;
                self.claim(line, Fact::Neighbor { address, remote });
                DONE
            }
            ["password", "3", secret] if secret.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                self.claim(line, Fact::Secret(address));
                DONE
            }
            ["address-family", "ipv4", "unicast"] => {
                self.claim(line, Fact::UnderlayWith(address));
                opens(Block::NeighborIpv4)
            }
            ["address-family", "l2vpn", "evpn"] => {
                self.late.sessions.opens(address, line);
                self.claim(line, Fact::EvpnWith(address));
                opens(Block::NeighborEvpn(address))
            }
            _ => Ok(None),
        }
    }

    fn neighbor_evpn(&mut self, line: Line<'a>, words: &[&'a str], address: Ipv4Addr) -> Below<'a> {
        match *words {
            ["send-community", "extended" | "both"] => {
                self.late.sessions.tells(address);
                self.claim(line, Fact::TellsTargets(address));
                DONE
            }
            ["route-map", "UNCHANGED", "out"] => {
                self.late.sessions.unchanged.push((line, address));
                DONE
            }
            // A reflector keeps what none of its own VRFs imports, and leaves next hops alone.
            ["route-reflector-client"] => {
                self.claim(line, Fact::RetainsRoutes);
                self.claim(line, Fact::KeepsNextHop(address));
                DONE
            }
            _ => Ok(None),
        }
    }

    fn unchanged(&mut self, words: &[&'a str]) -> Below<'a> {
        match *words {
            ["set", "ip", "next-hop", "unchanged"] => {
                self.late.sessions.is_unchanged_defined = true;
                DONE
            }
            _ => Ok(None),
        }
    }

    fn vrf(&mut self, line: Line<'a>, words: &[&'a str], name: &'a str) -> Below<'a> {
        let vrf = values::vrf(name);
        let fact = match *words {
            ["address-family", "ipv4", "unicast"] => return opens(Block::VrfIpv4(name)),
            ["vni", vni] => {
                let vni = values::vni(vni)?;
                self.late.gateways.vnis.push((line, name, vni));
                self.late.vrfs.insert(name, line);
                Fact::VrfVni { vrf, vni }
            }
            ["vni", vni, "l3"] => {
                let vni = values::vni(vni)?;
                self.late.vrfs.insert(name, line);
                self.claim(line, Fact::VrfUp { vrf: vrf.clone(), vni });
                Fact::VrfVni { vrf, vni }
            }
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
            ["route-target", way, target] => self.leaks(line, name, way, target),
            _ => Ok(None),
        }
    }

    /// `import`, `export` or `both` of a target without `evpn`: between VRFs of this switch.
    fn leaks(&mut self, line: Line<'a>, name: &str, way: &str, target: &str) -> Below<'a> {
        let (target, vrf) = (values::target(target)?, || values::vrf(name));
        if !matches!(way, "import" | "export" | "both") {
            return Ok(None);
        }
        if way != "export" {
            self.claim(line, Fact::LeaksIn { vrf: vrf(), target });
        }
        if way != "import" {
            self.claim(line, Fact::LeaksOut { vrf: vrf(), target });
        }
        DONE
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
        if let ["type", "layer4-7"] = *words {
            self.late.groups_of_type.entry(tag).and_modify(|(_, is_told)| *is_told = true);
            return DONE;
        }
        let ["match", "connected-endpoints", "vrf", vrf, "ipv4", net] = *words else {
            return Ok(None);
        };
        let addresses = values::subnet(net)?;
        if addresses.prefix_len() != 32 {
            return Err("a group takes in single addresses: /32");
        }
        let member = Fact::InGroup { vrf: values::vrf(vrf), addresses, tag };
        self.claim(line, member);
        DONE
    }

    fn class(&mut self, words: &[&'a str], name: &'a str) -> Below<'a> {
        let (service, is_stateful) = match *words {
            ["match", "ipv4", protocol, "dport", port] => (values::service(protocol, port)?, false),
            ["match", "ipv4", "tcp", "stateful", "dport", port] => {
                (values::service("tcp", port)?, true)
            }
            _ => return Ok(None),
        };
        self.late.policies.matches(name, service, is_stateful);
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
