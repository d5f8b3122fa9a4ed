//! Discovery and drivers on a real kernel: a virtual machine with an IOMMU, an interface with
//! virtual functions, two NUMA nodes, and two devices that share an IOMMU group.

mod trial;

use std::fs;
use std::path::PathBuf;

use crate::guest::{Kit, Machine, Newer, Supplies, here_and_now, must, with_result};
use crate::{Failure, shell};
use trial::Trials;

const KIT: Kit = Kit {
    folder: "hardware",
    packages: &["busybox-static", "qemu-system-x86"],
    matters: &["linux-image", "qemu-system-x86_"],
    // The interface with virtual functions is not in the distribution's own emulator.
    newer: Newer::Packages,
    modules: &["igb", "igbvf", "vfio-pci", "vfio_iommu_type1"],
    kernel: "intel_iommu=on iommu.strict=1",
    programs: &[],
    has_verbs: false,
    wishes: include_str!("../../lab/guest/functions.sh"),
};

/// The document that keeps the last result.
const RECORD: &str = "docs/hardware.md";

/// In the emulator's words. The interface hangs on NUMA node 1; the two devices stand behind one
/// bridge to conventional PCI, near node 0.
const HARDWARE: &str = "-machine q35 -smp 2 -m 1024 -device intel-iommu,intremap=on,caching-mode=on \
    -object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
    -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 \
    -device pxb-pcie,id=near0,bus_nr=32,numa_node=0,bus=pcie.0 \
    -device pxb-pcie,id=near1,bus_nr=64,numa_node=1,bus=pcie.0 \
    -device pcie-root-port,id=root0,bus=near0,chassis=1 \
    -device pcie-root-port,id=root1,bus=near1,chassis=2 \
    -device pcie-pci-bridge,id=shared,bus=root0 \
    -device edu,bus=shared,addr=1 -device edu,bus=shared,addr=2 \
    -netdev hubport,hubid=0,id=hub -device igb,bus=root1,netdev=hub,romfile=";

/// Runs all trials and prints what was expected and what was seen.
pub(crate) fn run(record: bool) -> Result<(), Failure> {
    let supplies = Supplies::gather(&KIT, &built()?)?;
    println!("Starting a machine.");
    let hardware: Vec<String> = HARDWARE.split_whitespace().map(str::to_owned).collect();
    let mut machine = Machine::start("node", &supplies, &[], &hardware)?;
    machine.wait()?;
    let trials = Trials::play(&mut machine)?;
    let verdict = trials.verdict();
    println!("{verdict}");
    if record {
        write_down(&verdict, &trials, &supplies)?;
    }
    if trials.are_right() { Ok(()) } else { Err(Failure::Found) }
}

/// The programs that the machine runs, without what only a debugger needs.
fn built() -> Result<Vec<PathBuf>, Failure> {
    must(&["cargo", "build", "--quiet", "--package", "bulkhead"])?;
    must(&["cargo", "build", "--quiet", "--package", "apply", "--example", "bind"])?;
    let target = shell::target()?;
    let folder = target.join(KIT.folder);
    fs::create_dir_all(&folder)
        .map_err(|cause| Failure::Broken(format!("cannot make a folder: {cause}")))?;
    let strip = |program: &str| {
        let from = target.join("debug").join(program);
        let to = folder.join(from.file_name().unwrap_or_default());
        let (from, small) = (from.display().to_string(), to.display().to_string());
        must(&["strip", "-o", &small, &from]).map(|()| to)
    };
    ["bulkhead", "examples/bind"].into_iter().map(strip).collect()
}

fn write_down(verdict: &str, trials: &Trials, supplies: &Supplies) -> Result<(), Failure> {
    let path = shell::root()?.join(RECORD);
    let broken = |cause| Failure::Broken(format!("cannot write {RECORD}: {cause}"));
    let text = fs::read_to_string(&path).map_err(broken)?;
    let (date, host) = here_and_now();
    let result = format!(
        "{verdict} {date}, host kernel {host}; machine: {}.\n\n{}\nWhat was discovered, before any \
         driver was changed:\n```text\n{}\n```\n",
        supplies.versions().join(", "),
        trials.table(),
        trials.discovered.trim(),
    );
    fs::write(&path, with_result(&text, &result)).map_err(broken)
}
