//! Feeds the parsers what nobody would write: coverage-guided, on stable Rust.

mod seeds;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::{Failure, shell};

/// What LLVM must weave into the code so that the engine sees which input went where. These
/// are code generation options, not `-Z` ones: that is why no nightly is needed.
const COVERAGE: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What to fuzz, and how long.
pub(crate) struct Wish {
    target: Option<String>,
    seconds: u64,
}

impl Wish {
    pub(crate) fn from_words(words: &[&str]) -> Result<Self, Failure> {
        let mut wish = Self { target: None, seconds: 60 };
        for pair in words.chunks(2) {
            match pair {
                ["--target", target] => wish.target = Some((*target).to_owned()),
                ["--seconds", seconds] => {
                    wish.seconds = seconds
                        .parse()
                        .map_err(|_| usage(format!("`{seconds}` is no number of seconds")))?;
                }
                _ => return Err(usage(format!("cannot understand `{}`", pair.join(" ")))),
            }
        }
        Ok(wish)
    }
}

/// Builds the targets and runs them, as many at a time as there are cores.
pub(crate) fn run(wish: &Wish) -> Result<(), Failure> {
    let root = shell::root()?;
    let targets = chosen(wish, all_targets(&root)?)?;
    let binaries = build()?;
    let yard =
        Yard { root, scratch: shell::target()?.join("fuzz"), binaries, seconds: wish.seconds };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let waiting = Mutex::new(targets.into_iter());
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(target) = next(&waiting) {
                    if let Err(failure) = yard.fuzz(&target) {
                        push(&found, failure);
                    }
                }
            });
        }
    });
    let failures = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    failures.into_iter().next().map_or(Ok(()), Err)
}

fn chosen(wish: &Wish, all: Vec<String>) -> Result<Vec<String>, Failure> {
    match &wish.target {
        None => Ok(all),
        Some(target) if all.contains(target) => Ok(vec![target.clone()]),
        Some(target) => {
            Err(usage(format!("there is no target `{target}`; there are {}", all.join(", "))))
        }
    }
}

/// The targets are the binaries of the fuzz package.
fn all_targets(root: &Path) -> Result<Vec<String>, Failure> {
    let folder = root.join("fuzz/src/bin");
    let mut targets: Vec<String> = files(&folder)
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    targets.sort();
    if targets.is_empty() {
        return Err(Failure::Broken(format!("no target in {}", folder.display())));
    }
    Ok(targets)
}

/// Builds every target, and says where the binaries are.
fn build() -> Result<PathBuf, Failure> {
    let host = host()?;
    let scratch = shell::target()?.join("fuzz");
    let line = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--bins",
        "--manifest-path",
        "fuzz/Cargo.toml",
        // With a target named, build scripts and macros are compiled without the counters.
        "--target",
        &host,
    ];
    let status = shell::command(&line)?
        .arg("--target-dir")
        .arg(&scratch)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", COVERAGE)
        .status()
        .map_err(|cause| Failure::Broken(format!("cannot run cargo: {cause}")))?;
    if !status.success() {
        return Err(Failure::Broken(
            "the fuzz targets do not build; if only fuzz/Cargo.lock is behind: \
             cargo update --workspace --manifest-path fuzz/Cargo.toml"
                .to_owned(),
        ));
    }
    Ok(scratch.join(host).join("release"))
}

fn host() -> Result<String, Failure> {
    shell::output(&["rustc", "-vV"])
        .and_then(|version| {
            let line = version.lines().find_map(|line| line.strip_prefix("host: "))?;
            Some(line.to_owned())
        })
        .ok_or_else(|| Failure::Broken("`rustc -vV` does not name the host".to_owned()))
}

/// Where everything is.
struct Yard {
    root: PathBuf,
    scratch: PathBuf,
    binaries: PathBuf,
    seconds: u64,
}

impl Yard {
    fn fuzz(&self, target: &str) -> Result<(), Failure> {
        let log = self.scratch.join(format!("{target}.log"));
        let status = self
            .command(target, &log)
            .and_then(|mut command| command.status())
            .map_err(|cause| Failure::Broken(format!("cannot fuzz {target}: {cause}")))?;
        let said = fs::read(&log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if status.success() {
            say(&format!("{target:<10} {}\n", summary(&said)));
            return Ok(());
        }
        say(&format!(
            "{target} broke:\n{}\n\
             All it said is in {}. To see it again:\n  {} {}\n\
             Once repaired, move that input to fuzz/seeds/{target}: every run tries it first.\n",
            heart(&said),
            log.display(),
            self.binaries.join(target).display(),
            word_after(&said, "Test unit written to").unwrap_or("<input>"),
        ));
        Err(Failure::Found)
    }

    fn command(&self, target: &str, log: &Path) -> std::io::Result<Command> {
        let fuzz = self.root.join("fuzz");
        let corpus = fuzz.join("corpus").join(target);
        let crashes = fuzz.join("crashes");
        let seeds = self.scratch.join("seeds").join(target);
        fs::create_dir_all(&corpus)?;
        fs::create_dir_all(&crashes)?;
        let dictionary = seeds::gather(&self.root, target, &seeds)?;

        let mut command = Command::new(self.binaries.join(target));
        command
            .arg(format!("-max_total_time={}", self.seconds))
            .arg("-timeout=10")
            .arg("-rss_limit_mb=2048")
            .arg("-print_final_stats=1")
            .arg(format!("-artifact_prefix={}/{target}-", crashes.display()))
            .arg(format!("-dict={}", dictionary.display()))
            // The engine writes what it learns to the first folder, and only reads the others.
            .args([corpus, seeds])
            .stdout(File::create(log)?)
            .stderr(File::options().append(true).open(log)?);
        Ok(command)
    }
}

/// How many inputs were tried, and how many branches they reached.
fn summary(said: &str) -> String {
    let inputs = word_after(said, "stat::number_of_executed_units:").unwrap_or("no");
    let reached = word_after(said, "cov:").unwrap_or("no");
    format!("{inputs} inputs, {reached} edges reached, none broke it")
}

/// The word after the last of these marks.
fn word_after<'a>(said: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = said.rsplit_once(mark)?;
    rest.split_whitespace().next()
}

/// The lines that tell what happened: the panic, or the engine's own complaint.
fn heart(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.contains("panicked at") || line.contains("ERROR: libFuzzer"))
        .unwrap_or(0);
    let lines: Vec<&str> = lines.into_iter().skip(first).take(8).collect();
    lines.join("\n")
}

/// Writes in one piece, so that two targets do not write into each other's sentence.
fn say(text: &str) {
    // Nobody may be listening any more; the exit code still tells.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next()
}

fn push<T>(list: &Mutex<Vec<T>>, item: T) {
    list.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(item);
}

/// The files of a folder; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

fn usage(why: String) -> Failure {
    Failure::Usage(format!("{why}\n{}", crate::USAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_said_last_is_what_counts() {
        let said = "#2 NEW cov: 3 ft: 4\n#9 DONE cov: 33 ft: 40\n\
                    stat::number_of_executed_units: 900\n";
        assert_eq!(summary(said), "900 inputs, 33 edges reached, none broke it");
    }

    #[test]
    fn the_panic_is_the_heart_of_a_crash() {
        let said = "INFO: Seed: 1\nthread panicked at src/lib.rs:1:1:\nbecause\n";
        assert_eq!(heart(said), "thread panicked at src/lib.rs:1:1:\nbecause");
    }

    #[test]
    fn wishes_are_understood_or_refused() {
        let wish = |words: &[&str]| {
            let wish = Wish::from_words(words).ok()?;
            Some((wish.target, wish.seconds))
        };
        assert_eq!(wish(&[]), Some((None, 60)));
        assert_eq!(wish(&["--seconds", "3", "--target", "frr"]), Some((Some("frr".to_owned()), 3)));
        assert_eq!(wish(&["--seconds"]), None);
        assert_eq!(wish(&["--seconds", "soon"]), None);
        assert_eq!(wish(&["--runs", "3"]), None);
    }
}
