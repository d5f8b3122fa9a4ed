//! Network namespaces, cables and a host with a filter. Nothing here has a name that outlives the
//! process, except the folder of the filter, which goes when the host does.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use filter::{Kernel, Limits, Mode, PolicyInForce, PutError, Settings, interface_index};
use model::{Generation, Port};
use nix::sched::{CloneFlags, setns, unshare};
use nix::time::{ClockId, clock_gettime};
use wire::Mac;

/// The host's own tunnel address in every world here.
pub(crate) const VTEP: [u8; 4] = [10, 255, 0, 3];
/// Longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// The right to run: one test at a time, because floods and clocks do not go together. None
/// without root.
pub(crate) fn alone() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: needs root");
        return None;
    }
    // A test that failed before this one does not make this one fail.
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How often something is repeated: as often as in CI, or `ROUNDS` times that.
pub(crate) fn times(in_ci: usize) -> usize {
    in_ci * std::env::var("ROUNDS").map_or(1, |rounds| rounds.parse::<usize>().unwrap())
}

/// The kernel's monotonic clock, which is also that of the lease.
pub(crate) fn now_ns() -> u64 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64
}

/// Waits for something that comes soon, or fails with the sentence.
pub(crate) fn until(sentence: &str, mut comes: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !comes() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{sentence}");
        thread::sleep(Duration::from_micros(500));
    }
}

/// Ends the traffic also when a test fails: otherwise its threads would be waited for for ever.
pub(crate) struct Enough<'a>(pub(crate) &'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A network namespace without a name: it ends with whoever holds it, however that dies.
#[derive(Clone)]
pub(crate) struct Namespace(Arc<File>);

impl Namespace {
    pub(crate) fn new() -> Self {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            // What the kernel says by itself would only disturb the counting.
            for which in ["all", "default"] {
                let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                let _ = fs::write(path, "1");
            }
            Self(Arc::new(File::open("/proc/thread-self/ns/net").unwrap()))
        });
        let namespace = made.join().unwrap();
        namespace.ip("link set lo up");
        namespace
    }

    /// Does something inside.
    pub(crate) fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            setns(&*self.0, CloneFlags::CLONE_NEWNET).unwrap();
            what()
        };
        let done = thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Commands of `ip`, one a line.
    pub(crate) fn ip(&self, lines: &str) {
        self.tool("ip", lines);
    }

    /// Commands of `bridge`, one a line.
    pub(crate) fn bridge(&self, lines: &str) {
        self.tool("bridge", lines);
    }

    fn tool(&self, name: &str, lines: &str) {
        let status = self.run(|| {
            let mut command = Command::new(name);
            let mut child = command.args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            child.wait().unwrap()
        });
        assert!(status.success(), "{name} refused one of:\n{lines}");
    }

    /// What `ip` calls this namespace.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// A cable from an interface here to one in another namespace; both ends are up.
    pub(crate) fn cable(&self, name: &str, far: &Self, far_name: &str, far_mac: Mac) {
        let path = far.path();
        self.ip(&format!(
            "link add {name} mtu 9000 type veth peer name {far_name} mtu 9000 address {far_mac} \
             netns {path}\nlink set {name} up"
        ));
        far.ip(&format!("link set {far_name} up"));
    }
}

/// The addresses of the workload with this number, whose port is `swp<number>`.
pub(crate) fn address(number: u8) -> [u8; 4] {
    [10, 1, 0, number]
}

pub(crate) fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

/// The line of a workload behind its port.
pub(crate) fn endpoint(number: u8, tag: u16) -> String {
    format!("endpoint t17 10.1.0.{number} mac {} port swp{number} tag {tag}\n", mac(number))
}

/// The head of every policy here.
pub(crate) const HEAD: &str = "vtep 10.255.0.3\ndefault drop\nspace t17 vni 50017\n";

/// A host with a filter: an uplink `up0` to a fabric, and ports that the test adds.
pub(crate) struct Host {
    pub(crate) kernel: Kernel,
    /// How the uplink is judged.
    pub(crate) mode: Mode,
    pub(crate) inside: Namespace,
    pub(crate) fabric: Namespace,
    /// A namespace that nobody holds is gone, and its cables with it.
    workloads: Vec<Namespace>,
}

impl Host {
    /// One whose gate is open for longer than any test.
    pub(crate) fn open() -> Self {
        let host = Self::new(&Settings { block_bytes: 1 << 16, ..Settings::default() });
        host.kernel.renew(LONG).unwrap();
        host
    }

    pub(crate) fn new(settings: &Settings) -> Self {
        let [inside, fabric] = [Namespace::new(), Namespace::new()];
        inside.cable("up0", &fabric, "fab0", Mac([2, 0xff, 0, 0, 0, 9]));
        inside.ip("link add br0 type bridge stp_state 0 mcast_snooping 0\nlink set br0 up");
        let mut kernel = Kernel::load(&own_place(), settings).unwrap();
        let mode = inside.run(|| kernel.attach_uplink("up0").unwrap());
        Self { kernel, mode, inside, fabric, workloads: Vec::new() }
    }

    /// A workload behind a port of the bridge `br0`.
    pub(crate) fn workload(&mut self, number: u8) -> Namespace {
        let workload = self.lone_workload(number);
        self.join(number, "br0");
        workload
    }

    /// A workload behind a port that leads nowhere, judged before it is up.
    pub(crate) fn lone_workload(&mut self, number: u8) -> Namespace {
        let workload = Namespace::new();
        self.workloads.push(workload.clone());
        let (port, mac, path) = (format!("swp{number}"), mac(number), workload.path());
        self.inside.ip(&format!(
            "link add {port} mtu 9000 type veth peer name eth0 mtu 9000 address {mac} netns {path}"
        ));
        let kernel = &mut self.kernel;
        self.inside.run(|| kernel.attach_port(&port).unwrap());
        self.inside.ip(&format!("link set {port} up"));
        workload.ip("link set eth0 up");
        workload
    }

    /// Puts a workload's port into a bridge, which knows who is there.
    pub(crate) fn join(&self, number: u8, bridge: &str) {
        let (port, mac) = (format!("swp{number}"), mac(number));
        self.inside.ip(&format!("link set {port} master {bridge}"));
        self.inside.bridge(&format!("fdb replace {mac} dev {port} master static"));
    }

    /// Puts the next policy in force.
    pub(crate) fn put(&mut self, text: &str) -> PolicyInForce {
        self.try_put(text, next_generation(&self.kernel)).unwrap()
    }

    pub(crate) fn try_put(
        &mut self,
        text: &str,
        generation: Generation,
    ) -> Result<PolicyInForce, PutError> {
        let Self { kernel, inside, .. } = self;
        inside.run(|| kernel.put(text, generation, &interface, &Limits::default()))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Kernel::danger_detach(self.kernel.place());
    }
}

/// A port is the interface of its name in the namespace of the calling thread.
pub(crate) fn interface(port: &Port) -> Option<u32> {
    interface_index(&port.to_string()).ok()
}

pub(crate) fn next_generation(kernel: &Kernel) -> Generation {
    let held = kernel.held().unwrap();
    Generation(held.and_then(|bytes| wire::Tables::new(&bytes).generation()).unwrap_or(0)).next()
}

/// A folder that no other filter uses.
pub(crate) fn own_place() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("/sys/fs/bpf/live-{}-{number}", std::process::id()).into()
}
