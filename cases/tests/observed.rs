//! Configurations as sites write them, and as devices print them, are read; one line that opens
//! something is found in each.
//!
//! A folder of `cases/observed` begins with its dialect. `config` is the text; `expected` has every
//! line of it that is not known, or is missing, none as a rule; `planted` names a line behind which
//! another is put, and that line.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use std::fs;
use std::path::{Path, PathBuf};

use model::{Dialect, Part};
use read::{Fact, Hold};

#[test]
fn configurations_as_sites_write_them_are_read() {
    let folders = folders();
    for folder in &folders {
        let (dialect, text) = (dialect(folder), file(folder, "config"));
        let said = strange(dialect, &text);
        assert_eq!(said, file(folder, "expected"), "{}", folder.display());
        let claims = read::claims(dialect, &text).claims;
        assert!(claims.len() > 5, "{}: {claims:?}", folder.display());
    }
    assert!(folders.len() >= 3);
}

#[test]
fn one_planted_line_is_found() {
    for folder in folders() {
        let (dialect, text) = (dialect(&folder), file(&folder, "config"));
        let planted = file(&folder, "planted");
        let (behind, line) = planted.split_once('\n').unwrap();
        let behind = format!("{}\n", behind.strip_prefix("behind: ").unwrap());
        let text = text.replacen(&behind, &format!("{behind}{line}"), 1);
        assert!(text.contains(line), "{}", folder.display());
        assert_ne!(strange(dialect, &text), file(&folder, "expected"), "{}", folder.display());
    }
}

/// What in a text is not known, is missing, or says that a fence is down.
fn strange(dialect: Dialect, text: &str) -> String {
    let reading = read::part(dialect, &Part::Whole, text);
    let unknown = reading.unknown.iter().map(|unknown| format!("{}\n", unknown.text));
    let lacking = reading.lacking.iter().map(|lacking| format!("missing: {}\n", lacking.text));
    let fences = reading.claims.iter().filter_map(|claim| match &claim.fact {
        Fact::Holds(hold @ (Hold::ConstrainsDevices(false) | Hold::KeepsLabelsApart(false))) => {
            Some(format!("{hold}\n"))
        }
        _ => None,
    });
    unknown.chain(lacking).chain(fences).collect()
}

fn dialect(folder: &Path) -> Dialect {
    let name = folder.file_name().unwrap().to_str().unwrap();
    name.split('-').next().unwrap().parse().unwrap()
}

fn file(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("observed");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}
