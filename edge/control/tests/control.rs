//! What one request costs, and what becomes of devices that refuse, fall silent or are left out.

#![allow(clippy::unwrap_used, reason = "a world that is refused ends the test")]

mod world;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apply::{Applied, Devices, HoldTerms, Numbered, OnDrift, Order, Receipt, Standing};
use control::{Committed, Control, Hurry, Journal, NoDraft, Request, Stay, Stopped, observed};
use intent::Source;
use model::{Artifact, DeviceId, Dialect, Fleet, Generation, Name, Timestamp};
use observe::{Held, Holds, Unreachable};
use sim::Fabric;
use store::{Folder, MemoryStore, Store};

use world::{FLEET, WHO, sources};

const NOW: Timestamp = Timestamp(1);

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
spec: {tenant: blue, endpoints: [n2/0, n2/1]}
";

fn take<S: Store>(control: &mut Control<S>, request: &Request) -> Committed {
    match control.take(request, Hurry::default(), NOW) {
        Ok(committed) => committed,
        Err(stopped) => panic!("{stopped:#?}"),
    }
}

fn send<S: Store>(
    control: &mut Control<S>,
    committed: &Committed,
    without: &[&str],
    devices: &mut dyn Devices,
) -> Applied {
    let without: BTreeSet<Name> = without.iter().map(|name| name.parse().unwrap()).collect();
    let nobody = BTreeSet::new();
    control.send(committed, &nobody, OnDrift::Repair, &without, devices, NOW).unwrap()
}

/// Fabric that counts what it is told.
struct Counting {
    fabric: Fabric,
    held: Vec<Name>,
    started: usize,
}

impl Holds for Counting {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        self.fabric.held(device, dialect)
    }
}

impl Devices for Counting {
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        self.held.extend(orders.iter().map(|order| order.name().clone()));
        self.fabric.hold(orders, terms)
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        self.started += orders.len();
        self.fabric.start(orders)
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.fabric.confirm(devices)
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.fabric.renew(devices)
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        self.fabric.standing(device)
    }
}

/// A folder that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("control-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn one_job_costs_messages_to_its_devices_and_little_log() {
    let scratch = Scratch::new("cost");
    let gpus = std::env::var("GPUS").map_or(4096, |gpus| gpus.parse().unwrap());
    let (jobs, layers) = (gpus / 20, true);
    let wish = intent::generate::Wish { gpus, jobs, layers, ..Default::default() };
    let documents = [intent::generate::fleet(&wish), intent::generate::workload(&wish)];
    let mut control = Control::open(Folder::open(&scratch.0).unwrap(), WHO.clone()).unwrap();
    let request =
        Request::put(&documents.each_ref().map(|text| Source { file: "fleet.yaml", text }));
    let committed = take(&mut control, &request);
    let fabric = Fabric::new(Arc::clone(&committed.draft.intent.fleet));
    let mut devices = Counting { fabric, held: Vec::new(), started: 0 };
    assert!(send(&mut control, &committed, &[], &mut devices).in_force());
    let all = devices.held.len();
    assert!(all > 500, "{all} devices");
    devices.held.clear();

    let one = "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {name: one-more}\nspec: {tenant: \
               tenant-1, gpus: 1}\n";
    let before = control.journal().store().written();
    let committed = take(&mut control, &Request::put(&[Source { file: "one.yaml", text: one }]));
    assert!(send(&mut control, &committed, &[], &mut devices).in_force());
    let after = control.journal().store().written();
    let held: BTreeSet<Name> = devices.held.iter().cloned().collect();
    assert_eq!(held, committed.changed, "only devices whose text differs are told");
    assert!(!held.is_empty() && held.len() < 8, "{held:?}");
    let log_bytes = after.log_bytes - before.log_bytes;
    let beside_bytes = after.beside_bytes - before.beside_bytes;
    let fsyncs = after.fsyncs - before.fsyncs;
    println!(
        "{} of {all} devices, {log_bytes} + {beside_bytes} bytes, {fsyncs} fsyncs",
        held.len()
    );
    assert!(log_bytes + beside_bytes <= 10_000 && fsyncs <= 2);
}

#[test]
fn a_device_that_refuses_is_never_seen_to_hold_anything() {
    let mut lost = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    let committed = take(&mut lost, &Request::put(&sources(&[TRAIN])));
    let mut fabric = Fabric::new(Arc::clone(&committed.draft.intent.fleet));
    send(&mut lost, &committed, &[], &mut fabric);
    let committed = take(&mut lost, &Request::put(&sources(&[TUNE])));
    assert!(send(&mut lost, &committed, &[], &mut fabric).in_force());

    // The log is lost, and whoever begins anew knows nothing of generation 2.
    let mut anew = Control::open(MemoryStore::new(2), WHO.clone()).unwrap();
    let committed = take(&mut anew, &Request::put(&sources(&[TUNE])));
    let applied = send(&mut anew, &committed, &[], &mut fabric);
    assert!(!applied.in_force() && !applied.is_started);
    let seen = anew.journal().state().ledger().seen();
    let refused = applied.receipts.iter().filter(|receipt| !receipt.is_held());
    let fleet = &committed.draft.intent.fleet;
    let refused: Vec<&Name> = refused.map(|receipt| fleet.device_name(receipt.device)).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|name| !seen.contains_key(*name)), "{refused:?} {seen:?}");
}

#[test]
fn nobody_starts_before_everybody_holds_and_then_all_do() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    let committed = take(&mut control, &Request::put(&sources(&[TRAIN])));
    let fabric = Fabric::new(Arc::clone(&committed.draft.intent.fleet));
    let mut devices = Counting { fabric, held: Vec::new(), started: 0 };
    let leaf = committed.draft.device("leaf-2").unwrap();
    devices.fabric.cut(leaf);
    assert!(!send(&mut control, &committed, &[], &mut devices).is_started);
    assert_eq!(devices.started, 0);
    devices.fabric.mend(leaf);
    devices.held.clear();
    // The next request goes on where this one stopped: those that held it are started, too.
    let committed = take(&mut control, &Request::default());
    assert!(send(&mut control, &committed, &[], &mut devices).is_started);
    assert_eq!(devices.started, devices.held.len());
    assert!(devices.held.len() >= 3, "{:?}", devices.held);
    let due = next::due(control.journal().state(), NOW);
    assert_eq!(due, []);
}

#[test]
fn a_dead_device_can_be_left_out_and_stays_due() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    let committed = take(&mut control, &Request::put(&sources(&[TRAIN])));
    let mut fabric = Fabric::new(Arc::clone(&committed.draft.intent.fleet));
    fabric.cut(committed.draft.device("leaf-2").unwrap());
    let applied = send(&mut control, &committed, &["leaf-2"], &mut fabric);
    assert!(applied.in_force() && applied.is_started);
    let due = next::due(control.journal().state(), NOW);
    assert_eq!(due, [next::Action::Send(vec!["leaf-2".parse().unwrap()])]);
}

#[test]
fn what_is_not_named_stays_and_taking_away_is_said() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    take(&mut control, &Request::put(&sources(&[TRAIN])));
    take(&mut control, &Request::put(&[Source { file: "tune.yaml", text: TUNE }]));
    let jobs = |control: &Control<MemoryStore>| -> Vec<String> {
        control.journal().state().ledger().jobs().keys().map(ToString::to_string).collect()
    };
    assert_eq!(jobs(&control), ["blue/tune", "red/train"]);
    let key = intent::Key::from_words("job", "red/train").unwrap();
    take(&mut control, &Request::delete(vec![key.clone()]));
    assert_eq!(jobs(&control), ["blue/tune"]);
    let gone = control.take(&Request::delete(vec![key.clone()]), Hurry::default(), NOW);
    assert!(matches!(gone, Err(Stopped::NoDraft(NoDraft::NotThere(keys))) if keys == [key]));
    take(&mut control, &Request::only(&[Source { file: "fleet.yaml", text: FLEET }]));
    assert_eq!(jobs(&control), Vec::<String>::new());
}

#[test]
fn a_refused_request_leaves_only_its_refusal() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    take(&mut control, &Request::put(&sources(&[TRAIN])));
    let before = control.journal().state().clone();
    let too_much = TUNE.replace("endpoints: [n2/0, n2/1]", "gpus: 640");
    let request = Request::put(&[Source { file: "tune.yaml", text: &too_much }]);
    assert!(control.take(&request, Hurry::default(), NOW).is_err());
    assert_eq!(*control.journal().state(), before);
    let last = control.journal().history().unwrap().pop().unwrap();
    assert!(last.events.iter().any(|event| event.starts_with("refused: ")), "{last:?}");
}

#[test]
fn two_controllers_of_one_log_do_not_overwrite_each_other() {
    let store = MemoryStore::new(1);
    let mut one = Control::open(store.again(), WHO.clone()).unwrap();
    take(&mut one, &Request::put(&sources(&[])));
    let mut other = Control::open(store.again(), WHO.clone()).unwrap();
    take(&mut one, &Request::put(&[Source { file: "a.yaml", text: TRAIN }]));
    take(&mut other, &Request::put(&[Source { file: "b.yaml", text: TUNE }]));
    let journal = Journal::open(store.again()).unwrap();
    let ledger = journal.state().ledger();
    assert_eq!(ledger.jobs().len(), 2);
    assert_eq!(ledger.generation(), Generation(3));
    let tags: BTreeSet<u16> = ledger.jobs().values().map(|lease| lease.tag.get()).collect();
    assert_eq!(tags.len(), 2, "no number is given twice");
}

/// A world where one job of red runs, and another of blue is on trial for a second.
struct Trial {
    store: MemoryStore,
    control: Control<MemoryStore>,
    fabric: Fabric,
    fleet: Arc<Fleet>,
}

const TRIAL: Hurry = Hurry { confirm_within: Some(Duration::from_secs(1)) };
const LATER: Timestamp = Timestamp(NOW.0 + 1001);

impl Trial {
    fn begin() -> Self {
        let store = MemoryStore::new(1);
        let mut control = Control::open(store.again(), WHO.clone()).unwrap();
        let committed = take(&mut control, &Request::put(&sources(&[TRAIN])));
        let fleet = Arc::clone(&committed.draft.intent.fleet);
        let mut fabric = Fabric::new(Arc::clone(&fleet));
        assert!(send(&mut control, &committed, &[], &mut fabric).in_force());
        let mut trial = Self { store, control, fabric, fleet };
        trial.try_tune();
        trial
    }

    fn try_tune(&mut self) {
        let request = Request::put(&[Source { file: "tune.yaml", text: TUNE }]);
        let committed = self.control.take(&request, TRIAL, NOW).unwrap();
        let nobody = BTreeSet::new();
        let sent = self
            .control
            .send(&committed, &nobody, OnDrift::Repair, &nobody, &mut self.fabric, NOW)
            .unwrap();
        assert!(sent.in_force() && sent.is_started);
    }

    fn end(&mut self) {
        for device in self.fleet.devices() {
            self.fabric.end_trial(device);
        }
    }

    fn confirm(&mut self, without: &[&str]) -> Stay {
        let without = without.iter().map(|name| name.parse().unwrap()).collect();
        self.control.confirm(&mut self.fabric, &self.fleet, &without, NOW).unwrap()
    }

    fn jobs(&self, now: Timestamp) -> Vec<String> {
        let draft = self.control.journal().in_force(now).unwrap();
        draft.intent.jobs.keys().map(ToString::to_string).collect()
    }

    /// Takes up what is due, and sends it.
    fn go_on(&mut self, request: &Request, now: Timestamp) {
        let committed = self.control.take(request, Hurry::default(), now).unwrap();
        let applied = send(&mut self.control, &committed, &[], &mut self.fabric);
        assert!(applied.in_force() && applied.is_started, "{:#?}", applied.receipts);
        self.holds_what_the_log_says(now);
    }

    fn holds_what_the_log_says(&self, now: Timestamp) {
        let plan = self.control.journal().in_force(now).unwrap().next.plan;
        let held = observed(&plan.fleet, &self.fabric).unwrap();
        let texts = |artifacts: &[Artifact]| -> BTreeSet<(DeviceId, Dialect, String)> {
            artifacts.iter().map(|one| (one.device, one.dialect, one.text())).collect()
        };
        assert_eq!(texts(&held), texts(&render::all(&plan)));
    }
}

#[test]
fn what_is_on_trial_stays_only_when_every_device_said_so() {
    let mut trial = Trial::begin();
    let more = Request::delete(vec![intent::Key::from_words("job", "red/train").unwrap()]);
    let taken = trial.control.take(&more, Hurry::default(), NOW);
    assert!(matches!(taken, Err(Stopped::OnTrial(until)) if until == Timestamp(NOW.0 + 1000)));
    assert!(trial.control.journal().state().trial().is_some(), "nobody confirmed it");
    assert!(matches!(trial.confirm(&[]), Stay::Confirmed(_)));
    trial.end();
    trial.go_on(&more, LATER);
    assert_eq!(trial.jobs(LATER), ["blue/tune"]);
}

#[test]
fn a_trial_that_is_over_is_over_for_whoever_looks() {
    let mut trial = Trial::begin();
    assert_eq!(trial.jobs(NOW), ["blue/tune", "red/train"]);
    assert_eq!(trial.jobs(LATER), ["red/train"], "before anybody wrote down that it went back");
    trial.end();
    assert!(matches!(
        trial.control.confirm(&mut trial.fabric, &trial.fleet, &BTreeSet::new(), LATER),
        Ok(Stay::TooLate)
    ));
    trial.go_on(&Request::default(), LATER);
    assert_eq!(trial.jobs(LATER), ["red/train"]);
}

#[test]
fn what_was_tried_in_vain_can_be_asked_for_again() {
    let mut trial = Trial::begin();
    let tags = |trial: &Trial| trial.control.journal().state().ledger().jobs().clone();
    let tried = tags(&trial);
    trial.end();
    // The very texts that went back by themselves come under a later number.
    trial.go_on(&Request::put(&[Source { file: "tune.yaml", text: TUNE }]), LATER);
    assert_eq!(trial.jobs(LATER), ["blue/tune", "red/train"]);
    let train = "red/train".parse().unwrap();
    assert_eq!(tried.get(&train), tags(&trial).get(&train), "nobody else is renumbered");
}

#[test]
fn a_trial_stays_without_a_dead_device_which_is_sent_it_anew() {
    let mut trial = Trial::begin();
    let leaf = (0..).map(DeviceId).find(|leaf| trial.fleet.device_name(*leaf).as_str() == "leaf-1");
    trial.fabric.cut(leaf.unwrap());
    assert!(matches!(trial.confirm(&[]), Stay::NotEverywhere(_)));
    assert!(matches!(trial.confirm(&["leaf-1"]), Stay::Confirmed(_)));
    trial.end();
    let state = trial.control.journal().state();
    assert!(state.is_doubted(&"leaf-1".parse().unwrap()) && state.trial().is_none());
    let seen = state.ledger().seen().get(&"leaf-1".parse().unwrap()).copied();
    assert!(seen < Some(Generation(2)), "what it gave up may be what it holds: {seen:?}");
    trial.fabric.mend(leaf.unwrap());
    trial.go_on(&Request::default(), LATER);
    assert_eq!(trial.jobs(LATER), ["blue/tune", "red/train"]);
}

/// Devices during whose answer somebody else writes to the log.
struct Meddling<'a> {
    fabric: &'a mut Fabric,
    other: Control<MemoryStore>,
    asks: Request,
}

impl Holds for Meddling<'_> {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        self.fabric.held(device, dialect)
    }
}

impl Devices for Meddling<'_> {
    fn hold(&mut self, orders: &[Order], terms: &HoldTerms) -> Vec<Receipt> {
        let receipts = self.fabric.hold(orders, terms);
        drop(self.other.take(&self.asks, Hurry::default(), NOW));
        receipts
    }

    fn start(&mut self, orders: &[Order]) -> Vec<Receipt> {
        self.fabric.start(orders)
    }

    fn confirm(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        let answers = self.fabric.confirm(devices);
        drop(self.other.take(&self.asks, Hurry::default(), NOW));
        answers
    }

    fn renew(&mut self, devices: &[Numbered]) -> Vec<(DeviceId, Result<(), Unreachable>)> {
        self.fabric.renew(devices)
    }

    fn standing(&self, device: DeviceId) -> Result<Option<Standing>, Unreachable> {
        self.fabric.standing(device)
    }
}

#[test]
fn what_devices_said_is_written_down_whoever_writes_meanwhile() {
    let store = MemoryStore::new(1);
    let mut control = Control::open(store.again(), WHO.clone()).unwrap();
    let committed = take(&mut control, &Request::put(&sources(&[TRAIN])));
    let mut fabric = Fabric::new(Arc::clone(&committed.draft.intent.fleet));
    let other = Control::open(store.again(), WHO.clone()).unwrap();
    let too_much = TUNE.replace("endpoints: [n2/0, n2/1]", "gpus: 640");
    let asks = Request::put(&[Source { file: "tune.yaml", text: &too_much }]);
    let mut devices = Meddling { fabric: &mut fabric, other, asks };
    assert!(send(&mut control, &committed, &[], &mut devices).in_force());
    assert_eq!(next::due(control.journal().state(), NOW), []);
}

#[test]
fn a_trial_is_confirmed_whoever_writes_meanwhile() {
    let Trial { store, mut control, mut fabric, fleet } = Trial::begin();
    let other = Control::open(store.again(), WHO.clone()).unwrap();
    let too_much = Request::put(&[Source { file: "no.yaml", text: "kind: Nothing" }]);
    let mut devices = Meddling { fabric: &mut fabric, other, asks: too_much };
    let stays = control.confirm(&mut devices, &fleet, &BTreeSet::new(), NOW).unwrap();
    assert!(matches!(stays, Stay::Confirmed(_)), "{stays:?}");
}

#[test]
fn nobody_sends_what_is_in_force_no_longer() {
    let store = MemoryStore::new(1);
    let mut one = Control::open(store.again(), WHO.clone()).unwrap();
    let late = take(&mut one, &Request::put(&sources(&[TRAIN])));
    let mut fabric = Fabric::new(Arc::clone(&late.draft.intent.fleet));
    let mut other = Control::open(store.again(), WHO.clone()).unwrap();
    let committed = take(&mut other, &Request::put(&[Source { file: "b.yaml", text: TUNE }]));
    let nobody = BTreeSet::new();
    let sent = one.send(&late, &nobody, OnDrift::Repair, &nobody, &mut fabric, NOW);
    assert!(sent.is_err_and(|error| error.is_moved()));
    assert!(send(&mut other, &committed, &[], &mut fabric).in_force());
    let committed = take(&mut one, &Request::default());
    assert!(send(&mut one, &committed, &[], &mut fabric).in_force());
    assert_eq!(one.journal().state().ledger().generation(), Generation(2));
}

#[test]
fn what_was_asked_for_before_can_be_asked_for_again() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    take(&mut control, &Request::put(&sources(&[TRAIN])));
    let then = control.journal().at();
    let before = control.journal().in_force(NOW).unwrap().intent.jobs;
    take(&mut control, &Request::only(&sources(&[TUNE])));
    let put = control.journal().documents_at(then).unwrap();
    take(&mut control, &Request { put, prune: true, ..Request::default() });
    let after = control.journal().in_force(NOW).unwrap().intent.jobs;
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
}
