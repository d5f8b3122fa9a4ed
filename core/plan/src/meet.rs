//! Which consents come into force: those that leave every route unambiguous.

use std::collections::BTreeMap;

use ipnet::Ipv4Net;
use model::{Consent, JobName, Part, TenantName};

use crate::blocks::overlap;
use crate::planner::Planner;
use crate::record::Choice;
use crate::refusal::PlanRefusal;
use crate::shape::{Plan, Touched};

/// Which tenants import each other's routes, and by how many consents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partners(BTreeMap<TenantName, BTreeMap<TenantName, u32>>);

impl Partners {
    fn are(&self, a: &TenantName, b: &TenantName) -> bool {
        self.0.get(a).is_some_and(|with| with.contains_key(b))
    }

    fn of(&self, tenant: &TenantName) -> impl Iterator<Item = &TenantName> {
        self.0.get(tenant).into_iter().flat_map(BTreeMap::keys)
    }

    fn add(&mut self, consent: &Consent) {
        for (tenant, other) in tenants(consent) {
            let with = self.0.entry(tenant.clone()).or_default();
            *with.entry(other.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, consent: &Consent) {
        for (tenant, other) in tenants(consent) {
            let Some(with) = self.0.get_mut(tenant) else {
                continue;
            };
            if let Some(count) = with.get_mut(other) {
                *count -= 1;
                if *count == 0 {
                    with.remove(other);
                }
            }
            if with.is_empty() {
                self.0.remove(tenant);
            }
        }
    }
}

impl Planner {
    /// The consents of a job with jobs that are in the plan.
    pub(crate) fn wished_with_present(&self, job: &JobName) -> Vec<Consent> {
        let wishes = self.wishes.get(job).into_iter().flatten();
        wishes
            .filter(|consent| self.plan.jobs.contains_key(other_side(consent, job)))
            .cloned()
            .collect()
    }

    /// Whether these consents, together with those in force, leave every route unambiguous: a
    /// VRF takes in all routes of every tenant that one of its jobs has a consent with.
    pub(crate) fn may_join(&self, opening: &[Consent]) -> Result<(), PlanRefusal> {
        let mut partners = None;
        for consent in opening {
            let (client, provider) = (&consent.client.tenant, &consent.provider.tenant);
            let known = partners.as_ref().unwrap_or(&self.partners);
            if client == provider || known.are(client, provider) {
                continue;
            }
            self.meets_plainly(consent)?;
            for (between, tenant) in tenants(consent) {
                for other in known.of(between) {
                    self.imports_plainly(consent, between, tenant, other)?;
                }
            }
            partners.get_or_insert_with(|| self.partners.clone()).add(consent);
        }
        Ok(())
    }

    /// Lets two jobs meet.
    pub(crate) fn join(&mut self, consent: Consent, touched: &mut Touched) {
        self.enter(Choice::opened(&consent));
        self.note(&consent);
        touch(&self.plan, &consent, touched);
    }

    /// Writes a consent that is in force into the plan.
    pub(crate) fn note(&mut self, consent: &Consent) {
        self.partners.add(consent);
        for job in [&consent.client, &consent.provider] {
            let consents = self.plan.consents.entry(job.clone()).or_default();
            if let Err(at) = consents.binary_search(consent) {
                consents.insert(at, consent.clone());
            }
        }
    }

    /// Ends the consent of two jobs.
    pub(crate) fn part(&mut self, consent: &Consent, touched: &mut Touched) {
        self.enter(Choice::ended(consent));
        self.partners.remove(consent);
        for job in [&consent.client, &consent.provider] {
            let Some(consents) = self.plan.consents.get_mut(job) else {
                continue;
            };
            if let Ok(at) = consents.binary_search(consent) {
                consents.remove(at);
            }
            if consents.is_empty() {
                self.plan.consents.remove(job);
            }
        }
        touch(&self.plan, consent, touched);
    }

    fn meets_plainly(&self, consent: &Consent) -> Result<(), PlanRefusal> {
        match self.common(&consent.client.tenant, &consent.provider.tenant) {
            None => Ok(()),
            Some((client_pool, provider_pool)) => Err(PlanRefusal::PermitOverlap {
                client: consent.client.clone(),
                provider: consent.provider.clone(),
                client_pool,
                provider_pool,
            }),
        }
    }

    fn imports_plainly(
        &self,
        consent: &Consent,
        between: &TenantName,
        tenant: &TenantName,
        other: &TenantName,
    ) -> Result<(), PlanRefusal> {
        match self.common(tenant, other) {
            None => Ok(()),
            Some((pool, other_pool)) => Err(PlanRefusal::ImportOverlap {
                client: consent.client.clone(),
                provider: consent.provider.clone(),
                between: between.clone(),
                tenant: tenant.clone(),
                pool,
                other: other.clone(),
                other_pool,
            }),
        }
    }

    /// Two pools of the two tenants that have an address in common.
    fn common(&self, a: &TenantName, b: &TenantName) -> Option<(Ipv4Net, Ipv4Net)> {
        let (a, b) = (self.tenants.get(a)?, self.tenants.get(b)?);
        let pairs = a.pools.iter().flat_map(|&one| b.pools.iter().map(move |&other| (one, other)));
        pairs.into_iter().find(|&(one, other)| overlap(one.trunc(), other.trunc()))
    }
}

/// The consents of each job, by both sides. A job needs nobody's leave to meet itself.
pub(crate) fn by_both_sides(consents: &[Consent]) -> BTreeMap<JobName, Vec<Consent>> {
    let mut by_job: BTreeMap<JobName, Vec<Consent>> = BTreeMap::new();
    for consent in consents.iter().filter(|consent| consent.client != consent.provider) {
        for job in [&consent.client, &consent.provider] {
            by_job.entry(job.clone()).or_default().push(consent.clone());
        }
    }
    for consents in by_job.values_mut() {
        consents.sort();
        consents.dedup();
    }
    by_job
}

fn other_side<'a>(consent: &'a Consent, job: &JobName) -> &'a JobName {
    if consent.client == *job { &consent.provider } else { &consent.client }
}

/// Each tenant of a consent with the other one, unless they are the same.
fn tenants(consent: &Consent) -> impl Iterator<Item = (&TenantName, &TenantName)> {
    let (client, provider) = (&consent.client.tenant, &consent.provider.tenant);
    let both = [(client, provider), (provider, client)];
    both.into_iter().filter(|(one, other)| one != other)
}

/// A consent stands in the parts of both jobs, on all their devices.
fn touch(plan: &Plan, consent: &Consent, touched: &mut Touched) {
    for job in [&consent.client, &consent.provider] {
        let groups = plan.jobs.get(job).into_iter().flat_map(|net| &net.groups);
        for group in groups {
            touched.0.insert((group.device, Part::Job(job.clone())));
        }
    }
}
