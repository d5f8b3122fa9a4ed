use model::Capacity;

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

impl Ground {
    /// What forbids a tenant so many GPUs more of one class: its own caps and those of all
    /// above it, or the room that is kept for others.
    pub(crate) fn over_quota(
        &self,
        tenant: TenantKey,
        class: Capacity,
        gpus: u32,
    ) -> Option<OverQuota> {
        for &above in &self.people.at(tenant).lineage {
            let person = self.people.at(above);
            if let Some(left) = person.quota.and_then(|cap| too_few(cap, person.all_used(), gpus)) {
                return Some(OverQuota::Total { tenant: above, left });
            }
            let used = person.used[class_index(class)];
            if let Some(left) = person.cap(class).and_then(|cap| too_few(cap, used, gpus)) {
                return Some(OverQuota::Class { tenant: above, left });
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
