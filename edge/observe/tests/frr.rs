//! What is read from real FRR daemons.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod daemons;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use daemons::Daemons;

/// More than a second: zebra looks again each second at a name that was no namespace at first.
const ENOUGH_TRIES: u32 = 10_000;

#[test]
fn what_every_daemon_says_stands_there_once_and_blocks_of_each_follow() {
    let daemons = Daemons::start();
    daemons.by_hand(&[
        "frr defaults datacenter",
        "interface lo",
        "ip address 10.255.0.3/32",
        "exit",
        "router bgp 4200000003",
        "bgp router-id 10.255.0.3",
        "no bgp default ipv4-unicast",
        "address-family l2vpn evpn",
        "advertise-all-vni",
        "vni 101001",
        "rd 10.255.0.3:1001",
    ]);
    let text = observe::frr(daemons.folder()).unwrap();
    // The machine's name and, in a comment, the path of the log are of this run.
    let (of_this_run, said): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with('!') || line.starts_with("hostname "));
    let names = of_this_run.iter().filter(|line| line.starts_with("hostname "));
    assert_eq!(names.count(), 1, "{text}");
    let expected = [
        "frr version 8.4.4",
        "frr defaults datacenter",
        "interface lo",
        " ip address 10.255.0.3/32",
        "exit",
        "router bgp 4200000003",
        " bgp router-id 10.255.0.3",
        " no bgp default ipv4-unicast",
        " address-family l2vpn evpn",
        "  advertise-all-vni",
        "  vni 101001",
        "   rd 10.255.0.3:1001",
        "  exit-vni",
        " exit-address-family",
        "exit",
    ];
    assert_eq!(said, expected);
}

#[test]
fn commands_nobody_waits_for_are_done_in_order_and_the_first_refusal_is_heard_at_the_end() {
    let daemons = Daemons::start();
    let mut bgpd = observe::Vty::open(daemons.folder(), "bgpd").unwrap();
    for command in ["configure terminal", "router bgp 65001", "bgp router-id 10.255.0.3", "end"] {
        bgpd.send(command).unwrap();
    }
    let text = bgpd.say("show running-config").unwrap();
    assert!(text.contains("router bgp 65001\n bgp router-id 10.255.0.3\n"), "{text}");
    for command in ["configure terminal", "no such word", "no such word either", "end"] {
        bgpd.send(command).unwrap();
    }
    let refusal = bgpd.say("show running-config").unwrap_err().to_string();
    assert!(refusal.starts_with("bgpd of FRR refuses `no such word`: "), "{refusal}");
    // What was refused is told once.
    assert_eq!(bgpd.say("show running-config").unwrap(), text);
}

#[test]
fn a_daemon_that_nobody_planned_is_read_too() {
    let mut daemons = Daemons::start();
    daemons.begin("staticd");
    daemons.by_hand(&["ip route 10.0.0.0/8 Null0"]);
    let text = observe::frr(daemons.folder()).unwrap();
    assert!(text.lines().any(|line| line == "ip route 10.0.0.0/8 Null0"), "{text}");
    // Its socket stays behind, and nobody is there.
    daemons.end("staticd");
    let text = observe::frr(daemons.folder()).unwrap();
    assert!(!text.contains("ip route"), "{text}");
}

#[test]
fn an_absent_daemon_is_named_with_the_remedy() {
    let mut daemons = Daemons::start();
    daemons.end("bgpd");
    let trouble = observe::frr(daemons.folder()).unwrap_err().to_string();
    let socket = daemons.folder().join("bgpd.vty");
    let expected =
        format!("bgpd of FRR does not run: nobody listens on {}; start FRR", socket.display());
    assert_eq!(trouble, expected);
}

#[test]
fn zebra_knows_a_vrf_as_soon_as_its_namespace_stands_there() {
    let daemons = Daemons::start();
    daemons.shell(
        "touch /run/netns/.real/t17
         unshare -n mount --bind /proc/self/ns/net /run/netns/.real/t17
         ln -s .real/t17 /run/netns/t17",
    );
    daemons.by_hand(&["vrf t18", "vni 50018"]);
    let known = || observe::known_vrfs(daemons.folder()).unwrap();
    let tries = (0..ENOUGH_TRIES).find(|_| {
        thread::sleep(Duration::from_millis(1));
        !known().is_empty()
    });
    assert!(tries.is_some(), "zebra never saw the namespace");
    assert_eq!(known().into_iter().collect::<Vec<_>>(), ["t17"], "t18 has no namespace");
}

#[test]
fn an_answer_may_come_in_pieces() {
    let folder = std::env::temp_dir().join(format!("frr-pieces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = UnixListener::bind(folder.join("zebra.vty")).unwrap();
    let daemon = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut command = Vec::new();
        for answer in [&b"\0\0\0\0"[..], b"hostname a\r\nend\n\0\0\0\0", b"% no\0\0\0\x0d"] {
            command.clear();
            while command.last() != Some(&0) {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                command.push(byte[0]);
            }
            for byte in answer {
                stream.write_all(&[*byte]).unwrap();
                thread::yield_now();
            }
        }
        command
    });
    let mut vty = observe::Vty::open(&folder, "zebra").unwrap();
    let text = vty.say("show running-config").unwrap();
    let refusal = vty.say("hostname b").unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(text, "hostname a\r\nend\n");
    assert_eq!(refusal, "zebra of FRR refuses `hostname b`: no (status 13)");
    assert_eq!(daemon.join().unwrap(), b"hostname b\0");
}

#[test]
fn a_daemon_that_goes_away_in_the_middle_is_named() {
    let folder = std::env::temp_dir().join(format!("frr-silent-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = UnixListener::bind(folder.join("zebra.vty")).unwrap();
    let _bgpd = UnixListener::bind(folder.join("bgpd.vty")).unwrap();
    let daemon = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hostname a\n\0\0").unwrap();
        stream.read_exact(&mut [0; 7]).unwrap();
    });
    let trouble = observe::frr(&folder).unwrap_err().to_string();
    daemon.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(trouble, "zebra of FRR does not answer; restart it if it hangs");
}
