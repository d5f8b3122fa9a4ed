//! A lab that stands.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use control::{Journal, NoDraft, Request};
use intent::Source;
use model::Fleet;
use nix::sys::signal::Signal;
use plan::Plan;

use crate::folder::Folder;
use crate::force::now;
use crate::probe::Crowd;
use crate::process::{self, Process};
use crate::spec::Spec;
use crate::workload::Workload;
use crate::{LabTrouble, converged, frr, namespace, up};

/// A fabric on this machine.
#[derive(Clone, Debug)]
pub struct Lab {
    pub(crate) folder: Folder,
    /// The built `bulkhead`, which the agents are.
    pub(crate) program: PathBuf,
    crowd: Crowd,
}

impl Lab {
    /// Builds one, and tells each step before it is done. What was built is taken down again if a
    /// step fails.
    ///
    /// # Errors
    /// If a part does not come up, or somebody interrupts.
    pub fn up(spec: &Spec, progress: &mut dyn FnMut(&str)) -> Result<Self, LabTrouble> {
        up::up(spec, progress)
    }

    /// Builds the fabric of these documents and nothing more: every switch runs FRR, which holds
    /// nothing; there are no agents, and the workloads' interfaces are bare.
    ///
    /// # Errors
    /// As [`Lab::up`].
    pub fn raise(
        name: &str,
        documents: &[(&str, String)],
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, LabTrouble> {
        up::raise(name, documents, progress)
    }

    /// The one of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(name: &str) -> Result<Self, LabTrouble> {
        let folder = Folder::of(name)?;
        if !folder.path().exists() {
            return Err(LabTrouble::Missing(name.to_owned()));
        }
        let program = folder.path().join("program");
        let program = fs::read_link(&program).map_err(LabTrouble::file(program))?;
        let plan = planned(&folder)?;
        Ok(Self::over(folder, program, plan))
    }

    pub(crate) fn over(folder: Folder, program: PathBuf, plan: Plan) -> Self {
        Self { folder, program, crowd: Crowd::of(Arc::new(plan)) }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        self.folder.name()
    }

    /// The folder with its documents.
    #[must_use]
    pub fn documents(&self) -> PathBuf {
        self.folder.documents()
    }

    /// The folder with its log.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.folder.state()
    }

    /// The folder with its authority.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.folder.authority()
    }

    /// The folder where the routing daemons of a device listen.
    #[must_use]
    pub fn frr(&self, device: &str) -> PathBuf {
        self.folder.frr(device)
    }

    /// The folder of a device.
    #[must_use]
    pub fn own(&self, device: &str) -> PathBuf {
        self.folder.device(device)
    }

    /// What its devices should hold, as far as its log and documents say.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.crowd.plan()
    }

    /// Its switches, by name.
    #[must_use]
    pub fn devices(&self) -> Vec<String> {
        self.plan().fleet.switches.iter().map(|switch| switch.name.to_string()).collect()
    }

    /// The endpoints of its jobs.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        self.crowd.workloads()
    }

    /// The endpoints of its jobs, and who of them may reach whom.
    #[must_use]
    pub fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    /// Does this inside the namespaces of a device, or inside the network namespace of a
    /// workload.
    ///
    /// # Errors
    /// If there is no such device, or the work fails.
    pub fn run_in<T: Send>(
        &self,
        inhabitant: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, LabTrouble> {
        let work = || Ok(work());
        match self.holder(inhabitant) {
            Some(holder) => namespace::beside(holder.id, work),
            None => namespace::within(&self.namespace_of(inhabitant)?, work),
        }
    }

    /// Where the network namespace of a device or workload is.
    ///
    /// # Errors
    /// If there is none.
    pub fn namespace_of(&self, inhabitant: &str) -> Result<PathBuf, LabTrouble> {
        let path = self.folder.namespace_path(inhabitant);
        if path.exists() {
            return Ok(path);
        }
        let mut known = self.devices();
        known.extend(self.workloads().iter().map(|workload| workload.name.clone()));
        Err(LabTrouble::Unknown { wanted: inhabitant.to_owned(), known: known.join(", ") })
    }

    /// Says lines to a routing daemon of a device, as its configuration terminal takes them.
    ///
    /// # Errors
    /// If it does not answer or refuses one.
    pub fn tell_frr(
        &self,
        device: &str,
        daemon: &str,
        lines: &[&str],
    ) -> Result<String, LabTrouble> {
        frr::say(&self.folder, device, daemon, lines)
    }

    /// Sets the interfaces of all workloads up as the plan says, whatever they were before.
    ///
    /// # Errors
    /// If one does not take it.
    pub fn dress(&self) -> Result<(), LabTrouble> {
        up::dress(&self.folder, self.workloads())
    }

    /// How many BGP sessions of a device stand, and how many cables it has for them.
    #[must_use]
    pub fn sessions(&self, device: &str) -> (usize, usize) {
        let sessions = converged::sessions(&self.folder, device);
        let standing = sessions.iter().filter(|(_, stands)| *stands).count();
        (standing, converged::wanted(&self.plan().fleet, device))
    }

    /// What runs on a device of all that was started there.
    #[must_use]
    pub fn running(&self, device: &str) -> Vec<String> {
        let alive = Process::alive(&self.folder.processes());
        alive.into_iter().filter(|one| one.device == device).map(|one| one.role).collect()
    }

    /// Starts the agent of a device again, and waits until it listens; says whether it was away.
    ///
    /// # Errors
    /// If there is no such device, or the agent does not start.
    pub fn start_agent(&self, device: &str) -> Result<bool, LabTrouble> {
        if self.holder(device).is_none() {
            let known = self.devices().join(", ");
            return Err(LabTrouble::Unknown { wanted: device.to_owned(), known });
        }
        if self.process(device, "agent").is_some() {
            return Ok(false);
        }
        up::start_agent(&self.folder, &self.program, device)?;
        let socket = self.folder.socket(device);
        up::wait("the start of the agent", || (!socket.exists()).then(|| device.to_owned()))?;
        Ok(true)
    }

    /// Ends its processes and takes all of it away.
    ///
    /// # Errors
    /// If something stays.
    pub fn down(self) -> Result<(), LabTrouble> {
        remove(&self.folder)
    }

    /// Takes away whatever there is of a lab of this name, also after a crash; says whether there
    /// was anything.
    ///
    /// # Errors
    /// If something stays.
    pub fn remove(name: &str) -> Result<bool, LabTrouble> {
        let folder = Folder::of(name)?;
        let was = folder.path().exists() || !folder.namespaces().is_empty();
        remove(&folder)?;
        Ok(was)
    }

    /// The process of this role on a device.
    pub(crate) fn process(&self, device: &str, role: &str) -> Option<Process> {
        let alive = Process::alive(&self.folder.processes());
        alive.into_iter().rfind(|process| process.device == device && process.role == role)
    }

    pub(crate) fn kill(&self, device: &str, role: &str, signal: Signal) -> Result<(), LabTrouble> {
        let process = self.process(device, role).ok_or_else(|| LabTrouble::Unknown {
            wanted: format!("{role} on {device}"),
            known: self.devices().join(", "),
        })?;
        process.signal(signal);
        up::wait("the end of a process", || {
            process.is_alive().then(|| format!("{role} of {device}"))
        })
    }

    /// Who keeps the namespaces of a device, if it is one.
    pub(crate) fn holder(&self, device: &str) -> Option<Process> {
        self.process(device, "holder")
    }
}

/// The plan in force; before anything was asked for, the one that the documents will lead to.
pub(crate) fn planned(folder: &Folder) -> Result<Plan, LabTrouble> {
    let journal = Journal::open(store::Folder::open(folder.state())?)?;
    let draft = match journal.in_force(now()) {
        Err(NoDraft::Nothing) => journal.draft(&request(folder)?, now())?,
        draft => draft?,
    };
    Ok(draft.next.plan)
}

/// The lab's own documents.
pub(crate) fn request(folder: &Folder) -> Result<Request, LabTrouble> {
    let documents = folder.documents();
    let entries = fs::read_dir(&documents).map_err(LabTrouble::file(&documents))?;
    let mut papers = Vec::new();
    for entry in entries.flatten() {
        let text = fs::read_to_string(entry.path()).map_err(LabTrouble::file(entry.path()))?;
        papers.push((entry.path().display().to_string(), text));
    }
    papers.sort();
    let sources: Vec<Source<'_>> =
        papers.iter().map(|(file, text)| Source { file, text }).collect();
    Ok(Request::put(&sources))
}

/// Processes first: what they hold ends with them.
pub(crate) fn remove(folder: &Folder) -> Result<(), LabTrouble> {
    let namespaces = folder.namespaces();
    process::end(&Process::alive(&folder.processes()));
    process::end(&Process::inside(&namespaces));
    for file in &namespaces {
        namespace::remove(file)?;
    }
    let path = folder.path();
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(LabTrouble::File { path, source: error })
        }
        _ => Ok(()),
    }
}

/// The switches of a fleet and their places in it.
pub(crate) fn switches(fleet: &Fleet) -> impl Iterator<Item = (usize, &str)> {
    fleet.switches.iter().map(|switch| switch.name.as_str()).enumerate()
}
