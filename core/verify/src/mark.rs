//! What a change touches.

use std::collections::BTreeSet;

use model::{DeviceId, Port, VrfName};
use read::{Bridge, Fact, Scope};
use wire::Tag;

use crate::device::Vrf;
use crate::index::{Domain, DomainKey};
use crate::verifier::{JobId, Spotted, Verifier};

/// What changed since the last judgement.
#[derive(Debug, Default)]
pub(crate) struct Dirty {
    pub(crate) fabric: bool,
    pub(crate) devices: BTreeSet<DeviceId>,
    pub(crate) bridges: BTreeSet<DomainKey>,
    /// The bridge domain that was marked last: the lines of a part are mostly about one.
    pub(crate) last_bridge: Option<DomainKey>,
    pub(crate) vrfs: BTreeSet<(DeviceId, VrfName)>,
    pub(crate) tags: BTreeSet<Tag>,
    pub(crate) places: BTreeSet<Spotted>,
}

impl Dirty {
    pub(crate) fn bridge(&mut self, device: DeviceId, bridge: &Bridge) {
        let is_last = |(at, held): &DomainKey| *at == device && held == bridge;
        if !self.last_bridge.as_ref().is_some_and(is_last) {
            let key = (device, bridge.clone());
            self.bridges.insert(key.clone());
            self.last_bridge = Some(key);
        }
    }
}

impl Verifier {
    /// Marks what a line touches.
    pub(crate) fn mark(&mut self, device: DeviceId, fact: &Fact) {
        match fact {
            Fact::LocalAs(asn) => {
                // Every block of the protocol repeats it; only the first and a strange one matter.
                let mut lines = self.world.devices[device.index()].local_as.values();
                if lines.clone().count() == 1 || lines.any(|held| held != asn) {
                    self.dirty.fabric = true;
                    self.dirty.places.insert(Spotted::Device(device));
                }
            }
            Fact::Neighbor { .. } => {
                self.dirty.fabric = true;
                self.dirty.places.insert(Spotted::Device(device));
            }
            Fact::CableAddress { .. } => {
                self.dirty.fabric = true;
                self.dirty.places.insert(Spotted::Device(device));
            }
            Fact::UnderlayWith(_)
            | Fact::EvpnWith(_)
            | Fact::Secret(_)
            | Fact::TellsTargets(_)
            | Fact::KeepsNextHop(_)
            | Fact::RetainsRoutes => self.dirty.fabric = true,
            Fact::Announces(_)
            | Fact::AdvertisesEvpn
            | Fact::Vtep(_)
            | Fact::Has(_)
            | Fact::JudgesByGroups
            | Fact::KeepsSources
            | Fact::TableDeniesByDefault
            | Fact::TablePassesByDefault => {
                self.dirty.devices.insert(device);
            }
            Fact::SegmentOf { bridge, vni } => {
                self.mark_targets(device, &Scope::Segment(*vni));
                self.dirty.places.insert(Spotted::Vni(*vni));
                self.dirty.bridge(device, bridge);
            }
            Fact::RoutedIn { bridge, .. }
            | Fact::Gateway { bridge, .. }
            | Fact::KeepsSourcesOf(bridge) => {
                self.dirty.bridge(device, bridge);
            }
            Fact::Attached { port, bridge } | Fact::Bound { port, bridge, .. } => {
                self.dirty.bridge(device, bridge);
                self.mark_port(device, *port);
            }
            Fact::TunnelFrom { vni, .. } => {
                // What comes from a strange address is not heard on any tunnel of the device.
                if self.world.devices[device.index()].has_strange_tunnels() {
                    self.dirty.devices.insert(device);
                }
                self.mark_vni(device, *vni);
            }
            Fact::TunnelEnds(vni)
            | Fact::Tagged(vni)
            | Fact::Learns(vni)
            | Fact::TableSpace { vni, .. } => self.mark_vni(device, *vni),
            Fact::VrfVni { vrf, vni }
            | Fact::VrfUp { vrf, vni }
            | Fact::RoutedTunnel { vrf, vni }
            | Fact::Reaches { vrf, vni, .. } => {
                self.dirty.places.insert(Spotted::Vni(*vni));
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
            // What one VRF gives, others of the switch may take.
            Fact::LeaksOut { vrf, target } | Fact::LeaksIn { vrf, target } => {
                let vrfs = self.world.devices[device.index()].vrfs.iter();
                let takes = |(_, lines): &(_, &Vrf)| lines.leaks_in.values().any(|t| t == target);
                let takers = vrfs.filter(takes).map(|(taker, _)| (device, taker.clone()));
                self.dirty.vrfs.extend(takers);
                self.dirty.places.insert(Spotted::Target(*target));
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
            Fact::DeniesByDefault(vrf)
            | Fact::Contract { vrf, .. }
            | Fact::AnswersOpenly { vrf, .. }
            | Fact::TablePermit { space: vrf, .. } => {
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
            Fact::Distinguisher { scope, rd } => {
                if self.index.rds.get(rd).is_some_and(|users| users.len() > 1) {
                    self.dirty.places.insert(Spotted::Rd(*rd));
                }
                self.dirty.places.insert(Spotted::Scope(device, scope.clone()));
            }
            Fact::Imports { scope, target } | Fact::Exports { scope, target } => {
                self.dirty.places.insert(Spotted::Target(*target));
                self.mark_scope(device, scope);
            }
            Fact::AutomaticTarget(scope) => self.mark_scope(device, scope),
            Fact::Guarded(port) | Fact::TableEndpoint { port, .. } => self.mark_port(device, *port),
            Fact::InGroup { vrf, addresses, tag } => {
                self.dirty.tags.insert(*tag);
                self.mark_addresses(device, vrf, *addresses);
            }
            Fact::TablePeers { tag, .. } => {
                self.dirty.tags.insert(*tag);
            }
            // Whatever is said of rates lets nobody meet: only its own VRF is judged again.
            Fact::TableRate { space: vrf, .. }
            | Fact::TableJob { space: vrf, .. }
            | Fact::Queue { vrf, .. } => {
                self.dirty.places.insert(Spotted::Vrf(device, vrf.clone()));
            }
            Fact::ShortFrames { port, .. } | Fact::LongFrames { port, .. } => {
                self.dirty.places.insert(Spotted::Port(device, *port));
            }
            Fact::Down(port) | Fact::Unfiltered(port) => {
                self.dirty.fabric = true;
                self.dirty.places.extend([Spotted::Port(device, *port), Spotted::Device(device)]);
                self.mark_port(device, *port);
            }
            Fact::Stray { .. } => {
                self.dirty.places.insert(Spotted::Device(device));
            }
            Fact::Holds(_) | Fact::Loopback(_) => {}
            Fact::Uplink(_) | Fact::QueuedLink { .. } => {
                self.dirty.fabric |= matches!(fact, Fact::Uplink(_));
                self.dirty.places.insert(Spotted::Device(device));
                let vrfs = self.world.devices[device.index()].vrfs.keys().cloned();
                self.dirty.places.extend(vrfs.map(|vrf| Spotted::Vrf(device, vrf)));
            }
        }
    }

    pub(crate) fn mark_vni(&mut self, device: DeviceId, vni: wire::Vni) {
        let facts = &self.world.devices[device.index()];
        if let Some(tunnel) = facts.tunnels.get(&vni) {
            tunnel.bridges.iter().for_each(|bridge| self.dirty.bridge(device, bridge));
        }
        let carrying = facts.vrfs.iter().filter(|(_, lines)| {
            lines.vni.values().chain(lines.tunnels.values()).any(|held| *held == vni)
        });
        self.dirty.vrfs.extend(carrying.map(|(vrf, _)| (device, vrf.clone())));
    }

    pub(crate) fn mark_scope(&mut self, device: DeviceId, scope: &Scope) {
        self.dirty.places.insert(Spotted::Scope(device, scope.clone()));
        match scope {
            Scope::Segment(vni) => self.mark_vni(device, *vni),
            Scope::Vrf(vrf) => {
                self.dirty.vrfs.insert((device, vrf.clone()));
            }
        }
    }

    pub(crate) fn mark_targets(&mut self, device: DeviceId, scope: &Scope) {
        if let Some(targets) = self.world.devices[device.index()].scopes.get(scope) {
            let touched = targets.imports.values().chain(targets.exports.values());
            self.dirty.places.extend(touched.copied().map(Spotted::Target));
        }
        let Scope::Vrf(vrf) = scope else { return };
        if let Some(lines) = self.world.devices[device.index()].vrfs.get(vrf) {
            let touched = lines.leaks_in.values().chain(lines.leaks_out.values());
            self.dirty.places.extend(touched.copied().map(Spotted::Target));
        }
    }

    pub(crate) fn mark_port(&mut self, device: DeviceId, port: Port) {
        let Some(lines) = self.world.devices[device.index()].ports.get(&port) else { return };
        lines.attached.values().for_each(|bridge| self.dirty.bridge(device, bridge));
        // A port is a place of its own only while nobody owns it and it may speak, or while another
        // interface is told to be there.
        let place = Spotted::Port(device, port);
        let unowned = || !self.owners[device.index()].contains_key(&port);
        let strange = || self.world.strange_interface(device, port).is_some();
        let is_told = || self.world.devices[device.index()].states.contains_key(&port);
        if self.findings.contains_key(&place)
            || (!lines.entries.is_empty() && unowned())
            || strange()
            || is_told()
        {
            self.dirty.places.insert(place);
        }
    }

    pub(crate) fn mark_addresses(
        &mut self,
        device: DeviceId,
        vrf: &VrfName,
        addresses: ipnet::Ipv4Net,
    ) {
        let facts = &self.world.devices[device.index()];
        if addresses.prefix_len() < 32 {
            let bridges = facts.vrfs.get(vrf).into_iter().flat_map(|lines| &lines.bridges);
            let held = bridges.filter(|bridge| facts.binds_one_of(bridge, addresses));
            held.for_each(|bridge| self.dirty.bridge(device, bridge));
            return;
        }
        let ports: Vec<Port> =
            facts.addresses.get(&addresses.addr()).into_iter().flatten().copied().collect();
        for port in ports {
            self.mark_port(device, port);
        }
    }

    pub(crate) fn mark_tag_owners(&mut self, tag: Tag) {
        for key in self.index.tags.get(&tag).into_iter().flatten() {
            let seats = self.index.domain(key).map(|domain| &domain.seats);
            let mut last = None;
            for seat in seats.into_iter().flatten() {
                if seat.owner.is_some() && last != seat.owner {
                    last = seat.owner;
                    self.dirty.places.extend(seat.owner.map(Spotted::Job));
                }
            }
        }
    }

    pub(crate) fn mark_job_vrfs(&mut self, job: JobId) {
        for key in self.index.jobs.get(&job).into_iter().flatten() {
            if let Some(vrf) = self.index.domain(key).and_then(|domain| domain.vrf.clone()) {
                self.dirty.vrfs.insert((key.0, vrf));
            }
        }
    }

    pub(crate) fn mark_domain(&mut self, key: &DomainKey, domain: &Domain) {
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                self.dirty.tags.insert(tag);
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                self.dirty.places.insert(Spotted::Job(job));
            }
        }
        if let Some(vrf) = &domain.vrf {
            self.dirty.places.insert(Spotted::Vrf(key.0, vrf.clone()));
        }
    }
}
