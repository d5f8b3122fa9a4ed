//! What was found on a node, in the words of dialect `linux`: one line a thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use model::Port;
use model::numbering::{bridge_name, l3vni, tenant_of_l3vni, tenant_of_vrf, tunnel_name};
use netlink_packet_route::route::RouteType;
use wire::{ipv6_of, router_mac};

use crate::entry::{Address, Forward, Neighbour, Route};
use crate::link::{Interface, Kind, Tunnel};
use crate::reaches::{behind, next_hop};
use crate::seen::Seen;
use crate::spaces::{Found, Room};

/// Tables of the kernel's own: `main`, which is everybody's, and `local`, which is its own.
pub(crate) const MAIN: u32 = 254;
pub(crate) const LOCAL: u32 = 255;

pub(crate) fn linux(found: &Found) -> String {
    let mut out = String::new();
    own(found, &mut out);
    for Room { name, oddities, seen } in &found.vrfs {
        Vrf { name, oddities, number: tenant_of_vrf(name).unwrap_or(0), seen, found }.say(&mut out);
    }
    out
}

macro_rules! say {
    ($out:expr, $($words:tt)*) => {
        // A string takes every text.
        let _ = write!($out, $($words)*);
    };
}

/// The node's own namespace: its tunnel endpoint, the cables to the fabric, and strays.
fn own(found: &Found, out: &mut String) {
    let seen = &found.own;
    for address in &seen.addresses {
        let on = seen.interface(address.interface).map(|interface| &interface.kind);
        if let (Some(Kind::Loopback), IpAddr::V4(vtep)) = (on, address.address)
            && !vtep.is_loopback()
        {
            say!(out, "vtep {vtep}\n");
        }
    }
    for interface in by_name(seen) {
        let judged = found.judged(None, &["fabric"], interface.index);
        match &interface.kind {
            Kind::Other if judged || (interface.is_up && is_port(interface)) => {
                say!(out, "uplink {} mtu {}", interface.name, interface.mtu);
                judged_and_down(judged, interface, out);
            }
            Kind::Tunnel(tunnel) => {
                tunnel_words(interface, tunnel, out);
                out.push('\n');
            }
            Kind::Bridge(_) => {
                say!(out, "bridge {} mac {}\n", interface.name, interface.mac);
            }
            _ => {}
        }
    }
    for queues in &found.queues {
        let is_named = found.judged(None, &["queue"], queues.interface);
        queues.say(seen.name(queues.interface), is_named, out);
    }
    for route in &seen.routes {
        stray_route(found, route, None, out);
    }
    for rule in &found.rules {
        let family = if rule.is_ipv6 { "ipv6" } else { "ipv4" };
        say!(out, "rule {} {family} action {} ", rule.priority, rule.action);
        say!(out, "table {}\n", rule.table);
    }
}

/// One VRF: its namespace, or what belongs to its device.
struct Vrf<'a> {
    name: &'a str,
    oddities: &'a str,
    number: u16,
    seen: &'a Seen,
    found: &'a Found,
}

impl Vrf<'_> {
    fn say(&self, out: &mut String) {
        say!(out, "vrf {}{}\n", self.name, self.oddities);
        let interfaces = by_name(self.seen);
        let mut routers = BTreeSet::new();
        for interface in &interfaces {
            if let Kind::Tunnel(tunnel) = &interface.kind
                && let Some(bridge) = self.router_bridge(interface, tunnel)
            {
                self.router(interface, tunnel, bridge, out);
                routers.insert(bridge.index);
            }
        }
        let mut rest = Rest::new(self.seen);
        for bridge in &interfaces {
            if matches!(bridge.kind, Kind::Bridge(_)) && !routers.contains(&bridge.index) {
                self.segment(bridge, &interfaces, &mut rest, out);
            }
        }
        for interface in interfaces.iter().filter(|interface| interface.master.is_none()) {
            self.masterless(interface, out);
        }
        for router in routers {
            self.ports(router, &interfaces, out);
        }
        self.reaches(&mut rest, out);
        self.strays(&rest, out);
    }

    /// The bridge of a tunnel that carries what is routed: it has the tunnel's number.
    fn router_bridge(&self, interface: &Interface, tunnel: &Tunnel) -> Option<&Interface> {
        let bridge = self.seen.interface(interface.master?)?;
        (bridge.name == bridge_name(tunnel.vni)).then_some(bridge)
    }

    fn router(&self, interface: &Interface, tunnel: &Tunnel, bridge: &Interface, out: &mut String) {
        tunnel_words(interface, tunnel, out);
        say!(out, " vrf {} mac {}", self.name, bridge.mac);
        bridge_oddities(bridge, out);
        tunnel_oddities(interface, tunnel, out);
        out.push('\n');
    }

    /// A bridge with its gateway, its tunnel, its ports and who is behind them.
    fn segment(
        &self,
        bridge: &Interface,
        interfaces: &[&Interface],
        rest: &mut Rest,
        out: &mut String,
    ) {
        say!(out, "bridge {} vrf {}", bridge.name, self.name);
        let gateway = rest.addresses.iter().find_map(|address| match address.address {
            IpAddr::V4(plain) if address.interface == bridge.index => Some((plain, address.prefix)),
            _ => None,
        });
        let mut has_twin = true;
        if let Some((address, prefix)) = gateway {
            say!(out, " address {address}/{prefix}");
            rest.take_address(bridge.index, address.into(), prefix);
            let twin = ipv6_of(self.number, address);
            has_twin = rest.take_address(bridge.index, twin.into(), prefix + 96);
        }
        say!(out, " mac {}", bridge.mac);
        bridge_oddities(bridge, out);
        if !has_twin {
            out.push_str(" noipv6");
        }
        out.push('\n');
        self.ports(bridge.index, interfaces, out);
        self.neighbours(bridge, rest, out);
    }

    fn ports(&self, bridge: u32, interfaces: &[&Interface], out: &mut String) {
        let ports = || interfaces.iter().filter(|port| port.master == Some(bridge));
        for port in ports() {
            if let Kind::Tunnel(tunnel) = &port.kind
                && self.router_bridge(port, tunnel).is_none()
            {
                tunnel_words(port, tunnel, out);
                say!(out, " master {}", self.seen.name(bridge));
                tunnel_oddities(port, tunnel, out);
                out.push('\n');
            }
        }
        for port in ports() {
            if matches!(port.kind, Kind::Other | Kind::Bridge(_)) {
                say!(out, "link {} master {}", port.name, self.seen.name(bridge));
                self.link_words(port, out);
            }
        }
    }

    fn masterless(&self, interface: &Interface, out: &mut String) {
        match &interface.kind {
            Kind::Other if self.is_parked(interface) => {}
            Kind::Other | Kind::Vrf { .. } => {
                say!(out, "link {} vrf {}", interface.name, self.name);
                self.link_words(interface, out);
            }
            Kind::Tunnel(tunnel) => {
                tunnel_words(interface, tunnel, out);
                say!(out, " vrf {}\n", self.name);
            }
            Kind::Loopback | Kind::Bridge(_) => {}
        }
    }

    fn is_judged(&self, port: &Interface) -> bool {
        self.found.judged(Some(self.name), &["workload", "local"], port.index)
    }

    /// Whether a port holds nothing, as one in the node's own namespace does: it waits for its next
    /// job where its last one was, down, out of every bridge, and judged.
    fn is_parked(&self, port: &Interface) -> bool {
        !port.is_up && self.is_judged(port)
    }

    fn link_words(&self, port: &Interface, out: &mut String) {
        say!(out, " mtu {}", port.mtu);
        if port.port.is_some_and(|port| port.learns) {
            out.push_str(" learning");
        }
        let judged = self.is_judged(port);
        judged_and_down(judged, port, out);
    }

    /// Who is behind the ports of a bridge, as far as all entries of one agree.
    fn neighbours(&self, bridge: &Interface, rest: &mut Rest, out: &mut String) {
        let on_bridge = |neighbour: &&Neighbour| neighbour.interface == bridge.index;
        let here: Vec<Neighbour> = rest.neighbours.iter().filter(on_bridge).copied().collect();
        for neighbour in here {
            let IpAddr::V4(address) = neighbour.address else { continue };
            let entry = self
                .seen
                .forwards
                .iter()
                .find(|entry| entry.mac == neighbour.mac && entry.master == Some(bridge.index));
            let Some(entry) = entry else { continue };
            say!(out, "neigh {address} lladdr {} dev ", neighbour.mac);
            say!(out, "{} master {}", self.seen.name(entry.interface), bridge.name);
            let twin = ipv6_of(self.number, address).into();
            rest.take_neighbour(&neighbour);
            if !rest.take_neighbour(&Neighbour { address: twin, ..neighbour }) {
                out.push_str(" noipv6");
            }
            rest.take_forward(entry);
            out.push('\n');
        }
    }

    /// The addresses that are reached in other tenants' VNIs.
    fn reaches(&self, rest: &mut Rest, out: &mut String) {
        let routes = std::mem::take(&mut rest.routes);
        let mut reached: BTreeMap<(u32, Ipv4Addr), BTreeSet<u32>> = BTreeMap::new();
        let mut whole = BTreeMap::new();
        for route in &routes {
            let Some((vni, vtep, address)) = self.reach(route) else { continue };
            let place = *whole.entry((vni, vtep)).or_insert_with(|| self.take_way(vni, vtep, rest));
            let twin = ipv6_of(tenant(vni), address);
            let has_twin = routes.iter().any(|other| {
                other.destination == IpAddr::V6(twin)
                    && other.prefix == 128
                    && other.via == route.via
            });
            if place && has_twin {
                reached.entry((vni, vtep)).or_default().insert(address.into());
            }
        }
        for ((vni, vtep), addresses) in &reached {
            for (first, last) in runs(addresses) {
                say!(out, "reach {first}-{last} vrf {} vtep {vtep} vni {vni}\n", self.name);
            }
        }
        let is_said = |route: &Route| {
            let plain = match route.destination {
                IpAddr::V4(_) => self.reach(route),
                IpAddr::V6(twin) => self.reach_twin(route, twin),
            };
            plain.is_some_and(|(vni, vtep, address)| {
                reached.get(&(vni, vtep)).is_some_and(|found| found.contains(&address.into()))
            })
        };
        rest.routes = routes.iter().filter(|route| !is_said(route)).cloned().collect();
    }

    /// What a route means if it is the first half of a reach.
    fn reach(&self, route: &Route) -> Option<(u32, Ipv4Addr, Ipv4Addr)> {
        let (IpAddr::V4(address), 32, Some(IpAddr::V6(via))) =
            (route.destination, route.prefix, route.via)
        else {
            return None;
        };
        let (vni, vtep) = behind(via)?;
        let on = self.seen.name(route.interface?);
        (on == bridge_name(l3vni(self.number).get()) && route.table == MAIN)
            .then_some((vni, vtep, address))
    }

    fn reach_twin(
        &self,
        route: &Route,
        twin: std::net::Ipv6Addr,
    ) -> Option<(u32, Ipv4Addr, Ipv4Addr)> {
        let (_, plain) = wire::ipv4_of(twin)?;
        let destination = IpAddr::V4(plain);
        (route.prefix == 128)
            .then_some(Route { destination, prefix: 32, ..*route })
            .and_then(|route| self.reach(&route))
    }

    /// Whether the neighbour and the tunnel's entry of a reach are there; takes them.
    fn take_way(&self, vni: u32, vtep: Ipv4Addr, rest: &mut Rest) -> bool {
        let mac = router_mac(tenant(vni), vtep);
        let own = l3vni(self.number).get();
        let index = |name: String| {
            self.seen.interfaces.iter().find(|interface| interface.name == name).map(|i| i.index)
        };
        let (Some(bridge), Some(tunnel)) = (index(bridge_name(own)), index(tunnel_name(own)))
        else {
            return false;
        };
        let neighbour = Neighbour { interface: bridge, address: next_hop(vni, vtep).into(), mac };
        let entry =
            Forward { interface: tunnel, mac, master: None, remote: Some(vtep), vni: Some(vni) };
        let has_neighbour = rest.take_neighbour(&neighbour);
        rest.take_forward(&entry) && has_neighbour
    }

    /// All that nobody plans.
    fn strays(&self, rest: &Rest, out: &mut String) {
        let name = |index| self.seen.name(index);
        for address in &rest.addresses {
            say!(out, "address {}/{} ", address.address, address.prefix);
            say!(out, "dev {} vrf {}\n", name(address.interface), self.name);
        }
        for neighbour in &rest.neighbours {
            say!(out, "neigh {} lladdr {} ", neighbour.address, neighbour.mac);
            say!(out, "dev {} vrf {}\n", name(neighbour.interface), self.name);
        }
        for entry in &rest.forwards {
            say!(out, "fdb {}", entry.mac);
            if let Some(remote) = entry.remote {
                say!(out, " dst {remote}");
            }
            if let Some(vni) = entry.vni {
                say!(out, " vni {vni}");
            }
            say!(out, " dev {} vrf {}\n", name(entry.interface), self.name);
        }
        for route in &rest.routes {
            stray_route(self.found, route, Some(self.name), out);
        }
    }
}

/// What no line has told yet.
struct Rest {
    addresses: Vec<Address>,
    neighbours: Vec<Neighbour>,
    forwards: Vec<Forward>,
    routes: Vec<Route>,
}

impl Rest {
    fn new(seen: &Seen) -> Self {
        let is_said = |address: &&Address| {
            let on = seen.interface(address.interface).map(|interface| &interface.kind);
            let is_own = matches!(on, Some(Kind::Loopback)) && address.address.is_loopback();
            !is_own && !address.is_link_local()
        };
        Self {
            addresses: seen.addresses.iter().filter(is_said).copied().collect(),
            neighbours: seen.neighbours.clone(),
            forwards: seen.forwards.clone(),
            routes: seen.routes.clone(),
        }
    }

    fn take_address(&mut self, interface: u32, address: IpAddr, prefix: u8) -> bool {
        take(&mut self.addresses, |other| {
            (other.interface, other.address, other.prefix) == (interface, address, prefix)
        })
    }

    fn take_neighbour(&mut self, wanted: &Neighbour) -> bool {
        take(&mut self.neighbours, |other| {
            (other.interface, other.address, other.mac)
                == (wanted.interface, wanted.address, wanted.mac)
        })
    }

    fn take_forward(&mut self, wanted: &Forward) -> bool {
        take(&mut self.forwards, |other| {
            (other.interface, other.mac, other.remote, other.vni)
                == (wanted.interface, wanted.mac, wanted.remote, wanted.vni)
        })
    }
}

fn take<T>(list: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> bool {
    let before = list.len();
    list.retain(|item| !wanted(item));
    list.len() != before
}

fn tunnel_words(interface: &Interface, tunnel: &Tunnel, out: &mut String) {
    say!(out, "vxlan {} id {}", interface.name, tunnel.vni);
    if let Some(local) = tunnel.local {
        say!(out, " local {local}");
    }
    say!(out, " dstport {}", tunnel.port);
    out.push_str(if tunnel.learns { " learning" } else { " nolearning" });
    match tunnel.tos {
        0 => {}
        1 => out.push_str(" tos inherit"),
        tos => {
            say!(out, " tos {tos}");
        }
    }
    if tunnel.tags {
        out.push_str(" gbp");
    }
}

/// What a tunnel is not supposed to be; its line then is none that anybody planned.
/// The tenant whose routed traffic has this VNI; 0, which is nobody, if it is no tenant's.
fn tenant(vni: u32) -> u16 {
    tenant_of_l3vni(vni).unwrap_or(0)
}

fn tunnel_oddities(interface: &Interface, tunnel: &Tunnel, out: &mut String) {
    if let Some(remote) = tunnel.remote {
        say!(out, " remote {remote}");
    }
    if tunnel.external {
        out.push_str(" external");
    }
    if let Some(port) = interface.port {
        if port.learns {
            out.push_str(" port-learning");
        }
        if !port.suppresses {
            out.push_str(" neigh_suppress off");
        }
    }
    if !interface.is_up {
        out.push_str(" down");
    }
}

fn bridge_oddities(bridge: &Interface, out: &mut String) {
    let Kind::Bridge(about) = bridge.kind else { return };
    for (is_so, word) in [
        (about.stp, " stp"),
        (about.vlan_filtering, " vlan_filtering"),
        (about.snooping, " mcast_snooping"),
        (!bridge.is_up, " down"),
    ] {
        if is_so {
            out.push_str(word);
        }
    }
}

fn judged_and_down(judged: bool, interface: &Interface, out: &mut String) {
    if judged {
        out.push_str(" judged");
    }
    if !interface.runs {
        out.push_str(" down");
    }
    out.push('\n');
}

fn stray_route(found: &Found, route: &Route, vrf: Option<&str>, out: &mut String) {
    if route.table == LOCAL {
        return;
    }
    out.push_str("route ");
    if route.kind != RouteType::Unicast {
        say!(out, "{} ", format!("{:?}", route.kind).to_lowercase());
    }
    match route.prefix {
        0 if route.destination.is_ipv4() => out.push_str("default"),
        prefix => {
            say!(out, "{}/{prefix}", route.destination);
        }
    }
    if let Some(via) = route.via {
        say!(out, " via {via}");
    }
    if let Some(interface) = route.interface {
        say!(out, " dev {}", found.name_in(vrf, interface));
    }
    if let Some(vrf) = vrf {
        say!(out, " vrf {vrf}");
    }
    let usual = if route.destination.is_ipv4() { 0 } else { 1024 };
    if route.metric != usual {
        say!(out, " metric {}", route.metric);
    }
    if route.table != MAIN {
        say!(out, " table {}", route.table);
    }
    out.push('\n');
}

/// Consecutive addresses.
fn runs(addresses: &BTreeSet<u32>) -> Vec<(Ipv4Addr, Ipv4Addr)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &address in addresses {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(address) => *last = address,
            _ => runs.push((address, address)),
        }
    }
    runs.into_iter().map(|(first, last)| (first.into(), last.into())).collect()
}

fn by_name(seen: &Seen) -> Vec<&Interface> {
    let mut interfaces: Vec<&Interface> = seen.interfaces.iter().collect();
    interfaces.sort_by_key(|interface| {
        let digits = interface.name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        (digits.parse::<u64>().unwrap_or(0), &interface.name)
    });
    interfaces
}

fn is_port(interface: &Interface) -> bool {
    interface.name.parse::<Port>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let addresses = [1, 2, 3, 5, u32::MAX - 1, u32::MAX].into_iter().collect();
        let said: Vec<String> =
            runs(&addresses).iter().map(|(first, last)| format!("{first}-{last}")).collect();
        assert_eq!(said, ["0.0.0.1-0.0.0.3", "0.0.0.5-0.0.0.5", "255.255.255.254-255.255.255.255"]);
    }

    #[test]
    fn a_next_hop_tells_the_vni_and_the_tunnel_endpoint_it_was_made_of() {
        let vtep = Ipv4Addr::new(10, 255, 0, 9);
        assert_eq!(next_hop(50_018, vtep).to_string(), "fe80::c362:aff:9");
        assert_eq!(behind(next_hop(50_018, vtep)), Some((50_018, vtep)));
        assert_eq!(behind("fe80::1".parse().unwrap()), None);
    }
}
