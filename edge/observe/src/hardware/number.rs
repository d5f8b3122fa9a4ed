//! Which function has which number.

use std::collections::BTreeMap;

use model::{PciAddress, PciLayout};

use super::function::{Kind, PciFunction};
use super::products;
use super::{Account, Caution, Known, Note, Silence, Unread};

/// The order of GPUs and interfaces: as the fleet says, then as they are found. And whether that of
/// GPUs is known to be the order of module ids.
pub(super) fn layout(
    functions: &BTreeMap<PciAddress, PciFunction>,
    account: &Result<Account, Silence>,
    known: &Known,
    notes: &mut Vec<Note>,
) -> Result<(PciLayout, bool), Unread> {
    let mut layout = known.layout.clone();
    let named = layout.gpus.iter().chain(&layout.nics);
    for address in named.filter(|address| !functions.contains_key(address)) {
        let said = format!("{address} is said to be there, and is not");
        notes.push(Caution::Unknown.note(said));
    }
    let gpus = functions.iter().filter(|(_, function)| function.is_gpu(known));
    let gpus: Vec<PciAddress> = gpus.map(|(address, _)| *address).collect();
    let mut order_is_known = true;
    if layout.gpus.is_empty() {
        let order = Order { functions, account, known };
        (layout.gpus, order_is_known) = order.of(gpus, notes);
    } else {
        let new = gpus.into_iter().filter(|gpu| !known.layout.gpus.contains(gpu));
        layout.gpus.extend(new);
    }
    if layout.nics.is_empty() {
        layout.nics = fastest(functions, notes);
    }
    Ok((layout, order_is_known))
}

/// Who may know in which order GPUs stand on their board.
struct Order<'a> {
    functions: &'a BTreeMap<PciAddress, PciFunction>,
    account: &'a Result<Account, Silence>,
    known: &'a Known,
}

impl Order<'_> {
    /// GPUs in the order of their module ids, or else of their addresses; and whether that will do.
    fn of(&self, mut gpus: Vec<PciAddress>, notes: &mut Vec<Note>) -> (Vec<PciAddress>, bool) {
        // Only NVIDIA's boards have module ids that differ from the order of addresses.
        let found = |gpu: &PciAddress| self.functions.get(gpu);
        if !gpus.iter().filter_map(found).any(PciFunction::is_of_nvidia) {
            if gpus.len() > 1 {
                let said = "GPUs are numbered in the order of their PCI addresses";
                notes.push(Caution::Inferred.note(said));
            }
            return (gpus, true);
        }
        let modules = self.modules(notes);
        let mut ids: Vec<u16> = gpus.iter().filter_map(|gpu| modules.get(gpu).copied()).collect();
        ids.sort_unstable();
        if ids == (1..=gpus.len() as u16).collect::<Vec<u16>>() {
            gpus.sort_by_key(|gpu| modules.get(gpu).copied());
            return (gpus, true);
        }
        let (note, will_do) = self.by_address(&gpus, &modules, &ids);
        notes.extend(note);
        (gpus, will_do)
    }

    /// What the driver says, and what somebody told of GPUs that it does not speak of.
    fn modules(&self, notes: &mut Vec<Note>) -> BTreeMap<PciAddress, u16> {
        let mut modules = self.known.modules.clone();
        let cards = self.account.iter().flat_map(|account| &account.gpus);
        for (&gpu, said) in cards.filter_map(|(at, card)| Some((at, card.module?))) {
            let told = modules.insert(gpu, said);
            if let Some(told) = told.filter(|told| *told != said) {
                let said = format!("{gpu} is module {told} as was told, and {said} as NVML says");
                notes.push(Caution::Contradiction.note(said));
            }
        }
        modules
    }

    /// What must be told of GPUs whose module ids are not all there, and whether the order of their
    /// addresses will do.
    fn by_address(
        &self,
        gpus: &[PciAddress],
        modules: &BTreeMap<PciAddress, u16>,
        ids: &[u16],
    ) -> (Option<Note>, bool) {
        let is_asked = !matches!(self.account, Err(Silence::Absent(_)));
        if is_asked && products::are_cards(gpus, self.functions) {
            let said = format!(
                "GPUs are numbered in the order of their PCI addresses: they are cards without a \
                 board that joins them, whatever their module ids ({ids:?})"
            );
            return (Some(Caution::Inferred.note(said)), true);
        }
        match self.account {
            _ if !ids.is_empty() => (Some(gap(gpus, modules, ids)), false),
            Err(Silence::Absent(why)) => {
                let said = format!(
                    "module ids are in the order of PCI addresses, because {why}; compare with \
                     `nvidia-smi -q` before NVLink partitions depend on them"
                );
                (Some(Caution::Inferred.note(said)), true)
            }
            // What failed was told already.
            Err(Silence::Failed(_)) => (None, false),
            Ok(_) => {
                let said = "module ids: NVML says none, and the board has some; name them yourself";
                (Some(Caution::Unknown.note(said)), false)
            }
        }
    }
}

/// The modules of the board that were found are not all of them.
fn gap(gpus: &[PciAddress], modules: &BTreeMap<PciAddress, u16>, ids: &[u16]) -> Note {
    let without: Vec<String> = gpus
        .iter()
        .filter(|gpu| !modules.contains_key(gpu))
        .map(|gpu| format!(", and nobody says which {gpu} is"))
        .collect();
    Caution::Contradiction.note(format!(
        "the GPUs here are modules {ids:?} of their board, which has a gap{}: a GPU is missing, is \
         not its driver's, or two have the same module id; look at a node that is whole, or name \
         the modules yourself",
        without.concat(),
    ))
}

/// Interfaces of the compute fabric are equal, and no others are faster.
fn fastest(
    functions: &BTreeMap<PciAddress, PciFunction>,
    notes: &mut Vec<Note>,
) -> Vec<PciAddress> {
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
    functions: &mut BTreeMap<PciAddress, PciFunction>,
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
