//! All devices, what they hold, and what they make of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, OnceLock};

use apply::Keeps;
use model::{Artifact, DeviceId, Dialect, Fleet, Port};
use observe::{Held, Holds, Unreachable};
use wire::Mac;

use crate::machine::Machine;
use crate::routes::{Cables, Routes};

/// A fabric made of memory. It holds texts, and forwards frames by what they say.
pub struct Fabric {
    fleet: Arc<Fleet>,
    devices: BTreeMap<DeviceId, Device>,
    /// What the devices told each other; empty after each change of a text.
    routes: OnceLock<Routes>,
    /// The Ethernet address of the interface behind each port.
    macs: BTreeMap<(DeviceId, Port), Mac>,
    cables: Cables,
    /// Devices that nobody can talk to. They go on forwarding by what they hold.
    cut: BTreeSet<DeviceId>,
}

#[derive(Default)]
struct Device {
    held: BTreeMap<Dialect, Held>,
    /// Whether the packet program judges what comes by its cables.
    judges_cables: bool,
    /// What the texts make of the device; empty after each change of one.
    machine: OnceLock<Machine>,
}

impl Fabric {
    /// Devices that hold nothing yet.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>) -> Self {
        let macs = fleet.interfaces().map(|(device, port, mac)| ((device, port), mac)).collect();
        let cables = fleet.cables().flat_map(|[one, other]| [(one, other), (other, one)]).collect();
        let (devices, cut) = (BTreeMap::new(), BTreeSet::new());
        Self { fleet, devices, routes: OnceLock::new(), macs, cables, cut }
    }

    /// Devices that hold what these hold now.
    pub fn copy_of(fleet: Arc<Fleet>, devices: &dyn Holds) -> Result<Self, Unreachable> {
        let mut fabric = Self::new(fleet.clone());
        for device in fleet.devices() {
            for dialect in fleet.read_dialects(device) {
                if let Some(held) = devices.held(device, dialect)? {
                    fabric.put(device, dialect, held);
                }
            }
        }
        Ok(fabric)
    }

    /// Puts texts onto devices past every judge, as a hand at the console does.
    pub fn load(&mut self, artifacts: &[Artifact]) {
        for artifact in artifacts {
            let held = Held { generation: artifact.generation, text: artifact.text() };
            self.put(artifact.device, artifact.dialect, held);
        }
    }

    /// Lets nobody talk to the device any more. What it forwards does not change.
    pub fn cut(&mut self, device: DeviceId) {
        self.cut.insert(device);
    }

    /// Lets the device be talked to again.
    pub fn mend(&mut self, device: DeviceId) {
        self.cut.remove(&device);
    }

    /// The Ethernet address of the interface behind this port.
    pub(crate) fn mac(&self, at: (DeviceId, Port)) -> Option<Mac> {
        self.macs.get(&at).copied()
    }

    pub(crate) fn machine(&self, device: DeviceId) -> Option<&Machine> {
        self.devices.get(&device).map(Device::machine)
    }

    pub(crate) fn machines(&self) -> impl Iterator<Item = (DeviceId, &Machine)> {
        let devices = self.devices.iter();
        devices.map(|(&device, texts)| (device, texts.machine()))
    }

    pub(crate) fn routes(&self) -> &Routes {
        let learn = || Routes::learn(&self.machines().collect(), &self.cables);
        self.routes.get_or_init(learn)
    }

    fn put(&mut self, device: DeviceId, dialect: Dialect, held: Held) {
        let judges_cables = self.fleet.judges_cables(device);
        let device = self.devices.entry(device).or_default();
        device.judges_cables = judges_cables;
        device.held.insert(dialect, held);
        device.machine = OnceLock::new();
        self.routes = OnceLock::new();
    }

    fn reach(&self, device: DeviceId) -> Result<(), Unreachable> {
        if !self.cut.contains(&device) {
            return Ok(());
        }
        Err(Unreachable {
            device: self.fleet.device_name(device).clone(),
            source: io::ErrorKind::HostUnreachable.into(),
        })
    }
}

impl Device {
    fn machine(&self) -> &Machine {
        let texts = self.held.iter();
        let texts = texts.map(|(&dialect, held)| (dialect, held.text.as_str()));
        self.machine.get_or_init(|| Machine::boot(texts, self.judges_cables))
    }
}

impl Holds for Fabric {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        self.reach(device)?;
        let device = self.devices.get(&device);
        Ok(device.and_then(|device| device.held.get(&dialect)).cloned())
    }
}

impl Keeps for Fabric {
    fn hold(&mut self, device: DeviceId, dialect: Dialect, held: Held) -> Result<(), Unreachable> {
        self.reach(device)?;
        self.put(device, dialect, held);
        Ok(())
    }
}
