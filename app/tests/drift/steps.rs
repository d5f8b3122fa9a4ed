//! A device dies at every single step of a change, FRR's statements and the uplink's queues among
//! them: what it holds then lets nobody cross, and the next run completes.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use apply::{Admitted, Linux, ManagedNode as _};
use control::{Journal, Request};
use intent::Source;
use lab::Fault;
use model::{Artifact, DeviceId, Dialect, Generation, Part, PartText, Timestamp};
use nix::sys::signal::{Signal, raise};
use observe::{Place, Vrfs, Vty};
use plan::Plan;
use verify::Code;

use crate::standing::{APPLY, Standing, until};

const DEVICE: &str = "leaf-1";
/// Where the other process finds what to do and writes what it saw, and where the device's parts
/// are.
const FOLDER: &str = "STEPS_FOLDER";
const FRR: &str = "STEPS_FRR";
const STATE: &str = "STEPS_STATE";
/// At which step the other process kills itself; it only looks if that is not said.
const KILL_AT: &str = "STEPS_KILL_AT";
/// More steps than a change has.
const MOST_STEPS: usize = 200;
/// Who comes with its VRF, its tunnels, its consents and its queue, and goes again.
const GUEST: &str = "vault";

type Texts = Vec<(Dialect, String)>;

#[test]
fn killed_at_every_step_a_device_lets_nobody_cross_and_the_next_run_completes() {
    let lab = Standing::up("steps", 1);
    let change = Change::of(&lab);
    // Coming and going take turns, each killed one step later than the last time.
    let mut steps = [Vec::new(), Vec::new()];
    let mut is_over = [false, false];
    change.write(false);
    change.complete();
    check_a_breach_would_be_seen(&change.plan());
    for kill_at in 0..MOST_STEPS {
        for (turn, comes) in [(0, true), (1, false)] {
            let before = change.plan();
            change.write(comes);
            match change.die_at(kill_at, &before, comes) {
                Some(step) => steps[turn].push(step),
                None => is_over[turn] = true,
            }
            change.complete();
        }
        if is_over == [true, true] {
            break;
        }
    }
    assert_eq!(is_over, [true, true], "a change has more steps than were tried: {steps:#?}");
    for (comes, steps) in [(true, &steps[0]), (false, &steps[1])] {
        println!("{} steps when a tenant {}", steps.len(), if comes { "comes" } else { "goes" });
        check_reaches_all_kinds(comes, steps);
    }
}

/// The loop is worth nothing if a device that lets everybody cross looks sound.
fn check_a_breach_would_be_seen(plan: &Plan) {
    let mut held = texts(plan);
    assert_eq!(breaches(plan, plan, held.clone()), Vec::<String>::new());
    for (_, text) in held.iter_mut().filter(|(dialect, _)| *dialect == Dialect::Table) {
        *text = text.replace("default drop", "default pass");
    }
    assert_ne!(breaches(plan, plan, held), Vec::<String>::new());
}

/// The loop is worth nothing if the change does not need FRR and the queues.
fn check_reaches_all_kinds(comes: bool, steps: &[String]) {
    let wanted: &[&str] = match comes {
        true => &["tell FRR: vni ", "tell FRR: route-target ", "make VRFs", "make queues"],
        false => &["tell FRR no more: vni ", "tell FRR no more: router bgp ", "end a VRF"],
    };
    for kind in wanted {
        assert!(steps.iter().any(|step| step.starts_with(kind)), "no `{kind}` among {steps:#?}");
    }
}

/// A plan without a tenant, and the same with it and with queues at the uplinks.
struct Change<'a> {
    lab: &'a Standing,
    /// What the documents were when the lab was built: everybody.
    whole: Vec<(PathBuf, String)>,
    folder: PathBuf,
}

impl<'a> Change<'a> {
    fn of(lab: &'a Standing) -> Self {
        let files = fs::read_dir(lab.documents()).unwrap().flatten().map(|entry| entry.path());
        let whole = files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
        let folder = lab.own(DEVICE).join("steps");
        fs::create_dir_all(&folder).unwrap();
        Self { lab, whole, folder }
    }

    fn write(&self, comes: bool) {
        for (path, text) in &self.whole {
            let is_fleet = text.contains("kind: Fleet");
            let text = match comes {
                true => text.replace("spec:\n  models:", "spec:\n  uplinkRate: 100Gbps\n  models:"),
                false if is_fleet => text.clone(),
                false => {
                    let kept = text.split("---\n").filter(|part| !part.contains(GUEST));
                    kept.collect::<Vec<_>>().join("---\n")
                }
            };
            fs::write(path, text).unwrap();
        }
    }

    /// What the documents and the log lead to now.
    fn plan(&self) -> Plan {
        let mut papers: Vec<(String, String)> = Vec::new();
        for (path, _) in &self.whole {
            papers.push((path.display().to_string(), fs::read_to_string(path).unwrap()));
        }
        let sources: Vec<Source<'_>> =
            papers.iter().map(|(file, text)| Source { file, text }).collect();
        let journal = Journal::open(store::Folder::open(self.lab.state()).unwrap()).unwrap();
        let Ok(draft) = journal.draft(&Request::only(&sources), Timestamp(0)) else {
            panic!("the lab's own documents can be planned");
        };
        draft.next.plan
    }

    /// Lets another process in the agent's place hold the new plan and die at that step; gives the
    /// step, or none if there are not so many.
    fn die_at(&self, kill_at: usize, before: &Plan, comes: bool) -> Option<String> {
        let after = self.plan();
        let sent = (after.generation.0, texts(&after));
        fs::write(self.folder.join("sent"), serde_json::to_string(&sent).unwrap()).unwrap();
        self.lab.break_(Fault::AgentKilled, Some(DEVICE)).unwrap();
        let died = self.other_process(Some(kill_at));
        self.other_process(None);
        let step = fs::read_to_string(self.folder.join("step")).unwrap();
        let held = fs::read_to_string(self.folder.join("held")).unwrap();
        let held: Texts = serde_json::from_str(&held).unwrap();
        // Everybody whom one of the two plans knows.
        let everybody = if comes { &after } else { before };
        let breaches = breaches(everybody, before, held);
        assert_eq!(breaches, Vec::<String>::new(), "killed before `{step}`");
        self.lab.start_agent(DEVICE).unwrap();
        until("the agent answers again", || self.lab.status(DEVICE).is_some());
        died.then_some(step)
    }

    /// Runs the test below inside of the device; whether it died of its own hand.
    fn other_process(&self, kill_at: Option<usize>) -> bool {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "steps::hold_and_die", "--ignored", "--nocapture"]);
        command.env(FOLDER, &self.folder).env(FRR, self.lab.frr(DEVICE));
        command.env(STATE, self.lab.own(DEVICE).join("state"));
        if let Some(kill_at) = kill_at {
            command.env(KILL_AT, kill_at.to_string());
        }
        let output = self.lab.run_in(DEVICE, || command.output().unwrap()).unwrap();
        let died = output.status.signal() == Some(Signal::SIGKILL as i32);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(died || output.status.success(), "{said}");
        died
    }

    fn complete(&self) {
        let (code, said) = self.lab.ask(APPLY);
        assert_eq!(code, Some(0), "{said}");
    }
}

/// What the device shall hold of a plan.
fn texts(plan: &Plan) -> Texts {
    let device = device(plan);
    let own = render::all(plan).into_iter().filter(|artifact| artifact.device == device);
    own.map(|artifact| (artifact.dialect, artifact.text())).collect()
}

fn device(plan: &Plan) -> DeviceId {
    let mut devices = plan.fleet.devices();
    devices.find(|id| plan.fleet.device_name(*id).as_str() == DEVICE).unwrap()
}

/// Who could reach whom, if the device holds this and all others what they held before.
fn breaches(everybody: &Plan, before: &Plan, held: Texts) -> Vec<String> {
    let device = device(before);
    let generation = before.generation;
    let mut artifacts = render::all(before);
    artifacts.retain(|artifact| artifact.device != device);
    artifacts.extend(held.into_iter().map(|(dialect, text)| {
        let parts = vec![PartText { part: Part::Whole, text }];
        Artifact { device, dialect, generation, parts }
    }));
    let findings = verify::findings(&everybody.fleet, &everybody.owners(), &artifacts);
    let breaches = findings.iter().filter(|finding| finding.code() == Code::Breach);
    breaches.map(|breach| breach.sentence(&everybody.fleet)).collect()
}

/// Holds what it finds in the folder, or dies in it; or says what the device holds. Only the test
/// above starts it.
#[test]
#[ignore = "the other process of the test above"]
fn hold_and_die() {
    let said = |name: &str| PathBuf::from(std::env::var(name).unwrap());
    let folder = said(FOLDER);
    let mut node = Linux::open(Place {
        frr: said(FRR),
        filter: "/sys/fs/bpf/bulkhead".into(),
        vrfs: Vrfs::Namespaces("/run/netns".into()),
        state: said(STATE),
    })
    .unwrap();
    let Ok(kill_at) = std::env::var(KILL_AT) else {
        let held = serde_json::to_string(&node.held().unwrap()).unwrap();
        fs::write(folder.join("held"), held).unwrap();
        return;
    };
    let (kill_at, sent) =
        (kill_at.parse::<usize>().unwrap(), fs::read(folder.join("sent")).unwrap());
    let (generation, texts): (u64, Texts) = serde_json::from_slice(&sent).unwrap();
    let mut steps: usize = 0;
    let epoch = node.sent().map(Admitted::epoch).unwrap_or_default();
    let generation = Generation(generation);
    let sent = Admitted::danger_unproved(generation, texts).under(epoch, generation);
    node.hold(&sent, &mut |step| {
        fs::write(folder.join("step"), step).unwrap();
        if let Some(vni) = step.strip_prefix("tell FRR no more: vni ") {
            check_zebra_forgot_the_bridge(&said(FRR), vni);
        }
        if steps == kill_at {
            raise(Signal::SIGKILL).unwrap();
        }
        steps += 1;
    })
    .unwrap();
}

/// zebra keeps a pointer to the bridge of a VRF's VNI, and follows it when the VNI goes: into memory
/// that it has freed, if it did not see the bridge go down while its tunnel was inside.
fn check_zebra_forgot_the_bridge(frr: &Path, vni: &str) {
    let mut zebra = Vty::open(frr, "zebra").unwrap();
    let said = zebra.say(&format!("show evpn vni {vni}")).unwrap();
    let bridge = said.lines().find_map(|line| line.trim().strip_prefix("SVI-If: "));
    assert!(matches!(bridge, None | Some("None")), "{said}");
}
