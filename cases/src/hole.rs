//! Holes that a sound world can be cut: each kind by its name, in the dialect it is cut into.

mod frr;
mod linux;
mod nxos;
mod spot;
mod table;

use model::{Artifact, DeviceId, Dialect, Part};

use crate::{Chance, World};
use spot::Spot;

/// One kind of hole.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    /// What is wrong afterwards.
    pub name: &'static str,
    /// The dialect it is cut into.
    pub dialect: Dialect,
    change: Change,
}

/// The lines that come in place of one; none where the hole cannot be cut.
type Change = fn(&Spot<'_>, &mut Chance) -> Option<Vec<String>>;

/// A world's texts with one hole.
#[derive(Clone, Debug)]
pub struct Wound {
    /// All texts, the changed one among them.
    pub artifacts: Vec<Artifact>,
    /// The device that holds the changed one.
    pub device: DeviceId,
    /// The part that was changed.
    pub part: Part,
    /// The line that stood there.
    pub before: String,
    /// The lines that stand there now.
    pub after: Vec<String>,
}

/// Every kind of hole, dialect by dialect.
pub const HOLES: [&[Hole]; 4] = [frr::HOLES, nxos::HOLES, linux::HOLES, table::HOLES];

impl Hole {
    /// Cuts a hole of this kind somewhere; none if this world has no place for it.
    pub fn cut(&self, world: &World, chance: &mut Chance) -> Option<Wound> {
        let mut spots: Vec<Spot<'_>> = Spot::all(world, self.dialect).collect();
        while !spots.is_empty() {
            let spot = spots.swap_remove(chance.below(spots.len()));
            if let Some(after) = (self.change)(&spot, chance) {
                return Some(spot.wound(after));
            }
        }
        None
    }
}
