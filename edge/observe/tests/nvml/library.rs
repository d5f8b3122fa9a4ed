//! The modelled library, compiled from `library.c` and put among a node's files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const SOURCE: &str = include_str!("library.c");
pub(crate) const PLACE: &str = "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1";
pub(crate) const BOOT: &str = "proc/sys/kernel/random/boot_id";

/// Puts a library that says this among the files of a node that is this machine.
pub(crate) fn put(root: &Path, says: &str) {
    static WHOLE: OnceLock<PathBuf> = OnceLock::new();
    put_made(root, says, WHOLE.get_or_init(|| compile("whole", &[])));
}

/// The same without a call that all newer ones have.
#[allow(dead_code, reason = "the command's tests need only the whole one")]
pub(crate) fn put_old(root: &Path, says: &str) {
    static OLD: OnceLock<PathBuf> = OnceLock::new();
    put_made(root, says, OLD.get_or_init(|| compile("old", &["-DLACKS_MODULE_ID"])));
}

/// A copy for each node: a file that is loaded already is not loaded again.
fn put_made(root: &Path, says: &str, library: &Path) {
    put_file(root, PLACE, &fs::read(library).unwrap());
    put_file(root, &format!("{PLACE}.says"), says.as_bytes());
    put_file(root, BOOT, &fs::read(Path::new("/").join(BOOT)).unwrap());
}

/// A file of a node, whatever is in it.
pub(crate) fn put_file(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Other tests may do the same at the same time, so it gets its name when it is whole.
fn compile(name: &str, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = folder.join(format!("nvml-{name}-{}", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]).args(options);
    compiler.arg("-o").arg(&made).args(["-x", "c", "-"]).stdin(Stdio::piped());
    let mut running = compiler.spawn().unwrap();
    running.stdin.take().unwrap().write_all(SOURCE.as_bytes()).unwrap();
    assert!(running.wait().unwrap().success(), "cc cannot compile the modelled library");
    let kept = folder.join(format!("nvml-{name}.so"));
    fs::rename(made, &kept).unwrap();
    kept
}
