//! A plan that is kept until somebody applies it, or the log moved on.

use intent::{Key, Source, Written, written};
use model::{Digest, Epoch, Generation};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use store::Store;

use crate::draft::{Draft, Proof};
use crate::journal::{Journal, JournalError};
use crate::request::Request;

/// What a request comes to. Of the same request on the same log it is the same.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanOutcome {
    /// The installation whose log it is; none before its first record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    installation: Option<SmolStr>,
    epoch: Epoch,
    /// The last generation that was planned before.
    after: Generation,
    /// What all texts of all devices come down to.
    root: Digest,
    /// Documents that differ from those that stand.
    put: Vec<Option<Key>>,
    /// Documents that are taken away.
    delete: Vec<Key>,
}

/// A request with what it came to, as a file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeptPlan {
    kind: Kind,
    outcome: PlanOutcome,
    documents: Vec<Document>,
}

/// What the file calls itself, so that it is not taken for documents.
#[derive(Serialize, Deserialize)]
enum Kind {
    KeptPlan,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    file: SmolStr,
    #[serde(default)]
    lines_before: u32,
    text: String,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "kind")]
    _kind: Kind,
}

impl KeptPlan {
    /// What this draft asks for, and what it was found to come to.
    #[must_use]
    pub fn new(draft: &Draft, outcome: PlanOutcome) -> Self {
        let document = |written: &Written| Document {
            file: written.file.clone(),
            lines_before: written.lines_before,
            text: written.text.clone(),
        };
        let documents = draft.put.iter().map(document).collect();
        Self { kind: Kind::KeptPlan, outcome, documents }
    }

    /// The kept plan that a file holds; none if it holds something else.
    ///
    /// # Errors
    /// If it calls itself one and is none.
    pub fn read(text: &str) -> Option<Result<Self, serde_json::Error>> {
        // Documents may be many, and are not read twice.
        if !text.contains("KeptPlan") {
            return None;
        }
        let _: Head = serde_json::from_str(text).ok()?;
        Some(serde_json::from_str(text))
    }

    /// What it asks for, which is taken only if it comes to the same as when it was kept.
    #[must_use]
    pub fn request(self) -> Request {
        let put = self.documents.iter().flat_map(|document| {
            let source = Source { file: &document.file, text: &document.text };
            written(&[source]).into_iter().map(|written| Written {
                lines_before: written.lines_before.saturating_add(document.lines_before),
                ..written
            })
        });
        let (put, delete) = (put.collect(), self.outcome.delete.clone());
        Request { put, delete, prune: false, expected: Some(self.outcome) }
    }
}

impl<S: Store> Journal<S> {
    /// What a draft of this log comes to.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn outcome(&self, draft: &Draft, proof: &Proof) -> Result<PlanOutcome, JournalError> {
        let began = self.store().began()?;
        Ok(PlanOutcome {
            installation: began.map(|began| began.installation),
            epoch: draft.state.epoch(),
            after: draft.ledger().generation(),
            root: proof.cleared.root(),
            put: draft.put.iter().map(|written| written.key.clone()).collect(),
            delete: draft.delete.clone(),
        })
    }
}
