//! A probe enters at a port as if its workload had sent it, and is heard where it leaves.

use filter::{Mark, Prober, interface_index};
use wire::Reason;

use crate::lab::{HEAD, Host, address, alone, endpoint, mac, until};

/// What a workload could send to another, with a mark at its end.
fn frame(from: u8, to: u8, mark: Mark) -> Vec<u8> {
    let packet = wire::forge::ForgedPacket::udp(address(from), address(to), 4000, 4000, Mark::LEN);
    let mut frame = packet.ethernet(mac(from), mac(to)).into_bytes();
    let at = frame.len() - Mark::LEN;
    frame[at..].copy_from_slice(&mark.bytes());
    frame
}

#[test]
fn a_probe_is_judged_as_its_workload_is_and_heard_only_where_it_leaves() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    for number in [2, 3, 4] {
        host.workload(number);
    }
    host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1001), &endpoint(4, 1002)].concat());
    let mut events = host.kernel.events().unwrap();
    let mut prober = Prober::load().unwrap();
    let mark = |number| Mark { run: 7, number };
    let frames = [frame(2, 3, mark(1)), frame(2, 4, mark(2)), frame(3, 2, mark(3))];
    let (ear, ports) = host.inside.run(|| {
        let ear = prober.ear().unwrap();
        let ports = ["swp2", "swp3"].map(|name| interface_index(name).unwrap());
        // The last one claims to be another workload than the one behind the port.
        for frame in &frames {
            prober.send(ports[0], frame).unwrap();
        }
        (ear, ports)
    });
    let mut heard = Vec::new();
    let mut dropped = Vec::new();
    until("not every probe is accounted for", || {
        heard.extend(std::iter::from_fn(|| ear.take().unwrap()));
        dropped.extend(
            std::iter::from_fn(|| events.take())
                .map(|event| (Mark::of(&event.bytes), event.interface, event.reason)),
        );
        heard.len() + dropped.len() >= 3
    });
    assert_eq!(heard, [(ports[1], mark(1))]);
    assert_eq!(
        dropped,
        [(Some(mark(2)), ports[0], Reason::OtherJob), (Some(mark(3)), ports[0], Reason::SourceMac)]
    );
}

#[test]
fn a_probe_at_no_interface_is_an_error() {
    let Some(_alone) = alone() else { return };
    let host = Host::open();
    let mut prober = Prober::load().unwrap();
    let sent = host.inside.run(|| prober.send(4711, &frame(2, 3, Mark { run: 7, number: 1 })));
    assert!(sent.is_err());
}
