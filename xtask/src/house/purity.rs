//! `core/` thinks: no I/O, no clock, no chance, no locks, no async, no order by chance.
//!
//! Clippy holds the same by type in `core/clippy.toml`; this is the belt to those braces, and
//! also sees what is written in code that is compiled out.

use expect_test::{Expect, expect};

use super::manifest::{dependencies, members};
use super::repository::{SourceFile, Violation, assert_none, files, sentences};
use super::source::{code, paths};

/// Whole modules that reach outside.
const OUTSIDE: [&str; 9] = [
    "std::fs",
    "std::env",
    "std::io",
    "std::os",
    "std::process",
    "std::thread",
    "std::sync::atomic",
    "std::sync::mpsc",
    "core::sync::atomic",
];

/// Names that mean the same wherever they come from.
const NAMES: [&str; 20] = [
    "HashMap",
    "HashSet",
    "RandomState",
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
    "Mutex",
    "RwLock",
    "Condvar",
    "async",
    "await",
    "print",
    "println",
    "eprint",
    "eprintln",
    "thread_local",
    "unsafe",
];

/// Guests that are as pure as their hosts, and those that only tests meet.
const PURE_GUESTS: [&str; 11] = [
    "serde",
    "serde_json",
    "granit-parser",
    "roxmltree",
    "smallvec",
    "sha2",
    "smol_str",
    "ipnet",
    "thiserror",
    "expect-test",
    "proptest",
];

fn impure_words(file: &SourceFile) -> Vec<Violation> {
    paths(&code(&file.text))
        .into_iter()
        .filter(|spoken| {
            let name = spoken.path.rsplit("::").next().unwrap_or_default();
            OUTSIDE.contains(&spoken.path.as_str()) || NAMES.contains(&name)
        })
        .map(|spoken| {
            let what = format!("`{}` has no place in core, which only thinks", spoken.path);
            file.violation(spoken.line, what)
        })
        .collect()
}

/// Unsafe code stands here and nowhere else: bpf(2), a library that is loaded at run time, and a
/// packet socket's address in a test.
const UNSAFE: [&str; 3] = [
    "edge/filter/src/sys.rs",
    "edge/observe/src/hardware/nvml/sys.rs",
    "edge/filter/tests/live/socket.rs",
];

fn unsafe_elsewhere(file: &SourceFile) -> Vec<Violation> {
    paths(&code(&file.text))
        .into_iter()
        .filter(|spoken| spoken.path == "unsafe" && !UNSAFE.contains(&file.path.as_str()))
        .map(|spoken| file.violation(spoken.line, "unsafe code has its named places, and not here"))
        .collect()
}

fn impure_guests(manifest: &SourceFile) -> Vec<Violation> {
    dependencies(&manifest.text)
        .into_iter()
        .filter(|dependency| !is_core_room(dependency.name))
        .filter(|dependency| !PURE_GUESTS.contains(&dependency.name))
        .map(|dependency| {
            let what = format!(
                "`{}` is not known as pure; if it is, add it to the pure guests in {}",
                dependency.name,
                file!()
            );
            manifest.violation(dependency.line, what)
        })
        .collect()
}

/// Whether it is a room of core at all; its order among them is another rule.
fn is_core_room(name: &str) -> bool {
    super::repository::exists(&format!("core/{name}"))
}

#[test]
fn core_speaks_of_nothing_outside() {
    let mut sources = files(&[".rs"]);
    sources.retain(|file| file.is_in("core") && file.path.contains("/src/"));
    assert_none(&sources.iter().flat_map(impure_words).collect::<Vec<_>>());
}

#[test]
fn unsafe_code_has_its_named_places() {
    assert_none(&files(&[".rs"]).iter().flat_map(unsafe_elsewhere).collect::<Vec<_>>());
}

#[test]
fn core_has_only_pure_guests() {
    let mut manifests = members();
    manifests.retain(|manifest| manifest.is_in("core"));
    assert_none(&manifests.iter().flat_map(impure_guests).collect::<Vec<_>>());
}

fn check(rule: fn(&SourceFile) -> Vec<Violation>, text: &str, expected: Expect) {
    let file = SourceFile { path: "core/x".to_owned(), text: text.to_owned() };
    expected.assert_eq(&sentences(&rule(&file)));
}

#[test]
fn what_reaches_outside_is_named_and_what_only_looks_so_is_not() {
    check(
        impure_words,
        r#"
//! Comments may speak of std::fs and a HashMap.
use std::{collections::{BTreeMap, HashMap}, net::Ipv4Addr, fs};
use std::time::Duration;
fn now() -> std::time::Instant { std::time::Instant::now() }
fn name() -> &'static str { "std::env" }
static COUNT: std::sync::atomic::AtomicU32 = todo!();
"#,
        expect![[r#"
            core/x:3: `std::collections::HashMap` has no place in core, which only thinks
            core/x:3: `std::fs` has no place in core, which only thinks
            core/x:5: `std::time::Instant` has no place in core, which only thinks
            core/x:5: `std::time::Instant` has no place in core, which only thinks
            core/x:7: `std::sync::atomic` has no place in core, which only thinks
        "#]],
    );
}

#[test]
fn unsafe_code_is_named_and_the_word_for_it_is_not() {
    check(
        unsafe_elsewhere,
        "// Not unsafe.\n#![allow(unsafe_code)]\nlet x = unsafe { y() };\n",
        expect![[r#"
            core/x:3: unsafe code has its named places, and not here
        "#]],
    );
}

#[test]
fn a_guest_that_is_not_known_as_pure_is_named() {
    check(
        impure_guests,
        "[dependencies]\nwire.workspace = true\nserde.workspace = true\nrand.workspace = true\n",
        expect![[r#"
            core/x:4: `rand` is not known as pure; if it is, add it to the pure guests in xtask/src/house/purity.rs
        "#]],
    );
}
