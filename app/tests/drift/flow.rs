//! The traffic of a running job: numbered datagrams from one workload to another, all the time.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use lab::Lab;

use crate::attack::at;
use crate::standing::{Standing, until};

const PAUSE: Duration = Duration::from_millis(5);
const PORT: u16 = 7000;

pub(crate) struct Flow {
    is_over: Arc<AtomicBool>,
    /// How many were sent: each carries its number.
    sent: Arc<AtomicU64>,
    /// The numbers of those that arrived.
    arrived: Arc<Mutex<Vec<u64>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Flow {
    /// Between two of one job.
    pub(crate) fn begin(lab: &Standing, from: &str, to: &str) -> Self {
        Self::between(lab, (from, 0), (to, PORT))
    }

    /// From a service to a job that may ask it.
    pub(crate) fn answers(lab: &Standing, (from, service): (&str, u16), to: &str) -> Self {
        Self::between(lab, (from, service), (to, PORT))
    }

    fn between(lab: &Standing, (from, own): (&str, u16), (to, port): (&str, u16)) -> Self {
        let (from, to) = (lab.workload(from), lab.workload(to));
        let mouth = socket(lab, &from.name, own);
        let ear = socket(lab, &to.name, port);
        ear.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (sent, arrived) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let speaking = thread::spawn({
            let (is_over, sent, to) = (is_over.clone(), sent.clone(), to.address);
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    let number = sent.fetch_add(1, Ordering::Relaxed) + 1;
                    // A host whose neighbours do not answer is told so; it goes on.
                    let _ = mouth.send_to(&number.to_be_bytes(), (to, port));
                    sleep(PAUSE);
                }
            }
        });
        let hearing = thread::spawn({
            let (is_over, arrived) = (is_over.clone(), arrived.clone());
            move || {
                let mut datagram = [0; 8];
                while !is_over.load(Ordering::Relaxed) {
                    if ear.recv(&mut datagram).is_ok() {
                        arrived.lock().unwrap().push(u64::from_be_bytes(datagram));
                    }
                }
            }
        });
        Self { is_over, sent, arrived, threads: vec![speaking, hearing] }
    }

    /// Waits until what is sent from now on arrives.
    pub(crate) fn passes(&self) {
        let now = self.sent();
        until("the traffic of a job passes", || self.last() > now + 5);
    }

    /// Waits until nothing arrives any more.
    pub(crate) fn stops(&self) {
        /// So many in a row are lost.
        const MANY: u64 = 100;
        until("the traffic of a job stops", || self.sent() > self.last() + MANY);
    }

    /// How many were sent during this, and how many of these were lost.
    pub(crate) fn during(&self, meanwhile: impl FnOnce()) -> (u64, u64) {
        let before = self.sent();
        meanwhile();
        let after = self.sent();
        // The last ones may be under way.
        until("the last datagram", || self.last() > after);
        let sent = before + 1..=after;
        let arrived = self.arrived.lock().unwrap();
        let arrived = arrived.iter().filter(|number| sent.contains(number)).count() as u64;
        (after - before, after - before - arrived)
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn last(&self) -> u64 {
        self.arrived.lock().unwrap().last().copied().unwrap_or(0)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn socket(lab: &Lab, name: &str, port: u16) -> UdpSocket {
    at(lab, name, || UdpSocket::bind(("0.0.0.0", port)).unwrap())
}
