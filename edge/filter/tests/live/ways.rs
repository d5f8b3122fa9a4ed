//! The three ways to a workload: over a bridge, routed by the host, and through the tunnel.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use filter::{Kernel, Mode};
use wire::forge::{ForgedArp, ForgedFrame, ForgedPacket, OUTER_DESTINATION, at};
use wire::{Bth, Mac, ipv6_of};

use crate::lab::{HEAD, Host, Namespace, VTEP, address, alone, endpoint, mac, until};
use crate::mark;
use crate::socket::Socket;
use crate::told::{drops, told};

const BTH: Bth = Bth { opcode: 4, version: 0, pkey: 0xffff, destination_qp: 17 };

#[test]
fn over_a_bridge_only_the_own_job_is_reached() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    let [sender, friend, stranger] = [2, 3, 4].map(|number| host.workload(number));
    host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1001), &endpoint(4, 1002)].concat());
    let from = Socket::on(&sender, "eth0");
    let check = |frame: ForgedFrame, to: &Namespace, expected: &str| {
        let said = told(&[&host.kernel], &from, &Socket::on(to, "eth0"), frame);
        assert_eq!(said, expected);
    };
    let to = |number| mark::packet(2, number).ethernet(mac(2), mac(number));
    check(to(3), &friend, "passes");
    check(to(4), &stranger, "workload other-job 1001");
    check(to(9), &friend, "workload destination 1001");
    // The address of a friend, the Ethernet address of a stranger.
    check(mark::packet(2, 3).ethernet(mac(2), mac(4)), &stranger, "local destination 1002");
    check(mark::packet(4, 3).ethernet(mac(2), mac(3)), &friend, "workload source 1001");
    check(mark::packet(2, 3).ethernet(mac(4), mac(3)), &friend, "workload source-mac 1001");
    check(to(3).vlan(0x8100, 7), &friend, "workload vlan 1001");
    check(to(3).vlan(0x8100, 7).vlan(0x88a8, 8), &friend, "workload vlan 1001");
    check(to(3).vxlan(address(2), address(3), 50017, 1001), &friend, "workload tunnel 1001");
    check(marked_six(2, 3), &friend, "passes");
    check(marked_six(2, 4), &stranger, "workload other-job 1001");
    check(to_all(2), &friend, "workload flood 1001");
}

#[test]
fn a_question_for_a_neighbour_stays_within_the_job() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    let [sender, friend, stranger] = [2, 3, 4].map(|number| host.workload(number));
    host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1001), &endpoint(4, 1002)].concat());
    let [from, friend, stranger] =
        [sender, friend, stranger].map(|namespace| Socket::on(&namespace, "eth0"));
    let question = ForgedArp {
        reply: false,
        sender_mac: mac(2),
        sender: address(2).into(),
        target_mac: Mac([0; 6]),
        target: address(3).into(),
    };
    let question = ForgedFrame::arp(question, Mac::BROADCAST);
    from.send(&question);
    let heard = friend.receive(Duration::from_secs(2)).expect("a friend does not hear it");
    assert_eq!(heard[..42], question[..42]);
    assert_eq!(stranger.receive(Duration::from_millis(50)), None, "a stranger hears it");
}

#[test]
fn between_two_bridges_the_host_routes_only_what_a_job_or_a_permit_allows() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    host.inside.ip("link add br1 type bridge stp_state 0 mcast_snooping 0\n\
         link set br0 address 02:00:00:00:00:01\nlink set br1 address 02:00:00:00:00:01 up\n\
         addr add 10.1.0.1/25 dev br0\naddr add 10.1.0.129/25 dev br1");
    host.inside.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
    let [client, friend, provider] = [2, 130, 131].map(|number| host.lone_workload(number));
    for (number, bridge, namespace) in
        [(2, "br0", &client), (130, "br1", &friend), (131, "br1", &provider)]
    {
        host.join(number, bridge);
        let gateway = if number < 128 { 1 } else { 129 };
        namespace.ip(&format!(
            "addr add 10.1.0.{number}/25 dev eth0\nroute add default via 10.1.0.{gateway}"
        ));
    }
    host.put(
        &[
            HEAD,
            &endpoint(2, 1001),
            &endpoint(130, 1001),
            &endpoint(131, 1002),
            "permit t17 1001 1002 udp 443\n",
        ]
        .concat(),
    );
    let check = |from: &Namespace, to: (&Namespace, u8, u16), expected: &str| {
        assert_eq!(asked(&host.kernel, from, to), expected);
    };
    check(&client, (&friend, 130, 5000), "answered");
    check(&friend, (&client, 2, 5000), "answered");
    check(&client, (&provider, 131, 443), "answered");
    check(&client, (&provider, 131, 5000), "workload other-job 1001");
    check(&provider, (&client, 2, 443), "workload other-job 1002");
    // The host itself is of no job.
    check(&host.inside, (&friend, 130, 5000), "local untagged 1001");
}

/// Two hosts, each with a tunnel device, whose fabrics are joined.
struct Pair {
    near: Host,
    far: Host,
    sender: Namespace,
    friend: Namespace,
    stranger: Namespace,
}

impl Pair {
    /// Workload 2 is here; 7 of its job and 8 of another are there.
    fn new() -> Self {
        let [mut near, mut far] = [Host::open(), Host::open()];
        near.fabric.cable("mid", &far.fabric, "mid", Mac([2, 0xff, 0, 0, 0, 7]));
        for host in [&near, &far] {
            host.fabric
                .ip("link add br0 type bridge stp_state 0 mcast_snooping 0\nlink set br0 up\n\
                 link set fab0 master br0\nlink set mid master br0");
        }
        far.inside.ip(&format!("link set up0 address {OUTER_DESTINATION}"));
        let sender = near.workload(2);
        let [friend, stranger] = [7, 8].map(|number| far.workload(number));
        tunnel(&near, VTEP, &[(7, FAR), (8, FAR)]);
        tunnel(&far, FAR, &[(2, VTEP)]);
        sender.ip("addr add 10.1.0.2/24 dev eth0");
        friend.ip("addr add 10.1.0.7/24 dev eth0");
        stranger.ip("addr add 10.1.0.8/24 dev eth0");
        let peers = "peers t17 10.1.0.7-10.1.0.7 vtep 10.255.0.4 tag 1001\n\
                     peers t17 10.1.0.8-10.1.0.8 vtep 10.255.0.4 tag 1002\n";
        near.put(&[HEAD, &endpoint(2, 1001), peers].concat());
        let head = HEAD.replace("10.255.0.3", "10.255.0.4");
        let peer = "peers t17 10.1.0.2-10.1.0.2 vtep 10.255.0.3 tag 1001\n";
        far.put(&[&head, &endpoint(7, 1001), &endpoint(8, 1002), peer].concat());
        Self { near, far, sender, friend, stranger }
    }

    fn told(&self, frame: ForgedFrame, to: &Namespace) -> String {
        let kernels = [&self.near.kernel, &self.far.kernel];
        told(&kernels, &Socket::on(&self.sender, "eth0"), &Socket::on(to, "eth0"), frame)
    }
}

const FAR: [u8; 4] = [10, 255, 0, 4];

/// A tunnel device in the host's bridge, which knows who is behind whom.
fn tunnel(host: &Host, own: [u8; 4], peers: &[(u8, [u8; 4])]) {
    let own = Ipv4Addr::from(own);
    host.inside.ip(&format!(
        "addr add {own}/24 dev up0\n\
         link add vx0 mtu 8950 type vxlan id 50017 local {own} dstport 4789 nolearning \
         tos inherit gbp\n\
         link set vx0 master br0\nlink set vx0 up"
    ));
    for (number, vtep) in peers {
        let (mac, vtep) = (mac(*number), Ipv4Addr::from(*vtep));
        host.inside.bridge(&format!(
            "fdb replace {mac} dev vx0 master static\nfdb replace {mac} dev vx0 dst {vtep} self\n\
             fdb append 00:00:00:00:00:00 dev vx0 dst {vtep} self"
        ));
    }
}

#[test]
fn through_the_tunnel_the_tag_and_the_class_are_on_the_wire() {
    let Some(_alone) = alone() else { return };
    let pair = Pair::new();
    let wire = Socket::on(&pair.near.fabric, "fab0");
    let to = |number| mark::packet(2, number).ethernet(mac(2), mac(number));
    assert_eq!(pair.told(to(7), &pair.friend), "passes");
    let outer = tunnelled(&wire);
    assert_eq!(outer[at::VXLAN..at::VXLAN + 8], [0x88, 0, 3, 0xe9, 0, 0xc3, 0x61, 0]);
    assert_eq!(outer[at::IP + 1], 0, "other traffic is in no class");

    let roce = ForgedPacket::roce(address(2), address(7), 49152, BTH, 64).ethernet(mac(2), mac(7));
    assert_eq!(pair.told(roce, &pair.friend), "passes");
    let outer = tunnelled(&wire);
    assert_eq!(outer[at::VXLAN..at::VXLAN + 4], [0x88, 0, 3, 0xe9]);
    assert_eq!([outer[at::IP + 1], outer[at::INNER_IP + 1]], [26 << 2; 2], "the lossless class");

    assert_eq!(pair.told(to(8), &pair.stranger), "workload other-job 1001");
    assert_eq!(pair.told(to(9), &pair.friend), "workload destination 1001");
}

#[test]
fn what_the_fabric_forges_does_not_come_through_the_tunnel() {
    let Some(_alone) = alone() else { return };
    let pair = Pair::new();
    let [friend, stranger] =
        [&pair.friend, &pair.stranger].map(|namespace| Socket::on(namespace, "eth0"));
    let from = Socket::on(&pair.far.fabric, "fab0");
    let check = |inner: ForgedFrame, vtep: [u8; 4], tag, to: &Socket, expected: &str| {
        let outer = inner.vxlan(vtep, FAR, 50017, tag);
        assert_eq!(told(&[&pair.far.kernel], &from, to, outer), expected);
    };
    let to = |number| mark::packet(2, number).ethernet(mac(2), mac(number));
    check(to(7), VTEP, 1001, &friend, "passes");
    check(to(7), [10, 255, 0, 5], 1001, &friend, "fabric outer-source 1001");
    check(to(7), VTEP, 1002, &friend, "fabric tag 1001");
    check(to(7), VTEP, 0, &friend, "fabric untagged 0");
    check(to(8), VTEP, 1001, &stranger, "fabric other-job 1001");
    check(to(8), VTEP, 1002, &stranger, "fabric tag 1001");
}

#[test]
fn jumbo_frames_pass_an_uplink_that_the_driver_judges() {
    let Some(_alone) = alone() else { return };
    let pair = Pair::new();
    assert_eq!(pair.far.mode, Mode::Driver);
    for len in [1500, 4000, 8000, 8950] {
        let packet = ForgedPacket::udp(address(2), address(7), 1, 2, len - 28);
        assert_eq!(pair.told(packet.ethernet(mac(2), mac(7)), &pair.friend), "passes", "{len}");
    }
}

#[test]
fn a_stream_of_large_segments_flows_within_a_job() {
    let Some(_alone) = alone() else { return };
    let pair = Pair::new();
    streamed(&pair.sender, &pair.friend, address(7));

    let mut host = Host::open();
    let [sender, friend] = [2, 3].map(|number| host.workload(number));
    sender.ip("addr add 10.1.0.2/24 dev eth0");
    friend.ip("addr add 10.1.0.3/24 dev eth0");
    host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1001)].concat());
    streamed(&sender, &friend, address(3));
    let sent = host.kernel.traffic().unwrap()[&1001].sent;
    assert!(sent.bytes / sent.packets > 9014, "no segment was larger than a frame: {sent:?}");
}

/// Sends a lot through one connection, and hears that all of it arrived.
fn streamed(from: &Namespace, to: &Namespace, address: [u8; 4]) {
    const BYTES: usize = 16 << 20;
    let listener = to.run(|| TcpListener::bind((Ipv4Addr::from(address), 5001)).unwrap());
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all.len()
        });
        let to = (Ipv4Addr::from(address), 5001).into();
        let mut stream =
            from.run(|| TcpStream::connect_timeout(&to, Duration::from_secs(10)).unwrap());
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(&vec![7; BYTES]).unwrap();
        drop(stream);
        assert_eq!(server.join().unwrap(), BYTES);
    });
}

/// Sends a datagram and tells whether it is answered, or who counted it and why.
fn asked(kernel: &Kernel, from: &Namespace, (to, number, port): (&Namespace, u8, u16)) -> String {
    let bound = |at: &Namespace, address: Ipv4Addr, port: u16| {
        let socket = at.run(|| UdpSocket::bind((address, port)).unwrap());
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        socket
    };
    let server = bound(to, address(number).into(), port);
    let client = bound(from, Ipv4Addr::UNSPECIFIED, 0);
    let before = drops(&[kernel]);
    client.send_to(b"?", (Ipv4Addr::from(address(number)), port)).unwrap();
    let mut said = String::new();
    until("a datagram is neither answered nor counted", || {
        let mut byte = [0];
        if let Ok((_, who)) = server.recv_from(&mut byte) {
            server.send_to(b"!", who).unwrap();
        }
        if client.recv(&mut byte).is_ok() {
            said = "answered".into();
        } else if let Some(drop) = drops(&[kernel]).into_iter().find(|drop| !before.contains(drop))
        {
            said = drop.0;
        }
        !said.is_empty()
    });
    said
}

/// The next tunnelled frame on a wire that is not a question for a neighbour.
fn tunnelled(wire: &Socket) -> Vec<u8> {
    loop {
        let frame = wire.receive(Duration::from_secs(2)).expect("nothing on the wire");
        let is_vxlan = frame.get(36..38) == Some(&[0x12, 0xb5]);
        if is_vxlan && frame.get(at::INNER + 12..at::INNER + 14) == Some(&[8, 0]) {
            return frame;
        }
    }
}

fn marked_six(from: u8, to: u8) -> ForgedFrame {
    let [source, destination] = [from, to].map(|number| ipv6_of(17, address(number).into()));
    ForgedPacket::udp(source, destination, 7, 8, 20).ethernet(mac(from), mac(to))
}

fn to_all(from: u8) -> ForgedFrame {
    mark::packet(from, 3).ethernet(mac(from), Mac::BROADCAST)
}
