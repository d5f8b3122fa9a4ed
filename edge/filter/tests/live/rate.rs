//! A tenant that offers more than it may send sends exactly what it may.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use aya::programs::{SchedClassifier, TestRun as _, TestRunOptions};
use filter::{Settings, interface_index};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use wire::forge::ForgedPacket;

use crate::lab::{Enough, HEAD, Host, LONG, Namespace, address, alone, endpoint, mac, now_ns};
use crate::socket::Socket;

const MBPS: f64 = 1e6;
const GBPS: f64 = 1e9;
const WARM_UP: Duration = Duration::from_millis(200);
const MEASURED: Duration = Duration::from_millis(1050);
/// How far a rate may be off.
const EXACT: f64 = 0.01;
/// A sender that did not run for longer than this offered nothing meanwhile, and the bucket, which
/// holds a millisecond, forgot what it might have sent.
const SILENCE_NS: u64 = 500_000;
/// The machine is shared with others.
const TRIES: usize = 3;
/// How often the counters are read until one reading is quick.
const READINGS: usize = 20;

#[test]
fn real_frames_pass_at_the_ceiling() {
    let Some(_alone) = alone() else { return };
    let _first = First::new();
    for (ceiling_bps, senders) in
        [(10.0 * MBPS, 1), (10.0 * MBPS, 2), (100.0 * MBPS, 2), (GBPS, 1), (GBPS, 2)]
    {
        check(Way::Cable, OF_TENANT, ceiling_bps, senders);
    }
}

#[test]
fn up_to_the_machines_limit_frames_pass_at_the_ceiling() {
    let Some(_alone) = alone() else { return };
    let _first = First::new();
    for (ceiling_bps, senders) in
        [(5.0 * GBPS, 1), (5.0 * GBPS, 2), (25.0 * GBPS, 2), (100.0 * GBPS, 2)]
    {
        check(Way::Program, OF_TENANT, ceiling_bps, senders);
    }
}

#[test]
fn a_job_has_a_ceiling_of_its_own() {
    let Some(_alone) = alone() else { return };
    let _first = First::new();
    check(Way::Cable, OF_JOB, 50.0 * MBPS, 2);
    // The lower of the two holds.
    let lower = format!("rate t17 guarantee 0 ceiling {}\n{OF_JOB}", GBPS);
    check(Way::Cable, &lower, 200.0 * MBPS, 2);
}

const OF_TENANT: &str = "rate t17 guarantee 0 ceiling";
const OF_JOB: &str = "job t17 1017 class lossless ceiling";

/// Senders of one tenant, each on a CPU of its own, together pass at the ceiling of this line.
fn check(way: Way, line: &str, ceiling_bps: f64, senders: u8) {
    let street = Street::new(&[(17, senders)], &format!("{line} {ceiling_bps}\n"), 0);
    street.check(way, ceiling_bps);
}

#[test]
fn a_ceiling_that_was_raised_is_the_ceiling_at_once() {
    let Some(_alone) = alone() else { return };
    let _first = First::new();
    for line in [OF_TENANT, OF_JOB] {
        // One frame at eight bits a second is paid for in minutes.
        let mut street = Street::new(&[(17, 2)], &format!("{line} 8\n"), 0);
        street.measure(Way::Cable);
        street.promise(&format!("{line} {}\n", 100.0 * MBPS));
        street.check(Way::Cable, 100.0 * MBPS);
    }
}

#[test]
fn a_guarantee_holds_while_another_tenant_floods_the_link() {
    let Some(_alone) = alone() else { return };
    let _first = First::new();
    // Two that flood alike share alike: without a guarantee it would be a half.
    let (link_bps, guarantee_bps) = (GBPS, 800.0 * MBPS);
    let rate = format!("rate t17 guarantee {guarantee_bps} ceiling {link_bps}\n");
    let street = Street::new(&[(17, 1), (18, 1)], &rate, link_bps as u64);
    let said = street.measured(Way::Cable, |passed| {
        let [guaranteed, other] = passed.bps;
        let (mine, all) = (guaranteed / guarantee_bps, (guaranteed + other) / link_bps);
        passed.judged(mine, all <= 1.0 + EXACT, format!("{mine:.4} of it, {all:.4} of the link"))
    });
    eprintln!("guaranteed {guarantee_bps:e} bit/s: {said}");
}

/// How frames get to the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// Sent by a workload through its cable.
    Cable,
    /// Given to the program by hand, faster than any cable here.
    Program,
}

/// A host whose workloads send to peers elsewhere; a frame that passes leads nowhere.
struct Street {
    host: Host,
    workloads: Vec<Namespace>,
    /// The policy, without rates.
    policy: String,
}

/// What was seen between two instants.
struct Passed {
    /// Of the first tenant and the second.
    bps: [f64; 2],
    offered_bps: f64,
    /// Which part of the time no sender ran.
    silent: f64,
}

/// What a measurement shows.
enum Said {
    Exact(String),
    /// As exact as can be while the senders did not run.
    Busy(String),
    /// Too little was offered.
    TooFew(String),
    Wrong(String),
}

impl Passed {
    /// `ratio` must be 1 at least, and less only as far as no sender ran.
    fn judged(&self, ratio: f64, not_more: bool, said: String) -> Said {
        match ratio {
            _ if !not_more => Said::Wrong(said),
            _ if ratio >= 1.0 - EXACT => Said::Exact(said),
            _ if ratio >= (1.0 - self.silent) * (1.0 - EXACT) => {
                Said::Busy(format!("{said} (senders did not run for {:.4})", self.silent))
            }
            _ => Said::Wrong(said),
        }
    }
}

impl Street {
    /// So many senders of each of these tenants.
    fn new(tenants: &[(u8, u8)], rate: &str, link_bps: u64) -> Self {
        let mut host = Host::new(&Settings { link_bps, ..Settings::default() });
        host.kernel.renew(LONG).unwrap();
        let mut policy = [HEAD, "space t18 vni 50018\n"].concat();
        let mut workloads = Vec::new();
        let senders = tenants.iter().flat_map(|(tenant, count)| vec![*tenant; *count as usize]);
        for (number, tenant) in (2..).zip(senders) {
            let workload = host.lone_workload(number);
            policy +=
                &endpoint(number, 1000 + u16::from(tenant)).replace("t17", &format!("t{tenant}"));
            workloads.push(workload);
        }
        for (tenant, _) in tenants {
            policy += &format!(
                "peers t{tenant} 10.1.0.99-10.1.0.99 vtep 10.255.0.4 tag {}\n",
                1000 + u16::from(*tenant)
            );
        }
        let mut street = Self { host, workloads, policy };
        street.promise(rate);
        street
    }

    fn promise(&mut self, rate: &str) {
        self.host.put(&[self.policy.as_str(), rate].concat());
    }

    /// Its senders together pass at this ceiling.
    fn check(&self, way: Way, ceiling_bps: f64) {
        let said = self.measured(way, |passed| {
            if passed.offered_bps < 2.0 * ceiling_bps {
                return Said::TooFew(format!("not tested: only {:e} offered", passed.offered_bps));
            }
            let ratio = passed.bps[0] / ceiling_bps;
            passed.judged(ratio, ratio <= 1.0 + EXACT, format!("{ratio:.4}"))
        });
        assert!(way == Way::Program || !said.starts_with("not tested"), "{said}");
        eprintln!("{ceiling_bps:e} bit/s from {} CPUs: {said}", self.workloads.len());
    }

    /// The first measurement that is exact, or else the best there is.
    fn measured(&self, way: Way, judged: impl Fn(&Passed) -> Said) -> String {
        let [mut excuses, mut complaints] = [Vec::new(), Vec::new()];
        for _ in 0..TRIES {
            match judged(&self.measure(way)) {
                Said::Exact(said) => return said,
                Said::Busy(said) | Said::TooFew(said) => excuses.push(said),
                Said::Wrong(said) => complaints.push(said),
            }
        }
        excuses.pop().unwrap_or_else(|| panic!("{complaints:?}"))
    }

    fn measure(&self, way: Way) -> Passed {
        let senders: Vec<Sender> = self.workloads.iter().map(|_| Sender::default()).collect();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for (cpu, sender) in senders.iter().enumerate() {
                let stop = &stop;
                scope.spawn(move || {
                    pin(cpu);
                    match way {
                        Way::Cable => sender.send(&self.workloads[cpu], cpu as u8 + 2, stop),
                        Way::Program => sender.run(&self.host, cpu as u8 + 2, stop),
                    }
                });
            }
            let _stop = Enough(&stop);
            thread::sleep(WARM_UP);
            let before = self.instant(&senders);
            thread::sleep(MEASURED);
            self.instant(&senders).since(&before)
        })
    }

    /// Where the counters are at an instant: the first quick reading, or the quickest of some.
    fn instant(&self, senders: &[Sender]) -> Instant {
        let mut best = self.reading(senders);
        for _ in 1..READINGS {
            if best.took_ns < SILENCE_NS {
                break;
            }
            let next = self.reading(senders);
            if next.took_ns < best.took_ns {
                best = next;
            }
        }
        best
    }

    fn reading(&self, senders: &[Sender]) -> Instant {
        let time_ns = now_ns();
        let jobs = self.host.kernel.traffic().unwrap();
        let offered = senders.iter().map(|sender| sender.offered.load(Ordering::Relaxed)).sum();
        let silent = senders.iter().map(|sender| sender.silent_ns.load(Ordering::Relaxed));
        let silent_ns = silent.min().unwrap_or(0);
        let took_ns = now_ns() - time_ns;
        let sent = [17, 18].map(|tenant| {
            jobs.values().filter(|job| job.tenant == tenant).map(|job| job.sent.bytes).sum()
        });
        Instant { time_ns, took_ns, sent, offered, silent_ns }
    }
}

struct Instant {
    time_ns: u64,
    took_ns: u64,
    /// What the filter let the workloads of either tenant send, in bytes.
    sent: [u64; 2],
    offered: u64,
    silent_ns: u64,
}

impl Instant {
    fn since(&self, before: &Self) -> Passed {
        let seconds = (self.time_ns - before.time_ns) as f64 / 1e9;
        let bps = |after: u64, before: u64| (after - before) as f64 * 8.0 / seconds;
        let silent_ns = self.silent_ns.saturating_sub(before.silent_ns);
        Passed {
            bps: [bps(self.sent[0], before.sent[0]), bps(self.sent[1], before.sent[1])],
            offered_bps: bps(self.offered, before.offered),
            silent: silent_ns as f64 / 1e9 / seconds,
        }
    }
}

#[derive(Default)]
struct Sender {
    offered: AtomicU64,
    silent_ns: AtomicU64,
}

impl Sender {
    fn send(&self, workload: &Namespace, number: u8, stop: &AtomicBool) {
        let socket = Socket::on(workload, "eth0");
        let frame = frame(number, 1400);
        self.offer(stop, frame.len(), || {
            socket.send(&frame);
        });
    }

    fn run(&self, host: &Host, number: u8, stop: &AtomicBool) {
        const REPEAT: u32 = 100;
        let place: &Path = host.kernel.place();
        let program = SchedClassifier::from_pin(place.join("workload")).unwrap();
        let frame = frame(number, 3000);
        let mut context = [0_u8; 192];
        host.inside.run(|| {
            let interface = interface_index(&format!("swp{number}")).unwrap();
            context[40..44].copy_from_slice(&interface.to_ne_bytes());
            self.offer(stop, frame.len() * REPEAT as usize, || {
                let options = TestRunOptions {
                    data_in: Some(&frame),
                    ctx_in: Some(&context),
                    repeat: REPEAT,
                    ..TestRunOptions::default()
                };
                program.test_run(options).unwrap();
            });
        });
    }

    /// Offers as much as it can, and notes when it did not run.
    fn offer(&self, stop: &AtomicBool, bytes: usize, once: impl Fn()) {
        let mut last_ns = now_ns();
        while !stop.load(Ordering::Relaxed) {
            once();
            self.offered.fetch_add(bytes as u64, Ordering::Relaxed);
            let this_ns = now_ns();
            if this_ns - last_ns > SILENCE_NS {
                self.silent_ns.fetch_add(this_ns - last_ns, Ordering::Relaxed);
            }
            last_ns = this_ns;
        }
    }
}

fn frame(number: u8, len: usize) -> Vec<u8> {
    ForgedPacket::udp(address(number), address(99), 5000, 5001, len - 28)
        .ethernet(mac(number), mac(99))
        .into_bytes()
}

/// The calling thread runs on this CPU.
fn pin(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
}

/// As long as it lives, this session runs before others: a sender that does not run offers nothing.
struct First;

impl First {
    fn new() -> Self {
        Self::say("-19");
        Self
    }

    /// A kernel without groups of sessions shares alike, and the measurement says how busy it was.
    fn say(nice: &str) {
        let _ = fs::write("/proc/self/autogroup", nice);
    }
}

impl Drop for First {
    fn drop(&mut self) {
        Self::say("0");
    }
}
