//! Everything a job would get, found before any of it is taken.

use std::sync::Arc;

use ipnet::Ipv4Net;
use model::{DeviceId, Job, NicRef, Tenant, TenantName, Vlan};
use wire::Tag;

use crate::blocks::prefix_for;
use crate::net::selecting_leaf;
use crate::place::TenantKey;
use crate::planner::{Offer, Planner};
use crate::record::{Lease, SeatAt, VlanAt};
use crate::refusal::PlanRefusal;
use crate::seats::Seeker;

/// Finding everything a job needs, without taking any of it.
impl Planner {
    pub(crate) fn offer(&mut self, job: &Job) -> Result<Offer, PlanRefusal> {
        let name = &job.name;
        let Some(tenant) = self.tenants.get(&name.tenant).map(Arc::clone) else {
            return Err(PlanRefusal::TenantUnknown { job: name.clone() });
        };
        if self.ledger.jobs().contains_key(name) {
            return Err(PlanRefusal::JobKnown { job: name.clone() });
        }
        let key = self.ground.tenant_like(&tenant);
        let seats = self.in_order(self.seeker(job, &tenant, key).seats()?);
        let gpus = seats.iter().map(|&(_, nic)| self.ground.gpus_behind(nic)).sum();
        self.ground.within_quota(&job.name, key, job.terms.capacity, gpus)?;
        let nics: Vec<NicRef> = seats.iter().map(|&(_, nic)| nic).collect();
        let lease = Lease {
            tag: self.tag(job)?,
            subnet: self.subnet(job, &tenant, seats.len())?,
            class: job.class,
            ceiling: job.ceiling,
            capacity: job.terms.capacity,
            keys: self.ground.fresh_keys_for(name, &nics)?,
            grade: tenant.grade,
            gpus,
            vlans: self.vlans(job, &tenant, &seats)?,
            seats: seats.iter().map(|&(_, nic)| self.seat_at(nic)).collect(),
            layers: self.managers.names_of(&self.fleet, &nics),
            scrub: self.fleet.scrub.clone(),
        };
        let consents = self.wished_with_present(name);
        self.may_join(&consents)?;
        Ok(Offer { tenant_number: self.tenant_number(&name.tenant)?, lease, nics, consents })
    }

    pub(crate) fn seeker<'a>(
        &'a self,
        job: &'a Job,
        tenant: &'a Tenant,
        key: TenantKey,
    ) -> Seeker<'a> {
        Seeker { fleet: &self.fleet, ground: &self.ground, ledger: &self.ledger, job, tenant, key }
    }

    /// Endpoints behind one device get consecutive addresses, so that one line names them all.
    fn in_order(&self, seats: Vec<NicRef>) -> Vec<(DeviceId, NicRef)> {
        let device = |nic: &NicRef| self.fleet.enforcement_point(nic.node, nic.nic).0;
        let mut seats: Vec<(DeviceId, NicRef)> =
            seats.into_iter().map(|nic| (device(&nic), nic)).collect();
        seats.sort_unstable();
        seats
    }

    fn tag(&self, job: &Job) -> Result<Tag, PlanRefusal> {
        let mut ranges = self.bounds.tags.iter();
        let free = ranges.find_map(|range| self.ledger.tags().lowest_free(range));
        free.and_then(|tag| Tag::try_from(tag).ok()).ok_or_else(|| PlanRefusal::TagsExhausted {
            job: job.name.clone(),
            limit: self.bounds.tag_count(),
            resting: self.ledger.resting_tags(),
        })
    }

    /// The number a tenant would need; none if it has one.
    fn tenant_number(&self, tenant: &TenantName) -> Result<Option<u16>, PlanRefusal> {
        if self.ledger.tenants().contains_key(tenant) {
            return Ok(None);
        }
        let numbers = &self.bounds.tenant_numbers;
        match self.ledger.numbers().lowest_free(numbers) {
            Some(number) => Ok(Some(number)),
            None => Err(PlanRefusal::TenantNumbersExhausted {
                tenant: tenant.clone(),
                limit: numbers.len() as u32,
                resting: self.ledger.resting_numbers(),
            }),
        }
    }

    fn subnet(
        &mut self,
        job: &Job,
        tenant: &Tenant,
        endpoints: usize,
    ) -> Result<Ipv4Net, PlanRefusal> {
        let prefix = prefix_for(endpoints).unwrap_or(0);
        self.blocks(tenant).first_free(prefix).ok_or_else(|| PlanRefusal::PoolExhausted {
            job: job.name.clone(),
            endpoints: endpoints as u32,
            prefix,
            pools: tenant.pools.clone(),
        })
    }

    fn vlans(
        &self,
        job: &Job,
        tenant: &Tenant,
        seats: &[(DeviceId, NicRef)],
    ) -> Result<Vec<VlanAt>, PlanRefusal> {
        let mut vlans = Vec::new();
        for at_device in seats.chunk_by(|a, b| a.0 == b.0) {
            let device = at_device[0].0;
            self.selectors(job, device, at_device.len() as u32)?;
            self.can_promise(&job.name, tenant, device)?;
            vlans.push(VlanAt {
                device: self.fleet.device_name(device).clone(),
                vlan: self.vlan(job, device)?,
            });
        }
        vlans.sort_unstable_by(|a, b| a.device.cmp(&b.device));
        Ok(vlans)
    }

    fn vlan(&self, job: &Job, device: DeviceId) -> Result<Vlan, PlanRefusal> {
        let name = self.fleet.device_name(device);
        let range = &self.bounds.vlans;
        let free = match self.ledger.vlans_at(name) {
            Some(held) => held.lowest_free(range),
            None => Some(*range.start()),
        };
        free.and_then(|vlan| Vlan::try_from(vlan).ok()).ok_or_else(|| PlanRefusal::VlansExhausted {
            job: job.name.clone(),
            device: name.clone(),
            limit: range.len() as u32,
        })
    }

    fn selectors(&self, job: &Job, device: DeviceId, more: u32) -> Result<(), PlanRefusal> {
        let would_be = self.endpoints_at(device) + more;
        if selecting_leaf(&self.fleet, device) && would_be > self.bounds.selectors {
            return Err(PlanRefusal::SelectorsExceeded {
                job: job.name.clone(),
                leaf: self.fleet.device_name(device).clone(),
                limit: self.bounds.selectors,
                would_be,
            });
        }
        Ok(())
    }

    fn seat_at(&self, nic: NicRef) -> SeatAt {
        SeatAt { node: self.fleet.nodes[nic.node.index()].name.clone(), nic: nic.nic }
    }
}
