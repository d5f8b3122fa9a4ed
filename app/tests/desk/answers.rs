//! Every answer for programs that a test prints is compared with the schema of its command.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "each test file is a program of its own and uses a part; what is no JSON ends the test"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::schema;

/// Whether these arguments ask for JSON.
pub(crate) fn is_json(arguments: &[&str]) -> bool {
    let apart = arguments.windows(2).any(|two| matches!(two, ["-o" | "--output", "json"]));
    apart || arguments.iter().any(|one| matches!(*one, "-ojson" | "-o=json" | "--output=json"))
}

/// Whether this command only looks, for people: it can be asked again by a program.
pub(crate) fn only_looks(arguments: &[&str]) -> bool {
    const LOOKS: [&[&str]; 15] = [
        &["fleet", "show"],
        &["plan"],
        &["place"],
        &["capacity"],
        &["defrag"],
        &["discover"],
        &["read"],
        &["verify"],
        &["get"],
        &["history"],
        &["log", "check"],
        &["scrub"],
        &["why"],
        &["filter", "show"],
        &["agent", "status"],
    ];
    // These write a file, write evidence down, answer otherwise already, or help.
    const OTHERWISE: [&str; 6] = ["--out", "--evidence", "-o", "--output", "--help", "-h"];
    LOOKS.iter().any(|look| arguments.starts_with(look))
        && !arguments.iter().any(|one| OTHERWISE.contains(one))
}

/// Insists that what a command printed is what its schema says: one value, or one a line.
#[track_caller]
pub(crate) fn insist(arguments: &[&str], code: Option<i32>, said: &str) {
    if code == Some(64) {
        return assert_eq!(said, "", "wrong usage of {arguments:?} has no answer");
    }
    let values = serde_json::Deserializer::from_str(said).into_iter::<Value>();
    let values: Vec<Value> = values.map(|value| value.expect(said)).collect();
    let wanted = if is_stream(arguments) { said.lines().count() } else { 1 };
    assert_eq!(values.len(), wanted, "values in the answer of {arguments:?}:\n{said}");
    let schema = of(arguments);
    for value in &values {
        schema::insist(&schema, value);
        for (end, ends) in [("refused", 1), ("broken", 2)] {
            let is_end = value.get(end).is_some_and(|end| !end.is_u64());
            assert!(!is_end || code == Some(ends), "{arguments:?} ends with {code:?}:\n{said}");
        }
    }
}

/// Starts a command that answers line by line, and compares each line when it comes.
pub(crate) fn listen(
    arguments: &[&str],
    mut command: Command,
) -> (Child, impl Iterator<Item = Value> + use<>) {
    assert!(is_json(arguments) && is_stream(arguments), "{arguments:?} do not answer line by line");
    let schema = of(arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let values = lines.map(move |line| {
        let value = serde_json::from_str(&line.unwrap()).unwrap();
        schema::insist(&schema, &value);
        value
    });
    (child, values)
}

fn is_stream(arguments: &[&str]) -> bool {
    match arguments {
        ["watch", ..] | ["filter", "drops", ..] => true,
        ["filter", "stats", more @ ..] => more.contains(&"--watch"),
        _ => false,
    }
}

/// The schema of the command that these arguments begin with, as users get it.
#[track_caller]
fn of(arguments: &[&str]) -> Value {
    let listed = schema_command(&[]);
    let words = arguments.join(" ") + " ";
    let command = listed.lines().find(|command| words.starts_with(&format!("{command} ")));
    let command =
        command.unwrap_or_else(|| panic!("{arguments:?} answer in JSON without a schema"));
    let command: Vec<&str> = command.split(' ').collect();
    serde_json::from_str(&schema_command(&command)).unwrap()
}

fn schema_command(command: &[&str]) -> String {
    let mut schema = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
    let answer = schema.arg("schema").args(command).output().unwrap();
    assert!(answer.status.success(), "`bulkhead schema` ends with {}", answer.status);
    String::from_utf8(answer.stdout).unwrap()
}
