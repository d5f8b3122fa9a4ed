//! What was asked for?
//!
//! Takes: documents. Gives: an [`Intent`] in which every name leads somewhere, or all refusals.
//! Never: decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Consent, Fleet, Job, JobName, Permit, Tenant, TenantName};

/// What people wrote, checked and with everything inherited filled in.
#[derive(Clone, Debug)]
pub struct Intent {
    /// What exists.
    pub fleet: Arc<Fleet>,
    /// Tenants with what they inherit filled in.
    pub tenants: BTreeMap<TenantName, Tenant>,
    /// Jobs.
    pub jobs: BTreeMap<JobName, Job>,
    /// Permits that both sides wrote.
    pub consents: Vec<Consent>,
    /// Permits that wait for the other side; they open nothing.
    pub pending: Vec<Permit>,
}
