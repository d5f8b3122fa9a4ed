//! A room may use only rooms before it.

use expect_test::{Expect, expect};

use super::manifest::{dependencies, members};
use super::repository::{SourceFile, Violation, assert_none, files, sentences};

/// The rooms by their folders, in their order. Tests obey it too: a test that needs a later
/// room stands in `cases`.
const ROOMS: [&str; 23] = [
    "core/wire",
    "core/model",
    "core/intent",
    "core/plan",
    "core/render",
    "core/read",
    "core/verify",
    "core/next",
    "core/correlate",
    "edge/store",
    "edge/filter",
    "edge/observe",
    "edge/apply",
    "edge/agent",
    "edge/sim",
    "edge/control",
    "edge/api",
    "lab",
    "app/bulkhead-agent",
    "app",
    "cases",
    "bench",
    "xtask",
];

fn out_of_order(manifest: &SourceFile) -> Vec<Violation> {
    let folder = manifest.path.trim_end_matches("/Cargo.toml");
    let Some(own) = ROOMS.iter().position(|room| *room == folder) else {
        let remedy = "a new crate needs a wall (purity, privilege, target, compile time), and then \
                      a place in the order of rooms";
        return vec![manifest.violation(1, remedy)];
    };
    dependencies(&manifest.text)
        .into_iter()
        .filter_map(|dependency| {
            let used = ROOMS.iter().position(|room| name(room) == dependency.name)?;
            let (later, earlier) = (dependency.name, name(ROOMS[own]));
            // A room's own tests may ask it for what no binary has.
            let is_itself = used == own && dependency.names_features();
            (used >= own && !is_itself).then(|| {
                let what = format!("`{earlier}` uses `{later}`, which is not before it");
                manifest.violation(dependency.line, what)
            })
        })
        .collect()
}

fn name(room: &str) -> &str {
    room.rsplit('/').next().unwrap_or(room)
}

/// A room opens with the question it answers, what it takes, what it gives and what it never
/// does.
fn without_opening(library: &SourceFile) -> Vec<Violation> {
    let opening: String = library.text.lines().take_while(|line| line.starts_with("//!")).collect();
    ["Takes:", "Gives:", "Never:"]
        .into_iter()
        .filter(|word| !opening.contains(word))
        .map(|word| library.violation(1, format!("the room's first lines lack `{word}`")))
        .collect()
}

#[test]
fn rooms_use_only_rooms_before_them() {
    let manifests = members();
    assert_none(&manifests.iter().flat_map(out_of_order).collect::<Vec<_>>());
}

#[test]
fn every_room_opens_with_its_question() {
    let mut libraries = files(&["/src/lib.rs"]);
    libraries.retain(|library| library.is_in("core") || library.is_in("edge"));
    assert_none(&libraries.iter().flat_map(without_opening).collect::<Vec<_>>());
}

fn check(rule: fn(&SourceFile) -> Vec<Violation>, path: &str, text: &str, expected: Expect) {
    let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
    expected.assert_eq(&sentences(&rule(&file)));
}

#[test]
fn a_room_that_looks_ahead_is_named_also_when_only_its_tests_do() {
    check(
        out_of_order,
        "core/read/Cargo.toml",
        "[dependencies]\nwire.workspace = true\nserde.workspace = true\nread.workspace = true\n\
         [dev-dependencies]\nverify.workspace = true\n",
        expect![[r#"
            core/read/Cargo.toml:4: `read` uses `read`, which is not before it
            core/read/Cargo.toml:6: `read` uses `verify`, which is not before it
        "#]],
    );
}

#[test]
fn a_room_whose_tests_ask_it_for_a_feature_looks_at_itself() {
    check(
        out_of_order,
        "core/read/Cargo.toml",
        "[dev-dependencies]\nread = { workspace = true, features = [\"danger\"] }\n",
        expect![""],
    );
}

#[test]
fn a_crate_without_a_place_is_named() {
    check(
        out_of_order,
        "core/misc/Cargo.toml",
        "[dependencies]\n",
        expect![[r#"
            core/misc/Cargo.toml:1: a new crate needs a wall (purity, privilege, target, compile time), and then a place in the order of rooms
        "#]],
    );
}

#[test]
fn an_opening_that_keeps_something_back_is_named() {
    check(
        without_opening,
        "core/read/src/lib.rs",
        "//! What does this say?\n//!\n//! Takes: text. Gives: claims.\n\n// Never: this is too late.\n",
        expect![[r#"
            core/read/src/lib.rs:1: the room's first lines lack `Never:`
        "#]],
    );
}
