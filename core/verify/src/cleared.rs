//! What was judged and found without fault, and what it comes down to in a few bytes.
//!
//! A part's digest is over its text, an artifact's over its dialect and its parts with their names,
//! a device's over its artifacts, and the root over all devices with theirs. No generation goes in:
//! the same texts under a later plan have the same digests.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use model::{Artifact, DeviceId, Dialect, Digest, Fleet, Part, PartText};
use read::Reading;

use crate::tree::Tree;
use crate::{Refused, Verifier};

/// Artifacts that were judged and found without fault. Only this room can make them.
///
/// It holds the artifacts that were handed over to be judged, and the digests of all that the
/// verifier knows.
#[derive(Debug)]
pub struct Cleared {
    fleet: Arc<Fleet>,
    artifacts: Vec<Artifact>,
    /// Where those of a device stand, if all of its texts are among them.
    whole: BTreeMap<DeviceId, Range<usize>>,
    root: Digest,
    devices: Arc<Vec<Option<Digest>>>,
    changed: Vec<DeviceId>,
}

impl Cleared {
    /// What may be sent.
    #[must_use]
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// The fleet it was judged for.
    #[must_use]
    pub const fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// What all texts of all devices come down to.
    #[must_use]
    pub const fn root(&self) -> Digest {
        self.root
    }

    /// What all texts of a device come down to; none if it has none, or if the verifier was told of
    /// one by claims alone.
    #[must_use]
    pub fn device(&self, device: DeviceId) -> Option<Digest> {
        self.devices.get(device.index()).copied().flatten()
    }

    /// Every device that has texts, with its digest.
    pub fn devices(&self) -> impl Iterator<Item = (DeviceId, Digest)> {
        let all = (0..).map(DeviceId).zip(self.devices.iter());
        all.filter_map(|(device, digest)| Some((device, (*digest)?)))
    }

    /// The devices whose digest is another than when the same verifier last cleared something.
    #[must_use]
    pub fn changed(&self) -> &[DeviceId] {
        &self.changed
    }

    /// All texts of a device; none unless every one of them was handed over to be judged.
    #[must_use]
    pub fn whole(&self, device: DeviceId) -> Option<&[Artifact]> {
        self.device(device)?;
        self.artifacts.get(self.whole.get(&device)?.clone())
    }
}

/// What a device's texts come down to, when it has all of them, in any order.
#[must_use]
pub fn digest_of(texts: &[(Dialect, Vec<PartText>)]) -> Digest {
    let mut parts = Vec::new();
    for (dialect, texts) in texts {
        parts.extend(
            texts.iter().map(|part| (*dialect, &part.part, Digest::of(part.text.as_bytes()))),
        );
    }
    digest_of_parts(parts)
}

/// The same of the digests of all of its parts. They may come in any order: what counts is where they
/// belong.
#[must_use]
pub fn digest_of_parts(mut parts: Vec<(Dialect, &Part, Digest)>) -> Digest {
    parts.sort_unstable();
    let artifacts = parts.chunk_by(|one, other| one.0 == other.0);
    let artifacts: Vec<Digest> = artifacts.map(of_artifact).collect();
    Digest::of_all(artifacts.iter().map(|artifact| artifact.as_bytes().as_slice()))
}

fn of_artifact(parts: &[(Dialect, &Part, Digest)]) -> Digest {
    let dialect = parts.first().map_or("", |(dialect, ..)| dialect.as_str());
    let names: Vec<String> = parts.iter().map(|(_, part, _)| part.to_string()).collect();
    let parts = names.iter().zip(parts);
    let parts = parts.flat_map(|(name, (.., digest))| [name.as_bytes(), digest.as_bytes()]);
    Digest::of_all(std::iter::once(dialect.as_bytes()).chain(parts))
}

/// The digests of what a verifier read, kept from one change to the next.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    /// By the number of the part; what is not there was never read as text.
    parts: Vec<Source>,
    /// By device, as far as known.
    devices: Arc<Vec<Option<Digest>>>,
    /// The devices of which something changed since; all of them at first.
    stale: Vec<DeviceId>,
    is_stale: Vec<bool>,
    /// None before anything was cleared.
    tree: Option<Tree>,
}

/// Where the claims of a part came from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Source {
    /// Somebody else read something: what it was is not known here.
    #[default]
    Elsewhere,
    /// It is gone.
    Nothing,
    /// A text.
    Text(Digest),
}

impl Source {
    /// Where claims came from that came without a text.
    pub(crate) fn of(reading: Option<&Reading>) -> Self {
        if reading.is_some() { Self::Elsewhere } else { Self::Nothing }
    }
}

impl Digests {
    fn source(&self, id: u32) -> Source {
        self.parts.get(id as usize).copied().unwrap_or_default()
    }

    /// Notes where the claims of a part came from. Without digests nothing is kept.
    pub(crate) fn note(&mut self, device: DeviceId, id: u32, source: Source) {
        let place = id as usize;
        if place >= self.parts.len() && source != Source::Elsewhere {
            self.parts.resize(place + 1, Source::Elsewhere);
        }
        if let Some(known) = self.parts.get_mut(place) {
            *known = source;
        }
        if let Some(is_stale) = self.is_stale.get_mut(device.index())
            && !std::mem::replace(is_stale, true)
        {
            self.stale.push(device);
        }
    }
}

impl Verifier {
    /// Reads what a part of an artifact says now, in place of what it said before; none when the
    /// part is gone. What is judged and what is digested are the same bytes.
    pub fn take_text(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        part: &Part,
        text: Option<&str>,
    ) {
        let digest = text.map(|text| Digest::of(text.as_bytes()));
        self.take_digested(device, dialect, part, text.zip(digest));
    }

    /// Takes these artifacts in, each in place of the whole one that stood there before, judges
    /// everything they touch, and lets them through or says why not. Parts whose text is the same
    /// are not read again. After a refusal the verifier knows what was refused: whoever goes on with
    /// it gives it what stood there before.
    pub fn clear(&mut self, artifacts: Vec<Artifact>) -> Result<Cleared, Refused> {
        let artifacts = in_order(artifacts);
        for artifact in &artifacts {
            self.take_artifact(artifact);
        }
        let findings = self.judge();
        if !findings.is_empty() {
            return Err(Refused { artifacts, findings });
        }
        let (root, changed) = self.settle_digests();
        Ok(Cleared {
            fleet: Arc::clone(&self.world.fleet),
            whole: self.whole(&artifacts),
            artifacts,
            root,
            devices: Arc::clone(&self.digests.devices),
            changed,
        })
    }

    fn take_artifact(&mut self, artifact: &Artifact) {
        let Artifact { device, dialect, parts, .. } = artifact;
        for PartText { part, text } in parts {
            let digest = Digest::of(text.as_bytes());
            let known = self.sheet_ids.get(*device, *dialect, part);
            let is_same = known.is_some_and(|id| self.digests.source(id) == Source::Text(digest));
            if !is_same {
                self.take_digested(*device, *dialect, part, Some((text, digest)));
            }
        }
        let is_there = |part: &Part| parts.binary_search_by(|own| own.part.cmp(part)).is_ok();
        let known = self.sheet_ids.of(*device);
        let gone = known.filter(|(held, part, id)| {
            held == dialect && !is_there(part) && self.digests.source(*id) != Source::Nothing
        });
        let gone: Vec<Part> = gone.map(|(_, part, _)| part.clone()).collect();
        for part in gone {
            self.take_text(*device, *dialect, &part, None);
        }
    }

    fn take_digested(
        &mut self,
        device: DeviceId,
        dialect: Dialect,
        part: &Part,
        text: Option<(&str, Digest)>,
    ) {
        let reading = text.map(|(text, _)| read::part(dialect, part, text));
        self.take(device, dialect, part, reading);
        let id = self.sheet_id(device, dialect, part);
        let source = text.map_or(Source::Nothing, |(_, digest)| Source::Text(digest));
        self.digests.note(device, id, source);
    }

    /// Brings the digests up to date, and gives the root and the devices whose own is another now.
    fn settle_digests(&mut self) -> (Digest, Vec<DeviceId>) {
        let fleet = &self.world.fleet;
        if self.digests.tree.is_none() {
            let count = fleet.device_count();
            let named = fleet.devices().map(|device| (device, fleet.device_name(device)));
            self.digests.tree = Some(Tree::of(named));
            self.digests.devices = Arc::new(vec![None; count]);
            self.digests.stale = fleet.devices().collect();
            self.digests.is_stale = vec![false; count];
        }
        let stale = std::mem::take(&mut self.digests.stale);
        let new: Vec<Option<Digest>> = stale.iter().map(|device| self.device(*device)).collect();
        let digests = &mut self.digests;
        let mut changed = Vec::new();
        for (device, digest) in stale.into_iter().zip(new) {
            digests.is_stale[device.index()] = false;
            if digests.devices[device.index()] != digest {
                Arc::make_mut(&mut digests.devices)[device.index()] = digest;
                changed.push(device);
            }
        }
        changed.sort_unstable();
        let named = |device: &DeviceId| {
            (*device, fleet.device_name(*device), digests.devices[device.index()])
        };
        let Some(tree) = &mut digests.tree else { unreachable!("it was made above") };
        let root = tree.settle(changed.iter().map(named));
        (root, changed)
    }

    /// What all texts of a device come down to, if it has any and all were read here.
    fn device(&self, device: DeviceId) -> Option<Digest> {
        let mut parts = Vec::new();
        for (dialect, part, id) in self.sheet_ids.of(device) {
            match self.digests.source(id) {
                Source::Text(digest) => parts.push((dialect, part, digest)),
                Source::Nothing => {}
                Source::Elsewhere => return None,
            }
        }
        (!parts.is_empty()).then(|| digest_of_parts(parts))
    }

    /// Where the artifacts of each device stand, as far as all of its texts are among them.
    fn whole(&self, artifacts: &[Artifact]) -> BTreeMap<DeviceId, Range<usize>> {
        let mut whole = BTreeMap::new();
        let mut start = 0;
        for own in artifacts.chunk_by(|one, other| one.device == other.device) {
            let end = start + own.len();
            let device = own[0].device;
            let mut held = self.sheet_ids.of(device);
            let is_whole = held.all(|(dialect, _, id)| {
                self.digests.source(id) == Source::Nothing
                    || own.iter().any(|artifact| artifact.dialect == dialect)
            });
            if is_whole {
                whole.insert(device, start..end);
            }
            start = end;
        }
        whole
    }
}

/// Artifacts by device, each with its parts in their order and each part once: what is judged last
/// of two that are about the same would hide the other.
fn in_order(mut artifacts: Vec<Artifact>) -> Vec<Artifact> {
    let key = |artifact: &Artifact| (artifact.device, artifact.dialect);
    if !artifacts.is_sorted_by_key(|artifact| artifact.device) {
        artifacts.sort_by_key(|artifact| artifact.device);
    }
    let mut all: Vec<Artifact> = Vec::with_capacity(artifacts.len());
    for mut artifact in artifacts {
        let mut own = all.iter_mut().rev().take_while(|held| held.device == artifact.device);
        match own.find(|held| key(held) == key(&artifact)) {
            Some(held) => held.parts.append(&mut artifact.parts),
            None => all.push(artifact),
        }
    }
    for artifact in &mut all {
        let parts = &mut artifact.parts;
        if !parts.is_sorted_by(|one, other| one.part < other.part) {
            parts.sort_by(|one, other| one.part.cmp(&other.part));
            parts.dedup_by(|later, one| {
                let is_same = later.part == one.part;
                if is_same {
                    one.text.push_str(&later.text);
                }
                is_same
            });
        }
    }
    all
}
