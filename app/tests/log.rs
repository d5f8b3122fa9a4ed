//! The log looked at, repaired, and asked for the documents in force.

#![allow(clippy::unwrap_used, reason = "a log that cannot be spoiled ends the test")]

mod desk;

use std::fs;

use desk::{CLUSTER, Desk};

const LOG: &str = "bulkhead-state/log";

/// A desk whose simulated devices hold the demonstration.
fn applied(name: &str) -> Desk {
    let desk = Desk::new(name);
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk
}

/// What `log check -o json` says, with its exit code.
fn checked(desk: &Desk, code: i32) -> serde_json::Value {
    let answer = desk.run(&["log", "check", "-o", "json"]).ends(code);
    serde_json::from_str(&answer.out).unwrap()
}

#[track_caller]
fn check_repaired(desk: &Desk, spoil: impl FnOnce(&Desk), code: &str) {
    spoil(desk);
    let found = checked(desk, 1);
    assert_eq!(found["problems"][0]["code"], code, "{found}");
    let text = desk.run(&["log", "check"]).ends(1);
    text.says(code).says("Not sound: 1 problem.").says("log repair");
    let before = desk.files("bulkhead-state");
    desk.run(&["log", "repair"]).ends(1).complains("`--yes` says that this is meant");
    desk.run(&["log", "repair", "-o", "json"]).ends(1).says("\"code\": \"repair-needs-yes\"");
    assert_eq!(desk.files("bulkhead-state"), before, "nobody agreed");
    let repaired = desk.run(&["log", "repair", "--yes", "-o", "json"]).ends(0);
    repaired.says("\"epoch\": 2").says("\"leftOut\": ");
    assert_eq!(checked(desk, 0)["epoch"], 2);
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.run(&["verify", "--held"]).ends(0);
}

#[test]
fn a_sound_log_is_said_to_be_sound_and_needs_no_repair() {
    let desk = applied("log-sound");
    let found = checked(&desk, 0);
    assert!(found["sound"] == true && found["records"].as_u64().unwrap() > 10, "{found}");
    desk.run(&["log", "check"]).ends(0).says("Sound: everything is as it was written.");
    desk.run(&["log", "repair", "--yes"]).ends(1).complains("Nothing is wrong with the log.");
    let repair = ["log", "repair", "--restored", "--yes", "--epoch"];
    let restored = desk.run(&[&repair[..], &["6"]].concat()).ends(0);
    restored.says("Repaired: epoch 7 begins after record ");
    let restored = desk.run(&[&repair[..], &["9", "-o", "json"]].concat()).ends(0);
    restored.says("\"epoch\": 10");
}

#[test]
fn no_log_is_not_taken_for_a_sound_one() {
    let desk = Desk::new("log-none");
    for command in ["check", "repair"] {
        let answer = desk.run(&["log", command, "--state", "elsewhere"]).ends(1);
        answer.complains("There is no log in elsewhere.");
    }
    assert!(!desk.path("elsewhere").exists());
}

#[test]
fn a_damaged_log_is_named_and_repaired() {
    let desk = applied("log-damaged");
    let blue = |log: &str| log.replacen("\"blue\"", "\"bleu\"", 1);
    check_repaired(&desk, |desk| desk.edit(LOG, blue), "log-damaged");
    assert!(desk.path("bulkhead-state/log.damaged-1").exists());
}

#[test]
fn a_lost_log_is_named_and_begun_anew() {
    let desk = applied("log-lost");
    check_repaired(&desk, |desk| fs::remove_file(desk.path(LOG)).unwrap(), "log-lost");
}

#[test]
fn a_torn_log_is_sound_and_what_is_torn_is_cut_off_by_whoever_writes() {
    let desk = applied("log-torn");
    desk.edit(LOG, |log| log.to_owned() + "{\"half a");
    assert_eq!(checked(&desk, 0)["tornBytes"], 8);
    desk.run(&["log", "check"]).ends(0).says("A crash left 8 bytes at the end");
    desk.run(&["delete", "job", "red/tune", "--to", "sim"]).ends(0).complains("cut off");
    assert_eq!(checked(&desk, 0)["tornBytes"], 0);
}

#[test]
fn a_foreign_log_is_not_repaired() {
    let (desk, other) = (applied("log-foreign"), applied("log-other"));
    fs::copy(other.path(LOG), desk.path(LOG)).unwrap();
    assert_eq!(checked(&desk, 1)["problems"][0]["code"], "log-foreign");
    let answer = desk.run(&["log", "repair", "--yes"]).ends(2);
    answer.complains("is not the log of this installation").complains("Name the folder of this");
}

#[test]
fn content_that_is_missing_is_named() {
    let desk = applied("log-content");
    fs::write(desk.path("bulkhead-state/objects"), "").unwrap();
    let found = checked(&desk, 1);
    assert_eq!(found["problems"][0]["code"], "content-missing", "{found}");
    let broken = desk.run(&["plan"]).ends(2);
    broken.complains("is not beside it").complains("restore a backup");
}

#[test]
fn documents_in_force_are_read_from_a_log_alone() {
    let desk = applied("get");
    let table = desk.run(&["get"]).ends(0).says("kind    name");
    assert_eq!(table.out.lines().count(), 14, "{}", table.out);
    table.says("job     red/train");
    let jobs = desk.run(&["get", "jobs"]).ends(0);
    assert_eq!(jobs.out.lines().count(), 6, "{}", jobs.out);
    let one = desk.run(&["get", "job", "red/train", "-o", "yaml"]).ends(0);
    one.says("---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {name: train}\n");
    for format in ["yaml", "json"] {
        let all = desk.run(&["get", "-o", format]).ends(0);
        let same = desk.run_with(&["plan", "-", "--prune"], &all.out).ends(0);
        same.says("No changes: generation 1");
    }
}

#[test]
fn documents_are_read_from_a_copy_that_nobody_may_write() {
    let desk = applied("get-copy");
    let here = desk.run(&["get", "-o", "json"]).ends(0);
    let before = desk.files("bulkhead-state");
    desk.lock("bulkhead-state");
    let there = desk.run(&["get", "-o", "json"]).ends(0);
    assert_eq!(here.out, there.out);
    assert_eq!(desk.run(&["log", "check"]).code, 0);
    assert_eq!(desk.files("bulkhead-state"), before, "whoever looks writes nothing");
}

#[test]
fn what_is_not_among_the_documents_is_refused() {
    let desk = applied("get-not");
    desk.run(&["get", "pods"]).ends(1).complains("`pods` is no kind of document");
    desk.run(&["get", "job", "red/no"]).ends(1).complains("Job red/no is not among the documents");
    Desk::new("get-none").run(&["get"]).ends(0).says("Nobody asked for anything.");
}
