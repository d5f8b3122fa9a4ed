//! Why two endpoints can or cannot meet, layer by layer.

use model::{DeviceId, Port, Service};
use read::Scope;
use wire::{Tag, Vni};

use crate::device::{At, Line, Rule};
use crate::finding::{Endpoint, Said, Talk, Way};
use crate::index::DomainKey;
use crate::verifier::Verifier;
use crate::world::{self, Spot};

/// Why frames pass from one endpoint to another, or do not.
#[derive(Clone, Debug)]
pub struct Why {
    /// Who sends.
    pub from: Endpoint,
    /// Who receives.
    pub to: Endpoint,
    /// Each layer's answer, from the port outwards.
    pub steps: Vec<LayerStep>,
    /// What passes, and on which way. Nothing when they cannot meet.
    pub passes: Vec<(Talk, Way)>,
}

/// One layer's answer.
#[derive(Clone, Debug)]
pub struct LayerStep {
    /// The layer.
    pub layer: &'static str,
    /// What it says about the two.
    pub answer: String,
    /// Whether this layer keeps them apart.
    pub fence: bool,
    /// The lines that say so.
    pub said_by: Vec<Said>,
}

impl Verifier {
    /// Walks the layers from one port to another. Both services and plain frames are tried.
    #[must_use]
    pub fn why(&self, from: (DeviceId, Port), to: (DeviceId, Port)) -> Why {
        let mut why = Why {
            from: self.endpoint(from.0, from.1),
            to: self.endpoint(to.0, to.1),
            steps: Vec::new(),
            passes: Vec::new(),
        };
        why.steps.push(self.ownership(&why.from, &why.to));
        let (Some(from_key), Some(to_key)) = (self.domain_of(from), self.domain_of(to)) else {
            let absent = if self.domain_of(from).is_none() { &why.from } else { &why.to };
            let answer = format!("{} is attached to no segment", absent.show(&self.world.fleet));
            why.steps.push(LayerStep { layer: "port", answer, fence: true, said_by: Vec::new() });
            return why;
        };
        let a = self.world.spot(from.0, &from_key.1, from.1);
        let b = self.world.spot(to.0, &to_key.1, to.1);
        why.steps.push(self.attachment(a));
        why.steps.push(self.attachment(b));
        why.steps.push(self.segments(a, b));
        why.steps.push(self.routing(a, b));
        why.steps.push(self.groups((a, &from_key), (b, &to_key)));
        for talk in self.world.talks(b) {
            why.passes.extend(self.world.passes(a, b, talk, false).map(|way| (talk, way)));
        }
        why
    }

    fn ownership(&self, from: &Endpoint, to: &Endpoint) -> LayerStep {
        let own = from.owner.iter().flat_map(|job| self.consents.of(job));
        let consents: Vec<Service> = own
            .filter(|consent| {
                to.owner.as_ref().is_some_and(|to| consent.client == *to || consent.provider == *to)
            })
            .map(|consent| consent.service)
            .collect();
        let (answer, fence) = match (&from.owner, &to.owner) {
            (Some(a), Some(b)) if a == b => (format!("both belong to {a}: they must meet"), false),
            (Some(a), Some(b)) if !consents.is_empty() => {
                let named: Vec<String> = consents.iter().map(ToString::to_string).collect();
                (format!("{a} and {b} both consented to {}", named.join(", ")), false)
            }
            (Some(a), Some(b)) => (format!("{a} and {b} did not both consent to anything"), true),
            _ => ("one of them belongs to nobody: it is in a quarantine of one".into(), true),
        };
        LayerStep { layer: "owner", answer, fence, said_by: Vec::new() }
    }

    fn attachment(&self, spot: Spot<'_>) -> LayerStep {
        let name = self.world.fleet.device_name(spot.device);
        let lines = spot.facts.ports.get(&spot.port);
        let bound: Vec<String> = lines
            .iter()
            .flat_map(|lines| lines.bound.values())
            .map(|(_, address, _)| address.to_string())
            .collect();
        let segment =
            world::segment(spot).map_or("no segment".into(), |vni| format!("segment {vni}"));
        let answer = match bound.as_slice() {
            [] => format!("{name} {} is in {segment} and no address is bound to it", spot.port),
            bound => format!("{name} {} is in {segment} as {}", spot.port, bound.join(", ")),
        };
        let ats = lines.iter().flat_map(|lines| lines.attached.ats().chain(lines.bound.ats()));
        LayerStep { layer: "port", answer, fence: bound.is_empty(), said_by: self.all_said(ats) }
    }

    fn segments(&self, a: Spot<'_>, b: Spot<'_>) -> LayerStep {
        let same = a.device == b.device && a.bridge == b.bridge;
        let scopes = (world::segment(a).map(Scope::Segment), world::segment(b).map(Scope::Segment));
        let joined = match &scopes {
            (Some(ours), Some(theirs)) => world::joined(a, ours, b, theirs),
            _ => None,
        };
        let (answer, fence) = if same {
            ("both are in one bridge domain".into(), false)
        } else if a.device == b.device {
            ("two bridge domains of one device: not bridged".into(), true)
        } else if joined.is_some() {
            ("the sender's segment imports what the receiver's exports".into(), false)
        } else {
            ("the sender's segment imports nothing that the receiver's exports".into(), true)
        };
        let ats = joined.into_iter().flat_map(|(import, export)| [import, export]);
        LayerStep { layer: "segment", answer, fence, said_by: self.all_said(ats) }
    }

    fn routing(&self, a: Spot<'_>, b: Spot<'_>) -> LayerStep {
        let (Some(ours), Some(theirs)) = (world::vrf(a), world::vrf(b)) else {
            let answer = "one of them is in no VRF: not routed".into();
            return LayerStep { layer: "vrf", answer, fence: true, said_by: Vec::new() };
        };
        let same = a.device == b.device && ours == theirs;
        let joined = world::joined(a, &Scope::Vrf(ours.clone()), b, &Scope::Vrf(theirs.clone()));
        let lines = b.facts.ports.get(&b.port);
        let bound = || lines.into_iter().flat_map(|lines| lines.bound.values()).map(|held| held.1);
        let reached: Vec<(Vni, At)> = bound()
            .flat_map(|at| a.facts.reaches(ours, at))
            .map(|(_, vni, at)| (vni, at))
            .collect();
        let lands = || bound().any(|address| self.world.routed(a, b, address).is_some());
        let (answer, fence) = match (reached.first(), joined) {
            (Some((vni, _)), _) if lands() => {
                (format!("VRF {ours} reaches it in VNI {vni}"), false)
            }
            (Some((vni, _)), _) => {
                (format!("VRF {ours} sends to it in VNI {vni}, where it is not"), true)
            }
            _ if same => (format!("both are in VRF {ours}"), false),
            (None, Some(_)) if ours != theirs && !self.world.is_switch(a.device) => {
                (format!("VRF {ours} does not reach into the VNI of VRF {theirs}"), true)
            }
            (None, Some(_)) => (format!("VRF {ours} imports what VRF {theirs} exports"), false),
            (None, None) => (format!("VRF {ours} imports nothing that VRF {theirs} exports"), true),
        };
        let reached = reached.into_iter().map(|(_, at)| at);
        let ats = joined.into_iter().flat_map(|(import, export)| [import, export]).chain(reached);
        LayerStep { layer: "vrf", answer, fence, said_by: self.all_said(ats) }
    }

    fn groups(&self, a: (Spot<'_>, &DomainKey), b: (Spot<'_>, &DomainKey)) -> LayerStep {
        let tag = |(spot, key): (Spot<'_>, &DomainKey)| {
            let seat = self.seats(key).find(|seat| seat.port == spot.port)?;
            Some((seat.tag?, self.tag_line(key, seat)?))
        };
        let (ours, theirs) = (tag(a), tag(b));
        let rule = match (ours, theirs) {
            (Some((ours, _)), Some((theirs, _))) => self.rule_between(b.0, ours, theirs),
            _ => None,
        };
        let (answer, fence) = match (ours, theirs, rule) {
            (Some((ours, _)), Some((theirs, _)), _) if ours == theirs => {
                (format!("both are in group {ours}"), false)
            }
            (Some((ours, _)), Some((theirs, _)), Some((rule, _))) => {
                (format!("a rule lets groups {ours} and {theirs} speak at {}", rule.service), false)
            }
            (Some((ours, _)), Some((theirs, _)), None) => {
                let judge = self.judge_of(b.0);
                (format!("group {ours} to group {theirs}, judged at the receiver's {judge}"), true)
            }
            _ => ("one of them is in no group".into(), true),
        };
        let ats = ours.into_iter().chain(theirs).map(|(_, at)| at);
        let ats = ats.chain(rule.map(|(_, at)| at));
        LayerStep { layer: "group", answer, fence, said_by: self.all_said(ats) }
    }

    /// A rule at the receiver that names both groups.
    fn rule_between(&self, to: Spot<'_>, ours: Tag, theirs: Tag) -> Option<Line<Rule>> {
        let vrf = world::vrf(to)?;
        let rules = if self.world.is_switch(to.device) {
            &to.facts.vrfs.get(vrf)?.contracts
        } else {
            to.facts.table.permits.get(vrf)?
        };
        let names = |rule: &Rule| {
            [(rule.client, rule.provider), (rule.provider, rule.client)].contains(&(ours, theirs))
        };
        rules.iter().find(|(rule, _)| names(rule)).copied()
    }

    fn judge_of(&self, spot: Spot<'_>) -> &'static str {
        if self.world.is_switch(spot.device) { "switch" } else { "packet program" }
    }

    /// The bridge domain a port is in.
    fn domain_of(&self, (device, port): (DeviceId, Port)) -> Option<DomainKey> {
        let lines = self.world.devices[device.index()].ports.get(&port)?;
        Some((device, lines.attached.first()?.clone()))
    }

    fn all_said(&self, ats: impl IntoIterator<Item = At>) -> Vec<Said> {
        ats.into_iter().map(|at| self.said(at)).collect()
    }
}
