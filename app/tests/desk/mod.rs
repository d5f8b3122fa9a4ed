//! A folder of its own and the built binary, as a person at a desk has them.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file is a program of its own and uses a part; a desk that breaks ends the test"
)]

pub(crate) mod answers;
mod schema;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The documents of the demonstration: two sites, four tenants, five jobs.
pub(crate) const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/demo");

/// A folder that is gone after the test.
pub(crate) struct Desk {
    folder: PathBuf,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Desk {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("bulkhead-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Changes a file and insists that this is a change.
    pub(crate) fn edit(&self, name: &str, edit: impl FnOnce(&str) -> String) {
        let before = fs::read_to_string(self.path(name)).unwrap();
        let after = edit(&before);
        assert_ne!(before, after, "the edit of {name} changes nothing");
        self.write(name, &after);
    }

    /// Copies the demonstration's documents, to be edited.
    pub(crate) fn copy_cluster(&self) {
        for file in ["fleet.yaml", "work.yaml", "permits.yaml"] {
            fs::copy(Path::new(CLUSTER).join(file), self.path(file)).unwrap();
        }
    }

    /// Every file below a folder, by its path there.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        files(&self.path(folder))
    }

    /// Nobody may write below a folder any more.
    pub(crate) fn lock(&self, folder: &str) {
        for path in self.files(folder).into_keys() {
            let file = self.path(folder).join(path);
            fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(self.path(folder), Permissions::from_mode(0o555)).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.run_with(arguments, "")
    }

    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Answer {
        let mut child = self.any_command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that does not read its input may be gone already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let answer = Answer::of(child.wait_with_output().unwrap());
        // Whatever any test asks for is written as its schema says. Who only looks is asked again by
        // a program, so that it is seen of every answer.
        if answers::is_json(arguments) {
            answers::insist(arguments, Some(answer.code), &answer.out);
        } else if answers::only_looks(arguments) {
            self.run_with(&[arguments, &["-o", "json"]].concat(), input);
        }
        answer
    }

    /// Starts a command that answers in JSON line by line.
    pub(crate) fn listen(
        &self,
        arguments: &[&str],
    ) -> (Child, impl Iterator<Item = Value> + use<>) {
        answers::listen(arguments, self.any_command(arguments))
    }

    /// A command that answers people.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        assert!(!answers::is_json(arguments), "JSON is read by `run` and `listen`");
        self.any_command(arguments)
    }

    fn any_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Every file below a folder, by its path there.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(below, text)| (name.join(below), text)));
        } else {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Answer {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Insists on the exit code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    /// Insists that the answer says this.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.out.contains(part), "no `{part}` in\n{}", self.out);
        self
    }

    /// What it says beside the answer, without the files that were read.
    pub(crate) fn complaints(&self) -> &str {
        let read = self.err.lines().next().filter(|line| line.starts_with("Read "));
        read.map_or(&self.err, |line| self.err[line.len()..].trim_start_matches('\n'))
    }

    /// Insists that there is no answer.
    #[track_caller]
    pub(crate) fn says_nothing(self) {
        assert_eq!(self.out, "");
    }

    /// Insists that the complaint says this.
    #[track_caller]
    pub(crate) fn complains(self, part: &str) -> Self {
        assert!(self.err.contains(part), "no `{part}` in\n{}", self.err);
        self
    }
}
