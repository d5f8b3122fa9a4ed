//! The log's lines before it had an envelope: number, rest of the batch, record, checksum.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Where the log ends: the number of the last line, and its checksum.
#[derive(Clone, Copy, Default)]
struct Chain {
    lines: u64,
    sum: u64,
}

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Of each record, how many of its batch come behind it.
    pub(crate) left: Vec<usize>,
    /// How many bytes the whole batches take.
    pub(crate) sound_bytes: usize,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Damage {
    /// It does not end as a line of the log ends.
    #[error("it has no checksum")]
    NoChecksum,
    /// It was changed, or the line before it was.
    #[error("its checksum is wrong")]
    WrongChecksum,
    /// Lines are missing or were moved.
    #[error("its number is {found}, but should be {expected}")]
    WrongNumber {
        /// The number it has.
        found: u64,
        /// The number it should have.
        expected: u64,
    },
    /// Its batch has another number of lines than was said.
    #[error("it is not where its batch has it")]
    WrongPlace,
    /// It is no record.
    #[error("it is no record")]
    NotARecord(#[source] serde_json::Error),
}

/// A line without its checksum.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    seq: u64,
    left: usize,
    #[serde(rename = "record")]
    _record: IgnoredAny,
}

const SUM_BEGINS: &str = ",\"sum\":\"";
const SUM_ENDS: &str = "\"}";
const SUM_DIGITS: usize = 16;

/// Reads whole batches. A bad last line, and a batch whose end is missing, are what a crash
/// leaves behind and are left out; any other bad line is damage, and its number is returned.
pub(crate) fn read(bytes: &[u8]) -> Result<Held, (usize, Damage)> {
    let mut sound = Held::default();
    let (mut chain, mut expected_left) = (Chain::default(), None);
    let (mut batch, mut end) = (Vec::new(), 0);
    for (position, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        end += line.len();
        let (left, after) = match read_line(line, chain, expected_left) {
            Ok(read) => read,
            Err(_) if end == bytes.len() => return Ok(sound),
            Err(damage) => return Err((position + 1, damage)),
        };
        chain = after;
        expected_left = left.checked_sub(1);
        batch.push(left);
        if expected_left.is_none() {
            sound.left.append(&mut batch);
            sound.sound_bytes = end;
        }
    }
    Ok(sound)
}

/// What a sound line says, letter by letter.
pub(crate) fn record_of(line: &[u8]) -> Option<&[u8]> {
    const BEGINS: &[u8] = b",\"record\":";
    let (open, _) = split_sum(line)?;
    // Only numbers stand before it.
    let at = open.windows(BEGINS.len()).position(|window| window == BEGINS)?;
    Some(&open[at + BEGINS.len()..])
}

/// Whether these bytes begin a log of this form.
pub(crate) fn is_it(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"seq\":")
}

/// How many lines of its batch come behind a line, and where the log ends with it.
fn read_line(
    line: &[u8],
    chain: Chain,
    expected_left: Option<usize>,
) -> Result<(usize, Chain), Damage> {
    let (open, sum) = split_sum(line).ok_or(Damage::NoChecksum)?;
    let after = chain.after(open);
    if after.sum != sum {
        return Err(Damage::WrongChecksum);
    }
    let closed = [open, b"}"].concat();
    let body: Body = serde_json::from_slice(&closed).map_err(Damage::NotARecord)?;
    if body.seq != after.lines {
        return Err(Damage::WrongNumber { found: body.seq, expected: after.lines });
    }
    if expected_left.is_some_and(|left| left != body.left) {
        return Err(Damage::WrongPlace);
    }
    Ok((body.left, after))
}

/// A whole line as the bytes before its checksum, and the checksum.
fn split_sum(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.strip_suffix(b"\n")?.strip_suffix(SUM_ENDS.as_bytes())?;
    let (rest, digits) = line.split_at_checked(line.len().checked_sub(SUM_DIGITS)?)?;
    let open = rest.strip_suffix(SUM_BEGINS.as_bytes())?;
    let digits = std::str::from_utf8(digits).ok()?;
    let sum = u64::from_str_radix(digits, 16).ok()?;
    // Capitals and a plus are the same number, and still another byte than was written.
    (format!("{sum:016x}") == digits).then_some((open, sum))
}

impl Chain {
    /// FNV-1a with 64 bits over the checksum before and this line: small, and enough to find
    /// what a crash or a bad disk did. It is no defence against somebody who wants to forge.
    fn after(self, line: &[u8]) -> Self {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let before = self.sum.to_be_bytes();
        let sum = before
            .iter()
            .chain(line)
            .fold(OFFSET, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME));
        Self { lines: self.lines + 1, sum }
    }
}
