//! Where the next slice of a GPU is cut.
//!
//! Takes: a product, and what of a GPU is cut already. Gives: the exact slot.
//! Never: a slot that another slice has; a second slice with media engines on one GPU.

use std::array;

use model::{MigProfile, mig_profiles};

/// How GPUs of one product can be cut. Slots are bits: the lowest is slot 0.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    profiles: &'static [MigProfile],
    /// By profile, whether the media engines are taken, and the busy slots.
    cuts: Vec<[[Option<Cut>; STATES]; 2]>,
    /// By profile: the busy slots beside which there is room for one more.
    by_loss: Vec<Vec<u8>>,
}

/// Where a slice would begin, and how many other slices could be cut before it and not after.
type Cut = (u8, u32);

/// A GPU has eight slots, each busy or not.
const STATES: usize = 256;

impl Geometry {
    /// How a product can be cut, unless it cannot.
    pub(crate) fn of(product: &str) -> Option<Self> {
        let profiles = mig_profiles(product);
        if profiles.is_empty() {
            return None;
        }
        let mut geometry = Self { profiles, cuts: Vec::new(), by_loss: Vec::new() };
        let choices =
            [false, true].map(|has_me| array::from_fn(|busy| geometry.choices(busy as u8, has_me)));
        for profile in 0..profiles.len() {
            let cuts = [false, true].map(|has_me| {
                array::from_fn(|busy| geometry.search(&choices, busy as u8, has_me, profile))
            });
            geometry.by_loss.push(by_loss(&cuts[0]));
            geometry.cuts.push(cuts);
        }
        Some(geometry)
    }

    /// Which profile this name is.
    pub(crate) fn profile(&self, name: &str) -> Option<usize> {
        self.profiles.iter().position(|profile| profile.name == name)
    }

    /// What all profiles are called.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.profiles.iter().map(|profile| profile.name)
    }

    /// Whether a slice of this profile takes the GPU's media engines.
    pub(crate) fn has_me(&self, profile: usize) -> bool {
        self.profiles[profile].media_engines
    }

    /// The slots where a slice of this profile may begin.
    pub(crate) fn starts(&self, profile: usize) -> &'static [u8] {
        self.profiles[profile].starts
    }

    /// The slots of a slice that begins here.
    pub(crate) fn slots(&self, profile: usize, start: u8) -> u8 {
        slots(&self.profiles[profile], start)
    }

    /// The start after which the most other slices can still be cut from a GPU with these slots
    /// busy and its media engines taken or not, and how many that are fewer; of equals the lowest.
    pub(crate) fn best(&self, busy: u8, has_me: bool, profile: usize) -> Option<Cut> {
        self.cuts[profile][usize::from(has_me)][usize::from(busy)]
    }

    /// The busy slots of GPUs that have room for one more slice of this profile, in the order in
    /// which they are to be tried: least loss first. A GPU that is not cut at all comes last,
    /// because it can still be had whole.
    pub(crate) fn by_loss(&self, profile: usize) -> &[u8] {
        &self.by_loss[profile]
    }

    fn search(
        &self,
        choices: &[[u32; STATES]; 2],
        busy: u8,
        has_me: bool,
        profile: usize,
    ) -> Option<Cut> {
        let choices = |busy: u8, has_me: bool| choices[usize::from(has_me)][usize::from(busy)];
        let cut = |start: u8| {
            let after = busy | self.slots(profile, start);
            choices(busy, has_me) - choices(after, has_me || self.has_me(profile))
        };
        let starts = self.starts(profile).iter().copied();
        starts
            .filter(|&start| self.fits(busy, has_me, profile, start))
            .map(|start| (start, cut(start)))
            .min_by_key(|&(start, loss)| (loss, start))
    }

    /// How many different slices could come next.
    fn choices(&self, busy: u8, has_me: bool) -> u32 {
        let fits = |profile| {
            self.starts(profile)
                .iter()
                .filter(|&&start| self.fits(busy, has_me, profile, start))
                .count() as u32
        };
        (0..self.profiles.len()).map(fits).sum()
    }

    fn fits(&self, busy: u8, has_me: bool, profile: usize, start: u8) -> bool {
        busy & self.slots(profile, start) == 0 && !(has_me && self.has_me(profile))
    }
}

fn by_loss(cuts: &[Option<Cut>; STATES]) -> Vec<u8> {
    let losses = cuts.iter().zip(0_u8..=u8::MAX);
    let mut losses: Vec<(u32, u8)> =
        losses.filter_map(|(cut, busy)| cut.map(|(_, loss)| (loss, busy))).collect();
    losses.sort_by_key(|&(loss, busy)| (busy == 0, loss, busy.count_zeros(), busy));
    losses.into_iter().map(|(_, busy)| busy).collect()
}

const fn slots(profile: &MigProfile, start: u8) -> u8 {
    (u8::MAX >> (8 - profile.memory_slices)) << start
}

#[cfg(test)]
mod tests;
