//! What a line can say: one local fact of a device.

use std::fmt;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

use ipnet::Ipv4Net;
use model::{Asn, Port, RouteDistinguisher, RouteTarget, Service, TrafficClass, VrfName};
use smol_str::SmolStr;
use wire::{Mac, Tag, Vni};

use crate::Hold;

/// One local fact, and the line that says it.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Claim {
    /// The line, counted from 1 in the text that was read.
    pub line: u32,
    /// What it says.
    pub fact: Fact,
}

/// A bridge domain as its device calls it: `100` for a VLAN, `br1001` for a Linux bridge.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bridge(pub SmolStr);

impl fmt::Display for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Whose routes a distinguisher or target is about.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// The segment with this VNI.
    Segment(Vni),
    /// The VRF with this name.
    Vrf(VrfName),
}

/// What a device can do of its own.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Stray {
    /// A route.
    Route,
    /// An entry of a forwarding table.
    Forwarding,
    /// An address.
    Address,
}

/// What a line of a configuration can say. The same words for every dialect.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[allow(missing_docs, reason = "each variant's sentence names its fields")]
pub enum Fact {
    // The device among its neighbours.
    /// The device speaks BGP as this AS.
    LocalAs(Asn),
    /// The device has this address on the cable at this port.
    CableAddress { port: Port, address: Ipv4Addr },
    /// The device expects this neighbour.
    Neighbor { address: Ipv4Addr, remote: Asn },
    /// The device exchanges underlay routes with this neighbour.
    UnderlayWith(Ipv4Addr),
    /// The device exchanges EVPN routes with this neighbour.
    EvpnWith(Ipv4Addr),
    /// The device announces this address to the underlay.
    Announces(Ipv4Addr),
    /// The device tells its EVPN neighbours what it has.
    AdvertisesEvpn,
    /// The session with this neighbour has a secret, which both ends must have.
    Secret(Ipv4Addr),
    /// EVPN routes go to this neighbour with their targets and tags.
    TellsTargets(Ipv4Addr),
    /// EVPN routes go to this neighbour with the next hop that they came with.
    KeepsNextHop(Ipv4Addr),
    /// The device keeps EVPN routes that nothing of its own imports, so that it can pass them on.
    RetainsRoutes,
    /// The device's tunnels come from this address.
    Vtep(Ipv4Addr),
    /// The device itself has this address, so that it can announce it.
    Has(Ipv4Addr),
    /// Routing is told that the device has this address.
    Loopback(Ipv4Addr),

    // Segments and VRFs.
    /// The bridge domain is the segment with this VNI.
    SegmentOf { bridge: Bridge, vni: Vni },
    /// The bridge domain is routed in this VRF.
    RoutedIn { bridge: Bridge, vrf: VrfName },
    /// The device is the gateway of the bridge domain.
    Gateway { bridge: Bridge, address: Ipv4Addr, prefix: u8 },
    /// Tunnels with this VNI end here.
    TunnelEnds(Vni),
    /// Tunnels with this VNI carry and accept group tags.
    Tagged(Vni),
    /// A tunnel device with this VNI sends from this address.
    TunnelFrom { vni: Vni, address: Ipv4Addr },
    /// Addresses behind this VNI are learned from packets instead of from EVPN.
    Learns(Vni),
    /// A tunnel device with this VNI is in this VRF.
    RoutedTunnel { vrf: VrfName, vni: Vni },
    /// Packets of this VRF for the addresses from the first to the last, which are another
    /// tenant's, go to this tunnel endpoint with this VNI; or each block of so many to the next
    /// tunnel endpoint.
    Reaches {
        vrf: VrfName,
        first: Ipv4Addr,
        last: Ipv4Addr,
        vtep: Ipv4Addr,
        every: Option<NonZeroU32>,
        vni: Vni,
    },
    /// The VRF's routed traffic has this VNI.
    VrfVni { vrf: VrfName, vni: Vni },
    /// The switch carries the VRF's routed traffic: its VNI is up.
    VrfUp { vrf: VrfName, vni: Vni },
    /// Routes with this target come in from other VRFs of the same switch.
    LeaksIn { vrf: VrfName, target: RouteTarget },
    /// Routes with this target go out to other VRFs of the same switch.
    LeaksOut { vrf: VrfName, target: RouteTarget },
    /// Routes of this scope carry this distinguisher.
    Distinguisher { scope: Scope, rd: RouteDistinguisher },
    /// Routes with this target come in.
    Imports { scope: Scope, target: RouteTarget },
    /// Routes go out with this target.
    Exports { scope: Scope, target: RouteTarget },
    /// The device chooses targets by itself.
    AutomaticTarget(Scope),

    // Endpoints.
    /// The port is in this bridge domain.
    Attached { port: Port, bridge: Bridge },
    /// The port lets only bound sources pass, where the switch keeps them.
    Guarded(Port),
    /// The switch keeps bound sources at all.
    KeepsSources,
    /// The switch keeps the bound sources of this bridge domain.
    KeepsSourcesOf(Bridge),
    /// This address and Ethernet address are behind this port of this bridge domain, and may
    /// speak from there.
    Bound { port: Port, bridge: Bridge, address: Ipv4Addr, mac: Mac },

    // Policy of a switch with groups.
    /// The switch judges by groups at all.
    JudgesByGroups,
    /// These addresses of the VRF are in this group.
    InGroup { vrf: VrfName, addresses: Ipv4Net, tag: Tag },
    /// The VRF drops what no rule allows.
    DeniesByDefault(VrfName),
    /// In this VRF the two groups may speak: the first asks, the second answers.
    Contract { vrf: VrfName, client: Tag, provider: Tag, service: Service },
    /// Who answers by this contract may also begin to speak, to every port of who may ask.
    AnswersOpenly { vrf: VrfName, client: Tag, provider: Tag, service: Service },

    // What no plan says of a port or of a device, and everybody knows the meaning of.
    /// Nothing passes the port.
    Down(Port),
    /// The packet program does not stand at the port, so anything passes.
    Unfiltered(Port),
    /// The fabric's longest frames do not fit through the port, which takes so many bytes.
    ShortFrames { port: Port, mtu: u32 },
    /// Frames that the port takes, of so many bytes, do not fit into a tunnel of the fabric.
    LongFrames { port: Port, mtu: u32 },
    /// The device does something of its own that can lead frames past what is planned.
    Stray { what: Stray, line: SmolStr },

    // Queues of a Linux tunnel endpoint.
    /// A cable to the fabric.
    Uplink(Port),
    /// What is sent through this uplink waits by tenants once it is over this rate.
    QueuedLink { port: Port, rate_bps: u64 },
    /// What a tenant is guaranteed and limited to at this uplink, in bits a second.
    Queue { port: Port, vrf: VrfName, rate_bps: u64, ceil_bps: u64 },

    // Policy of the packet program.
    /// The program drops what no entry allows, also what carries no tag.
    TableDeniesByDefault,
    /// The program lets pass what no entry denies.
    TablePassesByDefault,
    /// Frames with this VNI are judged in this space.
    TableSpace { space: VrfName, vni: Vni },
    /// An endpoint of this device.
    TableEndpoint { space: VrfName, address: Ipv4Addr, mac: Mac, port: Port, tag: Tag },
    /// Endpoints elsewhere: all addresses from the first to the last have this tag and are
    /// behind this tunnel endpoint, or each block of so many behind the next one.
    TablePeers {
        space: VrfName,
        first: Ipv4Addr,
        last: Ipv4Addr,
        vtep: Ipv4Addr,
        every: Option<NonZeroU32>,
        tag: Tag,
    },
    /// In this space the two groups may speak: the first asks, the second answers.
    TablePermit { space: VrfName, client: Tag, provider: Tag, service: Service },
    /// What a tenant's packets are guaranteed and limited to, in bits a second; the limit is never
    /// zero.
    TableRate { space: VrfName, guarantee_bps: Option<u64>, ceiling_bps: Option<u64> },
    /// How the packets of a group are treated, and what they are limited to in bits a second,
    /// which is never zero.
    TableJob { space: VrfName, tag: Tag, class: TrafficClass, ceiling_bps: Option<u64> },

    /// What a layer besides the network holds.
    Holds(Hold),
}

impl Fact {
    /// Whether it is said of what devices hold alone: no plan has such a line.
    #[must_use]
    pub const fn is_of_no_plan(&self) -> bool {
        matches!(
            self,
            Self::Down(_)
                | Self::Unfiltered(_)
                | Self::ShortFrames { .. }
                | Self::LongFrames { .. }
                | Self::Stray { .. }
        )
    }
}
