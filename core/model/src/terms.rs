//! What a job demands of its place beside its size, and whom it may stop for it.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::SiteKind;
use crate::words::words;

/// What a job demands of its place, beside its size.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Terms {
    /// The GPUs it needs, such as `H100-80GB`, if not any will do.
    pub product: Option<SmolStr>,
    /// What it must fit into as a whole.
    pub within: Within,
    /// How many nodes of each NVLink domain it uses; all its domains are used alike.
    pub segment: Option<u16>,
    /// Where it must run, if it matters.
    pub site: Option<SiteKind>,
    /// Which part of its tenant's quota it uses.
    pub capacity: Capacity,
    /// Whose jobs may be stopped for it.
    pub preempts: Preempts,
}

/// What a job must fit into as a whole, narrowest first. No job leaves its pod.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Within {
    /// One machine.
    Node,
    /// The machines that one NVLink reaches.
    NvlinkDomain,
    /// The machines below one leaf switch.
    Leaf,
    /// One fabric domain.
    #[default]
    Pod,
}

/// Which part of its tenant's quota a job uses.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Capacity {
    /// What was bought: room for it is kept, used or not.
    Reserved,
    /// What is free and that nobody reserved.
    #[default]
    OnDemand,
    /// Whatever is idle. It is stopped when others need the room.
    Preemptible,
}

/// Whose preemptible jobs may be stopped to make room for a job.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Preempts {
    /// Nobody's.
    #[default]
    Nobody,
    /// Those of its own tenant tree.
    Own,
    /// Also those of other tenants; their GPUs are scrubbed before they change hands.
    Others,
}

words! {
    Within: "node" Node, "nvlink-domain" NvlinkDomain, "leaf" Leaf, "pod" Pod;
    Capacity: "reserved" Reserved, "on-demand" OnDemand, "preemptible" Preemptible;
    Preempts: "nobody" Nobody, "own" Own, "others" Others;
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Display};
    use std::str::FromStr;

    use super::*;
    use crate::{ApartLevel, NotAWord, SiteKind};

    fn check<T>(all: &[T])
    where
        T: Copy + Debug + Display + FromStr<Err = NotAWord> + PartialEq + Serialize,
    {
        for value in all {
            let word = value.to_string();
            assert_eq!(word.parse(), Ok(*value));
            assert_eq!(serde_json::to_value(value).ok(), Some(word.into()));
        }
        assert!("anything".parse::<T>().is_err());
    }

    #[test]
    fn every_word_is_written_read_and_stored_alike() {
        check(Within::ALL);
        check(Capacity::ALL);
        check(Preempts::ALL);
        check(SiteKind::ALL);
        check(ApartLevel::ALL);
    }

    #[test]
    fn a_wrong_word_is_told_the_right_ones() {
        let error = "rack".parse::<Within>().map_err(|error| error.to_string());
        assert_eq!(error, Err("one of node, nvlink-domain, leaf, pod".to_owned()));
    }
}
