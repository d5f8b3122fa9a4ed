//! Each fault as the commands that make it.

use std::fmt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use model::numbering::{bridge_name, tunnel_name};
use model::{SwitchRole, VrfName, Vtep};
use nix::sys::signal::Signal;
use observe::Backing;
use plan::{JobNet, TenantNet};

use super::{Fault, table};
use crate::folder::Folder;
use crate::lab::Lab;
use crate::namespace;
use crate::workload::Workload;
use crate::{LabTrouble, frr, up};

/// One thing that is done.
pub(super) enum Step {
    /// A command inside a device or workload.
    Run { at: String, line: String },
    /// Lines for a routing daemon.
    Tell { device: String, daemon: &'static str, lines: Vec<String> },
    /// The packet program's table is edited: this line, like that.
    Edit { device: String, from: String, to: String },
    /// A process gets a signal.
    Kill { device: String, role: &'static str },
    /// The routing daemons are started.
    Start { device: String },
    /// Nothing for a while.
    Wait,
}

/// Long enough that a link's change is seen.
const WHILE: Duration = Duration::from_millis(200);
/// Numbers that no plan gives.
const FOREIGN_VNI: u32 = 16_000_000;
const FOREIGN_VTEP: &str = "10.255.255.9";
/// A host that is plugged in says who it is.
const ANOTHER_HOST: &str = "echo 1 > /proc/sys/net/ipv4/conf/eth0/arp_notify; ip link set eth0 \
                            address 02:66:00:00:00:03";

/// A device and those on it who can be hurt.
pub(super) struct Scene<'a> {
    device: String,
    vtep: Vtep,
    uplink: String,
    backing: Backing,
    /// One workload, and one of another tenant if there is one.
    victim: Option<(&'a Workload, Option<&'a Workload>)>,
    lab: &'a Lab,
}

impl<'a> Scene<'a> {
    pub(super) fn of(lab: &'a Lab, device: Option<&str>) -> Result<Self, LabTrouble> {
        let fleet = &lab.plan().fleet;
        let mut switches = (0_u32..).zip(&fleet.switches);
        let (place, switch) = match device {
            Some(name) => switches.find(|(_, switch)| switch.name.as_str() == name),
            None => switches.find(|(_, switch)| switch.role == SwitchRole::Leaf),
        }
        .ok_or_else(|| LabTrouble::Unknown {
            wanted: device.unwrap_or("leaf").to_owned(),
            known: lab.devices().join(", "),
        })?;
        let ends = fleet.links.iter().flat_map(|link| [&link.a, &link.b]);
        let uplink = ends.filter(|end| end.switch.0 == place).map(|end| end.port.to_string());
        let here: Vec<&Workload> =
            lab.workloads().iter().filter(|one| switch.name.as_str() == one.device).collect();
        let other =
            |one: &Workload| here.iter().copied().find(|two| two.job.tenant != one.job.tenant);
        // One that has another job of its tenant beside it can be hurt in more ways.
        let is_brother = |one: &Workload, two: &Workload| {
            one.job.tenant == two.job.tenant && one.job.name != two.job.name
        };
        let has_brother = |one: &&&Workload| here.iter().any(|two| is_brother(one, two));
        let victim = here.iter().find(has_brother).or(here.first());
        let victim = victim.map(|&one| (one, other(one)));
        let (name, uplink) = (switch.name.to_string(), uplink.min().unwrap_or_default());
        let backing = lab.folder.backing()?;
        Ok(Self { device: name, vtep: switch.vtep, uplink, backing, victim, lab })
    }

    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// What makes a fault. What is run at one place is one line, so that an agent does not undo the
    /// first half before the second.
    pub(super) fn steps(&self, fault: Fault) -> Result<Vec<Step>, LabTrouble> {
        let mut lines: Vec<Step> = Vec::new();
        for step in self.single_steps(fault)? {
            match (lines.last_mut(), step) {
                (Some(Step::Run { at, line }), Step::Run { at: next, line: more })
                    if *at == next =>
                {
                    *line = format!("{line} && {more}");
                }
                (_, step) => lines.push(step),
            }
        }
        Ok(lines)
    }

    fn single_steps(&self, fault: Fault) -> Result<Vec<Step>, LabTrouble> {
        let uplink = |state: &str| self.run(format!("ip link set {} {state}", self.uplink));
        Ok(match fault {
            Fault::SecondNeighbor => vec![self.bgp(&[
                "neighbor 172.31.255.1 remote-as 65999",
                "address-family l2vpn evpn",
                "neighbor 172.31.255.1 activate",
            ])],
            Fault::FrrRestarted => vec![
                self.kill("bgpd"),
                self.kill("zebra"),
                Step::Wait,
                Step::Start { device: self.device.clone() },
            ],
            Fault::AgentKilled => vec![self.kill("agent")],
            Fault::LinkDown => vec![uplink("down")],
            Fault::FlappingLink => (0..5)
                .flat_map(|_| [uplink("down"), Step::Wait, uplink("up"), Step::Wait])
                .collect(),
            _ => return self.on_tenant(fault),
        })
    }

    /// Those that need somebody who works there.
    fn on_tenant(&self, fault: Fault) -> Result<Vec<Step>, LabTrouble> {
        let (one, _) = self.victim.ok_or_else(|| self.nobody("a workload"))?;
        let (tenant, job) = self.nets(one)?;
        let (vrf, port, address) = (&tenant.vrf, &one.port, one.address);
        let (bridge, tunnel) = (bridge_of(job), tunnel_name(job.l2vni.get()));
        let within = self.within(vrf);
        let inside = |what: &str| self.run(format!("ip {within}{what}"));
        let bridged = |what: &str| self.run(format!("bridge {within}{what}"));
        let routed = |what: &str| inside(&format!("route add {what}{}", self.in_table(vrf)));
        let local = self.vtep.address;
        // Made where it shall be: a move takes long enough for an agent to come between.
        let home = match self.backing {
            Backing::Namespaces => format!("netns {vrf} "),
            Backing::Devices => String::new(),
        };
        let vxlan = |name: &str, vni: u32| {
            self.run(format!(
                "ip link add {name} {home}type vxlan id {vni} local {local} dstport 4789 nolearning \
                 tos inherit gbp"
            ))
        };
        Ok(match fault {
            Fault::Rd => vec![self.bgp(&[
                "address-family l2vpn evpn",
                &format!("vni {}", job.l2vni),
                &format!("rd {local}:1"),
            ])],
            Fault::Vni => vec![
                inside(&format!("link del {tunnel}")),
                vxlan(&tunnel, FOREIGN_VNI),
                inside(&format!("link set {tunnel} master {bridge} up")),
            ],
            Fault::SecondVtep => vec![
                vxlan("vx-second", FOREIGN_VNI),
                inside(&format!("link set vx-second master {bridge} up")),
            ],
            Fault::Fdb => vec![bridged(&format!(
                "fdb append 02:66:00:00:00:01 dev {tunnel} dst {FOREIGN_VTEP} self permanent"
            ))],
            Fault::StaticRoute => {
                vec![routed(&format!("10.66.0.0/16 via {address} dev {bridge}"))]
            }
            Fault::DefaultRoute => {
                vec![routed(&format!("default via {address} dev {bridge}"))]
            }
            Fault::Mtu => vec![inside(&format!("link set {port} mtu 1400"))],
            Fault::Tos => {
                vec![inside(&format!("link set {tunnel} type vxlan id {} tos 0", job.l2vni))]
            }
            Fault::AddressMoved => vec![
                inside(&format!(
                    "neigh replace {address} lladdr 02:66:00:00:00:02 dev {bridge} nud permanent"
                )),
                bridged(&format!("fdb replace 02:66:00:00:00:02 dev {port} master static")),
            ],
            Fault::WrongHost => vec![self.at(one, ANOTHER_HOST.to_owned())],
            Fault::FilterDetached => vec![self.run(detach(&one.port, &within))],
            _ => return self.between_two(fault, one),
        })
    }

    /// Those that let two meet.
    fn between_two(&self, fault: Fault, one: &Workload) -> Result<Vec<Step>, LabTrouble> {
        let here = self.lab.workloads().iter().filter(|other| other.device == one.device);
        let brother = here
            .clone()
            .find(|other| other.job.tenant == one.job.tenant && other.job.name != one.job.name);
        let brother = || brother.ok_or_else(|| self.nobody("two jobs of one tenant"));
        let stranger = self.victim.and_then(|(_, other)| other);
        let stranger = || stranger.ok_or_else(|| self.nobody("workloads of two tenants"));
        let (tenant, job) = self.nets(one)?;
        let vrf = &tenant.vrf;
        Ok(match fault {
            Fault::RouteTarget => {
                let (other, _) = self.nets(stranger()?)?;
                let vrf_router = format!("router bgp {} vrf {vrf}", self.vtep.asn);
                vec![self.tell(
                    "bgpd",
                    &[
                        &vrf_router,
                        "address-family l2vpn evpn",
                        &format!("route-target import {}", other.target),
                    ],
                )]
            }
            Fault::Tag => {
                let (_, other) = self.nets(brother()?)?;
                let line = |tag| {
                    format!(
                        "endpoint {vrf} {} mac {} port {} tag {tag}",
                        one.address, one.mac, one.port
                    )
                };
                vec![self.edit(line(job.tag), line(other.tag))]
            }
            Fault::MapEdited => {
                let (_, other) = self.nets(brother()?)?;
                let line = format!("permit {vrf} {} {} tcp 22", job.tag, other.tag);
                vec![self.edit(String::new(), line)]
            }
            Fault::BridgePort => {
                let (_, other) = self.nets(brother()?)?;
                let within = self.within(vrf);
                vec![self.run(format!(
                    "ip {within}link set {} master {}",
                    one.port,
                    bridge_of(other)
                ))]
            }
            _ => {
                let (others, other) = self.nets(stranger()?)?;
                let (here, there) = (self.within(vrf), self.within(&others.vrf));
                let peer = match self.backing {
                    Backing::Namespaces => format!(" netns {}", others.vrf),
                    Backing::Devices => String::new(),
                };
                vec![
                    self.run(format!("ip {here}link add leak0 type veth peer name leak1{peer}")),
                    self.run(format!("ip {here}link set leak0 master {} up", bridge_of(job))),
                    self.run(format!("ip {there}link set leak1 master {} up", bridge_of(other))),
                ]
            }
        })
    }

    fn nets(&self, one: &Workload) -> Result<(&'a TenantNet, &'a JobNet), LabTrouble> {
        let plan = self.lab.plan();
        let nets = plan.tenants.get(&one.job.tenant).zip(plan.jobs.get(&one.job));
        nets.ok_or_else(|| self.nobody("the job of a workload"))
    }

    /// The words that lead `ip` and `bridge` to the interfaces of a VRF.
    fn within(&self, vrf: &VrfName) -> String {
        match self.backing {
            Backing::Namespaces => format!("-n {vrf} "),
            Backing::Devices => String::new(),
        }
    }

    /// The words that name its table.
    fn in_table(&self, vrf: &VrfName) -> String {
        match self.backing {
            Backing::Namespaces => String::new(),
            Backing::Devices => format!(" vrf {vrf}"),
        }
    }

    fn nobody(&self, what: &str) -> LabTrouble {
        let known = format!("nobody who fits at {}", self.device);
        LabTrouble::Unknown { wanted: what.to_owned(), known }
    }

    fn run(&self, line: String) -> Step {
        Step::Run { at: self.device.clone(), line }
    }

    fn at(&self, one: &Workload, line: String) -> Step {
        Step::Run { at: one.name.clone(), line }
    }

    fn kill(&self, role: &'static str) -> Step {
        Step::Kill { device: self.device.clone(), role }
    }

    fn edit(&self, from: String, to: String) -> Step {
        Step::Edit { device: self.device.clone(), from, to }
    }

    fn bgp(&self, lines: &[&str]) -> Step {
        let router = format!("router bgp {}", self.vtep.asn);
        self.tell("bgpd", &[&[router.as_str()], lines].concat())
    }

    fn tell(&self, daemon: &'static str, lines: &[&str]) -> Step {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        Step::Tell { device: self.device.clone(), daemon, lines }
    }
}

fn bridge_of(job: &JobNet) -> String {
    bridge_name(job.tag.get().into())
}

/// A link of the packet program ends when its pin is removed.
fn detach(port: &str, within: &str) -> String {
    format!(
        "sh -c 'i=$(ip {within}-o link show {port} | cut -d: -f1); \
         find /sys/fs/bpf/bulkhead -name \"*-$i\" -delete'"
    )
}

impl Step {
    pub(super) fn take(&self, lab: &Lab) -> Result<(), LabTrouble> {
        match self {
            Self::Run { at, line } => lab.run_in(at, || run(line))?,
            Self::Tell { device, daemon, lines } => {
                let mut all = vec!["enable", "configure terminal"];
                all.extend(lines.iter().map(String::as_str));
                lab.tell_frr(device, daemon, &all).map(drop)
            }
            Self::Edit { device, from, to } => lab.run_in(device, || table::edit(from, to))?,
            Self::Kill { device, role } => lab.kill(device, role, Signal::SIGKILL),
            Self::Start { device } => restart(lab, &lab.folder, device),
            Self::Wait => {
                thread::sleep(WHILE);
                Ok(())
            }
        }
    }
}

fn restart(lab: &Lab, folder: &Folder, device: &str) -> Result<(), LabTrouble> {
    let holder = lab.holder(device).ok_or(LabTrouble::Gone)?;
    namespace::beside(holder.id, || {
        frr::start(folder, device, "zebra")?;
        let silent = || (!frr::takes_routes(folder, device)).then(|| format!("zebra of {device}"));
        up::wait("the restart", silent)?;
        frr::start(folder, device, "bgpd").map(drop)
    })
}

/// Runs one line. A shell takes it apart, because a person would type it into one.
fn run(line: &str) -> Result<(), LabTrouble> {
    let failed = |said: String| LabTrouble::Failed { program: line.to_owned(), said };
    let output = Command::new("sh").args(["-c", line]).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { at, line } => write!(f, "{at}$ {line}"),
            Self::Tell { device, daemon, lines } => {
                write!(f, "{device} {daemon}# {}", lines.join(" / "))
            }
            Self::Edit { device, from, to } if from.is_empty() => {
                write!(f, "{device}: the packet program's table gets `{to}`")
            }
            Self::Edit { device, from, to } => {
                write!(f, "{device}: in the packet program's table `{from}` becomes `{to}`")
            }
            Self::Kill { device, role } => write!(f, "{device}: {role} is killed"),
            Self::Start { device } => write!(f, "{device}: zebra and bgpd are started, empty"),
            Self::Wait => write!(f, "wait {} ms", WHILE.as_millis()),
        }
    }
}
