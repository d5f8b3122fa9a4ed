//! Whoever holds the lease dies or stops at any point: what may flow does so to the lease's end,
//! then the gate closes, and nothing else ever opens.

use std::env;
use std::ffi::OsStr;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use filter::{Kernel, Limits, Settings};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::lab::{
    Enough, HEAD, Host, Namespace, alone, endpoint, interface, next_generation, now_ns, times,
    until,
};
use crate::mark::{self, Seen};
use crate::socket::Socket;

const LEASE: Duration = Duration::from_millis(150);
const EVERY: Duration = Duration::from_millis(25);
/// What the promise allows after the lease's end.
const LATE_NS: u64 = 100_000_000;
/// How long a frame may lie between two queues of this machine.
const QUEUED_NS: u64 = 50_000_000;
const ROUNDS: usize = 50;

const ALLOWED: u64 = 1;
const FORBIDDEN: u64 = 2;

/// Two jobs; the second text has a tenant more, so that it is another policy.
fn policies() -> [String; 2] {
    let text = [HEAD, &endpoint(2, 1001), &endpoint(3, 1001), &endpoint(4, 1002)].concat();
    [text.clone(), text + "space t18 vni 50018\n"]
}

#[test]
fn a_holder_killed_or_stopped_at_any_point_leaves_a_gate_that_closes_with_its_lease() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::new(&Settings { block_bytes: 1 << 16, ..Settings::default() });
    let [sender, friend, stranger] = [2, 3, 4].map(|number| host.workload(number));
    host.put(&policies()[0]);
    let traffic = Traffic::default();
    let worst = thread::scope(|scope| {
        let _enough = Enough(&traffic.enough);
        scope.spawn(|| traffic.send(&sender));
        scope.spawn(|| traffic.receive(&friend));
        let stranger = scope.spawn(|| mark::collect(&stranger, "eth0", &traffic.enough));
        let rounds = (0..times(ROUNDS)).map(|round| one_round(&host, &traffic, round));
        let worst = rounds.max();
        traffic.enough.store(true, Ordering::SeqCst);
        let opened = stranger.join().unwrap();
        assert!(opened.is_empty(), "another job's endpoint received {:?}", opened[0]);
        worst
    });
    eprintln!("the gate was open {} us after the lease's end at most", worst.unwrap() / 1000);
}

/// Starts a holder, lets it be killed or stopped somewhere, and looks at what comes after. Gives
/// how long after the lease's end the gate was seen open.
fn one_round(host: &Host, traffic: &Traffic, round: usize) -> u64 {
    let kernel = &host.kernel;
    let mut holder = Holder::start(host);
    until("the holder does not open the gate", || kernel.gate().unwrap().open);
    thread::sleep(Duration::from_micros(holder_luck(round)));
    let stops = round % 2 == 1;
    if stops {
        holder.stop();
    } else {
        holder.kill();
    }

    // Nobody can renew it any more.
    let until_ns = kernel.gate().unwrap().until_ns;
    let mut open_ns = until_ns;
    until("the gate stays open without a holder", || {
        let asked_ns = now_ns();
        let open = kernel.gate().unwrap().open;
        if open {
            open_ns = open_ns.max(asked_ns);
        }
        !open
    });
    assert!(now_ns() >= until_ns, "the gate closed before the lease's end");
    let late_ns = open_ns - until_ns;
    assert!(late_ns <= LATE_NS, "the gate was open {late_ns} ns after the lease's end");
    traffic.flowed(until_ns);

    if stops {
        holder.go_on();
        until("the holder goes on and the gate stays closed", || kernel.gate().unwrap().open);
        traffic.flows_again();
        holder.kill();
    }
    kernel.close().unwrap();
    late_ns
}

/// Microseconds until the end comes: every part of the holder's round is met.
fn holder_luck(round: usize) -> u64 {
    (round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xffff
}

#[test]
fn a_holder_that_lives_keeps_it_flowing() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::new(&Settings { block_bytes: 1 << 16, ..Settings::default() });
    let [sender, friend] = [2, 3].map(|number| host.workload(number));
    let _stranger = host.workload(4);
    host.put(&policies()[0]);
    let holder = Holder::start(&host);
    until("the holder does not open the gate", || host.kernel.gate().unwrap().open);
    let lapses = host.kernel.gate().unwrap().lapses;
    let [from, to] = [Socket::on(&sender, "eth0"), Socket::on(&friend, "eth0")];
    let mut frame = mark::bridged(2, 3);
    let begin = Instant::now();
    // Ten leases, one after the other, while policies come and go.
    while begin.elapsed() < LEASE * 10 {
        mark::send(&from, &mut frame, ALLOWED);
        let seen = mark::next(&to, Duration::from_secs(2));
        let lapsed = host.kernel.gate().unwrap().lapses > lapses;
        assert!(seen.is_some() || lapsed, "a frame was lost while the lease was held");
        thread::sleep(Duration::from_millis(1));
    }
    drop(holder);
}

#[test]
fn without_a_controller_allowed_traffic_flows_to_the_end_of_the_lease() {
    let Some(_alone) = alone() else { return };
    let mut host = Host::new(&Settings { block_bytes: 1 << 16, ..Settings::default() });
    let [sender, friend] = [2, 3].map(|number| host.workload(number));
    let _stranger = host.workload(4);
    host.put(&policies()[0]);
    let [from, to] = [Socket::on(&sender, "eth0"), Socket::on(&friend, "eth0")];
    let mut frame = mark::bridged(2, 3);
    mark::send(&from, &mut frame, ALLOWED);
    assert!(mark::next(&to, Duration::from_millis(50)).is_none(), "open without a lease");
    host.kernel.renew(Duration::from_secs(1)).unwrap();
    let until_ns = host.kernel.gate().unwrap().until_ns;
    let mut sent = 0;
    while now_ns() + QUEUED_NS < until_ns {
        mark::send(&from, &mut frame, ALLOWED);
        let seen = mark::next(&to, Duration::from_secs(2));
        assert!(seen.is_some(), "a frame was lost within the lease");
        sent += 1;
    }
    assert!(sent > 10, "only {sent} frames were sent within the lease");
    until("the gate stays open", || !host.kernel.gate().unwrap().open);
    mark::send(&from, &mut frame, ALLOWED);
    assert!(mark::next(&to, Duration::from_millis(50)).is_none(), "open after the lease");
}

/// One workload sends to its own job and to another one, all the time.
#[derive(Default)]
struct Traffic {
    enough: AtomicBool,
    sent_ns: Mutex<Vec<u64>>,
    seen: Mutex<Vec<Seen>>,
}

impl Traffic {
    fn send(&self, from: &Namespace) {
        let socket = Socket::on(from, "eth0");
        let [mut allowed, mut forbidden] = [mark::bridged(2, 3), mark::bridged(2, 4)];
        while !self.enough.load(Ordering::SeqCst) {
            mark::send(&socket, &mut forbidden, FORBIDDEN);
            let sent_ns = mark::send(&socket, &mut allowed, ALLOWED);
            self.sent_ns.lock().unwrap().push(sent_ns);
            thread::sleep(Duration::from_micros(300));
        }
    }

    fn receive(&self, at: &Namespace) {
        let socket = Socket::on(at, "eth0");
        while !self.enough.load(Ordering::SeqCst) {
            if let Some(seen) = mark::next(&socket, Duration::from_millis(5)) {
                self.seen.lock().unwrap().push(seen);
            }
        }
    }

    /// What was sent until shortly before the lease's end arrived, and nothing that was sent when
    /// the promise was over.
    fn flowed(&self, until_ns: u64) {
        let sent_ns = self.sent_ns.lock().unwrap();
        let in_time = sent_ns.iter().rfind(|sent_ns| **sent_ns + QUEUED_NS < until_ns).copied();
        drop(sent_ns);
        let in_time = in_time.expect("nothing was sent within the lease");
        until("the last frame within the lease is lost", || {
            self.seen.lock().unwrap().iter().any(|seen| seen.sent_ns == in_time)
        });
        let seen = self.seen.lock().unwrap();
        let late = seen.iter().find(|seen| seen.sent_ns > until_ns + LATE_NS);
        assert!(late.is_none(), "{late:?} passed after the lease's end at {until_ns}");
    }

    fn flows_again(&self) {
        let begin_ns = now_ns();
        until("the gate is open and nothing flows", || {
            self.seen.lock().unwrap().iter().any(|seen| seen.sent_ns > begin_ns)
        });
    }
}

/// A process that renews the lease and puts one policy after the other.
struct Holder(Child);

impl Holder {
    fn start(host: &Host) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "lease::holds_the_lease_until_it_dies", "--ignored"])
            .env(PLACE, host.kernel.place())
            .stdout(Stdio::null());
        Self(host.inside.run(|| command.spawn().unwrap()))
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn stop(&self) {
        kill(self.pid(), Signal::SIGSTOP).unwrap();
        waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
    }

    fn go_on(&self) {
        kill(self.pid(), Signal::SIGCONT).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const PLACE: &str = "HOLDS_THE_LEASE_OF";

#[test]
#[ignore = "the other tests of the lease run it in a process of its own"]
fn holds_the_lease_until_it_dies() {
    let Some(place) = env::var_os(PLACE) else { return };
    hold(&place);
}

fn hold(place: &OsStr) {
    let parent = parent_id();
    let mut kernel = Kernel::open(Path::new(place)).unwrap();
    let mut texts = policies().into_iter().cycle();
    while parent_id() == parent {
        kernel.renew(LEASE).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < EVERY {
            let generation = next_generation(&kernel);
            let text = texts.next().unwrap();
            kernel.put(&text, generation, &interface, &Limits::default()).unwrap();
        }
    }
}
