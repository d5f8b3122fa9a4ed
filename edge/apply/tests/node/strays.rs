//! What somebody changes by hand is seen as a line of its own, and undone by the next hold.

use apply::ManagedNode as _;
use observe::Watch;
use std::path::Path;
use std::time::Duration;

use crate::hold::{check_holds, plug_all};
use crate::world::{
    NAMESPACES, TRAIN_A, Workload, bridge, in_device, in_vrf, ip, linux_lines, opened, place,
    sorted, whole_plan,
};

/// Does something behind the node's back: it is noticed, said as this line, and undone.
fn check(by_hand: impl FnOnce() + Send, line: &str) {
    check_seen(by_hand, |before, lines| {
        let new: Vec<&String> = lines.iter().filter(|line| !before.contains(line)).collect();
        assert!(new.iter().any(|new| *new == line), "{new:#?}");
    });
}

/// Takes something away that the node holds by this line: it is noticed, no longer said, and put
/// back.
fn check_lost(by_hand: impl FnOnce() + Send, line: &str) {
    check_seen(by_hand, |before, lines| {
        let holds = |lines: &[String]| lines.iter().any(|held| held == line);
        assert!(holds(before) && !holds(lines), "{lines:#?}");
    });
}

fn check_seen(by_hand: impl FnOnce() + Send, sees: impl FnOnce(&[String], &[String]) + Send) {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        let mut node = opened(&plan, 1);
        let before = linux_lines(&mut node);
        let mut watch = Watch::begin(&place()).unwrap();
        while watch.next(Duration::from_millis(300)).unwrap() {}
        by_hand();
        assert!(watch.next(Duration::from_secs(10)).unwrap(), "nobody noticed");
        sees(&before, &linux_lines(&mut node));
        node.hold(&plan.sent(1), &mut |_| {}).unwrap();
        node.start(model::Generation(1)).unwrap();
        check_holds(&mut node, &plan);
        assert_eq!(linux_lines(&mut node), sorted(&before.join("\n")));
    });
}

#[test]
fn a_route_in_a_vrf() {
    check(
        || in_vrf("t17", || ip("route add 10.0.0.0/8 via 10.1.0.3")),
        "route 10.0.0.0/8 via 10.1.0.3 dev br1001 vrf t17",
    );
}

#[test]
fn a_default_route_of_the_device() {
    check(|| ip("route add default dev swp33"), "route default dev swp33");
}

#[test]
fn an_address_on_a_bridge() {
    check(
        || in_vrf("t17", || ip("address add 10.3.0.1/24 dev br1001")),
        "address 10.3.0.1/24 dev br1001 vrf t17",
    );
}

#[test]
fn a_tunnel_entry() {
    check(
        || {
            in_vrf("t17", || {
                bridge("fdb add 02:00:00:00:00:99 dev vx101001 dst 10.255.0.7 self");
            });
        },
        "fdb 02:00:00:00:00:99 dst 10.255.0.7 dev vx101001 vrf t17",
    );
}

#[test]
fn a_neighbour() {
    check(
        || {
            in_vrf("t17", || {
                ip("neighbour add 10.1.0.9 lladdr 02:00:00:00:00:99 dev br1001 nud permanent");
            });
        },
        "neigh 10.1.0.9 lladdr 02:00:00:00:00:99 dev br1001 vrf t17",
    );
}

/// The neighbour of a workload, as its line says it.
fn neighbour() -> String {
    let Workload { job, port, .. } = TRAIN_A;
    let (address, mac) = (TRAIN_A.address(), TRAIN_A.mac());
    format!("neigh {address} lladdr {mac} dev swp{port} master br{job}")
}

#[test]
fn a_neighbour_that_is_gone() {
    let gone = || ip(&format!("neighbour del {} dev br{}", TRAIN_A.address(), TRAIN_A.job));
    check_lost(|| in_vrf("t17", gone), &neighbour());
}

#[test]
fn a_neighbour_that_became_one_the_kernel_learnt() {
    let (address, mac, job) = (TRAIN_A.address(), TRAIN_A.mac(), TRAIN_A.job);
    let line = format!("neighbour replace {address} lladdr {mac} dev br{job} nud reachable");
    check_lost(|| in_vrf("t17", || ip(&line)), &neighbour());
}

#[test]
fn a_port_in_the_bridge_of_another_job() {
    check(
        || in_vrf("t17", || ip("link set swp5 master br1002")),
        "link swp5 master br1002 mtu 9216 learning judged",
    );
}

#[test]
fn a_port_without_the_program() {
    check(
        || {
            for entry in std::fs::read_dir(place().filter).unwrap() {
                let entry = entry.unwrap();
                if entry.file_name().to_string_lossy().starts_with("local-") {
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        },
        "link swp5 master br1001 mtu 9216",
    );
}

/// Numbers are unique in one namespace only.
#[test]
fn a_stranger_with_the_number_of_a_judged_port() {
    check(
        || {
            let found = observe::Spaces::open(&place()).unwrap().look().unwrap();
            let (_, index) = found.interface("swp5").unwrap();
            in_vrf("t18", || {
                ip(&format!("link add swp77 index {index} type veth peer name swp78"))
            });
        },
        "link swp77 vrf t18 mtu 1500 down",
    );
}

#[test]
fn an_uplink_without_the_program() {
    check(
        || {
            for entry in std::fs::read_dir(place().filter).unwrap() {
                let entry = entry.unwrap();
                if entry.file_name().to_string_lossy().starts_with("fabric-") {
                    std::fs::remove_file(entry.path()).unwrap();
                }
            }
        },
        "uplink swp33 mtu 9216",
    );
}

#[test]
fn a_port_that_is_down() {
    check(
        || in_vrf("t17", || ip("link set swp5 down")),
        "link swp5 master br1001 mtu 9216 judged down",
    );
}

#[test]
fn another_mtu() {
    check(
        || in_vrf("t17", || ip("link set swp5 mtu 1500")),
        "link swp5 master br1001 mtu 1500 judged",
    );
}

#[test]
fn a_tunnel_that_does_not_keep_the_traffic_class() {
    check(
        || in_vrf("t17", || ip("link set vx101001 type vxlan tos 0")),
        "vxlan vx101001 id 101001 local 10.255.0.3 dstport 4789 nolearning gbp master br1001",
    );
}

#[test]
fn a_tunnel_that_nobody_planned() {
    check(
        || {
            in_vrf("t17", || {
                ip("link add vx9 type vxlan id 9 local 10.255.0.3 dstport 4790 nolearning");
            });
        },
        "vxlan vx9 id 9 local 10.255.0.3 dstport 4790 nolearning vrf t17",
    );
}

#[test]
fn a_bridge_without_its_ipv6_address() {
    check(
        || in_vrf("t17", || ip("address del fd8e:5b3a:71c4:11::a01:1/124 dev br1001")),
        "bridge br1001 vrf t17 address 10.1.0.1/28 mac 02:00:00:00:00:01 noipv6",
    );
}

#[test]
fn another_router_address() {
    check(
        || in_vrf("t17", || ip("link set br50017 address 02:00:00:00:00:77")),
        "vxlan vx50017 id 50017 local 10.255.0.3 dstport 4789 nolearning tos inherit gbp vrf t17 \
         mac 02:00:00:00:00:77",
    );
}

#[test]
fn a_namespace_that_nobody_planned() {
    check(
        || {
            let path = |vrf: &str| Path::new(NAMESPACES).join(vrf);
            std::os::unix::fs::symlink(path("t17"), path("t99")).unwrap();
        },
        "vrf t99",
    );
}
