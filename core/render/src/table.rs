//! Dialect `table`: the packet program's policy for the endpoints of one device.

use std::collections::BTreeSet;

use model::{Consent, DeviceId, JobName, TenantName, VrfName};
use plan::{Group, JobNet, Plan, TenantNet};

use crate::runs::runs;
use crate::say::say;

pub(crate) fn head(plan: &Plan, device: DeviceId, out: &mut String) {
    if let Some(vtep) = plan.fleet.vtep(device) {
        say!(out, "vtep ", vtep.address, "\n");
    }
    say!(out, "default drop\n");
}

pub(crate) fn tenant(
    _plan: &Plan,
    _device: DeviceId,
    _name: &TenantName,
    tenant: &TenantNet,
    out: &mut String,
) {
    say!(out, "space ", tenant.vrf, " vni ", tenant.l3vni, "\n");
    if tenant.guarantee.is_none() && tenant.ceiling.is_none() {
        return;
    }
    say!(out, "rate ", tenant.vrf);
    if let Some(guarantee) = tenant.guarantee {
        say!(out, " guarantee ", guarantee.bps);
    }
    if let Some(ceiling) = tenant.ceiling {
        say!(out, " ceiling ", ceiling.bps);
    }
    say!(out, "\n");
}

pub(crate) fn job(plan: &Plan, name: &JobName, job: &JobNet, group: &Group, out: &mut String) {
    let Some(tenant) = plan.tenants.get(&name.tenant) else {
        return;
    };
    let space = &tenant.vrf;
    out.reserve(64 * (3 + group.seats.len())); // about as long as it gets
    say!(out, "space ", space, " vni ", job.l2vni, "\n");
    say!(out, "job ", space, " ", job.tag, " class ", job.class);
    if let Some(ceiling) = job.ceiling {
        say!(out, " ceiling ", ceiling.bps);
    }
    say!(out, "\n");
    for seat in &group.seats {
        say!(out, "endpoint ", space, " ", seat.address, " mac ", seat.mac);
        say!(out, " port ", seat.port, " tag ", job.tag, "\n");
    }
    let elsewhere = job.groups.iter().filter(|other| other.device != group.device);
    peers(plan, space, job, elsewhere, out);
    consents(plan, name, space, out);
}

/// What the job agreed to. A job that is met at two services is one set of peers and two permits.
fn consents(plan: &Plan, name: &JobName, space: &VrfName, out: &mut String) {
    let mut seen = BTreeSet::new();
    for consent in plan.consents.get(name).into_iter().flatten() {
        let Consent { client, provider, service } = consent;
        let other = if client == name { provider } else { client };
        let (Some(asks), Some(answers), Some(met)) =
            (plan.jobs.get(client), plan.jobs.get(provider), plan.jobs.get(other))
        else {
            continue;
        };
        if seen.insert(other) {
            peers(plan, space, met, met.groups.iter(), out);
        }
        say!(out, "permit ", space, " ", asks.tag, " ", answers.tag);
        say!(out, " ", service.protocol, " ", service.port, "\n");
    }
}

/// The endpoints of these groups.
fn peers<'a>(
    plan: &Plan,
    space: &VrfName,
    job: &JobNet,
    groups: impl Iterator<Item = &'a Group>,
    out: &mut String,
) {
    runs(plan, groups, |run| {
        say!(out, "peers ", space, " ", run.first(), "-", run.last(), " vtep ", run.vtep());
        if let Some(every) = run.every() {
            say!(out, " every ", every);
        }
        say!(out, " tag ", job.tag, "\n");
    });
}
