//! Exit codes with meaning: 0 done, 1 refused or found, 2 broken, 64 wrong usage.

mod desk;

use std::process::Stdio;

use desk::{Answer, CLUSTER, Desk};
use expect_test::{Expect, expect};

/// What is said on the standard error when these documents are planned.
#[track_caller]
fn check(name: &str, documents: &str, code: i32, complaint: Expect) {
    let desk = Desk::new(name);
    let answer = desk.run_with(&["plan", "-"], documents).ends(code);
    assert_eq!(answer.out, "");
    complaint.assert_eq(&answer.err);
    assert!(!desk.path("bulkhead-state").exists(), "a plan leaves nothing behind");
}

#[test]
fn every_refusal_of_the_documents_is_told_with_its_place_and_remedy() {
    check(
        "refused-documents",
        "\
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {grade: nod, pools: [10.1.0.0/16]}
---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: red, gpu: 8}
",
        1,
        expect![[r#"
            -:4:15: `nod` is no `grade`.
              Did you mean `node`?
            -:9:7: None of `gpus`, `endpoints`, `slices` is given.
              Add one of `gpus`, `endpoints`, `slices`.
            -:9:21: Unknown key `gpu` in a job.
              Did you mean `gpus`?
            No document describes the fleet.
              Add a document of kind Fleet.
            Refused: 4 refusals, and nothing was done.
        "#]],
    );
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let desk = Desk::new("refused-plan");
    desk.copy_cluster();
    desk.edit("work.yaml", |text| text.replace("gpus: 4", "gpus: 400"));
    let answer = desk.run(&["plan", "."]).ends(1);
    expect![[r#"
        ./work.yaml:44:18: Job quay/infer wants 400 GPUs in one pod, but rtm-pod, the largest it may
          use, has 4 GPUs in all.
          Divide the job, or build a larger pod.
        Refused: 1 refusal, and nothing was done.
    "#]]
    .assert_eq(answer.complaints());
    assert_eq!(answer.out, "");
}

#[test]
fn refusals_are_data_for_programs() {
    let desk = Desk::new("refused-json");
    let answer = desk.run_with(&["plan", "-", "-o", "json"], "kind: Job\n").ends(1);
    assert_eq!(answer.err, "");
    let answer: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    let refused = answer["refused"].as_array().unwrap();
    assert!(refused.iter().all(|refusal| refusal["code"].is_string()));
    assert!(refused.iter().any(|refusal| refusal["place"] == "-:1:1"));
}

#[test]
fn a_file_that_cannot_be_read_is_broken() {
    let desk = Desk::new("broken-file");
    let answer = desk.run(&["plan", "missing.yaml"]).ends(2);
    expect![[r#"
        Broken: cannot read missing.yaml: No such file or directory (os error 2)
    "#]]
    .assert_eq(&answer.err);
}

#[test]
fn a_log_that_was_altered_is_broken() {
    let desk = Desk::new("broken-log");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.edit("bulkhead-state/log", |log| log.replacen("\"blue\"", "\"bleu\"", 1));
    let answer = desk.run(&["plan", CLUSTER]).ends(2);
    answer.complains("Broken: line ").complains("of the log bulkhead-state/log is damaged: ");
}

#[test]
fn wrong_usage_has_a_code_of_its_own() {
    let desk = Desk::new("usage");
    for arguments in [
        &[][..],
        &["plan", "--no-such-flag", "x.yaml"],
        &["no-such-command"],
        &["apply", "x.yaml"],
        &["apply", "x.yaml", "--to", "production"],
        &["read", "--dialect", "klingon", "x"],
        &["fleet", "generate", "--gpus", "many"],
        &["fleet", "generate", "--gpus", "0"],
        &["filter"],
        &["filter", "attach"],
        &["filter", "attach", "--port", "swp1", "--lease", "30s"],
        &["filter", "renew", "--lease", "30"],
        &["filter", "load", "x", "--map", "swp5"],
        &["filter", "drops", "--reason", "job"],
        &["filter", "judge", "x.pcap", "--table", "x", "--hook", "local"],
    ] {
        let answer = desk.run(arguments).ends(64);
        assert_eq!(answer.out, "", "{arguments:?}");
        assert_ne!(answer.err, "", "{arguments:?}");
    }
}

#[test]
fn the_version_is_an_answer() {
    Desk::new("version").run(&["--version"]).ends(0).says("bulkhead 0.1.0");
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let desk = Desk::new("names");
    let unknown = desk.run(&["why", "n1/0", "n9/0", CLUSTER]).ends(1);
    unknown.complains("`n9/0` is neither an endpoint nor a job");
    let same = desk.run(&["why", "n1/0", "n1/0", CLUSTER]).ends(1);
    same.complains("are one and the same endpoint");
    let device = desk.run(&["render", CLUSTER, "--device", "leaf-9"]).ends(1);
    device.complains("No device that is configured is called `leaf-9`");
}

#[test]
fn a_reader_who_goes_away_is_a_normal_end() {
    let desk = Desk::new("pipe");
    let fleet = desk.run(&["fleet", "generate", "--gpus", "4096"]).ends(0);
    desk.write("fleet.yaml", &fleet.out);
    // The texts are far more than a pipe holds, so the command is still writing.
    let mut child = desk.command(&["render", "fleet.yaml"]).spawn().unwrap();
    drop(child.stdout.take());
    let answer = Answer::of(child.wait_with_output().unwrap()).ends(0);
    assert_eq!(answer.err, "");
}

#[test]
fn what_was_found_does_not_depend_on_who_reads_it() {
    let desk = Desk::new("verdict-unread");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.edit("bulkhead-state/sim/leaf-1/nxos", |text| text.replacen("vlan", "vlann", 1));
    for _ in 0..10 {
        let mut child = desk.command(&["verify", CLUSTER, "--held"]).spawn().unwrap();
        drop(child.stdout.take());
        let answer = Answer::of(child.wait_with_output().unwrap()).ends(1);
        assert_eq!(answer.complaints(), "");
    }
}

#[test]
fn a_disk_that_is_full_is_broken_and_named() {
    let desk = Desk::new("full");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let child = desk.command(&["plan", CLUSTER]).stdout(full).spawn().unwrap();
    let answer = Answer::of(child.wait_with_output().unwrap()).ends(2);
    answer.complains("cannot write the answer to the standard output: No space left on device");
}

#[test]
fn documents_in_folders_below_are_read() {
    let desk = Desk::new("folders");
    desk.copy_cluster();
    let flat = desk.run(&["plan", "."]).ends(0);
    std::fs::create_dir_all(desk.path("sites/rtm")).unwrap();
    for (from, to) in [("work.yaml", "sites/work.yaml"), ("permits.yaml", "sites/rtm/permits.yml")]
    {
        std::fs::rename(desk.path(from), desk.path(to)).unwrap();
    }
    assert_eq!(desk.run(&["plan", "."]).ends(0).out, flat.out);
    std::fs::create_dir(desk.path("empty")).unwrap();
    let empty = desk.run(&["plan", "empty"]).ends(2);
    empty.complains("there is no *.yaml, *.yml or *.json in the folder empty or below it");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let desk = Desk::new("colours");
    let plain = desk.run(&["verify", CLUSTER]).ends(0);
    assert!(!plain.out.contains('\u{1b}'));
    let asked = desk.run(&["verify", CLUSTER, "--color", "always"]).ends(0);
    assert!(asked.out.contains('\u{1b}'));
    let never = desk.run(&["--color", "never", "verify", CLUSTER]).ends(0);
    assert_eq!(never.out, plain.out);
}

#[test]
fn a_closed_input_is_no_document() {
    let desk = Desk::new("closed");
    let child = desk.command(&["plan", "-"]).stdin(Stdio::null()).spawn().unwrap();
    let answer = Answer::of(child.wait_with_output().unwrap()).ends(1);
    answer.complains("Refused: 1 refusal");
}
