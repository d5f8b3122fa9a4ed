//! Where things are, over all devices.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{DeviceId, Port, RouteDistinguisher, RouteTarget, TenantName, VrfName};
use read::{Bridge, Fact, Scope};
use smallvec::SmallVec;
use wire::{Tag, Vni};

use crate::device::{Lines, Rule};
use crate::verifier::{JobId, Spotted, Verifier};

/// A bridge domain of a device.
pub(crate) type DomainKey = (DeviceId, Bridge);

/// What the lines about one bridge domain come to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Domain {
    pub(crate) vrf: Option<VrfName>,
    pub(crate) seats: Vec<Seat>,
    /// The networks that it is the gateway of.
    pub(crate) nets: SmallVec<[Ipv4Net; 1]>,
}

impl Domain {
    /// An address that is bound here and in none of its networks.
    pub(crate) fn outside(&self) -> Option<Ipv4Addr> {
        let mut bound = self.seats.iter().filter_map(|seat| seat.address);
        bound.find(|address| !self.nets.iter().any(|net| net.contains(address)))
    }
}

/// A port in a bridge domain, under one address or none.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Seat {
    pub(crate) port: Port,
    pub(crate) owner: Option<JobId>,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) tag: Option<Tag>,
    /// Whether frames with the Ethernet address of the port's own interface get this tag.
    pub(crate) is_heard: bool,
}

/// What a VNI is used for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum VniUser {
    Bridge(Bridge),
    Vrf(VrfName),
}

/// The ports an address is bound to: nearly always one. In their order.
pub(crate) type Ports = SmallVec<[(DeviceId, Port); 1]>;

/// Where things are, over all devices.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// By device: its bridge domains.
    pub(crate) domains: Vec<BTreeMap<Bridge, Domain>>,
    pub(crate) importers: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Scope)>>,
    pub(crate) exporters: BTreeMap<RouteTarget, BTreeSet<(DeviceId, Scope)>>,
    /// VRFs of switches that take routes with a target from others of the same switch.
    pub(crate) takers: BTreeMap<RouteTarget, BTreeSet<(DeviceId, VrfName)>>,
    pub(crate) rds: BTreeMap<RouteDistinguisher, BTreeSet<(DeviceId, Scope)>>,
    /// Devices by the addresses that they have themselves.
    pub(crate) loopbacks: BTreeMap<Ipv4Addr, BTreeSet<DeviceId>>,
    pub(crate) tags: BTreeMap<Tag, BTreeSet<DomainKey>>,
    pub(crate) jobs: BTreeMap<JobId, BTreeSet<DomainKey>>,
    pub(crate) addresses: BTreeMap<VrfName, BTreeMap<Ipv4Addr, Ports>>,
    /// The networks of each VRF, with the number of bridge domains that are their gateways.
    nets: BTreeMap<VrfName, BTreeMap<Ipv4Net, u32>>,
    /// Bridge domains of each VRF with addresses that are not in their networks.
    loose: BTreeMap<VrfName, BTreeSet<DomainKey>>,
    /// What each VNI is used for.
    pub(crate) vnis: BTreeMap<Vni, BTreeSet<(DeviceId, VniUser)>>,
    /// The VRFs that send packets with this VNI of another tenant.
    pub(crate) reachers: BTreeMap<Vni, BTreeSet<(DeviceId, VrfName)>>,
    /// The packet programs, by space, that expect peers of each tag.
    pub(crate) peers: BTreeMap<Tag, BTreeSet<(DeviceId, VrfName)>>,
    /// Where rules name each tag.
    pub(crate) rules: BTreeMap<Tag, BTreeSet<(DeviceId, VrfName)>>,
    /// By device: the tenants in each VRF, with the number of their bridge domains.
    pub(crate) tenants: Vec<BTreeMap<VrfName, BTreeMap<TenantName, u32>>>,
}

impl Index {
    /// An empty index of so many devices.
    pub(crate) fn of(devices: usize) -> Self {
        Self {
            domains: vec![BTreeMap::new(); devices],
            tenants: vec![BTreeMap::new(); devices],
            ..Self::default()
        }
    }

    /// What the lines about a bridge domain came to.
    pub(crate) fn domain(&self, key: &DomainKey) -> Option<&Domain> {
        self.domains[key.0.index()].get(&key.1)
    }

    /// The tenants in a VRF of a device.
    pub(crate) fn tenants_in(
        &self,
        device: DeviceId,
        vrf: &VrfName,
    ) -> impl Iterator<Item = &TenantName> {
        let tenants = self.tenants[device.index()].get(vrf);
        tenants.into_iter().flat_map(BTreeMap::keys)
    }
}

impl Verifier {
    /// What the lines about a bridge domain come to.
    pub(crate) fn resolve(&self, (device, bridge): &DomainKey) -> Domain {
        let facts = &self.world.devices[device.index()];
        let Some(lines) = facts.bridges.get(bridge) else {
            return Domain::default();
        };
        let vrf = lines.vrf.first().cloned();
        let nets = lines.nets().collect();
        let switch = self.world.is_switch(*device);
        let mut seats = Vec::with_capacity(lines.ports.len());
        for port in &lines.ports {
            let owner = self.owners[device.index()].get(port).copied();
            let Some(port_lines) = facts.ports.get(port) else {
                continue;
            };
            let bound = port_lines.bound.values().filter(|(held, ..)| held == bridge);
            let before = seats.len();
            let seat = |address, tag| Seat { port: *port, owner, address, tag, is_heard: true };
            for (_, address, _) in bound {
                let known = seats.len();
                if switch {
                    let tags = vrf.iter().flat_map(|vrf| facts.groups(vrf, *address));
                    seats.extend(tags.map(|(tag, _)| seat(Some(*address), Some(*tag))));
                } else {
                    let entries = port_lines.entries.values().filter(|e| e.address == *address);
                    seats.extend(entries.map(|entry| Seat {
                        is_heard: self.world.is_own(*device, *port, entry.mac),
                        ..seat(Some(*address), Some(entry.tag))
                    }));
                }
                if seats.len() == known {
                    seats.push(seat(Some(*address), None));
                }
            }
            // An entry lets the port speak under its tag, also where no address is bound to it.
            let spoken_for = |tag| seats[before..].iter().any(|held| held.tag == Some(tag));
            let tags = port_lines.entries.values().map(|entry| entry.tag);
            let strange: Vec<Tag> = tags.filter(|tag| !spoken_for(*tag)).collect();
            seats.extend(strange.into_iter().map(|tag| seat(None, Some(tag))));
            if seats.len() == before {
                seats.push(seat(None, None));
            }
        }
        Domain { vrf, seats, nets }
    }

    /// Whether another bridge domain may take what is for an address in the networks of this one, or
    /// this one what is for another's.
    pub(crate) fn overlaps(&self, domain: &Domain) -> bool {
        let Some(vrf) = &domain.vrf else { return false };
        let Some(nets) = self.index.nets.get(vrf) else { return false };
        let is_alone = |net: &Ipv4Net| {
            let mut after = nets.range(*net..).map(|(held, _)| held).filter(|held| *held != net);
            let mut around =
                (0..net.prefix_len()).filter_map(|len| Ipv4Net::new(net.addr(), len).ok());
            !after.next().is_some_and(|held| net.contains(held))
                && !around.any(|wider| nets.contains_key(&wider.trunc()))
        };
        self.index.loose.contains_key(vrf) || !domain.nets.iter().all(is_alone)
    }

    pub(crate) fn unindex(&mut self, key: &DomainKey, domain: &Domain) {
        self.count_tenants(key, domain, false);
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                remove_from(&mut self.index.tags, &tag, key);
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                remove_from(&mut self.index.jobs, &job, key);
            }
        }
        let Some(vrf) = &domain.vrf else { return };
        self.index_nets(key, vrf, domain, false);
        let Some(addresses) = self.index.addresses.get_mut(vrf) else { return };
        for seat in &domain.seats {
            let Some(address) = seat.address else { continue };
            let Some(at) = addresses.get_mut(&address) else { continue };
            if at.len() > 1 {
                self.dirty.places.insert(Spotted::Address(vrf.clone(), address));
            }
            at.retain(|held| *held != (key.0, seat.port));
            if at.is_empty() {
                addresses.remove(&address);
            }
        }
    }

    pub(crate) fn enindex(&mut self, key: &DomainKey, domain: &Domain) {
        self.count_tenants(key, domain, true);
        let (mut last_tag, mut last_job) = (None, None);
        for seat in &domain.seats {
            if let Some(tag) = seat.tag
                && last_tag.replace(tag) != Some(tag)
            {
                self.index.tags.entry(tag).or_default().insert(key.clone());
            }
            if let Some(job) = seat.owner
                && last_job.replace(job) != Some(job)
            {
                self.index.jobs.entry(job).or_default().insert(key.clone());
            }
        }
        let Some(vrf) = &domain.vrf else { return };
        self.index_nets(key, vrf, domain, true);
        let addresses = self.index.addresses.entry(vrf.clone()).or_default();
        for seat in &domain.seats {
            let Some(address) = seat.address else { continue };
            let at = addresses.entry(address).or_default();
            let here = (key.0, seat.port);
            if let Err(place) = at.binary_search(&here) {
                at.insert(place, here);
            }
            // An address is a place of its own only while it is in two places.
            if at.len() > 1 {
                self.dirty.places.insert(Spotted::Address(vrf.clone(), address));
            }
        }
    }

    fn index_nets(&mut self, key: &DomainKey, vrf: &VrfName, domain: &Domain, comes: bool) {
        if domain.outside().is_some() {
            set(&mut self.index.loose, vrf.clone(), key.clone(), comes);
        }
        let nets = self.index.nets.entry(vrf.clone()).or_default();
        for net in &domain.nets {
            let count = nets.entry(*net).or_default();
            *count = if comes { *count + 1 } else { *count - 1 };
            if *count == 0 {
                nets.remove(net);
            }
        }
    }

    /// Counts the tenants of a bridge domain in its VRF, and marks what the VRF exchanges when a
    /// tenant appears there or leaves.
    pub(crate) fn count_tenants(&mut self, key: &DomainKey, domain: &Domain, comes: bool) {
        let Some(vrf) = &domain.vrf else { return };
        let mut jobs: SmallVec<[JobId; 1]> = domain.seats.iter().filter_map(|s| s.owner).collect();
        jobs.dedup();
        let mut tenants: SmallVec<[&TenantName; 1]> =
            jobs.iter().map(|job| &self.job_names[job.0 as usize].tenant).collect();
        tenants.sort_unstable();
        tenants.dedup();
        let counts = self.index.tenants[key.0.index()].entry(vrf.clone()).or_default();
        let mut changed = false;
        for tenant in tenants {
            let count = counts.entry(tenant.clone()).or_default();
            if comes {
                *count += 1;
                changed |= *count == 1;
            } else {
                *count -= 1;
                if *count == 0 {
                    counts.remove(tenant);
                    changed = true;
                }
            }
        }
        if changed {
            self.mark_targets(key.0, &Scope::Vrf(vrf.clone()));
            if let Some(lines) = self.world.devices[key.0.index()].vrfs.get(vrf) {
                let vnis = lines.vni.values().chain(lines.tunnels.values()).copied();
                let reached = lines.reaches.values().map(|reach| reach.vni);
                self.dirty.places.extend(vnis.chain(reached).map(Spotted::Vni));
            }
        }
    }

    /// Keeps the index of targets, distinguishers and rules in step with the lines.
    pub(crate) fn index_line(&mut self, device: DeviceId, fact: &Fact) {
        let facts = &self.world.devices[device.index()];
        let lines = |scope: &Scope| facts.scopes.get(scope);
        match fact {
            Fact::Imports { scope, target } => {
                let still = lines(scope).is_some_and(|l| l.imports.values().any(|t| t == target));
                set(&mut self.index.importers, *target, (device, scope.clone()), still);
            }
            Fact::Exports { scope, target } => {
                let still = lines(scope).is_some_and(|l| l.exports.values().any(|t| t == target));
                set(&mut self.index.exporters, *target, (device, scope.clone()), still);
            }
            Fact::LeaksIn { vrf, target } => {
                let lines = facts.vrfs.get(vrf);
                let still = lines.is_some_and(|l| l.leaks_in.values().any(|t| t == target));
                set(&mut self.index.takers, *target, (device, vrf.clone()), still);
            }
            Fact::Has(address) | Fact::Loopback(address) => {
                let still = facts.has(*address).next().is_some();
                set(&mut self.index.loopbacks, *address, device, still);
                self.dirty.places.insert(Spotted::Loopback(*address));
            }
            Fact::Distinguisher { scope, rd } => {
                let still = lines(scope).is_some_and(|l| l.rds.values().any(|r| r == rd));
                set(&mut self.index.rds, *rd, (device, scope.clone()), still);
                if self.index.rds.get(rd).is_some_and(|users| users.len() > 1) {
                    self.dirty.places.insert(Spotted::Rd(*rd));
                }
            }
            Fact::SegmentOf { bridge, vni } => {
                let lines = facts.bridges.get(bridge);
                let still = lines.is_some_and(|lines| lines.vni.values().any(|held| held == vni));
                let user = (device, VniUser::Bridge(bridge.clone()));
                set(&mut self.index.vnis, *vni, user, still);
            }
            Fact::VrfVni { vrf, vni } | Fact::RoutedTunnel { vrf, vni } => {
                let still = facts.vrfs.get(vrf).is_some_and(|lines| {
                    lines.vni.values().chain(lines.tunnels.values()).any(|held| held == vni)
                });
                let user = (device, VniUser::Vrf(vrf.clone()));
                set(&mut self.index.vnis, *vni, user, still);
            }
            Fact::Reaches { vrf, vni, .. } => {
                let lines = facts.vrfs.get(vrf);
                let still = lines.is_some_and(|l| l.reaches.values().any(|r| r.vni == *vni));
                set(&mut self.index.reachers, *vni, (device, vrf.clone()), still);
            }
            Fact::TablePeers { space, tag, .. } => {
                // Only the first run of a tag and the last one change anything.
                let mut runs = facts.runs_of(space, *tag);
                let some = runs.next().is_some();
                if runs.next().is_none() {
                    set(&mut self.index.peers, *tag, (device, space.clone()), some);
                }
            }
            Fact::Contract { vrf, client, provider, .. } => {
                let lines = facts.vrfs.get(vrf);
                let rules = lines.map(|lines| &lines.contracts);
                index_rules(
                    &mut self.index.rules,
                    [*client, *provider],
                    (device, vrf.clone()),
                    rules,
                );
            }
            Fact::TablePermit { space, client, provider, .. } => {
                let rules = facts.table.permits.get(space);
                index_rules(
                    &mut self.index.rules,
                    [*client, *provider],
                    (device, space.clone()),
                    rules,
                );
            }
            _ => {}
        }
    }
}

fn index_rules(
    index: &mut BTreeMap<Tag, BTreeSet<(DeviceId, VrfName)>>,
    tags: [Tag; 2],
    place: (DeviceId, VrfName),
    rules: Option<&Lines<Rule>>,
) {
    for tag in tags {
        let mut rules = rules.into_iter().flat_map(Lines::values);
        let still = rules.any(|rule| rule.client == tag || rule.provider == tag);
        set(index, tag, place.clone(), still);
    }
}

fn set<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: K, value: V, stays: bool) {
    if stays {
        map.entry(key).or_default().insert(value);
    } else {
        remove_from(map, &key, &value);
    }
}

fn remove_from<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = map.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            map.remove(key);
        }
    }
}
