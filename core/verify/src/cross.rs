//! Walks between owners: what can cross, and what should and cannot.

use std::collections::{BTreeMap, BTreeSet};

use model::{Consent, DeviceId, Port, RouteTarget};
use read::Scope;

use crate::device::{Lines, Targets};
use crate::finding::{Breach, Diagnosis, Finding, Severed, Talk};
use crate::index::{DomainKey, Seat};
use crate::judge::Judgement;
use crate::verifier::{JobId, Verifier};

/// One owner: a job, or a port that nobody owns.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Who {
    Job(JobId),
    Nobody(DeviceId, Port),
}

/// The first crossing that was found between each two owners.
pub(crate) type Crossings = BTreeMap<(Who, Who), Finding>;

/// A port of a job, and the bridge domains it is in.
pub(crate) struct PortSpots {
    pub(crate) device: DeviceId,
    pub(crate) port: Port,
    pub(crate) keys: Vec<DomainKey>,
}

impl Verifier {
    /// Looks for packets that come into these bridge domains from other owners.
    pub(crate) fn walk_into(&self, here: Vec<DomainKey>, judgement: &mut Judgement) {
        judgement.walked = true;
        let mut crossings = Crossings::new();
        for to in &here {
            for from in self.reaching(to) {
                self.cross(&from, to, &mut crossings);
            }
        }
        judgement.findings.extend(crossings.into_values());
    }

    /// Looks for packets that other owners send into the bridge domains of a port, or hear out of
    /// them.
    pub(crate) fn walk_around(&self, device: DeviceId, port: Port, judgement: &mut Judgement) {
        let lines = self.facts(device).ports.get(&port).into_iter();
        let bridges = lines.flat_map(|lines| lines.attached.values());
        let here: Vec<DomainKey> = bridges.map(|bridge| (device, bridge.clone())).collect();
        let mut crossings = Crossings::new();
        for from in &here {
            for to in self.reached_from(from) {
                self.cross(from, &to, &mut crossings);
            }
        }
        judgement.findings.extend(crossings.into_values());
        self.walk_into(here, judgement);
    }

    /// Finds frames that pass from one bridge domain to another and to another owner.
    pub(crate) fn cross(&self, from: &DomainKey, to: &DomainKey, found: &mut Crossings) {
        for sender in self.seats(from) {
            for receiver in self.seats(to) {
                let pair = (who(from, sender), who(to, receiver));
                if pair.0 == pair.1 || found.contains_key(&pair) {
                    continue;
                }
                let a = self.world.spot(from.0, &from.1, sender.port);
                let b = self.world.spot(to.0, &to.1, receiver.port);
                for talk in self.world.talks(b) {
                    if self.consented(pair, talk) {
                        continue;
                    }
                    if let Some(way) = self.world.passes(a, b, talk, false) {
                        let ats = self.world.evidence(a, b, Some((way, talk)));
                        found.insert(
                            pair,
                            self.finding(
                                Diagnosis::Breach(Breach {
                                    from: self.endpoint(from.0, sender.port),
                                    to: self.endpoint(to.0, receiver.port),
                                    way,
                                    talk,
                                }),
                                ats,
                            ),
                        );
                        break;
                    }
                }
            }
        }
    }

    pub(crate) fn consented(&self, (from, to): (Who, Who), talk: Talk) -> bool {
        let (Who::Job(from), Who::Job(to)) = (from, to) else {
            return false;
        };
        let (client, provider, service) = match talk {
            Talk::Flood | Talk::Any => return false,
            Talk::Ask(service) => (from, to, service),
            Talk::Answer(service) => (to, from, service),
        };
        self.consents.contains(&Consent {
            client: self.job_name(client).clone(),
            provider: self.job_name(provider).clone(),
            service,
        })
    }

    /// Bridge domains into which this one can send, as far as routes tell.
    pub(crate) fn reached_from(&self, key: &DomainKey) -> BTreeSet<DomainKey> {
        self.neighbors(key, |targets| &targets.imports, &self.index.exporters)
    }

    /// Bridge domains that can send into this one, as far as routes tell.
    pub(crate) fn reaching(&self, key: &DomainKey) -> BTreeSet<DomainKey> {
        let mut keys = self.neighbors(key, |targets| &targets.exports, &self.index.importers);
        // What is routed into a bridge domain of another device is bridged from there.
        let routed = keys.iter().filter(|other| other.0 != key.0).filter_map(|(device, bridge)| {
            let facts = self.facts(*device);
            let vrf = facts.bridges.get(bridge)?.vrf.first()?;
            Some((*device, &facts.vrfs.get(vrf)?.bridges))
        });
        let routed: Vec<DomainKey> = routed
            .flat_map(|(device, all)| all.iter().map(move |bridge| (device, bridge.clone())))
            .collect();
        keys.extend(routed);
        let facts = self.facts(key.0);
        let vrf = facts.bridges.get(&key.1).and_then(|lines| lines.vrf.first());
        let lines = vrf.and_then(|vrf| facts.vrfs.get(vrf));
        for vni in lines.into_iter().flat_map(|lines| lines.vni.values()) {
            for (device, vrf) in self.index.reachers.get(vni).into_iter().flatten() {
                let lines = self.facts(*device).vrfs.get(vrf);
                let bridges = lines.into_iter().flat_map(|lines| &lines.bridges);
                keys.extend(bridges.map(|bridge| (*device, bridge.clone())));
            }
        }
        keys
    }

    pub(crate) fn neighbors(
        &self,
        key: &DomainKey,
        side: impl Fn(&Targets) -> &Lines<RouteTarget>,
        others: &BTreeMap<RouteTarget, BTreeSet<(DeviceId, Scope)>>,
    ) -> BTreeSet<DomainKey> {
        let facts = self.facts(key.0);
        let mut keys: BTreeSet<DomainKey> = self.domains_on(key.0).collect();
        let Some(lines) = facts.bridges.get(&key.1) else {
            return keys;
        };
        let segment = lines.vni.first().copied().map(Scope::Segment);
        let vrf = lines.vrf.first().cloned().map(Scope::Vrf);
        for scope in segment.into_iter().chain(vrf) {
            let targets = facts.scopes.get(&scope).map(&side);
            for target in targets.into_iter().flat_map(Lines::values) {
                for at in others.get(target).into_iter().flatten() {
                    match &at.1 {
                        Scope::Segment(_) => keys.extend(self.segment_domains(at)),
                        Scope::Vrf(vrf) => {
                            let lines = self.facts(at.0).vrfs.get(vrf);
                            let bridges = lines.into_iter().flat_map(|lines| &lines.bridges);
                            keys.extend(bridges.map(|bridge| (at.0, bridge.clone())));
                        }
                    }
                }
            }
        }
        keys
    }

    pub(crate) fn segment_domains(
        &self,
        at: &(DeviceId, Scope),
    ) -> impl Iterator<Item = DomainKey> {
        let vni = match &at.1 {
            Scope::Segment(vni) => Some(*vni),
            Scope::Vrf(_) => None,
        };
        let device = at.0;
        let tunnel = vni.and_then(|vni| self.facts(device).tunnels.get(&vni));
        let bridges = tunnel.into_iter().flat_map(|tunnel| &tunnel.bridges);
        bridges.map(move |bridge| (device, bridge.clone()))
    }

    pub(crate) fn meets_honestly(&self, from: &PortSpots, to: &PortSpots, talk: Talk) -> bool {
        from.keys.iter().any(|from_key| {
            let a = self.world.spot(from.device, &from_key.1, from.port);
            to.keys.iter().any(|to_key| {
                let b = self.world.spot(to.device, &to_key.1, to.port);
                self.world.passes(a, b, talk, true).is_some()
            })
        })
    }

    /// The ports of a job with the bridge domains each of them is in.
    pub(crate) fn spots_of(&self, job: JobId) -> Vec<PortSpots> {
        let mut keys: BTreeMap<(DeviceId, Port), Vec<DomainKey>> = BTreeMap::new();
        for key in self.index.jobs.get(&job).into_iter().flatten() {
            for seat in self.seats(key).filter(|seat| seat.owner == Some(job)) {
                let held = keys.entry((key.0, seat.port)).or_default();
                if held.last() != Some(key) {
                    held.push(key.clone());
                }
            }
        }
        let ports = self.job_ports.get(&job).into_iter().flatten();
        ports
            .map(|&(device, port)| PortSpots {
                device,
                port,
                keys: keys.remove(&(device, port)).unwrap_or_default(),
            })
            .collect()
    }

    pub(crate) fn severed(&self, from: &PortSpots, to: &PortSpots, talk: Talk) -> Finding {
        let mut ats = Vec::new();
        for from_key in &from.keys {
            for to_key in &to.keys {
                let a = self.world.spot(from.device, &from_key.1, from.port);
                let b = self.world.spot(to.device, &to_key.1, to.port);
                ats.extend(self.world.evidence(a, b, None));
            }
        }
        ats.sort_unstable();
        ats.dedup();
        let diagnosis = Diagnosis::Severed(Severed {
            from: self.endpoint(from.device, from.port),
            to: self.endpoint(to.device, to.port),
            talk,
        });
        Finding { missing: self.lacking(from, to, talk), ..self.finding(diagnosis, ats) }
    }
}

pub(crate) fn who(key: &DomainKey, seat: &Seat) -> Who {
    seat.owner.map_or(Who::Nobody(key.0, seat.port), Who::Job)
}
