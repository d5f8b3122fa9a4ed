//! How long a job's start takes, and how long nothing does.

use std::thread;
use std::time::Duration;

use ::lab::Lab;
use agent::{Wish, rehearse};

use super::Part;
use super::controller::{Controller, Steps};
use super::report::{Report, Times, Unit, row};
use crate::ending::Stop;

/// How often a job comes and goes.
const TIMES: usize = 50;
/// What the fabric does after a change ends before the next.
const PAUSE: Duration = Duration::from_millis(400);
/// How many agents are made of memory.
const MANY: usize = 1000;

/// A job on all leaves comes and goes, of a tenant that is on all leaves already.
pub(super) fn job(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let part = Part::JobStart;
    let mut controller = Controller::of(lab)?;
    let wish = Wish::default();
    let resident = job_on_all_leaves(lab, "resident", 3);
    let first = controller.apply(&resident, &wish)?;
    thread::sleep(PAUSE);
    let both = resident.clone() + &job_on_all_leaves(lab, "burst", 2);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        starts.push(controller.apply(&both, &wish)?);
        thread::sleep(PAUSE);
        ends.push(controller.apply(&resident, &wish)?);
        thread::sleep(PAUSE);
    }
    let count = format!("{TIMES} jobs of {} endpoints", leaves(lab));
    let times = |of: fn(&Steps) -> Duration| Times::of(starts.iter().map(of));
    let ms = |name: &str, time| row(part, name, Unit::Milliseconds.of(time), Unit::Milliseconds);
    let whole = times(|steps| steps.whole);
    let agents = lab.devices().len();
    let name = |percent| format!("in force on {agents} agents, p{percent}");
    report.push(ms(&name(50), whole.percent(50)).at_most(50.0).noting(count));
    report.push(ms(&name(99), whole.percent(99)).at_most(250.0));
    type Step = (&'static str, fn(&Steps) -> Duration);
    let steps: [Step; 4] = [
        ("of which reading, planning, rendering, proving, p50", |steps| steps.thought),
        ("of which writing the log, p50", |steps| steps.logged),
        ("of which holding, slowest device, p50", |steps| steps.held),
        ("of which starting, slowest device, p50", |steps| steps.started),
    ];
    for (name, of) in steps {
        report.push(ms(name, times(of).percent(50)));
    }
    let ends = Times::of(ends.iter().map(|steps| steps.whole));
    report.push(ms("gone from all agents, p50", ends.percent(50)));
    let note = "new VRFs on four leaves, once";
    report.push(ms("first job of a tenant", first.whole).noting(note));
    Ok(())
}

/// A plan that everybody holds is applied again.
pub(super) fn nothing(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let part = Part::Unchanged;
    let mut controller = Controller::of(lab)?;
    let wish = Wish::default();
    controller.apply("", &wish)?;
    let mut all = Vec::new();
    for _ in 0..TIMES {
        thread::sleep(PAUSE);
        all.push(controller.apply("", &wish)?);
    }
    let touched: usize = all.iter().map(|steps| steps.touched).sum();
    let times = Times::of(all.iter().map(|steps| steps.held));
    let ms = |name: &str, time| row(part, name, Unit::Milliseconds.of(time), Unit::Milliseconds);
    let note = "of all devices at once: none took longer";
    report.push(row(part, "texts that changed anything", touched as f64, Unit::Count).at_most(0.0));
    report.push(ms("a device, p50", times.percent(50)).at_most(200.0).noting(note));
    report.push(ms("a device, p99", times.percent(99)).at_most(200.0));
    Ok(())
}

/// A thousand agents: everything but devices.
pub(super) fn rehearsed(report: &mut Report) -> Result<(), Stop> {
    let part = Part::Agents;
    let seen = rehearse(MANY)?;
    let ms = |name: &str, time| row(part, name, Unit::Milliseconds.of(time), Unit::Milliseconds);
    let agents = seen.agents;
    let name = |percent| format!("in force on {agents} simulated agents, p{percent}");
    report.push(ms(&name(50), seen.p50).noting(format!("{} jobs", seen.jobs)));
    report.push(ms(&name(99), seen.p99).at_most(1000.0));
    report.push(ms("the first lines to all of them", seen.connect));
    Ok(())
}

/// A job of the tenant that serves files, with this interface of its node at each leaf.
fn job_on_all_leaves(lab: &Lab, name: &str, nic: u16) -> String {
    let endpoints: Vec<String> =
        (1..=leaves(lab)).map(|leaf| format!("vault-{leaf}/{nic}")).collect();
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{tenant: vault, \
         endpoints: [{}]}}\n---\n",
        endpoints.join(", ")
    )
}

fn leaves(lab: &Lab) -> usize {
    lab.devices().iter().filter(|device| device.starts_with("leaf-")).count()
}
