//! Whether evidence of a scrub counts, by what the log says and when it says so.

use std::collections::BTreeMap;

use model::{Evidence, Generation, JobName, Memory, Name, Timestamp, Untimely};
use next::State;
use plan::{Choice, Contradiction};
use store::{Revision, Store};

use crate::journal::{Journal, JournalError};

/// Why evidence is not written down.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoEvidence {
    /// Nothing waits for it, or it comes too early.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// It vouches for nothing.
    #[error("what says that the {memory} of {node} was scrubbed is no evidence: {flaw}")]
    Flaw {
        /// The node.
        node: Name,
        /// The memory.
        memory: Memory,
        /// Why.
        flaw: &'static str,
    },
    /// It is of another time.
    #[error("the evidence that the {memory} of {node} was scrubbed after {job} {why}")]
    Untimely {
        /// The node.
        node: Name,
        /// Whose traces were there.
        job: JobName,
        /// The memory.
        memory: Memory,
        /// Which time, and which it must be of.
        why: Untimely,
    },
}

impl<S: Store> Journal<S> {
    /// Whether this evidence, said at this moment, is of what waits for it.
    pub(crate) fn may_count(
        &self,
        node: &Name,
        job: &JobName,
        evidence: &[Evidence],
        now: Timestamp,
    ) -> Result<Result<(), NoEvidence>, JournalError> {
        let choice =
            Choice::Scrubbed { node: node.clone(), job: job.clone(), evidence: evidence.to_vec() };
        if let Err(contradiction) = self.state().ledger().clone().apply(&choice) {
            return Ok(Err(contradiction.into()));
        }
        // Who does not know since when nobody holds it takes nothing that is of before now.
        let released = self.released(node, job)?.unwrap_or(now);
        for one in evidence {
            let (node, memory) = (node.clone(), one.memory);
            if let Some(flaw) = one.flaw() {
                return Ok(Err(NoEvidence::Flaw { node, memory, flaw }));
            }
            if let Some(why) = one.untimely(released, now) {
                return Ok(Err(NoEvidence::Untimely { node, job: job.clone(), memory, why }));
            }
        }
        Ok(Ok(()))
    }

    /// When the log said that nobody holds any more what a job left on a node and what waits to be
    /// scrubbed there: the latest such moment, if there are several.
    fn released(&self, node: &Name, job: &JobName) -> Result<Option<Timestamp>, JournalError> {
        let mut state = State::default();
        let mut since: BTreeMap<Generation, Timestamp> = BTreeMap::new();
        for (entry, record) in self.records(Revision::default())? {
            if entry.revision > self.at() {
                break;
            }
            let contradiction = |source| JournalError::Inconsistent(entry.revision, source);
            state.fold(&record).map_err(contradiction)?;
            let released = state.ledger().released(node, job);
            since.retain(|generation, _| released.contains(generation));
            for generation in released {
                since.entry(generation).or_insert(entry.envelope.at);
            }
        }
        Ok(since.into_values().max())
    }
}
