//! Who is believed, and what the others are told.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use agent::{Agents, Authority, FleetError, GOOD_FOR, Identity, TalkError};
use expect_test::{Expect, expect};

use crate::stage::{Stage, name};

/// Asks leaf-1 with the identity in this folder, and gives the refusal.
#[track_caller]
fn check(stage: &Stage, identity: &std::path::Path, expected: Expect) {
    let leaf = name("leaf-1");
    let identity = Identity::open(identity).unwrap();
    let addresses = BTreeMap::from([(leaf.clone(), stage.address("leaf-1"))]);
    let fleet = Agents::of(&identity, addresses, stage.handle()).unwrap();
    let refusal = fleet.statuses().remove(&leaf).unwrap().unwrap_err();
    assert!(matches!(refusal, TalkError::Unproved(_)), "{refusal:?}");
    expected.assert_eq(&refusal.to_string());
}

#[test]
fn a_controller_of_another_authority_believes_nobody_here() {
    let stage = Stage::new();
    let other = Authority::init(&stage.folder.join("other")).unwrap();
    check(
        &stage,
        &other.controller(),
        expect![
            "its certificate is not of our authority: use the folder of its authority, or enroll it here"
        ],
    );
}

#[test]
fn a_controller_of_another_authority_is_not_believed_either() {
    let stage = Stage::new();
    let other = Authority::init(&stage.folder.join("other")).unwrap();
    // It even believes ours.
    let ours = stage.ca().join("authority.pem");
    fs::copy(ours, other.controller().join("authority.pem")).unwrap();
    check(
        &stage,
        &other.controller(),
        expect![
            "it refuses our certificate: it is not of its authority: use the folder of its authority (UnknownCA)"
        ],
    );
}

#[test]
fn another_nodes_certificate_does_not_serve_in_the_place_of_the_wanted_one() {
    let mut stage = Stage::new();
    stage.kill("leaf-1");
    let stolen = stage.identity_folder("leaf-2");
    stage.start_as("leaf-1", &stolen);
    let controller = stage.authority.controller();
    check(
        &stage,
        &controller,
        expect![[
            r#"it does not prove its name (invalid peer certificate: certificate not valid for name "leaf-1.node"; certificate is only valid for DnsName("leaf-2.node")): correct its address, or its identity"#
        ]],
    );
}

#[test]
fn a_nodes_certificate_does_not_command_even_if_it_says_it_is_the_controllers() {
    let stage = Stage::new();
    let node = stage.identity_folder("leaf-2");
    let identity = Identity::open(&node).unwrap();
    assert!(matches!(
        Agents::of(&identity, BTreeMap::new(), stage.handle()),
        Err(FleetError::NoController)
    ));
    fs::write(node.join("name"), "controller\n").unwrap();
    assert!(Identity::open(&node).is_err());
}

#[test]
fn an_expired_agent_is_not_believed() {
    let mut stage = Stage::new();
    let long_ago = SystemTime::now() - GOOD_FOR - Duration::from_secs(24 * 3600);
    let before = Authority::open(&stage.ca()).unwrap().dated(long_ago);
    fs::remove_dir_all(stage.identity_folder("leaf-1")).unwrap();
    before.enroll(&name("leaf-1"), &stage.address("leaf-1")).unwrap();
    stage.kill("leaf-1");
    stage.start("leaf-1");
    let controller = stage.authority.controller();
    check(
        &stage,
        &controller,
        expect!["its certificate has expired: `ca rotate`, and bring it its folder"],
    );
}

#[test]
fn an_expired_controller_is_not_believed() {
    let stage = Stage::new();
    let long_ago = SystemTime::now() - GOOD_FOR - Duration::from_secs(24 * 3600);
    let nodes = stage.folder.join("nodes");
    fs::rename(stage.ca().join("nodes"), &nodes).unwrap();
    Authority::open(&stage.ca()).unwrap().dated(long_ago).rotate(false).unwrap();
    fs::rename(&nodes, stage.ca().join("nodes")).unwrap();
    let controller = stage.authority.controller();
    check(
        &stage,
        &controller,
        expect!["it refuses our certificate: it has expired: `ca rotate` (CertificateExpired)"],
    );
}

#[test]
fn an_agent_that_is_not_there_is_named_with_its_address() {
    let mut stage = Stage::new();
    stage.kill("leaf-1");
    let refusal = stage.fleet().statuses().remove(&name("leaf-1")).unwrap().unwrap_err();
    assert!(matches!(refusal, TalkError::Nobody { .. }), "{refusal:?}");
}
