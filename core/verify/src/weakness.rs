//! Which fence of the network can be down, in words.

use std::net::Ipv4Addr;

use model::{
    DeviceId, Dialect, Fleet, JobName, Name, Port, RouteDistinguisher, RouteTarget, Service,
    TenantName, VrfName,
};
use read::{Bridge, Lacking, Scope, Stray};
use smol_str::SmolStr;
use wire::{Mac, Tag, Vni};

use crate::code::Code;
use crate::finding::{Endpoint, Party, ScopeAt};
use crate::layers::{LayerWeakness, Owner};

/// Which fence is down.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Weakness {
    /// A line that nobody knows.
    UnknownLine { text: String, why: &'static str },
    /// Nobody vouches any more for a line.
    ExpiredWaiver { waiver: Name, line: SmolStr },
    /// A line that must be there is not.
    MissingLine { text: SmolStr, why: &'static str },
    /// The device does something of its own.
    Stray { what: Stray, line: SmolStr },
    /// Nothing passes the port.
    Down(Port),
    /// The packet program does not stand at the port.
    Unfiltered(Port),
    /// The fabric's longest frames do not fit through the port.
    ShortFrames { port: Port, mtu: u32 },
    /// Frames that the port takes do not fit into the fabric's tunnels.
    LongFrames { port: Port, mtu: u32 },
    /// The VRF has a VNI that the switch does not carry.
    DownVni(VrfName),
    /// A contract lets who answers begin to speak.
    OpenAnswers { client: Tag, provider: Tag, service: Service },
    /// A port has an address of the fabric, and the fleet has no cable there.
    StrangeCable(Port),
    /// Nothing is known about this artifact of the device.
    Silent(Dialect),
    /// The device chooses its route targets itself, so any AS can inject.
    AutomaticTarget(Scope),
    /// Routes of this scope have no explicit distinguisher.
    NoDistinguisher(Scope),
    /// Two devices have one address of their own: what is for one of them may end at the other.
    SharedLoopback { address: Ipv4Addr, first: DeviceId, second: DeviceId },
    /// Two scopes share a distinguisher.
    SharedDistinguisher { rd: RouteDistinguisher, first: ScopeAt, second: ScopeAt },
    /// Nobody exports what is imported.
    DeadImport { scope: Scope, target: RouteTarget },
    /// A scope of one owner imports another's routes without a consent.
    Joined { scope: Scope, ours: Owner, target: RouteTarget, exporter: ScopeAt, theirs: Owner },
    /// A VRF of a Linux device imports another tenant's routes, which lead nowhere there and take
    /// the place of its own.
    MisleadingImport { scope: Scope, target: RouteTarget, theirs: TenantName },
    /// A segment and a VRF share a target. Routes of segments carry those of their VRF, too.
    MixedTarget { scope: Scope, target: RouteTarget, other: ScopeAt },
    /// A VRF of one tenant sends into the VNI of another without a consent.
    StrangeReach { vrf: VrfName, ours: TenantName, vni: Vni, theirs: TenantName },
    /// A VRF sends into a VNI that nobody has.
    DeadReach { vrf: VrfName, vni: Vni },
    /// Two tenants are in one VRF.
    SharedVrf { vrf: VrfName, first: TenantName, second: TenantName },
    /// Two jobs are in one bridge domain.
    SharedBridge { bridge: Bridge, first: Endpoint, second: Endpoint },
    /// Two owners use one VNI.
    SharedVni { vni: Vni, first: Owner, second: Owner },
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

impl Weakness {
    /// A line that must be there and is not.
    pub(crate) fn of(lacking: &Lacking) -> Self {
        Self::MissingLine { text: lacking.text.clone(), why: lacking.why }
    }

    pub(crate) const fn code(&self) -> Code {
        match self {
            Self::UnknownLine { .. } => Code::UnknownLine,
            Self::MissingLine { .. } => Code::MissingLine,
            Self::ExpiredWaiver { .. } => Code::ExpiredWaiver,
            Self::Stray { what: Stray::Route, .. } => Code::StrayRoute,
            Self::Stray { what: Stray::Forwarding, .. } => Code::StrayForwarding,
            Self::Stray { what: Stray::Address, .. } => Code::StrayAddress,
            Self::Down(_) => Code::PortDown,
            Self::Unfiltered(_) => Code::UnfilteredPort,
            Self::ShortFrames { .. } | Self::LongFrames { .. } => Code::WrongMtu,
            Self::DownVni(_) => Code::DownVni,
            Self::OpenAnswers { .. } => Code::OpenAnswers,
            Self::StrangeCable(_) => Code::StrangeCable,
            Self::Silent(_) => Code::Silent,
            Self::AutomaticTarget(_) => Code::AutomaticTarget,
            Self::NoDistinguisher(_) => Code::NoDistinguisher,
            Self::SharedLoopback { .. } => Code::SharedLoopback,
            Self::SharedDistinguisher { .. } => Code::SharedDistinguisher,
            Self::DeadImport { .. } => Code::DeadImport,
            Self::Joined { .. } => Code::Joined,
            Self::MisleadingImport { .. } => Code::MisleadingImport,
            Self::MixedTarget { .. } => Code::MixedTarget,
            Self::StrangeReach { .. } => Code::StrangeReach,
            Self::DeadReach { .. } => Code::DeadReach,
            Self::SharedVrf { .. } => Code::SharedVrf,
            Self::SharedBridge { .. } => Code::SharedBridge,
            Self::SharedVni { .. } => Code::SharedVni,
            Self::SharedTag { .. } => Code::SharedTag,
            Self::SharedAddress { .. } => Code::SharedAddress,
            Self::OpenVrf(_) => Code::OpenVrf,
            Self::OpenProgram => Code::OpenProgram,
            Self::Unguarded(_) => Code::Unguarded,
            Self::Unowned { .. } => Code::Unowned,
            Self::Unrouted(_) => Code::Unrouted,
            Self::NoVni(_) => Code::NoVni,
            Self::Learns(_) => Code::Learns,
            Self::Untagged(_) => Code::Untagged,
            Self::StrangeSource { .. } => Code::StrangeSource,
            Self::StrangeSpace { .. } => Code::StrangeSpace,
            Self::StrangePeers { .. } => Code::StrangePeers,
            Self::Misbound { .. } => Code::Misbound,
            Self::Outside { .. } => Code::Outside,
            Self::UnownedEntry(_) => Code::UnownedEntry,
            Self::OpenCable(_) => Code::OpenCable,
            Self::StrangeInterface { .. } => Code::StrangeInterface,
            Self::LooseRule { .. } => Code::LooseRule,
            Self::BrokenRates { .. } => Code::BrokenRates,
            Self::BrokenTreatment { .. } => Code::BrokenTreatment,
            Self::BrokenQueue { .. } => Code::BrokenQueue,
            Self::BrokenLink { .. } => Code::BrokenLink,
            Self::Contradiction { .. } => Code::Contradiction,
            Self::HalfSession { .. } => Code::HalfSession,
            Self::Layer(weakness) => weakness.code(),
        }
    }

    /// What it is about, on its device.
    pub(crate) fn place(&self, fleet: &Fleet) -> String {
        match self {
            Self::UnknownLine { text, .. } => format!("line `{}`", text.trim()),
            Self::ExpiredWaiver { waiver, .. } => format!("waiver {waiver}"),
            Self::MissingLine { text, .. } => format!("where `{text}` is missing"),
            Self::Stray { line, .. } => format!("line `{line}`"),
            Self::Silent(dialect) => dialect.to_string(),
            Self::AutomaticTarget(scope) | Self::NoDistinguisher(scope) => scope.to_string(),
            Self::SharedLoopback { address, first, second } => {
                let [first, second] = [first, second].map(|device| fleet.device_name(*device));
                format!("address {address} of {first} and {second}")
            }
            Self::SharedDistinguisher { rd, first, second } => {
                format!("distinguisher {rd} of {} and {}", first.show(fleet), second.show(fleet))
            }
            Self::DeadImport { scope, target }
            | Self::Joined { scope, target, .. }
            | Self::MisleadingImport { scope, target, .. }
            | Self::MixedTarget { scope, target, .. } => format!("{scope}, target {target}"),
            Self::StrangeReach { vrf, vni, .. } | Self::DeadReach { vrf, vni } => {
                format!("VRF {vrf}, VNI {vni}")
            }
            Self::SharedVrf { vrf, .. }
            | Self::OpenVrf(vrf)
            | Self::NoVni(vrf)
            | Self::DownVni(vrf) => format!("VRF {vrf}"),
            Self::SharedAddress { vrf, address, .. } => format!("{address} in VRF {vrf}"),
            Self::SharedBridge { bridge, .. } | Self::Unrouted(bridge) => {
                format!("bridge domain {bridge}")
            }
            Self::Outside { bridge, address } => format!("{address} in bridge domain {bridge}"),
            Self::SharedVni { vni, .. } | Self::Learns(vni) | Self::Untagged(vni) => {
                format!("VNI {vni}")
            }
            Self::StrangeSource { vni, from } => format!("VNI {vni} from {from}"),
            Self::StrangeSpace { vni, vrf } => format!("VNI {vni} of VRF {vrf}"),
            Self::StrangePeers { first, last, vtep, tag } => {
                format!("{first} to {last} with tag {tag} behind {vtep}")
            }
            Self::SharedTag { tag, .. } => format!("tag {tag}"),
            Self::LooseRule { client, provider, service }
            | Self::OpenAnswers { client, provider, service } => {
                format!("rule for tag {client} to ask tag {provider} at {service}")
            }
            Self::OpenProgram => "packet program".into(),
            Self::Down(port)
            | Self::Unfiltered(port)
            | Self::ShortFrames { port, .. }
            | Self::LongFrames { port, .. }
            | Self::StrangeCable(port)
            | Self::Unguarded(port)
            | Self::Unowned { port, .. }
            | Self::UnownedEntry(port)
            | Self::OpenCable(port)
            | Self::BrokenLink { port, .. }
            | Self::BrokenQueue { port, .. } => port.to_string(),
            Self::Misbound { port, bridge } => format!("{port} in bridge domain {bridge}"),
            Self::StrangeInterface { port, mac } => format!("{mac} at {port}"),
            Self::BrokenRates { .. } | Self::BrokenTreatment { .. } => String::new(),
            Self::Contradiction { what, first, second } => format!("{what}: {first}, {second}"),
            Self::HalfSession { neighbor, .. } => format!("neighbour {neighbor}"),
            Self::Layer(weakness) => weakness.place(),
        }
    }

    /// Who takes part.
    pub(crate) fn members(&self, fleet: &Fleet) -> Vec<Party> {
        let tenant = |name: &TenantName| Party::of(Owner::Tenant(name.clone()));
        let job = |name: &JobName| Party::of(Owner::Job(name.clone()));
        match self {
            Self::Joined { ours: one, theirs: other, .. }
            | Self::SharedVni { first: one, second: other, .. } => {
                [one, other].map(|owner| Party::of(owner.clone())).into()
            }
            Self::StrangeReach { ours: one, theirs: other, .. }
            | Self::SharedVrf { first: one, second: other, .. } => [one, other].map(tenant).into(),
            Self::SharedBridge { first, second, .. }
            | Self::SharedAddress { first, second, .. } => {
                [first, second].map(|endpoint| endpoint.party(fleet)).into()
            }
            Self::SharedTag { first, second, .. } => [first, second].map(job).into(),
            Self::MisleadingImport { theirs: one, .. }
            | Self::BrokenRates { tenant: one, .. }
            | Self::BrokenQueue { tenant: one, .. } => vec![tenant(one)],
            Self::BrokenTreatment { job: one, .. } => vec![job(one)],
            Self::Layer(weakness) => weakness.owner().map(Party::of).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn sentence(&self, fleet: &Fleet) -> String {
        match self {
            Self::UnknownLine { text, why } => format!("unknown line `{}`: {why}", text.trim()),
            Self::ExpiredWaiver { waiver, line } => {
                format!("waiver {waiver} expired: nobody vouches for `{line}` any more")
            }
            Self::MissingLine { text, why } => format!("no line `{text}`: {why}"),
            Self::Stray { what, line } => format!("{what} that nobody planned: `{line}`"),
            Self::Down(port) => format!("{port} is down: nothing passes it"),
            Self::Unfiltered(port) => {
                format!("no packet program stands at {port}: anything passes it")
            }
            Self::ShortFrames { port, mtu } => {
                format!("{port} takes frames of {mtu} bytes, and the fabric's are longer")
            }
            Self::LongFrames { port, mtu } => {
                format!(
                    "{port} takes frames of {mtu} bytes, which fit into no tunnel of the fabric"
                )
            }
            Self::DownVni(vrf) => {
                format!("the VNI of VRF {vrf} is down: nothing is routed between leaves in it")
            }
            Self::OpenAnswers { client, provider, service } => format!(
                "group {provider} may open connections to every port of group {client} from \
                 {service}"
            ),
            Self::StrangeCable(port) => {
                format!("{port} is routed as a cable of the fabric, and the fleet has none there")
            }
            Self::Silent(dialect) => format!("nothing is known of its {dialect}"),
            Self::AutomaticTarget(scope) => {
                format!("{} chooses its route targets itself, so any AS can inject", scope)
            }
            Self::NoDistinguisher(scope) => {
                format!("{} has no explicit route distinguisher", scope)
            }
            Self::SharedLoopback { address, first, second } => format!(
                "{address} is an address of {} and of {}: what is for one may end at the other",
                fleet.device_name(*first),
                fleet.device_name(*second)
            ),
            Self::SharedDistinguisher { rd, first, second } => format!(
                "route distinguisher {rd} is used by {} and by {}",
                first.show(fleet),
                second.show(fleet)
            ),
            Self::DeadImport { scope, target } => {
                format!("{} imports {target}, which nobody exports", scope)
            }
            Self::Joined { scope, ours, target, exporter, theirs } => format!(
                "{} of {ours} imports {target} of {theirs} in {} without a consent of both",
                scope,
                exporter.show(fleet)
            ),
            Self::MisleadingImport { scope, target, theirs } => format!(
                "{scope} imports {target} of {theirs}: FRR then takes the router of {theirs} for \
                 its own"
            ),
            Self::MixedTarget { scope, target, other } => format!(
                "{scope} and {} share {target}: segments then hear of endpoints elsewhere",
                other.show(fleet)
            ),
            Self::StrangeReach { vrf, ours, vni, theirs } => format!(
                "VRF {vrf} of {ours} sends into VNI {vni} of {theirs} without a consent of both"
            ),
            Self::DeadReach { vrf, vni } => {
                format!("VRF {vrf} sends into VNI {vni}, which is nobody's")
            }
            Self::SharedVrf { vrf, first, second } => {
                format!("{first} and {second} are both in VRF {vrf}")
            }
            Self::SharedBridge { bridge, first, second } => {
                let (first, second) = (first.show(fleet), second.show(fleet));
                format!("{first} and {second} are both in bridge domain {bridge}")
            }
            Self::SharedVni { vni, first, second } => {
                format!("VNI {vni} is used by {first} and by {second}")
            }
            Self::SharedTag { tag, first, second } => {
                format!("tag {tag} is used by {first} and by {second}")
            }
            Self::SharedAddress { vrf, address, first, second } => format!(
                "{address} in VRF {vrf} is at {} and at {}",
                first.show(fleet),
                second.show(fleet)
            ),
            Self::OpenVrf(vrf) => format!("VRF {vrf} does not deny by default"),
            Self::OpenProgram => "the packet program does not deny by default".into(),
            Self::Unguarded(port) => format!("{port} lets any source address pass"),
            Self::Unowned { port, bridge } => {
                format!("{port} belongs to nobody and is attached to {bridge}")
            }
            Self::Unrouted(bridge) => {
                format!("{bridge} is in no VRF, so no group policy judges it")
            }
            Self::NoVni(vrf) => format!("something is routed in VRF {vrf}, which has no VNI"),
            Self::Learns(vni) => {
                format!("VNI {vni} learns addresses from packets instead of from EVPN")
            }
            Self::Untagged(vni) => format!("tunnels with VNI {vni} carry no tags"),
            Self::StrangeSource { vni, from } => {
                format!(
                    "tunnels with VNI {vni} come from {from}, not from the device's own address"
                )
            }
            Self::StrangeSpace { vni, vrf } => {
                format!("the packet program does not judge VNI {vni} in the space of VRF {vrf}")
            }
            Self::StrangePeers { first, last, vtep, tag } => format!(
                "the packet program expects {first} to {last} behind {vtep} with tag {tag}, \
                 where they are not"
            ),
            Self::Outside { bridge, address } => format!(
                "{address} is bound in {bridge}, which is the gateway of no network with it: what \
                 is routed there is lost"
            ),
            Self::Misbound { port, bridge } => {
                format!("{port} is bound in {bridge}, which it is not attached to")
            }
            Self::UnownedEntry(port) => {
                format!("the packet program lets {port} speak, which belongs to nobody")
            }
            Self::OpenCable(port) => {
                format!("nothing judges what comes out of the fabric at {port}")
            }
            Self::StrangeInterface { port, mac } => {
                format!("{mac} is told to be behind {port}, and is not that interface's address")
            }
            Self::LooseRule { client, provider, service } => format!(
                "a rule lets group {client} speak to group {provider} at {service} \
                 without a consent of both owners"
            ),
            Self::BrokenRates { tenant, held, planned } => {
                format!("the packet program gives {tenant} {held}; it was promised {planned}")
            }
            Self::BrokenTreatment { job, held, planned } => {
                format!("the packet program treats {job} as {held}; it was promised {planned}")
            }
            Self::BrokenQueue { tenant, port, held, planned } => {
                format!("at {port} {tenant} has {held}; it was promised {planned}")
            }
            Self::BrokenLink { port, held, planned } => {
                format!("at {port} {held}; the fleet says {planned}")
            }
            Self::Contradiction { what, first, second } => {
                format!("{what} is said to be {first} and to be {second}")
            }
            Self::HalfSession { neighbor, .. } => {
                format!(
                    "neighbour {neighbor} does not name this device back, or not alike, or is not \
                     at the other end of the cable"
                )
            }
            Self::Layer(weakness) => weakness.to_string(),
        }
    }
}
