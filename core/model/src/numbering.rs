//! The numbers and names of a network, each made of the one that is leased: a tenant's number or a
//! job's tag. Whoever makes them and whoever takes them apart does it here.

use std::ops::RangeInclusive;

use wire::{Tag, Vni};

use crate::VrfName;

/// The numbers that tenants are given. Route distinguishers of VRFs begin at 60,000 and have 16 bits.
pub const TENANT_NUMBERS: RangeInclusive<u16> = 1..=5_535;

/// The first L3 VNI is one above this.
const L3_VNI_BASE: u32 = 50_000;
/// The L2 VNI of a job is this and its tag.
const L2_VNI_BASE: u32 = 100_000;
/// The second half of a VRF's route distinguisher is this and the tenant's number.
const VRF_RD_BASE: u16 = 60_000;

/// The VNI of a tenant's routed traffic. It is also the number of its VRF's routing table.
#[must_use]
pub fn l3vni(tenant: u16) -> Vni {
    vni(L3_VNI_BASE + u32::from(tenant))
}

/// The tenant whose routed traffic has this VNI; none if it is no tenant's.
#[must_use]
pub fn tenant_of_l3vni(vni: u32) -> Option<u16> {
    let number = u16::try_from(vni.checked_sub(L3_VNI_BASE)?).ok()?;
    TENANT_NUMBERS.contains(&number).then_some(number)
}

/// The VNI of the segment of a job with this tag.
#[must_use]
pub fn l2vni(tag: Tag) -> Vni {
    vni(L2_VNI_BASE + u32::from(tag.get()))
}

fn vni(number: u32) -> Vni {
    match Vni::try_from(number) {
        Ok(vni) => vni,
        Err(_) => unreachable!("a base and 16 bits are a VNI"),
    }
}

/// The second half of the route distinguishers of a tenant's VRFs.
#[must_use]
pub const fn vrf_rd_number(tenant: u16) -> u16 {
    VRF_RD_BASE + tenant
}

/// What a Linux device calls the bridge of a segment (by the job's tag) or of a VRF (by its VNI).
#[must_use]
pub fn bridge_name(number: u32) -> String {
    format!("br{number}")
}

/// What a Linux device calls the tunnel with this VNI.
#[must_use]
pub fn tunnel_name(vni: u32) -> String {
    format!("vx{vni}")
}

impl VrfName {
    /// `t17`: short enough for a Linux interface.
    #[must_use]
    pub fn of_tenant(number: u16) -> Self {
        Self(format!("t{number}").into())
    }
}

/// The tenant's number in the name of its VRF; none for a name that no plan gives.
#[must_use]
pub fn tenant_of_vrf(name: &str) -> Option<u16> {
    let digits = name.strip_prefix('t')?;
    let is_plain = !digits.starts_with(['0', '+']);
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_a_number_leads_back_to_it() {
        for number in TENANT_NUMBERS {
            assert_eq!(tenant_of_l3vni(l3vni(number).get()), Some(number));
            assert_eq!(tenant_of_vrf(&VrfName::of_tenant(number).0), Some(number));
            assert!(vrf_rd_number(number) > 60_000);
        }
    }

    #[test]
    fn what_no_plan_gives_is_no_tenants() {
        for vni in [0, 49_999, 50_000, 55_536, 100_016, u32::MAX] {
            assert_eq!(tenant_of_l3vni(vni), None, "{vni}");
        }
        for name in ["", "t", "t-1", "t+1", "t01", "t65536", "17", "mgmt", "../t1"] {
            assert_eq!(tenant_of_vrf(name), None, "{name}");
        }
    }
}
