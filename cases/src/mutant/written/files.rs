//! Which device files a job may open.
//!
//! A job that opens what is another's or nobody's is open, wherever the file is: what gives nothing
//! by itself is nothing, and so is a file that is not there. A path that nobody knows is taken for
//! the worst.

use std::collections::BTreeSet;

use super::facts::{Facts, Node};
use super::{Meaning, Statement, number};

pub(super) fn opened(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    for words in said {
        let (job, leads) = match words.as_slice() {
            ["open", job, path] => (*job, leads(node, path)?),
            ["open", job, path, "minor", minor, "start", start]
                if path.starts_with("/dev/nvidia-caps/nvidia-cap") =>
            {
                number(start).filter(|start| *start < 8)?;
                (*job, of_minor(node, number(minor)?))
            }
            _ => return None,
        };
        if !is_job(job) {
            return None;
        }
        meaning.given.insert(words.join(" "));
        let is_its = match leads {
            Leads::Nowhere => true,
            Leads::Anywhere => false,
            Leads::To(owners) => owners.iter().all(|owner| owner.as_deref() == Some(job)),
        };
        // Of a job that nobody knows there is no process that could open it.
        if !is_its && facts.jobs.contains(job) {
            meaning.open.insert(words.join(" "));
        }
    }
    Some(meaning)
}

/// A job is written with its tenant in front.
pub(super) fn is_job(word: &str) -> bool {
    word.contains('/') && word.split('/').all(is_name)
}

/// Names are those of DNS labels (RFC 1123).
pub(super) fn is_name(word: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_edge = |word: &str| word.starts_with('-') || word.ends_with('-');
    (1..64).contains(&word.len()) && word.bytes().all(is_letter) && !is_edge(word)
}

/// What a file leads to.
enum Leads {
    Nowhere,
    /// To things with these owners; none is nobody.
    To(BTreeSet<Option<String>>),
    /// To things of several, or nobody knows where.
    Anywhere,
}

/// None where the path is none of a device file.
fn leads(node: &Node, path: &str) -> Option<Leads> {
    /// What gives nothing by itself: the drivers' own, and what every process has.
    const CONTROL: [&str; 14] = [
        "nvidiactl",
        "nvidia-uvm",
        "nvidia-uvm-tools",
        "nvidia-modeset",
        "kfd",
        "vfio/vfio",
        "infiniband/rdma_cm",
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "ptmx",
    ];
    if path == "/dev" {
        return Some(Leads::Anywhere);
    }
    let file = path.strip_prefix("/dev/")?;
    let after = |beginning: &str| file.strip_prefix(beginning).and_then(number);
    Some(if CONTROL.contains(&file) {
        Leads::Nowhere
    } else if let Some(minor) = after("nvidia") {
        of_minor(node, minor)
    } else if let Some(render) = after("dri/renderD") {
        render.checked_sub(128).map_or(Leads::Nowhere, |minor| of_minor(node, minor))
    } else if let Some(nic) = after("infiniband/uverbs") {
        of(usize::from(nic) < node.model.nics.len(), node.owner_of_nic(nic))
    } else if let Some(group) = after("vfio/") {
        of_group(node, group)
    } else {
        // Among them the memory channels: one that a line has beside the planned one is another's
        // or nobody's.
        Leads::Anywhere
    })
}

fn of(is_there: bool, owner: Option<&str>) -> Leads {
    if !is_there {
        return Leads::Nowhere;
    }
    Leads::To(BTreeSet::from([owner.map(str::to_owned)]))
}

fn of_minor(node: &Node, minor: u16) -> Leads {
    let gpu = node.model.pci.gpu_of_minor(minor);
    of(gpu.is_some(), gpu.and_then(|gpu| node.owner_of_gpu(gpu)))
}

fn of_group(node: &Node, group: u16) -> Leads {
    let gpus = (0..).zip(&node.model.gpu_groups).filter(|(_, held)| **held == group);
    let nics = (0..).zip(&node.model.nics).filter(|(_, nic)| nic.iommu_group == group);
    let gpus = gpus.map(|(gpu, _)| node.owner_of_gpu(gpu).map(str::to_owned));
    let nics = nics.map(|(nic, _)| node.owner_of_nic(nic).map(str::to_owned));
    let owners: BTreeSet<Option<String>> = gpus.chain(nics).collect();
    if owners.is_empty() { Leads::Nowhere } else { Leads::To(owners) }
}
