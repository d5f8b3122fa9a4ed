//! Documents to proof, all at once and one job at a time.

use std::sync::Arc;
use std::time::Duration;

use bench::{Figure, Peak, Scale, Table, Times, timed};
use intent::generate::{self, Wish};
use intent::{Intent, Source};
use model::{Artifact, DeviceId, Dialect, Job, JobName, NodeId, Part, Port, Share};
use plan::{Ledger, Planner, Touched};
use verify::Verifier;

/// How many jobs are taken away and added again.
const CHANGES: usize = 5_000;

/// The network alone, or all layers.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    layers: bool,
    /// How long judging a large fleet may take.
    verify_seconds: f64,
    /// How long one job's change may take.
    change_micros: u64,
}

/// Measures every stage from documents to proof, then one job removed and added again.
pub(crate) fn house(scales: &[Scale], table: &mut Table) {
    let kind = Kind { name: "house", layers: false, verify_seconds: 1.0, change_micros: 100 };
    measure(kind, scales, table);
}

/// The same with all layers of every node.
pub(crate) fn layers(scales: &[Scale], table: &mut Table) {
    let kind = Kind { name: "layers", layers: true, verify_seconds: 2.0, change_micros: 200 };
    measure(kind, scales, table);
}

fn measure(kind: Kind, scales: &[Scale], table: &mut Table) {
    let mut whole: Vec<(Scale, Duration, usize)> = Vec::new();
    for &scale in scales {
        eprintln!("  {} GPUs, {} jobs", scale.gpus, scale.jobs);
        let full = full(kind, scale, table);
        whole.push((scale, full.took, full.bytes));
        changes(kind, scale, full, table);
    }
    for pair in whole.windows(2) {
        let [(small, before, small_text), (large, after, large_text)] = pair else { continue };
        let growth = after.as_secs_f64() / before.as_secs_f64();
        for (unit, size) in [
            ("GPU", f64::from(large.gpus) / f64::from(small.gpus)),
            ("byte of text", *large_text as f64 / *small_text as f64),
        ] {
            let what = format!("{}: cost for a {unit}, beside {}", kind.name, small.name);
            let bound = Figure::Times(1.2);
            table.add_at_most(&what, Some(*large), Figure::Times(growth / size), bound);
        }
    }
}

/// A world in which everything was done once.
struct Full {
    intent: Intent,
    planner: Planner,
    verifier: Verifier,
    took: Duration,
    bytes: usize,
}

fn full(kind: Kind, scale: Scale, table: &mut Table) -> Full {
    let large = scale.name == "100k";
    let bound = |seconds: f64| large.then_some(Figure::Seconds(seconds));
    let name = |what: &str| format!("{}: {what}", kind.name);
    let row = |table: &mut Table, what: &str, took: Duration, bound: Option<Figure>| match bound {
        Some(bound) => table.add_at_most(&name(what), Some(scale), took, bound),
        None => table.add(&name(what), Some(scale), took),
    };
    let peak = Peak::begin();
    let wish = Wish {
        gpus: scale.gpus,
        tenants: scale.tenants,
        jobs: scale.jobs,
        nvl72_percent: 25,
        layers: kind.layers,
        ..Wish::default()
    };
    let documents = [generate::fleet(&wish), generate::workload(&wish)];
    let sources = documents.each_ref().map(|text| Source { file: "generated.yaml", text });

    let (intent, loading) = timed(|| intent::load(&sources));
    let intent =
        intent.unwrap_or_else(|refusals| panic!("the generator is wrong: {}", refusals[0]));
    row(table, "load and check documents", loading, bound(2.0));
    let leaves = intent.fleet.switches.iter().filter(|s| s.role == model::SwitchRole::Leaf).count();
    table.add(&name("leaves"), Some(scale), Figure::Count(leaves as u64));
    table.add(&name("jobs"), Some(scale), Figure::Count(intent.jobs.len() as u64));

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
        let bound = if stage == "verify" { bound(kind.verify_seconds) } else { None };
        row(table, &format!("{stage} ({share:.0} %)"), time, bound);
    }
    row(table, "plan to proof", took, bound(10.0));
    table.add(&name("text"), Some(scale), Figure::Bytes(bytes as u64));
    if let Some(peak) = peak.end() {
        table.add_at_most(&name("memory"), Some(scale), peak, Figure::mebibytes(4096));
    }
    Full { intent, planner, verifier, took, bytes }
}

fn read_all(artifacts: &[Artifact]) -> Vec<Vec<read::Reading>> {
    let of_one = |artifact: &Artifact| {
        artifact
            .parts
            .iter()
            .map(|part| read::part(artifact.dialect, &part.part, &part.text))
            .collect()
    };
    artifacts.iter().map(of_one).collect()
}

/// Takes jobs away and adds them again, each as a change of its own that is planned, rendered,
/// read and judged.
fn changes(kind: Kind, scale: Scale, mut full: Full, table: &mut Table) {
    let every = (full.intent.jobs.len() / CHANGES).max(1);
    let jobs: Vec<Job> = full.intent.jobs.values().step_by(every).take(CHANGES).cloned().collect();
    let (mut removing, mut adding) = (Vec::new(), Vec::new());
    for job in &jobs {
        let (touched, stages) = remove(&mut full, &job.name);
        removing.push(stages);
        see(&mut full.planner, &touched);
        adding.push(add(&mut full, job));
    }
    for (what, stages) in [("removed", removing), ("added", adding)] {
        tell(kind, scale, what, &stages, full.took, table);
    }
}

/// How long each stage of one change took.
#[derive(Clone, Copy, Default)]
struct Stages {
    plan: Duration,
    render: Duration,
    read: Duration,
    verify: Duration,
}

impl Stages {
    fn total(self) -> Duration {
        self.plan + self.render + self.read + self.verify
    }
}

fn tell(
    kind: Kind,
    scale: Scale,
    what: &str,
    stages: &[Stages],
    full: Duration,
    table: &mut Table,
) {
    let times = Times::new(stages.iter().map(|stages| stages.total()).collect());
    let large = scale.name == "100k";
    for (name, took, most) in
        [("mean", times.mean(), kind.change_micros), ("p99", times.p99(), 1000)]
    {
        let name = format!("{}: one job {what}, {name}", kind.name);
        if large {
            table.add_at_most(&name, Some(scale), took, Figure::micros(most));
        } else {
            table.add(&name, Some(scale), took);
        }
    }
    let of = |stage: fn(&Stages) -> Duration| Times::new(stages.iter().map(stage).collect());
    let mean = |stage| of(stage).mean();
    let verifying = of(|stages| stages.verify);
    for (name, took, most) in
        [("mean", verifying.mean(), kind.change_micros), ("p99", verifying.p99(), 1000)]
    {
        let name = format!("{}: one job {what}, verify, {name}", kind.name);
        if large {
            table.add_at_most(&name, Some(scale), took, Figure::micros(most));
        } else {
            table.add(&name, Some(scale), took);
        }
    }
    let name = format!("{}: one job {what}, verify, p50", kind.name);
    table.add(&name, Some(scale), verifying.p50());
    for (name, mean) in [
        ("plan", mean(|stages| stages.plan)),
        ("render", mean(|stages| stages.render)),
        ("read", mean(|stages| stages.read)),
    ] {
        table.add(&format!("{}: one job {what}, {name}", kind.name), Some(scale), mean);
    }
    let ratio = full.as_secs_f64() / times.mean().as_secs_f64();
    let name = format!("{}: a full run costs as many jobs {what}", kind.name);
    table.add(&name, Some(scale), Figure::Times(ratio));
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

fn remove(full: &mut Full, job: &JobName) -> (Touched, Stages) {
    let had = Had::of(&full.planner, job);
    let (touched, plan) = timed(|| full.planner.release(job));
    let _records = full.planner.seal();
    let touched = match touched {
        Ok(touched) => touched,
        Err(refusal) => panic!("a job that runs can be released: {refusal}"),
    };
    let stages = judge(full, &touched, job, &had, false);
    (touched, Stages { plan, ..stages })
}

fn add(full: &mut Full, job: &Job) -> Stages {
    let (touched, plan) = timed(|| full.planner.admit(job));
    let _records = full.planner.seal();
    let touched = match touched {
        Ok(touched) => touched,
        Err(refusal) => panic!("a job that was released fits again: {refusal}"),
    };
    let has = Had::of(&full.planner, &job.name);
    Stages { plan, ..judge(full, &touched, &job.name, &has, true) }
}

/// What a job has: its ports, and its share of each node.
struct Had {
    ports: Vec<(DeviceId, Port)>,
    shares: Vec<(NodeId, Share)>,
}

impl Had {
    fn of(planner: &Planner, job: &JobName) -> Self {
        let plan = planner.plan();
        let Some(net) = plan.jobs.get(job) else {
            panic!("a job that runs has a network");
        };
        let seats = net
            .groups
            .iter()
            .flat_map(|group| group.seats.iter().map(|seat| (group.device, seat.port)));
        Self { ports: seats.collect(), shares: plan.shares(job, net).collect() }
    }
}

/// Renders, reads and judges what a change touched.
fn judge(full: &mut Full, touched: &Touched, job: &JobName, had: &Had, owns: bool) -> Stages {
    let plan = full.planner.plan();
    let sheets: Vec<(DeviceId, Dialect, &Part)> = touched
        .0
        .iter()
        .flat_map(|(device, part)| {
            plan.fleet.dialects(*device).map(move |dialect| (*device, dialect, part))
        })
        .collect();
    let (texts, render) = timed(|| {
        let text =
            |(device, dialect, part): &(_, _, &Part)| render::part(plan, *device, *dialect, part);
        sheets.iter().map(text).collect::<Vec<_>>()
    });
    let (readings, read) = timed(|| {
        let read = |(text, (_, dialect, part)): (&Option<String>, &(_, Dialect, &Part))| {
            text.as_ref().map(|text| read::part(*dialect, part, text))
        };
        texts.iter().zip(&sheets).map(read).collect::<Vec<_>>()
    });
    let (findings, verify) = timed(|| {
        full.verifier.own(owns.then_some(job), had.ports.iter().copied());
        for (node, share) in &had.shares {
            full.verifier.share(*node, job, owns.then_some(*share));
        }
        for ((device, dialect, part), reading) in sheets.iter().zip(readings) {
            full.verifier.take(*device, *dialect, part, reading);
        }
        full.verifier.judge()
    });
    assert!(findings.is_empty(), "a sound change: {}", findings[0].sentence(&plan.fleet));
    Stages { plan: Duration::ZERO, render, read, verify }
}
