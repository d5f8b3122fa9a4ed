//! One writer at a time: a policy is compared with the one it replaces.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Fault;
use crate::kernel::file;

/// Longer than any change takes. Who holds the lock for longer was stopped, or hangs.
const PATIENCE: Duration = Duration::from_secs(5);
const PACE: Duration = Duration::from_millis(5);

/// The lock of a filter's folder, until it is dropped.
pub(crate) struct Lock(File);

impl Lock {
    pub(crate) fn of(folder: &File, place: &Path) -> Result<Self, Fault> {
        let folder = folder.try_clone().map_err(file(place))?;
        let end = Instant::now() + PATIENCE;
        loop {
            match folder.try_lock() {
                Ok(()) => return Ok(Self(folder)),
                Err(TryLockError::Error(error)) => return Err(file(place)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(PACE),
                Err(TryLockError::WouldBlock) => {
                    return Err(Fault::Held { holder: holder(&folder), place: place.into() });
                }
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The process that holds the lock, as the kernel lists it: `1: FLOCK ADVISORY WRITE 42 00:1b:7 …`.
fn holder(folder: &File) -> Option<u32> {
    let inode = folder.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, _, process, file, ..] = words[..] else { return None };
        let (_, number) = file.rsplit_once(':')?;
        if number == inode { process.parse().ok() } else { None }
    })
}
