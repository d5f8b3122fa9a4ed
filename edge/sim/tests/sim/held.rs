//! What devices hold: in memory, in files, and when nobody can talk to them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use apply::{Devices as _, HoldTerms, Order};
use model::{DeviceId, Dialect, Epoch, Generation, Protocol};
use observe::Holds;
use sim::{Delivery, DeviceFolder, Fabric, SentFrame, SentPacket, To, WalkWay};

use crate::world::{Side, World};

const ANYTHING: SentPacket = SentPacket {
    protocol: Protocol::Tcp,
    source_port: 50_000,
    destination_port: 50_000,
    opens: true,
};

#[test]
fn a_delivery_tells_its_way() {
    let world = World::sound(Side::Nxos, Side::Frr);
    let frame = SentFrame {
        source: "10.1.0.11".parse().unwrap(),
        mac: None,
        to: To::Unicast("10.1.0.12".parse().unwrap(), ANYTHING),
    };
    let (device, port) = world.port("train-2");
    assert_eq!(
        world.fabric().send(world.port("train-1"), &frame),
        [WalkWay::BridgedRemote, WalkWay::RoutedRemote].map(|way| Delivery { device, port, way })
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
    let order = nothing(&world, leaf);
    assert!(!hold_all(&mut fabric, std::slice::from_ref(&order)));
    let (from, to) = (world.port("train-1"), world.port("train-2"));
    assert!(fabric.delivers(from, to, ANYTHING));
    fabric.mend(leaf);
    assert!(hold_all(&mut fabric, std::slice::from_ref(&order)));
    assert!(!fabric.delivers(from, to, ANYTHING));
}

#[test]
fn a_folder_holds_what_it_was_given_and_an_edit_by_hand_is_seen() {
    let world = World::sound(Side::Frr, Side::Frr);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edited-by-hand");
    let _ = fs::remove_dir_all(&path);
    let leaf = world.device("leaf-1");
    let mut folder = DeviceFolder::new(world.fleet(), path.clone());
    assert!(folder.held(leaf, Dialect::Table).unwrap().is_none());
    let orders = world.orders(Generation(7));
    assert!(apply::push(&orders, &HoldTerms::default(), &mut folder).is_started);

    let file = path.join("leaf-1/table");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("default drop\n", "")).unwrap();

    let again = DeviceFolder::new(world.fleet(), path.clone());
    let held = again.held(leaf, Dialect::Table).unwrap().unwrap();
    assert_eq!(held.generation, Generation(7));
    assert!(!held.text.contains("default drop"));
    let fabric = Fabric::copy_of(world.fleet(), &again).unwrap();
    let (from, to) = (world.port("train-1"), world.port("serve-1"));
    assert!(fabric.delivers(from, to, ANYTHING));
    fs::remove_dir_all(&path).unwrap();
}

/// What a device is told that shall do nothing any more.
fn nothing(world: &World, device: DeviceId) -> Order {
    let name = world.fleet().device_name(device).clone();
    let texts = vec![(Dialect::Nxos, String::new())];
    Order::danger_unproved((device, name), Epoch(1), Generation(2), texts)
}

#[test]
fn a_port_that_is_new_carries_from_its_start_on() {
    let world = World::sound(Side::Frr, Side::Nxos);
    let mut fabric = Fabric::new(world.fleet());
    let orders = world.orders(Generation(1));
    let (from, to) = (world.port("train-1"), world.port("train-2"));
    assert!(fabric.hold(&orders, &HoldTerms::default()).iter().all(apply::Receipt::is_held));
    assert!(!fabric.delivers(from, to, ANYTHING));
    assert!(fabric.start(&orders).iter().all(apply::Receipt::is_held));
    assert!(fabric.delivers(from, to, ANYTHING));
    // A later plan with the same ports shuts none of them, started or not.
    let later = world.swap("leaf-1 table", "default drop\n", "default drop\n\n");
    assert!(hold_all(&mut fabric, &later.orders(Generation(2))));
    assert!(fabric.delivers(from, to, ANYTHING));
}

#[test]
fn a_trial_that_nobody_confirms_ends_with_what_was_held_before() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let mut fabric = Fabric::new(world.fleet());
    assert!(
        apply::push(&world.orders(Generation(1)), &HoldTerms::default(), &mut fabric).is_started
    );
    let (from, to) = (world.port("train-1"), world.port("train-2"));
    let leaf = world.device("leaf-2");
    let cut = world.clone().swap("leaf-2 nxos", "65000:", "65001:");
    let on_trial =
        HoldTerms { confirm_within: Some(Duration::from_secs(60)), ..HoldTerms::default() };
    assert!(apply::push(&cut.orders(Generation(2)), &on_trial, &mut fabric).is_started);
    assert!(!fabric.delivers(from, to, ANYTHING));
    assert!(fabric.end_trial(leaf));
    assert!(fabric.delivers(from, to, ANYTHING));
    let standing = fabric.standing(leaf).unwrap().unwrap();
    assert_eq!(
        (standing.generation, standing.went_back_to, standing.on_trial),
        (Generation(2), Some(Generation(1)), false)
    );
    let [(_, confirmed)] = &fabric.confirm(&[(leaf, Epoch(1), Generation(2))])[..] else {
        panic!("one answer for one device");
    };
    assert!(confirmed.is_err(), "it went back already");
    assert!(!fabric.end_trial(leaf));
}

#[test]
fn a_folder_of_a_release_before_this_one_is_read_and_carried_over() {
    let world = World::sound(Side::Nxos, Side::Nxos);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("before");
    let _ = fs::remove_dir_all(&path);
    let leaf = world.device("leaf-1");
    fs::create_dir_all(path.join("leaf-1")).unwrap();
    fs::write(path.join("leaf-1/nxos"), "!\n").unwrap();
    fs::write(path.join("leaf-1/nxos.generation"), "7\n").unwrap();
    let mut folder = DeviceFolder::new(world.fleet(), path.clone());
    assert_eq!(folder.held(leaf, Dialect::Nxos).unwrap().unwrap().generation, Generation(7));
    assert_eq!(folder.standing(leaf).unwrap().unwrap().epoch, Epoch(0));
    assert!(
        apply::push(&world.orders(Generation(8)), &HoldTerms::default(), &mut folder).is_started
    );
    assert!(!path.join("leaf-1/nxos.generation").exists());
    let standing = folder.standing(leaf).unwrap().unwrap();
    assert_eq!((standing.epoch, standing.generation), (Epoch(1), Generation(8)));
    fs::remove_dir_all(&path).unwrap();
}

fn hold_all(fabric: &mut Fabric, orders: &[Order]) -> bool {
    fabric.hold(orders, &HoldTerms::default()).iter().all(apply::Receipt::is_held)
}
