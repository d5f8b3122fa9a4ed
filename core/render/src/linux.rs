use std::net::Ipv4Addr;

use model::{DeviceId, JobName, TenantName};
use plan::{Group, JobNet, Plan, TenantNet};
use wire::Vni;

use crate::say::say;

pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    if let Some(vtep) = plan.fleet.vtep(device) {
        say!(out, "vtep ", vtep.address, "\n");
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
    say!(out, " vrf ", tenant.vrf, "\n");
}

pub(crate) fn job(plan: &Plan, name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    let (Some(vtep), Some(tenant)) =
        (plan.fleet.vtep(group.device), plan.tenants.get(&name.tenant))
    else {
        return;
    };
    out.reserve(192 + 96 * group.seats.len()); // about as long as it gets
    say!(out, "bridge br", job.tag, " vrf ", tenant.vrf);
    say!(out, " address ", job.gateway, "/", job.subnet.prefix_len());
    say!(out, " mac 02:00:00:00:00:01\n");
    tunnel(job.l2vni, vtep.address, out);
    say!(out, " master br", job.tag, "\n");
    for seat in &group.seats {
        say!(out, "link ", seat.port, " master br", job.tag, "\n");
    }
    for seat in &group.seats {
        say!(out, "neigh ", seat.address, " lladdr ", seat.mac);
        say!(out, " dev ", seat.port, " master br", job.tag, "\n");
    }
}

/// A tunnel device that learns nothing by itself, keeps the traffic class (`tos inherit`) and
/// carries group tags (`gbp`).
fn tunnel(vni: Vni, local: Ipv4Addr, out: &mut String) {
    say!(out, "vxlan vx", vni, " id ", vni, " local ", local);
    say!(out, " dstport 4789 nolearning tos inherit gbp");
}
