//! What the filter costs, measured beside others.

use std::io::Write;

use clap::{Args, ValueEnum};
use filter::bench::{BenchPart, BenchReport, BenchRow, BenchWish, Bound};
use serde::Serialize;

use super::{Output, put_stop};
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, NOTE, aside, examples};

/// Measure what a verdict costs, beside the kernel's own means
///
/// Everything is measured between network namespaces of its own and in turns, so that a busy
/// machine is busy for all. It needs root and minutes, and only figures of a release build mean
/// anything. The exit code is 1 if a figure does not keep its promise.
#[derive(Args)]
#[command(after_help = examples!(
    "cargo run --release -- filter bench" => "everything",
    "bulkhead filter bench cost loading" => "these parts only",
    "bulkhead filter bench --full" => "also nftables with a million endpoints",
))]
pub(crate) struct Bench {
    /// What to measure [default: all]
    #[arg(value_name = "PART", value_enum)]
    parts: Vec<PartName>,
    /// Also what takes minutes more: nftables with a million endpoints
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum PartName {
    /// What a verdict adds to a loop that only makes frames
    Cost,
    /// Frames a second between two network namespaces
    Live,
    /// How long a policy takes until it is in force, and its memory
    Loading,
    /// What a tenant notices of another one that floods
    Neighbour,
}

#[derive(Serialize)]
struct Answer {
    release: bool,
    rows: Vec<RowView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RowView {
    part: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoints: Option<u32>,
    best: f64,
    median: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keeps: Option<bool>,
    note: &'static str,
}

const RELEASE: bool = !cfg!(debug_assertions);

impl Bench {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        if !RELEASE {
            aside(format_args!(
                "{NOTE}This is no release build{NOTE:#}: its figures mean nothing. \
                 Use `cargo run --release -- filter bench`."
            ));
        }
        let report = filter::bench::run(&self.wish(), &mut |what| {
            aside(format_args!("{DIM}{what}{DIM:#}"));
        })
        .map_err(put_stop)?;
        if self.output.format == Format::Text {
            write!(out, "{report}")?;
        } else {
            words::data(out, self.output.format, &Answer::of(&report))?;
        }
        let broken = report.rows.iter().any(|row| row.keeps() == Some(false));
        Ok(if broken { Ended::Found } else { Ended::Done })
    }

    fn wish(&self) -> BenchWish {
        let parts = match self.parts.as_slice() {
            [] => BenchPart::ALL.to_vec(),
            some => some.iter().copied().map(BenchPart::from).collect(),
        };
        BenchWish { parts, full: self.full }
    }
}

impl From<PartName> for BenchPart {
    fn from(name: PartName) -> Self {
        match name {
            PartName::Cost => Self::Cost,
            PartName::Live => Self::Live,
            PartName::Loading => Self::Loading,
            PartName::Neighbour => Self::Neighbour,
        }
    }
}

impl Answer {
    fn of(report: &BenchReport) -> Self {
        Self { release: RELEASE, rows: report.rows.iter().map(RowView::of).collect() }
    }
}

impl RowView {
    fn of(row: &BenchRow) -> Self {
        let (at_most, at_least) = match row.bound {
            Some(Bound::AtMost(bound)) => (Some(bound), None),
            Some(Bound::AtLeast(bound)) => (None, Some(bound)),
            None => (None, None),
        };
        Self {
            part: row.part.name(),
            name: row.name.clone(),
            endpoints: row.endpoints,
            best: row.best,
            median: row.median,
            unit: row.unit.name(),
            at_most,
            at_least,
            keeps: row.keeps(),
            note: row.note,
        }
    }
}

#[cfg(test)]
mod tests {
    use filter::bench::Unit;

    use super::*;
    use crate::command::schema;

    #[test]
    fn figures_for_programs_are_written_as_their_schema_has_them() {
        let bounds = [None, Some(Bound::AtMost(2.0)), Some(Bound::AtLeast(2.0))];
        let units = [
            Unit::Nanoseconds,
            Unit::Microseconds,
            Unit::Milliseconds,
            Unit::FramesPerSecond,
            Unit::Times,
            Unit::Bytes,
            Unit::Percent,
        ];
        let row = |part, unit, bound: Option<Bound>| BenchRow {
            part,
            name: "a verdict".to_owned(),
            endpoints: bound.map(|_| 1000),
            best: 1.5,
            median: 1.75,
            unit,
            bound,
            note: "",
        };
        let of_part = |part| units.map(|unit| bounds.map(|bound| row(part, unit, bound)));
        let rows = BenchPart::ALL.into_iter().flat_map(of_part).flatten().collect();
        schema::insist("filter bench", &Answer::of(&BenchReport { rows }));
    }
}
