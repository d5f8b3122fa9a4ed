//! What Slurm, Kubernetes and virtual machines have in common.

use model::{Grade, JobName, TenantName};
use plan::{JobNet, Plan};

use crate::say::Say;

/// A path with another letter between its names: `acme.research` for Slurm, where a slash would
/// part files from folders.
pub(crate) struct Path<'a>(pub(crate) &'a TenantName, pub(crate) &'static str);

impl Say for Path<'_> {
    fn say(&self, out: &mut String) {
        for (place, name) in self.0.as_str().split('/').enumerate() {
            if place > 0 {
                out.push_str(self.1);
            }
            out.push_str(name);
        }
    }
}

/// The jobs of a tenant, in order. Jobs are sorted by their tenant first.
pub(crate) fn jobs_of<'a>(
    plan: &'a Plan,
    tenant: &'a TenantName,
) -> impl Iterator<Item = (&'a JobName, &'a JobNet)> {
    let least = "0".parse(); // No name comes before it: a name begins with a digit or a letter.
    let first = least.map(|name| JobName { tenant: tenant.clone(), name });
    let jobs = first.into_iter().flat_map(|first| plan.jobs.range(first..));
    jobs.take_while(move |(name, _)| name.tenant == *tenant)
}

/// Whether a tenant of this grade never shares a host.
pub(crate) fn has_hosts_of_its_own(grade: Grade) -> bool {
    matches!(grade, Grade::Domain | Grade::Node)
}
