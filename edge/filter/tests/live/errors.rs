//! What goes wrong is said, and changes nothing.

use std::error::Error as _;
use std::time::Duration;

use filter::{Fault, Kernel, Limits, PutError, Settings, TableRefusal};
use model::Generation;

use crate::lab::{
    HEAD, Host, LONG, Namespace, alone, endpoint, interface, mac, next_generation, now_ns, until,
};
use crate::mark;
use crate::socket::Socket;
use crate::told::told;

/// A host with three workloads of one job.
struct Street {
    host: Host,
    workloads: [Namespace; 3],
}

impl Street {
    fn new() -> Self {
        let mut host = Host::open();
        let workloads = [2, 3, 4].map(|number| host.workload(number));
        host.put(&text(&[2, 3, 4]));
        Self { host, workloads }
    }

    /// What becomes of a frame from one workload to another.
    fn told(&self, from: u8, to: u8) -> String {
        let [from_socket, to_socket] =
            [from, to].map(|number| Socket::on(&self.workloads[number as usize - 2], "eth0"));
        told(&[&self.host.kernel], &from_socket, &to_socket, mark::bridged(from, to))
    }
}

fn text(numbers: &[u8]) -> String {
    let endpoints: String = numbers.iter().map(|number| endpoint(*number, 1001)).collect();
    [HEAD, &endpoints].concat()
}

#[test]
fn a_filter_is_loaded_once() {
    let Some(_alone) = alone() else { return };
    let street = Street::new();
    let place = street.host.kernel.place();
    let again = Kernel::load(place, &Settings::default()).err().unwrap();
    assert_eq!(again.to_string(), format!("a filter is loaded at {} already", place.display()));
    assert_eq!(street.told(2, 3), "passes");
}

#[test]
fn who_holds_the_filter_and_does_not_let_it_go_is_named() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let place = street.host.kernel.place().to_owned();
    let stopped = std::fs::File::open(&place).unwrap();
    stopped.lock().unwrap();
    let next = next_generation(&street.host.kernel);
    let limits = Limits::default();
    let refused = street.host.kernel.put(&text(&[2]), next, &|_| None, &limits).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "process {} holds the filter at {} and does not let it go: let it go on, or end it",
            std::process::id(),
            place.display()
        )
    );
    drop(stopped);
    street.host.put(&text(&[2, 3]));
}

#[test]
fn a_place_without_a_filter_is_named() {
    let Some(_alone) = alone() else { return };
    let place = crate::lab::own_place();
    let missing = Kernel::open(&place).err().unwrap();
    assert!(matches!(missing, Fault::NotLoaded { .. }), "{missing}");
    let missing = Kernel::danger_detach(&place).err().unwrap();
    assert!(matches!(missing, Fault::NotLoaded { .. }), "{missing}");
    assert!(!place.exists());
}

#[test]
fn an_interface_that_is_missing_or_taken_is_refused_and_nothing_is_half_attached() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let before = street.host.kernel.attached().unwrap();
    assert_eq!(before.len(), 7);
    let Host { kernel, inside, .. } = &mut street.host;
    let refused = inside.run(|| {
        // A port that is judged already stays so.
        kernel.attach_port("swp2").unwrap();
        [
            kernel.attach_port("swp9").err(),
            kernel.attach_uplink("swp9").err(),
            kernel.attach_uplink("up0").err(),
        ]
    });
    let refused = refused.map(|fault| fault.expect("it was not refused"));
    assert!(matches!(&refused[0], Fault::NoInterface { interface } if interface == "swp9"));
    assert!(matches!(&refused[1], Fault::NoInterface { interface } if interface == "swp9"));
    let taken = &refused[2];
    assert!(matches!(taken, Fault::Pin { .. } | Fault::Attach { .. }), "{taken}");
    assert!(taken.source().is_some());
    assert_eq!(street.host.kernel.attached().unwrap(), before);
    assert_eq!(street.told(2, 3), "passes");
    let foreign = Socket::on(&street.workloads[0], "eth0");
    let to = Socket::on(&street.workloads[1], "eth0");
    let forged = mark::packet(4, 3).ethernet(mac(2), mac(3));
    let said = told(&[&street.host.kernel], &foreign, &to, forged);
    assert_eq!(said, "workload source 1001");
}

#[test]
fn a_port_that_vanishes_takes_nobody_along() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    street.host.inside.ip("link del swp4");
    assert_eq!(street.told(2, 3), "passes");
    let gone = street.host.try_put(&text(&[2, 3, 4]), Generation(99)).unwrap_err();
    assert_eq!(gone.to_string(), "there is no interface for swp4 of line 6");
    assert_eq!(street.told(2, 3), "passes");
    street.host.put(&text(&[2, 3]));
    assert_eq!(street.told(2, 3), "passes");

    // It comes back as another interface of the same name.
    street.workloads[2] = street.host.workload(4);
    street.host.put(&text(&[2, 3, 4]));
    assert_eq!(street.told(2, 4), "passes");
    assert_eq!(street.told(4, 2), "passes");
}

#[test]
fn a_policy_that_is_refused_leaves_the_one_in_force() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let held = street.host.kernel.held().unwrap();
    let generation = next_generation(&street.host.kernel);
    let small = Limits { records_per_space: 2, ..Limits::default() };
    let Host { kernel, inside, .. } = &mut street.host;
    let refused = inside.run(|| kernel.put(&text(&[2, 3, 4]), generation, &interface, &small));
    let refused = refused.unwrap_err();
    assert!(
        matches!(&refused, PutError::Refused(TableRefusal::TooManyRecords { has: 3, .. })),
        "{refused}"
    );
    let stale = street.host.try_put(&text(&[2]), Generation(0)).unwrap_err();
    assert_eq!(stale.to_string(), "generation 0 is older than 1, which is in force");
    assert!(street.host.kernel.held().unwrap() == held, "another policy is in force");
    assert_eq!(street.told(2, 3), "passes");
}

/// More addresses than the block has room for that the filter was loaded with.
const LARGE: &str = "peers t17 10.2.0.2-10.2.255.200 vtep 10.255.0.4 tag 1001\n";

#[test]
fn a_policy_that_outgrows_its_block_finds_room() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let before = street.host.kernel.attached().unwrap();
    street.host.put(&[&text(&[2, 3]), LARGE].concat());
    assert_eq!(street.host.kernel.attached().unwrap(), before);
    assert_eq!(street.told(2, 3), "passes");
    assert_eq!(street.told(2, 4), "workload destination 1001");
    street.host.put(&text(&[2, 3, 4]));
    assert_eq!(street.told(2, 4), "passes");
}

#[test]
fn a_lease_from_before_a_policy_found_room_still_ends() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    street.host.kernel.renew(Duration::from_secs(1)).unwrap();
    let until_ns = street.host.kernel.gate().unwrap().until_ns;
    street.host.put(&[&text(&[2, 3, 4]), LARGE].concat());
    // It is timed anew, but it is the same lease: what is promised of its end allows no more.
    let later_ns = street.host.kernel.gate().unwrap().until_ns - until_ns;
    assert!(later_ns < 100_000_000, "growing prolonged the lease by {later_ns} ns");
    until("the gate stays open", || !street.host.kernel.gate().unwrap().open);
    assert!(now_ns() >= until_ns, "the gate closed before the lease's end");
    assert_eq!(street.told(2, 3), "workload closed 0");
}

#[test]
fn a_writer_that_was_there_before_another_made_room_is_still_heard() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let mut early = Kernel::open(street.host.kernel.place()).unwrap();
    street.host.put(&[&text(&[2, 3, 4]), LARGE].concat());
    assert_eq!(street.told(2, 4), "passes");
    let generation = next_generation(&street.host.kernel);
    let inside = street.host.inside.clone();
    inside.run(|| early.put(&text(&[2, 3]), generation, &interface, &Limits::default())).unwrap();
    assert_eq!(street.told(2, 4), "workload destination 1001");
    early.close().unwrap();
    assert_eq!(street.told(2, 3), "workload closed 0");
    early.renew(LONG).unwrap();
    assert_eq!(street.told(2, 3), "passes");
}

#[test]
fn a_port_that_comes_after_another_made_room_is_judged_by_the_programs_of_now() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    let place = street.host.kernel.place().to_owned();
    let inside = street.host.inside.clone();
    let mut early = Kernel::open(&place).unwrap();
    let port = inside.run(|| filter::interface_index("swp4")).unwrap();
    Kernel::danger_release(&place, port).unwrap();
    street.host.put(&[&text(&[2, 3, 4]), LARGE].concat());
    inside.run(|| early.attach_port("swp4")).unwrap();
    Kernel::sweep(&place).unwrap();
    let links = Kernel::links(&place).unwrap();
    assert!(links.iter().all(|link| link.stands), "{links:?}");
    assert!(links.iter().any(|link| link.interface == port), "{links:?}");
    assert_eq!(street.told(2, 4), "passes");
    street.host.put(&text(&[2, 3]));
    assert_eq!(street.told(2, 4), "workload destination 1001");
}

#[test]
fn a_port_that_vanished_does_not_keep_others_from_growing() {
    let Some(_alone) = alone() else { return };
    let mut street = Street::new();
    street.host.inside.ip("link del swp4");
    street.host.put(&[&text(&[2, 3]), LARGE].concat());
    assert_eq!(street.told(2, 3), "passes");
}
