//! Reservations and jobs, as `scontrol` prints them on one line each.

use smol_str::SmolStr;

use super::hosts::hosts;
use super::{NOT_NODES, NOT_WRITTEN, Reader, indexes, job, text};
use crate::Hold;
use crate::lines::words;
use crate::values::Why;

/// In these states a job surely holds nothing. In any other it may hold what it was given: a user
/// can stop one, and it keeps its GPUs.
const ENDED: [&str; 11] = [
    "PENDING",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
];

impl Reader {
    pub(super) fn reservation(&mut self, number: u32, text: &str) -> Result<(), Why> {
        let (mut job, mut account, mut nodes) = (None, SmolStr::default(), Vec::new());
        let mut all = Vec::new();
        for word in words(text) {
            let (key, value) = word.split_once('=').ok_or(NOT_WRITTEN)?;
            all.push((key, value));
            match key {
                "ReservationName" => job = super::job(value),
                "Nodes" => nodes = hosts(value).ok_or(NOT_NODES)?,
                "Accounts" => account = value.into(),
                "Users" | "Groups" if value != "(null)" => {
                    return Err("a reservation is for its tenant's account and nobody else");
                }
                "Flags" => flags(value)?,
                "State" if value != "ACTIVE" => return Err("a reservation holds now"),
                "PartitionName" | "BurstBuffer" | "CoreCnt" | "Duration" | "EndTime"
                | "Features" | "Groups" | "Licenses" | "MaxStartDelay" | "NodeCnt"
                | "StartTime" | "State" | "TRES" | "Users" | "Watts" => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        text::once(&all)?;
        let job = job.ok_or("a reservation is called as its job, such as acme.research.train")?;
        if account.is_empty() || account.starts_with('-') || account.contains([',', '(']) {
            return Err("a reservation is for one account");
        }
        self.claim(number, Hold::Reserved { job, account, nodes });
        Ok(())
    }

    /// What a job in Slurm was given. Its name is what its user calls it; whose it is say its
    /// account and the reservation it runs in, which only its tenant's account may use.
    pub(super) fn job(&mut self, number: u32, text: &str) -> Result<(), Why> {
        let one = |key: &str| {
            let mut values = pairs(text).filter(|(found, _)| *found == key);
            match (values.next(), values.next()) {
                (Some((_, value)), None) => Ok(value),
                (None, _) => Err("a job says its JobId, JobState, Account and Reservation"),
                (Some(_), Some(_)) => Err("the key stands there twice; a user can write one"),
            }
        };
        one("JobId")?;
        let holds = pairs(text).any(|(key, value)| key == "GRES" && value.contains("(IDX:"));
        if ENDED.contains(&one("JobState")?) && !holds {
            self.reading.ignored.push(number);
            return Ok(());
        }
        let job =
            job(one("Reservation")?).ok_or("a job runs in the reservation of a planned one")?;
        let account = one("Account")?.to_ascii_lowercase();
        if account.replace('.', "/") != job.tenant.as_str() {
            return Err("a job's account is that of the tenant whose reservation it runs in");
        }
        let mut nodes = None;
        let mut given = Vec::new();
        for (key, value) in pairs(text) {
            match key {
                "Nodes" => nodes = Some(hosts(value).ok_or(NOT_NODES)?),
                "GRES" => {
                    let minors = indexes(value).ok_or("GPUs are given as gpu:h100:2(IDX:0-1)")?;
                    let nodes = nodes.take().ok_or("GPUs are given on nodes")?;
                    given.extend(nodes.into_iter().map(|node| (node, minors)));
                }
                _ => {}
            }
        }
        for (node, minors) in given {
            self.claim(number, Hold::Allocated { job: job.clone(), node, minors });
        }
        Ok(())
    }
}

/// Words with an equals sign. A word without one goes on with the value before, which is none of
/// our business: free text has spaces.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    words(text).filter_map(|word| word.split_once('='))
}

/// What a reservation may be besides a list of nodes. Others let jobs in that are not its own.
fn flags(value: &str) -> Result<(), Why> {
    const HARMLESS: [&str; 4] = ["IGNORE_JOBS", "OVERLAP", "SPEC_NODES", "(null)"];
    if !value.split(',').all(|flag| HARMLESS.contains(&flag)) {
        return Err("a reservation with this flag is not only its tenant's");
    }
    if !value.split(',').any(|flag| flag == "IGNORE_JOBS") {
        return Err("Slurm refuses the reservation while jobs run there, and keeps nobody out");
    }
    Ok(())
}
