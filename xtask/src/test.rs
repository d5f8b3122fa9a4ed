//! Every check of this repository, in order: cheap ones first.

use std::time::{Duration, Instant};

use crate::{Failure, shell};

/// One check: a sentence that is true when all its commands succeed.
struct Step {
    sentence: &'static str,
    commands: &'static [&'static str],
}

const STEPS: [Step; 7] = [
    Step { sentence: "The machine has what the checks need.", commands: &["cargo xtask setup"] },
    Step {
        sentence: "Every file is as rustfmt writes it.",
        commands: &["cargo fmt --all --check", "cargo fmt --check --manifest-path fuzz/Cargo.toml"],
    },
    Step {
        sentence: "The packet program is what its source says.",
        commands: &["cargo xtask object --check"],
    },
    Step {
        sentence: "The house keeps its own rules.",
        commands: &["cargo test --quiet --package xtask"],
    },
    Step {
        sentence: "Clippy has nothing to say.",
        commands: &["cargo clippy --quiet --workspace --all-targets -- -D warnings"],
    },
    Step {
        sentence: "Every test of every room holds.",
        // Not quiet: a test that never ends must be known by its name.
        commands: &["cargo test --no-fail-fast --workspace --exclude xtask"],
    },
    Step {
        sentence: "A short fuzz breaks no parser.",
        commands: &["cargo xtask fuzz --seconds 3"],
    },
];

/// Runs every step, also those after a failed one: one run tells all there is to repair.
pub(crate) fn run() -> Result<(), Failure> {
    let start = Instant::now();
    let mut failed = Vec::new();
    for (position, step) in STEPS.iter().enumerate() {
        println!("[{}/{}] {}", position + 1, STEPS.len(), step.sentence);
        let begin = Instant::now();
        let broken: Vec<&str> = step.commands.iter().copied().filter(fails).collect();
        let verdict = if broken.is_empty() { "held" } else { "FAILED" };
        println!("      {verdict} after {}", seconds(begin.elapsed()));
        for command in &broken {
            println!("      run it alone: {command}");
        }
        failed.extend(broken);
    }
    report(&failed, start.elapsed())
}

fn fails(command: &&str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    match shell::run(&words) {
        Ok(()) => false,
        Err(failure) => {
            eprint!("{}", failure.text());
            true
        }
    }
}

fn report(failed: &[&str], took: Duration) -> Result<(), Failure> {
    if failed.is_empty() {
        println!("All checks held after {}.", seconds(took));
        return Ok(());
    }
    println!("Some checks failed after {}:", seconds(took));
    for command in failed {
        println!("  {command}");
    }
    Err(Failure::Found)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
