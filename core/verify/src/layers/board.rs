//! What a node's GPUs can be joined to and cut into, as its board and its driver say.

use model::{BoardPartition, Dialect, Grade, NodeModel};

use super::finding::bits;
use super::found::Findings;
use super::machine::Machine;
use super::node::NodeView;
use super::software::drift;
use super::{LayerPlace, LayerWeakness, Named};
use crate::device::At;
use crate::verifier::Verifier;

/// How an AMD GPU is divided that is one: its compute and its memory.
const WHOLE: (&str, &str) = ("SPX", "NPS1");

impl Verifier {
    pub(super) fn judge_board(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        let mut joined: Vec<(u16, u64, At)> = Vec::new();
        for &(partition, at) in &view.active {
            let Some(&(_, gpus, joinable)) =
                view.joinable.iter().find(|(number, ..)| *number == partition)
            else {
                found.open(view.device, LayerWeakness::UnknownPartition { partition }, [at]);
                continue;
            };
            // A GPU is in one partition at a time.
            let common =
                |(other, theirs, _): &&(u16, u64, At)| *other != partition && theirs & gpus != 0;
            if let Some(&(first, _, other)) = joined.iter().find(common) {
                let double = LayerWeakness::DoublePartition { first, second: partition };
                found.open(view.device, double, [other, at]);
            }
            joined.push((partition, gpus, at));
            let seats = view.seats_of(gpus, at);
            if seats.iter().all(|seat| seat.owner.is_none()) {
                found.open(view.device, LayerWeakness::LeftoverPartition { partition }, [at]);
            }
            let place = LayerPlace::Partition { device: view.device, partition };
            self.meet(&place, &seats, &[joinable], found);
        }
    }

    /// A board joins under each number what boards of its kind do: another table means that an
    /// active number joins other GPUs than everybody thinks.
    pub(super) fn judge_table(&self, view: &Machine<'_>, found: &mut Findings<'_>) {
        let planned = view.model.board_partitions().unwrap_or_default();
        let is_unseen = planned.is_empty() && view.model.board_partitions().is_some();
        if is_unseen || !self.hears(view.device, Dialect::Nvlink) {
            return;
        }
        let what = |number: u16| format!("NVLink partition {number}");
        let shown = |gpus: u64| Named::Gpus(gpus).show(&self.world.fleet);
        for &(number, gpus, at) in &view.joinable {
            let known = planned.iter().find(|one| one.number == number);
            if known.is_none_or(|one| one.gpus != gpus) {
                let planned = known.map_or("that there is none".into(), |one| shown(one.gpus));
                drift(view.device, what(number), &shown(gpus), &planned, Some(at), found);
            }
        }
        for BoardPartition { number, gpus } in planned {
            if view.joinable.iter().all(|(held, ..)| *held != number) {
                found.unsaid(Dialect::Nvlink, view.node, what(number), &shown(gpus));
            }
        }
    }

    /// Every AMD GPU is known to be one, unless somebody on it takes a part.
    pub(super) fn judge_divisions(&self, view: &NodeView<'_>, found: &mut Findings<'_>) {
        if !self.hears(view.device, Dialect::Amd) {
            return;
        }
        let what = |gpu: u16| format!("the division of GPU {}", gpu + 1);
        let whole = format!("{} {}", WHOLE.0, WHOLE.1);
        let is_parted = |gpu| view.owners_of_gpu(gpu).any(|job| job.trust.grade >= Grade::Slice);
        for &(gpu, compute, memory, at) in &view.divided {
            let held = format!("{compute} {memory}");
            if gpu >= view.model.gpus {
                drift(view.device, what(gpu), &held, "that there is none", Some(at), found);
            } else if (compute.as_str(), memory.as_str()) != WHOLE && !is_parted(gpu) {
                drift(view.device, what(gpu), &held, &whole, Some(at), found);
            }
        }
        let told = view.divided.iter().filter(|line| line.0 < 64);
        let told = told.fold(0, |all, line| all | 1_u64 << line.0);
        for gpu in bits(all_gpus(view.model) & !told) {
            found.unsaid(Dialect::Amd, view.node, what(gpu), &whole);
        }
    }

    /// Slurm gives out all GPUs of a node, and no more. One that is silent gives out none at all,
    /// and that is told once.
    pub(super) fn judge_schedulable(&self, view: &Machine<'_>, found: &mut Findings<'_>) {
        let Some(slurm) = self.layers.managers.slurm else { return };
        if !self.is_heard(slurm, Dialect::Slurm) {
            return;
        }
        let held = view.schedulable.iter().fold(0, |all, (minors, _)| all | minors);
        if held == all_gpus(view.model) {
            return;
        }
        let shown = |minors: u64| Named::Minors(minors).show(&self.world.fleet);
        let what = "what Slurm gives out".into();
        let unsaid = all_gpus(view.model) & !held;
        let (held, planned) = (shown(held), shown(all_gpus(view.model)));
        let ats: Vec<At> = view.schedulable.iter().map(|(_, at)| *at).collect();
        found.open(view.device, LayerWeakness::Drift { what, held, planned }, ats);
        if unsaid != 0 {
            let node = &self.world.fleet.nodes[view.node.index()].name;
            let text = format!("{} of {node}", shown(unsaid));
            found.lacks_in(Dialect::Slurm, Some(view.node), text);
        }
    }
}

/// As many bits as the node has GPUs: by module or by device file.
fn all_gpus(model: &NodeModel) -> u64 {
    u64::MAX.checked_shr(64 - u32::from(model.gpus)).unwrap_or_default()
}
