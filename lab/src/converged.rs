//! Whether the fabric knows all its ways.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::{DeviceId, Fleet, LinkEnd};
use plan::Plan;
use serde_json::Value;

use crate::folder::Folder;
use crate::frr;
use crate::lab::switches;

/// The first thing that is missing: a session that does not stand, or a route to an endpoint of
/// the same tenant behind another device.
pub(crate) fn missing(plan: &Plan, folder: &Folder) -> Option<String> {
    missing_session(plan, folder).or_else(|| missing_route(plan, folder))
}

/// The sessions of every switch: whether each stands, by the neighbour's address.
pub(crate) fn sessions(folder: &Folder, device: &str) -> Vec<(String, bool)> {
    let said = frr::ask(folder, device, "bgpd", "show bgp l2vpn evpn summary json");
    let peers = said.get("peers").and_then(Value::as_object).into_iter().flatten();
    peers
        .map(|(peer, about)| (peer.clone(), about["state"].as_str() == Some("Established")))
        .collect()
}

/// How many cables to other switches a switch has; each carries a session.
pub(crate) fn wanted(fleet: &Fleet, device: &str) -> usize {
    let name = |end: &LinkEnd| fleet.switches[end.switch.index()].name.as_str() == device;
    fleet.links.iter().filter(|link| name(&link.a) || name(&link.b)).count()
}

fn missing_session(plan: &Plan, folder: &Folder) -> Option<String> {
    switches(&plan.fleet).find_map(|(_, device)| {
        let sessions = sessions(folder, device);
        let standing = sessions.iter().filter(|(_, stands)| *stands).count();
        let wanted = wanted(&plan.fleet, device);
        (standing < wanted).then(|| format!("{device} has {standing} of {wanted} sessions"))
    })
}

fn missing_route(plan: &Plan, folder: &Folder) -> Option<String> {
    let mut known: BTreeMap<(DeviceId, String), Value> = BTreeMap::new();
    for (name, net) in &plan.jobs {
        let Some(tenant) = plan.tenants.get(&name.tenant) else {
            continue;
        };
        for group in &net.groups {
            let others = plan.devices.iter().filter(|(device, seated)| {
                **device != group.device && seated.has_tenant(&name.tenant)
            });
            for (&device, _) in others {
                let at = plan.fleet.device_name(device).as_str();
                for seat in &group.seats {
                    let twin = wire::ipv6_of(tenant.number, seat.address);
                    for address in [IpAddr::from(seat.address), twin.into()] {
                        let (kind, len) =
                            if address.is_ipv4() { ("ip", 32) } else { ("ipv6", 128) };
                        let question = format!("show {kind} route vrf {} json", tenant.vrf);
                        let routes = known
                            .entry((device, question.clone()))
                            .or_insert_with(|| frr::ask(folder, at, "zebra", &question));
                        if routes.get(format!("{address}/{len}")).is_none() {
                            return Some(format!("{at} has no route to {address} ({name})"));
                        }
                    }
                }
            }
        }
    }
    None
}
