//! A node's hardware, as people and programs get it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod desk;
#[path = "../../edge/observe/tests/nvml/library.rs"]
mod library;
#[path = "../../edge/observe/tests/hardware/tree.rs"]
mod tree;

use desk::Desk;
use expect_test::{Expect, expect};
use serde_json::Value;
use tree::Tree;

const ACS_OFF: &str = include_str!("../../edge/observe/tests/hardware/trees/acs-off.tree");
const A100_MIG: &str = include_str!("../../edge/observe/tests/hardware/trees/a100-mig.tree");
const A100_MIG_SAYS: &str = include_str!("../../edge/observe/tests/nvml/boards/a100-mig.nvml");

#[track_caller]
fn check(name: &str, described: &str, arguments: &[&str], code: i32, expected: Expect) {
    let tree = Tree::grow(described);
    let root = tree.root.display().to_string();
    let said = Desk::new(name);
    let said = said.run(&[&["discover", "--root", &root], arguments].concat()).ends(code);
    expected.assert_eq(&format!("{}{}", said.out, said.err).replace(&root, ""));
}

#[test]
fn a_model_can_be_put_into_a_document_as_it_is() {
    check(
        "model",
        ACS_OFF,
        &["--model", "l40s"],
        0,
        expect![[r##"
            # inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to
            # ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            # inferred: 7 of the functions name no NUMA node; the node has only 0
            # unknown: nothing here says the GPU driver's version
            # unknown: nothing here says the container toolkit's version
            # inferred: 4 GPUs with id 10de:26b9 are called L40S-48GB, on the board PCIe
            spec:
              models:
                nodes:
                  l40s:
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
        "##]],
    );
}

#[test]
fn what_has_to_be_filled_in_is_an_answer_of_its_own() {
    let described = ACS_OFF.replace("10de:26b9", "10de:ffff").replace("speed=100000 ", "speed=-1 ");
    check(
        "fill-in",
        &described,
        &[],
        1,
        expect![[r##"
            # inferred: module ids are in the order of PCI addresses, because there is no libnvidia-ml.so.1 to
            # ask; compare with `nvidia-smi -q` before NVLink partitions depend on them
            # unknown: no interface has a link, so that all are taken and their rate is unknown
            # inferred: 7 of the functions name no NUMA node; the node has only 0
            # unknown: nothing here says the GPU driver's version
            # unknown: nothing here says the container toolkit's version
            # unknown: nobody listed what GPU 10de:ffff is called
            spec:
              models:
                nodes:
                  discovered:
                    gpu: {product: "10de:ffff", board: "fill this in"}
                    gpus: 4
                    gpuPci: ["0000:22:00.0", "0000:23:00.0", "0000:42:00.0", "0000:43:00.0"]
                    gpuIommuGroups: [9, 9, 14, 15]
                    gpuNumaNodes: [0, 0, 0, 0]
                    nics: {count: 2, rate: "fill this in", vfs: 8}
                    nicPci: ["0000:24:00.0", "0000:44:00.0"]
                    nicIommuGroups: [9, 16]
                    nicNumaNodes: [0, 0]
                    versions: {kernel: "6.1.0-30-amd64", firmware: "3.1", secureBoot: false}
        "##]],
    );
}

#[test]
fn what_cannot_be_read_is_broken_and_what_makes_no_sense_is_refused() {
    check(
        "unread",
        &ACS_OFF.replace("group=15 ", ""),
        &[],
        2,
        expect![[r#"
        Broken: there is no /sys/bus/pci/devices/0000:43:00.0/iommu_group: the function is in no IOMMU group, so that nothing keeps it from any memory; switch the IOMMU on in the firmware and on the kernel's command line
    "#]],
    );
    check(
        "dialect",
        ACS_OFF,
        &["--dialect", "frr"],
        1,
        expect![[r#"
            A node's hardware says nothing in frr.
              Ask for vfio, versions, mig or amd.
            Refused: 1 refusal, and nothing was done.
        "#]],
    );
    check(
        "module",
        ACS_OFF,
        &["--module", "0000:22:00.0"],
        64,
        expect![[r#"
        error: invalid value '0000:22:00.0' for '--module <ADDRESS=ID>': write it like 0000:1b:00.0=5

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn programs_get_every_function_and_every_text() {
    let tree = Tree::grow(ACS_OFF);
    let root = tree.root.display().to_string();
    let desk = Desk::new("discover-json");
    let said = desk.run(&["discover", "--root", &root, "-o", "json"]).ends(0).out;
    let said: Value = serde_json::from_str(&said).unwrap();
    let shared = &said["functions"][1];
    let shared = (&shared["address"], &shared["iommuGroup"], &shared["driver"]);
    assert_eq!(shared, (&"0000:23:00.0".into(), &9.into(), &"nvidia".into()));
    let vfio = desk.run(&["discover", "--root", &root, "--dialect", "vfio"]).ends(0).out;
    assert_eq!(said["texts"]["vfio"], vfio);
    assert_eq!(said["beneath"]["0000:40:00.0"].as_array().unwrap().len(), 3);
}

#[test]
fn the_drivers_library_is_asked_where_it_is() {
    let tree = Tree::grow(A100_MIG);
    library::put(&tree.root, A100_MIG_SAYS);
    let root = tree.root.display().to_string();
    let desk = Desk::new("discover-nvml");
    let mig = desk.run(&["discover", "--root", &root, "--dialect", "mig"]).ends(0).out;
    expect![[r#"
        gpu 3 mig on
        instance 3 3g.40gb start 0
        instance 3 2g.20gb start 4
    "#]]
    .assert_eq(&mig);
    let said = desk.run(&["discover", "--root", &root, "-o", "json"]).ends(0).out;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["texts"]["mig"], mig);
    let cut = said["functions"].as_array().unwrap();
    let cut = cut.iter().find(|function| function["address"] == "0000:07:00.0").unwrap();
    expect![[r#"
        {
          "fabric": null,
          "mig": {
            "instances": [
              {
                "id": 7,
                "profile": "3g.40gb",
                "size": 4,
                "start": 0
              },
              {
                "id": 8,
                "profile": "2g.20gb",
                "size": 2,
                "start": 4
              }
            ],
            "on": true
          },
          "module": 3,
          "nvlinks": {
            "active": 0,
            "all": 12
          },
          "uuid": "GPU-0fd630f1-f29d-4da9-953f-48f1a09f76b5"
        }"#]]
    .assert_eq(&format!("{:#}", cut["board"]));
}

#[test]
fn a_library_that_fails_leaves_no_number_to_be_taken() {
    let tree = Tree::grow(A100_MIG);
    library::put(&tree.root, &format!("{A100_MIG_SAYS}refuse nvmlInit_v2 18\n"));
    let root = tree.root.display().to_string();
    let desk = Desk::new("discover-nvml-fails");
    let run = |arguments: &[&str]| {
        let said = desk.run(&[&["discover", "--root", &root], arguments].concat()).ends(1);
        format!("{}{}", said.out, said.err)
    };
    expect![[r##"
        # unknown: module ids, instances and NVLinks of GPUs: nvmlInit_v2 ends with 18 (Driver/library
        # version mismatch); library and loaded driver are of different versions: restart the node, or
        # load the driver anew
        # unknown: the GPU at 0000:07:00.0 is cut into instances (gi7, gi8); their profiles and slots are
        # known to NVML only
        # inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
        spec:
          models:
            nodes:
              discovered:
                gpu: {product: A100-80GB, board: HGX-A100-8GPU}
                gpus: 8
                gpuPci: "fill this in"
                gpuIommuGroups: "fill this in"
                gpuNumaNodes: "fill this in"
                nics: {count: 8, rate: 200Gbps, vfs: 8}
                nicPci: ["0000:0c:00.0", "0000:12:00.0", "0000:4b:00.0", "0000:54:00.0", "0000:8d:00.0", "0000:94:00.0", "0000:ba:00.0", "0000:cc:00.0"]
                nicIommuGroups: [31, 33, 35, 37, 39, 41, 43, 45]
                nicNumaNodes: [3, 3, 1, 1, 7, 7, 5, 5]
                versions: {driver: "550.90.07", kernel: "5.15.0-1063-nvidia", firmware: "1.21", toolkit: "1.16.1-1", secureBoot: true}
    "##]].assert_eq(&run(&[]));
    expect![[r#"
        It is not known which GPU has which module id.
          See why by `bulkhead discover`, or name them by --module.
        Refused: 1 refusal, and nothing was done.
    "#]]
    .assert_eq(&run(&["--dialect", "vfio"]));
    expect![[r#"
        How GPUs are cut is not known: nvmlInit_v2 ends with 18 (Driver/library version mismatch);
          library and loaded driver are of different versions: restart the node, or load the driver
          anew.
          See what is missing by `bulkhead discover`.
        Refused: 1 refusal, and nothing was done.
    "#]]
    .assert_eq(&run(&["--dialect", "mig"]));
    let said: Value = serde_json::from_str(&run(&["-o", "json"])).unwrap();
    assert_eq!(said["functions"][0]["number"], Value::Null);
    assert_eq!(said["texts"].get("vfio"), None);
}
