//! From a lease to a network in this fleet: its VNIs, gateway, groups and seats.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use model::{
    DeviceId, Fleet, Name, NicRef, NodeId, Queue, Rate, RouteTarget, SwitchDialect, Tenant,
    VrfName, numbering,
};

use crate::layers::trust;
use crate::record::{Lease, SeatAt};
use crate::shape::{Group, JobNet, Seat, TenantNet};

/// Where names lead in this fleet.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    nodes: BTreeMap<Name, NodeId>,
}

/// Why a lease cannot be said in this fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Astray {
    /// An interface it holds is no more.
    Vanished(SeatAt),
    /// Other devices judge its interfaces than those it has VLANs on.
    Moved,
}

impl Index {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        let names = fleet.nodes.iter().map(|node| node.name.clone());
        Self { nodes: names.zip((0..).map(NodeId)).collect() }
    }

    /// All these interfaces, or the first that the fleet does not have.
    pub(crate) fn nics(&self, fleet: &Fleet, seats: &[SeatAt]) -> Result<Vec<NicRef>, Astray> {
        let found =
            |seat| self.nic(fleet, seat).ok_or_else(|| Astray::Vanished(SeatAt::clone(seat)));
        seats.iter().map(found).collect()
    }

    /// The interface that is called so, if the fleet has it.
    pub(crate) fn nic(&self, fleet: &Fleet, seat: &SeatAt) -> Option<NicRef> {
        let node = *self.nodes.get(&seat.node)?;
        let nics = fleet.nodes[node.index()].uplinks.len();
        (usize::from(seat.nic) < nics).then_some(NicRef { node, nic: seat.nic })
    }
}

/// The network of a tenant with this number.
pub(crate) fn tenant_net(fleet: &Fleet, number: u16, tenant: Option<&Tenant>) -> TenantNet {
    let l3vni = numbering::l3vni(number);
    TenantNet {
        number,
        vrf: VrfName::of_tenant(number),
        l3vni,
        rd_number: numbering::vrf_rd_number(number),
        target: RouteTarget { asn: fleet.target_asn, number: l3vni.get() },
        guarantee: tenant.and_then(|tenant| tenant.guarantee),
        ceiling: tenant.and_then(|tenant| tenant.ceiling),
        queue: fleet.uplink_rate.map(|link| queue(tenant, link)),
        trust: trust(tenant),
    }
}

/// A tenant's queue at every uplink: what it is guaranteed, or a hundredth of the link, and neither
/// more than the link has.
fn queue(tenant: Option<&Tenant>, link: Rate) -> Queue {
    let least = Rate { bps: link.bps / 100 };
    let rate = tenant.and_then(|tenant| tenant.guarantee).unwrap_or(least);
    let ceiling = tenant.and_then(|tenant| tenant.ceiling).unwrap_or(link);
    Queue { rate: rate.min(link).queued(), ceiling: ceiling.min(link).queued() }
}

/// The network of a job with this lease, whose interfaces are these.
pub(crate) fn job_net(fleet: &Fleet, lease: &Lease, nics: &[NicRef]) -> Result<JobNet, Astray> {
    let l2vni = numbering::l2vni(lease.tag);
    let gateway = lease.subnet.network().to_bits() + 1;
    Ok(JobNet {
        tag: lease.tag,
        l2vni,
        target: RouteTarget { asn: fleet.target_asn, number: l2vni.get() },
        subnet: lease.subnet,
        gateway: Ipv4Addr::from_bits(gateway),
        class: lease.class,
        ceiling: lease.ceiling,
        keys: lease.keys,
        groups: groups(fleet, lease, nics, gateway)?,
    })
}

fn groups(
    fleet: &Fleet,
    lease: &Lease,
    nics: &[NicRef],
    gateway: u32,
) -> Result<Vec<Group>, Astray> {
    let mut by_device: BTreeMap<DeviceId, Vec<Seat>> = BTreeMap::new();
    for (&nic, address) in nics.iter().zip(gateway + 1..) {
        let (device, port) = fleet.enforcement_point(nic.node, nic.nic);
        by_device.entry(device).or_default().push(Seat {
            nic,
            port,
            address: Ipv4Addr::from_bits(address),
            mac: fleet.nodes[nic.node.index()].uplinks[usize::from(nic.nic)].mac,
        });
    }
    if by_device.len() != lease.vlans.len() {
        return Err(Astray::Moved);
    }
    by_device
        .into_iter()
        .map(|(device, seats)| {
            let name = fleet.device_name(device);
            let at = lease.vlans.binary_search_by(|at| at.device.cmp(name));
            let vlan = lease.vlans[at.map_err(|_| Astray::Moved)?].vlan;
            Ok(Group { device, vlan, seats })
        })
        .collect()
}

/// Whether this device is a leaf that keeps its groups in selectors.
pub(crate) fn selecting_leaf(fleet: &Fleet, device: DeviceId) -> bool {
    fleet.switch_at(device).is_some_and(|switch| switch.dialect == SwitchDialect::Nxos)
}
