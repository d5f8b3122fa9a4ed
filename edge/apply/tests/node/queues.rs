//! The queues of an uplink: held in the words they were sent, and what they do to real packets.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use apply::{Admitted, Linux, ManagedNode as _};
use model::{Dialect, Generation};
use nix::sys::socket::{setsockopt, sockopt};
use observe::Watch;

use crate::hold::plug_all;
use crate::world::{
    Device, LONG, Namespace, OTHER_TENANT, Plan, TRAIN_A, Workload, bridge, in_device, in_vrf, ip,
    linux_lines, place, sorted, text, until, whole_plan,
};

const LINK: &str = "queue swp33 rate 100000000\n";
const QUEUES: &str = "queue swp33 rate 100000000\n\
                      queue swp33 vrf t17 rate 20000000 ceil 100000000\n\
                      queue swp33 vrf t18 rate 60000000 ceil 100000000\n";

fn sent(plan: &Plan, queues: &str, rates: &str, generation: u64) -> Admitted {
    let texts =
        vec![(Dialect::Linux, plan.linux() + queues), (Dialect::Table, plan.table() + rates)];
    Admitted::danger_unproved(Generation(generation), texts)
}

fn hold(node: &mut Linux, sent: &Admitted) {
    node.hold(sent, &mut |_| {}).unwrap();
    node.start(sent.generation()).unwrap();
    node.renew(LONG).unwrap();
}

fn queue_lines(node: &mut Linux) -> String {
    let lines = linux_lines(node).into_iter().filter(|line| line.starts_with("queue "));
    lines.map(|line| line + "\n").collect()
}

fn tc(words: &str) {
    let done = Command::new("tc").args(words.split(' ')).status().unwrap();
    assert!(done.success(), "tc refused {words}");
}

/// Each of these texts is held after the one before as if it were the first, and not touched twice.
fn check_held(texts: &[&str]) {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        let mut node = Linux::open(place()).unwrap();
        for (queues, generation) in texts.iter().zip(1..) {
            let sent = sent(&plan, queues, "", generation);
            hold(&mut node, &sent);
            assert_eq!(queue_lines(&mut node), *queues);
            assert_eq!(node.hold(&sent, &mut |_| {}).unwrap(), []);
        }
    });
}

#[test]
fn queues_come_change_and_go() {
    let wide = "queue swp33 rate 400000000000\n\
                queue swp33 vrf t18 rate 25000000000 ceil 100000000000\n";
    check_held(&[QUEUES, wide, LINK, "", QUEUES]);
}

/// Does something behind the node's back: it is noticed, said as this line, and undone.
fn check_by_hand(by_hand: impl FnOnce() + Send, line: &str) {
    in_device(|device| {
        plug_all(device);
        let sent = sent(&whole_plan(), QUEUES, "", 1);
        let mut node = Linux::open(place()).unwrap();
        hold(&mut node, &sent);
        let mut watch = Watch::begin(&place()).unwrap();
        while watch.next(Duration::from_millis(300)).unwrap() {}
        by_hand();
        assert!(watch.next(Duration::from_secs(10)).unwrap(), "nobody noticed");
        let held = text(&mut node, Dialect::Linux);
        let differences = read::differences(Dialect::Linux, sent.text(Dialect::Linux), &held);
        assert!(differences.iter().any(|found| found.statement == line), "{differences:#?}");
        node.hold(&sent, &mut |_| {}).unwrap();
        assert_eq!(sorted(&queue_lines(&mut node)), sorted(QUEUES));
    });
}

#[test]
fn a_guarantee_cut_by_hand() {
    let cut = "class change dev swp33 parent b001:ffff classid b001:12 htb rate 1mbit ceil 100mbit";
    check_by_hand(|| tc(cut), "queue swp33 vrf t18 rate 1000000 ceil 100000000 tuned");
}

#[test]
fn a_priority_taken_by_hand() {
    let taken = "class change dev swp33 parent b001:ffff classid b001:11 htb rate 20mbit \
                 ceil 100mbit prio 0 quantum 1500";
    check_by_hand(|| tc(taken), "queue swp33 vrf t17 rate 20000000 ceil 100000000 tuned");
}

#[test]
fn a_queue_of_nobody() {
    let added = "class add dev swp33 parent b001:ffff classid b001:63 htb rate 1mbit";
    check_by_hand(|| tc(added), "queue swp33 vrf t99 rate 1000000 ceil 1000000 tuned unqueued");
}

#[test]
fn a_queue_without_room() {
    check_by_hand(
        || tc("qdisc replace dev swp33 parent b001:12 pfifo limit 1"),
        "queue swp33 vrf t18 rate 60000000 ceil 100000000 unqueued",
    );
}

#[test]
fn no_queues_at_all() {
    check_by_hand(|| tc("qdisc del dev swp33 root"), "queue swp33 rate 100000000");
}

#[test]
fn other_queues_in_their_place() {
    check_by_hand(
        || tc("qdisc replace dev swp33 root tbf rate 10mbit burst 10000 latency 10ms"),
        "queue swp33 rate 100000000",
    );
}

#[test]
fn queues_that_nobody_names() {
    check_by_hand(
        || {
            let folder = place().filter;
            let name = std::fs::read_dir(&folder).unwrap().find_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.starts_with("queue-").then_some(name)
            });
            std::fs::remove_file(folder.join(name.unwrap())).unwrap();
        },
        "queue swp33 rate 100000000 unnamed",
    );
}

const FAR: &str = "10.255.0.4";
/// How much of a datagram is ours; with all headers it is a frame of 1,450 bytes.
const BYTES: usize = 1358;

/// Two tenants behind one uplink of 100 Mbit/s, and at its other end somebody who counts.
struct Street {
    node: Linux,
    spaces: [Namespace; 2],
    far: UdpSocket,
}

impl Street {
    fn new(device: &mut Device, queues: &str, rates: &str) -> Self {
        let tenants = [TRAIN_A, OTHER_TENANT];
        let spaces = [0, 1].map(|place| device.plug(&tenants[place]));
        let plan = Plan { workloads: tenants.to_vec(), consents: Vec::new() };
        let mut table = rates.to_owned();
        for Workload { tenant, job, .. } in tenants {
            table += &format!("peers t{tenant} 10.1.0.3-10.1.0.3 vtep {FAR} tag {job}\n");
        }
        let mut node = Linux::open(place()).unwrap();
        hold(&mut node, &sent(&plan, queues, &table, 1));
        // What the routing daemons would do.
        ip(&format!("address add 172.16.0.4/31 dev swp33\nroute add {FAR} via 172.16.0.5"));
        device.fabric.run(|| {
            ip(&format!(
                "address add {FAR}/32 dev lo\naddress add 172.16.0.5/31 dev leaf\n\
                 route add 10.255.0.3 via 172.16.0.4"
            ));
        });
        for (Workload { tenant, job, .. }, space) in tenants.iter().zip(&spaces) {
            in_vrf(&format!("t{tenant}"), || {
                let tunnel = 100_000 + u32::from(*job);
                bridge(&format!("fdb add 02:00:00:00:00:99 dev vx{tunnel} dst {FAR}"));
            });
            space.run(|| ip("neighbour add 10.1.0.3 lladdr 02:00:00:00:00:99 dev eth0"));
        }
        let far = device.fabric.socket(FAR.parse::<Ipv4Addr>().unwrap().into(), 4789);
        setsockopt(&far, sockopt::RcvBufForce, &(64 << 20)).unwrap();
        far.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        Self { node, spaces, far }
    }

    /// A socket of a tenant's workload that speaks to its peer.
    fn socket(&self, which: usize) -> UdpSocket {
        let socket = self.spaces[which].socket(Ipv4Addr::from([10, 1, 0, 2]).into(), 40_000);
        socket.connect(("10.1.0.3", 9000)).unwrap();
        socket
    }

    /// How many frames of each VNI arrived, until none comes any more.
    fn arrived(&self) -> BTreeMap<u32, u32> {
        let mut counted = BTreeMap::new();
        let mut frame = [0; 2048];
        while let Ok(len) = self.far.recv(&mut frame) {
            if len > BYTES {
                let vni = u32::from_be_bytes([0, frame[4], frame[5], frame[6]]);
                *counted.entry(vni).or_insert(0) += 1;
            }
        }
        counted
    }

    /// How many frames were dropped at the workloads' ports for being over a rate.
    fn over_rate(&mut self) -> u64 {
        let drops = self.node.counted().unwrap().drops;
        let over = drops.iter().filter(|(_, reason, _, _)| reason.contains("rate"));
        over.map(|(_, _, _, count)| count).sum()
    }
}

/// What a tenant's class counted: frames sent, dropped, and how often one had to wait.
fn class(number: u16) -> [u64; 3] {
    let classid = format!("b001:{number:x}");
    let words = ["-s", "class", "show", "dev", "swp33", "classid", &classid];
    let said = Command::new("tc").args(words).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let number_before = |word: &str| {
        let (before, _) = said.split_once(word).unwrap();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let number_after = |word: &str| {
        let (_, after) = said.split_once(word).unwrap();
        after.split([',', ' ']).next().unwrap().parse().unwrap()
    };
    [number_before(" pkt"), number_after("dropped "), number_after("overlimits ")]
}

/// One tenant floods while the other sends 4,000 frames, below what it is guaranteed. Gives how
/// many of those arrived. The flood is on when the class where it waits drops.
fn flood(street: &Street, waits_in: u16) -> u32 {
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let socket = street.socket(0);
            while !ends.load(Ordering::Relaxed) {
                let _ = socket.send(&[0; BYTES]);
            }
        });
        let counts = scope.spawn(|| street.arrived());
        until("the flood fills its queue", || class(waits_in)[1] > 0);
        let (socket, begin) = (street.socket(1), Instant::now());
        for place in 0..4000_u32 {
            // 1,450 bytes each 250 microseconds are 46 Mbit/s, of the 60 that are guaranteed.
            let turn = begin + place * Duration::from_micros(250);
            while Instant::now() < turn {
                thread::yield_now();
            }
            socket.send(&[0; BYTES]).unwrap();
        }
        ends.store(true, Ordering::Relaxed);
        flood.join().unwrap();
        counts.join().unwrap().get(&102_001).copied().unwrap_or(0)
    })
}

#[test]
fn a_flood_of_one_tenant_takes_nothing_of_what_the_other_is_guaranteed() {
    in_device(|device| {
        let street = Street::new(device, QUEUES, "");
        let arrived = flood(&street, 17);
        let [_, dropped, _] = class(18);
        assert_eq!((arrived, dropped), (4000, 0));
        let [passed, dropped, waited] = class(17);
        assert!(dropped > 0 && waited > 0 && passed > 0, "{dropped} {waited} {passed}");
    });
}

#[test]
fn the_same_flood_takes_some_of_it_where_both_wait_in_one_queue() {
    in_device(|device| {
        let street = Street::new(device, LINK, "");
        let arrived = flood(&street, filter::REST);
        assert!(arrived < 4000, "{arrived}");
    });
}

const BURST: u32 = 100;
const CEILING: &str = "rate t17 guarantee 20000000 ceiling 100000000\n";

#[test]
fn a_burst_over_the_ceiling_waits_where_there_is_a_queue() {
    in_device(|device| {
        let mut street = Street::new(device, QUEUES, CEILING);
        let socket = street.socket(0);
        for _ in 0..BURST {
            socket.send(&[0; BYTES]).unwrap();
        }
        assert_eq!(street.arrived().get(&101_001), Some(&BURST));
        let [sent, dropped, waited] = class(17);
        assert!(sent >= u64::from(BURST) && waited > 0, "{sent} {waited}");
        assert_eq!((dropped, street.over_rate()), (0, 0));
    });
}

#[test]
fn the_same_burst_is_cut_where_there_is_none() {
    in_device(|device| {
        let mut street = Street::new(device, "", CEILING);
        let socket = street.socket(0);
        for _ in 0..BURST {
            socket.send(&[0; BYTES]).unwrap();
        }
        let arrived = street.arrived().get(&101_001).copied().unwrap_or(0);
        assert!(arrived < BURST, "{arrived}");
        assert_eq!(u64::from(BURST - arrived), street.over_rate());
    });
}
