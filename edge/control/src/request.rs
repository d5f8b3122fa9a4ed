//! What somebody asks for.

use std::collections::BTreeSet;

use intent::{Key, Source, Written, written};

use crate::kept::PlanOutcome;

/// What somebody asks for: these documents beside those that stand, and without some of them.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Documents that are new, or come in place of those with the same key.
    pub put: Vec<Written>,
    /// Documents that are taken away.
    pub delete: Vec<Key>,
    /// Whether everything that is not put is taken away, too.
    pub prune: bool,
    /// What it came to when somebody looked at it. If it comes to something else, it is not taken.
    pub expected: Option<PlanOutcome>,
}

impl Request {
    /// These documents beside those that stand.
    #[must_use]
    pub fn put(sources: &[Source<'_>]) -> Self {
        Self { put: written(sources), ..Self::default() }
    }

    /// These documents and no others.
    #[must_use]
    pub fn only(sources: &[Source<'_>]) -> Self {
        Self { prune: true, ..Self::put(sources) }
    }

    /// Without these documents.
    #[must_use]
    pub fn delete(keys: Vec<Key>) -> Self {
        Self { delete: keys, ..Self::default() }
    }

    /// The keys that are put.
    pub(crate) fn keys(&self) -> BTreeSet<&Key> {
        self.put.iter().filter_map(|document| document.key.as_ref()).collect()
    }
}
