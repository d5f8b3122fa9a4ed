//! A Merkle tree over all devices (RFC 6962, section 2.1), of which a change hashes one way up.

use std::collections::BTreeMap;

use model::{DeviceId, Digest, Name};

/// The leaves are the devices by their names, so that no position in a list counts.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Which leaf is whose. Numbers of devices have gaps: not everything that has one is configured.
    places: BTreeMap<DeviceId, usize>,
    /// Leaves first, the root last.
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    /// Of the devices that are called so; none of them has anything yet.
    pub(crate) fn of<'a>(devices: impl Iterator<Item = (DeviceId, &'a Name)>) -> Self {
        let mut by_name: Vec<(&Name, DeviceId)> =
            devices.map(|(device, name)| (name, device)).collect();
        by_name.sort_unstable();
        let places = by_name.iter().enumerate().map(|(place, (_, device))| (*device, place));
        let leaves = by_name.iter().map(|(name, _)| leaf(name, None));
        let mut tree = Self { places: places.collect(), levels: vec![leaves.collect()] };
        tree.climb((0..by_name.len()).collect());
        tree
    }

    /// Puts these in place of what was there, and gives the root.
    pub(crate) fn settle<'a>(
        &mut self,
        changed: impl Iterator<Item = (DeviceId, &'a Name, Option<Digest>)>,
    ) -> Digest {
        let mut touched = Vec::new();
        for (device, name, digest) in changed {
            let place = self.places[&device];
            self.levels[0][place] = leaf(name, digest);
            touched.push(place);
        }
        touched.sort_unstable();
        self.climb(touched);
        let root = self.levels.last().and_then(|level| level.first());
        root.copied().unwrap_or_else(|| Digest::of(&[]))
    }

    /// Hashes all that stands above these leaves, which are in their order.
    fn climb(&mut self, mut touched: Vec<usize>) {
        let mut height = 0;
        while self.levels[height].len() > 1 {
            touched.iter_mut().for_each(|place| *place /= 2);
            touched.dedup();
            if self.levels.len() == height + 1 {
                let width = self.levels[height].len().div_ceil(2);
                self.levels.push(vec![Digest::of(&[]); width]);
            }
            for place in &touched {
                let below = &self.levels[height][2 * place..];
                self.levels[height + 1][*place] = match below {
                    [left, right, ..] => node(*left, *right),
                    [alone] => *alone,
                    [] => continue,
                };
            }
            height += 1;
        }
    }
}

fn leaf(name: &Name, digest: Option<Digest>) -> Digest {
    let name = name.as_str().as_bytes();
    let mut bytes = vec![0];
    bytes.extend((name.len() as u64).to_be_bytes());
    bytes.extend(name);
    bytes.extend(digest.iter().flat_map(Digest::as_bytes));
    Digest::of(&bytes)
}

fn node(left: Digest, right: Digest) -> Digest {
    let mut bytes = [1; 1 + 2 * Digest::BYTES];
    bytes[1..=Digest::BYTES].copy_from_slice(left.as_bytes());
    bytes[1 + Digest::BYTES..].copy_from_slice(right.as_bytes());
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of RFC 6962, word for word: split at the largest power of two below the count.
    fn defined(leaves: &[Digest]) -> Digest {
        match leaves {
            [] => Digest::of(&[]),
            [alone] => *alone,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                node(defined(&leaves[..split]), defined(&leaves[split..]))
            }
        }
    }

    /// These, as if nothing were configured on every other device.
    fn with_gaps(names: &[Name]) -> impl Iterator<Item = (DeviceId, &Name)> {
        (0..).step_by(2).map(DeviceId).zip(names)
    }

    #[test]
    fn a_change_of_any_device_gives_the_root_of_the_standard() {
        for count in 1..20_u32 {
            let names: Vec<Name> =
                (0..count).map(|number| format!("n{number}").parse().unwrap()).collect();
            let mut tree = Tree::of(with_gaps(&names));
            let mut digests = vec![None; names.len()];
            for (place, (device, name)) in with_gaps(&names).enumerate() {
                digests[place] = Some(Digest::of(name.as_str().as_bytes()));
                let root = tree.settle([(device, name, digests[place])].into_iter());
                let mut by_name: Vec<_> = names.iter().zip(&digests).collect();
                by_name.sort();
                let leaves: Vec<Digest> =
                    by_name.into_iter().map(|(name, digest)| leaf(name, *digest)).collect();
                assert_eq!(root, defined(&leaves), "{count} devices, change {place}");
            }
        }
    }

    #[test]
    fn the_order_in_which_devices_are_counted_does_not_count() {
        let names: Vec<Name> = ["a", "b", "c"].map(|name| name.parse().unwrap()).into();
        let of = |names: &[Name]| {
            let digest = |name: &Name| Some(Digest::of(name.as_str().as_bytes()));
            let all = with_gaps(names).map(|(device, name)| (device, name, digest(name)));
            Tree::of(with_gaps(names)).settle(all)
        };
        let turned: Vec<Name> = names.iter().rev().cloned().collect();
        assert_eq!(of(&names), of(&turned));
    }
}
