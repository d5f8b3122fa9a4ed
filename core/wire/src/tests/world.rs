//! A small device, its policy written by hand as the README lays it out, and what it may see.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use expect_test::Expect;

use crate::forge::{ForgedFrame, ForgedPacket};
use crate::{Arrival, Bth, Hook, MAGIC, Mac, TablePermit, Tables, flow, ipv6_of, judge, layout};

/// This device's tunnel address, and two others'.
pub(super) const OWN: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 3);
pub(super) const FAR: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 4);
pub(super) const FARTHER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 5);

/// The numbers of the two tenants, whose addresses overlap.
pub(super) const RED: u16 = 17;
pub(super) const BLUE: u16 = 18;

/// Job 1001 of red: one endpoint here, one behind each of the two others.
pub(super) const HERE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
pub(super) const PEER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 3);
pub(super) const THIRD: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 4);
/// Job 1002 of red, which offers job 1001 a service on TCP 2049 and on UDP 53.
pub(super) const OFFERS_HERE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 18);
pub(super) const OFFERS: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 19);
/// Job 1003 of red, which offers nothing.
pub(super) const STRANGER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 20);
/// Nobody's address.
pub(super) const NOBODY: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);

/// Red's segments, one that has no space here, and blue's.
pub(super) const VNI: u32 = 101_001;
pub(super) const VNI_OF_NOBODY: u32 = 101_003;
pub(super) const VNI_OF_BLUE: u32 = 101_004;

/// The interfaces: of [`HERE`], of [`OFFERS_HERE`], of nobody, and of blue's endpoint.
pub(super) const SWP5: u32 = 5;
pub(super) const SWP6: u32 = 6;
pub(super) const SWP7: u32 = 7;
pub(super) const SWP8: u32 = 8;

/// The Ethernet address of an endpoint ends as its address does.
pub(super) fn mac(address: Ipv4Addr) -> Mac {
    let [.., c, d] = address.octets();
    Mac([2, 0, 0, 0, c, d])
}

/// Red's IPv6 address of an endpoint.
pub(super) fn six(address: Ipv4Addr) -> Ipv6Addr {
    ipv6_of(RED, address)
}

/// Where the parts of the policy stand.
pub(super) const VNIS_AT: usize = 128;
pub(super) const INTERFACES_AT: usize = 144;
pub(super) const SPACES_AT: usize = 192;
pub(super) const PORTS_AT: usize = SPACES_AT + 2 * layout::SPACE;
pub(super) const RED_AT: usize = PORTS_AT + 3 * layout::PORT;
pub(super) const LISTS_AT: usize = RED_AT + 32 * layout::RECORD;
pub(super) const PAGES_AT: usize = LISTS_AT + 16;
pub(super) const PAGE_AT: usize = PAGES_AT + 4 * layout::LIST;
pub(super) const PERMITS_AT: usize = PAGE_AT + layout::PAGE * layout::RECORD;
const MASK: u32 = 1;
const END: usize = PERMITS_AT + 2 * layout::BUCKET * layout::PERMIT;

/// The policy's bytes.
pub(super) fn policy() -> Vec<u8> {
    let mut block = Block(vec![0; END]);
    block.header();
    // 101001 and 101002 are red's, 101003 nobody's, 101004 blue's.
    block.u16s(VNIS_AT, [1, 1, 0, 2]);
    block.u16s(INTERFACES_AT, [1, 2, 0, 3]);
    block.u32s(SPACES_AT, [0x0a01_0000, 32, RED_AT as u32, 0, RED.into()]);
    block.u32s(SPACES_AT + layout::SPACE, [0x0a01_0000, 256, LISTS_AT as u32, 1, BLUE.into()]);
    block.port(0, SWP5, 0, HERE, 1001);
    block.port(1, SWP6, 0, OFFERS_HERE, 1002);
    block.port(2, SWP8, 1, HERE, 2001);
    for (address, tag, slot, vtep) in [
        (HERE, 1001, 1, OWN),
        (PEER, 1001, 1, FAR),
        (THIRD, 1001, 1, FARTHER),
        (OFFERS_HERE, 1002, 2, OWN),
        (OFFERS, 1002, 2, FAR),
        (STRANGER, 1003, 0, FAR),
    ] {
        block.record(RED_AT, address, tag, slot, vtep);
    }
    block.u32s(LISTS_AT, [PAGES_AT as u32]);
    block.u32s(PAGES_AT, [PAGE_AT as u32, 0, 0, 0]);
    block.record(PAGE_AT, HERE, 2001, 3, OWN);
    block.record(PAGE_AT, PEER, 2001, 3, FAR);
    block.permit(TablePermit { space: 0, client: 1001, provider: 1002, protocol: 6, port: 2049 });
    block.permit(TablePermit { space: 0, client: 1001, provider: 1002, protocol: 17, port: 53 });
    block.0
}

struct Block(Vec<u8>);

impl Block {
    fn header(&mut self) {
        self.u32s(0, [MAGIC, END as u32, 1, 0, OWN.into()]);
        self.u32s(layout::VNIS, [VNI, 4, VNIS_AT as u32]);
        self.u32s(layout::INTERFACES, [SWP5, 4, INTERFACES_AT as u32]);
        self.u32s(layout::SPACES, [SPACES_AT as u32, 2]);
        self.u32s(layout::PORTS, [PORTS_AT as u32, 3]);
        self.u32s(layout::PERMITS, [PERMITS_AT as u32, MASK]);
    }

    fn port(&mut self, index: usize, interface: u32, space: u32, address: Ipv4Addr, tag: u16) {
        let at = PORTS_AT + index * layout::PORT;
        self.u32s(at, [interface, space, address.into()]);
        self.u16s(at + 12, [tag]);
        self.0[at + 14..at + 20].copy_from_slice(&mac(address).0);
    }

    fn record(&mut self, base: usize, address: Ipv4Addr, tag: u16, slot: u16, vtep: Ipv4Addr) {
        let at = base + usize::from(address.octets()[3]) * layout::RECORD;
        self.u16s(at, [tag, slot]);
        self.u32s(at + 4, [vtep.into()]);
    }

    fn permit(&mut self, permit: TablePermit) {
        let bucket = permit.bucket(MASK, 0) as usize * layout::BUCKET;
        let at = (bucket..bucket + layout::BUCKET)
            .map(|place| PERMITS_AT + place * layout::PERMIT)
            .find(|at| self.0[*at] == 0)
            .unwrap();
        self.u32s(at, [permit.space + 1]);
        self.u16s(at + 4, [permit.client, permit.provider, permit.port, permit.protocol.into()]);
    }

    fn u16s<const N: usize>(&mut self, at: usize, numbers: [u16; N]) {
        for (place, number) in self.0[at..].chunks_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }

    fn u32s<const N: usize>(&mut self, at: usize, numbers: [u32; N]) {
        for (place, number) in self.0[at..].chunks_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }
}

/// All that a verdict depends on.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) policy: Option<Vec<u8>>,
    pub(super) hook: Hook,
    pub(super) interface: u32,
    pub(super) mark: u16,
    pub(super) vlan_beside: bool,
    pub(super) frame: Vec<u8>,
}

impl Sight {
    /// A frame from the fabric.
    pub(super) fn fabric(frame: ForgedFrame) -> Self {
        Self::new(Hook::Fabric, 1, 0, frame)
    }

    /// A frame from [`HERE`].
    pub(super) fn workload(frame: ForgedFrame) -> Self {
        Self::new(Hook::Workload, SWP5, 0, frame)
    }

    /// A frame of this tag that is about to reach [`HERE`].
    pub(super) fn local(mark: u16, frame: ForgedFrame) -> Self {
        Self::new(Hook::Local, SWP5, mark, frame)
    }

    fn new(hook: Hook, interface: u32, mark: u16, frame: ForgedFrame) -> Self {
        let (policy, frame) = (Some(policy()), frame.into_bytes());
        Self { policy, hook, interface, mark, vlan_beside: false, frame }
    }

    /// At another interface.
    pub(super) fn on(self, interface: u32) -> Self {
        Self { interface, ..self }
    }

    /// With a VLAN tag beside the frame.
    pub(super) fn vlan_beside(self) -> Self {
        Self { vlan_beside: true, ..self }
    }

    /// Without a policy.
    pub(super) fn closed(self) -> Self {
        Self { policy: None, ..self }
    }

    /// With one byte of the frame changed.
    pub(super) fn byte(mut self, at: usize, byte: u8) -> Self {
        self.frame[at] = byte;
        self
    }

    /// With one byte of the policy changed.
    pub(super) fn policy_byte(mut self, at: usize, byte: u8) -> Self {
        self.policy.as_mut().unwrap()[at] = byte;
        self
    }

    /// With only the first bytes of the policy.
    pub(super) fn policy_cut(mut self, len: usize) -> Self {
        self.policy.as_mut().unwrap().truncate(len);
        self
    }

    pub(super) fn judge(&self) -> crate::Verdict {
        let Self { ref policy, hook, interface, mark, vlan_beside, ref frame } = *self;
        let tables = policy.as_deref().map(Tables::new);
        judge(tables, &Arrival { hook, interface, mark, vlan_beside, frame })
    }

    /// The verdict in a line: the reason, and the tags of the two ends.
    pub(super) fn verdict(&self) -> String {
        let verdict = self.judge();
        format!("{} {} {}", verdict.reason, verdict.source, verdict.destination)
    }

    /// The frame in a line.
    pub(super) fn line(&self) -> String {
        format!("{}", flow(self.hook, &self.frame))
    }

    /// In how many single things the two differ: bytes of frame or policy, or what is beside.
    pub(super) fn differences(&self, other: &Self) -> usize {
        let bytes = |one: &[u8], other: &[u8]| {
            one.len().abs_diff(other.len()) + one.iter().zip(other).filter(|(a, b)| a != b).count()
        };
        let policies = match (&self.policy, &other.policy) {
            (Some(one), Some(other)) => bytes(one, other),
            (None, None) => 0,
            _ => 1,
        };
        policies
            + bytes(&self.frame, &other.frame)
            + usize::from(self.interface != other.interface)
            + usize::from(self.mark != other.mark)
            + usize::from(self.vlan_beside != other.vlan_beside)
    }
}

/// A packet between two endpoints, in a frame.
pub(super) fn between(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    packet: ForgedPacket,
) -> ForgedFrame {
    packet.ethernet(mac(source), mac(destination))
}

/// UDP between two endpoints of red, in a frame.
pub(super) fn udp(source: Ipv4Addr, destination: Ipv4Addr, port: u16) -> ForgedFrame {
    between(source, destination, ForgedPacket::udp(source, destination, 49152, port, 16))
}

/// TCP between two endpoints of red, in a frame.
pub(super) fn tcp(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    ports: [u16; 2],
    flags: u8,
) -> ForgedFrame {
    let [from, to] = ports;
    between(source, destination, ForgedPacket::tcp(source, destination, from, to, flags, 16))
}

/// The frame as [`FAR`] sends it for job 1001.
pub(super) fn tunnelled(frame: ForgedFrame) -> ForgedFrame {
    frame.vxlan(FAR, OWN, VNI, 1001)
}

/// RoCEv2 between two endpoints of red: "send only" to a queue pair of a partition.
pub(super) fn roce(source: Ipv4Addr, destination: Ipv4Addr, qp: u32, pkey: u16) -> ForgedPacket {
    let bth = Bth { opcode: 4, version: 0, pkey, destination_qp: qp };
    ForgedPacket::roce(source, destination, 49152, bth, 64)
}

/// Compares the verdicts, and under each the frame as an operator would see it.
pub(super) fn check(sights: &[Sight], expected: &Expect) {
    let said: Vec<String> =
        sights.iter().map(|sight| format!("{}\n  {}\n", sight.verdict(), sight.line())).collect();
    expected.assert_eq(&said.concat());
}
