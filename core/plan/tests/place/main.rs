//! What holds of placement whatever happens, on small random fleets: every answer is judged by
//! books that are kept the slow way, and every refusal by a search that looks at every node.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::result_large_err, reason = "a refusal is an answer that carries its offenders")]

mod books;
mod room;
mod way;
mod world;

use std::collections::BTreeMap;

use model::{Capacity, Generation, Health, Job, JobName, NodeId, Preempts, SiteKind, Terms};
use model::{TrafficClass, Want, Within};
use plan::PlanRefusal;
use plan::place::{Entered, Entry, Ground, Spot, Wrong};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::books::{Books, Broken, Held, ensure};
use crate::world::{PODS, PRODUCTS, TENANTS, World, name, world};

/// Together more than 100,000 steps a run.
const WALKS: u32 = 256;
const STEPS: usize = 400;

/// How many jobs each tenant has.
const JOBS: usize = 6;

proptest! {
    #![proptest_config(ProptestConfig { cases: WALKS, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_walk_keeps_every_rule(world in world(), steps in vec(step(), STEPS)) {
        let mut walk = Walk::new(world);
        for step in &steps {
            walk.go(step).map_err(TestCaseError::fail)?;
        }
        prop_assert_eq!(walk.retraced(), Ok(()));
    }
}

/// One thing that happens. The first is the simplest, which is what a failure shrinks to.
#[derive(Clone, Debug)]
enum Step {
    Nothing,
    Ask(Wanted),
    /// A gang goes on, or an entry comes that says so too early or too late.
    Gang {
        which: Index,
        event: usize,
        generations_ago: u64,
    },
    /// A gang goes all the way to its end.
    End {
        which: Index,
    },
    Node {
        which: Index,
        event: NodeEvent,
    },
    /// Somebody writes down what nobody found: another's place, or another's place in part.
    Forge {
        which: Index,
        by: usize,
        capacity: Capacity,
    },
}

#[derive(Clone, Debug)]
struct Wanted {
    tenant: usize,
    job: usize,
    want: Want,
    terms: Terms,
    pod: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum NodeEvent {
    Found,
    Lost,
    Health(Health),
    Quarantined(u64),
    Returned(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let gang = (any::<Index>(), 0..4_usize, prop_oneof![3 => Just(0_u64), 1 => 1..4_u64]);
    prop_oneof![
        1 => Just(Step::Nothing),
        10 => wanted().prop_map(Step::Ask),
        4 => gang.prop_map(|(which, event, generations_ago)| Step::Gang { which, event, generations_ago }),
        3 => any::<Index>().prop_map(|which| Step::End { which }),
        2 => (any::<Index>(), node_event()).prop_map(|(which, event)| Step::Node { which, event }),
        1 => (any::<Index>(), 0..TENANTS.len(), capacity())
            .prop_map(|(which, by, capacity)| Step::Forge { which, by, capacity }),
    ]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let want = prop_oneof![
        6 => select(vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32]).prop_map(Want::Gpus),
        1 => (1_u32..80).prop_map(Want::Gpus),
        3 => (select(vec!["1g.10gb", "1g.10gb+me", "3g.40gb", "1g.23gb", "2g.47gb"]), 1_u32..6)
            .prop_map(|(profile, count)| Want::Slices { profile: profile.into(), count }),
    ];
    let pod = option::weighted(0.1, 0..PODS.len());
    (0..TENANTS.len(), 0..JOBS, want, terms(), pod)
        .prop_map(|(tenant, job, want, terms, pod)| Wanted { tenant, job, want, terms, pod })
}

fn terms() -> impl Strategy<Value = Terms> {
    let product = option::weighted(0.2, select(PRODUCTS.to_vec()));
    let within = prop_oneof![3 => Just(Within::Pod), 2 => select(Within::ALL.to_vec())];
    let site = option::weighted(0.1, select(SiteKind::ALL.to_vec()));
    let preempts = select(Preempts::ALL.to_vec());
    (product, within, option::weighted(0.1, 1_u16..4), site, capacity(), preempts).prop_map(
        |(product, within, segment, site, capacity, preempts)| Terms {
            product: product.map(Into::into),
            within,
            segment,
            site,
            capacity,
            preempts,
        },
    )
}

fn capacity() -> impl Strategy<Value = Capacity> {
    prop_oneof![
        4 => Just(Capacity::OnDemand),
        3 => Just(Capacity::Preemptible),
        1 => Just(Capacity::Reserved),
    ]
}

fn node_event() -> impl Strategy<Value = NodeEvent> {
    let health = select(vec![Health::Good, Health::Good, Health::Draining, Health::Failed]);
    prop_oneof![
        2 => Just(NodeEvent::Found),
        1 => Just(NodeEvent::Lost),
        2 => health.prop_map(NodeEvent::Health),
        1 => any::<u64>().prop_map(|gpus| NodeEvent::Quarantined(gpus & gpus >> 32)),
        2 => Just(NodeEvent::Returned(u64::MAX)),
        1 => any::<u64>().prop_map(NodeEvent::Returned),
    ]
}

/// The ground and the books, walking the same way.
struct Walk {
    ground: Ground,
    books: Books,
    entries: Vec<Entry>,
    generation: Generation,
    /// What each job asked for when it got its last place.
    asked: BTreeMap<JobName, Job>,
}

impl Walk {
    fn new(world: World) -> Self {
        Self {
            ground: Ground::new(&world.fleet, &world.tenants),
            books: Books::new(world),
            entries: Vec::new(),
            generation: Generation(0),
            asked: BTreeMap::new(),
        }
    }

    fn go(&mut self, step: &Step) -> Result<(), Broken> {
        let before = self.entries.len();
        match step {
            Step::Nothing => return Ok(()),
            Step::Ask(wanted) => self.ask(&job(wanted))?,
            Step::Gang { which, event, generations_ago } => {
                let Some((job, generation)) = self.gang(which) else { return Ok(()) };
                let generation = Generation(generation.0.saturating_sub(*generations_ago));
                self.enter(gang_event(*event, job, generation))?;
            }
            Step::End { which } => {
                let Some((job, generation)) = self.gang(which) else { return Ok(()) };
                for event in 1..4 {
                    self.enter(gang_event(event, job.clone(), generation))?;
                }
            }
            Step::Node { which, event } => {
                let node = NodeId(which.index(self.books.nodes.len()) as u32);
                self.enter(node_entry(node, *event))?;
            }
            Step::Forge { which, by, capacity } => self.forge(which, *by, *capacity)?,
        }
        self.same_gangs()?;
        if self.entries.len() == before { Ok(()) } else { self.books.audit(&self.ground) }
    }

    fn gang(&self, which: &Index) -> Option<(JobName, Generation)> {
        let gangs: Vec<_> = self.books.gangs.keys().collect();
        (!gangs.is_empty()).then(|| (*which.get(&gangs)).clone())
    }

    /// Writes down what happened to a gang or a node, in both.
    fn enter(&mut self, entry: Entry) -> Result<(), Broken> {
        let expected = self.books.write(&entry);
        let done = self.ground.enter(&entry);
        ensure(done.as_ref().ok() == expected.as_ref(), || {
            format!("{entry:?} did {done:?} and should have done {expected:?}")
        })?;
        if done == Ok(Entered::Done) {
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Seeks a place and takes it. The books must agree that it may be taken; and if there is
    /// none, that there is none.
    fn ask(&mut self, job: &Job) -> Result<(), Broken> {
        let found = self.ground.ask(job).and_then(|ask| self.ground.seek(&ask));
        match found {
            Ok(spot) => self.take(job, spot),
            Err(refusal) => {
                let room = self.books.has_room(job);
                ensure(!room, || format!("there is room for {job:?}, but: {refusal:?}"))?;
                self.make_way(job)
            }
        }
    }

    /// Where there is no room others may move, or be stopped.
    fn make_way(&mut self, job: &Job) -> Result<(), Broken> {
        let Some(ask) = self.ground.ask(job).ok().filter(|_| !self.is_live(&job.name)) else {
            return Ok(());
        };
        let asks = self
            .asked
            .iter()
            .filter_map(|(name, job)| self.ground.ask(job).ok().map(|ask| (name.clone(), ask)));
        if let Ok(done) = self.ground.defrag(&ask, &asks.collect()) {
            let asked = |name: &JobName| self.asked[name].clone();
            self.books.judge_moves(&self.ground, job, &done, asked)?;
        }
        match self.ground.preempt(&ask) {
            Err(_) => self.books.judge_no_preemption(job),
            Ok(done) => {
                self.books.judge_preemption(&self.ground, job, &done)?;
                for victim in &done.victims {
                    self.end(&victim.job)?;
                }
                self.take(job, done.spot)
            }
        }
    }

    /// Ends the gang of a job that lives.
    fn end(&mut self, job: &JobName) -> Result<(), Broken> {
        let mut gangs = self.books.gangs.iter();
        let live = gangs.find(|((name, _), held)| name == job && held.is_live());
        let generation = live.ok_or("only what lives is stopped")?.0.1;
        (1..4).try_for_each(|event| self.enter(gang_event(event, job.clone(), generation)))
    }

    fn take(&mut self, job: &Job, spot: Spot) -> Result<(), Broken> {
        let held = Held::new(&self.ground, job.terms.capacity, &spot);
        self.books.judge(job, &held).map_err(|broken| format!("{broken}: {job:?}, {spot:?}"))?;
        self.generation.0 += 1;
        let (capacity, generation) = (job.terms.capacity, self.generation);
        let entry = Entry::Reserved { job: job.name.clone(), generation, capacity, spot };
        let was_live = self.is_live(&job.name);
        match self.ground.enter(&entry) {
            Ok(Entered::Done) if !was_live => {
                self.books.gangs.insert((job.name.clone(), generation), held);
                self.asked.insert(job.name.clone(), job.clone());
                self.entries.push(entry);
                Ok(())
            }
            Err(Wrong::JobHolds { .. }) if was_live => Ok(()),
            done => Err(format!("{entry:?} did {done:?}")),
        }
    }

    /// A place that another gang has is never given, and what is written about it changes
    /// nothing.
    fn forge(&mut self, which: &Index, by: usize, capacity: Capacity) -> Result<(), Broken> {
        let Some(key) = self.gang(which) else { return Ok(()) };
        let mut spot = self.books.gangs[&key].spot.clone();
        if by % 2 == 1 && spot.stretches.len() + spot.parts.len() + spot.slices.len() > 1 {
            spot.stretches.truncate(1);
            spot.parts.clear();
            spot.slices.truncate(1);
        }
        self.generation.0 += 1;
        let job = job_name(by, JOBS);
        let entry = Entry::Reserved { job, generation: self.generation, capacity, spot };
        let done = self.ground.enter(&entry);
        ensure(done.is_err(), || format!("{entry:?} did {done:?}"))
    }

    fn is_live(&self, job: &JobName) -> bool {
        self.books.gangs.iter().any(|((name, _), held)| name == job && held.is_live())
    }

    fn same_gangs(&self) -> Result<(), Broken> {
        let gangs: BTreeMap<_, _> = self
            .ground
            .gangs()
            .map(|gang| {
                ((gang.job.clone(), gang.generation), (gang.capacity, gang.state, gang.gpus))
            })
            .collect();
        let books: BTreeMap<_, _> = self
            .books
            .gangs
            .iter()
            .map(|(key, held)| (key.clone(), (held.capacity, held.state, held.count())))
            .collect();
        ensure(gangs == books, || format!("gangs {gangs:?} are not the books' {books:?}"))
    }

    /// The same entries make the same ground, and so does what is left of them. It answers every
    /// question alike.
    fn retraced(&self) -> Result<(), Broken> {
        let fresh = || Ground::new(&self.books.world.fleet, &self.books.world.tenants);
        let replayed = fresh().replay(&self.entries).map_err(|wrong| wrong.to_string())?;
        let left = self.left();
        let summed = fresh().replay(&left).map_err(|wrong| format!("{wrong} in {left:?}"))?;
        for job in questions() {
            let [here, again, short] = [&self.ground, &replayed, &summed]
                .map(|ground| ground.ask(&job).and_then(|ask| ground.seek(&ask)));
            ensure(here == again, || format!("{job:?}: {here:?}, and again {again:?}"))?;
            // Of several whom a grade forbids, a refusal names the one with the lower number.
            let same = here.as_ref().map_err(PlanRefusal::code)
                == short.as_ref().map_err(PlanRefusal::code);
            ensure(same, || format!("{job:?}: {here:?}, in short {short:?}"))?;
        }
        Ok(())
    }

    /// What is left of the entries when all is left out that is over: gangs that are gone, and
    /// what nodes went through until they were what they are.
    fn left(&self) -> Vec<Entry> {
        let is_left = |entry: &&Entry| match entry {
            Entry::Reserved { job, generation, .. }
            | Entry::Activated { job, generation }
            | Entry::Draining { job, generation }
            | Entry::Fenced { job, generation }
            | Entry::Freed { job, generation } => {
                self.books.gangs.contains_key(&(job.clone(), *generation))
            }
            _ => false,
        };
        let mut entries: Vec<Entry> = self.entries.iter().filter(is_left).cloned().collect();
        for (node, known) in self.books.all_nodes().zip(&self.books.nodes) {
            if known.is_lost {
                entries.push(Entry::NodeLost { node });
            }
            entries.push(Entry::NodeHealth { node, health: known.health });
            entries.push(Entry::Returned { node, gpus: u64::MAX });
            entries.push(Entry::Quarantined { node, gpus: known.quarantined });
        }
        entries
    }
}

/// Jobs of every tenant in every size and shape.
fn questions() -> impl Iterator<Item = Job> {
    let wants = [1, 2, 4, 8, 16, 32].map(Want::Gpus).into_iter().chain(
        ["1g.10gb", "1g.23gb"].map(|profile| Want::Slices { profile: profile.into(), count: 3 }),
    );
    wants.flat_map(|want| {
        (0..TENANTS.len()).flat_map(move |tenant| {
            let want = want.clone();
            let terms = |within, capacity| Terms { within, capacity, ..Terms::default() };
            let kinds = Within::ALL.iter().zip(Capacity::ALL.iter().cycle());
            kinds.map(move |(&within, &capacity)| {
                let terms = terms(within, capacity);
                job(&Wanted { tenant, job: JOBS, want: want.clone(), terms, pod: None })
            })
        })
    })
}

fn job(wanted: &Wanted) -> Job {
    let mut terms = wanted.terms.clone();
    // Slices are not counted in nodes.
    terms.segment = terms.segment.filter(|_| matches!(wanted.want, Want::Gpus(_)));
    Job {
        name: job_name(wanted.tenant, wanted.job),
        want: wanted.want.clone(),
        class: TrafficClass::default(),
        ceiling: None,
        pod: wanted.pod.map(|pod| name(PODS[pod].0)),
        terms,
    }
}

fn job_name(tenant: usize, job: usize) -> JobName {
    format!("{}/job{job}", TENANTS[tenant]).parse().unwrap()
}

fn gang_event(event: usize, job: JobName, generation: Generation) -> Entry {
    match event {
        0 => Entry::Activated { job, generation },
        1 => Entry::Draining { job, generation },
        2 => Entry::Fenced { job, generation },
        _ => Entry::Freed { job, generation },
    }
}

fn node_entry(node: NodeId, event: NodeEvent) -> Entry {
    match event {
        NodeEvent::Found => Entry::NodeFound { node },
        NodeEvent::Lost => Entry::NodeLost { node },
        NodeEvent::Health(health) => Entry::NodeHealth { node, health },
        NodeEvent::Quarantined(gpus) => Entry::Quarantined { node, gpus },
        NodeEvent::Returned(gpus) => Entry::Returned { node, gpus },
    }
}
