//! A node that dies at any step is brought to the end by the next run.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use apply::{Linux, ManagedNode as _};
use model::Generation;
use nix::sys::signal::{Signal, raise};

use crate::hold::{check_holds, plug_all};
use crate::world::{
    OTHER_JOB, OTHER_TENANT, Plan, TRAIN_A, Workload, in_device, opened, place, whole_plan,
};

/// At which step the child kills itself.
const KILL_AT: &str = "KILL_AT";
/// Which of the changes it dies in.
const CHANGE: &str = "CHANGE";
const STEPS: usize = 30;

/// How a plan becomes another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Change {
    /// A tenant goes, and others come.
    Tenants,
    /// A tenant that is there gets one more job.
    JobComes,
    /// A tenant that stays loses a job.
    JobGoes,
}

impl Change {
    const ALL: [Self; 3] = [Self::Tenants, Self::JobComes, Self::JobGoes];

    fn plans(self) -> [Plan; 2] {
        let plan =
            |workloads: &[Workload]| Plan { workloads: workloads.to_vec(), consents: Vec::new() };
        let [one, both] = [plan(&[TRAIN_A]), plan(&[TRAIN_A, OTHER_JOB])];
        match self {
            Self::Tenants => {
                let mut after = whole_plan();
                after.workloads.retain(|workload| workload.tenant != OTHER_TENANT.tenant);
                [plan(&[TRAIN_A, OTHER_TENANT]), after]
            }
            Self::JobComes => [one, both],
            Self::JobGoes => [both, one],
        }
    }
}

/// Holds the second plan, or dies in it. Only the test below starts it.
#[test]
#[ignore = "the other process of the next test"]
fn hold_and_die() {
    let kill_at: usize = std::env::var(KILL_AT).unwrap().parse().unwrap();
    let change: usize = std::env::var(CHANGE).unwrap().parse().unwrap();
    let [_, after] = Change::ALL[change].plans();
    let mut node = Linux::open(place()).unwrap();
    let mut steps = 0;
    node.hold(&after.sent(2), &mut |_| {
        if steps == kill_at {
            raise(Signal::SIGKILL).unwrap();
        }
        steps += 1;
    })
    .unwrap();
}

#[test]
fn killed_at_any_step_the_next_run_completes() {
    check(Change::Tenants);
}

#[test]
fn killed_at_any_step_of_a_jobs_start_the_next_run_completes() {
    check(Change::JobComes);
}

#[test]
fn killed_at_any_step_of_a_jobs_end_the_next_run_completes() {
    check(Change::JobGoes);
}

fn check(change: Change) {
    let place_of_change = Change::ALL.iter().position(|known| *known == change).unwrap();
    let mut steps = 0;
    for kill_at in 0..STEPS {
        let died = in_device(|device| {
            let [before, after] = change.plans();
            plug_all(device);
            opened(&before, 1);
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "kills::hold_and_die", "--ignored"])
                .env(KILL_AT, kill_at.to_string())
                .env(CHANGE, place_of_change.to_string())
                .output()
                .unwrap();
            let died = child.status.signal() == Some(Signal::SIGKILL as i32);
            assert!(died || child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            let mut node = Linux::open(place()).unwrap();
            node.hold(&after.sent(2), &mut |_| {}).unwrap();
            node.start(Generation(2)).unwrap();
            check_holds(&mut node, &after);
            died
        });
        match died {
            Some(true) => steps += 1,
            Some(false) => break,
            None => return,
        }
    }
    assert!((5..STEPS).contains(&steps), "{change:?} has {steps} steps");
}
