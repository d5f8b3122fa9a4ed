//! Dialect `versions`: what software a node runs, and whether it booted securely.

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::Why;
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("nobody: it is observed from the node", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["secure-boot", "yes"] => Ok(Hold::BootedSecurely(true)),
        ["secure-boot", "no"] => Ok(Hold::BootedSecurely(false)),
        ["secure-boot", ..] => Err("secure-boot is yes or no"),
        [component, ..] => {
            const WHY: Why = "only driver, kernel, firmware and toolkit have a version";
            let component = component.parse().map_err(|_| WHY)?;
            // Vendors write versions as they like, also with spaces.
            let (_, version) = line.text.split_once([' ', '\t']).ok_or("the version is missing")?;
            Ok(Hold::Runs { component, version: version.trim_ascii_start().into() })
        }
        [] => Err("no line of this dialect is written so"),
    }
}
