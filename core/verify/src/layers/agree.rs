//! What each job was given on a node: nothing that is another's, and the same by every layer.

use model::{Dialect, JobName, Runtime};
use read::{ClaimedGpu, DeviceFile, Function};
use smallvec::SmallVec;

use super::finding::bits;
use super::found::Findings;
use super::node::{NodeView, Who};
use super::{
    Atom, Disagree, Lack, LayerPlace, LayerWeakness, Member, Named, Owner, Strength, View,
};
use crate::device::{At, Line};
use crate::verifier::Verifier;
use crate::weakness::Weakness;

/// What one layer says that a job has on a node.
pub(super) struct Told {
    pub(super) layer: Dialect,
    /// Whether a job that it does not name is cut off.
    pub(super) must: bool,
    pub(super) gpus: Option<Set>,
    pub(super) nics: Option<Set>,
}

/// Things of a node, as bits, and the lines that name them.
#[derive(Default)]
pub(super) struct Set {
    pub(super) set: u64,
    pub(super) ats: SmallVec<[At; 8]>,
}

impl Set {
    pub(super) fn add(&mut self, set: u64, at: At) {
        self.set |= set;
        self.ats.push(at);
    }
}

impl Verifier {
    pub(super) fn judge_jobs_here(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        for (who, _) in view.owners() {
            let told = self.told_of(view, who);
            judge_holder(view, who, &told, found);
            judge_gpus(view, who, &told, found);
            judge_nics(view, who, &told, found);
            judge_parts(view, who, found);
            self.judge_channels(view, who, found);
            self.judge_control(view, who, found);
            judge_guest(view, who, found);
            judge_files(view, who, found);
        }
        for (who, job) in view.strangers() {
            // What its tenant may do changes without a word about this node.
            found.looked_elsewhere = true;
            let told = self.told_of(view, who);
            judge_holder(view, who, &told, found);
            judge_files(view, who, found);
            for (layer, at) in view.lines_naming(who) {
                let weakness = LayerWeakness::Leftover { layer, job: job.name.clone() };
                found.open(view.device, weakness, [at]);
            }
        }
    }

    /// What each layer that speaks of the job on this node says it has.
    pub(super) fn told_of(&self, view: &NodeView<'_>, who: Who) -> SmallVec<[Told; 8]> {
        let fleet = &self.world.fleet;
        let job = view.job(who);
        let in_machine = job.trust.runtime == Runtime::Vm;
        let mut all = SmallVec::new();
        for layer in fleet.dialects(view.device).filter(|layer| !layer.is_network()) {
            match layer {
                Dialect::Vfio => {
                    let (gpus, nics) = self.driven_for(view, who);
                    all.push(Told { layer, must: true, gpus: Some(gpus), nics: Some(nics) });
                }
                Dialect::Nvlink => {
                    let gpus = joined(active_sets(view), job.share.gpus);
                    // A board that can join nothing has nothing to say.
                    let must = !view.joinable.is_empty();
                    all.push(Told { layer, must, gpus: Some(gpus), nics: None });
                }
                Dialect::Devices => all.push(opened(view, who)),
                Dialect::Vm => all.push(guest_has(view, who, in_machine)),
                _ => {}
            }
        }
        let node = &fleet.nodes[view.node.index()];
        if self.layers.managers.nvlink.contains_key(&node.nvlink_domain) {
            let sets = view.linked.iter().map(|(_, gpus, at)| (*gpus, *at));
            let gpus = Some(joined(sets, job.share.gpus));
            all.push(Told { layer: Dialect::Nvlink, must: true, gpus, nics: None });
        }
        if self.layers.managers.slurm.is_some() {
            let minors = view.allocated.iter().filter(|line| line.0 == who);
            let sets = minors.map(|(_, minors, at)| (by_minors(view, *minors), *at));
            all.push(given(Dialect::Slurm, false, sets));
        }
        if self.layers.managers.kubernetes.is_some() {
            let gpus = view.claimed.iter().filter(|line| line.0 == who);
            let sets = gpus.map(|(_, gpu, at)| (by_claim(view, *gpu), *at));
            all.push(given(Dialect::Kubernetes, true, sets));
        }
        all
    }

    /// Who opens devices opens the files by which their drivers are spoken to.
    fn judge_control(&self, view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
        let job = view.job(who);
        let opened = view.opens.iter().filter(|line| line.0 == who);
        let needed: &[&str] = match job.trust.runtime {
            Runtime::Vm => &["/dev/vfio/vfio"],
            Runtime::Container if job.share.gpus == 0 => &[],
            Runtime::Container if view.model.gpu.is_amd() => &["/dev/kfd"],
            Runtime::Container => &["/dev/nvidiactl", "/dev/nvidia-uvm"],
        };
        let is_open = |needed: &str| {
            opened
                .clone()
                .any(|(_, file, _)| matches!(file, DeviceFile::Control(file) if file == needed))
        };
        let missing: Vec<&'static str> =
            needed.iter().copied().filter(|file| !is_open(file)).collect();
        // A job that opens nothing at all is told of as such.
        if opened.clone().next().is_some() && !missing.is_empty() {
            let owner = Owner::Job(job.name.clone());
            let lacks = Lack::Some(Named::Files(missing));
            let ats = opened.map(|(.., at)| *at);
            found.severed(Dialect::Devices, owner, Some(view.node), lacks, ats);
        }
    }

    /// The memory channel that a job may open is the one that it was given.
    fn judge_channels(&self, view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
        if !self.world.fleet.layers.dialects.contains(&Dialect::Imex) {
            // Nobody gives channels in this fleet, so nobody can say which is the right one.
            return;
        }
        let job = view.job(who);
        let opened = view.opens.iter().filter_map(|(holder, file, at)| match file {
            DeviceFile::Channel(channel) if *holder == who => Some((*channel, *at)),
            _ => None,
        });
        let opened: Vec<(u16, At)> = opened.collect();
        let given = view.channels.iter().filter(|line| line.0 == who);
        let given: Vec<(u16, At)> = given.map(|(_, channel, at)| (*channel, *at)).collect();
        let ats = |lines: &[(u16, At)]| lines.iter().map(|(_, at)| *at).collect::<Vec<At>>();
        if self.speaks(view.device, Dialect::Imex) && given.is_empty() {
            let owner = Owner::Job(job.name.clone());
            let ats = ats(&opened);
            found.severed(Dialect::Imex, owner, Some(view.node), Lack::Everything, ats);
            return;
        }
        if let Some((first, second)) = two_of(&given) {
            let weakness = Weakness::Contradiction {
                what: "the memory channel of a job",
                first: first.0.to_string(),
                second: second.0.to_string(),
            };
            found.weak(Some(view.device), weakness, [first.1, second.1]);
        }
        let opens_channels = self.speaks(view.device, Dialect::Devices)
            && job.trust.runtime == Runtime::Container
            && view.opens.iter().any(|line| line.0 == who);
        let numbers = |lines: &[(u16, At)]| {
            let mut numbers: Vec<u16> = lines.iter().map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            numbers
        };
        let (first, second) = (numbers(&given), numbers(&opened));
        if first != second && (opens_channels || !opened.is_empty()) {
            let unnamed = [without(&second, &first), without(&first, &second)];
            let first = View { layer: Dialect::Imex, names: Named::Channels(first) };
            let second = View { layer: Dialect::Devices, names: Named::Channels(second) };
            let ats = ats(&given).into_iter().chain(ats(&opened));
            let (job, node) = (job.name.clone(), Some(view.node));
            found.disagree(Disagree { job, node, first, second }, unnamed, ats);
        }
    }
}

/// The channels of the one that are not among those of the other, if there are any.
fn without(one: &[u16], other: &[u16]) -> Option<Named> {
    let left: Vec<u16> = one.iter().copied().filter(|number| !other.contains(number)).collect();
    (!left.is_empty()).then_some(Named::Channels(left))
}

/// Two lines with different numbers, if there are any.
fn two_of(lines: &[Line<u16>]) -> Option<(Line<u16>, Line<u16>)> {
    let first = lines.first()?;
    Some((*first, *lines.iter().find(|(number, _)| *number != first.0)?))
}

/// Nothing is given to a job that is another's or nobody's: one breach for each of them.
fn judge_holder(view: &NodeView<'_>, who: Who, told: &[Told], found: &mut Findings<'_>) {
    let job = view.job(who);
    let node = view.node;
    let gives = [Dialect::Devices, Dialect::Vm, Dialect::Slurm, Dialect::Kubernetes];
    for layer in told.iter().filter(|told| gives.contains(&told.layer)) {
        let gpus = layer.gpus.as_ref().map_or(0, |gpus| gpus.set) & !job.share.gpus;
        let nics = layer.nics.as_ref().map_or(0, |nics| nics.set) & !job.share.nics;
        let gpus = bits(gpus).map(|gpu| {
            (Atom::Gpu { node, gpu }, view.owners_of_gpu(gpu).next().map(|job| job.name))
        });
        let nics = bits(nics).map(|nic| {
            (Atom::Nic { node, nic }, view.owners_of_nic(nic).next().map(|job| job.name))
        });
        let mut robbed: Vec<Option<&JobName>> = Vec::new();
        for (atom, owner) in gpus.chain(nics) {
            if robbed.contains(&owner) {
                continue;
            }
            robbed.push(owner);
            let owner = owner.map_or(Owner::Nobody, |job| Owner::Job(job.clone()));
            let ats = lines_for(view, who, layer, &atom);
            give(view, who, layer.layer, Member { atom, owner }, ats, found);
        }
    }
    judge_strange_functions(view, who, found);
}

/// All GPUs of a job on a node are in one partition.
fn judge_parts(view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
    let job = view.job(who);
    let linked = view.linked.iter().map(|(_, gpus, at)| (*gpus, *at));
    let sets: SmallVec<[(u64, At); 4]> =
        active_sets(view).chain(linked).filter(|(gpus, _)| gpus & job.share.gpus != 0).collect();
    let union = sets.iter().fold(0, |all, (gpus, _)| all | gpus);
    let covers = |(gpus, _): &(u64, At)| job.share.gpus & !gpus == 0;
    if job.share.gpus & !union == 0 && !sets.is_empty() && !sets.iter().any(covers) {
        let lacks = Lack::Joint(Named::Gpus(job.share.gpus));
        let ats = sets.iter().map(|(_, at)| *at);
        let owner = Owner::Job(job.name.clone());
        found.severed(Dialect::Nvlink, owner, Some(view.node), lacks, ats);
    }
}

/// Every layer names the GPUs that are the job's: those that name others disagree with those that
/// name the right ones, or with each other.
fn judge_gpus(view: &NodeView<'_>, who: Who, told: &[Told], found: &mut Findings<'_>) {
    let sets = told.iter().filter_map(|told| Some((told, told.gpus.as_ref()?))).collect();
    judge_sets(view, who, view.job(who).share.gpus, sets, Named::Gpus, found);
}

fn judge_nics(view: &NodeView<'_>, who: Who, told: &[Told], found: &mut Findings<'_>) {
    // A layer that forgets the job altogether was told of by its GPUs.
    let has_gpus = view.job(who).share.gpus != 0;
    let forgets = |told: &&Told| has_gpus && told.gpus.as_ref().is_some_and(|gpus| gpus.set == 0);
    let told = told.iter().filter(|told| !forgets(told));
    let sets = told.filter_map(|told| Some((told, told.nics.as_ref()?))).collect();
    judge_sets(view, who, view.job(who).share.nics, sets, Named::Nics, found);
}

fn judge_sets(
    view: &NodeView<'_>,
    who: Who,
    own: u64,
    sets: SmallVec<[(&Told, &Set); 8]>,
    named: fn(u64) -> Named,
    found: &mut Findings<'_>,
) {
    let job = view.job(who).name;
    let mut naming = sets.iter().filter(|(_, things)| things.set != 0);
    let right = naming.clone().find(|(_, things)| things.set == own).or_else(|| naming.next());
    for (told, things) in &sets {
        let owner = || Owner::Job(job.clone());
        let ats = things.ats.iter().copied();
        if things.set == 0 {
            if told.must && own != 0 {
                let is_forgotten = things.ats.is_empty() && told.layer != Dialect::Vfio;
                let lacks = if is_forgotten { Lack::Everything } else { Lack::Some(named(own)) };
                found.severed(told.layer, owner(), Some(view.node), lacks, ats);
            }
            continue;
        }
        let Some((other, theirs)) = right.filter(|(_, theirs)| theirs.set != things.set) else {
            let missing = own & !things.set;
            if missing != 0 {
                let lacks = Lack::Some(named(missing));
                found.severed(told.layer, owner(), Some(view.node), lacks, ats);
            }
            continue;
        };
        let ats = theirs.ats.iter().copied().chain(ats);
        let unnamed = [theirs.set, things.set].map(|set| own & !set);
        let unnamed = unnamed.map(|set| (set != 0).then(|| named(set)));
        let first = View { layer: other.layer, names: named(theirs.set) };
        let second = View { layer: told.layer, names: named(things.set) };
        let (job, node) = (job.clone(), Some(view.node));
        found.disagree(Disagree { job, node, first, second }, unnamed, ats);
    }
}

/// A machine is what its tenant asks for, near its GPUs; and nobody has one who runs in containers.
fn judge_guest(view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
    let job = view.job(who);
    let planned = job.trust.confidential;
    for (_, held, at) in view.guests.iter().filter(|line| line.0 == who) {
        if job.trust.runtime == Runtime::Container {
            let weakness =
                LayerWeakness::WrongRuntime { job: job.name.clone(), planned: Runtime::Container };
            found.open(view.device, weakness, [*at]);
        } else if *held != planned {
            let (job, held) = (job.name.clone(), *held);
            let weakness = LayerWeakness::NotConfidential { job, held, planned };
            found.open(view.device, weakness, [*at]);
        }
    }
    judge_memory(view, who, found);
}

/// The memory of a machine is on the NUMA nodes of its GPUs, and nowhere else.
fn judge_memory(view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
    let job = view.job(who);
    let mut near: SmallVec<[u16; 8]> = bits(job.share.gpus)
        .filter_map(|gpu| view.model.gpu_numa.get(usize::from(gpu)).copied())
        .collect();
    near.sort_unstable();
    near.dedup();
    let lines = || view.guest_near.iter().filter(|line| line.0 == who);
    for (_, numa, at) in lines().filter(|(_, numa, _)| !near.contains(numa)) {
        let weakness = LayerWeakness::FarMemory { job: job.name.clone(), numa: *numa };
        found.open(view.device, weakness, [*at]);
    }
    let guests = view.guests.iter().filter(|line| line.0 == who).map(|(.., at)| *at);
    if guests.clone().next().is_none() {
        return;
    }
    for numa in near {
        if lines().all(|(_, held, _)| *held != numa) {
            let weakness = LayerWeakness::LooseMemory { job: job.name.clone(), numa };
            found.open(view.device, weakness, guests.clone());
        }
    }
}

/// A job opens single files that lead to single things, of the kind that it runs in.
fn judge_files(view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
    let job = view.job(who);
    let planned = job.trust.runtime;
    for (_, file, at) in view.opens.iter().filter(|line| line.0 == who) {
        let open = |file: &str, why| LayerWeakness::OpenDevices {
            job: job.name.clone(),
            file: file.into(),
            why,
        };
        let wrong = || LayerWeakness::WrongRuntime { job: job.name.clone(), planned };
        let weakness = match file {
            DeviceFile::Many(file) => open(file, "which is more than one device"),
            DeviceFile::Management(file) => open(file, "which manages the fabric of all"),
            DeviceFile::Strange(file) => open(file, "which leads somewhere nobody knows"),
            DeviceFile::Gpu(minor) | DeviceFile::Instance { minor, .. }
                if view.model.pci.gpu_of_minor(*minor).is_none() =>
            {
                open(&format!("the file of GPU {minor}"), "which no GPU of the node has")
            }
            DeviceFile::Gpu(_) | DeviceFile::Verbs(_) if planned == Runtime::Vm => wrong(),
            DeviceFile::Group(_) if planned == Runtime::Container => wrong(),
            _ => continue,
        };
        found.open(view.device, weakness, [*at]);
    }
}

/// What a job was given that is none of the node's GPUs and interfaces.
fn judge_strange_functions(view: &NodeView<'_>, who: Who, found: &mut Findings<'_>) {
    let node = view.node;
    for (_, pci, at) in view.guest_has.iter().filter(|line| line.0 == who) {
        if function_at(view, *pci).is_none() {
            let atom = Atom::Function { node, pci: *pci };
            give(view, who, Dialect::Vm, Member { atom, owner: Owner::Nobody }, [*at], found);
        }
    }
    for (_, file, at) in view.opens.iter().filter(|line| line.0 == who) {
        match file {
            DeviceFile::Group(group) if in_group(view, *group) == (0, 0) => {
                let member =
                    Member { atom: Atom::Group { node, group: *group }, owner: Owner::Nobody };
                give(view, who, Dialect::Devices, member, [*at], found);
            }
            _ => {}
        }
    }
}

fn give(
    view: &NodeView<'_>,
    who: Who,
    layer: Dialect,
    what: Member,
    ats: impl IntoIterator<Item = At>,
    found: &mut Findings<'_>,
) {
    let owner = Owner::Job(view.job(who).name.clone());
    let holder = Member { atom: Atom::Node(view.node), owner };
    found.breach(LayerPlace::Given(layer), (holder, what), Strength::Data, ats);
}

/// The lines of a layer by which a job has this thing.
fn lines_for(view: &NodeView<'_>, who: Who, told: &Told, atom: &Atom) -> Vec<At> {
    let is_it = |function: Option<Function>| match (function, atom) {
        (Some(Function::Gpu(held)), Atom::Gpu { gpu, .. }) => held == *gpu,
        (Some(Function::Nic(held) | Function::Vf { nic: held, .. }), Atom::Nic { nic, .. }) => {
            held == *nic
        }
        _ => false,
    };
    let own = |line: &Who| *line == who;
    let ats: Vec<At> = match told.layer {
        Dialect::Vm => {
            let lines = view.guest_has.iter().filter(|line| own(&line.0));
            lines.filter(|(_, pci, _)| is_it(function_at(view, *pci))).map(|line| line.2).collect()
        }
        Dialect::Devices => {
            let lines = view.opens.iter().filter(|line| own(&line.0));
            lines.filter(|(_, file, _)| leads_to(view, file, atom)).map(|line| line.2).collect()
        }
        Dialect::Kubernetes => {
            let lines = view.claimed.iter().filter(|line| own(&line.0));
            let gpu = |gpu| bits(by_claim(view, gpu)).next().map(Function::Gpu);
            lines.filter(|(_, asked, _)| is_it(gpu(*asked))).map(|line| line.2).collect()
        }
        _ => told.gpus.as_ref().map_or_else(Vec::new, |gpus| gpus.ats.to_vec()),
    };
    ats
}

fn leads_to(view: &NodeView<'_>, file: &DeviceFile, atom: &Atom) -> bool {
    let (gpus, nics) = behind(view, file);
    match atom {
        Atom::Gpu { gpu, .. } => gpus & bit(*gpu) != 0,
        Atom::Nic { nic, .. } => nics & bit(*nic) != 0,
        _ => false,
    }
}

/// The GPUs and interfaces that a device file leads to.
fn behind(view: &NodeView<'_>, file: &DeviceFile) -> (u64, u64) {
    match file {
        DeviceFile::Gpu(minor) | DeviceFile::Instance { minor, .. } => (by_minor(view, *minor), 0),
        DeviceFile::Verbs(nic) => (0, bit(*nic)),
        DeviceFile::Group(group) => in_group(view, *group),
        _ => (0, 0),
    }
}

fn opened(view: &NodeView<'_>, who: Who) -> Told {
    let (mut gpus, mut nics) = (Set::default(), Set::default());
    for (_, file, at) in view.opens.iter().filter(|line| line.0 == who) {
        let (of_gpus, of_nics) = behind(view, file);
        if of_gpus != 0 {
            gpus.add(of_gpus, *at);
        }
        if of_nics != 0 {
            nics.add(of_nics, *at);
        }
    }
    Told { layer: Dialect::Devices, must: true, gpus: Some(gpus), nics: Some(nics) }
}

fn guest_has(view: &NodeView<'_>, who: Who, in_machine: bool) -> Told {
    let (mut gpus, mut nics) = (Set::default(), Set::default());
    for (_, pci, at) in view.guest_has.iter().filter(|line| line.0 == who) {
        match function_at(view, *pci) {
            Some(Function::Gpu(gpu)) => gpus.add(bit(gpu), *at),
            Some(Function::Nic(nic) | Function::Vf { nic, .. }) => nics.add(bit(nic), *at),
            _ => {}
        }
    }
    Told { layer: Dialect::Vm, must: in_machine, gpus: Some(gpus), nics: Some(nics) }
}

fn given(layer: Dialect, must: bool, sets: impl Iterator<Item = (u64, At)>) -> Told {
    let mut gpus = Set::default();
    sets.for_each(|(set, at)| gpus.add(set, at));
    Told { layer, must, gpus: Some(gpus), nics: None }
}

/// The GPUs of all sets that hold one of these.
fn joined(sets: impl Iterator<Item = (u64, At)>, own: u64) -> Set {
    let mut gpus = Set::default();
    sets.filter(|(set, _)| set & own != 0).for_each(|(set, at)| gpus.add(set, at));
    gpus
}

/// The GPUs of each active partition of the board.
fn active_sets(view: &NodeView<'_>) -> impl Iterator<Item = (u64, At)> {
    view.active.iter().filter_map(|(partition, at)| {
        let joinable = view.joinable.iter().find(|(number, ..)| number == partition)?;
        Some((joinable.1, *at))
    })
}

fn by_minor(view: &NodeView<'_>, minor: u16) -> u64 {
    view.model.pci.gpu_of_minor(minor).map_or(0, bit)
}

fn by_claim(view: &NodeView<'_>, gpu: ClaimedGpu) -> u64 {
    match gpu {
        ClaimedGpu::At { pci, .. } => view.model.pci.gpu_at(pci).map_or(0, bit),
        ClaimedGpu::Minor(minor) => by_minor(view, minor),
    }
}

fn by_minors(view: &NodeView<'_>, minors: u64) -> u64 {
    bits(minors).fold(0, |gpus, minor| gpus | by_minor(view, minor))
}

/// A number as a set; more than a node can have are in none.
const fn bit(number: u16) -> u64 {
    if number < 64 { 1 << number } else { 0 }
}

/// What stands at an address: as the fleet says, or as a line says where the fleet says nothing.
fn function_at(view: &NodeView<'_>, pci: model::PciAddress) -> Option<Function> {
    let layout = &view.model.pci;
    let gpu = layout.gpu_at(pci).map(Function::Gpu);
    let held = || view.functions.iter().find(|placed| placed.pci == pci).map(|placed| placed.what);
    let known = gpu.or_else(|| layout.nic_at(pci).map(Function::Nic)).or_else(held);
    known.filter(|what| *what != Function::Other)
}

/// The GPUs and interfaces of an IOMMU group: as lines say, or as the fleet says where they do not.
fn in_group(view: &NodeView<'_>, group: u16) -> (u64, u64) {
    if view.functions.is_empty() {
        let gpus = (0..).zip(&view.model.gpu_groups).filter(|(_, held)| **held == group);
        let nics = (0..).zip(&view.model.nics).filter(|(_, nic)| nic.iommu_group == group);
        let gpus = gpus.fold(0, |all, (gpu, _)| all | bit(gpu));
        return (gpus, nics.fold(0, |all, (nic, _)| all | bit(nic)));
    }
    let here = view.functions.iter().filter(|placed| placed.group == group);
    here.fold((0, 0), |(gpus, nics), placed| match placed.what {
        Function::Gpu(gpu) => (gpus | bit(gpu), nics),
        Function::Nic(nic) | Function::Vf { nic, .. } => (gpus, nics | bit(nic)),
        Function::Other => (gpus, nics),
    })
}

impl NodeView<'_> {
    /// The first line of each layer that names a job.
    fn lines_naming(&self, who: Who) -> Vec<(Dialect, At)> {
        let own = |holder: &Who| *holder == who;
        let imex = self.channels.iter().find(|line| own(&line.0)).map(|line| line.2);
        let devices = self.opens.iter().find(|line| own(&line.0)).map(|line| line.2);
        let guest = self.guests.iter().find(|line| own(&line.0)).map(|line| line.2);
        let has = self.guest_has.iter().find(|line| own(&line.0)).map(|line| line.2);
        let slurm = self.allocated.iter().find(|line| own(&line.0)).map(|line| line.2);
        let claimed = self.claimed.iter().find(|line| own(&line.0)).map(|line| line.2);
        let started = self.started.iter().find(|line| own(&line.0)).map(|line| line.1);
        let pasts = self.pasts.iter().find(|line| own(&line.0)).map(|line| line.2);
        let reports = self.reports.iter().find(|line| own(&line.who)).map(|line| line.at);
        let lines = [
            (Dialect::Imex, imex),
            (Dialect::Devices, devices),
            (Dialect::Vm, guest.or(has)),
            (Dialect::Slurm, slurm),
            (Dialect::Kubernetes, claimed.or(started)),
            (Dialect::Scrub, pasts),
            (Dialect::Attest, reports),
        ];
        lines.into_iter().filter_map(|(layer, at)| Some((layer, at?))).collect()
    }
}
