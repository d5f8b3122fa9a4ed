//! What a run of tests says of itself, in JUnit's XML as nextest writes it.

use std::time::Duration;

use roxmltree::{Document, Node};

use crate::Failure;

/// How every check ended, and how long each test took.
#[derive(Debug, Default)]
pub(super) struct Tally {
    passed: usize,
    failed: usize,
    skipped: Vec<String>,
    took: Vec<(Duration, String)>,
}

impl Tally {
    /// Adds a check that is no test of its own: it holds, or it does not.
    pub(super) fn add_check(&mut self, held: bool) {
        if held {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    /// Adds every test of a report, and says how many of them failed.
    pub(super) fn add_report(&mut self, xml: &str) -> Result<usize, Failure> {
        let unreadable = |what: String| Failure::Broken(format!("the tests' report: {what}"));
        let document = Document::parse(xml).map_err(|cause| unreadable(cause.to_string()))?;
        let before = self.failed;
        for test in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let (Some(program), Some(name)) = (test.attribute("classname"), test.attribute("name"))
            else {
                return Err(unreadable("a test without a name".to_owned()));
            };
            let seconds = test.attribute("time").and_then(|time| time.parse().ok());
            let took = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let name = format!("{program} {name}");
            self.took.push((took.unwrap_or_default(), name.clone()));
            if test.children().any(|node| is_one_of(node, ["failure", "error"])) {
                self.failed += 1;
            } else if says_skipped(test) {
                self.skipped.push(name);
            } else {
                self.passed += 1;
            }
        }
        Ok(self.failed - before)
    }

    /// The tests that took longest, longest first.
    pub(super) fn slowest(&self, count: usize) -> Vec<String> {
        let mut took: Vec<&(Duration, String)> = self.took.iter().collect();
        took.sort_by(|one, other| other.cmp(one));
        took.truncate(count);
        took.iter().map(|(took, name)| format!("{:>6.1} s  {name}", took.as_secs_f64())).collect()
    }

    /// The tests that did not find what they need.
    pub(super) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// All of it in one line.
    pub(super) fn line(&self) -> String {
        let Self { passed, failed, skipped, .. } = self;
        format!("{passed} passed, {failed} failed, {} skipped", skipped.len())
    }
}

/// Rust's tests know no third end, so a test that cannot run says so and passes.
fn says_skipped(test: Node<'_, '_>) -> bool {
    let said = test.children().filter(|node| is_one_of(*node, ["system-out", "system-err"]));
    said.filter_map(|node| node.text()).flat_map(str::lines).any(|line| line.starts_with("skipped"))
}

fn is_one_of(node: Node<'_, '_>, names: [&str; 2]) -> bool {
    names.iter().any(|name| node.has_tag_name(*name))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(reports: &[&str], expected: Expect) {
        let mut tally = Tally::default();
        let mut text = String::new();
        for report in reports {
            match tally.add_report(report) {
                Ok(failed) => text += &format!("{failed} failed in this report\n"),
                Err(failure) => text += &failure.text(),
            }
        }
        text.extend(tally.slowest(2).iter().map(|line| format!("{line}\n")));
        text.extend(tally.skipped().iter().map(|name| format!("skipped: {name}\n")));
        text += &format!("{}\n", tally.line());
        expected.assert_eq(&text);
    }

    const ROOMS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="5" failures="1" errors="1" uuid="b" time="2.9">
  <testsuite name="filter::live" tests="3" disabled="0" errors="0" failures="1">
    <testcase name="lease::the_gate_closes" classname="filter::live" time="2.750">
      <failure message="panicked" type="test failure with exit code 101">left: 1</failure>
      <system-out>running 1 test
skipped is said by a test that failed, and counts for nothing</system-out>
    </testcase>
    <testcase name="first::it_loads" classname="filter::live" time="0.008">
      <system-out>running 1 test
test first::it_loads ... ok</system-out>
      <system-err>skipped: needs root
</system-err>
    </testcase>
    <testcase name="first::it_runs" classname="filter::live" time="0.100">
      <system-out>3 skipped, 4 compared</system-out>
    </testcase>
  </testsuite>
  <testsuite name="wire" tests="2" disabled="0" errors="1" failures="0">
    <testcase name="a_tag_is_a_tag" classname="wire" time="10.020"/>
    <testcase name="it_begins" classname="wire" time="0.000">
      <error type="execution failure">no such program</error>
    </testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn every_end_of_a_test_is_counted_and_the_slowest_are_named() {
        check(
            &[ROOMS],
            expect![[r#"
                2 failed in this report
                  10.0 s  wire a_tag_is_a_tag
                   2.8 s  filter::live lease::the_gate_closes
                skipped: filter::live first::it_loads
                2 passed, 2 failed, 1 skipped
            "#]],
        );
    }

    #[test]
    fn two_reports_are_added_up() {
        check(
            &[ROOMS, ROOMS],
            expect![[r#"
                2 failed in this report
                2 failed in this report
                  10.0 s  wire a_tag_is_a_tag
                  10.0 s  wire a_tag_is_a_tag
                skipped: filter::live first::it_loads
                skipped: filter::live first::it_loads
                4 passed, 4 failed, 2 skipped
            "#]],
        );
    }

    #[test]
    fn what_is_no_report_is_named_as_such() {
        check(
            &["", "<a><testcase name='b'/></a>"],
            expect![[r#"
                the tests' report: the document does not have a root node
                the tests' report: a test without a name
                0 passed, 0 failed, 0 skipped
            "#]],
        );
    }

    #[test]
    fn a_check_counts_as_one() {
        let mut tally = Tally::default();
        tally.add_check(true);
        tally.add_check(true);
        tally.add_check(false);
        assert_eq!(tally.line(), "2 passed, 1 failed, 0 skipped");
    }
}
