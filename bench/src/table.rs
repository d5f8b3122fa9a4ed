//! Measured figures beside the bounds they are promised to keep, as a table.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::{Figure, Scale};

/// One figure, beside the bound it is promised to keep.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured; SPECIFICATION.md names it.
    pub what: String,
    /// How large the world was: `100k`; empty when that does not matter.
    pub scale: &'static str,
    /// What came out.
    pub measured: Figure,
    /// What it must not exceed, if that is promised.
    pub bound: Option<Figure>,
    /// Measured divided by bound: above 1 the promise is broken.
    pub ratio: Option<f64>,
}

impl Row {
    fn is_over(&self) -> bool {
        self.ratio.is_some_and(|ratio| ratio > 1.0)
    }
}

/// The rows so far.
#[derive(Debug, Default, Serialize)]
pub struct Table {
    /// In the order in which they were measured.
    pub rows: Vec<Row>,
}

impl Table {
    /// Adds a figure that has no bound.
    pub fn add(&mut self, what: &str, scale: Option<Scale>, measured: impl Into<Figure>) {
        self.push(what, scale, measured.into(), None);
    }

    /// Adds a figure and what it must not exceed.
    ///
    /// # Panics
    /// If the two are of different units: their ratio would mean nothing.
    pub fn add_at_most(
        &mut self,
        what: &str,
        scale: Option<Scale>,
        measured: impl Into<Figure>,
        bound: impl Into<Figure>,
    ) {
        let (measured, bound) = (measured.into(), bound.into());
        assert!(
            std::mem::discriminant(&measured) == std::mem::discriminant(&bound),
            "{what}: {measured} and {bound} have different units"
        );
        self.push(what, scale, measured, Some(bound));
    }

    /// Adds how the cost of one GPU grows from the smallest world to the largest: 1 is linear,
    /// and more than the bound is not. The costs are those of whole worlds.
    ///
    /// # Panics
    /// If there are not at least two worlds to compare.
    pub fn add_growth(&mut self, what: &str, costs: &[(Scale, Duration)], bound: f64) {
        let each = |(scale, cost): &(Scale, Duration)| cost.as_secs_f64() / f64::from(scale.gpus);
        let [small, .., large] = costs else {
            panic!("{what}: growth needs two worlds");
        };
        let growth = Figure::Times(each(large) / each(small));
        self.push(what, None, growth, Some(Figure::Times(bound)));
    }

    /// All rows as JSON.
    ///
    /// # Errors
    /// If a figure is not a number.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&self.rows)
    }

    fn push(&mut self, what: &str, scale: Option<Scale>, measured: Figure, bound: Option<Figure>) {
        self.rows.push(Row {
            what: what.to_owned(),
            scale: scale.map_or("", |scale| scale.name),
            measured,
            bound,
            ratio: bound.map(|bound| measured.number() / bound.number()),
        });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.what.len()).max().unwrap_or(0);
        let width = width.max("what".len());
        let (scale, measured, bound, ratio) = ("scale", "measured", "at most", "ratio");
        writeln!(f, "{:<width$}  {scale:>5}  {measured:>9}  {bound:>9}  {ratio:>5}", "what")?;
        for row in &self.rows {
            let bound = row.bound.map_or(String::new(), |bound| bound.to_string());
            let ratio = row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let over = if row.is_over() { "  over" } else { "" };
            let line = format!(
                "{:<width$}  {:>5}  {:>9}  {bound:>9}  {ratio:>5}{over}",
                row.what, row.scale, row.measured
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

    fn sample() -> Table {
        let [small, _, large] = Scale::ALL;
        let seconds = Duration::from_secs;
        let mut table = Table::default();
        table.add("header", None, Duration::from_nanos(2));
        table.add_at_most("verify everything", Some(small), seconds(1), seconds(2));
        table.add_at_most("memory", Some(large), Figure::mebibytes(5), Figure::mebibytes(4));
        table.add_growth("growth", &[(small, seconds(1)), (large, seconds(110))], 1.2);
        table
    }

    #[test]
    fn a_table_shows_each_ratio_and_what_is_over() {
        expect![[r#"
            what               scale   measured    at most  ratio
            header                      2.00 ns
            verify everything     1k     1.00 s     2.00 s   0.50
            memory              100k   5.00 MiB   4.00 MiB   1.25  over
            growth                       1.10 x     1.20 x   0.92
        "#]]
        .assert_eq(&sample().to_string());
    }

    #[test]
    fn json_has_the_same_rows_with_units_in_their_keys() {
        let mut table = sample();
        table.rows.drain(1..3);
        expect![[r#"
            [
              {
                "what": "header",
                "scale": "",
                "measured": {
                  "seconds": 2e-9
                },
                "bound": null,
                "ratio": null
              },
              {
                "what": "growth",
                "scale": "",
                "measured": {
                  "times": 1.1
                },
                "bound": {
                  "times": 1.2
                },
                "ratio": 0.9166666666666667
              }
            ]"#]]
        .assert_eq(&table.json().unwrap());
    }

    #[test]
    #[should_panic(expected = "different units")]
    fn figures_of_different_units_have_no_ratio() {
        let mut table = Table::default();
        table.add_at_most("x", None, Figure::Count(1), Figure::Bytes(1));
    }
}
