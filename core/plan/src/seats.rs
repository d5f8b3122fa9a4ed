//! Which interfaces a job gets, and whether it may be on the nodes that have them.

use std::collections::BTreeSet;

use model::{
    Dialect, Fleet, Health, Job, JobName, Name, NicRef, NodeId, PodId, SiteId, Tenant, Want,
};

use crate::ledger::{Holder, Ledger};
use crate::place::{Ground, Shared, TenantKey, shortfall};
use crate::refusal::PlanRefusal;
use crate::rest::{Rest, RestId, Resting};

/// A job that looks for its place.
pub(crate) struct Seeker<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) ground: &'a Ground,
    pub(crate) ledger: &'a Ledger,
    pub(crate) job: &'a Job,
    pub(crate) tenant: &'a Tenant,
    pub(crate) key: TenantKey,
}

impl Seeker<'_> {
    /// The interfaces the job gets: those it named, or those of the GPUs it is given.
    pub(crate) fn seats(&self) -> Result<Vec<NicRef>, PlanRefusal> {
        match &self.job.want {
            Want::Endpoints(nics) if !nics.is_empty() => self.named(nics),
            Want::Gpus(_) => self.placed(),
            Want::Slices { .. } => Err(PlanRefusal::SlicesUnserved { job: self.job.name.clone() }),
            Want::Endpoints(_) => Err(PlanRefusal::NothingAsked { job: self.job.name.clone() }),
        }
    }

    /// Judges a node that the job is on or would be on: jurisdiction, versions and neighbours.
    pub(crate) fn judge(&self, node: NodeId) -> Result<(), PlanRefusal> {
        let at = &self.fleet.nodes[node.index()];
        self.lawful(self.fleet.pods[at.pod.index()].site)?;
        self.up_to_date(node)?;
        if let Some((place, stranger)) = self.ground.stranger(node, self.key) {
            return Err(self.grade_forbids(place, stranger));
        }
        match self.ground.too_near(node, self.key) {
            Some((place, other)) => Err(PlanRefusal::ApartForbids {
                job: self.job.name.clone(),
                place,
                other: self.ground.described(other).0.clone(),
            }),
            None => Ok(()),
        }
    }

    fn placed(&self) -> Result<Vec<NicRef>, PlanRefusal> {
        let spot = self.ground.seek(&self.ground.ask(self.job)?)?;
        let gpus = self.ground.gpus(&spot);
        let nics = gpus.flat_map(|(node, gpus)| {
            self.ground.nics(node, gpus).map(move |nic| NicRef { node, nic })
        });
        Ok(nics.collect())
    }

    fn named(&self, nics: &[NicRef]) -> Result<Vec<NicRef>, PlanRefusal> {
        let inside = match &self.job.pod {
            Some(pod) => self.ground.pod_named(&self.job.name, pod)?,
            None => self.fleet.nodes[nics[0].node.index()].pod,
        };
        let mut taken = BTreeSet::new();
        for &nic in nics {
            self.free_for_me(nic)?;
            if !taken.insert(nic) {
                let (job, node) = (self.job.name.clone(), self.node_name(nic.node));
                return Err(PlanRefusal::NicTwice { job, node, nic: nic.nic });
            }
        }
        let nodes: BTreeSet<NodeId> = nics.iter().map(|nic| nic.node).collect();
        for node in nodes {
            self.inside(node, inside)?;
            self.healthy(node)?;
            self.judge(node)?;
            self.joinable(node, nics)?;
        }
        Ok(nics.to_vec())
    }

    /// Where NVLink is configured, the GPUs that come with named interfaces are a set that their
    /// board can join. A board whose table nobody has seen is joined as a whole or not at all.
    fn joinable(&self, node: NodeId, nics: &[NicRef]) -> Result<(), PlanRefusal> {
        let at = &self.fleet.nodes[node.index()];
        let model = &self.fleet.node_models[at.model.index()];
        let is_told =
            self.fleet.layers.dialects.contains(&Dialect::Nvlink) && at.nvlink_domain == at.name;
        let Some(partitions) = model.board_partitions().filter(|_| is_told) else {
            return Ok(());
        };
        let own = nics.iter().filter(|nic| nic.node == node);
        let gpus = own.fold(0, |gpus, nic| gpus | model.gpus_behind(nic.nic));
        let whole = partitions.is_empty() && gpus.count_ones() == u32::from(model.gpus);
        if whole || partitions.iter().any(|partition| partition.gpus == gpus) {
            return Ok(());
        }
        let (job, node) = (self.job.name.clone(), at.name.clone());
        Err(PlanRefusal::NotJoinable { job, node, modules: Ground::modules(gpus).collect() })
    }

    fn free_for_me(&self, nic: NicRef) -> Result<(), PlanRefusal> {
        let (job, node) = (self.job.name.clone(), self.node_name(nic.node));
        let nic_count = self.fleet.nodes[nic.node.index()].uplinks.len();
        let nic = nic.nic;
        if usize::from(nic) >= nic_count {
            return Err(PlanRefusal::NicUnknown { job, node, nic });
        }
        match self.ledger.holder(&node, nic) {
            Some(Holder::Job(holder)) => {
                Err(PlanRefusal::NicTaken { holder: holder.clone(), job, node, nic })
            }
            Some(holder @ Holder::Rest(id)) if !self.ledger.may_take(&job, holder) => {
                Err(self.rests(job, node, nic, *id))
            }
            _ => Ok(()),
        }
    }

    /// An interface rests until it was seen gone everywhere, and then until it was scrubbed.
    fn rests(&self, job: JobName, node: Name, nic: u16, id: RestId) -> PlanRefusal {
        let rest = self.ledger.rest(id);
        if let Some(Rest { what: Resting::Job { job: left_by, .. }, waits, unscrubbed, .. }) = rest
            && let (true, Some(memories)) = (waits.is_empty(), unscrubbed.get(&node))
        {
            let (left_by, memories) = (left_by.clone(), memories.iter().copied().collect());
            return PlanRefusal::NicUnscrubbed { job, node, nic, left_by, memories };
        }
        let waits = rest.map(|rest| rest.waits.keys().cloned().collect());
        PlanRefusal::NicResting { job, node, nic, waits: waits.unwrap_or_default() }
    }

    fn inside(&self, node: NodeId, inside: PodId) -> Result<(), PlanRefusal> {
        let pod = self.fleet.nodes[node.index()].pod;
        if pod == inside {
            return Ok(());
        }
        Err(PlanRefusal::OutsidePod {
            job: self.job.name.clone(),
            node: self.node_name(node),
            pod: self.fleet.pods[pod.index()].name.clone(),
            inside: self.fleet.pods[inside.index()].name.clone(),
        })
    }

    fn healthy(&self, node: NodeId) -> Result<(), PlanRefusal> {
        match self.fleet.nodes[node.index()].health {
            Health::Good => Ok(()),
            health => Err(PlanRefusal::NotHealthy {
                job: self.job.name.clone(),
                node: self.node_name(node),
                health,
            }),
        }
    }

    fn lawful(&self, site: SiteId) -> Result<(), PlanRefusal> {
        let site = &self.fleet.sites[site.index()];
        let allowed = &self.tenant.jurisdictions;
        if allowed.is_empty() || allowed.contains(&site.jurisdiction) {
            return Ok(());
        }
        Err(PlanRefusal::JurisdictionForbids {
            job: self.job.name.clone(),
            site: site.name.clone(),
            jurisdiction: site.jurisdiction.clone(),
            allowed: allowed.clone(),
        })
    }

    fn up_to_date(&self, node: NodeId) -> Result<(), PlanRefusal> {
        let has = &self.fleet.nodes[node.index()].versions;
        match shortfall(&self.tenant.versions, has) {
            None => Ok(()),
            Some((component, needs, has)) => Err(PlanRefusal::VersionForbids {
                job: self.job.name.clone(),
                node: self.node_name(node),
                component,
                needs,
                has,
            }),
        }
    }

    fn grade_forbids(&self, place: Shared, stranger: TenantKey) -> PlanRefusal {
        let (other, other_grade) = self.ground.described(stranger);
        PlanRefusal::GradeForbids {
            job: self.job.name.clone(),
            grade: self.tenant.grade,
            place: self.ground.place_name(place),
            other: other.clone(),
            other_grade,
        }
    }

    fn node_name(&self, node: NodeId) -> Name {
        self.fleet.nodes[node.index()].name.clone()
    }
}
