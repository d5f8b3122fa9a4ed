//! Memories in which tenants leave traces, and evidence that nothing of them is left.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::words::words;
use crate::{JobName, Name, NodeId, Timestamp};

/// A memory in which a tenant leaves traces.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// The GPUs' own memory.
    Hbm,
    /// Registers, caches and shared memory of the GPUs.
    Sram,
    /// The host's memory.
    Ram,
    /// Local drives.
    Nvme,
    /// What interfaces keep of connections and registered memory.
    Nic,
}

words! {
    Memory: "hbm" Hbm, "sram" Sram, "ram" Ram, "nvme" Nvme, "nic" Nic;
}

/// That a memory was scrubbed, and how anybody knows.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// Which memory.
    pub memory: Memory,
    /// By which method it was overwritten.
    pub method: SmolStr,
    /// How it was read back afterwards; it was found without a trace.
    pub read_back: SmolStr,
    /// Who did it.
    pub by: Name,
    /// When, as whoever did it says.
    pub at: SmolStr,
}

/// Ways of overwriting of which it is known that nothing is left.
const METHODS: [&str; 6] = ["zeros", "ones", "random", "crypto-erase", "reset", "power-cycle"];

impl Evidence {
    /// Why it is no evidence; none if it can be.
    ///
    /// Whether it is true nobody can tell from its words. Words that say nothing vouch for nothing.
    #[must_use]
    pub fn flaw(&self) -> Option<&'static str> {
        let digest = self.read_back.strip_prefix("sha256:").unwrap_or_default();
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if Timestamp::of_rfc3339(&self.at).is_none() {
            Some("its time is no moment in UTC, such as 2026-11-16T09:00:00Z")
        } else if !METHODS.contains(&self.method.as_str()) {
            Some("its method is none of zeros, ones, random, crypto-erase, reset and power-cycle")
        } else if digest.len() != 64 || !digest.bytes().all(is_hex) {
            Some("its read-back is no digest of what was read, such as sha256: and 64 digits")
        } else {
            None
        }
    }

    /// Why it is not of a memory that was released then; none if it can be.
    ///
    /// Before the release somebody could still write there, and what is not yet was not done. What
    /// says no moment is of no time.
    #[must_use]
    pub fn untimely(&self, released: Timestamp, now: Timestamp) -> Option<Untimely> {
        match Timestamp::of_rfc3339(&self.at) {
            Some(at) if at > now => Some(Untimely::Future { at, now }),
            Some(at) if at < released => Some(Untimely::BeforeRelease { at, released }),
            Some(_) => None,
            None => Some(Untimely::Never),
        }
    }
}

/// Why the moment of evidence cannot be that of a scrub after a release.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Untimely {
    /// Somebody could still write there.
    BeforeRelease {
        /// When it was done, as it says.
        at: Timestamp,
        /// When the last device was seen without whose traces it is about.
        released: Timestamp,
    },
    /// It was not yet.
    Future {
        /// When it was done, as it says.
        at: Timestamp,
        /// The moment at which it says so.
        now: Timestamp,
    },
    /// It says no moment.
    Never,
}

impl fmt::Display for Untimely {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeRelease { at, released } => {
                write!(f, "is of {at}, and only at {released} was the memory released")
            }
            Self::Future { at, now } => write!(f, "is of {at}, and it is only {now}"),
            Self::Never => f.write_str("says no moment"),
        }
    }
}

/// What another one left where a job is now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Past {
    /// The node.
    pub node: NodeId,
    /// Those of the job's interfaces there that the other one had last: interface `n` is bit `n`.
    pub nics: u64,
    /// Who left them.
    pub left_by: JobName,
    /// What had to be scrubbed when it left.
    pub owing: Vec<Memory>,
    /// What was, since then.
    pub evidence: Vec<Evidence>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            memory: Memory::Hbm,
            method: "zeros".into(),
            read_back: format!("sha256:{}", "0a".repeat(32)).into(),
            by: "h1".parse().unwrap(),
            at: "2026-11-16T09:00:00Z".into(),
        }
    }

    fn flaw(change: impl FnOnce(&mut Evidence)) -> Option<&'static str> {
        let mut evidence = evidence();
        change(&mut evidence);
        evidence.flaw()
    }

    #[test]
    fn evidence_is_of_a_moment_between_the_release_and_now() {
        let at = Timestamp::of_rfc3339("2026-11-16T09:00:00Z").unwrap();
        let (before, after) = (Timestamp(at.0 - 1), Timestamp(at.0 + 1));
        let evidence = evidence();
        for (released, now) in [(before, after), (at, after), (before, at), (at, at)] {
            assert_eq!(evidence.untimely(released, now), None);
        }
        let early = Untimely::BeforeRelease { at, released: after };
        assert_eq!(evidence.untimely(after, after), Some(early));
        let future = Untimely::Future { at, now: before };
        assert_eq!(evidence.untimely(before, before), Some(future));
        assert_eq!(evidence.untimely(after, before), Some(future));
        let never = Evidence { at: "now".into(), ..evidence };
        assert_eq!(never.untimely(before, after), Some(Untimely::Never));
    }

    #[test]
    fn evidence_says_when_how_and_what_was_read() {
        assert_eq!(flaw(|_| ()), None);
        assert_eq!(flaw(|one| one.at = "2026-11-16T09:00:00.250Z".into()), None);
        for at in ["now", "", "2026-11-16", "2026-02-30T09:00:00Z", "2026-11-16T09:00:00+01:00"] {
            assert!(flaw(|one| one.at = at.into()).is_some(), "{at}");
        }
        for method in ["", "trust me", "Zeros"] {
            assert!(flaw(|one| one.method = method.into()).is_some(), "{method}");
        }
        for read_back in ["all of it", "sha256:", "sha256:0a", "md5:0a"] {
            assert!(flaw(|one| one.read_back = read_back.into()).is_some(), "{read_back}");
        }
    }
}
