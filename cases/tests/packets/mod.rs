//! Everything an attacker can think of, sent as real frames, and who received which of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::Lab;
use model::{Artifact, DeviceId, Dialect, Port, Protocol, Service};
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};
use sim::{Pair, Passing};
use wire::Mac;
use wire::forge::{ACK, ForgedArp, ForgedFrame, ForgedPacket};

/// The gateway of every segment (docs/network.md).
const GATEWAY: Mac = Mac([0x02, 0, 0, 0, 0, 1]);
const BROADCAST: Mac = Mac([0xff; 6]);
/// What every frame ends with, before the number of its attempt.
const WORD: &[u8; 8] = b"attempt:";
const TOKEN_LEN: usize = 16;
/// So many frames are sent before anybody listens.
const BURST: usize = 64;
/// How long no frame may arrive before all are there, in milliseconds.
const SILENCE: u16 = 20;
/// A frame that goes round and round arrives for ever: for so long it is listened to at most, and
/// so many frames are taken from a port before it is the next one's turn.
const PATIENCE: Duration = Duration::from_secs(5);
const TURN: usize = 4096;

/// The workloads' side of every port of the fabric.
pub(crate) struct Arena {
    seats: Vec<Seat>,
    /// Frames of an earlier round are not ours.
    round: u32,
}

struct Seat {
    at: (DeviceId, Port),
    mac: Mac,
    socket: OwnedFd,
}

/// What passed between ports: sent with any source, and sent with a source that is bound there.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    pub(crate) meetings: BTreeMap<Pair, Passing>,
    pub(crate) conversations: BTreeMap<Pair, Passing>,
}

/// A frame that is worth sending.
struct Attempt {
    from: usize,
    meaning: Meaning,
    is_honest: bool,
    frame: ForgedFrame,
}

#[derive(Clone, Copy)]
enum Meaning {
    Flood,
    Any,
    Asks(Service),
    Answers(Service),
}

impl Arena {
    /// A socket behind every port that has a cable.
    pub(crate) fn open(lab: &Lab) -> Self {
        let fleet = &lab.plan().fleet;
        let mut seats = Vec::new();
        for (number, node) in (0..).zip(&fleet.nodes) {
            for (nic, uplink) in (0..).zip(&node.uplinks) {
                let at = fleet.enforcement_point(model::NodeId(number), nic);
                let socket = lab.run_in(&format!("{}/{nic}", node.name), listen).unwrap();
                seats.push(Seat { at, mac: uplink.mac, socket });
            }
        }
        Self { seats, round: 0 }
    }

    pub(crate) fn ports(&self) -> BTreeSet<(DeviceId, Port)> {
        self.seats.iter().map(|seat| seat.at).collect()
    }

    /// Sends everything, and adds what passed to what passed before.
    pub(crate) fn play(&mut self, observed: &[Artifact], passed: &mut Passed) {
        self.round += 1;
        let attempts = self.attempts(&Belief::of(observed));
        for (number, attempt) in attempts.iter().enumerate() {
            let frame = signed(&attempt.frame, self.round, number as u32);
            // A frame that the cable does not take, because the port is down, does not arrive.
            let _ = send(self.seats[attempt.from].socket.as_raw_fd(), &frame, MsgFlags::empty());
            if number % BURST == 0 {
                self.hear(&attempts, passed);
            }
        }
        let end = Instant::now() + PATIENCE;
        while self.arrives() && Instant::now() < end {
            self.hear(&attempts, passed);
        }
    }

    /// Each port in turn says to be anybody, floods, and sends to everybody by the bridge and by
    /// the gateway: something that no rule names, and every named service in both directions.
    fn attempts(&self, belief: &Belief) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        for (from, seat) in self.seats.iter().enumerate() {
            let bound = belief.bound.get(&seat.at);
            for &source in &belief.sources {
                let is_honest = bound.is_some_and(|bound| bound.contains(&source));
                let mut add = |meaning, frame| {
                    attempts.push(Attempt { from, meaning, is_honest, frame });
                };
                add(Meaning::Flood, flood(seat.mac, source));
                for &(address, mac) in &belief.addresses {
                    for (meaning, packet) in belief.packets(source, address) {
                        add(meaning, packet.clone().ethernet(seat.mac, mac));
                        add(meaning, packet.ethernet(seat.mac, GATEWAY));
                    }
                }
            }
        }
        attempts
    }

    fn arrives(&self) -> bool {
        let mut all: Vec<PollFd<'_>> = self
            .seats
            .iter()
            .map(|seat| PollFd::new(seat.socket.as_fd(), PollFlags::POLLIN))
            .collect();
        poll(&mut all, PollTimeout::from(SILENCE)).unwrap() > 0
    }

    /// Takes what has arrived everywhere.
    fn hear(&self, attempts: &[Attempt], passed: &mut Passed) {
        let mut bytes = [0; 2048];
        for (place, seat) in self.seats.iter().enumerate() {
            for _ in 0..TURN {
                let heard = recv(seat.socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT);
                let Ok(len) = heard else { break };
                let number = read(&bytes[..len], self.round);
                let attempt = number.and_then(|number| attempts.get(number as usize));
                // What one sends is heard at its own interface, too.
                if let Some(attempt) = attempt.filter(|attempt| attempt.from != place) {
                    let pair = Pair { from: self.seats[attempt.from].at, to: seat.at };
                    passed.note(pair, attempt);
                }
            }
        }
    }
}

impl Passed {
    fn note(&mut self, pair: Pair, attempt: &Attempt) {
        let honest = attempt.is_honest.then_some(&mut self.conversations);
        for map in [Some(&mut self.meetings), honest].into_iter().flatten() {
            let passing = map.entry(pair).or_default();
            match attempt.meaning {
                Meaning::Flood => passing.flood = true,
                Meaning::Any => passing.any = true,
                Meaning::Asks(service) => drop(passing.asks.insert(service)),
                Meaning::Answers(service) => drop(passing.answers.insert(service)),
            }
        }
    }
}

/// What the texts of the devices name.
#[derive(Default)]
struct Belief {
    /// Everybody's addresses.
    addresses: BTreeSet<(Ipv4Addr, Mac)>,
    /// Those that are bound to a port.
    bound: BTreeMap<(DeviceId, Port), BTreeSet<Ipv4Addr>>,
    /// Who one may say to be.
    sources: BTreeSet<Ipv4Addr>,
    services: BTreeSet<Service>,
}

impl Belief {
    fn of(observed: &[Artifact]) -> Self {
        // Nobody's address is worth a try as well.
        let mut belief = Self { sources: [Ipv4Addr::new(10, 99, 0, 9)].into(), ..Self::default() };
        for artifact in observed {
            for line in artifact.text().lines() {
                let words: Vec<&str> = line.split(' ').collect();
                // A line of another shape names nothing that could be sent.
                let _ = belief.take(artifact.device, artifact.dialect, &words);
            }
        }
        belief
    }

    fn take(&mut self, device: DeviceId, dialect: Dialect, words: &[&str]) -> Option<()> {
        match (dialect, words) {
            (Dialect::Linux, ["neigh", address, "lladdr", mac, "dev", port, ..]) => {
                let (address, mac) = (address.parse().ok()?, mac.parse().ok()?);
                self.addresses.insert((address, mac));
                self.sources.insert(address);
                self.bound.entry((device, port.parse().ok()?)).or_default().insert(address);
            }
            (Dialect::Table, ["endpoint", _, address, ..]) => {
                self.sources.insert(address.parse().ok()?);
            }
            (Dialect::Table, ["permit", _, _, _, protocol, port]) => {
                let (protocol, port) = (protocol.parse().ok()?, port.parse().ok()?);
                self.services.insert(Service { protocol, port });
            }
            _ => {}
        }
        Some(())
    }

    fn packets(&self, source: Ipv4Addr, address: Ipv4Addr) -> Vec<(Meaning, ForgedPacket)> {
        const UNNAMED: u16 = 65_000;
        let packet = |protocol, from, to| match protocol {
            Protocol::Tcp => ForgedPacket::tcp(source, address, from, to, ACK, TOKEN_LEN),
            Protocol::Udp => ForgedPacket::udp(source, address, from, to, TOKEN_LEN),
        };
        let mut packets = vec![(Meaning::Any, packet(Protocol::Tcp, UNNAMED, UNNAMED))];
        for &service in &self.services {
            let Service { protocol, port } = service;
            packets.push((Meaning::Asks(service), packet(protocol, UNNAMED, port)));
            packets.push((Meaning::Answers(service), packet(protocol, port, UNNAMED)));
        }
        packets
    }
}

/// Asks everybody in the segment for an address that nobody has.
fn flood(mac: Mac, source: Ipv4Addr) -> ForgedFrame {
    let target = Ipv4Addr::new(10, 99, 0, 8);
    let arp = ForgedArp {
        reply: false,
        sender_mac: mac,
        sender: source,
        target_mac: Mac([0; 6]),
        target,
    };
    let frame = ForgedFrame::arp(arp, BROADCAST);
    let len = frame.len() + TOKEN_LEN;
    frame.padded(len)
}

/// The frame with the number of its attempt at its end.
fn signed(frame: &ForgedFrame, round: u32, number: u32) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    let token = bytes.len() - TOKEN_LEN;
    bytes[token..token + 8].copy_from_slice(WORD);
    bytes[token + 8..token + 12].copy_from_slice(&round.to_be_bytes());
    bytes[token + 12..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The number of the attempt that a frame is of. Messages of ICMP quote what they are about, and
/// are none.
fn read(bytes: &[u8], round: u32) -> Option<u32> {
    const ICMP: u8 = 1;
    let token = bytes.get(bytes.len().checked_sub(TOKEN_LEN)?..)?;
    let is_quote = bytes[12..14] == [8, 0] && bytes[23] == ICMP;
    let is_ours = token.starts_with(WORD) && token[8..12] == round.to_be_bytes();
    (is_ours && !is_quote).then(|| u32::from_be_bytes([token[12], token[13], token[14], token[15]]))
}

/// Opens the only interface of this thread's network, which has no address and so answers nothing.
fn listen() -> OwnedFd {
    let up = Command::new("ip").args(["link", "set", "eth0", "up"]).status().unwrap();
    assert!(up.success(), "eth0 cannot be set up");
    let flags = SockFlag::SOCK_CLOEXEC;
    let all = SockProtocol::EthAll;
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, all).unwrap();
    setsockopt(&socket, sockopt::RcvBufForce, &(16 << 20)).unwrap();
    bind(socket.as_raw_fd(), &interface("eth0")).unwrap();
    socket
}

/// An interface of this thread's network, as a packet socket names it.
fn interface(name: &str) -> LinkAddr {
    let mut all = getifaddrs().unwrap().filter(|one| one.interface_name == name);
    all.find_map(|one| one.address?.as_link_addr().copied()).unwrap()
}
