//! Reports about confidential machines: all of a line is read, or nothing.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;

use expect_test::expect;
use model::{Confidential, Dialect};
use proptest::prelude::*;
use read::{AttestReport, Fact, Hold};

/// `GOOD` stands for a measurement.
const TEXT: &str = "\
# asked at noon
report a/b on n1 tdx measurement GOOD by notary at 2026-11-16T09:00:00Z age 42
report a/b on n1 sev-snp measurement GOOD by notary at 2026-11-16T09:00:00Z age 0
report a/b on n1 sev measurement GOOD by notary at now age 42
report a/b on n1 tdx measurement 0A by notary at now age 42
report a/b on n1 tdx measurement GOODa by notary at now age 42
report a/b on n1 tdx measurement GOOD by Notary at now age 42
report a/b on n1 tdx measurement GOOD by notary at now age -1
report a/b on n1 tdx measurement GOOD by notary at now age +1
report a/b on n1 tdx measurement GOOD by notary at now age 1.5
report a/b on n1 tdx measurement GOOD by notary at now age 18446744073709551616
report a/b on n1 tdx measurement GOOD by notary at now
report a/b on n1 tdx measurement GOOD by notary at today at noon age 42
report b on n1 tdx measurement GOOD by notary at now age 42
report a/b on n/1 tdx measurement GOOD by notary at now age 42
signature a/b
";

/// A report of which each word can be cut and put elsewhere.
const REPORT: &str = "\
report a/b on n1 tdx measurement 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f by notary at noon age 42
";

fn good() -> String {
    "0f".repeat(48)
}

fn text() -> String {
    TEXT.replace("GOOD", &good())
}

#[test]
fn a_report_says_all_of_it_or_nothing() {
    let told = page::told(Dialect::Attest, &text()).replace(&good(), "GOOD");
    let told = told.replace(&format!("{:?}", [15_u8; 48]), "GOOD");
    expect![[r#"
        2: Holds(Attested { job: JobName { tenant: TenantName("a"), name: Name("b") }, node: Name("n1"), report: AttestReport { technology: Tdx, measurement: Measurement(GOOD), by: Name("notary"), at: "2026-11-16T09:00:00Z", age_s: 42 } })
        3: Holds(Attested { job: JobName { tenant: TenantName("a"), name: Name("b") }, node: Name("n1"), report: AttestReport { technology: SevSnp, measurement: Measurement(GOOD), by: Name("notary"), at: "2026-11-16T09:00:00Z", age_s: 0 } })
        4? report a/b on n1 sev measurement GOOD by notary at now age 42
           a machine is kept from its host by sev-snp or tdx
        5? report a/b on n1 tdx measurement 0A by notary at now age 42
           a measurement is a SHA-384 in 96 lower-case hexadecimal digits
        6? report a/b on n1 tdx measurement GOODa by notary at now age 42
           a measurement is a SHA-384 in 96 lower-case hexadecimal digits
        7? report a/b on n1 tdx measurement GOOD by Notary at now age 42
           a name is lower-case letters, digits and inner hyphens, at most 63
        8? report a/b on n1 tdx measurement GOOD by notary at now age -1
           an age is a whole number of seconds
        9? report a/b on n1 tdx measurement GOOD by notary at now age +1
           an age is a whole number of seconds
        10? report a/b on n1 tdx measurement GOOD by notary at now age 1.5
           an age is a whole number of seconds
        11? report a/b on n1 tdx measurement GOOD by notary at now age 18446744073709551616
           an age is a whole number of seconds
        12? report a/b on n1 tdx measurement GOOD by notary at now
           a report says which machine was measured how, who vouches, since when, and its age
        13? report a/b on n1 tdx measurement GOOD by notary at today at noon age 42
           a report says which machine was measured how, who vouches, since when, and its age
        14? report b on n1 tdx measurement GOOD by notary at now age 42
           a job is written with its tenant in front, such as acme/research/train
        15? report a/b on n/1 tdx measurement GOOD by notary at now age 42
           a name is lower-case letters, digits and inner hyphens, at most 63
        16? signature a/b
           no line of this dialect is written so
        ignored: [1]
    "#]].assert_eq(&told);
    page::the_list_is_ignored(Dialect::Attest);
}

#[test]
fn a_report_is_told_in_words() {
    let reading = read::claims(Dialect::Attest, &text());
    let Fact::Holds(hold) = &reading.claims[0].fact else { panic!("{:?}", reading.claims) };
    expect!["notary vouches at 2026-11-16T09:00:00Z, 42 s ago, that a/b on n1 was launched with tdx as GOOD"].assert_eq(&hold.to_string().replace(&good(), "GOOD"));
}

proptest! {
    #[test]
    fn whatever_is_reported_is_read(
        bytes in prop::collection::vec(any::<u8>(), 48),
        sev in any::<bool>(),
        at in "[!-~]{1,30}",
        age_s in any::<u64>(),
    ) {
        let measured: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let technology = if sev { Confidential::SevSnp } else { Confidential::Tdx };
        let line = format!(
            "report a/b on n1 {technology} measurement {measured} by notary at {at} age {age_s}\n"
        );
        let reading = read::claims(Dialect::Attest, &line);
        prop_assert_eq!(&reading.unknown, &[]);
        let report = Box::new(AttestReport {
            technology,
            measurement: measured.parse().unwrap(),
            by: "notary".parse().unwrap(),
            at: at.into(),
            age_s,
        });
        let (job, node) = ("a/b".parse().unwrap(), "n1".parse().unwrap());
        let fact = Fact::Holds(Hold::Attested { job, node, report });
        let facts: Vec<_> = reading.claims.into_iter().map(|claim| claim.fact).collect();
        prop_assert_eq!(facts, vec![fact]);
    }

    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Attest, &text);
        prop_assert!(read::differences(Dialect::Attest, &text, &text).is_empty());
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[REPORT, TEXT])) {
        page::no_line_is_known_and_unknown(Dialect::Attest, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[REPORT, TEXT])) {
        page::parts_say_together_what_they_say_alone(Dialect::Attest, &parts);
    }
}
