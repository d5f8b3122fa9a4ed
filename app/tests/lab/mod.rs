//! A machine of its own for each test: a network and a BPF file system that end with a thread.

#![allow(clippy::unwrap_used, reason = "a machine that does not stand ends the test")]

use std::net::{Ipv4Addr, UdpSocket};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// A device with two tenants; the workload behind `swp1` is at `w1`, and so on.
pub(crate) const TABLE: &str = "\
vtep 10.255.0.3
default drop
space t17 vni 50017
space t17 vni 101001
job t17 1001 class lossless
space t17 vni 101002
job t17 1002 class latency
endpoint t17 10.1.0.2 mac 02:00:00:00:00:01 port swp1 tag 1001
endpoint t17 10.1.0.3 mac 02:00:00:00:00:02 port swp2 tag 1001
endpoint t17 10.1.1.2 mac 02:00:00:00:00:03 port swp3 tag 1002
peers t17 10.1.0.4-10.1.0.11 vtep 10.255.0.4 every 4 tag 1001
permit t17 1001 1002 udp 443
";

/// Does this on a machine with three ports and an uplink, or says why it cannot.
pub(crate) fn on_a_machine(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| match enter() {
        Ok(()) => {
            interfaces();
            test();
        }
        Err(errno) => println!("skipped, as it needs root: {errno}"),
    });
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// Sends a datagram from the workload behind a port, to an address that is there.
pub(crate) fn send(from: Ipv4Addr, to: Ipv4Addr, port: u16) {
    UdpSocket::bind((from, 0)).unwrap().send_to(b"knock", (to, port)).unwrap();
}

fn enter() -> nix::Result<()> {
    let none: Option<&Path> = None;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none)
}

fn interfaces() {
    // What interfaces say unasked would be told as drops.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    ip("link add up0 type veth peer name fabric");
    ip("link set up0 up");
    for (number, address) in [(1, "10.1.0.2"), (2, "10.1.0.3"), (3, "10.1.1.2")] {
        let mac = format!("02:00:00:00:00:{number:02x}");
        ip(&format!("link add swp{number} type veth peer name w{number} address {mac}"));
        ip(&format!("link set swp{number} up"));
        ip(&format!("link set w{number} up"));
        ip(&format!("address add {address}/32 dev w{number}"));
    }
    for address in ["10.1.0.4", "10.1.1.4", "10.1.1.5"] {
        ip(&format!("route add {address}/32 dev w1"));
        ip(&format!("neighbour add {address} lladdr 02:00:00:00:00:09 dev w1 nud permanent"));
    }
}

fn ip(arguments: &str) {
    assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success());
}
