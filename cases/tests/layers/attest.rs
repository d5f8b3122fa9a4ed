//! Somebody vouches for the confidential machine of red in the hall: what is demanded of reports,
//! and that every word of them matters.

use expect_test::{Expect, expect};
use model::{Artifact, Dialect, Generation, Part, PartText};
use plan::{Ledger, Next};

use crate::hall::{document, found};

/// A launch of SEV-SNP, as red expects it.
const EXPECTED: &str = "6d1c53a1f2b8e0474a95c3d7e81f60b22c9a7f4e35d80b16\
                        a0f7e2946b3c58d1907e4fa26c15b38de4702f9b61c8a35d";

/// The hall runs as planned, nodes were asked, and these reports about machines of `h1` were there.
fn check(reports: &[&str], expected: Expect) {
    let (plan, artifacts) = running(reports);
    let told = found(&plan.fleet, &plan.owners(), &artifacts);
    expected.assert_eq(&told.replace(EXPECTED, "EXPECTED"));
}

/// What all devices hold: the plan, read back from each of them, and reports.
fn running(reports: &[&str]) -> (plan::Plan, Vec<Artifact>) {
    let Next { plan, .. } = plan::next(&demanding(), &Ledger::default()).unwrap();
    let mut artifacts = render::all(&plan);
    for artifact in &mut artifacts {
        artifact.parts = vec![PartText { part: Part::Whole, text: artifact.text() }];
    }
    let text = reports.iter().map(|line| line.replace("EXPECTED", EXPECTED) + "\n").collect();
    let h1 = plan.fleet.devices().find(|device| plan.fleet.device_name(*device).as_str() == "h1");
    artifacts.push(Artifact {
        device: h1.unwrap(),
        dialect: Dialect::Attest,
        generation: Generation::default(),
        parts: vec![PartText { part: Part::Whole, text }],
    });
    (plan, artifacts)
}

/// The hall in which red wants a report of every hour.
fn demanding() -> intent::Intent {
    let fleet = document("fleet.yaml").replace("layers: [", "layers: [attest, ");
    let demand = format!(
        "confidential: sev-snp, attestation: {{maxAgeSeconds: 3600, measurement: {EXPECTED}}}"
    );
    let work = document("work.yaml").replace("confidential: sev-snp", &demand);
    let sources = [("fleet.yaml", &fleet), ("work.yaml", &work)];
    let sources = sources.map(|(file, text)| intent::Source { file, text });
    intent::load(&sources).unwrap()
}

const REPORT: &str =
    "report red/train on h1 sev-snp measurement EXPECTED by notary at 2026-11-16T09:00:00Z age 42";

#[test]
fn a_machine_is_launched_before_anybody_can_vouch_for_it() {
    let Next { plan, .. } = plan::next(&demanding(), &Ledger::default()).unwrap();
    let artifacts = render::all(&plan);
    assert!(
        artifacts.iter().all(|artifact| artifact.dialect != Dialect::Attest),
        "nothing to send"
    );
    assert!(verify::clear(&plan.fleet, &plan.owners(), artifacts).is_ok());
}

#[test]
fn a_young_report_of_the_expected_launch_is_a_proof() {
    check(&[REPORT], expect![[r#""#]]);
}

#[test]
fn a_machine_that_runs_and_was_never_attested_is_found() {
    check(
        &[],
        expect![[r#"
            unattested: h1: no report vouches for the machine of red/train, whose tenant demands one
              h1 vm:43  <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>red/train</tenancy:job>
        "#]],
    );
}

#[test]
fn a_report_of_yesterday_is_found() {
    check(
        &[&REPORT.replace("age 42", "age 86400")],
        expect![[r#"
            old-report: h1: the youngest report about the machine of red/train is 86400 s old; its tenant accepts 3600 s
              h1 attest:1  report red/train on h1 sev-snp measurement EXPECTED by notary at 2026-11-16T09:00:00Z age 86400
        "#]],
    );
}

#[test]
fn a_machine_that_somebody_else_built_is_found() {
    let other = "f".repeat(96);
    check(
        &[&REPORT.replace("EXPECTED", &other)],
        expect![[r#"
            wrong-measurement: h1: the machine of red/train was launched as ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff; its tenant expects EXPECTED
              h1 attest:1  report red/train on h1 sev-snp measurement ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff by notary at 2026-11-16T09:00:00Z age 42
        "#]],
    );
}

#[test]
fn a_report_that_was_moved_to_another_node_is_found() {
    check(
        &[&REPORT.replace("on h1", "on h2")],
        expect![[r#"
            unattested: h1: no report vouches for the machine of red/train, whose tenant demands one
              h1 vm:43  <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>red/train</tenancy:job>
            stray-report: h1: a report is about a machine of red/train on h2, which is not here
              h1 attest:1  report red/train on h2 sev-snp measurement EXPECTED by notary at 2026-11-16T09:00:00Z age 42
        "#]],
    );
}

#[test]
fn two_verifiers_that_do_not_agree_are_found() {
    let other = REPORT.replace("sev-snp", "tdx").replace("notary", "other-notary");
    check(
        &[REPORT, &other],
        expect![[r#"
            contradiction: h1: the machine that reports vouch for is said to be red/train with sev-snp as EXPECTED and to be red/train with tdx as EXPECTED
              h1 attest:1  report red/train on h1 sev-snp measurement EXPECTED by notary at 2026-11-16T09:00:00Z age 42
              h1 attest:2  report red/train on h1 tdx measurement EXPECTED by other-notary at 2026-11-16T09:00:00Z age 42
            wrong-technology: h1: a report about the machine of red/train is of tdx; its tenant asks for sev-snp
              h1 attest:2  report red/train on h1 tdx measurement EXPECTED by other-notary at 2026-11-16T09:00:00Z age 42
        "#]],
    );
}

/// Whatever word of a report is another one, is found, but who vouches and when that was: the age
/// is what counts.
#[test]
fn every_word_of_a_report_matters() {
    let (plan, artifacts) = running(&[REPORT]);
    let mut verifier = verify::reading(&plan.fleet, &plan.owners(), &artifacts);
    assert_eq!(verifier.judge(), []);
    let reports = artifacts.last().unwrap();
    let right = reports.text();
    let mut take = |text: &str| {
        let reading = read::claims(Dialect::Attest, text);
        verifier.take(reports.device, Dialect::Attest, &Part::Whole, Some(reading));
        verifier.judge()
    };
    let words: Vec<&str> = right.split_whitespace().collect();
    let others = ["blue/tune", "green/serve", "h2", "tdx", "3601", "age", &"b".repeat(96)];
    let mut cuts = 0;
    for (at, word) in words.iter().enumerate() {
        let is_said = ["by", "at"].contains(&words[at.saturating_sub(1)]);
        let with = |other: &str| {
            let mut new = words.clone();
            new[at] = other;
            new.join(" ") + "\n"
        };
        for other in others.iter().filter(|other| *other != word && !is_said) {
            assert_ne!(take(&with(other)), [], "nobody finds {other} instead of {word}");
            cuts += 1;
        }
        assert_ne!(take(&with("")), [], "nobody misses {word}");
        assert_eq!(take(&right), [], "healed");
    }
    assert_ne!(take(""), [], "nobody misses the report");
    assert_eq!(take(&right), []);
    assert_eq!(cuts, 76, "every word that matters has its cuts");
}
