use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of a test and the programs that run in it. Both are gone when it is dropped.
pub(crate) struct Room {
    folder: PathBuf,
    children: Vec<Child>,
}

impl Room {
    pub(crate) fn new(name: &str) -> Self {
        /// Tests run beside each other.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        Self { folder, children: Vec::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Starts a program that runs as long as the room is there.
    pub(crate) fn start(&mut self, command: &mut Command) {
        self.children.push(command.spawn().unwrap());
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended by itself needs neither.
            drop(child.kill());
            drop(child.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Whether a program was content, and all it said.
pub(crate) fn ask(command: &mut Command) -> (bool, String) {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?} is not here: run `cargo xtask setup` ({error})"),
    };
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// A path below the repository.
pub(crate) fn at_home(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
