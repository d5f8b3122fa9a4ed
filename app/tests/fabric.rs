//! A real fabric: built, tried with packets, broken, taken down. Needs root and FRR.

#![allow(clippy::unwrap_used, reason = "a lab that does not stand ends the test")]

#[path = "desk/answers.rs"]
mod answers;
#[path = "desk/schema.rs"]
mod schema;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::{Lab, Spec};
use observe::Backing;

/// A lab that is gone after the test, however that ends.
struct Standing {
    name: String,
    lab: Option<Lab>,
}

impl Standing {
    fn up(kind: &str, leaves: u16, spines: u16, tenants: u16) -> Self {
        let name = format!("t{}{kind}", std::process::id());
        let program = PathBuf::from(env!("CARGO_BIN_EXE_bulkhead"));
        let vrfs = Backing::Namespaces;
        let spec = Spec { name: name.clone(), leaves, spines, tenants, vrfs, program };
        let mut standing = Self { name, lab: None };
        standing.lab = Some(Lab::up(&spec, &mut |step| eprintln!("{step}")).unwrap());
        standing
    }

    fn lab(&self) -> &Lab {
        self.lab.as_ref().unwrap()
    }

    fn down(mut self) {
        self.lab.take().unwrap().down().unwrap();
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        // The test says what went wrong; this only cleans up.
        let _ = Lab::remove(&self.name);
    }
}

/// Everything that differs from the plan, as one text.
fn differing(lab: &Lab) -> String {
    let seen = lab.probe(&lab.probes()).unwrap();
    assert!(seen.iter().any(|seen| seen.probe.expected), "nothing was to pass");
    assert!(seen.iter().any(|seen| !seen.probe.expected), "nothing was to be kept apart");
    let wrong = seen.iter().filter(|seen| !seen.is_right());
    wrong.map(|seen| format!("{seen:?}\n")).collect()
}

/// What is left of a lab on this machine.
fn left_of(name: &str) -> Vec<String> {
    let namespaces = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let namespaces = namespaces.map(|entry| entry.file_name().into_string().unwrap());
    let mut left: Vec<String> =
        namespaces.filter(|found| found.starts_with(&format!("bh-{name}-"))).collect();
    let folder = format!("/run/bulkhead/{name}");
    left.extend(Path::new(&folder).exists().then(|| folder.clone()));
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        left.extend(line.contains(&format!("{folder}/")).then_some(line));
    }
    left
}

#[test]
fn a_fabric_lets_those_meet_that_should_and_no_others_and_leaves_nothing_behind() {
    let standing = Standing::up("small", 2, 1, 2);
    assert_eq!(differing(standing.lab()), "");
    let name = standing.name.clone();
    assert_ne!(left_of(&name), Vec::<String>::new(), "the search for leftovers finds nothing");
    standing.down();
    assert_eq!(left_of(&name), Vec::<String>::new());
}

#[test]
fn the_command_builds_tries_and_takes_down() {
    let name = format!("t{}words", std::process::id());
    let bulkhead = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bulkhead")).args(arguments).output().unwrap();
        let code = output.status.code();
        if answers::is_json(arguments) {
            answers::insist(arguments, code, std::str::from_utf8(&output.stdout).unwrap());
        }
        let said = [output.stdout, output.stderr].concat();
        (code, String::from_utf8(said).unwrap())
    };
    let _standing = Standing { name: name.clone(), lab: None };
    let up = ["lab", "up", "--name", &name, "--leaves", "1", "--spines", "1", "--tenants", "1"];
    let (code, said) = bulkhead(&up);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = bulkhead(&up);
    assert_eq!(code, Some(2), "a second one of that name: {said}");
    assert!(said.contains("is up already"), "{said}");
    let (code, said) = bulkhead(&["lab", "status", "--name", &name]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = bulkhead(&["lab", "status", "--name", &name, "-o", "json"]);
    assert!(code == Some(0) && said.contains("\"isWell\": true"), "{said}");
    let (code, said) = bulkhead(&["test", "connectivity", "--lab", &name, "-o", "json"]);
    assert!(code == Some(0) && said.contains("\"differing\": []"), "{said}");
    let (code, said) = bulkhead(&["test", "connectivity", "--lab", &name]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("As planned"), "{said}");
    // What devices hold is asked of them, wherever nothing is simulated.
    let folder = format!("/run/bulkhead/{name}");
    let (state, ca) = (format!("{folder}/state"), format!("{folder}/ca"));
    let held =
        |words: &[&str]| bulkhead(&[words, &["--held", "--state", &state, "--ca", &ca]].concat());
    let (code, said) = held(&["why", "red-1/1", "red-1/2"]);
    assert!(code == Some(0) && said.contains("They can meet"), "{said}");
    // A killed agent's gate closes; the next agent opens it again.
    let stop = ["lab", "break", "agent-killed", "--at", "leaf-1", "--name", &name];
    let (code, said) = bulkhead(&stop);
    assert!(code == Some(0) && said.contains("lab start-agent leaf-1"), "{said}");
    let (code, said) = held(&["verify"]);
    assert!(code == Some(2) && said.contains("silent  leaf-1"), "{said}");
    let (code, said) = held(&["why", "red-1/1", "red-1/2"]);
    assert!(code == Some(2) && said.contains("what leaf-1 holds is not known"), "{said}");
    let (code, said) = bulkhead(&["lab", "start-agent", "leaf-1", "--name", &name]);
    assert!(code == Some(0) && said.contains("Started"), "{said}");
    let (code, said) = bulkhead(&["lab", "start-agent", "leaf-1", "--name", &name]);
    assert!(code == Some(0) && said.contains("is running"), "{said}");
    let (code, said) = bulkhead(&["lab", "start-agent", "leaf-9", "--name", &name]);
    assert!(code == Some(2) && said.contains("the lab has no `leaf-9`"), "{said}");
    let (code, said) = held(&["verify"]);
    assert!(code == Some(0) && said.contains("Proved"), "{said}");
    let (code, said) = bulkhead(&["lab", "exec", "--name", &name, "leaf-1", "--", "ip", "link"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("swp"), "{said}");
    assert_eq!(bulkhead(&["lab", "down", "--name", &name]).0, Some(0));
    assert_eq!(left_of(&name), Vec::<String>::new());
    let (code, said) = bulkhead(&["lab", "status", "--name", &name, "-o", "json"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no lab"), "{said}");
}
