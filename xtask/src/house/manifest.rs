//! Dependencies are guests: one list in the root manifest, each with the reason it was invited.

use expect_test::{Expect, expect};

use super::repository::{SourceFile, Violation, assert_none, file, files, sentences};

/// One line of a section of dependencies.
#[derive(Debug)]
pub(super) struct Dependency<'a> {
    pub(super) line: usize,
    pub(super) name: &'a str,
    /// All that stands after the name.
    entry: &'a str,
}

impl Dependency<'_> {
    /// Whether it asks for features of its own.
    pub(super) fn names_features(&self) -> bool {
        self.entry.contains("features")
    }
}

/// Every dependency of a manifest, whatever it is needed for. Manifests here are written one
/// dependency a line; a section of its own for one dependency is a violation and comes out as
/// a dependency without entry.
pub(super) fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut inside = false;
    for (position, line) in text.lines().enumerate() {
        let line_number = position + 1;
        if let Some(section) = line.trim().strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies");
            if let Some((_, name)) = section.rsplit_once("dependencies.") {
                found.push(Dependency { line: line_number, name, entry: "" });
            }
        } else if inside && !line.trim().is_empty() && !line.starts_with('#') {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            found.push(Dependency { line: line_number, name: &line[..end], entry: &line[end..] });
        }
    }
    found
}

/// Every member's dependencies come from the list in the root manifest.
fn not_from_the_list(manifest: &SourceFile) -> Vec<Violation> {
    dependencies(&manifest.text)
        .into_iter()
        .filter(|dependency| !dependency.entry.contains("workspace = true"))
        .map(|dependency| {
            let name = dependency.name;
            let remedy = format!("`{name}` must come from the list: `{name}.workspace = true`");
            manifest.violation(dependency.line, remedy)
        })
        .collect()
}

/// A guest has its reason beside it; a room needs none.
fn without_reason(manifest: &SourceFile) -> Vec<Violation> {
    dependencies(&manifest.text)
        .into_iter()
        .filter(|dependency| !dependency.entry.contains("path = "))
        .filter(|dependency| reason(dependency.entry).is_none_or(|why| why.trim().is_empty()))
        .map(|dependency| {
            let remedy = format!("`{}` needs its reason beside it: # why", dependency.name);
            manifest.violation(dependency.line, remedy)
        })
        .collect()
}

/// The comment after an entry; a `#` between quotes begins none.
fn reason(entry: &str) -> Option<&str> {
    let mut quoted = false;
    let start = entry.find(|letter| {
        quoted ^= letter == '"';
        letter == '#' && !quoted
    })?;
    Some(&entry[start + 1..])
}

/// What lets text in that nobody proved is for tests alone.
fn danger_outside_of_tests(manifest: &SourceFile) -> Vec<Violation> {
    let mut section = "";
    let lines = manifest.text.lines().enumerate();
    let wrong = lines.filter(|(_, line)| {
        if line.starts_with('[') {
            section = line;
        }
        let is_for_tests = section.contains("dev-dependencies") || section == "[features]";
        line.contains("danger") && !is_for_tests
    });
    wrong.map(|(place, _)| manifest.violation(place + 1, "danger is for tests alone")).collect()
}

#[test]
fn danger_is_for_tests_alone() {
    let mut manifests = members();
    manifests.push(file("Cargo.toml").unwrap());
    assert_none(&manifests.iter().flat_map(danger_outside_of_tests).collect::<Vec<_>>());
}

#[test]
fn every_guest_is_on_the_list_and_has_a_reason() {
    let mut violations = Vec::new();
    for path in ["Cargo.toml", "fuzz/Cargo.toml"] {
        violations.extend(without_reason(&file(path).unwrap()));
    }
    for manifest in members() {
        violations.extend(not_from_the_list(&manifest));
    }
    assert_none(&violations);
}

/// The manifest of every package of the workspace.
pub(super) fn members() -> Vec<SourceFile> {
    let mut manifests = files(&["/Cargo.toml"]);
    manifests.retain(|manifest| manifest.path != "fuzz/Cargo.toml");
    manifests
}

fn check(rule: fn(&SourceFile) -> Vec<Violation>, text: &str, expected: Expect) {
    let manifest = SourceFile { path: "Cargo.toml".to_owned(), text: text.to_owned() };
    expected.assert_eq(&sentences(&rule(&manifest)));
}

#[test]
fn a_danger_that_a_binary_would_have_is_named() {
    check(
        danger_outside_of_tests,
        r#"
[features]
danger-unproved = []
[dependencies]
apply = { workspace = true, features = ["danger-unproved"] }
[dev-dependencies]
apply = { workspace = true, features = ["danger-unproved"] }
"#,
        expect![[r#"
            Cargo.toml:5: danger is for tests alone
        "#]],
    );
}

#[test]
fn a_guest_without_reason_is_named() {
    check(
        without_reason,
        r##"
[workspace.dependencies]
wire = { path = "core/wire" }
serde = { version = "1", features = ["derive"] } # documents
odd = { version = "1", package = "a#b" }
clap = "4" #
"##,
        expect![[r##"
            Cargo.toml:5: `odd` needs its reason beside it: # why
            Cargo.toml:6: `clap` needs its reason beside it: # why
        "##]],
    );
}

#[test]
fn a_dependency_past_the_list_is_named_in_every_kind_of_section() {
    check(
        not_from_the_list,
        r#"
[package]
version.workspace = true
name = "x"
[dependencies]
wire.workspace = true
serde = { workspace = true, features = ["rc"] }
clap = "4"
[dev-dependencies]
proptest = "1"
[target.'cfg(unix)'.build-dependencies]
cc = "1"
[dependencies.rand]
version = "1"
"#,
        expect![[r#"
            Cargo.toml:8: `clap` must come from the list: `clap.workspace = true`
            Cargo.toml:10: `proptest` must come from the list: `proptest.workspace = true`
            Cargo.toml:12: `cc` must come from the list: `cc.workspace = true`
            Cargo.toml:13: `rand` must come from the list: `rand.workspace = true`
        "#]],
    );
}
