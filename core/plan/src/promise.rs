//! Whether all guarantees that can meet at an uplink fit into it.

use std::fmt;

use model::{
    DeviceAt, DeviceId, Dialect, Fleet, JobName, Name, Rate, SwitchId, Tenant, TenantName,
};

use crate::planner::Planner;
use crate::refusal::PlanRefusal;

/// More than a link has, guaranteed at every uplink of one device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Overpromise {
    /// Whose uplinks.
    pub device: Name,
    /// Who is guaranteed how much there, the most first.
    pub guaranteed: Vec<(TenantName, Rate)>,
    /// What one of the uplinks carries.
    pub carries: Rate,
}

impl Overpromise {
    /// All guarantees together.
    #[must_use]
    pub fn sum(&self) -> Rate {
        sum(&self.guaranteed)
    }
}

/// `500Gbps (blue 300Gbps, red 200Gbps), more than the 400Gbps it carries`
impl fmt::Display for Overpromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.guaranteed.iter().map(|(tenant, rate)| format!("{tenant} {rate}"));
        let each: Vec<String> = each.collect();
        write!(f, "{} ({}), more than the {} it carries", self.sum(), each.join(", "), self.carries)
    }
}

/// A tenant has a queue with its whole guarantee at every uplink of every device it is on, because
/// all that it sends may choose the same one. So the guarantees that can meet at an uplink are those
/// of all tenants on its device, whoever talks to whom.
impl Planner {
    /// Whether a job's tenant can have its guarantee on a device, beside those who are there.
    pub(crate) fn can_promise(
        &self,
        job: &JobName,
        tenant: &Tenant,
        device: DeviceId,
    ) -> Result<(), PlanRefusal> {
        let (Some(carries), Some(guarantee)) = (self.queued(device), tenant.guarantee) else {
            return Ok(());
        };
        let mut guaranteed = self.guaranteed_at(device);
        if guaranteed.iter().any(|(other, _)| *other == tenant.name) {
            return Ok(());
        }
        guaranteed.push((tenant.name.clone(), guarantee));
        match self.overpromise(device, guaranteed, carries) {
            Some(by) => Err(PlanRefusal::GuaranteesExceeded { job: job.clone(), by }),
            None => Ok(()),
        }
    }

    /// Guarantees may have grown since the jobs came, or links become slower.
    pub(crate) fn judge_promises(&self, refusals: &mut Vec<PlanRefusal>) {
        for &device in self.plan.devices.keys() {
            let Some(carries) = self.queued(device) else {
                continue;
            };
            let guaranteed = self.guaranteed_at(device);
            let by = self.overpromise(device, guaranteed, carries);
            refusals.extend(by.map(|by| PlanRefusal::GuaranteesAboveLink { by }));
        }
    }

    fn overpromise(
        &self,
        device: DeviceId,
        mut guaranteed: Vec<(TenantName, Rate)>,
        carries: Rate,
    ) -> Option<Overpromise> {
        if sum(&guaranteed) <= carries {
            return None;
        }
        guaranteed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Some(Overpromise { device: self.fleet.device_name(device).clone(), guaranteed, carries })
    }

    fn guaranteed_at(&self, device: DeviceId) -> Vec<(TenantName, Rate)> {
        let jobs = self.plan.devices.get(&device).into_iter().flat_map(|at| at.jobs.keys());
        // Jobs are ordered by tenant first.
        let mut tenants: Vec<&TenantName> = jobs.map(|job| &job.tenant).collect();
        tenants.dedup();
        let guarantee = |tenant: &TenantName| self.plan.tenants.get(tenant)?.guarantee;
        let guaranteed =
            tenants.into_iter().filter_map(|tenant| Some((tenant.clone(), guarantee(tenant)?)));
        guaranteed.collect()
    }

    fn queued(&self, device: DeviceId) -> Option<Rate> {
        let rate = self.fleet.uplink_rate?;
        has_queues(&self.fleet, device).then_some(rate)
    }
}

fn sum(guaranteed: &[(TenantName, Rate)]) -> Rate {
    let rates = guaranteed.iter().map(|(_, rate)| rate.bps);
    Rate { bps: rates.fold(0, u64::saturating_add) }
}

/// Whether what leaves a device waits in queues: where the kernel is the tunnel endpoint and has
/// uplinks. A leaf with tunnel endpoints below it carries their tunnels and queues none.
fn has_queues(fleet: &Fleet, device: DeviceId) -> bool {
    let is_kernel = fleet.network_dialects(device).contains(&Dialect::Linux);
    is_kernel
        && match fleet.at(device) {
            DeviceAt::Switch(_) => {
                let leaf = SwitchId(device.0);
                let mut links = fleet.links.iter();
                links.any(|link| link.a.switch == leaf || link.b.switch == leaf)
                    && !fleet.carries_tunnels(device)
            }
            DeviceAt::Node(node) => node.uplinks.iter().any(|uplink| uplink.leaf_address.is_some()),
            DeviceAt::Manager(_) => false,
        }
}
