//! Every folder beside this package is a story: its documents go in, and every output down the
//! line is what stands beside them. `UPDATE_EXPECT=1` rewrites the outputs.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use cases::{Story, Telling};

#[test]
fn every_story_ends_as_its_folder_says() {
    let folders = folders();
    assert!(folders.len() >= 13, "stories are missing: only {folders:?}");
    let complaints: Vec<String> = folders.iter().flat_map(|folder| check(folder)).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// What can keep a gang from its place, as far as documents can ask for it: `app/tests/place` has the
/// others.
const NO_PLACE: [&str; 20] = [
    "apart-binds",
    "apart-forbids",
    "beyond-pods",
    "fragmented",
    "grade-binds",
    "grade-forbids",
    "health-binds",
    "jurisdiction-forbids",
    "kept-for-others",
    "no-room",
    "not-healthy",
    "over-class-quota",
    "over-quota",
    "scattered",
    "segment-unfit",
    "site-absent",
    "slices-unserved",
    "unsplittable",
    "version-forbids",
    "versions-bind",
];

#[test]
fn every_way_to_find_no_place_has_a_story() {
    let folders = folders();
    let told: String = folders
        .iter()
        .filter_map(|folder| fs::read_to_string(folder.join("refusal")).ok())
        .collect();
    for code in NO_PLACE {
        let is_told = told.lines().any(|line| line.starts_with(&format!("{code}: ")));
        assert!(is_told, "no story is refused with {code}");
    }
}

/// Tells a story and says what is not as its folder has it.
fn check(folder: &Path) -> Vec<String> {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let story = Story::read(folder).unwrap_or_else(|error| panic!("{name}: {error}"));
    let telling = story.tell();
    let ending = ending(&name, &telling);
    let mut complaints: Vec<String> =
        ending.map(|why| format!("{name}: {why}")).into_iter().collect();
    if env::var_os("UPDATE_EXPECT").is_some() {
        rewrite(folder, &telling);
    }
    let expected = outputs(folder);
    for file in expected.keys().chain(telling.outputs.keys()) {
        let (was, is) = (expected.get(file), telling.outputs.get(file));
        if was != is {
            complaints.push(format!("{name}/{file}: {}", difference(was, is)));
        }
    }
    complaints.sort();
    complaints.dedup();
    complaints
}

/// What contradicts the first word of the folder's name.
fn ending(name: &str, telling: &Telling) -> Option<&'static str> {
    let Telling { refused, found, held, .. } = telling;
    match name.split('-').next() {
        Some("accepted") => (*refused || *found || !held).then_some("it was not accepted"),
        Some("refused") => (!refused || *held).then_some("it was not refused before it was sent"),
        Some("found") => (*refused || !found).then_some("nothing was found on the devices"),
        _ => Some("a story is accepted, refused or found"),
    }
}

/// The first line that differs.
fn difference(was: Option<&String>, is: Option<&String>) -> String {
    let (Some(was), Some(is)) = (was, is) else {
        let what = if was.is_none() { "is missing" } else { "is no longer an output" };
        return format!("{what}; UPDATE_EXPECT=1 puts it right");
    };
    let (mut was, mut is) = (was.lines(), is.lines());
    for number in 1.. {
        let (was, is) = (was.next(), is.next());
        if was != is {
            let show = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
            return format!("line {number}\n  - {}\n  + {}", show(was), show(is));
        }
        if was.is_none() {
            break;
        }
    }
    "another end of the last line".into()
}

fn rewrite(folder: &Path, telling: &Telling) {
    for file in outputs(folder).keys() {
        fs::remove_file(folder.join(file)).unwrap();
    }
    for (file, text) in &telling.outputs {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The outputs that stand in a folder, by their path inside it.
fn outputs(folder: &Path) -> BTreeMap<String, String> {
    let mut outputs = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let inside = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if !Story::is_input(&inside) {
                outputs.insert(inside, fs::read_to_string(&path).unwrap());
            }
        }
    }
    outputs
}

fn folders() -> Vec<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(package).unwrap().map(|entry| entry.unwrap().path());
    let is_story =
        |path: &PathBuf| path.is_dir() && !path.ends_with("src") && !path.ends_with("tests");
    let mut folders: Vec<PathBuf> = entries.filter(is_story).collect();
    folders.sort();
    folders
}
