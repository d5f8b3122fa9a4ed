//! What was asked for?
//!
//! Takes: documents. Gives: an [`Intent`] in which every name leads somewhere, or all refusals.
//! Never: decides.

mod document;
mod fleet;
mod form;
pub mod generate;
mod guardrail;
mod job;
mod near;
mod permit;
mod problem;
mod refusal;
mod tenant;
mod terms;
mod tree;
mod waiver;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Consent, Fleet, Job, JobName, Permit, Tenant, TenantName, Waiver};

pub use problem::Problem;
pub use refusal::{Refusal, SourcePlace};
pub use written::{Key, Written, load_written, written};

use document::Papers;
use refusal::Refusals;

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
    /// Lines that somebody vouches for.
    pub waivers: Vec<Waiver>,
}

/// The text of one file and what to call it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name that refusals give.
    pub file: &'a str,
    /// YAML or JSON, any number of documents.
    pub text: &'a str,
}

/// Reads all documents together: they may refer to each other across files, in any order.
/// The refusals are all that one run can find, in the order of files and places.
pub fn load(sources: &[Source<'_>]) -> Result<Intent, Vec<Refusal>> {
    let mut out = Refusals::new(sources.iter().map(|source| source.file.to_owned()));
    let chunks = (0..).zip(sources).flat_map(|(file, source)| {
        tree::chunks(source.text).into_iter().map(move |chunk| (file, chunk))
    });
    let papers = Papers::read(chunks, &mut out);
    understand(&papers, out)
}

fn understand(papers: &Papers, mut out: Refusals) -> Result<Intent, Vec<Refusal>> {
    let (fleet, fabric) = fleet::read(papers, &mut out).unzip();
    let fabric = fabric.unwrap_or_default();
    let guardrails = guardrail::read(papers, &mut out);
    let tenants = tenant::read(papers, (fleet.as_ref(), &fabric), &guardrails, &mut out);
    let jobs = job::read(papers, fleet.as_ref(), &tenants, &mut out);
    let (consents, pending) = permit::read(papers, &guardrails, &jobs, &mut out);
    let waivers = waiver::read(papers, fleet.as_ref(), &mut out);
    match fleet {
        Some(fleet) if out.is_empty() => Ok(Intent {
            fleet: Arc::new(fleet),
            tenants: tenants.accepted(),
            jobs: jobs.accepted(),
            consents,
            pending,
            waivers,
        }),
        _ => Err(out.sorted()),
    }
}
