//! The program in the kernel: loaded, pinned, attached, given a policy and a lease.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aya::maps::{Array, Map, MapData, MapError};
use aya::programs::links::{FdLink, LinkError, PinnedLink};
use aya::programs::tc::SchedClassifierLink;
use aya::programs::{
    ProgramError, SchedClassifier, TcAttachType, TestRun as _, TestRunOptions, Xdp, XdpMode,
};
use aya::{Ebpf, EbpfLoader};
use aya_obj::programs::XdpAttachType;
use model::{Generation, Port};
use wire::Tables;

use crate::{Compiled, Fault, Limits, PutError, compile, sys};

/// The compiled program; `cargo xtask object` makes it and `cargo xtask test` compares it.
const OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/filter.o");

/// Every map that outlives the process, by the name it has in the program and in its folder.
const MAPS: [&str; 10] = [
    "policy", "gate", "jobs", "bursts", "buckets", "reasons", "tallies", "events", "budgets",
    "trace",
];

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

/// The filter of one device, as the kernel holds it under one folder of the BPF file system.
pub struct Kernel {
    place: PathBuf,
    /// The folder itself: who holds its lock is the only writer.
    folder: File,
    policy: MapData,
    gate: Array<MapData, [u64; 7]>,
    jobs: Array<MapData, [u64; 8]>,
    fabric: Xdp,
    workload: SchedClassifier,
    local: SchedClassifier,
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
pub struct Gate {
    /// Whether packets are judged by the policy; otherwise none of a tenant passes.
    pub open: bool,
    /// When the lease ends, in the kernel's monotonic nanoseconds.
    pub until_ns: u64,
    /// How often a lease ended without being renewed.
    pub lapses: u64,
}

/// A policy in force.
#[derive(Clone, Debug)]
pub struct Put {
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
        let result = Self::load_into(place, settings);
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
        let map = |name: &'static str| MapData::from_pin(place.join(name)).map_err(self::map(name));
        let policy = map("policy")?;
        let gate: Array<MapData, [u64; 7]> = array("gate", map("gate")?)?;
        let [.., block_bytes, _, _] = gate.get(&0, 0).map_err(self::map("gate"))?;
        let jobs = array("jobs", map("jobs")?)?;
        let slots = jobs.len() / cpus()?;
        let tc =
            |name: &'static str| SchedClassifier::from_pin(place.join(name)).map_err(program(name));
        let xdp = |name: &'static str| {
            Xdp::from_pin(place.join(name), XdpAttachType::Interface).map_err(program(name))
        };
        Ok(Self {
            place: place.into(),
            folder: File::open(place).map_err(file(place))?,
            gate,
            jobs,
            fabric: xdp("fabric")?,
            workload: tc("workload")?,
            local: tc("local")?,
            renew: xdp("renew")?,
            policy,
            block_bytes: block_bytes as u32,
            slots,
        })
    }

    /// Judges what comes in from the fabric here.
    pub fn attach_uplink(&mut self, interface: &str) -> Result<Mode, Fault> {
        let index = interface_index(interface)?;
        let path = self.link_path("fabric", index);
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
        let index = interface_index(interface)?;
        let [inwards, outwards] = ["workload", "local"].map(|hook| self.link_path(hook, index));
        attach_tc(&mut self.workload, interface, TcAttachType::Ingress, "workload", &inwards)?;
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
    ) -> Result<Put, PutError> {
        let _lock = Lock::of(&self.folder, &self.place)?;
        let held = self.held()?;
        let before = held.as_deref().map(Tables::new);
        let theirs = before.and_then(Tables::generation).map(Generation);
        if let Some(theirs) = theirs.filter(|theirs| *theirs > generation) {
            return Err(PutError::Stale { ours: generation, theirs });
        }
        let limits = Limits {
            bytes: limits.bytes.min(self.block_bytes),
            jobs: limits.jobs.min(self.slots - 1),
            ..*limits
        };
        let compiled = compile(text, generation, interfaces, before, &limits)?;
        self.count_anew(Tables::new(&compiled.bytes), before)?;
        self.put_bytes(&compiled.bytes)?;
        Ok(Put { compiled, before: theirs })
    }

    /// Keeps the gate open for so long from now on. Without another call it closes by itself.
    pub fn renew(&self, lease: Duration) -> Result<(), Fault> {
        let nanoseconds = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX >> 1);
        self.run_renew(nanoseconds)
    }

    /// Closes the gate now: no packet of a tenant passes.
    pub fn close(&self) -> Result<(), Fault> {
        self.run_renew(0)
    }

    /// What the lease says.
    pub fn gate(&self) -> Result<Gate, Fault> {
        let [open, until_ns, lapses, ..] = self.gate.get(&0, 0).map_err(map("gate"))?;
        Ok(Gate { open: open != 0, until_ns, lapses })
    }

    /// The bytes of the policy in force, as the kernel holds them.
    pub fn held(&self) -> Result<Option<Vec<u8>>, Fault> {
        let Some(block) = sys::pointed(self.policy.fd().as_fd()).map_err(map_call("policy"))?
        else {
            return Ok(None);
        };
        sys::read_block(block.as_fd(), self.block_bytes).map(Some).map_err(map_call("policy"))
    }

    /// Where this filter is attached: the hook and the interface's number.
    pub fn attached(&self) -> Result<Vec<(String, u32)>, Fault> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.place).map_err(file(&self.place))? {
            let name = entry.map_err(file(&self.place))?.file_name();
            let Some((hook, index)) = name.to_str().and_then(|name| name.split_once('-')) else {
                continue;
            };
            if let Ok(index) = index.parse() {
                found.push((hook.to_owned(), index));
            }
        }
        found.sort();
        Ok(found)
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
        let block = self.block(bytes)?;
        sys::point(self.policy.fd().as_fd(), block.as_fd()).map_err(map_call("policy"))
    }

    /// Takes the names away. What this process holds of the filter works on, and goes with it.
    pub(crate) fn forget(&self) -> Result<(), Fault> {
        fs::remove_dir_all(&self.place).map_err(file(&self.place))
    }

    fn load_into(place: &Path, settings: &Settings) -> Result<Self, Fault> {
        fs::create_dir_all(place).map_err(file(place))?;
        let template = sys::create_block(settings.block_bytes).map_err(privileged)?;
        let pointer = sys::create_pointer(template.as_fd()).map_err(map_call("policy"))?;
        sys::pin(pointer.as_fd(), &place.join("policy")).map_err(map_call("policy"))?;

        let mut program = loader(place, settings)?.load(OBJECT).map_err(Fault::load)?;
        let pinned = ["workload", "local"].into_iter().try_for_each(|name| {
            let tc: &mut SchedClassifier = found(&mut program, name)?;
            tc.load().map_err(self::program(name))?;
            tc.pin(place.join(name)).map_err(|source| Fault::Pin { source })
        });
        pinned?;
        for name in ["fabric", "renew"] {
            let xdp: &mut Xdp = found(&mut program, name)?;
            xdp.load().map_err(self::program(name))?;
            xdp.pin(place.join(name)).map_err(|source| Fault::Pin { source })?;
        }
        drop(program);
        let mut kernel = Self::open(place)?;
        kernel.block_bytes = settings.block_bytes;
        let gate = [0, 0, 0, settings.link_bps, settings.block_bytes.into(), 0, 0];
        kernel.gate.set(0, gate, 0).map_err(map("gate"))?;
        Ok(kernel)
    }

    fn block(&self, bytes: &[u8]) -> Result<OwnedFd, Fault> {
        let block = sys::create_block(self.block_bytes).map_err(map_call("policy"))?;
        sys::write_block(block.as_fd(), bytes, self.block_bytes).map_err(map_call("policy"))?;
        Ok(block)
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

    fn run_renew(&self, nanoseconds: u64) -> Result<(), Fault> {
        let mut data = [0_u8; 64];
        data[..8].copy_from_slice(&nanoseconds.to_ne_bytes());
        let options = TestRunOptions { data_in: Some(&data), ..TestRunOptions::default() };
        let result = self.renew.test_run(options).map_err(program("renew"))?;
        if result.return_value == XDP_PASS { Ok(()) } else { Err(Fault::Lease) }
    }

    fn link_path(&self, hook: &str, interface: u32) -> PathBuf {
        self.place.join(format!("{hook}-{interface}"))
    }
}

/// One writer at a time: a policy is compared with the one it replaces.
struct Lock(File);

impl Lock {
    fn of(folder: &File, place: &Path) -> Result<Self, Fault> {
        let folder = folder.try_clone().map_err(file(place))?;
        folder.lock().map_err(file(place))?;
        Ok(Self(folder))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

fn loader<'a>(place: &Path, settings: &'a Settings) -> Result<EbpfLoader<'a>, Fault> {
    let mut loader = EbpfLoader::new();
    for name in MAPS {
        loader.map_pin_path(name, place.join(name));
    }
    let pass = if settings.drop_all { &XDP_DROP } else { &XDP_PASS };
    loader
        .map_max_entries("jobs", settings.slots * cpus()?)
        .override_global("POLICY_BYTES", &settings.block_bytes, true)
        .override_global("SLOTS", &settings.slots, true)
        .override_global("PASS", pass, true)
        .override_global("TRACED", if settings.traced { &1_u32 } else { &0_u32 }, true);
    Ok(loader)
}

/// The slots where this policy's jobs are counted.
fn slots(tables: Tables<'_>) -> impl Iterator<Item = u16> {
    let ports = 0..tables.ports().unwrap_or(0);
    ports.filter_map(move |index| tables.port(index).ok()).map(|seat| seat.slot)
}

fn found<'a, P>(program: &'a mut Ebpf, name: &'static str) -> Result<&'a mut P, Fault>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = ProgramError>,
{
    let program = program.program_mut(name).ok_or(Fault::Object { name })?;
    program.try_into().map_err(self::program(name))
}

fn attach_tc(
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
    let none: Option<&str> = None;
    nix::mount::mount(Some("bpf"), root, Some("bpf"), nix::mount::MsFlags::empty(), none)
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

fn privileged(source: io::Error) -> Fault {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Fault::Privilege { source },
        _ => Fault::Call { map: "policy", source },
    }
}

pub(crate) fn map(map: &'static str) -> impl Fn(MapError) -> Fault {
    move |source| Fault::Map { map, source }
}

fn map_call(map: &'static str) -> impl Fn(io::Error) -> Fault {
    move |source| Fault::Call { map, source }
}

fn program(program: &'static str) -> impl Fn(ProgramError) -> Fault {
    move |source| Fault::Program { program, source: Box::new(source) }
}

fn file(path: &Path) -> impl Fn(io::Error) -> Fault {
    move |source| Fault::File { path: path.into(), source }
}
