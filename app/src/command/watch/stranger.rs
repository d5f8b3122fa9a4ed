//! Hosts that are not the one that belongs at their port. No text of a device tells of them: only
//! the frames do that the packet program refuses for their source.

use std::collections::{BTreeMap, BTreeSet};

use agent::Counters;
use model::Name;

/// Where workloads' frames are judged, and the reasons that only a wrong source can have.
const HOOK: &str = "workload";
const REASONS: [&str; 2] = ["source-mac", "source"];

/// What each device counted, and who was told of.
#[derive(Default)]
pub(super) struct Strangers {
    counted: BTreeMap<Name, Counters>,
    told: BTreeSet<(Name, Mark)>,
}

/// Why frames were refused, and the tag of the port where they came in.
pub(super) type Mark = (String, u16);

impl Strangers {
    /// Takes in what a device counted; gives whoever began to speak since, with how many frames.
    /// What was counted before the first look is nobody's news.
    pub(super) fn take(&mut self, device: &Name, counters: &Counters) -> Vec<(Mark, u64)> {
        let Some(before) = self.counted.insert(device.clone(), counters.clone()) else {
            return Vec::new();
        };
        let before = refused(&before);
        let now = refused(counters);
        let grown = now.into_iter().filter_map(|(mark, frames)| {
            let more = frames.saturating_sub(before.get(&mark).copied().unwrap_or(0));
            (more > 0).then_some((mark, more))
        });
        let grown: Vec<(Mark, u64)> = grown.collect();
        let (told, others): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut self.told).into_iter().partition(|(name, _)| name == device);
        let speaking = grown.iter().map(|(mark, _)| (device.clone(), mark.clone()));
        self.told = others.into_iter().chain(speaking).collect();
        let is_new = |mark: &Mark| !told.contains(&(device.clone(), mark.clone()));
        grown.into_iter().filter(|(mark, _)| is_new(mark)).collect()
    }
}

fn refused(counters: &Counters) -> BTreeMap<Mark, u64> {
    let strange = counters
        .drops
        .iter()
        .filter(|(hook, reason, ..)| hook == HOOK && REASONS.contains(&reason.as_str()));
    strange.map(|(_, reason, tag, frames)| ((reason.clone(), *tag), *frames)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a name that is none ends the test")]

    use super::*;

    fn counters(drops: &[(&str, &str, u16, u64)]) -> Counters {
        let owned = |&(hook, reason, tag, frames): &(&str, &str, u16, u64)| {
            (hook.to_owned(), reason.to_owned(), tag, frames)
        };
        Counters { passed: 0, drops: drops.iter().map(owned).collect() }
    }

    #[test]
    fn a_stranger_is_told_once_as_long_as_it_speaks() {
        let leaf: Name = "leaf-1".parse().unwrap();
        let mut strangers = Strangers::default();
        let mut take = |drops: &[(&str, &str, u16, u64)]| {
            let told = strangers.take(&leaf, &counters(drops));
            told.into_iter().map(|((_, tag), frames)| (tag, frames)).collect::<Vec<_>>()
        };
        assert_eq!(take(&[("workload", "source-mac", 17, 5)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 5), ("local", "source", 18, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 8)]), [(17, 3)]);
        assert_eq!(take(&[("workload", "source-mac", 17, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 10)]), [(17, 1)]);
    }
}
