//! Why a lab does not do what it should, and what to do about it.

use std::io;
use std::path::PathBuf;

use control::NoDraft;

/// Why a lab does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum LabTrouble {
    /// The name cannot be part of a folder's or a namespace's name.
    #[error("`{0}` is no name for a lab: up to 20 lower-case letters and digits, a letter first")]
    Name(String),
    /// There is one already.
    #[error("the lab `{0}` is up already; `bulkhead lab down --name {0}` takes it down")]
    Exists(String),
    /// There is none.
    #[error("there is no lab `{0}`; `bulkhead lab up --name {0}` builds it")]
    Missing(String),
    /// There is no such device or workload.
    #[error("the lab has no `{wanted}`; it has {known}")]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// The kernel does not let us.
    #[error("cannot {doing}; a lab needs root")]
    Kernel {
        /// What was being done.
        doing: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file or folder does not do.
    #[error("cannot use {}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program is not there.
    #[error("`{program}` does not run; `apt-get install {package}` brings it")]
    Program {
        /// Which one.
        program: String,
        /// What it is part of.
        package: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A program did not do what it was asked for.
    #[error("`{program}` failed: {said}")]
    Failed {
        /// Which one.
        program: String,
        /// Its last words.
        said: String,
    },
    /// The lab's own documents are not accepted.
    #[error("the lab's documents are refused: {0}")]
    Refused(String),
    /// The log does not open.
    #[error("the lab's log cannot be read")]
    Log(#[from] store::ReadError),
    /// The log cannot be used.
    #[error("the lab's log cannot be used")]
    Journal(#[from] control::JournalError),
    /// It did not become what it should in time.
    #[error("{what} did not happen within {seconds} s: {missing}")]
    Late {
        /// What was waited for.
        what: &'static str,
        /// How long.
        seconds: u64,
        /// What was still missing.
        missing: String,
    },
    /// Somebody asked to stop.
    #[error("interrupted; what was built is taken down again")]
    Interrupted,
    /// A thread inside a namespace ended before its work.
    #[error("the work inside a namespace ended early")]
    Gone,
}

impl From<NoDraft> for LabTrouble {
    fn from(none: NoDraft) -> Self {
        match none {
            NoDraft::Documents(refusals) => refused(&refusals),
            NoDraft::Plan(refusals) => refused(&refusals),
            NoDraft::NotThere(keys) => refused(&keys),
            NoDraft::Nothing => Self::Refused("there are none".to_owned()),
            NoDraft::Stale => Self::Refused("they come to something else than before".to_owned()),
            NoDraft::Journal(error) => error.into(),
        }
    }
}

fn refused(refusals: &[impl ToString]) -> LabTrouble {
    let said: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    LabTrouble::Refused(said.join("; "))
}

impl LabTrouble {
    pub(crate) fn kernel(doing: impl Into<String>) -> impl FnOnce(nix::Error) -> Self {
        move |error| Self::Kernel { doing: doing.into(), source: error.into() }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.into(), source }
    }
}
