//! What GPUs are cut into, divided into and joined to.
//!
//! A part of a GPU that nobody planned is a door to the GPU's memory that can be given to anybody.
//! An active NVLink partition, a partition of a domain and a memory channel are places: who is in
//! one reaches all else in it.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, Node};
use super::{Meaning, Statement, module, number};

/// `mig`: no plan has an instance yet.
pub(super) fn instances(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    for gpu in (0..node.model.gpus).filter(|gpu| !is_cut(said, *gpu)) {
        meaning.given.insert(format!("GPU {gpu} as a whole"));
    }
    for words in said {
        match words.as_slice() {
            ["gpu", gpu, "mig", "on"] => drop(module(gpu)?),
            ["instance", gpu, profile, "start", start] => {
                let (gpu, start) = (module(gpu)?, number(start)?);
                // The driver makes none on a GPU that is not there, and none of another shape.
                if !node.has_gpu(gpu) || !has_profile(&node.model.gpu.product, profile, start) {
                    meaning.is_refused = true;
                    continue;
                }
                meaning.open.insert(words.join(" "));
            }
            _ => return None,
        }
    }
    Some(meaning)
}

fn is_cut(said: &BTreeSet<Statement<'_>>, gpu: u16) -> bool {
    let is_it = |word: &str| module(word) == Some(gpu);
    said.iter().any(|words| matches!(words.as_slice(), ["gpu", held, "mig", "on"] if is_it(held)))
}

/// Whether NVIDIA's table of profiles has this one at this slot (MIG User Guide, supported
/// profiles): GPUs of all kinds have the same shapes, and more memory in each.
fn has_profile(product: &str, profile: &str, start: u16) -> bool {
    let names: [&str; 7] = if product.starts_with("H100-80") {
        ["1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]
    } else {
        ["1g.23gb", "1g.23gb+me", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"]
    };
    let starts: [&[u16]; 7] = [
        &[0, 1, 2, 3, 4, 5, 6],
        &[0, 1, 2, 3, 4, 5, 6],
        &[0, 2, 4, 6],
        &[0, 2, 4],
        &[0, 4],
        &[0],
        &[0],
    ];
    names.iter().zip(starts).any(|(name, starts)| *name == profile && starts.contains(&start))
}

/// `amd`: each GPU is one. Where its compute units are parted, parts can be given away; where its
/// memory is, whoever has it does not find it whole.
pub(super) fn divisions(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    const COMPUTE: [&str; 5] = ["SPX", "DPX", "TPX", "QPX", "CPX"];
    const MEMORY: [&str; 4] = ["NPS1", "NPS2", "NPS4", "NPS8"];
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    let mut held: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
    for words in said {
        let ["gpu", gpu, "compute", compute, "memory", memory] = *words.as_slice() else {
            return None;
        };
        if !COMPUTE.contains(&compute) || !MEMORY.contains(&memory) {
            return None;
        }
        let gpu = module(gpu)?;
        // The driver has no such GPU to divide.
        if !node.has_gpu(gpu) {
            meaning.is_refused = true;
            continue;
        }
        held.entry(gpu).or_default().insert(memory);
        if compute != "SPX" {
            meaning.open.insert(format!("GPU {gpu} in parts: {compute}"));
        }
    }
    for (gpu, _) in held.iter().filter(|(_, memory)| memory.iter().eq(["NPS1"].iter())) {
        meaning.given.insert(format!("the memory of GPU {gpu} as a whole"));
    }
    Some(meaning)
}

/// `nvlink`, of a board or of a domain.
pub(super) fn partitions(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let mut meaning = Meaning::default();
    let mut table: BTreeMap<u16, Vec<(&Node, u16)>> = BTreeMap::new();
    let mut definitions: BTreeSet<(u16, &str)> = BTreeSet::new();
    let mut active: BTreeSet<u16> = BTreeSet::new();
    // A board tells of its own GPUs, and a domain of those of its nodes.
    let is_board = facts.node.is_some();
    for words in said {
        let (partition, name, gpus) = match words.as_slice() {
            ["active", partition] if is_board => {
                active.insert(number(partition)?);
                continue;
            }
            ["partition", partition, "gpus", gpus @ ..] if is_board => (partition, None, gpus),
            ["partition", partition, "node", node, "gpus", gpus @ ..] if !is_board => {
                (partition, Some(*node), gpus)
            }
            _ => return None,
        };
        let gpus: Vec<u16> = gpus.iter().map(|gpu| module(gpu)).collect::<Option<_>>()?;
        if gpus.is_empty() || !gpus.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let partition = number(partition)?;
        // A number has one meaning, at each node.
        meaning.is_refused |= !definitions.insert((partition, name.unwrap_or_default()));
        if is_board {
            // Its numbers are those of the board's own table.
            meaning.given.insert(words.join(" "));
        }
        let Some(node) = name.map_or(facts.node.as_ref(), |name| facts.nodes.get(name)) else {
            continue;
        };
        table.entry(partition).or_default().extend(gpus.into_iter().map(|gpu| (node, gpu)));
    }
    // Partitions of a domain are active as soon as they are there.
    let active: BTreeSet<u16> = if is_board { active } else { table.keys().copied().collect() };
    let mut joined: BTreeSet<(&str, u16)> = BTreeSet::new();
    for partition in active {
        let gpus = table.get(&partition);
        meaning.is_refused |= gpus.is_none();
        for (node, gpu) in gpus.into_iter().flatten() {
            // A GPU is in one active partition at a time.
            meaning.is_refused |= !joined.insert((&node.name, *gpu)) && is_board;
            // In a domain its number is a name and no more: who is joined with whom is what counts.
            let others = gpus.into_iter().flatten();
            let joint = others.map(|(other, theirs)| {
                format!("GPU {gpu} of {} with {theirs} of {}", node.name, other.name)
            });
            meaning.given.extend(joint);
        }
        meet(partition, gpus.map_or(&[], Vec::as_slice), &mut meaning);
    }
    Some(meaning)
}

fn meet(partition: u16, gpus: &[(&Node, u16)], meaning: &mut Meaning) {
    for (one, gpu) in gpus {
        for (other, theirs) in gpus {
            let (a, b) = (one.owner_of_gpu(*gpu), other.owner_of_gpu(*theirs));
            let are_there = one.has_gpu(*gpu) && other.has_gpu(*theirs);
            if a != b && are_there {
                let (one, other) = (&one.name, &other.name);
                let way = format!("{partition}: {a:?} {one} {gpu} meets {b:?} {other} {theirs}");
                meaning.open.insert(way);
            }
        }
    }
}

/// `imex`: a channel is the domain's, so its number means the same on all nodes.
pub(super) fn channels(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    const CHANNELS: u16 = 2048;
    let mut meaning = Meaning::default();
    for words in said {
        let ["channel", channel, job] = *words.as_slice() else { return None };
        number(channel).filter(|channel| *channel < CHANNELS)?;
        meaning.given.insert(words.join(" "));
        // Of a job that nobody knows there is no process that could open it.
        if !super::files::is_job(job) {
            return None;
        }
        if facts.jobs.contains(job) {
            // One more than the planned one is another's, or nobody's, or of one who is not here.
            meaning.open.insert(words.join(" "));
        }
    }
    Some(meaning)
}
