//! What a tenant demands of reports about its confidential machines: what that becomes for it and
//! all below it, and every way to be refused, with the exact words.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use intent::{Source, load};

const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: small}
spec:
  models:
    nodes:
      hgx: {gpu: {product: H100, board: HGX-8}, gpus: 1, nics: {count: 1, rate: 400Gbps}, gpuPci: ['0000:1b:00.0'], nicPci: ['0000:1c:00.0']}
    racks:
      rack: {nodes: {model: hgx, count: 1}}
    pods:
      pod: {racks: {model: rack, count: 1}, spines: 1}
  sites:
    - {name: ams, jurisdiction: NL, pods: [{name: p, model: pod}]}
";

/// Loads tenants in short form, `name: {spec in flow style}`, where `GOOD` and `BAD` stand for two
/// measurements, and says what each of them demands, or why not.
fn check(shorts: &str, expected: Expect) {
    let (good, bad) = ("0a".repeat(48), "bb".repeat(48));
    let mut text = String::new();
    for short in shorts.trim().lines() {
        let (name, spec) = short.trim().split_once(": ").unwrap_or_default();
        let spec = spec.replace("GOOD", &good).replace("BAD", &bad);
        let frame = "apiVersion: bulkhead.dev/v1, kind: Tenant";
        let _ = writeln!(text, "--- {{{frame}, metadata: {{name: {name}}}, spec: {spec}}}");
    }
    let fleet = format!("{FLEET}  layers: [vm, attest]\n");
    let mut said = said(&[
        Source { file: "fleet.yaml", text: &fleet },
        Source { file: "a.yaml", text: &text },
    ]);
    said = said.replace(&good, "GOOD").replace(&bad, "BAD");
    expected.assert_eq(&said);
}

fn said(sources: &[Source<'_>]) -> String {
    let intent = match load(sources) {
        Ok(intent) => intent,
        Err(refusals) => {
            let said = refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code()));
            return said.collect();
        }
    };
    let mut said = String::new();
    for tenant in intent.tenants.values() {
        let _ = write!(said, "{}:", tenant.name);
        if let Some(demand) = tenant.attestation {
            let _ = write!(said, " at most {} s old", demand.max_age_s);
            if let Some(measurement) = demand.measurement {
                let _ = write!(said, ", launched as {measurement}");
            }
        }
        said.push('\n');
    }
    said
}

#[test]
fn what_is_demanded_above_is_demanded_below() {
    check(
        "
        red: {confidential: tdx, attestation: {maxAgeSeconds: 3600, measurement: GOOD}}
        red/a: {}
        red/b: {attestation: {maxAgeSeconds: 60}}
        red/c: {confidential: sev-snp, attestation: {maxAgeSeconds: 3600, measurement: GOOD}}
        blue: {confidential: tdx}
        blue/a: {attestation: {maxAgeSeconds: 31536000}}
        ",
        expect![[r#"
            blue:
            blue/a: at most 31536000 s old
            red: at most 3600 s old, launched as GOOD
            red/a: at most 3600 s old, launched as GOOD
            red/b: at most 60 s old, launched as GOOD
            red/c: at most 3600 s old, launched as GOOD
        "#]],
    );
}

#[test]
fn what_is_demanded_above_cannot_be_weakened() {
    check(
        "
        red: {confidential: tdx, attestation: {maxAgeSeconds: 3600, measurement: GOOD}}
        red/a: {attestation: {maxAgeSeconds: 3601}}
        red/b: {attestation: {maxAgeSeconds: 60, measurement: BAD}}
        ",
        expect![[r#"
            weaker: a.yaml:2:110: maxAgeSeconds 3601 of tenant `red/a` is weaker than 3600, which it inherits from `red` (a.yaml:1:127). Write at most 3600, or leave it out.
            weaker: a.yaml:3:127: measurement BAD of tenant `red/b` is weaker than GOOD, which it inherits from `red` (a.yaml:1:146). Write GOOD, or leave it out.
        "#]],
    );
}

#[test]
fn every_wrong_word_is_named() {
    check(
        "
        a: {confidential: tdx, attestation: {maxAgeSeconds: 0}}
        b: {confidential: tdx, attestation: {maxAgeSeconds: 31536001, measurement: 0A}}
        c: {confidential: tdx, attestation: {}}
        d: {confidential: tdx, attestation: {maxAge: 60, maxAgeSeconds: 60}}
        e: {confidential: tdx, attestation: yes}
        ",
        expect![[r#"
            out-of-range: a.yaml:1:125: `maxAgeSeconds` cannot be 0. Write a number from 1 to 31536000.
            out-of-range: a.yaml:2:125: `maxAgeSeconds` cannot be 31536001. Write a number from 1 to 31536000.
            bad-value: a.yaml:2:148: `0A` cannot be read as `measurement`. Expected: a measurement is a SHA-384 in 96 lower-case hexadecimal digits.
            missing-key: a.yaml:3:109: key `maxAgeSeconds` is missing in an attestation policy. Add `maxAgeSeconds`.
            unknown-key: a.yaml:4:110: unknown key `maxAge` in an attestation policy. Known keys are `maxAgeSeconds`, `measurement`.
            wrong-type: a.yaml:5:109: an attestation policy is a map, found `yes`. Write keys and values.
        "#]],
    );
}

#[test]
fn only_confidential_machines_can_be_attested() {
    check(
        "
        a: {attestation: {maxAgeSeconds: 60}}
        a/b: {confidential: tdx}
        c: {}
        c/d: {attestation: {maxAgeSeconds: 60}}
        ",
        expect![[r#"
            missing-key: a.yaml:1:90: key `confidential` is missing in a tenant with an `attestation`. Add `confidential`.
            missing-key: a.yaml:4:92: key `confidential` is missing in a tenant with an `attestation`. Add `confidential`.
        "#]],
    );
}

#[test]
fn reports_are_read_from_nodes_and_never_planned() {
    let devices = |layers: &str| {
        let text = format!("{FLEET}  layers: {layers}\n");
        match load(&[Source { file: "fleet.yaml", text: &text }]) {
            Ok(intent) => {
                let fleet = &intent.fleet;
                let node = fleet.node_device(model::NodeId(0));
                let words = |dialect: model::Dialect| dialect.as_str();
                let planned: Vec<&str> = fleet.dialects(node).map(words).collect();
                let read: Vec<&str> = fleet.read_dialects(node).map(words).collect();
                let strangers = fleet.devices().filter(|device| *device != node);
                let leaks = strangers
                    .filter(|device| fleet.read_dialects(*device).ne(fleet.dialects(*device)));
                format!("planned {planned:?}, read {read:?}, elsewhere {}", leaks.count())
            }
            Err(refusals) => refusals.iter().map(ToString::to_string).collect(),
        }
    };
    expect![[r#"planned ["vm"], read ["vm", "attest"], elsewhere 0"#]]
        .assert_eq(&devices("[vm, attest]"));
    expect!["fleet.yaml:15:11: layer `attest` vouches for what only layer `vm` describes. Name `vm` too."].assert_eq(&devices("[vfio, attest]"));
}

#[test]
fn a_demand_that_no_layer_could_show_is_refused() {
    let said = |layers: &str, spec: &str| {
        let fleet = format!("{FLEET}  layers: {layers}\n");
        let tenant = format!(
            "{{apiVersion: bulkhead.dev/v1, kind: Tenant, metadata: {{name: red}}, spec: {spec}}}"
        );
        self::said(&[
            Source { file: "fleet.yaml", text: &fleet },
            Source { file: "a.yaml", text: &tenant },
        ])
    };
    let both = "{confidential: tdx, attestation: {maxAgeSeconds: 60}}";
    expect![[r#"
        unseen-demand: a.yaml:1:89: `confidential` is demanded, and no layer of the fleet could show it. Name `vm` among the fleet's `layers`, or take the demand away.
        unseen-demand: a.yaml:1:107: `attestation` is demanded, and no layer of the fleet could show it. Name `attest` among the fleet's `layers`, or take the demand away.
    "#]].assert_eq(&said("[vfio]", both));
    expect![[r#"
        unseen-demand: a.yaml:1:107: `attestation` is demanded, and no layer of the fleet could show it. Name `attest` among the fleet's `layers`, or take the demand away.
    "#]].assert_eq(&said("[vm]", both));
    expect![[r#"
        red:
    "#]]
    .assert_eq(&said("[kubernetes]", "{confidential: tdx}"));
    expect![[r#"
        red: at most 60 s old
    "#]]
    .assert_eq(&said("[vm, attest]", both));
}
