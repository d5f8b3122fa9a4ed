//! Faults in dialect `nxos`: groups and contracts, route targets, VLANs and source guards.

use model::{Dialect, Part, Protocol, Service};

use super::{Change, Hole, Spot};

const fn hole(name: &'static str, change: Change) -> Hole {
    Hole { name, dialect: Dialect::Nxos, change }
}

pub(crate) const HOLES: &[Hole] = &[
    hole("a selector moves to another group", |spot, chance| {
        selects(spot)?;
        let ((_, own), (_, other)) = (spot.job()?, spot.other(chance)?);
        Some(vec![group(other.tag), spot.text.into(), group(own.tag)])
    }),
    hole("a group takes in a member of another job", |spot, chance| {
        selects(spot)?;
        let (_, group) = spot.other_here(chance)?;
        let seat = chance.pick(&group.seats)?;
        (spot.owner_of(group)?.tenant == spot.job()?.0.tenant).then_some(())?;
        spot.and(spot.with(5, format_args!("{}/32", seat.address))?)
    }),
    hole("a VRF imports another tenant's routes", |spot, chance| {
        let ["route-target", "import", _, "evpn"] = spot.words()[..] else { return None };
        spot.and(spot.with(2, spot.stranger(chance)?.target)?)
    }),
    hole("a segment imports another job's routes", |spot, chance| {
        let ["route-target", "import", own] = spot.words()[..] else { return None };
        (spot.job()?.1.target.to_string() == own).then_some(())?;
        spot.and(spot.with(2, spot.other(chance)?.1.target)?)
    }),
    hole("a segment has another job's VNI", |spot, chance| {
        let ["vn-segment", _] = spot.words()[..] else { return None };
        spot.with(1, spot.other(chance)?.1.l2vni)
    }),
    hole("a VRF has another tenant's VNI", |spot, chance| {
        let ["vni", _, "l3"] = spot.words()[..] else { return None };
        spot.with(1, spot.stranger(chance)?.l3vni)
    }),
    hole("a gateway is in another tenant's VRF", |spot, chance| {
        let ["vrf", "member", own] = spot.words()[..] else { return None };
        let (_, group) = spot.other_here(chance)?;
        let other = spot.world.plan.tenants.get(&spot.owner_of(group)?.tenant)?;
        (other.vrf.0 != own).then_some(())?;
        spot.with(2, &other.vrf)
    }),
    hole("a VRF no longer denies by default", |spot, _| spot.dropped("security enforce")),
    hole("the switch no longer judges by groups", |spot, _| {
        holds_tenants(spot)?;
        spot.dropped("feature security-group")
    }),
    hole("the switch has no room for groups", |spot, _| {
        holds_tenants(spot)?;
        spot.dropped("system routing template-security-groups")
    }),
    hole("a port is in another job's VLAN", |spot, chance| {
        let ["switchport", "access", "vlan", _] = spot.words()[..] else { return None };
        spot.with(3, spot.other_here(chance)?.1.vlan)
    }),
    hole("a port is detached", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("switchport access vlan")
    }),
    hole("a port is shut down", |spot, _| {
        spot.has_company().then_some(())?;
        let ["switchport", "access", ..] = spot.words()[..] else { return None };
        spot.and(["  shutdown".into()])
    }),
    hole("a port is bound to nothing", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("ip source binding")
    }),
    hole("an address is in no group", |spot, _| {
        spot.has_company().then_some(())?;
        spot.dropped("match connected-endpoints")
    }),
    // Two jobs of one switch that consented say so twice, each with a policy of its own.
    hole("a contract is dropped", |spot, _| {
        let ["security", "contract", "source", asks, "destination", answers, ..] = spot.words()[..]
        else {
            return None;
        };
        spot.is_only_contract(asks, answers).then(Vec::new)
    }),
    hole("a route that nobody planned", |spot, _| {
        let ["nv", "overlay", "evpn"] = spot.words()[..] else { return None };
        spot.and(["ip route 0.0.0.0/0 10.9.9.9".into()])
    }),
    hole("a port has no source guard", |spot, _| spot.dropped("ip verify source")),
    hole("bound sources are not kept", |spot, _| spot.dropped("ip dhcp snooping vlan")),
    hole("a port that nobody owns is attached", |spot, _| {
        let ["ip", "dhcp", "snooping", "vlan", vlan] = spot.words()[..] else { return None };
        spot.and(["interface Ethernet1/60".into(), format!("  switchport access vlan {vlan}")])
    }),
    hole("a port is bound to another job's address", |spot, chance| {
        let ["ip", "source", "binding", ..] = spot.words()[..] else { return None };
        spot.and(spot.with(3, spot.sibling(chance)?.1.address)?)
    }),
    hole("a contract names another service", |spot, _| {
        let ["match", "ipv4", .., "dport", _] = spot.words()[..] else { return None };
        spot.with(spot.words().len() - 1, 22)
    }),
    hole("a contract names another group", |spot, chance| {
        let ["security", "contract", "source", client, _, _, _, policy] = spot.words()[..] else {
            return None;
        };
        let service = if policy.ends_with("tcp-2049") {
            Service { protocol: Protocol::Tcp, port: 2049 }
        } else {
            Service { protocol: Protocol::Udp, port: 53 }
        };
        spot.with(5, spot.unpermitted(client, service, chance)?)
    }),
    hole("a contract that nobody consented to", |spot, chance| {
        let (["ip", "dhcp", "snooping", ..], (_, own)) = (&spot.words()[..], spot.job()?) else {
            return None;
        };
        let (client, provider) = (own.tag, spot.other(chance)?.1.tag);
        spot.and([
            "class-map type security match-any C-tcp-22".into(),
            "  match ipv4 tcp dport 22".into(),
            "policy-map type security P-tcp-22".into(),
            "  class C-tcp-22".into(),
            "    permit".into(),
            format!("vrf context {}", spot.tenant()?.vrf),
            format!(
                "  security contract source {client} destination {provider} policy P-tcp-22 bidir"
            ),
        ])
    }),
    hole("two scopes share a route distinguisher", |spot, chance| {
        let ["rd", _] = spot.words()[..] else { return None };
        spot.with(1, spot.other_distinguisher(chance)?)
    }),
    hole("a target is automatic", |spot, _| {
        let ["route-target", way, ..] = spot.words()[..] else { return None };
        let indent = &spot.text[..spot.text.find('r')?];
        Some(vec![format!("{indent}route-target {way} auto")])
    }),
    hole("a target is dropped", |spot, _| {
        // Without `evpn` it matters where VRFs of one switch consent.
        let is_own = || spot.text.ends_with(&format!(" {}", spot.job()?.1.target)).then_some(());
        if !spot.text.ends_with(" evpn") {
            is_own()?;
        }
        spot.dropped("route-target export")
    }),
    hole("a neighbour is dropped", |spot, _| spot.dropped("remote-as")),
    hole("a loopback has another device's address", |spot, chance| {
        let ["ip", "address", address] = spot.words()[..] else { return None };
        let other = spot.other_vtep(address.strip_suffix("/32")?, chance)?;
        spot.with(2, format_args!("{other}/32"))
    }),
    hole("the switch speaks no BGP", |spot, _| spot.dropped("feature bgp")),
    hole("the switch speaks no EVPN", |spot, _| spot.dropped("nv overlay evpn")),
    hole("the switch has no gateways", |spot, _| spot.dropped("feature interface-vlan")),
    hole("VLANs are no segments", |spot, _| spot.dropped("feature vn-segment-vlan-based")),
    hole("the switch has no tunnels", |spot, _| spot.dropped("feature nv overlay")),
    hole("nothing is snooped", |spot, _| spot.dropped("feature dhcp")),
    hole("there is no room to compare sources", |spot, _| {
        spot.dropped("hardware access-list tcam region ipsg")
    }),
    hole("no bound source is kept at all", |spot, _| {
        (spot.text == "ip dhcp snooping").then(Vec::new)
    }),
    hole("ports take short frames only", |spot, _| spot.dropped("system jumbomtu")),
    hole("leaves have no common gateway", |spot, _| {
        spot.dropped("fabric forwarding anycast-gateway-mac")
    }),
    hole("a leaf has a gateway of its own", |spot, _| {
        spot.dropped("fabric forwarding mode anycast-gateway")
    }),
    hole("nothing floods to other leaves", |spot, _| {
        spot.dropped("ingress-replication protocol bgp")
    }),
    hole("a tunnel device or a cable is down", |spot, _| {
        matches!(spot.part, Part::Head).then_some(())?;
        spot.dropped("no shutdown")
    }),
    hole("a cable is bridged", |spot, _| spot.dropped("no switchport")),
    hole("a cable takes short frames only", |spot, _| spot.dropped("mtu 9216")),
    hole("an endpoint or a gateway takes short frames only", |spot, _| spot.dropped("mtu 9166")),
    hole("one uplink carries all", |spot, _| spot.dropped("maximum-paths")),
    hole("ways over other spines do not count", |spot, _| spot.dropped("bestpath")),
    hole("the VNI of a VRF is down", |spot, _| {
        let ["vni", vni, "l3"] = spot.words()[..] else { return None };
        Some(vec![format!("  vni {vni}")])
    }),
    hole("routes go without their targets", |spot, _| spot.dropped("send-community extended")),
    hole("routes of others are not kept", |spot, _| spot.dropped("retain route-target all")),
    hole("routes lose their next hop", |spot, _| spot.dropped("route-map UNCHANGED out")),
    hole("the map of next hops does nothing", |spot, _| spot.dropped("set ip next-hop unchanged")),
    hole("who answers may begin", |spot, _| {
        let ["match", "ipv4", "tcp", "stateful", "dport", port] = spot.words()[..] else {
            return None;
        };
        Some(vec![format!("  match ipv4 tcp dport {port}")])
    }),
    hole("a VRF takes another tenant's routes on its switch", |spot, chance| {
        let (["evpn"], (own, _)) = (&spot.words()[..], spot.job()?) else { return None };
        let (_, group) = spot.other_here(chance)?;
        let other = &spot.owner_of(group)?.tenant;
        let agreed = spot.world.owners.consents.iter().any(|consent| {
            let sides = [&consent.client.tenant, &consent.provider.tenant];
            sides.contains(&&own.tenant) && sides.contains(&other)
        });
        (*other != own.tenant && !agreed).then_some(())?;
        let (ours, theirs) = (spot.tenant()?, spot.world.plan.tenants.get(other)?);
        Some(vec![
            format!("vrf context {}", ours.vrf),
            "  address-family ipv4 unicast".into(),
            format!("    route-target import {}", theirs.target),
            format!("vrf context {}", theirs.vrf),
            "  address-family ipv4 unicast".into(),
            format!("    route-target export {}", theirs.target),
            spot.text.into(),
        ])
    }),
    hole("a port of nobody's is a cable", |spot, _| {
        let ["nv", "overlay", "evpn"] = spot.words()[..] else { return None };
        spot.and(
            ["interface Ethernet1/60", "  no switchport", "  mtu 9216"]
                .into_iter()
                .chain(["  ip address 172.31.255.0/31", "  no shutdown"])
                .map(Into::into),
        )
    }),
    hole("a port is left in VLAN 1", |spot, _| {
        let ["ip", "dhcp", "snooping"] = spot.words()[..] else { return None };
        spot.and(["interface Ethernet1/60".into()])
    }),
    hole("the port for people is in a tenant's VRF", |spot, _| {
        let ["evpn"] = spot.words()[..] else { return None };
        let vrf = format!("  vrf member {}", spot.tenant()?.vrf);
        Some(vec!["interface mgmt0".into(), vrf, spot.text.into()])
    }),
    hole("a line that nobody knows", |spot, _| spot.and(["ip nat inside source list 7".into()])),
];

/// Whether the line takes an address into a group.
fn selects(spot: &Spot<'_>) -> Option<()> {
    spot.text.trim_start().starts_with("match connected-endpoints").then_some(())
}

fn group(tag: impl std::fmt::Display) -> String {
    format!("security-group {tag} name J{tag}")
}

/// Whether the switch has VRFs at all: one without does not need to judge.
fn holds_tenants(spot: &Spot<'_>) -> Option<()> {
    spot.world.plan.devices.contains_key(&spot.device).then_some(())
}
