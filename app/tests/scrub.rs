//! What a job left is nobody else's before evidence was written down.

#![allow(clippy::unwrap_used, reason = "a test that cannot write its documents has failed")]

mod desk;

use std::time::{SystemTime, UNIX_EPOCH};

use desk::Desk;
use model::Timestamp;

const HALL: &str = include_str!("../src/hall/hall.yaml");

/// The hall, which wants memory scrubbed, with these jobs.
fn write(desk: &Desk, jobs: &[(&str, &str)]) {
    let (hall, _) = HALL.split_once("---\napiVersion: bulkhead.dev/v1\nkind: Job").unwrap();
    let mut text = hall.replace("  models:\n", "  scrub: [hbm, nic]\n  models:\n");
    for (tenant, endpoints) in jobs {
        text += &format!(
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: train}}\n\
             spec: {{tenant: {tenant}, endpoints: [{endpoints}]}}\n"
        );
    }
    desk.write("hall.yaml", &text);
}

#[test]
fn a_node_goes_to_another_tenant_only_with_evidence() {
    let desk = Desk::new("scrub");
    let apply =
        |code: i32| desk.run(&["apply", "hall.yaml", "--to", "sim", "--prune", "--yes"]).ends(code);
    assert_eq!(desk.run(&["scrub"]).ends(0).out, "Nothing waits to be scrubbed.\n");
    write(&desk, &[("red", "h1/0, h1/2")]);
    apply(0);
    write(&desk, &[]);
    apply(0);
    desk.run(&["plan"]).ends(0).says("until scrubbed with evidence: hbm nic");
    let waits = desk.run(&["scrub"]).ends(0).out;
    assert!(waits.contains("h1") && waits.contains("red/train") && waits.contains("hbm, nic"));

    write(&desk, &[("blue", "h1/0")]);
    let refused = apply(1).err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(refused.contains("where the traces of red/train were not scrubbed"), "{refused}");

    let scrub = |job: &str, code: i32| {
        desk.run(&["scrub", "h1", job, "--evidence", "done.json"]).ends(code)
    };
    desk.write("done.json", &evidence("hbm", now()));
    assert!(scrub("blue/train", 1).err.contains("of which nothing waits for that"));
    assert!(scrub("red/train", 0).out.contains("nic of h1 still wait"));
    apply(1);
    desk.run(&["plan", "hall.yaml"]).ends(1);
    desk.write("done.json", &evidence("nic", now()));
    let clean = ["scrub", "h1", "red/train", "--evidence", "done.json", "-o", "json"];
    let clean: serde_json::Value = serde_json::from_str(&desk.run(&clean).ends(0).out).unwrap();
    assert_eq!((&clean["node"], &clean["left"]), (&"h1".into(), &serde_json::json!([])));
    apply(0);
    desk.run(&["verify", "--held"]).ends(0);
    const HELD: &str = "bulkhead-state/sim/h1/scrub";
    for (was, other) in [("method zeros", "method ones"), ("sha256:0a", "sha256:0b")] {
        desk.edit(HELD, |text| text.replacen(was, other, 1));
        desk.run(&["verify", "--held"]).ends(1).says("another thing in the log").says(other);
        desk.edit(HELD, |text| text.replacen(other, was, 1));
    }

    desk.write("done.json", &evidence("nic", now()).replace("zeros", "trust me"));
    assert!(scrub("red/train", 1).err.contains("its method is none of"));
    desk.write("done.json", "zeros everywhere");
    assert!(scrub("red/train", 1).err.contains("is no list of evidence"));
}

#[test]
fn evidence_of_before_the_release_or_of_after_now_is_not_taken() {
    let desk = Desk::new("scrub-untimely");
    let apply = || desk.run(&["apply", "hall.yaml", "--to", "sim", "--prune", "--yes"]).ends(0);
    write(&desk, &[("red", "h1/0, h1/2")]);
    apply();
    let held = now();
    write(&desk, &[]);
    apply();
    let refused = |at: Timestamp| {
        desk.write("done.json", &evidence("hbm", at));
        let scrub = ["scrub", "h1", "red/train", "--evidence", "done.json", "-o", "json"];
        let refused: serde_json::Value =
            serde_json::from_str(&desk.run(&scrub).ends(1).out).unwrap();
        let [refusal] = refused["refused"].as_array().unwrap().as_slice() else {
            panic!("{refused:#}");
        };
        assert_eq!(refusal["code"], "untimely-evidence");
        refusal.to_string()
    };
    let early = refused(held);
    let said = format!("the hbm of h1 was scrubbed after red/train is of {held}, and only at 2");
    assert!(early.contains(&said) && early.contains("scrub it once more"), "{early}");
    let tomorrow = Timestamp(now().0 + 86_400_000);
    let late = refused(tomorrow);
    assert!(late.contains(&format!("is of {tomorrow}, and it is only 2")), "{late}");
    assert!(late.contains("set the clock"), "{late}");
    let waits = desk.run(&["scrub"]).ends(0).out;
    assert!(waits.contains("hbm, nic"), "nothing of it was written down: {waits}");
    desk.write("done.json", &evidence("hbm", now()));
    desk.run(&["scrub", "h1", "red/train", "--evidence", "done.json"]).ends(0);
}

fn evidence(memory: &str, at: Timestamp) -> String {
    format!(
        r#"[{{"memory": "{memory}", "method": "zeros", "readBack": "sha256:{}", "by": "h1", "at": "{at}"}}]"#,
        "0a".repeat(32)
    )
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(since.as_millis() as u64)
}
