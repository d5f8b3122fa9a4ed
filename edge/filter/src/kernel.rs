//! The program in the kernel: loaded, pinned, attached, given a policy and a lease.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aya::maps::{Array, Map, MapData, MapError};
use aya::programs::links::{FdLink, LinkError, PinnedLink};
use aya::programs::tc::SchedClassifierLink;
use aya::programs::xdp::XdpLink;
use aya::programs::{
    ProgramError, SchedClassifier, TcAttachType, TestRun as _, TestRunOptions, Xdp, XdpMode,
};
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use model::{Generation, Port};
use wire::Tables;

use crate::lock::Lock;
use crate::{Compiled, Fault, Limits, PutError, compile, standing, sys};

/// The compiled program; `cargo xtask object` makes it and `cargo xtask test` compares it.
const OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/filter.o");

/// Maps that count and stay when the programs change, by their names in the program and its folder.
const SHARED: [&str; 8] =
    ["jobs", "bursts", "buckets", "reasons", "tallies", "events", "budgets", "trace"];
/// What comes with the programs: they know how large a policy's block is, and each set of them has a
/// gate and a lease of its own.
const OWN: [&str; 9] =
    ["policy", "size", "gate", "open", "fabric", "workload", "local", "queue", "renew"];
/// The program's one variable: whether the gate is open. The loader sets it to its first value,
/// closed, whenever it loads programs.
const OPEN: &str = ".bss";

/// The gate's words: when the lease ends, how often one did, the link's rate, how long a burst may
/// last, and the kernel's timer.
const GATE_WORDS: usize = 6;
/// How long a burst may last that passes a rate, in nanoseconds.
pub(crate) const BURST_NS: u64 = 1_000_000;

/// The short way reads so many bytes wherever it reads. What is nearer to the block's end it leaves to
/// the whole rule, which is slower: a policy keeps away from there.
const REACH: u32 = 64;

/// How many tenants the program counts for.
pub(crate) const TENANTS: u32 = 8192;

/// What is chosen when the program is loaded and cannot be changed later.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many bytes one policy may have. A policy that outgrows them needs a new load.
    pub block_bytes: u32,
    /// How many jobs can be counted at once on this device.
    pub slots: u32,
    /// What is sent through all uplinks together, in bits a second; 0 if nobody says.
    pub link_bps: u64,
    /// Write every verdict down, to be compared with the reference.
    pub traced: bool,
    /// Drop what may pass, after it was judged and counted: for measuring.
    pub drop_all: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { block_bytes: 1 << 20, slots: 4096, link_bps: 0, traced: false, drop_all: false }
    }
}

impl Settings {
    /// With room for a policy of so many bytes and for it to grow by a quarter.
    #[must_use]
    pub fn for_policy(bytes: u32) -> Self {
        let roomy = u64::from(bytes) * 5 / 4;
        let usual = Self::default();
        let roomy = u32::try_from(roomy.next_multiple_of(1 << 16)).unwrap_or(bytes);
        Self { block_bytes: roomy.max(usual.block_bytes), ..usual }
    }
}

/// The filter of one device, as the kernel holds it under one folder of the BPF file system.
pub struct Kernel {
    place: PathBuf,
    /// The folder itself: who holds its lock is the only writer.
    folder: File,
    policy: MapData,
    open: Array<MapData, u64>,
    pub(crate) gate: Array<MapData, [u64; GATE_WORDS]>,
    jobs: Array<MapData, [u64; 8]>,
    fabric: Xdp,
    workload: SchedClassifier,
    local: SchedClassifier,
    pub(crate) queue: SchedClassifier,
    renew: Xdp,
    block_bytes: u32,
    slots: u32,
}

/// How an uplink is judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// By the driver, before the kernel makes a packet of a frame.
    Driver,
    /// By the kernel, because the driver cannot.
    Generic,
}

/// What the lease says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GateLease {
    /// Whether packets are judged by the policy; otherwise none of a tenant passes.
    pub open: bool,
    /// When the lease ends, in the kernel's monotonic nanoseconds.
    pub until_ns: u64,
    /// How often a lease ended without being renewed.
    pub lapses: u64,
}

/// A policy in force.
#[derive(Clone, Debug)]
pub struct PolicyInForce {
    /// What it holds.
    pub compiled: Compiled,
    /// The one before it.
    pub before: Option<Generation>,
}

impl Kernel {
    /// Loads the program and pins it under this folder. It is closed and attached to nothing; if a
    /// step fails, nothing of it stays.
    pub fn load(place: &Path, settings: &Settings) -> Result<Self, Fault> {
        mount(place)?;
        if place.join("policy").exists() {
            return Err(Fault::AlreadyLoaded { place: place.into() });
        }
        let result = Self::load_set(place, place, settings);
        if result.is_err() {
            let _ = fs::remove_dir_all(place);
        }
        result
    }

    /// The filter that was loaded under this folder before.
    pub fn open(place: &Path) -> Result<Self, Fault> {
        if !place.join("policy").exists() {
            return Err(Fault::NotLoaded { place: place.into() });
        }
        Self::open_set(place, place)
    }

    /// Judges what comes in from the fabric here.
    pub fn attach_uplink(&mut self, interface: &str) -> Result<Mode, Fault> {
        let _lock = self.begin_writing()?;
        let index = interface_index(interface)?;
        let path = self.link_path("fabric", index);
        standing::clear(&self.place, "fabric", index)?;
        let attached =
            |source| Fault::Attach { hook: "fabric", interface: interface.into(), source };
        let (id, mode) = match self.fabric.attach_to_if_index(index, XdpMode::Driver) {
            Ok(id) => (id, Mode::Driver),
            Err(_) => {
                let id = self.fabric.attach_to_if_index(index, XdpMode::Skb).map_err(attached)?;
                (id, Mode::Generic)
            }
        };
        let link = self.fabric.take_link(id).map_err(attached)?;
        keep(link.try_into(), &path)?;
        Ok(mode)
    }

    /// Judges both directions of a workload's port here, or neither.
    pub fn attach_port(&mut self, interface: &str) -> Result<(), Fault> {
        let _lock = self.begin_writing()?;
        let index = interface_index(interface)?;
        let [inwards, outwards] = ["workload", "local"].map(|hook| self.link_path(hook, index));
        let place = self.place.clone();
        if !standing::clear(&place, "workload", index)? {
            attach_tc(&mut self.workload, interface, TcAttachType::Ingress, "workload", &inwards)?;
        }
        if standing::clear(&place, "local", index)? {
            return Ok(());
        }
        let second =
            attach_tc(&mut self.local, interface, TcAttachType::Egress, "local", &outwards);
        if second.is_err() {
            let _ = fs::remove_file(&inwards);
        }
        second
    }

    /// Puts a policy in force, all of it at one instant. When this returns, no packet is judged by
    /// the one before. A policy that is older than the one in force is refused.
    pub fn put(
        &mut self,
        text: &str,
        generation: Generation,
        interfaces: &dyn Fn(&Port) -> Option<u32>,
        limits: &Limits,
    ) -> Result<PolicyInForce, PutError> {
        let _lock = self.begin_writing()?;
        let held = self.held()?;
        let before = held.as_deref().map(Tables::new);
        let theirs = before.and_then(Tables::generation).map(Generation);
        if let Some(theirs) = theirs.filter(|theirs| *theirs > generation) {
            return Err(PutError::Stale { ours: generation, theirs });
        }
        let limits = Limits { jobs: limits.jobs.min(self.slots - 1), ..*limits };
        let compiled = compile(text, generation, interfaces, before, &limits)?;
        let needed = compiled.bytes.len() as u32; // at most what the limits allow
        if needed.saturating_add(REACH) > self.block_bytes {
            self.grow(Settings::for_policy(needed).block_bytes)?;
        }
        self.count_anew(Tables::new(&compiled.bytes), before)?;
        self.put_bytes(&compiled.bytes)?;
        Ok(PolicyInForce { compiled, before: theirs })
    }

    /// Keeps the gate open for so long from now on. Without another call it closes by itself.
    pub fn renew(&self, lease: Duration) -> Result<(), Fault> {
        let nanoseconds = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX >> 1);
        self.run_renew(nanoseconds)
    }

    /// Closes the gate now: no packet of a tenant passes.
    pub fn close(&self) -> Result<(), Fault> {
        self.run_renew(0)?;
        // A writer that is making room may have taken the lease along before: once more after it.
        let _lock = Lock::of(&self.folder, &self.place)?;
        self.run_renew(0)
    }

    /// What the lease says.
    pub fn gate(&self) -> Result<GateLease, Fault> {
        let grown = self.grown();
        let now = grown.as_ref().unwrap_or(self);
        let [until_ns, lapses, ..] = now.gate.get(&0, 0).map_err(map("gate"))?;
        let open = now.open.get(&0, 0).map_err(map("open"))? != 0;
        Ok(GateLease { open, until_ns, lapses })
    }

    /// The bytes of the policy in force, as the kernel holds them.
    pub fn held(&self) -> Result<Option<Vec<u8>>, Fault> {
        // Another process may have made it grow; and it works on without a name.
        match sys::named(&self.place.join("policy")) {
            Ok(policy) => pointed_bytes(policy.as_fd()),
            Err(_) => pointed_bytes(self.policy.fd().as_fd()),
        }
    }

    /// The same of the filter under this folder, without opening all of it; none if there is none.
    pub fn held_at(place: &Path) -> Result<Option<Vec<u8>>, Fault> {
        match sys::named(&place.join("policy")) {
            Ok(policy) => pointed_bytes(policy.as_fd()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(map_call("policy")(error)),
        }
    }

    /// Where this filter is attached: the hook and the interface's number.
    pub fn attached(&self) -> Result<Vec<(String, u32)>, Fault> {
        standing::named(&self.place)
    }

    /// Takes the filter of this folder away. **Every port it judged is open from then on.**
    pub fn danger_detach(place: &Path) -> Result<(), Fault> {
        if !place.join("policy").exists() {
            return Err(Fault::NotLoaded { place: place.into() });
        }
        fs::remove_dir_all(place).map_err(file(place))
    }

    /// The folder of the BPF file system where the filter is.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// How many bytes a policy may have.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    pub(crate) fn programs(&self) -> (&Xdp, &SchedClassifier, &SchedClassifier) {
        (&self.fabric, &self.workload, &self.local)
    }

    pub(crate) fn map(&self, name: &'static str) -> Result<Map, Fault> {
        let data = MapData::from_pin(self.place.join(name)).map_err(map(name))?;
        Map::from_map_data(data).map_err(map(name))
    }

    pub(crate) fn array<V: aya::Pod>(
        &self,
        name: &'static str,
    ) -> Result<Array<MapData, V>, Fault> {
        Array::try_from(self.map(name)?).map_err(map(name))
    }

    /// What was counted in a slot, on each CPU.
    pub(crate) fn counts(&self, slot: u16) -> Result<Vec<[u64; 8]>, Fault> {
        let count = |cpu| self.jobs.get(&(cpu * self.slots + u32::from(slot)), 0);
        (0..cpus()?).map(count).collect::<Result<_, _>>().map_err(map("jobs"))
    }

    /// Judges by these bytes from now on, whatever they are.
    pub(crate) fn put_bytes(&self, bytes: &[u8]) -> Result<(), Fault> {
        let block = block(bytes, self.block_bytes)?;
        sys::point(self.policy.fd().as_fd(), block.as_fd()).map_err(map_call("policy"))
    }

    /// Takes the names away. What this process holds of the filter works on, and goes with it.
    pub(crate) fn forget(&self) -> Result<(), Fault> {
        fs::remove_dir_all(&self.place).map_err(file(&self.place))
    }

    /// Makes room for larger policies. The one in force stays in force, and so does its lease: both
    /// are copied, and every link moves, one after the other, from a program that has them to one
    /// that has them. Each set of programs closes by its own timer, wherever this is interrupted.
    pub fn grow(&mut self, block_bytes: u32) -> Result<(), Fault> {
        let folder = self.place.join("next");
        let _ = fs::remove_dir_all(&folder); // what a writer left that did not come to its end
        let gate = self.gate.get(&0, 0).map_err(map("gate"))?;
        let [until_ns, lapses, link_bps, burst_ns, ..] = gate;
        let settings = Settings { block_bytes, slots: self.slots, link_bps, ..Settings::default() };
        let mut next = Self::load_set(&folder, &self.place, &settings)?;
        let copied = [until_ns, lapses, link_bps, burst_ns, 0, 0];
        next.gate.set(0, copied, 0).map_err(map("gate"))?;
        if let Some(bytes) = self.held()? {
            next.put_bytes(&bytes)?;
        }
        if self.gate()?.open {
            run_renew(&next.renew, Lease::Until(until_ns))?;
        }
        for (hook, interface) in self.attached()? {
            self.move_link(&hook, interface, &mut next)?;
        }
        for name in OWN {
            let (from, to) = (folder.join(name), self.place.join(name));
            fs::rename(&from, &to).map_err(file(&from))?;
        }
        fs::remove_dir(&folder).map_err(file(&folder))?;
        *self = Self::open(&self.place)?;
        Ok(())
    }

    fn move_link(&self, hook: &str, interface: u32, to: &mut Self) -> Result<(), Fault> {
        let path = self.link_path(hook, interface);
        let link = PinnedLink::from_pin(&path).map_err(|source| Fault::Link { source })?.into();
        let moved = match hook {
            "fabric" => move_xdp(link, &mut to.fabric),
            "workload" => move_tc(link, &mut to.workload),
            "queue" => move_tc(link, &mut to.queue),
            _ => move_tc(link, &mut to.local),
        };
        match moved {
            // The interface is gone, and what was attached to it with it.
            Err(fault) if fault.is_severed() => fs::remove_file(&path).map_err(file(&path)),
            moved => moved,
        }
    }

    /// Loads a set of programs, which count where others of this filter count.
    fn load_set(own: &Path, shared: &Path, settings: &Settings) -> Result<Self, Fault> {
        load_programs(own, shared, settings)?;
        let mut kernel = Self::open_set(own, shared)?;
        let gate = [0, 0, settings.link_bps, BURST_NS, 0, 0];
        kernel.gate.set(0, gate, 0).map_err(map("gate"))?;
        Ok(kernel)
    }

    fn open_set(own: &Path, shared: &Path) -> Result<Self, Fault> {
        let map = |folder: &Path, name: &'static str| {
            MapData::from_pin(folder.join(name)).map_err(self::map(name))
        };
        let tc =
            |name: &'static str| SchedClassifier::from_pin(own.join(name)).map_err(program(name));
        let xdp = |name: &'static str| {
            Xdp::from_pin(own.join(name), XdpAttachType::Interface).map_err(program(name))
        };
        let jobs = array("jobs", map(shared, "jobs")?)?;
        let slots = jobs.len() / cpus()?;
        Ok(Self {
            place: shared.into(),
            folder: File::open(shared).map_err(file(shared))?,
            policy: map(own, "policy")?,
            open: array("open", map(own, "open")?)?,
            gate: array("gate", map(own, "gate")?)?,
            jobs,
            fabric: xdp("fabric")?,
            workload: tc("workload")?,
            local: tc("local")?,
            queue: tc("queue")?,
            renew: xdp("renew")?,
            block_bytes: size_at(own)?,
            slots,
        })
    }

    /// Waits until nobody else writes. The programs are those of now: another process may have made
    /// them grow.
    pub(crate) fn begin_writing(&mut self) -> Result<Lock, Fault> {
        let lock = Lock::of(&self.folder, &self.place)?;
        if let Some(grown) = self.grown() {
            *self = grown;
        }
        Ok(lock)
    }

    /// This filter as it is now, if another process made it grow and it still has a name.
    fn grown(&self) -> Option<Self> {
        let named = sys::about_named(&self.place.join("policy")).ok()?;
        let ours = sys::about(self.policy.fd().as_fd()).ok()?;
        let is_other = named.own_number() != ours.own_number();
        is_other.then(|| Self::open(&self.place).ok()).flatten()
    }

    /// Sets the counters of jobs that are new to this device to zero. No packet counts there yet:
    /// a slot that is given up rests for one policy.
    fn count_anew(&mut self, next: Tables<'_>, before: Option<Tables<'_>>) -> Result<(), Fault> {
        let used: Vec<u16> = before.into_iter().flat_map(slots).collect();
        for slot in slots(next).filter(|slot| !used.contains(slot)) {
            for cpu in 0..cpus()? {
                let index = cpu * self.slots + u32::from(slot);
                self.jobs.set(index, [0; 8], 0).map_err(map("jobs"))?;
            }
        }
        Ok(())
    }

    /// Runs the program that holds the lease, of the set of programs that has the names now.
    fn run_renew(&self, nanoseconds: u64) -> Result<(), Fault> {
        let now = Xdp::from_pin(self.place.join("renew"), XdpAttachType::Interface);
        run_renew(now.as_ref().unwrap_or(&self.renew), Lease::For(nanoseconds))
    }

    pub(crate) fn link_path(&self, hook: &str, interface: u32) -> PathBuf {
        self.place.join(format!("{hook}-{interface}"))
    }
}

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// Loads the programs and pins them in a folder of their own; what counts stays where it is shared.
fn load_programs(own: &Path, shared: &Path, settings: &Settings) -> Result<(), Fault> {
    fs::create_dir_all(own).map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => Fault::Privilege { source },
        _ => file(own)(source),
    })?;
    let template = sys::create_block(settings.block_bytes).map_err(privileged)?;
    let pointer = sys::create_pointer(template.as_fd()).map_err(map_call("policy"))?;
    sys::pin(pointer.as_fd(), &own.join("policy")).map_err(map_call("policy"))?;
    let size = block(&settings.block_bytes.to_ne_bytes(), 4)?;
    sys::pin(size.as_fd(), &own.join("size")).map_err(map_call("size"))?;

    let mut program = loader(own, shared, settings)?.load(OBJECT).map_err(Fault::load)?;
    for name in ["workload", "local", "queue"] {
        let tc: &mut SchedClassifier = found(&mut program, name)?;
        tc.load().map_err(self::program(name))?;
        tc.pin(own.join(name)).map_err(|source| Fault::Pin { source })?;
    }
    for name in ["fabric", "renew"] {
        let xdp: &mut Xdp = found(&mut program, name)?;
        xdp.load().map_err(self::program(name))?;
        xdp.pin(own.join(name)).map_err(|source| Fault::Pin { source })?;
    }
    Ok(())
}

pub(crate) fn loader<'a>(
    own: &Path,
    shared: &Path,
    settings: &'a Settings,
) -> Result<EbpfLoader<'a>, Fault> {
    let mut loader = EbpfLoader::new();
    for name in SHARED {
        loader.map_pin_path(name, shared.join(name));
    }
    let pass = if settings.drop_all { &XDP_DROP } else { &XDP_PASS };
    loader
        .map_pin_path("policy", own.join("policy"))
        .map_pin_path("gate", own.join("gate"))
        .map_pin_path(OPEN, own.join("open"))
        .map_max_entries("jobs", settings.slots * cpus()?)
        .map_max_entries("buckets", TENANTS + settings.slots)
        .override_global("POLICY_BYTES", &settings.block_bytes, true)
        .override_global("SLOTS", &settings.slots, true)
        .override_global("PASS", pass, true)
        .override_global("TRACED", if settings.traced { &1_u32 } else { &0_u32 }, true);
    Ok(loader)
}

/// A block with these bytes in it.
pub(crate) fn block(bytes: &[u8], size: u32) -> Result<OwnedFd, Fault> {
    let block = sys::create_block(size).map_err(map_call("policy"))?;
    sys::write_block(block.as_fd(), bytes, size).map_err(map_call("policy"))?;
    Ok(block)
}

/// The bytes of the block that this pointer points to.
fn pointed_bytes(policy: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Fault> {
    let block = sys::pointed(policy).map_err(map_call("policy"))?;
    let read = |block: OwnedFd| sys::read_block(block.as_fd());
    block.map(read).transpose().map_err(map_call("policy"))
}

/// How large a block is that the programs of this folder take.
fn size_at(place: &Path) -> Result<u32, Fault> {
    let size = MapData::from_pin(place.join("size")).map_err(map("size"))?;
    sys::read_number(size.fd().as_fd()).map_err(map_call("size"))
}

fn move_xdp(link: FdLink, to: &mut Xdp) -> Result<(), Fault> {
    let moved = |source| Fault::Program { program: "fabric", source: Box::new(source) };
    let link = XdpLink::try_from(link).map_err(|source| Fault::Link { source })?;
    let id = to.attach_to_link(link).map_err(moved)?;
    // The link's name keeps it: what is dropped here is only our hold on it.
    to.take_link(id).map(drop).map_err(moved)
}

fn move_tc(link: FdLink, to: &mut SchedClassifier) -> Result<(), Fault> {
    let moved =
        |source| Fault::Program { program: "workload, local or queue", source: Box::new(source) };
    let link = SchedClassifierLink::try_from(link).map_err(|source| Fault::Link { source })?;
    let id = to.attach_to_link(link).map_err(moved)?;
    to.take_link(id).map(drop).map_err(moved)
}

/// How long the gate stays open, in the kernel's monotonic nanoseconds.
#[derive(Clone, Copy)]
enum Lease {
    For(u64),
    Until(u64),
}

/// Opens the gate, or closes it if the lease has no time left.
fn run_renew(renew: &Xdp, lease: Lease) -> Result<(), Fault> {
    let mut data = [0_u8; 64];
    let (at, nanoseconds) = match lease {
        Lease::For(nanoseconds) => (0, nanoseconds),
        Lease::Until(nanoseconds) => (8, nanoseconds),
    };
    data[at..at + 8].copy_from_slice(&nanoseconds.to_ne_bytes());
    let options = TestRunOptions { data_in: Some(&data), ..TestRunOptions::default() };
    let result = renew.test_run(options).map_err(program("renew"))?;
    if result.return_value == XDP_PASS { Ok(()) } else { Err(Fault::Lease) }
}

/// The slots where this policy's jobs are counted.
fn slots(tables: Tables<'_>) -> impl Iterator<Item = u16> {
    let ports = 0..tables.ports().unwrap_or(0);
    ports.filter_map(move |index| tables.port(index).ok()).map(|seat| seat.slot)
}

pub(crate) fn found<'a, P>(program: &'a mut Ebpf, name: &'static str) -> Result<&'a mut P, Fault>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    let program = program.program_mut(name).ok_or(Fault::Object { name })?;
    program.try_into().map_err(self::program(name))
}

pub(crate) fn attach_tc(
    program: &mut SchedClassifier,
    interface: &str,
    direction: TcAttachType,
    hook: &'static str,
    path: &Path,
) -> Result<(), Fault> {
    let attached = |source| Fault::Attach { hook, interface: interface.into(), source };
    let id = program.attach(interface, direction).map_err(attached)?;
    let link: SchedClassifierLink = program.take_link(id).map_err(attached)?;
    keep(link.try_into(), path)
}

/// Pins a link: it stays when this process ends. A link that cannot be pinned is not kept at all.
fn keep(link: Result<FdLink, LinkError>, path: &Path) -> Result<(), Fault> {
    let link = link.map_err(|_| Fault::OldKernel)?;
    let _: PinnedLink = link.pin(path).map_err(|source| Fault::Pin { source })?;
    Ok(())
}

/// The BPF file system, mounted where it always is if nobody did.
fn mount(place: &Path) -> Result<(), Fault> {
    let root = Path::new("/sys/fs/bpf");
    if !place.starts_with(root) || is_bpf(root) {
        return Ok(());
    }
    // The kernel would let everybody look around and put things there.
    let closed = Some("mode=0700");
    nix::mount::mount(Some("bpf"), root, Some("bpf"), nix::mount::MsFlags::empty(), closed)
        .map_err(|errno| privileged(errno.into()))
}

fn is_bpf(root: &Path) -> bool {
    nix::sys::statfs::statfs(root)
        .is_ok_and(|about| about.filesystem_type() == nix::sys::statfs::BPF_FS_MAGIC)
}

fn array<V: aya::Pod>(name: &'static str, data: MapData) -> Result<Array<MapData, V>, Fault> {
    let map = Map::from_map_data(data).map_err(self::map(name))?;
    Array::try_from(map).map_err(self::map(name))
}

/// How many CPUs the kernel may ever have: each counts for itself.
fn cpus() -> Result<u32, Fault> {
    let count = aya::util::nr_cpus().map_err(|(_, source)| Fault::File {
        path: "/sys/devices/system/cpu/possible".into(),
        source,
    })?;
    Ok(count as u32)
}

/// The kernel's number of an interface.
pub fn interface_index(interface: &str) -> Result<u32, Fault> {
    nix::net::if_::if_nametoindex(interface)
        .map_err(|_| Fault::NoInterface { interface: interface.into() })
}

/// The name of an interface, if it is still there.
#[must_use]
pub fn interface_name(index: u32) -> Option<String> {
    nix::net::if_::if_indextoname(index).ok()?.into_string().ok()
}

pub(crate) fn privileged(source: io::Error) -> Fault {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Fault::Privilege { source },
        _ => Fault::Call { map: "policy", source },
    }
}

pub(crate) fn map(map: &'static str) -> impl Fn(MapError) -> Fault {
    move |source| Fault::Map { map, source }
}

pub(crate) fn map_call(map: &'static str) -> impl Fn(io::Error) -> Fault {
    move |source| Fault::Call { map, source }
}

pub(crate) fn program(program: &'static str) -> impl Fn(ProgramError) -> Fault {
    move |source| Fault::Program { program, source: Box::new(source) }
}

pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Fault {
    move |source| Fault::File { path: path.into(), source }
}
