//! Between which ports routes are exchanged, and with whom.

use std::net::Ipv4Addr;
use std::ops::Range;

use model::{Asn, Fleet, Node, Port, Switch, SwitchId};

/// One end of a cable that routes are exchanged on.
pub(crate) struct Cable {
    pub(crate) port: Port,
    pub(crate) address: Ipv4Addr,
    pub(crate) neighbor: Ipv4Addr,
    pub(crate) remote: Asn,
}

/// A switch's cables to other switches, then those to hosts that are tunnel endpoints.
pub(crate) fn switch_cables(
    fleet: &Fleet,
    id: SwitchId,
    switch: &Switch,
) -> impl Iterator<Item = Cable> {
    cables_to_switches(fleet, id).chain(cables_to_hosts(fleet, id, switch))
}

/// A switch's cables to other switches.
pub(crate) fn cables_to_switches(fleet: &Fleet, id: SwitchId) -> impl Iterator<Item = Cable> {
    let ends = fleet.links.iter().filter_map(move |link| {
        if link.a.switch == id {
            Some((link.a, link.b))
        } else if link.b.switch == id {
            Some((link.b, link.a))
        } else {
            None
        }
    });
    ends.map(|(here, there)| Cable {
        port: here.port,
        address: here.address,
        neighbor: there.address,
        remote: fleet.switches[there.switch.index()].vtep.asn,
    })
}

/// A switch's cables to hosts that are tunnel endpoints themselves.
fn cables_to_hosts(fleet: &Fleet, id: SwitchId, switch: &Switch) -> impl Iterator<Item = Cable> {
    let nodes = &fleet.nodes[pod_nodes(fleet, switch)];
    nodes.iter().flat_map(move |node| {
        let vtep = node.vtep;
        let here = node.uplinks.iter().filter(move |uplink| uplink.leaf == id);
        here.filter_map(move |uplink| {
            let address = uplink.leaf_address?;
            Some(Cable {
                port: uplink.port,
                address,
                neighbor: host_side(address),
                remote: vtep?.asn,
            })
        })
    })
}

/// Where the nodes of the switch's pod stand. The fleet lists nodes by pod, so that a leaf does
/// not have to look at every node of the fleet.
fn pod_nodes(fleet: &Fleet, switch: &Switch) -> Range<usize> {
    let Some(pod) = switch.pod else {
        return 0..0;
    };
    let first = fleet.nodes.partition_point(|node| node.pod < pod);
    let after = fleet.nodes.partition_point(|node| node.pod <= pod);
    first..after
}

/// A host's cables to its leaves.
pub(crate) fn host_cables(fleet: &Fleet, node: &Node) -> impl Iterator<Item = Cable> {
    let uplinks = (0..).zip(&node.uplinks);
    uplinks.filter_map(|(nic, uplink)| {
        let leaf_address = uplink.leaf_address?;
        Some(Cable {
            port: Port::Nic(nic),
            address: host_side(leaf_address),
            neighbor: leaf_address,
            remote: fleet.switches[uplink.leaf.index()].vtep.asn,
        })
    })
}

/// The node's side of a cable: the address after the leaf's (a /31, RFC 3021).
fn host_side(leaf_address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(leaf_address).wrapping_add(1))
}
