//! The documents that people wrote: from files, folders or the standard input.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use control::{Draft, KeptPlan, Request};
use intent::{Intent, Source};
use plan::Ledger;

use crate::command::kept_alone;
use crate::ending::Stop;
use crate::state::{State, now};
use crate::words::{DIM, note, plural, some};

/// Which documents.
#[derive(Args, Clone)]
pub(crate) struct Documents {
    /// Documents in YAML or JSON: files, folders (all *.yaml, *.yml and *.json inside, at any
    /// depth), or `-` for the standard input
    /// Beside what the log holds already; without any, just that.
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
}

/// A file that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

/// A file and its text.
struct Paper {
    file: String,
    text: String,
}

impl Documents {
    /// These.
    pub(crate) const fn of(files: Vec<PathBuf>) -> Self {
        Self { files }
    }

    /// And this one.
    pub(crate) fn extend(&mut self, file: Option<&str>) {
        self.files.extend(file.map(PathBuf::from));
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// All of them as a request: beside those that stand, or in place of all of them.
    pub(crate) fn request(&self, prune: bool) -> Result<Request, Stop> {
        let mut papers = Vec::new();
        for path in &self.files {
            gather(path, &mut papers)?;
        }
        self.tell(&papers);
        let sources: Vec<Source<'_>> =
            papers.iter().map(|paper| Source { file: &paper.file, text: &paper.text }).collect();
        Ok(Request { prune, ..Request::put(&sources) })
    }

    /// The kept plan that this is, if it is one.
    pub(crate) fn kept(&self) -> Result<Option<Request>, Stop> {
        let mut kept = None;
        for path in self.files.iter().filter(|path| path.is_file()) {
            kept = kept.or(KeptPlan::read(&text_of(path)?).map(|read| (path, read)));
        }
        let Some((path, read)) = kept else { return Ok(None) };
        if self.files.len() > 1 {
            return Err(kept_alone());
        }
        let read = read.map_err(|source| NotKept { path: path.clone(), source })?;
        Ok(Some(read.request()))
    }

    /// What is asked for with them, on top of what the log holds.
    pub(crate) fn draft(&self, state: &State) -> Result<Draft, Stop> {
        let request = self.request(false)?;
        state.look()?.draft(&request, now()).map_err(Stop::no_draft)
    }

    /// The same, checked and not planned.
    pub(crate) fn asked(&self, state: &State) -> Result<(Intent, Ledger), Stop> {
        let request = self.request(false)?;
        let journal = state.look()?;
        let intent = journal.asked(&request, now()).map_err(Stop::no_draft)?;
        Ok((intent, journal.state_at(now()).ledger().clone()))
    }

    /// These alone, whatever the log holds.
    pub(crate) fn alone(&self) -> Result<Intent, Stop> {
        let documents = self.request(false)?.put;
        intent::load_written(&documents.iter().collect::<Vec<_>>()).map_err(Stop::documents)
    }

    /// Whoever names a folder is told what was found in it.
    fn tell(&self, papers: &[Paper]) {
        const MOST: usize = 6;
        if self.files.iter().any(|path| path.is_dir()) {
            let files = papers.iter().map(|paper| &paper.file);
            let count = plural(papers.len(), "file");
            note(format_args!("{DIM}Read {count}: {}.{DIM:#}", some(files, MOST)));
        }
    }
}

/// A file that calls itself a kept plan and is none that this version can read.
#[derive(Debug, thiserror::Error)]
#[error("{} is no kept plan that this version can read", path.display())]
struct NotKept {
    path: PathBuf,
    source: serde_json::Error,
}

/// A folder in which no document stands.
#[derive(Debug, thiserror::Error)]
#[error("there is no *.yaml, *.yml or *.json in the folder {} or below it", path.display())]
struct Empty {
    path: PathBuf,
}

fn gather(path: &Path, papers: &mut Vec<Paper>) -> Result<(), Stop> {
    if !path.is_dir() {
        let text = text_of(path)?;
        if KeptPlan::read(&text).is_some() {
            return Err(Stop::argument(
                "kept-plan",
                format!("{} is a kept plan and no document", path.display()),
                "`bulkhead apply FILE --to …` does what it says",
            ));
        }
        papers.push(Paper { file: path.display().to_string(), text });
        return Ok(());
    }
    let mut files = Vec::new();
    inside(path, &mut files).map_err(unreadable(path))?;
    if files.is_empty() {
        return Err(Empty { path: path.to_owned() }.into());
    }
    for file in files {
        let text = text_of(&file)?;
        if KeptPlan::read(&text).is_some() {
            continue;
        }
        papers.push(Paper { file: file.display().to_string(), text });
    }
    Ok(())
}

/// The documents inside a folder and all below it, in the order of their names. What is hidden is
/// not for us, and a link to a folder may lead in circles.
fn inside(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            inside(&path, files)?;
        } else if is_document(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_document(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    path.is_file() && matches!(ending, Some("yaml" | "yml" | "json"))
}

/// The text of a file, or of the standard input.
pub(crate) fn text_of(path: &Path) -> Result<String, Unreadable> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    text.map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Unreadable {
    let path = path.to_owned();
    |source| Unreadable { path, source }
}
