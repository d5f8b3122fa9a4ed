//! Times as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time with its unit: `800ms`, `30s`, `15m`, `24h`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span(pub Duration);

/// The text is no such time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a time is a whole number with its unit, from 100ms to 720h: ms, s, m or h")]
pub struct NotASpan;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
const SHORTEST_MS: u64 = 100;
const LONGEST_MS: u64 = 720 * 3_600_000;

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = UNITS.iter().find(|(name, _)| *name == &text[digits.len()..]);
        let (_, unit) = unit.ok_or(NotASpan)?;
        let number: u64 = digits.parse().map_err(|_| NotASpan)?;
        match number.checked_mul(*unit) {
            Some(ms @ SHORTEST_MS..=LONGEST_MS) => Ok(Self(Duration::from_millis(ms))),
            _ => Err(NotASpan),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis() as u64;
        let whole = UNITS.iter().rev().find(|(_, unit)| ms.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", ms / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_it_is_read() {
        for text in ["100ms", "30s", "15m", "720h"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        for text in ["", "s", "30", "99ms", "721h", "-1s", "1.5s", "18446744073709551615h"] {
            assert_eq!(text.parse::<Span>(), Err(NotASpan), "{text}");
        }
    }
}
