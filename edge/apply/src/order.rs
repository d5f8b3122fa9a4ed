//! What one device shall hold from now on, made of nothing but what was cleared.

use std::time::Duration;

use model::{DeviceId, Dialect, Digest, Epoch, Generation, Name, PartText};
use serde::{Deserialize, Serialize};
use verify::Cleared;

/// All texts of a device, by their languages, each in its parts.
pub type Texts = Vec<(Dialect, Vec<PartText>)>;

/// What one device shall hold from now on. Made of what was cleared, and of nothing else.
#[derive(Clone, Debug)]
pub struct Order {
    device: DeviceId,
    name: Name,
    epoch: Epoch,
    generation: Generation,
    digest: Digest,
    texts: Texts,
}

/// On which terms devices hold something.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldTerms {
    /// What a device does when it holds something else.
    pub on_drift: OnDrift,
    /// Devices go back by themselves unless it is confirmed within this time.
    pub confirm_within: Option<Duration>,
}

/// What to do when a device holds something else than it was sent.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDrift {
    /// Tell.
    Alarm,
    /// Tell, and put it right.
    #[default]
    Repair,
    /// Tell, and close the gate until the controller sends something.
    Quarantine,
}

impl Order {
    /// All that was cleared for a device, under this number; none unless all of its texts were
    /// handed over to be judged.
    #[must_use]
    pub fn of(
        cleared: &Cleared,
        device: DeviceId,
        epoch: Epoch,
        generation: Generation,
    ) -> Option<Self> {
        let whole = cleared.whole(device)?.iter();
        Some(Self {
            device,
            name: cleared.fleet().device_name(device).clone(),
            epoch,
            generation,
            digest: cleared.device(device)?,
            texts: whole.map(|artifact| (artifact.dialect, artifact.parts.clone())).collect(),
        })
    }

    /// One for each device that something was cleared for.
    #[must_use]
    pub fn all(cleared: &Cleared, epoch: Epoch, generation: Generation) -> Vec<Self> {
        let devices = cleared.devices().map(|(device, _)| device);
        devices.filter_map(|device| Self::of(cleared, device, epoch, generation)).collect()
    }

    /// Text that nobody judged, for tests that need it.
    #[cfg(feature = "danger-unproved")]
    #[must_use]
    pub fn danger_unproved(
        device: (DeviceId, Name),
        epoch: Epoch,
        generation: Generation,
        texts: Vec<(Dialect, String)>,
    ) -> Self {
        let whole = |text| vec![PartText { part: model::Part::Whole, text }];
        let texts: Texts =
            texts.into_iter().map(|(dialect, text)| (dialect, whole(text))).collect();
        let (device, name) = device;
        let digest = verify::digest_of(&texts);
        Self { device, name, epoch, generation, digest, texts }
    }

    /// Whose it is.
    #[must_use]
    pub const fn device(&self) -> DeviceId {
        self.device
    }

    /// What that is called.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The life of the log that it comes from.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The plan that it comes from.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// What its texts come down to.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Its texts in their parts.
    #[must_use]
    pub const fn parts(&self) -> &Texts {
        &self.texts
    }

    /// How long its texts are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.texts.iter().flat_map(|(_, parts)| parts).map(|part| part.text.len()).sum()
    }

    /// Its texts as a device holds them.
    pub fn texts(&self) -> impl Iterator<Item = (Dialect, String)> {
        self.texts.iter().map(|(dialect, parts)| (*dialect, joined(parts)))
    }
}

/// The text that these parts make.
pub(crate) fn joined(parts: &[PartText]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}
