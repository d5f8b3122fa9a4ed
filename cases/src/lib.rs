//! Worlds to test whole rooms on: small random ones, and the stories beside this package.
//!
//! Takes: a seed. Gives: documents and everything down the line. Never: runs in production.

mod chance;
mod cut;
mod harmless;
mod hole;
pub mod mutant;
mod patch;
mod random;
pub mod servers;
mod story;
pub mod truth;

pub use chance::Chance;
pub use cut::{Cut, at_random};
pub use harmless::{HARMLESS, Harmless};
pub use hole::{HOLES, Hole, Wound};
pub use patch::Patch;
pub use random::documents;
pub use story::{Story, Telling};

use model::{Artifact, Owners};
use plan::{Ledger, Plan};

/// Two leaves of Linux with four ports each.
const TWO_LEAVES: &str = "apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: small}
spec:
  models:
    nodes:
      box: {gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}, gpus: 2, nics: {count: 2, rate: 400Gbps}}
  sites:
  - name: s
    jurisdiction: NL
    kind: core
    pods:
    - name: p
      dialect: frr
      leaves: [{name: leaf-0}, {name: leaf-1}]
      spines: [{name: spine-0}]
      nodes:
      - {name: n0, model: box, leaf: leaf-0}
      - {name: n1, model: box, leaf: leaf-1}
      - {name: n2, model: box, leaf: leaf-0}
      - {name: n3, model: box, leaf: leaf-1}
";

/// Documents and what they came to.
#[derive(Clone, Debug)]
pub struct World {
    /// What people wrote.
    pub documents: String,
    /// What shall be.
    pub plan: Plan,
    /// Who owns what.
    pub owners: Owners,
    /// What devices are sent.
    pub artifacts: Vec<Artifact>,
}

/// A small random world.
///
/// # Panics
/// When the generator writes documents that are refused: a bug of this package.
#[must_use]
pub fn world(seed: u64) -> World {
    accepted(seed, &documents(&mut Chance::new(seed)))
}

/// The tenants, jobs and permits of a small random world on two leaves of Linux with four ports
/// each.
///
/// # Panics
/// When the generator writes documents that are refused: a bug of this package.
#[must_use]
pub fn two_leaves(seed: u64) -> World {
    let documents = documents(&mut Chance::new(seed));
    let work = documents.split_once("---").map_or("", |(_, work)| work);
    accepted(seed, &format!("{TWO_LEAVES}---{work}"))
}

fn accepted(seed: u64, documents: &str) -> World {
    match from_documents(documents) {
        Ok(world) => world,
        Err(refusals) => panic!("seed {seed} makes refused documents:\n{refusals}\n{documents}"),
    }
}

/// The world of some documents, or all refusals as text.
pub fn from_documents(documents: &str) -> Result<World, String> {
    let source = intent::Source { file: "documents.yaml", text: documents };
    let intent = intent::load(&[source]).map_err(|refusals| lines(&refusals))?;
    let next = plan::next(&intent, &Ledger::default()).map_err(|refusals| lines(&refusals))?;
    let artifacts = render::all(&next.plan);
    let owners = next.plan.owners();
    Ok(World { documents: documents.into(), plan: next.plan, owners, artifacts })
}

fn lines(refusals: &[impl std::fmt::Display]) -> String {
    refusals.iter().map(|refusal| format!("{refusal}\n")).collect()
}
