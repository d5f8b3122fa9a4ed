//! Configurations as devices print them, in every dialect: what is not understood of them is what
//! matters and stands in their folder, and each line that is planted is found.
//!
//! A folder is called after its dialect: `nxos-leaf-1`. `config` is what the device prints.
//! `expected` has the lines that are not understood (`?`) and those that are missing (`-`).
//! `planted` has paragraphs: `after` and a line of the configuration, the lines that come behind it
//! (`+`), and what is found then: not understood (`?`), missing (`-`), or said (`=`).
#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use model::{Dialect, Part};

#[test]
fn what_devices_print_is_understood_but_for_what_matters() {
    for folder in folders() {
        let config = file(&folder, "config");
        let said = read(&folder, &config);
        let told: String = said.iter().filter(|line| !line.starts_with('=')).cloned().collect();
        expect_file![folder.join("expected")].assert_eq(&told);
    }
}

#[test]
fn every_planted_line_is_found() {
    let mut missed = Vec::new();
    for folder in folders() {
        let config = file(&folder, "config");
        let before: BTreeSet<String> = read(&folder, &config).into_iter().collect();
        let planted = file(&folder, "planted");
        assert!(!planted.trim().is_empty(), "nothing is planted in {}", folder.display());
        for paragraph in planted.split("\n\n").filter(|one| !one.trim().is_empty()) {
            let said = read(&folder, &plant(&config, paragraph));
            let found: BTreeSet<&str> =
                said.iter().filter(|line| !before.contains(*line)).map(|l| l.trim_end()).collect();
            let mut wanted = paragraph.lines().filter(|line| line.starts_with(['?', '-', '=']));
            assert!(wanted.clone().next().is_some(), "nothing is found by:\n{paragraph}");
            if let Some(line) = wanted.find(|line| !found.contains(line)) {
                let folder = folder.file_name().unwrap().to_string_lossy();
                missed.push(format!("{folder}: `{line}` is not among {found:?}\n{paragraph}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

/// The configuration with the lines of a paragraph behind the one that it names.
fn plant(config: &str, paragraph: &str) -> String {
    let after = paragraph.lines().next().and_then(|line| line.strip_prefix("after "));
    let after = after.unwrap_or_else(|| panic!("a paragraph begins with `after`:\n{paragraph}"));
    let places = config.lines().filter(|line| *line == after).count();
    assert_eq!(places, 1, "`{after}` stands once");
    let new: Vec<&str> = paragraph.lines().filter_map(|line| line.strip_prefix('+')).collect();
    let behind = |line: &str| if line == after { new.clone() } else { Vec::new() };
    let lines = config.lines().flat_map(|line| std::iter::once(line).chain(behind(line)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a text says (`=`), what is not understood of it (`?`), and what is missing (`-`).
fn read(folder: &Path, text: &str) -> Vec<String> {
    let name = folder.file_name().unwrap().to_string_lossy();
    let dialect: Dialect = name.split('-').next().unwrap().parse().unwrap();
    let reading = read::part(dialect, &Part::Whole, text);
    let claims = reading.claims.iter().map(|claim| format!("= {}\n", claim.fact));
    let unknown = reading.unknown.iter().map(|line| format!("? {}\n", line.text.trim()));
    let lacking = reading.lacking.iter().map(|line| format!("- {}\n", line.text));
    claims.chain(unknown).chain(lacking).collect()
}

fn file(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folders() -> Vec<PathBuf> {
    let observed = Path::new(env!("CARGO_MANIFEST_DIR")).join("observed");
    let entries = fs::read_dir(observed).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 3, "configurations are missing: only {folders:?}");
    folders
}
