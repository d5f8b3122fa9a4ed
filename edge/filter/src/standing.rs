//! Where the programs really stand: the name of a link stays when its interface is gone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use aya::programs::{SchedClassifier, TcAttachType};

use crate::Fault;
use crate::kernel::{Kernel, file, program};
use crate::lock::Lock;
use crate::sys::{self, About};

impl Kernel {
    /// Where the programs of the filter under this folder stand, and where they stood.
    pub fn links(place: &Path) -> Result<Vec<PinnedLink>, Fault> {
        let mut programs: BTreeMap<String, Option<u32>> = BTreeMap::new();
        let mut links = Vec::new();
        for (hook, interface) in named(place)? {
            // Each hook's program is asked for its number once.
            let program = match programs.get(&hook) {
                Some(known) => *known,
                None => *programs.entry(hook.clone()).or_insert(program_of(place, &hook)?),
            };
            let stands = stands(&path(place, &hook, interface), interface, program)?;
            links.push(PinnedLink { hook, interface, stands });
        }
        Ok(links)
    }

    /// Whether the program of this hook stands at a port of the calling thread's namespace. A link
    /// itself tells no more than a number, and numbers are unique in one namespace only.
    pub fn stands_here(place: &Path, hook: &str, port: &str) -> Result<bool, Fault> {
        let (hook, direction) = match hook {
            "workload" => ("workload", TcAttachType::Ingress),
            "local" => ("local", TcAttachType::Egress),
            _ => return Ok(false),
        };
        let path = place.join(hook);
        let ours = sys::about_named(&path).map_err(file(&path))?.own_number();
        let asked = SchedClassifier::query_tcx(port, direction).map_err(program(hook));
        asked.map(|(_, programs)| programs.iter().any(|program| program.id() == ours))
    }

    /// Takes the names of links away that lead nowhere: interfaces that are gone.
    pub fn sweep(place: &Path) -> Result<(), Fault> {
        // Whoever moves links to larger programs has them lead elsewhere for a moment.
        let folder = File::open(place).map_err(file(place))?;
        let _lock = Lock::of(&folder, place)?;
        let lost = Self::links(place)?.into_iter().filter(|link| !link.stands);
        lost.map(|link| path(place, &link.hook, link.interface))
            .try_for_each(|path| fs::remove_file(&path).map_err(file(&path)))
    }

    /// Judges nothing more at this interface. **Whatever reaches it passes from then on**: it has
    /// to be out of its bridge and down.
    pub fn danger_release(place: &Path, interface: u32) -> Result<(), Fault> {
        ["fabric", "workload", "local", "queue"]
            .iter()
            .try_for_each(|hook| take_off(place, hook, interface))
    }
}

/// Takes a program off an interface, if it is there. Without its name alone it would go a moment
/// later, and whoever attaches it anew meanwhile would be refused.
pub(crate) fn take_off(place: &Path, hook: &str, interface: u32) -> Result<(), Fault> {
    let path = path(place, hook, interface);
    let _ = sys::detach(&path); // there is no such link, or no such interface any more
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file(&path)(error)),
        _ => Ok(()),
    }
}

/// Takes the name of a link away if it leads nowhere, and says whether it stays.
pub(crate) fn clear(place: &Path, hook: &str, interface: u32) -> Result<bool, Fault> {
    let path = path(place, hook, interface);
    if !path.exists() {
        return Ok(false);
    }
    let stays = stands(&path, interface, program_of(place, hook)?)?;
    if !stays {
        fs::remove_file(&path).map_err(file(&path))?;
    }
    Ok(stays)
}

/// Links that have a name: the hook and the interface's number.
pub(crate) fn named(place: &Path) -> Result<Vec<(String, u32)>, Fault> {
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(file(place))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(file(place))?.file_name();
        let Some((hook, index)) = name.to_str().and_then(|name| name.split_once('-')) else {
            continue;
        };
        if let Ok(index) = index.parse() {
            found.push((hook.to_owned(), index));
        }
    }
    found.sort();
    Ok(found)
}

/// A link that has a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PinnedLink {
    /// Where packets meet the program: `fabric`, `workload`, `local` or `queue`.
    pub hook: String,
    /// The interface's number.
    pub interface: u32,
    /// Whether the program stands there: not if the interface is gone, if the link was taken off by
    /// force, or if it leads to another program.
    pub stands: bool,
}

/// Whether the link with this name is at this interface and leads to this program.
fn stands(link: &Path, interface: u32, program: Option<u32>) -> Result<bool, Fault> {
    let link = about(link)?;
    let leads = |link: About| link.interface() == interface && Some(link.program()) == program;
    Ok(link.is_some_and(leads))
}

/// The number of a hook's program, if it is there.
fn program_of(place: &Path, hook: &str) -> Result<Option<u32>, Fault> {
    Ok(about(&place.join(hook))?.map(|program| program.own_number()))
}

fn about(path: &Path) -> Result<Option<About>, Fault> {
    match sys::about_named(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        about => about.map(Some).map_err(file(path)),
    }
}

fn path(place: &Path, hook: &str, interface: u32) -> PathBuf {
    place.join(format!("{hook}-{interface}"))
}
