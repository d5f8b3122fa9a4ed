//! A node that dies at any step is brought to the end by the next run.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use apply::{Linux, Node as _};
use model::Generation;
use nix::sys::signal::{Signal, raise};

use crate::hold::{check_holds, plug_all};
use crate::world::{OTHER_TENANT, Plan, TRAIN_A, in_device, opened, place, whole_plan};

/// At which step the child kills itself.
const KILL_AT: &str = "KILL_AT";
const STEPS: usize = 30;

fn before() -> Plan {
    Plan { workloads: vec![TRAIN_A, OTHER_TENANT], consents: Vec::new() }
}

fn after() -> Plan {
    let mut plan = whole_plan();
    plan.workloads.retain(|workload| workload.tenant != OTHER_TENANT.tenant);
    plan
}

/// Holds the second plan, or dies in it. Only the test below starts it.
#[test]
#[ignore = "the other process of the next test"]
fn hold_and_die() {
    let kill_at: usize = std::env::var(KILL_AT).unwrap().parse().unwrap();
    let mut node = Linux::open(place()).unwrap();
    let mut steps = 0;
    node.hold(&after().sent(2), &mut |_| {
        if steps == kill_at {
            raise(Signal::SIGKILL).unwrap();
        }
        steps += 1;
    })
    .unwrap();
}

#[test]
fn killed_at_any_step_the_next_run_completes() {
    let mut steps = 0;
    for kill_at in 0..STEPS {
        let died = in_device(|device| {
            plug_all(device);
            opened(&before(), 1);
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "kills::hold_and_die", "--ignored"])
                .env(KILL_AT, kill_at.to_string())
                .output()
                .unwrap();
            let died = child.status.signal() == Some(Signal::SIGKILL as i32);
            assert!(died || child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            let mut node = Linux::open(place()).unwrap();
            node.hold(&after().sent(2), &mut |_| {}).unwrap();
            node.start(Generation(2)).unwrap();
            check_holds(&mut node, &after());
            died
        });
        match died {
            Some(true) => steps += 1,
            Some(false) => break,
            None => return,
        }
    }
    assert!((5..STEPS).contains(&steps), "it has {steps} steps");
}
