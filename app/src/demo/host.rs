//! One host with the real filter, its workloads, and another host behind a tunnel.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use filter::{DropEvent, Events, Kernel, Limits, Settings, interface_index, interface_name};
use model::{Generation, Port};
use wire::{Mac, Vni};

use super::namespace::{Namespace, Trouble};
use super::ping::ping;

/// Where the filter is, in the host's own BPF file system.
const PLACE: &str = "/sys/fs/bpf/demo";
const UPLINK: &str = "up0";
const LEASE: Duration = Duration::from_secs(60);
/// How long a connection may take between namespaces of one machine.
const PATIENCE: Duration = Duration::from_millis(500);

/// An endpoint behind a port of the host.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) port: Port,
    pub(crate) address: Ipv4Addr,
    pub(crate) mac: Mac,
}

/// An endpoint behind another tunnel endpoint, with nothing that keeps it honest.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) vtep: Ipv4Addr,
    pub(crate) vni: Vni,
    pub(crate) address: Ipv4Addr,
    pub(crate) mac: Mac,
}

/// A host whose ports the kernel judges.
pub(crate) struct Host {
    inside: Namespace,
    workloads: Vec<(Workload, Namespace)>,
    peer: Namespace,
    kernel: Kernel,
    events: Events,
}

impl Host {
    /// Builds the host and its surroundings, and puts a table in force.
    ///
    /// All workloads hang on one bridge, which a real host would never do: the filter alone keeps
    /// them apart.
    pub(crate) fn new(
        table: String,
        generation: Generation,
        vtep: Ipv4Addr,
        workloads: &[Workload],
        peer: &Peer,
    ) -> Result<Self, Trouble> {
        let inside = Namespace::new()?;
        let outside = Namespace::new()?;
        let spaces = workloads.iter().map(|_| Namespace::new()).collect::<Result<Vec<_>, _>>()?;
        inside.batch("ip", host_links(workloads, &spaces, vtep, peer, &outside))?;
        inside.batch("bridge", forwarding(workloads, peer))?;
        outside.batch("ip", peer_links(workloads, vtep, peer))?;
        for (workload, space) in workloads.iter().zip(&spaces) {
            space.batch("ip", workload_links(workload, workloads, peer))?;
        }
        let ports: Vec<Port> = workloads.iter().map(|workload| workload.port).collect();
        let kernel = inside.run(move || attach(&table, generation, &ports))?;
        let events = inside.run(|| Ok(Kernel::open(Path::new(PLACE))?.events()?))?;
        let workloads = workloads.iter().copied().zip(spaces).collect();
        Ok(Self { inside, workloads, peer: outside, kernel, events })
    }

    /// Whether an echo request of the workload at this port is answered.
    pub(crate) fn ping(&self, from: Port, to: Ipv4Addr) -> Result<bool, Trouble> {
        self.at(from)?.run(move || Ok(ping(to, 0)?))
    }

    /// Whether one of the peer is, which may say any tag, or none.
    pub(crate) fn ping_from_peer(&self, to: Ipv4Addr, tag: u16) -> Result<bool, Trouble> {
        self.peer.run(move || Ok(ping(to, tag)?))
    }

    /// Whether a connection between two workloads comes about.
    pub(crate) fn connect(&self, from: Port, to: Port, port: u16) -> Result<bool, Trouble> {
        let address = self.workload(to)?.0.address;
        let spot = SocketAddr::from((address, port));
        let listener = self.at(to)?.run(move || Ok(TcpListener::bind(spot)?))?;
        let connected =
            self.at(from)?.run(move || Ok(TcpStream::connect_timeout(&spot, PATIENCE).is_ok()));
        drop(listener);
        connected
    }

    /// Lets the lease run out, as if whoever renews it had died.
    pub(crate) fn abandon(&self) -> Result<(), Trouble> {
        let moment = Duration::from_millis(1);
        self.kernel.renew(moment)?;
        while self.kernel.gate()?.open {
            std::thread::sleep(moment);
        }
        Ok(())
    }

    /// What the kernel dropped since the last call, and at which interface.
    pub(crate) fn dropped(&mut self) -> Result<Vec<(DropEvent, String)>, Trouble> {
        let events: Vec<DropEvent> = std::iter::from_fn(|| self.events.take()).collect();
        self.inside.run(move || {
            let name = |event: &DropEvent| interface_name(event.interface).unwrap_or_default();
            Ok(events.into_iter().map(|event| (event.clone(), name(&event))).collect())
        })
    }

    fn at(&self, port: Port) -> Result<&Namespace, Trouble> {
        self.workload(port).map(|(_, space)| space)
    }

    fn workload(&self, port: Port) -> Result<&(Workload, Namespace), Trouble> {
        self.workloads.iter().find(|(workload, _)| workload.port == port).ok_or(Trouble::Gone)
    }
}

/// Closed first, open last.
fn attach(table: &str, generation: Generation, ports: &[Port]) -> Result<Kernel, Trouble> {
    let mut kernel = Kernel::load(Path::new(PLACE), &Settings::default())?;
    for port in ports {
        kernel.attach_port(&port.to_string())?;
    }
    kernel.attach_uplink(UPLINK)?;
    let interfaces = |port: &Port| interface_index(&port.to_string()).ok();
    kernel.put(table, generation, &interfaces, &Limits::default())?;
    kernel.renew(LEASE)?;
    Ok(kernel)
}

fn host_links(
    workloads: &[Workload],
    spaces: &[Namespace],
    vtep: Ipv4Addr,
    peer: &Peer,
    outside: &Namespace,
) -> String {
    let mut lines = String::from("link add br0 type bridge mcast_snooping 0\nlink set br0 up\n");
    for (Workload { port, mac, .. }, space) in workloads.iter().zip(spaces) {
        let id = space.id();
        lines += &format!(
            "link add {port} type veth peer name eth0 address {mac} netns {id}\n\
             link set {port} master br0 up\n"
        );
    }
    let (id, remote, vni) = (outside.id(), peer.vtep, peer.vni);
    lines += &format!(
        "link add {UPLINK} type veth peer name {UPLINK} netns {id}\n\
         address add {vtep}/24 dev {UPLINK}\n\
         link set {UPLINK} up\n\
         link add vx0 type vxlan id {vni} local {vtep} remote {remote} dstport 4789 nolearning \
         tos inherit gbp\n\
         link set vx0 master br0 up\n"
    );
    lines
}

/// Where each Ethernet address is, so that no frame floods.
fn forwarding(workloads: &[Workload], peer: &Peer) -> String {
    let mut lines = format!("fdb add {} dev vx0 master static\n", peer.mac);
    for Workload { port, mac, .. } in workloads {
        lines += &format!("fdb add {mac} dev {port} master static\n");
    }
    lines
}

fn peer_links(workloads: &[Workload], vtep: Ipv4Addr, peer: &Peer) -> String {
    let Peer { vtep: own, vni, address, mac } = peer;
    let mut lines = format!(
        "address add {own}/24 dev {UPLINK}\n\
         link set {UPLINK} up\n\
         link add vx0 address {mac} type vxlan id {vni} local {own} remote {vtep} dstport 4789 \
         nolearning gbp\n\
         address add {address}/32 dev vx0\n\
         link set vx0 up\n"
    );
    for workload in workloads {
        lines += &neighbour("vx0", workload.address, workload.mac);
    }
    lines
}

fn workload_links(own: &Workload, all: &[Workload], peer: &Peer) -> String {
    let mut lines = format!("address add {}/32 dev eth0\nlink set eth0 up\n", own.address);
    let others = all.iter().filter(|other| other.port != own.port);
    let others = others.map(|other| (other.address, other.mac));
    for (address, mac) in others.chain([(peer.address, peer.mac)]) {
        lines += &neighbour("eth0", address, mac);
    }
    lines
}

/// Nobody has to be asked for: what is judged here are packets.
fn neighbour(interface: &str, address: Ipv4Addr, mac: Mac) -> String {
    format!(
        "route add {address}/32 dev {interface}\n\
         neighbour add {address} lladdr {mac} dev {interface} nud permanent\n"
    )
}
