//! `bulkhead place`: where a gang would go, or what is in its way.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::Args;
use control::Placed;
use model::{Fleet, Job, JobName, NodeId, mig_profiles};
use plan::place::{Explained, Preemption, Spot, Step, Tried, Victim};
use render::MigInstance;
use serde::Serialize;

pub(super) mod spot;
pub(super) mod wanted;

use super::Output;
use crate::documents::Documents;
use crate::ending::{Ended, Refusal, Stop};
use crate::state::State;
use crate::words::{
    self, BAD, DIM, Format, GOOD, HEAD, NAME, NOTE, Table, cell, examples, number, painted, plural,
    some,
};
use spot::SpotView;
use wanted::Wanted;

/// Show where a gang would go, or what is in its way, and change nothing
///
/// All that the documents ask for is placed first, as a plan would. A gang is all or nothing,
/// stays inside one pod, and gets GPUs that its tenant's grade, quota, law and software allow.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead place cluster.yaml --tenant tenant-1 --gpus 64" => "where 64 GPUs would be",
    "bulkhead place cluster.yaml --tenant tenant-1 --gpus 256 --within leaf --explain"
        => "what each constraint leaves, and the best place at each level",
    "bulkhead place cluster.yaml --tenant tenant-1 --gpus 64 --preempts own"
        => "whom it would stop if there is no room",
    "bulkhead place cluster.yaml --job tenant-1/job-21" => "a job of the documents: where it is, or why not",
))]
pub(crate) struct Place {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    wanted: Wanted,
    /// Show what each constraint leaves, and the best place at each level, for a gang that has none
    #[arg(long)]
    explain: bool,
    /// For slices: print the configuration of mig-parted for each node, and nothing else
    #[arg(long, requires = "slices", conflicts_with = "format")]
    mig_parted: bool,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What is said about one gang.
#[derive(Serialize)]
struct Answer {
    job: String,
    /// Whether it is there already.
    held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<SpotView>,
    /// Whole gangs that must be stopped first.
    stops: Vec<Stopped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<Tale>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Refusal>,
}

#[derive(Serialize)]
struct Stopped {
    job: String,
    gpus: u32,
    /// Whether its GPUs are another tenant's, and must be scrubbed first.
    scrub: bool,
}

/// How the answer came about.
#[derive(Serialize)]
struct Tale {
    wanted: u32,
    constraints: Vec<Step>,
    levels: Vec<Tried>,
}

impl Place {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let (intent, ledger) = self.documents.asked(&self.state)?;
        let job = self.wanted.job(&intent)?;
        let placed = Placed::new(intent, &ledger).map_err(Stop::plan)?;
        let ground = placed.ground();
        let view = |spot| SpotView::of(ground, &placed.intent.fleet, spot);
        if let Some(spot) = placed.spot(&job.name) {
            let held = ledger.jobs().contains_key(&job.name);
            let answer = Answer::new(job.name.to_string(), held, Some(view(&spot)));
            self.write(&answer, out)?;
            return Ok(Ended::Done);
        }
        let ask = ground.ask(&job).map_err(|refusal| Stop::plan(vec![refusal]))?;
        let mut answer = Answer::new(job.name.to_string(), false, None);
        answer.explained = self.explain.then(|| ground.explain(&ask).into());
        match ground.preempt(&ask) {
            Ok(Preemption { spot, .. }) if self.mig_parted => {
                write_mig_parted(&placed.intent.fleet, &spot, out)?;
                Ok(Ended::Done)
            }
            Ok(Preemption { spot, victims }) => {
                answer.place = Some(view(&spot));
                answer.stops = victims.iter().map(Stopped::of).collect();
                self.write(&answer, out)?;
                self.tell_waiting(&placed, &job);
                Ok(Ended::Done)
            }
            Err(refusal) if self.output.format == Format::Text => {
                self.write(&answer, out)?;
                out.flush()?;
                self.tell_waiting(&placed, &job);
                Err(Stop::plan(vec![refusal]))
            }
            Err(refusal) => {
                answer.refused = vec![refusal.into()];
                self.write(&answer, out)?;
                Ok(Ended::Found)
            }
        }
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
        match self.output.format {
            Format::Text => answer.write(out),
            format => words::data(out, format, answer),
        }
    }

    /// A job that waits holds nothing, so others may get what it hopes for.
    fn tell_waiting(&self, placed: &Placed, but: &Job) {
        let waiting = placed.waiting.iter().map(|(job, _)| job);
        let others: Vec<&JobName> = waiting.filter(|job| **job != but.name).collect();
        if self.output.format == Format::Text && !others.is_empty() {
            let waiting = plural(others.len(), "other job");
            let line = format!("{waiting} of the documents found no place: {}.", some(others, 3));
            words::aside(format_args!("{NOTE}{line}{NOTE:#}"));
        }
    }
}

/// One document for each node that is cut. Slices of gangs that are there already are not in it.
fn write_mig_parted(fleet: &Fleet, spot: &Spot, out: &mut dyn Write) -> io::Result<()> {
    let nodes: BTreeSet<NodeId> = spot.slices.iter().map(|slice| slice.node).collect();
    for node in nodes {
        let node_at = &fleet.nodes[node.index()];
        let model = &fleet.node_models[node_at.model.index()];
        let profiles = mig_profiles(&model.gpu.product);
        let slices = spot.slices.iter().filter(|slice| slice.node == node);
        let instances: Vec<MigInstance<'_>> = slices
            .map(|slice| MigInstance {
                gpu: slice.gpu,
                profile: profiles[usize::from(slice.profile)].name,
            })
            .collect();
        writeln!(out, "---\n# {}", node_at.name)?;
        if model.pci.gpus.is_empty() {
            writeln!(out, "# Model `{}` needs `gpuPci`, by which GPUs are numbered.", model.name)?;
        }
        write!(out, "{}", render::mig_parted(&model.pci, &instances))?;
    }
    Ok(())
}

impl Answer {
    fn new(job: String, held: bool, place: Option<SpotView>) -> Self {
        Self { job, held, place, stops: Vec::new(), explained: None, refused: Vec::new() }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(tale) = &self.explained {
            tale.write(out)?;
        }
        let Some(place) = &self.place else {
            return Ok(());
        };
        let verb = match (self.held, self.stops.is_empty()) {
            (true, _) => "has",
            (false, true) => "would get",
            (false, false) => "would get, after others were stopped,",
        };
        writeln!(out, "{HEAD}{}{HEAD:#} {verb} {}.", self.job, place.summary())?;
        place.write(out)?;
        if !self.stops.is_empty() {
            writeln!(out, "{HEAD}Stopped first{HEAD:#}")?;
            write_stops(&self.stops, out)?;
        }
        Ok(())
    }
}

fn write_stops(stops: &[Stopped], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::with_head(2, &["job", "gpus"]);
    for stop in stops {
        let scrub = match stop.scrub {
            true => painted(BAD, "another tenant's: scrubbed before anybody gets them"),
            false => painted(DIM, "of the same tenant"),
        };
        table.push(vec![painted(NAME, &stop.job), number(stop.gpus as usize), scrub]);
    }
    table.write(out)
}

impl Stopped {
    fn of(victim: &Victim) -> Self {
        Self { job: victim.job.to_string(), gpus: victim.gpus, scrub: victim.is_foreign }
    }
}

impl From<Explained> for Tale {
    fn from(explained: Explained) -> Self {
        let Explained { wanted, steps, levels, .. } = explained;
        Self { wanted, constraints: steps, levels }
    }
}

impl Tale {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let wanted = plural(self.wanted as usize, "GPU");
        writeln!(out, "{HEAD}What each constraint leaves of the GPUs{HEAD:#} ({wanted} wanted)")?;
        let mut table = Table::with_head(2, &["", "fleet", "best pod"]);
        for step in &self.constraints {
            let left = [step.gpus, step.in_best_pod].map(|gpus| number(gpus as usize));
            let too_few = step.in_best_pod < u64::from(self.wanted);
            let mark = too_few.then(|| painted(BAD, "too few"));
            table.push([cell(step.constraint)].into_iter().chain(left).chain(mark).collect());
        }
        table.write(out)?;
        writeln!(out, "\n{HEAD}The best place at each level{HEAD:#}")?;
        let mut table = Table::with_head(2, &["level", "place", "room"]);
        for tried in &self.levels {
            let verdict = match tried.fits {
                true => painted(GOOD, "enough"),
                false => painted(DIM, "too small"),
            };
            let level = cell(tried.level);
            let best = painted(NAME, &tried.best);
            table.push(vec![level, best, number(tried.room as usize), verdict]);
        }
        table.write(out)?;
        writeln!(out)
    }
}
