//! All devices, what they hold, and what they make of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apply::{Devices, Gate, HoldTerms, Numbered, Order, Outcome, Receipt, Standing};
use model::{Artifact, DeviceId, Dialect, Fleet, Port, Timestamp};
use observe::{Held, Holds, Unreachable};
use wire::Mac;

use crate::machine::{Machine, Place};
use crate::routes::{Cables, Routes};
use crate::steps;

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
    now: Timestamp,
    /// How long a gate stays open without a word from the controller; for ever if there is none.
    lease: Option<Duration>,
}

#[derive(Default)]
struct Device {
    held: BTreeMap<Dialect, Held>,
    /// What it was sent; none if it only holds what a hand put there.
    standing: Option<Standing>,
    /// What it goes back to unless what it holds is confirmed.
    before: Option<Before>,
    /// Ports that came with what it holds and wait for its start.
    shut: BTreeSet<Port>,
    /// What the fleet's cables make of it.
    place: Place,
    /// What the texts make of the device; empty after each change of one.
    machine: OnceLock<Machine>,
}

/// What a device held before a trial.
struct Before {
    held: BTreeMap<Dialect, Held>,
    standing: Option<Standing>,
}

impl Fabric {
    /// Devices that hold nothing yet.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>) -> Self {
        let macs = fleet.interfaces().map(|(device, port, mac)| ((device, port), mac)).collect();
        let cables = fleet.cables().flat_map(|[one, other]| [(one, other), (other, one)]).collect();
        let (devices, cut) = (BTreeMap::new(), BTreeSet::new());
        let (routes, now, lease) = (OnceLock::new(), Timestamp::default(), None);
        Self { fleet, devices, routes, macs, cables, cut, now, lease }
    }

    /// The same devices, whose gates close when nobody renews them for so long.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// Lets it be this time: gates close whose leases are over.
    pub fn pass(&mut self, now: Timestamp) {
        self.now = now;
        for device in self.devices.values_mut() {
            let Some(standing) = &mut device.standing else { continue };
            let is_over = standing.lease_until.is_some_and(|until| until <= now);
            if is_over && standing.gate == Gate::Open {
                standing.gate = Gate::LeaseOver;
                device.machine = OnceLock::new();
                self.routes = OnceLock::new();
            }
        }
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

    /// Puts a text onto a device past every judge.
    pub fn load_text(&mut self, device: DeviceId, dialect: Dialect, held: Held) {
        self.put(device, dialect, held);
    }

    /// Lets the time of a trial be over: who was not confirmed holds what was held before, under
    /// the number of what was tried. Says whether the device was on trial.
    pub fn end_trial(&mut self, device: DeviceId) -> bool {
        let Some(own) = self.devices.get_mut(&device) else { return false };
        let (Some(before), Some(standing)) = (own.before.take(), &mut own.standing) else {
            return false;
        };
        standing.on_trial = false;
        standing.went_back_to = before.standing.as_ref().map(|before| before.generation);
        standing.digest = before.standing.as_ref().and_then(|before| before.digest);
        standing.started = before.standing.is_some_and(|before| before.started);
        own.held = before.held;
        let generation = standing.generation;
        own.held.values_mut().for_each(|held| held.generation = generation);
        own.shut.clear();
        own.machine = OnceLock::new();
        self.routes = OnceLock::new();
        true
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

    fn lease_until(&self) -> Option<Timestamp> {
        let ms = u64::try_from(self.lease?.as_millis()).unwrap_or(u64::MAX);
        Some(Timestamp(self.now.0.saturating_add(ms)))
    }

    fn place(&self, device: DeviceId) -> Place {
        let (judges_cables, passes_on) =
            (self.fleet.judges_cables(device), self.fleet.passes_on(device));
        Place { judges_cables, passes_on }
    }

    fn put(&mut self, device: DeviceId, dialect: Dialect, held: Held) {
        let place = self.place(device);
        let device = self.devices.entry(device).or_default();
        device.place = place;
        device.held.insert(dialect, held);
        device.machine = OnceLock::new();
        self.routes = OnceLock::new();
    }

    /// A device takes everything it is sent, or nothing.
    fn take(&mut self, order: &Order, terms: &HoldTerms) -> Result<Outcome, Unreachable> {
        let device = order.device();
        self.reach(device)?;
        let (lease_until, place) = (self.lease_until(), self.place(device));
        let own = self.devices.entry(device).or_default();
        let refusal = own
            .standing
            .as_ref()
            .and_then(|before| before.refusal(order.epoch(), order.generation(), order.digest()));
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        let standing = Standing { lease_until, ..steps::held(own.standing.as_ref(), order, terms) };
        let was_closed = own.standing.as_ref().is_some_and(|before| before.gate != Gate::Open);
        // What one goes back to is what was last confirmed, not what was last tried.
        let is_trial_of_a_trial = own.before.is_some();
        if !standing.on_trial {
            own.before = None;
        } else if !is_trial_of_a_trial {
            own.before = Some(Before { held: own.held.clone(), standing: own.standing.clone() });
        }
        let is_open = |port: &Port| !own.shut.contains(port);
        let open: BTreeSet<Port> = own.machine().ports.keys().copied().filter(is_open).collect();
        let is_started = standing.started;
        own.standing = Some(standing);
        let generation = order.generation();
        let texts: BTreeMap<Dialect, Held> =
            order.texts().map(|(dialect, text)| (dialect, Held { generation, text })).collect();
        let text = |held: Option<&Held>| held.map(|held| held.text.clone());
        let dialects: BTreeSet<Dialect> = texts.keys().chain(own.held.keys()).copied().collect();
        let differs = |dialect: &Dialect| text(texts.get(dialect)) != text(own.held.get(dialect));
        let changed: Vec<Dialect> = dialects.into_iter().filter(differs).collect();
        own.held = texts;
        if !changed.is_empty() || was_closed {
            own.place = place;
            own.shut.clear();
            own.machine = OnceLock::new();
            self.routes = OnceLock::new();
            if !is_started {
                let ports = own.machine().ports.keys().copied();
                let shut = ports.filter(|port| !open.contains(port)).collect();
                own.shut = shut;
                own.machine = OnceLock::new();
            }
        }
        Ok(steps::outcome(changed))
    }

    fn open(&mut self, order: &Order) -> Result<Outcome, Unreachable> {
        let device = order.device();
        self.reach(device)?;
        let own = self.devices.entry(device).or_default();
        let opened = steps::started(own.standing.as_ref(), order);
        let opened =
            opened.map_err(|source| Unreachable { device: order.name().clone(), source })?;
        if own.standing.as_ref() == Some(&opened) {
            return Ok(Outcome::Unchanged);
        }
        own.standing = Some(opened);
        if !std::mem::take(&mut own.shut).is_empty() {
            own.machine = OnceLock::new();
            self.routes = OnceLock::new();
        }
        Ok(Outcome::Held { changed: Vec::new() })
    }

    /// Whoever went back by itself cannot be told to stay any more.
    fn stays(&self, device: DeviceId) -> Result<(), Unreachable> {
        let own = self.devices.get(&device).and_then(|own| own.standing.as_ref());
        if own.is_none_or(|own| own.went_back_to.is_none()) {
            return Ok(());
        }
        Err(Unreachable {
            device: self.fleet.device_name(device).clone(),
            source: io::Error::other("nobody confirmed it in time, and it went back"),
        })
    }

    fn agree(&self, &(device, epoch, generation): &Numbered) -> Result<(), Unreachable> {
        self.reach(device)?;
        let own = self.devices.get(&device).and_then(|own| own.standing.as_ref());
        let agrees = steps::insist(own, epoch, generation);
        let name = || self.fleet.device_name(device).clone();
        agrees.map_err(|source| Unreachable { device: name(), source })
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
        self.machine.get_or_init(|| {
            let mut machine = Machine::boot(texts, self.place);
            let closed = self.standing.as_ref().is_some_and(|own| own.gate != Gate::Open);
            machine.ports.retain(|port, _| !closed && !self.shut.contains(port));
            machine
        })
    }
}

impl Holds for Fabric {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        self.reach(device)?;
        let device = self.devices.get(&device);
        Ok(device.and_then(|device| device.held.get(&dialect)).cloned())
    }
}

impl Devices for Fabric {
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        let hold =
            |order: &Order| Receipt { device: order.device(), outcome: self.take(order, terms) };
        orders.iter().map(hold).collect()
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        let start = |order: &Order| Receipt { device: order.device(), outcome: self.open(order) };
        orders.iter().map(start).collect()
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        let mut confirm = |numbered: &Numbered| {
            let agrees = self.agree(numbered).and_then(|()| self.stays(numbered.0));
            let own = self.devices.get_mut(&numbered.0).filter(|_| agrees.is_ok());
            if let Some(Device { standing: Some(standing), before, .. }) = own {
                standing.on_trial = false;
                *before = None;
            }
            (numbered.0, agrees)
        };
        devices.iter().map(&mut confirm).collect()
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        let lease_until = self.lease_until();
        let mut renew = |numbered: &Numbered| {
            let agrees = self.agree(numbered);
            let own = self.devices.get_mut(&numbered.0).filter(|_| agrees.is_ok());
            let Some(Device { standing: Some(standing), .. }) = own else {
                return (numbered.0, agrees);
            };
            if standing.gate == Gate::LeaseOver {
                let device = self.fleet.device_name(numbered.0).clone();
                let source = io::Error::other("the lease is over: apply");
                return (numbered.0, Err(Unreachable { device, source }));
            }
            standing.lease_until = lease_until;
            (numbered.0, Ok(()))
        };
        devices.iter().map(&mut renew).collect()
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        self.reach(device)?;
        Ok(self.devices.get(&device).and_then(|own| own.standing.clone()))
    }
}
