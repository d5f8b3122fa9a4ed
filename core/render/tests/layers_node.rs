#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What nodes, NVLink domains and subnets are told.
//!
//! | node | what it is | whose |
//! |---|---|---|
//! | hgx-1 | HGX H100 | modules 1 and 3 of acme/research/train (grade gpu), 5 to 8 of blue/serve (grade gpu) |
//! | hgx-2 | HGX H100 | all of red/big (grade node) |
//! | mi-1  | MI300X   | all of red/big-too (grade node) |
//! | tray-1, tray-2 | GB200 in one NVLink domain | all of red/wide (grade node) |

use expect_test::{Expect, expect};
use intent::Source;
use model::{Dialect, Part, PciLayout};
use plan::Plan;
use render::{MigInstance, mig_parted};

const DOCUMENTS: &str = r#"
apiVersion: GROUP/v1
kind: Fleet
metadata: {name: small}
spec:
  layers: [vfio, versions, mig, amd, nvlink, imex, pkey, devices]
  models:
    nodes:
      hgx:
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        gpuPci: ["0000:86:00.0", "0000:b8:00.0", "0000:87:00.0", "0000:bb:00.0",
                 "0000:0f:00.0", "0000:41:00.0", "0000:10:00.0", "0000:44:00.0"]
        nics: {count: 8, rate: 400Gbps, numaNodes: 2, firstIommuGroup: 30}
        nicPci: ["0000:84:00.0", "0000:b6:00.0", "0000:85:00.0", "0000:b9:00.0",
                 "0000:0d:00.0", "0000:3f:00.0", "0000:0e:00.0", "0000:42:00.0"]
        versions: {driver: 570.133.20, kernel: 6.8.0-60, toolkit: 1.17.8, secureBoot: true}
      mi:
        gpu: {product: MI300X-192GB, board: UBB}
        gpus: 2
        gpuPci: ["0001:02:1f.7", "0000:03:00.0"]
        nics: {count: 1, rate: 400Gbps}
        nicPci: ["0000:09:00.0"]
      tray:
        gpu: {product: GB200-186GB, board: GB200-NVL72}
        gpus: 4
        gpuPci: ["0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0"]
        nics: {count: 4, rate: 400Gbps}
        nicPci: ["0000:03:00.0", "0002:03:00.0", "0010:03:00.0", "0012:03:00.0"]
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves: [{name: leaf-1}]
          nodes:
            - {name: hgx-1, model: hgx, leaf: leaf-1}
            - {name: hgx-2, model: hgx, leaf: leaf-1}
            - {name: mi-1, model: mi, leaf: leaf-1}
            - {name: tray-1, model: tray, leaf: leaf-1, rack: r1, nvlinkDomain: rack}
            - {name: tray-2, model: tray, leaf: leaf-1, rack: r1, nvlinkDomain: rack}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: acme}, spec: {grade: gpu, pools: [10.1.0.0/16]}}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: acme/research}, spec: {}}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: blue}, spec: {grade: gpu, pools: [10.2.0.0/16]}}
--- {apiVersion: GROUP/v1, kind: Tenant, metadata: {name: red}, spec: {grade: node, pools: [10.3.0.0/16]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: train}, spec: {tenant: acme/research, endpoints: [hgx-1/0, hgx-1/2]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: serve}, spec: {tenant: blue, endpoints: [hgx-1/4, hgx-1/5, hgx-1/6, hgx-1/7]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: big}, spec: {tenant: red, endpoints: [hgx-2/0, hgx-2/1, hgx-2/2, hgx-2/3, hgx-2/4, hgx-2/5, hgx-2/6, hgx-2/7]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: big-too}, spec: {tenant: red, endpoints: [mi-1/0]}}
--- {apiVersion: GROUP/v1, kind: Job, metadata: {name: wide}, spec: {tenant: red, gpus: 8, product: GB200-186GB}}
"#;

#[test]
fn functions_of_a_node_stand_in_groups_and_have_drivers_by_their_jobs() {
    check(
        "hgx-1",
        Dialect::Vfio,
        expect![[r#"
        function 0000:86:00.0 gpu 1 group 38 numa 0
        function 0000:b8:00.0 gpu 2 group 39 numa 0
        function 0000:87:00.0 gpu 3 group 40 numa 0
        function 0000:bb:00.0 gpu 4 group 41 numa 0
        function 0000:0f:00.0 gpu 5 group 42 numa 1
        function 0000:41:00.0 gpu 6 group 43 numa 1
        function 0000:10:00.0 gpu 7 group 44 numa 1
        function 0000:44:00.0 gpu 8 group 45 numa 1
        function 0000:84:00.0 nic 0 group 30 numa 0
        function 0000:b6:00.0 nic 1 group 31 numa 0
        function 0000:85:00.0 nic 2 group 32 numa 0
        function 0000:b9:00.0 nic 3 group 33 numa 0
        function 0000:0d:00.0 nic 4 group 34 numa 1
        function 0000:3f:00.0 nic 5 group 35 numa 1
        function 0000:0e:00.0 nic 6 group 36 numa 1
        function 0000:42:00.0 nic 7 group 37 numa 1
        job acme/research/train:
        bind 0000:86:00.0 vfio-pci
        bind 0000:87:00.0 vfio-pci
        bind 0000:84:00.0 vfio-pci
        bind 0000:85:00.0 vfio-pci
        job blue/serve:
        bind 0000:0f:00.0 vfio-pci
        bind 0000:41:00.0 vfio-pci
        bind 0000:10:00.0 vfio-pci
        bind 0000:44:00.0 vfio-pci
        bind 0000:0d:00.0 vfio-pci
        bind 0000:3f:00.0 vfio-pci
        bind 0000:0e:00.0 vfio-pci
        bind 0000:42:00.0 vfio-pci
    "#]],
    );
}

#[test]
fn a_container_uses_the_drivers_of_the_host() {
    check(
        "hgx-2",
        Dialect::Vfio,
        expect![[r#"
        function 0000:86:00.0 gpu 1 group 38 numa 0
        function 0000:b8:00.0 gpu 2 group 39 numa 0
        function 0000:87:00.0 gpu 3 group 40 numa 0
        function 0000:bb:00.0 gpu 4 group 41 numa 0
        function 0000:0f:00.0 gpu 5 group 42 numa 1
        function 0000:41:00.0 gpu 6 group 43 numa 1
        function 0000:10:00.0 gpu 7 group 44 numa 1
        function 0000:44:00.0 gpu 8 group 45 numa 1
        function 0000:84:00.0 nic 0 group 30 numa 0
        function 0000:b6:00.0 nic 1 group 31 numa 0
        function 0000:85:00.0 nic 2 group 32 numa 0
        function 0000:b9:00.0 nic 3 group 33 numa 0
        function 0000:0d:00.0 nic 4 group 34 numa 1
        function 0000:3f:00.0 nic 5 group 35 numa 1
        function 0000:0e:00.0 nic 6 group 36 numa 1
        function 0000:42:00.0 nic 7 group 37 numa 1
        job red/big:
        bind 0000:86:00.0 nvidia
        bind 0000:b8:00.0 nvidia
        bind 0000:87:00.0 nvidia
        bind 0000:bb:00.0 nvidia
        bind 0000:0f:00.0 nvidia
        bind 0000:41:00.0 nvidia
        bind 0000:10:00.0 nvidia
        bind 0000:44:00.0 nvidia
    "#]],
    );
    check(
        "mi-1",
        Dialect::Vfio,
        expect![[r#"
        function 0001:02:1f.7 gpu 1 group 1 numa 0
        function 0000:03:00.0 gpu 2 group 2 numa 0
        function 0000:09:00.0 nic 0 group 0 numa 0
        job red/big-too:
        bind 0001:02:1f.7 amdgpu
        bind 0000:03:00.0 amdgpu
    "#]],
    );
}

#[test]
fn what_nobody_said_has_no_version() {
    check(
        "hgx-1",
        Dialect::Versions,
        expect![[r#"
        driver 570.133.20
        kernel 6.8.0-60
        toolkit 1.17.8
        secure-boot yes
    "#]],
    );
    check(
        "mi-1",
        Dialect::Versions,
        expect![[r#"
        secure-boot no
    "#]],
    );
}

#[test]
fn a_job_has_exactly_one_partition_of_its_board() {
    check(
        "hgx-1",
        Dialect::Nvlink,
        expect![[r#"
        partition 0 gpus 1 2 3 4 5 6 7 8
        partition 1 gpus 1 2 3 4
        partition 2 gpus 5 6 7 8
        partition 3 gpus 1 3
        partition 4 gpus 2 4
        partition 5 gpus 5 7
        partition 6 gpus 6 8
        partition 7 gpus 1
        partition 8 gpus 2
        partition 9 gpus 3
        partition 10 gpus 4
        partition 11 gpus 5
        partition 12 gpus 6
        partition 13 gpus 7
        partition 14 gpus 8
        job acme/research/train:
        active 3
        job blue/serve:
        active 2
    "#]],
    );
    check(
        "hgx-2",
        Dialect::Nvlink,
        expect![[r#"
        partition 0 gpus 1 2 3 4 5 6 7 8
        partition 1 gpus 1 2 3 4
        partition 2 gpus 5 6 7 8
        partition 3 gpus 1 3
        partition 4 gpus 2 4
        partition 5 gpus 5 7
        partition 6 gpus 6 8
        partition 7 gpus 1
        partition 8 gpus 2
        partition 9 gpus 3
        partition 10 gpus 4
        partition 11 gpus 5
        partition 12 gpus 6
        partition 13 gpus 7
        partition 14 gpus 8
        job red/big:
        active 0
    "#]],
    );
}

#[test]
fn the_manager_of_a_domain_hears_of_every_node_of_a_job() {
    check(
        "nvlink-ams-pod-r1",
        Dialect::Nvlink,
        expect![[r#"
        job red/wide:
        partition 1 node tray-1 gpus 1 2 3 4
        partition 1 node tray-2 gpus 1 2 3 4
    "#]],
    );
    check(
        "tray-1",
        Dialect::Imex,
        expect![[r#"
        job red/wide:
        channel 1 red/wide
    "#]],
    );
}

#[test]
fn a_subnet_has_a_partition_for_each_job() {
    check(
        "subnet-ams-pod",
        Dialect::Pkey,
        expect![[r#"
        Default=0x7fff, ipoib : ALL=limited, SELF=full ;
        job acme/research/train:
        acme.research.train=0x0001 : 0x020100fffe000000=full, 0x020100fffe000002=full ;
        job blue/serve:
        blue.serve=0x0002 : 0x020100fffe000004=full, 0x020100fffe000005=full, 0x020100fffe000006=full, 0x020100fffe000007=full ;
        job red/big:
        red.big=0x0003 : 0x020100fffe000008=full, 0x020100fffe000009=full, 0x020100fffe00000a=full, 0x020100fffe00000b=full, 0x020100fffe00000c=full, 0x020100fffe00000d=full, 0x020100fffe00000e=full, 0x020100fffe00000f=full ;
        job red/big-too:
        red.big-too=0x0004 : 0x020100fffe000010=full ;
        job red/wide:
        red.wide=0x0005 : 0x020100fffe000011=full, 0x020100fffe000012=full, 0x020100fffe000013=full, 0x020100fffe000014=full, 0x020100fffe000015=full, 0x020100fffe000016=full, 0x020100fffe000017=full, 0x020100fffe000018=full ;
    "#]],
    );
}

#[test]
fn a_virtual_machine_opens_groups_and_a_container_opens_devices() {
    check(
        "hgx-1",
        Dialect::Devices,
        expect![[r#"
        job acme/research/train:
        open acme/research/train /dev/vfio/30
        open acme/research/train /dev/vfio/32
        open acme/research/train /dev/vfio/38
        open acme/research/train /dev/vfio/40
        open acme/research/train /dev/vfio/vfio
        job blue/serve:
        open blue/serve /dev/vfio/34
        open blue/serve /dev/vfio/35
        open blue/serve /dev/vfio/36
        open blue/serve /dev/vfio/37
        open blue/serve /dev/vfio/42
        open blue/serve /dev/vfio/43
        open blue/serve /dev/vfio/44
        open blue/serve /dev/vfio/45
        open blue/serve /dev/vfio/vfio
    "#]],
    );
    check(
        "hgx-2",
        Dialect::Devices,
        expect![[r#"
        job red/big:
        open red/big /dev/nvidia4
        open red/big /dev/nvidia6
        open red/big /dev/nvidia5
        open red/big /dev/nvidia7
        open red/big /dev/nvidia0
        open red/big /dev/nvidia2
        open red/big /dev/nvidia1
        open red/big /dev/nvidia3
        open red/big /dev/nvidiactl
        open red/big /dev/nvidia-uvm
        open red/big /dev/infiniband/uverbs0
        open red/big /dev/infiniband/uverbs1
        open red/big /dev/infiniband/uverbs2
        open red/big /dev/infiniband/uverbs3
        open red/big /dev/infiniband/uverbs4
        open red/big /dev/infiniband/uverbs5
        open red/big /dev/infiniband/uverbs6
        open red/big /dev/infiniband/uverbs7
    "#]],
    );
    check(
        "mi-1",
        Dialect::Devices,
        expect![[r#"
        job red/big-too:
        open red/big-too /dev/dri/renderD129
        open red/big-too /dev/dri/renderD128
        open red/big-too /dev/kfd
        open red/big-too /dev/infiniband/uverbs0
    "#]],
    );
    check(
        "tray-2",
        Dialect::Devices,
        expect![[r#"
        job red/wide:
        open red/wide /dev/nvidia0
        open red/wide /dev/nvidia1
        open red/wide /dev/nvidia2
        open red/wide /dev/nvidia3
        open red/wide /dev/nvidiactl
        open red/wide /dev/nvidia-uvm
        open red/wide /dev/infiniband/uverbs0
        open red/wide /dev/infiniband/uverbs1
        open red/wide /dev/infiniband/uverbs2
        open red/wide /dev/infiniband/uverbs3
        open red/wide /dev/nvidia-caps-imex-channels/channel1
    "#]],
    );
}

#[test]
fn gpus_of_amd_are_whole() {
    check(
        "mi-1",
        Dialect::Amd,
        expect![[r#"
        gpu 1 compute SPX memory NPS1
        gpu 2 compute SPX memory NPS1
    "#]],
    );
}

#[test]
fn no_gpu_is_cut() {
    check("hgx-1", Dialect::Mig, expect![[""]]);
}

#[test]
fn a_cut_is_counted_by_device_and_profile() {
    let gpus = ["0000:86:00.0", "0000:0f:00.0", "0000:41:00.0"];
    let gpus = gpus.map(|address| address.parse().unwrap()).to_vec();
    let layout = PciLayout { gpus, nics: Vec::new() };
    let instance = |gpu, profile| MigInstance { gpu, profile };
    let cut = [instance(0, "3g.40gb"), instance(0, "1g.10gb"), instance(0, "1g.10gb")];
    expect![[r##"
        # Instances are counted here and not placed: read back at which memory slot each begins.
        version: v1
        mig-configs:
          planned:
            - devices: [0]
              mig-enabled: true
              mig-devices:
                "7g.80gb": 1
            - devices: [1]
              mig-enabled: false
            - devices: [2]
              mig-enabled: true
              mig-devices:
                "1g.10gb": 2
                "3g.40gb": 1
    "##]]
    .assert_eq(&mig_parted(&layout, &[&cut[..], &[instance(1, "7g.80gb")]].concat()));
}

#[test]
fn a_job_with_many_ports_is_several_statements_that_the_subnet_manager_reads() {
    let mut plan = plan();
    let seats = &mut plan.jobs.values_mut().next().unwrap().groups[0].seats;
    *seats = seats[..1].repeat(300);
    let text = text(&plan, "subnet-ams-pod", Dialect::Pkey);
    let lines = text.lines().filter(|line| line.starts_with("acme.research.train=0x0001 : "));
    let ports: Vec<usize> = lines.clone().map(|line| line.matches("=full").count()).collect();
    assert_eq!(ports, [128, 128, 44]);
    assert!(lines.clone().all(|line| line.len() < 4094 && line.ends_with(" ;")));
}

/// Shows the parts of a device's artifact, each below its name.
fn check(device: &str, dialect: Dialect, expected: Expect) {
    expected.assert_eq(&text(&plan(), device, dialect));
}

fn text(plan: &Plan, device: &str, dialect: Dialect) -> String {
    let fleet = &plan.fleet;
    let id = fleet.devices().find(|&id| fleet.device_name(id).as_str() == device).unwrap();
    let parts = render::artifact(plan, id, dialect).parts.into_iter();
    parts
        .map(|part| match part.part {
            Part::Head => part.text,
            named => format!("{named}:\n{}", part.text),
        })
        .collect()
}

fn plan() -> Plan {
    let text = DOCUMENTS.replace("GROUP", model::API_GROUP);
    let intent = intent::load(&[Source { file: "small.yaml", text: &text }]).unwrap();
    plan::next(&intent, &plan::Ledger::default()).unwrap().plan
}
