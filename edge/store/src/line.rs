//! Lines of the log: how a batch is written, and what bytes say.

use model::{Digest, Epoch, Timestamp};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{
    AppendError, Beginning, Damage, Envelope, LONGEST_LINE_BYTES, LogEntry, Revision, Unfit,
};

/// The end of a whole batch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Position {
    pub(crate) revision: Revision,
    /// How many bytes stand before it.
    pub(crate) offset: u64,
    /// The sum of the last line.
    pub(crate) sum: Digest,
    /// Up to here a loss of power takes nothing; perhaps further, but nobody said so.
    pub(crate) synced: Revision,
    /// What the log says of itself.
    pub(crate) beginning: Option<Beginning>,
}

/// A record, and what its line says beside it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) entry: LogEntry,
    /// How many of its batch come behind it.
    pub(crate) left: u64,
    pub(crate) sum: Digest,
}

/// Bytes that end in damage.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The end of the last whole batch before it.
    pub(crate) sound: Position,
    /// The line, counted from 1.
    pub(crate) line: u64,
    pub(crate) damage: Damage,
}

/// What stands before a body.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    revision: Revision,
    left: u64,
    /// Up to which record everything was durable when this line was written. Without it that is
    /// the record right before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    synced: Option<Revision>,
    at: Timestamp,
    actor: SmolStr,
    source: SmolStr,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<SmolStr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Revision>,
}

/// The only record that the log understands: its own.
#[derive(Debug, Serialize, Deserialize)]
struct Began {
    began: Said,
}

#[derive(Debug, Serialize, Deserialize)]
struct Said {
    format: u32,
    installation: SmolStr,
    epoch: Epoch,
    /// The last record of the epoch before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Revision>,
}

const BEGAN: &[u8] = b"{\"began\":";
/// A quotation mark inside a text has a backslash before it, so this stands in a line once
/// before the body, and nowhere else before it.
const BODY_BEGINS: &[u8] = b",\"body\":";
const SUM_BEGINS: &str = ",\"sum\":\"";
const SUM_ENDS: &str = "\"}\n";
const SUM_DIGITS: usize = 2 * Digest::BYTES;

impl Position {
    /// Before the first record.
    pub(crate) fn start() -> Self {
        let zero = Revision(0);
        Self { revision: zero, offset: 0, sum: Digest::of(b""), synced: zero, beginning: None }
    }

    /// How the bytes before this position end, if they are the ones that were read.
    pub(crate) fn seal(&self) -> Vec<u8> {
        format!("{}{SUM_ENDS}", self.sum).into_bytes()
    }
}

/// The body of the record that begins a log or an epoch.
pub(crate) fn began(beginning: &Beginning, after: Option<Revision>) -> Vec<u8> {
    let Beginning { format, installation, epoch } = beginning;
    let after = after.map_or_else(String::new, |after| format!(",\"after\":{after}"));
    format!(
        "{{\"began\":{{\"format\":{format},\"installation\":\"{installation}\",\
         \"epoch\":{epoch}{after}}}}}"
    )
    .into_bytes()
}

/// Whether these bodies can be records.
pub(crate) fn fit(bodies: &[Vec<u8>]) -> Result<(), AppendError> {
    for (position, body) in bodies.iter().enumerate() {
        fit_one(body).map_err(|source| AppendError::Unfit { position: position + 1, source })?;
    }
    Ok(())
}

fn fit_one(body: &[u8]) -> Result<(), Unfit> {
    if body.contains(&b'\n') {
        return Err(Unfit::LineBreak);
    }
    if body.starts_with(BEGAN) {
        return Err(Unfit::Reserved);
    }
    let text = std::str::from_utf8(body).map_err(Unfit::NotText)?;
    serde_json::from_str::<IgnoredAny>(text).map_err(Unfit::NotJson)?;
    Ok(())
}

/// The lines of one batch, and where the log ends after them. The batch is not durable yet.
pub(crate) fn write<B: AsRef<[u8]>>(
    envelope: &Envelope,
    bodies: &[B],
    from: &Position,
) -> Result<(Vec<u8>, Position), AppendError> {
    let (mut text, mut end) = (Vec::new(), from.clone());
    for (position, body) in bodies.iter().enumerate() {
        let unfit = |source| AppendError::Unfit { position: position + 1, source };
        let left = (bodies.len() - 1 - position) as u64;
        let bytes = push(&mut text, envelope, left, body.as_ref(), &mut end).map_err(unfit)?;
        if bytes > LONGEST_LINE_BYTES {
            return Err(unfit(Unfit::TooLong { bytes }));
        }
    }
    Ok((text, end))
}

/// Writes one line, which may have any length, and says which one it has.
pub(crate) fn push(
    text: &mut Vec<u8>,
    envelope: &Envelope,
    left: u64,
    body: &[u8],
    end: &mut Position,
) -> Result<usize, Unfit> {
    let revision = end.revision.next();
    let Envelope { at, actor, source, request, cause } = envelope.clone();
    let synced = (end.synced != end.revision).then_some(end.synced);
    let head = Head { revision, left, synced, at, actor, source, request, cause };
    let mut line = serde_json::to_vec(&head).map_err(Unfit::NotJson)?;
    line.pop();
    line.extend_from_slice(BODY_BEGINS);
    line.extend_from_slice(body);
    let sum = Digest::of_behind(end.sum.as_bytes(), &line);
    line.extend_from_slice(format!("{SUM_BEGINS}{sum}{SUM_ENDS}").as_bytes());
    text.extend_from_slice(&line);
    end.revision = revision;
    end.offset += line.len() as u64;
    end.sum = sum;
    if let Some(said) = beginning(body).ok().flatten() {
        end.beginning = Some(said);
    }
    Ok(line.len())
}

/// Reads whole batches, gives each line to `each`, and says where the last of them ends. What a
/// crash leaves behind is passed over; everything else that is not as it was written is damage.
pub(crate) fn read(
    bytes: &[u8],
    from: &Position,
    mut each: impl FnMut(Line),
) -> Result<Position, Box<Broken>> {
    let (mut sound, mut cursor) = (from.clone(), from.clone());
    let mut batch: Vec<Line> = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let expected_left = batch.last().map(|line| line.left - 1);
        let read = match read_line(line, &mut cursor, expected_left) {
            Ok(read) => read,
            Err(_) if is_torn(&bytes[at..], sound.revision) => return Ok(sound),
            Err(damage) => {
                let line = cursor.revision.0 + 1;
                return Err(Box::new(Broken { sound, line, damage }));
            }
        };
        at += line.len();
        let is_last = read.left == 0;
        batch.push(read);
        if is_last {
            batch.drain(..).for_each(&mut each);
            sound = cursor.clone();
        }
    }
    Ok(sound)
}

/// Whether a crash explains these bytes, which begin with a bad line. What was written and not
/// yet durable ends too early or has holes of zeros; it does not say that it was durable.
fn is_torn(bytes: &[u8], sound: Revision) -> bool {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let is_remnant = |line: &[u8]| !line.ends_with(b"\n") || line.contains(&0);
    lines.next().is_some_and(is_remnant)
        && !lines.filter_map(synced_before).any(|synced| synced > sound)
}

/// Up to which record everything was durable when this line was written, as far as it can be
/// understood.
fn synced_before(line: &[u8]) -> Option<Revision> {
    let head = head(line).ok()?.0;
    Some(head.synced.unwrap_or(Revision(head.revision.0.saturating_sub(1))))
}

fn read_line(
    line: &[u8],
    cursor: &mut Position,
    expected_left: Option<u64>,
) -> Result<Line, Damage> {
    let (open, stated) = split_sum(line).ok_or(Damage::NoSum)?;
    let sum = Digest::of_behind(cursor.sum.as_bytes(), open);
    if sum != stated {
        return Err(Damage::WrongSum);
    }
    let (head, body) = head(open).map_err(Damage::NotARecord)?;
    serde_json::from_slice::<IgnoredAny>(body).map_err(Damage::NotARecord)?;
    let expected = cursor.revision.next();
    if head.revision != expected {
        return Err(Damage::WrongNumber { found: head.revision, expected });
    }
    if expected_left.is_some_and(|left| left != head.left) {
        return Err(Damage::WrongPlace);
    }
    match beginning(body).map_err(Damage::NotARecord)? {
        Some(beginning) => cursor.beginning = Some(beginning),
        None if cursor.beginning.is_none() => return Err(Damage::NotBegun),
        None => {}
    }
    cursor.synced = head.synced.unwrap_or(cursor.revision);
    cursor.revision = expected;
    cursor.offset += line.len() as u64;
    cursor.sum = sum;
    let left = head.left;
    let Head { revision, at, actor, source, request, cause, .. } = head;
    let envelope = Envelope { at, actor, source, request, cause };
    Ok(Line { entry: LogEntry { revision, envelope, body: body.to_vec() }, left, sum })
}

/// A whole line as the bytes before its sum, and the sum.
fn split_sum(line: &[u8]) -> Option<(&[u8], Digest)> {
    let line = line.strip_suffix(SUM_ENDS.as_bytes())?;
    let (rest, digits) = line.split_at_checked(line.len().checked_sub(SUM_DIGITS)?)?;
    let open = rest.strip_suffix(SUM_BEGINS.as_bytes())?;
    let sum = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((open, sum))
}

/// What stands before the body, and the rest.
fn head(line: &[u8]) -> Result<(Head, &[u8]), serde_json::Error> {
    let at = line.windows(BODY_BEGINS.len()).position(|window| window == BODY_BEGINS);
    let at = at.unwrap_or(line.len());
    let closed = [&line[..at], b"}"].concat();
    let head = serde_json::from_slice(&closed)?;
    Ok((head, line.get(at + BODY_BEGINS.len()..).unwrap_or_default()))
}

/// The form that the first line says the log has, if it says so soundly.
pub(crate) fn format(bytes: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct First {
        body: Began,
    }
    let line = bytes.split_inclusive(|&byte| byte == b'\n').next()?;
    let (open, sum) = split_sum(line)?;
    if Digest::of_behind(Position::start().sum.as_bytes(), open) != sum {
        return None;
    }
    let first: First = serde_json::from_slice(&[open, b"}"].concat()).ok()?;
    Some(first.body.began.format)
}

fn beginning(body: &[u8]) -> Result<Option<Beginning>, serde_json::Error> {
    if !body.starts_with(BEGAN) {
        return Ok(None);
    }
    let Began { began: Said { format, installation, epoch, .. } } = serde_json::from_slice(body)?;
    Ok(Some(Beginning { format, installation, epoch }))
}
