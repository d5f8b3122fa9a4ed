//! What files are called, and what makes them durable.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use model::{Epoch, Timestamp};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::line::Position;
use crate::{AppendError, Beginning, ReadError};

pub(crate) const LOG: &str = "log";
pub(crate) const OBJECTS: &str = "objects";
pub(crate) const INSTALLATION: &str = "log.installation";
const LOCK: &str = "log.lock";

/// What one holder of a log has written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WrittenBytes {
    /// How often it waited for a disk.
    pub fsyncs: u64,
    /// How many bytes it added to the log.
    pub log_bytes: u64,
    /// How many bytes it added beside the log.
    pub beside_bytes: u64,
}

/// What stands beside a log so that its loss is noticed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Witness {
    pub(crate) installation: SmolStr,
    pub(crate) epoch: Epoch,
}

impl Witness {
    /// Of this folder, if it can be understood.
    pub(crate) fn of(dir: &Path) -> Result<Option<Self>, ReadError> {
        let bytes = read(&dir.join(INSTALLATION))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(crate) fn write(
        beginning: &Beginning,
        dir: &Path,
        written: &mut WrittenBytes,
    ) -> Result<(), AppendError> {
        let Beginning { installation, epoch, .. } = beginning;
        let text = format!("{{\"installation\":\"{installation}\",\"epoch\":{epoch}}}\n");
        replace(dir, INSTALLATION, &[text.as_bytes()], written)
    }
}

/// A file that says that there was a log.
pub(crate) fn trace(dir: &Path) -> Result<Option<PathBuf>, ReadError> {
    let is_full = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let objects = Some(dir.join(OBJECTS)).filter(is_full);
    let installation = dir.join(INSTALLATION);
    let is_there =
        installation.try_exists().map_err(|source| unreadable(installation.clone(), source))?;
    Ok(if is_there { Some(installation) } else { objects })
}

pub(crate) fn unreadable(path: impl Into<PathBuf>, source: io::Error) -> ReadError {
    ReadError::Unreadable { path: path.into(), source }
}

pub(crate) fn unwritable(path: &Path) -> impl Fn(io::Error) -> AppendError + use<> {
    let path = path.to_owned();
    move |source| AppendError::Unwritable { path: path.clone(), source }
}

/// The file, if there is one, to read only.
pub(crate) fn open(path: &Path) -> Result<Option<File>, ReadError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(unreadable(path, source)),
    }
}

/// What the file holds, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| unreadable(path, source))?;
    Ok(Some(bytes))
}

/// What the file holds behind this position, if it is the file where the position was found.
pub(crate) fn behind(file: &mut File, position: &Position) -> io::Result<Option<Vec<u8>>> {
    let seal = position.seal();
    let Some(at) = position.offset.checked_sub(seal.len() as u64) else { return Ok(None) };
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.strip_prefix(seal.as_slice()).map(<[u8]>::to_vec))
}

/// When the file was changed last.
pub(crate) fn modified(file: &File) -> io::Result<Timestamp> {
    let since = file.metadata()?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// Makes a folder for the log, and keeps everybody else from writing until the file is dropped.
///
/// The lock is a file of its own, so that it stays the same when the log is replaced.
pub(crate) fn lock(dir: &Path) -> Result<File, AppendError> {
    fs::create_dir_all(dir).map_err(unwritable(dir))?;
    let path = dir.join(LOCK);
    let file =
        OpenOptions::new().append(true).create(true).open(&path).map_err(unwritable(&path))?;
    wait_for(&file, &path)?;
    Ok(file)
}

/// Who appends has the lock for a moment only. Who had it before may have begun a child in that
/// moment, and the child keeps it until it is another program: that passes, too.
pub(crate) fn wait_for(file: &File, path: &Path) -> Result<(), AppendError> {
    const TRIES: u32 = 100;
    const WAIT: Duration = Duration::from_millis(10);
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(WAIT),
            Err(TryLockError::Error(source)) => return Err(unwritable(path)(source)),
        }
    }
    Err(AppendError::Busy { path: path.to_owned() })
}

/// Gives a file another content, at once and durably.
pub(crate) fn replace(
    dir: &Path,
    name: &str,
    content: &[&[u8]],
    written: &mut WrittenBytes,
) -> Result<(), AppendError> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.new")));
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        content.iter().try_for_each(|bytes| file.write_all(bytes))?;
        file.sync_all()?;
        fs::rename(&new, &path)
    };
    write().map_err(unwritable(&path))?;
    written.fsyncs += 1;
    sync_folder(dir, written)
}

/// Makes durable which files a folder has.
pub(crate) fn sync_folder(dir: &Path, written: &mut WrittenBytes) -> Result<(), AppendError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(unwritable(dir))?;
    written.fsyncs += 1;
    Ok(())
}

/// Gives the log a second name, the first of `name`, `name-2`, … that nothing has, so that
/// another file can take the first. What was set aside before a crash is not set aside twice.
pub(crate) fn set_aside(dir: &Path, names: impl Iterator<Item = String>) -> io::Result<PathBuf> {
    let log = dir.join(LOG);
    let same = fs::metadata(&log)?;
    for name in names {
        let path = dir.join(name);
        match fs::hard_link(&log, &path) {
            Ok(()) => return Ok(path),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
        }
        let other = fs::symlink_metadata(&path)?;
        if (other.dev(), other.ino()) == (same.dev(), same.ino()) {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
