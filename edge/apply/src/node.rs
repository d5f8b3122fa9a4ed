//! What a node must be able to do so that an agent can work on it.

use std::error::Error;
use std::time::Duration;

use model::{Dialect, Generation};

use crate::Admitted;

/// What the packet program counted so far.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counted {
    /// Frames that passed.
    pub passed: u64,
    /// Frames that were refused: hook, reason, tag of the sender (0 if unknown), how many.
    pub drops: Vec<(String, String, u16, u64)>,
}

/// One device that can be told what to hold, and asked.
///
/// A node changes in two steps, so that a job starts everywhere or nowhere: `hold` leaves the ports
/// that are new down, `start` opens them.
pub trait ManagedNode: Send {
    /// What it holds, in the words of each dialect it speaks, as the device itself says it.
    fn held(&mut self) -> Result<Vec<(Dialect, String)>, NodeError>;
    /// What it was last sent, complete or not; none if nothing ever was.
    fn sent(&self) -> Option<&Admitted>;
    /// Makes it hold this: deny first, allow last. What it holds already is not touched; what was
    /// begun and not finished is finished. `step` is told the name of each step before it is done.
    /// Gives the dialects in which it held something else.
    fn hold(
        &mut self,
        sent: &Admitted,
        step: &mut dyn FnMut(&str),
    ) -> Result<Vec<Dialect>, NodeError>;
    /// Opens the ports that the plan of this generation brought.
    fn start(&mut self, generation: Generation) -> Result<(), NodeError>;
    /// Keeps its gate open for so long from now on.
    fn renew(&mut self, lease: Duration) -> Result<(), NodeError>;
    /// Closes its gate now: no packet of a tenant passes.
    fn close(&mut self) -> Result<(), NodeError>;
    /// What its packet program counted.
    fn counted(&mut self) -> Result<Counted, NodeError>;
}

/// Why a node does not hold what it should, or does not say what it holds.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {said}")]
pub struct NodeError {
    /// What was being done.
    pub step: String,
    /// What went wrong, and what can be done about it.
    pub said: String,
}

impl NodeError {
    /// That this failed at a step, with all its causes.
    #[must_use]
    pub fn at(step: &str, error: &dyn Error) -> Self {
        Self { step: step.into(), said: with_causes(error) }
    }
}

/// An error with all its causes, in one line. Some say their cause themselves.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.ends_with(&next) {
            said.push_str(": ");
            said.push_str(&next);
        }
        cause = error.source();
    }
    said
}

/// What went wrong, at this step.
pub(crate) fn at<E: Error>(step: &str) -> impl Fn(E) -> NodeError {
    move |error| NodeError::at(step, &error)
}
