use std::fmt;
use std::net::Ipv4Addr;

use model::{
    Artifact, DeviceId, Dialect, Fleet, JobName, Part, Port, RouteDistinguisher, RouteTarget,
    Service, TenantName, VrfName,
};
use read::{Bridge, Scope};
use wire::{Mac, Tag, Vni};

use crate::layers::{Disagree, LayerBreach, LayerSevered, LayerWeakness};

/// Something that is not as it must be. Any of them keeps artifacts from being cleared.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Finding {
    /// Packets can cross between two owners who did not both agree to it.
    Breach(Breach),
    /// Two owners share a place of another layer, or one was given what is not its own.
    LayerBreach(LayerBreach),
    /// Two endpoints that must be able to meet cannot.
    Severed(Severed),
    /// A layer does not name somebody whom it must name.
    LayerSevered(LayerSevered),
    /// Two layers name different things for the same job.
    Disagree(Disagree),
    /// A fence is down. Others may still hold, so perhaps no packet crosses yet.
    Weak(Weak),
}

/// Packets can cross from the first endpoint to the second.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Breach {
    /// Who sends.
    pub from: Endpoint,
    /// Who receives.
    pub to: Endpoint,
    /// Which way the packet takes.
    pub way: Way,
    /// What it carries.
    pub talk: Talk,
    /// The lines that let it through.
    pub said_by: Vec<Said>,
}

/// Unicast does not pass from the first endpoint to the second.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Severed {
    /// Who sends.
    pub from: Endpoint,
    /// Who should receive.
    pub to: Endpoint,
    /// What it carries.
    pub talk: Talk,
    /// The lines that are all there is about the two.
    pub said_by: Vec<Said>,
}

/// A fence that is down.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Weak {
    /// Which fence.
    pub weakness: Weakness,
    /// The device where it is down, if it is one.
    pub device: Option<DeviceId>,
    /// The lines that say so.
    pub said_by: Vec<Said>,
}

/// One end of a packet's way.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Endpoint {
    /// The device that judges it.
    pub device: DeviceId,
    /// The port it is behind.
    pub port: Port,
    /// The job it belongs to; none for a port that nobody owns.
    pub owner: Option<JobName>,
}

/// How a packet gets from one endpoint to another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Way {
    /// Inside one bridge domain of one device.
    BridgedLocal,
    /// Between bridge domains of one device.
    RoutedLocal,
    /// Through a tunnel between segments.
    BridgedRemote,
    /// Through a tunnel between VRFs.
    RoutedRemote,
}

/// What a packet carries, as far as policy can tell.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Talk {
    /// Flooded: broadcast, unknown or multicast.
    Flood,
    /// Unicast of a service that no rule names.
    Any,
    /// Unicast from a client to a provider of this service.
    Ask(Service),
    /// Unicast from a provider of this service to a client.
    Answer(Service),
}

/// The line that says something.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Said {
    /// The device that holds it.
    pub device: DeviceId,
    /// The artifact.
    pub dialect: Dialect,
    /// The part of the artifact.
    pub part: Part,
    /// The line within that part, from 1.
    pub line: u32,
}

/// Which fence is down.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Weakness {
    /// A line that nobody knows.
    UnknownLine { text: String, why: &'static str },
    /// Nothing is known about this artifact of the device.
    Silent(Dialect),
    /// The device chooses its route targets itself, so any AS can inject.
    AutomaticTarget(Scope),
    /// Routes of this scope have no explicit distinguisher.
    NoDistinguisher(Scope),
    /// Two devices have one address of their own: what is for one of them may end at the other.
    SharedLoopback { address: Ipv4Addr, first: DeviceId, second: DeviceId },
    /// Two scopes share a distinguisher.
    SharedDistinguisher { rd: RouteDistinguisher, first: Place, second: Place },
    /// Nobody exports what is imported.
    DeadImport { scope: Scope, target: RouteTarget },
    /// A scope of one owner imports another's routes without a consent.
    Joined { scope: Scope, ours: String, target: RouteTarget, exporter: Place, theirs: String },
    /// A VRF of a Linux device imports another tenant's routes, which lead nowhere there and take
    /// the place of its own.
    MisleadingImport { scope: Scope, target: RouteTarget, theirs: TenantName },
    /// A VRF of one tenant sends into the VNI of another without a consent.
    StrangeReach { vrf: VrfName, ours: TenantName, vni: Vni, theirs: TenantName },
    /// A VRF sends into a VNI that nobody has.
    DeadReach { vrf: VrfName, vni: Vni },
    /// Two tenants are in one VRF.
    SharedVrf { vrf: VrfName, first: TenantName, second: TenantName },
    /// Two jobs are in one bridge domain.
    SharedBridge { bridge: Bridge, first: Endpoint, second: Endpoint },
    /// Two owners use one VNI.
    SharedVni { vni: Vni, first: String, second: String },
    /// Two jobs use one tag.
    SharedTag { tag: Tag, first: JobName, second: JobName },
    /// One address is bound in two places of a VRF.
    SharedAddress { vrf: VrfName, address: Ipv4Addr, first: Endpoint, second: Endpoint },
    /// The VRF lets through what no rule names.
    OpenVrf(VrfName),
    /// The packet program lets through what no entry names.
    OpenProgram,
    /// The port lets any source pass.
    Unguarded(Port),
    /// A port that nobody owns is attached.
    Unowned { port: Port, bridge: Bridge },
    /// The bridge domain is in no VRF, so no group policy judges it.
    Unrouted(Bridge),
    /// Something is routed in the VRF, which has no VNI.
    NoVni(VrfName),
    /// Addresses behind this VNI are learned from packets.
    Learns(Vni),
    /// Tunnels with this VNI carry no tags.
    Untagged(Vni),
    /// Tunnels with this VNI come from another address than the device's own.
    StrangeSource { vni: Vni, from: Ipv4Addr },
    /// The packet program judges frames with this VNI elsewhere than they are routed.
    StrangeSpace { vni: Vni, vrf: VrfName },
    /// The packet program expects addresses where they are not.
    StrangePeers { first: Ipv4Addr, last: Ipv4Addr, vtep: Ipv4Addr, tag: Tag },
    /// The port is bound in a bridge domain that it is not attached to.
    Misbound { port: Port, bridge: Bridge },
    /// An address is bound in a bridge domain that is the gateway of other networks.
    Outside { bridge: Bridge, address: Ipv4Addr },
    /// The packet program lets a port speak that nobody owns.
    UnownedEntry(Port),
    /// Nothing judges what comes out of the fabric by the cable at this port.
    OpenCable(Port),
    /// A line tells another Ethernet address than that of the interface behind the port.
    StrangeInterface { port: Port, mac: Mac },
    /// A rule lets two groups speak whose owners did not both agree to that service.
    LooseRule { client: Tag, provider: Tag, service: Service },
    /// The packet program holds other rates for a tenant than it was promised.
    BrokenRates { tenant: TenantName, held: String, planned: String },
    /// The packet program treats a job's packets otherwise than was promised.
    BrokenTreatment { job: JobName, held: String, planned: String },
    /// A tenant's queue at an uplink has other rates than it was promised, or there is none.
    BrokenQueue { tenant: TenantName, port: Port, held: String, planned: String },
    /// An uplink lets wait what is over another rate than the fleet's.
    BrokenLink { port: Port, held: String, planned: String },
    /// Two lines say different things about the same.
    Contradiction { what: &'static str, first: String, second: String },
    /// One side names a neighbour that does not name it back.
    HalfSession { neighbor: Ipv4Addr, other: Option<DeviceId> },
    /// A fence of a layer besides the network.
    Layer(LayerWeakness),
}

/// A scope of one device.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Place {
    /// The device.
    pub device: DeviceId,
    /// The segment or VRF.
    pub scope: Scope,
}

impl Finding {
    /// The lines that say so.
    #[must_use]
    pub fn said_by(&self) -> &[Said] {
        match self {
            Self::Breach(breach) => &breach.said_by,
            Self::LayerBreach(breach) => &breach.said_by,
            Self::Severed(severed) => &severed.said_by,
            Self::LayerSevered(severed) => &severed.said_by,
            Self::Disagree(disagree) => &disagree.said_by,
            Self::Weak(weak) => &weak.said_by,
        }
    }

    /// A short word for programs: `breach`, `severed`, `disagree`, or the name of the weakness.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Breach(_) | Self::LayerBreach(_) => "breach",
            Self::Severed(_) | Self::LayerSevered(_) => "severed",
            Self::Disagree(_) => "disagree",
            Self::Weak(weak) => weak.weakness.code(),
        }
    }

    /// The devices that take part.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceId> {
        let mut devices: Vec<DeviceId> = self.said_by().iter().map(|said| said.device).collect();
        match self {
            Self::Breach(Breach { from, to, .. }) | Self::Severed(Severed { from, to, .. }) => {
                devices.extend([from.device, to.device]);
            }
            // What joins things and who forgets somebody is in the lines.
            Self::LayerBreach(_) | Self::LayerSevered(_) | Self::Disagree(_) => {}
            Self::Weak(weak) => {
                devices.extend(weak.device);
                if let Weakness::HalfSession { other, .. } = weak.weakness {
                    devices.extend(other);
                }
            }
        }
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// The finding as one sentence with the fleet's names.
    #[must_use]
    pub fn sentence(&self, fleet: &Fleet) -> String {
        match self {
            Self::Breach(Breach { from, to, way, talk, .. }) => {
                format!("{} meets {}: {talk}, {way}", from.show(fleet), to.show(fleet))
            }
            Self::Severed(Severed { from, to, talk, .. }) => {
                format!("{} cannot reach {}: {talk}", from.show(fleet), to.show(fleet))
            }
            Self::LayerBreach(breach) => breach.sentence(fleet),
            Self::LayerSevered(severed) => severed.sentence(fleet),
            Self::Disagree(disagree) => disagree.sentence(fleet),
            Self::Weak(weak) => weak.sentence(fleet),
        }
    }
}

impl Endpoint {
    /// `leaf-1 Ethernet1/5 (red/train)`.
    #[must_use]
    pub fn show(&self, fleet: &Fleet) -> String {
        let device = fleet.device_name(self.device);
        match &self.owner {
            Some(job) => format!("{device} {} ({job})", self.port),
            None => format!("{device} {} (nobody's)", self.port),
        }
    }
}

impl Place {
    fn show(&self, fleet: &Fleet) -> String {
        format!("{} on {}", self.scope, fleet.device_name(self.device))
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BridgedLocal => "bridged on the device",
            Self::RoutedLocal => "routed on the device",
            Self::BridgedRemote => "bridged through a tunnel",
            Self::RoutedRemote => "routed through a tunnel",
        })
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flood => f.write_str("flooded frames"),
            Self::Any => f.write_str("unicast"),
            Self::Ask(service) => write!(f, "unicast to {service}"),
            Self::Answer(service) => write!(f, "unicast from {service}"),
        }
    }
}

impl Weakness {
    const fn code(&self) -> &'static str {
        match self {
            Self::UnknownLine { .. } => "unknown-line",
            Self::Silent(_) => "silent",
            Self::AutomaticTarget(_) => "automatic-target",
            Self::NoDistinguisher(_) => "no-distinguisher",
            Self::SharedLoopback { .. } => "shared-loopback",
            Self::SharedDistinguisher { .. } => "shared-distinguisher",
            Self::DeadImport { .. } => "dead-import",
            Self::Joined { .. } => "joined",
            Self::MisleadingImport { .. } => "misleading-import",
            Self::StrangeReach { .. } => "strange-reach",
            Self::DeadReach { .. } => "dead-reach",
            Self::SharedVrf { .. } => "shared-vrf",
            Self::SharedBridge { .. } => "shared-bridge",
            Self::SharedVni { .. } => "shared-vni",
            Self::SharedTag { .. } => "shared-tag",
            Self::SharedAddress { .. } => "shared-address",
            Self::OpenVrf(_) => "open-vrf",
            Self::OpenProgram => "open-program",
            Self::Unguarded(_) => "unguarded",
            Self::Unowned { .. } => "unowned",
            Self::Unrouted(_) => "unrouted",
            Self::NoVni(_) => "no-vni",
            Self::Learns(_) => "learns",
            Self::Untagged(_) => "untagged",
            Self::StrangeSource { .. } => "strange-source",
            Self::StrangeSpace { .. } => "strange-space",
            Self::StrangePeers { .. } => "strange-peers",
            Self::Misbound { .. } => "misbound",
            Self::Outside { .. } => "outside",
            Self::UnownedEntry(_) => "unowned-entry",
            Self::OpenCable(_) => "open-cable",
            Self::StrangeInterface { .. } => "strange-interface",
            Self::LooseRule { .. } => "loose-rule",
            Self::BrokenRates { .. } => "broken-rates",
            Self::BrokenTreatment { .. } => "broken-treatment",
            Self::BrokenQueue { .. } => "broken-queue",
            Self::BrokenLink { .. } => "broken-link",
            Self::Contradiction { .. } => "contradiction",
            Self::HalfSession { .. } => "half-session",
            Self::Layer(weakness) => weakness.code(),
        }
    }
}

impl Weak {
    fn sentence(&self, fleet: &Fleet) -> String {
        let here = match self.device {
            Some(device) => format!("{}: ", fleet.device_name(device)),
            None => String::new(),
        };
        let what = match &self.weakness {
            Weakness::UnknownLine { text, why } => format!("unknown line `{}`: {why}", text.trim()),
            Weakness::Silent(dialect) => format!("nothing is known of its {dialect}"),
            Weakness::AutomaticTarget(scope) => {
                format!("{} chooses its route targets itself, so any AS can inject", scope)
            }
            Weakness::NoDistinguisher(scope) => {
                format!("{} has no explicit route distinguisher", scope)
            }
            Weakness::SharedLoopback { address, first, second } => format!(
                "{address} is an address of {} and of {}: what is for one may end at the other",
                fleet.device_name(*first),
                fleet.device_name(*second)
            ),
            Weakness::SharedDistinguisher { rd, first, second } => format!(
                "route distinguisher {rd} is used by {} and by {}",
                first.show(fleet),
                second.show(fleet)
            ),
            Weakness::DeadImport { scope, target } => {
                format!("{} imports {target}, which nobody exports", scope)
            }
            Weakness::Joined { scope, ours, target, exporter, theirs } => format!(
                "{} of {ours} imports {target} of {theirs} in {} without a consent of both",
                scope,
                exporter.show(fleet)
            ),
            Weakness::MisleadingImport { scope, target, theirs } => format!(
                "{scope} imports {target} of {theirs}: FRR then takes the router of {theirs} for \
                 its own"
            ),
            Weakness::StrangeReach { vrf, ours, vni, theirs } => format!(
                "VRF {vrf} of {ours} sends into VNI {vni} of {theirs} without a consent of both"
            ),
            Weakness::DeadReach { vrf, vni } => {
                format!("VRF {vrf} sends into VNI {vni}, which is nobody's")
            }
            Weakness::SharedVrf { vrf, first, second } => {
                format!("{first} and {second} are both in VRF {vrf}")
            }
            Weakness::SharedBridge { bridge, first, second } => {
                let (first, second) = (first.show(fleet), second.show(fleet));
                format!("{first} and {second} are both in bridge domain {bridge}")
            }
            Weakness::SharedVni { vni, first, second } => {
                format!("VNI {vni} is used by {first} and by {second}")
            }
            Weakness::SharedTag { tag, first, second } => {
                format!("tag {tag} is used by {first} and by {second}")
            }
            Weakness::SharedAddress { vrf, address, first, second } => format!(
                "{address} in VRF {vrf} is at {} and at {}",
                first.show(fleet),
                second.show(fleet)
            ),
            Weakness::OpenVrf(vrf) => format!("VRF {vrf} does not deny by default"),
            Weakness::OpenProgram => "the packet program does not deny by default".into(),
            Weakness::Unguarded(port) => format!("{port} lets any source address pass"),
            Weakness::Unowned { port, bridge } => {
                format!("{port} belongs to nobody and is attached to {bridge}")
            }
            Weakness::Unrouted(bridge) => {
                format!("{bridge} is in no VRF, so no group policy judges it")
            }
            Weakness::NoVni(vrf) => format!("something is routed in VRF {vrf}, which has no VNI"),
            Weakness::Learns(vni) => {
                format!("VNI {vni} learns addresses from packets instead of from EVPN")
            }
            Weakness::Untagged(vni) => format!("tunnels with VNI {vni} carry no tags"),
            Weakness::StrangeSource { vni, from } => {
                format!(
                    "tunnels with VNI {vni} come from {from}, not from the device's own address"
                )
            }
            Weakness::StrangeSpace { vni, vrf } => {
                format!("the packet program does not judge VNI {vni} in the space of VRF {vrf}")
            }
            Weakness::StrangePeers { first, last, vtep, tag } => format!(
                "the packet program expects {first} to {last} behind {vtep} with tag {tag}, \
                 where they are not"
            ),
            Weakness::Outside { bridge, address } => format!(
                "{address} is bound in {bridge}, which is the gateway of no network with it: what \
                 is routed there is lost"
            ),
            Weakness::Misbound { port, bridge } => {
                format!("{port} is bound in {bridge}, which it is not attached to")
            }
            Weakness::UnownedEntry(port) => {
                format!("the packet program lets {port} speak, which belongs to nobody")
            }
            Weakness::OpenCable(port) => {
                format!("nothing judges what comes out of the fabric at {port}")
            }
            Weakness::StrangeInterface { port, mac } => {
                format!("{mac} is told to be behind {port}, and is not that interface's address")
            }
            Weakness::LooseRule { client, provider, service } => format!(
                "a rule lets group {client} speak to group {provider} at {service} \
                 without a consent of both owners"
            ),
            Weakness::BrokenRates { tenant, held, planned } => {
                format!("the packet program gives {tenant} {held}; it was promised {planned}")
            }
            Weakness::BrokenTreatment { job, held, planned } => {
                format!("the packet program treats {job} as {held}; it was promised {planned}")
            }
            Weakness::BrokenQueue { tenant, port, held, planned } => {
                format!("at {port} {tenant} has {held}; it was promised {planned}")
            }
            Weakness::BrokenLink { port, held, planned } => {
                format!("at {port} {held}; the fleet says {planned}")
            }
            Weakness::Contradiction { what, first, second } => {
                format!("{what} is said to be {first} and to be {second}")
            }
            Weakness::HalfSession { neighbor, .. } => {
                format!(
                    "neighbour {neighbor} does not name this device back, or not alike, or is not \
                     at the other end of the cable"
                )
            }
            Weakness::Layer(weakness) => weakness.to_string(),
        };
        format!("{here}{what}")
    }
}

impl Said {
    /// The line's number in the whole artifact and its text.
    #[must_use]
    pub fn quote<'a>(&self, artifact: &'a Artifact) -> Option<(u32, &'a str)> {
        let mut before = 0;
        for part in &artifact.parts {
            if part.part == self.part {
                let text = part.text.lines().nth(self.line.checked_sub(1)? as usize)?;
                return Some((before + self.line, text));
            }
            before += u32::try_from(part.text.lines().count()).unwrap_or(u32::MAX);
        }
        None
    }
}
