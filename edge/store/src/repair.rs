//! A log that was damaged or restored goes on in a new epoch, and keeps what was left out.

use std::path::{Path, PathBuf};

use model::Epoch;

use crate::check::{Sound, sound};
use crate::disk::{self, LOG, Witness, unwritable};
use crate::line::{self, Position};
use crate::{
    AppendError, Beginning, Envelope, FORMAT, Foreign, ReadError, Revision, WrittenBytes, salt,
};

/// What somebody wants done with a log that went back.
#[derive(Clone, Debug)]
pub struct Repair {
    /// Who wants it, when and why.
    pub envelope: Envelope,
    /// The highest epoch that anybody was seen to have; the next is above it, too.
    pub seen: Epoch,
    /// The log comes from a backup: then nothing is wrong with it, and still it went back.
    pub is_restored: bool,
}

/// What was done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repaired {
    /// What the log says of itself now.
    pub beginning: Beginning,
    /// The last record that was kept.
    pub after: Revision,
    /// How many lines were left out.
    pub left_out: u64,
    /// Where the file as it was stands now, if anything was left out.
    pub kept_as: Option<PathBuf>,
}

/// Why nothing was repaired.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// There is neither a log nor a trace of one.
    #[error("there is no log in {}", dir.display())]
    Nothing {
        /// The folder.
        dir: PathBuf,
    },
    /// Nothing is wrong, and nobody said that it was restored.
    #[error("nothing is wrong with the log {}", path.display())]
    Sound {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read or written.
    #[error("the log cannot be repaired")]
    Failed(#[from] AppendError),
}

impl From<ReadError> for RepairError {
    fn from(why: ReadError) -> Self {
        Self::Failed(why.into())
    }
}

/// Keeps what is sound up to the damage, and begins the next epoch behind it: whoever heard of
/// what is gone must be able to tell. The file as it was keeps another name. Of a lost log
/// nothing is left, and the next epoch begins with the first record.
///
/// # Errors
/// If there is nothing to repair, the log is another one, or the disk fails.
pub fn repair(dir: &Path, repair: &Repair) -> Result<Repaired, RepairError> {
    let path = dir.join(LOG);
    if disk::trace(dir)?.is_none() && disk::open(&path)?.is_none() {
        return Err(RepairError::Nothing { dir: dir.to_owned() });
    }
    let _locked = disk::lock(dir)?;
    let sound = sound(dir, |_| ())?;
    match sound.problem {
        None if !repair.is_restored => return Err(RepairError::Sound { path }),
        Some(ReadError::Foreign { source: Foreign::EarlierEpoch { .. }, .. }) => {}
        Some(why @ ReadError::Foreign { .. }) => return Err(why.into()),
        _ => {}
    }
    let beginning = next(dir, &sound, repair.seen)?;
    let after = sound.end.revision;
    let from = Position { synced: after, ..sound.end.clone() };
    let began = [line::began(&beginning, Some(after))];
    let (line, _) = line::write(&repair.envelope, &began, &from)?;
    let kept_as = set_aside(dir, &sound)?;
    let mut written = WrittenBytes::default();
    disk::replace(dir, LOG, &[&sound.lines, &line], &mut written)?;
    Witness::write(&beginning, dir, &mut written)?;
    Ok(Repaired { beginning, after, left_out: sound.left_out, kept_as })
}

/// The same installation in an epoch that nobody has seen.
fn next(dir: &Path, sound: &Sound, seen: Epoch) -> Result<Beginning, ReadError> {
    let witness = Witness::of(dir)?;
    let said = sound.end.beginning.as_ref();
    let installation = said
        .map(|said| said.installation.clone())
        .or_else(|| witness.as_ref().map(|witness| witness.installation.clone()));
    let installation = match installation {
        Some(installation) => installation,
        None => salt::installation()?,
    };
    let epochs = [said.map(|said| said.epoch), witness.map(|witness| witness.epoch), Some(seen)];
    let last = epochs.into_iter().flatten().max().unwrap_or_default();
    Ok(Beginning { format: FORMAT, installation, epoch: Epoch(last.0 + 1) })
}

fn set_aside(dir: &Path, sound: &Sound) -> Result<Option<PathBuf>, AppendError> {
    let is_whole = sound.problem.is_none() && sound.torn_bytes == 0;
    if is_whole || !sound.is_there {
        return Ok(None);
    }
    let names = (1..).map(|number| format!("{LOG}.damaged-{number}"));
    let path = disk::set_aside(dir, names).map_err(unwritable(&dir.join(LOG)))?;
    Ok(Some(path))
}
