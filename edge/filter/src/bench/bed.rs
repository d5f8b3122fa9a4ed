//! The packet program with a world's policy in force, beside the programs it is compared with.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aya::Ebpf;
use aya::maps::HashMap;
use aya::programs::{SchedClassifier, TestRun as _, TestRunOptions, Xdp};
use model::Generation;
use nix::time::{ClockId, clock_gettime};

use super::world::{World, frame, interface};
use crate::kernel::{self, found, program};
use crate::{Fault, Kernel, Limits, PutError, Settings};

/// The same program, and what it is compared with; `cargo xtask object` makes it.
const OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/bench.o");

/// Long enough for every bench.
const LEASE: Duration = Duration::from_secs(3600);

/// A filter of its own, attached to nothing and gone with this value.
pub(super) struct Bed {
    pub(super) kernel: Kernel,
    programs: Ebpf,
    /// How many bytes the policy has.
    pub(super) policy_bytes: u32,
    slots: u16,
}

/// How the programs of a bed are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Setup {
    /// Through which interface made frames are sent.
    pub(super) out: u32,
    /// Whether the hash knows the world's endpoints, too.
    pub(super) hash: bool,
    /// Whether frames that may pass are dropped, after they were counted.
    pub(super) drop_all: bool,
}

impl Bed {
    /// Loads the programs for a world and puts its policy in force.
    pub(super) fn of(world: World, setup: Setup) -> Result<Self, PutError> {
        let settings = Settings { drop_all: setup.drop_all, ..settings(world) };
        let mut bed = Self::loaded(world, &settings, setup)?;
        bed.policy_bytes = put(&mut bed.kernel, &world.text(), Generation(1))?;
        bed.kernel.renew(LEASE)?;
        if setup.hash {
            bed.fill_hash(world)?;
        }
        Ok(bed)
    }

    /// Loads the programs without any policy.
    pub(super) fn empty(settings: &Settings, setup: Setup) -> Result<Self, Fault> {
        Self::loaded(World::whole(1), settings, setup)
    }

    fn loaded(world: World, settings: &Settings, setup: Setup) -> Result<Self, Fault> {
        let kernel = Kernel::load(&own_place(), settings)?;
        let programs = load(&kernel, world, setup, settings);
        // What is open stays: only the names go, so that a process that dies leaves nothing.
        kernel.forget()?;
        let slots = world.jobs as u16 + 1; // slot 0 is nobody's
        Ok(Self { kernel, programs: programs?, policy_bytes: 0, slots })
    }

    /// One of the programs that stand at ports.
    pub(super) fn classifier(&mut self, name: &'static str) -> Result<&mut SchedClassifier, Fault> {
        let classifier: &mut SchedClassifier = found(&mut self.programs, name)?;
        if classifier.fd().is_err() {
            classifier.load().map_err(program(name))?;
        }
        Ok(classifier)
    }

    /// One of the programs, to be run only.
    pub(super) fn shared(&self, name: &'static str) -> Result<&Xdp, Fault> {
        let found = self.programs.program(name).ok_or(Fault::Object { name })?;
        found.try_into().map_err(program(name))
    }

    /// One of the programs.
    pub(super) fn program(&mut self, name: &'static str) -> Result<&mut Xdp, Fault> {
        found(&mut self.programs, name)
    }

    /// What one run of a program costs, in nanoseconds of this thread's CPU time.
    pub(super) fn cost(&mut self, name: &'static str, repeat: u32) -> Result<f64, Fault> {
        let frame = frame();
        let options = TestRunOptions { data_in: Some(&frame), repeat, ..TestRunOptions::default() };
        let xdp = self.program(name)?;
        let before = cpu_ns();
        let result = xdp.test_run(options).map_err(program(name))?;
        let took = cpu_ns() - before;
        // A frame that was not judged at all would be a cheap one.
        if result.return_value == XDP_ABORTED {
            return Err(Fault::Object { name });
        }
        Ok(took / f64::from(repeat))
    }

    /// How many slots count for jobs.
    pub(super) fn slots(&self) -> u16 {
        self.slots
    }

    /// How many frames were received by the jobs of these slots, on all CPUs.
    pub(super) fn received(&self, slots: Range<u16>) -> Result<u64, Fault> {
        let mut sum = 0;
        for slot in slots {
            sum += self.kernel.counts(slot)?.iter().map(|[_, _, packets, ..]| packets).sum::<u64>();
        }
        Ok(sum)
    }

    fn fill_hash(&mut self, world: World) -> Result<(), Fault> {
        let map = self.programs.map_mut("hash").ok_or(Fault::Object { name: "hash" })?;
        let mut hash: HashMap<_, [u32; 2], [u32; 2]> =
            HashMap::try_from(map).map_err(kernel::map("hash"))?;
        for endpoint in world.all() {
            let key = [endpoint.vni, endpoint.address.to_be()];
            let record = [u32::from(endpoint.tag) | 1 << 16, endpoint.vtep];
            hash.insert(key, record, 0).map_err(kernel::map("hash"))?;
        }
        Ok(())
    }
}

const XDP_ABORTED: u32 = 0;

/// Room for the world's policy and the jobs it has here.
pub(super) fn settings(world: World) -> Settings {
    let slots = (world.jobs + world.jobs / 32 + 32).next_power_of_two();
    let block_bytes = (world.endpoints() * 16 + (64 << 10)).next_multiple_of(4096);
    Settings { slots, block_bytes, ..Settings::default() }
}

/// Puts a policy of the bench in force; gives the bytes it has.
pub(super) fn put(
    kernel: &mut Kernel,
    text: &str,
    generation: Generation,
) -> Result<u32, PutError> {
    let limits = Limits { ports: u32::from(u16::MAX), jobs: u32::MAX, ..Limits::default() };
    let put = kernel.put(text, generation, &interface, &limits)?;
    Ok(put.compiled.bytes.len() as u32)
}

fn load(kernel: &Kernel, world: World, setup: Setup, settings: &Settings) -> Result<Ebpf, Fault> {
    let entries = if setup.hash { world.endpoints() } else { 1 };
    let mut programs = kernel::loader(kernel.place(), kernel.place(), settings)?
        .map_max_entries("hash", entries)
        .override_global("JOBS", &world.jobs, true)
        .override_global("STRIDE", &world.stride, true)
        .override_global("OUT", &setup.out, true)
        .load(OBJECT)
        .map_err(Fault::load)?;
    for name in PROGRAMS {
        let xdp: &mut Xdp = found(&mut programs, name)?;
        xdp.load().map_err(program(name))?;
    }
    Ok(programs)
}

const PROGRAMS: [&str; 11] = [
    "fabric",
    "passed",
    "looked_at",
    "relay",
    "empty",
    "made",
    "made_and_judged",
    "made_and_looked_up",
    "made_and_hashed",
    "send",
    "counted",
];

/// CPU time of this thread, in nanoseconds: what others do on this machine does not count.
pub(super) fn cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.map_or(0.0, |now| Duration::from(now).as_secs_f64() * 1e9)
}

/// A folder that no other bench uses.
pub(super) fn own_place() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    PathBuf::from(format!("/sys/fs/bpf/bench-{}-{number}", std::process::id()))
}
