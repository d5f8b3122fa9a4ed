//! A measured number with its unit, and how people read it.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// Something measured, in its unit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A time, in seconds.
    Seconds(f64),
    /// Memory or text.
    Bytes(u64),
    /// Things.
    Count(u64),
    /// How many times as much as something else.
    Times(f64),
}

impl Figure {
    /// The number alone, for a ratio of two figures of one unit.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio is printed with two digits")]
    pub fn number(self) -> f64 {
        match self {
            Self::Seconds(number) | Self::Times(number) => number,
            Self::Bytes(number) | Self::Count(number) => number as f64,
        }
    }

    /// So many MiB.
    #[must_use]
    pub const fn mebibytes(count: u64) -> Self {
        Self::Bytes(count << 20)
    }

    /// So many microseconds.
    #[must_use]
    pub fn micros(count: u64) -> Self {
        Duration::from_micros(count).into()
    }
}

impl From<Duration> for Figure {
    fn from(time: Duration) -> Self {
        Self::Seconds(time.as_secs_f64())
    }
}

/// Three digits and the unit that needs the fewest of them.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number();
        let units: &[(f64, &str)] = match self {
            Self::Seconds(_) => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")],
            Self::Bytes(_) => {
                &[(1_073_741_824.0, " GiB"), (1_048_576.0, " MiB"), (1024.0, " KiB"), (1.0, " B")]
            }
            Self::Count(number) => return f.pad(&number.to_string()),
            Self::Times(_) => &[(1.0, " x")],
        };
        let fits = units.iter().find(|(size, _)| number >= *size);
        let (size, unit) = fits.or(units.last()).copied().unwrap_or((1.0, ""));
        f.pad(&format!("{}{unit}", three_digits(number / size)))
    }
}

fn three_digits(number: f64) -> String {
    let decimals = match number {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_said_with_three_digits_and_a_fitting_unit() {
        let said = |figure: Figure| figure.to_string();
        assert_eq!(said(Figure::Seconds(9.876)), "9.88 s");
        assert_eq!(said(Figure::micros(42)), "42.0 us");
        assert_eq!(said(Figure::Seconds(1.5e-9)), "1.50 ns");
        assert_eq!(said(Figure::Seconds(0.0)), "0.00 ns");
        assert_eq!(said(Figure::mebibytes(4096)), "4.00 GiB");
        assert_eq!(said(Figure::Bytes(1000)), "1000 B");
        assert_eq!(said(Figure::Count(102_400)), "102400");
        assert_eq!(said(Figure::Times(0.5)), "0.50 x");
    }
}
