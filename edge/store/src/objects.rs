//! What records speak of: content beside the log, found by its digest.
//!
//! A file of frames: a line with digest, salt and length, the content, and a line break. What a
//! crash left is passed over, and never cut off.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use model::Digest;
use serde::{Deserialize, Serialize};

use crate::disk::{self, OBJECTS, unreadable, unwritable};
use crate::{AppendError, Kept, ReadError};

/// What stands before the content.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    digest: Digest,
    salt: Digest,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    salt: Digest,
    /// Where the content begins.
    offset: u64,
    bytes: u64,
}

/// Where content is. Two frames may say that they have the same one; the digest knows which.
#[derive(Debug, Default)]
pub(crate) struct Index {
    frames: BTreeMap<Digest, Vec<Frame>>,
    /// The end of the last frame.
    scanned: u64,
}

impl Index {
    /// The content of this digest.
    pub(crate) fn find(
        &mut self,
        dir: &Path,
        digest: &Digest,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let path = dir.join(OBJECTS);
        let Some(mut file) = disk::open(&path)? else { return Ok(None) };
        let failed = |source| unreadable(&path, source);
        if let Some(content) = self.sound(&mut file, digest).map_err(failed)? {
            return Ok(Some(content));
        }
        self.scan(&mut file).map_err(failed)?;
        if let Some(content) = self.sound(&mut file, digest).map_err(failed)? {
            return Ok(Some(content));
        }
        // The file may be another one by now.
        *self = Self::default();
        self.scan(&mut file).map_err(failed)?;
        match self.sound(&mut file, digest).map_err(failed)? {
            None if self.frames.contains_key(digest) => {
                Err(ReadError::DamagedContent { path, digest: *digest })
            }
            found => Ok(found),
        }
    }

    /// Every digest, and whether its content is as it was written.
    pub(crate) fn check(dir: &Path) -> Result<Vec<(Digest, bool)>, ReadError> {
        let path = dir.join(OBJECTS);
        let Some(mut file) = disk::open(&path)? else { return Ok(Vec::new()) };
        let mut index = Self::default();
        let mut check = || -> io::Result<Vec<(Digest, bool)>> {
            index.scan(&mut file)?;
            let digests = index.frames.keys();
            digests.map(|digest| Ok((*digest, index.sound(&mut file, digest)?.is_some()))).collect()
        };
        check().map_err(|source| unreadable(&path, source))
    }

    fn sound(&self, file: &mut File, digest: &Digest) -> io::Result<Option<Vec<u8>>> {
        for frame in self.frames.get(digest).into_iter().flatten() {
            file.seek(SeekFrom::Start(frame.offset))?;
            let mut content = Vec::new();
            Read::by_ref(file).take(frame.bytes).read_to_end(&mut content)?;
            if Digest::of_behind(frame.salt.as_bytes(), &content) == *digest {
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    /// Reads the heads of what came since. A line that is no head is what a crash left, or part
    /// of it.
    fn scan(&mut self, file: &mut File) -> io::Result<()> {
        let length = file.metadata()?.len();
        if length < self.scanned {
            *self = Self::default();
        }
        let mut reader = BufReader::new(file);
        let mut at = self.scanned;
        reader.seek(SeekFrom::Start(at))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                return Ok(());
            }
            at += read;
            let Ok(Head { digest, salt, bytes }) = serde_json::from_slice(&line) else { continue };
            if let Some(end) = end_of(&mut reader, at, bytes, length)? {
                self.frames.entry(digest).or_default().push(Frame { salt, offset: at, bytes });
                (at, self.scanned) = (end, end);
            }
        }
    }
}

/// Where a frame ends, if it ends as a frame does; then the reader is there.
fn end_of(
    reader: &mut BufReader<&mut File>,
    at: u64,
    bytes: u64,
    length: u64,
) -> io::Result<Option<u64>> {
    let Some(end) = at.checked_add(bytes).and_then(|end| end.checked_add(1)) else {
        return Ok(None);
    };
    if end > length {
        return Ok(None);
    }
    let mut last = [0];
    // Both fit: a file has fewer bytes than an `i64` counts.
    reader.seek_relative(bytes.cast_signed())?;
    reader.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(Some(end));
    }
    reader.seek(SeekFrom::Start(at))?;
    Ok(None)
}

/// The frame's bytes.
pub(crate) fn frame(kept: &Kept) -> Result<Vec<u8>, serde_json::Error> {
    let Kept { digest, salt, content } = kept;
    let head = Head { digest: *digest, salt: *salt, bytes: content.len() as u64 };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(content);
    bytes.push(b'\n');
    Ok(bytes)
}

/// What the first frame of these bytes holds, and its digest, if it is sound.
pub(crate) fn unframe(bytes: &[u8]) -> Option<(Digest, &[u8])> {
    let at = bytes.iter().position(|&byte| byte == b'\n')?;
    let (head, content) = bytes.split_at(at);
    let Head { digest, salt, bytes } = serde_json::from_slice(head).ok()?;
    let content = content.get(1..)?.strip_suffix(b"\n")?;
    let is_sound =
        content.len() as u64 == bytes && Digest::of_behind(salt.as_bytes(), content) == digest;
    is_sound.then_some((digest, content))
}

/// The file, made if it is not there, and whether it was.
pub(crate) fn open_to_write(dir: &Path) -> Result<(File, bool), AppendError> {
    let path = dir.join(OBJECTS);
    let failed = unwritable(&path);
    let is_there = path.try_exists().map_err(&failed)?;
    let file =
        OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(&failed)?;
    Ok((file, is_there))
}

/// Writes content behind everything else, and says how many bytes that took.
pub(crate) fn write(file: &mut File, beside: &[Kept]) -> io::Result<u64> {
    let mut text = Vec::new();
    if !ends_a_line(file)? {
        text.push(b'\n');
    }
    for kept in beside {
        text.extend_from_slice(&frame(kept)?);
    }
    file.write_all(&text)?;
    Ok(text.len() as u64)
}

/// Whether a frame can begin here.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
