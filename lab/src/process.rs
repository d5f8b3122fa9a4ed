//! Processes that outlive the command that started them, and can be found and ended later.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::LabTrouble;

/// A process that was started: of the same number *and* the same birth.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    /// When it began, in the kernel's own ticks: numbers are given again, births are not.
    born: u64,
    /// What it is.
    pub(crate) role: String,
    /// The device it runs on.
    pub(crate) device: String,
}

/// How long a process may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

impl Process {
    /// Starts a program in the namespaces of this thread and writes it down.
    ///
    /// It stands in a group of its own, so that an interrupt on the terminal does not reach it.
    pub(crate) fn start(
        book: &Path,
        device: &str,
        role: &str,
        command: &mut Command,
        output: &Path,
    ) -> Result<Self, LabTrouble> {
        let log = OpenOptions::new().create(true).append(true).open(output);
        let log = log.map_err(LabTrouble::file(output))?;
        let again = log.try_clone().map_err(LabTrouble::file(output))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let missing = |source| LabTrouble::Program { program, package: package(role), source };
        command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(again);
        let child = command.spawn().map_err(missing)?;
        let id = child.id().cast_signed();
        let (role, device) = (role.to_owned(), device.to_owned());
        let process = Self { id, born: birth(id).unwrap_or(0), role, device };
        process.write_down(book).map_err(LabTrouble::file(book))?;
        // Whoever ends first, nobody is left a zombie as long as this process lives.
        thread::spawn(move || {
            let mut child = child;
            child.wait()
        });
        Ok(process)
    }

    /// Those of all that were ever started that still run, in the order of their start.
    pub(crate) fn alive(book: &Path) -> Vec<Self> {
        let text = fs::read_to_string(book).unwrap_or_default();
        text.lines().filter_map(Self::read).filter(Self::is_alive).collect()
    }

    /// Those that live in one of these network namespaces, written down or not: a crash may come
    /// between the start of a process and its line in the book.
    pub(crate) fn inside(namespaces: &[PathBuf]) -> Vec<Self> {
        let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        let theirs: Vec<_> = namespaces.iter().filter_map(|path| identity(path)).collect();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let id: i32 = entry.file_name().to_str()?.parse().ok()?;
                let own = identity(&entry.path().join("ns/net"))?;
                let (role, device) = ("stray".to_owned(), String::new());
                theirs.contains(&own).then_some(Self { id, born: birth(id)?, role, device })
            })
            .collect()
    }

    pub(crate) fn is_alive(&self) -> bool {
        birth(self.id) == Some(self.born)
    }

    /// Sends it a signal, unless it is gone.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // It may end between the look and the signal; then there is nothing to do either.
            let _ = kill(Pid::from_raw(self.id), signal);
        }
    }

    fn write_down(&self, book: &Path) -> io::Result<()> {
        let Self { id, born, role, device } = self;
        let mut file = OpenOptions::new().create(true).append(true).open(book)?;
        file.write_all(format!("{id} {born} {role} {device}\n").as_bytes())
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (id, born) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let (role, device) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { id, born, role, device })
    }
}

/// Asks all of them to end, and makes those end that do not.
pub(crate) fn end(processes: &[Process]) {
    for process in processes {
        process.signal(Signal::SIGTERM);
    }
    let until = Instant::now() + PATIENCE;
    while processes.iter().any(Process::is_alive) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    for process in processes {
        process.signal(Signal::SIGKILL);
    }
    while processes.iter().any(Process::is_alive) && Instant::now() < until + PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
}

/// When a process began; none if it is gone, or only waits for its parent to notice.
fn birth(id: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in parentheses may hold blanks; what comes after it cannot (proc_pid_stat(5)).
    let (_, after) = text.rsplit_once(") ")?;
    let mut words = after.split(' ');
    let state = words.next()?;
    (state != "Z" && state != "X").then_some(())?;
    words.nth(18)?.parse().ok()
}

fn package(role: &str) -> &'static str {
    match role {
        "zebra" | "bgpd" => "frr",
        "agent" | "holder" => "coreutils",
        _ => "iproute2",
    }
}
