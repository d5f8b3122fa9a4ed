//! Which function has which number.

use std::collections::BTreeMap;

use model::{PciAddress, PciLayout};

use super::function::{Found, Kind};
use super::{Boards, Caution, Known, Note, Unread};

/// The order of GPUs and interfaces: as the fleet says, then as they are found.
pub(super) fn layout(
    functions: &BTreeMap<PciAddress, Found>,
    boards: &dyn Boards,
    known: &Known,
    notes: &mut Vec<Note>,
) -> Result<PciLayout, Unread> {
    let mut layout = known.layout.clone();
    let named = layout.gpus.iter().chain(&layout.nics);
    for address in named.filter(|address| !functions.contains_key(address)) {
        let said = format!("{address} is said to be there, and is not");
        notes.push(Caution::Unknown.note(said));
    }
    let gpus = functions.iter().filter(|(_, function)| function.is_gpu(known));
    let gpus: Vec<PciAddress> = gpus.map(|(address, _)| *address).collect();
    if layout.gpus.is_empty() {
        layout.gpus = in_module_order(gpus, functions, boards, notes)?;
    } else {
        let new = gpus.into_iter().filter(|gpu| !known.layout.gpus.contains(gpu));
        layout.gpus.extend(new);
    }
    if layout.nics.is_empty() {
        layout.nics = fastest(functions, notes);
    }
    Ok(layout)
}

fn in_module_order(
    mut gpus: Vec<PciAddress>,
    functions: &BTreeMap<PciAddress, Found>,
    boards: &dyn Boards,
    notes: &mut Vec<Note>,
) -> Result<Vec<PciAddress>, Unread> {
    // Only NVIDIA's boards have module ids that differ from the order of addresses.
    if !gpus.iter().any(|gpu| functions.get(gpu).is_some_and(Found::is_of_nvidia)) {
        if gpus.len() > 1 {
            let said = "GPUs are numbered in the order of their PCI addresses".to_owned();
            notes.push(Caution::Inferred.note(said));
        }
        return Ok(gpus);
    }
    match boards.modules() {
        Ok(modules) => {
            gpus.sort_by_key(|gpu| modules.get(gpu).copied());
            let found: Vec<u16> = gpus.iter().filter_map(|gpu| modules.get(gpu).copied()).collect();
            match found == (1..=gpus.len() as u16).collect::<Vec<u16>>() {
                true => Ok(gpus),
                false => Err(Unread::Modules { found }),
            }
        }
        Err(absent) => {
            notes.push(Caution::Inferred.note(format!(
                "module ids are in the order of PCI addresses, because {absent}; compare with \
                 `nvidia-smi -q` before NVLink partitions depend on them"
            )));
            Ok(gpus)
        }
    }
}

/// Interfaces of the compute fabric are equal, and no others are faster.
fn fastest(functions: &BTreeMap<PciAddress, Found>, notes: &mut Vec<Note>) -> Vec<PciAddress> {
    let nics = functions.iter().filter(|(_, function)| function.is_nic());
    let nics: Vec<(PciAddress, Option<u64>)> =
        nics.map(|(address, function)| (*address, function.rate_bps)).collect();
    let rate = nics.iter().filter_map(|(_, rate)| *rate).max();
    let (taken, left): (Vec<_>, Vec<_>) = nics.into_iter().partition(|(_, own)| *own == rate);
    for (address, own) in left {
        notes.push(Caution::LeftOut.note(match own {
            Some(own) => format!("interface {address} has only {}", in_words(own)),
            None => format!("interface {address} has no link, so that its rate is unknown"),
        }));
    }
    if rate.is_none() && !taken.is_empty() {
        let said = "no interface has a link, so that all are taken and their rate is unknown";
        notes.push(Caution::Unknown.note(said));
    }
    taken.into_iter().map(|(address, _)| address).collect()
}

/// A rate as documents write it.
pub(super) fn in_words(rate_bps: u64) -> String {
    match rate_bps.is_multiple_of(1_000_000_000) {
        true => format!("{}Gbps", rate_bps / 1_000_000_000),
        false => format!("{}Mbps", rate_bps / 1_000_000),
    }
}

/// Says of each function what it is.
pub(super) fn sort(
    functions: &mut BTreeMap<PciAddress, Found>,
    layout: &PciLayout,
    notes: &mut Vec<Note>,
) {
    for (address, function) in functions {
        let vf = || {
            let (whole, number) = function.part_of?;
            Some(Kind::Vf(layout.nic_at(whole)?, number))
        };
        let gpu = layout.gpu_at(*address).map(Kind::Gpu);
        function.kind = gpu.or(layout.nic_at(*address).map(Kind::Nic)).or_else(vf);
        if let (None, Some((whole, _))) = (function.kind, function.part_of)
            && layout.gpu_at(whole).is_some()
        {
            let said = format!("{address} is a virtual function of the GPU at {whole}");
            notes.push(Caution::LeftOut.note(said));
        }
    }
}
