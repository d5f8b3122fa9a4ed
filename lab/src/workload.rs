//! Who works at which port, and how its interface is set up.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::{Dialect, JobName};
use plan::Plan;
use wire::Mac;

/// An endpoint of a job: a namespace with one interface, `eth0`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Workload {
    /// Node and interface, such as `red-1/0`.
    pub name: String,
    /// Whose it is.
    pub job: JobName,
    /// The device that judges it.
    pub device: String,
    /// The device's port towards it.
    pub port: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its other address: the same number in IPv6.
    pub twin: Ipv6Addr,
    /// Its Ethernet address.
    pub mac: Mac,
    /// Whether a packet program judges it there, so that an agent can send in its name.
    pub has_filter: bool,
    gateways: [(IpAddr, u8); 2],
}

impl Workload {
    /// Every endpoint of a plan.
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        let jobs = plan.jobs.iter();
        let groups =
            jobs.flat_map(|(name, net)| net.groups.iter().map(move |one| (name, net, one)));
        let mut all = Vec::new();
        for (job, net, group) in groups {
            let Some(tenant) = plan.tenants.get(&job.tenant) else {
                continue;
            };
            let twin = |address| wire::ipv6_of(tenant.number, address);
            let prefix = net.subnet.prefix_len();
            for seat in &group.seats {
                let node = &plan.fleet.nodes[seat.nic.node.index()].name;
                all.push(Self {
                    name: format!("{node}/{}", seat.nic.nic),
                    job: job.clone(),
                    device: plan.fleet.device_name(group.device).to_string(),
                    port: seat.port.to_string(),
                    address: seat.address,
                    twin: twin(seat.address),
                    mac: seat.mac,
                    has_filter: plan.fleet.network_dialects(group.device).contains(&Dialect::Table),
                    gateways: [
                        (net.gateway.into(), prefix),
                        (twin(net.gateway).into(), prefix + 96),
                    ],
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Sets its interface up, whatever it was before. Nobody is told where anyone is: asking the
    /// network for that must work.
    pub(crate) fn dress(&self) -> String {
        let mut lines = String::from("link set lo up\naddress flush dev eth0\n");
        let _ = writeln!(lines, "link set eth0 down address {} addrgenmode none", self.mac);
        lines.push_str("link set eth0 up\n");
        let own: [IpAddr; 2] = [self.address.into(), self.twin.into()];
        for (address, (gateway, prefix)) in own.into_iter().zip(self.gateways) {
            let _ = write!(
                lines,
                "address add {address}/{prefix} dev eth0{}\nroute add default via {gateway}\n",
                // There is nobody who could have the same one, and waiting for that takes a second.
                if address.is_ipv6() { " nodad" } else { "" }
            );
        }
        lines
    }
}
