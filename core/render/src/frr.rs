//! Dialect `frr`: BGP and EVPN of a Linux switch or host, tenant by tenant and job by job.

use model::{DeviceAt, DeviceId, JobName, SwitchId, SwitchRole, TenantName, Vtep};
use plan::{Group, JobNet, Plan, TenantNet};

use crate::cables::{Cable, host_cables, switch_cables};
use crate::say::say;

pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    let fleet = &*plan.fleet;
    match fleet.at(device) {
        DeviceAt::Switch(switch) => {
            let cables: Vec<Cable> = switch_cables(fleet, SwitchId(device.0), switch).collect();
            let ends_tunnels = switch.role == SwitchRole::Leaf;
            speaker(switch.name.as_str(), switch.vtep, &cables, ends_tunnels, out);
        }
        DeviceAt::Node(node) => {
            if let Some(vtep) = node.vtep {
                let cables: Vec<Cable> = host_cables(fleet, node).collect();
                speaker(node.name.as_str(), vtep, &cables, true, out);
            }
        }
        DeviceAt::Manager(_) => {}
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
    say!(out, " address-family ipv6 unicast\n");
    say!(out, "  redistribute connected\n");
    say!(out, " exit-address-family\n");
    say!(out, " address-family l2vpn evpn\n");
    say!(out, "  advertise ipv4 unicast\n");
    say!(out, "  advertise ipv6 unicast\n");
    say!(out, "  rd ", vtep.address, ":", tenant.rd_number, "\n");
    say!(out, "  route-target import ", tenant.target, "\n");
    say!(out, "  route-target export ", tenant.target, "\n");
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
}

/// A consent with another tenant imports nothing here: FRR sends what it imports in the importer's
/// own VNI, to one router a tunnel endpoint. The Linux text says where the other's addresses are.
pub(crate) fn job(plan: &Plan, _name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    let Some(vtep) = plan.fleet.vtep(group.device) else {
        return;
    };
    out.reserve(256); // as above
    say!(out, "router bgp ", vtep.asn, "\n");
    say!(out, " address-family l2vpn evpn\n");
    say!(out, "  vni ", job.l2vni, "\n");
    say!(out, "   rd ", vtep.address, ":", job.tag, "\n");
    say!(out, "   route-target import ", job.target, "\n");
    say!(out, "   route-target export ", job.target, "\n");
    say!(out, "  exit-vni\n");
    say!(out, " exit-address-family\n");
    say!(out, "exit\n");
}

/// A device that speaks BGP on all its cables. Every line as FRR 8.4 prints it, so that what it
/// holds can be compared with what it was sent.
fn speaker(name: &str, vtep: Vtep, cables: &[Cable], ends_tunnels: bool, out: &mut String) {
    say!(out, "frr version 8.4.4\n");
    say!(out, "frr defaults datacenter\n");
    say!(out, "hostname ", name, "\n");
    // Next hops go with their routes. zebra would otherwise number them, and go on referring to
    // numbers that the kernel gave up with a link.
    say!(out, "no zebra nexthop kernel enable\n");
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
    say!(out, " no bgp default ipv4-unicast\n");
    say!(out, " bgp bestpath as-path multipath-relax\n");
    for cable in cables {
        say!(out, " neighbor ", cable.neighbor, " remote-as ", cable.remote, "\n");
        say!(out, " neighbor ", cable.neighbor, " timers 1 3\n");
        say!(out, " neighbor ", cable.neighbor, " timers connect 1\n");
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
