//! Libraries that do not answer, or not all of it.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use model::{Dialect, PciAddress};
use observe::hardware::{Hardware, Known, Nvml, hardware};

use crate::document::load;
use crate::tree::Tree;
use crate::{A100_MIG, HGX_H100, Node, library, look, said};

/// What is told where the library does not answer, with the node's folder left out.
#[track_caller]
fn fails(node: Node, put: impl Fn(&Tree), expected: Expect) -> Hardware {
    let tree = Tree::grow(node.files);
    put(&tree);
    let found = hardware(&tree.root, &Nvml { root: &tree.root }, &Known::default());
    let root = format!("{}/", tree.root.display());
    expected.assert_eq(&said(&found).replace(&root, ""));
    found.unwrap()
}

#[test]
fn a_library_that_does_not_start_is_told_and_nothing_is_guessed() {
    let refuses = |code: u32| {
        move |tree: &Tree| {
            let says = format!("{}refuse nvmlInit_v2 {code}\n", HGX_H100.says);
            library::put(&tree.root, &says);
        }
    };
    let found = fails(
        HGX_H100,
        refuses(9),
        expect![[r#"
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        gpuPci: "fill this in"
        gpuIommuGroups: "fill this in"
        gpuNumaNodes: "fill this in"
        silent: nvmlInit_v2 ends with 9 (Driver Not Loaded); load the driver by `modprobe nvidia`; the kernel's log says why it is not loaded
        unknown: module ids, instances and NVLinks of GPUs: nvmlInit_v2 ends with 9 (Driver Not Loaded); load the driver by `modprobe nvidia`; the kernel's log says why it is not loaded
        left out: interface 0000:27:05.0 has no link, so that its rate is unknown
        left out: interface 0000:29:00.0 has only 200Gbps
        inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
    "#]],
    );
    let document = found.document(&"found".parse().unwrap());
    assert!(!document.is_whole());
    let refusals = load(&document.text).unwrap_err();
    expect!["found.yaml:11:25: `gpuIommuGroups` takes a list, found the quoted text `fill this in`. Write a list."].assert_eq(&refusals[0].to_string());
    fails(
        HGX_H100,
        refuses(18),
        expect![[r#"
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        gpuPci: "fill this in"
        gpuIommuGroups: "fill this in"
        gpuNumaNodes: "fill this in"
        silent: nvmlInit_v2 ends with 18 (Driver/library version mismatch); library and loaded driver are of different versions: restart the node, or load the driver anew
        unknown: module ids, instances and NVLinks of GPUs: nvmlInit_v2 ends with 18 (Driver/library version mismatch); library and loaded driver are of different versions: restart the node, or load the driver anew
        left out: interface 0000:27:05.0 has no link, so that its rate is unknown
        left out: interface 0000:29:00.0 has only 200Gbps
        inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
    "#]],
    );
    let text = |tree: &Tree| {
        library::put(&tree.root, "");
        library::put_file(&tree.root, library::PLACE, b"no library at all");
    };
    fails(
        HGX_H100,
        text,
        expect![[r#"
            gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
            gpus: 8
            gpuPci: "fill this in"
            gpuIommuGroups: "fill this in"
            gpuNumaNodes: "fill this in"
            silent: cannot load usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file too short; install the GPU driver again
            unknown: module ids, instances and NVLinks of GPUs: cannot load usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file too short; install the GPU driver again
            left out: interface 0000:27:05.0 has no link, so that its rate is unknown
            left out: interface 0000:29:00.0 has only 200Gbps
            inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
        "#]],
    );
    let old = |tree: &Tree| library::put_old(&tree.root, HGX_H100.says);
    fails(
        HGX_H100,
        old,
        expect![[r#"
            gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
            gpus: 8
            gpuPci: "fill this in"
            gpuIommuGroups: "fill this in"
            gpuNumaNodes: "fill this in"
            silent: it is not known which GPU has which module id
            unknown: module ids: NVML says none, and the board has some; name them yourself
            left out: interface 0000:27:05.0 has no link, so that its rate is unknown
            left out: interface 0000:29:00.0 has only 200Gbps
            unknown: the module id of 0000:1b:00.0, 0000:43:00.0, 0000:52:00.0, 0000:61:00.0, 0000:9d:00.0, 0000:c3:00.0, 0000:d1:00.0, 0000:df:00.0: libnvidia-ml.so.1 has no nvmlDeviceGetModuleId; update the GPU driver
            inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
        "#]],
    );
}

#[test]
fn one_that_does_not_say_all_leaves_the_rest_unknown() {
    let refuses = |refusal: &str| format!("{}refuse {refusal}\n", A100_MIG.says);
    let unknown = look(A100_MIG.files, &refuses("nvmlDeviceGetGpuInstances 4"), &Known::default());
    expect![[r#"
        gpu: {product: A100-80GB, board: HGX-A100-8GPU}
        gpus: 8
        gpuPci: ["0000:47:00.0", "0000:4e:00.0", "0000:07:00.0", "0000:0f:00.0", "0000:b7:00.0", "0000:bd:00.0", "0000:87:00.0", "0000:90:00.0"]
        gpuIommuGroups: [34, 36, 30, 32, 42, 44, 38, 40]
        gpuNumaNodes: [1, 1, 3, 3, 5, 5, 7, 7]
        gpu 3 mig unknown
        unknown: instances of 0000:07:00.0: nvmlDeviceGetGpuInstances ends with 4 (Insufficient Permissions); run it as root
        unknown: the GPU at 0000:07:00.0 is cut into instances (gi7, gi8); their profiles and slots are known to NVML only
        inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
    "#]].assert_eq(&said(&unknown));
    let text = unknown.unwrap().mig().unwrap();
    assert_eq!(read::claims(Dialect::Mig, &text).unknown.len(), 1, "{text}");
    let blind = refuses("nvmlDeviceGetGpuInstanceProfileInfoV 3");
    expect![[r#"
        gpu: {product: A100-80GB, board: HGX-A100-8GPU}
        gpus: 8
        gpuPci: ["0000:47:00.0", "0000:4e:00.0", "0000:07:00.0", "0000:0f:00.0", "0000:b7:00.0", "0000:bd:00.0", "0000:87:00.0", "0000:90:00.0"]
        gpuIommuGroups: [34, 36, 30, 32, 42, 44, 38, 40]
        gpuNumaNodes: [1, 1, 3, 3, 5, 5, 7, 7]
        gpu 3 mig unknown
        unknown: instances of 0000:07:00.0: nvmlDeviceGetGpuInstanceProfileInfoV ends with 3 (Not Supported); the kernel's log may say why
        unknown: the GPU at 0000:07:00.0 is cut into instances (gi7, gi8); their profiles and slots are known to NVML only
        inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
    "#]].assert_eq(&said(&look(A100_MIG.files, &blind, &Known::default())));
    let lost = refuses("nvmlDeviceGetHandleByIndex_v2 15 at 2");
    expect![[r#"
        gpu: {product: A100-80GB, board: HGX-A100-8GPU}
        gpus: 8
        gpuPci: "fill this in"
        gpuIommuGroups: "fill this in"
        gpuNumaNodes: "fill this in"
        silent: it is not known which GPU has which module id
        contradiction: the GPUs here are modules [2, 3, 4, 5, 6, 7, 8] of their board, which has a gap, and nobody says which 0000:47:00.0 is: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
        unknown: where one of the GPUs is: nvmlDeviceGetHandleByIndex_v2 ends with 15 (GPU is lost); the GPU fell off the bus: drain the node, and restart it
        contradiction: the driver has the GPU at 0000:47:00.0, and NVML does not know it
        inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
    "#]].assert_eq(&said(&look(A100_MIG.files, &lost, &Known::default())));
}

#[test]
fn what_is_told_fills_gaps_and_contradicts_nobody() {
    let gpu: PciAddress = "0000:47:00.0".parse().unwrap();
    let lost = format!("{}refuse nvmlDeviceGetModuleId 15 at 2\n", A100_MIG.says);
    let told = |module| Known { modules: [(gpu, module)].into(), ..Known::default() };
    let found = look(A100_MIG.files, &lost, &told(1)).unwrap();
    assert_eq!(found.layout, A100_MIG.look().unwrap().layout);
    let contradicted = look(A100_MIG.files, A100_MIG.says, &told(2)).unwrap();
    assert_eq!(contradicted.layout, found.layout);
    expect!["contradiction: 0000:47:00.0 is module 2 as was told, and 1 as NVML says"]
        .assert_eq(&contradicted.notes[0].to_string());
}

#[test]
fn it_is_found_wherever_drivers_install_it_even_badly() {
    let tree = Tree::grow(HGX_H100.files);
    library::put(&tree.root, HGX_H100.says);
    let at = |folder: &str| tree.root.join(folder).join("libnvidia-ml.so.1");
    let [first, other] = ["usr/lib/x86_64-linux-gnu", "run/nvidia/driver/usr/lib64"].map(at);
    let look = || hardware(&tree.root, &Nvml { root: &tree.root }, &Known::default()).unwrap();
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::rename(&first, &other).unwrap();
    fs::rename(first.with_extension("1.says"), other.with_extension("1.says")).unwrap();
    assert_eq!(look().layout, HGX_H100.look().unwrap().layout);
    symlink("libnvidia-ml.so.570.133.20", &first).unwrap();
    let root = format!("{}/", tree.root.display());
    expect!["unknown: module ids, instances and NVLinks of GPUs: cannot load usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: cannot open shared object file: No such file or directory; install the GPU driver again"].assert_eq(&look().notes[0].to_string().replace(&root, ""));
}

#[test]
fn a_library_of_another_machine_is_not_loaded() {
    let foreign = |tree: &Tree| {
        library::put(&tree.root, HGX_H100.says);
        library::put_file(&tree.root, library::BOOT, b"another boot");
    };
    let found = fails(
        HGX_H100,
        foreign,
        expect![[r#"
            gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
            gpus: 8
            gpuPci: ["0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"]
            gpuIommuGroups: [21, 23, 25, 27, 29, 31, 33, 35]
            gpuNumaNodes: [0, 0, 0, 0, 1, 1, 1, 1]
            silent: these are not the files of the machine that this runs on, and their libnvidia-ml.so.1 would tell of this one
            inferred: module ids are in the order of PCI addresses, because these are not the files of the machine that this runs on, and their libnvidia-ml.so.1 would tell of this one; compare with `nvidia-smi -q` before NVLink partitions depend on them
            left out: interface 0000:27:05.0 has no link, so that its rate is unknown
            left out: interface 0000:29:00.0 has only 200Gbps
            inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
        "#]],
    );
    assert!(found.order_is_known);
}
