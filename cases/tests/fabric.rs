//! The verifier's answer is what packets do, on real parts: random plans with one hole each are
//! held by FRR, the kernel and the packet program, and what the verifier says of the texts that
//! they say they hold is what becomes of real frames (docs/oracle.md).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod ground;
mod packets;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use cases::truth::{Truth, by_packets, by_verifier, is_beyond_the_oracle};
use cases::{Chance, HOLES, Hole, World, at_random, two_leaves};
use ground::Ground;
use model::{Artifact, Dialect};
use packets::{Arena, Passed};
use verify::{Code, Finding};

/// How many worlds are compared, unless the environment says otherwise.
const ROUNDS: usize = 50;
/// So many fabrics stand beside each other: a round mostly waits for routes.
const FABRICS: usize = 3;
/// How long packets may differ from what they should do: routes come a moment after they are
/// announced.
const PATIENCE: Duration = Duration::from_secs(8);

#[test]
fn on_real_parts_the_verifier_says_what_packets_do() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: needs root");
        return;
    }
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let first = std::env::var("SEED").map_or(0, |seed| seed.parse().unwrap());
    let work = Mutex::new(Tally { next: first, ..Tally::default() });
    thread::scope(|scope| {
        for fabric in 0..FABRICS.min(rounds) {
            let work = &work;
            scope.spawn(move || compare_on(fabric, rounds, work));
        }
    });
    let tally = work.into_inner().unwrap();
    println!("{}", tally.report());
    assert!(tally.differing.is_empty(), "{}", tally.differing.join("\n"));
    let hit = (tally.crossing > 0 && tally.severed > 0) || rounds < ROUNDS;
    assert!(hit, "no hole let anything cross, or none severed anything: {}", tally.report());
}

/// Raises a fabric and compares one world after the other on it, until so many were on all of them.
fn compare_on(fabric: usize, rounds: usize, work: &Mutex<Tally>) {
    let mut ground = Ground::raise(fabric, &two_leaves(0).documents);
    let mut arena = Arena::open(&ground.lab);
    let next = || work.lock().unwrap().next(rounds);
    while let Some(seed) = next() {
        let began = Instant::now();
        let outcome = round(seed, &mut ground, &mut arena);
        println!("seed {seed}, {:.1} s: {outcome:?}", began.elapsed().as_secs_f64());
        work.lock().unwrap().note(outcome);
    }
    work.lock().unwrap().rebuilt += ground.rebuilt();
}

/// What became of one world.
#[derive(Debug)]
enum Outcome {
    /// Nothing was to be cut.
    Whole,
    /// The verifier does not know a line, so it says no more about the text.
    Unknown,
    /// A device would not hold the text.
    Refused(String),
    /// Packets did what the verifier says.
    Agreed(Truth),
    /// They did so on a fabric that had held nothing before.
    Stale(String),
    /// A device that holds the text says nothing more.
    Died(String),
    /// They did not, only in that fewer of them arrived, and why is known (docs/oracle.md).
    Known(&'static str),
    /// They did not.
    Differed { by: Difference, how: String },
}

/// By what packets differed from what the verifier says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Difference {
    /// Nothing happens that it does not say, and something that it says does not.
    Fewer,
    /// Some who may meet do, and it says that they cannot. Nobody crosses but those it names.
    More,
    /// Somebody crosses whom it does not name; or nobody does whom it names, and others meet instead.
    Crossings,
}

/// What became of all worlds so far, and which one is next.
#[derive(Default)]
struct Tally {
    next: u64,
    rebuilt: usize,
    compared: usize,
    crossing: usize,
    severed: usize,
    unknown: usize,
    refused: BTreeMap<String, usize>,
    known: BTreeMap<&'static str, usize>,
    stale: Vec<String>,
    differing: Vec<String>,
}

fn round(seed: u64, ground: &mut Ground, arena: &mut Arena) -> Outcome {
    let world = two_leaves(seed);
    let Some(cutting) = cut(seed, &world) else { return Outcome::Whole };
    if findings(&world, &cutting.artifacts).iter().any(is_of_no_plan) {
        return Outcome::Unknown;
    }
    let known = findings(&world, &cutting.artifacts).iter().find_map(why_fewer);
    let outcome = match compare(&world, &cutting, ground, arena) {
        // Daemons die now and then of what they lived through; of the same text twice they must not.
        Outcome::Died(why) => {
            println!("seed {seed}: {why}");
            ground.rebuild(arena);
            compare(&world, &cutting, ground, arena)
        }
        outcome => outcome,
    };
    match (outcome, known) {
        (Outcome::Differed { by: Difference::Fewer, .. }, Some(why)) => Outcome::Known(why),
        // What a fabric learnt under earlier plans may be in the way, or open one still: from nothing
        // it must be so.
        (Outcome::Differed { by: Difference::Fewer | Difference::More, .. }, _) => {
            ground.rebuild(arena);
            match compare(&world, &cutting, ground, arena) {
                Outcome::Agreed(_) => Outcome::Stale(cutting.what),
                outcome => outcome,
            }
        }
        (Outcome::Refused(why), _) => {
            // Whatever a device refused, it takes what is sound.
            if ground.hold(&world.plan.fleet, &world.artifacts).is_err() {
                ground.rebuild(arena);
            }
            Outcome::Refused(why)
        }
        (outcome, _) => outcome,
    }
}

/// Has the fabric hold the texts, and compares what the verifier says of them with what packets do.
fn compare(world: &World, cutting: &Cutting, ground: &mut Ground, arena: &mut Arena) -> Outcome {
    let fleet = &world.plan.fleet;
    if let Err(why) = ground.hold(fleet, &cutting.artifacts) {
        return Outcome::Refused(why);
    }
    let mut found = Vec::new();
    let mut observed = Vec::new();
    // FRR may take away what it thinks is its own, and an agent then puts it back.
    for is_again in [false, true] {
        if is_again && ground.mend(fleet, &cutting.artifacts).is_err() {
            return Outcome::Unknown;
        }
        ground.settle(fleet);
        observed = match ground.observed(fleet) {
            Ok(observed) => observed,
            Err(why) => return Outcome::Died(why),
        };
        found = findings(world, &observed);
        if !found.iter().any(is_beyond_the_oracle) {
            break;
        }
    }
    if found.iter().any(is_beyond_the_oracle) {
        return Outcome::Unknown;
    }
    let said = by_verifier(&found);
    let done = until_equal(world, arena, &observed, &said);
    if said == done {
        return Outcome::Agreed(said);
    }
    let how = format!(
        "{}\nthe verifier: {said:?}\npackets: {done:?}\n{}\n",
        cutting.what,
        sentences(world, &found)
    );
    Outcome::Differed { by: difference(&said, &done), how }
}

/// Whether no device takes such a text: `apply` makes no port that is down, or without the packet
/// program, or too small.
fn is_of_no_plan(finding: &Finding) -> bool {
    is_beyond_the_oracle(finding)
        || matches!(finding.code(), Code::PortDown | Code::UnfilteredPort | Code::WrongMtu)
}

/// Why fewer packets may arrive than the verifier says, of what it names as weak.
fn why_fewer(finding: &Finding) -> Option<&'static str> {
    match finding.code() {
        Code::BrokenRates | Code::BrokenTreatment | Code::BrokenQueue | Code::BrokenLink => {
            Some("a rate that nobody promised slows packets down")
        }
        Code::SharedAddress | Code::SharedLoopback => {
            Some("an address in two places is reached in one of them")
        }
        _ => None,
    }
}

fn difference(said: &Truth, done: &Truth) -> Difference {
    let is_fewer = said.severed.is_subset(&done.severed) && said.unmet.is_subset(&done.unmet);
    match is_fewer {
        true if done.crossings.is_subset(&said.crossings) => Difference::Fewer,
        false if done.crossings == said.crossings => Difference::More,
        _ => Difference::Crossings,
    }
}

/// What packets do. A frame may be lost, and a route may be late, so that a difference is looked
/// at again.
fn until_equal(world: &World, arena: &mut Arena, observed: &[Artifact], said: &Truth) -> Truth {
    let begin = Instant::now();
    loop {
        let mut passed = Passed::default();
        arena.play(observed, &mut passed);
        let Passed { meetings, conversations } = &passed;
        let done = by_packets(&world.owners, &arena.ports(), meetings, conversations);
        if done == *said || begin.elapsed() > PATIENCE {
            return done;
        }
    }
}

/// The texts with one hole.
struct Cutting {
    artifacts: Vec<Artifact>,
    /// What was done, for people.
    what: String,
}

/// Cuts by turns any word of any line, and one of the holes
/// that have a name.
fn cut(seed: u64, world: &World) -> Option<Cutting> {
    let mut chance = Chance::new(seed ^ 0xfab1c);
    if seed.is_multiple_of(2) {
        let mut artifacts = world.artifacts.clone();
        let cut = at_random(&mut artifacts, &mut chance)?;
        let artifact = &artifacts[cut.artifact];
        let device = world.plan.fleet.device_name(artifact.device);
        let (before, after) = (cut.before, cut.after);
        let what =
            format!("seed {seed}, {device} {}: {before:?} became {after:?}", artifact.dialect);
        return Some(Cutting { artifacts, what });
    }
    let spoken = |hole: &&Hole| hole.dialect != Dialect::Nxos;
    let kinds: Vec<&Hole> = HOLES.into_iter().flatten().filter(spoken).collect();
    // Few worlds see holes of all dialects, because the steps between two of them are wide.
    let first = (seed / 2 * 11) as usize % kinds.len();
    let turns = kinds.iter().cycle().skip(first).take(kinds.len());
    let (hole, wound) = turns
        .filter_map(|hole| Some((hole, hole.cut(world, &mut chance)?)))
        .find(|(_, wound)| !findings(world, &wound.artifacts).iter().any(is_of_no_plan))?;
    let device = world.plan.fleet.device_name(wound.device);
    let what = format!(
        "seed {seed}, {device}: {}: {:?} became {:?}",
        hole.name, wound.before, wound.after
    );
    Some(Cutting { artifacts: wound.artifacts, what })
}

fn findings(world: &World, artifacts: &[Artifact]) -> Vec<Finding> {
    verify::findings(&world.plan.fleet, &world.owners, artifacts)
}

fn sentences(world: &World, found: &[Finding]) -> String {
    found.iter().map(|finding| format!("{}\n", finding.sentence(&world.plan.fleet))).collect()
}

impl Tally {
    /// The next world, unless enough were compared.
    fn next(&mut self, rounds: usize) -> Option<u64> {
        let next = self.next;
        self.next += 1;
        (self.compared < rounds).then_some(next)
    }

    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Whole => {}
            Outcome::Unknown => self.unknown += 1,
            Outcome::Refused(why) => *self.refused.entry(without_numbers(&why)).or_default() += 1,
            Outcome::Agreed(truth) => {
                self.compared += 1;
                self.crossing += usize::from(!truth.crossings.is_empty());
                self.severed += usize::from(!truth.severed.is_empty());
            }
            Outcome::Known(why) => {
                self.compared += 1;
                *self.known.entry(why).or_default() += 1;
            }
            Outcome::Stale(what) => {
                self.compared += 1;
                self.stale.push(what);
            }
            Outcome::Differed { how, .. } | Outcome::Died(how) => {
                self.compared += 1;
                self.differing.push(how);
            }
        }
    }

    fn report(&self) -> String {
        let Self { compared, crossing, severed, unknown, refused, known, stale, rebuilt, .. } =
            self;
        let mut report = format!(
            "{compared} compared: {crossing} with crossings, {severed} with severed jobs; \
             {unknown} skipped for a line unknown or contradicted\n"
        );
        for (why, times) in known {
            let _ = writeln!(report, "{times:5} with fewer packets: {why}");
        }
        for what in stale {
            let _ = writeln!(report, "as said only on a fabric that held nothing before: {what}");
        }
        report.push_str("refused by devices:\n");
        for (why, times) in refused {
            let _ = writeln!(report, "{times:5} {why}");
        }
        let _ = write!(report, "fabrics were built again {rebuilt} times");
        report
    }
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
