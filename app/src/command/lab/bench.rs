//! How fast a fabric obeys, how fast it is put right, and what that costs its packets.

mod awake;
mod controller;
mod drift;
mod raise;
mod report;
mod stage;
mod start;
mod traffic;

use std::fs;
use std::io::Write;

use awake::Awake;
use clap::{Args, ValueEnum};
use report::{Report, Row};
use serde::Serialize;
use stage::Stage;

use crate::command::Output;
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, NOTE, aside, examples};

/// Measure how long starts, repairs and building take, and what packets pay
///
/// Everything is measured in labs of its own, which are gone afterwards. It needs root and
/// minutes, and only figures of a release build on a quiet machine mean anything: the load is told
/// beside them. The exit code is 1 if a figure does not keep its promise.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab bench" => "everything, in one run",
    "bulkhead lab bench job-start drift" => "these parts only",
    "bulkhead lab bench --awake job-start" => "in a virtual machine on a busy host",
    "bulkhead lab bench -o json" => "the same for programs",
))]
pub(crate) struct Bench {
    /// What to measure [default: all]
    #[arg(value_name = "PART", value_enum)]
    parts: Vec<Part>,
    /// Keep idle processors from sleeping meanwhile
    ///
    /// Those of a virtual machine are woken by its host, which may be busy: where it was measured,
    /// a start lost up to a third of its time to that. Hosts whose work cannot wait are set up so.
    #[arg(long)]
    awake: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// From changed documents until the last of eight agents has acknowledged the job's start
    JobStart,
    /// The same for a thousand agents whose devices are made of memory
    Agents,
    /// From a change behind our back until it is told, and until it is put right
    Drift,
    /// A lab of four leaves, from nothing until all ways are known
    Up,
    /// Applying a plan that everybody holds already
    Unchanged,
    /// Packets through the overlay with the filter, without it, and with nftables instead
    Throughput,
}

impl Part {
    /// Parts that need the same lab stand beside each other.
    const ALL: [Self; 6] =
        [Self::JobStart, Self::Unchanged, Self::Drift, Self::Throughput, Self::Up, Self::Agents];

    /// The word of the command line, for people.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    release: bool,
    /// The load average of a minute, before and after.
    load: [f64; 2],
    /// Whether idle processors were kept from sleeping.
    awake: bool,
    /// The part of its processors' time that a virtual machine wanted and did not get.
    stolen: f64,
    rows: &'a [Row],
}

const RELEASE: bool = !cfg!(debug_assertions);

impl Bench {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        if !RELEASE {
            aside(format_args!(
                "{NOTE}This is no release build{NOTE:#}: its figures mean nothing. \
                 Use `cargo run --release -- lab bench`."
            ));
        }
        let _awake = self.awake.then(Awake::keep).transpose()?;
        let (before, time) = (load(), Time::now());
        let mut report = Report::default();
        let mut stage = Stage::default();
        for part in Part::ALL.into_iter().filter(|part| self.is_wished(*part)) {
            aside(format_args!("{DIM}{}, at a load of {:.1}{DIM:#}", part.name(), load()));
            measure(part, &mut stage, &mut report)?;
        }
        stage.clear()?;
        let (load, stolen) = ([before, load()], Time::now().stolen_since(&time));
        if self.output.format == Format::Text {
            writeln!(out, "Load {:.1} before, {:.1} after.", load[0], load[1])?;
            if self.awake {
                writeln!(out, "No processor slept meanwhile.")?;
            }
            if stolen > 0.0 {
                let percent = stolen * 100.0;
                writeln!(
                    out,
                    "Of the processors' time that was wanted, {percent:.0} % was not had."
                )?;
            }
            report.write(out)?;
        } else {
            let awake = self.awake;
            let answer = Answer { release: RELEASE, load, awake, stolen, rows: &report.rows };
            words::data(out, self.output.format, &answer)?;
        }
        let broken = report.rows.iter().any(|row| row.keeps() == Some(false));
        Ok(if broken { Ended::Found } else { Ended::Done })
    }

    fn is_wished(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

fn measure(part: Part, stage: &mut Stage, report: &mut Report) -> Result<(), Stop> {
    match part {
        Part::JobStart => start::job(stage.large()?, report),
        Part::Agents => start::rehearsed(report),
        Part::Drift => drift::measure(stage.large()?, report),
        Part::Up => raise::measure(stage, report),
        Part::Unchanged => start::nothing(stage.large()?, report),
        Part::Throughput => traffic::measure(stage.small()?, report),
    }
}

/// What the processors did so far, in the kernel's ticks.
#[derive(Default)]
struct Time {
    worked: u64,
    /// A virtual machine's processors are its host's, and wait for it.
    stolen: u64,
}

impl Time {
    /// Nothing, where the kernel does not tell.
    fn now() -> Self {
        let said = fs::read_to_string("/proc/stat").unwrap_or_default();
        let all = said.lines().next().unwrap_or_default().split_ascii_whitespace().skip(1);
        let ticks: Vec<u64> = all.filter_map(|ticks| ticks.parse().ok()).collect();
        // proc_stat(5).
        let [user, nice, system, _idle, _waiting, hard, soft, stolen, ..] = ticks[..] else {
            return Self::default();
        };
        Self { worked: user + nice + system + hard + soft, stolen }
    }

    fn stolen_since(&self, before: &Self) -> f64 {
        let worked = self.worked.saturating_sub(before.worked);
        let stolen = self.stolen.saturating_sub(before.stolen);
        stolen as f64 / (worked + stolen).max(1) as f64
    }
}

/// The load average of the last minute; zero where the kernel does not tell.
fn load() -> f64 {
    let said = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    said.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::report::{Unit, row};
    use super::*;
    use crate::command::schema;

    #[test]
    fn figures_for_programs_are_written_as_their_schema_has_them() {
        let units = [
            Unit::Microseconds,
            Unit::Milliseconds,
            Unit::Seconds,
            Unit::Gigabits,
            Unit::Packets,
            Unit::Times,
            Unit::Count,
        ];
        let of_part = |part| units.map(|unit| row(part, "of a job", 1.5, unit));
        let mut rows: Vec<Row> = Part::ALL.into_iter().flat_map(of_part).collect();
        rows.push(row(Part::Up, "from nothing", 14.0, Unit::Seconds).at_most(15.0).noting("once"));
        let (load, stolen) = ([0.5, 2.0], 0.25);
        let answer = Answer { release: true, load, awake: false, stolen, rows: &rows };
        schema::insist("lab bench", &answer);
    }
}
