//! What was measured, what was promised, and whether it was kept.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::Part;
use crate::words::{BAD, Cell, DIM, GOOD, HEAD, PLAIN, Table, cell, painted};

/// What was measured.
#[derive(Default)]
pub(super) struct Report {
    /// In the order in which it was.
    pub(super) rows: Vec<Row>,
}

/// One figure.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) part: Part,
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: Unit,
    /// It is promised not to be above this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at_most: Option<f64>,
    /// What must be known to read it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
}

/// In what a figure is told.
#[derive(Clone, Copy, Serialize)]
pub(super) enum Unit {
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "Gbit/s")]
    Gigabits,
    #[serde(rename = "packets/s")]
    Packets,
    #[serde(rename = "x")]
    Times,
    #[serde(rename = "count")]
    Count,
}

impl Unit {
    /// As it is written behind a number.
    const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Gigabits => "Gbit/s",
            Self::Packets => "packets/s",
            Self::Times => "x",
            Self::Count => "",
        }
    }

    const fn decimals(self) -> usize {
        match self {
            Self::Packets | Self::Count => 0,
            Self::Milliseconds | Self::Microseconds => 1,
            Self::Seconds | Self::Gigabits | Self::Times => 2,
        }
    }

    /// A time in this unit.
    pub(super) fn of(self, time: Duration) -> f64 {
        match self {
            Self::Microseconds => time.as_secs_f64() * 1e6,
            Self::Milliseconds => time.as_secs_f64() * 1e3,
            _ => time.as_secs_f64(),
        }
    }
}

impl Row {
    /// Whether it keeps its promise; nothing if it has none.
    pub(super) fn keeps(&self) -> Option<bool> {
        self.at_most.map(|most| self.value <= most)
    }

    /// What was promised, whether it was kept, and what must be known: no blanks end the line.
    fn promise(&self) -> Vec<Cell> {
        let bound = self.at_most.map_or_else(String::new, |most| format!("<= {most}"));
        let verdict = match self.keeps() {
            Some(true) => painted(GOOD, "kept"),
            Some(false) => painted(BAD, "missed"),
            None => painted(PLAIN, ""),
        };
        match (self.at_most, self.note.is_empty()) {
            (None, true) => Vec::new(),
            (Some(_), true) => vec![cell(bound), verdict],
            (_, false) => vec![cell(bound), verdict, painted(DIM, &self.note)],
        }
    }

    /// The same with something to know.
    pub(super) fn noting(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The same with a promise.
    pub(super) const fn at_most(mut self, most: f64) -> Self {
        self.at_most = Some(most);
        self
    }
}

/// A figure without a promise.
pub(super) fn row(part: Part, name: impl Into<String>, value: f64, unit: Unit) -> Row {
    Row { part, name: name.into(), value, unit, at_most: None, note: String::new() }
}

impl Report {
    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new(0);
        let mut before = None;
        for row in &self.rows {
            if before.replace(row.part) != Some(row.part) {
                table.push(vec![painted(HEAD, row.part.name())]);
            }
            let decimals = row.unit.decimals();
            let mut cells = vec![
                cell(format_args!("  {}", row.name)),
                cell(format_args!("{:>10.decimals$} {}", row.value, row.unit.name())),
            ];
            cells.extend(row.promise());
            table.push(cells);
        }
        table.write(out)
    }
}

/// Times, shortest first.
pub(super) struct Times(Vec<Duration>);

impl Times {
    pub(super) fn of(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }

    /// So many of a hundred were at most this long.
    pub(super) fn percent(&self, percent: usize) -> Duration {
        let count = (self.0.len() * percent).div_ceil(100);
        self.0.get(count.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// The one in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_kept_up_to_its_bound() {
        let figure = |value| row(Part::Up, "", value, Unit::Seconds).at_most(15.0).keeps();
        assert_eq!([figure(15.0), figure(15.1)], [Some(true), Some(false)]);
        assert_eq!(row(Part::Up, "", 1.0, Unit::Seconds).keeps(), None);
    }

    #[test]
    fn the_last_percent_of_few_is_the_longest() {
        for (count, wanted) in [(50, [25, 50, 50]), (100, [50, 99, 100]), (200, [100, 198, 200])] {
            let times = Times::of((1..=count).rev().map(Duration::from_millis));
            assert_eq!([50, 99, 100].map(|percent| times.percent(percent).as_millis()), wanted);
        }
        assert_eq!(Times::of([]).percent(99), Duration::ZERO);
    }
}
