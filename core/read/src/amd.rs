//! Dialect `amd`: how compute units and memory of each AMD GPU are divided.

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, module};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("the node's agent, for the AMD driver", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

/// Into how many a GPU's compute units can be divided, as the driver calls it.
const COMPUTE: [&str; 5] = ["SPX", "DPX", "TPX", "QPX", "CPX"];

/// Into how many its memory can be.
const MEMORY: [&str; 4] = ["NPS1", "NPS2", "NPS4", "NPS8"];

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    let words = line.words();
    let &["gpu", gpu, "compute", compute, "memory", memory] = words.as_slice() else {
        return Err("no line of this dialect is written so");
    };
    let gpu = module(gpu)?;
    if !COMPUTE.contains(&compute) {
        return Err("compute units are divided as SPX, DPX, TPX, QPX or CPX");
    }
    if !MEMORY.contains(&memory) {
        return Err("memory is divided as NPS1, NPS2, NPS4 or NPS8");
    }
    Ok(Hold::Divided { gpu, compute: compute.into(), memory: memory.into() })
}
