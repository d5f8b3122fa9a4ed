//! The packet program: compiled, kept beside its source, and compared.

use std::fs;
use std::path::PathBuf;

use crate::{Failure, shell};

const FOLDER: &str = "edge/filter/bpf";
/// The kept object is what this compiler makes, byte for byte.
const COMPILER: &str = "clang-14";
const STRIP: &str = "llvm-strip-14";

/// Every program, with the object users get.
const PROGRAMS: [(&str, &str); 3] =
    [("filter.bpf.c", "filter.o"), ("bench.bpf.c", "bench.o"), ("probe.bpf.c", "probe.o")];

/// Compiles the programs and keeps what comes out, or only compares it with what is kept.
pub(crate) fn run(check: bool) -> Result<(), Failure> {
    let mut differ = Vec::new();
    for (source, object) in PROGRAMS {
        let made = compile(source)?;
        let kept = shell::root()?.join(FOLDER).join(object);
        let same = fs::read(&made).ok() == fs::read(&kept).ok();
        match (same, check) {
            (true, _) => println!("{object} is what {COMPILER} makes of {source}."),
            (false, true) => differ.push(object),
            (false, false) => {
                fs::copy(&made, &kept).map_err(|error| Failure::Broken(error.to_string()))?;
                println!("{object} was made anew.");
            }
        }
        let _ = fs::remove_file(made);
    }
    if differ.is_empty() {
        return Ok(());
    }
    println!("Not what {COMPILER} makes of the source: {}.", differ.join(", "));
    println!("`cargo xtask object` makes it anew.");
    Err(Failure::Found)
}

/// Compiled inside of its folder, so that no path of this machine gets into the object.
fn compile(source: &str) -> Result<PathBuf, Failure> {
    let made = std::env::temp_dir().join(format!("{source}-{}.o", std::process::id()));
    let output = made.display().to_string();
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let compile = [
        COMPILER,
        "-O2",
        "-g",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-Wall",
        "-Werror",
        "-fdebug-compilation-dir=.",
        &headers,
        "-c",
        source,
        "-o",
        &output,
    ];
    let folder = shell::root()?.join(FOLDER);
    let status = shell::command(&compile)?.current_dir(folder).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::Broken(format!("{COMPILER} does not compile {source}")));
    }
    shell::run(&[STRIP, "-g", &output])?;
    Ok(made)
}
