//! What a node was sent, written down before anything is done about it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model::{Dialect, Generation};
use serde::{Deserialize, Serialize};

use crate::slots::{Slots, failed};
use crate::{NodeError, Sent};

/// The folder where it is written down.
pub(crate) struct State {
    folder: PathBuf,
    slots: Slots,
    sent: Option<Sent>,
    is_complete: bool,
}

/// As it is written down.
#[derive(Serialize, Deserialize)]
struct Stored {
    generation: u64,
    texts: Vec<(String, String)>,
}

impl State {
    pub(crate) fn open(folder: &Path) -> Result<Self, NodeError> {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let (slots, written) = Slots::open(folder)?;
        let stored = written.map(|bytes| serde_json::from_slice::<Stored>(&bytes)).transpose();
        let stored = stored.map_err(|error| failed(folder)(error.into()))?;
        let sent = stored.map(Stored::sent);
        let mut state = Self { folder: folder.into(), slots, sent, is_complete: false };
        state.is_complete = state.mark().is_some_and(|mark| mark.exists());
        Ok(state)
    }

    pub(crate) fn sent(&self) -> Option<&Sent> {
        self.sent.as_ref()
    }

    /// Whether all that was sent was also done.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Writes it down so that no crash can lose it: it is whole, or what was sent before is.
    pub(crate) fn begin(&mut self, sent: &Sent) -> Result<(), NodeError> {
        let _ = self.mark().map(fs::remove_file); // it may not be there
        self.is_complete = false;
        if self.sent.as_ref() == Some(sent) {
            return Ok(());
        }
        let texts = sent.texts.iter();
        let texts = texts.map(|(dialect, text)| (dialect.as_str().to_owned(), text.clone()));
        let stored = Stored { generation: sent.generation.0, texts: texts.collect() };
        let bytes =
            serde_json::to_vec(&stored).map_err(|error| failed(&self.folder)(error.into()))?;
        self.slots.write(&bytes)?;
        self.sent = Some(sent.clone());
        Ok(())
    }

    /// Marks it as done. A mark that a crash loses only means that it is looked at again.
    pub(crate) fn complete(&mut self) -> Result<(), NodeError> {
        if let Some(mark) = self.mark() {
            File::create(&mark).map_err(failed(&mark))?;
        }
        self.is_complete = true;
        Ok(())
    }

    fn mark(&self) -> Option<PathBuf> {
        self.sent.as_ref().map(|sent| self.folder.join(format!("complete-{}", sent.generation)))
    }
}

impl Stored {
    fn sent(self) -> Sent {
        let named = |name: &str| Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name);
        let texts = self.texts.into_iter();
        let texts = texts.filter_map(|(name, text)| named(&name).map(|dialect| (dialect, text)));
        Sent { generation: Generation(self.generation), texts: texts.collect() }
    }
}
