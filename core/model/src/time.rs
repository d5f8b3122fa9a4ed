//! Moments as they are told to `core`, and as RFC 3339 writes them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970. Nobody in `core` asks for the time: it is told.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// How many milliseconds passed since an earlier moment; none if it was later.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// A moment in UTC as it is written here, with milliseconds or without.
    #[must_use]
    pub fn of_rfc3339(text: &str) -> Option<Self> {
        let number = |at: std::ops::Range<usize>| -> Option<u64> {
            let digits = text.get(at)?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_plain)
        };
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let ms = match text.get(19..)? {
            "Z" => 0,
            rest if rest.len() == 5 => number(20..23)?,
            _ => return None,
        };
        let moment = Self::of_day(text.get(..10)?)?.0 + ms;
        let moment = Self(moment + 1000 * (second + 60 * (minute + 60 * hour)));
        // What is not written so again has another mark, or an hour that no day has.
        let (whole, _) = text.split_at(19);
        let written = moment.to_string();
        let is_same = written.starts_with(whole) && (text.len() == 20 || written == text);
        is_same.then_some(moment)
    }

    /// When a day since 1970 begins, in UTC: `2026-12-31`. None if the calendar has no such day.
    pub(crate) fn of_day(text: &str) -> Option<Self> {
        let mut parts = text.split('-').map(|part| {
            let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<u64>().ok().filter(|_| is_plain)
        });
        let written = (parts.next()??, parts.next()??, parts.next()??);
        let (year, ..) = written;
        if parts.next().is_some() || !(1970..10_000).contains(&year) {
            return None;
        }
        // The day that is written so, if there is one: as many after as there are leap days.
        let about = (year - 1970) * 365;
        let day = (about..about + 3000).find(|day| date(*day) == written)?;
        Some(Self(day * 86_400_000))
    }
}

/// As RFC 3339 writes it, in UTC: `2026-11-16T09:00:00.250Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, seconds) = (self.0 % 1000, self.0 / 1000);
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

/// Year, month and day, so many days after 1970 began. Years are counted from March, so that a
/// leap day is the last of its year, in eras of 400 years, which are all alike.
const fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_ERA: u64 = 146_097;
    /// From the first of March of year 0 to 1970.
    const BEFORE: u64 = 719_468;
    let since = days + BEFORE;
    let (era, of_era) = (since / DAYS_IN_ERA, since % DAYS_IN_ERA);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    // Five months from March have 153 days, whichever five they are.
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + years + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        for (ms, written) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_795_040_127_250, "2026-11-18T22:15:27.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), written);
            assert_eq!(Timestamp::of_rfc3339(written), Some(Timestamp(ms)));
        }
        for wrong in [
            "2026-11-18T24:00:00Z",
            "2026-11-18T23:60:00Z",
            "2026-11-18 23:00:00Z",
            "2026-11-18T23:00:00",
            "2026-11-18T23:00:00.1Z",
            "2026-11-18T23:00:00z",
            "2026-11-18T23:00:00.+50Z",
            "2026-11-18T23:00:0\u{e9}Z",
        ] {
            assert_eq!(Timestamp::of_rfc3339(wrong), None, "{wrong}");
        }
    }
}
