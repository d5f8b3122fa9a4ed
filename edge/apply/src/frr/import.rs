//! A VRF gives up all routes that it took in, and takes them in again.
//!
//! zebra keeps one router's Ethernet address for each tunnel endpoint of a VRF, and takes it from
//! the route that it heard last. Once a route of another tenant was taken in, that is the wrong one
//! or none, and it stays so when the route has gone: only an endpoint without any route is
//! forgotten.

use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

use observe::{Vty, VtyTrouble};

use super::{EVPN, FrrTrouble, PATIENCE, PAUSE, Sessions, differences, opposite, path};

/// How a statement begins by which routes are taken in.
pub(super) const WORDS: &str = "route-target import ";

/// A target that no plan uses. Without any, bgpd takes in what it derives from the VNI.
const NOBODYS: &str = "route-target import 65535:1";

/// Lets a BGP instance take in its routes anew. Whoever is stopped in between leaves a target that
/// is too much, by which this is done again.
pub(super) fn anew(
    folder: &Path,
    sent: &str,
    instance: &str,
    step: &mut dyn FnMut(&str),
) -> Result<(), FrrTrouble> {
    let Some((_, vrf)) = instance.split_once(" vrf ") else { return Ok(()) };
    let own = imports(sent, instance);
    if own.is_empty() {
        return Ok(()); // it goes with all that it took in
    }
    let blocks = [instance.to_owned(), EVPN.to_owned()];
    let mut sessions = Sessions::open(folder)?;
    let mut tell = |statement: &str| {
        step(&format!("tell FRR: {statement}"));
        sessions.only(Some("bgpd")).try_for_each(|bgpd| bgpd.say(&blocks, statement))
    };
    tell(NOBODYS)?;
    own.iter().try_for_each(|import| tell(&opposite(import)))?;
    let is_empty = await_no_routes(folder, vrf)?;
    own.iter().try_for_each(|import| tell(import))?;
    tell(&opposite(NOBODYS))?;
    sessions.close()?;
    if is_empty { Ok(()) } else { Err(FrrTrouble::RoutesStay { vrf: vrf.into() }) }
}

/// What the instance shall take in.
fn imports(sent: &str, instance: &str) -> Vec<String> {
    let all = differences(sent, "").into_iter();
    let own = all.filter(|line| match path(line)[..] {
        [block, EVPN, statement] => block == instance && statement.starts_with(WORDS),
        _ => false,
    });
    own.map(|line| line.statement).collect()
}

/// Waits until zebra has no route of BGP in the VRF; whether it came to that.
fn await_no_routes(folder: &Path, vrf: &str) -> Result<bool, FrrTrouble> {
    let deadline = Instant::now() + PATIENCE;
    let mut zebra = Vty::open(folder, "zebra")?;
    let mut has_routes = |family: &str| -> Result<bool, FrrTrouble> {
        match zebra.say(&format!("show {family} route vrf {vrf} bgp")) {
            Ok(said) => Ok(said.lines().any(|line| line.starts_with('B'))),
            Err(VtyTrouble::Refused(_)) => Ok(false), // it does not know the VRF
            Err(trouble) => Err(trouble.into()),
        }
    };
    while has_routes("ip")? || has_routes("ipv6")? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        sleep(PAUSE);
    }
    Ok(true)
}
