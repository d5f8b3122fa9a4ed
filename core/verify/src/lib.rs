//! May any two meet that must not, and can all meet that must?
//!
//! Takes: the claims of all devices, and who owns what. Gives: findings, or [`Cleared`].
//! Never: trusts the plan; repairs anything.

mod agree;
mod cleared;
mod code;
mod consents;
mod cross;
mod device;
mod finding;
mod gang;
mod held;
mod index;
mod islands;
mod judge;
mod layers;
mod mark;
mod meeting;
mod missing;
mod promise;
mod switch;
mod targets;
mod tree;
mod verifier;
mod vouched;
mod ways;
mod weakness;
mod why;
mod world;

use std::sync::Arc;

use model::{Artifact, Fleet, Owners};

pub use cleared::{Cleared, digest_of, digest_of_parts};
pub use code::{Code, Severity};
pub use finding::{
    Breach, Diagnosis, Endpoint, Finding, MissingLine, Party, Said, ScopeAt, Severed, Talk, Way,
    Weak,
};
pub use layers::{
    Atom, Disagree, Lack, LayerBreach, LayerPlace, LayerSevered, LayerWeakness, Member, Named,
    Owner, Strength, View,
};
pub use meeting::{Meeting, MeetingKind};
pub use verifier::Verifier;
pub use weakness::Weakness;
pub use why::{LayerStep, Why};

/// Why artifacts were not cleared.
#[derive(Debug)]
pub struct Refused {
    /// What was judged.
    pub artifacts: Vec<Artifact>,
    /// What was found, in a stable order: breaches, then severed pairs, then weaknesses.
    pub findings: Vec<Finding>,
}

/// Judges the very bytes that would be sent, and lets them through or says why not.
pub fn clear(
    fleet: &Arc<Fleet>,
    owners: &Owners,
    artifacts: Vec<Artifact>,
) -> Result<Cleared, Refused> {
    Verifier::new(Arc::clone(fleet), owners).clear(artifacts)
}

/// Reads artifacts, whether planned or held by devices, and tells what is not as it must be.
#[must_use]
pub fn findings(fleet: &Arc<Fleet>, owners: &Owners, artifacts: &[Artifact]) -> Vec<Finding> {
    reading(fleet, owners, artifacts).judge()
}

/// A verifier that has read these artifacts.
#[must_use]
pub fn reading(fleet: &Arc<Fleet>, owners: &Owners, artifacts: &[Artifact]) -> Verifier {
    let mut verifier = Verifier::new(Arc::clone(fleet), owners);
    for artifact in artifacts {
        for part in &artifact.parts {
            let reading = read::part(artifact.dialect, &part.part, &part.text);
            verifier.take(artifact.device, artifact.dialect, &part.part, Some(reading));
        }
    }
    verifier
}
