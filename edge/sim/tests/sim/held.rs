//! What devices hold: in memory, in files, and when nobody can talk to them.

use std::fs;
use std::path::PathBuf;

use apply::Keeps;
use model::{Dialect, Generation, Protocol};
use observe::{Held, Holds};
use sim::{Delivery, Fabric, Folder, Frame, Talk, To, Way};

use crate::world::{Side, World};

const ANYTHING: Talk =
    Talk { protocol: Protocol::Tcp, source_port: 50_000, destination_port: 50_000 };

#[test]
fn a_delivery_tells_its_way() {
    let world = World::sound(Side::Nxos, Side::Frr);
    let frame = Frame {
        source: "10.1.0.11".parse().unwrap(),
        mac: None,
        to: To::Unicast("10.1.0.12".parse().unwrap(), ANYTHING),
    };
    let (device, port) = world.port("train-2");
    assert_eq!(
        world.fabric().send(world.port("train-1"), &frame),
        [Way::BridgedRemote, Way::RoutedRemote].map(|way| Delivery { device, port, way })
    );
}

#[test]
fn a_text_that_changes_is_followed_at_once() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = world.fabric();
    let (from, to) = (world.port("train-1"), world.port("train-2"));
    assert!(fabric.delivers(from, to, ANYTHING));
    let cut = world.clone().swap("leaf-2 nxos", "65000:", "65001:");
    fabric.load(&cut.artifacts());
    assert!(!fabric.delivers(from, to, ANYTHING));
    fabric.load(&world.artifacts());
    assert!(fabric.delivers(from, to, ANYTHING));
}

#[test]
fn a_device_that_is_cut_off_is_named_and_goes_on_forwarding() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = world.fabric();
    let leaf = world.device("leaf-1");
    fabric.cut(leaf);
    let refused = fabric.held(leaf, Dialect::Nxos).unwrap_err();
    assert_eq!(refused.to_string(), "leaf-1 does not answer");
    assert!(fabric.hold(leaf, Dialect::Nxos, nothing()).is_err());
    let (from, to) = (world.port("train-1"), world.port("train-2"));
    assert!(fabric.delivers(from, to, ANYTHING));
    fabric.mend(leaf);
    fabric.hold(leaf, Dialect::Nxos, nothing()).unwrap();
    assert!(!fabric.delivers(from, to, ANYTHING));
}

#[test]
fn a_folder_holds_what_it_was_given_and_an_edit_by_hand_is_seen() {
    let world = World::sound(Side::Frr, Side::Frr);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edited-by-hand");
    let _ = fs::remove_dir_all(&path);
    let leaf = world.device("leaf-1");
    let mut folder = Folder::new(world.fleet(), path.clone());
    assert!(folder.held(leaf, Dialect::Table).unwrap().is_none());
    for artifact in world.artifacts() {
        let held = Held { generation: Generation(7), text: artifact.text() };
        folder.hold(artifact.device, artifact.dialect, held).unwrap();
    }

    let file = path.join("leaf-1/table");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("default drop\n", "")).unwrap();

    let again = Folder::new(world.fleet(), path.clone());
    let held = again.held(leaf, Dialect::Table).unwrap().unwrap();
    assert_eq!(held.generation, Generation(7));
    assert!(!held.text.contains("default drop"));
    let fabric = Fabric::copy_of(world.fleet(), &again).unwrap();
    let (from, to) = (world.port("train-1"), world.port("serve-1"));
    assert!(fabric.delivers(from, to, ANYTHING));
    fs::remove_dir_all(&path).unwrap();
}

fn nothing() -> Held {
    Held { generation: Generation(2), text: String::new() }
}
