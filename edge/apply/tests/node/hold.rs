//! Holding: the same words in and out, nothing touched twice, any change in between.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use apply::{Linux, ManagedNode as _};
use model::{Dialect, Generation};
use observe::Watch;

use crate::world::{
    Device, NAMESPACES, OTHER_TENANT, PATIENCE, Plan, STORAGE, TRAIN_A, TRAIN_B, Workload,
    in_device, in_vrf, ip, linux_lines, opened, place, sorted, text, whole_plan,
};

pub(crate) fn plug_all(device: &mut Device) {
    for workload in whole_plan().workloads {
        device.plug(&workload);
    }
}

pub(crate) fn check_holds(node: &mut Linux, plan: &Plan) {
    for (dialect, wanted) in [(Dialect::Linux, plan.linux()), (Dialect::Table, plan.table())] {
        let held = text(node, dialect);
        assert_eq!(read::differences(dialect, &wanted, &held), [], "{held}");
    }
}

/// Holds the plans one after the other on one device; each must be held as if it were the first.
fn check_changes(plans: &[Plan]) {
    in_device(|device| {
        plug_all(device);
        for (plan, generation) in plans.iter().zip(1..) {
            let mut node = opened(plan, generation);
            check_holds(&mut node, plan);
        }
    });
}

#[test]
fn what_a_node_holds_is_what_it_was_sent() {
    check_changes(&[whole_plan()]);
}

#[test]
fn the_lines_are_the_very_lines() {
    in_device(|device| {
        plug_all(device);
        let plan = Plan { consents: Vec::new(), ..whole_plan() };
        let mut node = opened(&plan, 1);
        assert_eq!(linux_lines(&mut node), sorted(&plan.linux()));
    });
}

#[test]
fn a_layer_that_the_agent_cannot_hold_is_refused_and_nothing_touched() {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        let mut node = opened(&plan, 1);
        let vfio = (Dialect::Vfio, "bind 0000:86:00.0 vfio-pci\n".into());
        let sent = plan.sent_with(2, vec![vfio]);
        let refused = node.hold(&sent, &mut |_| {}).unwrap_err();
        assert!(refused.said.contains("was sent `vfio`"), "{}", refused.said);
        check_holds(&mut node, &plan);
    });
}

/// zebra comes as soon as it sees the name, and misunderstands a namespace where something happens
/// meanwhile.
#[test]
fn a_vrf_is_ready_when_its_name_appears() {
    in_device(|device| {
        plug_all(device);
        let vrf = format!("t{}", TRAIN_A.tenant);
        let name = Path::new(NAMESPACES).join(&vrf);
        let addresses = thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let since = Instant::now();
                while !name.exists() {
                    assert!(since.elapsed() < PATIENCE, "no {vrf}");
                }
                in_vrf(&vrf, || fs::read_to_string("/proc/thread-self/net/fib_trie").unwrap())
            });
            opened(&whole_plan(), 1);
            looker.join().unwrap()
        });
        assert!(addresses.contains("127.0.0.1"), "{addresses}");
    });
}

#[test]
fn a_job_comes_and_goes() {
    let one = Plan { workloads: vec![TRAIN_A, OTHER_TENANT], consents: Vec::new() };
    check_changes(&[one.clone(), whole_plan(), one]);
}

#[test]
fn a_tenant_comes_and_goes_and_another_gets_its_port() {
    let first = Plan { workloads: vec![TRAIN_A, STORAGE], consents: vec![(1001, 3001)] };
    let moved = Workload { port: TRAIN_A.port, ..OTHER_TENANT };
    let second = Plan { workloads: vec![moved], consents: Vec::new() };
    let none = Plan::default();
    check_changes(&[first.clone(), second, none, first]);
}

#[test]
fn another_tenant_gets_the_job_number_and_the_ports_of_one_that_ended() {
    let first = Plan { workloads: vec![TRAIN_A, STORAGE], consents: Vec::new() };
    let taken = Workload { tenant: OTHER_TENANT.tenant, ..TRAIN_A };
    let second = Plan { workloads: vec![taken, STORAGE], consents: Vec::new() };
    check_changes(&[first.clone(), second, first]);
}

#[test]
fn a_job_gets_another_network_and_keeps_its_ports() {
    let first = Plan { workloads: vec![TRAIN_A, STORAGE], consents: Vec::new() };
    let [a, b, c, d] = TRAIN_A.address;
    let moved = Workload { address: [a, b, c + 1, d], ..TRAIN_A };
    let second = Plan { workloads: vec![moved, STORAGE], consents: Vec::new() };
    check_changes(&[first.clone(), second, first]);
}

#[test]
fn two_jobs_change_places() {
    let first = Plan { workloads: vec![TRAIN_A, STORAGE], consents: Vec::new() };
    let swapped = vec![
        Workload { port: STORAGE.port, ..TRAIN_A },
        Workload { port: TRAIN_A.port, ..STORAGE },
    ];
    let second = Plan { workloads: swapped, consents: Vec::new() };
    check_changes(&[first.clone(), second, first]);
}

#[test]
fn a_port_that_is_given_up_is_the_devices_again_and_down() {
    in_device(|device| {
        plug_all(device);
        opened(&whole_plan(), 1);
        opened(&Plan::default(), 2);
        let said = Command::new("ip").args(["-br", "link", "show", "swp5"]).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.starts_with("swp5") && said.contains(" DOWN "), "{said}");
        assert_eq!(fs::read_dir(NAMESPACES).unwrap().count(), 0);
    });
}

#[test]
fn a_port_is_judged_for_good_wherever_it_is() {
    in_device(|device| {
        plug_all(device);
        let first = Plan { workloads: vec![TRAIN_A], consents: Vec::new() };
        let moved = Workload { port: TRAIN_A.port, ..OTHER_TENANT };
        let second = Plan { workloads: vec![moved], consents: Vec::new() };
        opened(&first, 1);
        let links = links_of("swp5");
        for (plan, generation) in [(&second, 2), (&Plan::default(), 3), (&first, 4)] {
            opened(plan, generation);
            assert_eq!(links_of("swp5"), links, "the program was attached again");
        }
    });
}

/// The links of the program to a port, by their names and their numbers in the file system.
fn links_of(port: &str) -> Vec<(String, u64)> {
    let found = observe::Spaces::open(&place()).unwrap().look().unwrap();
    let (_, index) = found.interface(port).unwrap();
    let links = ["workload", "local"].map(|hook| {
        let name = format!("{hook}-{index}");
        let inode = fs::metadata(place().filter.join(&name)).unwrap().ino();
        (name, inode)
    });
    links.to_vec()
}

#[test]
fn a_port_waits_for_its_next_job_where_its_last_was() {
    in_device(|device| {
        plug_all(device);
        opened(&whole_plan(), 1);
        let without = Plan { workloads: vec![TRAIN_A, TRAIN_B], consents: Vec::new() };
        let mut node = opened(&without, 2);
        check_holds(&mut node, &without);
        assert_eq!(linux_lines(&mut node), sorted(&without.linux()));
        let waiting = in_vrf("t17", || {
            let said = Command::new("ip").args(["-br", "link", "show", "swp7"]).output().unwrap();
            String::from_utf8(said.stdout).unwrap()
        });
        assert!(waiting.starts_with("swp7") && waiting.contains(" DOWN "), "{waiting}");
        in_vrf("t17", || ip("link set swp7 up"));
        let lines = linux_lines(&mut node);
        assert!(lines.contains(&"link swp7 vrf t17 mtu 9216 judged".into()), "{lines:#?}");
        opened(&without, 2);
        assert_eq!(linux_lines(&mut node), sorted(&without.linux()));
    });
}

#[test]
fn a_second_hold_touches_nothing() {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        let mut node = opened(&plan, 1);
        let mut watch = Watch::begin(&place()).unwrap();
        // The kernel still talks of links that just came up.
        while watch.next(Duration::from_millis(1500)).unwrap() {}
        for generation in [1, 2] {
            let sent = plan.sent(generation);
            assert_eq!(node.hold(&sent, &mut |step| panic!("{step}")).unwrap(), []);
        }
        assert!(!watch.next(Duration::from_millis(600)).unwrap(), "something was touched");
    });
}

#[test]
fn new_ports_are_down_until_they_are_started() {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        let mut node = Linux::open(place()).unwrap();
        node.hold(&plan.sent(1), &mut |_| {}).unwrap();
        let is_port = |line: &&String| line.starts_with("link ");
        let lines = linux_lines(&mut node);
        assert!(lines.iter().filter(is_port).all(|line| line.ends_with(" judged down")));
        node.start(Generation(2)).unwrap_err();
        node.start(Generation(1)).unwrap();
        check_holds(&mut node, &plan);
    });
}

#[test]
fn an_older_generation_is_refused_also_after_a_restart() {
    in_device(|device| {
        plug_all(device);
        let plan = whole_plan();
        opened(&plan, 5);
        let mut node = Linux::open(place()).unwrap();
        let refused = node.hold(&Plan::default().sent(4), &mut |_| {}).unwrap_err();
        assert!(refused.said.contains("generation 4 comes late"), "{refused}");
        check_holds(&mut node, &plan);
    });
}

#[test]
fn a_port_that_is_not_there_is_named() {
    in_device(|_| {
        let mut node = Linux::open(place()).unwrap();
        let error = node.hold(&whole_plan().sent(1), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("swp5"), "{error}");
    });
}
