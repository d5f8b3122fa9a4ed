//! Who may speak to whom on one device: the groups of a switch, or the packet program's table.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{Port, Service};
use smol_str::SmolStr;
use wire::{Mac, Tag, Vni};

use crate::walk::{SentFrame, SentPacket, To};

/// What judges the device's frames.
pub(crate) enum Policy {
    Groups(Groups),
    Program(Program),
}

/// A switch that judges by groups.
#[derive(Default)]
pub(crate) struct Groups {
    /// Which addresses of a VRF are in which group.
    pub(crate) selectors: BTreeMap<SmolStr, Vec<(Ipv4Net, Tag)>>,
    /// The VRFs that deny by default.
    pub(crate) denying: BTreeSet<SmolStr>,
    /// Contracts; their place is a VRF.
    pub(crate) contracts: Vec<Rule>,
}

/// A Linux tunnel endpoint's packet program. Without a table it denies nothing.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) denies: bool,
    pub(crate) spaces: BTreeMap<Vni, BTreeSet<SmolStr>>,
    pub(crate) endpoints: BTreeMap<Port, Vec<Endpoint>>,
    pub(crate) peers: BTreeMap<SmolStr, Vec<Peers>>,
    /// Permits; their place is a space.
    pub(crate) permits: Vec<Rule>,
}

/// An endpoint behind a port of this device.
pub(crate) struct Endpoint {
    pub(crate) space: SmolStr,
    pub(crate) address: Ipv4Addr,
    pub(crate) mac: Mac,
    pub(crate) tag: Tag,
}

/// A run of addresses behind one tunnel endpoint.
pub(crate) struct Peers {
    pub(crate) first: Ipv4Addr,
    pub(crate) last: Ipv4Addr,
    pub(crate) vtep: Ipv4Addr,
    pub(crate) tag: Tag,
}

/// Two groups may speak at one service.
pub(crate) struct Rule {
    pub(crate) place: SmolStr,
    pub(crate) client: Tag,
    pub(crate) provider: Tag,
    pub(crate) service: Service,
    /// Whether the provider may answer.
    pub(crate) answered: bool,
    /// Whether it may also open connections from the service's port.
    pub(crate) answers_open: bool,
}

/// Who the device takes the sender of a frame for.
pub(crate) struct Stamp {
    pub(crate) tag: Option<Tag>,
    /// The table's space of the sender, where there is a table.
    pub(crate) space: Option<SmolStr>,
}

/// A frame in front of its last judge.
pub(crate) struct Arriving {
    pub(crate) tag: Option<Tag>,
    pub(crate) to: To,
    pub(crate) came: Came,
}

/// From where a frame comes to its last judge.
pub(crate) enum Came {
    /// Out of a tunnel, by which it landed in these spaces.
    Through(Vec<SmolStr>),
    /// From a port of this device, with this source, in this space if there is a table.
    From(Ipv4Addr, Option<SmolStr>),
}

impl Default for Policy {
    fn default() -> Self {
        Self::Program(Program::default())
    }
}

impl Policy {
    /// P2, the part that a table decides.
    pub(crate) fn admits(&self, port: Port, frame: &SentFrame) -> bool {
        match self {
            Self::Groups(_) => true,
            Self::Program(program) => {
                !program.denies || program.endpoints_at(port, frame).next().is_some()
            }
        }
    }

    /// P3. Where a text says two things of one address, each is possible.
    pub(crate) fn stamps(
        &self,
        port: Port,
        vrf: Option<&SmolStr>,
        frame: &SentFrame,
    ) -> Vec<Stamp> {
        let mut stamps: Vec<Stamp> = match self {
            Self::Groups(groups) => {
                let tags = vrf.map(|vrf| groups.tags(vrf, frame.source)).unwrap_or_default();
                tags.into_iter().map(Stamp::of_group).collect()
            }
            Self::Program(program) => program
                .endpoints_at(port, frame)
                .map(|endpoint| Stamp {
                    tag: Some(endpoint.tag),
                    space: Some(endpoint.space.clone()),
                })
                .collect(),
        };
        if stamps.is_empty() {
            stamps.push(Stamp { tag: None, space: None });
        }
        stamps
    }

    /// P9: whether the frame may leave for another device.
    pub(crate) fn lets_out(&self, stamp: &Stamp, to: To) -> bool {
        match (self, to) {
            (Self::Program(program), To::Unicast(address, talk)) if program.denies => {
                program.knows_peer(stamp, address, talk)
            }
            _ => true,
        }
    }

    /// P7: the spaces where a frame out of a tunnel may land; none if it is dropped.
    pub(crate) fn lets_in(
        &self,
        vni: Vni,
        outer_source: Ipv4Addr,
        source: Ipv4Addr,
        tag: Option<Tag>,
    ) -> Option<Vec<SmolStr>> {
        let Self::Program(program) = self else {
            return Some(Vec::new());
        };
        if !program.denies {
            return Some(Vec::new());
        }
        let expected = |peers: &Peers| {
            peers.holds(source) && peers.vtep == outer_source && Some(peers.tag) == tag
        };
        let spaces: Vec<SmolStr> = program
            .spaces
            .get(&vni)?
            .iter()
            .filter(|space| program.peers_of(space).iter().any(expected))
            .cloned()
            .collect();
        (!spaces.is_empty()).then_some(spaces)
    }

    /// P8: whether the frame leaves through this port, out of a bridge domain of this VRF.
    pub(crate) fn delivers(&self, vrf: Option<&SmolStr>, port: Port, frame: &Arriving) -> bool {
        match self {
            Self::Groups(groups) => groups.deliver(vrf, frame),
            Self::Program(program) => !program.denies || program.deliver(port, frame),
        }
    }

    /// The rules that name a service.
    pub(crate) fn rules(&self) -> &[Rule] {
        match self {
            Self::Groups(groups) => &groups.contracts,
            Self::Program(program) => &program.permits,
        }
    }

    /// Every run of addresses, first and last, that a judgement depends on.
    pub(crate) fn ranges(&self) -> Vec<(Ipv4Addr, Ipv4Addr)> {
        match self {
            Self::Groups(groups) => {
                let nets = groups.selectors.values().flatten();
                nets.map(|(net, _)| (net.network(), net.broadcast())).collect()
            }
            Self::Program(program) => {
                let endpoints = program.endpoints.values().flatten();
                let peers = program.peers.values().flatten();
                endpoints
                    .map(|endpoint| (endpoint.address, endpoint.address))
                    .chain(peers.map(|peers| (peers.first, peers.last)))
                    .collect()
            }
        }
    }
}

impl Groups {
    fn deliver(&self, vrf: Option<&SmolStr>, frame: &Arriving) -> bool {
        let (Some(vrf), To::Unicast(address, talk)) = (vrf, frame.to) else {
            return true;
        };
        if !self.denying.contains(vrf) {
            return true;
        }
        let Some(from) = frame.tag else {
            return false;
        };
        self.tags(vrf, address)
            .into_iter()
            .any(|to| from == to || allowed(&self.contracts, vrf, (from, to), talk))
    }

    /// The groups of the longest prefix that holds the address.
    fn tags(&self, vrf: &SmolStr, address: Ipv4Addr) -> BTreeSet<Tag> {
        let holding = || {
            let selectors = self.selectors.get(vrf).into_iter().flatten();
            selectors.filter(|(net, _)| net.contains(&address))
        };
        let longest = holding().map(|(net, _)| net.prefix_len()).max();
        holding()
            .filter(|(net, _)| Some(net.prefix_len()) == longest)
            .map(|&(_, tag)| tag)
            .collect()
    }
}

impl Program {
    fn deliver(&self, port: Port, frame: &Arriving) -> bool {
        let Some(from) = frame.tag else {
            return false;
        };
        let endpoints = self.endpoints.get(&port).into_iter().flatten();
        let mut knowing = endpoints.filter(|to| self.know_each_other(from, to, frame));
        match frame.to {
            To::Flood => knowing.any(|endpoint| endpoint.tag == from),
            To::Unicast(address, talk) => knowing
                .filter(|endpoint| endpoint.address == address)
                .any(|to| to.tag == from || self.permitted(from, to, talk, &frame.came)),
        }
    }

    /// Whether the ends of a frame are in one space, or know each other as peers. A tunnel's frame
    /// was compared with the peers when it came in.
    fn know_each_other(&self, from: Tag, to: &Endpoint, frame: &Arriving) -> bool {
        let Came::From(source, Some(space)) = &frame.came else {
            return true;
        };
        if *space == to.space {
            return true;
        }
        let known = |peers: &Peers| peers.holds(*source) && peers.tag == from;
        let stamp = Stamp { tag: Some(from), space: Some(space.clone()) };
        let knows = match frame.to {
            To::Flood => true,
            To::Unicast(address, talk) => self.knows_peer(&stamp, address, talk),
        };
        knows && self.peers_of(&to.space).iter().any(known)
    }

    fn permitted(&self, from: Tag, to: &Endpoint, talk: SentPacket, came: &Came) -> bool {
        let spaces = match came {
            Came::Through(landed) => landed.as_slice(),
            Came::From(..) => std::slice::from_ref(&to.space),
        };
        spaces.iter().any(|space| allowed(&self.permits, space, (from, to.tag), talk))
    }

    fn knows_peer(&self, stamp: &Stamp, address: Ipv4Addr, talk: SentPacket) -> bool {
        let (Some(tag), Some(space)) = (stamp.tag, &stamp.space) else {
            return false;
        };
        self.peers_of(space)
            .iter()
            .filter(|peers| peers.holds(address))
            .any(|peers| peers.tag == tag || allowed(&self.permits, space, (tag, peers.tag), talk))
    }

    /// The lines by which the frame may come from this port.
    fn endpoints_at(&self, port: Port, frame: &SentFrame) -> impl Iterator<Item = &Endpoint> {
        let SentFrame { source, mac, .. } = *frame;
        let endpoints = self.endpoints.get(&port).into_iter().flatten();
        endpoints.filter(move |endpoint| {
            endpoint.address == source && mac.is_none_or(|mac| mac == endpoint.mac)
        })
    }

    fn peers_of(&self, space: &SmolStr) -> &[Peers] {
        self.peers.get(space).map_or(&[], Vec::as_slice)
    }
}

impl Peers {
    fn holds(&self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&address)
    }
}

impl Stamp {
    fn of_group(tag: Tag) -> Self {
        Self { tag: Some(tag), space: None }
    }
}

/// Whether a rule of this place lets the first group say this to the second: a client asks at the
/// service's port, a provider answers from it.
fn allowed(rules: &[Rule], place: &SmolStr, (from, to): (Tag, Tag), talk: SentPacket) -> bool {
    rules.iter().filter(|rule| rule.place == *place).any(|rule| {
        let asks = (from, to) == (rule.client, rule.provider) && talk.asks(rule.service);
        let answers = (from, to) == (rule.provider, rule.client) && talk.answers(rule.service);
        asks || (answers && rule.answered && (rule.answers_open || !talk.opens))
    })
}
