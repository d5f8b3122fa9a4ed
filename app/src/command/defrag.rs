//! `bulkhead defrag`: moves of other jobs that would make room for a gang.

use std::io::{self, Write};

use clap::Args;
use control::Placed;
use plan::PlanRefusal;
use plan::place::{Defrag as Way, Move, Spot};
use serde::Serialize;

use super::Output;
use super::place::spot::SpotView;
use super::place::wanted::Wanted;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::State;
use crate::words::{self, DIM, Format, HEAD, NAME, examples, plural};

/// Propose moves of other jobs that would make a waiting gang fit, and change nothing
///
/// Whole gangs move, to places that their own terms allow, in an order in which each finds its
/// new place free. What holds a node by a key of its own or named its endpoints stays.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead defrag cluster.yaml --job tenant-1/job-21" => "moves for a job that waits",
    "bulkhead defrag cluster.yaml --tenant tenant-1 --gpus 256 --within leaf"
        => "moves for a gang that nobody has asked for yet",
))]
pub(crate) struct Defrag {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct Answer {
    job: String,
    moves: Vec<MoveView>,
    place: SpotView,
}

/// A gang that goes elsewhere.
#[derive(Serialize)]
struct MoveView {
    job: String,
    gpus: u32,
    from: SpotView,
    to: SpotView,
}

impl Defrag {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let (intent, ledger) = self.documents.asked(&self.state)?;
        let job = self.wanted.job(&intent)?;
        let placed = Placed::new(intent, &ledger).map_err(Stop::plan)?;
        let ground = placed.ground();
        let way = match placed.spot(&job.name) {
            Some(spot) => Way { moves: Vec::new(), spot },
            None => {
                let ask = ground.ask(&job).map_err(|refusal| Stop::plan(vec![refusal]))?;
                let asks = placed.asks().collect();
                ground.defrag(&ask, &asks).map_err(|why| no_way(&why))?
            }
        };
        let answer = Answer::of(job.name.to_string(), &way, &placed);
        match self.output.format {
            Format::Text => answer.write(out)?,
            format => words::data(out, format, &answer)?,
        }
        Ok(Ended::Done)
    }
}

/// It does not fit as things are, and not after moves either.
fn no_way(why: &PlanRefusal) -> Stop {
    let remedy = match why {
        PlanRefusal::Scattered { .. } => "ask for less, or allow a wider level".to_owned(),
        other => other.remedy(),
    };
    let problem = format!("{why}; no moves of other jobs were found that would help");
    Stop::argument(why.code(), problem, &remedy)
}

impl Answer {
    fn of(job: String, way: &Way, placed: &Placed) -> Self {
        let view = |spot: &Spot| SpotView::of(placed.ground(), &placed.intent.fleet, spot);
        let moved = |one: &Move| MoveView {
            job: one.job.to_string(),
            gpus: one.gpus,
            from: view(&one.from),
            to: view(&one.to),
        };
        Self { job, moves: way.moves.iter().map(moved).collect(), place: view(&way.spot) }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.moves.is_empty() {
            writeln!(out, "Nothing needs to move.")?;
        } else {
            let gpus: u32 = self.moves.iter().map(|one| one.gpus).sum();
            let (moves, gpus) = (plural(self.moves.len(), "move"), plural(gpus as usize, "GPU"));
            writeln!(out, "{HEAD}{moves} of {gpus}, in this order{HEAD:#}")?;
        }
        for (turn, one) in (1..).zip(&self.moves) {
            let gpus = plural(one.gpus as usize, "GPU");
            writeln!(out, "{turn:>3}  {NAME}{}{NAME:#} with {gpus}", one.job)?;
            writeln!(out, "     {DIM}from{DIM:#} {}", one.from.whereabouts())?;
            writeln!(out, "     {DIM}to{DIM:#}   {}", one.to.whereabouts())?;
        }
        let then = if self.moves.is_empty() { "would get" } else { "then would get" };
        writeln!(out, "{HEAD}{}{HEAD:#} {then} {}.", self.job, self.place.summary())?;
        self.place.write(out)
    }
}
