//! From a job to what is looked for: names resolved, and the pools that its terms allow.

use model::{Capacity, Job, JobName, Name, PodId, Preempts, SiteKind, Want, Within};
use smol_str::SmolStr;

use super::ground::Ground;
use super::people::TenantKey;
use crate::refusal::{Amount, PlanRefusal};

/// The largest gang.
pub const MOST_GPUS: u32 = 16_384;

/// What a job asks for, with every name resolved once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ask {
    /// Who asks.
    pub job: JobName,
    pub(crate) tenant: TenantKey,
    pub(crate) size: Size,
    pub(crate) within: Within,
    pub(crate) segment: Option<u32>,
    pub(crate) product: Option<SmolStr>,
    pub(crate) site: Option<SiteKind>,
    pub(crate) pod: Option<PodId>,
    /// Which part of the quota it uses.
    pub capacity: Capacity,
    /// Whose jobs may be stopped for it.
    pub preempts: Preempts,
    /// The pools that law, pin, product and kind of site allow.
    pub(crate) pools: Vec<u32>,
}

/// How much.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Size {
    Gpus(u32),
    Slices { profile: SmolStr, count: u32 },
}

impl Ask {
    /// How much, in words.
    pub(crate) fn amount(&self) -> Amount {
        match &self.size {
            &Size::Gpus(gpus) => Amount::Gpus(gpus),
            Size::Slices { profile, count } => {
                Amount::Slices { profile: profile.clone(), count: *count }
            }
        }
    }

    /// How many GPUs, or at most how many if it asks for slices.
    pub(crate) fn gpus(&self) -> u32 {
        match self.size {
            Size::Gpus(gpus) => gpus,
            Size::Slices { count, .. } => count,
        }
    }
}

impl Ground {
    /// Resolves what a job asks for.
    ///
    /// # Errors
    /// If it names what does not exist, or asks for what no place could give.
    pub fn ask(&self, job: &Job) -> Result<Ask, PlanRefusal> {
        let name = &job.name;
        let Some(tenant) = self.people.key(&name.tenant) else {
            return Err(PlanRefusal::TenantUnknown { job: name.clone() });
        };
        let size = match &job.want {
            &Want::Gpus(gpus) if gpus > 0 => Size::Gpus(gpus),
            Want::Slices { profile, count } if *count > 0 => {
                Size::Slices { profile: profile.clone(), count: *count }
            }
            _ => return Err(PlanRefusal::NothingAsked { job: name.clone() }),
        };
        let mut ask = Ask {
            job: name.clone(),
            tenant,
            size,
            within: job.terms.within,
            segment: job.terms.segment.map(u32::from),
            product: job.terms.product.clone(),
            site: job.terms.site,
            pod: job.pod.as_ref().map(|pod| self.pod_named(name, pod)).transpose()?,
            capacity: job.terms.capacity,
            preempts: job.terms.preempts,
            pools: Vec::new(),
        };
        if ask.gpus() > MOST_GPUS {
            let wanted = ask.gpus();
            return Err(PlanRefusal::TooLarge { job: name.clone(), wanted, most: MOST_GPUS });
        }
        let lawful = self.people.at(tenant).said.pools.iter().copied();
        ask.pools = lawful.filter(|&pool| self.suits_terms(&ask, pool)).collect();
        Ok(ask)
    }

    /// Whether a pool is what the job names: pod, product and kind of site.
    pub(crate) fn suits_terms(&self, ask: &Ask, pool: u32) -> bool {
        self.in_pod(ask, pool) && self.at_site(ask, pool) && self.of_product(ask, pool)
    }

    pub(crate) fn in_pod(&self, ask: &Ask, pool: u32) -> bool {
        ask.pod.is_none_or(|pod| pod == self.map.pools[pool as usize].pod)
    }

    pub(crate) fn at_site(&self, ask: &Ask, pool: u32) -> bool {
        let pod = &self.map.fleet.pods[self.map.pools[pool as usize].pod.index()];
        ask.site.is_none_or(|site| site == self.map.fleet.sites[pod.site.index()].kind)
    }

    pub(crate) fn of_product(&self, ask: &Ask, pool: u32) -> bool {
        let model = self.map.pools[pool as usize].model;
        let product = &self.map.fleet.node_models[model.index()].gpu.product;
        ask.product.as_ref().is_none_or(|wanted| wanted == product)
            && match &ask.size {
                Size::Gpus(_) => true,
                Size::Slices { profile, .. } => self.profile_in(pool, profile).is_some(),
            }
    }

    /// The number of a profile in a pool whose GPUs can be cut so.
    pub(crate) fn profile_in(&self, pool: u32, profile: &str) -> Option<usize> {
        let model = self.map.pools[pool as usize].model;
        self.map.geometries[model.index()].as_ref()?.profile(profile)
    }

    pub(crate) fn pod_named(&self, job: &JobName, name: &Name) -> Result<PodId, PlanRefusal> {
        let pods = self.map.fleet.pods.iter();
        let found = pods.zip((0..).map(PodId)).find(|(pod, _)| pod.name == *name);
        found
            .map(|(_, id)| id)
            .ok_or_else(|| PlanRefusal::PodUnknown { job: job.clone(), pod: name.clone() })
    }
}
