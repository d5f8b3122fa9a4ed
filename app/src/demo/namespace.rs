//! Network namespaces that live as long as a thread: whatever happens, nothing of them stays.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

/// A network namespace, and a mount namespace with a BPF file system of its own.
///
/// Its thread does one piece of work after the other. When it is dropped, or the process dies, the
/// kernel takes the interfaces, the programs and their pins away.
pub(crate) struct Namespace {
    /// The thread's number, by which `ip` finds the namespace.
    id: i32,
    work: Sender<Work>,
}

type Work = Box<dyn FnOnce() + Send>;

/// Why the small world does not stand.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The kernel does not let us.
    #[error("no network namespace")]
    Namespace(#[source] nix::Error),
    /// A program is missing.
    #[error("`{program}` does not run")]
    Missing { program: &'static str, source: io::Error },
    /// A program refused.
    #[error("`{program}` says: {said}")]
    Refused { program: &'static str, said: String },
    /// The thread of a namespace ended before its work.
    #[error("a network namespace is gone")]
    Gone,
    /// A socket failed.
    #[error("a socket does not answer")]
    Socket(#[from] io::Error),
    /// The filter failed.
    #[error(transparent)]
    Filter(#[from] filter::PutError),
}

impl From<filter::Fault> for Trouble {
    fn from(fault: filter::Fault) -> Self {
        Self::Filter(fault.into())
    }
}

impl Namespace {
    pub(crate) fn new() -> Result<Self, Trouble> {
        let (work, todo) = mpsc::channel::<Work>();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let entered = enter().map(|()| gettid().as_raw());
            let is_in = entered.is_ok();
            if tell.send(entered).is_ok() && is_in {
                todo.iter().for_each(|work| work());
            }
        });
        let id = told.recv().map_err(|_| Trouble::Gone)?.map_err(Trouble::Namespace)?;
        Ok(Self { id, work })
    }

    /// By what name `ip` knows it.
    pub(crate) const fn id(&self) -> i32 {
        self.id
    }

    /// Does this inside.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (tell, told) = mpsc::channel();
        // A thread that is gone does not tell.
        let _ = self.work.send(Box::new(move || drop(tell.send(work()))));
        told.recv().map_err(|_| Trouble::Gone)?
    }

    /// Runs `ip` or `bridge` inside, with one command a line.
    pub(crate) fn batch(&self, program: &'static str, lines: String) -> Result<(), Trouble> {
        self.run(move || batch(program, &lines))
    }
}

/// Leaves the network and the mounts of this process behind.
fn enter() -> nix::Result<()> {
    let none: Option<&Path> = None;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    // What is mounted here from now on is nobody else's.
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none)?;
    // A workload that speaks unasked would blur the picture; without IPv6 it does not.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    Ok(())
}

fn batch(program: &'static str, lines: &str) -> Result<(), Trouble> {
    let missing = |source| Trouble::Missing { program, source };
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it did not take, it complains about.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::Refused { program, said: said.lines().next().unwrap_or_default().to_owned() })
}
