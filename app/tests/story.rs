//! From documents to devices, through a hole and back.

mod desk;

use desk::{CLUSTER, Desk};
use expect_test::{Expect, expect};
use serde_json::Value;

const LEAF_1: &str = "bulkhead-state/sim/leaf-1/nxos";
const LEAF_2: &str = "bulkhead-state/sim/leaf-2/";

/// Applies the demonstration's documents, lets a hand edit what a device holds, and tells the
/// first line of what is found. Then all is put right.
#[track_caller]
fn check(name: &str, file: &str, edit: impl FnOnce(&str) -> String, found: Expect) {
    let desk = Desk::new(name);
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.run(&["verify", CLUSTER, "--held"]).ends(0).says("Proved");
    desk.edit(file, edit);
    let answer = desk.run(&["verify", CLUSTER, "--held"]).ends(1);
    let lines: Vec<&str> = answer.out.lines().collect();
    found.assert_eq(&format!("{}\n{}\n", lines[0], lines[lines.len() - 1]));
    let repair = desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    repair.says("In force: 6 devices hold generation 1.");
    desk.run(&["verify", CLUSTER, "--held"]).ends(0).says("Proved");
}

#[test]
fn a_port_moved_into_another_tenants_vlan_is_a_breach() {
    check(
        "moved-port",
        LEAF_1,
        |text| {
            let (before, after) = text.split_once("interface Ethernet1/9\n").unwrap();
            let after = after.replacen("access vlan 2", "access vlan 3", 1);
            format!("{before}interface Ethernet1/9\n{after}")
        },
        expect![[r#"
            breach  leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/9 (blue/train): flooded frames,
            Not proved: 2 breaches, 1 severed pair, 3 weaknesses.
        "#]],
    );
}

#[test]
fn a_table_that_no_longer_drops_is_found() {
    check(
        "open-table",
        &format!("{LEAF_2}table"),
        |text| text.replace("default drop\n", ""),
        expect![[r#"
            breach  leaf-1 Ethernet1/1 (red/train) meets leaf-2 swp3 (red/tune): unicast, routed through a
            Not proved: 5 breaches, 1 weakness.
        "#]],
    );
}

/// Three jobs and an open table are six meetings, one for each sender and receiver. Of the
/// demonstration's only five come true, because the tenant that serves files has routes to the job
/// it consented to and to no other of that tenant.
#[test]
fn an_open_table_lets_through_only_what_has_a_way() {
    let desk = Desk::new("open-table-with-a-way");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.edit(&format!("{LEAF_2}table"), |text| text.replace("default drop\n", ""));
    let sixth = "breach  leaf-2 swp9 (vault/files) meets leaf-2 swp3 (red/tune)";
    let five = desk.run(&["verify", CLUSTER, "--held"]).ends(1).says("Not proved: 5 breaches");
    assert!(!five.out.contains(sixth), "{}", five.out);
    desk.edit(&format!("{LEAF_2}linux"), |text| {
        format!("{text}reach 10.1.0.11-10.1.0.11 vrf t3 vtep 10.255.0.3 vni 50002\n")
    });
    desk.run(&["verify", CLUSTER, "--held"]).ends(1).says("Not proved: 6 breaches").says(sixth);
}

/// The line is named that is not there, and not only those that are.
#[test]
fn a_permit_that_is_gone_is_named_as_missing() {
    let desk = Desk::new("no-permit");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    let mut gone = String::new();
    desk.edit(&format!("{LEAF_2}table"), |text| {
        let is_permit = |line: &&str| line.starts_with("permit ");
        gone = text.lines().find(is_permit).unwrap().into();
        text.lines().filter(|line| *line != gone).map(|line| format!("{line}\n")).collect()
    });
    let text = desk.run(&["verify", "--held"]).ends(1);
    text.says(&format!("leaf-2 table lacks {gone}\n")).says("medium: apply the plan again");
    let json = desk.run(&["verify", "--held", "-o", "json"]).ends(1);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let finding = &json["findings"][0];
    assert_eq!((&finding["code"], &finding["severity"]), (&"severed".into(), &"medium".into()));
    assert_eq!(finding["missing"][0]["text"], gone.as_str());
    assert!(finding["members"][0]["job"].is_string(), "{finding:#}");
}

#[test]
fn a_line_that_nobody_knows_is_found() {
    check(
        "unknown-line",
        &format!("{LEAF_2}frr"),
        |text| format!("{text}ip nhrp network-id 7\n"),
        expect![[r#"
            unknown-line  leaf-2: unknown line `ip nhrp network-id 7`: no line of this block is written so
            Not proved: 1 weakness.
        "#]],
    );
}

#[test]
fn an_import_of_another_tenants_routes_is_found() {
    check(
        "import",
        &format!("{LEAF_2}frr"),
        |text| {
            text.replacen("route-target import 65000:50002", "route-target import 65000:50001", 1)
        },
        expect![[r#"
            missing-line  leaf-2: no line `route-target import 65000:50002 of VRF t2`: what other devices
            Not proved: 2 weaknesses.
        "#]],
    );
}

#[test]
fn a_plan_that_is_in_force_changes_nothing() {
    let desk = Desk::new("twice");
    let first = desk.run(&["plan", CLUSTER]).ends(0);
    let again = desk.run(&["plan", CLUSTER]).ends(0);
    assert_eq!(first.out, again.out);
    first.says("Plan: 5 jobs to add, 0 to change, 0 to remove; 4 devices touched");
    let apply = desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    apply.says("In force: 6 devices hold generation 1.");
    let plan = desk.run(&["plan", CLUSTER]).ends(0);
    plan.says("No changes: generation 1 is what the documents ask for.");
    let before = std::fs::read(desk.path("bulkhead-state/log")).unwrap();
    let apply = desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    apply.says("Nothing to do: 6 devices hold generation 1.");
    let after = std::fs::read(desk.path("bulkhead-state/log")).unwrap();
    assert_eq!(before, after, "nothing to do is nothing to write down");
}

#[test]
fn a_rate_that_changes_is_not_called_no_change() {
    let desk = Desk::new("rate");
    desk.copy_cluster();
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.edit("work.yaml", |text| text.replacen("guarantee: 100Gbps", "guarantee: 50Gbps", 1));
    let plan = desk.run(&["plan", "."]).ends(0);
    plan.says("No job changes, but ").says("would get another text");
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.run(&["plan", "."]).ends(0).says("No changes");
}

#[test]
fn jobs_and_consents_that_change_are_shown() {
    let desk = Desk::new("changes");
    desk.copy_cluster();
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.edit("work.yaml", |text| {
        text.replace("endpoints: [n1/2, n4/2]", "endpoints: [n1/2, n4/3]")
            .replace("gpus: 4, pod: rtm-pod", "gpus: 2, pod: rtm-pod")
    });
    desk.edit("permits.yaml", |text| text.replacen("port: 2049", "port: 2050", 2));
    let plan = desk.run(&["plan", "."]).ends(0);
    let changes = plan.out.split("\n\n").next().unwrap();
    let summary = &plan.out[plan.out.rfind("Plan: ").unwrap()..];
    expect![[r#"
          -/+  job      quay/infer
                        tag: 20 -> 22
                        subnet: 10.1.0.0/29 -> 10.1.0.8/29
                        endpoints: 4 (e1/0, e1/1, e2/0, e2/1) -> 2 (e1/0, e1/1)
                        devices: e1 vlan 2, e2 vlan 2 -> e1 vlan 3
          -/+  job      red/tune
                        tag: 18 -> 21
                        subnet: 10.1.0.8/29 -> 10.1.0.16/29
                        endpoints: 2 (n1/2, n4/2) -> 2 (n1/2, n4/3)
                        devices: leaf-1 vlan 4, leaf-2 vlan 3 -> leaf-1 vlan 5, leaf-2 vlan 5
          -    consent  red/train -> vault/files  tcp 2049
          +    consent  red/train -> vault/files  tcp 2050
        Plan: 0 jobs to add, 0 to change, 2 to end and begin anew, 0 to remove; 4 devices touched
          (generation 1 to 2).
    "#]]
    .assert_eq(&format!("{changes}\n{summary}"));
}

#[test]
fn what_was_freed_rests_until_it_was_seen_gone() {
    let desk = Desk::new("resting");
    desk.copy_cluster();
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.edit("work.yaml", |text| {
        let documents = text.split("---\n");
        let documents = documents.filter(|document| !document.contains("name: infer"));
        documents.collect::<Vec<_>>().join("---\n")
    });
    let plan = desk.run(&["plan", ".", "--prune"]).ends(0);
    plan.says("Freed, and resting until seen gone").says("1 to remove");
    desk.run(&["apply", ".", "--to", "sim"]).ends(0).says("Nothing to do");
    desk.run(&["apply", ".", "--to", "sim", "--prune", "--yes"]).ends(0);
    let plan = desk.run(&["plan", "."]).ends(0).says("No changes");
    assert!(!plan.out.contains("resting"), "{}", plan.out);
}

#[test]
fn a_made_up_cluster_is_proved_from_a_pipe() {
    let desk = Desk::new("generated");
    let wish = "fleet generate --gpus 256 --nvl72 30 --sites 2 --workload --jobs 20";
    let made = desk.run(&wish.split(' ').collect::<Vec<_>>());
    let made = made.ends(0);
    desk.run_with(&["verify", "-"], &made.out).ends(0).says("Proved");
}

#[test]
fn a_rendered_text_is_read_back_without_an_unknown_line() {
    let desk = Desk::new("inverse");
    for (device, dialect) in [
        ("leaf-1", "nxos"),
        ("spine-1", "nxos"),
        ("leaf-2", "frr"),
        ("leaf-2", "linux"),
        ("e1", "table"),
    ] {
        let text = desk.run(&["render", CLUSTER, "--device", device, "--dialect", dialect]);
        let read = desk.run_with(&["read", "--dialect", dialect, "-"], &text.ends(0).out);
        read.ends(0).says("no unknown line");
    }
}
