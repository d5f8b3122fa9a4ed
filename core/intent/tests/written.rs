//! Documents taken apart and read together again say the same.

#![allow(clippy::unwrap_used, reason = "what cannot be read ends the test")]

use intent::{Source, load, load_written, written};

const FLEET: &str = include_str!("../../../app/src/demo/fleet.yaml");
const WORK: &str = include_str!("../../../app/src/demo/work.yaml");

fn source<'a>(file: &'a str, text: &'a str) -> Source<'a> {
    Source { file, text }
}

#[test]
fn documents_one_by_one_are_the_documents_together() {
    let sources = [source("fleet.yaml", FLEET), source("work.yaml", WORK)];
    let whole = load(&sources).unwrap();
    let all = written(&sources);
    assert!(all.len() > 5 && all.iter().all(|one| one.key.is_some()), "{all:?}");
    let one_by_one = load_written(&all.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(format!("{whole:?}"), format!("{one_by_one:?}"));
}

#[test]
fn every_key_is_said_as_a_command_takes_it() {
    let all = written(&[source("fleet.yaml", FLEET), source("work.yaml", WORK)]);
    for key in all.iter().filter_map(|one| one.key.as_ref()) {
        let said = key.to_string();
        let (kind, name) = said.split_once(' ').unwrap_or((&said, ""));
        assert_eq!(intent::Key::from_words(kind, name).as_ref(), Some(key));
    }
}

#[test]
fn refusals_name_the_same_places() {
    let work = WORK.replace("gpus:", "gpu:");
    let sources = [source("fleet.yaml", FLEET), source("work.yaml", &work)];
    let whole = load(&sources).unwrap_err();
    let all = written(&sources);
    assert_eq!(load_written(&all.iter().collect::<Vec<_>>()).unwrap_err(), whole);
}

#[test]
fn a_list_is_its_items() {
    let items = "\
kind: List
apiVersion: v1
items:
- apiVersion: bulkhead.dev/v1
  kind: Tenant
  metadata: {name: red}
  spec: {grade: node, pools: [10.1.0.0/16]}
- apiVersion: bulkhead.dev/v1
  kind: Job
  metadata: {name: train, annotations: {why: \"a \\\"b\\\": {c}, #d\"}}
  spec: {tenant: red, gpus: 4}
";
    let sources = [source("fleet.yaml", FLEET), source("list.yaml", items)];
    let all = written(&sources);
    let keys: Vec<String> =
        all.iter().filter_map(|one| one.key.as_ref()).map(ToString::to_string).collect();
    assert_eq!(keys, ["fleet", "tenant red", "job red/train"]);
    let (whole, apart) = (load(&sources), load_written(&all.iter().collect::<Vec<_>>()));
    assert_eq!(format!("{:?}", whole.unwrap()), format!("{:?}", apart.unwrap()));
}

#[test]
fn what_cannot_be_read_has_no_key_and_is_refused() {
    for text in ["kind: Job\n", "{", "kind: Nothing\nmetadata: {name: a}\n", "kind: List\n"] {
        let all = written(&[source("x.yaml", text)]);
        assert!(all.len() == 1 && all[0].key.is_none(), "{all:?}");
        assert!(load_written(&all.iter().collect::<Vec<_>>()).is_err());
    }
    assert!(written(&[source("x.yaml", "# nothing\n---\n")]).is_empty());
}
