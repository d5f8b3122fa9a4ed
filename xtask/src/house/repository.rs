//! The files of this repository, and what a rule finds in them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A file by its path from the root, with its text.
pub(super) struct SourceFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// A place where a rule is broken, and the remedy.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Violation {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl SourceFile {
    /// Breaks a rule in this line, counted from 1.
    pub(super) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, what: what.into() }
    }

    /// Whether the file is in this folder, given from the root.
    pub(super) fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Fails with every violation, if there is one.
#[track_caller]
pub(super) fn assert_none(violations: &[Violation]) {
    assert!(violations.is_empty(), "\n{}", sentences(violations));
}

/// The violations, one a line.
pub(super) fn sentences(violations: &[Violation]) -> String {
    violations.iter().map(|violation| format!("{violation}\n")).collect()
}

/// Every text file whose path has one of these endings.
pub(super) fn files(endings: &[&str]) -> Vec<SourceFile> {
    let root = root();
    let mut paths = Vec::new();
    walk(&root, &mut paths);
    paths.sort();
    let files: Vec<SourceFile> = paths
        .iter()
        .filter_map(|path| {
            let relative = path.strip_prefix(&root).unwrap().to_str().unwrap();
            endings.iter().any(|ending| relative.ends_with(ending)).then(|| relative.to_owned())
        })
        .filter_map(|path| {
            let bytes = fs::read(root.join(&path)).unwrap();
            let text = String::from_utf8(bytes).ok()?;
            Some(SourceFile { path, text })
        })
        .collect();
    assert!(!files.is_empty(), "a rule about no file cannot fail");
    files
}

/// One file, by its path from the root.
pub(super) fn file(path: &str) -> Option<SourceFile> {
    let text = fs::read_to_string(root().join(path)).ok()?;
    Some(SourceFile { path: path.to_owned(), text })
}

/// Whether there is a file or folder at this path from the root.
pub(super) fn exists(path: &str) -> bool {
    root().join(path).exists()
}

fn root() -> PathBuf {
    let xtask = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    xtask.parent().unwrap().to_owned()
}

/// What is built, downloaded, learned or kept by a running program is nobody's source.
const NOT_SOURCE: [&str; 7] =
    [".git", "target", "node_modules", "corpus", "crashes", "seeds", "bulkhead-state"];

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap_or_default();
        if NOT_SOURCE.contains(&name) {
            continue;
        }
        if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(path);
        }
    }
}
