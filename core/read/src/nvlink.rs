//! Dialect `nvlink`: which GPUs can be joined, and which partitions are active.

use crate::lines::{Line, words};
use crate::statement::{self, COMMENT};
use crate::values::{Why, modules, name, number};
use crate::{Hold, Reading};

/// Lines that are none of our business, by how they begin: comments.
pub(crate) const IGNORED: &[&str] = &[COMMENT];

pub(crate) fn read(text: &str) -> Reading {
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
