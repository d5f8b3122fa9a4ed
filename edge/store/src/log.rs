//! Today's log, until whoever writes it has moved to [`crate::Folder`].

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use plan::Record;

use crate::before::{self, Chain, Damage};

/// The open log. As long as it is open nobody else can open it.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
    chain: Chain,
    cut: Option<Cut>,
    failed: bool,
}

/// What a crash left behind at the end of the log, and what was cut off when it was opened.
/// Nobody was told that these records are durable, so nothing was done because of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cut {
    /// The first line that was cut off, counted from 1.
    pub line: usize,
    /// How many bytes were cut off.
    pub bytes: usize,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be opened, read or repaired.
    #[error("cannot open the log {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("another process has the log {} open", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A line that was durable once has changed since.
    #[error("line {line} of the log {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: Damage,
    },
}

/// Why records are not durable.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The file cannot be written.
    #[error("cannot write to the log {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// An earlier write failed, so nobody knows what the file holds.
    #[error("a write to the log {} failed before; open it again", path.display())]
    FailedBefore {
        /// The file.
        path: PathBuf,
    },
}

impl Log {
    /// Opens the log, or begins one. What a crash left incomplete at its end is cut off.
    ///
    /// # Errors
    /// If the file cannot be used, another process has it, or a line is damaged.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = path.into();
        let unreadable = |source| OpenError::Unreadable { path: path.clone(), source };
        let mut file = open_file(&path).map_err(unreadable)?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Busy { path }),
            Err(TryLockError::Error(source)) => return Err(unreadable(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        let held = match before::read(&bytes) {
            Ok(held) => held,
            Err((line, source)) => return Err(OpenError::Damaged { path, line, source }),
        };
        let cut = (held.sound_bytes < bytes.len())
            .then(|| Cut { line: held.records.len() + 1, bytes: bytes.len() - held.sound_bytes });
        if cut.is_some() {
            cut_off(&file, held.sound_bytes).map_err(unreadable)?;
        }
        Ok(Self { path, file, records: held.records, chain: held.chain, cut, failed: false })
    }

    /// Everything that happened, in order.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What was cut off when the log was opened.
    #[must_use]
    pub const fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// Adds records, all or none. When this returns they survive a loss of power.
    ///
    /// # Errors
    /// If they could not be made durable. The log must then be opened again.
    pub fn append(&mut self, records: &[Record]) -> Result<(), AppendError> {
        if self.failed {
            let path = self.path.clone();
            return Err(AppendError::FailedBefore { path });
        }
        if records.is_empty() {
            return Ok(());
        }
        // Until the disk has said yes, nobody knows what the file holds.
        self.failed = true;
        let unwritable = |source| AppendError::Unwritable { path: self.path.clone(), source };
        let (text, chain) = before::write(records, self.chain).map_err(unwritable)?;
        self.file.write_all(&text).map_err(unwritable)?;
        self.file.sync_data().map_err(unwritable)?;
        self.failed = false;
        self.chain = chain;
        self.records.extend_from_slice(records);
        Ok(())
    }
}

/// Opens the file for appending. One that did not exist is durable in its directory before
/// anything is written into it.
fn open_file(path: &Path) -> io::Result<File> {
    let is_new = !path.try_exists()?;
    let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if is_new {
        file.sync_all()?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()?;
    }
    Ok(file)
}

/// Takes the lock. Who had the log before may have begun a child at that moment, and the child
/// keeps the lock until it is another program: that is worth a short wait.
fn lock(file: &File) -> Result<(), TryLockError> {
    const TRIES: u32 = 20;
    const WAIT: Duration = Duration::from_millis(10);
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(WAIT),
            taken => return taken,
        }
    }
    file.try_lock()
}

fn cut_off(file: &File, sound_bytes: usize) -> io::Result<()> {
    file.set_len(sound_bytes as u64)?;
    file.sync_all()
}
