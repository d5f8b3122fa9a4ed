//! Lines that somebody vouches for.

use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;

use crate::{Name, Timestamp};

/// A line of a device that nobody here understands, and that somebody vouches for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Waiver {
    /// What its document is called.
    pub name: Name,
    /// The device.
    pub device: Name,
    /// The whole line, its words one space apart; `*` stands for one word.
    pub line: SmolStr,
    /// Why it does no harm.
    pub reason: SmolStr,
    /// Who vouches.
    pub by: SmolStr,
    /// The last day on which they do.
    pub until: Day,
}

impl Waiver {
    /// Whether it is about this line. A word is never a part of another one, and nothing stands
    /// behind the last.
    #[must_use]
    pub fn is_about(&self, line: &str) -> bool {
        let words = |text| str::split(text, [' ', '\t']).filter(|word| !word.is_empty());
        let (mut wanted, mut found) = (words(self.line.as_str()), words(line));
        loop {
            match (wanted.next(), found.next()) {
                (None, None) => return true,
                (Some(wanted), Some(word)) if wanted == "*" || wanted == word => {}
                _ => return false,
            }
        }
    }

    /// Whether anybody still vouches at this moment.
    #[must_use]
    pub const fn stands(&self, now: Timestamp) -> bool {
        now.0 < self.until.end().0
    }
}

/// A day of the calendar, in UTC: `2026-12-31`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Day {
    written: SmolStr,
    end: Timestamp,
}

impl Day {
    /// The moment at which it is over.
    #[must_use]
    pub const fn end(&self) -> Timestamp {
        self.end
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

/// What is no day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotADay;

impl fmt::Display for NotADay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a day of the calendar, such as 2026-12-31")
    }
}

impl std::error::Error for NotADay {}

impl FromStr for Day {
    type Err = NotADay;

    fn from_str(text: &str) -> Result<Self, NotADay> {
        let is_written = text.len() == 10 && text.is_ascii();
        let day = if is_written { Timestamp::of_day(text) } else { None };
        let end = day.map(|begin| Timestamp(begin.0 + 86_400_000)).ok_or(NotADay)?;
        Ok(Self { written: text.into(), end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiver(line: &str) -> Waiver {
        let name: Name = "one".parse().unwrap();
        let until = "2026-12-31".parse().unwrap();
        Waiver {
            device: name.clone(),
            name,
            line: line.into(),
            reason: "".into(),
            by: "".into(),
            until,
        }
    }

    #[test]
    fn a_waiver_is_about_whole_lines() {
        let one = waiver("snmp-server community * group network-operator");
        assert!(one.is_about("  snmp-server community abc  group network-operator"));
        for other in [
            "snmp-server community abc group network-operator use-acl any",
            "snmp-server community group network-operator",
            "snmp-server community a b group network-operator",
            "snmp-server",
            "",
        ] {
            assert!(!one.is_about(other), "{other}");
        }
    }

    #[test]
    fn it_stands_until_its_last_day_is_over() {
        let end = "2026-12-31".parse::<Day>().unwrap().end();
        assert_eq!(end.to_string(), "2027-01-01T00:00:00.000Z");
        let one = waiver("x");
        assert!(one.stands(Timestamp(end.0 - 1)) && !one.stands(end));
    }

    #[test]
    fn what_is_not_in_the_calendar_is_no_day() {
        for text in ["2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "26-01-01", "today"] {
            assert_eq!(text.parse::<Day>(), Err(NotADay), "{text}");
        }
        assert!("2028-02-29".parse::<Day>().is_ok());
    }
}
