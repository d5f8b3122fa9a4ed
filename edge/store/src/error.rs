//! Why a log cannot be read or appended to, and what to do about it.

use std::io;
use std::path::PathBuf;

use model::{Digest, Epoch};
use smol_str::SmolStr;

use crate::{FORMAT, LONGEST_LINE_BYTES, Revision};

/// Why the log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not let us.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// A line is not as it was written, and no crash explains it.
    #[error("line {line} of the log {} is damaged", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        source: Damage,
    },
    /// Content beside the log is not as it was written.
    #[error("the content {digest} in {} is damaged", path.display())]
    DamagedContent {
        /// The file.
        path: PathBuf,
        /// What a record calls it.
        digest: Digest,
    },
    /// There is no log, but there was one.
    #[error("the log {} is lost: {} says that there was one", path.display(), witness.display())]
    Lost {
        /// Where it should be.
        path: PathBuf,
        /// What stands beside it.
        witness: PathBuf,
    },
    /// There is a file that is not this installation's log.
    #[error("{} is not the log of this installation", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Foreign,
    },
    /// The log went back: it was repaired or restored since it was read.
    #[error("the log {} went back: it ends at revision {at}, and {known} was read of it before", path.display())]
    Rewritten {
        /// The file.
        path: PathBuf,
        /// Where it ends now. Also what stands before may be another thing than was read.
        at: Revision,
        /// What was read of it before.
        known: Revision,
    },
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// It does not end as a line of the log ends.
    #[error("it has no sum")]
    NoSum,
    /// It was changed, or the line before it was.
    #[error("its sum is wrong")]
    WrongSum,
    /// Lines are missing or were moved.
    #[error("its number is {found}, but should be {expected}")]
    WrongNumber {
        /// The number it has.
        found: Revision,
        /// The number it should have.
        expected: Revision,
    },
    /// Its batch has another number of lines than was said.
    #[error("it is not where its batch has it")]
    WrongPlace,
    /// It is no record.
    #[error("it is no record")]
    NotARecord(#[source] serde_json::Error),
    /// The log does not say which one it is.
    #[error("no record before it says which log this is")]
    NotBegun,
    /// It cannot be carried over from the log's earlier form.
    #[error("it cannot be carried over from the log's earlier form")]
    Before(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a file is not the log.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Foreign {
    /// Something else.
    #[error("it does not begin as a log begins")]
    NotALog,
    /// A later version wrote it.
    #[error("it has format {format}, and this version reads up to {FORMAT}")]
    Newer {
        /// The form of its lines.
        format: u32,
    },
    /// Another installation wrote it.
    #[error("it is of the installation {found}, and {expected} stands beside it")]
    OtherInstallation {
        /// Whose it is.
        found: SmolStr,
        /// Whose folder it is.
        expected: SmolStr,
    },
    /// Only the log went back to an earlier state, and not the folder that it stands in.
    #[error("it ends in epoch {found}, and {expected} had begun")]
    EarlierEpoch {
        /// Its last epoch.
        found: Epoch,
        /// The epoch that stands beside it.
        expected: Epoch,
    },
}

/// Why records were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody else appended. Nothing was written: read on and begin anew.
    #[error("somebody else appended to the log, which is at revision {at} now")]
    Moved {
        /// Where the log ends.
        at: Revision,
    },
    /// Somebody else appends, and does not come to an end.
    #[error("another process has been writing to the log {} for more than a second", path.display())]
    Busy {
        /// The file that is locked.
        path: PathBuf,
    },
    /// What is there is not sound.
    #[error("cannot append to a log that cannot be read")]
    Unread(#[from] ReadError),
    /// A body cannot be a record. Nothing was written; whoever made it is wrong.
    #[error("body {position} cannot be a record")]
    Unfit {
        /// Its place in the batch, counted from 1.
        position: usize,
        /// Why.
        source: Unfit,
    },
    /// The disk fails.
    #[error("cannot write {}", path.display())]
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

/// Why a body cannot be a record.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// A record is small; what it speaks of stands beside it.
    #[error("its line would have {bytes} bytes, and {LONGEST_LINE_BYTES} are allowed")]
    TooLong {
        /// How long its line would be.
        bytes: usize,
    },
    /// It would be more than one line.
    #[error("it has a line break")]
    LineBreak,
    /// It is not exactly one JSON value.
    #[error("it is not one JSON value")]
    NotJson(#[source] serde_json::Error),
    /// It is not text.
    #[error("it is not UTF-8")]
    NotText(#[source] std::str::Utf8Error),
    /// Only the log itself says that it begins.
    #[error("it says that a log begins, which only the log itself says")]
    Reserved,
}

const CHECK_AND_REPAIR: &str = "`log check` shows what is sound; restore a backup, or keep what is \
                                sound with `log repair` (docs/backup.md)";

impl ReadError {
    /// A short word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "log-unreadable",
            Self::Damaged { .. } => "log-damaged",
            Self::DamagedContent { .. } => "content-damaged",
            Self::Lost { .. } => "log-lost",
            Self::Foreign { .. } => "log-foreign",
            Self::Rewritten { .. } => "log-rewritten",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unreadable { path, .. } => {
                format!("let this user read {}, or run as one who may", path.display())
            }
            Self::Damaged { .. } => CHECK_AND_REPAIR.to_owned(),
            Self::DamagedContent { .. } => "restore `objects` from a backup that holds it; `log \
                                            check` names everything that is damaged, and `log \
                                            repair` cannot help (docs/backup.md)"
                .to_owned(),
            Self::Lost { .. } => "restore a backup, or begin anew in the next epoch with `log \
                                  repair`; `log check` shows what is left (docs/backup.md)"
                .to_owned(),
            Self::Foreign { source: Foreign::Newer { .. }, .. } => {
                "use the version that wrote it, or a later one; `log check` and `log repair` of \
                 this one cannot help (docs/backup.md)"
                    .to_owned()
            }
            Self::Foreign { source: Foreign::EarlierEpoch { .. }, .. } => {
                "begin the next epoch with `log repair`; `log check` shows what is there \
                 (docs/backup.md)"
                    .to_owned()
            }
            Self::Foreign { path, .. } => format!(
                "name the folder of this installation, or move {} away; then `log check` shows \
                 what is left and `log repair` begins anew (docs/backup.md)",
                path.display()
            ),
            Self::Rewritten { .. } => "begin anew and read the log from its beginning; after a \
                                       restored backup run `log repair` first, `log check` shows \
                                       the epoch (docs/backup.md)"
                .to_owned(),
        }
    }
}

impl AppendError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Moved { .. } => "try again: the log is read on first".to_owned(),
            Self::Busy { path } => {
                format!("end the process that has {} open, and try again", path.display())
            }
            Self::Unread(why) => why.remedy(),
            Self::Unfit { .. } => "this is a fault of the program: report it".to_owned(),
            Self::Unwritable { path, .. } => format!(
                "make room on the disk of {}, or let this user write there; then try again",
                path.display()
            ),
            Self::FailedBefore { .. } => {
                format!("begin anew: the log is opened again. If it is damaged, {CHECK_AND_REPAIR}")
            }
        }
    }
}
