//! The kernel's judge, asked about frames given by hand.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use aya::maps::{Array, MapData};
use aya::programs::{TestRun as _, TestRunOptions};
use model::Generation;
use wire::{Arrival, Hook, Reason, Verdict};

use crate::kernel::{Kernel, Settings};
use crate::{Compiled, Fault, Limits, PutError};

/// A filter of its own, attached to nothing, that tells each verdict instead of acting on it.
pub struct TrialFilter {
    kernel: Kernel,
    trace: Array<MapData, [u32; 4]>,
    /// How many verdicts were written down before.
    count: Cell<u32>,
}

/// What the kernel said of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrialVerdict {
    /// One verdict.
    Verdict(Verdict),
    /// The short way said yes where the whole rule did not: a bug in the program.
    TwoVoices(u32),
    /// Nothing: the kernel does not run a program on such a frame (it is too short or too long).
    Nothing,
}

impl TrialFilter {
    /// Loads it. `root` is where the BPF file system is.
    pub fn new(root: &Path, block_bytes: u32) -> Result<Self, Fault> {
        let place = own_place(root);
        let settings = Settings { block_bytes, traced: true, ..Settings::default() };
        let kernel = Kernel::load(&place, &settings)?;
        let trace = kernel.array("trace")?;
        // What is open stays: only the names go, so that a process that dies leaves nothing.
        kernel.forget()?;
        Ok(Self { kernel, trace, count: Cell::new(0) })
    }

    /// Judges by this policy from now on. A port's interface is the number `port` gives it.
    pub fn put(
        &mut self,
        text: &str,
        interfaces: &dyn Fn(&model::Port) -> Option<u32>,
    ) -> Result<Compiled, PutError> {
        open_with(&mut self.kernel, text, interfaces)
    }

    /// Judges by these bytes, whatever they are.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.kernel.put_bytes(bytes)?;
        self.kernel.renew(std::time::Duration::from_secs(3600))
    }

    /// Judges by no policy from now on.
    pub fn close(&self) -> Result<(), Fault> {
        self.kernel.close()
    }

    /// What the kernel says of a frame.
    pub fn judge(&self, arrival: &Arrival<'_>) -> Result<TrialVerdict, Fault> {
        if !run(&self.kernel, arrival) {
            return Ok(TrialVerdict::Nothing);
        }
        let last = self.trace.get(&0, 0);
        let [reason, source, destination, count] =
            last.map_err(|source| Fault::Map { map: "trace", source })?;
        if self.count.replace(count) == count {
            return Ok(TrialVerdict::Nothing);
        }
        let known = u8::try_from(reason).ok().and_then(Reason::from_code);
        Ok(known.map_or(TrialVerdict::TwoVoices(reason), |reason| {
            TrialVerdict::Verdict(Verdict {
                reason,
                source: source as u16,
                destination: destination as u16,
            })
        }))
    }
}

/// Puts a policy in force, as the generation after the one that is.
pub(crate) fn open_with(
    kernel: &mut Kernel,
    text: &str,
    interfaces: &dyn Fn(&model::Port) -> Option<u32>,
) -> Result<Compiled, PutError> {
    let held = kernel.held()?;
    let theirs = held.and_then(|bytes| wire::Tables::new(&bytes).generation()).unwrap_or(0);
    let limits = Limits { bytes: kernel.block_bytes(), ..Limits::default() };
    let put = kernel.put(text, Generation(theirs).next(), interfaces, &limits)?;
    kernel.renew(std::time::Duration::from_secs(3600))?;
    Ok(put.compiled)
}

/// Lets the kernel judge a frame. Says whether it did.
pub(crate) fn run(kernel: &Kernel, arrival: &Arrival<'_>) -> bool {
    let mut context = [0_u8; 192];
    // In a trial the program takes the interface from the priority: no interface is needed.
    context[8..12].copy_from_slice(&u32::from(arrival.mark).to_ne_bytes());
    context[32..36].copy_from_slice(&arrival.interface.to_ne_bytes());
    let (fabric, workload, local) = kernel.programs();
    let mut options = TestRunOptions { data_in: Some(arrival.frame), ..TestRunOptions::default() };
    if arrival.hook != Hook::Fabric {
        options.ctx_in = Some(&context);
    }
    let run = match arrival.hook {
        Hook::Fabric => fabric.test_run(options),
        Hook::Workload => workload.test_run(options),
        Hook::Local => local.test_run(options),
    };
    run.is_ok()
}

/// A folder that no other trial uses.
pub(crate) fn own_place(root: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    root.join(format!("trial-{}-{number}", std::process::id()))
}
