//! Dialect `linux`: bridges, tunnels, bindings and queues of a Linux tunnel endpoint.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use model::{DeviceAt, DeviceId, Fleet, JobName, SwitchId, TenantName, VrfName};
use plan::{Group, JobNet, Plan, TenantNet};
use wire::{Vni, router_mac};

use crate::cables::{Cable, cables_to_switches, host_cables};
use crate::runs::runs;
use crate::say::say;

/// What is said of a port on which the packet program stands.
const JUDGED: &str = " mtu 9216 judged\n";

pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    let Some(vtep) = plan.fleet.vtep(device) else {
        return;
    };
    say!(out, "vtep ", vtep.address, "\n");
    for cable in uplinks(&plan.fleet, device) {
        say!(out, "uplink ", cable.port, JUDGED);
        if let Some(link) = plan.fleet.uplink_rate {
            say!(out, "queue ", cable.port, " rate ", link.queued().bps, "\n");
        }
    }
}

/// The cables on which the packet program judges what comes out of the fabric. A leaf with tunnel
/// endpoints below it has none: the program takes only what is for this device, and such a leaf
/// carries the tunnels of others.
fn uplinks(fleet: &Fleet, device: DeviceId) -> Vec<Cable> {
    let id = SwitchId(device.0);
    match fleet.at(device) {
        DeviceAt::Switch(_) if fleet.carries_tunnels(device) => Vec::new(),
        DeviceAt::Switch(_) => cables_to_switches(fleet, id).collect(),
        DeviceAt::Node(node) => host_cables(fleet, node).collect(),
        DeviceAt::Manager(_) => Vec::new(),
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
    say!(out, "vrf ", tenant.vrf, "\n");
    tunnel(tenant.l3vni, vtep.address, out);
    say!(out, " vrf ", tenant.vrf, " mac ", router_mac(tenant.number, vtep.address), "\n");
    if let Some(queue) = tenant.queue {
        for cable in uplinks(&plan.fleet, device) {
            say!(out, "queue ", cable.port, " vrf ", tenant.vrf);
            say!(out, " rate ", queue.rate.bps, " ceil ", queue.ceiling.bps, "\n");
        }
    }
}

pub(crate) fn job(plan: &Plan, name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    let (Some(vtep), Some(tenant)) =
        (plan.fleet.vtep(group.device), plan.tenants.get(&name.tenant))
    else {
        return;
    };
    out.reserve(192 + 112 * group.seats.len()); // about as long as it gets
    say!(out, "bridge br", job.tag, " vrf ", tenant.vrf);
    say!(out, " address ", job.gateway, "/", job.subnet.prefix_len());
    say!(out, " mac 02:00:00:00:00:01\n");
    tunnel(job.l2vni, vtep.address, out);
    say!(out, " master br", job.tag, "\n");
    for seat in &group.seats {
        say!(out, "link ", seat.port, " master br", job.tag, JUDGED);
    }
    for seat in &group.seats {
        say!(out, "neigh ", seat.address, " lladdr ", seat.mac);
        say!(out, " dev ", seat.port, " master br", job.tag, "\n");
    }
    reaches(plan, name, &tenant.vrf, out);
}

/// Where the jobs of other tenants are that this one agreed to meet: their packets go into the
/// other's VNI, because FRR would send them in the VNI of the own VRF, where nobody has them.
fn reaches(plan: &Plan, name: &JobName, vrf: &VrfName, out: &mut String) {
    let mut seen = BTreeSet::new();
    for consent in plan.consents.get(name).into_iter().flatten() {
        let other = if consent.client == *name { &consent.provider } else { &consent.client };
        if other.tenant == name.tenant || !seen.insert(other) {
            continue;
        }
        let (Some(met), Some(tenant)) = (plan.jobs.get(other), plan.tenants.get(&other.tenant))
        else {
            continue;
        };
        runs(plan, met.groups.iter(), |run| {
            say!(out, "reach ", run.first(), "-", run.last(), " vrf ", vrf, " vtep ", run.vtep());
            if let Some(every) = run.every() {
                say!(out, " every ", every);
            }
            say!(out, " vni ", tenant.l3vni, "\n");
        });
    }
}

/// A tunnel device that learns nothing by itself, keeps the traffic class (`tos inherit`) and
/// carries group tags (`gbp`).
fn tunnel(vni: Vni, local: Ipv4Addr, out: &mut String) {
    say!(out, "vxlan vx", vni, " id ", vni, " local ", local);
    say!(out, " dstport 4789 nolearning tos inherit gbp");
}
