//! Two leaves and a spine between them, with texts written by hand.
//!
//! Each leaf has three endpoints: `train` and `serve` are two jobs of one tenant (VRF t17),
//! `store` is a job of another one (t18). `train-1` is the endpoint of `train` at the first leaf.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;

use apply::Order;
use model::{
    Artifact, Asn, DeviceId, Dialect, Enforcement, Epoch, Fleet, Generation, Health, Link, LinkEnd,
    Name, Node, NodeModelId, Part, PartText, PodId, Port, SiteId, Switch, SwitchDialect, SwitchId,
    SwitchRole, Uplink, Versions, Vtep,
};
use sim::{Fabric, Passing};
use wire::Mac;

/// What judges the endpoints of one side.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    /// A leaf with NX-OS.
    Nxos,
    /// A leaf with Linux.
    Frr,
    /// The host itself; what is called spine is then the leaf above it.
    Host,
}

/// The texts of all devices, by `leaf-1 nxos` and so on.
#[derive(Clone)]
pub(crate) struct World {
    fleet: Arc<Fleet>,
    sides: [Side; 2],
    texts: BTreeMap<String, String>,
}

const JOBS: [&str; 3] = ["train", "serve", "store"];
const SPINE: DeviceId = DeviceId(0);

impl World {
    /// A world where every job reaches itself and nobody else.
    pub(crate) fn sound(first: Side, second: Side) -> Self {
        let sides = [first, second];
        let mut world = Self { fleet: Arc::new(fleet(sides)), sides, texts: BTreeMap::new() };
        let spine = match first {
            Side::Frr => ("spine-1 frr", include_str!("texts/spine.frr")),
            Side::Nxos | Side::Host => ("spine-1 nxos", include_str!("texts/spine.nxos")),
        };
        world.texts.insert(spine.0.into(), spine.1.into());
        for (number, side) in [1, 2].into_iter().zip(sides) {
            world.write_leaf(number, side);
        }
        world
    }

    /// Replaces every occurrence, and insists that there is one.
    pub(crate) fn swap(mut self, place: &str, old: &str, new: &str) -> Self {
        let text = self.texts.get_mut(place).expect(place);
        assert!(text.contains(old), "{place} does not say `{old}`");
        *text = text.replace(old, new);
        self
    }

    /// Takes lines away, and insists that they are there.
    pub(crate) fn drop(self, place: &str, lines: &str) -> Self {
        self.swap(place, &format!("{lines}\n"), "")
    }

    /// Adds lines at the end.
    pub(crate) fn add(mut self, place: &str, lines: &str) -> Self {
        self.texts.get_mut(place).expect(place).push_str(lines);
        self
    }

    /// Takes a whole text away.
    pub(crate) fn erase(mut self, place: &str) -> Self {
        self.texts.remove(place).expect(place);
        self
    }

    pub(crate) fn fleet(&self) -> Arc<Fleet> {
        self.fleet.clone()
    }

    pub(crate) fn device(&self, name: &str) -> DeviceId {
        let mut devices = self.fleet.devices();
        devices.find(|&device| self.fleet.device_name(device).as_str() == name).expect(name)
    }

    pub(crate) fn port(&self, endpoint: &str) -> (DeviceId, Port) {
        let (job, number) = endpoint.split_once('-').unwrap();
        let job = JOBS.iter().position(|name| *name == job).unwrap();
        let number: usize = number.parse().unwrap();
        let port = u16::try_from(job).unwrap() + 1;
        match self.sides[number - 1] {
            Side::Nxos => (self.device(&format!("leaf-{number}")), Port::Ethernet(port)),
            Side::Frr => (self.device(&format!("leaf-{number}")), Port::Swp(port)),
            Side::Host => (self.device(&format!("host-{number}")), Port::Rep(port)),
        }
    }

    pub(crate) fn artifacts(&self) -> Vec<Artifact> {
        let artifact = |(place, text): (&String, &String)| {
            let (device, dialect) = place.split_once(' ').unwrap();
            Artifact {
                device: self.device(device),
                dialect: dialect.parse().unwrap(),
                generation: Generation(1),
                parts: vec![PartText { part: Part::Whole, text: text.clone() }],
            }
        };
        self.texts.iter().map(artifact).collect()
    }

    /// The same, each device's as it would be sent.
    pub(crate) fn orders(&self, generation: Generation) -> Vec<Order> {
        let mut texts: BTreeMap<DeviceId, Vec<(Dialect, String)>> = BTreeMap::new();
        for artifact in self.artifacts() {
            let own = texts.entry(artifact.device).or_default();
            own.push((artifact.dialect, artifact.text()));
        }
        let order = |(device, texts)| {
            let name = self.fleet.device_name(device).clone();
            Order::danger_unproved((device, name), Epoch(1), generation, texts)
        };
        texts.into_iter().map(order).collect()
    }

    pub(crate) fn fabric(&self) -> Fabric {
        let mut fabric = Fabric::new(self.fleet());
        fabric.load(&self.artifacts());
        fabric
    }

    /// Every pair that something passes between: what an attacker can deliver, and whether an
    /// honest endpoint can say anything.
    pub(crate) fn reach(&self) -> BTreeMap<String, String> {
        let fabric = self.fabric();
        let names: Vec<String> =
            JOBS.iter().flat_map(|job| [1, 2].map(|number| format!("{job}-{number}"))).collect();
        let ports: Vec<(DeviceId, Port)> = names.iter().map(|name| self.port(name)).collect();
        let meetings = fabric.meetings(&ports);
        let honest = fabric.conversations(&ports);
        let name_of = |port| &names[ports.iter().position(|at| *at == port).unwrap()];
        let mut reach = BTreeMap::new();
        for (pair, passing) in meetings {
            let mut said = say(&passing);
            match honest.get(&pair) {
                Some(spoken) if *spoken == passing => {}
                Some(spoken) => write!(said, "; honestly {}", say(spoken)).unwrap(),
                None => said.push_str("; honestly nothing"),
            }
            reach.insert(format!("{} -> {}", name_of(pair.from), name_of(pair.to)), said);
        }
        reach
    }

    fn write_leaf(&mut self, number: usize, side: Side) {
        let texts: &[(&str, &str)] = match side {
            Side::Nxos => &[("nxos", include_str!("texts/leaf.nxos"))],
            Side::Frr | Side::Host => &[
                ("frr", include_str!("texts/leaf.frr")),
                ("linux", include_str!("texts/leaf.linux")),
                ("table", include_str!("texts/leaf.table")),
            ],
        };
        let (name, port, uplink) = match side {
            Side::Nxos | Side::Frr => (format!("leaf-{number}"), "swp", "swp33"),
            Side::Host => (format!("host-{number}"), "rep", "nic0"),
        };
        for (dialect, text) in texts {
            let text = text
                .replace("{n}", &number.to_string())
                .replace("{m}", &(3 - number).to_string())
                .replace("{name}", &name)
                .replace("{port}", port)
                .replace("{uplink}", uplink);
            self.texts.insert(format!("{name} {dialect}"), text);
        }
    }
}

/// What the change opens, turns and cuts, against the sound world of the same sides.
pub(crate) fn differences(
    first: Side,
    second: Side,
    change: impl FnOnce(World) -> World,
) -> String {
    let sound = World::sound(first, second);
    let before = sound.reach();
    let after = change(sound).reach();
    let mut told = String::new();
    for (pair, said) in &after {
        match before.get(pair) {
            None => writeln!(told, "opens {pair}: {said}").unwrap(),
            Some(was) if was != said => writeln!(told, "turns {pair}: {said}").unwrap(),
            Some(_) => {}
        }
    }
    for pair in before.keys().filter(|pair| !after.contains_key(*pair)) {
        writeln!(told, "cuts {pair}").unwrap();
    }
    told
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
        let answers = passing.answers.iter();
        said.extend(answers.map(|service| format!("answer {service}")));
    }
    said.join(", ")
}

fn fleet(sides: [Side; 2]) -> Fleet {
    let mut fleet = Fleet { name: "two-leaves".into(), target_asn: 65000, ..Fleet::default() };
    let spine = match sides[0] {
        Side::Frr => SwitchDialect::Frr,
        Side::Nxos | Side::Host => SwitchDialect::Nxos,
    };
    let role = if sides[0] == Side::Host { SwitchRole::Leaf } else { SwitchRole::Spine };
    fleet.switches.push(switch("spine-1", role, spine, 100));
    for (number, side) in [1, 2].into_iter().zip(sides) {
        let name = format!("leaf-{number}");
        let dialect = match side {
            Side::Nxos => SwitchDialect::Nxos,
            Side::Frr => SwitchDialect::Frr,
            Side::Host => {
                fleet.nodes.push(host(number));
                continue;
            }
        };
        fleet.switches.push(switch(&name, SwitchRole::Leaf, dialect, number));
        let leaf = SwitchId(fleet.switches.len() as u32 - 1);
        fleet.links.push(Link {
            a: end(leaf, dialect, 33, [172, 16, number, 0]),
            b: end(SwitchId(SPINE.0), spine, number.into(), [172, 16, number, 1]),
        });
    }
    fleet
}

fn end(switch: SwitchId, dialect: SwitchDialect, port: u16, address: [u8; 4]) -> LinkEnd {
    let port = match dialect {
        SwitchDialect::Nxos => Port::Ethernet(port),
        SwitchDialect::Frr => Port::Swp(port),
    };
    LinkEnd { switch, port, address: address.into() }
}

fn switch(name: &str, role: SwitchRole, dialect: SwitchDialect, number: u8) -> Switch {
    Switch {
        name: name.parse().unwrap(),
        site: SiteId(0),
        pod: Some(PodId(0)),
        role,
        dialect,
        vtep: vtep(number),
    }
}

fn host(number: u8) -> Node {
    let name: Name = format!("host-{number}").parse().unwrap();
    Node {
        name: name.clone(),
        pod: PodId(0),
        rack: "rack-1".parse().unwrap(),
        model: NodeModelId(0),
        nvlink_domain: name,
        versions: Versions::default(),
        health: Health::Good,
        enforcement: Enforcement::Host,
        vtep: Some(vtep(number)),
        uplinks: vec![Uplink {
            leaf: SwitchId(SPINE.0),
            port: Port::Ethernet(number.into()),
            mac: Mac([2, 0, 0, 0, 0, number]),
            leaf_address: Some(Ipv4Addr::new(172, 16, number, 0)),
        }],
    }
}

fn vtep(number: u8) -> Vtep {
    Vtep { address: Ipv4Addr::new(10, 255, 0, number), asn: Asn(4_200_000_000 + u32::from(number)) }
}
