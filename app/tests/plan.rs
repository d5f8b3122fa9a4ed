//! What a plan shows, and a plan that is kept.

#![allow(clippy::unwrap_used, reason = "a plan that is no JSON ends the test")]

mod desk;

use std::fmt::Write;

use desk::{CLUSTER, Desk};
use expect_test::expect;

/// A desk whose devices hold the demonstration, and whose documents ask for other things.
fn edited(name: &str) -> Desk {
    let desk = Desk::new(name);
    desk.copy_cluster();
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.edit("work.yaml", |text| text.replace("[n1/2, n4/2]", "[n1/2, n4/3]"));
    desk
}

#[test]
fn a_kept_plan_is_applied_as_it_was_shown() {
    let desk = edited("kept");
    let shown = desk.run(&["plan", ".", "--out", "kept.json"]).ends(0);
    shown.says("Kept: `bulkhead apply kept.json` does just that");
    let work = std::fs::read_to_string(desk.path("work.yaml")).unwrap();
    desk.write("work.yaml", &work.replace("red", "green"));
    desk.run(&["apply", "kept.json", "--to", "sim"]).ends(0).says("hold generation 2.");
    desk.write("work.yaml", &work);
    desk.run(&["plan", "."]).ends(0).says("No changes: generation 2");
}

#[test]
fn a_kept_plan_is_stale_when_the_log_moved_on() {
    let desk = edited("stale");
    desk.run(&["plan", ".", "--out", "kept.json"]).ends(0);
    desk.run(&["delete", "job", "quay/infer", "--to", "sim"]).ends(0);
    let before = desk.files("bulkhead-state");
    let stale = desk.run(&["apply", "kept.json", "--to", "sim", "-o", "json"]).ends(1);
    let said: serde_json::Value = serde_json::from_str(&stale.out).unwrap();
    assert_eq!(said["refused"][0]["code"], "plan-stale");
    assert_eq!(desk.files("bulkhead-state"), before, "nothing was written");
}

#[test]
fn a_kept_plan_is_applied_once() {
    let desk = edited("once");
    desk.run(&["plan", ".", "--out", "kept.json"]).ends(0);
    desk.run(&["apply", "kept.json", "--to", "sim"]).ends(0);
    let again = desk.run(&["apply", "kept.json", "--to", "sim"]).ends(1);
    again.complains("The log moved on");
}

#[test]
fn a_kept_plan_that_was_edited_is_stale() {
    let desk = edited("forged");
    desk.run(&["plan", ".", "--out", "kept.json"]).ends(0);
    desk.edit("kept.json", |text| text.replace("n4/3", "n4/4"));
    desk.run(&["apply", "kept.json", "--to", "sim"]).ends(1).complains("The log moved on");
}

#[test]
fn a_kept_plan_stands_alone_and_is_no_document() {
    let desk = edited("alone");
    desk.run(&["plan", ".", "--out", "kept.json"]).ends(0);
    for more in ["work.yaml", "--prune"] {
        let refused = desk.run(&["apply", "kept.json", more, "--to", "sim"]).ends(1);
        refused.complains("A kept plan is applied as it is, or not at all");
    }
    desk.run(&["plan", "kept.json"]).ends(1).complains("kept.json is a kept plan and no document");
    desk.run(&["plan", "."]).ends(0).says("generation 1 to 2");
}

#[test]
fn a_running_job_that_ends_and_begins_anew_is_never_called_a_change() {
    let desk = edited("replaced");
    desk.edit("work.yaml", |text| {
        text.replace("tenant: blue, end", "tenant: blue, class: bulk, end")
    });
    let plan = desk.run(&["plan", "."]).ends(0);
    let signs: Vec<&str> = plan.out.lines().take_while(|line| !line.is_empty()).collect();
    assert!(signs[0].starts_with("  ~    job      blue/train"), "{signs:#?}");
    assert!(signs[2].starts_with("  -/+  job      red/tune"), "{signs:#?}");
    plan.says("0 jobs to add, 1 to change, 1 to end and begin anew, 0 to remove");
}

#[test]
fn programs_get_every_number_of_a_plan() {
    let desk = Desk::new("numbers");
    desk.copy_cluster();
    desk.edit("work.yaml", |text| {
        text.replace("tenant: blue, end", "tenant: blue, ceiling: 9Gbps, end")
    });
    let plan = desk.run(&["plan", ".", "-o", "json"]).ends(0);
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    assert_eq!(plan["plan"]["jobs"]["blue/train"]["ceiling"], "9Gbps");
    assert_eq!(plan["plan"]["tenants"]["red"]["guarantee"], "100Gbps");
    assert_eq!(plan["plan"]["consents"][0]["service"]["protocol"], "tcp");
    desk.run(&["apply", ".", "--to", "sim"]).ends(0);
    desk.edit("work.yaml", |text| text.replace("ceiling: 9Gbps", "ceiling: 8Gbps"));
    let plan = desk.run(&["plan", ".", "-o", "json"]).ends(0);
    let plan: serde_json::Value = serde_json::from_str(&plan.out).unwrap();
    let change = &plan["changes"]["jobs"][0];
    assert_eq!((&change["sign"], &change["name"]), (&"changed".into(), &"blue/train".into()));
    assert_eq!(change["before"]["ceiling"], "9Gbps");
    assert_eq!(change["after"]["ceiling"], "8Gbps");
    let gone = desk.run(&["delete", "job", "red/tune", "--to", "sim", "-o", "json"]).ends(0);
    gone.says("\"inForce\": true");
    let history = desk.run(&["history", "-o", "json"]).ends(0);
    let history: serde_json::Value = serde_json::from_str(&history.out).unwrap();
    let first = history.as_array().unwrap().iter().find(|append| append["put"].is_array());
    let first = first.unwrap()["revision"].to_string();
    let back = desk.run(&["rollback", &first, "--to", "sim", "-o", "json"]).ends(0);
    back.says("\"inForce\": true");
}

#[test]
fn of_many_changes_there_is_a_summary() {
    let desk = Desk::new("many");
    let made = desk.run(&["fleet", "generate", "--gpus", "512", "--workload", "--jobs", "60"]);
    desk.write("many.yaml", &made.ends(0).out);
    let plan = desk.run(&["plan", "many.yaml"]).ends(0);
    let plan = plan.says("60 jobs").says("`--all` shows each of them").says("Plan: 60 jobs to add");
    assert!(plan.out.lines().count() < 60, "{}", plan.out);
    let all = desk.run(&["plan", "many.yaml", "-v"]).ends(0);
    assert!(all.out.lines().count() > 120, "{}", all.out);
    let apply = desk.run(&["apply", "many.yaml", "--to", "sim"]).ends(0);
    assert!(apply.out.lines().count() < 60, "{}", apply.out);
}

#[test]
fn configurations_are_compared_part_by_part() {
    let desk = edited("diff");
    let diff = desk.run(&["plan", ".", "--diff", "leaf-1"]).ends(0);
    let mut said = String::new();
    for line in diff.out.lines().filter(|line| line.starts_with("---") || line.starts_with("@@")) {
        writeln!(said, "{line}").unwrap();
    }
    expect![[r#"
        --- leaf-1 nxos (in force)
        @@ job red/tune @@
    "#]]
    .assert_eq(&said);
    diff.says("\n- ").says("\n+ ");
    // A file is no device.
    let all = desk.run(&["plan", "--diff", "."]).ends(0).says("+++ leaf-2 frr (planned)");
    let data = desk.run(&["plan", ".", "--diff", "-o", "json"]).ends(0);
    let data: serde_json::Value = serde_json::from_str(&data.out).unwrap();
    assert_eq!(data["differences"].as_array().unwrap().len(), all.out.matches("\n@@").count());
    desk.run(&["plan", ".", "--diff", "leaf-9"]).ends(1).complains("is called `leaf-9`");
}

#[test]
fn what_devices_hold_is_compared_with_what_is_in_force() {
    let desk = Desk::new("diff-held");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    desk.run(&["verify", "--held", "--diff"]).ends(0).says("No difference.");
    desk.edit("bulkhead-state/sim/leaf-2/linux", |text| text.replacen("mtu 9216", "mtu 1500", 1));
    let diff = desk.run(&["verify", "--held", "--diff"]).ends(1);
    let lines: Vec<&str> = diff.out.lines().filter(|line| line.contains("mtu ")).collect();
    assert!(lines.iter().any(|line| line.starts_with('-') && line.contains("mtu 9216")));
    assert!(lines.iter().any(|line| line.starts_with('+') && line.contains("mtu 1500")));
    diff.says("--- leaf-2 linux (in force)\n+++ leaf-2 linux (held)\n");
}

#[test]
fn what_cannot_be_planned_is_said_with_its_place_and_the_cause_before_its_echo() {
    let desk = edited("placed");
    let job = |name: &str, wants: &str| {
        format!(
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\n\
             spec: {{tenant: red, {wants}}}\n"
        )
    };
    let huge = job("a-huge", "gpus: 40, pod: ams-pod");
    desk.write("new.yaml", &(huge + &job("b-odd", "gpus: 400")));
    let refused = desk.run(&["plan", "new.yaml"]).ends(1);
    let places = refused.err.lines().filter(|line| line.starts_with("new.yaml"));
    let places: Vec<&str> = places.filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places, ["new.yaml:9:18", "new.yaml:4:18"], "{}", refused.err);
    refused.complains("See to the others first: this may follow; ");
}

#[test]
fn a_running_job_on_a_failed_node_is_named() {
    let desk = edited("unwell");
    desk.edit("fleet.yaml", |text| text.replacen("{name: n4, ", "{name: n4, health: failed, ", 1));
    let plan = desk.run(&["plan", "fleet.yaml"]).ends(0);
    plan.says("Jobs on nodes that are not well\n  red/train: node n4 is failed");
}
