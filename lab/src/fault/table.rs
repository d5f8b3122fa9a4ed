//! The packet program's table, edited in the kernel behind everyone's back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use filter::{Kernel, Limits};
use model::{Generation, Port};
use nix::net::if_::if_nameindex;
use wire::Tables;

use crate::{LabTrouble, namespace};

const PLACE: &str = "/sys/fs/bpf/bulkhead";
const VRFS: &str = "/run/netns";

/// Puts the table that is in force again, with one line changed, or added if there is none to
/// change. To be called inside of the device.
pub(super) fn edit(from: &str, to: &str) -> Result<(), LabTrouble> {
    let failed =
        |said: String| LabTrouble::Failed { program: "the packet program".to_owned(), said };
    let fault = |error: filter::Fault| failed(error.to_string());
    let mut kernel = Kernel::open(Path::new(PLACE)).map_err(fault)?;
    let held = kernel.held().map_err(fault)?;
    let held = held.ok_or_else(|| failed("it holds no table".to_owned()))?;
    let ports = ports();
    let name = |index: u32| {
        let named = ports.iter().find(|(_, at)| **at == index);
        named.map(|(port, _)| port.to_string())
    };
    let text = filter::say(Tables::new(&held), &name);
    let text = text.map_err(|_| failed("it holds what nobody can read".to_owned()))?;
    let edited = match from.is_empty() {
        true => format!("{text}{to}\n"),
        false => text.replace(from, to),
    };
    if edited == text {
        return Err(failed(format!("it does not hold `{from}`")));
    }
    let generation = Tables::new(&held).generation().map_or(Generation(1), Generation);
    let index = |port: &Port| ports.get(port).copied();
    let put = kernel.put(&edited, generation, &index, &Limits::default());
    put.map(drop).map_err(|error| failed(error.to_string()))
}

/// The interfaces of the device and of all VRFs, and their numbers: a port keeps its number when it
/// moves.
fn ports() -> BTreeMap<Port, u32> {
    let vrfs = fs::read_dir(VRFS).into_iter().flatten().flatten();
    let found = vrfs.filter_map(|vrf| namespace::within(&vrf.path(), || Ok(ports_here())).ok());
    ports_here().into_iter().chain(found.flatten()).collect()
}

fn ports_here() -> Vec<(Port, u32)> {
    let interfaces = if_nameindex().ok();
    let interfaces = interfaces.iter().flatten();
    interfaces
        .filter_map(|one| Some((one.name().to_str().ok()?.parse().ok()?, one.index())))
        .collect()
}
