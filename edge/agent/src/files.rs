//! Files with secrets: nobody else reads them, and nobody ever sees half of one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Whether a file must be there after the power failed, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Durable {
    Yes,
    No,
}

/// Makes a folder for its owner alone, and those above it. One that is there stays as it is.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Puts a file in place of the one before, for its owner alone.
pub(crate) fn put(path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let new = path.with_added_extension("new");
    // What a crash left may have other rights than ours.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    if durable == Durable::Yes {
        file.sync_all()?;
    }
    fs::rename(&new, path)?;
    if durable == Durable::Yes
        && let Some(folder) = path.parent()
    {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
