//! Commands of other programs, run at the root of the repository.

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Failure;

/// Runs a command line and shows what it prints.
pub(crate) fn run(line: &[&str]) -> Result<(), Failure> {
    let status = command(line)?.status().map_err(not_run(line))?;
    if status.success() { Ok(()) } else { Err(Failure::Found) }
}

/// Runs a command line and shows what it prints only if it fails.
pub(crate) fn run_unseen(line: &[&str]) -> Result<(), Failure> {
    let output = command(line)?.output().map_err(not_run(line))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    eprint!("{}", String::from_utf8_lossy(&said));
    Err(Failure::Found)
}

/// What a command prints, or nothing if there is no such program or it fails.
pub(crate) fn output(line: &[&str]) -> Option<String> {
    let output = command(line).ok()?.stderr(Stdio::null()).output().ok()?;
    if output.status.success() { String::from_utf8(output.stdout).ok() } else { None }
}

fn not_run(line: &[&str]) -> impl FnOnce(io::Error) -> Failure {
    move |cause| Failure::Broken(format!("cannot run {}: {cause}", line.join(" ")))
}

/// A command line, ready to run.
pub(crate) fn command(line: &[&str]) -> Result<Command, Failure> {
    let [program, arguments @ ..] = line else {
        unreachable!("a command line has at least a program");
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// The root of the repository.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    // Cargo sets this when it runs us; baked in at compile time it would not survive a move.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    manifest
        .and_then(|xtask| Some(xtask.parent()?.to_owned()))
        .ok_or_else(|| Failure::Broken("start this by `cargo xtask`".to_owned()))
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> Result<PathBuf, Failure> {
    let chosen = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(root()?.join(chosen))
}
