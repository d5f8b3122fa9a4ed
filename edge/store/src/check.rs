//! Whether a log and all that stands beside it are sound, found without writing anything.

use std::collections::BTreeSet;
use std::path::Path;

use model::{Digest, Timestamp};

use crate::carry::{Carried, carry};
use crate::disk::{self, LOG};
use crate::folder::tail;
use crate::line::{self, Line, Position};
use crate::objects::Index;
use crate::{Beginning, ReadError, Revision, before};

/// What a folder holds.
#[derive(Debug)]
pub struct LogReport {
    /// What the log says of itself, as far as it is sound.
    pub beginning: Option<Beginning>,
    /// How many records are sound and in whole batches.
    pub records: u64,
    /// How many batches these are.
    pub batches: u64,
    /// What a crash left, or somebody is just writing. The next append cuts it off.
    pub torn_bytes: u64,
    /// Why the log cannot be read: the first damage with its line, or that it is lost or foreign.
    pub problem: Option<ReadError>,
    /// How many contents stand beside it.
    pub objects: u64,
    /// What records speak of and is not there.
    pub missing: Vec<Missing>,
    /// What is there and not as it was written.
    pub damaged: Vec<Digest>,
}

/// Content that is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Missing {
    /// The record that speaks of it.
    pub revision: Revision,
    /// What it calls it.
    pub digest: Digest,
}

impl LogReport {
    /// Whether nothing is wrong. What a crash left is not wrong.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.problem.is_none() && self.missing.is_empty() && self.damaged.is_empty()
    }
}

/// Looks at everything in a folder, and writes nothing. Only the caller knows of which digests
/// that must still be there a body speaks.
///
/// # Errors
/// If something cannot be read at all.
pub fn check(dir: &Path, speaks_of: impl Fn(&[u8]) -> Vec<Digest>) -> Result<LogReport, ReadError> {
    let objects = Index::check(dir)?;
    let held: BTreeSet<Digest> = objects.iter().map(|(digest, _)| *digest).collect();
    let (mut batches, mut missing) = (0, Vec::new());
    let sound = sound(dir, |line| {
        batches += u64::from(line.left == 0);
        let revision = line.entry.revision;
        let spoken_of = speaks_of(&line.entry.body).into_iter();
        let gone = spoken_of.filter(|digest| !held.contains(digest));
        missing.extend(gone.map(|digest| Missing { revision, digest }));
    })?;
    let damaged = objects.iter().filter(|(_, is_sound)| !is_sound).map(|(digest, _)| *digest);
    Ok(LogReport {
        records: sound.end.revision.0,
        beginning: sound.end.beginning,
        batches,
        torn_bytes: sound.torn_bytes,
        problem: sound.problem,
        objects: objects.len() as u64,
        missing,
        damaged: damaged.collect(),
    })
}

/// What can still be used of a log.
pub(crate) struct Sound {
    /// Its whole batches before any damage, in today's form.
    pub(crate) lines: Vec<u8>,
    pub(crate) end: Position,
    pub(crate) problem: Option<ReadError>,
    pub(crate) torn_bytes: u64,
    /// How many lines of the file are not among them, whole or not.
    pub(crate) left_out: u64,
    pub(crate) is_there: bool,
}

pub(crate) fn sound(dir: &Path, each: impl FnMut(Line)) -> Result<Sound, ReadError> {
    let (problem, torn_bytes) = match tail(dir, &Position::start(), Revision(0)) {
        Ok(tail) => (None, tail.torn_bytes),
        Err(why @ ReadError::Unreadable { .. }) => return Err(why),
        Err(why) => (Some(why), 0),
    };
    let path = dir.join(LOG);
    let bytes = disk::read(&path)?;
    let is_there = bytes.is_some();
    let bytes = bytes.unwrap_or_default();
    let all = lines(&bytes).count() as u64;
    let is_before = before::is_it(&bytes);
    let mut text = if is_before { carried(&path, &bytes)? } else { bytes };
    let end = match line::read(&text, &Position::start(), each) {
        Ok(end) => end,
        Err(broken) => broken.sound,
    };
    text.truncate(usize::try_from(end.offset).unwrap_or(usize::MAX));
    // A log of the earlier form has no line for the record that begins it.
    let own = u64::from(is_before && end.revision > Revision(0));
    let left_out = all - (end.revision.0 - own);
    Ok(Sound { lines: text, end, problem, torn_bytes, left_out, is_there })
}

/// What is sound of a log of the earlier form, in today's.
fn carried(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let failed = |source| disk::unreadable(path, source);
    let modified = match disk::open(path)? {
        Some(file) => disk::modified(&file).map_err(failed)?,
        None => Timestamp::default(),
    };
    let (line, _) = match carry(bytes, modified) {
        Ok(Carried { text, .. }) => return Ok(text),
        Err(damage) => damage,
    };
    let before = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let sound: usize = lines(bytes).take(before).map(<[u8]>::len).sum();
    match carry(&bytes[..sound], modified) {
        Ok(Carried { text, .. }) => Ok(text),
        Err((line, source)) => Err(ReadError::Damaged { path: path.to_owned(), line, source }),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}
