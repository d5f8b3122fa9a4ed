//! The plan itself, with nothing in it left to choose, and the parts that a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use ipnet::Ipv4Net;
use model::{
    Consent, DeviceAt, DeviceId, Fleet, Generation, JobName, ManagerKind, NicRef, NodeId, Owners,
    Part, Past, Port, Promise, Queue, Rate, Rates, RouteTarget, Share, TenantName, TrafficClass,
    Treatment, Trust, Vlan, VrfName,
};
use wire::{Mac, Tag, Vni};

use crate::place::FabricKeys;

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
    /// What each job has of each node, where the fleet has layers besides the network.
    pub nodes: BTreeMap<NodeId, BTreeMap<JobName, Share>>,
    /// What others left where each job is now, there too.
    pub pasts: BTreeMap<JobName, Vec<Past>>,
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
    /// Its queue at every uplink, where the fleet has queues.
    pub queue: Option<Queue>,
    /// What it may share with others, and what it demands.
    pub trust: Trust,
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
    /// The numbers that keep it apart on the fabrics of GPUs.
    pub keys: FabricKeys,
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
}

impl Plan {
    /// The parts of every artifact of a device, in order. Not every dialect has something to say in
    /// each of them.
    #[must_use]
    pub fn parts(&self, device: DeviceId) -> Vec<Part> {
        let jobs: BTreeSet<&JobName> = match self.fleet.at(device) {
            DeviceAt::Manager(manager) => self.managed(&manager.kind),
            DeviceAt::Switch(_) | DeviceAt::Node(_) => {
                let node = self.fleet.node_of(device);
                let here = node.and_then(|node| self.nodes.get(&node)).into_iter();
                let seated = self.devices.get(&device).into_iter();
                here.flat_map(BTreeMap::keys).chain(seated.flat_map(|at| at.jobs.keys())).collect()
            }
        };
        let tenants: BTreeSet<&TenantName> = jobs.iter().map(|job| &job.tenant).collect();
        // Only what speaks for the whole cluster is told what all jobs of a tenant hold.
        let counts = tenants.iter().filter(|_| self.is_cluster(device));
        let nodes = if self.is_kubernetes(device) { self.fleet.nodes.len() as u32 } else { 0 };
        std::iter::once(Part::Head)
            .chain((0..nodes).map(|node| Part::Node(NodeId(node))))
            .chain(tenants.iter().map(|tenant| Part::Tenant(TenantName::clone(tenant))))
            .chain(counts.map(|tenant| Part::Holdings(TenantName::clone(tenant))))
            .chain(jobs.into_iter().cloned().map(Part::Job))
            .collect()
    }

    /// Whether it is told whose each node is.
    fn is_kubernetes(&self, device: DeviceId) -> bool {
        let DeviceAt::Manager(manager) = self.fleet.at(device) else { return false };
        matches!(manager.kind, ManagerKind::Kubernetes)
    }

    fn is_cluster(&self, device: DeviceId) -> bool {
        let DeviceAt::Manager(manager) = self.fleet.at(device) else { return false };
        matches!(manager.kind, ManagerKind::Slurm | ManagerKind::Kubernetes)
    }

    /// The jobs that a manager holds something for.
    fn managed(&self, kind: &ManagerKind) -> BTreeSet<&JobName> {
        let is_managed = |node: &NodeId| {
            let node = &self.fleet.nodes[node.index()];
            match kind {
                ManagerKind::Nvlink(domain) => node.nvlink_domain == *domain,
                ManagerKind::Subnet(pod) => node.pod == *pod,
                ManagerKind::Slurm | ManagerKind::Kubernetes => true,
            }
        };
        let nodes = self.nodes.iter().filter(|(node, _)| is_managed(node));
        nodes.flat_map(|(_, jobs)| jobs.keys()).collect()
    }

    /// What a job has of each of its nodes, in order.
    pub fn shares<'a>(
        &'a self,
        name: &'a JobName,
        job: &'a JobNet,
    ) -> impl Iterator<Item = (NodeId, Share)> + 'a {
        let seats = job.groups.iter().flat_map(|group| &group.seats);
        let nodes: BTreeSet<NodeId> = seats.map(|seat| seat.nic.node).collect();
        nodes.into_iter().filter_map(|node| Some((node, *self.nodes.get(&node)?.get(name)?)))
    }

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
            owners.promises.insert(name.clone(), tenant.promise());
            owners.trusts.insert(name.clone(), tenant.trust.clone());
        }
        owners.shares = self.nodes.clone();
        owners.consents = self.consents.values().flatten().cloned().collect();
        owners.consents.sort();
        owners.consents.dedup();
        owners
    }
}

impl TenantNet {
    /// What the tenant gets of the network.
    #[must_use]
    pub const fn promise(&self) -> Promise {
        let rates = Rates { guarantee: self.guarantee, ceiling: self.ceiling };
        Promise { rates, queue: self.queue }
    }
}

/// The parts that a change of one job touches, on each device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Touched(pub BTreeSet<(DeviceId, Part)>);
