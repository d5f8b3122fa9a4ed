//! Lines that somebody vouches for: what a waiver says, and every way to be refused.

use expect_test::{Expect, expect};
use intent::{Source, load};

const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: small}
spec:
  models:
    nodes: {box: {gpu: {product: H100, board: HGX-8}, gpus: 1, nics: {count: 1, rate: 400Gbps}}}
  sites:
  - name: s
    jurisdiction: NL
    kind: core
    pods:
    - name: p
      dialect: frr
      leaves: [{name: leaf-0}]
      nodes: [{name: n0, model: box, leaf: leaf-0}]
";

/// Loads waivers in short form, `name: {spec in flow style}`, and says what they are, or why not.
fn check(shorts: &str, expected: Expect) {
    let frame = "apiVersion: bulkhead.dev/v1, kind: Waiver";
    let documents = shorts.trim().lines().map(|short| {
        let (name, spec) = short.trim().split_once(": ").unwrap_or_default();
        format!("--- {{{frame}, metadata: {{name: {name}}}, spec: {spec}}}\n")
    });
    let text: String = documents.collect();
    let sources =
        [Source { file: "fleet.yaml", text: FLEET }, Source { file: "a.yaml", text: &text }];
    let said = match load(&sources) {
        Ok(intent) => intent
            .waivers
            .iter()
            .map(|one| {
                let until = one.until.as_str();
                format!("{}: {} `{}` until {until}\n", one.name, one.device, one.line)
            })
            .collect::<String>(),
        Err(refusals) => {
            let said = refusals.iter().map(|one| format!("{}: {one}\n", one.code()));
            said.collect()
        }
    };
    expected.assert_eq(&said);
}

#[test]
fn a_waiver_is_about_a_line_of_a_device_until_a_day() {
    check(
        "
        one: {device: leaf-0, line: 'snmp-server * x', reason: r, by: me, until: 2027-06-30}
        ",
        expect![[r#"
            one: leaf-0 `snmp-server * x` until 2027-06-30
        "#]],
    );
}

#[test]
fn what_vouches_for_anything_or_for_ever_is_refused() {
    check(
        "
        all: {device: leaf-0, line: '* x', reason: r, by: me, until: 2027-06-30}
        begin: {device: leaf-0, line: 'snmp*', reason: r, by: me, until: 2027-06-30}
        never: {device: leaf-0, line: 'x', reason: r, by: me, until: never}
        ends: {device: leaf-0, line: 'x', reason: r, by: me}
        why: {device: leaf-0, line: 'x', reason: ' ', by: me, until: 2027-06-30}
        where: {device: leaf-9, line: 'x', reason: r, by: me, until: 2027-06-30}
        twice: {device: leaf-0, line: 'x', reason: r, by: me, until: 2027-06-30}
        twice: {device: leaf-0, line: 'y', reason: r, by: me, until: 2027-06-30}
        ",
        expect![[r#"
            bad-value: a.yaml:1:101: `* x` cannot be read as `line`. Expected: a line whose first word is said, with `*` for single words.
            bad-value: a.yaml:2:103: `snmp*` cannot be read as `line`. Expected: a line whose first word is said, with `*` for single words.
            bad-value: a.yaml:3:134: `never` cannot be read as `until`. Expected: a day of the calendar, such as 2026-12-31.
            missing-key: a.yaml:4:79: key `until` is missing in a waiver. Add `until`.
            bad-value: a.yaml:5:114: ` ` cannot be read as `reason`. Expected: one line of text.
            dangling: a.yaml:6:89: there is no device `leaf-9`. Did you mean `leaf-0`?
            duplicate-name: a.yaml:8:66: waiver `twice` is already at a.yaml:7:66. Rename or remove one of the two.
        "#]],
    );
}
