//! The kernel counts nanoseconds since it began; people have clocks.

use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};

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
    fn a_time_of_day_has_no_date() {
        assert_eq!(of_day(1_700_000_000_123_456_789), "22:13:20.123456");
    }
}
