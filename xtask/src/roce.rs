//! Real RoCEv2 through the lab: two virtual machines take the places of workloads, and RDMA passes
//! between them exactly where it should.
//!
//! The two sides of a tool agree over a network beside the fabric, so that what fails, fails in
//! RDMA itself and not in the call before it.

mod host;
mod report;
mod seat;
mod trial;

use std::collections::BTreeMap;

use crate::guest::{Kit, Machine, Newer, Supplies};
use crate::{Failure, shell};
use host::{Lab, namespace};
use report::Report;
use seat::Seat;
use trial::{TRIALS, Trial};

/// What a machine's interface in the fabric is called on the host, before its own name.
const FABRIC: &str = "fabric";
/// Where the network beside the fabric is.
const BESIDE: &str = "beside";

const KIT: Kit = Kit {
    folder: "roce",
    packages: &[
        "busybox-static",
        "ibverbs-providers",
        "ibverbs-utils",
        "iproute2",
        "perftest",
        "qemu-system-x86",
    ],
    matters: &["linux-image", "qemu-system-x86_", "ibverbs-utils", "perftest"],
    newer: Newer::Nothing,
    modules: &["virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe"],
    kernel: "",
    programs: &["usr/bin/ib_write_bw", "usr/bin/ibv_rc_pingpong", "usr/bin/rdma"],
    has_verbs: true,
    wishes: include_str!("../../lab/guest/wishes.sh"),
};

/// Runs all trials and prints what was expected and what was seen.
pub(crate) fn run(record: bool) -> Result<(), Failure> {
    if shell::output(&["id", "-u"]).is_none_or(|user| user.trim() != "0") {
        return Err(Failure::Broken("network namespaces need root: run this as root".to_owned()));
    }
    let supplies = Supplies::gather(&KIT, &[])?;
    let lab = Lab::up()?;
    let mut stage = Stage::set(&supplies, &lab)?;
    let mut report = Report::new(&supplies);
    for trial in &TRIALS {
        stage.play(trial, &mut report)?;
    }
    report.end(record)
}

/// The lab with two machines in it.
///
/// The machines come before the lab: they end first.
struct Stage<'a> {
    machines: [Machine; 2],
    /// The namespaces where they are.
    places: [String; 2],
    seats: BTreeMap<&'static str, Seat>,
    lab: &'a Lab,
}

impl<'a> Stage<'a> {
    fn set(supplies: &Supplies, lab: &'a Lab) -> Result<Self, Failure> {
        println!("Starting two machines.");
        let beside = namespace(BESIDE);
        host::batch(&[
            &format!("netns add {beside}"),
            &format!("-n {beside} link add {BESIDE} type bridge"),
            &format!("-n {beside} link set {BESIDE} up"),
        ])?;
        let inside = format!("--net=/run/netns/{beside}");
        let start = |name| Machine::start(name, supplies, &["nsenter", &inside], &hardware(name));
        let mut machines = [start("a")?, start("b")?];
        let mut seats = BTreeMap::new();
        for workload in TRIALS.iter().flat_map(|trial| trial.ends) {
            if !seats.contains_key(workload) {
                seats.insert(workload, Seat::take(workload)?);
            }
        }
        for (place, machine) in machines.iter_mut().enumerate() {
            machine.wait()?;
            let tap = format!("{BESIDE}-{}", machine.name());
            host::batch(&[&format!("-n {beside} link set {tap} master {BESIDE} up")])?;
            let address = trial::beside(place);
            machine.tell(&format!("ip address add {address}/24 dev eth1"))?;
            machine.tell("ip link set eth1 up")?;
        }
        Ok(Self { machines, places: [beside.clone(), beside], seats, lab })
    }

    fn play(&mut self, trial: &Trial, report: &mut Report) -> Result<(), Failure> {
        let Self { machines, places, seats, lab } = self;
        let seats = trial.ends.map(|workload| &seats[workload]);
        for ((seat, machine), place) in seats.iter().zip(&mut *machines).zip(places) {
            seat.seat(machine, place)?;
            *place = namespace(seat.workload);
        }
        for round in trial.rounds() {
            round.prepare(machines, seats)?;
            let before = lab.drops()?;
            let mut seen = round.play(machines, seats, trial.expected)?;
            seen.dropped(&before, &lab.drops()?);
            report.add(trial, &round, &seen);
        }
        Ok(())
    }
}

/// A machine's interfaces, in the emulator's words: the first for the fabric, the second for itself
/// and its like. Both end at taps on the host.
fn hardware(name: &str) -> Vec<String> {
    let mut words: Vec<String> =
        ["-machine", "q35", "-smp", "1", "-m", "512"].map(str::to_owned).to_vec();
    for (place, network) in [FABRIC, BESIDE].iter().enumerate() {
        let tap = format!("{network}-{name}");
        // Two machines differ in the last byte; what it is does not matter.
        let mac = format!("52:54:00:00:{place:02x}:{:02x}", name.bytes().fold(0, u8::wrapping_add));
        words.extend([
            "-netdev".to_owned(),
            format!("tap,id={network},ifname={tap},script=no,downscript=no"),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev={network},mac={mac},romfile="),
        ]);
    }
    words
}
