//! What a verdict adds to a loop that only makes frames.

use std::hint::black_box;

use super::bed::{Bed, Setup, cpu_ns};
use super::world::World;
use super::{BenchPart, BenchReport, BenchRow, Bound, Sample, Unit};
use crate::{Fault, PutError};

/// How often each program runs in one round, and how many rounds there are. The programs take
/// turns, so that noise hits all alike.
const REPEAT: u32 = 200_000;
const ROUNDS: usize = 25;

/// The programs, in the order of [`Round`].
const PROGRAMS: [&str; 5] =
    ["empty", "made", "made_and_looked_up", "made_and_judged", "made_and_hashed"];

/// What each program cost.
type Round = [f64; PROGRAMS.len()];

pub(super) fn measure(
    report: &mut BenchReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PutError> {
    for (world, name, bound) in [
        (World::whole(1_000), "", 15.0),
        (World::whole(100_000), "", 30.0),
        (World::whole(1_000_000), "", 110.0),
        (World::host(16, 1_000_000), ", one host of a million", 14.0),
    ] {
        progress(&format!("cost of a verdict among {} endpoints", world.endpoints()));
        let mut bed = Bed::of(world, Setup { hash: true, ..Setup::default() })?;
        let rounds = rounds(&mut bed)?;
        let floor = floor(bed.policy_bytes);
        let mut row = |what: &str, sample: Sample, bound: Option<f64>, note: &'static str| {
            report.rows.push(BenchRow {
                part: BenchPart::Cost,
                name: format!("{what}{name}"),
                endpoints: Some(world.endpoints()),
                best: sample.least,
                median: sample.median,
                unit: Unit::Nanoseconds,
                bound: bound.map(Bound::AtMost),
                note,
            });
        };
        let [empty, made, looked_up, judged, hashed] = [0, 1, 2, 3, 4];
        let over = |program: usize, base: usize| Sample::difference(&rounds, program, base);
        row("full verdict", over(judged, made), Some(bound), "");
        row("counters and bursts of it", over(judged, looked_up), Some(10.0), "");
        row("by BPF hash", over(hashed, made), None, "two lookups and counters, no other check");
        row("test loop with an empty program", over_nothing(&rounds, empty), None, "");
        row("making a frame", over(made, empty), None, "");
        row("one load that depends on the last", floor, None, "user space, as much memory");
    }
    Ok(())
}

fn rounds(bed: &mut Bed) -> Result<Vec<Round>, Fault> {
    // The first round warms caches and is not kept.
    let all = (0..=ROUNDS).map(|_| {
        let mut round = Round::default();
        for (cost, name) in round.iter_mut().zip(PROGRAMS) {
            *cost = bed.cost(name, REPEAT)?;
        }
        Ok(round)
    });
    all.skip(1).collect()
}

fn over_nothing(rounds: &[Round], program: usize) -> Sample {
    Sample::of(rounds.iter().map(|round| round[program]))
}

impl Sample {
    /// What one program costs more than another: by the least of each, and in the middle round.
    fn difference(rounds: &[Round], program: usize, base: usize) -> Self {
        let least = over_nothing(rounds, program).least - over_nothing(rounds, base).least;
        let each = Self::of(rounds.iter().map(|round| round[program] - round[base]));
        Self { least, ..each }
    }
}

/// What memory of this size answers in when each address is only known from the last answer.
fn floor(bytes: u32) -> Sample {
    const LOADS: u32 = 200_000;
    let lines = bytes as usize / 64;
    let mut next: Vec<[u32; 16]> = (0..lines).map(|line| [line as u32; 16]).collect();
    // One cycle through all lines in random order (Sattolo).
    let mut chance = 1_u64;
    for line in (1..lines).rev() {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        next.swap(line, (chance >> 33) as usize % line);
    }
    let mut at = 0;
    Sample::of((0..ROUNDS).map(|_| {
        let before = cpu_ns();
        for _ in 0..LOADS {
            at = next[at as usize][0];
        }
        black_box(at);
        (cpu_ns() - before) / f64::from(LOADS)
    }))
}
