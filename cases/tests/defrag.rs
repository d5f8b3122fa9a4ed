//! A waiting gang that would fit after some moves fits after them: the moves are planned, proved
//! and held by simulated devices one after the other, and packets say the rest.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use apply::{HoldTerms, Order};
use cases::Chance;
use intent::{Intent, Source};
use model::{DeviceId, Epoch, Job, JobName, NicRef, Port, Want};
use plan::place::{Ask, Defrag, Ground, Spot};
use plan::{Choice, Ledger, Plan, Planner};
use sim::Fabric;

#[test]
fn a_gang_fits_after_the_moves_that_were_proposed() {
    let mut moved = 0;
    for seed in 0..60 {
        let mut town = Town::new(seed);
        let gpus = 8 << town.chance.below(2);
        let waiting = town.job("waiting", gpus);
        let Some(defrag) = town.defrag(&waiting) else { continue };
        for one in &defrag.moves {
            let nics = town.nics(&one.to);
            town.intent.jobs.get_mut(&one.job).unwrap().want = Want::Endpoints(nics);
            town.settle();
        }
        moved += defrag.moves.len();
        town.intent.jobs.insert(waiting.name.clone(), waiting.clone());
        let plan = town.settle();
        town.check_packets(&plan, &waiting.name);
    }
    assert!(moved > 20, "only {moved} jobs had to move");
}

/// A small fleet, half used, on simulated devices.
struct Town {
    chance: Chance,
    intent: Intent,
    /// What the jobs asked for before any of them moved.
    asked: BTreeMap<JobName, Job>,
    ledger: Ledger,
    fabric: Fabric,
}

impl Town {
    /// Jobs fill the fleet, then some of them end.
    fn new(seed: u64) -> Self {
        let source = Source { file: "fleet.yaml", text: FLEET };
        let intent = intent::load(&[source]).unwrap();
        let fabric = Fabric::new(Arc::clone(&intent.fleet));
        let mut town = Self {
            chance: Chance::new(seed),
            intent,
            asked: BTreeMap::new(),
            ledger: Ledger::default(),
            fabric,
        };
        let mut left = 32;
        for number in 0.. {
            let gpus = 1 << town.chance.below(3);
            if gpus > left {
                break;
            }
            left -= gpus;
            let job = town.job(&format!("job-{number}"), gpus);
            town.intent.jobs.insert(job.name.clone(), job);
        }
        town.settle();
        let jobs: Vec<JobName> = town.intent.jobs.keys().cloned().collect();
        for job in jobs {
            if town.chance.percent(60) {
                town.intent.jobs.remove(&job);
            }
        }
        town.settle();
        town.asked = town.intent.jobs.clone();
        town
    }

    fn job(&mut self, name: &str, gpus: u32) -> Job {
        let tenant = if self.chance.percent(50) { "red" } else { "blue" };
        Job {
            name: format!("{tenant}/{name}").parse().unwrap(),
            want: Want::Gpus(gpus),
            class: model::TrafficClass::default(),
            ceiling: None,
            pod: None,
            terms: model::Terms::default(),
        }
    }

    /// Moves for a gang that does not fit as things are.
    fn defrag(&self, waiting: &Job) -> Option<Defrag> {
        let planner = Planner::new(&self.intent, &self.ledger).unwrap();
        let ground: &Ground = planner.ground();
        let ask = ground.ask(waiting).unwrap();
        let asks: BTreeMap<JobName, Ask> =
            self.asked.iter().map(|(name, job)| (name.clone(), ground.ask(job).unwrap())).collect();
        ground.seek(&ask).is_err().then(|| ground.defrag(&ask, &asks).ok()).flatten()
    }

    fn nics(&self, spot: &Spot) -> Vec<NicRef> {
        let planner = Planner::new(&self.intent, &self.ledger).unwrap();
        let ground = planner.ground();
        let gpus = ground
            .gpus(spot)
            .flat_map(|(node, gpus)| ground.nics(node, gpus).map(move |nic| NicRef { node, nic }));
        gpus.collect()
    }

    /// Plans what is asked for, proves it, lets every device hold it, and writes down that it does.
    fn settle(&mut self) -> Plan {
        let next = plan::next(&self.intent, &self.ledger).unwrap();
        let artifacts = render::all(&next.plan);
        let cleared = verify::clear(&next.plan.fleet, &next.plan.owners(), artifacts).unwrap();
        let generation = next.plan.generation;
        let orders = Order::all(&cleared, Epoch::default(), generation);
        let applied = apply::push(&orders, &HoldTerms::default(), &mut self.fabric);
        assert!(applied.in_force() && applied.is_started);
        let fleet = Arc::clone(&next.plan.fleet);
        let seen = fleet
            .devices()
            .map(|device| Choice::Seen { device: fleet.device_name(device).clone(), generation });
        for record in next.records.iter().cloned().chain(seen) {
            self.ledger.apply(&record).unwrap();
        }
        next.plan
    }

    /// Members of the gang meet each other, and nobody meets a job that is not his.
    fn check_packets(&self, plan: &Plan, gang: &JobName) {
        let owners = plan.owners().ports;
        let ports: Vec<(DeviceId, Port)> = owners.keys().copied().collect();
        let meetings = self.fabric.meetings(&ports);
        for pair in meetings.keys() {
            assert_eq!(owners[&pair.from], owners[&pair.to], "nobody meets a stranger");
        }
        let members = owners.values().filter(|job| *job == gang).count();
        let met = meetings.keys().filter(|pair| owners[&pair.from] == *gang).count();
        assert_eq!(met, members * (members - 1), "all of the gang meet");
    }
}

const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: town}
spec:
  models:
    nodes:
      box: {gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}, gpus: 8, nics: {count: 8, rate: 400Gbps}}
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves:
            - {name: leaf-1, dialect: nxos}
            - {name: leaf-2, dialect: frr}
          spines:
            - {name: spine-1, dialect: frr}
          nodes:
            - {name: n1, model: box, leaf: leaf-1}
            - {name: n2, model: box, leaf: leaf-1}
            - {name: n3, model: box, leaf: leaf-2}
            - {name: n4, model: box, leaf: leaf-2}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: red}
spec: {pools: [10.0.0.0/16], grade: gpu}
---
apiVersion: bulkhead.dev/v1
kind: Tenant
metadata: {name: blue}
spec: {pools: [10.0.0.0/16], grade: gpu}
";
