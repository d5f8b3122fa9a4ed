//! Gates, leases and silence: what is proved apart may still let nobody meet anybody.

#![allow(clippy::unwrap_used, reason = "a world that is refused ends the test")]

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apply::{Devices, Gate, OnDrift};
use control::{Control, Draft, Hurry, Judgement, Observation, Passage, Request, observed};
use intent::Source;
use model::{Dialect, Name, Timestamp};
use sim::Fabric;
use store::MemoryStore;

use world::{WHO, sources};

const LEASE: Duration = Duration::from_secs(900);
const MINUTE_MS: u64 = 60_000;

const TRAIN: &str = "
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: train}
spec: {tenant: red, endpoints: [n1/0, n3/0]}
";

const TUNE: &str = "
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {name: tune}
spec: {tenant: blue, endpoints: [n2/0, n4/0]}
";

/// A controller with one job in force, on devices whose leases end.
struct Town {
    control: Control<MemoryStore>,
    fabric: Fabric,
    now: Timestamp,
}

impl Town {
    fn new() -> Self {
        let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
        let now = Timestamp(MINUTE_MS);
        control.take(&Request::put(&sources(&[TRAIN])), Hurry::default(), now).unwrap();
        let fleet = control.journal().in_force(now).unwrap().intent.fleet;
        let mut town = Self { control, fabric: Fabric::new(fleet).with_lease(LEASE), now };
        town.wait(0);
        town.apply(&Request::default());
        town
    }

    fn apply(&mut self, request: &Request) {
        let committed = self.control.take(request, Hurry::default(), self.now).unwrap();
        let nobody = BTreeSet::new();
        let Self { control, fabric, now } = self;
        let applied =
            control.send(&committed, &nobody, OnDrift::Repair, &nobody, fabric, *now).unwrap();
        assert!(applied.is_started);
    }

    fn wait(&mut self, minutes: u64) {
        self.now.0 += minutes * MINUTE_MS;
        self.fabric.pass(self.now);
    }

    fn draft(&self) -> Draft {
        self.control.journal().in_force(self.now).unwrap()
    }

    fn renew(&mut self) {
        let numbered = self.control.journal().acknowledged(&self.draft().intent.fleet);
        self.fabric.renew(&numbered);
    }

    fn passage(&self) -> Passage {
        let draft = self.draft();
        let fleet = &draft.intent.fleet;
        let standings = fleet.devices().map(|device| (device, self.fabric.standing(device)));
        Passage::standing(fleet, &draft.next.plan.owners(), draft.state(), standings)
    }

    /// Whether all that devices hold is proved, and how many pairs of endpoints really meet.
    fn proved_and_meeting(&self) -> (bool, usize) {
        let (draft, owners) = (self.draft(), self.draft().next.plan.owners());
        let held = observed(&draft.intent.fleet, &self.fabric).unwrap();
        let ports: Vec<_> = owners.ports.keys().copied().collect();
        let findings = verify::findings(&draft.intent.fleet, &owners, &held);
        (findings.is_empty(), self.fabric.meetings(&ports).len())
    }

    /// What an agent would say of each device, into an observation.
    fn tell(&self, observation: &mut Observation) {
        let mut texts: BTreeMap<Name, Vec<(Dialect, String)>> = BTreeMap::new();
        for artifact in observed(observation.fleet(), &self.fabric).unwrap() {
            let name = observation.fleet().device_name(artifact.device).clone();
            texts.entry(name).or_default().push((artifact.dialect, artifact.text()));
        }
        for (name, texts) in texts {
            observation.hear(&name);
            observation.take(&name, None, texts);
        }
    }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn where_leases_expired_all_is_proved_and_nobody_meets_until_something_is_applied() {
    let mut town = Town::new();
    let until = Timestamp(town.now.0 + 15 * MINUTE_MS);
    let (is_proved, meetings) = town.proved_and_meeting();
    assert!(is_proved && meetings > 0);
    assert_eq!((town.passage().open, town.passage().until), (2, Some(until)));
    town.wait(18);
    assert_eq!(town.proved_and_meeting(), (true, 0));
    let passage = town.passage();
    assert_eq!(passage.open, 0);
    let closed = passage.closed.iter().map(|one| (one.device.as_str(), one.gate, one.since));
    let expired = |device| (device, Gate::LeaseOver, Some(until));
    assert_eq!(closed.collect::<Vec<_>>(), [expired("leaf-1"), expired("leaf-2")]);
    town.renew();
    assert_eq!(town.passage().open, 0, "what was given up is not taken back by itself");
    town.apply(&Request::default());
    assert!(town.passage().is_whole());
    assert_eq!(town.proved_and_meeting(), (true, meetings));
}

#[test]
fn gates_stay_open_as_long_as_somebody_renews() {
    let mut town = Town::new();
    for _ in 0..10 {
        town.wait(10);
        assert!(town.passage().is_whole());
        town.renew();
    }
}

#[test]
fn a_device_that_does_not_answer_is_silent_and_then_the_only_one_that_is_closed() {
    let mut town = Town::new();
    let leaf = town.draft().device("leaf-2").unwrap();
    town.fabric.cut(leaf);
    let passage = town.passage();
    let silent: Vec<&str> = passage.silent.iter().map(|one| one.device.as_str()).collect();
    assert_eq!((silent, passage.open), (vec!["leaf-2"], 1));
    assert!(passage.closed.is_empty() && !passage.is_whole());
    town.wait(10);
    town.renew();
    town.wait(10);
    town.fabric.mend(leaf);
    let passage = town.passage();
    let closed: Vec<&str> = passage.closed.iter().map(|one| one.device.as_str()).collect();
    assert_eq!((closed, passage.open, passage.silent), (vec!["leaf-2"], 1, vec![]));
}

#[test]
fn an_observation_judges_by_the_plan_in_force_and_follows_the_next_one() {
    let mut town = Town::new();
    let awaited = BTreeSet::from([name("leaf-1"), name("leaf-2"), name("spine-1")]);
    let mut observation = Observation::new(town.draft(), awaited);
    assert!(!observation.heard_all() && observation.silent() == 3);
    town.tell(&mut observation);
    let Judgement { new, .. } = observation.judge(town.now);
    assert!(observation.heard_all() && new.is_empty(), "{new:?}");

    town.apply(&Request::put(&[Source { file: "tune.yaml", text: TUNE }]));
    town.tell(&mut observation);
    let Judgement { new, .. } = observation.judge(town.now);
    assert!(!new.is_empty(), "nobody planned what is held by now");
    assert!(observation.is_behind(town.control.journal().state()));
    observation.follow(town.draft());
    let Judgement { new, resolved, left } = observation.judge(town.now);
    assert!(new.is_empty() && resolved > 0 && left == 0, "{new:?}");
    assert!(!observation.is_behind(town.control.journal().state()));
}

#[test]
fn an_observation_knows_closed_gates_and_who_went_away() {
    let town = Town::new();
    let mut observation = Observation::new(town.draft(), BTreeSet::new());
    assert!(observation.passage().is_whole());
    observation.turn(&name("leaf-1"), Gate::Quarantine);
    observation.lose(&name("leaf-2"), "no route".into());
    let passage = observation.passage();
    assert_eq!((passage.open, passage.closed.len(), passage.silent.len()), (0, 1, 1));
    observation.turn(&name("leaf-1"), Gate::Open);
    observation.hear(&name("leaf-2"));
    assert!(observation.passage().is_whole());
}
