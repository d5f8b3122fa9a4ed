//! Permits: two that mirror each other are a consent, one alone is pending.

use std::collections::{BTreeMap, BTreeSet};

use model::{Consent, JobName, Name, Permit, Protocol, Service, Side, TenantName};

use crate::Problem;
use crate::document::{Document, Papers, refuse_duplicate};
use crate::form::{self, Form, Shape};
use crate::guardrail::{Guardrails, check_tenant, is_within};
use crate::job::Jobs;
use crate::refusal::Refusals;
use crate::tree::{At, Pos};

const PERMIT: Shape =
    Shape { what: "a permit", needs: &["tenant", "job", "side", "peer", "service"], may: &[] };

const PEER: Shape = Shape { what: "a peer", needs: &["tenant", "job"], may: &[] };

const SERVICE: Shape = Shape { what: "a service", needs: &["protocol", "port"], may: &[] };

/// What both sides wrote, and what waits for the other side. A peer that does not exist leaves a
/// permit pending like one that did not write yet: a tenant learns nothing about others.
pub(crate) fn read(
    papers: &Papers,
    guardrails: &Guardrails,
    jobs: &Jobs,
    out: &mut Refusals,
) -> (Vec<Consent>, Vec<Permit>) {
    let mut permits: BTreeMap<(TenantName, Name), (Pos, Permit)> = BTreeMap::new();
    for document in &papers.permits {
        let Some(permit) = read_one(document, papers, guardrails, jobs, out) else {
            continue;
        };
        let pos = document.name.pos;
        let key = (permit.tenant.clone(), permit.name.clone());
        match permits.get(&key) {
            Some((first, _)) => refuse_duplicate("permit", &permit.name, pos, *first, out),
            None => {
                permits.insert(key, (pos, permit));
            }
        }
    }
    matched(permits.into_values().map(|(_, permit)| permit).collect())
}

fn read_one(
    document: &Document,
    papers: &Papers,
    guardrails: &Guardrails,
    jobs: &Jobs,
    out: &mut Refusals,
) -> Option<Permit> {
    let name = form::name(&document.name, out);
    let form = Form::open(&document.spec, &PERMIT, out)?;
    let side = form.word::<Side>("side", out);
    let service = service(&form, out);
    let own = job_name(&form, out);
    let peer = form.form("peer", &PEER, out).and_then(|peer| {
        let pos = peer.pos;
        job_name(&peer, out).map(|(value, _)| At { value, pos })
    });
    if let Some((own, places)) = &own {
        check_own(own, *places, papers, jobs, out);
    }
    let ((own, _), peer) = own.zip(peer)?;
    if own == peer.value {
        let job = own.to_string();
        out.refuse(peer.pos, Problem::PermitWithItself { job });
    }
    check_guardrails(&own, &peer, guardrails, out);
    Some(Permit {
        name: name?,
        tenant: own.tenant,
        job: own.name,
        side: side?.value,
        peer: peer.value,
        service: service?,
    })
}

/// A tenant and a job, with the places of both.
fn job_name(form: &Form<'_>, out: &mut Refusals) -> Option<(JobName, (Pos, Pos))> {
    let tenant = form.name::<TenantName>("tenant", out);
    let job = form.name::<Name>("job", out);
    let (tenant, job) = tenant.zip(job)?;
    let name = JobName { tenant: tenant.value, name: job.value };
    Some((name, (tenant.pos, job.pos)))
}

fn service(form: &Form<'_>, out: &mut Refusals) -> Option<Service> {
    let form = form.form("service", &SERVICE, out)?;
    let protocol = form.word::<Protocol>("protocol", out);
    let port = form.number::<u16>("port", 1, u64::from(u16::MAX), out);
    let service = Service { protocol: protocol?.value, port: port?.value };
    if service == Service::ROCE {
        out.refuse(form.pos_of("port"), Problem::RocePermit);
    }
    Some(service)
}

fn check_own(
    own: &JobName,
    (tenant_pos, job_pos): (Pos, Pos),
    papers: &Papers,
    jobs: &Jobs,
    out: &mut Refusals,
) {
    let tenant = At { value: own.tenant.clone(), pos: tenant_pos };
    if !jobs.has(own) && check_tenant(&tenant, papers, out) {
        let problem = Problem::Dangling {
            kind: "job",
            name: own.to_string(),
            near: out
                .near(own.name.as_str(), jobs.of(&own.tenant))
                .map(|job| format!("{}/{job}", own.tenant)),
        };
        out.refuse(job_pos, problem);
    }
}

fn check_guardrails(
    own: &JobName,
    peer: &At<JobName>,
    guardrails: &Guardrails,
    out: &mut Refusals,
) {
    for guardrail in guardrails.over(&own.tenant) {
        let Some(limit) = guardrail.no_foreign_permits.filter(|limit| limit.value) else {
            continue;
        };
        let subtree = guardrail.tenant.as_ref();
        if let Some(subtree) = subtree.filter(|root| !is_within(&peer.value.tenant, root)) {
            let problem = Problem::ForeignPermit {
                peer: peer.value.to_string(),
                subtree: subtree.to_string(),
                guardrail: guardrail.name.value.to_string(),
                place: out.place(limit.pos),
            };
            out.refuse(peer.pos, problem);
        }
    }
}

fn matched(permits: Vec<Permit>) -> (Vec<Consent>, Vec<Permit>) {
    let consents_of = |wanted: Side| -> BTreeSet<Consent> {
        let side = permits.iter().filter(|permit| permit.side == wanted);
        side.map(consent).collect()
    };
    let (asked, offered) = (consents_of(Side::Client), consents_of(Side::Provider));
    let both: BTreeSet<Consent> = asked.intersection(&offered).cloned().collect();
    let pending = permits.into_iter().filter(|permit| !both.contains(&consent(permit))).collect();
    (both.into_iter().collect(), pending)
}

/// What a permit would open if the other side wrote its mirror image.
fn consent(permit: &Permit) -> Consent {
    let own = JobName { tenant: permit.tenant.clone(), name: permit.job.clone() };
    let peer = permit.peer.clone();
    let (client, provider) = match permit.side {
        Side::Client => (own, peer),
        Side::Provider => (peer, own),
    };
    Consent { client, provider, service: permit.service }
}
