//! Dropped frames are told of, and whoever floods does not crowd out the others.

use std::collections::BTreeMap;
use std::time::Duration;

use filter::DropEvent;
use filter::pcap::{self, Captured};
use wire::{Hook, Reason};

use crate::lab::{HEAD, Host, alone, endpoint, until};
use crate::mark;
use crate::socket::Socket;

const FLOOD: u64 = 50_000;

#[test]
fn a_flood_of_drops_does_not_hide_a_single_one_and_all_are_counted() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    let [loud, quiet] = [2, 3].map(|number| host.workload(number));
    host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1002)].concat());
    let [loud, quiet] = [loud, quiet].map(|namespace| Socket::on(&namespace, "eth0"));
    let mut events = host.kernel.events().unwrap();
    let mut sent = 0;
    for number in 0..FLOOD {
        sent += u64::from(loud.send(&mark::bridged(2, 3)));
        if number == FLOOD / 2 {
            assert!(quiet.send(&mark::bridged(3, 2)));
        }
    }
    let counted = |tag| {
        let drops = host.kernel.drops().unwrap();
        let cause = filter::Cause { hook: Hook::Workload, reason: Reason::OtherJob, tag };
        drops.get(&cause).map_or(0, |tally| tally.packets)
    };
    until("not every drop is counted", || counted(1001) == sent && counted(1002) == 1);

    events.wait(Duration::from_secs(2)).unwrap();
    let told: Vec<DropEvent> = std::iter::from_fn(|| events.take()).collect();
    let mut by_source = BTreeMap::new();
    for event in &told {
        assert_eq!((event.hook, event.reason), (Hook::Workload, Reason::OtherJob));
        *by_source.entry(event.source).or_insert(0_u64) += 1;
    }
    assert_eq!(by_source[&1002], 1);
    assert!(by_source[&1001] > 0 && by_source[&1001] < FLOOD / 10, "told {by_source:?}");
    let quiet = told.iter().find(|event| event.source == 1002).unwrap();
    assert_eq!((quiet.destination, quiet.tenant), (1001, 17));
    assert_eq!(quiet.bytes, mark::bridged(3, 2));
    assert_eq!(written_and_read(quiet), mark::bridged(3, 2));
}

/// The frame of an event, after it was in a capture.
fn written_and_read(event: &DropEvent) -> Vec<u8> {
    let mut file = Vec::new();
    pcap::begin(&mut file).unwrap();
    let frame = Captured { time_ns: event.time_ns, len: event.len, bytes: event.bytes.clone() };
    pcap::write(&mut file, &frame).unwrap();
    let mut frames = pcap::Reader::new(file.as_slice()).unwrap();
    let read = frames.next().unwrap().unwrap();
    assert_eq!(read.time_ns, event.time_ns);
    read.bytes
}
