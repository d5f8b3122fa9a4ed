//! The program for nodes: how it begins and ends. What it does in between is tested with the
//! fabric, where `bulkhead agent` does the same.

#![allow(clippy::unwrap_used, reason = "a program that cannot be started ends the test")]

use std::process::Command;

#[track_caller]
fn check(arguments: &[&str], code: i32, says: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_bulkhead-agent")).args(arguments).output();
    let output = output.unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn the_help_has_an_example() {
    check(&["--help"], 0, "\n  bulkhead-agent --listen 10.0.0.1:4647 --identity");
}

#[test]
fn a_node_that_is_not_told_who_it_is_is_wrong_usage() {
    check(&["--listen", "127.0.0.1:0"], 64, "--identity <DIR>");
}

#[test]
fn a_node_without_identity_does_not_begin_and_says_what_is_missing() {
    let arguments = ["--listen", "127.0.0.1:0", "--identity", "/nowhere"];
    check(&arguments, 2, "Broken: cannot read /nowhere/name: an identity is a folder with name,");
}

#[test]
fn nobody_is_commanded_and_nobody_named_from_a_node() {
    for more in [&["status"][..], &["ca"], &["--rehearse"]] {
        let arguments = [&["--listen", "127.0.0.1:0", "--identity", "/nowhere"], more].concat();
        check(&arguments, 64, "unexpected argument");
    }
}
