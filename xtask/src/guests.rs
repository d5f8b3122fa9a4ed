//! What came with the guests: their licences, what is there twice, and who is on a node.

use expect_test::{Expect, expect};

use crate::shell;

/// A guest may come under one of these.
const LICENCES: [&str; 8] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// What is there in two versions, each with the reason.
const TWICE: [(&str, &str); 2] = [
    ("getrandom", "ring takes the one before what the property tests take"),
    ("syn", "the macros of serde came to the third before those of zerocopy did"),
];

/// The rooms of the program for nodes. Who plans, writes, sends, or makes things up stays away.
const ON_A_NODE: [&str; 9] =
    ["agent", "apply", "bulkhead-agent", "filter", "model", "observe", "read", "verify", "wire"];

/// The lines of `cargo tree`, each once.
fn tree(options: &str) -> String {
    let line = format!("cargo tree --locked --prefix none --no-dedupe {options}");
    let said = shell::output(&line.split_whitespace().collect::<Vec<_>>()).expect(&line);
    let lines = said.lines().map(|line| line.trim_end_matches(" (*)"));
    let mut lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.join("\n")
}

/// Every package, as `NAME VERSION|LICENCES`, whose licences are not all allowed.
fn refused(licences: &str) -> String {
    let refused = licences
        .lines()
        .filter(|line| line.split_once('|').is_none_or(|(_, licences)| !is_allowed(licences)));
    refused.map(|line| format!("{line}\n")).collect()
}

/// Where `AND` stands in one of the choices of an `OR`, this asks for more than it must.
fn is_allowed(licences: &str) -> bool {
    licences.split(" AND ").all(|choice| {
        let choice = choice.trim_matches(['(', ')']).replace(" OR ", "/");
        choice.split('/').any(|licence| LICENCES.contains(&licence.trim()))
    })
}

/// What of `NAME VERSION` is there twice without a reason, and what has one and is not.
fn twice(duplicates: &str) -> String {
    let mut names: Vec<&str> =
        duplicates.lines().filter_map(|line| line.split_whitespace().next()).collect();
    names.dedup();
    let unknown = names.iter().filter(|name| !TWICE.iter().any(|(known, _)| known == *name));
    let unknown = unknown.map(|name| format!("{name} is there twice: give the reason\n"));
    let gone = TWICE.iter().filter(|(known, _)| !names.contains(known));
    unknown
        .chain(gone.map(|(name, _)| format!("{name} is there once: take it off the list\n")))
        .collect()
}

#[test]
fn every_guest_has_a_licence_that_may_be_given_on() {
    let packages = tree("--workspace --edges normal,build,dev --format {p}|{l}");
    assert!(packages.lines().count() > 50, "{packages}");
    assert_eq!(refused(&packages), "");
}

#[test]
fn what_is_there_twice_has_a_reason() {
    let duplicates = tree("--workspace --edges normal,build,dev --duplicates --depth 0");
    assert_eq!(twice(&duplicates), "");
}

#[test]
fn a_node_has_an_agent_and_neither_authority_nor_planner_nor_lab() {
    let packages = tree("--package bulkhead-agent --edges normal,build");
    let root = shell::root().ok().unwrap();
    let root = format!("({}", root.display());
    let rooms = packages.lines().filter(|line| line.contains(&root));
    let rooms: Vec<&str> = rooms.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(rooms, ON_A_NODE);
    assert!(!packages.contains("rcgen v"), "who makes certificates is on no node: {packages}");
}

fn check(rule: fn(&str) -> String, text: &str, expected: Expect) {
    expected.assert_eq(&rule(text));
}

#[test]
fn a_licence_is_refused_unless_one_of_each_choice_is_allowed() {
    check(
        refused,
        "\
a v1.0.0|MIT
b v1.0.0|MIT/Apache-2.0
c v1.0.0|GPL-3.0 OR MIT
d v1.0.0|GPL-3.0
e v1.0.0|(MIT OR GPL-3.0) AND Unicode-3.0
f v1.0.0|MIT AND GPL-3.0
g v1.0.0|Apache-2.0 WITH LLVM-exception
h v1.0.0|
i v1.0.0",
        expect![[r#"
            d v1.0.0|GPL-3.0
            f v1.0.0|MIT AND GPL-3.0
            h v1.0.0|
            i v1.0.0
        "#]],
    );
}

#[test]
fn a_new_duplicate_and_one_that_went_are_named() {
    check(
        twice,
        "odd v0.2.17\nodd v0.4.3\nsyn v2.0.1\nsyn v3.0.9",
        expect![[r#"
        odd is there twice: give the reason
        getrandom is there once: take it off the list
    "#]],
    );
}
