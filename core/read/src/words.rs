//! Claims about the network, as sentences.

use std::fmt;

use model::{Rate, VrfName};

use crate::{Fact, Scope, Stray};

/// What a claim says, in words.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalAs(asn) => write!(f, "speaks BGP as AS {asn}"),
            Self::CableAddress { port, address } => {
                write!(f, "has {address} on the cable at {port}")
            }
            Self::Neighbor { address, remote } => {
                write!(f, "expects neighbour {address} of AS {remote}")
            }
            Self::UnderlayWith(address) => write!(f, "exchanges underlay routes with {address}"),
            Self::EvpnWith(address) => write!(f, "exchanges EVPN routes with {address}"),
            Self::Announces(address) => write!(f, "announces {address} to the underlay"),
            Self::AdvertisesEvpn => f.write_str("tells its EVPN neighbours what it has"),
            Self::Secret(address) => write!(f, "has a secret with {address}"),
            Self::TellsTargets(address) => write!(f, "tells {address} the targets of routes"),
            Self::KeepsNextHop(address) => write!(f, "tells {address} where routes came from"),
            Self::RetainsRoutes => f.write_str("keeps routes that nothing of its own imports"),
            Self::VrfUp { vrf, vni } => write!(f, "VNI {vni} of VRF {vrf} is up"),
            Self::LeaksIn { vrf, target } => {
                write!(f, "VRF {vrf} takes {target} from VRFs of this device")
            }
            Self::LeaksOut { vrf, target } => {
                write!(f, "VRF {vrf} gives {target} to VRFs of this device")
            }
            Self::Vtep(address) => write!(f, "sends its tunnels from {address}"),
            Self::Has(address) => write!(f, "has the address {address}"),
            Self::Loopback(address) => write!(f, "tells its routing that it has {address}"),
            Self::SegmentOf { bridge, vni } => write!(f, "bridge domain {bridge} is segment {vni}"),
            Self::RoutedIn { bridge, vrf } => {
                write!(f, "bridge domain {bridge} is routed in VRF {vrf}")
            }
            Self::Gateway { bridge, address, prefix } => {
                write!(f, "is gateway {address}/{prefix} of bridge domain {bridge}")
            }
            Self::TunnelEnds(vni) => write!(f, "tunnels of VNI {vni} end here"),
            Self::Tagged(vni) => write!(f, "tunnels of VNI {vni} carry group tags"),
            Self::TunnelFrom { vni, address } => {
                write!(f, "tunnels of VNI {vni} come from {address}")
            }
            Self::Learns(vni) => write!(f, "learns addresses of VNI {vni} from packets"),
            Self::RoutedTunnel { vrf, vni } => {
                write!(f, "frames of VNI {vni} that come out of a tunnel are routed in VRF {vrf}")
            }
            Self::Reaches { vrf, first, last, vtep, every: None, vni } => {
                write!(f, "VRF {vrf} reaches {first} to {last} behind {vtep} in VNI {vni}")
            }
            Self::Reaches { vrf, first, last, vtep, every: Some(every), vni } => write!(
                f,
                "VRF {vrf} reaches {first} to {last} behind {vtep} and those after it, {every} \
                 each, in VNI {vni}"
            ),
            Self::VrfVni { vrf, vni } => write!(f, "VRF {vrf} has VNI {vni}"),
            Self::Distinguisher { scope, rd } => write!(f, "{scope} has distinguisher {rd}"),
            Self::Imports { scope, target } => write!(f, "{scope} imports {target}"),
            Self::Exports { scope, target } => write!(f, "{scope} exports {target}"),
            Self::AutomaticTarget(scope) => write!(f, "{scope} chooses its targets itself"),
            Self::Attached { port, bridge } => write!(f, "{port} is in bridge domain {bridge}"),
            Self::Guarded(port) => write!(f, "{port} lets only bound sources pass"),
            Self::Bound { port, bridge, address, mac } => {
                write!(f, "{address} ({mac}) is behind {port} in bridge domain {bridge}")
            }
            Self::KeepsSources => f.write_str("keeps bound sources"),
            Self::KeepsSourcesOf(bridge) => {
                write!(f, "keeps the bound sources of bridge domain {bridge}")
            }
            Self::JudgesByGroups => f.write_str("judges by groups"),
            Self::InGroup { vrf, addresses, tag } => {
                write!(f, "{addresses} of VRF {vrf} is in group {tag}")
            }
            Self::DeniesByDefault(vrf) => write!(f, "VRF {vrf} drops what no rule allows"),
            Self::Contract { vrf, client, provider, service } => {
                write!(f, "in VRF {vrf} group {client} may ask group {provider} at {service}")
            }
            Self::AnswersOpenly { vrf, client, provider, service } => write!(
                f,
                "in VRF {vrf} group {provider} may open connections to group {client} from {service}"
            ),
            Self::Down(port) => write!(f, "{port} is down"),
            Self::Unfiltered(port) => write!(f, "no packet program stands at {port}"),
            Self::ShortFrames { port, mtu } => {
                write!(f, "{port} takes frames of at most {mtu} bytes")
            }
            Self::LongFrames { port, mtu } => {
                write!(f, "{port} takes frames of up to {mtu} bytes, which no tunnel carries")
            }
            Self::Stray { what, line } => write!(f, "has {what} of its own: `{line}`"),
            Self::Uplink(port) => write!(f, "{port} is a cable to the fabric"),
            Self::QueuedLink { port, rate_bps } => {
                write!(f, "what is over {} waits at {port}", Rate { bps: *rate_bps })
            }
            Self::Queue { port, vrf, rate_bps, ceil_bps } => {
                let [rate, ceil] = [*rate_bps, *ceil_bps].map(|bps| Rate { bps });
                write!(f, "{vrf} has {rate} of {port} for itself and at most {ceil}")
            }
            Self::TableDeniesByDefault => {
                f.write_str("the packet program drops what no entry allows")
            }
            Self::TablePassesByDefault => {
                f.write_str("the packet program passes what no entry denies")
            }
            Self::TableSpace { space, vni } => {
                write!(f, "frames of VNI {vni} are judged in {space}")
            }
            Self::TableEndpoint { space, address, mac, port, tag } => {
                write!(f, "{address} ({mac}) of {space} is behind {port} in group {tag}")
            }
            Self::TablePeers { space, first, last, vtep, every: None, tag } => {
                write!(f, "{first} to {last} of {space} are behind {vtep} in group {tag}")
            }
            Self::TablePeers { space, first, last, vtep, every: Some(every), tag } => write!(
                f,
                "{first} to {last} of {space} are behind {vtep} and those after it, {every} each, \
                 in group {tag}"
            ),
            Self::TablePermit { space, client, provider, service } => {
                write!(f, "in {space} group {client} may ask group {provider} at {service}")
            }
            Self::TableRate { space, guarantee_bps, ceiling_bps } => {
                write_rate(f, space, *guarantee_bps, *ceiling_bps)
            }
            Self::Holds(hold) => hold.fmt(f),
            Self::TableJob { space, tag, class, ceiling_bps } => {
                write!(f, "in {space} group {tag} is {class}")?;
                write_ceiling(f, *ceiling_bps)
            }
        }
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Route => "a route",
            Self::Forwarding => "a forwarding entry",
            Self::Address => "an address",
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(vni) => write!(f, "segment {vni}"),
            Self::Vrf(vrf) => write!(f, "VRF {vrf}"),
        }
    }
}

fn write_rate(
    f: &mut fmt::Formatter<'_>,
    space: &VrfName,
    guarantee: Option<u64>,
    ceiling: Option<u64>,
) -> fmt::Result {
    write!(f, "{space} is guaranteed ")?;
    match guarantee {
        Some(bps) => write!(f, "{}", Rate { bps })?,
        None => f.write_str("nothing")?,
    }
    write_ceiling(f, ceiling)
}

fn write_ceiling(f: &mut fmt::Formatter<'_>, ceiling: Option<u64>) -> fmt::Result {
    match ceiling {
        Some(bps) => write!(f, " and limited to {}", Rate { bps }),
        None => f.write_str(" and not limited"),
    }
}
