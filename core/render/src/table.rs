use std::collections::BTreeSet;

use model::{Consent, DeviceId, JobName, TenantName, VrfName};
use plan::{Group, JobNet, Plan, Seat, TenantNet};

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
    out.reserve(64 * (1 + group.seats.len() + job.groups.len())); // about as long as it gets
    say!(out, "space ", space, " vni ", job.l2vni, "\n");
    for seat in &group.seats {
        say!(out, "endpoint ", space, " ", seat.address, " mac ", seat.mac);
        say!(out, " port ", seat.port, " tag ", job.tag, "\n");
    }
    for other in &job.groups {
        if other.device != group.device {
            peers(plan, space, job, other, out);
        }
    }
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
            for group in &met.groups {
                peers(plan, space, met, group, out);
            }
        }
        say!(out, "permit ", space, " ", asks.tag, " ", answers.tag);
        say!(out, " ", service.protocol, " ", service.port, "\n");
    }
}

/// One line for each run of consecutive addresses of the group.
fn peers(plan: &Plan, space: &VrfName, job: &JobNet, group: &Group, out: &mut String) {
    let Some(vtep) = plan.fleet.vtep(group.device) else {
        return;
    };
    let mut rest = group.seats.as_slice();
    while let [first, ..] = rest {
        let (run, after) = rest.split_at(run_length(rest));
        let last = run.last().unwrap_or(first);
        say!(out, "peers ", space, " ", first.address, "-", last.address);
        say!(out, " vtep ", vtep.address, " tag ", job.tag, "\n");
        rest = after;
    }
}

/// How many seats from the first on have consecutive addresses. Seats are in the order of their
/// addresses, so a distance equal to the number of steps has no gap inside, and the end of a run
/// is found by halving instead of walking: a job part costs what it says, not what it stands for.
fn run_length(seats: &[Seat]) -> usize {
    let address = |at: usize| u32::from(seats[at].address);
    let (mut inside, mut outside) = (0, seats.len());
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if address(middle).wrapping_sub(address(0)) as usize == middle {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}
