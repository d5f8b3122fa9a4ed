#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What nodes and NVLink domains say, besides what they say of the network.

mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use proptest::prelude::*;

const VFIO: &str = "\
function 0000:1b:00.0 gpu 1 group 12 numa 0
function 0000:0d:00.0 nic 0 group 3 numa 1
function 0000:0d:00.3 vf 0 2 group 40 numa 1
function 0000:1b:00.1 other group 12 numa 0
beneath 0000:17:00.0 0000:1b:00.0
bind 0000:1b:00.0 vfio-pci
";

const VERSIONS: &str = "\
driver 570.133.20
kernel 6.8.0-60
firmware U8E122S 3.40  of 2024
toolkit 1.17.8
secure-boot yes
";

const MIG: &str = "\
gpu 3 mig on
instance 3 1g.10gb start 0
instance 3 1g.10gb+me start 1
instance 3 3g.40gb start 4
";

const AMD: &str = "\
gpu 1 compute SPX memory NPS1
gpu 2 compute CPX memory NPS4
";

const NVLINK: &str = "\
partition 3 gpus 1 3
partition 0 gpus 1 2 3 4 5 6 7 8
active 3
partition 17 node tray-1 gpus 1 2 3 4
";

const IMEX: &str = "\
channel 17 acme/research/train
channel 0 blue/serve
";

const DEVICES: &str = "\
open acme/research/train /dev/nvidia0
open acme/research/train /dev/nvidiactl
open acme/research/train /dev/infiniband/uverbs7
open acme/research/train /dev/nvidia-caps-imex-channels/channel17
open acme/research/train /dev/nvidia-caps/nvidia-cap12 minor 0 start 4
open blue/serve /dev/vfio/12
open blue/serve /dev/vfio/vfio
open red/amd /dev/dri/renderD129
";

const ALL: [(Dialect, &str); 7] = [
    (Dialect::Vfio, VFIO),
    (Dialect::Versions, VERSIONS),
    (Dialect::Mig, MIG),
    (Dialect::Amd, AMD),
    (Dialect::Nvlink, NVLINK),
    (Dialect::Imex, IMEX),
    (Dialect::Devices, DEVICES),
];

#[test]
fn functions_have_a_place_and_a_driver() {
    check(
        Dialect::Vfio,
        VFIO,
        expect![[r#"
        1: Holds(Function { pci: PciAddress { domain: 0, bus: 27, devfn: 0 }, what: Gpu(0), group: 12, numa: 0 })
        2: Holds(Function { pci: PciAddress { domain: 0, bus: 13, devfn: 0 }, what: Nic(0), group: 3, numa: 1 })
        3: Holds(Function { pci: PciAddress { domain: 0, bus: 13, devfn: 3 }, what: Vf { nic: 0, vf: 2 }, group: 40, numa: 1 })
        4: Holds(Function { pci: PciAddress { domain: 0, bus: 27, devfn: 1 }, what: Other, group: 12, numa: 0 })
        5: Holds(Beneath { bridge: PciAddress { domain: 0, bus: 23, devfn: 0 }, pci: PciAddress { domain: 0, bus: 27, devfn: 0 } })
        6: Holds(Driven { pci: PciAddress { domain: 0, bus: 27, devfn: 0 }, driver: "vfio-pci" })
    "#]],
    );
}

#[test]
fn functions_that_are_written_otherwise_are_unknown() {
    check(
        Dialect::Vfio,
        "\
# a comment
function 0000:1b:00.0 gpu 0 group 12 numa 0
function 0000:1b:00.0 gpu 65 group 12 numa 0
function 0000:1B:00.0 gpu 1 group 12 numa 0
function 0000:1b:00.0 gpu 1 numa 0 group 12
function 0000:1b:00.0 gpu 1 group 12 numa -1
function 0000:1b:00.0 gpu 1 group +12 numa 0
function 0000:1b:00.0 gpu 1 group 12 numa 0 driver nvidia
function 0000:1b:00.0 nic 64 group 12 numa 0
function 0000:1b:00.0 vf 0 group 12 numa 0
function 0000:1b:00.0 switch 1 group 12 numa 0
bind 0000:1b:00.0
bind 0000:1b:00.0 vfio-pci nvidia
bind 1b:00.0 nvidia
beneath 0000:17:00.0
unbind 0000:1b:00.0
",
        expect![[r#"
            2? function 0000:1b:00.0 gpu 0 group 12 numa 0
               a GPU is written by its module id, a number from 1 to 64
            3? function 0000:1b:00.0 gpu 65 group 12 numa 0
               a GPU is written by its module id, a number from 1 to 64
            4? function 0000:1B:00.0 gpu 1 group 12 numa 0
               a PCI address is written 0000:1b:00.0, in lower-case digits
            5? function 0000:1b:00.0 gpu 1 numa 0 group 12
               after a function stand its IOMMU group and its NUMA node
            6? function 0000:1b:00.0 gpu 1 group 12 numa -1
               a number is whole and at most 65535
            7? function 0000:1b:00.0 gpu 1 group +12 numa 0
               a number is whole and at most 65535
            8? function 0000:1b:00.0 gpu 1 group 12 numa 0 driver nvidia
               after a function stand its IOMMU group and its NUMA node
            9? function 0000:1b:00.0 nic 64 group 12 numa 0
               an interface is a number from 0 to 63
            10? function 0000:1b:00.0 vf 0 group 12 numa 0
               a number is whole and at most 65535
            11? function 0000:1b:00.0 switch 1 group 12 numa 0
               a function is a gpu, a nic, a vf or other
            12? bind 0000:1b:00.0
               a function is bound to one driver
            13? bind 0000:1b:00.0 vfio-pci nvidia
               a function is bound to one driver
            14? bind 1b:00.0 nvidia
               a PCI address is written 0000:1b:00.0, in lower-case digits
            15? beneath 0000:17:00.0
               no line of this dialect is written so
            16? unbind 0000:1b:00.0
               no line of this dialect is written so
            ignored: [1]
        "#]],
    );
}

#[test]
fn versions_are_taken_as_they_are_written() {
    check(
        Dialect::Versions,
        VERSIONS,
        expect![[r#"
        1: Holds(Runs { component: Driver, version: "570.133.20" })
        2: Holds(Runs { component: Kernel, version: "6.8.0-60" })
        3: Holds(Runs { component: Firmware, version: "U8E122S 3.40  of 2024" })
        4: Holds(Runs { component: Toolkit, version: "1.17.8" })
        5: Holds(BootedSecurely(true))
    "#]],
    );
    check(
        Dialect::Versions,
        "driver\nbios 3.40\nDriver 570\nsecure-boot on\nsecure-boot\nsecure-boot yes no\n",
        expect![[r#"
            1? driver
               the version is missing
            2? bios 3.40
               only driver, kernel, firmware and toolkit have a version
            3? Driver 570
               only driver, kernel, firmware and toolkit have a version
            4? secure-boot on
               secure-boot is yes or no
            5? secure-boot
               secure-boot is yes or no
            6? secure-boot yes no
               secure-boot is yes or no
        "#]],
    );
}

#[test]
fn instances_have_a_profile_and_a_first_slot() {
    check(
        Dialect::Mig,
        MIG,
        expect![[r#"
        1: Holds(Cuttable { gpu: 2 })
        2: Holds(Instance { gpu: 2, profile: "1g.10gb", start: 0 })
        3: Holds(Instance { gpu: 2, profile: "1g.10gb+me", start: 1 })
        4: Holds(Instance { gpu: 2, profile: "3g.40gb", start: 4 })
    "#]],
    );
    check(
        Dialect::Mig,
        "\
gpu 3 mig off
gpu 0 mig on
instance 3 1g.10gb
instance 3 1g.10gb start 8
instance 3 1g10gb start 0
instance 3 g.10gb start 0
instance 3 1g.10 start 0
instance 3 1g.10gb+ start 0
instance 3 all start 0
instance x 1g.10gb start 0
",
        expect![[r#"
            1? gpu 3 mig off
               a GPU that can be cut is said to have `mig on`, others are not named
            2? gpu 0 mig on
               a GPU is written by its module id, a number from 1 to 64
            3? instance 3 1g.10gb
               no line of this dialect is written so
            4? instance 3 1g.10gb start 8
               a memory slot is a number from 0 to 7
            5? instance 3 1g10gb start 0
               a profile is written such as 1g.10gb or 1g.10gb+me
            6? instance 3 g.10gb start 0
               a profile is written such as 1g.10gb or 1g.10gb+me
            7? instance 3 1g.10 start 0
               a profile is written such as 1g.10gb or 1g.10gb+me
            8? instance 3 1g.10gb+ start 0
               a profile is written such as 1g.10gb or 1g.10gb+me
            9? instance 3 all start 0
               a profile is written such as 1g.10gb or 1g.10gb+me
            10? instance x 1g.10gb start 0
               a GPU is written by its module id, a number from 1 to 64
        "#]],
    );
}

#[test]
fn gpus_of_amd_are_divided_in_known_ways() {
    check(
        Dialect::Amd,
        AMD,
        expect![[r#"
        1: Holds(Divided { gpu: 0, compute: "SPX", memory: "NPS1" })
        2: Holds(Divided { gpu: 1, compute: "CPX", memory: "NPS4" })
    "#]],
    );
    check(
        Dialect::Amd,
        "\
gpu 1 compute SPX
gpu 1 memory NPS1 compute SPX
gpu 1 compute spx memory NPS1
gpu 1 compute SPX memory NPS3
gpu 0 compute SPX memory NPS1
",
        expect![[r#"
            1? gpu 1 compute SPX
               no line of this dialect is written so
            2? gpu 1 memory NPS1 compute SPX
               no line of this dialect is written so
            3? gpu 1 compute spx memory NPS1
               compute units are divided as SPX, DPX, TPX, QPX or CPX
            4? gpu 1 compute SPX memory NPS3
               memory is divided as NPS1, NPS2, NPS4 or NPS8
            5? gpu 0 compute SPX memory NPS1
               a GPU is written by its module id, a number from 1 to 64
        "#]],
    );
}

#[test]
fn partitions_join_gpus() {
    check(
        Dialect::Nvlink,
        NVLINK,
        expect![[r#"
        1: Holds(Joinable { partition: 3, gpus: 5 })
        2: Holds(Joinable { partition: 0, gpus: 255 })
        3: Holds(Active { partition: 3 })
        4: Holds(Linked { partition: 17, node: Name("tray-1"), gpus: 15 })
    "#]],
    );
    check(
        Dialect::Nvlink,
        "\
partition 3 gpus
partition 3 gpus 3 1
partition 3 gpus 1 1
partition 3 gpus 1 65
partition 3 1 2
partition 3 node gpus 1
partition 3 node Tray gpus 1
partition 65536 gpus 1
active
active 3 4
inactive 3
",
        expect![[r#"
            1? partition 3 gpus
               at least one GPU is named, by its module id
            2? partition 3 gpus 3 1
               GPUs are listed by ascending module ids, each once
            3? partition 3 gpus 1 1
               GPUs are listed by ascending module ids, each once
            4? partition 3 gpus 1 65
               a GPU is written by its module id, a number from 1 to 64
            5? partition 3 1 2
               a partition has a number, perhaps its node, and gpus
            6? partition 3 node gpus 1
               a partition has a number, perhaps its node, and gpus
            7? partition 3 node Tray gpus 1
               a name is lower-case letters, digits and inner hyphens, at most 63
            8? partition 65536 gpus 1
               a number is whole and at most 65535
            9? active
               no line of this dialect is written so
            10? active 3 4
               no line of this dialect is written so
            11? inactive 3
               no line of this dialect is written so
        "#]],
    );
}

#[test]
fn a_partition_of_many_gpus_is_read_to_its_end() {
    let modules = |last: u32| (1..=last).map(|module| format!(" {module}")).collect::<String>();
    let text = format!("partition 0 gpus{}\npartition 0 gpus{} x\n", modules(64), modules(20));
    check(
        Dialect::Nvlink,
        &text,
        expect![[r#"
        1: Holds(Joinable { partition: 0, gpus: 18446744073709551615 })
        2? partition 0 gpus 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 x
           a GPU is written by its module id, a number from 1 to 64
    "#]],
    );
}

#[test]
fn a_channel_is_one_jobs() {
    check(
        Dialect::Imex,
        IMEX,
        expect![[r#"
        1: Holds(Channel { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, channel: 17 })
        2: Holds(Channel { job: JobName { tenant: TenantName("blue"), name: Name("serve") }, channel: 0 })
    "#]],
    );
    check(
        Dialect::Imex,
        "channel 2048 a/b\nchannel 17\nchannel 17 train\nchannel 17 a/b c/d\nchannels 17 a/b\n",
        expect![[r#"
            1? channel 2048 a/b
               a memory channel is a number from 0 to 2047
            2? channel 17
               a memory channel is one job's
            3? channel 17 train
               a job is written with its tenant in front, such as acme/research/train
            4? channel 17 a/b c/d
               a memory channel is one job's
            5? channels 17 a/b
               no line of this dialect is written so
        "#]],
    );
}

#[test]
fn device_files_lead_somewhere() {
    check(
        Dialect::Devices,
        DEVICES,
        expect![[r#"
        1: Holds(Opens { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, file: Gpu(0) })
        2: Holds(Opens { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, file: Control("/dev/nvidiactl") })
        3: Holds(Opens { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, file: Verbs(7) })
        4: Holds(Opens { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, file: Channel(17) })
        5: Holds(Opens { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, file: Instance { minor: 0, start: 4 } })
        6: Holds(Opens { job: JobName { tenant: TenantName("blue"), name: Name("serve") }, file: Group(12) })
        7: Holds(Opens { job: JobName { tenant: TenantName("blue"), name: Name("serve") }, file: Control("/dev/vfio/vfio") })
        8: Holds(Opens { job: JobName { tenant: TenantName("red"), name: Name("amd") }, file: Gpu(1) })
    "#]],
    );
}

#[test]
fn device_files_that_lead_too_far_are_named() {
    let paths = [
        "/dev",
        "/dev/infiniband",
        "/dev/infiniband/",
        "/dev/nvidia*",
        "/dev/nvidia[0-7]",
        "/dev/infiniband/umad0",
        "/dev/infiniband/issm3",
        "/dev/nvidia00",
        "/dev/nvidia64",
        "/dev/nvidia-nvswitchctl",
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/dri/renderD127",
        "/dev/dri/card0",
        "/dev/vfio/012",
        "/dev/vfio/65536",
        "/dev/nvidia-caps-imex-channels/channel2048",
        "/dev/../dev/nvidia0",
        "/dev/mem",
        "/dev/null",
    ];
    let text: String = paths.iter().map(|path| format!("open a/b {path}\n")).collect();
    check(
        Dialect::Devices,
        &text,
        expect![[r#"
        1: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Many("/dev") })
        2: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Many("/dev/infiniband") })
        3: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Many("/dev/infiniband/") })
        4: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Many("/dev/nvidia*") })
        5: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Many("/dev/nvidia[0-7]") })
        6: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Management("/dev/infiniband/umad0") })
        7: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Management("/dev/infiniband/issm3") })
        8: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/nvidia00") })
        9: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/nvidia64") })
        10: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/nvidia-nvswitchctl") })
        11: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/nvidia-caps/nvidia-cap1") })
        12: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/dri/renderD127") })
        13: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/dri/card0") })
        14: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/vfio/012") })
        15: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/vfio/65536") })
        16: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/nvidia-caps-imex-channels/channel2048") })
        17: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/../dev/nvidia0") })
        18: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Strange("/dev/mem") })
        19: Holds(Opens { job: JobName { tenant: TenantName("a"), name: Name("b") }, file: Control("/dev/null") })
    "#]],
    );
}

#[test]
fn device_files_that_are_written_otherwise_are_unknown() {
    check(
        Dialect::Devices,
        "\
open train /dev/nvidia0
open a/b nvidia0
open a/b /etc/passwd
open a/b /device/nvidia0
open a/b
open a/b /dev/nvidia0 rw
open a/b /dev/nvidia0 minor 0 start 4
open a/b /dev/nvidia-caps/nvidia-cap12 minor 0 start 8
close a/b /dev/nvidia0
",
        expect![[r#"
            1? open train /dev/nvidia0
               a job is written with its tenant in front, such as acme/research/train
            2? open a/b nvidia0
               a device file is named by its whole path below /dev
            3? open a/b /etc/passwd
               a device file is named by its whole path below /dev
            4? open a/b /device/nvidia0
               a device file is named by its whole path below /dev
            5? open a/b
               a job opens one device file, named by its path without spaces
            6? open a/b /dev/nvidia0 rw
               a job opens one device file, named by its path without spaces
            7? open a/b /dev/nvidia0 minor 0 start 4
               a job opens one device file, named by its path without spaces
            8? open a/b /dev/nvidia-caps/nvidia-cap12 minor 0 start 8
               a memory slot is a number from 0 to 7
            9? close a/b /dev/nvidia0
               no line of this dialect is written so
        "#]],
    );
}

#[test]
fn what_is_on_the_list_is_ignored() {
    ALL.iter().for_each(|(dialect, _)| page::the_list_is_ignored(*dialect));
}

#[test]
fn statements_are_compared_one_by_one() {
    let held = DEVICES.replace("/dev/nvidia0\n", "/dev/nvidia1\n");
    let lines: Vec<&str> = held.lines().rev().collect();
    differ(
        Dialect::Devices,
        DEVICES,
        &lines.join("\n"),
        expect![[r#"
        + 8: open acme/research/train /dev/nvidia1
        - 1: open acme/research/train /dev/nvidia0
    "#]],
    );
}

#[test]
fn every_claim_is_a_sentence() {
    let mut told = String::new();
    for (dialect, text) in ALL {
        for claim in read::claims(dialect, text).claims {
            told += &format!("{}\n", claim.fact);
        }
    }
    expect![[r#"
        0000:1b:00.0 is GPU 1 in IOMMU group 12 on NUMA node 0
        0000:0d:00.0 is interface 0 in IOMMU group 3 on NUMA node 1
        0000:0d:00.3 is virtual function 2 of interface 0 in IOMMU group 40 on NUMA node 1
        0000:1b:00.1 is something else in IOMMU group 12 on NUMA node 0
        0000:1b:00.0 is below 0000:17:00.0, which lets functions reach each other
        0000:1b:00.0 is driven by vfio-pci
        the driver is 570.133.20
        the kernel is 6.8.0-60
        the firmware is U8E122S 3.40  of 2024
        the toolkit is 1.17.8
        the node booted securely
        GPU 3 can be cut
        GPU 3 has an instance 1g.10gb from slot 0
        GPU 3 has an instance 1g.10gb+me from slot 1
        GPU 3 has an instance 3g.40gb from slot 4
        GPU 1 is divided as SPX and NPS1
        GPU 2 is divided as CPX and NPS4
        NVLink partition 3 can join GPUs 1, 3
        NVLink partition 0 can join GPUs 1, 2, 3, 4, 5, 6, 7, 8
        NVLink partition 3 is active
        NVLink partition 17 joins GPUs 1, 2, 3, 4 of tray-1
        acme/research/train has memory channel 17
        blue/serve has memory channel 0
        acme/research/train may open GPU device 0
        acme/research/train may open /dev/nvidiactl
        acme/research/train may open interface 7
        acme/research/train may open memory channel 17
        acme/research/train may open the instance of GPU device 0 from slot 4
        blue/serve may open IOMMU group 12
        blue/serve may open /dev/vfio/vfio
        red/amd may open GPU device 1
    "#]]
    .assert_eq(&told);
}

fn check(dialect: Dialect, text: &str, expected: Expect) {
    expected.assert_eq(&page::told(dialect, text));
}

fn differ(dialect: Dialect, sent: &str, held: &str, expected: Expect) {
    let mut told = String::new();
    for difference in read::differences(dialect, sent, held) {
        let sign = if difference.is_missing { '-' } else { '+' };
        told += &format!("{sign} {}: {}\n", difference.line, difference.statement);
    }
    expected.assert_eq(&told);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        for (dialect, _) in ALL {
            page::no_line_is_known_and_unknown(dialect, &text);
            prop_assert!(read::differences(dialect, &text, &text).is_empty());
        }
    }

    #[test]
    fn no_cut_is_too_strange(
        cut in page::cut(&[VFIO, VERSIONS, MIG, AMD, NVLINK, IMEX, DEVICES]),
    ) {
        for (dialect, _) in ALL {
            page::no_line_is_known_and_unknown(dialect, &cut);
        }
    }

    #[test]
    fn parts_say_together_what_they_say_alone(
        parts in page::parts(&[VFIO, VERSIONS, MIG, AMD, NVLINK, IMEX, DEVICES]),
    ) {
        for (dialect, _) in ALL {
            page::parts_say_together_what_they_say_alone(dialect, &parts);
        }
    }
}
