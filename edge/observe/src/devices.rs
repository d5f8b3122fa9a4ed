//! VRFs that are devices: which part of the node's own namespace is whose.
//!
//! What belongs to a VRF is found by the chain of masters (interface, bridge, VRF) and by the
//! routing table, and is then told as if it had been seen in a namespace of its own: bridges
//! without a master, routes of the main table, and the VRF's device as its loopback.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;

use model::numbering::{l3vni, tenant_of_vrf};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVrf, LinkAttribute, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::RouteType;
use nix::libc::{EEXIST, EOPNOTSUPP};
use nix::sched::{CloneFlags, unshare};

use crate::entry::{Route, Rule};
use crate::link::{Interface, Kind};
use crate::say::{LOCAL, MAIN};
use crate::seen::Seen;
use crate::spaces::Room;
use crate::{Door, KernelRequest, Trouble};

/// The metric of the route that ends a VRF's table: behind every other, and for FRR one that is
/// never used (Documentation/networking/vrf.rst).
pub const LAST_METRIC: u32 = 4_278_198_272;

/// A rule of the kernel: its priority, and the table that it asks; none is the table of the VRF.
pub type PlainRule = (u32, Option<u32>);

/// The rules without which VRF devices keep nobody apart: who is in a VRF is answered by its table,
/// and only then does the node's own come.
pub const RULES: [PlainRule; 2] = [(1000, None), (32_765, Some(LOCAL))];
/// Where the kernel asks for the node's own addresses by default: before it asks for any VRF's.
pub const FIRST_RULE: PlainRule = (0, Some(LOCAL));
/// What it has besides.
const LAST_RULES: [PlainRule; 2] = [(32_766, Some(MAIN)), (32_767, Some(DEFAULT))];
const DEFAULT: u32 = 253;

/// Links above links above links: nobody stacks more.
const MOST_LINKS: usize = 8;

/// What was seen in the node's own namespace, taken apart.
pub(crate) struct Parts {
    /// What is in no VRF.
    pub(crate) own: Seen,
    pub(crate) vrfs: Vec<Room>,
    /// Rules that nobody planned: each can lead out of a VRF, or past it.
    pub(crate) rules: Vec<Rule>,
}

impl Parts {
    pub(crate) fn of(seen: &Seen) -> Self {
        let mut parts: BTreeMap<Option<u32>, Seen> = BTreeMap::new();
        let home = |index: u32| seen.interface(index).and_then(|interface| home(seen, interface));
        for interface in &seen.interfaces {
            let vrf = home(interface.index);
            let mut found = interface.clone();
            if vrf == Some(found.index) {
                found.kind = Kind::Loopback;
            }
            found.master = found.master.filter(|master| vrf != Some(*master));
            parts.entry(vrf).or_default().interfaces.push(found);
        }
        for address in &seen.addresses {
            parts.entry(home(address.interface)).or_default().addresses.push(*address);
        }
        for neighbour in &seen.neighbours {
            parts.entry(home(neighbour.interface)).or_default().neighbours.push(*neighbour);
        }
        for entry in &seen.forwards {
            parts.entry(home(entry.interface)).or_default().forwards.push(*entry);
        }
        for route in &seen.routes {
            let vrf = asker(seen, route.table);
            let table = if vrf.is_some() { MAIN } else { route.table };
            parts.entry(vrf).or_default().routes.push(Route { table, ..*route });
        }
        let own = parts.remove(&None).unwrap_or_default();
        let lacks_rule = lacks_rule(&seen.rules);
        let vrfs = devices(seen).map(|(device, table)| {
            let seen = parts.remove(&Some(device.index)).unwrap_or_default();
            room(device, table, lacks_rule, seen)
        });
        let vrfs = vrfs.collect();
        let rules = seen.rules.iter().filter(|rule| !is_planned(rule)).copied().collect();
        Self { own, vrfs, rules }
    }
}

/// All VRF devices and their tables.
pub(crate) fn devices(seen: &Seen) -> impl Iterator<Item = (&Interface, u32)> {
    seen.interfaces.iter().filter_map(|interface| match interface.kind {
        Kind::Vrf { table } => Some((interface, table)),
        _ => None,
    })
}

/// The VRF device that an interface is, or is below. One that only stands on another (a VLAN, a
/// tap of its frames, the other end of a cable) is where that is, unless it is down.
fn home(seen: &Seen, interface: &Interface) -> Option<u32> {
    let mut at = interface;
    for _ in 0..MOST_LINKS {
        if matches!(at.kind, Kind::Vrf { .. }) {
            return Some(at.index);
        }
        let beneath = at.beneath.filter(|_| at.is_up);
        at = seen.interface(at.master.or(beneath)?)?;
    }
    None
}

/// The VRF that is answered by a table: of several, the one whose table it shall be.
fn asker(seen: &Seen, table: u32) -> Option<u32> {
    let mut askers: Vec<&Interface> =
        devices(seen).filter(|(_, other)| *other == table).map(|(device, _)| device).collect();
    askers.sort_by_key(|device| (table_of(&device.name) != Some(table), device.index));
    askers.first().map(|device| device.index)
}

/// A VRF, and what its device is not supposed to be: its line then is none that anybody planned.
fn room(device: &Interface, table: u32, lacks_rule: bool, mut seen: Seen) -> Room {
    let mut oddities = String::new();
    if table_of(&device.name) != Some(table) {
        // A string takes every text.
        let _ = write!(oddities, " table {table}");
    }
    let ends = |is_ipv4: bool| {
        let mut routes = seen.routes.iter();
        routes.any(|route| is_last(route) && route.destination.is_ipv4() == is_ipv4)
    };
    for (is_so, word) in
        [(!device.is_up, " down"), (!ends(true) || !ends(false), " open"), (lacks_rule, " norule")]
    {
        if is_so {
            oddities.push_str(word);
        }
    }
    seen.routes.retain(|route| !is_last(route));
    Room { name: device.name.clone(), oddities, seen: Arc::new(seen) }
}

/// Whether a route is the one that ends a table.
fn is_last(route: &Route) -> bool {
    (route.kind, route.prefix, route.metric) == (RouteType::Unreachable, 0, LAST_METRIC)
}

fn lacks_rule(rules: &[Rule]) -> bool {
    let has = |wanted: PlainRule, is_ipv6| {
        rules.iter().any(|rule| rule.plain() == Some(wanted) && rule.is_ipv6 == is_ipv6)
    };
    RULES.iter().any(|wanted| !has(*wanted, false) || !has(*wanted, true))
}

fn is_planned(rule: &Rule) -> bool {
    let mut planned = RULES.iter().chain(&LAST_RULES);
    planned.any(|planned| rule.plain() == Some(*planned))
}

/// The routing table of a VRF: the number of its VNI; none for a name that no plan gives.
#[must_use]
pub fn table_of(vrf: &str) -> Option<u32> {
    tenant_of_vrf(vrf).map(|number| l3vni(number).get())
}

/// A VRF device; the kernel chooses its number if that is zero.
#[must_use]
pub fn new_device(name: &str, index: u32, table: u32) -> KernelRequest {
    let mut link = LinkMessage::default();
    link.header.index = index;
    link.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vrf),
            LinkInfo::Data(InfoData::Vrf(vec![InfoVrf::TableId(table)])),
        ]),
    ];
    KernelRequest {
        what: format!("make the VRF device {name}"),
        message: RouteNetlinkMessage::NewLink(link),
        flags: NLM_F_CREATE | NLM_F_EXCL,
        forgives: &[EEXIST],
    }
}

/// Whether this kernel makes VRF devices: asked in a namespace that ends with the question.
pub(crate) fn are_made_here() -> Result<bool, Trouble> {
    let ask = || {
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Trouble::kernel("make a network namespace")(errno.into()))?;
        Door::here()?.change(&[new_device("t1", 0, 50_000)])
    };
    let asked = thread::scope(|scope| scope.spawn(ask).join());
    match asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
        Ok(()) => Ok(true),
        Err(Trouble::Kernel { source, .. }) if source.raw_os_error() == Some(EOPNOTSUPP) => {
            Ok(false)
        }
        Err(trouble) => Err(trouble),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use expect_test::{Expect, expect};
    use wire::{Mac, ipv6_of};

    use super::*;
    use crate::entry::{Address, Forward, Neighbour};
    use crate::link::{Bridge, BridgePort, Tunnel};
    use crate::spaces::Found;

    /// Two VRFs with a job each, as one namespace: t17 (`br1`, `vx1`, `swp1`) and t18 (2).
    fn node() -> Seen {
        let mut seen = Seen::default();
        seen.interfaces.push(interface("lo", 1, None, Kind::Loopback));
        seen.interfaces.push(interface("swp33", 33, None, Kind::Other));
        for (place, vrf) in [(1, "t17"), (2, "t18")] {
            let table = table_of(vrf).unwrap();
            seen.interfaces.push(interface(vrf, 100 + place, None, Kind::Vrf { table }));
            let bridge = Kind::Bridge(Bridge::default());
            seen.interfaces.push(interface(
                &format!("br{place}"),
                200 + place,
                Some(100 + place),
                bridge,
            ));
            let vni = 100_000 + place;
            let tunnel =
                Kind::Tunnel(Tunnel { vni, port: 4789, tos: 1, tags: true, ..Tunnel::default() });
            let mut tunnel =
                interface(&format!("vx{place}"), 300 + place, Some(200 + place), tunnel);
            tunnel.port = Some(BridgePort { learns: false, suppresses: true });
            seen.interfaces.push(tunnel);
            seen.interfaces.push(interface(
                &format!("swp{place}"),
                10 + place,
                Some(200 + place),
                Kind::Other,
            ));
            let number = tenant_of_vrf(vrf).unwrap();
            let [gateway, host] = [1, 2].map(|last| Ipv4Addr::new(10, 1, 0, last));
            for (address, prefix) in
                [(IpAddr::V4(gateway), 28), (ipv6_of(number, gateway).into(), 124)]
            {
                seen.addresses.push(Address { interface: 200 + place, address, prefix });
            }
            let mac = Mac([2, 0, 0, 0, 0, place as u8]);
            for address in [IpAddr::V4(host), ipv6_of(number, host).into()] {
                seen.neighbours.push(Neighbour { interface: 200 + place, address, mac });
            }
            let master = Some(200 + place);
            seen.forwards.push(Forward {
                interface: 10 + place,
                mac,
                master,
                remote: None,
                vni: None,
            });
            seen.routes.extend(ends(table));
        }
        for is_ipv6 in [false, true] {
            let plain = |(priority, table): PlainRule| rule(is_ipv6, priority, table.unwrap_or(0));
            seen.rules.extend(RULES.into_iter().chain(LAST_RULES).map(plain));
        }
        seen
    }

    fn interface(name: &str, index: u32, master: Option<u32>, kind: Kind) -> Interface {
        Interface {
            index,
            name: name.into(),
            mac: Mac([2, 0, 0, 0, 0, 0xff]),
            mtu: 9216,
            is_up: true,
            runs: true,
            master,
            beneath: None,
            kind,
            port: None,
        }
    }

    fn ends(table: u32) -> [Route; 2] {
        let any = [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()];
        any.map(|destination| Route {
            kind: RouteType::Unreachable,
            destination,
            prefix: 0,
            via: None,
            interface: None,
            metric: LAST_METRIC,
            table,
        })
    }

    fn rule(is_ipv6: bool, priority: u32, table: u32) -> Rule {
        Rule { is_ipv6, priority, action: 1, table, is_for_all: true }
    }

    fn route(table: u32, interface: u32) -> Route {
        Route {
            kind: RouteType::Unicast,
            destination: Ipv4Addr::new(10, 66, 0, 0).into(),
            prefix: 16,
            via: None,
            interface: Some(interface),
            metric: 0,
            table,
        }
    }

    fn said(seen: &Seen) -> String {
        let Parts { own, vrfs, rules } = Parts::of(seen);
        let (own, queues, standing) = (Arc::new(own), Vec::new(), BTreeSet::new());
        Found { own, queues, vrfs, rules, standing, has_lost_links: false }.linux()
    }

    /// The lines that go and come with a change, as a hand could make it.
    fn check(change: impl FnOnce(&mut Seen), expected: Expect) {
        let mut seen = node();
        let before = said(&seen);
        change(&mut seen);
        let after = said(&seen);
        let mut lines = String::new();
        for (sign, from, to) in [('-', &before, &after), ('+', &after, &before)] {
            for line in from.lines().filter(|line| !to.lines().any(|other| other == *line)) {
                let _ = writeln!(lines, "{sign} {line}");
            }
        }
        expected.assert_eq(&lines);
    }

    fn at<'a>(seen: &'a mut Seen, name: &str) -> &'a mut Interface {
        seen.interfaces.iter_mut().find(|interface| interface.name == name).unwrap()
    }

    #[test]
    fn each_vrf_is_told_as_if_it_had_a_namespace() {
        expect![[r#"
            uplink swp33 mtu 9216
            vrf t17
            bridge br1 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:ff
            vxlan vx1 id 100001 dstport 4789 nolearning tos inherit gbp master br1
            link swp1 master br1 mtu 9216
            neigh 10.1.0.2 lladdr 02:00:00:00:00:01 dev swp1 master br1
            vrf t18
            bridge br2 vrf t18 address 10.1.0.1/28 mac 02:00:00:00:00:ff
            vxlan vx2 id 100002 dstport 4789 nolearning tos inherit gbp master br2
            link swp2 master br2 mtu 9216
            neigh 10.1.0.2 lladdr 02:00:00:00:00:02 dev swp2 master br2
        "#]]
        .assert_eq(&said(&node()));
    }

    #[test]
    fn an_interface_directly_in_a_vrf() {
        check(
            |seen| seen.interfaces.push(interface("tun0", 9, Some(101), Kind::Other)),
            expect![[r#"
                + link tun0 vrf t17 mtu 9216
            "#]],
        );
    }

    #[test]
    fn what_stands_on_an_interface_of_a_vrf_is_there_too_while_it_is_up() {
        let upper = |is_up| Interface {
            beneath: Some(201),
            is_up,
            ..interface("br1.7", 9, None, Kind::Other)
        };
        check(
            |seen| seen.interfaces.push(upper(true)),
            expect![[r#"
            + link br1.7 vrf t17 mtu 9216
        "#]],
        );
        check(|seen| seen.interfaces.push(upper(false)), expect![""]);
    }

    #[test]
    fn two_ends_of_a_cable_that_is_in_no_vrf_end_the_search() {
        let end = |name, index, beneath| Interface {
            beneath: Some(beneath),
            ..interface(name, index, None, Kind::Other)
        };
        check(|seen| seen.interfaces.extend([end("a", 9, 10), end("b", 10, 9)]), expect![""]);
    }

    #[test]
    fn a_bridge_in_another_vrf_or_in_none() {
        check(
            |seen| at(seen, "br1").master = Some(102),
            expect![[r#"
            - bridge br1 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:ff
            - neigh 10.1.0.2 lladdr 02:00:00:00:00:01 dev swp1 master br1
            + bridge br1 vrf t18 address 10.1.0.1/28 mac 02:00:00:00:00:ff noipv6
            + neigh 10.1.0.2 lladdr 02:00:00:00:00:01 dev swp1 master br1 noipv6
            + address fd8e:5b3a:71c4:11::a01:1/124 dev br1 vrf t18
            + neigh fd8e:5b3a:71c4:11::a01:2 lladdr 02:00:00:00:00:01 dev br1 vrf t18
        "#]],
        );
        check(
            |seen| at(seen, "br1").master = None,
            expect![[r#"
            - bridge br1 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:ff
            - vxlan vx1 id 100001 dstport 4789 nolearning tos inherit gbp master br1
            - link swp1 master br1 mtu 9216
            - neigh 10.1.0.2 lladdr 02:00:00:00:00:01 dev swp1 master br1
            + bridge br1 mac 02:00:00:00:00:ff
            + uplink swp1 mtu 9216
            + vxlan vx1 id 100001 dstport 4789 nolearning tos inherit gbp
        "#]],
        );
    }

    #[test]
    fn a_device_that_is_not_as_it_should_be() {
        check(
            |seen| at(seen, "t17").is_up = false,
            expect![[r#"
            - vrf t17
            + vrf t17 down
        "#]],
        );
        check(
            |seen| at(seen, "t17").kind = Kind::Vrf { table: 99 },
            expect![[r#"
            - vrf t17
            + route unreachable default metric 4278198272 table 50017
            + route unreachable ::/0 metric 4278198272 table 50017
            + vrf t17 table 99 open
        "#]],
        );
        check(
            |seen| seen.routes.retain(|route| route.table != 50_017 || route.destination.is_ipv6()),
            expect![[r#"
                - vrf t17
                + vrf t17 open
            "#]],
        );
    }

    #[test]
    fn a_second_device_with_the_table_of_another() {
        check(
            |seen| {
                seen.interfaces.insert(0, interface("t99", 9, None, Kind::Vrf { table: 50_017 }))
            },
            expect![[r#"
                + vrf t99 table 50017 open
            "#]],
        );
    }

    #[test]
    fn a_route_in_the_table_of_a_vrf_or_to_its_interfaces() {
        check(
            |seen| seen.routes.push(route(50_017, 201)),
            expect![[r#"
            + route 10.66.0.0/16 dev br1 vrf t17
        "#]],
        );
        check(
            |seen| seen.routes.push(route(50_017, 202)),
            expect![[r#"
            + route 10.66.0.0/16 dev br2 vrf t17
        "#]],
        );
        check(
            |seen| seen.routes.push(route(MAIN, 202)),
            expect![[r#"
            + route 10.66.0.0/16 dev br2
        "#]],
        );
        check(
            |seen| seen.routes.push(route(50_019, 202)),
            expect![[r#"
            + route 10.66.0.0/16 dev br2 table 50019
        "#]],
        );
    }

    #[test]
    fn a_rule_that_leads_past_a_vrf_and_one_that_is_missing() {
        check(
            |seen| seen.rules.push(rule(false, 100, 50_018)),
            expect![[r#"
            + rule 100 ipv4 action 1 table 50018
        "#]],
        );
        check(
            |seen| seen.rules.push(rule(true, 0, LOCAL)),
            expect![[r#"
            + rule 0 ipv6 action 1 table 255
        "#]],
        );
        check(
            |seen| seen.rules.push(Rule { is_for_all: false, ..rule(false, 1000, 0) }),
            expect![[r#"
                + rule 1000 ipv4 action 1 table 0
            "#]],
        );
        check(
            |seen| seen.rules.retain(|rule| rule.is_ipv6 || rule.priority != 1000),
            expect![[r#"
            - vrf t17
            - vrf t18
            + vrf t17 norule
            + vrf t18 norule
        "#]],
        );
    }

    #[test]
    fn without_vrfs_nobody_minds_rules() {
        let mut seen = node();
        seen.interfaces.truncate(2);
        seen.rules.clear();
        assert_eq!(Parts::of(&seen).vrfs.len(), 0);
    }
}
