//! The same devices, kept in files between one command and the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apply::Keeps;
use model::{DeviceId, Dialect, Fleet, Generation};
use observe::{Held, Holds, Unreachable};

/// Devices whose texts are files that can be read and edited: `leaf-1/nxos`, and beside it
/// `leaf-1/nxos.generation`. To send frames through them, see [`crate::Fabric::copy_of`].
pub struct Folder {
    fleet: Arc<Fleet>,
    path: PathBuf,
}

impl Folder {
    /// Devices that hold what stands in this folder. It is made when the first text is held.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>, path: PathBuf) -> Self {
        Self { fleet, path }
    }

    /// The file with the text of a device in one dialect.
    #[must_use]
    pub fn file(&self, device: DeviceId, dialect: Dialect) -> PathBuf {
        let name = self.fleet.device_name(device).as_str();
        self.path.join(name).join(dialect.as_str())
    }

    fn unreachable(&self, device: DeviceId) -> impl FnOnce(io::Error) -> Unreachable {
        let device = self.fleet.device_name(device).clone();
        |source| Unreachable { device, source }
    }
}

impl Holds for Folder {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        read(&self.file(device, dialect)).map_err(self.unreachable(device))
    }
}

impl Keeps for Folder {
    fn hold(&mut self, device: DeviceId, dialect: Dialect, held: Held) -> Result<(), Unreachable> {
        write(&self.file(device, dialect), &held).map_err(self.unreachable(device))
    }
}

/// A text without a generation beside it was put there by hand, before any plan.
fn read(file: &Path) -> io::Result<Option<Held>> {
    let Some(text) = read_if_there(file)? else {
        return Ok(None);
    };
    let generation = match read_if_there(&generation_of(file))? {
        Some(number) => number.trim().parse().map_err(io::Error::other)?,
        None => 0,
    };
    Ok(Some(Held { generation: Generation(generation), text }))
}

/// The generation goes first: if the text does not follow, the next apply of this generation sends
/// it again, and a stale writer is refused meanwhile.
fn write(file: &Path, held: &Held) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    replace(&generation_of(file), &format!("{}\n", held.generation))?;
    replace(file, &held.text)
}

/// Whoever reads meanwhile sees the old text or the new one, never half of it.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_added_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, file)
}

fn generation_of(file: &Path) -> PathBuf {
    file.with_added_extension("generation")
}

fn read_if_there(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
