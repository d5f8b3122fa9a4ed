use model::{Artifact, Fleet, Part, PartText};
use observe::{Holds, Unreachable};

/// What all devices hold now, as far as they hold anything.
///
/// # Errors
/// If one does not answer.
pub fn observed(fleet: &Fleet, devices: &dyn Holds) -> Result<Vec<Artifact>, Unreachable> {
    let mut artifacts = Vec::new();
    for device in fleet.devices() {
        for dialect in fleet.read_dialects(device) {
            let Some(held) = devices.held(device, dialect)? else {
                continue;
            };
            artifacts.push(Artifact {
                device,
                dialect,
                generation: held.generation,
                parts: vec![PartText { part: Part::Whole, text: held.text }],
            });
        }
    }
    Ok(artifacts)
}
