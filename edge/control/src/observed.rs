//! What all devices hold now, in the form in which it can be verified.

use model::{Artifact, Fleet, Part, PartText};
use observe::{Holds, Unreachable};

/// What all devices hold now, as far as they hold anything.
///
/// # Errors
/// If one does not answer.
pub fn observed(fleet: &Fleet, devices: &dyn Holds) -> Result<Vec<Artifact>, Unreachable> {
    let (artifacts, silent) = answered(fleet, devices);
    silent.into_iter().next().map_or(Ok(artifacts), Err)
}

/// The same of those that answer, and beside it who does not.
#[must_use]
pub fn answered(fleet: &Fleet, devices: &dyn Holds) -> (Vec<Artifact>, Vec<Unreachable>) {
    let (mut artifacts, mut silent) = (Vec::new(), Vec::new());
    for device in fleet.devices() {
        for dialect in fleet.read_dialects(device) {
            match devices.held(device, dialect) {
                Ok(None) => {}
                Ok(Some(held)) => artifacts.push(Artifact {
                    device,
                    dialect,
                    generation: held.generation,
                    parts: vec![PartText { part: Part::Whole, text: held.text }],
                }),
                Err(error) => {
                    silent.push(error);
                    break;
                }
            }
        }
    }
    (artifacts, silent)
}
