//! The plan as people and programs read it: names instead of positions.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Consent, Fleet, Generation, Name, Rate, Service, TrafficClass};
use serde::Serialize;

use crate::shape::{Group, JobNet, Plan, Seat, TenantNet};

/// The plan as people and other programs read it: names where the plan has positions.
#[must_use]
pub fn view(plan: &Plan) -> impl Serialize + use<> {
    let consents: BTreeSet<&Consent> = plan.consents.values().flatten().collect();
    let tenants = plan.tenants.iter();
    let jobs = plan.jobs.iter();
    PlanView {
        generation: plan.generation,
        tenants: tenants.map(|(name, net)| (name.to_string(), TenantView::of(net))).collect(),
        jobs: jobs.map(|(name, net)| (name.to_string(), JobView::of(&plan.fleet, net))).collect(),
        consents: consents.into_iter().map(ConsentView::of).collect(),
    }
}

#[derive(Serialize)]
struct PlanView {
    generation: Generation,
    tenants: BTreeMap<String, TenantView>,
    jobs: BTreeMap<String, JobView>,
    consents: Vec<ConsentView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TenantView {
    number: u16,
    vrf: String,
    l3vni: u32,
    rd_number: u16,
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<Rate>,
}

#[derive(Serialize)]
struct JobView {
    tag: u16,
    l2vni: u32,
    target: String,
    subnet: Ipv4Net,
    gateway: Ipv4Addr,
    class: TrafficClass,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<Rate>,
    devices: Vec<GroupView>,
}

#[derive(Serialize)]
struct GroupView {
    device: Name,
    vlan: u16,
    endpoints: Vec<SeatView>,
}

#[derive(Serialize)]
struct SeatView {
    node: Name,
    nic: u16,
    port: String,
    address: Ipv4Addr,
    mac: String,
}

#[derive(Serialize)]
struct ConsentView {
    client: String,
    provider: String,
    service: Service,
}

impl TenantView {
    fn of(net: &TenantNet) -> Self {
        Self {
            number: net.number,
            vrf: net.vrf.to_string(),
            l3vni: net.l3vni.get(),
            rd_number: net.rd_number,
            target: net.target.to_string(),
            guarantee: net.guarantee,
            ceiling: net.ceiling,
        }
    }
}

impl JobView {
    fn of(fleet: &Fleet, net: &JobNet) -> Self {
        let groups = net.groups.iter();
        Self {
            tag: net.tag.get(),
            l2vni: net.l2vni.get(),
            target: net.target.to_string(),
            subnet: net.subnet,
            gateway: net.gateway,
            class: net.class,
            ceiling: net.ceiling,
            devices: groups.map(|group| GroupView::of(fleet, group)).collect(),
        }
    }
}

impl GroupView {
    fn of(fleet: &Fleet, group: &Group) -> Self {
        let seats = group.seats.iter();
        Self {
            device: fleet.device_name(group.device).clone(),
            vlan: group.vlan.get(),
            endpoints: seats.map(|seat| SeatView::of(fleet, seat)).collect(),
        }
    }
}

impl SeatView {
    fn of(fleet: &Fleet, seat: &Seat) -> Self {
        Self {
            node: fleet.nodes[seat.nic.node.index()].name.clone(),
            nic: seat.nic.nic,
            port: seat.port.to_string(),
            address: seat.address,
            mac: seat.mac.to_string(),
        }
    }
}

impl ConsentView {
    fn of(consent: &Consent) -> Self {
        Self {
            client: consent.client.to_string(),
            provider: consent.provider.to_string(),
            service: consent.service,
        }
    }
}
