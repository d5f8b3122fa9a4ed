//! Which gang a command is about: a job of the documents, or one described by options.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use intent::Intent;
use model::{
    Capacity, Job, JobName, Name, Preempts, SiteKind, TenantName, Terms, TrafficClass, Want, Within,
};

use crate::ending::Stop;

/// Which gang: one of the documents, or one that is described here.
#[derive(Args)]
pub(in crate::command) struct Wanted {
    /// A job of the documents
    #[arg(
        long,
        value_name = "TENANT/JOB",
        conflicts_with_all = [
            "tenant", "gpus", "slices", "within", "product", "segment", "site", "pod", "capacity",
            "preempts",
        ],
    )]
    job: Option<JobName>,
    /// Whose gang it is
    #[arg(long, value_name = "TENANT", required_unless_present = "job")]
    tenant: Option<TenantName>,
    /// How many GPUs
    #[arg(
        long,
        value_name = "COUNT",
        required_unless_present_any = ["job", "slices"],
        conflicts_with = "slices",
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    gpus: Option<u32>,
    /// How many slices of which profile, such as 4x1g.10gb
    #[arg(long, value_name = "COUNTxPROFILE")]
    slices: Option<Slices>,
    /// What it must fit into as a whole: node, nvlink-domain, leaf or pod
    #[arg(long, value_name = "LEVEL")]
    within: Option<Within>,
    /// Its GPUs, such as H100-80GB
    #[arg(long, value_name = "PRODUCT")]
    product: Option<String>,
    /// How many nodes of each NVLink domain it uses
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u16).range(1..))]
    segment: Option<u16>,
    /// The kind of site: core or edge
    #[arg(long, value_name = "KIND")]
    site: Option<SiteKind>,
    /// The pod
    #[arg(long, value_name = "POD")]
    pod: Option<Name>,
    /// Which part of the quota it uses: reserved, on-demand or preemptible
    #[arg(long, value_name = "CLASS")]
    capacity: Option<Capacity>,
    /// Whose preemptible jobs may be stopped for it: nobody, own or others
    #[arg(long, value_name = "WHOSE")]
    preempts: Option<Preempts>,
}

/// What a gang is called that no document names.
const UNNAMED: &str = "new-gang";

impl Wanted {
    /// The job that is asked for.
    pub(in crate::command) fn job(&self, intent: &Intent) -> Result<Job, Stop> {
        match (&self.job, &self.tenant) {
            (Some(name), _) => named(intent, name),
            (None, Some(tenant)) => self.described(intent, tenant),
            (None, None) => unreachable!("the command line demands a job or a tenant"),
        }
    }

    fn described(&self, intent: &Intent, tenant: &TenantName) -> Result<Job, Stop> {
        if !intent.tenants.contains_key(tenant) {
            return Err(Stop::argument(
                "tenant-unknown",
                format!("no document describes tenant {tenant}"),
                "`bulkhead capacity FILES` lists them",
            ));
        }
        let want = match (&self.slices, self.gpus) {
            (Some(Slices { count, profile }), _) => {
                Want::Slices { profile: profile.into(), count: *count }
            }
            (None, gpus) => Want::Gpus(gpus.unwrap_or_default()),
        };
        let name = UNNAMED.parse()?;
        Ok(Job {
            name: JobName { tenant: tenant.clone(), name },
            want,
            class: TrafficClass::default(),
            ceiling: None,
            pod: self.pod.clone(),
            terms: Terms {
                product: self.product.as_ref().map(Into::into),
                within: self.within.unwrap_or_default(),
                segment: self.segment,
                site: self.site,
                capacity: self.capacity.unwrap_or_default(),
                preempts: self.preempts.unwrap_or_default(),
            },
        })
    }
}

fn named(intent: &Intent, name: &JobName) -> Result<Job, Stop> {
    intent.jobs.get(name).cloned().ok_or_else(|| {
        Stop::argument(
            "job-unknown",
            format!("no document asks for job {name}"),
            "name a job of the documents, or describe a gang with `--tenant` and `--gpus`",
        )
    })
}

/// So many slices of one profile, written `4x1g.10gb`.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Slices {
    count: u32,
    profile: String,
}

/// The text is no number of slices.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("slices are a count and a profile, such as 4x1g.10gb")]
struct NotSlices;

impl FromStr for Slices {
    type Err = NotSlices;

    fn from_str(text: &str) -> Result<Self, NotSlices> {
        let (count, profile) = text.split_once('x').ok_or(NotSlices)?;
        let count = count.parse().ok().filter(|&count| count > 0).ok_or(NotSlices)?;
        match profile.is_empty() {
            true => Err(NotSlices),
            false => Ok(Self { count, profile: profile.into() }),
        }
    }
}

impl fmt::Display for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.count, self.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_written_as_they_are_read() {
        for text in ["4x1g.10gb", "1x7g.80gb", "2x1g.10gb+me"] {
            assert_eq!(text.parse::<Slices>().map(|slices| slices.to_string()), Ok(text.into()));
        }
        for text in ["", "4", "x1g.10gb", "0x1g.10gb", "4x", "1g.10gb"] {
            assert_eq!(text.parse::<Slices>(), Err(NotSlices), "{text}");
        }
    }
}
