//! What both sides agreed to, found by either side and by both tenants.

use std::collections::{BTreeMap, BTreeSet};

use model::{Consent, JobName, TenantName};

/// What both sides agreed to, found by either side.
#[derive(Debug, Default)]
pub(crate) struct Consents {
    all: BTreeSet<Consent>,
    by_job: BTreeMap<JobName, BTreeSet<Consent>>,
    between: BTreeMap<(TenantName, TenantName), u32>,
}

impl Consents {
    /// Adds a consent, or takes it away.
    pub(crate) fn set(&mut self, consent: &Consent, stands: bool) {
        let changed =
            if stands { self.all.insert(consent.clone()) } else { self.all.remove(consent) };
        if !changed {
            return;
        }
        for job in [&consent.client, &consent.provider] {
            let own = self.by_job.entry(job.clone()).or_default();
            if stands {
                own.insert(consent.clone());
            } else {
                own.remove(consent);
            }
        }
        let pair = pair(&consent.client.tenant, &consent.provider.tenant);
        let count = self.between.entry(pair).or_default();
        *count = if stands { *count + 1 } else { *count - 1 };
    }

    /// Whether both sides agreed to this.
    pub(crate) fn contains(&self, consent: &Consent) -> bool {
        self.all.contains(consent)
    }

    /// The consents of a job, on either side.
    pub(crate) fn of(&self, job: &JobName) -> impl Iterator<Item = &Consent> {
        self.by_job.get(job).into_iter().flatten()
    }

    /// Whether any jobs of two tenants agreed to anything.
    pub(crate) fn between(&self, a: &TenantName, b: &TenantName) -> bool {
        self.between.get(&pair(a, b)).is_some_and(|count| *count > 0)
    }
}

fn pair(a: &TenantName, b: &TenantName) -> (TenantName, TenantName) {
    let (first, second) = if a <= b { (a, b) } else { (b, a) };
    (first.clone(), second.clone())
}
