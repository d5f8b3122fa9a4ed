//! How a lab is built, step by step.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model::Fleet;
use observe::Backing;
use plan::Plan;

use crate::cables::{self, batch};
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::lab::{Lab, planned, remove, switches};
use crate::process::Process;
use crate::spec::Spec;
use crate::workload::Workload;
use crate::{LabTrouble, converged, force, frr, namespace};

/// How long one step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn up(spec: &Spec, progress: &mut dyn FnMut(&str)) -> Result<Lab, LabTrouble> {
    let documents = spec.documents();
    build(&spec.name, &spec.program, progress, |building, progress| {
        building.keep(spec.vrfs)?;
        let plan = building.raise(&documents, progress)?;
        building.put_in_force(&plan, progress)
    })
}

/// The fabric alone: switches whose routing daemons hold nothing, and nobody who tells them.
pub(crate) fn raise(
    name: &str,
    documents: &[(&str, String)],
    progress: &mut dyn FnMut(&str),
) -> Result<Lab, LabTrouble> {
    build(name, Path::new("bulkhead"), progress, |building, progress| {
        building.keep(Backing::Namespaces)?;
        let plan = building.raise(documents, progress)?;
        Ok(Lab::over(building.folder.clone(), building.program.clone(), plan))
    })
}

/// Builds all of it or nothing.
fn build(
    name: &str,
    program: &Path,
    progress: &mut dyn FnMut(&str),
    all: impl FnOnce(&Building, &mut dyn FnMut(&str)) -> Result<Lab, LabTrouble>,
) -> Result<Lab, LabTrouble> {
    let folder = Folder::of(name)?;
    if folder.path().exists() || !folder.namespaces().is_empty() {
        return Err(LabTrouble::Exists(name.to_owned()));
    }
    let program = program.to_owned();
    let building = Building { folder, program, interrupt: Interrupt::begin() };
    let built = all(&building, progress);
    if built.is_err() {
        progress("taking down what was built");
        // The first trouble is the one to tell.
        let _ = remove(&building.folder);
    }
    built
}

struct Building {
    folder: Folder,
    program: PathBuf,
    interrupt: Interrupt,
}

impl Building {
    /// Keeps what VRFs are made of.
    fn keep(&self, vrfs: Backing) -> Result<(), LabTrouble> {
        Folder::make(&self.folder.path())?;
        self.folder.write_backing(vrfs)
    }

    /// Namespaces, cables and routing daemons.
    fn raise(
        &self,
        documents: &[(&str, String)],
        progress: &mut dyn FnMut(&str),
    ) -> Result<Plan, LabTrouble> {
        let place = self.folder.documents();
        self.step(progress, &format!("writing the documents into {}", place.display()))?;
        self.write(documents)?;
        let plan = planned(&self.folder)?;
        let fleet = &*plan.fleet;
        self.step(progress, &format!("making {} and their cables", namespaces_in_words(fleet)))?;
        self.make_namespaces(fleet)?;
        batch("ip", &cables::lines(fleet, &self.folder))?;
        self.step(progress, "starting FRR on every switch")?;
        self.start_switches(fleet)?;
        Ok(plan)
    }

    /// Agents, and what they are told; workloads, and the ways between them.
    fn put_in_force(&self, plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Lab, LabTrouble> {
        let fleet = &*plan.fleet;
        self.step(progress, "giving every switch an identity, and starting its agent")?;
        force::enroll(&self.folder, fleet)?;
        self.start_agents(fleet)?;
        self.step(progress, "planning, proving and sending")?;
        force::apply(&self.folder)?;
        // What was sent is what the log says, with the numbers it leased.
        let plan = planned(&self.folder)?;
        let workloads = Workload::all(&plan);
        self.step(progress, &format!("setting up {} workloads", workloads.len()))?;
        dress(&self.folder, &workloads)?;
        self.step(progress, "waiting for sessions and routes")?;
        self.wait("convergence", || converged::missing(&plan, &self.folder))?;
        Ok(Lab::over(self.folder.clone(), self.program.clone(), plan))
    }

    /// Tells what comes next, unless somebody wants an end.
    fn step(&self, progress: &mut dyn FnMut(&str), next: &str) -> Result<(), LabTrouble> {
        progress(next);
        if self.interrupt.came() { Err(LabTrouble::Interrupted) } else { Ok(()) }
    }

    fn write(&self, documents: &[(&str, String)]) -> Result<(), LabTrouble> {
        Folder::make(&self.folder.documents())?;
        for (file, text) in documents {
            Folder::write(&self.folder.documents().join(file), text)?;
        }
        let link = self.folder.path().join("program");
        symlink(&self.program, &link).map_err(LabTrouble::file(link))
    }

    fn make_namespaces(&self, fleet: &Fleet) -> Result<(), LabTrouble> {
        let path = |name: &str| self.folder.namespace_path(name);
        let switches: Vec<PathBuf> = switches(fleet).map(|(_, name)| path(name)).collect();
        make_all(&switches, switch_settings)?;
        let nics: Vec<PathBuf> = nics(fleet).map(|nic| path(&nic)).collect();
        make_all(&nics, workload_settings)
    }

    /// One thread for each switch: they do not need each other.
    fn start_switches(&self, fleet: &Fleet) -> Result<(), LabTrouble> {
        self.on_each_switch(fleet, |place, device| {
            Folder::make(&self.folder.device(device))?;
            frr::prepare(&self.folder, device)?;
            namespace::apart(&self.folder.namespace_path(device), || {
                batch("ip", &format!("link set lo up\n{}", cables::fabric_up(fleet, place)))?;
                self.hold(device)?;
                self.start_frr(device)
            })
        })
    }

    /// Keeps the device's namespaces, whoever else ends there.
    fn hold(&self, device: &str) -> Result<(), LabTrouble> {
        let output = self.folder.device(device).join("holder.log");
        let mut command = Command::new("sleep");
        command.arg("infinity");
        Process::start(&self.folder.processes(), device, "holder", &mut command, &output)?;
        Ok(())
    }

    fn start_frr(&self, device: &str) -> Result<(), LabTrouble> {
        frr::start(&self.folder, device, "zebra")?;
        let silent = |is: bool| if is { None } else { Some(device.to_owned()) };
        self.wait("the start of zebra", || silent(frr::takes_routes(&self.folder, device)))?;
        frr::start(&self.folder, device, "bgpd")?;
        self.wait("the start of bgpd", || silent(frr::listens(&self.folder, device, "bgpd")))
    }

    fn start_agents(&self, fleet: &Fleet) -> Result<(), LabTrouble> {
        self.on_each_switch(fleet, |_, device| start_agent(&self.folder, &self.program, device))?;
        self.wait("the start of the agents", || {
            let mut silent = switches(fleet).filter(|(_, name)| !self.folder.socket(name).exists());
            silent.next().map(|(_, name)| name.to_owned())
        })
    }

    fn on_each_switch(
        &self,
        fleet: &Fleet,
        work: impl Fn(usize, &str) -> Result<(), LabTrouble> + Sync,
    ) -> Result<(), LabTrouble> {
        let work = &work;
        thread::scope(|scope| {
            let all: Vec<_> = switches(fleet)
                .map(|(place, device)| scope.spawn(move || work(place, device)))
                .collect();
            // All end before the first trouble is told: nobody builds while it is taken down.
            let ended: Vec<_> =
                all.into_iter().map(|one| one.join().unwrap_or(Err(LabTrouble::Gone))).collect();
            ended.into_iter().collect()
        })
    }

    /// Waits until nothing is missing.
    fn wait(
        &self,
        what: &'static str,
        mut missing: impl FnMut() -> Option<String>,
    ) -> Result<(), LabTrouble> {
        wait_unless(what, &mut missing, || self.interrupt.came())
    }
}

/// Waits until nothing is missing.
pub(crate) fn wait(
    what: &'static str,
    mut missing: impl FnMut() -> Option<String>,
) -> Result<(), LabTrouble> {
    wait_unless(what, &mut missing, || false)
}

fn wait_unless(
    what: &'static str,
    missing: &mut dyn FnMut() -> Option<String>,
    is_interrupted: impl Fn() -> bool,
) -> Result<(), LabTrouble> {
    let until = Instant::now() + PATIENCE;
    while let Some(missing) = missing() {
        if is_interrupted() {
            return Err(LabTrouble::Interrupted);
        }
        if Instant::now() > until {
            return Err(LabTrouble::Late { what, seconds: PATIENCE.as_secs(), missing });
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Starts the agent of a device inside of it.
pub(crate) fn start_agent(folder: &Folder, program: &Path, device: &str) -> Result<(), LabTrouble> {
    let processes = folder.processes();
    let alive = Process::alive(&processes);
    let is_holder = |one: &&Process| one.device == device && one.role == "holder";
    let holder = alive.iter().find(is_holder).ok_or(LabTrouble::Gone)?;
    let own = folder.device(device);
    // A socket that is left of an agent that was killed would look like one that listens.
    let _ = fs::remove_file(folder.socket(device));
    // As its systemd unit does: what others wait for comes before what goes on for longer.
    let mut command = Command::new("nice");
    command.args(["-n", "-10"]).arg(program);
    command.arg("agent").arg("--listen").arg(format!("unix:{}", folder.socket(device).display()));
    command.arg("--identity").arg(folder.authority().join("nodes").join(device));
    command.arg("--frr").arg(folder.frr(device));
    command.arg("--filter").arg("/sys/fs/bpf/bulkhead");
    command.arg("--state").arg(own.join("state"));
    command.arg("--vrfs").arg(folder.backing()?.as_str());
    let output = own.join("agent.log");
    namespace::beside(holder.id, || {
        Process::start(&processes, device, "agent", &mut command, &output).map(drop)
    })
}

/// Sets the interfaces of all workloads up.
pub(crate) fn dress(folder: &Folder, workloads: &[Workload]) -> Result<(), LabTrouble> {
    /// Each is one process of a few milliseconds; a few at a time keep every core busy.
    const AT_ONCE: usize = 8;
    for few in workloads.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let dressing = few.iter().map(|one| {
                let file = folder.namespace_path(&one.name);
                scope.spawn(move || namespace::within(&file, || batch("ip", &one.dress())))
            });
            let all: Vec<_> = dressing.collect();
            let ended = all.into_iter().map(|one| one.join().unwrap_or(Err(LabTrouble::Gone)));
            ended.collect::<Result<(), LabTrouble>>()
        })?;
    }
    Ok(())
}

fn make_all(files: &[PathBuf], inside: fn()) -> Result<(), LabTrouble> {
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    namespace::make(&files, inside)
}

/// Every interface of every node, as `node/nic`.
fn nics(fleet: &Fleet) -> impl Iterator<Item = String> {
    fleet
        .nodes
        .iter()
        .flat_map(|node| (0..node.uplinks.len()).map(move |nic| format!("{}/{nic}", node.name)))
}

fn namespaces_in_words(fleet: &Fleet) -> String {
    format!("{} switches, {} interfaces of nodes", fleet.switches.len(), nics(fleet).count())
}

/// A switch forwards, and speaks only when it is told to.
fn switch_settings() {
    set("ipv4/ip_forward", "1");
    set("ipv6/conf/all/forwarding", "1");
    quiet();
}

fn workload_settings() {
    quiet();
}

fn quiet() {
    for place in ["all", "default"] {
        set(&format!("ipv4/conf/{place}/rp_filter"), "0");
        set(&format!("ipv6/conf/{place}/accept_ra"), "0");
        set(&format!("ipv6/conf/{place}/accept_dad"), "0");
    }
    // No address that nobody planned.
    set("ipv6/conf/default/addr_gen_mode", "1");
}

/// A kernel that lacks a setting does not need it.
fn set(setting: &str, value: &str) {
    let _ = fs::write(Path::new("/proc/sys/net").join(setting), value);
}
