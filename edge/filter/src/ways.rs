//! Which way the packet program goes for a frame: the short one, or through the whole rule.

use std::path::Path;

use aya::maps::{Map, MapData, MapError, PerCpuArray, PerCpuValues};
use aya::util::nr_cpus;
use wire::Arrival;

use crate::kernel::{Kernel, Settings, program};
use crate::trial::{open_with, own_place, run};
use crate::{Compiled, Fault, PutError};

/// A filter of its own, attached to nothing, that acts as on a device: unlike in a
/// [`TrialFilter`](crate::TrialFilter), a frame that the short way knows goes no other.
pub struct Ways {
    kernel: Kernel,
    desk: PerCpuArray<MapData, Desk>,
}

/// `struct frame` of the program: the whole rule lays every frame there before it judges, and the
/// short way does not know of it.
type Desk = [u8; 404];

impl Ways {
    /// Loads it. `root` is where the BPF file system is.
    pub fn new(root: &Path, block_bytes: u32) -> Result<Self, Fault> {
        let settings = Settings { block_bytes, ..Settings::default() };
        let kernel = Kernel::load(&own_place(root), &settings)?;
        let desk = desk(&kernel);
        kernel.forget()?;
        Ok(Self { kernel, desk: desk? })
    }

    /// Judges by this policy from now on. Frames of workloads arrive at interface 1: the kernel
    /// lends them the loopback.
    pub fn put(
        &mut self,
        text: &str,
        interfaces: &dyn Fn(&model::Port) -> Option<u32>,
    ) -> Result<Compiled, PutError> {
        open_with(&mut self.kernel, text, interfaces)
    }

    /// Whether the whole rule is asked about a frame. None if the kernel does not run a program on
    /// it.
    pub fn asks_rule(&mut self, arrival: &Arrival<'_>) -> Result<Option<bool>, Fault> {
        let cpus = nr_cpus().map_err(|(_, source)| Fault::File {
            path: "/sys/devices/system/cpu/possible".into(),
            source,
        })?;
        let clean = PerCpuValues::try_from(vec![[0; size_of::<Desk>()]; cpus]);
        let clean = clean.map_err(|source| failed(MapError::IoError(source)))?;
        self.desk.set(0, clean, 0).map_err(failed)?;
        if !run(&self.kernel, arrival) {
            return Ok(None);
        }
        let desks = self.desk.get(&0, 0).map_err(failed)?;
        Ok(Some(desks.iter().any(|desk| desk.iter().any(|byte| *byte != 0))))
    }
}

/// The map has no name in the file system: nobody but the program needs it.
fn desk(kernel: &Kernel) -> Result<PerCpuArray<MapData, Desk>, Fault> {
    let (fabric, ..) = kernel.programs();
    let ids = fabric.info().and_then(|info| info.map_ids()).map_err(program("fabric"))?;
    for id in ids.unwrap_or_default() {
        let map = MapData::from_id(id).map_err(failed)?;
        if map.info().map_err(failed)?.name_as_str() == Some("frames") {
            let map = Map::from_map_data(map).map_err(failed)?;
            return PerCpuArray::try_from(map).map_err(failed);
        }
    }
    Err(Fault::Object { name: "frames" })
}

fn failed(source: MapError) -> Fault {
    Fault::Map { map: "frames", source }
}
