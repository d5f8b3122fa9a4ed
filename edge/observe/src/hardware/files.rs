//! Files of the node, and what is wrong with those that do not answer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why the hardware could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// A file does not answer.
    #[error("cannot read {}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file says something that makes no sense, or that nothing can be built on.
    #[error("{} says `{said}`: {why}", path.display())]
    Strange {
        /// Which one.
        path: PathBuf,
        /// What it says.
        said: String,
        /// What is wrong with that, and what to do.
        why: &'static str,
    },
    /// Something that must be there is not.
    #[error("there is no {}: {why}", path.display())]
    Missing {
        /// What.
        path: PathBuf,
        /// Why it is needed, and what to do.
        why: &'static str,
    },
}

/// The files below a root.
pub(super) struct Files<'a> {
    pub(super) root: &'a Path,
}

impl Files<'_> {
    /// Where a file is.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Its bytes, if it is there.
    pub(super) fn bytes(&self, file: &str) -> Result<Option<Vec<u8>>, Unread> {
        let path = self.path(file);
        absent_is_none(fs::read(&path)).map_err(|source| Unread::File { path, source })
    }

    /// Its text without blanks around it, if it is there.
    pub(super) fn text(&self, file: &str) -> Result<Option<String>, Unread> {
        let bytes = self.bytes(file)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
    }

    /// What it says, if it is there.
    pub(super) fn value<T: FromStr>(
        &self,
        file: &str,
        why: &'static str,
    ) -> Result<Option<T>, Unread> {
        let Some(said) = self.text(file)? else {
            return Ok(None);
        };
        match said.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(Unread::Strange { path: self.path(file), said, why }),
        }
    }

    /// A number that is written `0x10de`.
    pub(super) fn hex(&self, file: &str) -> Result<u32, Unread> {
        let said = self.must(file)?;
        let digits = said.strip_prefix("0x").unwrap_or_default();
        u32::from_str_radix(digits, 16).map_err(|_| Unread::Strange {
            path: self.path(file),
            said: said.clone(),
            why: "0x and hexadecimal digits were expected",
        })
    }

    /// The text of a file that must be there.
    pub(super) fn must(&self, file: &str) -> Result<String, Unread> {
        self.text(file)?.ok_or_else(|| Unread::File {
            path: self.path(file),
            source: io::ErrorKind::NotFound.into(),
        })
    }

    /// The last name of what a link leads to, if the link is there.
    pub(super) fn link(&self, link: &str) -> Result<Option<String>, Unread> {
        let path = self.path(link);
        let target = absent_is_none(fs::read_link(&path));
        let target = target.map_err(|source| Unread::File { path, source })?;
        let name = target.as_deref().and_then(Path::file_name);
        Ok(name.map(|name| name.to_string_lossy().into_owned()))
    }

    /// Where a link leads in the end.
    pub(super) fn real(&self, link: &str) -> Result<PathBuf, Unread> {
        let path = self.path(link);
        fs::canonicalize(&path).map_err(|source| Unread::File { path, source })
    }

    /// The names in a folder in order; none if there is no such folder.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, Unread> {
        let path = self.path(folder);
        let failed = |source| Unread::File { path: path.clone(), source };
        let Some(entries) = absent_is_none(fs::read_dir(&path)).map_err(failed)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

fn absent_is_none<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
