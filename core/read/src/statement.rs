//! What all dialects have in common whose lines stand for themselves.

use crate::lines::{Line, lines};
use crate::values::Why;
use crate::{Claim, Fact, Hold, Reading, Unknown};

/// Reads a text of one statement a line: each says all that it says, or nothing.
pub(crate) fn read<Said>(text: &str, said: impl Fn(&Line<'_>) -> Result<Said, Why>) -> Reading
where
    Said: IntoIterator<Item = Hold>,
{
    let mut reading = Reading::with_room_for(text);
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        if line.text.starts_with('#') {
            reading.ignored.push(line.number);
            continue;
        }
        let claim = |hold| Claim { line: line.number, fact: Fact::Holds(hold) };
        match said(&line) {
            Ok(said) => reading.claims.extend(said.into_iter().map(claim)),
            Err(why) => {
                reading.unknown.push(Unknown { line: line.number, text: line.text.into(), why });
            }
        }
    }
    reading
}
