//! Whether a tenant and all above it may hold so many GPUs more.

use model::{Capacity, Quotas};

use super::ground::Ground;
use super::people::{TenantKey, class_index};

/// Why a tenant may not hold so many GPUs more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OverQuota {
    /// All classes together.
    Total { tenant: TenantKey, left: u32 },
    /// One class.
    Class { tenant: TenantKey, left: u32 },
    /// Others reserved what is left.
    Kept { left: u32, kept: u64 },
}

/// What a tenant and all below it may hold and do hold, in one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Account {
    pub(crate) quota: Option<u32>,
    pub(crate) quotas: Quotas,
    /// GPUs by class.
    pub(crate) used: [u32; 3],
    /// The parent.
    pub(crate) above: Option<TenantKey>,
    /// The topmost of its lineage with a reservation, which is where the room is kept.
    pub(crate) keeper: Option<TenantKey>,
}

impl Account {
    /// What is reserved and not used.
    pub(crate) fn unused_reservation(&self) -> u64 {
        let reserved = self.quotas.reserved.unwrap_or(0);
        u64::from(reserved.saturating_sub(self.used[class_index(Capacity::Reserved)]))
    }

    fn all_used(&self) -> u64 {
        self.used.iter().copied().map(u64::from).sum()
    }

    /// The cap of one class. A tenant without a reservation has reserved nothing.
    fn cap(&self, class: Capacity) -> Option<u32> {
        match class {
            Capacity::Reserved => Some(self.quotas.reserved.unwrap_or(0)),
            Capacity::OnDemand => self.quotas.on_demand,
            Capacity::Preemptible => self.quotas.preemptible,
        }
    }
}

impl Ground {
    /// What forbids a tenant so many GPUs more of one class: its own caps and those of all
    /// above it, or the room that is kept for others.
    pub(crate) fn over_quota(
        &self,
        tenant: TenantKey,
        class: Capacity,
        gpus: u32,
    ) -> Option<OverQuota> {
        for tenant in self.people.lineage(tenant) {
            let account = self.people.account(tenant);
            let quota = account.quota;
            if let Some(left) = quota.and_then(|cap| too_few(cap, account.all_used(), gpus)) {
                return Some(OverQuota::Total { tenant, left });
            }
            let used = u64::from(account.used[class_index(class)]);
            if let Some(left) = account.cap(class).and_then(|cap| too_few(cap, used, gpus)) {
                return Some(OverQuota::Class { tenant, left });
            }
        }
        if class != Capacity::OnDemand {
            return None;
        }
        // Only what is on demand makes way for reservations: the reserved has its own, and the
        // preemptible gives way when it must.
        let kept = self.people.kept_for_others(tenant);
        let left = self.within_reach().saturating_sub(kept);
        (kept > 0 && left < u64::from(gpus))
            .then_some(OverQuota::Kept { left: u32::try_from(left).unwrap_or(u32::MAX), kept })
    }
}

/// How many are left, if that is less than asked for.
fn too_few(cap: u32, used: u64, asked: u32) -> Option<u32> {
    let left = u64::from(cap).saturating_sub(used);
    (left < u64::from(asked)).then_some(u32::try_from(left).unwrap_or(u32::MAX))
}
