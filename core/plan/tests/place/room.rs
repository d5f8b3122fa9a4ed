//! Whether a job fits anywhere, found by looking at every node.

use std::collections::BTreeMap;

use model::{
    ApartLevel, Capacity, Grade, Job, NodeId, NodeModelId, PodId, TenantName, Want, Within,
    compare_versions, mig_profiles,
};

use crate::books::{Books, Broken, Held, all, ensure};

/// What has to be counted together.
type Place = (PodId, NodeModelId, String);

impl Books {
    /// Whether there is a place for a job, by quota, by law and by everything else.
    pub(crate) fn has_room(&self, job: &Job) -> bool {
        match &job.want {
            &Want::Gpus(gpus) => self.in_quota(job, gpus) && self.has_gpus(job, gpus),
            // How many GPUs slices count for is known only when they are placed.
            Want::Slices { profile, count } => {
                self.in_quota(job, *count) && self.has_slices(job, profile, *count)
            }
            Want::Endpoints(_) => false,
        }
    }

    pub(crate) fn in_quota(&self, job: &Job, gpus: u32) -> bool {
        let class = job.terms.capacity;
        let fits = |cap: Option<u32>, used: u32| cap.is_none_or(|cap| used + gpus <= cap);
        let lineage: Vec<TenantName> = job.name.tenant.lineage().collect();
        lineage.iter().all(|above| {
            let tenant = self.tenant(above);
            let cap = match class {
                Capacity::Reserved => Some(tenant.quotas.reserved.unwrap_or(0)),
                Capacity::OnDemand => tenant.quotas.on_demand,
                Capacity::Preemptible => tenant.quotas.preemptible,
            };
            fits(tenant.quota_gpus, self.used(above, None))
                && fits(cap, self.used(above, Some(class)))
        }) && (class != Capacity::OnDemand || self.leaves_the_reserved(&job.name.tenant, gpus))
    }

    /// Whether so many more leave enough for what others reserved and do not use.
    fn leaves_the_reserved(&self, tenant: &TenantName, gpus: u32) -> bool {
        let kept = self.kept(Some(tenant));
        kept == 0 || gpus + kept <= self.reach()
    }

    /// What tenants reserved and do not use, but for this one and those it is below.
    pub(crate) fn kept(&self, but: Option<&TenantName>) -> u32 {
        let reserves = |name: &TenantName| self.tenant(name).quotas.reserved;
        let roots = self.world.tenants.keys().filter(|name| {
            let mut above = name.lineage().skip(1);
            reserves(name).is_some() && !above.any(|above| reserves(&above).is_some())
        });
        let others =
            roots.filter(|root| but.is_none_or(|but| but.lineage().all(|up| up != **root)));
        others
            .map(|root| {
                let used = self.used(root, Some(Capacity::Reserved));
                reserves(root).unwrap_or(0).saturating_sub(used)
            })
            .sum()
    }

    /// GPUs that are idle, or that somebody gives back when asked.
    pub(crate) fn reach(&self) -> u32 {
        let usable = self.all_nodes().filter(|&node| self.is_usable(node));
        let idle: u32 = usable.map(|node| self.free(node).count_ones()).sum();
        let lent = self
            .gangs
            .values()
            .filter(|held| held.is_live() && held.capacity == Capacity::Preemptible);
        idle + lent.map(Held::count).sum::<u32>()
    }

    fn has_gpus(&self, job: &Job, gpus: u32) -> bool {
        let mut places: BTreeMap<Place, Vec<NodeId>> = BTreeMap::new();
        for node in self.all_nodes().filter(|&node| self.suits(job, node)) {
            places.entry(self.place(job, node)).or_default().push(node);
        }
        places.values().any(|nodes| self.fits(job, gpus, nodes))
    }

    /// Whether whole nodes and at most one part of another are among these.
    fn fits(&self, job: &Job, gpus: u32, nodes: &[NodeId]) -> bool {
        let each = u32::from(self.model(nodes[0]).gpus);
        let (whole, rest) = ((gpus / each) as usize, gpus % each);
        let empty: Vec<NodeId> = nodes
            .iter()
            .copied()
            .filter(|&node| self.free(node) == all(self.model(node)))
            .collect();
        match job.terms.segment {
            Some(segment) => {
                let segment = usize::from(segment);
                let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
                for node in empty {
                    let domain = self.world.fleet.nodes[node.index()].nvlink_domain.as_str();
                    *domains.entry(domain).or_default() += 1;
                }
                let segments: usize = domains.values().map(|nodes| nodes / segment).sum();
                rest == 0 && whole % segment == 0 && segments >= whole / segment
            }
            None if rest == 0 => empty.len() >= whole,
            None => nodes.iter().any(|&node| {
                let others = empty.iter().filter(|&&other| other != node).count();
                let free = self.free(node);
                let has_rest =
                    self.sets(node).iter().any(|set| set & !free == 0 && set.count_ones() == rest);
                has_rest && others >= whole
            }),
        }
    }

    fn has_slices(&self, job: &Job, profile: &str, count: u32) -> bool {
        let mut places: BTreeMap<Place, u32> = BTreeMap::new();
        for node in self.all_nodes().filter(|&node| self.suits(job, node)) {
            *places.entry(self.place(job, node)).or_default() += self.slices_on(job, node, profile);
        }
        places.values().any(|&slices| slices >= count)
    }

    /// How many slices of a profile a tenant can still have on one node.
    fn slices_on(&self, job: &Job, node: NodeId, profile: &str) -> u32 {
        let model = self.model(node);
        let profiles = mig_profiles(&model.gpu.product);
        let Some(wanted) = profiles.iter().find(|one| one.name == profile) else {
            return 0;
        };
        let alone = self.sets(node);
        let on_gpu = |gpu: u16| {
            let cuts: Vec<_> = self
                .gangs
                .iter()
                .flat_map(|((name, _), held)| held.slices().iter().map(move |slice| (name, slice)))
                .filter(|(_, slice)| (slice.node, slice.gpu) == (node, gpu))
                .collect();
            let is_quarantined = self.nodes[node.index()].quarantined & 1 << gpu != 0;
            let is_free = self.free(node) & 1 << gpu != 0 && alone.contains(&(1 << gpu));
            let (mut busy, mut media) = (0_u8, false);
            for (_, slice) in &cuts {
                let cut = &profiles[usize::from(slice.profile)];
                busy |= (u8::MAX >> (8 - cut.memory_slices)) << slice.start;
                media |= cut.media_engines;
            }
            let strict = |name: &TenantName| self.grade(name) <= Grade::Gpu;
            let me = &job.name.tenant;
            let may_join = cuts
                .iter()
                .all(|(name, _)| name.tenant == *me || !(strict(me) || strict(&name.tenant)));
            if is_quarantined || !may_join || cuts.is_empty() && !is_free {
                return 0;
            }
            let free = wanted
                .starts
                .iter()
                .filter(|&&start| busy & ((u8::MAX >> (8 - wanted.memory_slices)) << start) == 0);
            match wanted.media_engines {
                true => u32::from(!media && free.count() > 0),
                false => free.count() as u32,
            }
        };
        (0..model.gpus).map(on_gpu).sum()
    }

    /// What a job has to fit into: nodes of one kind in one pod, or less if it says so.
    fn place(&self, job: &Job, node: NodeId) -> Place {
        let at = &self.world.fleet.nodes[node.index()];
        let inside = match job.terms.within {
            Within::Node => at.name.to_string(),
            Within::NvlinkDomain => at.nvlink_domain.to_string(),
            Within::Leaf => at.uplinks[0].leaf.0.to_string(),
            Within::Pod => String::new(),
        };
        (at.pod, at.model, inside)
    }

    /// Whether a job may have anything of a node: whose it is, where it stands, what runs on it.
    pub(crate) fn suits(&self, job: &Job, node: NodeId) -> bool {
        let fleet = &self.world.fleet;
        let at = &fleet.nodes[node.index()];
        let pod = &fleet.pods[at.pod.index()];
        let site = &fleet.sites[pod.site.index()];
        let tenant = self.tenant(&job.name.tenant);
        let driver = tenant.versions.at_least.get("driver");
        let product = &self.model(node).gpu.product;
        self.is_usable(node)
            && job.pod.as_ref().is_none_or(|wanted| *wanted == pod.name)
            && job.terms.site.is_none_or(|kind| kind == site.kind)
            && job.terms.product.as_ref().is_none_or(|wanted| wanted == product)
            && (tenant.jurisdictions.is_empty()
                || tenant.jurisdictions.contains(&site.jurisdiction))
            && driver.is_none_or(|least| compare_versions(&at.versions.driver, least).is_ge())
            && (at.versions.secure_boot || !tenant.versions.secure_boot)
            && self.may_join(&job.name.tenant, node)
    }

    fn may_join(&self, me: &TenantName, node: NodeId) -> bool {
        let grade_holds = [(ApartLevel::Leaf, Grade::Domain), (ApartLevel::Node, Grade::Node)]
            .into_iter()
            .all(|(level, grade)| {
                let there = self.tenants_at(|other| self.share(level, node, other));
                let mut others = there.into_iter().filter(|other| *other != me);
                others.all(|other| self.grade(me) > grade && self.grade(other) > grade)
            });
        grade_holds
            && self.world.tenants.keys().all(|other| {
                let level = self.apart(me, other);
                level.is_none_or(|level| {
                    !self.tenants_at(|at| self.share(level, node, at)).contains(other)
                })
            })
    }
}

/// Judging a place that was found.
impl Books {
    /// Whether a place is what the job asked for, and the job's to take.
    pub(crate) fn judge(&self, job: &Job, found: &Held) -> Result<(), Broken> {
        self.judge_place(job, found)?;
        ensure(self.in_quota(job, found.count()), || "it is above a quota".into())
    }

    /// The same, whatever the quota says.
    pub(crate) fn judge_place(&self, job: &Job, found: &Held) -> Result<(), Broken> {
        let nodes = found.nodes();
        let first = nodes.first().ok_or("the place is empty")?;
        for &node in &nodes {
            ensure(self.suits(job, node), || format!("{node:?} is not for {}", job.name))?;
            ensure(self.place(job, node) == self.place(job, *first), || {
                format!("{node:?} is not {} with {first:?}", job.terms.within)
            })?;
            let quarantined = self.nodes[node.index()].quarantined & found.on(node);
            ensure(quarantined == 0, || format!("{node:?} is in quarantine"))?;
        }
        match &job.want {
            &Want::Gpus(gpus) => {
                let exact = found.count() == gpus && found.slices().is_empty();
                ensure(exact, || format!("{} GPUs are not {gpus}", found.count()))?;
            }
            Want::Slices { profile, count } => {
                let product = &self.model(*first).gpu.product;
                let name = |at: u8| mig_profiles(product)[usize::from(at)].name;
                let exact = found.slices().len() == *count as usize
                    && found.slices().iter().all(|slice| name(slice.profile) == profile)
                    && found.gpus.is_empty();
                ensure(exact, || format!("not {count} of {profile}: {:?}", found.slices()))?;
            }
            Want::Endpoints(_) => return Err("endpoints are not placed".into()),
        }
        ensure(self.is_balanced(job, found), || "its segments are not alike".into())
    }

    fn is_balanced(&self, job: &Job, found: &Held) -> bool {
        let Some(segment) = job.terms.segment else { return true };
        let mut domains: BTreeMap<&str, u16> = BTreeMap::new();
        for node in found.nodes() {
            let domain = self.world.fleet.nodes[node.index()].nvlink_domain.as_str();
            *domains.entry(domain).or_default() += 1;
        }
        domains.values().all(|nodes| nodes % segment == 0)
    }
}
