//! The repository's own checks and chores: `cargo xtask`.
//!
//! Takes: a chore. Gives: its output, and an exit code: 0 done, 1 something was found, 2 the
//! machine failed us, 64 wrong usage. Never: knows what the rooms do.

mod fuzz;
mod guest;
#[cfg(test)]
mod guests;
mod hardware;
#[cfg(test)]
mod house;
mod kubernetes;
mod object;
mod recipe;
mod roce;
mod setup;
mod shell;
mod test;
mod vrf;

use std::env;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask <chore>

  setup                              install what the checks need; does nothing the second time
  test                               every check of this repository, in order; where CI is `true`, a test
                                     that was skipped, as those are that find no root, counts as failed
  fuzz [--target T] [--seconds N]    feed the parsers what nobody would write; all of them, and
                                     60 seconds each, unless told otherwise
  object [--check]                   compile the packet program; or only compare it with what is kept
  soak [--frames N] [--rounds N]     the long forms of the filter's tests: 100 million frames compared
                                     with the kernel, and 10 rounds of real traffic, unless told otherwise
  roce-test [--record]               real RoCEv2 between two virtual machines through the lab: passes inside
                                     a job, and nowhere else; may write the result into docs/roce.md
  hardware-test [--record]           a virtual machine with an IOMMU, virtual functions and NUMA nodes: what is
                                     discovered there, and drivers changed; may write into docs/hardware.md
  vrf-test [--record]                a virtual machine whose kernel has VRF devices: a lab in it, tried, broken and
                                     repaired; may write the result into docs/vrf.md
  kubernetes-test --crds DIR [--record]
                                     real servers of Kubernetes, from KUBEBUILDER_ASSETS: what leads out of a
                                     namespace is refused, honest work runs where the plan says; may write the
                                     result into docs/kubernetes-test.md
  oracle [--rounds N]                random plans with a hole, held by real parts: packets do what the verifier
                                     says; 1,000 of them unless told otherwise
  mutants [option]...                edits of sound texts in one dialect, at random: none that opens or cuts is
                                     proved; --dialect D --count N --seed S --out FILE.csv
  cost                               what one job's change costs the controller of a large cluster: messages,
                                     bytes of log, fsyncs
  recipe NAME                        follow a recipe of CONTRIBUTING.md (`dialect`) on a copy of the tree, and
                                     check that it compiles
  bench [argument]...                measure in release mode; `cargo xtask bench --help` says more
";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match chore(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{}", failure.text());
            ExitCode::from(failure.exit_code())
        }
    }
}

fn chore(words: &[&str]) -> Result<(), Failure> {
    match words {
        ["setup"] => setup::run(),
        ["test"] => test::run(),
        ["fuzz", options @ ..] => fuzz::run(&fuzz::Wish::from_words(options)?),
        ["object"] => object::run(false),
        ["object", "--check"] => object::run(true),
        ["soak", options @ ..] => soak(options),
        ["roce-test"] => roce::run(false),
        ["roce-test", "--record"] => roce::run(true),
        ["hardware-test"] => hardware::run(false),
        ["hardware-test", "--record"] => hardware::run(true),
        ["vrf-test"] => vrf::run(false),
        ["vrf-test", "--record"] => vrf::run(true),
        ["kubernetes-test", options @ ..] => match kubernetes::Wish::from_words(options) {
            Some(wish) => kubernetes::run(&wish),
            None => Err(Failure::Usage(USAGE.to_owned())),
        },
        ["oracle"] => oracle("1000"),
        ["oracle", "--rounds", rounds] if rounds.parse::<u32>().is_ok() => oracle(rounds),
        ["mutants", options @ ..] => mutants(options),
        ["cost"] => cost(),
        ["recipe", name] => recipe::run(name),
        ["bench", options @ ..] => bench(options),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(Failure::Usage(USAGE.to_owned())),
    }
}

/// Debug builds tell nothing about speed, so the benches have no other way in than this one.
fn bench(options: &[&str]) -> Result<(), Failure> {
    let mut line = vec!["cargo", "run", "--quiet", "--release", "--package", "bench", "--"];
    line.extend(options);
    shell::run(&line)
}

/// What every test run does in a short form, for as long as somebody likes.
fn soak(options: &[&str]) -> Result<(), Failure> {
    let (mut frames, mut rounds) = ("100000000", "10");
    for pair in options.chunks(2) {
        match pair {
            ["--frames", number] if number.parse::<u64>().is_ok() => frames = number,
            ["--rounds", number] if number.parse::<u32>().is_ok() => rounds = number,
            _ => return Err(Failure::Usage(USAGE.to_owned())),
        }
    }
    let line = ["cargo", "test", "--release", "--package", "filter", "--test", "agree", "--test"];
    let mut command = shell::command(&[line.as_slice(), &["live", "--", "--nocapture"]].concat())?;
    ended(command.env("FRAMES", frames).env("ROUNDS", rounds))
}

/// The comparison of the verifier with real packets, for as long as somebody likes.
fn oracle(rounds: &str) -> Result<(), Failure> {
    let line = ["cargo", "test", "--package", "cases", "--test", "fabric", "--", "--nocapture"];
    ended(shell::command(&line)?.env("ROUNDS", rounds))
}

/// Edits of sound texts, judged. A debug build is quick enough, and most of the time is others'.
fn mutants(options: &[&str]) -> Result<(), Failure> {
    let mut line = vec!["cargo", "run", "--quiet", "--package", "cases", "--bin", "mutants", "--"];
    line.extend(options);
    shell::run(&line)
}

/// What one job's change costs at 102,400 GPUs.
fn cost() -> Result<(), Failure> {
    let line = ["cargo", "test", "--release", "--package", "control", "--test", "control", "--"];
    let mut command = shell::command(&[line.as_slice(), &["one_job", "--nocapture"]].concat())?;
    ended(command.env("GPUS", "102400"))
}

fn ended(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::Found),
        Err(cause) => Err(Failure::Broken(format!("cannot run cargo: {cause}"))),
    }
}

/// Why a chore did not end well.
enum Failure {
    /// A check found something; what it was has been printed.
    Found,
    /// The machine failed us.
    Broken(String),
    /// Nobody knows what was meant.
    Usage(String),
}

impl Failure {
    fn text(&self) -> String {
        match self {
            Self::Found => String::new(),
            Self::Broken(why) => format!("{why}\n"),
            Self::Usage(usage) => usage.clone(),
        }
    }

    const fn exit_code(&self) -> u8 {
        match self {
            Self::Found => 1,
            Self::Broken(_) => 2,
            Self::Usage(_) => 64,
        }
    }
}
