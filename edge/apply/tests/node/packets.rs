//! What really passes: workloads behind the ports of one device.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use apply::{Linux, ManagedNode as _};
use wire::ipv6_of;

use crate::world::{
    Device, Namespace, OTHER_JOB, OTHER_TENANT, STORAGE, TRAIN_A, TRAIN_B, Workload, in_device,
    opened, until, whole_plan,
};

struct Lab {
    node: Linux,
    spaces: Vec<(u16, Namespace)>,
}

impl Lab {
    fn new(device: &mut Device) -> Self {
        let plug = |workload: &Workload| (workload.port, device.plug(workload));
        let spaces = whole_plan().workloads.iter().map(plug).collect();
        Self { node: opened(&whole_plan(), 1), spaces }
    }

    fn socket(&self, workload: &Workload, address: IpAddr, port: u16) -> UdpSocket {
        let (_, space) = self.spaces.iter().find(|(port, _)| *port == workload.port).unwrap();
        let socket = space.socket(address, port);
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        socket
    }

    /// Both ways, IPv4 and inside a tenant IPv6: what one sends to this port, the other gets, and answers.
    fn check_meet(&self, from: &Workload, to: &Workload, port: u16) {
        // By the numbering a tenant's space knows no IPv6 address of another tenant.
        let versions = if from.tenant == to.tenant { 2 } else { 1 };
        for [from_address, to_address] in both(from, to).into_iter().take(versions) {
            let [sender, receiver] =
                [self.socket(from, from_address, 40_000), self.socket(to, to_address, port)];
            let target = SocketAddr::from((to_address, port));
            until(&format!("{from_address} does not reach {to_address}"), || {
                sender.send_to(b"question", target).unwrap();
                receiver.recv_from(&mut [0; 64]).is_ok()
            });
            until(&format!("{to_address} does not reach {from_address}"), || {
                receiver.send_to(b"answer", (from_address, 40_000)).unwrap();
                sender.recv_from(&mut [0; 64]).is_ok()
            });
        }
    }

    /// What one sends is dropped and counted, and nobody gets it.
    fn check_apart(&mut self, from: &Workload, to: &Workload, port: u16) {
        for [from_address, to_address] in both(from, to) {
            let [sender, receiver] =
                [self.socket(from, from_address, 40_000), self.socket(to, to_address, port)];
            let dropped = |node: &mut Linux| -> u64 {
                node.counted().unwrap().drops.iter().map(|(_, _, _, count)| count).sum()
            };
            let before = dropped(&mut self.node);
            until(&format!("{from_address} to {to_address} is not dropped"), || {
                let sent = sender.send_to(b"question", (to_address, port));
                assert!(sent.is_ok() || sent.unwrap_err().kind() == ErrorKind::HostUnreachable);
                dropped(&mut self.node) > before + 2
            });
            receiver.recv_from(&mut [0; 64]).unwrap_err();
        }
    }
}

fn both(from: &Workload, to: &Workload) -> [[IpAddr; 2]; 2] {
    let twin = |workload: &Workload| ipv6_of(workload.tenant, workload.address()).into();
    [[from.address().into(), to.address().into()], [twin(from), twin(to)]]
}

#[test]
fn ports_of_one_job_meet() {
    in_device(|device| Lab::new(device).check_meet(&TRAIN_A, &TRAIN_B, 9000));
}

#[test]
fn two_jobs_of_a_tenant_do_not_meet() {
    in_device(|device| Lab::new(device).check_apart(&TRAIN_A, &OTHER_JOB, 9000));
}

#[test]
fn two_tenants_with_equal_addresses_do_not_meet() {
    in_device(|device| Lab::new(device).check_apart(&OTHER_TENANT, &TRAIN_B, 9000));
}

#[test]
fn a_consent_lets_two_tenants_meet_at_its_service_and_at_no_other() {
    in_device(|device| {
        let mut lab = Lab::new(device);
        lab.check_meet(&TRAIN_A, &STORAGE, 7000);
        lab.check_meet(&TRAIN_B, &STORAGE, 7000);
        lab.check_apart(&TRAIN_A, &STORAGE, 7001);
    });
}
