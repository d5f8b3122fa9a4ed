//! Making way: stopping jobs for a gang, or moving them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::{Capacity, Generation, JobName, Preempts};

use super::ask::Ask;
use super::book::{Gang, GangId, GangState};
use super::ground::Ground;
use super::people::TenantKey;
use super::spot::Spot;
use crate::refusal::PlanRefusal;

/// A place for a gang, and whom it costs theirs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Preemption {
    /// The place, once the victims are gone.
    pub spot: Spot,
    /// Whole gangs that must be stopped first; none if there is room anyway.
    pub victims: Vec<Victim>,
}

/// A gang that must be stopped.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Victim {
    /// The job.
    pub job: JobName,
    /// How many GPUs it loses.
    pub gpus: u32,
    /// Whether it is of another tenant: its GPUs may not be used before there is evidence that
    /// they were scrubbed.
    pub is_foreign: bool,
}

/// Moves after which a gang fits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Defrag {
    /// Moves in the order in which they are possible; none if there is room anyway.
    pub moves: Vec<Move>,
    /// Where the gang goes then.
    pub spot: Spot,
}

/// A gang that goes elsewhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Move {
    /// The job.
    pub job: JobName,
    /// How many GPUs it has.
    pub gpus: u32,
    /// Where it is.
    pub from: Spot,
    /// Where it goes.
    pub to: Spot,
}

/// What one pool would cost: foreign victims first, then GPUs that lose their work.
type Price = (u32, u32);

impl Ground {
    /// The best place for a gang, if need be by stopping preemptible jobs: whole gangs, none
    /// that could stay, and only if the gang then fits.
    ///
    /// # Errors
    /// If it does not fit even then, or may stop nobody.
    pub fn preempt(&self, ask: &Ask) -> Result<Preemption, PlanRefusal> {
        let refusal = match self.seek(ask) {
            Ok(spot) => return Ok(Preemption { spot, victims: Vec::new() }),
            Err(refusal) => refusal,
        };
        if ask.preempts == Preempts::Nobody || ask.capacity == Capacity::Preemptible {
            return Err(refusal);
        }
        let pools = ask.pools.iter();
        let ways = pools.filter_map(|&pool| {
            let here = Ask { pools: vec![pool], ..ask.clone() };
            let victims = self.victims(&here);
            let fits = |ground: &Self| ground.seek(&here).is_ok();
            let (gone, cleared) = self.fewest_gone(victims, fits)?;
            let victims: Vec<Victim> = gone.iter().map(|gang| self.victim(ask, gang)).collect();
            let foreign = victims.iter().filter(|victim| victim.is_foreign);
            let price =
                (foreign.map(|one| one.gpus).sum(), victims.iter().map(|one| one.gpus).sum());
            Some((price, Preemption { spot: cleared.seek(&here).ok()?, victims }))
        });
        let best: Option<(Price, Preemption)> = ways.min_by_key(|(price, _)| *price);
        best.map(|(_, preemption)| preemption).ok_or(refusal)
    }

    /// Moves of other gangs after which a waiting gang fits. What each of them asked for is told
    /// by `asks`; a gang that is not there stays where it is.
    ///
    /// # Errors
    /// If no moves are found: why it does not fit as things are.
    pub fn defrag(&self, ask: &Ask, asks: &BTreeMap<JobName, Ask>) -> Result<Defrag, PlanRefusal> {
        let refusal = match self.seek(ask) {
            Ok(spot) => return Ok(Defrag { moves: Vec::new(), spot }),
            Err(refusal) => refusal,
        };
        if self.over_quota(ask.tenant, ask.capacity, ask.gpus()).is_some() {
            return Err(refusal);
        }
        let pools = ask.pools.iter();
        let ways = pools.filter_map(|&pool| self.defrag_in(ask, pool, asks));
        let cost = |way: &Defrag| -> (u32, usize) {
            (way.moves.iter().map(|one| one.gpus).sum(), way.moves.len())
        };
        ways.min_by_key(cost).ok_or(refusal)
    }

    /// Preemptible gangs that the ask may stop, those to be spared first.
    fn victims(&self, ask: &Ask) -> Vec<GangId> {
        let root = |tenant: TenantKey| self.people.lineage(tenant).last();
        let own = root(ask.tenant);
        let mut victims: Vec<(bool, u32, GangId)> = self
            .gangs
            .iter_ids()
            .filter(|(_, gang)| gang.is_live() && gang.capacity == Capacity::Preemptible)
            .filter(|(_, gang)| ask.preempts == Preempts::Others || root(gang.tenant) == own)
            .filter(|(_, gang)| self.is_in_pools(ask, gang))
            .map(|(id, gang)| (gang.tenant != ask.tenant, gang.gpus, id))
            .collect();
        victims.sort_unstable_by_key(|&(is_foreign, gpus, id)| Reverse((is_foreign, gpus, id)));
        victims.into_iter().map(|(_, _, id)| id).collect()
    }

    fn victim(&self, ask: &Ask, gang: &Gang) -> Victim {
        Victim { job: gang.job.clone(), gpus: gang.gpus, is_foreign: gang.tenant != ask.tenant }
    }

    fn is_in_pools(&self, ask: &Ask, gang: &Gang) -> bool {
        let slices = gang.spot.slices.iter().map(|slice| slice.node);
        let mut nodes = self.gpus(&gang.spot).map(|(node, _)| node).chain(slices);
        nodes.any(|node| ask.pools.contains(&self.map.nodes[node.index()].pool))
    }

    /// Which of these gangs must go so that it fits, and the ground without them. All go
    /// first; then each comes back, in this order, that is not in the way.
    fn fewest_gone(
        &self,
        gangs: Vec<GangId>,
        fits: impl Fn(&Self) -> bool,
    ) -> Option<(Vec<Gang>, Self)> {
        let mut ground = self.clone();
        let gone: Vec<Gang> = gangs.into_iter().filter_map(|id| ground.drop_gang(id)).collect();
        if !fits(&ground) {
            return None;
        }
        let mut victims = Vec::new();
        for gang in gone {
            let id = ground.hold(gang.clone());
            if !fits(&ground) {
                ground.drop_gang(id);
                victims.push(gang);
            }
        }
        Some((victims, ground))
    }

    fn defrag_in(&self, ask: &Ask, pool: u32, asks: &BTreeMap<JobName, Ask>) -> Option<Defrag> {
        let here = Ask { pools: vec![pool], ..ask.clone() };
        let mut movable: Vec<(u32, GangId)> = self
            .gangs
            .iter_ids()
            .filter(|(_, gang)| gang.is_live() && asks.contains_key(&gang.job))
            .filter(|(_, gang)| gang.gpus < ask.gpus().max(2) && self.is_in_pools(&here, gang))
            .map(|(id, gang)| (gang.gpus, id))
            .collect();
        // The largest come back first, so that small ones move.
        movable.sort_unstable_by_key(|&(gpus, id)| Reverse((gpus, id)));
        let movable: Vec<GangId> = movable.into_iter().map(|(_, id)| id).collect();
        // What moves is still there, so quotas are as they are now.
        let fits = |ground: &Self| ground.find(&here).is_some();
        let (moved, mut ground) = self.fewest_gone(movable, fits)?;
        let spot = ground.find(&here)?;
        let spot = Spot { keys: ground.fresh_keys(&ask.job, &spot).ok()?, ..spot };
        ground.hold(ground.tentative(ask, &spot));
        let mut moves = Vec::new();
        for gang in moved {
            let to = ground.find(asks.get(&gang.job)?)?;
            // Slices that lay on one GPU might be cut from two: that would count for more.
            if ground.count(&to) > gang.gpus {
                return None;
            }
            let to = Spot { keys: ground.fresh_keys(&gang.job, &to).ok()?, ..to };
            ground.hold(Gang { spot: to.clone(), ..gang.clone() });
            moves.push(Move { job: gang.job, gpus: gang.gpus, from: gang.spot, to });
        }
        Some(Defrag { moves: self.in_order(moves)?, spot })
    }

    /// A gang as it would be.
    fn tentative(&self, ask: &Ask, spot: &Spot) -> Gang {
        Gang {
            job: ask.job.clone(),
            generation: Generation::default(),
            tenant: ask.tenant,
            capacity: ask.capacity,
            state: GangState::Reserved,
            gpus: self.count(spot),
            spot: spot.clone(),
        }
    }

    /// The moves in an order in which each finds its place free, if there is one.
    fn in_order(&self, mut moves: Vec<Move>) -> Option<Vec<Move>> {
        let mut ground = self.clone();
        let mut ordered = Vec::with_capacity(moves.len());
        while !moves.is_empty() {
            let place = moves.iter().position(|one| ground.can_move(one))?;
            let one = moves.remove(place);
            let tenant = ground.people.key(&one.job.tenant)?;
            let id = ground.gangs.live_id(tenant, &one.job)?;
            let gang = ground.drop_gang(id)?;
            ground.hold(Gang { spot: one.to.clone(), ..gang });
            ordered.push(one);
        }
        Some(ordered)
    }

    fn can_move(&self, one: &Move) -> bool {
        let Some(gang) = self.live(&one.job) else {
            return false;
        };
        self.may_hold(&one.job, gang.tenant, &one.to).is_ok()
    }
}
