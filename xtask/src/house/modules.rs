//! Every module says what it is about, and every public type has a name of its own.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::repository::{SourceFile, Violation, assert_none, files, sentences};
use super::source::{code, tokens, without_tests};

/// A module begins with what it is about, in a line of `//!`.
fn without_opening(source: &SourceFile) -> Option<Violation> {
    let is_said = source.text.strip_prefix("//! ").is_some_and(|rest| !rest.trim().is_empty());
    let what = "begin with what this module is about: a line of `//!`";
    (!is_said).then(|| source.violation(1, what))
}

/// Every public type that has the name of another one, at the second and all after it.
fn doubles(sources: &[SourceFile]) -> Vec<Violation> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut found = Vec::new();
    for source in sources {
        for (line, name) in public_types(&source.text) {
            let here = format!("{}:{line}", source.path);
            match first.get(&name) {
                Some(there) => {
                    let what = format!("`{name}` is also in {there}: a public name exists once");
                    found.push(source.violation(line, what));
                }
                None => drop(first.insert(name, here)),
            }
        }
    }
    found
}

/// Structs, enums, traits and aliases that others can name, each with its line.
fn public_types(text: &str) -> Vec<(usize, String)> {
    let code = without_tests(&code(text));
    let tokens: Vec<(usize, &str)> = tokens(&code).collect();
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for three in tokens.windows(3) {
        let [(line, first), (_, kind), (_, name)] = *three else { continue };
        depth = match first {
            "{" => depth + 1,
            "}" => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 && first == "pub" && ["struct", "enum", "trait", "type"].contains(&kind) {
            found.push((line, name.to_owned()));
        }
    }
    found
}

/// What is compiled, without what is only for tests.
fn sources() -> Vec<SourceFile> {
    let mut sources = files(&[".rs"]);
    sources.retain(|source| source.path.contains("/src/") && !source.is_in("fuzz"));
    sources
}

#[test]
fn every_module_says_what_it_is_about() {
    assert_none(&sources().iter().filter_map(without_opening).collect::<Vec<_>>());
}

#[test]
fn a_public_type_name_exists_once() {
    let mut sources = sources();
    sources.retain(|source| !source.path.contains("/tests"));
    assert_none(&doubles(&sources));
}

fn check(sources: &[(&str, &str)], expected: Expect) {
    let sources = sources
        .iter()
        .map(|(path, text)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() });
    let sources: Vec<SourceFile> = sources.collect();
    let mut violations: Vec<Violation> = sources.iter().filter_map(without_opening).collect();
    violations.extend(doubles(&sources));
    expected.assert_eq(&sentences(&violations));
}

#[test]
fn a_module_that_says_nothing_and_a_name_that_is_taken_are_named() {
    check(
        &[
            ("a/src/lib.rs", "//! One.\npub struct Place;\nstruct Own;\n"),
            (
                "b/src/x.rs",
                "//!\npub trait Place {}\npub(crate) struct Own;\nmod inner { \
                 pub struct Place; }\n",
            ),
            ("c/src/y.rs", "use b::Place;\n#[cfg(test)]\nmod tests { pub struct Place; }\n"),
        ],
        expect![[r#"
            b/src/x.rs:1: begin with what this module is about: a line of `//!`
            c/src/y.rs:1: begin with what this module is about: a line of `//!`
            b/src/x.rs:2: `Place` is also in a/src/lib.rs:2: a public name exists once
        "#]],
    );
}
