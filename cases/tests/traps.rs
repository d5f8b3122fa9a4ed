//! What NX-OS does that its configuration does not show: each trap is a folder whose configuration
//! and forwarding are written by hand after the vendor's words. The verifier says the verdict, and
//! the simulator forwards, as it stands there.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cases::{Patch, World, from_documents};
use model::{Artifact, DeviceId, Dialect, Generation, NodeId, Part, PartText, Port, Protocol};
use sim::{Fabric, Passing, SentPacket};

/// A port of an endpoint.
type At = (DeviceId, Port);

#[test]
fn the_configuration_without_a_trap_is_proved_and_forwards_what_was_asked() {
    let world = world();
    let artifacts = base(&world);
    assert_eq!(verdict(&world, &artifacts), "");
    let forwards = Forwarding::of(&world, &artifacts);
    let honest: String =
        forwards.honest.iter().map(|(pair, said)| format!("{pair}: {said}\n")).collect();
    assert_eq!(honest, file(&folder().join("base"), "forwarding"));
    assert_eq!(forwards.honest, forwards.forged, "a forged frame does no more than an honest one");
    assert_eq!(forwards.begins, BTreeSet::new(), "who answers does not begin");
}

#[test]
fn every_trap_is_judged_and_forwards_as_its_folder_says() {
    let (world, mut complaints) = (world(), Vec::new());
    let sound = Forwarding::of(&world, &base(&world));
    let traps = traps();
    assert!(traps.len() >= 15, "traps are missing: only {traps:?}");
    for trap in traps {
        let name = trap.file_name().unwrap().to_string_lossy().into_owned();
        assert!(file(&trap, "why").len() > 20, "{name} says no vendor's words");
        let mut artifacts = base(&world);
        for patch in file(&trap, "configuration.diff").split("\n\n").filter(|p| !p.is_empty()) {
            patch.parse::<Patch>().unwrap().apply(&world.plan.fleet, &mut artifacts);
        }
        let forwards = Forwarding::of(&world, &artifacts).against(&sound);
        for (what, is) in [("verdict", verdict(&world, &artifacts)), ("forwarding", forwards)] {
            let said = file(&trap, what);
            if said != is {
                complaints.push(format!("{name}, {what}:\nsaid\n{said}is\n{is}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("nxos-traps")
}

fn file(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn traps() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut traps: Vec<PathBuf> =
        entries.filter(|path| path.is_dir() && !path.ends_with("base")).collect();
    traps.sort();
    traps
}

/// The fleet and who owns what; what is rendered for it is thrown away.
fn world() -> World {
    from_documents(&file(&folder(), "fleet.yaml")).unwrap()
}

/// The configurations as three switches print them.
fn base(world: &World) -> Vec<Artifact> {
    let fleet = &world.plan.fleet;
    let switches = fleet.devices().filter(|device| fleet.switch_at(*device).is_some());
    let artifact = |device| {
        let name = format!("{}.nxos", fleet.device_name(device));
        let text = file(&folder().join("base"), &name);
        let parts = vec![PartText { part: Part::Whole, text }];
        Artifact { device, dialect: Dialect::Nxos, generation: Generation(1), parts }
    };
    switches.map(artifact).collect()
}

/// Every kind of finding with the lines that it misses, each once.
fn verdict(world: &World, artifacts: &[Artifact]) -> String {
    let found = verify::findings(&world.plan.fleet, &world.owners, artifacts);
    let lines: BTreeSet<String> = found
        .iter()
        .map(|finding| {
            let missing: BTreeSet<&str> =
                finding.missing.iter().map(|line| line.text.as_str()).collect();
            let missing: Vec<&str> = missing.into_iter().collect();
            let code = finding.code().as_str();
            match missing.as_slice() {
                [] => format!("{code}\n"),
                missing => format!("{code}: {}\n", missing.join("; ")),
            }
        })
        .collect();
    lines.into_iter().collect()
}

/// What passes between endpoints.
struct Forwarding {
    /// What passes of those who say the truth about themselves.
    honest: BTreeMap<String, String>,
    /// What passes whatever is said.
    forged: BTreeMap<String, String>,
    /// Who can open a connection from the port of its service.
    begins: BTreeSet<String>,
}

impl Forwarding {
    fn of(world: &World, artifacts: &[Artifact]) -> Self {
        let mut fabric = Fabric::new(world.plan.fleet.clone());
        fabric.load(artifacts);
        let names = names(world);
        let ports: Vec<At> = names.keys().copied().collect();
        let told = |met: BTreeMap<sim::Pair, Passing>| {
            let said = |pair: &sim::Pair| format!("{} -> {}", names[&pair.from], names[&pair.to]);
            met.iter().map(|(pair, passing)| (said(pair), say(passing))).collect()
        };
        let answer = SentPacket {
            protocol: Protocol::Tcp,
            source_port: 2049,
            destination_port: 22,
            opens: true,
        };
        let mut begins = BTreeSet::new();
        for (from, client) in &names {
            for (to, other) in &names {
                let is_apart = client.split('@').next() != other.split('@').next();
                if is_apart && fabric.delivers(*from, *to, answer) {
                    begins.insert(format!("{client} -> {other}"));
                }
            }
        }
        let honest = told(fabric.conversations(&ports));
        Self { honest, forged: told(fabric.meetings(&ports)), begins }
    }

    /// What is cut, opened and begun that was not.
    fn against(&self, sound: &Self) -> String {
        let mut told = String::new();
        for pair in sound.begins.symmetric_difference(&self.begins) {
            // Where anything passes, nobody needs a service to begin.
            if self.forged.get(pair).is_none_or(|said| !said.contains("any")) {
                writeln!(told, "begins {pair}").unwrap();
            }
        }
        for pair in sound.honest.keys().filter(|pair| !self.honest.contains_key(*pair)) {
            writeln!(told, "cuts {pair}").unwrap();
        }
        for (pair, said) in &self.forged {
            if sound.forged.get(pair) != Some(said) {
                writeln!(told, "opens {pair}: {said}").unwrap();
            }
        }
        told
    }
}

fn say(passing: &Passing) -> String {
    let mut said = Vec::new();
    if passing.flood {
        said.push("flood".to_owned());
    }
    if passing.any {
        said.push("any".to_owned());
    } else {
        said.extend(passing.asks.iter().map(|service| format!("ask {service}")));
        said.extend(passing.answers.iter().map(|service| format!("answer {service}")));
    }
    said.join(", ")
}

/// Endpoints by their ports: `train@n1`, or `n2/1` where nobody is.
fn names(world: &World) -> BTreeMap<At, String> {
    let fleet = &world.plan.fleet;
    let mut names = BTreeMap::new();
    for (number, node) in (0..).zip(&fleet.nodes) {
        for nic in (0..).take(node.uplinks.len()) {
            let at = fleet.enforcement_point(NodeId(number), nic);
            let name = match world.owners.ports.get(&at) {
                Some(job) => format!("{}@{}", job.name, node.name),
                None => format!("{}/{nic}", node.name),
            };
            names.insert(at, name);
        }
    }
    names
}
