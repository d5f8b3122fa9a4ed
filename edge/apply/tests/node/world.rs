//! A device of its own for each test: its network, its mounts, its ports and the workloads behind
//! them. Nothing of it outlives the thread that made it.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use apply::{Admitted, Linux, ManagedNode as _};
use model::{Dialect, Generation};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use observe::{Place, Vrfs};
use wire::ipv6_of;

/// Longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Runs this in a device of its own, if we are root.
pub(crate) fn in_device<T: Send>(what: impl FnOnce(&mut Device) -> T + Send) -> Option<T> {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        eprintln!("skipped: needs root");
        return None;
    }
    let inside = || {
        enter();
        let mut device = Device { workloads: Vec::new(), fabric: Namespace::new() };
        let path = device.fabric.path();
        ip(&format!(
            "link set lo up\nlink add swp33 mtu 9216 type veth peer name leaf mtu 9216 netns {path}"
        ));
        device.fabric.run(|| ip("link set leaf up"));
        what(&mut device)
    };
    let done = thread::scope(|scope| scope.spawn(inside).join());
    Some(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Leaves the network and the mounts of this process behind.
fn enter() {
    let none: Option<&Path> = None;
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).unwrap();
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).unwrap();
    mount(Some("bpf"), "/sys/fs/bpf", Some("bpf"), MsFlags::empty(), none).unwrap();
    mount(Some("tmpfs"), "/mnt", Some("tmpfs"), MsFlags::empty(), none).unwrap();
}

/// Where the namespaces of VRFs have their names.
pub(crate) const NAMESPACES: &str = "/mnt/netns";

pub(crate) fn place() -> Place {
    Place {
        frr: "/mnt/frr".into(),
        filter: "/sys/fs/bpf/node".into(),
        vrfs: Vrfs::Namespaces(NAMESPACES.into()),
        state: "/mnt/state".into(),
    }
}

/// The device where the calling thread is.
pub(crate) struct Device {
    workloads: Vec<Namespace>,
    pub(crate) fabric: Namespace,
}

/// Who is behind a port.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) tenant: u16,
    pub(crate) job: u16,
    pub(crate) port: u16,
    pub(crate) address: [u8; 4],
}

impl Workload {
    pub(crate) fn mac(&self) -> String {
        format!("02:00:00:00:00:{:02x}", self.port)
    }

    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address.into()
    }

    /// The first address of its subnet of sixteen.
    fn gateway(&self) -> Ipv4Addr {
        let [a, b, c, d] = self.address;
        Ipv4Addr::new(a, b, c, (d & 0xf0) + 1)
    }
}

impl Device {
    /// Plugs a workload in: a cable to a namespace with an `eth0`.
    pub(crate) fn plug(&mut self, workload: &Workload) -> Namespace {
        let namespace = Namespace::new();
        let Workload { port, tenant, .. } = *workload;
        let (mac, path) = (workload.mac(), namespace.path());
        ip(&format!(
            "link add swp{port} mtu 9216 type veth peer name eth0 mtu 9166 address {mac} netns {path}"
        ));
        let (own, gateway) = (workload.address(), workload.gateway());
        let (own6, gateway6) = (ipv6_of(tenant, own), ipv6_of(tenant, gateway));
        namespace.run(|| {
            ip(&format!(
                "link set eth0 addrgenmode none\nlink set eth0 up\naddress add {own}/28 dev eth0\n\
                 route add default via {gateway}\naddress add {own6}/124 dev eth0 nodad\n\
                 route add default via {gateway6}"
            ));
        });
        self.workloads.push(namespace.clone());
        namespace
    }
}

/// A network namespace without a name: it ends with whoever holds it.
#[derive(Clone)]
pub(crate) struct Namespace(Arc<File>);

impl Namespace {
    pub(crate) fn new() -> Self {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            ip("link set lo up");
            Self(Arc::new(File::open("/proc/thread-self/ns/net").unwrap()))
        });
        made.join().unwrap()
    }

    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Does something inside.
    pub(crate) fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        run_in(&self.0, what)
    }

    /// A socket at this address inside. Whoever starts a process elsewhere holds copies of all our
    /// sockets for a moment, also of one that was closed.
    pub(crate) fn socket(&self, address: IpAddr, port: u16) -> UdpSocket {
        let mut bound = None;
        until(&format!("port {port} of {address} is taken"), || {
            bound = self.run(|| UdpSocket::bind((address, port))).ok();
            bound.is_some()
        });
        bound.unwrap()
    }
}

/// Does something in the namespace of a VRF of this device.
pub(crate) fn in_vrf<T: Send>(vrf: &str, what: impl FnOnce() -> T + Send) -> T {
    run_in(&File::open(Path::new(NAMESPACES).join(vrf)).unwrap(), what)
}

fn run_in<T: Send>(namespace: &File, what: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        what()
    };
    let done = thread::scope(|scope| scope.spawn(inside).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Commands of `ip`, one a line.
pub(crate) fn ip(lines: &str) {
    tool("ip", lines);
}

/// Commands of `bridge`, one a line.
pub(crate) fn bridge(lines: &str) {
    tool("bridge", lines);
}

fn tool(name: &str, lines: &str) {
    let mut child = Command::new(name).args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{name} refused one of:\n{lines}");
}

/// A plan: who is behind which port, and who consented to meet whom.
#[derive(Clone, Default)]
pub(crate) struct Plan {
    pub(crate) workloads: Vec<Workload>,
    /// Jobs of two tenants that meet at UDP port 7000: the client's and the provider's tag.
    pub(crate) consents: Vec<(u16, u16)>,
}

const VTEP: &str = "10.255.0.3";
const TUNNEL: &str = "dstport 4789 nolearning tos inherit gbp";

impl Plan {
    pub(crate) fn sent(&self, generation: u64) -> Admitted {
        self.sent_with(generation, Vec::new())
    }

    /// The same with these texts besides.
    pub(crate) fn sent_with(&self, generation: u64, more: Vec<(Dialect, String)>) -> Admitted {
        let mut texts = vec![(Dialect::Linux, self.linux()), (Dialect::Table, self.table())];
        texts.extend(more);
        Admitted::danger_unproved(Generation(generation), texts)
    }

    fn tenants(&self) -> std::collections::BTreeSet<u16> {
        self.workloads.iter().map(|workload| workload.tenant).collect()
    }

    fn jobs(&self) -> std::collections::BTreeSet<(u16, u16, Ipv4Addr)> {
        let job = |workload: &Workload| (workload.tenant, workload.job, workload.gateway());
        self.workloads.iter().map(job).collect()
    }

    fn of(&self, job: u16) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(move |workload| workload.job == job)
    }

    /// Each consent from both sides: own tenant, own job, the other's.
    fn sides(&self) -> impl Iterator<Item = (u16, u16, u16)> {
        let both = self.consents.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        both.filter_map(|(own, other)| Some((self.of(own).next()?.tenant, own, other)))
    }

    pub(crate) fn linux(&self) -> String {
        let mut text = format!("vtep {VTEP}\nuplink swp33 mtu 9216 judged\n");
        for tenant in self.tenants() {
            let vni = 50_000 + u32::from(tenant);
            let mac = wire::router_mac(tenant, VTEP.parse().unwrap());
            text += &format!(
                "vrf t{tenant}\nvxlan vx{vni} id {vni} local {VTEP} {TUNNEL} vrf t{tenant} mac {mac}\n"
            );
        }
        for (tenant, job, gateway) in self.jobs() {
            let vni = 100_000 + u32::from(job);
            text += &format!(
                "bridge br{job} vrf t{tenant} address {gateway}/28 mac 02:00:00:00:00:01\n\
                 vxlan vx{vni} id {vni} local {VTEP} {TUNNEL} master br{job}\n"
            );
        }
        for workload in &self.workloads {
            let Workload { job, port, .. } = workload;
            let (address, mac) = (workload.address(), workload.mac());
            text += &format!(
                "link swp{port} master br{job} mtu 9216 judged\n\
                 neigh {address} lladdr {mac} dev swp{port} master br{job}\n"
            );
        }
        for (tenant, _, other) in self.sides() {
            for far in self.of(other) {
                let (address, vni) = (far.address(), 50_000 + u32::from(far.tenant));
                text += &format!("reach {address}-{address} vrf t{tenant} vtep {VTEP} vni {vni}\n");
            }
        }
        text
    }

    pub(crate) fn table(&self) -> String {
        let mut text = format!("vtep {VTEP}\ndefault drop\n");
        for tenant in self.tenants() {
            text += &format!("space t{tenant} vni {}\n", 50_000 + u32::from(tenant));
        }
        for (tenant, job, _) in self.jobs() {
            text += &format!("space t{tenant} vni {}\n", 100_000 + u32::from(job));
            text += &format!("job t{tenant} {job} class bulk\n");
        }
        for workload in &self.workloads {
            let Workload { tenant, job, port, .. } = workload;
            let (address, mac) = (workload.address(), workload.mac());
            text += &format!("endpoint t{tenant} {address} mac {mac} port swp{port} tag {job}\n");
        }
        for (tenant, _, other) in self.sides() {
            for far in self.of(other) {
                let address = far.address();
                text += &format!("peers t{tenant} {address}-{address} vtep {VTEP} tag {other}\n");
            }
        }
        for (client, provider) in &self.consents {
            for side in [client, provider] {
                let Some(Workload { tenant, .. }) = self.of(*side).next() else { continue };
                text += &format!("permit t{tenant} {client} {provider} udp 7000\n");
            }
        }
        text
    }
}

/// Two tenants with equal addresses, two jobs of one of them, and a third tenant that offers
/// something to the first.
pub(crate) const TRAIN_A: Workload =
    Workload { tenant: 17, job: 1001, port: 5, address: [10, 1, 0, 2] };
pub(crate) const TRAIN_B: Workload =
    Workload { tenant: 17, job: 1001, port: 6, address: [10, 1, 0, 3] };
pub(crate) const OTHER_JOB: Workload =
    Workload { tenant: 17, job: 1002, port: 7, address: [10, 1, 0, 18] };
pub(crate) const OTHER_TENANT: Workload =
    Workload { tenant: 18, job: 2001, port: 8, address: [10, 1, 0, 2] };
pub(crate) const STORAGE: Workload =
    Workload { tenant: 19, job: 3001, port: 9, address: [10, 9, 0, 2] };

pub(crate) fn whole_plan() -> Plan {
    Plan {
        workloads: vec![TRAIN_A, TRAIN_B, OTHER_JOB, OTHER_TENANT, STORAGE],
        consents: vec![(1001, 3001)],
    }
}

/// A node that holds the plan, with every port open.
pub(crate) fn opened(plan: &Plan, generation: u64) -> Linux {
    let mut node = Linux::open(place()).unwrap();
    node.hold(&plan.sent(generation), &mut |_| {}).unwrap();
    node.start(Generation(generation)).unwrap();
    node.renew(LONG).unwrap();
    node
}

/// What the node holds in the words of `linux`, sorted.
pub(crate) fn linux_lines(node: &mut Linux) -> Vec<String> {
    sorted(&text(node, Dialect::Linux))
}

pub(crate) fn text(node: &mut Linux, dialect: Dialect) -> String {
    let held = node.held().unwrap();
    held.into_iter().find(|(spoken, _)| *spoken == dialect).unwrap().1
}

pub(crate) fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Waits for something that comes soon, or fails with the sentence.
pub(crate) fn until(sentence: &str, mut comes: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !comes() {
        assert!(begin.elapsed() < PATIENCE, "{sentence}");
        thread::sleep(Duration::from_millis(1));
    }
}
