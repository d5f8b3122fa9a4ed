//! How much does a verdict cost, and how much more do the others?
//!
//! Everything is measured in one run and in turns, so that a busy machine is busy for all.

mod bed;
mod cost;
mod lab;
mod live;
mod loading;
mod neighbour;
mod nft;
mod world;

use std::fmt;

use crate::PutError;

/// What can be measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BenchPart {
    /// What a verdict adds to a loop that only makes frames.
    Cost,
    /// Frames a second between two network namespaces, beside the kernel's own means.
    Live,
    /// How long a policy takes until it is in force, and what it takes of memory.
    Loading,
    /// What a tenant notices of another one that floods.
    Neighbour,
}

impl BenchPart {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cost, Self::Live, Self::Loading, Self::Neighbour];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Live => "live",
            Self::Loading => "loading",
            Self::Neighbour => "neighbour",
        }
    }
}

/// What shall be measured.
#[derive(Clone, Debug)]
pub struct BenchWish {
    /// These, in this order.
    pub parts: Vec<BenchPart>,
    /// Also what takes minutes: nftables with a million endpoints.
    pub full: bool,
}

impl Default for BenchWish {
    fn default() -> Self {
        Self { parts: BenchPart::ALL.to_vec(), full: false }
    }
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct BenchReport {
    /// In the order in which it was.
    pub rows: Vec<BenchRow>,
}

/// One figure.
#[derive(Clone, Debug)]
pub struct BenchRow {
    /// Where it belongs.
    pub part: BenchPart,
    /// What was measured.
    pub name: String,
    /// Among how many endpoints, if that matters.
    pub endpoints: Option<u32>,
    /// The best of all rounds: noise only ever makes it worse.
    pub best: f64,
    /// The one in the middle.
    pub median: f64,
    /// In what both are told.
    pub unit: Unit,
    /// What `best` is promised to keep.
    pub bound: Option<Bound>,
    /// What must be known to read it.
    pub note: &'static str,
}

/// In what a figure is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "they are units")]
pub enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    FramesPerSecond,
    Times,
    Bytes,
    Percent,
}

impl Unit {
    /// As it is written behind a number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::FramesPerSecond => "frames/s",
            Self::Times => "x",
            Self::Bytes => "B",
            Self::Percent => "%",
        }
    }
}

/// What a figure is promised to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It is not above this.
    AtMost(f64),
    /// It is not below this.
    AtLeast(f64),
}

impl BenchRow {
    /// Whether it keeps its bound; nothing if it has none.
    #[must_use]
    pub fn keeps(&self) -> Option<bool> {
        self.bound.map(|bound| match bound {
            Bound::AtMost(most) => self.best <= most,
            Bound::AtLeast(least) => self.best >= least,
        })
    }
}

/// Measures what is wished. Everything it needs of the network is in namespaces of its own, which
/// are gone when it returns.
pub fn run(wish: &BenchWish, progress: &mut dyn FnMut(&str)) -> Result<BenchReport, PutError> {
    let mut report = BenchReport::default();
    for part in &wish.parts {
        match part {
            BenchPart::Cost => cost::measure(&mut report, progress)?,
            BenchPart::Live => live::measure(wish.full, &mut report, progress)?,
            BenchPart::Loading => loading::measure(wish.full, &mut report, progress)?,
            BenchPart::Neighbour => neighbour::measure(&mut report, progress)?,
        }
    }
    Ok(report)
}

/// The least and the middle one of several rounds.
#[derive(Clone, Copy, Debug)]
struct Sample {
    least: f64,
    median: f64,
}

impl Sample {
    fn of(rounds: impl Iterator<Item = f64>) -> Self {
        let mut all: Vec<f64> = rounds.collect();
        all.sort_by(f64::total_cmp);
        let at = |place: usize| all.get(place).copied().unwrap_or(f64::NAN);
        Self { least: at(0), median: at(all.len() / 2) }
    }
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        for row in &self.rows {
            let endpoints = row.endpoints.map_or(String::new(), |count| count.to_string());
            let bound = match row.bound {
                Some(Bound::AtMost(most)) => format!("<= {most}"),
                Some(Bound::AtLeast(least)) => format!(">= {least}"),
                None => String::new(),
            };
            let kept = if row.keeps() == Some(false) { "missed" } else { "" };
            let line = format!(
                "{:<width$}  {endpoints:>9}  {:>12.2}  {:>12.2}  {:<8}  {bound:>8}  {kept:<6}  {}",
                row.name,
                row.best,
                row.median,
                row.unit.name(),
                row.note,
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_report_says_what_was_promised_and_what_was_missed() {
        let row = |name: &str, best, bound| BenchRow {
            part: BenchPart::Cost,
            name: name.into(),
            endpoints: Some(1024),
            best,
            median: best + 1.0,
            unit: Unit::Nanoseconds,
            bound,
            note: "",
        };
        let rows = vec![
            row("kept", 14.0, Some(Bound::AtMost(15.0))),
            row("missed", 4.5, Some(Bound::AtLeast(5.0))),
            row("free", 1.0, None),
        ];
        expect![[r#"
            kept         1024         14.00         15.00  ns           <= 15
            missed       1024          4.50          5.50  ns            >= 5  missed
            free         1024          1.00          2.00  ns
        "#]]
        .assert_eq(&BenchReport { rows }.to_string());
    }

    #[test]
    fn a_sample_is_the_least_and_the_middle_round() {
        let sample = Sample::of([3.0, 9.0, 1.0].into_iter());
        assert_eq!((sample.least, sample.median), (1.0, 3.0));
    }
}
