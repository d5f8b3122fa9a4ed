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

/// Refusals of a plan that no documents bring about in one step, or only in greater number than a
/// story should have: the test that shows each, and the words it shows.
const SHOWN_ELSEWHERE: [(&str, &str, &str); 20] = [
    ("fleet-empty", PLAN_TESTS, "fleet-empty: "),
    ("guarantees-above-link", "core/plan/src/tests/promises.rs", "guarantees-above-link: "),
    ("import-overlap", PLAN_TESTS, "import-overlap: "),
    ("job-known", PLAN_TESTS, "job-known: "),
    ("job-unknown", PLAN_TESTS, "job-unknown: "),
    ("nic-resting", PLAN_TESTS, "nic-resting: "),
    ("nic-taken", PLAN_TESTS, "nic-taken: "),
    ("nic-twice", PLAN_TESTS, "nic-twice: "),
    ("nic-unknown", PLAN_TESTS, "nic-unknown: "),
    ("nic-unscrubbed", "core/plan/src/tests/stories.rs", "nic-unscrubbed: "),
    ("node-vanished", PLAN_TESTS, "node-vanished: "),
    ("nothing-asked", PLAN_TESTS, "nothing-asked: "),
    ("outside-pod", PLAN_TESTS, "outside-pod: "),
    ("pod-unknown", PLAN_TESTS, "pod-unknown: "),
    ("product-absent", PLACE_TESTS, "wants GPUs of product H200-141GB, but the fleet has"),
    ("profile-absent", PLACE_TESTS, "wants slices of profile 9g.90gb, but where it may run"),
    ("quota-below-use", PLAN_TESTS, "quota-below-use: "),
    ("tags-exhausted", PLAN_TESTS, "tags-exhausted: "),
    ("tenant-unknown", PLAN_TESTS, "tenant-unknown: "),
    ("too-large", PLACE_TESTS, "more than the 16384 of the largest gang"),
];

const PLAN_TESTS: &str = "core/plan/src/tests/refusals.rs";
const PLACE_TESTS: &str = "app/tests/place/gang.rs";

/// A new kind of refusal comes with its story, or with the test that shows why it has none.
#[test]
fn every_kind_of_refusal_has_a_story() {
    let folders = folders();
    let stories =
        folders.iter().filter_map(|folder| fs::read_to_string(folder.join("refusal")).ok());
    let told: String = stories.collect();
    for code in codes() {
        let is_told = told.lines().any(|line| line.starts_with(&format!("{code}: ")));
        let elsewhere = SHOWN_ELSEWHERE.iter().find(|(other, ..)| *other == code);
        match elsewhere {
            None => assert!(is_told, "no story is refused with {code}"),
            Some(_) if is_told => panic!("{code} has a story: strike it from the list"),
            Some((_, file, words)) => {
                let shows = fs::read_to_string(house().join(file)).unwrap().contains(words);
                assert!(shows, "{file} does not show {code} any more");
            }
        }
    }
}

/// The short names of all refusals, as their own source has them: a list here could forget one.
fn codes() -> Vec<String> {
    let source = fs::read_to_string(house().join("core/plan/src/refusal.rs")).unwrap();
    let (_, from) = source.split_once("fn code(").unwrap();
    let (body, _) = from.split_once("\n    }\n").unwrap();
    let named = body.lines().filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
    let codes: Vec<String> = named.map(Into::into).collect();
    let arms = body.matches("Self::").count();
    assert_eq!(codes.len(), arms, "every kind of refusal names its code in a line of its own");
    codes
}

fn house() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
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
    let is_story = |path: &PathBuf| {
        path.is_dir() && !["src", "tests", "observed"].iter().any(|other| path.ends_with(other))
    };
    let mut folders: Vec<PathBuf> = entries.filter(is_story).collect();
    folders.sort();
    folders
}
