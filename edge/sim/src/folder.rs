//! The same devices, kept in files between one command and the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apply::{Devices, Gate, HoldTerms, Numbered, OnDrift, Order, Outcome, Receipt, Standing};
use model::{DeviceId, Dialect, Epoch, Fleet, Generation};
use observe::{Held, Holds, Unreachable};

use crate::steps;

/// Devices whose texts are files that can be read and edited: `leaf-1/nxos`, and beside them
/// `leaf-1/standing`. To send frames through them, see [`crate::Fabric::copy_of`].
pub struct DeviceFolder {
    fleet: Arc<Fleet>,
    path: PathBuf,
}

impl DeviceFolder {
    /// Devices that hold what stands in this folder. It is made when the first text is held.
    #[must_use]
    pub fn new(fleet: Arc<Fleet>, path: PathBuf) -> Self {
        Self { fleet, path }
    }

    /// The file with the text of a device in one dialect.
    #[must_use]
    pub fn file(&self, device: DeviceId, dialect: Dialect) -> PathBuf {
        self.folder(device).join(dialect.as_str())
    }

    fn folder(&self, device: DeviceId) -> PathBuf {
        self.path.join(self.fleet.device_name(device).as_str())
    }

    fn unreachable(&self, device: DeviceId) -> impl FnOnce(io::Error) -> Unreachable {
        let device = self.fleet.device_name(device).clone();
        |source| Unreachable { device, source }
    }

    fn stands(&self, device: DeviceId) -> io::Result<Option<Standing>> {
        match read_if_there(&self.folder(device).join(STANDING))? {
            Some(text) => Standing::read(&text).map(Some),
            None => self.stood(device),
        }
    }

    /// How a device of a release before this one stands: a file with a number beside each text.
    fn stood(&self, device: DeviceId) -> io::Result<Option<Standing>> {
        let mut last = None;
        for dialect in self.fleet.read_dialects(device) {
            let file = self.file(device, dialect).with_added_extension("generation");
            if let Some(number) = read_if_there(&file)? {
                last = last.max(Some(number.trim().parse().map_err(io::Error::other)?));
            }
        }
        let stood = |number| Standing {
            generation: Generation(number),
            started: true,
            gate: Gate::Open,
            ..steps::nothing()
        };
        Ok(last.map(stood))
    }

    /// What is written first is the number: if a text does not follow, the next apply of this
    /// generation sends it again, and a stale writer is refused meanwhile.
    fn take(&self, order: &Order, terms: &HoldTerms) -> io::Result<Outcome> {
        let device = order.device();
        let before = self.stands(device)?;
        let refusal = before
            .as_ref()
            .and_then(|before| before.refusal(order.epoch(), order.generation(), order.digest()));
        if let Some(refusal) = refusal {
            return Ok(refusal);
        }
        if terms.confirm_within.is_some() {
            return Ok(Outcome::Refused {
                why: "simulated devices cannot go back by themselves".into(),
            });
        }
        let standing = steps::held(before.as_ref(), order, terms);
        if before.as_ref() != Some(&standing) {
            fs::create_dir_all(self.folder(device))?;
            replace(&self.folder(device).join(STANDING), &standing.written())?;
        }
        let mut changed = Vec::new();
        for (dialect, text) in order.texts() {
            let file = self.file(device, dialect);
            if read_if_there(&file)?.as_deref() != Some(&text) {
                replace(&file, &text)?;
                changed.push(dialect);
            }
            remove_if_there(&file.with_added_extension("generation"))?;
        }
        let spoken = |dialect: &Dialect| order.parts().iter().any(|(own, _)| own == dialect);
        for dialect in Dialect::ALL.into_iter().filter(|dialect| !spoken(dialect)) {
            if remove_if_there(&self.file(device, dialect))? {
                changed.push(dialect);
            }
        }
        Ok(steps::outcome(changed))
    }

    fn open(&self, order: &Order) -> io::Result<Outcome> {
        let before = self.stands(order.device())?;
        let opened = steps::started(before.as_ref(), order)?;
        if before.as_ref() == Some(&opened) {
            return Ok(Outcome::Unchanged);
        }
        replace(&self.folder(order.device()).join(STANDING), &opened.written())?;
        Ok(steps::outcome(Vec::new()))
    }

    fn receipts(
        &self,
        orders: &[Order],
        what: impl Fn(&Order) -> io::Result<Outcome>,
    ) -> Vec<Receipt> {
        let receipt = |order: &Order| {
            let device = order.device();
            Receipt { device, outcome: what(order).map_err(self.unreachable(device)) }
        };
        orders.iter().map(receipt).collect()
    }

    fn agree(&self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        let agree = |&(device, epoch, generation): &Numbered| {
            let stands = self.stands(device);
            let agrees = stands.and_then(|own| steps::insist(own.as_ref(), epoch, generation));
            (device, agrees.map_err(self.unreachable(device)))
        };
        devices.iter().map(agree).collect()
    }
}

impl Holds for DeviceFolder {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        let held = || {
            let Some(text) = read_if_there(&self.file(device, dialect))? else { return Ok(None) };
            // A text without a number was put there by hand, before any plan.
            let generation = self.stands(device)?.map(|standing| standing.generation);
            Ok(Some(Held { generation: generation.unwrap_or_default(), text }))
        };
        held().map_err(self.unreachable(device))
    }
}

impl Devices for DeviceFolder {
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        self.receipts(orders, |order| self.take(order, terms))
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        self.receipts(orders, |order| self.open(order))
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.agree(devices)
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.agree(devices)
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        self.stands(device).map_err(self.unreachable(device))
    }
}

/// The file beside the texts.
const STANDING: &str = "standing";

/// A standing as a file says it: a word and a value on each line.
trait Written: Sized {
    fn written(&self) -> String;
    fn read(text: &str) -> io::Result<Self>;
}

impl Written for Standing {
    fn written(&self) -> String {
        let digest = self.digest.map(|digest| format!("digest {digest}\n")).unwrap_or_default();
        let Self { epoch, generation, started, .. } = self;
        let on_drift = match self.on_drift {
            OnDrift::Alarm => "alarm",
            OnDrift::Repair => "repair",
            OnDrift::Quarantine => "quarantine",
        };
        format!(
            "epoch {epoch}\ngeneration {generation}\n{digest}started {started}\non-drift {on_drift}\n"
        )
    }

    fn read(text: &str) -> io::Result<Self> {
        let mut standing = Self { gate: Gate::Open, ..steps::nothing() };
        for line in text.lines() {
            let strange = || {
                let said = format!("`{line}` says nothing about a device");
                io::Error::new(io::ErrorKind::InvalidData, said)
            };
            let (word, value) = line.split_once(' ').ok_or_else(strange)?;
            let number = || value.parse().map_err(|_| strange());
            match (word, value) {
                ("epoch", _) => standing.epoch = Epoch(number()?),
                ("generation", _) => standing.generation = Generation(number()?),
                ("digest", _) => standing.digest = Some(value.parse().map_err(|_| strange())?),
                ("started", _) => standing.started = value.parse().map_err(|_| strange())?,
                ("on-drift", "alarm") => standing.on_drift = OnDrift::Alarm,
                ("on-drift", "repair") => standing.on_drift = OnDrift::Repair,
                ("on-drift", "quarantine") => standing.on_drift = OnDrift::Quarantine,
                _ => return Err(strange()),
            }
        }
        Ok(standing)
    }
}

/// Whoever reads meanwhile sees the old text or the new one, never half of it.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_added_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, file)
}

/// Whether it was there.
fn remove_if_there(file: &Path) -> io::Result<bool> {
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_if_there(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
