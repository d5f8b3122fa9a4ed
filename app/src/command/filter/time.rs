//! The kernel counts nanoseconds since it began; people have clocks.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

/// How long a policy is in force without being renewed. Written with its unit: `30s`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Lease(pub(super) Duration);

/// The text is no such time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a lease is a whole number with its unit, from 100ms to 24h: ms, s, m or h")]
pub(super) struct NotALease;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
const SHORTEST_MS: u64 = 100;
const LONGEST_MS: u64 = 24 * 3_600_000;

impl FromStr for Lease {
    type Err = NotALease;

    fn from_str(text: &str) -> Result<Self, NotALease> {
        let (name, unit) = UNITS.iter().find(|(name, _)| text.ends_with(name)).ok_or(NotALease)?;
        let number = text.strip_suffix(name).ok_or(NotALease)?;
        let number: u64 = number.parse().map_err(|_| NotALease)?;
        match number.checked_mul(*unit) {
            Some(ms @ SHORTEST_MS..=LONGEST_MS) => Ok(Self(Duration::from_millis(ms))),
            _ => Err(NotALease),
        }
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis() as u64;
        let whole = UNITS.iter().rev().find(|(_, unit)| ms.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", ms / unit)
    }
}

/// The kernel's monotonic nanoseconds now.
pub(super) fn now_ns() -> Result<u64, nix::Error> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Turns the kernel's nanoseconds into those since 1970.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    began_ns: u64,
}

impl Clock {
    pub(super) fn new() -> Result<Self, nix::Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self { began_ns: (now.as_nanos() as u64).saturating_sub(now_ns()?) })
    }

    pub(super) const fn unix_ns(self, kernel_ns: u64) -> u64 {
        self.began_ns + kernel_ns
    }
}

/// `13:04:05.123456`, in universal time.
pub(super) fn of_day(unix_ns: u64) -> String {
    let (seconds, us) = (unix_ns / 1_000_000_000, unix_ns / 1000 % 1_000_000);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}.{us:06}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_written_as_it_is_read() {
        for text in ["100ms", "30s", "15m", "24h"] {
            assert_eq!(text.parse::<Lease>().unwrap().to_string(), text);
        }
        for text in ["", "s", "30", "99ms", "25h", "-1s", "1.5s", "18446744073709551615h"] {
            assert_eq!(text.parse::<Lease>(), Err(NotALease), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_has_no_date() {
        assert_eq!(of_day(1_700_000_000_123_456_789), "22:13:20.123456");
    }
}
