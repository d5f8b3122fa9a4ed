//! Where the programs really stand: the name of a link stays when its interface is gone.

use std::fs;
use std::io;
use std::path::Path;

use aya::programs::{SchedClassifier, TcAttachType};

use crate::kernel::{Kernel, file, program};
use crate::{Fault, sys};

impl Kernel {
    /// Where the programs of the filter under this folder stand: the hook and the interface's
    /// number. A link whose interface is gone, that was taken off by force or that leads to another
    /// program is none.
    pub fn standing(place: &Path) -> Result<Vec<(String, u32)>, Fault> {
        let mut found = Vec::new();
        for (hook, interface) in named(place)? {
            if stands(place, &hook, interface)? {
                found.push((hook, interface));
            }
        }
        found.sort();
        Ok(found)
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
        let ours = sys::about(&path).map_err(file(&path))?.own_number();
        let asked = SchedClassifier::query_tcx(port, direction).map_err(program(hook));
        asked.map(|(_, programs)| programs.iter().any(|program| program.id() == ours))
    }

    /// Takes the names of links away that lead nowhere: interfaces that are gone.
    pub fn sweep(place: &Path) -> Result<(), Fault> {
        for (hook, interface) in named(place)? {
            clear(place, &hook, interface)?;
        }
        Ok(())
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
    let path = place.join(format!("{hook}-{interface}"));
    let _ = sys::detach(&path); // there is no such link, or no such interface any more
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file(&path)(error)),
        _ => Ok(()),
    }
}

/// Takes the name of a link away if it leads nowhere, and says whether it stays.
pub(crate) fn clear(place: &Path, hook: &str, interface: u32) -> Result<bool, Fault> {
    let path = place.join(format!("{hook}-{interface}"));
    if !path.exists() {
        return Ok(false);
    }
    let stays = stands(place, hook, interface)?;
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

fn stands(place: &Path, hook: &str, interface: u32) -> Result<bool, Fault> {
    let about = |path: &Path| match sys::about(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        about => about.map(Some).map_err(file(path)),
    };
    let link = about(&place.join(format!("{hook}-{interface}")))?;
    let program = about(&place.join(hook))?;
    let (Some(link), Some(program)) = (link, program) else { return Ok(false) };
    Ok(link.interface() == interface && link.program() == program.own_number())
}
