//! What a verdict says: its scope, where it does not hold, and what somebody vouches for.

mod desk;

use desk::{CLUSTER, Desk};

const LEAF_1: &str = "bulkhead-state/sim/leaf-1/nxos";

/// A line that the dialect does not know, and that an operator wants.
const OWN: &str = "event manager applet night";

fn waiver(line: &str, until: &str) -> String {
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Waiver\nmetadata: {{name: night}}\nspec:\n  \
         device: leaf-1\n  line: {line}\n  reason: prints the temperature\n  by: platform team\n  \
         until: {until}\n"
    )
}

fn hold_own_line(desk: &Desk) {
    desk.edit(LEAF_1, |text| format!("{text}{OWN}\n"));
}

#[test]
fn a_line_that_somebody_vouches_for_is_an_exception_and_no_finding() {
    let desk = Desk::new("waiver");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    hold_own_line(&desk);
    desk.run(&["verify", "--held"]).ends(1).says("unknown-line  leaf-1");
    desk.write("waiver.yaml", &waiver("event manager applet *", "2999-12-31"));
    desk.run(&["plan", "waiver.yaml"]).ends(0).says("night: `event manager applet *` on leaf-1");
    desk.run(&["apply", "waiver.yaml", "--to", "sim"]).ends(0);
    hold_own_line(&desk);
    let held = desk.run(&["verify", "--held"]).ends(0);
    held.says("Proved except").says("waived-line").says("platform team vouches until 2999-12-31");
    desk.run(&["verify", "--held", "--strict"]).ends(1).says("Proved except");
    desk.edit(LEAF_1, |text| format!("{text}{OWN} and more\n"));
    desk.run(&["verify", "--held"]).ends(1).says("unknown-line  leaf-1");
}

#[test]
fn what_differs_from_what_was_applied_is_an_exception_though_it_does_no_harm() {
    let desk = Desk::new("manual-change");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    let held = desk.run(&["verify", "--held"]).ends(0);
    assert!(!held.out.contains("manual-change"), "{}", held.out);
    desk.edit(LEAF_1, |text| text.replacen("hostname leaf-1", "hostname night", 1));
    let held = desk.run(&["verify", "--held"]).ends(0);
    held.says("Proved except").says("manual-change").says("leaf-1: 2 lines differ");
    desk.run(&["verify", "--held", "--strict"]).ends(1).says("manual-change");
    desk.run(&["verify", "--held", "--diff"]).ends(1).says("hostname night");
}

#[test]
fn a_waiver_that_expired_is_a_finding() {
    let desk = Desk::new("waiver-expired");
    desk.write("waiver.yaml", &waiver("event manager applet *", "2020-01-01"));
    let refused = desk.run(&["apply", CLUSTER, "waiver.yaml", "--to", "sim"]).ends(1);
    refused.says("expired-waiver").says("waiver night expired");
}

#[test]
fn nobody_vouches_for_what_lets_owners_meet() {
    let desk = Desk::new("waiver-breach");
    let line = "switchport access vlan *";
    desk.write("waiver.yaml", &waiver(line, "2999-12-31"));
    desk.run(&["apply", CLUSTER, "waiver.yaml", "--to", "sim"]).ends(0);
    desk.edit(LEAF_1, |text| {
        let (before, after) = text.split_once("interface Ethernet1/9\n").unwrap();
        let after = after.replacen("access vlan 2", "access vlan 3", 1);
        format!("{before}interface Ethernet1/9\n{after}")
    });
    desk.run(&["verify", "--held"]).ends(1).says("breach  leaf-1");
}

#[test]
fn a_verdict_says_what_was_judged_and_what_it_rests_on() {
    let desk = Desk::new("verdict");
    let said = desk.run(&["verify", CLUSTER]).ends(0);
    said.says("(network): ")
        .says("It rests on:")
        .says("absent-layers: nothing is said or judged of");
    let said = desk.run(&["verify", CLUSTER, "-o", "json"]).ends(0);
    let answer: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let codes = |key: &str| -> Vec<String> {
        let all = answer["verdict"][key].as_array().unwrap().iter();
        all.map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    };
    let except = codes("except");
    assert_eq!(answer["verdict"]["result"] == "proved-except", !except.is_empty(), "{except:?}");
    assert!(codes("restsOn").contains(&"not-covered".to_owned()));
    assert_eq!(answer["verdict"]["scope"]["layers"], serde_json::json!([]));
}
