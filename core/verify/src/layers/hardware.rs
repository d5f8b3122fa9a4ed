//! PCI functions, IOMMU groups, drivers, and GPUs that are cut.

use std::collections::BTreeMap;

use model::{Grade, PciAddress, Runtime, Trust, mig_profiles};
use read::{DeviceFile, Function};
use smallvec::SmallVec;

use super::agree::Set;
use super::finding::bits;
use super::found::Findings;
use super::node::{JobHere, NodeView, Placed, Who};
use super::{Atom, LayerPlace, LayerWeakness, Member, Owner, Strength};
use crate::device::At;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

/// The driver that hands a function to a virtual machine.
const TO_MACHINES: &str = "vfio-pci";

/// The drivers by which containers use GPUs. By any other nobody does.
const TO_WORK: [&str; 2] = ["nvidia", "amdgpu"];

impl Verifier {
    /// An IOMMU group is one place, and so are all groups below a bridge that does not keep its
    /// functions apart.
    pub(super) fn judge_groups(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        let merged = Merged::of(view);
        let things = view.functions.iter().filter(|placed| placed.what != Function::Other);
        let mut placed: Vec<(u16, &Placed<'_>)> =
            things.map(|placed| (merged.group(placed.group), placed)).collect();
        placed.sort_by_key(|(group, _)| *group);
        // What is alone in its group meets nobody there.
        let groups = placed.chunk_by(|(a, _), (b, _)| a == b).filter(|here| here.len() > 1);
        for here in groups {
            let (mut seats, mut joins) = (Vec::with_capacity(here.len()), Vec::new());
            for (_, placed) in here {
                view.add_seats(placed.what, placed.pci, placed.at, &mut seats);
                let beneath = view.beneath.iter().filter(|(_, pci, _)| *pci == placed.pci);
                joins.extend(beneath.map(|(_, _, at)| *at));
            }
            let place = LayerPlace::IommuGroup { node: view.node, group: here[0].0 };
            self.meet(&place, &seats, &joins, found);
        }
        judge_viability(view, found);
    }

    /// What nobody owns has no driver, and nothing has two.
    pub(super) fn judge_drivers(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        for (place, &(pci, driver, at)) in view.driven.iter().enumerate() {
            let gpu = view.model.pci.gpu_at(pci);
            if let Some(gpu) = gpu.filter(|gpu| view.owners_of_gpu(*gpu).next().is_none()) {
                let weakness = LayerWeakness::NobodysDriver { gpu, driver: driver.clone() };
                found.open(view.device, weakness, [at]);
            }
            let earlier = &view.driven[..place];
            let other = earlier.iter().find(|(other, name, _)| *other == pci && *name != driver);
            if let Some((_, name, other_at)) = other {
                let weakness = Weakness::Contradiction {
                    what: "the driver of a function",
                    first: name.to_string(),
                    second: driver.to_string(),
                };
                found.weak(Some(view.device), weakness, [*other_at, at]);
            }
        }
    }

    /// A GPU that several own is cut, or all of them agreed to take turns.
    pub(super) fn judge_cuts(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        for gpu in 0..view.model.gpus {
            let cuts = cuts_of(view, gpu);
            let owners: SmallVec<[&JobHere<'_>; 4]> = view.owners_of_gpu(gpu).collect();
            let takes_part = |trust: &Trust| trust.grade >= Grade::Slice;
            if !cuts.is_empty() && !owners.iter().any(|job| takes_part(job.trust)) {
                found.open(view.device, LayerWeakness::LeftoverCut { gpu }, cuts.iter().copied());
            }
            let is_cut = view.instances.iter().any(|(cut, ..)| *cut == gpu);
            for (place, job) in owners.iter().enumerate() {
                let meets = |other: &&&JobHere<'_>| !may_share_gpu(other.trust, job.trust, is_cut);
                let Some(other) = owners[..place].iter().find(meets) else {
                    continue;
                };
                let pair = (part_of(view, gpu, other), part_of(view, gpu, job));
                let strength = if is_cut { Strength::Timing } else { Strength::Data };
                let place = LayerPlace::Gpu { node: view.node, gpu };
                found.breach(place, pair, strength, cuts.iter().copied());
            }
        }
        judge_instances(view, found);
        judge_instance_holders(view, found);
    }

    /// The GPUs of a job that have the driver it needs, and its interfaces likewise.
    pub(super) fn driven_for(&self, view: &NodeView<'_>, who: Who) -> (Set, Set) {
        let job = view.job(who);
        let to_machine = job.trust.runtime == Runtime::Vm;
        let driver = |pci: &PciAddress| view.driven.iter().find(|(held, ..)| held == pci);
        let (mut gpus, mut nics) = (Set::default(), Set::default());
        for gpu in bits(job.share.gpus) {
            let Some(pci) = view.model.pci.gpus.get(usize::from(gpu)) else { continue };
            let Some((_, name, at)) = driver(pci) else { continue };
            let is_its =
                if to_machine { *name == TO_MACHINES } else { TO_WORK.contains(&name.as_str()) };
            gpus.add(u64::from(is_its) << gpu, *at);
        }
        for nic in bits(job.share.nics) {
            let Some(pci) = view.model.pci.nics.get(usize::from(nic)) else { continue };
            let held = driver(pci);
            nics.ats.extend(held.map(|(.., at)| *at));
            let is_given = held.is_some_and(|(_, name, _)| *name == TO_MACHINES);
            nics.set |= u64::from(is_given == to_machine) << nic;
        }
        (gpus, nics)
    }
}

/// A group can be given away only as a whole: whatever else is in it must not be the host's.
fn judge_viability(view: &NodeView<'_>, found: &mut Findings<'_>) {
    let driver = |pci: PciAddress| view.driven.iter().find(move |(held, ..)| *held == pci);
    let is_given =
        |placed: &&Placed<'_>| driver(placed.pci).is_some_and(|(_, name, _)| *name == TO_MACHINES);
    for placed in &view.functions {
        // A GPU without a driver is nobody's to use; of others only vfio-pci is told.
        let is_hosts = match (placed.what, driver(placed.pci)) {
            (_, Some((_, name, _))) => *name != TO_MACHINES,
            (Function::Gpu(_), None) => false,
            (_, None) => true,
        };
        let given = view.functions.iter().filter(|other| other.group == placed.group);
        let given = given.clone().find(is_given);
        if let Some(given) = given.filter(|_| is_hosts) {
            let weakness = LayerWeakness::UnviableGroup { group: placed.group, pci: placed.pci };
            let driven = driver(given.pci).map(|(.., at)| *at);
            found.open(view.device, weakness, driven.into_iter().chain([placed.at, given.at]));
        }
    }
}

/// Instances are such as the product has, and do not lie on each other.
fn judge_instances(view: &NodeView<'_>, found: &mut Findings<'_>) {
    let profiles = mig_profiles(&view.model.gpu.product);
    let slots = |name: &str, start: u8| {
        let profile = profiles.iter().find(|profile| profile.name == name)?;
        profile.starts.contains(&start).then(|| start..start + profile.memory_slices)
    };
    for (place, &(gpu, profile, start, at)) in view.instances.iter().enumerate() {
        let own = slots(profile, start);
        let overlaps = view.instances[..place].iter().find(|(other, name, other_start, _)| {
            let theirs = slots(name, *other_start);
            *other == gpu
                && own
                    .as_ref()
                    .zip(theirs)
                    .is_some_and(|(own, theirs)| own.start < theirs.end && theirs.start < own.end)
        });
        if own.is_none() || overlaps.is_some() || gpu >= view.model.gpus {
            let weakness = LayerWeakness::BadInstance { gpu, profile: profile.clone(), start };
            let other = overlaps.map(|(.., other_at)| *other_at);
            found.open(view.device, weakness, [at].into_iter().chain(other));
        }
    }
}

/// An instance is one job's, unless all who hold it take turns.
fn judge_instance_holders(view: &NodeView<'_>, found: &mut Findings<'_>) {
    let holders = view.opens.iter().filter_map(|(who, file, at)| match file {
        DeviceFile::Instance { minor, start } => {
            Some((view.model.pci.gpu_of_minor(*minor)?, *start, *who, *at))
        }
        _ => None,
    });
    let holders: Vec<(u16, u8, Who, At)> = holders.collect();
    for (place, (gpu, start, who, at)) in holders.iter().enumerate() {
        let conflict = holders[..place].iter().find(|(other_gpu, other_start, other, _)| {
            (other_gpu, other_start) == (gpu, start)
                && other != who
                && !may_share_gpu(view.job(*other).trust, view.job(*who).trust, false)
        });
        if let Some((.., other, other_at)) = conflict {
            let place = LayerPlace::Instance { node: view.node, gpu: *gpu, start: *start };
            let member = |who: Who| part_of(view, *gpu, view.job(who));
            found.breach(place, (member(*other), member(*who)), Strength::Data, [*other_at, *at]);
        }
    }
}

/// The lines that cut a GPU.
fn cuts_of(view: &NodeView<'_>, gpu: u16) -> Vec<At> {
    let cuttable = view.cuttable.iter().filter(|(cut, _)| *cut == gpu).map(|(_, at)| *at);
    let instances = view.instances.iter().filter(|(cut, ..)| *cut == gpu);
    // The AMD modes besides SPX divide a GPU into several.
    let divided = view.divided.iter().filter(|(cut, mode, ..)| *cut == gpu && *mode != "SPX");
    let divided = divided.map(|(.., at)| *at);
    cuttable.chain(instances.map(|(.., at)| *at)).chain(divided).collect()
}

/// Parts of a GPU are for the grades that take parts, and turns for those who share everything.
fn may_share_gpu(a: &Trust, b: &Trust, is_cut: bool) -> bool {
    let both = |least: Grade| a.grade >= least && b.grade >= least;
    both(Grade::Shared) || (is_cut && both(Grade::Slice))
}

fn part_of(view: &NodeView<'_>, gpu: u16, job: &JobHere<'_>) -> Member {
    Member { atom: Atom::Gpu { node: view.node, gpu }, owner: Owner::Job(job.name.clone()) }
}

/// Groups that bridges join: each under the lowest of those joined with it.
pub(super) struct Merged(BTreeMap<u16, u16>);

impl Merged {
    pub(super) fn of(view: &NodeView<'_>) -> Self {
        let mut merged = Self(BTreeMap::new());
        let mut bridges: BTreeMap<PciAddress, u16> = BTreeMap::new();
        for (bridge, pci, _) in &view.beneath {
            let Some(placed) = view.functions.iter().find(|placed| placed.pci == *pci) else {
                continue;
            };
            let first = *bridges.entry(*bridge).or_insert(placed.group);
            let (a, b) = (merged.group(first), merged.group(placed.group));
            if a != b {
                merged.0.insert(a.max(b), a.min(b));
            }
        }
        merged
    }

    pub(super) fn group(&self, mut group: u16) -> u16 {
        while let Some(lower) = self.0.get(&group) {
            group = *lower;
        }
        group
    }
}
