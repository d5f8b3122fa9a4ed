//! A lab that is gone after the test, however that ends, and the program that works on it.

use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::{Lab, Spec, Workload};
use observe::Backing;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::answers;

/// What the lab's documents ask for, and nothing else, is in force afterwards.
pub(crate) const APPLY: &[&str] = &["apply", "--to", "agents", "--prune", "--yes"];

/// A step that takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct Standing {
    name: String,
    lab: Lab,
}

impl Standing {
    /// Two leaves, one spine.
    pub(crate) fn up(kind: &str, tenants: u16) -> Self {
        Self::of(Path::new(env!("CARGO_BIN_EXE_bulkhead")), kind, tenants)
    }

    /// The same, with agents that are this program.
    pub(crate) fn of(program: &Path, kind: &str, tenants: u16) -> Self {
        let name = format!("d{}{kind}", std::process::id());
        let program = program.to_owned();
        let vrfs = Backing::Namespaces;
        let spec = Spec { name: name.clone(), leaves: 2, spines: 1, tenants, vrfs, program };
        let lab = Lab::up(&spec, &mut |_| {}).unwrap();
        Self { name, lab }
    }

    pub(crate) fn workload(&self, name: &str) -> &Workload {
        self.workloads().iter().find(|one| one.name == name).unwrap()
    }

    /// The program, with what every command on this lab needs, for people.
    pub(crate) fn bulkhead(&self, command: &[&str]) -> Command {
        assert!(!answers::is_json(command), "JSON is read by `data` and `listen`");
        self.any_command(command)
    }

    /// The same for programs: how it ended, and its one answer.
    pub(crate) fn data(&self, command: &[&str]) -> (Option<i32>, Value) {
        let command = [command, &["-o", "json"]].concat();
        let output = self.any_command(&command).output().unwrap();
        let (code, said) = (output.status.code(), String::from_utf8(output.stdout).unwrap());
        answers::insist(&command, code, &said);
        (code, serde_json::from_str(&said).unwrap())
    }

    /// Starts a command that answers line by line.
    pub(crate) fn listen(&self, command: &[&str]) -> (Child, impl Iterator<Item = Value> + use<>) {
        let command = [command, &["-o", "json"]].concat();
        answers::listen(&command, self.any_command(&command))
    }

    fn any_command(&self, command: &[&str]) -> Command {
        let mut bulkhead = Command::new(env!("CARGO_BIN_EXE_bulkhead"));
        bulkhead.args(command).arg(self.documents());
        bulkhead.arg("--ca").arg(self.authority()).arg("--state").arg(self.state());
        bulkhead.stdin(Stdio::null());
        bulkhead
    }

    /// Whether it went well, and what it said.
    pub(crate) fn ask(&self, command: &[&str]) -> (Option<i32>, String) {
        let output = self.bulkhead(command).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    /// How the agent of a device is, if it answers.
    pub(crate) fn status(&self, device: &str) -> Option<agent::Status> {
        let fleet = agents(self);
        let mut statuses = fleet.statuses().into_iter();
        statuses.find(|(name, _)| name.as_str() == device)?.1.ok()
    }
}

/// The agents of a lab, talked to on threads that last as long as the tests.
pub(crate) fn agents(lab: &Lab) -> agent::Agents {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    agent::Agents::open(&lab.authority(), RUNTIME.handle().clone()).unwrap()
}

impl Deref for Standing {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let removed = Lab::remove(&self.name);
        // A test that failed says itself what went wrong.
        if !std::thread::panicking() {
            removed.unwrap();
        }
    }
}

/// Waits until it is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "this does not come: {what}");
        sleep(Duration::from_millis(10));
    }
}
