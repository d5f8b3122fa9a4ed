//! Dialect `nvlink`: which GPUs can be joined, and which partitions are active.

use crate::dialect::Description;
use crate::lines::{Line, words};
use crate::statement;
use crate::values::{Why, modules, name, number};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("NVIDIA's fabric manager", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    Ok(match line.words().as_slice() {
        ["partition", partition, "gpus", ..] => {
            Hold::Joinable { partition: number(partition)?, gpus: gpus(line, 3)? }
        }
        ["partition", partition, "node", node, "gpus", ..] => {
            Hold::Linked { partition: number(partition)?, node: name(node)?, gpus: gpus(line, 5)? }
        }
        ["active", partition] => Hold::Active { partition: number(partition)? },
        ["partition", ..] => return Err("a partition has a number, perhaps its node, and gpus"),
        _ => return Err("no line of this dialect is written so"),
    })
}

/// The GPUs after the first words. There may be more of them than a line's words.
fn gpus(line: &Line<'_>, after: usize) -> Result<u64, Why> {
    modules(words(line.text).skip(after))
}
