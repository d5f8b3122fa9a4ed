//! Processors that do not sleep.

use std::fs::File;
use std::io::{self, Write as _};

use crate::ending::Stop;

/// Who holds this file open says how many microseconds the waking of a processor may take (kernel
/// documentation, "PM Quality Of Service Interface").
const LATENCY: &str = "/dev/cpu_dma_latency";

/// As long as this lives, idle processors wait for work without sleeping.
pub(super) struct Awake {
    _held: File,
}

impl Awake {
    pub(super) fn keep() -> Result<Self, Stop> {
        let failed = |error: io::Error| {
            let problem = format!("processors cannot be kept awake: {LATENCY}: {error}");
            let remedy = "be root on a kernel that has this file, or leave out --awake";
            Stop::argument("not-awake", problem, remedy)
        };
        let mut held = File::options().write(true).open(LATENCY).map_err(failed)?;
        held.write_all(&0_i32.to_ne_bytes()).map_err(failed)?;
        Ok(Self { _held: held })
    }
}
