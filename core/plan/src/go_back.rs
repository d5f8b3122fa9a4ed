//! The way back from a plan that nobody confirmed, without a new number for anybody.

use std::collections::BTreeSet;

use model::{Consent, JobName, TenantName};

use crate::ledger::Ledger;
use crate::record::{Choice, Lease};

/// What must be written down so that everybody holds again what `before` says. What the plan in
/// between leased is freed and rests, because devices may hold it; what it freed still rests, so
/// that it can be given back as it was.
#[must_use]
pub fn go_back(before: &Ledger, now: &Ledger) -> Vec<Choice> {
    let mut records = vec![Choice::Planned { generation: now.generation().next() }];
    let is_kept = |job: &JobName| match (before.jobs().get(job), now.jobs().get(job)) {
        (Some(was), Some(is)) => is_the_same(was, is),
        _ => false,
    };
    let stays = |consent: &&Consent| {
        before.consents().contains(*consent)
            && is_kept(&consent.client)
            && is_kept(&consent.provider)
    };
    let staying: BTreeSet<&Consent> = now.consents().iter().filter(stays).collect();
    let ended = now.consents().iter().filter(|consent| !staying.contains(consent));
    records.extend(ended.map(Choice::ended));
    let freed = now.jobs().keys().filter(|job| !is_kept(job));
    records.extend(freed.map(|job| Choice::JobFreed { job: job.clone() }));
    let has_the_same =
        |one: &Ledger, tenant: &TenantName, number: u16| one.tenants().get(tenant) == Some(&number);
    let dismissed = now.tenants().iter().filter(|(name, is)| !has_the_same(before, name, **is));
    records.extend(dismissed.map(|(tenant, _)| Choice::TenantFreed { tenant: tenant.clone() }));
    let called = before.tenants().iter().filter(|(name, was)| !has_the_same(now, name, **was));
    records.extend(called.map(|(tenant, &number)| {
        let tenant = tenant.clone();
        match now.rests_number(&tenant, number) {
            true => Choice::TenantRestored { tenant, number },
            false => Choice::TenantLeased { tenant, number },
        }
    }));
    for (job, was) in before.jobs() {
        let (job, tag) = (job.clone(), was.tag);
        match now.jobs().get(&job).filter(|is| is_the_same(was, is)) {
            None => records.push(Choice::JobRestored { job, tag }),
            Some(is) if is != was => records.push(Choice::JobClassed {
                job,
                class: was.class,
                ceiling: was.ceiling,
                capacity: was.capacity,
            }),
            Some(_) => {}
        }
    }
    let opened = before.consents().iter().filter(|consent| !staying.contains(consent));
    records.extend(opened.map(Choice::opened));
    records
}

/// Whether two leases are one, treated in another way at most.
fn is_the_same(one: &Lease, other: &Lease) -> bool {
    let treated_alike =
        Lease { class: one.class, ceiling: one.ceiling, capacity: one.capacity, ..other.clone() };
    *one == treated_alike
}
