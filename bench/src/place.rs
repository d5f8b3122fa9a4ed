//! Where gangs go: how long it takes to find out, beside looking at every node.

mod linear;
mod town;
mod trace;

use std::collections::BTreeSet;
use std::time::Duration;

use bench::{Figure, Scale, Table, Times, timed};
use model::{Generation, Job, SwitchId, Want};
use plan::place::{Entry, Ground};

use linear::{Choice, Linear, Place};
use town::{Chance, TRAY, Town};

/// How many entries are replayed. A gang that comes and goes makes five.
const ENTRIES: usize = 1_000_000;

/// How many of a hundred GPUs are in use while the clock runs, at least and at most.
const BUSY: std::ops::RangeInclusive<u32> = 80..=90;

/// The gangs that have bounds.
const NODE: u32 = 8;
const LARGE: u32 = 4_096;

/// For every so many gangs the linear search is asked, too.
const BESIDE: u64 = 10;

/// Measures placement on 102,400 GPUs with every constraint on, whatever scales are named: the
/// large gang does not fit into less.
pub(crate) fn place(_: &[Scale], table: &mut Table) {
    for (what, nvl72_percent) in [("HGX", 0), ("30 % NVL72", 30)] {
        eprintln!("  {what}");
        let town = Town::new(nvl72_percent);
        let life = Life::new(&town).run();
        life.tell(what, table);
        if nvl72_percent == 0 {
            replay(&town, &life.entries, table);
            trace::fragments(&town, table);
        }
    }
}

/// Gangs that come and go.
struct Life<'a> {
    town: &'a Town,
    ground: Ground,
    /// The same gangs in the same places, without an index.
    beside: Linear<'a>,
    gangs: Vec<(Job, Generation, Place)>,
    used: u32,
    number: u64,
    chance: Chance,
    entries: Vec<Entry>,
    clocks: [Clock; 4],
    linear: Vec<(Duration, Duration)>,
    leaves: Vec<(usize, usize)>,
    /// How long it took to say no, and why.
    refused: Vec<Duration>,
}

/// How long gangs of one kind took.
struct Clock {
    gpus: u32,
    on_trays: bool,
    seek: Vec<Duration>,
    both: Vec<Duration>,
}

impl<'a> Life<'a> {
    fn new(town: &'a Town) -> Self {
        let clock = |gpus, on_trays| Clock { gpus, on_trays, seek: Vec::new(), both: Vec::new() };
        Self {
            ground: Ground::new(&town.fleet, &town.tenants),
            beside: Linear::new(&town.fleet, &town.tenants, Choice::FirstFit),
            town,
            gangs: Vec::new(),
            used: 0,
            number: 0,
            chance: Chance(5),
            entries: Vec::with_capacity(ENTRIES),
            clocks: [
                clock(NODE, false),
                clock(LARGE, false),
                clock(NODE, true),
                clock(LARGE, true),
            ],
            linear: Vec::new(),
            leaves: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Fills the fleet, lets it empty a little, and so on. Nothing is measured before it was
    /// full once.
    fn run(mut self) -> Self {
        let (mut fills, mut was_full) = (true, false);
        while self.entries.len() < ENTRIES {
            let busy = self.busy();
            fills = if fills { busy < *BUSY.end() } else { busy < *BUSY.start() };
            was_full |= !fills;
            if fills {
                self.come(was_full && BUSY.contains(&busy));
            } else {
                self.go();
            }
        }
        self
    }

    /// How many of a hundred GPUs are in use.
    fn busy(&self) -> u32 {
        (u64::from(self.used) * 100 / u64::from(self.town.gpus)) as u32
    }

    /// Somebody asks; who asks for much waits until there is room, as long as the fleet is busy.
    fn come(&mut self, is_measured: bool) {
        self.number += 1;
        let job = self.town.job(self.number, &mut self.chance);
        while !self.place(&job, is_measured) {
            if job.want != Want::Gpus(LARGE) || self.busy() <= *BUSY.start() {
                return;
            }
            (0..20).for_each(|_| self.make_way(job.terms.product.as_deref()));
        }
    }

    fn place(&mut self, job: &Job, is_measured: bool) -> bool {
        let Ok(ask) = self.ground.ask(job) else {
            panic!("{} asks for what there is", job.name);
        };
        let (found, seeking) = timed(|| self.ground.seek(&ask));
        let Ok(spot) = found else {
            self.refused.push(seeking);
            return false;
        };
        let generation = Generation(self.number);
        let place: Place = self.ground.gpus(&spot).collect();
        let (name, capacity) = (job.name.clone(), job.terms.capacity);
        let entry = Entry::Reserved { job: name.clone(), generation, capacity, spot };
        let entering = self.enter(entry);
        if is_measured {
            self.clock(job, seeking, entering);
            self.look_beside(job, &place, seeking);
        }
        self.enter(Entry::Activated { job: name, generation });
        self.beside.change(job, &place, true);
        self.used += place.iter().map(|(_, gpus)| gpus.count_ones()).sum::<u32>();
        self.gangs.push((job.clone(), generation, place));
        true
    }

    /// What a search without an index would have cost for the same answer, and whether there
    /// would have been fewer leaves.
    fn look_beside(&mut self, job: &Job, place: &Place, seeking: Duration) {
        let is_large = job.want == Want::Gpus(LARGE);
        if is_large && job.terms.segment.is_none() {
            let fewest = self.beside.fewest_leaves(job);
            let nodes = place.iter().map(|(node, _)| &self.town.fleet.nodes[node.index()]);
            let leaves: BTreeSet<SwitchId> = nodes.map(|node| node.uplinks[0].leaf).collect();
            self.leaves.extend(fewest.map(|fewest| (leaves.len(), fewest)));
        }
        if self.number.is_multiple_of(BESIDE) {
            let (found, searching) = timed(|| self.beside.seek(job));
            assert!(found.is_some(), "both searches have the same rules: {job:?}");
            self.linear.push((searching, seeking));
        }
    }

    fn clock(&mut self, job: &Job, seeking: Duration, entering: Duration) {
        let on_trays = job.terms.product.as_deref() == Some(TRAY);
        let clock = self
            .clocks
            .iter_mut()
            .find(|clock| job.want == Want::Gpus(clock.gpus) && clock.on_trays == on_trays);
        if let Some(clock) = clock {
            clock.seek.push(seeking);
            clock.both.push(seeking + entering);
        }
    }

    /// Ends a gang; where a product waits, one that has it, if one is soon found.
    fn make_way(&mut self, product: Option<&str>) {
        let has_it = |(_, _, place): &(Job, Generation, Place)| {
            let fleet = &self.town.fleet;
            let model = fleet.nodes[place[0].0.index()].model;
            product.is_none_or(|product| fleet.node_models[model.index()].gpu.product == product)
        };
        let tries: Vec<usize> = (0..50).map(|_| self.chance.below(self.gangs.len())).collect();
        let found = tries.iter().find(|&&place| has_it(&self.gangs[place]));
        self.end(*found.unwrap_or(&tries[0]));
    }

    fn go(&mut self) {
        let gang = self.chance.below(self.gangs.len());
        self.end(gang);
    }

    fn end(&mut self, gang: usize) {
        let (job, generation, place) = self.gangs.swap_remove(gang);
        let name = job.name.clone();
        self.enter(Entry::Draining { job: name.clone(), generation });
        self.enter(Entry::Fenced { job: name.clone(), generation });
        self.enter(Entry::Freed { job: name, generation });
        self.beside.change(&job, &place, false);
        self.used -= place.iter().map(|(_, gpus)| gpus.count_ones()).sum::<u32>();
    }

    fn enter(&mut self, entry: Entry) -> Duration {
        let (entered, took) = timed(|| self.ground.enter(&entry));
        if let Err(wrong) = entered {
            panic!("what was found can be written down: {wrong}");
        }
        self.entries.push(entry);
        took
    }

    fn tell(&self, what: &str, table: &mut Table) {
        for clock in self.clocks.iter().filter(|clock| !clock.both.is_empty()) {
            clock.tell(what, table);
        }
        let sum = |of: fn(&(Duration, Duration)) -> Duration| -> f64 {
            self.linear.iter().map(of).sum::<Duration>().as_secs_f64()
        };
        let gangs = self.linear.len() as f64;
        let (linear, seek) = (sum(|pair| pair.0), sum(|pair| pair.1));
        for (name, took) in [("seek any gang", seek), ("first fit over every node", linear)] {
            let name = format!("place: {name}, mean, {what}");
            table.add(&name, None, Figure::Seconds(took / gangs));
        }
        let name = format!("place: seek beside first fit, mean, {what}");
        table.add_at_most(&name, None, Figure::Times(seek / linear), Figure::Times(1.0 / 20.0));
        let (used, fewest) =
            self.leaves.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let name = format!("place: leaves of {LARGE} GPUs beside the fewest, {what}");
        let ratio = used as f64 / fewest as f64;
        table.add_at_most(&name, None, Figure::Times(ratio), Figure::Times(1.15));
        let refused = Times::new(self.refused.clone());
        let name = format!("place: refuse a gang and say why, p50, {what}");
        table.add(&name, None, refused.p50());
        let name = format!("place: gangs refused, {what}");
        table.add(&name, None, Figure::Count(refused.count() as u64));
    }
}

impl Clock {
    fn tell(&self, what: &str, table: &mut Table) {
        let trays = if self.on_trays { " on trays" } else { "" };
        let twice = if self.on_trays { 2 } else { 1 };
        let bounds = match self.gpus {
            NODE => [Some(1), None],
            _ => [Some(5), Some(20)],
        };
        let seek = Times::new(self.seek.clone());
        let both = Times::new(self.both.clone());
        for (name, times) in [("seek", seek), ("seek and enter", both)] {
            for (part, took, bound) in
                [("p50", times.p50(), bounds[0]), ("p99", times.p99(), bounds[1])]
            {
                let row = format!("place: {name} {} GPUs{trays}, {part}, {what}", self.gpus);
                match bound {
                    Some(most) => table.add_at_most(&row, None, took, Figure::micros(most * twice)),
                    None => table.add(&row, None, took),
                }
            }
        }
        let row = format!("place: gangs of {} GPUs{trays} measured, {what}", self.gpus);
        table.add(&row, None, Figure::Count(self.both.len() as u64));
    }
}

fn replay(town: &Town, entries: &[Entry], table: &mut Table) {
    let entries = &entries[..ENTRIES];
    let fresh = Ground::new(&town.fleet, &town.tenants);
    let (ground, took) = timed(|| fresh.replay(entries));
    if let Err(wrong) = ground {
        panic!("what happened once can happen again: {wrong}");
    }
    table.add_at_most("place: replay a million entries", None, took, Figure::Seconds(1.0));
}
