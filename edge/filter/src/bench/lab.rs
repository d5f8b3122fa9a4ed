//! Two network namespaces and a cable. Both are gone when their last file is closed.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use aya::programs::{TestRun as _, TestRunAttrs, TestRunOptions, Xdp};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns, unshare};
use nix::unistd::Pid;

use super::bed::cpu_ns;
use crate::Fault;

/// A network namespace without a name.
pub(super) struct Namespace {
    file: File,
}

impl Namespace {
    pub(super) fn new() -> Result<Self, Fault> {
        // In a thread of its own: the caller stays where it is.
        apart(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(privileged)?;
            let path = Path::new("/proc/thread-self/ns/net");
            let file = File::open(path).map_err(crate::kernel::file(path))?;
            run("ip", &["link", "set", "lo", "up"])?;
            Ok(Self { file })
        })
    }

    /// Does something inside, in a thread of its own.
    pub(super) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send,
    ) -> Result<T, Fault> {
        apart(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(privileged)?;
            work()
        })
    }

    /// What commands know it by, while it lives.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

impl Namespace {
    /// How many frames an interface has taken in.
    pub(super) fn received(&self, interface: &str) -> Result<u64, Fault> {
        let path = Path::new("/proc/thread-self/net/dev");
        let text = self.inside(|| fs::read_to_string(path).map_err(crate::kernel::file(path)))?;
        // After the name and a colon: bytes, then packets.
        let line = text.lines().find_map(|line| line.trim().strip_prefix(interface));
        let count = line.and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
        count.ok_or_else(|| Fault::NoInterface { interface: interface.into() })
    }
}

/// Two namespaces, `near` and `far`, with a cable between their interfaces of the same names. What
/// arrives at the far end is taken in by a kernel thread of its own on another CPU than the near one.
pub(super) struct Cable {
    pub(super) near: Namespace,
    pub(super) far: Namespace,
}

/// The Ethernet addresses of the two ends, as frames of the bench have them.
const NEAR_MAC: &str = "02:00:00:00:01:01";
const FAR_MAC: &str = "02:00:00:00:01:02";
/// The CPU that makes frames, and the one that judges them.
const NEAR_CPU: usize = 0;
const FAR_CPU: usize = 1;

impl Cable {
    pub(super) fn new() -> Result<Self, Fault> {
        let (near, far) = (Namespace::new()?, Namespace::new()?);
        let there = far.path();
        near.inside(|| {
            let add = ["link", "add", "near", "address", NEAR_MAC, "type", "veth"];
            let peer = ["peer", "name", "far", "address", FAR_MAC, "netns", &there];
            run("ip", &[&add[..], &peer[..]].concat())?;
            run("ip", &["link", "set", "near", "addrgenmode", "none", "up"])
        })?;
        far.inside(|| run("ip", &["link", "set", "far", "addrgenmode", "none", "up"]))?;
        Ok(Self { near, far })
    }

    /// Lets a kernel thread of its own take in what arrives. The far end must have a program.
    pub(super) fn receiver(&self) -> Result<Receiver, Fault> {
        let before: Vec<i32> = receivers().collect();
        self.far.inside(|| {
            // The devices of a namespace are seen where its own sysfs is mounted.
            unshare(CloneFlags::CLONE_NEWNS).map_err(privileged)?;
            let none: Option<&str> = None;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
                .map_err(privileged)?;
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)
                .map_err(privileged)?;
            let path = Path::new("/sys/class/net/far/threaded");
            fs::write(path, "1").map_err(crate::kernel::file(path))
        })?;
        Receiver::new(&before)
    }
}

/// A kernel thread that takes in frames.
pub(super) struct Receiver {
    pid: i32,
}

impl Receiver {
    /// The one that helps out the CPU that makes frames.
    pub(super) fn near() -> Result<Self, Fault> {
        let name = format!("ksoftirqd/{NEAR_CPU}");
        let found = threads(&name).next();
        let pid = found.ok_or_else(|| failed(&name, "the kernel has no such thread".into()))?;
        Ok(Self { pid })
    }

    fn new(before: &[i32]) -> Result<Self, Fault> {
        let found = receivers().find(|pid| !before.contains(pid));
        let pid =
            found.ok_or_else(|| failed("napi/far", "the kernel started no such thread".into()))?;
        pin(Pid::from_raw(pid), FAR_CPU)?;
        Ok(Self { pid })
    }

    /// The CPU time it has used, in nanoseconds.
    pub(super) fn cpu_ns(&self) -> Result<f64, Fault> {
        let path = format!("/proc/{}/schedstat", self.pid);
        let text = fs::read_to_string(&path).map_err(crate::kernel::file(Path::new(&path)))?;
        let first = text.split(' ').next().and_then(|number| number.parse().ok());
        first.ok_or_else(|| failed(&path, text))
    }
}

/// The kernel threads of all far ends, ours and others'.
fn receivers() -> impl Iterator<Item = i32> {
    threads("napi/far-")
}

/// Threads of the kernel whose name begins like this.
fn threads(name: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(move |pid| {
        let said = fs::read_to_string(format!("/proc/{pid}/comm"));
        said.is_ok_and(|said| said.starts_with(name))
    })
}

/// Frames that are made before they are judged, and before the clock is looked at.
const BATCH: u32 = 64;
const BETWEEN: u32 = 64 * 256;

/// Lets a program send this frame all the time, for so long; gives the CPU time it took, in
/// nanoseconds.
pub(super) fn flood(sender: &Xdp, frame: &[u8], during: Duration) -> Result<f64, Fault> {
    let (begun, cpu) = (Instant::now(), cpu_ns());
    while begun.elapsed() < during {
        send(sender, frame, BETWEEN)?;
    }
    Ok(cpu_ns() - cpu)
}

/// Lets a program send this frame so often.
pub(super) fn send(sender: &Xdp, frame: &[u8], count: u32) -> Result<(), Fault> {
    let options = TestRunOptions {
        data_in: Some(frame),
        repeat: count,
        attrs: TestRunAttrs::new().xdp_live_frames(BATCH),
        ..TestRunOptions::default()
    };
    sender.test_run(options).map(drop).map_err(crate::kernel::program("send"))
}

/// Keeps the calling thread on the CPU that makes frames.
pub(super) fn stay_near() -> Result<(), Fault> {
    pin(Pid::from_raw(0), NEAR_CPU)
}

/// Keeps the calling thread on the other CPU.
pub(super) fn stay_far() -> Result<(), Fault> {
    pin(Pid::from_raw(0), FAR_CPU)
}

fn pin(pid: Pid, cpu: usize) -> Result<(), Fault> {
    let mut cpus = CpuSet::new();
    // A machine with one CPU has no other one; then both share it.
    let cpu =
        if thread::available_parallelism().is_ok_and(|count| count.get() > cpu) { cpu } else { 0 };
    cpus.set(cpu).and_then(|()| sched_setaffinity(pid, &cpus)).map_err(privileged)
}

/// Runs a command in the namespace of the calling thread.
pub(super) fn run(command: &str, arguments: &[&str]) -> Result<(), Fault> {
    feed(command, arguments, "").map(drop)
}

/// Runs a command with this text at its input; gives what it says.
pub(super) fn feed(command: &str, arguments: &[&str], input: &str) -> Result<String, Fault> {
    let broken = |source| Fault::File { path: command.into(), source };
    let mut child = Command::new(command)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(broken)?;
    if let Some(mut stdin) = child.stdin.take() {
        io::Write::write_all(&mut stdin, input.as_bytes()).map_err(broken)?;
    }
    let output = child.wait_with_output().map_err(broken)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let line = format!("{command} {}", arguments.join(" "));
    Err(failed(&line, String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn failed(command: &str, said: String) -> Fault {
    Fault::File { path: command.into(), source: io::Error::other(said.trim().to_owned()) }
}

fn apart<T: Send>(work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn privileged(errno: nix::Error) -> Fault {
    crate::kernel::privileged(errno.into())
}
