//! VRF devices on a real kernel: a virtual machine with FRR in which a whole lab stands, and every
//! VRF is a device.

mod trial;

use std::fs;
use std::path::PathBuf;

use crate::guest::{Kit, Machine, Newer, Supplies, here_and_now, must, with_result};
use crate::{Failure, shell};
use trial::Trials;

const KIT: Kit = Kit {
    folder: "vrf",
    packages: &["busybox-static", "coreutils", "dash", "frr", "iproute2", "qemu-system-x86"],
    matters: &["linux-image", "qemu-system-x86_", "frr_"],
    // The packet program needs Linux 6.6 to stay attached by itself.
    newer: Newer::Kernel,
    modules: &["vrf", "vxlan", "bridge", "veth", "sch_ingress", "sch_htb", "sch_fq_codel"],
    // On a busy host the emulated timer may be late, and the kernel would give up on it.
    kernel: "no_timer_check",
    programs: &[
        "usr/bin/dash",
        "usr/bin/ip",
        "usr/bin/nice",
        "usr/sbin/bridge",
        "usr/lib/frr/zebra",
        "usr/lib/frr/bgpd",
    ],
    has_verbs: false,
    wishes: include_str!("../../lab/guest/fabric.sh"),
};

/// The document that keeps the last result.
const RECORD: &str = "docs/vrf.md";

/// In the emulator's words: all of a lab is in it.
const HARDWARE: [&str; 6] = ["-machine", "q35", "-smp", "2", "-m", "3072"];

/// Runs all trials and prints what was expected and what was seen.
pub(crate) fn run(record: bool) -> Result<(), Failure> {
    let supplies = Supplies::gather(&KIT, &[built()?])?;
    let mut machine = started(&supplies)?;
    let trials = Trials::play(&mut machine)?;
    let verdict = trials.verdict();
    println!("{verdict}");
    if record {
        write_down(&verdict, &trials, &supplies)?;
    }
    if trials.are_right() { Ok(()) } else { Err(Failure::Found) }
}

/// A machine that takes wishes. A kernel that changes its own code while another emulated processor
/// runs it may fall over that at its start: then it is started again.
fn started(supplies: &Supplies) -> Result<Machine, Failure> {
    const MORE: usize = 2;
    let start = || {
        println!("Starting a machine.");
        let mut machine = Machine::start("fabric", supplies, &[], &HARDWARE.map(str::to_owned))?;
        machine.wait().map(|()| machine)
    };
    (0..MORE).find_map(|_| start().ok()).map_or_else(start, Ok)
}

/// The program, as fast as it can be and without what only a debugger needs.
fn built() -> Result<PathBuf, Failure> {
    must(&["cargo", "build", "--quiet", "--release", "--package", "bulkhead"])?;
    let target = shell::target()?;
    let folder = target.join(KIT.folder);
    fs::create_dir_all(&folder)
        .map_err(|cause| Failure::Broken(format!("cannot make a folder: {cause}")))?;
    let (from, to) = (target.join("release/bulkhead"), folder.join("bulkhead"));
    must(&["strip", "-o", &to.display().to_string(), &from.display().to_string()])?;
    Ok(to)
}

fn write_down(verdict: &str, trials: &Trials, supplies: &Supplies) -> Result<(), Failure> {
    let path = shell::root()?.join(RECORD);
    let broken = |cause| Failure::Broken(format!("cannot write {RECORD}: {cause}"));
    let text = fs::read_to_string(&path).map_err(broken)?;
    let (date, host) = here_and_now();
    let result = format!(
        "{verdict} {date}, host kernel {host}; machine: {}.\n\n{}",
        supplies.versions().join(", "),
        trials.table(),
    );
    fs::write(&path, with_result(&text, &result)).map_err(broken)
}
