//! Reports about confidential machines. Blue asks for TDX and wants reports that are at most an
//! hour old and say `GOOD`; red is in a machine too and wants none. What both have on `n1` was read
//! from the node itself, so both run.

use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{Attestation, Confidential, Dialect, Measurement, Part, Trust};
use read::{AttestReport, Hold};
use verify::Code;

use crate::rules::town;
use crate::world::{Sheet, World};

/// Judges the world with these reports on `n1`, each `job node technology measurement age`, after a
/// change, and shows every finding with the lines that say so.
fn check(reports: &[&str], change: impl FnOnce(&mut World), expected: Expect) {
    let mut world = attested(reports);
    change(&mut world);
    let findings = world.verifier().judge();
    let layers: Vec<_> = findings.into_iter().filter(|one| one.code() != Code::Silent).collect();
    let shown = world.show(&layers);
    let shown = shown.replace(&measured("GOOD").to_string(), "GOOD");
    expected.assert_eq(&shown.replace(&measured("BAD").to_string(), "BAD"));
}

fn attested(reports: &[&str]) -> World {
    let mut world = town();
    Arc::make_mut(&mut world.fleet).layers.dialects.push(Dialect::Attest);
    let demand = Attestation { max_age_s: 3600, measurement: Some(measured("GOOD")) };
    trust(&mut world, "blue").attestation = Some(demand);
    world.settle();
    read_from_node(&mut world, "n1", Dialect::Vm);
    let lines = reports.iter().map(|report| vouched(report)).collect();
    let device = world.device("n1");
    world.sheets.push(Sheet { device, dialect: Dialect::Attest, part: Part::Whole, lines });
    world
}

fn trust<'a>(world: &'a mut World, tenant: &str) -> &'a mut Trust {
    world.owners.trusts.get_mut(&tenant.parse().unwrap()).unwrap()
}

/// What a node says in a dialect comes as one text, in which no parts can be told apart.
fn read_from_node(world: &mut World, node: &str, dialect: Dialect) {
    let device = world.device(node);
    let is_it = |sheet: &Sheet| (sheet.device, sheet.dialect) == (device, dialect);
    let lines = world.sheets.iter().filter(|sheet| is_it(sheet));
    let lines = lines.flat_map(|sheet| sheet.lines.clone()).collect();
    world.sheets.retain(|sheet| !is_it(sheet));
    world.sheets.push(Sheet { device, dialect, part: Part::Whole, lines });
}

fn vouched(report: &str) -> Hold {
    let words: Vec<&str> = report.split(' ').collect();
    let [job, node, technology, measurement, age] = words[..] else { panic!("{report}") };
    let report = Box::new(AttestReport {
        technology: technology.parse().unwrap(),
        measurement: measured(measurement),
        by: "notary".parse().unwrap(),
        at: "noon".into(),
        age_s: age.parse().unwrap(),
    });
    Hold::Attested { job: job.parse().unwrap(), node: node.parse().unwrap(), report }
}

fn measured(word: &str) -> Measurement {
    let digits = if word == "GOOD" { "0a" } else { "bb" };
    digits.repeat(48).parse().unwrap()
}

#[test]
fn a_young_report_of_the_right_machine_is_a_proof() {
    check(&["blue/infer n1 tdx GOOD 3600"], |_| {}, expect![[r#""#]]);
}

#[test]
fn a_machine_for_which_nobody_vouches_is_told() {
    check(
        &[],
        |_| {},
        expect![[r#"
            unattested: n1: no report vouches for the machine of blue/infer, whose tenant demands one
              n1 vm (whole:1): blue/infer runs in a virtual machine with tdx
        "#]],
    );
}

#[test]
fn a_node_that_says_nothing_of_reports_vouches_for_nobody() {
    check(
        &[],
        |world| world.sheets.retain(|sheet| sheet.dialect != Dialect::Attest),
        expect![[r#"
            unattested: n1: no report vouches for the machine of blue/infer, whose tenant demands one
              n1 vm (whole:1): blue/infer runs in a virtual machine with tdx
        "#]],
    );
}

#[test]
fn an_old_report_is_told_unless_a_younger_one_says_the_same() {
    check(
        &["blue/infer n1 tdx GOOD 3601"],
        |_| {},
        expect![[r#"
            old-report: n1: the youngest report about the machine of blue/infer is 3601 s old; its tenant accepts 3600 s
              n1 attest (whole:1): notary vouches at noon, 3601 s ago, that blue/infer on n1 was launched with tdx as GOOD
        "#]],
    );
    check(&["blue/infer n1 tdx GOOD 3601", "blue/infer n1 tdx GOOD 1"], |_| {}, expect![[r#""#]]);
}

#[test]
fn another_measurement_is_told_where_the_tenant_expects_one() {
    let report = ["blue/infer n1 tdx BAD 1"];
    check(
        &report,
        |_| {},
        expect![[r#"
            wrong-measurement: n1: the machine of blue/infer was launched as BAD; its tenant expects GOOD
              n1 attest (whole:1): notary vouches at noon, 1 s ago, that blue/infer on n1 was launched with tdx as BAD
        "#]],
    );
    let any_measurement = |world: &mut World| {
        trust(world, "blue").attestation.as_mut().unwrap().measurement = None;
    };
    check(&report, any_measurement, expect![[r#""#]]);
}

#[test]
fn another_technology_is_told() {
    check(
        &["blue/infer n1 sev-snp GOOD 1"],
        |_| {},
        expect![[r#"
            wrong-technology: n1: a report about the machine of blue/infer is of sev-snp; its tenant asks for tdx
              n1 attest (whole:1): notary vouches at noon, 1 s ago, that blue/infer on n1 was launched with sev-snp as GOOD
        "#]],
    );
}

#[test]
fn two_reports_that_contradict_each_other_are_told() {
    check(
        &["blue/infer n1 tdx GOOD 1", "blue/infer n1 tdx BAD 2"],
        |world| trust(world, "blue").attestation.as_mut().unwrap().measurement = None,
        expect![[r#"
            contradiction: n1: the machine that reports vouch for is said to be blue/infer with tdx as GOOD and to be blue/infer with tdx as BAD
              n1 attest (whole:1): notary vouches at noon, 1 s ago, that blue/infer on n1 was launched with tdx as GOOD
              n1 attest (whole:2): notary vouches at noon, 2 s ago, that blue/infer on n1 was launched with tdx as BAD
        "#]],
    );
}

#[test]
fn a_report_about_a_machine_that_is_not_there_is_told() {
    check(
        &["blue/infer n1 tdx GOOD 1", "blue/infer n2 tdx GOOD 1", "green/sweep n1 tdx GOOD 1"],
        |_| {},
        expect![[r#"
            leftover: n1: attest still names green/sweep, which has nothing here
              n1 attest (whole:3): notary vouches at noon, 1 s ago, that green/sweep on n1 was launched with tdx as GOOD
            stray-report: n1: a report is about a machine of blue/infer on n2, which is not here
              n1 attest (whole:2): notary vouches at noon, 1 s ago, that blue/infer on n2 was launched with tdx as GOOD
        "#]],
    );
    // Nor does a job have a machine that its node does not describe.
    check(
        &["blue/infer n1 tdx GOOD 1", "red/train n1 tdx GOOD 1"],
        |world| {
            world.cut(
                "n1",
                Dialect::Vm,
                |line| matches!(line, Hold::Guest { job, .. } if job.name.as_str() == "train"),
            );
        },
        expect![[r#"
            stray-report: n1: a report is about a machine of red/train on n1, which is not here
              n1 attest (whole:2): notary vouches at noon, 1 s ago, that red/train on n1 was launched with tdx as GOOD
        "#]],
    );
}

#[test]
fn a_report_of_another_node_vouches_for_nobody_here() {
    check(
        &["blue/infer n2 tdx GOOD 1"],
        |_| {},
        expect![[r#"
            unattested: n1: no report vouches for the machine of blue/infer, whose tenant demands one
              n1 vm (whole:1): blue/infer runs in a virtual machine with tdx
            stray-report: n1: a report is about a machine of blue/infer on n2, which is not here
              n1 attest (whole:1): notary vouches at noon, 1 s ago, that blue/infer on n2 was launched with tdx as GOOD
        "#]],
    );
}

#[test]
fn of_a_tenant_that_demands_nothing_nothing_is_asked() {
    check(
        &["blue/infer n1 tdx GOOD 1", "red/train n1 tdx BAD 99999", "red/train n1 sev-snp GOOD 1"],
        |_| {},
        expect![[r#""#]],
    );
    let asks_for_none = |world: &mut World| trust(world, "blue").attestation = None;
    check(&["blue/infer n1 sev-snp BAD 99999"], asks_for_none, expect![[r#""#]]);
}

#[test]
fn a_fleet_without_the_layer_asks_nobody() {
    let without = |world: &mut World| {
        Arc::make_mut(&mut world.fleet).layers.dialects.retain(|layer| *layer != Dialect::Attest);
    };
    check(&[], without, expect![[r#""#]]);
}

#[test]
fn a_machine_that_is_only_planned_cannot_have_been_attested() {
    let mut world = attested(&[]);
    world.settle();
    let findings = world.verifier().judge();
    assert!(findings.iter().all(|finding| finding.code() == Code::Silent), "{findings:?}");
}

/// What comes and goes is judged as if all were read anew.
#[test]
fn reports_and_demands_come_and_go() {
    let world = attested(&["blue/infer n1 tdx GOOD 1"]);
    let mut verifier = world.verifier();
    let codes = |verifier: &mut verify::Verifier| {
        let findings = verifier.judge();
        let codes = findings.iter().map(|finding| finding.code().as_str());
        let codes = codes.filter(|code| *code != Code::Silent.as_str());
        codes.collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(codes(&mut verifier), none);
    let sheet = world.sheets.last().unwrap();
    verifier.take(sheet.device, Dialect::Attest, &Part::Whole, None);
    assert_eq!(codes(&mut verifier), ["unattested"]);
    let tenant = "blue".parse().unwrap();
    let demands = world.owners.trusts[&tenant].clone();
    verifier.trust(&tenant, Trust { attestation: None, ..demands.clone() });
    assert_eq!(codes(&mut verifier), none);
    verifier.trust(&tenant, Trust { confidential: Some(Confidential::Tdx), ..demands });
    assert_eq!(codes(&mut verifier), ["unattested"]);
    world.take(&mut verifier, sheet);
    assert_eq!(codes(&mut verifier), none);
}
