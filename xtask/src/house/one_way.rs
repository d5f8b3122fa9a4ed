//! From a request to devices there is one way, and it stands in `edge/control`.

use expect_test::{Expect, expect};

use super::repository::{SourceFile, Violation, assert_none, files, sentences};
use super::source::{code, paths, tokens, without_tests};

/// A step of that way.
struct Step {
    /// What takes it, as a path.
    function: &'static str,
    /// Where it is defined, and may go on to the next definition.
    home: &'static str,
}

const FUNCTIONS: [Step; 3] = [
    Step { function: "plan::next", home: "core/plan/src/" },
    Step { function: "verify::clear", home: "core/verify/src/" },
    Step { function: "apply::push", home: "edge/apply/src/" },
];

/// The same as methods: they count in a file that speaks of their type.
const METHODS: [(&str, Step); 3] = [
    ("verify::Verifier", Step { function: "clear", home: "core/verify/src/" }),
    ("store", Step { function: "append", home: "edge/store/src/" }),
    ("apply::Devices", Step { function: "hold", home: "edge/apply/src/devices.rs" }),
];

/// Whoever tries the steps one by one is no second way.
const TRIES: [&str; 3] = ["edge/control/", "cases/", "fuzz/"];

fn past_the_controller(file: &SourceFile) -> Vec<Violation> {
    if file.path.contains("/tests/") || TRIES.iter().any(|folder| file.path.starts_with(folder)) {
        return Vec::new();
    }
    let code = without_tests(&code(&file.text));
    let spoken = paths(&code);
    let is_spoken = |path: &str| spoken.iter().any(|spoken| spoken.path == path);
    let away = |step: &Step| !file.path.starts_with(step.home);
    let what = |name: &str| format!("`{name}` is a step of edge/control: ask the controller");

    let mut found = Vec::new();
    for step in FUNCTIONS.iter().filter(|step| away(step)) {
        let named = spoken.iter().filter(|spoken| spoken.path == step.function);
        found.extend(named.map(|spoken| file.violation(spoken.line, what(step.function))));
    }
    for (of, step) in METHODS.iter().filter(|(of, step)| away(step) && is_spoken(of)) {
        let lines = calls(&code, step.function).into_iter();
        let name = format!("{of}::{}", step.function);
        found.extend(lines.map(|line| file.violation(line, what(&name))));
    }
    found
}

/// The lines where a method is called with something. A method of the same name only hands the
/// call on, and a file that is opened for appending is no log.
fn calls(code: &str, method: &str) -> Vec<usize> {
    let tokens: Vec<(usize, &str)> = tokens(code).collect();
    let mut within = "";
    let mut lines = Vec::new();
    for four in tokens.windows(4) {
        let [(line, first), (_, name), (_, open), (_, inside)] = *four else { continue };
        if first == "fn" {
            within = name;
        }
        let is_call = first == "." && name == method && open == "(";
        if is_call && within != method && ![")", "true", "false"].contains(&inside) {
            lines.push(line);
        }
    }
    lines
}

#[test]
fn nobody_but_the_controller_plans_proves_writes_or_sends() {
    let sources = files(&[".rs"]);
    assert_none(&sources.iter().flat_map(past_the_controller).collect::<Vec<_>>());
}

fn check(path: &str, text: &str, expected: Expect) {
    let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
    expected.assert_eq(&sentences(&past_the_controller(&file)));
}

const SECOND_WAY: &str = r#"
use apply::{Devices, push};
use store::Folder;
use verify::Verifier;
fn second_way(devices: &mut dyn Devices, verifier: &mut Verifier, log: &mut Folder) {
    let next = plan::next(&intent, &ledger);
    let cleared = verifier.clear(artifacts);
    log.append(revision, batch);
    devices.hold(&orders, &terms);
}
"#;

#[test]
fn a_second_way_is_named_step_by_step() {
    check(
        "app/src/second.rs",
        SECOND_WAY,
        expect![[r#"
            app/src/second.rs:6: `plan::next` is a step of edge/control: ask the controller
            app/src/second.rs:2: `apply::push` is a step of edge/control: ask the controller
            app/src/second.rs:7: `verify::Verifier::clear` is a step of edge/control: ask the controller
            app/src/second.rs:8: `store::append` is a step of edge/control: ask the controller
            app/src/second.rs:9: `apply::Devices::hold` is a step of edge/control: ask the controller
        "#]],
    );
    check("edge/control/src/control.rs", SECOND_WAY, expect![""]);
    check("app/tests/second.rs", SECOND_WAY, expect![""]);
}

#[test]
fn tests_other_methods_and_calls_that_are_handed_on_are_no_second_way() {
    check(
        "app/src/lab.rs",
        r#"
use apply::Devices;
use store::Folder;
impl Devices for Timed<'_> {
    fn hold(&mut self) { self.inner.hold(orders, terms); lines.clear(); }
}
fn open() { OpenOptions::new().append(true); }
#[cfg(test)]
mod tests { fn f() { plan::next(&intent); log.append(batch); } }
#[test]
fn g() { verify::clear(artifacts); }
"#,
        expect![""],
    );
}
