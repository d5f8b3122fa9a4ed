//! Dialect `nxos`: a switch's running configuration, block by block.

mod block;
mod gateways;
mod ignored;
mod late;
mod ports;
mod sessions;
mod values;

use crate::dialect::{self, Compared, Description};
use crate::lines::{Line, lines};
use crate::{Claim, Fact, Lacking, Reading, Unknown};
use block::Block;
use late::Late;
use values::Why;

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "Cisco NX-OS 10.4(3)F and later, by `show running-config`",
    ignored: ignored::IGNORED,
    demanded: ignored::DEMANDED,
    uncompared: &[],
    compared: Compared::Blocks,
    otherwise: &[
        "Merging a text deletes nothing: what is not named stays.",
        "Contracts are printed without `bidir`, VLANs as a list, and blocks merged.",
    ],
    read,
};

/// Reads a text as a switch prints it: what belongs to a line stands below it and deeper.
fn read(text: &str) -> Reading {
    let reading = Reading::with_room_for(text);
    let mut reader = Reader { reading, ..Reader::default() };
    for line in lines(text) {
        reader.line(line);
    }
    reader.finish()
}

/// What is known so far of a text.
#[derive(Default)]
struct Reader<'a> {
    reading: Reading,
    /// The blocks that the next line may stand in, outermost first, each with its indent.
    open: Vec<(usize, Block<'a>)>,
    late: Late<'a>,
}

/// What a line may have below it; none if the block's grammar does not have the line. An error
/// says why a line of the grammar cannot be understood.
type Below<'a> = Result<Option<Block<'a>>, Why>;

impl<'a> Reader<'a> {
    fn line(&mut self, line: Line<'a>) {
        if line.text.is_empty() || line.text.starts_with('!') {
            self.reading.ignored.push(line.number);
            return;
        }
        let around = self.open.iter().take_while(|(at, _)| *at < line.indent);
        self.open.truncate(around.count());
        let block = self.open.last().map_or(Block::Top, |(_, block)| *block);
        if let Block::Closed(why) = block {
            self.unknown(line, why);
            return;
        }
        let below = match self.understand(block, line) {
            Ok(Some(below)) => below,
            Ok(None) if dialect::passes(&DESCRIPTION, block.place(), line.text) => {
                self.reading.ignored.push(line.number);
                Block::NOTHING_BELOW
            }
            Ok(None) => self.unknown(line, "no such line is known here"),
            Err(why) => self.unknown(line, why),
        };
        self.open.push((line.indent, below));
    }

    fn claim(&mut self, line: Line<'_>, fact: Fact) {
        self.reading.claims.push(Claim { line: line.number, fact });
    }

    /// Keeps a line that is not understood. What stands below it cannot be understood either.
    fn unknown(&mut self, line: Line<'_>, why: Why) -> Block<'a> {
        self.reading.unknown.push(Unknown { line: line.number, text: line.text.to_owned(), why });
        Block::BELOW_UNKNOWN
    }

    /// Keeps a line that must stand below another one and does not.
    fn lacks(&mut self, around: Line<'_>, text: &str, why: Why) {
        self.lacks_of(around, format!("{text} of {}", around.text), why);
    }

    /// Likewise, in words that are told apart from those of other blocks.
    fn lacks_of(&mut self, around: Line<'_>, text: String, why: Why) {
        self.reading.lacking.push(Lacking { line: around.number, text: text.into(), why });
    }

    /// Says what could be said only now that all lines are known, each at its own line.
    fn finish(mut self) -> Reading {
        let late = std::mem::take(&mut self.late);
        let (claims, unknown) = (self.reading.claims.len(), self.reading.unknown.len());
        late.say(&mut self);
        let mut reading = self.reading;
        if reading.claims.len() > claims {
            reading.claims.sort_by_key(|claim| claim.line);
        }
        if reading.unknown.len() > unknown {
            reading.unknown.sort_by_key(|unknown| unknown.line);
        }
        reading.lacking.sort_by_key(|lacking| lacking.line);
        reading
    }
}
