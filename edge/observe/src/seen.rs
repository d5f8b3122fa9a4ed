//! What the kernel holds in one network namespace, in the words of the kernel.

use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::{LinkAttribute, LinkExtentMask, LinkMessage};
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::door::Told;
use crate::entry::{Address, Entry, Forward, Neighbour, Route, Rule};
use crate::link::Interface;
use crate::{Door, Trouble, devices};

/// Everything of one network namespace that decides where packets go.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Seen {
    pub(crate) interfaces: Vec<Interface>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) routes: Vec<Route>,
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) forwards: Vec<Forward>,
    /// Only where there are VRF devices: without any they keep nobody apart.
    pub(crate) rules: Vec<Rule>,
}

impl Seen {
    /// Asks the kernel.
    pub(crate) fn through(door: &mut Door) -> Result<Self, Trouble> {
        let mut seen = Self::default();
        let mut links = LinkMessage::default();
        links.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let mut bridged = NeighbourMessage::default();
        bridged.header.family = AddressFamily::Bridge;
        let questions = [
            RouteNetlinkMessage::GetLink(links),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
            RouteNetlinkMessage::GetRoute(RouteMessage::default()),
            RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()),
            RouteNetlinkMessage::GetNeighbour(bridged),
        ];
        for question in questions {
            for answer in door.dump(question)? {
                seen.take(answer);
            }
        }
        if devices::devices(&seen).next().is_some() {
            for answer in door.dump(RouteNetlinkMessage::GetRule(RuleMessage::default()))? {
                seen.take(answer);
            }
        }
        Ok(seen)
    }

    fn take(&mut self, answer: Told) {
        match answer {
            Told::Link { interface, .. } => self.interfaces.push(interface),
            Told::Entry(Some(Entry::Address(found))) => self.addresses.push(found),
            Told::Entry(Some(Entry::Route(found))) => self.routes.push(found),
            Told::Entry(Some(Entry::Neighbour(found))) => self.neighbours.push(found),
            Told::Entry(Some(Entry::Forward(found))) => self.forwards.push(found),
            Told::Entry(Some(Entry::Rule(found))) => self.rules.push(found),
            Told::Entry(None) | Told::Other(_) => {}
        }
    }

    /// Whether a change of this can change what is seen.
    pub(crate) fn knows(told: &Told) -> bool {
        match told {
            Told::Link { family, .. } => *family != AddressFamily::Inet6,
            Told::Entry(Some(Entry::Address(found))) => !found.is_link_local(),
            Told::Entry(entry) => entry.is_some(),
            Told::Other(_) => true,
        }
    }

    pub(crate) fn interface(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.index == index)
    }

    pub(crate) fn name(&self, index: u32) -> &str {
        self.interface(index).map_or("gone", |interface| &interface.name)
    }
}
