use std::collections::BTreeSet;
use std::net::Ipv4Addr;

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

/// Consecutive addresses in blocks of one size, each behind the tunnel endpoint after the one
/// before. Hosts that follow one another are one such run, so that a job's peers are a few lines
/// and not one for each host.
struct Run {
    first: u32,
    last: u32,
    vtep: u32,
    every: u32,
}

impl Run {
    /// Takes the next block in, if it goes on where this run ends.
    fn takes(&mut self, block: &Self) -> bool {
        let blocks = (self.last - self.first + 1) / self.every;
        let goes_on = Some(block.first) == self.last.checked_add(1)
            && Some(block.vtep) == self.vtep.checked_add(blocks)
            && block.every == self.every;
        if goes_on {
            self.last = block.last;
        }
        goes_on
    }

    fn say(&self, space: &VrfName, job: &JobNet, out: &mut String) {
        let [first, last, vtep] = [self.first, self.last, self.vtep].map(Ipv4Addr::from);
        say!(out, "peers ", space, " ", first, "-", last, " vtep ", vtep);
        if self.last - self.first + 1 > self.every {
            say!(out, " every ", u64::from(self.every));
        }
        say!(out, " tag ", job.tag, "\n");
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
    let mut open: Option<Run> = None;
    for group in groups {
        let Some(vtep) = plan.fleet.vtep(group.device) else { continue };
        let mut rest = group.seats.as_slice();
        while let [first, ..] = rest {
            let (seats, after) = rest.split_at(run_length(rest));
            let (first, every) = (u32::from(first.address), seats.len() as u32);
            let vtep = u32::from(vtep.address);
            let block = Run { first, last: first + (every - 1), vtep, every };
            if !open.as_mut().is_some_and(|run| run.takes(&block)) {
                open.replace(block).into_iter().for_each(|run| run.say(space, job, out));
            }
            rest = after;
        }
    }
    open.into_iter().for_each(|run| run.say(space, job, out));
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
