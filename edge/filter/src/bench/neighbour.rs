//! What a tenant notices of another one that floods through the same uplink.

use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aya::programs::{SchedClassifier, TcAttachType, Xdp, XdpMode};
use model::{Generation, Port};
use wire::Tables;

use super::bed::{Bed, Setup, cpu_ns};
use super::lab::{Namespace, flood, run, send, stay_far, stay_near};
use super::{BenchPart, BenchReport, BenchRow, Bound, Sample, Unit};
use crate::kernel::{file, program};
use crate::{Fault, Limits, PutError, Settings, interface_index};

/// The loud tenant is t1 and the quiet one t2. What the quiet one may send is guaranteed, and not
/// more, so that its rate is known exactly; the loud one may have all the rest of the link.
const POLICY: &str = "\
vtep 10.255.0.3
default drop
space t1 vni 50001
endpoint t1 10.1.0.2 mac 02:00:00:00:00:0a port swp1 tag 17
peers t1 10.1.0.3-10.1.0.3 vtep 10.255.0.4 tag 17
space t2 vni 50002
rate t2 guarantee 200000000 ceiling 200000000
endpoint t2 10.2.0.2 mac 02:00:00:00:00:0b port swp2 tag 18
peers t2 10.2.0.3-10.2.0.3 vtep 10.255.0.4 tag 18
";
const LINK_BPS: u64 = 1_000_000_000;
const GUARANTEE_BPS: f64 = 200e6;
const QUIET_TAG: u16 = 18;

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(300);
const PROBES: usize = 2_000;

pub(super) fn measure(
    report: &mut BenchReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PutError> {
    progress("a tenant beside one that floods");
    let house = House::new()?;
    let (mut shares, mut alone, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        shares.push(house.share()?);
        alone.push(house.latency(false)?);
        beside.push(house.latency(true)?);
    }
    let mut row = |name: &str, best, median, unit, bound, note| {
        let (name, endpoints) = (name.to_owned(), None);
        report.rows.push(BenchRow {
            part: BenchPart::Neighbour,
            name,
            endpoints,
            best,
            median,
            unit,
            bound,
            note,
        });
    };
    // The middle round, not the luckiest one.
    let off = Sample::of(shares.iter().map(|share| (share - 100.0).abs())).median;
    let note = "distance from its guaranteed rate while both send all they can";
    row("rate of the quiet tenant", off, off, Unit::Percent, Some(Bound::AtMost(1.0)), note);
    let (alone, beside) = (Sample::of(alone.into_iter()), Sample::of(beside.into_iter()));
    let note = "p99 of a probe and its answer; the loud one has a CPU of its own";
    row("latency without the loud one", alone.least, alone.median, Unit::Microseconds, None, note);
    row("latency beside the loud one", beside.least, beside.median, Unit::Microseconds, None, note);
    let (best, median) = (beside.least / alone.least, beside.median / alone.median);
    row("latency, beside to without", best, median, Unit::Times, Some(Bound::AtMost(1.1)), note);
    Ok(())
}

/// A host with two tenants' workloads behind it, and a remote peer behind its one uplink.
struct House {
    bed: Bed,
    loud: Namespace,
    quiet: Namespace,
    remote: Namespace,
    /// Where the quiet one's job is counted.
    slot: u16,
    /// The workloads' ports are here.
    _host: Namespace,
}

impl House {
    fn new() -> Result<Self, PutError> {
        let [host, loud, quiet, remote] =
            [Namespace::new()?, Namespace::new()?, Namespace::new()?, Namespace::new()?];
        wire_up(&host, [("swp1", "0a", &loud), ("swp2", "0b", &quiet), ("uplink", "0c", &remote)])?;
        settle(&loud, "10.1.0.2/24", &[])?;
        settle(&quiet, "10.2.0.2/24", &[("10.2.0.3", "0c")])?;
        settle(&remote, "10.2.0.3/24", &[("10.2.0.2", "0b")])?;
        // Every workload has the same cable, so its end has the same number in each namespace.
        let out = loud.inside(|| interface_index("eth0"))?;
        let settings = Settings { link_bps: LINK_BPS, ..Settings::default() };
        let mut bed = Bed::empty(&settings, Setup { out, ..Setup::default() })?;
        attach(&mut bed, &host)?;
        let [swp1, swp2] =
            host.inside(|| Ok([interface_index("swp1")?, interface_index("swp2")?]))?;
        let interfaces = |port: &Port| match port {
            Port::Swp(1) => Some(swp1),
            Port::Swp(2) => Some(swp2),
            _ => None,
        };
        let put = bed.kernel.put(POLICY, Generation(1), &interfaces, &Limits::default())?;
        let slot = slot_of(&put.compiled.bytes);
        bed.kernel.renew(Duration::from_secs(3600))?;
        Ok(Self { bed, loud, quiet, remote, slot, _host: host })
    }

    /// How much of its guaranteed rate the quiet tenant gets when both send all they can, in percent.
    fn share(&self) -> Result<f64, Fault> {
        let (loud, quiet) = (&self.loud, &self.quiet);
        let relay = self.bed.shared("relay")?;
        let rate = thread::scope(|scope| {
            let noise = scope.spawn(|| {
                loud.inside(|| {
                    stay_near()?;
                    flood(relay, &frame(1), 2 * ROUND)
                })
            });
            let rate = quiet.inside(|| {
                stay_far()?;
                self.unbroken_bps(relay)
            });
            joined(noise.join())?;
            rate
        })?;
        Ok(100.0 * rate / GUARANTEE_BPS)
    }

    /// What the quiet tenant sends in a second, while it is sending. A busy machine takes the CPU
    /// away from it at times, which is not the filter's doing: only what lies between two moments
    /// without such a gap counts, and not the first of it, when the gap's earnings are spent.
    fn unbroken_bps(&self, relay: &Xdp) -> Result<f64, Fault> {
        const FRAMES: u32 = 1024;
        let (mut bytes, mut seconds, mut whole) = (0, 0.0, false);
        let begun = Instant::now();
        let mut last = (begun, cpu_ns(), self.sent()?);
        while begun.elapsed() < ROUND {
            send(relay, &frame(2), FRAMES)?;
            let now = (Instant::now(), cpu_ns(), self.sent()?);
            let took = now.0.duration_since(last.0).as_secs_f64();
            let was_whole = whole;
            whole = (now.1 - last.1) / 1e9 > 0.97 * took;
            if whole && was_whole {
                bytes += now.2 - last.2;
                seconds += took;
            }
            last = now;
        }
        Ok(bytes as f64 * 8.0 / seconds)
    }

    /// The bytes that the quiet tenant has sent so far.
    fn sent(&self) -> Result<u64, Fault> {
        let counts = self.bed.kernel.counts(self.slot)?;
        Ok(counts.iter().map(|[_, bytes, ..]| bytes).sum())
    }

    /// How long the quiet tenant waits for an answer, at the 99th percentile, in microseconds.
    fn latency(&self, noisy: bool) -> Result<f64, Fault> {
        let (loud, quiet, remote) = (&self.loud, &self.quiet, &self.remote);
        let relay = self.bed.shared("relay")?;
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let echo = scope.spawn(|| remote.inside(|| answer(&over)));
            let noise = scope.spawn(|| {
                loud.inside(|| {
                    stay_near()?;
                    while noisy && !over.load(Ordering::Relaxed) {
                        flood(relay, &frame(1), Duration::from_millis(1))?;
                    }
                    Ok(())
                })
            });
            let times = quiet.inside(probe);
            over.store(true, Ordering::Relaxed);
            joined(noise.join())?;
            joined(echo.join())?;
            times
        })
    }
}

fn slot_of(policy: &[u8]) -> u16 {
    let tables = Tables::new(policy);
    let seats = (0..tables.ports().unwrap_or(0)).filter_map(|index| tables.port(index).ok());
    seats.filter(|seat| seat.tag == QUIET_TAG).map(|seat| seat.slot).next().unwrap_or(0)
}

/// Cables from the host to each of these, bridged.
fn wire_up(host: &Namespace, ends: [(&str, &str, &Namespace); 3]) -> Result<(), Fault> {
    host.inside(|| {
        run("ip", &["link", "add", "name", "house", "type", "bridge", "mcast_snooping", "0"])?;
        run("ip", &["link", "set", "house", "addrgenmode", "none", "up"])?;
        for (name, last, namespace) in ends {
            let (mac, there) = (mac(last), namespace.path());
            let peer = ["peer", "name", "eth0", "address", &mac, "netns", &there];
            run("ip", &[&["link", "add", name, "type", "veth"][..], &peer[..]].concat())?;
            run(
                "ip",
                &["link", "set", "dev", name, "addrgenmode", "none", "master", "house", "up"],
            )?;
            run("bridge", &["fdb", "replace", &mac, "dev", name, "master", "static"])?;
        }
        Ok(())
    })
}

/// Gives a namespace its address and the neighbours it need not ask for.
fn settle(namespace: &Namespace, address: &str, neighbours: &[(&str, &str)]) -> Result<(), Fault> {
    namespace.inside(|| {
        run("ip", &["link", "set", "eth0", "addrgenmode", "none", "up"])?;
        run("ip", &["address", "add", address, "dev", "eth0"])?;
        for (address, last) in neighbours {
            let mac = mac(last);
            run("ip", &["neigh", "replace", address, "lladdr", &mac, "dev", "eth0"])?;
        }
        Ok(())
    })
}

fn mac(last: &str) -> String {
    format!("02:00:00:00:00:{last}")
}

/// Judges what workloads send. What comes back is not judged here: it is not what is measured.
fn attach(bed: &mut Bed, host: &Namespace) -> Result<(), Fault> {
    for port in ["swp1", "swp2"] {
        let passed = bed.program("passed")?;
        host.inside(|| {
            let index = interface_index(port)?;
            passed.attach_to_if_index(index, XdpMode::Driver).map(drop).map_err(program("passed"))
        })?;
        let workload: &mut SchedClassifier = bed.classifier("workload")?;
        host.inside(|| {
            let attached = workload.attach(port, TcAttachType::Ingress);
            attached.map(drop).map_err(program("workload"))
        })?;
    }
    Ok(())
}

/// A frame of 1,000 bytes from the workload of a tenant to its peer.
fn frame(tenant: u8) -> Vec<u8> {
    let mut frame = vec![0; 1000];
    let begin = [
        [2, 0, 0, 0, 0, 0x0c, 2, 0, 0, 0, 0, 9 + tenant, 8, 0].as_slice(),
        &[0x45, 0, 0x03, 0xda, 0, 0, 0, 0, 64, 17, 0, 0, 10, tenant, 0, 2, 10, tenant, 0, 3],
        &[0, 9, 0, 9, 0x03, 0xc6, 0, 0],
    ]
    .concat();
    frame[..begin.len()].copy_from_slice(&begin);
    frame
}

/// Sends probes one after the other; gives the 99th percentile of their times in microseconds.
fn probe() -> Result<f64, Fault> {
    stay_far()?;
    let socket = bound("10.2.0.2:7000")?;
    let broken = file(Path::new("10.2.0.2:7000"));
    let mut took = Vec::with_capacity(PROBES);
    for _ in 0..PROBES {
        let begun = Instant::now();
        socket.send_to(&[0; 64], "10.2.0.3:7000").map_err(&broken)?;
        match socket.recv(&mut [0; 64]) {
            Ok(_) => took.push(begun.elapsed().as_secs_f64() * 1e6),
            // One that is lost has waited for as long as anybody does.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => took.push(f64::INFINITY),
            Err(error) => return Err(broken(error)),
        }
    }
    took.sort_by(f64::total_cmp);
    Ok(took[PROBES * 99 / 100])
}

/// Answers probes until it is over.
fn answer(over: &AtomicBool) -> Result<(), Fault> {
    stay_far()?;
    let socket = bound("10.2.0.3:7000")?;
    let mut probe = [0; 64];
    while !over.load(Ordering::Relaxed) {
        if let Ok((len, from)) = socket.recv_from(&mut probe) {
            socket.send_to(&probe[..len], from).map_err(file(Path::new("10.2.0.3:7000")))?;
        }
    }
    Ok(())
}

fn bound(address: &str) -> Result<UdpSocket, Fault> {
    let broken = file(Path::new(address));
    let socket = UdpSocket::bind(address).map_err(&broken)?;
    socket.set_read_timeout(Some(Duration::from_millis(100))).map_err(&broken)?;
    Ok(socket)
}

fn joined<T>(result: thread::Result<Result<T, Fault>>) -> Result<T, Fault> {
    match result {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
