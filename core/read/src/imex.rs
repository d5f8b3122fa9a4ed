//! Dialect `imex`: which job has which NVLink memory channel.

use crate::dialect::Description;
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, channel, job};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("the node's agent, for the NVLink memory service", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["channel", number, of] => Ok(Hold::Channel { job: job(of)?, channel: channel(number)? }),
        ["channel", ..] => Err("a memory channel is one job's"),
        _ => Err("no line of this dialect is written so"),
    }
}
