//! Attackers: every workload tries all the time to reach all that it must not, and everything that
//! arrives anywhere is counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use lab::{Lab, Workload};
use model::JobName;
use wire::Mac;
use wire::forge::{ForgedFrame, ForgedPacket, SYN};

use crate::socket::{Ear, Mouth, mark, sender};

/// So many frames leave at once, so often: each pair has its turn several times a second.
const AT_ONCE: usize = 48;
const PAUSE: Duration = Duration::from_millis(5);
/// The gateway's, everywhere.
const GATEWAY: Mac = Mac([2, 0, 0, 0, 0, 1]);
/// A port that no permit of a lab names, and one that people like to open.
const CONTROL: u16 = 4000;
const SHELL: u16 = 22;

/// Frames that arrived: from whose job, at whose.
pub(crate) type Arrived = BTreeMap<(JobName, JobName), u64>;

pub(crate) struct Attack {
    is_over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    arrived: Arc<Mutex<Arrived>>,
    threads: Vec<JoinHandle<()>>,
}

impl Attack {
    /// Begins, with all workloads of a lab.
    pub(crate) fn begin(lab: &Lab) -> Self {
        let mut attack = Self::listen(lab);
        let frames: Vec<(Mouth, Vec<Vec<u8>>)> = (0..)
            .zip(lab.workloads())
            .map(|(place, own)| {
                (at(lab, &own.name, || Mouth::open("eth0")), tries(lab, place, own))
            })
            .collect();
        let (is_over, sent) = (attack.is_over.clone(), attack.sent.clone());
        attack.threads.push(thread::spawn(move || {
            let all: Vec<(&Mouth, &[u8])> = interleaved(&frames);
            for few in all.chunks(AT_ONCE).cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let left = few.iter().filter(|(mouth, frame)| mouth.say(frame)).count();
                sent.fetch_add(left as u64, Ordering::Relaxed);
                sleep(PAUSE);
            }
        }));
        attack
    }

    /// Only listens at all workloads of a lab.
    pub(crate) fn listen(lab: &Lab) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let arrived = Arc::new(Mutex::new(Arrived::new()));
        let jobs: Vec<JobName> = lab.workloads().iter().map(|one| one.job.clone()).collect();
        let ears: Vec<Ear> =
            lab.workloads().iter().map(|one| at(lab, &one.name, || Ear::open("eth0"))).collect();
        let (over, heard) = (is_over.clone(), arrived.clone());
        let listener = thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (place, ear) in ears.iter().enumerate() {
                    ear.hear(|frame| {
                        // A packet socket also hears what leaves.
                        if let Some(from) = sender(frame).filter(|&from| from != place) {
                            let pair = (jobs[from].clone(), jobs[place].clone());
                            *heard.lock().unwrap().entry(pair).or_default() += 1;
                        }
                    });
                }
                sleep(Duration::from_millis(2));
            }
        });
        Self { is_over, sent: Arc::default(), arrived, threads: vec![listener] }
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// What arrived where it must not, since the beginning.
    pub(crate) fn forbidden(&self) -> Arrived {
        let arrived = self.arrived.lock().unwrap();
        arrived
            .iter()
            .filter(|((from, to), _)| from != to)
            .map(|(pair, n)| (pair.clone(), *n))
            .collect()
    }

    /// How many arrived anywhere, since the beginning.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived.lock().unwrap().values().sum()
    }

    /// How many arrived where they may: tenants have the same addresses, so some do.
    pub(crate) fn allowed(&self) -> u64 {
        let arrived = self.arrived.lock().unwrap();
        arrived.iter().filter(|((from, to), _)| from == to).map(|(_, count)| count).sum()
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Everything one tries: to each workload of another job, through the gateway and past it.
fn tries(lab: &Lab, place: usize, own: &Workload) -> Vec<Vec<u8>> {
    let others = lab.workloads().iter().filter(|other| other.job != own.job);
    let frames = others.flat_map(|other| {
        let udp = || ForgedPacket::udp(own.address, other.address, CONTROL, CONTROL, 32);
        let tcp = ForgedPacket::tcp(own.address, other.address, CONTROL, SHELL, SYN, 32);
        let twin = ForgedPacket::udp(own.twin, other.twin, CONTROL, CONTROL, 32);
        [(udp(), GATEWAY), (udp(), other.mac), (tcp, GATEWAY), (twin, GATEWAY)]
    });
    let frames = frames.map(|(packet, to)| packet.ethernet(own.mac, to));
    frames.map(ForgedFrame::into_bytes).map(|frame| mark(frame, place)).collect()
}

/// One of each in turn, so that nobody waits for the others to be done.
fn interleaved(frames: &[(Mouth, Vec<Vec<u8>>)]) -> Vec<(&Mouth, &[u8])> {
    let longest = frames.iter().map(|(_, own)| own.len()).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| {
        frames.iter().filter_map(move |(mouth, own)| Some((mouth, own.get(turn)?.as_slice())))
    });
    turns.collect()
}

pub(crate) fn at<T: Send>(lab: &Lab, inhabitant: &str, work: impl FnOnce() -> T + Send) -> T {
    lab.run_in(inhabitant, work).unwrap()
}
