//! Dialect `nxos`: VRFs, VLANs, security groups and contracts of a switch.

use std::fmt::{self, Write};
use std::net::Ipv4Addr;

use model::{
    Asn, Consent, DeviceId, Fleet, JobName, NicRef, Port, Protocol, Switch, SwitchId, SwitchRole,
    TenantName,
};
use plan::{Group, JobNet, Plan, Seat, TenantNet};
use wire::Mac;

/// The device itself, its cables and its sessions.
pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    let fleet = &plan.fleet;
    // Nodes are not configured in this dialect.
    let Some(switch) = fleet.switch_at(device) else {
        return;
    };
    let mut sessions = Vec::new();
    switch_sessions(fleet, SwitchId(device.0), &mut sessions);
    let between_switches = sessions.len();
    host_sessions(fleet, SwitchId(device.0), &mut sessions);
    let passes_on = switch.role != SwitchRole::Leaf || sessions.len() > between_switches;
    if switch.role == SwitchRole::Leaf {
        out.push_str(PLATFORM);
    }
    written(write_system(switch, out));
    written(write_cables(&sessions, out));
    written(write_bgp(switch, passes_on, &sessions, out));
}

/// A tenant's VRF.
pub(crate) fn tenant(
    plan: &Plan,
    device: DeviceId,
    name: &TenantName,
    tenant: &TenantNet,
    out: &mut String,
) {
    if let Some(switch) = plan.fleet.switch_at(device) {
        written(write_vrf(switch, name, tenant, out));
    }
}

/// A job's segment, group, endpoints and contracts.
pub(crate) fn job(plan: &Plan, name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    // A plan in which the job's tenant has no VRF gives the job nothing to stand in.
    let switch = plan.fleet.switch_at(group.device);
    let (Some(switch), Some(tenant)) = (switch, plan.tenants.get(&name.tenant)) else {
        return;
    };
    written(write_segment(switch, name, tenant, job, group, out));
    written(write_group(tenant, job, group, out));
    for seat in &group.seats {
        written(write_seat(&plan.fleet, group, seat, out));
    }
    for consent in plan.consents.get(name).into_iter().flatten() {
        written(write_consent(plan, name, tenant, consent, out));
    }
}

/// A string takes every text, so writing into it has no result worth a branch at each call.
fn written(result: fmt::Result) {
    assert!(
        result.is_ok(),
        "a string takes every text, and no name or number refuses to be written"
    );
}

/// A cable to a neighbour that speaks BGP.
struct Session {
    port: Port,
    own: Ipv4Addr,
    neighbor: Ipv4Addr,
    remote: Asn,
}

/// What a leaf takes in only while it starts, so that it is a phase of its own: `feature
/// security-group` and `ip verify source` are refused before.
const PLATFORM: &str = "\
! Platform: takes effect after `copy running-config startup-config` and a reload.
system routing template-security-groups
hardware access-list tcam region ipsg 512
! What needs the platform's lines in force.
";

/// How long frames on a cable may be.
const CABLE_MTU: u16 = 9216;

/// How long frames of an endpoint may be, so that they still fit into a tunnel over IPv4: outer
/// Ethernet 14, IPv4 20, UDP 8 and VXLAN 8 bytes (RFC 7348, section 5).
const HOST_MTU: u16 = CABLE_MTU - 50;

/// Over how many ways at most a switch spreads what it sends.
const MOST_WAYS: u16 = 64;

/// The cables to other switches, in the order of the fleet's list.
fn switch_sessions(fleet: &Fleet, switch: SwitchId, sessions: &mut Vec<Session>) {
    for link in &fleet.links {
        for (own, other) in [(&link.a, &link.b), (&link.b, &link.a)] {
            if own.switch == switch {
                sessions.push(Session {
                    port: own.port,
                    own: own.address,
                    neighbor: other.address,
                    remote: fleet.switches[other.switch.index()].vtep.asn,
                });
            }
        }
    }
}

/// The cables to nodes that are tunnel endpoints themselves, in the order of the fleet's list.
/// It lists nodes by pod, so only those of the leaf's own pod are looked at.
fn host_sessions(fleet: &Fleet, leaf: SwitchId, sessions: &mut Vec<Session>) {
    let Some(pod) = fleet.switches[leaf.index()].pod else {
        return;
    };
    let first = fleet.nodes.partition_point(|node| node.pod < pod);
    let nodes = fleet.nodes[first..].iter();
    for node in nodes.take_while(|node| node.pod == pod) {
        let Some(vtep) = node.vtep else {
            continue;
        };
        for uplink in node.uplinks.iter().filter(|uplink| uplink.leaf == leaf) {
            let Some(own) = uplink.leaf_address else {
                continue;
            };
            sessions.push(Session {
                port: uplink.port,
                own,
                neighbor: Ipv4Addr::from_bits(own.to_bits().wrapping_add(1)),
                remote: vtep.asn,
            });
        }
    }
}

fn write_system(switch: &Switch, out: &mut String) -> fmt::Result {
    let Switch { name, vtep, .. } = switch;
    let address = vtep.address;
    if switch.role == SwitchRole::Leaf {
        write!(
            out,
            "\
hostname {name}
feature bgp
feature interface-vlan
feature vn-segment-vlan-based
feature nv overlay
feature dhcp
feature security-group
nv overlay evpn
system jumbomtu {HOST_MTU}
ip dhcp snooping
fabric forwarding anycast-gateway-mac 0200.0000.0001
interface loopback1
  ip address {address}/32
interface nve1
  no shutdown
  host-reachability protocol bgp
  source-interface loopback1
"
        )
    } else {
        write!(
            out,
            "\
hostname {name}
feature bgp
nv overlay evpn
interface loopback1
  ip address {address}/32
"
        )
    }
}

fn write_cables(sessions: &[Session], out: &mut String) -> fmt::Result {
    for Session { port, own, .. } in sessions {
        write!(
            out,
            "\
interface {port}
  no switchport
  mtu {CABLE_MTU}
  ip address {own}/31
  no shutdown
"
        )?;
    }
    Ok(())
}

/// A switch that passes on routes of others keeps what no VRF of its own imports, and lets tunnels
/// end where the route came from and not here.
fn write_bgp(
    switch: &Switch,
    passes_on: bool,
    sessions: &[Session],
    out: &mut String,
) -> fmt::Result {
    if passes_on {
        out.push_str("route-map UNCHANGED permit 10\n  set ip next-hop unchanged\n");
    }
    let (asn, address) = (switch.vtep.asn, switch.vtep.address);
    write!(
        out,
        "\
router bgp {asn}
  router-id {address}
  bestpath as-path multipath-relax
  address-family ipv4 unicast
    network {address}/32
    maximum-paths {MOST_WAYS}
  address-family l2vpn evpn
    maximum-paths {MOST_WAYS}
"
    )?;
    if passes_on {
        out.push_str("    retain route-target all\n");
    }
    for session in sessions {
        let Session { neighbor, remote, .. } = session;
        write!(
            out,
            "  neighbor {neighbor}
    remote-as {remote}
    address-family ipv4 unicast
    address-family l2vpn evpn
      send-community extended
"
        )?;
        if passes_on {
            out.push_str("      route-map UNCHANGED out\n");
        }
    }
    Ok(())
}

fn write_vrf(
    switch: &Switch,
    name: &TenantName,
    tenant: &TenantNet,
    out: &mut String,
) -> fmt::Result {
    let TenantNet { vrf, l3vni, rd_number, target, .. } = tenant;
    let (asn, address) = (switch.vtep.asn, switch.vtep.address);
    write!(
        out,
        "\
vrf context {vrf}
  description {name}
  vni {l3vni} l3
  rd {address}:{rd_number}
  address-family ipv4 unicast
    route-target import {target} evpn
    route-target export {target} evpn
  security enforce tag 999 default deny
interface nve1
  member vni {l3vni} associate-vrf
router bgp {asn}
  vrf {vrf}
    address-family ipv4 unicast
      advertise l2vpn evpn
      maximum-paths {MOST_WAYS}
"
    )
}

fn write_segment(
    switch: &Switch,
    name: &JobName,
    tenant: &TenantNet,
    job: &JobNet,
    group: &Group,
    out: &mut String,
) -> fmt::Result {
    let JobNet { tag, l2vni, target, gateway, .. } = job;
    let (vlan, vrf, address) = (group.vlan, &tenant.vrf, switch.vtep.address);
    let prefix = job.subnet.prefix_len();
    write!(
        out,
        "\
vlan {vlan}
  name J{tag}
  vn-segment {l2vni}
interface Vlan{vlan}
  description {name}
  no shutdown
  mtu {HOST_MTU}
  vrf member {vrf}
  ip address {gateway}/{prefix}
  fabric forwarding mode anycast-gateway
interface nve1
  member vni {l2vni}
    suppress-arp
    ingress-replication protocol bgp
evpn
  vni {l2vni} l2
    rd {address}:{tag}
    route-target import {target}
    route-target export {target}
ip dhcp snooping vlan {vlan}
"
    )
}

fn write_group(tenant: &TenantNet, job: &JobNet, group: &Group, out: &mut String) -> fmt::Result {
    let (tag, vrf) = (job.tag, &tenant.vrf);
    write!(
        out,
        "\
security-group {tag} name J{tag}
  type layer4-7
"
    )?;
    for Seat { address, .. } in &group.seats {
        writeln!(out, "  match connected-endpoints vrf {vrf} ipv4 {address}/32")?;
    }
    Ok(())
}

fn write_seat(fleet: &Fleet, group: &Group, seat: &Seat, out: &mut String) -> fmt::Result {
    let Seat { port, address, .. } = seat;
    let NicRef { node, nic } = seat.nic;
    let (node, vlan, mac) = (&fleet.nodes[node.index()].name, group.vlan, Dotted(seat.mac));
    write!(
        out,
        "\
interface {port}
  description {node} nic {nic}
  switchport
  switchport access vlan {vlan}
  mtu {HOST_MTU}
  ip verify source dhcp-snooping-vlan
  no shutdown
ip source binding {address} {mac} vlan {vlan} interface {port}
"
    )
}

fn write_consent(
    plan: &Plan,
    name: &JobName,
    tenant: &TenantNet,
    consent: &Consent,
    out: &mut String,
) -> fmt::Result {
    let Consent { client, provider, service } = consent;
    let other = if client == name { provider } else { client };
    // A job that is not planned has no numbers: there is nothing to open yet.
    let (Some(source), Some(destination), Some(foreign)) =
        (plan.jobs.get(client), plan.jobs.get(provider), plan.tenants.get(&other.tenant))
    else {
        return Ok(());
    };
    let (protocol, port, vrf) = (service.protocol, service.port, &tenant.vrf);
    // Else a provider may open connections to every port of its clients. UDP knows no state.
    let stateful = if protocol == Protocol::Tcp { " stateful" } else { "" };
    // Maps of one name are one map on the device, so each job has its own.
    let own = if client == name { source.tag } else { destination.tag };
    write!(
        out,
        "\
class-map type security match-any C-{own}-{protocol}-{port}
  match ipv4 {protocol}{stateful} dport {port}
policy-map type security P-{own}-{protocol}-{port}
  class C-{own}-{protocol}-{port}
    permit
vrf context {vrf}
"
    )?;
    if other.tenant != name.tenant {
        // Without `evpn` for VRFs of this leaf, with it for those of others.
        let (target, own) = (&foreign.target, &tenant.target);
        write!(
            out,
            "  address-family ipv4 unicast
    route-target import {target}
    route-target import {target} evpn
    route-target export {own}
"
        )?;
    }
    writeln!(
        out,
        "  security contract source {} destination {} policy P-{own}-{protocol}-{port}",
        source.tag, destination.tag
    )
}

/// An Ethernet address as NX-OS writes it: `0200.0000.0005`.
struct Dotted(Mac);

impl fmt::Display for Dotted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0.0;
        write!(f, "{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{g:02x}")
    }
}
