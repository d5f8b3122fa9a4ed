//! What is found on models of real nodes, and how every single change to one is seen.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod document;
mod tree;

use document::{load, read_again};
use expect_test::{Expect, expect};
use model::{Dialect, NodeModel, PciAddress};
use observe::hardware::{Hardware, Known, Nvml, Unread, hardware};
use tree::Tree;

const HGX_H100: &str = include_str!("trees/hgx-h100.tree");
const NVL72_TRAY: &str = include_str!("trees/nvl72-tray.tree");
const A100_MIG: &str = include_str!("trees/a100-mig.tree");
const MI300X: &str = include_str!("trees/mi300x.tree");
const ACS_OFF: &str = include_str!("trees/acs-off.tree");

fn look(described: &str, known: &Known) -> Result<Hardware, Unread> {
    let tree = Tree::grow(described);
    hardware(&tree.root, &Nvml { root: &tree.root }, known)
}

/// What is found: the text of each dialect, the model for a document, and the notes.
#[track_caller]
fn check(described: &str, texts: Expect, document: Expect) {
    let tree = Tree::grow(described);
    let found = hardware(&tree.root, &Nvml { root: &tree.root }, &Known::default()).unwrap();
    let [vfio, versions] = [found.vfio(), found.versions_text()];
    let amd = found.amd(&tree.root).unwrap();
    texts.assert_eq(&format!("{vfio}{versions}{amd}"));
    let said = found.document(&"found".parse().unwrap());
    let notes: String = said.notes.iter().map(|note| format!("{note}\n")).collect();
    document.assert_eq(&format!("{}{notes}", said.text));
    let model = read_again(&said.text);
    assert_is_said(&found, &model);
    // Numbered as the document says, the node holds the same.
    let known = Known { layout: model.pci, ..Known::default() };
    assert_eq!(look(described, &known).unwrap().vfio(), vfio);
}

#[track_caller]
fn assert_is_said(found: &Hardware, model: &NodeModel) {
    let places = |addresses: &[PciAddress]| {
        let place = |address: &PciAddress| {
            let function = &found.functions[address];
            (function.group, function.numa)
        };
        addresses.iter().map(place).collect::<Vec<_>>()
    };
    let gpus = model.gpu_groups.iter().copied().zip(model.gpu_numa.iter().copied());
    let nics = model.nics.iter().map(|nic| (nic.iommu_group, nic.numa));
    assert_eq!(model.pci, found.layout);
    assert_eq!(gpus.collect::<Vec<_>>(), places(&found.layout.gpus));
    assert_eq!(nics.collect::<Vec<_>>(), places(&found.layout.nics));
    assert_eq!(model.versions, found.versions);
}

#[test]
fn an_hgx_node_has_eight_gpus_each_with_an_interface() {
    check(
        HGX_H100,
        expect![[r#"
        function 0000:1b:00.0 gpu 1 group 21 numa 0
        function 0000:43:00.0 gpu 2 group 23 numa 0
        function 0000:52:00.0 gpu 3 group 25 numa 0
        function 0000:61:00.0 gpu 4 group 27 numa 0
        function 0000:9d:00.0 gpu 5 group 29 numa 1
        function 0000:c3:00.0 gpu 6 group 31 numa 1
        function 0000:d1:00.0 gpu 7 group 33 numa 1
        function 0000:df:00.0 gpu 8 group 35 numa 1
        function 0000:18:00.0 nic 0 group 20 numa 0
        function 0000:40:00.0 nic 1 group 22 numa 0
        function 0000:4f:00.0 nic 2 group 24 numa 0
        function 0000:5e:00.0 nic 3 group 26 numa 0
        function 0000:9a:00.0 nic 4 group 28 numa 1
        function 0000:c0:00.0 nic 5 group 30 numa 1
        function 0000:ce:00.0 nic 6 group 32 numa 1
        function 0000:dc:00.0 nic 7 group 34 numa 1
        function 0000:18:00.1 vf 0 0 group 90 numa 0
        function 0000:18:00.2 vf 0 1 group 91 numa 0
        bind 0000:1b:00.0 nvidia
        bind 0000:43:00.0 nvidia
        bind 0000:52:00.0 nvidia
        bind 0000:61:00.0 nvidia
        bind 0000:9d:00.0 nvidia
        bind 0000:c3:00.0 nvidia
        bind 0000:d1:00.0 nvidia
        bind 0000:df:00.0 nvidia
        bind 0000:18:00.2 vfio-pci
        driver 570.133.20
        kernel 6.8.0-60-generic
        firmware 1.4.3
        toolkit 1.17.8-1
        secure-boot yes
    "#]],
        expect![[r#"
              models:
                nodes:
                  found:
                    gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
                    gpus: 8
                    gpuPci: ["0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"]
                    gpuIommuGroups: [21, 23, 25, 27, 29, 31, 33, 35]
                    gpuNumaNodes: [0, 0, 0, 0, 1, 1, 1, 1]
                    nics: {count: 8, rate: 400Gbps, vfs: 16}
                    nicPci: ["0000:18:00.0", "0000:40:00.0", "0000:4f:00.0", "0000:5e:00.0", "0000:9a:00.0", "0000:c0:00.0", "0000:ce:00.0", "0000:dc:00.0"]
                    nicIommuGroups: [20, 22, 24, 26, 28, 30, 32, 34]
                    nicNumaNodes: [0, 0, 0, 0, 1, 1, 1, 1]
                    versions: {driver: "570.133.20", kernel: "6.8.0-60-generic", firmware: "1.4.3", toolkit: "1.17.8-1", secureBoot: true}
            inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            left out: interface 0000:27:05.0 has no link, so that its rate is unknown
            left out: interface 0000:29:00.0 has only 200Gbps
            inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
        "#]],
    );
}

#[test]
fn a_tray_of_a_rack_has_four_gpus_in_domains_of_their_own() {
    check(
        NVL72_TRAY,
        expect![[r#"
        function 0008:01:00.0 gpu 1 group 1 numa 0
        function 0009:01:00.0 gpu 2 group 3 numa 0
        function 0018:01:00.0 gpu 3 group 5 numa 1
        function 0019:01:00.0 gpu 4 group 7 numa 1
        function 0000:03:00.0 nic 0 group 2 numa 0
        function 0002:03:00.0 nic 1 group 4 numa 0
        function 0010:03:00.0 nic 2 group 6 numa 1
        function 0012:03:00.0 nic 3 group 8 numa 1
        bind 0008:01:00.0 nvidia
        bind 0009:01:00.0 nvidia
        bind 0018:01:00.0 nvidia
        bind 0019:01:00.0 nvidia
        driver 580.65.06
        kernel 6.14.0-1008-nvidia-64k
        firmware 1.3.2_GB200
        secure-boot no
    "#]],
        expect![[r#"
              models:
                nodes:
                  found:
                    gpu: {product: GB200-186GB, board: GB200-NVL72}
                    gpus: 4
                    gpuPci: ["0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0"]
                    gpuIommuGroups: [1, 3, 5, 7]
                    gpuNumaNodes: [0, 0, 1, 1]
                    nics: {count: 4, rate: 400Gbps, vfs: 16}
                    nicPci: ["0000:03:00.0", "0002:03:00.0", "0010:03:00.0", "0012:03:00.0"]
                    nicIommuGroups: [2, 4, 6, 8]
                    nicNumaNodes: [0, 0, 1, 1]
                    versions: {driver: "580.65.06", kernel: "6.14.0-1008-nvidia-64k", firmware: "1.3.2_GB200", secureBoot: false}
            inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            unknown: nothing here says the container toolkit's version
            inferred: the firmware's version is `1.3.2 GB200`, written 1.3.2_GB200
            inferred: 4 GPUs with id 10de:2941 are called GB200-186GB, on the board GB200-NVL72
        "#]],
    );
}

#[test]
fn instances_of_a_gpu_are_seen_and_said_to_be_unknown() {
    check(
        A100_MIG,
        expect![[r#"
        function 0000:07:00.0 gpu 1 group 30 numa 3
        function 0000:0f:00.0 gpu 2 group 32 numa 3
        function 0000:47:00.0 gpu 3 group 34 numa 1
        function 0000:4e:00.0 gpu 4 group 36 numa 1
        function 0000:87:00.0 gpu 5 group 38 numa 7
        function 0000:90:00.0 gpu 6 group 40 numa 7
        function 0000:b7:00.0 gpu 7 group 42 numa 5
        function 0000:bd:00.0 gpu 8 group 44 numa 5
        function 0000:0c:00.0 nic 0 group 31 numa 3
        function 0000:12:00.0 nic 1 group 33 numa 3
        function 0000:4b:00.0 nic 2 group 35 numa 1
        function 0000:54:00.0 nic 3 group 37 numa 1
        function 0000:8d:00.0 nic 4 group 39 numa 7
        function 0000:94:00.0 nic 5 group 41 numa 7
        function 0000:ba:00.0 nic 6 group 43 numa 5
        function 0000:cc:00.0 nic 7 group 45 numa 5
        bind 0000:07:00.0 nvidia
        bind 0000:0f:00.0 nvidia
        bind 0000:47:00.0 nvidia
        bind 0000:4e:00.0 nvidia
        bind 0000:87:00.0 nvidia
        bind 0000:90:00.0 nvidia
        bind 0000:b7:00.0 nvidia
        bind 0000:bd:00.0 nvidia
        driver 550.90.07
        kernel 5.15.0-1063-nvidia
        firmware 1.21
        toolkit 1.16.1-1
        secure-boot yes
    "#]],
        expect![[r#"
              models:
                nodes:
                  found:
                    gpu: {product: A100-80GB, board: HGX-A100-8GPU}
                    gpus: 8
                    gpuPci: ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0", "0000:87:00.0", "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"]
                    gpuIommuGroups: [30, 32, 34, 36, 38, 40, 42, 44]
                    gpuNumaNodes: [3, 3, 1, 1, 7, 7, 5, 5]
                    nics: {count: 8, rate: 200Gbps, vfs: 8}
                    nicPci: ["0000:0c:00.0", "0000:12:00.0", "0000:4b:00.0", "0000:54:00.0", "0000:8d:00.0", "0000:94:00.0", "0000:ba:00.0", "0000:cc:00.0"]
                    nicIommuGroups: [31, 33, 35, 37, 39, 41, 43, 45]
                    nicNumaNodes: [3, 3, 1, 1, 7, 7, 5, 5]
                    versions: {driver: "550.90.07", kernel: "5.15.0-1063-nvidia", firmware: "1.21", toolkit: "1.16.1-1", secureBoot: true}
            inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            unknown: the GPU at 0000:07:00.0 is cut into instances (gi7, gi8); their profiles and slots are known to NVML only
            inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
        "#]],
    );
}

#[test]
fn gpus_of_another_vendor_say_how_they_are_divided() {
    check(
        MI300X,
        expect![[r#"
        function 0000:05:00.0 gpu 1 group 40 numa 0
        function 0000:26:00.0 gpu 2 group 42 numa 0
        function 0000:46:00.0 gpu 3 group 44 numa 0
        function 0000:65:00.0 gpu 4 group 46 numa 0
        function 0000:85:00.0 gpu 5 group 48 numa 1
        function 0000:a6:00.0 gpu 6 group 50 numa 1
        function 0000:c6:00.0 gpu 7 group 52 numa 1
        function 0000:e5:00.0 gpu 8 group 54 numa 1
        function 0000:08:00.0 nic 0 group 41 numa 0
        function 0000:29:00.0 nic 1 group 43 numa 0
        function 0000:49:00.0 nic 2 group 45 numa 0
        function 0000:68:00.0 nic 3 group 47 numa 0
        function 0000:88:00.0 nic 4 group 49 numa 1
        function 0000:a9:00.0 nic 5 group 51 numa 1
        function 0000:c9:00.0 nic 6 group 53 numa 1
        function 0000:e8:00.0 nic 7 group 55 numa 1
        bind 0000:05:00.0 amdgpu
        bind 0000:26:00.0 amdgpu
        bind 0000:46:00.0 amdgpu
        bind 0000:65:00.0 amdgpu
        bind 0000:85:00.0 amdgpu
        bind 0000:a6:00.0 amdgpu
        bind 0000:c6:00.0 amdgpu
        bind 0000:e5:00.0 amdgpu
        driver 6.12.12
        kernel 6.8.0-60-generic
        firmware 2.5.4
        toolkit 1.1.0-1
        secure-boot yes
        gpu 1 compute SPX memory NPS1
        gpu 2 compute SPX memory NPS1
        gpu 3 compute SPX memory NPS1
        gpu 4 compute SPX memory NPS1
        gpu 5 compute SPX memory NPS1
        gpu 6 compute SPX memory NPS1
        gpu 7 compute SPX memory NPS1
        gpu 8 compute CPX memory NPS4
    "#]],
        expect![[r#"
          models:
            nodes:
              found:
                gpu: {product: MI300X-192GB, board: MI300X-8GPU}
                gpus: 8
                gpuPci: ["0000:05:00.0", "0000:26:00.0", "0000:46:00.0", "0000:65:00.0", "0000:85:00.0", "0000:a6:00.0", "0000:c6:00.0", "0000:e5:00.0"]
                gpuIommuGroups: [40, 42, 44, 46, 48, 50, 52, 54]
                gpuNumaNodes: [0, 0, 0, 0, 1, 1, 1, 1]
                nics: {count: 8, rate: 400Gbps, vfs: 64}
                nicPci: ["0000:08:00.0", "0000:29:00.0", "0000:49:00.0", "0000:68:00.0", "0000:88:00.0", "0000:a9:00.0", "0000:c9:00.0", "0000:e8:00.0"]
                nicIommuGroups: [41, 43, 45, 47, 49, 51, 53, 55]
                nicNumaNodes: [0, 0, 0, 0, 1, 1, 1, 1]
                versions: {driver: "6.12.12", kernel: "6.8.0-60-generic", firmware: "2.5.4", toolkit: "1.1.0-1", secureBoot: true}
        inferred: GPUs are numbered in the order of their PCI addresses
        inferred: 8 GPUs with id 1002:74a1 are called MI300X-192GB, on the board MI300X-8GPU
    "#]],
    );
}

#[test]
fn functions_below_a_switch_without_acs_are_beneath_it_whatever_their_groups() {
    check(
        ACS_OFF,
        expect![[r#"
        function 0000:22:00.0 gpu 1 group 9 numa 0
        function 0000:23:00.0 gpu 2 group 9 numa 0
        function 0000:42:00.0 gpu 3 group 14 numa 0
        function 0000:43:00.0 gpu 4 group 15 numa 0
        function 0000:24:00.0 nic 0 group 9 numa 0
        function 0000:44:00.0 nic 1 group 16 numa 0
        function 0000:25:00.0 other group 9 numa 0
        beneath 0000:20:00.0 0000:22:00.0
        beneath 0000:20:00.0 0000:23:00.0
        beneath 0000:20:00.0 0000:24:00.0
        beneath 0000:40:00.0 0000:42:00.0
        beneath 0000:40:00.0 0000:43:00.0
        beneath 0000:40:00.0 0000:44:00.0
        bind 0000:22:00.0 vfio-pci
        bind 0000:23:00.0 nvidia
        bind 0000:42:00.0 vfio-pci
        bind 0000:43:00.0 nvidia
        kernel 6.1.0-30-amd64
        firmware 3.1
        secure-boot no
    "#]],
        expect![[r#"
              models:
                nodes:
                  found:
                    gpu: {product: L40S-48GB, board: PCIe}
                    gpus: 4
                    gpuPci: ["0000:22:00.0", "0000:23:00.0", "0000:42:00.0", "0000:43:00.0"]
                    gpuIommuGroups: [9, 9, 14, 15]
                    gpuNumaNodes: [0, 0, 0, 0]
                    nics: {count: 2, rate: 100Gbps, vfs: 8}
                    nicPci: ["0000:24:00.0", "0000:44:00.0"]
                    nicIommuGroups: [9, 16]
                    nicNumaNodes: [0, 0]
                    versions: {kernel: "6.1.0-30-amd64", firmware: "3.1", secureBoot: false}
            inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            inferred: 7 of the functions name no NUMA node; the node has only 0
            unknown: nothing here says the GPU driver's version
            unknown: nothing here says the container toolkit's version
            inferred: 4 GPUs with id 10de:26b9 are called L40S-48GB, on the board PCIe
        "#]],
    );
}

/// The differences that one change of a node makes, in the words of its texts.
#[track_caller]
fn change(described: &str, from: &str, to: &str, expected: Expect) {
    assert_eq!(described.matches(from).count(), 1, "`{from}` is not there once");
    let before = look(described, &Known::default()).unwrap();
    let known = Known { layout: before.layout.clone(), ..Known::default() };
    let after = look(&described.replace(from, to), &known).unwrap();
    let mut said = String::new();
    for (dialect, before, after) in [
        (Dialect::Vfio, before.vfio(), after.vfio()),
        (Dialect::Versions, before.versions_text(), after.versions_text()),
    ] {
        for difference in read::differences(dialect, &before, &after) {
            let word = if difference.is_missing { "lacks" } else { "holds" };
            said += &format!("{word} {}\n", difference.statement);
        }
    }
    expected.assert_eq(&said);
}

#[test]
fn every_single_change_is_seen() {
    change(
        HGX_H100,
        "group=27 ",
        "group=25 ",
        expect![[r#"
        holds function 0000:61:00.0 gpu 4 group 25 numa 0
        lacks function 0000:61:00.0 gpu 4 group 27 numa 0
    "#]],
    );
    change(
        HGX_H100,
        "group=31 numa=1",
        "group=31 numa=0",
        expect![[r#"
        holds function 0000:c3:00.0 gpu 6 group 31 numa 0
        lacks function 0000:c3:00.0 gpu 6 group 31 numa 1
    "#]],
    );
    change(
        HGX_H100,
        "group=35 numa=1 driver=nvidia",
        "group=35 numa=1 driver=vfio-pci",
        expect![[r#"
            holds bind 0000:df:00.0 vfio-pci
            lacks bind 0000:df:00.0 nvidia
        "#]],
    );
    change(
        HGX_H100,
        "group=35 numa=1 driver=nvidia",
        "group=35 numa=1",
        expect![[r#"
        lacks bind 0000:df:00.0 nvidia
    "#]],
    );
    change(
        HGX_H100,
        "numa=0 part-of=0000:18:00.0/0 driver=mlx5_core",
        "numa=0 part-of=0000:18:00.0/0 driver=vfio-pci",
        expect![[r#"
            holds bind 0000:18:00.1 vfio-pci
        "#]],
    );
    change(
        HGX_H100,
        "group=60 ",
        "group=21 ",
        expect![[r#"
        holds function 0000:29:00.0 other group 21 numa 0
    "#]],
    );
    change(
        HGX_H100,
        "file sys/module/nvidia/version 570.133.20",
        "file sys/module/nvidia/version 570.86.15",
        expect![[r#"
            holds driver 570.86.15
            lacks driver 570.133.20
        "#]],
    );
    change(
        HGX_H100,
        "6.8.0-60-generic",
        "6.8.0-59-generic",
        expect![[r#"
        holds kernel 6.8.0-59-generic
        lacks kernel 6.8.0-60-generic
    "#]],
    );
    change(
        HGX_H100,
        "bios_version 1.4.3",
        "bios_version 1.4.2",
        expect![[r#"
        holds firmware 1.4.2
        lacks firmware 1.4.3
    "#]],
    );
    change(
        HGX_H100,
        "Version: 1.17.8-1",
        "Version: 1.17.7-1",
        expect![[r#"
        holds toolkit 1.17.7-1
        lacks toolkit 1.17.8-1
    "#]],
    );
    change(
        HGX_H100,
        "06 00 00 00 01",
        "06 00 00 00 00",
        expect![[r#"
        holds secure-boot no
        lacks secure-boot yes
    "#]],
    );
    change(
        HGX_H100,
        "bridge pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0 downstream 1d",
        "bridge pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0 downstream 01",
        expect![[r#"
            holds beneath 0000:16:00.0 0000:18:00.0
            holds beneath 0000:16:00.0 0000:18:00.1
            holds beneath 0000:16:00.0 0000:18:00.2
            holds beneath 0000:16:00.0 0000:1b:00.0
        "#]],
    );
    let gone = HGX_H100.lines().find(|line| line.contains("0000:df:00.0 10de")).unwrap();
    change(
        HGX_H100,
        gone,
        "",
        expect![[r#"
        lacks function 0000:df:00.0 gpu 8 group 35 numa 1
        lacks bind 0000:df:00.0 nvidia
    "#]],
    );
}

#[test]
fn gpus_are_numbered_by_module_where_somebody_tells_them() {
    let tree = Tree::grow(NVL72_TRAY);
    let addresses = ["0018:01:00.0", "0008:01:00.0", "0019:01:00.0", "0009:01:00.0"];
    let addresses: Vec<PciAddress> = addresses.map(|address| address.parse().unwrap()).to_vec();
    let look = |modules: &[u16]| {
        let modules = addresses.iter().copied().zip(modules.iter().copied()).collect();
        let known = Known { modules, ..Known::default() };
        hardware(&tree.root, &Nvml { root: &tree.root }, &known)
    };
    assert_eq!(look(&[1, 2, 3, 4]).unwrap().layout.gpus, addresses);
    let gap = look(&[1, 2, 4, 5]).unwrap();
    assert!(!gap.order_is_known);
    expect!["contradiction: the GPUs here are modules [1, 2, 4, 5] of their board, which has a gap: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself"].assert_eq(&gap.notes[0].to_string());
}

/// What is said of a node that cannot be read, with its root left out.
#[track_caller]
fn fails(described: &str, from: &str, to: &str, expected: Expect) {
    assert_eq!(described.matches(from).count(), 1, "`{from}` is not there once");
    let tree = Tree::grow(&described.replace(from, to));
    let boards = Nvml { root: &tree.root };
    let error = hardware(&tree.root, &boards, &Known::default()).unwrap_err();
    let root = format!("{}/", tree.root.display());
    expected.assert_eq(&error.to_string().replace(&root, ""));
}

#[test]
fn what_cannot_be_read_is_named() {
    fails(
        NVL72_TRAY,
        "group=5 ",
        "",
        expect![
            "there is no sys/bus/pci/devices/0018:01:00.0/iommu_group: the function is in no IOMMU group, so that nothing keeps it from any memory; switch the IOMMU on in the firmware and on the kernel's command line"
        ],
    );
    fails(
        NVL72_TRAY,
        "group=5 ",
        "group=x ",
        expect!["sys/bus/pci/devices/0018:01:00.0/iommu_group says `x`: a number was expected"],
    );
    fails(
        NVL72_TRAY,
        "group=5 numa=1",
        "group=5 numa=-1",
        expect![
            "sys/bus/pci/devices/0018:01:00.0/numa_node says `-1`: the node has several NUMA nodes, and its firmware does not say which is near; update the firmware, or set the node by writing into that file"
        ],
    );
    fails(
        NVL72_TRAY,
        "group=5 numa=1",
        "group=5 numa=3",
        expect!["sys/bus/pci/devices/0018:01:00.0/numa_node says `3`: there is no such NUMA node"],
    );
    fails(
        NVL72_TRAY,
        "file proc/sys/kernel/osrelease 6.14.0-1008-nvidia-64k\n",
        "",
        expect!["cannot read proc/sys/kernel/osrelease"],
    );
    fails(
        NVL72_TRAY,
        "06 00 00 00 00",
        "06 00 00 00",
        expect![
            "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c says `[06, 00, 00, 00]`: four bytes of attributes and a 0 or 1 were expected"
        ],
    );
    fails(
        NVL72_TRAY,
        "580.65.06",
        "later",
        expect![
            "proc/driver/nvidia/version says `NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  later  Release Build`: a version of digits and dots was expected"
        ],
    );
    fails(
        "file sys/a b",
        "b",
        "c",
        expect![
            "there is no sys/bus/pci/devices: a node's PCI functions are looked for there; is its sysfs mounted?"
        ],
    );
}

#[test]
fn a_listed_id_is_a_gpu_whatever_its_class() {
    let known = Known { gpu_ids: vec![(0x144d, 0xa80a)], ..Known::default() };
    let found = look(ACS_OFF, &known).unwrap();
    let drives = ["0000:25:00.0", "0000:45:00.0"].map(|address| address.parse().unwrap());
    assert!(drives.iter().all(|drive| found.layout.gpus.contains(drive)));
}

#[test]
fn no_document_is_accepted_before_somebody_filled_in_what_is_unknown() {
    for (from, to, lacks) in [
        ("10de:26b9", "10de:ffff", "board"),
        ("speed=100000 ", "", "rate"),
        ("10de:26b9 030200", "10de:26b9 010802", "product"),
    ] {
        let found = look(&ACS_OFF.replace(from, to), &Known::default()).unwrap();
        let document = found.document(&"found".parse().unwrap());
        assert!(!document.is_whole(), "{lacks}");
        let refusals = load(&document.text).unwrap_err();
        let names_it = |refusal: &intent::Refusal| refusal.to_string().contains(lacks);
        assert!(refusals.iter().any(names_it), "{lacks}: {}", refusals[0]);
    }
}
