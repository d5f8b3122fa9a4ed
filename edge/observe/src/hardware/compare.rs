//! Where sysfs and a driver's library contradict each other, and what neither says.

use std::collections::BTreeSet;

use model::{PciAddress, mig_profiles};

use super::boards::{Account, Card, Instance, NvlinkFabric, Unsaid};
use super::files::{Files, Unread};
use super::function::PciFunction;
use super::products;
use super::{Caution, Hardware, Note};

/// The driver whose GPUs the library knows.
const DRIVER: &str = "nvidia";

/// What must be told of the two.
pub(super) fn notes(files: &Files<'_>, node: &Hardware) -> Result<Vec<Note>, Unread> {
    let mut notes = Vec::new();
    if let Ok(account) = &node.account {
        notes.extend(account.unsaid.iter().map(Unsaid::note));
        notes.extend(presence(node, account));
        notes.extend(modules(node, account));
        notes.extend(versions(node, account));
        notes.extend(fabrics(node, account));
    }
    for gpu in 0..node.layout.gpus.len() as u16 {
        notes.extend(instances(files, node, gpu)?);
    }
    Ok(notes)
}

impl Unsaid {
    fn note(&self) -> Note {
        let gpus: Vec<String> = self.gpus.iter().map(PciAddress::to_string).collect();
        let of = if gpus.is_empty() { String::new() } else { format!(" of {}", gpus.join(", ")) };
        Caution::Unknown.note(format!("{}{of}: {}", self.what, self.why))
    }
}

/// GPUs that only one of the two knows, or that another driver has.
fn presence(node: &Hardware, account: &Account) -> Vec<Note> {
    let mut said = Vec::new();
    for address in account.gpus.keys() {
        match node.functions.get(address).filter(|_| node.layout.gpu_at(*address).is_some()) {
            None => said.push(format!("NVML has a GPU at {address}, and sysfs shows none there")),
            Some(found) if !is_driven(found) => said.push(format!(
                "NVML has the GPU at {address}, and sysfs shows it with {}",
                found.driver.as_deref().map_or("no driver".into(), |name| format!("driver {name}")),
            )),
            Some(_) => {}
        }
    }
    for address in &node.layout.gpus {
        let is_driven = node.functions.get(address).is_some_and(is_driven);
        if is_driven && !account.gpus.contains_key(address) {
            said.push(format!("the driver has the GPU at {address}, and NVML does not know it"));
        }
    }
    said.into_iter().map(|said| Caution::Contradiction.note(said)).collect()
}

fn is_driven(found: &PciFunction) -> bool {
    found.is_of_nvidia() && found.driver.as_deref() == Some(DRIVER)
}

fn versions(node: &Hardware, account: &Account) -> Option<Note> {
    let said = account.driver.as_deref()?;
    let seen = node.versions.driver.as_str();
    (said != seen).then(|| {
        let said = format!("the driver is {seen} as the kernel says, and {said} as NVML does");
        Caution::Contradiction.note(said)
    })
}

/// GPUs that a document has at another place of the board.
fn modules(node: &Hardware, account: &Account) -> Vec<Note> {
    let mut notes = Vec::new();
    for (gpu, address) in node.layout.gpus.iter().enumerate() {
        let said = account.gpus.get(address).and_then(|card| card.module);
        if let Some(said) = said.filter(|said| usize::from(*said) != gpu + 1)
            && node.order_is_known
            && !products::are_cards(&node.layout.gpus, &node.functions)
        {
            let number = gpu + 1;
            let said = format!("{address} is numbered {number}, and is module {said} as NVML says");
            notes.push(Caution::Contradiction.note(said));
        }
    }
    notes
}

/// GPUs that are in no fabric, and those of one node that are in different ones.
fn fabrics(node: &Hardware, account: &Account) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut first = None;
    let cards = node.layout.gpus.iter().filter_map(|gpu| Some((gpu, account.gpus.get(gpu)?)));
    for (gpu, card) in cards {
        let outside = |why: &str| {
            let said = format!("which NVLink fabric the GPU at {gpu} will be in: {why}");
            Caution::Unknown.note(said)
        };
        match &card.fabric {
            None => {}
            Some(NvlinkFabric::NotStarted) => notes.push(outside("nobody told it to join one")),
            Some(NvlinkFabric::Joining) => notes.push(outside("it is still joining")),
            Some(NvlinkFabric::Failed(code, words)) => {
                notes.push(outside(&format!("joining failed with {code} ({words})")));
            }
            Some(NvlinkFabric::Joined { cluster, clique }) => {
                let own = format!("in clique {clique} of the NVLink fabric {cluster}");
                let (other, theirs) = first.get_or_insert((gpu, own.clone()));
                if own != *theirs {
                    let said =
                        format!("the GPU at {other} is {theirs}, and the one at {gpu} {own}");
                    notes.push(Caution::Contradiction.note(said));
                }
            }
        }
    }
    notes
}

/// The driver shows in procfs that a GPU is cut, and not how.
fn instances(files: &Files<'_>, node: &Hardware, gpu: u16) -> Result<Vec<Note>, Unread> {
    let at = node.layout.gpus.get(usize::from(gpu)).zip(node.layout.minor(gpu));
    let Some((address, minor)) = at else { return Ok(Vec::new()) };
    let names = files.names(&format!("proc/driver/nvidia/capabilities/gpu{minor}/mig"))?;
    let shown: BTreeSet<String> = names.into_iter().filter(|name| name.starts_with("gi")).collect();
    let card = node.card(gpu);
    let Some(cut) = card.and_then(|card| card.cut.as_ref()) else {
        let unknown = format!(
            "the GPU at {address} is cut into instances ({}); their profiles and slots are known to \
             NVML only",
            listed(&shown),
        );
        let is_cut = !shown.is_empty();
        return Ok(is_cut.then(|| Caution::Unknown.note(unknown)).into_iter().collect());
    };
    let told = cut.instances.iter().map(|instance| format!("gi{}", instance.id)).collect();
    let mut notes: Vec<Note> =
        cut.instances.iter().filter_map(|instance| size(node, gpu, instance)).collect();
    if shown != told {
        notes.push(Caution::Contradiction.note(format!(
            "the GPU at {address} has the instances {} as procfs shows, and {} as NVML says",
            listed(&shown),
            listed(&told),
        )));
    }
    Ok(notes)
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// An instance with more or fewer slots than its profile has.
fn size(node: &Hardware, gpu: u16, instance: &Instance) -> Option<Note> {
    let address = node.layout.gpus.get(usize::from(gpu))?;
    let profile = node.profile(gpu, instance);
    let known = mig_profiles(node.product(gpu)?);
    let slots = known.iter().find(|known| known.name == profile)?.memory_slices;
    (instance.size != u32::from(slots)).then(|| {
        Caution::Contradiction.note(format!(
            "instance gi{} of the GPU at {address} has {} slots as NVML says, and a {profile} has \
             {slots}",
            instance.id, instance.size,
        ))
    })
}

impl Hardware {
    /// What the driver's library says of a GPU.
    #[must_use]
    pub fn card(&self, gpu: u16) -> Option<&Card> {
        let address = self.layout.gpus.get(usize::from(gpu))?;
        self.account.as_ref().ok()?.gpus.get(address)
    }

    /// What documents call an instance's profile. The driver's number is what it is known by;
    /// where nobody listed it, the driver's own word is taken.
    #[must_use]
    pub fn profile(&self, gpu: u16, instance: &Instance) -> String {
        let known = self.product(gpu).map_or(&[][..], mig_profiles);
        let same = |id: Option<u8>| id.map(u32::from) == Some(instance.profile_id);
        match known.iter().find(|known| same(known.gi_profile_id)) {
            Some(known) => known.name.to_owned(),
            None if instance.profile.is_empty() => format!("profile-{}", instance.profile_id),
            None => instance.profile.split_whitespace().collect::<Vec<_>>().join("-"),
        }
    }

    /// Whether NVIDIA's driver drives it.
    pub(super) fn is_driven(&self, gpu: u16) -> bool {
        let address = self.layout.gpus.get(usize::from(gpu));
        address.and_then(|address| self.functions.get(address)).is_some_and(is_driven)
    }

    fn product(&self, gpu: u16) -> Option<&'static str> {
        let found = self.functions.get(self.layout.gpus.get(usize::from(gpu))?)?;
        products::named(found, self.layout.gpus.len()).map(|(product, _)| product)
    }
}
