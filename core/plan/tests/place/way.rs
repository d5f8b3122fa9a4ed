//! Whether what makes way has to, may, and is enough.

use std::collections::BTreeSet;

use model::{Capacity, Generation, Job, JobName, Name, Preempts, Want};
use plan::place::{Defrag, Ground, Move, Preemption};
use smol_str::SmolStr;

use crate::books::{Books, Broken, Held, ensure};

impl Books {
    /// A gang that found no room is let in only where others may be stopped for it, and only if
    /// it then fits; whoever is stopped had to be.
    pub(crate) fn judge_preemption(
        &self,
        ground: &Ground,
        job: &Job,
        done: &Preemption,
    ) -> Result<(), Broken> {
        // Slices may have been above a quota only because they lay on too many GPUs elsewhere.
        let is_needed = !done.victims.is_empty() || matches!(job.want, Want::Slices { .. });
        ensure(is_needed, || "there was room without anybody's end".into())?;
        let victims: BTreeSet<&JobName> = done.victims.iter().map(|victim| &victim.job).collect();
        for victim in &done.victims {
            let allowed = self.victims(job).contains(&victim.job);
            ensure(allowed, || format!("{} may not stop {}", job.name, victim.job))?;
            let foreign = victim.job.tenant != job.name.tenant;
            ensure(foreign == victim.is_foreign, || format!("{victim:?} is said to be another"))?;
        }
        let held = Held::new(ground, job.terms.capacity, &done.spot);
        self.without(&victims).judge(job, &held)?;
        let pinned = self.pinned(job, &held);
        for spared in &victims {
            let others = victims.iter().copied().filter(|one| one != spared).collect();
            let needless = self.without(&others).has_room(&pinned);
            ensure(!needless, || format!("{spared} could stay: {done:?}"))?;
        }
        Ok(())
    }

    /// No pool has room for a gang even if all end there that may be stopped for it.
    pub(crate) fn judge_no_preemption(&self, job: &Job) -> Result<(), Broken> {
        for (pod, product) in self.pools() {
            if [&job.pod, &Some(pod.clone())].into_iter().flatten().any(|one| *one != pod)
                || job.terms.product.as_ref().is_some_and(|wanted| *wanted != product)
            {
                continue;
            }
            let here = |name: &&JobName| {
                let own =
                    self.gangs.iter().filter(|((job, _), held)| job == *name && held.is_live());
                own.flat_map(|(_, held)| held.nodes()).any(|node| {
                    (self.pod_of(node), &self.model(node).gpu.product) == (&pod, &product)
                })
            };
            let victims = self.victims(job);
            let victims: BTreeSet<&JobName> = victims.iter().filter(here).collect();
            let pinned = pin(job, &pod, &product);
            let room = self.without(&victims).has_room(&pinned);
            ensure(!room, || format!("{} fits if {victims:?} end", job.name))?;
        }
        Ok(())
    }

    /// Each move goes where there is room while the gang is still where it was, and after the
    /// last the gang that waits fits.
    pub(crate) fn judge_moves(
        &self,
        ground: &Ground,
        job: &Job,
        done: &Defrag,
        asked: impl Fn(&JobName) -> Job,
    ) -> Result<(), Broken> {
        ensure(!done.moves.is_empty(), || "there was room without a move".into())?;
        let mut books = self.clone();
        for one in &done.moves {
            books.carry_out(ground, one, &asked(&one.job))?;
        }
        let held = Held::new(ground, job.terms.capacity, &done.spot);
        books.judge(job, &held)
    }

    fn carry_out(&mut self, ground: &Ground, one: &Move, job: &Job) -> Result<(), Broken> {
        let live = |((name, _), held): &(&(JobName, Generation), &Held)| {
            *name == one.job && held.is_live()
        };
        let (key, held) = self.gangs.iter().find(live).ok_or("only what is there moves")?;
        ensure(held.spot == one.from, || format!("{} is not where {one:?} says", one.job))?;
        let (key, to) =
            (key.clone(), Held { state: held.state, ..Held::new(ground, held.capacity, &one.to) });
        // While it moves it has both places, but it counts once.
        for &node in &to.nodes() {
            let taken = self.held(node) & to.on(node) & !self.sliced(node);
            ensure(taken == 0, || format!("{one:?} goes where somebody is"))?;
        }
        let mut elsewhere = self.clone();
        elsewhere.gangs.remove(&key);
        elsewhere.judge_place(job, &to)?;
        self.gangs.insert(key, to);
        self.audit(ground)
    }

    /// The jobs that may be stopped for another.
    fn victims(&self, job: &Job) -> BTreeSet<JobName> {
        let root = |name: &JobName| name.tenant.lineage().last();
        let may = |name: &JobName| match job.terms.preempts {
            Preempts::Nobody => false,
            Preempts::Own => root(name) == root(&job.name),
            Preempts::Others => true,
        };
        let lent = self
            .gangs
            .iter()
            .filter(|(_, held)| held.is_live() && held.capacity == Capacity::Preemptible);
        let asks = job.terms.capacity != Capacity::Preemptible;
        lent.map(|((name, _), _)| name).filter(|name| asks && may(name)).cloned().collect()
    }

    fn without(&self, jobs: &BTreeSet<&JobName>) -> Self {
        let mut books = self.clone();
        books.gangs.retain(|(job, _), held| !(held.is_live() && jobs.contains(job)));
        books
    }

    fn sliced(&self, node: model::NodeId) -> u64 {
        let slices = self.gangs.values().flat_map(Held::slices);
        slices.filter(|slice| slice.node == node).fold(0, |all, slice| all | 1 << slice.gpu)
    }

    fn pod_of(&self, node: model::NodeId) -> &Name {
        let fleet = &self.world.fleet;
        &fleet.pods[fleet.nodes[node.index()].pod.index()].name
    }

    /// Every pod with every product in it.
    fn pools(&self) -> BTreeSet<(Name, SmolStr)> {
        let pool = |node| (self.pod_of(node).clone(), self.model(node).gpu.product.clone());
        self.all_nodes().map(pool).collect()
    }

    /// The same job, but only where it was found a place.
    fn pinned(&self, job: &Job, held: &Held) -> Job {
        match held.nodes().first() {
            Some(&node) => pin(job, self.pod_of(node), &self.model(node).gpu.product),
            None => job.clone(),
        }
    }
}

fn pin(job: &Job, pod: &Name, product: &SmolStr) -> Job {
    let mut pinned = job.clone();
    pinned.pod = Some(pod.clone());
    pinned.terms.product = Some(product.clone());
    pinned
}
