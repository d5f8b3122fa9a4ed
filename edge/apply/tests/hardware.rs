//! Drivers of functions, on a tree of files behind which a small kernel stands.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use apply::hardware::{Writes, hold};
use expect_test::{Expect, expect};

#[path = "../../observe/tests/hardware/tree.rs"]
mod tree;

use tree::Tree;

const NODE: &str = "\
file proc/sys/kernel/osrelease 6.1.0
file sys/bus/pci/drivers_probe -
function pci0000:00/0000:00:01.0 10de:26b9 030200 group=1 numa=0 driver=nvidia
function pci0000:00/0000:00:02.0 10de:26b9 030200 group=2 numa=0 driver=nvidia
function pci0000:00/0000:00:03.0 10de:26b9 030200 group=3 numa=0
function pci0000:00/0000:00:04.0 15b3:1021 020000 group=4 numa=0 driver=mlx5_core vfs=8 speed=100000
function pci0000:00/0000:00:04.1 15b3:101e 020000 group=5 numa=0 driver=mlx5_core part-of=0000:00:04.0/0
function pci0000:00/0000:00:04.2 15b3:101e 020000 group=6 numa=0 driver=vfio-pci part-of=0000:00:04.0/1
";

const FUNCTIONS: &str = "\
function 0000:00:01.0 gpu 1 group 1 numa 0
function 0000:00:02.0 gpu 2 group 2 numa 0
function 0000:00:03.0 gpu 3 group 3 numa 0
function 0000:00:04.0 nic 0 group 4 numa 0
function 0000:00:04.1 vf 0 0 group 5 numa 0
function 0000:00:04.2 vf 0 1 group 6 numa 0
";

/// Does with a tree what the kernel does with its own files, until it is killed.
struct Kernel {
    root: PathBuf,
    written: Vec<String>,
    /// How many writes are left.
    left: usize,
}

impl Writes for Kernel {
    fn write(&mut self, file: &Path, value: &str) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("killed"))?;
        let shown = file.strip_prefix(&self.root).unwrap().display();
        self.written.push(format!("{shown} {value}\n"));
        let devices = self.root.join("sys/bus/pci/devices");
        match file.file_name().unwrap().to_str().unwrap() {
            "unbind" => fs::remove_file(devices.join(value).join("driver")),
            "drivers_probe" => {
                let device = devices.join(value);
                let driver = fs::read_to_string(device.join("driver_override"))?;
                let driver = self.root.join("sys/bus/pci/drivers").join(driver);
                symlink(driver, device.join("driver"))
            }
            _ => fs::write(file, value),
        }
    }
}

/// A node whose kernel is killed after so many writes.
fn node(tree: &Tree, left: usize) -> Kernel {
    Kernel { root: tree.root.clone(), written: Vec::new(), left }
}

/// What is written, and what a second run writes after it: nothing.
#[track_caller]
fn check(binds: &str, expected: Expect) {
    let text = format!("{FUNCTIONS}{binds}");
    let tree = Tree::grow(NODE);
    let mut kernel = node(&tree, usize::MAX);
    let said = match hold(&tree.root, &text, &mut kernel) {
        Ok(_) => {
            let written = kernel.written.concat();
            kernel.written.clear();
            assert!(hold(&tree.root, &text, &mut kernel).unwrap().is_empty());
            assert!(kernel.written.is_empty());
            written
        }
        Err(error) => format!("{}{error}\n", kernel.written.concat()),
    };
    let root = format!("{}/", tree.root.display());
    expected.assert_eq(&said.replace(&root, "").replace("sys/bus/pci/", ""));
}

#[test]
fn what_is_denied_comes_before_what_is_allowed() {
    check(
        "bind 0000:00:01.0 vfio-pci\nbind 0000:00:03.0 nvidia\nbind 0000:00:04.1 vfio-pci\n",
        expect![[r#"
            devices/0000:00:01.0/driver_override none
            devices/0000:00:01.0/driver/unbind 0000:00:01.0
            devices/0000:00:02.0/driver_override none
            devices/0000:00:02.0/driver/unbind 0000:00:02.0
            devices/0000:00:04.1/driver_override none
            devices/0000:00:04.1/driver/unbind 0000:00:04.1
            devices/0000:00:04.2/driver_override none
            devices/0000:00:04.2/driver/unbind 0000:00:04.2
            devices/0000:00:01.0/driver_override vfio-pci
            drivers_probe 0000:00:01.0
            devices/0000:00:03.0/driver_override nvidia
            drivers_probe 0000:00:03.0
            devices/0000:00:04.1/driver_override vfio-pci
            drivers_probe 0000:00:04.1
        "#]],
    );
}

#[test]
fn what_is_as_it_should_be_is_not_touched() {
    check(
        "bind 0000:00:01.0 nvidia\nbind 0000:00:02.0 nvidia\nbind 0000:00:04.2 vfio-pci\n",
        expect![[""]],
    );
}

#[test]
fn gpus_of_nobody_have_no_driver_and_interfaces_only_lose_a_virtual_machines() {
    check(
        "",
        expect![[r#"
        devices/0000:00:01.0/driver_override none
        devices/0000:00:01.0/driver/unbind 0000:00:01.0
        devices/0000:00:02.0/driver_override none
        devices/0000:00:02.0/driver/unbind 0000:00:02.0
        devices/0000:00:04.2/driver_override none
        devices/0000:00:04.2/driver/unbind 0000:00:04.2
    "#]],
    );
}

#[test]
fn a_driver_that_the_kernel_lacks_is_named_after_everything_was_denied() {
    check(
        "bind 0000:00:01.0 nvidia\nbind 0000:00:03.0 amdgpu\n",
        expect![[r#"
        devices/0000:00:02.0/driver_override none
        devices/0000:00:02.0/driver/unbind 0000:00:02.0
        devices/0000:00:04.2/driver_override none
        devices/0000:00:04.2/driver/unbind 0000:00:04.2
        there is no drivers/amdgpu: the kernel has no driver amdgpu; load it by `modprobe amdgpu`, or install a kernel that has it
    "#]],
    );
}

#[test]
fn other_hardware_is_not_touched() {
    check(
        "function 0000:00:09.0 gpu 4 group 9 numa 0\n",
        expect![[r#"
        the node lacks `function 0000:00:09.0 gpu 4 group 9 numa 0`: its hardware is not as the fleet's document says; discover it again, and plan anew
    "#]],
    );
    check(
        "bind 0000:00:0a.0 vfio-pci\n",
        expect![[r#"
        the node lacks `bind 0000:00:0a.0 vfio-pci`: its hardware is not as the fleet's document says; discover it again, and plan anew
    "#]],
    );
    check(
        "drive 0000:00:01.0 by nvidia\n",
        expect![[r#"
        line 7 says `drive 0000:00:01.0 by nvidia`, which is no function and no driver
    "#]],
    );
}

#[test]
fn a_run_that_was_cut_short_is_completed_by_the_next() {
    let mut cuts = 0;
    let text = format!("{FUNCTIONS}bind 0000:00:01.0 vfio-pci\nbind 0000:00:03.0 nvidia\n");
    for left in 0.. {
        let tree = Tree::grow(NODE);
        let cut = hold(&tree.root, &text, &mut node(&tree, left));
        hold(&tree.root, &text, &mut node(&tree, usize::MAX)).unwrap();
        let driver = |address: &str| {
            let link =
                fs::read_link(tree.root.join("sys/bus/pci/devices").join(address).join("driver"));
            link.ok().map(|link| link.file_name().unwrap().to_str().unwrap().to_owned())
        };
        let drivers = ["0000:00:01.0", "0000:00:02.0", "0000:00:03.0"].map(driver);
        assert_eq!(
            drivers,
            [Some("vfio-pci".into()), None, Some("nvidia".into())],
            "cut at {left}"
        );
        if cut.is_ok() {
            break;
        }
        cuts += 1;
    }
    assert_eq!(cuts, 10);
}
