//! Which parts each device has in which dialect. There are hundreds of thousands, and every change
//! asks for a few of them, so they are found by the device first.

use std::collections::BTreeMap;

use model::{DeviceId, Dialect, Part};

/// How many parts each device has in each dialect; none is a silent device.
#[derive(Debug)]
pub(crate) struct Held(Vec<[u32; Dialect::ALL.len()]>);

impl Held {
    pub(crate) fn by(devices: usize) -> Self {
        Self(vec![[0; Dialect::ALL.len()]; devices])
    }

    /// Whether a device says anything in a dialect.
    pub(crate) fn has(&self, device: DeviceId, dialect: Dialect) -> bool {
        self.0[device.index()][dialect as usize] > 0
    }

    /// Counts a part that came or went, and says whether the device fell silent or spoke by it.
    pub(crate) fn count(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        was: bool,
        is: bool,
    ) -> bool {
        let count = &mut self.0[device.index()][dialect as usize];
        let before = *count;
        *count = before + u32::from(is) - u32::from(was);
        (before == 0) != (*count == 0)
    }
}

/// The number of each part of each artifact.
#[derive(Debug)]
pub(crate) struct SheetIds(Vec<BTreeMap<Part, Vec<(Dialect, u32)>>>);

impl SheetIds {
    pub(crate) fn by(devices: usize) -> Self {
        Self(vec![BTreeMap::new(); devices])
    }

    pub(crate) fn get(&self, device: DeviceId, dialect: Dialect, part: &Part) -> Option<u32> {
        let ids = self.0[device.index()].get(part)?;
        ids.iter().find(|(held, _)| *held == dialect).map(|(_, id)| *id)
    }

    /// Every part of a device that was ever named: its dialect, what it is about, its number.
    pub(crate) fn of(&self, device: DeviceId) -> impl Iterator<Item = (Dialect, &Part, u32)> {
        let parts = self.0[device.index()].iter();
        parts.flat_map(|(part, ids)| ids.iter().map(move |(dialect, id)| (*dialect, part, *id)))
    }

    pub(crate) fn add(&mut self, device: DeviceId, dialect: Dialect, part: Part, id: u32) {
        self.0[device.index()].entry(part).or_default().push((dialect, id));
    }
}
