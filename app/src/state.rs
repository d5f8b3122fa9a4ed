//! The folder where the log is, and the simulated devices.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use control::{Control, Journal, Who};
use model::{Fleet, Timestamp};
use store::Folder;

use crate::ending::Stop;
use crate::words::{NOTE, aside, plural};

/// Which folder.
#[derive(Args)]
pub(crate) struct State {
    /// The folder with the log and the simulated devices
    #[arg(long = "state", value_name = "DIR", default_value = "bulkhead-state")]
    folder: PathBuf,
}

impl State {
    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What happened so far. Looking writes nothing, takes no lock, and needs no right to write.
    pub(crate) fn look(&self) -> Result<Journal<Folder>, Stop> {
        Ok(Journal::open(Folder::open(&self.folder)?)?)
    }

    /// The controller of this log, to change something.
    pub(crate) fn control(&self, command: &str) -> Result<Control<Folder>, Stop> {
        let store = Folder::open(&self.folder)?;
        if let Some(torn) = store.torn()? {
            let bytes = plural(usize::try_from(torn.bytes).unwrap_or(usize::MAX), "byte");
            aside(format_args!(
                "{NOTE}A crash left {bytes} after record {} of the log; they are cut off.{NOTE:#}",
                torn.after
            ));
        }
        Ok(Control::open(store, who(command))?)
    }

    /// The simulated devices.
    pub(crate) fn devices(&self, fleet: &Arc<Fleet>) -> sim::DeviceFolder {
        sim::DeviceFolder::new(Arc::clone(fleet), self.simulated())
    }

    /// Whether any device is simulated.
    pub(crate) fn has_devices(&self) -> bool {
        self.simulated().is_dir()
    }

    /// Where the simulated devices are.
    pub(crate) fn simulated(&self) -> PathBuf {
        self.folder.join("sim")
    }
}

/// Whoever is at the keyboard, as far as the machine says.
pub(crate) fn who(command: &str) -> Who {
    let names = ["SUDO_USER", "USER", "LOGNAME"].into_iter();
    let name = names.filter_map(|name| std::env::var(name).ok()).find(|name| !name.is_empty());
    Who {
        actor: name.unwrap_or_else(|| "unknown".into()).into(),
        source: format!("bulkhead {command}").into(),
        request: None,
    }
}

/// What time it is.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
