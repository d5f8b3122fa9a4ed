//! A log in a folder: appended to by one at a time, read by anybody.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Digest, Epoch};

use crate::carry::{Carried, carry};
use crate::disk::{self, LOG, Witness, unreadable, unwritable};
use crate::line::{self, Position};
use crate::objects::{self, Index};
use crate::salt::{self, Salts};
use crate::{
    AppendError, Batch, Beginning, FORMAT, Foreign, Kept, LogEntry, ReadError, Revision, Store,
    WrittenBytes, before,
};

/// A log in a folder. Any number of them may stand before the same folder, in any processes.
#[derive(Debug)]
pub struct Folder {
    pub(crate) dir: PathBuf,
    salts: Salts,
    known: Mutex<Known>,
    written: WrittenBytes,
    cut: Option<Torn>,
    /// The sum of the last line that this one wrote.
    own: Option<Digest>,
    /// Content was written that no fsync has covered.
    owes_objects: bool,
    failed: bool,
}

/// What need not be read again.
#[derive(Debug)]
struct Known {
    end: Position,
    objects: Index,
}

/// What a crash left behind the last whole batch. Nobody was told that it is durable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Torn {
    /// The last record before it.
    pub after: Revision,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What was read of a log.
pub(crate) struct Tail {
    pub(crate) entries: Vec<LogEntry>,
    pub(crate) end: Position,
    pub(crate) torn_bytes: u64,
    /// The lines that stand there, if they are of the earlier form: as they would be in today's.
    pub(crate) carried: Option<Vec<u8>>,
}

/// A batch as it will stand in the file.
struct Text {
    /// The record that begins the log, if nothing does yet.
    first: Option<Vec<u8>>,
    from: Position,
    lines: Vec<u8>,
    end: Position,
}

impl Folder {
    /// The log in this folder, which need not exist yet. Nothing is read, written or locked.
    ///
    /// # Errors
    /// If there is no chance to be had for salts.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let known = Mutex::new(Known { end: Position::start(), objects: Index::default() });
        Ok(Self {
            dir: dir.into(),
            salts: Salts::random()?,
            known,
            written: WrittenBytes::default(),
            cut: None,
            own: None,
            owes_objects: false,
            failed: false,
        })
    }

    /// What was written through this one.
    #[must_use]
    pub const fn written(&self) -> WrittenBytes {
        self.written
    }

    /// What an append through this one cut off last, because a crash had left it.
    #[must_use]
    pub const fn cut(&self) -> Option<Torn> {
        self.cut
    }

    /// What a crash left behind the last whole batch, or somebody is just writing. Readers pass
    /// over it, and the next append cuts it off.
    ///
    /// # Errors
    /// If the log cannot be read, or is not sound.
    pub fn torn(&self) -> Result<Option<Torn>, ReadError> {
        let tail = self.catch_up(None)?;
        let torn = Torn { after: tail.end.revision, bytes: tail.torn_bytes };
        Ok(Some(torn).filter(|torn| torn.bytes > 0))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came since, or all records after this one.
    fn catch_up(&self, after: Option<Revision>) -> Result<Tail, ReadError> {
        let mut known = self.known();
        let after = after.unwrap_or(known.end.revision);
        let tail = tail(&self.dir, &known.end, after)?;
        // What this one knows to be durable is more than the lines say.
        if tail.end.sum != known.end.sum {
            known.end = tail.end.clone();
        }
        Ok(tail)
    }

    /// The batch behind this tail, complete before anything is written.
    fn compose(&self, tail: &Tail, batch: &Batch<'_>) -> Result<Text, AppendError> {
        let mut from = self.known().end.clone();
        let mut first = None;
        if tail.end.revision == Revision(0) {
            let beginning =
                Beginning { format: FORMAT, installation: salt::installation()?, epoch: Epoch(1) };
            let (line, end) =
                line::write(&batch.envelope, &[line::began(&beginning, None)], &from)?;
            from = Position { synced: end.revision, ..end };
            first = Some(line);
        }
        let (lines, end) = line::write(&batch.envelope, &batch.bodies, &from)?;
        Ok(Text { first, from, lines, end })
    }

    /// Writes what was composed, each thing after what it relies on.
    fn put(&mut self, tail: &Tail, text: &mut Text, batch: &Batch<'_>) -> Result<(), AppendError> {
        let is_own = text.first.is_some() || self.own == Some(text.from.sum);
        // What others wrote last may not be durable: one of them may have been killed before it
        // was. What is done from now on relies on it.
        let is_durable = batch.is_durable || !is_own;
        if let Some(lines) = &tail.carried {
            self.carry_over(lines, tail)?;
        }
        if let Some(line) = &text.first {
            self.begin(line, &text.from, tail)?;
        } else if self.own.is_none()
            && Witness::of(&self.dir)?.is_none()
            && let Some(beginning) = &text.from.beginning
        {
            Witness::write(beginning, &self.dir, &mut self.written)?;
        }
        if !batch.bodies.is_empty() {
            self.put_beside(batch.beside, is_durable, is_own)?;
            self.put_lines(&text.lines, &text.from, is_durable)?;
            if is_durable {
                text.end.synced = text.end.revision;
            }
        }
        Ok(())
    }

    /// The record that begins the log, and then what says that there is one.
    fn begin(&mut self, line: &[u8], end: &Position, tail: &Tail) -> Result<(), AppendError> {
        objects::open_to_write(&self.dir)?;
        self.put_lines(line, &Position { revision: tail.end.revision, ..Position::start() }, true)?;
        let Some(beginning) = &end.beginning else { return Ok(()) };
        Witness::write(beginning, &self.dir, &mut self.written)
    }

    /// Writes a log of the earlier form over into today's. There is a whole log at any moment,
    /// and the earlier one keeps another name.
    fn carry_over(&mut self, lines: &[u8], tail: &Tail) -> Result<(), AppendError> {
        objects::open_to_write(&self.dir)?;
        let names = (1..).map(|number| match number {
            1 => format!("{LOG}.before"),
            _ => format!("{LOG}.before-{number}"),
        });
        disk::set_aside(&self.dir, names).map_err(unwritable(&self.dir.join(LOG)))?;
        disk::replace(&self.dir, LOG, &[lines], &mut self.written)?;
        self.written.log_bytes += lines.len() as u64;
        if tail.torn_bytes > 0 {
            self.cut = Some(Torn { after: tail.end.revision, bytes: tail.torn_bytes });
        }
        Ok(())
    }

    fn put_beside(
        &mut self,
        beside: &[Kept],
        is_durable: bool,
        is_own: bool,
    ) -> Result<(), AppendError> {
        let may_owe = self.owes_objects || !is_own && self.dir.join(disk::OBJECTS).exists();
        if beside.is_empty() && !(is_durable && may_owe) {
            return Ok(());
        }
        let (mut file, is_there) = objects::open_to_write(&self.dir)?;
        let failed = unwritable(&self.dir.join(disk::OBJECTS));
        if !beside.is_empty() {
            self.written.beside_bytes += objects::write(&mut file, beside).map_err(&failed)?;
            self.owes_objects = true;
        }
        if is_durable {
            file.sync_data().map_err(&failed)?;
            self.written.fsyncs += 1;
            self.owes_objects = false;
        }
        if !is_there {
            disk::sync_folder(&self.dir, &mut self.written)?;
        }
        Ok(())
    }

    fn put_lines(
        &mut self,
        lines: &[u8],
        from: &Position,
        is_durable: bool,
    ) -> Result<(), AppendError> {
        let path = self.dir.join(LOG);
        let failed = unwritable(&path);
        let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(&failed)?;
        let torn_bytes = file.metadata().map_err(&failed)?.len().saturating_sub(from.offset);
        if torn_bytes > 0 {
            file.set_len(from.offset).map_err(&failed)?;
            self.cut = Some(Torn { after: from.revision, bytes: torn_bytes });
        }
        let written = file.write_all(lines).and_then(|()| match is_durable {
            true => file.sync_data(),
            false => Ok(()),
        });
        if let Err(why) = written {
            // Who asks next should not find what nobody was told of. If that fails as well, the
            // batch is there as a whole or torn, and both are understood.
            drop(file.set_len(from.offset));
            return Err(failed(why));
        }
        self.written.log_bytes += lines.len() as u64;
        self.written.fsyncs += u64::from(is_durable);
        Ok(())
    }
}

impl Store for Folder {
    fn began(&self) -> Result<Option<Beginning>, ReadError> {
        Ok(self.catch_up(None)?.end.beginning)
    }

    fn read(&self, after: Revision) -> Result<Vec<LogEntry>, ReadError> {
        Ok(self.catch_up(Some(after))?.entries)
    }

    fn append(&mut self, expected: Revision, batch: Batch<'_>) -> Result<Revision, AppendError> {
        let path = self.dir.join(LOG);
        if self.failed {
            return Err(AppendError::FailedBefore { path });
        }
        line::fit(&batch.bodies)?;
        let _locked = disk::lock(&self.dir)?;
        let tail = self.catch_up(None)?;
        if tail.end.revision != expected {
            return Err(AppendError::Moved { at: tail.end.revision });
        }
        let mut text = self.compose(&tail, &batch)?;
        // Who still writes the earlier form has the file itself locked.
        let _earlier = match &tail.carried {
            Some(_) => Some(lock_earlier(&path)?),
            None => None,
        };
        // Until the disk has said yes, nobody knows what the files hold.
        self.failed = true;
        self.put(&tail, &mut text, &batch)?;
        self.failed = false;
        if text.end.revision != expected {
            self.own = Some(text.end.sum);
        }
        let revision = text.end.revision;
        self.known().end = text.end;
        Ok(revision)
    }

    fn keep(&self, content: &[u8]) -> Kept {
        self.salts.keep(content)
    }

    fn beside(&self, digest: &Digest) -> Result<Option<Vec<u8>>, ReadError> {
        self.known().objects.find(&self.dir, digest)
    }
}

fn lock_earlier(path: &Path) -> Result<File, AppendError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    disk::wait_for(&file, path)?;
    Ok(file)
}

/// What the log holds after a revision. What was read before is not read again, if it is still
/// the same and nobody wants it.
pub(crate) fn tail(dir: &Path, known: &Position, after: Revision) -> Result<Tail, ReadError> {
    if after >= known.revision
        && known.revision > Revision(0)
        && let Some(tail) = tail_behind(dir, known, after)?
    {
        return Ok(tail);
    }
    whole(dir, known, after)
}

/// Only what came since, if that can be read and nothing is wrong with it.
fn tail_behind(dir: &Path, known: &Position, after: Revision) -> Result<Option<Tail>, ReadError> {
    let path = dir.join(LOG);
    let Some(mut file) = disk::open(&path)? else { return Ok(None) };
    let bytes = disk::behind(&mut file, known).map_err(|source| unreadable(&path, source))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let mut entries = Vec::new();
    let Ok(end) = line::read(&bytes, known, |line| entries.push(line.entry)) else {
        return Ok(None);
    };
    if end.revision < after {
        return Ok(None);
    }
    entries.retain(|entry| entry.revision > after);
    let torn_bytes = known.offset + bytes.len() as u64 - end.offset;
    Ok(Some(Tail { entries, end, torn_bytes, carried: None }))
}

/// The log from its beginning, compared with what was known of it.
fn whole(dir: &Path, known: &Position, after: Revision) -> Result<Tail, ReadError> {
    // Looked for before the log: who begins one writes them after it.
    let (trace, witness) = (disk::trace(dir)?, Witness::of(dir)?);
    let path = dir.join(LOG);
    let text = Bytes::of(&path)?;
    if trace.is_none() && !looks_like_one(&text.lines) {
        return Err(ReadError::Foreign { path, source: Foreign::NotALog });
    }
    if let Some(format) = line::format(&text.lines).filter(|format| *format > FORMAT) {
        return Err(ReadError::Foreign { path, source: Foreign::Newer { format } });
    }
    let mut entries = Vec::new();
    let mut is_same = known.revision == Revision(0);
    let read = line::read(&text.lines, &Position::start(), |line| {
        is_same |= line.sum == known.sum;
        if line.entry.revision > after {
            entries.push(line.entry);
        }
    });
    let end = read.map_err(|broken| ReadError::Damaged {
        path: path.clone(),
        line: broken.line,
        source: broken.damage,
    })?;
    let missing = trace.or_else(|| (known.revision > Revision(0)).then(|| dir.to_owned()));
    if end.revision == Revision(0)
        && let Some(witness) = missing
    {
        return Err(ReadError::Lost { path, witness });
    }
    if let (Some(witness), Some(beginning)) = (&witness, &end.beginning) {
        compare(witness, beginning).map_err(|source| {
            let path = path.clone();
            ReadError::Foreign { path, source }
        })?;
    }
    if !is_same || end.revision < after {
        let known = known.revision.max(after);
        return Err(ReadError::Rewritten { path, at: end.revision, known });
    }
    let torn_bytes = text.torn_bytes + text.lines.len() as u64 - end.offset;
    let carried = text.is_carried.then_some(text.lines);
    Ok(Tail { entries, end, torn_bytes, carried })
}

/// Whether this can be the log of the folder.
fn compare(witness: &Witness, beginning: &Beginning) -> Result<(), Foreign> {
    let (found, expected) = (beginning.installation.clone(), witness.installation.clone());
    if found != expected {
        return Err(Foreign::OtherInstallation { found, expected });
    }
    let (found, expected) = (beginning.epoch, witness.epoch);
    if found < expected {
        return Err(Foreign::EarlierEpoch { found, expected });
    }
    Ok(())
}

/// Whether a log begins here, as far as it was written.
fn looks_like_one(bytes: &[u8]) -> bool {
    let begins = b"{\"revision\":";
    let shorter = bytes.len().min(begins.len());
    bytes[..shorter] == begins[..shorter] || bytes.first() == Some(&0)
}

/// A log as lines of today's form.
struct Bytes {
    lines: Vec<u8>,
    torn_bytes: u64,
    is_carried: bool,
}

impl Bytes {
    /// Of this file; none if there is no file.
    fn of(path: &Path) -> Result<Self, ReadError> {
        let Some(mut file) = disk::open(path)? else {
            return Ok(Self { lines: Vec::new(), torn_bytes: 0, is_carried: false });
        };
        let mut lines = Vec::new();
        let read = |file: &mut File, lines: &mut Vec<u8>| -> io::Result<_> {
            file.read_to_end(lines)?;
            disk::modified(file)
        };
        let modified = read(&mut file, &mut lines).map_err(|source| unreadable(path, source))?;
        if !before::is_it(&lines) {
            return Ok(Self { lines, torn_bytes: 0, is_carried: false });
        }
        match carry(&lines, modified) {
            Ok(Carried { text, sound_bytes }) => {
                let torn_bytes = (lines.len() - sound_bytes) as u64;
                Ok(Self { lines: text, torn_bytes, is_carried: true })
            }
            Err((line, source)) => Err(ReadError::Damaged { path: path.to_owned(), line, source }),
        }
    }
}
