//! PCI functions: what they are, and where they stand.

use std::collections::{BTreeMap, BTreeSet};

use model::PciAddress;

use super::files::{Files, Unread};
use super::{Caution, Known, Note};

/// Where the kernel shows all functions.
const FUNCTIONS: &str = "sys/bus/pci/devices";

const NVIDIA: u16 = 0x10de;
const AMD: u16 = 0x1002;
/// Classes of GPUs (PCI Code and ID Assignment): VGA and 3D controllers, processing accelerators.
const GPU_CLASSES: [u16; 3] = [0x0300, 0x0302, 0x1200];
/// Classes of interfaces: Ethernet and InfiniBand controllers.
const NIC_CLASSES: [u16; 2] = [0x0200, 0x0207];
const BRIDGE_CLASS: u16 = 0x0604;

/// A PCI function.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PciFunction {
    /// What it is; none if it is none of our business.
    pub kind: Option<Kind>,
    /// Who made it.
    pub vendor: u16,
    /// Which of their products it is.
    pub device: u16,
    /// Its class and subclass.
    pub class: u16,
    /// The function that it is a virtual function of, and which of those from 0.
    pub part_of: Option<(PciAddress, u16)>,
    /// Its IOMMU group.
    pub group: u16,
    /// Its NUMA node.
    pub numa: u16,
    /// Its driver.
    pub driver: Option<String>,
    /// The bridges above it, from the root.
    pub above: Vec<PciAddress>,
    /// How many virtual functions it can have.
    pub vfs: u16,
    /// How fast it sends, if a link is up.
    pub rate_bps: Option<u64>,
    /// Its Ethernet address.
    pub mac: Option<String>,
}

/// What a function is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// The GPU with this number.
    Gpu(u16),
    /// The interface with this number.
    Nic(u16),
    /// A virtual function of the interface with this number, and which.
    Vf(u16, u16),
    /// Something else in a group with one of those.
    Other,
}

impl PciFunction {
    /// Whether it is a whole GPU.
    pub(super) fn is_gpu(&self, known: &Known) -> bool {
        let is_listed = known.gpu_ids.contains(&(self.vendor, self.device));
        let is_known = matches!(self.vendor, NVIDIA | AMD) && GPU_CLASSES.contains(&self.class);
        self.part_of.is_none() && (is_listed || is_known)
    }

    /// Whether it is a whole interface.
    pub(super) fn is_nic(&self) -> bool {
        self.part_of.is_none() && NIC_CLASSES.contains(&self.class)
    }

    /// Whether NVIDIA made it.
    pub(super) const fn is_of_nvidia(&self) -> bool {
        self.vendor == NVIDIA
    }

    /// Whether AMD made it.
    pub(super) const fn is_of_amd(&self) -> bool {
        self.vendor == AMD
    }

    /// Whether it is one that a job can be given.
    pub(super) const fn is_ours(&self) -> bool {
        matches!(self.kind, Some(Kind::Gpu(_) | Kind::Nic(_) | Kind::Vf(..)))
    }
}

/// All functions of the node. Where they stand is not looked at yet: most are no matter.
pub(super) fn all(
    files: &Files<'_>,
    notes: &mut Vec<Note>,
) -> Result<BTreeMap<PciAddress, PciFunction>, Unread> {
    let mut functions = BTreeMap::new();
    for name in files.names(FUNCTIONS)? {
        let folder = format!("{FUNCTIONS}/{name}");
        match name.parse() {
            Ok(address) => drop(functions.insert(address, one(files, &folder)?)),
            // Drives behind some controllers have a domain of five digits.
            Err(_) => notes.push(Caution::LeftOut.note(format!("{name} is no common address"))),
        }
    }
    if functions.is_empty() {
        let why = "a node's PCI functions are looked for there; is its sysfs mounted?";
        return Err(Unread::Missing { path: files.path(FUNCTIONS), why });
    }
    Ok(functions)
}

fn one(files: &Files<'_>, folder: &str) -> Result<PciFunction, Unread> {
    let file = |name: &str| format!("{folder}/{name}");
    let mut found = PciFunction {
        kind: None,
        // The kernel shows sixteen bits of each, and the class with its interface below.
        vendor: files.hex(&file("vendor"))? as u16,
        device: files.hex(&file("device"))? as u16,
        class: (files.hex(&file("class"))? >> 8) as u16,
        part_of: part_of(files, folder)?,
        group: 0,
        numa: 0,
        driver: files.link(&file("driver"))?,
        above: above(files, folder)?,
        vfs: 0,
        rate_bps: None,
        mac: None,
    };
    if found.is_nic() {
        let vfs = files.value(&file("sriov_totalvfs"), "a number was expected")?;
        found.vfs = vfs.unwrap_or_default();
        found.rate_bps = rate_bps(files, folder)?;
        found.mac = mac(files, folder)?;
    }
    Ok(found)
}

/// The physical function of a virtual one, and which of its virtual functions this is.
fn part_of(files: &Files<'_>, folder: &str) -> Result<Option<(PciAddress, u16)>, Unread> {
    let link = format!("{folder}/physfn");
    let Some(whole) = files.link(&link)? else {
        return Ok(None);
    };
    let strange = |why| Unread::Strange { path: files.path(&link), said: whole.clone(), why };
    let address = whole.parse().map_err(|_| strange("a PCI address was expected"))?;
    let own = folder.rsplit('/').next().unwrap_or_default();
    for number in 0..u16::MAX {
        match files.link(&format!("{FUNCTIONS}/{whole}/virtfn{number}"))? {
            Some(part) if part == own => return Ok(Some((address, number))),
            Some(_) => {}
            None => break,
        }
    }
    Err(strange("that function has no `virtfn` link back to this one"))
}

/// The addresses on the way to a function, without its own.
fn above(files: &Files<'_>, folder: &str) -> Result<Vec<PciAddress>, Unread> {
    let path = files.real(folder)?;
    let names = path.iter().filter_map(|name| name.to_str()?.parse().ok());
    let mut above: Vec<PciAddress> = names.collect();
    above.pop();
    Ok(above)
}

/// RDMA devices say their rate also where there is no Ethernet; others have a network device.
fn rate_bps(files: &Files<'_>, folder: &str) -> Result<Option<u64>, Unread> {
    for device in files.names(&format!("{folder}/infiniband"))? {
        let port = format!("{folder}/infiniband/{device}/ports/1");
        // `4: ACTIVE` and `400 Gb/sec (4X NDR)`; a port that is down says a rate that it has not.
        let is_up = files.text(&format!("{port}/state"))?.is_some_and(|said| said == "4: ACTIVE");
        let said = files.text(&format!("{port}/rate"))?.unwrap_or_default();
        let gbps = said.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        if let (true, Some(gbps)) = (is_up, gbps) {
            return Ok(Some(gbps * 1_000_000_000));
        }
    }
    for device in files.names(&format!("{folder}/net"))? {
        // A link that is down has no speed: the kernel says -1, or refuses to answer.
        let said = files.text(&format!("{folder}/net/{device}/speed")).ok().flatten();
        let mbps = said.and_then(|said| said.parse::<u64>().ok()).filter(|mbps| *mbps > 0);
        if let Some(mbps) = mbps {
            return Ok(Some(mbps * 1_000_000));
        }
    }
    Ok(None)
}

fn mac(files: &Files<'_>, folder: &str) -> Result<Option<String>, Unread> {
    let devices = files.names(&format!("{folder}/net"))?;
    let Some(first) = devices.first() else {
        return Ok(None);
    };
    files.text(&format!("{folder}/net/{first}/address"))
}

/// Reads where our functions stand, and finds what else stands in their groups.
pub(super) fn place(
    files: &Files<'_>,
    functions: &mut BTreeMap<PciAddress, PciFunction>,
    notes: &mut Vec<Note>,
) -> Result<(), Unread> {
    let ours = functions.iter().filter(|(_, function)| function.is_ours());
    let ours: Vec<PciAddress> = ours.map(|(address, _)| *address).collect();
    let mut groups = BTreeSet::new();
    for address in &ours {
        groups.insert(group(files, *address)?);
    }
    let numa_nodes = numa_nodes(files)?;
    let mut unsaid = 0;
    for (address, function) in functions {
        let in_group = || -> Result<bool, Unread> {
            let link = format!("{FUNCTIONS}/{address}/iommu_group");
            let group = files.link(&link)?.and_then(|group| group.parse().ok());
            Ok(group.is_some_and(|group: u16| groups.contains(&group)))
        };
        // A bridge in a group gives nobody anything, whoever has the group.
        if function.kind.is_none() && function.class != BRIDGE_CLASS && in_group()? {
            function.kind = Some(Kind::Other);
        }
        if function.kind.is_some() {
            function.group = group(files, *address)?;
            let numa = numa(files, *address, &numa_nodes)?;
            function.numa = numa.unwrap_or_else(|| numa_nodes[0]);
            unsaid += usize::from(numa.is_none());
        }
    }
    if unsaid > 0 {
        let only = numa_nodes[0];
        notes.push(Caution::Inferred.note(format!(
            "{unsaid} of the functions name no NUMA node; the node has only {only}"
        )));
    }
    Ok(())
}

fn group(files: &Files<'_>, address: PciAddress) -> Result<u16, Unread> {
    let link = format!("{FUNCTIONS}/{address}/iommu_group");
    let path = files.path(&link);
    let Some(said) = files.link(&link)? else {
        let why = "the function is in no IOMMU group, so that nothing keeps it from any memory; \
                   switch the IOMMU on in the firmware and on the kernel's command line";
        return Err(Unread::Missing { path, why });
    };
    said.parse().map_err(|_| Unread::Strange { path, said, why: "a number was expected" })
}

/// The NUMA nodes of the node, as `0-1` or `0,2`; one that has no such file has one.
fn numa_nodes(files: &Files<'_>) -> Result<Vec<u16>, Unread> {
    let file = "sys/devices/system/node/online";
    let Some(said) = files.text(file)? else {
        return Ok(vec![0]);
    };
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?)
    };
    let ranges: Option<Vec<_>> = said.split(',').map(range).collect();
    let nodes: Vec<u16> = ranges.into_iter().flatten().flatten().collect();
    if nodes.is_empty() {
        let why = "numbers of NUMA nodes were expected";
        return Err(Unread::Strange { path: files.path(file), said, why });
    }
    Ok(nodes)
}

/// The NUMA node of a function; none where there is only one and it goes without saying.
fn numa(files: &Files<'_>, address: PciAddress, nodes: &[u16]) -> Result<Option<u16>, Unread> {
    let file = format!("{FUNCTIONS}/{address}/numa_node");
    let said = files.must(&file)?;
    let why = match said.parse::<i32>() {
        Ok(-1) if nodes.len() == 1 => return Ok(None),
        Ok(-1) => {
            "the node has several NUMA nodes, and its firmware does not say which is near; \
                   update the firmware, or set the node by writing into that file"
        }
        Ok(number) => match u16::try_from(number) {
            Ok(number) if nodes.contains(&number) => return Ok(Some(number)),
            _ => "there is no such NUMA node",
        },
        Err(_) => "a number was expected",
    };
    Err(Unread::Strange { path: files.path(&file), said, why })
}
