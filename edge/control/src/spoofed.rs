//! Frames from a source that does not belong at their port. No text of a device tells of them: only
//! those do that the packet program refuses.

use std::collections::{BTreeMap, BTreeSet};

use model::Name;
use wire::{Hook, Reason};

/// What a packet program refused: hook, reason, tag of the sender, how many frames.
pub(crate) type Dropped = (String, String, u16, u64);

/// What each device counted, and which sources were named.
#[derive(Default)]
pub(crate) struct SpoofedSources {
    counted: BTreeMap<Name, BTreeMap<Mark, u64>>,
    named: BTreeSet<(Name, Mark)>,
}

/// Why frames were refused, and the tag of the port where they came in.
type Mark = (Reason, u16);

impl SpoofedSources {
    /// Takes in what a device counted; gives whoever began to speak since, with how many frames.
    /// What was counted before the first look is no event.
    pub(crate) fn take(&mut self, device: &Name, drops: &[Dropped]) -> Vec<(Mark, u64)> {
        let counted = spoofed(drops);
        let Some(before) = self.counted.insert(device.clone(), counted.clone()) else {
            return Vec::new();
        };
        let grown = counted.into_iter().filter_map(|(mark, frames)| {
            let more = frames.saturating_sub(before.get(&mark).copied().unwrap_or(0));
            (more > 0).then_some((mark, more))
        });
        let grown: Vec<(Mark, u64)> = grown.collect();
        let (named, others): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut self.named).into_iter().partition(|(name, _)| name == device);
        let speaking = grown.iter().map(|(mark, _)| (device.clone(), *mark));
        self.named = others.into_iter().chain(speaking).collect();
        let is_new = |mark: &Mark| !named.contains(&(device.clone(), *mark));
        grown.into_iter().filter(|(mark, _)| is_new(mark)).collect()
    }
}

/// Only workloads' own frames count, and only reasons that a right source cannot have.
fn spoofed(drops: &[Dropped]) -> BTreeMap<Mark, u64> {
    let sent = drops.iter().filter(|(hook, ..)| hook == Hook::Workload.as_str());
    let spoofed = sent.filter_map(|(_, reason, tag, frames)| {
        let mut reasons = [Reason::SourceMac, Reason::Source].into_iter();
        let reason = reasons.find(|known| known.as_str() == reason)?;
        Some(((reason, *tag), *frames))
    });
    spoofed.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a name that is none ends the test")]

    use super::*;

    #[test]
    fn a_spoofed_source_is_named_once_as_long_as_it_speaks() {
        let leaf: Name = "leaf-1".parse().unwrap();
        let mut sources = SpoofedSources::default();
        let mut take = |drops: &[(&str, &str, u16, u64)]| {
            let owned = drops.iter().map(|&(hook, reason, tag, frames)| {
                (hook.to_owned(), reason.to_owned(), tag, frames)
            });
            let named = sources.take(&leaf, &owned.collect::<Vec<_>>());
            named.into_iter().map(|((_, tag), frames)| (tag, frames)).collect::<Vec<_>>()
        };
        assert_eq!(take(&[("workload", "source-mac", 17, 5)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 5), ("local", "source", 18, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 8)]), [(17, 3)]);
        assert_eq!(take(&[("workload", "source-mac", 17, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 9)]), []);
        assert_eq!(take(&[("workload", "source-mac", 17, 10)]), [(17, 1)]);
    }
}
