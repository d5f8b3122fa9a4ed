//! How long a job's start takes, and how long nothing does.

use std::thread;
use std::time::Duration;

use ::lab::Lab;
use agent::rehearse;
use apply::OnDrift;

use super::Part;
use super::controller::{Controller, Steps};
use super::report::{Report, Row, Times, Unit, row};
use crate::ending::Stop;

/// How often a job comes and goes.
const TIMES: usize = 100;
/// How often ports go from one tenant to another.
const MOVES: usize = 20;
/// What the fabric does after a change ends before the next.
const PAUSE: Duration = Duration::from_millis(400);
/// How many agents are made of memory.
const MANY: usize = 1000;

/// A job on all leaves comes and goes, of a tenant that is on all leaves already.
pub(super) fn job(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let mut controller = Controller::of(lab)?;
    let resident = on_leaves("vault", "resident", 1..=leaves(lab), 3);
    let burst = on_leaves("vault", "burst", 1..=leaves(lab), 2);
    let first = controller.apply(&resident, OnDrift::Repair)?;
    thread::sleep(PAUSE);
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        starts.push(controller.apply(&(resident.clone() + &burst), OnDrift::Repair)?);
        thread::sleep(PAUSE);
        ends.push(controller.apply(&resident, OnDrift::Repair)?);
        thread::sleep(PAUSE);
    }
    let moved = moved(lab, &mut controller)?;
    tell_starts(lab, &starts, report);
    let ends = Times::of(ends.iter().map(|steps| steps.whole));
    report.push(ms("gone from all agents, p50", ends.percent(50)));
    let note = format!("on {} leaves, {MOVES} times", inner_leaves(lab).count());
    report.push(ms("its ports were another tenant's, p50", moved.percent(50)).noting(note));
    report.push(ms("its ports were another tenant's, the longest", moved.percent(100)));
    let note = "new VRFs on four leaves, once";
    report.push(ms("first job of a tenant", first.whole).noting(note));
    Ok(())
}

fn tell_starts(lab: &Lab, starts: &[Steps], report: &mut Report) {
    let times = |of: fn(&Steps) -> Duration| Times::of(starts.iter().map(of));
    let whole = times(|steps| steps.whole);
    let count = format!("{TIMES} jobs of {} endpoints", leaves(lab));
    let agents = lab.devices().len();
    let name = |percent| format!("in force on {agents} agents, p{percent}");
    report.push(ms(&name(50), whole.percent(50)).at_most(50.0).noting(count));
    report.push(ms(&name(99), whole.percent(99)).at_most(250.0));
    report.push(ms("the longest of them", whole.percent(100)));
    if let Some(first) = starts.first() {
        let note = "ports that no job had before: one kernel takes them one after the other";
        report.push(ms("the first of them", first.whole).noting(note));
    }
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
}

/// Two tenants, which are on all leaves, have the same ports by turns.
fn moved(lab: &Lab, controller: &mut Controller) -> Result<Times, Stop> {
    // The nodes are vault's until it was seen to have gone.
    controller.apply("", OnDrift::Repair)?;
    thread::sleep(PAUSE);
    let mut starts = Vec::new();
    for turn in 0..=MOVES {
        let tenant = if turn % 2 == 0 { "blue" } else { "red" };
        let guest = on_leaves(tenant, "guest", inner_leaves(lab), 2);
        starts.push(controller.apply(&guest, OnDrift::Repair)?.whole);
        thread::sleep(PAUSE);
        controller.apply("", OnDrift::Repair)?;
        thread::sleep(PAUSE);
    }
    // Nobody of the two had them before the first.
    Ok(Times::of(starts.into_iter().skip(1)))
}

/// A plan that everybody holds is applied again.
pub(super) fn nothing(lab: &Lab, report: &mut Report) -> Result<(), Stop> {
    let part = Part::Unchanged;
    let mut controller = Controller::of(lab)?;
    controller.apply("", OnDrift::Repair)?;
    let mut all = Vec::new();
    for _ in 0..TIMES {
        thread::sleep(PAUSE);
        all.push(controller.apply("", OnDrift::Repair)?);
    }
    let touched: usize = all.iter().map(|steps| steps.touched).sum();
    let times = Times::of(all.iter().map(|steps| steps.held));
    let ms = |name: &str, time| row(part, name, Unit::Milliseconds.of(time), Unit::Milliseconds);
    let note = "of all devices at once: none took longer";
    report
        .push(row(part, "devices that changed anything", touched as f64, Unit::Count).at_most(0.0));
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

/// A job with this interface of the file server's node at each of the leaves.
fn on_leaves(tenant: &str, name: &str, leaves: impl Iterator<Item = usize>, nic: u16) -> String {
    let endpoints: Vec<String> = leaves.map(|leaf| format!("vault-{leaf}/{nic}")).collect();
    format!(
        "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{tenant: \
         {tenant}, endpoints: [{}]}}\n---\n",
        endpoints.join(", ")
    )
}

/// The leaves where the file server itself is not, so that its node is anybody's.
fn inner_leaves(lab: &Lab) -> impl Iterator<Item = usize> {
    2..leaves(lab)
}

fn ms(name: &str, time: Duration) -> Row {
    row(Part::JobStart, name, Unit::Milliseconds.of(time), Unit::Milliseconds)
}

fn leaves(lab: &Lab) -> usize {
    lab.devices().iter().filter(|device| device.starts_with("leaf-")).count()
}
