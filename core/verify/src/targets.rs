//! Who takes whose routes: route targets.

use std::collections::{BTreeMap, BTreeSet};

use model::{DeviceId, RouteTarget, TenantName};
use read::Scope;

use crate::cross::Crossings;
use crate::device::At;
use crate::finding::ScopeAt;
use crate::index::DomainKey;
use crate::judge::Judgement;
use crate::layers::Owner;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    pub(crate) fn judge_target(&self, target: RouteTarget, judgement: &mut Judgement) {
        let none = BTreeSet::new();
        let importers = self.index.importers.get(&target).unwrap_or(&none);
        let exporters = self.index.exporters.get(&target).unwrap_or(&none);
        let is_segment = |scope: &Scope| matches!(scope, Scope::Segment(_));
        // A segment takes nothing from a VRF that exports the same target, nor a VRF from a segment.
        let is_dead =
            |of_segment: bool| exporters.iter().all(|(_, scope)| is_segment(scope) != of_segment);
        let (dead_for_segments, dead_for_vrfs) = (is_dead(true), is_dead(false));
        let exporting = self.tenants_behind(exporters);
        for at in importers {
            let (device, scope) = at;
            let dead = if is_segment(scope) { dead_for_segments } else { dead_for_vrfs };
            if dead {
                let weakness = Weakness::DeadImport { scope: scope.clone(), target };
                let ats = self.import_at(*device, scope, target);
                self.weak(judgement, Some(*device), weakness, ats);
            } else {
                self.judge_join(at, target, &exporting, judgement);
            }
        }
        self.judge_mixed(target, importers, exporters, judgement);
        self.judge_segments(target, importers, exporters, judgement);
        self.judge_leaks(target, judgement);
    }

    /// The tenants in these VRFs, each with one VRF it has for itself. A VRF that two tenants
    /// share is told of where it is.
    fn tenants_behind<'a>(
        &'a self,
        scopes: &'a BTreeSet<(DeviceId, Scope)>,
    ) -> BTreeMap<&'a TenantName, &'a (DeviceId, Scope)> {
        let mut tenants = BTreeMap::new();
        for at in scopes {
            if let Some(tenant) = self.only_tenant(at) {
                tenants.entry(tenant).or_insert(at);
            }
        }
        tenants
    }

    pub(crate) fn only_tenant(&self, (device, scope): &(DeviceId, Scope)) -> Option<&TenantName> {
        let Scope::Vrf(vrf) = scope else { return None };
        let mut tenants = self.index.tenants_in(*device, vrf);
        tenants.next().filter(|_| tenants.next().is_none())
    }

    /// A VRF may import only its own tenant's routes, and those of tenants it consents with.
    fn judge_join(
        &self,
        at: &(DeviceId, Scope),
        target: RouteTarget,
        exporting: &BTreeMap<&TenantName, &(DeviceId, Scope)>,
        judgement: &mut Judgement,
    ) {
        let Some(ours) = self.only_tenant(at) else { return };
        let strange = |theirs: &TenantName| theirs != ours && !self.consents.between(ours, theirs);
        if let Some((theirs, exporter)) = exporting.iter().find(|(theirs, _)| strange(theirs)) {
            let [ours, theirs] = [ours, theirs].map(|tenant| Owner::Tenant(tenant.clone()));
            self.weak_join(at, ours, target, exporter, theirs, judgement);
            return;
        }
        // On Linux a consent needs no import.
        let foreign = exporting.keys().find(|theirs| **theirs != ours);
        if let Some(theirs) = foreign.filter(|_| !self.world.is_switch(at.0)) {
            let (scope, theirs) = (at.1.clone(), (*theirs).clone());
            let weakness = Weakness::MisleadingImport { scope, target, theirs };
            let ats = self.import_at(at.0, &at.1, target);
            self.weak(judgement, Some(at.0), weakness, ats);
        }
    }

    fn weak_join(
        &self,
        (device, scope): &(DeviceId, Scope),
        ours: Owner,
        target: RouteTarget,
        exporter: &(DeviceId, Scope),
        theirs: Owner,
        judgement: &mut Judgement,
    ) {
        let exporter = ScopeAt { device: exporter.0, scope: exporter.1.clone() };
        let weakness = Weakness::Joined { scope: scope.clone(), ours, target, exporter, theirs };
        let ats = self.import_at(*device, scope, target);
        self.weak(judgement, Some(*device), weakness, ats);
    }

    fn judge_segments(
        &self,
        target: RouteTarget,
        importers: &BTreeSet<(DeviceId, Scope)>,
        exporters: &BTreeSet<(DeviceId, Scope)>,
        judgement: &mut Judgement,
    ) {
        let domains = |scopes: &BTreeSet<(DeviceId, Scope)>| -> Vec<DomainKey> {
            scopes.iter().flat_map(|at| self.segment_domains(at)).collect()
        };
        let importing = domains(importers);
        let exporting = if importers == exporters { importing.clone() } else { domains(exporters) };
        let others = if importers == exporters { &[] } else { exporting.as_slice() };
        let mut owners = importing.iter().chain(others).flat_map(|key| self.seats(key));
        let first = owners.next().map(|seat| seat.owner);
        if owners.all(|seat| Some(seat.owner) == first && seat.owner.is_some()) {
            return;
        }
        let owner = |at: &(DeviceId, Scope)| {
            let keys: Vec<DomainKey> = self.segment_domains(at).collect();
            keys.iter().flat_map(|key| self.seats(key)).find_map(|seat| seat.owner)
        };
        for at in importers {
            let Some(ours) = owner(at) else { continue };
            let strange = exporters.iter().find_map(|exporter| {
                let theirs = owner(exporter).filter(|theirs| *theirs != ours)?;
                Some((exporter, theirs))
            });
            if let Some((exporter, theirs)) = strange {
                let [ours, theirs] =
                    [ours, theirs].map(|job| Owner::Job(self.job_name(job).clone()));
                self.weak_join(at, ours, target, exporter, theirs, judgement);
            }
        }
        judgement.walked = true;
        let mut crossings = Crossings::new();
        for from in &importing {
            for to in exporting.iter().filter(|to| to.0 != from.0) {
                self.cross(from, to, &mut crossings);
            }
        }
        judgement.findings.extend(crossings.into_values());
    }

    /// Routes of a segment carry the target of its VRF besides their own, so a segment that takes
    /// a VRF's target takes those of every other segment in it.
    fn judge_mixed(
        &self,
        target: RouteTarget,
        importers: &BTreeSet<(DeviceId, Scope)>,
        exporters: &BTreeSet<(DeviceId, Scope)>,
        judgement: &mut Judgement,
    ) {
        let all: BTreeSet<&(DeviceId, Scope)> = importers.iter().chain(exporters).collect();
        let is_segment = |(_, scope): &&(DeviceId, Scope)| matches!(scope, Scope::Segment(_));
        let (segments, vrfs): (Vec<_>, Vec<_>) = all.into_iter().partition(is_segment);
        // The fewer are the ones that are wrong.
        let (few, many) =
            if segments.len() <= vrfs.len() { (segments, vrfs) } else { (vrfs, segments) };
        let Some((device, scope)) = many.first() else { return };
        for at in few {
            let other = ScopeAt { device: *device, scope: scope.clone() };
            let weakness = Weakness::MixedTarget { scope: at.1.clone(), target, other };
            let lines = self.facts(at.0).scopes.get(&at.1);
            let said = lines
                .into_iter()
                .flat_map(|lines| lines.imports.iter().chain(lines.exports.iter()));
            let ats: Vec<At> =
                said.filter(|(held, _)| *held == target).map(|(_, at)| *at).collect();
            self.weak(judgement, Some(at.0), weakness, ats);
        }
    }

    fn import_at(&self, device: DeviceId, scope: &Scope, target: RouteTarget) -> Vec<At> {
        let lines = self.facts(device).scopes.get(scope);
        let imports = lines.into_iter().flat_map(|lines| lines.imports.iter());
        imports.filter(|(held, _)| *held == target).map(|(_, at)| *at).collect()
    }
}
