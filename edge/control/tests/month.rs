//! A month of requests, crashes, silent devices and manual changes: after each of them the log
//! alone says what is in force, and the devices come to hold byte for byte what it says.

#![allow(clippy::unwrap_used, reason = "a month that ends early ends the test")]

mod world;

use std::collections::BTreeSet;

use apply::OnDrift;
use control::{Control, Hurry, Journal, NoDraft, Request, Stay, Stopped, observed};
use model::{Artifact, DeviceId, Part, PartText, Timestamp};
use sim::Fabric;
use store::{AppendFault, MemoryStore};

use world::{Chance, JOBS, WHO, job, sources};

const DAYS: u32 = 30;
const STEPS_A_DAY: u32 = 8;

struct Month {
    chance: Chance,
    store: MemoryStore,
    control: Control<MemoryStore>,
    fabric: Fabric,
    cut: BTreeSet<DeviceId>,
    now: Timestamp,
    counts: Counts,
}

/// What happened: a month in which nothing does proves nothing.
#[derive(Debug, Default)]
struct Counts {
    taken: u32,
    refused: u32,
    crashes: u32,
    power_losses: u32,
    manual: u32,
    silent: u32,
    went_back: u32,
    stayed: u32,
    unsettled: u32,
    looked: u32,
}

impl Month {
    fn begin(seed: u64) -> Self {
        let store = MemoryStore::new(seed);
        let mut control = Control::open(store.again(), WHO.clone()).unwrap();
        let request = Request::put(&sources(&[]));
        let committed = control.take(&request, Hurry::default(), Timestamp(1)).unwrap();
        let fabric = Fabric::new(committed.draft.intent.fleet.clone());
        let mut month = Self {
            chance: Chance::new(seed),
            store,
            control,
            fabric,
            cut: BTreeSet::new(),
            now: Timestamp(1),
            counts: Counts::default(),
        };
        month.settle();
        month
    }

    fn step(&mut self) {
        self.now.0 += 60_000 * u64::from(self.chance.below(180));
        match self.chance.below(12) {
            0..=3 => {
                let which = self.chance.below(JOBS);
                let text = job(which, &mut self.chance);
                self.ask(&Request::put(&sources(&[&text])), None);
            }
            4 | 5 => {
                let documents = self.control.journal().state().documents();
                let jobs: Vec<_> = documents.keys().filter(|key| key.kind == "Job").collect();
                if let Some(key) = jobs.get(self.chance.below(JOBS) as usize) {
                    self.ask(&Request::delete(vec![(*key).clone()]), None);
                }
            }
            6 => self.change_by_hand(),
            7 => self.silence(),
            8 => self.crash(),
            9 | 10 => self.try_out(),
            _ => self.try_and_stay(),
        }
        self.compare();
    }

    /// Asks, and sends to whoever answers; a crash anywhere is one more beginning.
    fn ask(&mut self, request: &Request, within_ms: Option<u64>) {
        let confirm_within = within_ms.map(std::time::Duration::from_millis);
        let taken = self.control.take(request, Hurry { confirm_within }, self.now);
        let committed = match taken {
            Ok(committed) => committed,
            Err(Stopped::NoDraft(NoDraft::Journal(_))) => return self.begin_again(),
            Err(Stopped::NoDraft(_)) => return self.counts.refused += 1,
            // A crash left it open; nobody asks for more before its time is over.
            Err(Stopped::OnTrial(_)) => return,
            Err(Stopped::Unproved(_, unproved)) => panic!("{:#?}", unproved.findings),
        };
        self.counts.taken += 1;
        let nobody = BTreeSet::new();
        let sent = self.control.send(
            &committed,
            &nobody,
            OnDrift::Repair,
            &nobody,
            &mut self.fabric,
            self.now,
        );
        if sent.is_err() {
            self.begin_again();
        }
    }

    fn begin_again(&mut self) {
        self.counts.crashes += 1;
        self.control = Control::open(self.store.again(), WHO.clone()).unwrap();
        self.compare();
        self.settle();
    }

    fn change_by_hand(&mut self) {
        let fleet = self.fleet();
        let held = observed(&fleet, &self.fabric).unwrap_or_default();
        let Some(mut artifact) = held.get(self.chance.below(held.len() as u32) as usize).cloned()
        else {
            return;
        };
        let text = artifact.text();
        let lines: Vec<&str> = text.lines().collect();
        let cut = self.chance.below(lines.len() as u32) as usize;
        let kept = lines.iter().enumerate().filter(|(place, _)| *place != cut);
        let text: String = kept.map(|(_, line)| format!("{line}\n")).collect();
        artifact.parts = vec![PartText { part: Part::Whole, text }];
        self.fabric.load(&[artifact]);
        self.counts.manual += 1;
    }

    fn silence(&mut self) {
        let devices: Vec<DeviceId> = self.fleet().devices().collect();
        let device = devices[self.chance.below(devices.len() as u32) as usize];
        self.fabric.cut(device);
        self.cut.insert(device);
        self.counts.silent += 1;
    }

    /// One of the next appends fails, in one of three ways.
    fn crash(&mut self) {
        let fault = match self.chance.below(3) {
            0 => AppendFault::Before,
            1 => AppendFault::After,
            _ => AppendFault::PowerLoss,
        };
        self.counts.power_losses += u32::from(fault == AppendFault::PowerLoss);
        let after = u64::from(self.chance.below(3)) + 1;
        self.store.fail_at(self.store.appends() + after, fault);
    }

    /// A plan on trial that nobody confirms, and the old documents after it: nobody's numbers change.
    fn try_out(&mut self) {
        self.settle();
        let before = self.control.journal().state().ledger().jobs().clone();
        let which = self.chance.below(JOBS);
        let text = job(which, &mut self.chance);
        let taken = self.counts.taken;
        let crashes = self.counts.crashes;
        self.ask(&Request::put(&sources(&[&text])), Some(1000));
        if self.counts.taken == taken || self.counts.crashes > crashes {
            return;
        }
        self.end_trials();
        self.ask(&Request::default(), None);
        if self.counts.crashes == crashes {
            assert_eq!(*self.control.journal().state().ledger().jobs(), before);
            self.counts.went_back += 1;
        }
    }

    /// A plan on trial that stays, but for one device that does not answer and goes back by itself.
    fn try_and_stay(&mut self) {
        self.settle();
        let text = job(self.chance.below(JOBS), &mut self.chance);
        let taken = self.counts.taken;
        self.ask(&Request::put(&sources(&[&text])), Some(1000));
        if self.counts.taken == taken || self.control.journal().state().trial().is_none() {
            return;
        }
        self.silence();
        let fleet = self.fleet();
        let silent = self.cut.iter().map(|device| fleet.device_name(*device).clone()).collect();
        let stays = self.control.confirm(&mut self.fabric, &fleet, &silent, self.now);
        match stays {
            Ok(Stay::Confirmed(_)) => self.counts.stayed += 1,
            Ok(_) => {}
            Err(_) => self.begin_again(),
        }
        self.end_trials();
    }

    /// The time of every trial is over.
    fn end_trials(&mut self) {
        self.now.0 += 2000;
        for device in self.fleet().devices() {
            self.fabric.end_trial(device);
        }
    }

    /// Whoever reads the log elsewhere answers the same at any moment, also while something is due.
    fn compare(&mut self) {
        let other = Journal::open(self.store.again()).unwrap();
        let own = Journal::open(self.store.again()).unwrap();
        self.counts.unsettled += u32::from(!next::due(own.state(), self.now).is_empty());
        let [own, other] = [own, other].map(|journal| {
            let draft = journal.in_force(self.now).unwrap();
            draft.prove().unwrap().cleared.root()
        });
        assert_eq!(own, other);
    }

    fn fleet(&self) -> std::sync::Arc<model::Fleet> {
        self.control.journal().in_force(self.now).unwrap().intent.fleet
    }

    /// Everybody answers again, and what is due is done: then the devices hold what the log says,
    /// whoever reads it.
    fn settle(&mut self) {
        for device in std::mem::take(&mut self.cut) {
            self.fabric.mend(device);
        }
        let is_done = (0..8).any(|_| self.settle_once());
        assert!(is_done, "eight attempts are enough");
        self.look();
    }

    fn settle_once(&mut self) -> bool {
        let taken = self.control.take(&Request::default(), Hurry::default(), self.now);
        let committed = match taken {
            Ok(committed) => committed,
            Err(Stopped::OnTrial(_)) => {
                self.end_trials();
                return false;
            }
            Err(_) => {
                self.control = Control::open(self.store.again(), WHO.clone()).unwrap();
                return false;
            }
        };
        let is_same = |_, desired: &str, held: &str| desired == held;
        let again = self.control.differing(&committed.cleared, &self.fabric, is_same);
        let nobody = BTreeSet::new();
        match self.control.send(
            &committed,
            &again,
            OnDrift::Repair,
            &nobody,
            &mut self.fabric,
            self.now,
        ) {
            Ok(applied) => applied.in_force() && applied.is_started,
            Err(_) => {
                self.control = Control::open(self.store.again(), WHO.clone()).unwrap();
                false
            }
        }
    }

    /// What another process reads from the log alone.
    fn look(&mut self) {
        let other = Journal::open(self.store.again()).unwrap();
        let draft = other.in_force(self.now).unwrap();
        assert!(draft.repeats(), "what is in force asks for nothing new");
        let plan = &draft.next.plan;
        let held = observed(&plan.fleet, &self.fabric).unwrap();
        let desired = render::all(plan);
        assert_eq!(held.len(), desired.len());
        let key = |artifact: &Artifact| (artifact.device, artifact.dialect);
        for artifact in &desired {
            let held = held.iter().find(|held| key(held) == key(artifact)).unwrap();
            assert_eq!(held.text(), artifact.text(), "{:?}", key(artifact));
        }
        assert_eq!(verify::findings(&plan.fleet, &plan.owners(), &held), []);
        self.counts.looked += 1;
    }
}

#[test]
fn the_log_alone_says_what_devices_hold_through_a_month_of_faults() {
    for seed in 0..3 {
        let mut month = Month::begin(seed);
        for step in 0..DAYS * STEPS_A_DAY {
            month.step();
            if step % 5 == 0 {
                month.settle();
            }
        }
        month.settle();
        let Counts { taken, refused, crashes, power_losses, manual, silent, .. } = month.counts;
        let Counts { went_back, stayed, unsettled, looked, .. } = month.counts;
        println!("seed {seed}: {:?}", month.counts);
        assert!(taken > 60 && refused > 5 && crashes > 5 && power_losses > 2);
        assert!(manual > 10 && silent > 10 && went_back > 5 && stayed > 3);
        assert!(unsettled > 10 && looked >= 50);
    }
}
