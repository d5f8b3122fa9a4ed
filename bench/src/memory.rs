//! The most memory that this process had at once, as the kernel counts it.

use std::fs;

use crate::Figure;

/// The most memory this process had at once since the peak was begun.
pub struct Peak {
    _only_begun: (),
}

impl Peak {
    /// Forgets earlier peaks, so that one stage does not wear the height of another. Where the
    /// kernel does not allow that, the peak is the process's.
    #[must_use]
    pub fn begin() -> Self {
        // "5" resets the high-water mark (proc_pid_clear_refs(5)).
        let _ = fs::write("/proc/self/clear_refs", "5");
        Self { _only_begun: () }
    }

    /// The height since then, or nothing where the kernel does not tell.
    #[must_use]
    pub fn end(self) -> Option<Figure> {
        high_water(&fs::read_to_string("/proc/self/status").ok()?)
    }
}

fn high_water(status: &str) -> Option<Figure> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Figure::Bytes(kibibytes << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_found_among_the_kernels_lines() {
        let status = "Name:\tbench\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(high_water(status), Some(Figure::mebibytes(2)));
        assert_eq!(high_water("Name:\tbench\n"), None);
    }
}
