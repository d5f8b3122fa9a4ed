//! A workload that sends before anybody knows it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::lab::{Enough, HEAD, Host, Namespace, alone, endpoint, mac, times, until};
use crate::mark;
use crate::socket::Socket;
use crate::told::drops;

const CREATIONS: usize = 200;
/// Hosts at which endpoints are created at the same time.
const HOSTS: usize = 4;

#[test]
fn nothing_of_a_new_endpoint_passes_before_its_policy() {
    let Some(_alone) = alone() else { return };
    thread::scope(|scope| {
        for _ in 0..HOSTS {
            scope.spawn(|| {
                let mut host = Host::open();
                let heard = Socket::on(&host.workload(3), "eth0");
                host.put(&[HEAD, &endpoint(3, 1001)].concat());
                let workload = Namespace::new();
                for creation in 0..times(CREATIONS) / HOSTS {
                    create(&mut host, &workload, &heard, creation as u64);
                }
            });
        }
    });
}

/// A port comes into being while its workload sends; its policy comes last. The policy in force
/// knows the port of the same name that was there before.
fn create(host: &mut Host, workload: &Namespace, heard: &Socket, creation: u64) {
    let (mac, path) = (mac(2), workload.path());
    host.inside.ip(&format!("link add swp2 type veth peer name eth0 address {mac} netns {path}"));
    workload.ip("link set eth0 up");
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        let _enough = Enough(&enough);
        scope.spawn(|| knock(workload, creation, &enough));
        let kernel = &mut host.kernel;
        host.inside.run(|| kernel.attach_port("swp2").unwrap());
        let before = drops(&[&host.kernel]);
        host.inside.ip("link set swp2 master br0\nlink set swp2 up");
        until("the workload does not knock", || drops(&[&host.kernel]) != before);
        // Whatever passed by now lies in the neighbour's queue.
        let early = mark::next(heard, Duration::from_millis(2));
        assert!(early.is_none(), "{early:?} passed before its policy");
        host.put(&[HEAD, &endpoint(2, 1001), &endpoint(3, 1001)].concat());
        let first = mark::next(heard, Duration::from_secs(10)).expect("nothing ever passes");
        assert_eq!(first.kind, creation, "a frame of another endpoint");
    });
    host.inside.ip("link del swp2");
    while mark::next(heard, Duration::from_millis(1)).is_some() {}
}

fn knock(workload: &Namespace, creation: u64, enough: &AtomicBool) {
    let socket = Socket::on(workload, "eth0");
    let mut frame = mark::bridged(2, 3);
    while !enough.load(Ordering::SeqCst) {
        mark::send(&socket, &mut frame, creation);
        thread::sleep(Duration::from_micros(50));
    }
}
