//! Who is where: what the log says, and what the documents ask for on top of it.

use intent::Intent;
use model::{Job, JobName, Want};
use plan::place::{Ask, Ground, Spot};
use plan::{Ledger, PlanRefusal, Planner};

/// The fleet with every job placed that finds its place. Those that find none wait, and do not
/// keep others from being looked at.
pub struct Placed {
    /// What is asked for.
    pub intent: Intent,
    /// Jobs of the documents that find no place, and why.
    pub waiting: Vec<(JobName, PlanRefusal)>,
    planner: Planner,
}

impl Placed {
    /// Keeps what the ledger holds, then places what is new, as a plan would.
    ///
    /// # Errors
    /// If what the ledger holds cannot stay.
    pub fn new(intent: Intent, ledger: &Ledger) -> Result<Self, Vec<PlanRefusal>> {
        let mut held = intent.clone();
        held.jobs.retain(|name, _| ledger.jobs().contains_key(name));
        let mut planner = Planner::new(&held, ledger)?;
        let mut new: Vec<&Job> =
            intent.jobs.values().filter(|job| !held.jobs.contains_key(&job.name)).collect();
        // In the order of a plan, so that the answer is the plan's.
        new.sort_by_key(|job| !matches!(job.want, Want::Endpoints(_)));
        let mut waiting = Vec::new();
        for job in new {
            if let Err(refusal) = planner.admit(job) {
                waiting.push((job.name.clone(), refusal));
            }
        }
        Ok(Self { intent, waiting, planner })
    }

    /// The ground with all of them on it.
    #[must_use]
    pub fn ground(&self) -> &Ground {
        self.planner.ground()
    }

    /// Where a job is that found its place, with the numbers of its lease.
    #[must_use]
    pub fn spot(&self, job: &JobName) -> Option<Spot> {
        let gang = self.ground().live(job)?;
        let lease = self.planner.ledger().jobs().get(job);
        let keys = lease.map_or(gang.spot.keys, |lease| lease.keys);
        Some(Spot { keys, ..gang.spot.clone() })
    }

    /// What the placed jobs asked for, by name. Those that named their endpoints asked for
    /// nothing else.
    pub fn asks(&self) -> impl Iterator<Item = (JobName, Ask)> {
        let jobs = self.intent.jobs.values();
        jobs.filter_map(|job| Some((job.name.clone(), self.ground().ask(job).ok()?)))
    }
}
