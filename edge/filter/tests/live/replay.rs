//! Frames that were recorded while a job ran, sent again when it does not.

use std::time::Duration;

use crate::lab::{HEAD, Host, VTEP, alone, endpoint, mac};
use crate::mark;
use crate::socket::Socket;
use crate::told::told;

/// The job whose frames are recorded: two endpoints here and one elsewhere.
fn running() -> String {
    let peer = "peers t17 10.1.0.10-10.1.0.10 vtep 10.255.0.4 tag 1001\n";
    [HEAD, &endpoint(2, 1001), &endpoint(3, 1001), peer, OTHER_JOB].concat()
}

/// A job of the same tenant that goes on.
const OTHER_JOB: &str = "peers t17 10.1.0.20-10.1.0.21 vtep 10.255.0.4 tag 1002\n";

/// Another tenant's job on the same ports, behind the same hosts, with the same addresses and the
/// tag of the one before.
const REUSED: &str = "\
space t18 vni 50018
endpoint t18 10.1.0.2 mac 02:00:00:00:01:02 port swp2 tag 1001
endpoint t18 10.1.0.3 mac 02:00:00:00:01:03 port swp3 tag 1001
peers t18 10.1.0.10-10.1.0.10 vtep 10.255.0.4 tag 1001
";

#[test]
fn frames_of_a_job_that_ended_do_not_pass_again() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::open();
    let [sender, friend] = [2, 3].map(|number| host.workload(number));
    host.put(&running());
    let fabric = Socket::on(&host.fabric, "fab0");
    let [uplink, sender, friend] = [(&host.inside, "up0"), (&sender, "eth0"), (&friend, "eth0")]
        .map(|(namespace, interface)| Socket::on(namespace, interface));
    let tunnelled =
        mark::packet(10, 2).ethernet(mac(10), mac(2)).vxlan([10, 255, 0, 4], VTEP, 50017, 1001);
    let tunnelled = recorded(&fabric, &uplink, tunnelled.into_bytes());
    let bridged = recorded(&sender, &friend, mark::bridged(2, 3));

    let check = |host: &Host, from_fabric: &str, from_workload: &str| {
        let kernels = [&host.kernel];
        assert_eq!(told(&kernels, &fabric, &uplink, &tunnelled), from_fabric);
        assert_eq!(told(&kernels, &sender, &friend, &bridged), from_workload);
    };
    check(&host, "passes", "passes");
    host.put(&[HEAD, OTHER_JOB].concat());
    check(&host, "fabric source 0", "workload port 0");
    host.put(&[HEAD, OTHER_JOB, REUSED].concat());
    check(&host, "fabric source 0", "workload source-mac 1001");
    host.put(&[&HEAD.replace("space t17 vni 50017\n", ""), REUSED].concat());
    check(&host, "fabric vni 0", "workload source-mac 1001");
    host.kernel.close().unwrap();
    check(&host, "fabric closed 0", "workload closed 0");
    // The job comes back, and with it the right to send: it was not the frames' fault.
    host.put(&running());
    host.kernel.renew(crate::lab::LONG).unwrap();
    check(&host, "passes", "passes");
}

/// The frame as it arrives.
fn recorded(from: &Socket, to: &Socket, mut frame: Vec<u8>) -> Vec<u8> {
    mark::send(from, &mut frame, 0);
    loop {
        let seen = to.receive(Duration::from_secs(2)).expect("the running job's frame is lost");
        if seen.len() == frame.len() {
            return seen;
        }
    }
}
