//! Every promise names the test or bench that holds it, or says that it waits; every invariant
//! names the test or type; every link leads somewhere.

use std::path::Path;

use expect_test::{Expect, expect};

use super::repository::{SourceFile, Violation, assert_none, exists, file, files, sentences};

/// The last column of every row in SPECIFICATION.md says `pending`, or names in code quotes what
/// holds the number: a command, a path, or a name that stands in the source.
fn unheld(specification: &SourceFile, is_known: impl Fn(&str) -> bool) -> Vec<Violation> {
    rows(&specification.text)
        .filter_map(|(line, holder)| {
            if holder.contains("pending") {
                return None;
            }
            let named: Vec<&str> = holder.split('`').skip(1).step_by(2).collect();
            let unknown = named.iter().find(|name| !is_known(name));
            let what = match unknown {
                Some(name) => format!("`{name}` is no command, no path and in no source"),
                None if named.is_empty() => {
                    "name what holds this number, or say pending".to_owned()
                }
                None => return None,
            };
            Some(specification.violation(line, what))
        })
        .collect()
}

/// The last cell of each table row below its header, with its line.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_table = false;
    text.lines().enumerate().filter_map(move |(position, line)| {
        let line = line.trim();
        let is_row = line.starts_with('|');
        let is_rule = is_row && line.contains("--") && !line.contains(char::is_alphanumeric);
        let is_below_rule = in_table && is_row;
        in_table = is_rule || is_below_rule;
        let cells = line.strip_suffix('|').unwrap_or(line);
        is_below_rule.then(|| (position + 1, cells.rsplit('|').next().unwrap_or("").trim()))
    })
}

#[test]
fn every_number_of_the_specification_is_held_or_pending() {
    let Some(specification) = file("SPECIFICATION.md") else {
        panic!("SPECIFICATION.md is missing");
    };
    assert!(rows(&specification.text).count() > 0, "no number is promised");
    let sources = files(&[".rs"]);
    let is_known = |name: &str| {
        let is_command = name.starts_with("cargo ");
        is_command || exists(name) || sources.iter().any(|source| source.text.contains(name))
    };
    assert_none(&unheld(&specification, is_known));
}

/// The lines of ARCHITECTURE.md that say `Invariant` name in code quotes at least one file, test
/// or type that holds it, whatever else they name.
fn unheld_invariants(architecture: &SourceFile, is_known: impl Fn(&str) -> bool) -> Vec<Violation> {
    let lines = architecture.text.lines().enumerate();
    let invariants = lines.filter(|(_, line)| line.starts_with("**Invariant:**"));
    let unheld = invariants.filter(|(_, line)| !line.split('`').skip(1).step_by(2).any(&is_known));
    unheld
        .map(|(place, _)| architecture.violation(place + 1, "name the test or type that holds it"))
        .collect()
}

#[test]
fn every_invariant_of_the_architecture_is_held() {
    let architecture = file("ARCHITECTURE.md").unwrap();
    assert!(architecture.text.contains("\n**Invariant:**"), "no invariant is stated");
    let sources = files(&[".rs"]);
    let is_known = |name: &str| {
        let last = name.rsplit("::").next().unwrap_or(name);
        let defined = ["fn ", "struct "].map(|kind| format!("{kind}{last}"));
        let is_defined = |source: &SourceFile| defined.iter().any(|it| source.text.contains(it));
        (name.contains('/') && exists(name)) || sources.iter().any(is_defined)
    };
    assert_none(&unheld_invariants(&architecture, is_known));
}

#[test]
fn an_invariant_that_nothing_holds_is_named() {
    let text = "**Invariant:** `a` is held (`x/y.rs`).\n**Invariant:** `a` is not.\nWords.\n";
    let architecture = SourceFile { path: "ARCHITECTURE.md".to_owned(), text: text.to_owned() };
    let violations = unheld_invariants(&architecture, |name| name == "x/y.rs");
    expect![[r#"
        ARCHITECTURE.md:2: name the test or type that holds it
    "#]]
    .assert_eq(&sentences(&violations));
}

/// Links of a page to files of this repository that are not there.
fn dead_links(page: &SourceFile, is_there: impl Fn(&Path) -> bool) -> Vec<Violation> {
    let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
    let mut dead = Vec::new();
    for (place, line) in page.text.lines().enumerate() {
        for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or(link);
            if !path.is_empty() && !path.contains(':') && !is_there(&folder.join(path)) {
                dead.push(page.violation(place + 1, format!("`{link}` leads nowhere")));
            }
        }
    }
    dead
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let is_there = |path: &Path| path.to_str().is_some_and(exists);
    let pages = files(&[".md"]);
    assert_none(&pages.iter().flat_map(|page| dead_links(page, is_there)).collect::<Vec<_>>());
}

#[test]
fn a_link_that_leads_nowhere_is_named() {
    let text = "[a](a.md) [b](../b.md#part)\n[c](https://example.com/c.md), [here](#here)\n";
    let page = SourceFile { path: "docs/x.md".to_owned(), text: text.to_owned() };
    let violations = dead_links(&page, |path| path == Path::new("docs/../b.md"));
    expect![[r#"
        docs/x.md:1: `a.md` leads nowhere
    "#]]
    .assert_eq(&sentences(&violations));
}

fn check(text: &str, expected: Expect) {
    let specification = SourceFile { path: "SPECIFICATION.md".to_owned(), text: text.to_owned() };
    let violations = unheld(&specification, |name| name == "cargo xtask bench");
    expected.assert_eq(&sentences(&violations));
}

#[test]
fn a_row_that_names_nothing_or_something_unknown_is_named() {
    check(
        "\
| promise | number | held by |
|---|--:|---|
| verify | 1 s | `cargo xtask bench` |
| plan | 2 s | pending |
| render | 3 s | |
| read | 4 s | somebody |
| store | 5 s | `a_test_that_is_gone` |

| no table | because no rule follows |
",
        expect![[r#"
            SPECIFICATION.md:5: name what holds this number, or say pending
            SPECIFICATION.md:6: name what holds this number, or say pending
            SPECIFICATION.md:7: `a_test_that_is_gone` is no command, no path and in no source
        "#]],
    );
}
