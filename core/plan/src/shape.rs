use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::Ipv4Net;
use model::{
    Consent, DeviceId, Fleet, Generation, JobName, NicRef, Owners, Part, Port, Rate, Rates,
    RouteTarget, TenantName, TrafficClass, Treatment, Vlan, VrfName,
};
use wire::{Mac, Tag, Vni};

/// What shall be. Nothing in it is left to choose.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    /// Its place in history.
    pub generation: Generation,
    /// The devices it is for.
    pub fleet: Arc<Fleet>,
    /// The network of each tenant that has jobs.
    pub tenants: BTreeMap<TenantName, TenantNet>,
    /// The network of each job.
    pub jobs: BTreeMap<JobName, JobNet>,
    /// What both sides consented to, by each of the two jobs.
    pub consents: BTreeMap<JobName, Vec<Consent>>,
    /// Who sits on each device that has endpoints.
    pub devices: BTreeMap<DeviceId, DevicePlan>,
}

/// A tenant's network: one VRF, the same on every device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TenantNet {
    /// The leased number that the others are made of.
    pub number: u16,
    /// `t17`: short enough for a Linux interface.
    pub vrf: VrfName,
    /// The VNI of its routed traffic.
    pub l3vni: Vni,
    /// The second half of its route distinguishers.
    pub rd_number: u16,
    /// What its VRFs export and import.
    pub target: RouteTarget,
    /// The bandwidth it always has.
    pub guarantee: Option<Rate>,
    /// The bandwidth it never exceeds.
    pub ceiling: Option<Rate>,
}

/// A job's network: one segment, one tag, one subnet, the same on every device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JobNet {
    /// The group tag; also the second half of its route distinguishers.
    pub tag: Tag,
    /// The VNI of its segment.
    pub l2vni: Vni,
    /// What its segment exports and imports.
    pub target: RouteTarget,
    /// Its addresses, out of its tenant's pool.
    pub subnet: Ipv4Net,
    /// The first of them: the gateway, the same on every device.
    pub gateway: Ipv4Addr,
    /// How its packets are treated.
    pub class: TrafficClass,
    /// The bandwidth it never exceeds.
    pub ceiling: Option<Rate>,
    /// Its endpoints by the device that judges them, in the order of devices.
    pub groups: Vec<Group>,
}

/// The endpoints of one job that one device judges.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// The device.
    pub device: DeviceId,
    /// The VLAN of the segment there; NX-OS needs one, Linux does not use it.
    pub vlan: Vlan,
    /// The endpoints in the order of their addresses.
    pub seats: Vec<Seat>,
}

/// One endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seat {
    /// The interface.
    pub nic: NicRef,
    /// The port of the device that judges it.
    pub port: Port,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its Ethernet address.
    pub mac: Mac,
}

/// Who sits on a device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DevicePlan {
    /// Its jobs, each with the position of this device in [`JobNet::groups`].
    pub jobs: BTreeMap<JobName, usize>,
}

impl DevicePlan {
    /// The tenants of its jobs.
    #[must_use]
    pub fn tenants(&self) -> BTreeSet<&TenantName> {
        self.jobs.keys().map(|job| &job.tenant).collect()
    }

    /// Whether a job of this tenant is among them.
    #[must_use]
    pub fn has_tenant(&self, tenant: &TenantName) -> bool {
        self.jobs.keys().any(|job| job.tenant == *tenant)
    }

    /// The parts of every artifact of this device, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        std::iter::once(Part::Head)
            .chain(self.tenants().into_iter().cloned().map(Part::Tenant))
            .chain(self.jobs.keys().cloned().map(Part::Job))
    }
}

impl Plan {
    /// Who owns which port, who consented, and what they were promised: all that the verifier takes
    /// from a plan.
    #[must_use]
    pub fn owners(&self) -> Owners {
        let mut owners = Owners::default();
        for (name, job) in &self.jobs {
            for group in &job.groups {
                for seat in &group.seats {
                    owners.ports.insert((group.device, seat.port), name.clone());
                }
            }
            let treatment = Treatment { class: job.class, ceiling: job.ceiling };
            owners.treatments.insert(name.clone(), treatment);
        }
        for (name, tenant) in &self.tenants {
            let rates = Rates { guarantee: tenant.guarantee, ceiling: tenant.ceiling };
            owners.rates.insert(name.clone(), rates);
        }
        owners.consents = self.consents.values().flatten().cloned().collect();
        owners.consents.sort();
        owners.consents.dedup();
        owners
    }
}

/// The parts that a change of one job touches, on each device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Touched(pub BTreeSet<(DeviceId, Part)>);
