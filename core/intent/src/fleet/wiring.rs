//! Turns become addresses, AS numbers and ports.

use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{
    Asn, Enforcement, Fleet, Link, LinkEnd, Node, Port, Switch, SwitchDialect, SwitchId,
    SwitchRole, Uplink, Vtep,
};
use wire::Mac;

use super::draft::{Draft, DraftNode, DraftSwitch};
use super::spec::{LAST_ASN, Own, Spec};
use crate::Problem;
use crate::refusal::Refusals;
use crate::tree::Pos;

pub(super) fn wire(spec: &Spec, draft: Draft, out: &mut Refusals) -> Fleet {
    let pools = Pools::of(spec);
    let already = out.count();
    pools.check(spec, &draft, out);
    check_own(spec, &draft, out);
    if out.count() > already {
        return Fleet::default();
    }
    check_shared(&pools, &draft, out);
    let mut ports = Ports::of(&draft);
    let nodes: Vec<Node> =
        draft.nodes.iter().map(|node| wire_node(node, spec, &pools, &mut ports)).collect();
    let links = draft
        .links
        .iter()
        .map(|link| {
            let lower = pools.cable(link.cable_turn);
            Link { a: ports.end(link.lower, lower), b: ports.end(link.upper, next(lower)) }
        })
        .collect();
    ports.check(&draft, out);
    Fleet {
        name: spec.name.value.clone(),
        target_asn: spec.target_asn,
        node_models: spec.models.nodes.clone(),
        nodes,
        switches: draft.switches.iter().map(|switch| wire_switch(switch, &pools)).collect(),
        links,
        sites: draft.sites,
        pods: draft.pods,
        uplink_rate: spec.uplink_rate,
        scrub: spec.scrub.clone(),
        ..Fleet::default()
    }
}

fn wire_switch(switch: &DraftSwitch, pools: &Pools) -> Switch {
    Switch {
        name: switch.name.clone(),
        site: switch.site,
        pod: switch.pod,
        role: switch.role,
        dialect: switch.dialect,
        vtep: pools.vtep(switch.own, switch.loopback_turn, switch.asn_turn),
    }
}

fn wire_node(node: &DraftNode, spec: &Spec, pools: &Pools, ports: &mut Ports) -> Node {
    let routed = node.enforcement != Enforcement::Leaf;
    let nics = spec.models.nodes[node.model.index()].nics.len() as u32;
    let uplinks = (0..nics).map(|nic| Uplink {
        leaf: node.leaf,
        port: ports.next(node.leaf),
        mac: mac(node.nic_turn + nic),
        leaf_address: routed.then(|| pools.cable(node.cable_turn + nic)),
    });
    Node {
        name: node.name.clone(),
        pod: node.pod,
        rack: node.rack.clone(),
        model: node.model,
        nvlink_domain: node.nvlink_domain.clone(),
        versions: node.versions.clone(),
        health: node.health,
        enforcement: node.enforcement,
        vtep: routed.then(|| pools.vtep(node.own, node.loopback_turn, node.asn_turn)),
        uplinks: uplinks.collect(),
    }
}

/// Locally administered, and never the gateways' 02:00:00:00:00:01.
fn mac(nic_turn: u32) -> Mac {
    let [a, b, c, d] = nic_turn.to_be_bytes();
    Mac([0x02, 0x01, a, b, c, d])
}

/// The ranges that turns are counted in. `check` is what makes the arithmetic sound.
/// The ranges of the fabric's own addresses, and what single devices say of theirs.
pub(super) fn ranges(spec: &Spec, draft: &Draft) -> Vec<Ipv4Net> {
    let switches = draft.switches.iter().map(|switch| switch.own);
    let own = switches.chain(draft.nodes.iter().map(|node| node.own));
    let own = own.filter_map(|own| own.loopback).map(|at| Ipv4Net::from(at.value));
    [spec.loopbacks.value, spec.cables.value].into_iter().chain(own).collect()
}

struct Pools {
    loopbacks: Ipv4Net,
    cables: Ipv4Net,
    first_asn: u32,
}

impl Pools {
    fn of(spec: &Spec) -> Self {
        Self {
            loopbacks: spec.loopbacks.value,
            cables: spec.cables.value,
            first_asn: spec.first_asn.value,
        }
    }

    fn check(&self, spec: &Spec, draft: &Draft, out: &mut Refusals) {
        // The first and the last address of a range are no device's.
        let loopbacks = size(self.loopbacks).saturating_sub(2);
        let asns = u64::from(LAST_ASN - self.first_asn) + 1;
        let figures = [
            ("loopbacks", spec.loopbacks.pos, loopbacks, draft.turns.loopbacks),
            ("cables", spec.cables.pos, size(self.cables) / 2, draft.turns.cables),
            ("firstAsn", spec.first_asn.pos, asns, draft.turns.asns),
        ];
        for (key, pos, holds, needs) in figures {
            let needs = u64::from(needs);
            if needs > holds {
                let range = match key {
                    "loopbacks" => self.loopbacks.to_string(),
                    "cables" => self.cables.to_string(),
                    _ => format!("{}-{LAST_ASN}", self.first_asn),
                };
                let problem = Problem::RangeTooSmall { key, range, holds, needs };
                out.refuse(pos, problem);
            }
        }
    }

    fn vtep(&self, own: Own, loopback_turn: u32, asn_turn: u32) -> Vtep {
        let turn = Ipv4Addr::from(u32::from(self.loopbacks.network()) + 1 + loopback_turn);
        Vtep {
            address: own.loopback.map_or(turn, |at| at.value),
            asn: Asn(own.asn.map_or(self.first_asn + asn_turn, |at| at.value)),
        }
    }

    /// The lower address of a /31.
    fn cable(&self, turn: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.cables.network()) + 2 * turn)
    }
}

fn size(net: Ipv4Net) -> u64 {
    1 << (32 - u32::from(net.prefix_len()))
}

fn next(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(address) + 1)
}

/// The next free port of each switch: nodes first, then the way up.
struct Ports {
    dialects: Vec<SwitchDialect>,
    taken: Vec<u32>,
}

impl Ports {
    fn of(draft: &Draft) -> Self {
        Self {
            dialects: draft.switches.iter().map(|switch| switch.dialect).collect(),
            taken: vec![0; draft.switches.len()],
        }
    }

    fn next(&mut self, switch: SwitchId) -> Port {
        let taken = &mut self.taken[switch.index()];
        *taken += 1;
        // More ports than a port number can say are refused by `check` before anyone sees them.
        let number = u16::try_from(*taken).unwrap_or(u16::MAX);
        match self.dialects[switch.index()] {
            SwitchDialect::Frr => Port::Swp(number),
            SwitchDialect::Nxos => Port::Ethernet(number),
        }
    }

    fn end(&mut self, switch: SwitchId, address: Ipv4Addr) -> LinkEnd {
        LinkEnd { switch, port: self.next(switch), address }
    }

    fn check(&self, draft: &Draft, out: &mut Refusals) {
        for (switch, &ports) in draft.switches.iter().zip(&self.taken) {
            if ports > u32::from(u16::MAX) {
                let problem = Problem::TooManyPorts { switch: switch.name.to_string(), ports };
                out.refuse(switch.pos, problem);
            }
        }
    }
}

/// What a device says about itself must be of use and outside the cables.
fn check_own(spec: &Spec, draft: &Draft, out: &mut Refusals) {
    for node in &draft.nodes {
        let loopback = node.own.loopback.map(|at| at.pos);
        let said = loopback.or(node.own.asn.map(|at| at.pos));
        if let Some(pos) = said.filter(|_| node.enforcement == Enforcement::Leaf) {
            let node = node.name.to_string();
            out.refuse(pos, Problem::NotATunnelEndpoint { node });
        }
    }
    let switches = draft.switches.iter().map(|switch| switch.own);
    let nodes = draft.nodes.iter().map(|node| node.own);
    for own in switches.chain(nodes) {
        if let Some(at) = own.loopback
            && spec.cables.value.contains(&at.value)
        {
            let problem = Problem::LoopbackInCables {
                address: at.value.to_string(),
                cables: spec.cables.value.to_string(),
            };
            out.refuse(at.pos, problem);
        }
    }
}

/// Nobody may have another's loopback, nor the AS of another layer or leaf. Only who names its
/// own can collide: turns are unique.
fn check_shared(pools: &Pools, draft: &Draft, out: &mut Refusals) {
    let mut speakers: Vec<Speaker<'_>> = Vec::new();
    for (place, switch) in draft.switches.iter().enumerate() {
        let group = match switch.role {
            SwitchRole::Leaf => Group::Device(place),
            SwitchRole::Spine => Group::Spines(switch.pod.map(|pod| pod.index())),
            SwitchRole::Core => Group::Cores(switch.site.index()),
        };
        let vtep = pools.vtep(switch.own, switch.loopback_turn, switch.asn_turn);
        speakers.push(Speaker::new(switch.name.as_str(), group, vtep, switch.own));
    }
    for (place, node) in draft.nodes.iter().enumerate() {
        if node.enforcement != Enforcement::Leaf {
            let group = Group::Device(draft.switches.len() + place);
            let vtep = pools.vtep(node.own, node.loopback_turn, node.asn_turn);
            speakers.push(Speaker::new(node.name.as_str(), group, vtep, node.own));
        }
    }
    speakers.sort_by_key(|speaker| (speaker.vtep.address, speaker.loopback_pos));
    for pair in speakers.windows(2) {
        if pair[0].vtep.address == pair[1].vtep.address {
            let what = pair[1].vtep.address.to_string();
            refuse_shared("loopback", what, pair, |speaker| speaker.loopback_pos, out);
        }
    }
    speakers.sort_by_key(|speaker| (speaker.vtep.asn, speaker.group, speaker.asn_pos));
    for pair in speakers.windows(2) {
        if pair[0].vtep.asn == pair[1].vtep.asn && pair[0].group != pair[1].group {
            let what = pair[1].vtep.asn.to_string();
            refuse_shared("asn", what, pair, |speaker| speaker.asn_pos, out);
        }
    }
}

struct Speaker<'d> {
    name: &'d str,
    group: Group,
    vtep: Vtep,
    loopback_pos: Option<Pos>,
    asn_pos: Option<Pos>,
}

/// Who may share an AS: the spines of a pod, the cores of a site.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Group {
    Cores(usize),
    Spines(Option<usize>),
    Device(usize),
}

impl<'d> Speaker<'d> {
    fn new(name: &'d str, group: Group, vtep: Vtep, own: Own) -> Self {
        Self {
            name,
            group,
            vtep,
            loopback_pos: own.loopback.map(|at| at.pos),
            asn_pos: own.asn.map(|at| at.pos),
        }
    }
}

fn refuse_shared(
    key: &'static str,
    value: String,
    pair: &[Speaker<'_>],
    pos_of: impl Fn(&Speaker<'_>) -> Option<Pos>,
    out: &mut Refusals,
) {
    let later_first = pos_of(&pair[1]) >= pos_of(&pair[0]);
    let (offender, other) = match later_first {
        true => (&pair[1], &pair[0]),
        false => (&pair[0], &pair[1]),
    };
    let Some(pos) = pos_of(offender) else {
        unreachable!("two turns of {key} are never equal");
    };
    let problem = Problem::Shared {
        key,
        value,
        device: offender.name.to_owned(),
        other: other.name.to_owned(),
    };
    out.refuse(pos, problem);
}
