//! Every code has a word of its own, and stands on the page of findings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::expect_file;
use verify::{Code, Severity};

#[test]
fn every_code_has_a_word_of_its_own() {
    let words: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words.len(), Code::ALL.len());
    let is_plain = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    assert!(words.iter().all(is_plain), "{words:?}");
}

#[test]
fn the_page_of_findings_has_every_code_with_its_remedy() {
    let mut page = String::from(
        "# Findings\n\
         What `verify` and `watch` can find, by code. Each finding has a severity and a remedy, the\n\
         lines that say so, and the lines that are missing where absence is the cause. With\n\
         `-o json` it is told by [the schema](../app/schema/findings.json).\n",
    );
    for severity in Severity::ALL {
        let _ = write!(page, "\n## {severity}\n| code | what to do |\n|---|---|\n");
        for code in Code::ALL.iter().filter(|code| code.severity() == severity) {
            let _ = writeln!(page, "| `{code}` | {} |", code.remedy());
        }
    }
    expect_file!["../../../docs/findings.md"].assert_eq(&page);
}
