//! What was leased, put on the ground as it is: named interfaces with the GPUs behind them.

use std::collections::BTreeMap;

use model::{Capacity, Generation, Grade, JobName, NicRef, NodeId, TenantName};

use super::book::{Gang, GangId, GangState};
use super::ground::Ground;
use super::people::TenantKey;
use super::spot::{Spot, SpotPart, Stretch};

/// What the planner puts on the ground: interfaces with all GPUs behind them.
pub(crate) struct Holding<'a> {
    pub(crate) job: &'a JobName,
    pub(crate) tenant: TenantKey,
    pub(crate) capacity: Capacity,
    pub(crate) turn: Turn,
}

/// Which holding of a job it is: the one that lives, or a numbered one that rests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Turn {
    Living,
    Resting(u64),
}

impl Turn {
    /// Books go by generation: rests are numbered from one, and what lives is the last.
    const fn generation(self) -> Generation {
        match self {
            Self::Living => Generation(u64::MAX),
            Self::Resting(number) => Generation(number),
        }
    }

    const fn state(self) -> GangState {
        match self {
            Self::Living => GangState::Active,
            Self::Resting(_) => GangState::Draining,
        }
    }
}

/// What was leased is held, whoever else is there: the ledger is the truth, and the planner
/// judges it.
impl Ground {
    /// Puts a job on interfaces.
    pub(crate) fn hold_nics(&mut self, holding: &Holding<'_>, nics: &[NicRef]) {
        let spot = self.spot_of(nics);
        if spot.is_empty() {
            return;
        }
        self.hold(Gang {
            job: holding.job.clone(),
            generation: holding.turn.generation(),
            tenant: holding.tenant,
            capacity: holding.capacity,
            state: holding.turn.state(),
            gpus: self.count(&spot),
            spot,
        });
    }

    /// Takes a job off what it held at a turn, and says what that was.
    pub(crate) fn release(&mut self, job: &JobName, turn: Turn) -> Option<Gang> {
        let id = self.held_at(job, turn)?;
        self.drop_gang(id)
    }

    /// Lets what lived rest.
    pub(crate) fn rest(&mut self, job: &JobName, number: u64) {
        let turn = Turn::Resting(number);
        if let Some(gang) = self.release(job, Turn::Living) {
            self.hold(Gang { generation: turn.generation(), state: turn.state(), ..gang });
        }
    }

    /// Counts what a living job holds in another class.
    pub(crate) fn reclass(&mut self, job: &JobName, capacity: Capacity) {
        if let Some(gang) = self.release(job, Turn::Living) {
            self.hold(Gang { capacity, ..gang });
        }
    }

    /// How many GPUs use this interface.
    pub(crate) fn gpus_behind(&self, nic: NicRef) -> u32 {
        self.map.shape_of(nic.node).gpus_of(nic.nic).count_ones()
    }

    /// Who a tenant is, and what it shares.
    pub(crate) fn described(&self, key: TenantKey) -> (&TenantName, Grade) {
        let person = self.people.at(key);
        (&person.said.name, person.grade)
    }

    fn held_at(&self, job: &JobName, turn: Turn) -> Option<GangId> {
        self.gangs.at_generation(self.people.key(&job.tenant)?, job, turn.generation())
    }

    /// All GPUs behind these interfaces. A node that is empty is taken as a whole.
    fn spot_of(&self, nics: &[NicRef]) -> Spot {
        let mut nodes: BTreeMap<NodeId, u64> = BTreeMap::new();
        for nic in nics {
            *nodes.entry(nic.node).or_default() |= self.map.shape_of(nic.node).gpus_of(nic.nic);
        }
        let mut spot = Spot::default();
        for (node, gpus) in nodes {
            let on = &self.map.nodes[node.index()];
            let bit = 1_u64 << on.bit;
            let is_empty = self.blocks[on.block as usize] & bit != 0;
            if !is_empty || gpus != self.map.shape_of(node).all() {
                spot.parts.push(SpotPart { node, gpus });
                continue;
            }
            match spot.stretches.iter_mut().rev().find(|stretch| stretch.block == on.block) {
                Some(stretch) => *stretch = Stretch::new(on.block, stretch.nodes() | bit),
                None => spot.stretches.push(Stretch::new(on.block, bit)),
            }
        }
        spot
    }
}
