//! A small yard to place gangs in.

use expect_test::Expect;

use crate::desk::{Answer, Desk};

/// Two leaves with two HGX nodes each, and an edge site with one small node.
const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: yard}
spec:
  models:
    nodes:
      hgx:
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        nics: {count: 8, rate: 400Gbps, vfs: 16, numaNodes: 2}
        versions: {driver: 570.10}
      small:
        gpu: {product: L40S-48GB, board: PCIe}
        gpus: 2
        nics: {count: 2, rate: 100Gbps}
  sites:
    - name: ams
      jurisdiction: NL
      pods:
        - name: yard
          leaves: [{name: leaf-1}, {name: leaf-2}]
          spines: [{name: spine-1}]
          nodes:
            - {name: n1, model: hgx, leaf: leaf-1}
            - {name: n2, model: hgx, leaf: leaf-1}
            - {name: n3, model: hgx, leaf: leaf-2}
            - {name: n4, model: hgx, leaf: leaf-2}
    - name: rtm
      jurisdiction: NL
      kind: edge
      pods: [{name: quay, leaves: [{name: leaf-9}], nodes: [{name: q1, model: small, leaf: leaf-9}]}]
";

/// A desk with the fleet and these documents, each in one line: `Kind name: {spec}`.
pub(crate) fn desk(name: &str, shorts: &str) -> Desk {
    let desk = Desk::new(&format!("place-{name}"));
    desk.write("fleet.yaml", FLEET);
    desk.write("work.yaml", &long(shorts));
    desk
}

pub(crate) fn long(shorts: &str) -> String {
    let line = |line: &str| {
        let (head, spec) = line.trim().split_once(": ").unwrap();
        let (kind, name) = head.split_once(' ').unwrap();
        format!(
            "--- {{apiVersion: bulkhead.dev/v1, kind: {kind}, metadata: {{name: {name}}}, spec: {spec}}}\n"
        )
    };
    shorts.trim().lines().map(line).collect()
}

pub(crate) fn run(desk: &Desk, command: &str) -> Answer {
    let (verb, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let words = [verb, "fleet.yaml", "work.yaml"].into_iter().chain(arguments.split_whitespace());
    desk.run(&words.collect::<Vec<_>>())
}

/// What a command says, on both sides, and how it ends.
#[track_caller]
pub(crate) fn check(desk: &Desk, command: &str, expected: Expect) {
    let Answer { code, out, err } = run(desk, command);
    let err = if err.is_empty() { String::new() } else { format!("--- told beside it\n{err}") };
    expected.assert_eq(&format!("{out}{err}--- ends with {code}\n"));
    assert!(!out.lines().any(|line| line.ends_with(' ')), "blanks at the end of a line");
}
