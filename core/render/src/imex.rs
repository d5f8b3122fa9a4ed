//! Dialect `imex`: the NVLink memory channel of a job.

use model::JobName;
use plan::JobNet;

use crate::say::say;

/// The job's memory channel, the same on all its nodes.
pub(crate) fn job(name: &JobName, job: &JobNet, out: &mut String) {
    if let Some(channel) = job.keys.channel {
        say!(out, "channel ", channel, " ", name, "\n");
    }
}
