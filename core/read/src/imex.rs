//! Dialect `imex`: which job has which NVLink memory channel.

use crate::lines::Line;
use crate::statement::{self, COMMENT};
use crate::values::{Why, channel, job};
use crate::{Hold, Reading};

/// Lines that are none of our business, by how they begin: comments.
pub(crate) const IGNORED: &[&str] = &[COMMENT];

pub(crate) fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["channel", number, of] => Ok(Hold::Channel { job: job(of)?, channel: channel(number)? }),
        ["channel", ..] => Err("a memory channel is one job's"),
        _ => Err("no line of this dialect is written so"),
    }
}
