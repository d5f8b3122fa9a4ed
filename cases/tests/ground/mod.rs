//! A fabric of real parts that holds whatever texts it is given, sound or not.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use apply::{Admitted, Linux, ManagedNode as _, NodeError};
use lab::Lab;
use model::{Artifact, DeviceId, Dialect, Fleet, Generation, Part, PartText};
use observe::{Place, Vrfs};

use crate::packets::Arena;

/// Longer than any round.
const LEASE: Duration = Duration::from_secs(600);
/// How long routes may take to come and go when a session has to be made again.
const SESSIONS: Duration = Duration::from_secs(4);
/// How long nothing may change before the routes count as settled.
const QUIET: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(25);

/// The fabric, and how often it was told something. It is gone when this is.
pub(crate) struct Ground {
    pub(crate) lab: Lab,
    number: usize,
    documents: String,
    generation: u64,
    rebuilt: usize,
}

impl Drop for Ground {
    fn drop(&mut self) {
        Lab::remove(self.lab.name()).unwrap();
    }
}

impl Ground {
    /// The switches and cables of these documents, on which nothing is held yet. Several of one
    /// process are told apart by their numbers.
    pub(crate) fn raise(number: usize, documents: &str) -> Self {
        let lab = raise(number, documents);
        Self { lab, number, documents: documents.to_owned(), generation: 0, rebuilt: 0 }
    }

    /// The same again from nothing, because a device did not find back from a text it refused.
    pub(crate) fn rebuild(&mut self, arena: &mut Arena) {
        Lab::remove(self.lab.name()).unwrap();
        self.lab = raise(self.number, &self.documents);
        self.generation = 0;
        self.rebuilt += 1;
        *arena = Arena::open(&self.lab);
    }

    /// How often it had to be built again.
    pub(crate) fn rebuilt(&self) -> usize {
        self.rebuilt
    }

    /// Makes every device hold these texts and opens its ports, or tells who would not and why.
    pub(crate) fn hold(&mut self, fleet: &Fleet, artifacts: &[Artifact]) -> Result<(), String> {
        self.generation += 1;
        self.mend(fleet, artifacts)
    }

    /// Makes every device hold the texts again that it was sent last.
    pub(crate) fn mend(&self, fleet: &Fleet, artifacts: &[Artifact]) -> Result<(), String> {
        let generation = Generation(self.generation);
        self.on_all(fleet, |node, device| {
            let own = artifacts.iter().filter(|artifact| artifact.device == device);
            let texts = own.map(|artifact| (artifact.dialect, artifact.text())).collect();
            let sent = Admitted::danger_unproved(generation, texts);
            node.hold(&sent, &mut |_| {}).map(drop)
        })?;
        self.on_all(fleet, |node, _| {
            node.renew(LEASE)?;
            node.start(generation)
        })?;
        Ok(())
    }

    /// What the devices say that they hold.
    pub(crate) fn observed(&self, fleet: &Fleet) -> Result<Vec<Artifact>, String> {
        let generation = Generation(self.generation);
        let held = self.on_all(fleet, |node, device| {
            let held = node.held()?.into_iter();
            Ok(held.map(|(dialect, text)| artifact(device, dialect, generation, text)).collect())
        })?;
        Ok(held.into_iter().flat_map(|of_one: Vec<Artifact>| of_one).collect())
    }

    /// Waits until sessions stand and what the devices learnt of each other stays as it is. A
    /// session that a text has cut never stands: then the time is used up.
    pub(crate) fn settle(&self, fleet: &Fleet) {
        let names: Vec<String> =
            fleet.devices().map(|device| fleet.device_name(device).to_string()).collect();
        let begin = Instant::now();
        let stands = |name: &String| {
            let (standing, wanted) = self.lab.sessions(name);
            standing == wanted
        };
        while begin.elapsed() < SESSIONS && !names.iter().all(stands) {
            thread::sleep(PAUSE);
        }
        let (mut learnt, mut since) = (self.learnt(&names), Instant::now());
        while since.elapsed() < QUIET && begin.elapsed() < 2 * SESSIONS {
            thread::sleep(PAUSE);
            let now = self.learnt(&names);
            if now != learnt {
                (learnt, since) = (now, Instant::now());
            }
        }
    }

    /// What the routing daemons know.
    fn learnt(&self, names: &[String]) -> Vec<String> {
        const QUESTIONS: [(&str, &str); 4] = [
            ("bgpd", "show bgp l2vpn evpn"),
            ("zebra", "show evpn mac vni all"),
            ("zebra", "show evpn arp-cache vni all"),
            ("zebra", "show evpn rmac vni all"),
        ];
        let mut learnt = Vec::new();
        for name in names {
            for (daemon, question) in QUESTIONS {
                learnt.push(self.lab.tell_frr(name, daemon, &[question]).unwrap_or_default());
            }
        }
        learnt
    }

    /// Does this on every device at once, each inside of its own namespaces.
    fn on_all<T: Send>(
        &self,
        fleet: &Fleet,
        work: impl Fn(&mut Linux, DeviceId) -> Result<T, NodeError> + Sync,
    ) -> Result<Vec<T>, String> {
        let work = &work;
        thread::scope(|scope| {
            let doing: Vec<_> = fleet
                .devices()
                .filter(|device| fleet.switch_at(*device).is_some())
                .map(|device| {
                    let name = fleet.device_name(device).to_string();
                    scope.spawn(move || {
                        let place = self.place(&name);
                        let done =
                            self.lab.run_in(&name, || work(&mut Linux::open(place)?, device));
                        done.unwrap().map_err(|error| format!("{name}: {error}"))
                    })
                })
                .collect();
            // All of them end, whatever becomes of the first.
            let done: Vec<_> = doing.into_iter().map(|one| one.join().unwrap()).collect();
            done.into_iter().collect()
        })
    }

    fn place(&self, device: &str) -> Place {
        Place {
            frr: self.lab.frr(device),
            filter: PathBuf::from("/sys/fs/bpf/oracle"),
            vrfs: Vrfs::Namespaces(PathBuf::from("/run/netns")),
            state: self.lab.own(device).join("state"),
        }
    }
}

fn raise(number: usize, documents: &str) -> Lab {
    let name = format!("oracle{}x{number}", std::process::id());
    let documents = [("documents.yaml", documents.to_owned())];
    Lab::raise(&name, &documents, &mut |_| {}).unwrap()
}

fn artifact(device: DeviceId, dialect: Dialect, generation: Generation, text: String) -> Artifact {
    Artifact { device, dialect, generation, parts: vec![PartText { part: Part::Whole, text }] }
}
