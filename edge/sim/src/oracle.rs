//! Who can reach whom, found by trying.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use model::{DeviceId, Port, Protocol, Service};
use wire::Mac;

use crate::{Fabric, SentFrame, SentPacket, To};

/// One direction between two ports.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Pair {
    /// Who sends.
    pub from: (DeviceId, Port),
    /// Who receives.
    pub to: (DeviceId, Port),
}

/// What passes from one port to another.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Passing {
    /// A flooded frame does.
    pub flood: bool,
    /// Unicast does whatever it says: a service that no rule names passes.
    pub any: bool,
    /// Questions at these services do.
    pub asks: BTreeSet<Service>,
    /// Answers from these services do.
    pub answers: BTreeSet<Service>,
}

impl Fabric {
    /// Every port that a text puts into a bridge domain or binds an address to.
    #[must_use]
    pub fn ports(&self) -> BTreeSet<(DeviceId, Port)> {
        let mut ports = BTreeSet::new();
        for (device, machine) in self.machines() {
            let jacks = machine.ports.iter();
            let attached = jacks.filter(|(_, jack)| jack.domain.is_some());
            ports.extend(attached.map(|(&port, _)| (device, port)));
            let bound = machine.bindings.iter();
            ports.extend(bound.map(|binding| (device, binding.port)));
        }
        ports
    }

    /// What an attacker at each of these ports can deliver to each other one, by any frame it may
    /// think of. A pair that is not in the answer cannot meet in that direction.
    #[must_use]
    pub fn meetings(&self, ports: &[(DeviceId, Port)]) -> BTreeMap<Pair, Passing> {
        let sources = self.telling_addresses();
        self.tried(ports, |_| (sources.clone(), None))
    }

    /// What an endpoint at each of these ports can deliver to each other one when it says the
    /// truth about itself: its source is an address bound to its port, and its Ethernet address is
    /// its own.
    #[must_use]
    pub fn conversations(&self, ports: &[(DeviceId, Port)]) -> BTreeMap<Pair, Passing> {
        self.tried(ports, |port| (self.bound(port), self.mac(port)))
    }

    /// Whether honest unicast passes: from an address bound to the one port to an address bound to
    /// the other, saying this.
    #[must_use]
    pub fn delivers(&self, from: (DeviceId, Port), to: (DeviceId, Port), talk: SentPacket) -> bool {
        let mac = self.mac(from);
        let sources = self.bound(from).into_iter();
        let mut frames = sources.flat_map(|source| {
            let addresses = self.bound(to).into_iter();
            addresses.map(move |address| SentFrame { source, mac, to: To::Unicast(address, talk) })
        });
        frames.any(|frame| {
            let mut out = self.send(from, &frame).into_iter();
            out.any(|delivery| (delivery.device, delivery.port) == to)
        })
    }

    /// Every service that a contract or permit of the texts names.
    #[must_use]
    pub fn services(&self) -> BTreeSet<Service> {
        let rules = self.machines().flat_map(|(_, machine)| machine.policy.rules());
        rules.map(|rule| rule.service).collect()
    }

    fn tried(
        &self,
        ports: &[(DeviceId, Port)],
        senders: impl Fn((DeviceId, Port)) -> (BTreeSet<Ipv4Addr>, Option<Mac>),
    ) -> BTreeMap<Pair, Passing> {
        let attempts = self.attempts();
        let wanted: BTreeSet<(DeviceId, Port)> = ports.iter().copied().collect();
        let mut met: BTreeMap<_, Passing> = BTreeMap::new();
        for &from in &wanted {
            let (mut sources, mac) = senders(from);
            let frame = |source, to| SentFrame { source, mac, to };
            sources.retain(|&source| self.entered(from, &frame(source, To::Flood)).is_some());
            for source in sources {
                for &(to, meaning) in &attempts {
                    for delivery in self.send(from, &frame(source, to)) {
                        let at = (delivery.device, delivery.port);
                        if wanted.contains(&at) {
                            met.entry(Pair { from, to: at }).or_default().note(meaning);
                        }
                    }
                }
            }
        }
        met
    }

    /// Everything worth sending: a flood, and to every address that somebody has, and to one that
    /// nobody has, each named service in both directions and one that no rule names.
    fn attempts(&self) -> Vec<(To, Meaning)> {
        let services = self.services();
        let unnamed = (1..=u16::MAX)
            .rev()
            .find(|port| services.iter().all(|service| service.port != *port))
            .unwrap_or_default();
        let talk = |protocol, source_port, destination_port| SentPacket {
            protocol,
            source_port,
            destination_port,
            opens: false,
        };
        let mut talks = vec![(talk(Protocol::Tcp, unnamed, unnamed), Meaning::Any)];
        for service in services {
            let Service { protocol, port } = service;
            talks.push((talk(protocol, unnamed, port), Meaning::Asks(service)));
            talks.push((talk(protocol, port, unnamed), Meaning::Answers(service)));
        }
        let mut destinations = self.bound_anywhere();
        destinations.insert(Ipv4Addr::UNSPECIFIED);
        let unicast = destinations.into_iter().flat_map(|address| {
            let talks = talks.iter();
            talks.map(move |&(talk, meaning)| (To::Unicast(address, talk), meaning))
        });
        std::iter::once((To::Flood, Meaning::Flood)).chain(unicast).collect()
    }

    /// One address for every piece of the address space that the texts can tell apart. Devices
    /// compare addresses with the runs that are written in their texts and with nothing else, so
    /// trying the first address of each piece is trying all of them.
    fn telling_addresses(&self) -> BTreeSet<Ipv4Addr> {
        let mut starts = BTreeSet::from([Ipv4Addr::UNSPECIFIED]);
        let bound = self.bound_anywhere().into_iter().map(|at| (at, at));
        let stated = self.machines().flat_map(|(_, machine)| machine.policy.ranges());
        for (first, last) in bound.chain(stated) {
            starts.insert(first);
            starts.extend(u32::from(last).checked_add(1).map(Ipv4Addr::from));
        }
        starts
    }

    fn bound_anywhere(&self) -> BTreeSet<Ipv4Addr> {
        let bindings = self.machines().flat_map(|(_, machine)| &machine.bindings);
        bindings.map(|binding| binding.address).collect()
    }

    fn bound(&self, (device, port): (DeviceId, Port)) -> BTreeSet<Ipv4Addr> {
        let bindings = self.machine(device).into_iter().flat_map(|at| &at.bindings);
        let here = bindings.filter(|binding| binding.port == port);
        here.map(|binding| binding.address).collect()
    }
}

/// What a frame stood for when it was sent.
#[derive(Clone, Copy)]
enum Meaning {
    Flood,
    Any,
    Asks(Service),
    Answers(Service),
}

impl Passing {
    fn note(&mut self, meaning: Meaning) {
        match meaning {
            Meaning::Flood => self.flood = true,
            Meaning::Any => self.any = true,
            Meaning::Asks(service) => {
                self.asks.insert(service);
            }
            Meaning::Answers(service) => {
                self.answers.insert(service);
            }
        }
    }
}
