//! Every check of this repository, in order: cheap ones first.

mod report;

use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::{Failure, shell};
use report::Tally;

/// One check: a sentence that is true when all its commands succeed.
struct Step {
    sentence: &'static str,
    commands: &'static [&'static str],
    /// Run beside the commands, and seen only when they fail.
    meanwhile: &'static [&'static str],
}

const STEPS: [Step; 8] = [
    step("The machine has what the checks need.", &["cargo xtask setup"]),
    step(
        "Every file is as rustfmt writes it.",
        &["cargo fmt --all --check", "cargo fmt --check --manifest-path fuzz/Cargo.toml"],
    ),
    step("The packet program is what its source says.", &["cargo xtask object --check"]),
    step(
        "The house keeps its own rules.",
        &["cargo nextest run --no-fail-fast --cargo-quiet --package xtask"],
    ),
    step(
        "Clippy has nothing to say.",
        &["cargo clippy --quiet --workspace --all-targets -- -D warnings"],
    ),
    // Alone, so that what runs beside the tests finds them built.
    step(
        "Every test of every room can be built.",
        &["cargo nextest run --no-run --cargo-quiet --workspace --exclude xtask"],
    ),
    Step {
        sentence: "Every test of every room holds, and what is written about the rooms is whole.",
        commands: &["cargo nextest run --no-fail-fast --cargo-quiet --workspace --exclude xtask"],
        meanwhile: &[
            "cargo test --quiet --workspace --doc",
            "cargo doc --quiet --workspace --no-deps",
        ],
    },
    step("A short fuzz breaks no parser.", &["cargo xtask fuzz --seconds 3"]),
];

/// How many of the slowest tests are named.
const SLOWEST: usize = 10;

const fn step(sentence: &'static str, commands: &'static [&'static str]) -> Step {
    Step { sentence, commands, meanwhile: &[] }
}

/// Runs every step, also those after a failed one: one run tells all there is to repair.
pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let (mut tally, mut failed) = (Tally::default(), Vec::new());
    for (position, step) in STEPS.iter().enumerate() {
        println!("[{}/{}] {}", position + 1, STEPS.len(), step.sentence);
        let begin = Instant::now();
        let broken = step.run(&mut tally)?;
        let verdict = if broken.is_empty() { "held" } else { "FAILED" };
        println!("      {verdict} after {}", seconds(begin.elapsed()));
        for command in &broken {
            println!("      run it alone: {command}");
        }
        failed.extend(broken);
    }
    tell(&tally, &failed, start.elapsed());
    // Where nobody looks, a test that could not run is a test that did not hold.
    let is_ci = env::var_os("CI").is_some_and(|ci| ci == "true");
    let is_whole = tally.skipped().is_empty() || !is_ci;
    if failed.is_empty() && is_whole { Ok(()) } else { Err(Failure::Found) }
}

impl Step {
    /// Gives the commands that failed.
    fn run(&self, tally: &mut Tally) -> Result<Vec<&'static str>, Failure> {
        let mut failed = Vec::new();
        thread::scope(|scope| {
            let meanwhile: Vec<_> =
                self.meanwhile.iter().map(|line| (line, scope.spawn(|| unseen(line)))).collect();
            for line in self.commands {
                let held = if is_tests(line) { tests(line, tally)? } else { check(line, tally) };
                failed.extend((!held).then_some(*line));
            }
            for (line, thread) in meanwhile {
                let held = thread.join().unwrap_or_default();
                tally.add_check(held);
                failed.extend((!held).then_some(*line));
            }
            Ok(failed)
        })
    }
}

fn is_tests(line: &str) -> bool {
    line.starts_with("cargo nextest run") && !line.contains("--no-run")
}

/// Whether all tests of a line held; each of them counts.
fn tests(line: &str, tally: &mut Tally) -> Result<bool, Failure> {
    let report = shell::target()?.join("nextest/default/junit.xml");
    // What stands there is of the tests before.
    let _ = fs::remove_file(&report);
    let held = holds(line);
    let failed = match fs::read_to_string(&report) {
        Ok(xml) => tally.add_report(&xml)?,
        Err(_) => 0,
    };
    // Tests that could not even be built are in no report.
    if !held && failed == 0 {
        tally.add_check(false);
    }
    Ok(held)
}

fn check(line: &str, tally: &mut Tally) -> bool {
    let held = holds(line);
    tally.add_check(held);
    held
}

/// Whether a command succeeds; what it prints is seen.
fn holds(line: &str) -> bool {
    done(shell::run(&words(line)))
}

/// The same for one that is only seen when it fails.
fn unseen(line: &str) -> bool {
    done(shell::run_unseen(&words(line)))
}

fn done(ended: Result<(), Failure>) -> bool {
    ended.inspect_err(|failure| eprint!("{}", failure.text())).is_ok()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The last line is the one that programs read.
fn tell(tally: &Tally, failed: &[&str], took: Duration) {
    println!("The slowest tests:");
    tally.slowest(SLOWEST).iter().for_each(|test| println!("  {test}"));
    if !tally.skipped().is_empty() {
        println!("Skipped, as something is missing that they need (root, mostly):");
        tally.skipped().iter().for_each(|test| println!("  {test}"));
    }
    if failed.is_empty() {
        println!("All checks held after {}.", seconds(took));
    } else {
        println!("Some checks failed after {}:", seconds(took));
        failed.iter().for_each(|command| println!("  {command}"));
    }
    println!("{}", tally.line());
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
