//! How many GPUs a tenant may hold, in all and in each class of capacity.

use std::collections::BTreeMap;

use model::{Quotas, TenantName};

use super::{Above, limits};
use crate::Problem;
use crate::form::{Form, Shape};
use crate::guardrail::Guardrail;
use crate::refusal::Refusals;
use crate::tree::{At, Pos};

/// A quota with the places that its numbers come from.
#[derive(Clone, Copy, Default)]
pub(super) struct Quota {
    pub(super) gpus: Option<At<u32>>,
    pub(super) reserved: Option<At<u32>>,
    on_demand: Option<At<u32>>,
    preemptible: Option<At<u32>>,
}

const QUOTA: Shape =
    Shape { what: "a quota", needs: &[], may: &["gpus", "reserved", "onDemand", "preemptible"] };

pub(super) fn read(form: &Form<'_>, out: &mut Refusals) -> Quota {
    let already = out.count();
    let Some(form) = form.form("quota", &QUOTA, out) else {
        return Quota::default();
    };
    if QUOTA.may.iter().all(|key| form.get(key).is_none()) && out.count() == already {
        out.refuse(form.pos, Problem::EitherOr { keys: QUOTA.may, given: Vec::new() });
    }
    let mut number = |key| form.number(key, 0, u64::from(u32::MAX), out);
    Quota {
        gpus: number("gpus"),
        reserved: number("reserved"),
        on_demand: number("onDemand"),
        preemptible: number("preemptible"),
    }
}

impl Quota {
    /// What a tenant may hold, given what it says itself and what its parent may hold.
    pub(super) fn settle(
        self,
        parent: Option<(Quota, Pos)>,
        rails: &[&Guardrail],
        above: &mut Above<'_>,
    ) -> Self {
        let inherited = parent.map(|(quota, _)| quota).unwrap_or_default();
        let gpus =
            above.at_most("quota", self.gpus, inherited.gpus, limits(rails, |rail| rail.max_gpus));
        // Below a tenant that bought nothing, nothing is bought.
        let bought = parent.map(|(quota, pos)| quota.reserved.unwrap_or(At { value: 0, pos }));
        above.at_most("reserved", self.reserved, bought, Vec::new());
        above.check_reserved(self.reserved, gpus);
        let mut class = |what, own, inherited| above.at_most(what, own, inherited, Vec::new());
        Self {
            gpus,
            reserved: self.reserved.or(inherited.reserved),
            on_demand: class("onDemand", self.on_demand, inherited.on_demand),
            preemptible: class("preemptible", self.preemptible, inherited.preemptible),
        }
    }

    pub(super) fn by_class(&self) -> Quotas {
        let value = |number: Option<At<u32>>| number.map(|at| at.value);
        Quotas {
            reserved: value(self.reserved),
            on_demand: value(self.on_demand),
            preemptible: value(self.preemptible),
        }
    }
}

impl Above<'_> {
    /// A reservation that the quota cuts off would promise what nobody gets.
    fn check_reserved(&mut self, reserved: Option<At<u32>>, gpus: Option<At<u32>>) {
        if let (Some(reserved), Some(gpus)) = (reserved, gpus)
            && reserved.value > gpus.value
        {
            let problem = Problem::ReservedAboveQuota {
                tenant: self.tenant.to_string(),
                reserved: reserved.value,
                quota: gpus.value,
                place: self.out.place(gpus.pos),
            };
            self.out.refuse(reserved.pos, problem);
        }
    }
}

/// Who bought how much, and how much of that those below took for themselves.
#[derive(Default)]
pub(super) struct Purchases(BTreeMap<TenantName, (At<u32>, u64)>);

impl Purchases {
    /// Notes what a tenant says it bought. Those above it must have been noted before.
    pub(super) fn note(&mut self, tenant: &TenantName, reserved: At<u32>, out: &mut Refusals) {
        let mut above = std::iter::successors(tenant.parent(), TenantName::parent);
        if let Some(seller) = above.find(|above| self.0.contains_key(above))
            && let Some((whole, taken)) = self.0.get_mut(&seller)
            // What is too much by itself is refused by itself.
            && reserved.value <= whole.value
        {
            *taken += u64::from(reserved.value);
            if *taken > u64::from(whole.value) {
                let problem = Problem::ReservedTwice {
                    tenant: tenant.to_string(),
                    reserved: reserved.value,
                    above: seller.to_string(),
                    taken: *taken,
                    whole: whole.value,
                    place: out.place(whole.pos),
                };
                out.refuse(reserved.pos, problem);
            }
        }
        self.0.insert(tenant.clone(), (reserved, 0));
    }
}
