//! How long work takes, done once or many times.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Does the work once, and says how long it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = black_box(work());
    (result, start.elapsed())
}

/// Does the work for each of the inputs. Making an input and dropping a result cost nothing.
pub fn repeat<I, T>(inputs: impl IntoIterator<Item = I>, mut work: impl FnMut(I) -> T) -> Times {
    let times = inputs.into_iter().map(|input| timed(|| work(black_box(input))).1).collect();
    Times::new(times)
}

/// How long the same work took, many times.
#[derive(Clone, Debug)]
pub struct Times {
    sorted: Vec<Duration>,
}

impl Times {
    /// # Panics
    /// If there is no time at all: nothing can be said of it.
    #[must_use]
    pub fn new(mut times: Vec<Duration>) -> Self {
        assert!(!times.is_empty(), "work that was never done has no time");
        times.sort_unstable();
        Self { sorted: times }
    }

    /// How often the work was done.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.sorted.iter().sum()
    }

    /// The arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        self.total().div_f64(self.sorted.len() as f64)
    }

    /// The smallest time that at least this share of all times does not exceed, in percent:
    /// `percentile(99)`. It is always a time that was measured (nearest rank).
    ///
    /// # Panics
    /// If the share is not between 1 and 100.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Duration {
        assert!((1..=100).contains(&percent), "{percent} % is no percentile");
        let rank = (self.sorted.len() * percent).div_ceil(100);
        self.sorted[rank - 1]
    }

    /// Half of all times are not above it.
    #[must_use]
    pub fn p50(&self) -> Duration {
        self.percentile(50)
    }

    /// One of a hundred is above it.
    #[must_use]
    pub fn p99(&self) -> Duration {
        self.percentile(99)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times_and_the_mean_is_not_their_middle() {
        let micros = |count| Duration::from_micros(count);
        let times = Times::new((1..=200).rev().map(micros).collect());
        assert_eq!(times.p50(), micros(100));
        assert_eq!(times.p99(), micros(198));
        assert_eq!(times.percentile(100), micros(200));
        assert_eq!(times.mean(), Duration::from_nanos(100_500));

        let single = Times::new(vec![micros(7)]);
        assert_eq!([single.p50(), single.p99(), single.mean()], [micros(7); 3]);
    }

    #[test]
    fn the_work_is_done_once_for_each_input() {
        let mut seen = Vec::new();
        let times = repeat([3, 1, 2], |input| seen.push(input));
        assert_eq!(seen, [3, 1, 2]);
        assert_eq!(times.count(), 3);
    }
}
