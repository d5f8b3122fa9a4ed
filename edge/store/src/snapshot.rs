//! What a log comes to at a revision, written beside it and believed only if a record names it.

use std::path::Path;
use std::{fs, io};

use model::Digest;

use crate::disk::{self, unreadable, unwritable};
use crate::{AppendError, Folder, ReadError, Revision, Store, WrittenBytes, objects};

const SNAPSHOT: &str = "snapshot-";

impl Folder {
    /// Writes what the log comes to at a revision beside it. A record must name the digest, or
    /// nobody will believe it.
    ///
    /// # Errors
    /// If it cannot be written durably.
    pub fn snapshot(&self, revision: Revision, content: &[u8]) -> Result<Digest, AppendError> {
        let _locked = disk::lock(&self.dir)?;
        let kept = self.keep(content);
        let name = format!("{SNAPSHOT}{revision}");
        let frame = objects::frame(&kept)
            .map_err(|why| unwritable(&self.dir.join(&name))(io::Error::from(why)))?;
        disk::replace(&self.dir, &name, &[&frame], &mut WrittenBytes::default())?;
        Ok(kept.digest)
    }

    /// The last snapshot that is sound and has the digest that a record names for its revision.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn latest_snapshot(
        &self,
        recorded: impl Fn(Revision) -> Option<Digest>,
    ) -> Result<Option<(Revision, Vec<u8>)>, ReadError> {
        let mut revisions =
            revisions(&self.dir).map_err(|source| unreadable(self.dir.as_path(), source))?;
        revisions.sort_unstable();
        for revision in revisions.into_iter().rev() {
            let Some(digest) = recorded(revision) else { continue };
            let bytes = disk::read(&self.dir.join(format!("{SNAPSHOT}{revision}")))?;
            let held = bytes.as_deref().and_then(objects::unframe);
            if let Some((_, content)) = held.filter(|(found, _)| *found == digest) {
                return Ok(Some((revision, content.to_vec())));
            }
        }
        Ok(None)
    }
}

fn revisions(dir: &Path) -> io::Result<Vec<Revision>> {
    let entries = match fs::read_dir(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(SNAPSHOT)?.parse().ok());
        found.extend(number.map(Revision));
    }
    Ok(found)
}
