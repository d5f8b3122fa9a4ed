//! PCI functions, their IOMMU groups and their drivers.
//!
//! A group is one place: whatever is in it reaches all else in it, and a bridge that does not keep
//! apart what is below it joins groups. So whoever shares one with another's thing, or with
//! nobody's, is open. A driver is who speaks with a function: another one cuts whoever has it, and
//! any at all on a GPU of nobody opens that.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Facts, Node};
use super::{Meaning, Statement, module, number};

/// A function, as a line places it.
struct Placed<'t> {
    pci: &'t str,
    /// Whose it is by its number, and by its address; none is nobody, and empty if it is nothing
    /// that anybody could have.
    owners: BTreeSet<Option<String>>,
    group: u16,
}

pub(super) fn functions(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    let mut placed: Vec<Placed<'_>> = Vec::new();
    let mut drivers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut bridges: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for words in said {
        match words.as_slice() {
            ["function", pci, what @ .., "group", group, "numa", numa] => {
                number(numa)?;
                let (pci, group) = (address(pci)?, number(group)?);
                meaning.is_refused |= placed.iter().any(|other| other.pci == pci);
                placed.push(Placed { pci, owners: owners(node, pci, what)?, group });
                meaning.given.insert(words.join(" "));
            }
            ["bind", pci, driver] => {
                let known = drivers.entry(address(pci)?).or_default();
                known.insert(driver);
                // A function has one driver at a time.
                meaning.is_refused |= known.len() > 1;
            }
            ["beneath", bridge, pci] => {
                bridges.entry(address(bridge)?).or_default().push(address(pci)?);
            }
            _ => return None,
        }
    }
    join(&mut placed, &bridges);
    meet(&placed, &mut meaning);
    drive(node, &placed, &drivers, &mut meaning);
    Some(meaning)
}

fn address(word: &str) -> Option<&str> {
    let shape = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'f' => b'x',
        other => other,
    };
    let shape: Vec<u8> = word.bytes().map(shape).collect();
    (shape == b"xxxx:xx:xx.x").then_some(word)
}

fn owners(node: &Node, pci: &str, what: &[&str]) -> Option<BTreeSet<Option<String>>> {
    let named = |owner: Option<&str>| owner.map(str::to_owned);
    let mut owners = BTreeSet::new();
    match *what {
        ["gpu", gpu] => owners.insert(named(node.owner_of_gpu(module(gpu)?))),
        ["nic", nic] => owners.insert(named(node.owner_of_nic(interface(nic)?))),
        ["vf", nic, vf] => {
            number(vf)?;
            owners.insert(named(node.owner_of_nic(interface(nic)?)))
        }
        ["other"] => false,
        _ => return None,
    };
    owners.extend(owner_at(node, pci));
    Some(owners)
}

fn interface(word: &str) -> Option<u16> {
    number(word).filter(|nic| *nic < 64)
}

/// Whose a GPU or an interface is by its address; none where there is neither.
fn owner_at(node: &Node, pci: &str) -> Option<Option<String>> {
    let at = pci.parse().ok()?;
    let gpu = node.model.pci.gpus.iter().position(|held| *held == at);
    let nic = node.model.pci.nics.iter().position(|held| *held == at);
    let of_gpu = gpu.map(|gpu| node.owner_of_gpu(gpu as u16));
    let owner = of_gpu.or_else(|| nic.map(|nic| node.owner_of_nic(nic as u16)))?;
    Some(owner.map(str::to_owned))
}

/// Whatever is below one bridge is in one group.
fn join(placed: &mut [Placed<'_>], bridges: &BTreeMap<&str, Vec<&str>>) {
    for below in bridges.values() {
        let here = placed.iter().filter(|one| below.contains(&one.pci));
        let groups: BTreeSet<u16> = here.map(|one| one.group).collect();
        let Some(first) = groups.first().copied() else { continue };
        for one in placed.iter_mut().filter(|one| groups.contains(&one.group)) {
            one.group = first;
        }
    }
}

/// Two owners in one group.
fn meet(placed: &[Placed<'_>], meaning: &mut Meaning) {
    for one in placed {
        for other in placed.iter().filter(|other| other.group == one.group) {
            for (a, b) in one.owners.iter().flat_map(|a| other.owners.iter().map(move |b| (a, b))) {
                if a != b {
                    meaning
                        .open
                        .insert(format!("{a:?} at {} meets {b:?} at {}", one.pci, other.pci));
                }
            }
        }
    }
}

/// Who speaks with what.
fn drive(
    node: &Node,
    placed: &[Placed<'_>],
    drivers: &BTreeMap<&str, BTreeSet<&str>>,
    meaning: &mut Meaning,
) {
    const TO_MACHINES: &str = "vfio-pci";
    let nothing = BTreeSet::new();
    let drivers_of = |pci: &str| drivers.get(pci).unwrap_or(&nothing);
    let gpus =
        (0..).zip(&node.model.pci.gpus).map(|(gpu, pci)| (true, node.owner_of_gpu(gpu), pci));
    let nics =
        (0..).zip(&node.model.pci.nics).map(|(nic, pci)| (false, node.owner_of_nic(nic), pci));
    for (is_gpu, owner, pci) in gpus.chain(nics) {
        let pci = pci.to_string();
        let held = drivers_of(&pci);
        match owner {
            None if is_gpu => {
                meaning.open.extend(held.iter().map(|driver| format!("{pci} of nobody: {driver}")));
            }
            None => {}
            Some(job) => {
                let to_machines = held.contains(TO_MACHINES);
                let is_its = match (node.is_in_machine(job), is_gpu) {
                    (true, _) => to_machines && held.len() == 1 && is_viable(&pci, placed, drivers),
                    (false, true) => !held.is_empty() && held.iter().all(|d| is_work(d)),
                    (false, false) => !to_machines,
                };
                meaning.given.extend(is_its.then(|| format!("{job} uses {pci}")));
            }
        }
    }
}

/// Whether jobs in containers work with a GPU by this driver.
fn is_work(driver: &str) -> bool {
    matches!(driver, "nvidia" | "amdgpu")
}

/// A group is given to a machine as a whole: nothing else in it is the host's.
fn is_viable(pci: &str, placed: &[Placed<'_>], drivers: &BTreeMap<&str, BTreeSet<&str>>) -> bool {
    let groups: BTreeSet<u16> =
        placed.iter().filter(|one| one.pci == pci).map(|one| one.group).collect();
    let mut others = placed.iter().filter(|one| groups.contains(&one.group) && one.pci != pci);
    others.all(|one| drivers.get(one.pci).is_some_and(|held| held.contains("vfio-pci")))
}
