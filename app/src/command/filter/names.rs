//! What the kernel's numbers are called: a node keeps what it was sent, which has the names of the
//! tenants and jobs on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use apply::Admitted;
use clap::Args;
use model::numbering::tenant_of_vrf;
use model::{Dialect, JobName, Part, TenantName, VrfName};
use read::Fact;

use crate::words::{NOTE, aside};

/// Where names come from.
#[derive(Args)]
pub(super) struct Share {
    /// Where the node's agent keeps what it was sent, for the names of tenants and jobs
    #[arg(
        long = "state",
        value_name = "DIR",
        default_value = "/var/lib/bulkhead/node",
        display_order = 801
    )]
    folder: PathBuf,
}

/// The tenants and jobs of this node by their numbers.
#[derive(Default)]
pub(super) struct Known {
    tenants: BTreeMap<u16, TenantName>,
    jobs: BTreeMap<u16, JobName>,
}

impl Share {
    /// All names that the node knows: none, if it never was sent anything.
    pub(super) fn names(&self) -> Known {
        match apply::kept(&self.folder) {
            Ok(kept) => kept.map(|kept| Known::of(&kept)).unwrap_or_default(),
            Err(error) => {
                let why = apply::with_causes(&error);
                aside(format_args!("{NOTE}Numbers instead of names{NOTE:#}: {why}"));
                Known::default()
            }
        }
    }
}

impl Known {
    fn of(kept: &Admitted) -> Self {
        let mut known = Self::default();
        for (part, text) in kept.parts(Dialect::Table) {
            for claim in read::claims(Dialect::Table, text).claims {
                known.learn(part, &claim.fact);
            }
        }
        known
    }

    fn learn(&mut self, part: &Part, fact: &Fact) {
        match (part, fact) {
            (Part::Tenant(tenant), Fact::TableSpace { space, .. }) => {
                let number = tenant_of_vrf(&space.0);
                self.tenants.extend(number.map(|number| (number, tenant.clone())));
            }
            (Part::Job(job), Fact::TableJob { tag, .. }) => {
                self.jobs.insert(tag.get(), job.clone());
            }
            _ => {}
        }
    }

    /// `red`, or the name of its VRF, `t17`.
    pub(super) fn tenant(&self, number: u32) -> String {
        let number = u16::try_from(number).unwrap_or_default();
        let known = self.tenants.get(&number).map(ToString::to_string);
        known.unwrap_or_else(|| VrfName::of_tenant(number).0.to_string())
    }

    /// The job with this tag, if it is of this node.
    pub(super) fn job(&self, tag: u16) -> Option<&JobName> {
        self.jobs.get(&tag)
    }

    /// `red/train`, or its tag.
    pub(super) fn job_or_tag(&self, tag: u16) -> String {
        match self.job(tag) {
            Some(job) => job.to_string(),
            None if tag == 0 => "-".into(),
            None => tag.to_string(),
        }
    }

    /// The tag of a job of this node.
    pub(super) fn tag(&self, name: &JobName) -> Option<u16> {
        self.jobs.iter().find(|(_, job)| *job == name).map(|(tag, _)| *tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_share_has_the_names_of_its_numbers_and_of_no_others() {
        let mut known = Known::default();
        let parts = [
            (Part::Tenant("red".parse().unwrap()), "space t17 vni 50017\n"),
            (
                Part::Job("red/train".parse().unwrap()),
                "space t17 vni 101001\njob t17 1001 class bulk\n\
                 peers t17 10.1.0.4-10.1.0.4 vtep 10.255.0.4 tag 1002\n",
            ),
        ];
        for (part, text) in parts {
            let reading = read::claims(Dialect::Table, text);
            assert_eq!(reading.unknown, []);
            reading.claims.iter().for_each(|claim| known.learn(&part, &claim.fact));
        }
        assert_eq!([17, 18].map(|number| known.tenant(number)), ["red", "t18"]);
        assert_eq!([1001, 1002, 0].map(|tag| known.job_or_tag(tag)), ["red/train", "1002", "-"]);
        assert_eq!(known.tag(&"red/train".parse().unwrap()), Some(1001));
    }
}
