//! What one request costs, and what becomes of devices that refuse, fall silent or are left out.

#![allow(clippy::unwrap_used, reason = "a world that is refused ends the test")]

mod world;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use apply::{Applied, Devices, HoldTerms, Numbered, Order, Receipt, Standing};
use control::{Committed, Control, Hurry, Journal, NoDraft, Request, Stopped};
use intent::Source;
use model::{DeviceId, Dialect, Generation, Name, Timestamp};
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
    control.send(committed, &nobody, &HoldTerms::default(), &without, devices, NOW).unwrap()
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

#[test]
fn what_was_asked_for_before_can_be_asked_for_again() {
    let mut control = Control::open(MemoryStore::new(1), WHO.clone()).unwrap();
    take(&mut control, &Request::put(&sources(&[TRAIN])));
    let then = control.journal().at();
    let before = control.journal().in_force().unwrap().intent.jobs;
    take(&mut control, &Request::only(&sources(&[TUNE])));
    let put = control.journal().documents_at(then).unwrap();
    take(&mut control, &Request { put, prune: true, ..Request::default() });
    let after = control.journal().in_force().unwrap().intent.jobs;
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
}
