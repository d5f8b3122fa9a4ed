//! The folder where the log is, and the simulated devices.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use model::Fleet;
use plan::{Contradiction, Ledger};
use sim::Folder;
use store::Log;

use crate::ending::Stop;
use crate::words::{NOTE, aside, plural};

/// Which folder.
#[derive(Args)]
pub(crate) struct State {
    /// The folder with the log and the simulated devices
    #[arg(long = "state", value_name = "DIR", default_value = "bulkhead-state")]
    folder: PathBuf,
}

/// The folder cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the folder {}", path.display())]
struct NoFolder {
    path: PathBuf,
    source: io::Error,
}

/// The log says what cannot have happened.
#[derive(Debug, thiserror::Error)]
#[error("the log {} contradicts itself", path.display())]
struct Inconsistent {
    path: PathBuf,
    source: Contradiction,
}

impl State {
    /// The sum of what happened so far. Looking leaves nothing behind.
    pub(crate) fn ledger(&self) -> Result<Ledger, Stop> {
        let is_there = self.log_path().try_exists().unwrap_or(true);
        if !is_there {
            return Ok(Ledger::default());
        }
        self.sum(&self.open_log()?)
    }

    /// The log and the sum of it. Nobody else can write as long as the log is open.
    pub(crate) fn log(&self) -> Result<(Log, Ledger), Stop> {
        fs::create_dir_all(&self.folder)
            .map_err(|source| NoFolder { path: self.folder.clone(), source })?;
        let log = self.open_log()?;
        let ledger = self.sum(&log)?;
        Ok((log, ledger))
    }

    /// The simulated devices.
    pub(crate) fn devices(&self, fleet: &Arc<Fleet>) -> Folder {
        Folder::new(Arc::clone(fleet), self.folder.join("sim"))
    }

    fn open_log(&self) -> Result<Log, Stop> {
        let log = Log::open(self.log_path())?;
        if let Some(cut) = log.cut() {
            let bytes = plural(cut.bytes, "byte");
            aside(format_args!(
                "{NOTE}A crash left {bytes} of an unfinished batch at line {} of the log; they were \
                 cut off.{NOTE:#}",
                cut.line
            ));
        }
        Ok(log)
    }

    fn sum(&self, log: &Log) -> Result<Ledger, Stop> {
        let sum = Ledger::replay(log.records())
            .map_err(|source| Inconsistent { path: self.log_path(), source })?;
        Ok(sum)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }
}
