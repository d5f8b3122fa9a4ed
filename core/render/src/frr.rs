use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::ops::Range;

use model::{
    Asn, DeviceId, Fleet, JobName, Node, Port, RouteTarget, Switch, SwitchId, SwitchRole,
    TenantName, Vtep,
};
use plan::{Group, JobNet, Plan, TenantNet};

use crate::say::say;

pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    let fleet = &*plan.fleet;
    match fleet.at(device) {
        Ok(switch) => {
            let cables = switch_cables(fleet, SwitchId(device.0), switch);
            let ends_tunnels = switch.role == SwitchRole::Leaf;
            speaker(switch.name.as_str(), switch.vtep, &cables, ends_tunnels, out);
        }
        Err(node) => {
            if let Some(vtep) = node.vtep {
                speaker(node.name.as_str(), vtep, &host_cables(fleet, node), true, out);
            }
        }
    }
}

pub(crate) fn tenant(
    plan: &Plan,
    device: DeviceId,
    _name: &TenantName,
    tenant: &TenantNet,
    out: &mut String,
) {
    let Some(vtep) = plan.fleet.vtep(device) else {
        return;
    };
    out.reserve(512); // about as long as it gets, so that it grows once
    say!(out, "vrf ", tenant.vrf, "\n");
    say!(out, " vni ", tenant.l3vni, "\n");
    say!(out, "exit-vrf\n");
    say!(out, "router bgp ", vtep.asn, " vrf ", tenant.vrf, "\n");
    say!(out, " address-family ipv4 unicast\n");
    say!(out, "  redistribute connected\n");
    say!(out, " exit-address-family\n");
    say!(out, " address-family l2vpn evpn\n");
    say!(out, "  advertise ipv4 unicast\n");
    say!(out, "  rd ", vtep.address, ":", tenant.rd_number, "\n");
    say!(out, "  route-target import ", tenant.target, "\n");
    say!(out, "  route-target export ", tenant.target, "\n");
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
}

pub(crate) fn job(plan: &Plan, name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    let Some(vtep) = plan.fleet.vtep(group.device) else {
        return;
    };
    out.reserve(256); // as above, without an import
    say!(out, "router bgp ", vtep.asn, "\n");
    say!(out, " address-family l2vpn evpn\n");
    say!(out, "  vni ", job.l2vni, "\n");
    say!(out, "   rd ", vtep.address, ":", job.tag, "\n");
    say!(out, "   route-target import ", job.target, "\n");
    say!(out, "   route-target export ", job.target, "\n");
    say!(out, "  exit-vni\n");
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
    foreign_imports(plan, name, vtep.asn, out);
}

/// What the job's VRF takes in of other tenants it has a consent with.
fn foreign_imports(plan: &Plan, name: &JobName, asn: Asn, out: &mut String) {
    let targets = foreign_targets(plan, name);
    let Some(tenant) = plan.tenants.get(&name.tenant) else {
        return;
    };
    if targets.is_empty() {
        return;
    }
    say!(out, "router bgp ", asn, " vrf ", tenant.vrf, "\n");
    say!(out, " address-family l2vpn evpn\n");
    for target in targets {
        say!(out, "  route-target import ", target, "\n");
    }
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
}

fn foreign_targets(plan: &Plan, name: &JobName) -> BTreeSet<RouteTarget> {
    let consents = plan.consents.get(name).into_iter().flatten();
    consents
        .flat_map(|consent| [&consent.client.tenant, &consent.provider.tenant])
        .filter(|tenant| **tenant != name.tenant)
        .filter_map(|tenant| Some(plan.tenants.get(tenant)?.target))
        .collect()
}

/// One end of a cable that routes are exchanged on.
struct Cable {
    port: Port,
    address: Ipv4Addr,
    neighbor: Ipv4Addr,
    remote: Asn,
}

/// A device that speaks BGP on all its cables.
fn speaker(name: &str, vtep: Vtep, cables: &[Cable], ends_tunnels: bool, out: &mut String) {
    say!(out, "frr version 8.4.4\n");
    say!(out, "frr defaults datacenter\n");
    say!(out, "hostname ", name, "\n");
    say!(out, "service integrated-vtysh-config\n");
    say!(out, "interface lo\n");
    say!(out, " ip address ", vtep.address, "/32\n");
    say!(out, "exit\n");
    for cable in cables {
        say!(out, "interface ", cable.port, "\n");
        say!(out, " ip address ", cable.address, "/31\n");
        say!(out, "exit\n");
    }
    say!(out, "router bgp ", vtep.asn, "\n");
    say!(out, " bgp router-id ", vtep.address, "\n");
    say!(out, " no bgp ebgp-requires-policy\n");
    say!(out, " no bgp default ipv4-unicast\n");
    for cable in cables {
        say!(out, " neighbor ", cable.neighbor, " remote-as ", cable.remote, "\n");
    }
    say!(out, " address-family ipv4 unicast\n");
    say!(out, "  network ", vtep.address, "/32\n");
    activate(cables, out);
    say!(out, " exit-address-family\n");
    say!(out, " address-family l2vpn evpn\n");
    activate(cables, out);
    if ends_tunnels {
        say!(out, "  advertise-all-vni\n");
    }
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
}

fn activate(cables: &[Cable], out: &mut String) {
    for cable in cables {
        say!(out, "  neighbor ", cable.neighbor, " activate\n");
    }
}

/// A switch's cables to other switches, then those to hosts that are tunnel endpoints.
fn switch_cables(fleet: &Fleet, id: SwitchId, switch: &Switch) -> Vec<Cable> {
    let ends = fleet.links.iter().filter_map(|link| {
        if link.a.switch == id {
            Some((link.a, link.b))
        } else if link.b.switch == id {
            Some((link.b, link.a))
        } else {
            None
        }
    });
    let to_switches = ends.map(|(here, there)| Cable {
        port: here.port,
        address: here.address,
        neighbor: there.address,
        remote: fleet.switches[there.switch.index()].vtep.asn,
    });
    let nodes = &fleet.nodes[pod_nodes(fleet, switch)];
    let to_hosts = nodes.iter().flat_map(|node| {
        let vtep = node.vtep;
        let here = node.uplinks.iter().filter(move |uplink| uplink.leaf == id);
        here.filter_map(move |uplink| {
            let address = uplink.leaf_address?;
            Some(Cable {
                port: uplink.port,
                address,
                neighbor: host_side(address),
                remote: vtep?.asn,
            })
        })
    });
    to_switches.chain(to_hosts).collect()
}

/// Where the nodes of the switch's pod stand. The fleet lists nodes by pod, so that a leaf does
/// not have to look at every node of the fleet.
fn pod_nodes(fleet: &Fleet, switch: &Switch) -> Range<usize> {
    let Some(pod) = switch.pod else {
        return 0..0;
    };
    let first = fleet.nodes.partition_point(|node| node.pod < pod);
    let after = fleet.nodes.partition_point(|node| node.pod <= pod);
    first..after
}

/// A host's cables to its leaves.
fn host_cables(fleet: &Fleet, node: &Node) -> Vec<Cable> {
    let uplinks = (0..).zip(&node.uplinks);
    uplinks
        .filter_map(|(nic, uplink)| {
            let leaf_address = uplink.leaf_address?;
            Some(Cable {
                port: Port::Nic(nic),
                address: host_side(leaf_address),
                neighbor: leaf_address,
                remote: fleet.switches[uplink.leaf.index()].vtep.asn,
            })
        })
        .collect()
}

/// The node's side of a cable: the address after the leaf's (a /31, RFC 3021).
fn host_side(leaf_address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(leaf_address).wrapping_add(1))
}
