//! The same gangs come and go at the same times, each time placed in another way: what is left
//! over, and what had to be refused?

use std::collections::BTreeMap;

use bench::{Figure, Table};
use model::{Generation, Job, Want};
use plan::place::{Entry, Ground};

use super::linear::{Choice, Linear, Place};
use super::town::{Chance, Town};

/// How many gangs come, and how long one stays at most: until so many more came. Together they
/// want nearly all there is.
const GANGS: u64 = 20_000;
const STAY: usize = 2_970;

/// A way to place gangs.
trait Way {
    fn come(&mut self, job: &Job, number: u64) -> Option<Place>;
    fn go(&mut self, job: &Job, number: u64, place: &Place);
}

impl Way for Ground {
    fn come(&mut self, job: &Job, number: u64) -> Option<Place> {
        let spot = self.ask(job).and_then(|ask| self.seek(&ask)).ok()?;
        let place = self.gpus(&spot).collect();
        let (name, capacity) = (job.name.clone(), job.terms.capacity);
        write(self, Entry::Reserved { job: name, generation: Generation(number), capacity, spot });
        Some(place)
    }

    fn go(&mut self, job: &Job, number: u64, _: &Place) {
        let (job, generation) = (job.name.clone(), Generation(number));
        write(self, Entry::Draining { job: job.clone(), generation });
        write(self, Entry::Fenced { job: job.clone(), generation });
        write(self, Entry::Freed { job, generation });
    }
}

impl Way for Linear<'_> {
    fn come(&mut self, job: &Job, _: u64) -> Option<Place> {
        let place = self.seek(job)?;
        self.change(job, &place, true);
        Some(place)
    }

    fn go(&mut self, job: &Job, _: u64, place: &Place) {
        self.change(job, place, false);
    }
}

/// Lives through the trace in three ways.
pub(crate) fn fragments(town: &Town, table: &mut Table) {
    let linear = |choice| Linear::new(&town.fleet, &town.tenants, choice);
    lived(town, &mut Ground::new(&town.fleet, &town.tenants)).tell("ours", table);
    lived(town, &mut linear(Choice::FirstFit)).tell("first fit", table);
    lived(town, &mut linear(Choice::BestFit)).tell("best fit by GPU count", table);
}

/// What a trace left behind, summed over all moments at which a gang came.
#[derive(Default)]
struct Left {
    moments: u64,
    /// GPUs that nobody had, and those of them beside GPUs that somebody had.
    idle: u64,
    broken: u64,
    /// Gangs that were refused, and their GPUs.
    refused: u64,
    refused_gpus: u64,
}

fn lived(town: &Town, way: &mut impl Way) -> Left {
    let mut left = Left::default();
    let mut chance = Chance(11);
    let mut ends: BTreeMap<u64, Vec<(Job, u64, Place)>> = BTreeMap::new();
    let mut floor = Floor::new(town);
    for number in 1..=GANGS {
        for (job, number, place) in ends.remove(&number).into_iter().flatten() {
            way.go(&job, number, &place);
            floor.change(&place, false);
        }
        let job = town.job(number, &mut chance);
        let end = number + 1 + chance.below(STAY) as u64;
        let found = way.come(&job, number);
        // The first are placed on an empty fleet, where every way is as good.
        if number > STAY as u64 {
            left.note(&job, found.is_some(), &floor);
        }
        if let Some(place) = found {
            floor.change(&place, true);
            ends.entry(end).or_default().push((job, number, place));
        }
    }
    left
}

impl Left {
    fn note(&mut self, job: &Job, is_placed: bool, floor: &Floor) {
        self.moments += 1;
        self.idle += floor.idle;
        self.broken += floor.idle - floor.empty;
        if let (false, Want::Gpus(gpus)) = (is_placed, &job.want) {
            self.refused += 1;
            self.refused_gpus += u64::from(*gpus);
        }
    }

    fn tell(&self, way: &str, table: &mut Table) {
        for (what, sum) in [
            ("idle GPUs, mean", self.idle / self.moments),
            ("idle GPUs beside used ones, mean", self.broken / self.moments),
            ("gangs refused", self.refused),
            ("GPUs refused", self.refused_gpus),
        ] {
            table.add(&format!("place: trace, {what}, {way}"), None, Figure::Count(sum));
        }
    }
}

/// Which GPUs are idle.
struct Floor {
    nodes: Vec<(u64, u64)>,
    idle: u64,
    /// Those on nodes of which none is used.
    empty: u64,
}

impl Floor {
    fn new(town: &Town) -> Self {
        let models = &town.fleet.node_models;
        let all =
            town.fleet.nodes.iter().map(|node| u64::MAX >> (64 - models[node.model.index()].gpus));
        let nodes: Vec<(u64, u64)> = all.map(|all| (all, all)).collect();
        let idle = nodes.iter().map(|(all, _)| u64::from(all.count_ones())).sum();
        Self { nodes, idle, empty: idle }
    }

    fn change(&mut self, place: &Place, comes: bool) {
        for &(node, gpus) in place {
            let (all, free) = &mut self.nodes[node.index()];
            let count = |mask: u64| u64::from(mask.count_ones());
            let empty = |free: u64| if free == *all { count(*all) } else { 0 };
            self.empty -= empty(*free);
            self.idle -= count(*free);
            *free = if comes { *free & !gpus } else { *free | gpus };
            self.empty += empty(*free);
            self.idle += count(*free);
        }
    }
}

fn write(ground: &mut Ground, entry: Entry) {
    if let Err(wrong) = ground.enter(&entry) {
        panic!("what was found can be written down: {wrong}");
    }
}
