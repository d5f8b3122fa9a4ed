//! Documents to proof, all at once and one job at a time.

use std::sync::Arc;
use std::time::Duration;

use bench::{Figure, Peak, Scale, Table, Times, timed};
use intent::generate::{self, Wish};
use intent::{Intent, Source};
use model::{Artifact, Job, JobName, Part};
use plan::{Ledger, Planner, Touched};
use verify::Verifier;

/// How many jobs are taken away and added again.
const CHANGES: usize = 2_000;

/// Measures every stage from documents to proof, then one job removed and added again.
pub(crate) fn house(scales: &[Scale], table: &mut Table) {
    let mut whole: Vec<(Scale, Duration)> = Vec::new();
    for &scale in scales {
        eprintln!("  {} GPUs, {} jobs", scale.gpus, scale.jobs);
        let full = full(scale, table);
        whole.push((scale, full.took));
        changes(scale, full, table);
    }
    for pair in whole.windows(2) {
        let [(small, before), (large, after)] = pair else { continue };
        let growth = after.as_secs_f64() / before.as_secs_f64();
        let size = f64::from(large.gpus) / f64::from(small.gpus);
        let what = format!("house: cost for a GPU, beside {}", small.name);
        table.add_at_most(&what, Some(*large), Figure::Times(growth / size), Figure::Times(1.2));
    }
}

/// A world in which everything was done once.
struct Full {
    intent: Intent,
    planner: Planner,
    verifier: Verifier,
    took: Duration,
}

fn full(scale: Scale, table: &mut Table) -> Full {
    let large = scale.name == "100k";
    let bound = |seconds: f64| large.then_some(Figure::Seconds(seconds));
    let row = |table: &mut Table, what: &str, took: Duration, bound: Option<Figure>| match bound {
        Some(bound) => table.add_at_most(what, Some(scale), took, bound),
        None => table.add(what, Some(scale), took),
    };
    let peak = Peak::begin();
    let wish = Wish {
        gpus: scale.gpus,
        tenants: scale.tenants,
        jobs: scale.jobs,
        nvl72_percent: 25,
        ..Wish::default()
    };
    let documents = [generate::fleet(&wish), generate::workload(&wish)];
    let sources = documents.each_ref().map(|text| Source { file: "generated.yaml", text });

    let (intent, loading) = timed(|| intent::load(&sources));
    let intent =
        intent.unwrap_or_else(|refusals| panic!("the generator is wrong: {}", refusals[0]));
    row(table, "house: load and check documents", loading, bound(2.0));
    let leaves = intent.fleet.switches.iter().filter(|s| s.role == model::SwitchRole::Leaf).count();
    table.add("house: leaves", Some(scale), Figure::Count(leaves as u64));
    table.add("house: jobs", Some(scale), Figure::Count(intent.jobs.len() as u64));

    let (planner, planning) = timed(|| Planner::new(&intent, &Ledger::default()));
    let planner =
        planner.unwrap_or_else(|refusals| panic!("the generator is wrong: {}", refusals[0]));
    let (artifacts, rendering) = timed(|| render::all(planner.plan()));
    let bytes: usize = artifacts.iter().flat_map(|a| &a.parts).map(|part| part.text.len()).sum();
    let (readings, reading) = timed(|| read_all(&artifacts));
    let owners = planner.plan().owners();
    let ((verifier, findings), verifying) = timed(|| {
        let mut verifier = Verifier::new(Arc::clone(&intent.fleet), &owners);
        for (artifact, readings) in artifacts.iter().zip(readings) {
            for (part, reading) in artifact.parts.iter().zip(readings) {
                verifier.take(artifact.device, artifact.dialect, &part.part, Some(reading));
            }
        }
        let findings = verifier.judge();
        (verifier, findings)
    });
    assert!(
        findings.is_empty(),
        "a sound plan was refused: {}",
        findings[0].sentence(&intent.fleet)
    );

    let took = planning + rendering + reading + verifying;
    for (stage, time) in
        [("plan", planning), ("render", rendering), ("read", reading), ("verify", verifying)]
    {
        let share = 100.0 * time.as_secs_f64() / took.as_secs_f64();
        let bound = if stage == "verify" { bound(1.0) } else { None };
        row(table, &format!("house: {stage} ({share:.0} %)"), time, bound);
    }
    row(table, "house: plan to proof", took, bound(10.0));
    table.add("house: text", Some(scale), Figure::Bytes(bytes as u64));
    if let Some(peak) = peak.end() {
        table.add_at_most("house: memory", Some(scale), peak, Figure::mebibytes(4096));
    }
    Full { intent, planner, verifier, took }
}

fn read_all(artifacts: &[Artifact]) -> Vec<Vec<read::Reading>> {
    let of_one = |artifact: &Artifact| {
        artifact.parts.iter().map(|part| read::claims(artifact.dialect, &part.text)).collect()
    };
    artifacts.iter().map(of_one).collect()
}

/// Takes jobs away and adds them again, each as a change of its own that is planned, rendered,
/// read and judged.
fn changes(scale: Scale, mut full: Full, table: &mut Table) {
    let every = (full.intent.jobs.len() / CHANGES).max(1);
    let jobs: Vec<Job> = full.intent.jobs.values().step_by(every).take(CHANGES).cloned().collect();
    let mut removing = Vec::with_capacity(jobs.len());
    let mut adding = Vec::with_capacity(jobs.len());
    for job in &jobs {
        let (touched, took) = timed(|| remove(&mut full, &job.name));
        removing.push(took);
        let _records = full.planner.seal();
        see(&mut full.planner, &touched);
        adding.push(timed(|| add(&mut full, job)).1);
        let _records = full.planner.seal();
    }
    let large = scale.name == "100k";
    for (what, times) in [("removed", Times::new(removing)), ("added", Times::new(adding))] {
        let (mean, p99) =
            (format!("change: one job {what}, mean"), format!("change: one job {what}, p99"));
        if large {
            table.add_at_most(&mean, Some(scale), times.mean(), Figure::micros(100));
            table.add_at_most(&p99, Some(scale), times.p99(), Figure::micros(1000));
        } else {
            table.add(&mean, Some(scale), times.mean());
            table.add(&p99, Some(scale), times.p99());
        }
        let ratio = full.took.as_secs_f64() / times.mean().as_secs_f64();
        let what = format!("change: a full run costs as many jobs {what}");
        table.add(&what, Some(scale), Figure::Times(ratio));
    }
}

/// Notes that every touched device was seen with what it was sent, so that nothing rests.
fn see(planner: &mut Planner, touched: &Touched) {
    let generation = planner.plan().generation;
    let fleet = Arc::clone(&planner.plan().fleet);
    for (device, part) in &touched.0 {
        if matches!(part, Part::Job(_)) {
            let known = planner.seen(fleet.device_name(*device), generation);
            assert!(known.is_ok(), "the generation was planned");
        }
    }
}

fn remove(full: &mut Full, job: &JobName) -> Touched {
    let ports: Vec<_> = ports(&full.planner, job);
    let touched = match full.planner.release(job) {
        Ok(touched) => touched,
        Err(refusal) => panic!("a job that runs can be released: {refusal}"),
    };
    for (device, port) in ports {
        full.verifier.own(device, port, None);
    }
    judge(full, &touched);
    touched
}

fn add(full: &mut Full, job: &Job) {
    let touched = match full.planner.admit(job) {
        Ok(touched) => touched,
        Err(refusal) => panic!("a job that was released fits again: {refusal}"),
    };
    for (device, port) in ports(&full.planner, &job.name) {
        full.verifier.own(device, port, Some(&job.name));
    }
    judge(full, &touched);
}

fn ports(planner: &Planner, job: &JobName) -> Vec<(model::DeviceId, model::Port)> {
    let groups = planner.plan().jobs.get(job).into_iter().flat_map(|net| &net.groups);
    groups.flat_map(|group| group.seats.iter().map(|seat| (group.device, seat.port))).collect()
}

/// Renders, reads and judges what a change touched.
fn judge(full: &mut Full, touched: &Touched) {
    let plan = full.planner.plan();
    for (device, part) in &touched.0 {
        for &dialect in plan.fleet.dialects(*device) {
            let text = render::part(plan, *device, dialect, part);
            let reading = text.map(|text| read::claims(dialect, &text));
            full.verifier.take(*device, dialect, part, reading);
        }
    }
    let findings = full.verifier.judge();
    assert!(findings.is_empty(), "a sound change: {}", findings[0].sentence(&plan.fleet));
}
