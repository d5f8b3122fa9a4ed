//! What a node was sent, written down before anything is done about it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use model::Generation;

use crate::slots::{Slots, Written, failed};
use crate::{Admitted, NodeError};

/// The folder where it is written down.
pub(crate) struct State {
    folder: PathBuf,
    /// The file with the generation that is done.
    mark: PathBuf,
    slots: Slots,
    sent: Option<Admitted>,
    /// Whether the disk was waited for.
    is_durable: bool,
    is_complete: bool,
}

/// What a node was sent last, as its agent keeps it in this folder; none if nothing was. Nothing is
/// changed by looking.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn kept(folder: &Path) -> Result<Option<Admitted>, NodeError> {
    Ok(open(folder)?.1)
}

fn open(folder: &Path) -> Result<(Slots, Option<Admitted>), NodeError> {
    let (slots, written) = Slots::open(folder)?;
    let sent = written.map(|bytes| serde_json::from_slice(&bytes)).transpose();
    Ok((slots, sent.map_err(|error| failed(folder)(error.into()))?))
}

impl State {
    pub(crate) fn open(folder: &Path) -> Result<Self, NodeError> {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let (slots, sent) = open(folder)?;
        let (folder, mark) = (folder.to_owned(), folder.join("complete"));
        let mut state = Self { folder, mark, slots, sent, is_durable: true, is_complete: false };
        state.is_complete = state.is_marked().map_err(failed(&state.mark))?;
        Ok(state)
    }

    pub(crate) fn sent(&self) -> Option<&Admitted> {
        self.sent.as_ref()
    }

    /// Whether all that was sent was also done.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether this is what was sent last, and is on the disk.
    pub(crate) fn keeps(&self, sent: &Admitted) -> bool {
        self.is_durable && self.sent.as_ref() == Some(sent)
    }

    /// Writes it down before anything is done about it: it is whole, or what was sent before is.
    /// Nobody may be told that it is held before the disk was waited for.
    pub(crate) fn begin(&mut self, sent: &Admitted) -> Result<Written, NodeError> {
        self.doubt()?;
        self.is_durable = false;
        let bytes = serde_json::to_vec(sent).map_err(|error| failed(&self.folder)(error.into()))?;
        let written = self.slots.write(&bytes)?;
        self.sent = Some(sent.clone());
        Ok(written)
    }

    /// From now on it is not known to be done.
    pub(crate) fn doubt(&mut self) -> Result<(), NodeError> {
        self.is_complete = false;
        self.put_mark(Generation::default())
    }

    /// The disk was waited for.
    pub(crate) fn keep(&mut self) {
        self.is_durable = true;
    }

    /// Marks it as done. A mark that a crash loses only means that it is looked at again.
    pub(crate) fn complete(&mut self) -> Result<(), NodeError> {
        self.put_mark(self.sent.as_ref().map(Admitted::generation).unwrap_or_default())?;
        self.is_complete = true;
        Ok(())
    }

    fn is_marked(&self) -> io::Result<bool> {
        let generation = self.sent.as_ref().map(|sent| sent.generation().0.to_le_bytes());
        match fs::read(&self.mark) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            mark => mark.map(|mark| generation.is_some_and(|generation| mark == generation)),
        }
    }

    /// Written over in place: to make a file and to remove one costs a hundred times as much.
    fn put_mark(&self, generation: Generation) -> Result<(), NodeError> {
        let file = File::options().write(true).create(true).truncate(false).open(&self.mark);
        let put = file.and_then(|file| file.write_all_at(&generation.0.to_le_bytes(), 0));
        put.map_err(failed(&self.mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Dialect, Part};

    #[test]
    fn others_can_look_at_what_was_sent_and_leave_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("kept-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        assert_eq!(kept(&folder).unwrap(), None);
        assert!(!folder.exists());
        let said = r#"{"generation": 3, "texts": [["table", "default drop\n"]]}"#;
        let sent: Admitted = serde_json::from_str(said).unwrap();
        State::open(&folder).unwrap().begin(&sent).unwrap();
        let kept = kept(&folder).unwrap().unwrap();
        let parts: Vec<(&Part, &str)> = kept.parts(Dialect::Table).collect();
        assert_eq!(parts, [(&Part::Whole, "default drop\n")]);
        assert_eq!(kept.parts(Dialect::Frr).count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
