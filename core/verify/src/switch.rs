//! What only a switch says: whether a VRF is carried, what VRFs take from each other on one switch,
//! and whose answers may begin.

use std::net::Ipv4Addr;

use model::{DeviceId, Dialect, RouteTarget, VrfName};
use read::Scope;

use crate::device::{At, Rule, Vrf};
use crate::finding::{MissingLine, ScopeAt};
use crate::judge::Judgement;
use crate::layers::Owner;
use crate::verifier::Verifier;
use crate::weakness::Weakness;

impl Verifier {
    /// A VRF's VNI is up, and who answers does not begin.
    pub(crate) fn judge_switched(
        &self,
        device: DeviceId,
        vrf: &VrfName,
        lines: &Vrf,
        judgement: &mut Judgement,
    ) {
        if let Some(vni) = lines.vni.first()
            && lines.up.is_empty()
        {
            self.weak(judgement, Some(device), Weakness::DownVni(vrf.clone()), lines.vni.ats());
            judgement.lacks(device, Dialect::Nxos, format!("vni {vni} l3"));
        }
        if let Some(vni) = lines.vni.first()
            && !self.facts(device).ends(*vni)
        {
            self.weak(judgement, Some(device), Weakness::DownVni(vrf.clone()), lines.vni.ats());
            judgement.lacks(device, Dialect::Nxos, format!("member vni {vni} associate-vrf"));
        }
        for (rule, at) in lines.open_answers.iter() {
            let Rule { client, provider, service } = *rule;
            let weakness = Weakness::OpenAnswers { client, provider, service };
            self.weak(judgement, Some(device), weakness, [*at]);
            let text = format!("match ipv4 tcp stateful dport {}", service.port);
            judgement.lacks(device, Dialect::Nxos, text);
        }
    }

    /// A VRF may take only routes of its own tenant, and of those it consents with, also from the
    /// other VRFs of its switch.
    pub(crate) fn judge_leaks(&self, target: RouteTarget, judgement: &mut Judgement) {
        for (device, taker) in self.index.takers.get(&target).into_iter().flatten() {
            let at = (*device, Scope::Vrf(taker.clone()));
            let Some(ours) = self.only_tenant(&at) else { continue };
            let gives = |lines: &&Vrf| lines.leaks_out.values().any(|held| *held == target);
            let vrfs = self.facts(*device).vrfs.iter().filter(|(_, lines)| gives(lines));
            for (giver, lines) in vrfs {
                let exporter = ScopeAt { device: *device, scope: Scope::Vrf(giver.clone()) };
                let Some(theirs) = self.only_tenant(&(*device, exporter.scope.clone())) else {
                    continue;
                };
                if theirs == ours || self.consents.between(ours, theirs) {
                    continue;
                }
                let taken = self.facts(*device).vrfs.get(taker);
                let taken = taken.into_iter().flat_map(|lines| lines.leaks_in.iter());
                let both = taken.chain(lines.leaks_out.iter());
                let ats = both.filter(|(held, _)| *held == target).map(|(_, at)| *at);
                let ats: Vec<At> = ats.collect();
                let [ours, theirs] = [ours, theirs].map(|tenant| Owner::Tenant(tenant.clone()));
                let scope = at.1.clone();
                let weakness = Weakness::Joined { scope, ours, target, exporter, theirs };
                self.weak(judgement, Some(*device), weakness, ats);
            }
        }
    }

    /// What a switch does not say of its EVPN session with a neighbour.
    pub(crate) fn lacking_of_switch(
        &self,
        device: DeviceId,
        neighbor: Ipv4Addr,
    ) -> impl Iterator<Item = MissingLine> {
        let facts = self.facts(device);
        let lines = facts.neighbors.get(&neighbor);
        let is_switch = self.world.is_switch(device);
        let passes_on = self.world.passes_on(device);
        let tells = lines.is_some_and(|lines| !lines.targets.is_empty());
        let keeps = lines.is_some_and(|lines| !lines.next_hops.is_empty());
        let all = [
            (is_switch && !tells, format!("send-community extended of neighbor {neighbor}")),
            (passes_on && !keeps, format!("route-map UNCHANGED out of neighbor {neighbor}")),
            (passes_on && facts.retains.is_empty(), "retain route-target all".into()),
        ];
        let missing = all.into_iter().filter(|(is_missing, _)| *is_missing);
        missing.map(move |(_, text)| MissingLine { device, dialect: Some(Dialect::Nxos), text })
    }
}
