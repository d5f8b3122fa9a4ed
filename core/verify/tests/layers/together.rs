//! The weakest layer: for pairs of layers a world in which both are right alone and wrong
//! together.

use expect_test::expect;
use model::Dialect;
use read::{ClaimedGpu, DeviceFile, Hold};

use crate::rules::check;
use crate::world::World;

/// Slurm says that a job has GPUs 1 and 2, which both exist and are free to give.
fn allocated(world: &mut World, job_name: &str, gpus: &[u16]) {
    let pci = world.fleet.node_models[0].pci.clone();
    let given = gpus.iter().fold(0, |all, gpu| all | 1_u64 << pci.minor(*gpu).unwrap());
    world.change("slurm", Dialect::Slurm, |line| match line {
        Hold::Allocated { job, minors, .. } if job.name.as_str() == job_name => {
            *minors = given;
            true
        }
        _ => false,
    });
}

#[test]
fn the_scheduler_gives_other_gpus_than_nvlink_joins() {
    check(
        |world| allocated(world, "sweep", &[0, 1]),
        expect![[r#"
            disagree: n2: of green/sweep vfio names GPUs 1, 2, 3, 4 and slurm names GPUs 1, 2
              n2 vfio (job green/sweep:1): 0000:86:00.0 is driven by nvidia
              n2 vfio (job green/sweep:2): 0000:b8:00.0 is driven by nvidia
              n2 vfio (job green/sweep:3): 0000:87:00.0 is driven by nvidia
              n2 vfio (job green/sweep:4): 0000:bb:00.0 is driven by nvidia
              slurm slurm (job green/sweep:2): Slurm gave green/sweep GPU devices 4, 6 of n2
              slurm slurm lacks GPUs 3, 4 of green/sweep
        "#]],
    );
}

#[test]
fn the_scheduler_gives_a_gpu_that_the_driver_of_the_host_does_not_have() {
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.gpus[0];
            world.change("n2", Dialect::Vfio, |line| match line {
                Hold::Driven { pci: held, driver } if *held == pci => {
                    *driver = "vfio-pci".into();
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            disagree: n2: of green/sweep nvlink names GPUs 1, 2, 3, 4 and vfio names GPUs 2, 3, 4
              n2 vfio (job green/sweep:1): 0000:86:00.0 is driven by vfio-pci
              n2 vfio (job green/sweep:2): 0000:b8:00.0 is driven by nvidia
              n2 vfio (job green/sweep:3): 0000:87:00.0 is driven by nvidia
              n2 vfio (job green/sweep:4): 0000:bb:00.0 is driven by nvidia
              n2 nvlink (job green/sweep:1): NVLink partition 1 is active
              n2 vfio lacks GPU 1 of green/sweep
        "#]],
    );
}

#[test]
fn the_device_list_names_fewer_gpus_than_the_claim() {
    check(
        |world| {
            world.cut("n2", Dialect::Devices, |line| {
                matches!(line, Hold::Opens { file: DeviceFile::Gpu(0), .. })
            });
        },
        expect![[r#"
            disagree: n2: of green/tune vfio names GPUs 5, 6, 7, 8 and devices names GPUs 6, 7, 8
              n2 vfio (job green/tune:1): 0000:0f:00.0 is driven by nvidia
              n2 vfio (job green/tune:2): 0000:41:00.0 is driven by nvidia
              n2 vfio (job green/tune:3): 0000:10:00.0 is driven by nvidia
              n2 vfio (job green/tune:4): 0000:44:00.0 is driven by nvidia
              n2 devices (job green/tune:1): green/tune may open GPU device 2
              n2 devices (job green/tune:2): green/tune may open GPU device 1
              n2 devices (job green/tune:3): green/tune may open GPU device 3
              n2 devices lacks GPU 5 of green/tune
        "#]],
    );
}

#[test]
fn the_claim_counts_by_modules_where_device_files_count_by_address() {
    // Incident 17: a numbering by PCI order picked the wrong partition.
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.clone();
            for gpu in [0_u16, 2] {
                let address = pci.gpus[usize::from(gpu)];
                world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                    Hold::Claimed { job, gpu: held, .. }
                        if job.tenant.as_str() == "red"
                            && matches!(&*held, ClaimedGpu::At { pci, .. } if *pci == address) =>
                    {
                        *held = ClaimedGpu::Minor(gpu);
                        true
                    }
                    _ => false,
                });
            }
        },
        expect![[r#"
            breach: n1 (red/train) was given n1 GPU 5 (nobody's) by kubernetes: data can cross
              kubernetes kubernetes (job red/train:3): a claim of red/train was given GPU device 0 of n1 in namespace red
            disagree: n1: of red/train vfio names GPUs 1, 3 and kubernetes names GPUs 5, 6
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
              n1 vfio (job red/train:2): 0000:87:00.0 is driven by vfio-pci
              kubernetes kubernetes (job red/train:3): a claim of red/train was given GPU device 0 of n1 in namespace red
              kubernetes kubernetes (job red/train:5): a claim of red/train was given GPU device 2 of n1 in namespace red
              kubernetes kubernetes lacks GPUs 1, 3 of red/train
            drift: kubernetes: gpu-4 of the machine of red/train is taken; the fleet says that no claim of it asks for this
              kubernetes kubernetes (job red/train:1): red/train runs in a virtual machine on n1 in namespace red
              kubernetes kubernetes (job red/train:2): the virtual machine of red/train on n1 takes gpu-4
            drift: kubernetes: gpu-5 of the machine of red/train is taken; the fleet says that no claim of it asks for this
              kubernetes kubernetes (job red/train:1): red/train runs in a virtual machine on n1 in namespace red
              kubernetes kubernetes (job red/train:4): the virtual machine of red/train on n1 takes gpu-5
        "#]],
    );
}

#[test]
fn the_machine_lacks_a_gpu_that_vfio_has_bound_for_it() {
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.gpus[2];
            world.cut(
                "n1",
                Dialect::Vm,
                |line| matches!(line, Hold::GuestHas { pci: held, .. } if *held == pci),
            );
        },
        expect![[r#"
            disagree: n1: of red/train vfio names GPUs 1, 3 and vm names GPU 1
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
              n1 vfio (job red/train:2): 0000:87:00.0 is driven by vfio-pci
              n1 vm (job red/train:3): the virtual machine of red/train has 0000:86:00.0
              n1 vm lacks GPU 3 of red/train
        "#]],
    );
}

#[test]
fn the_device_list_opens_another_channel_than_the_job_has() {
    check(
        |world| {
            world.change("t1", Dialect::Devices, |line| match line {
                Hold::Opens { file: DeviceFile::Channel(channel), .. } => {
                    *channel = 0;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            disagree: t1: of gold/big imex names channel 21 and devices names channel 0
              t1 imex (job gold/big:1): gold/big has memory channel 21
              t1 devices (job gold/big:9): gold/big may open memory channel 0
              t1 imex lacks channel 0 of gold/big
              t1 devices lacks channel 21 of gold/big
            default-channel: t1: gold/big has memory channel 0, which is everybody's who chose none
              t1 devices (job gold/big:9): gold/big may open memory channel 0
        "#]],
    );
}

#[test]
fn the_domain_joins_other_gpus_than_the_device_list_opens() {
    check(
        |world| {
            world.change("nvlink-rack-1", Dialect::Nvlink, |line| match line {
                Hold::Linked { node, gpus, .. } if node.as_str() == "t2" => {
                    *gpus = 0b11;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            disagree: t2: of gold/big vfio names GPUs 1, 2, 3, 4 and nvlink names GPUs 1, 2
              t2 vfio (job gold/big:1): 0000:86:00.0 is driven by nvidia
              t2 vfio (job gold/big:2): 0000:b8:00.0 is driven by nvidia
              t2 vfio (job gold/big:3): 0000:87:00.0 is driven by nvidia
              t2 vfio (job gold/big:4): 0000:bb:00.0 is driven by nvidia
              nvlink-rack-1 nvlink (job gold/big:2): NVLink partition 21 joins GPUs 1, 2 of t2
              nvlink-rack-1 nvlink lacks GPUs 3, 4 of gold/big
        "#]],
    );
}

#[test]
fn two_trays_of_one_job_are_in_two_partitions() {
    check(
        |world| {
            world.change("nvlink-rack-1", Dialect::Nvlink, |line| match line {
                Hold::Linked { node, partition, .. } if node.as_str() == "t2" => {
                    *partition = 99;
                    true
                }
                _ => false,
            });
            world.change("t2", Dialect::Imex, |line| match line {
                Hold::Channel { channel, .. } => {
                    *channel = 99;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            severed: nvlink does not join nodes t1, t2 of gold/big with each other
              nvlink-rack-1 nvlink (job gold/big:1): NVLink partition 21 joins GPUs 1, 2, 3, 4 of t1
              nvlink-rack-1 nvlink (job gold/big:2): NVLink partition 99 joins GPUs 1, 2, 3, 4 of t2
              nvlink-rack-1 nvlink lacks nodes t1, t2 of gold/big together
            severed: imex does not join nodes t1, t2 of gold/big with each other
              t1 imex (job gold/big:1): gold/big has memory channel 21
              t2 imex (job gold/big:1): gold/big has memory channel 99
            disagree: t2: of gold/big imex names channel 99 and devices names channel 21
              t2 imex (job gold/big:1): gold/big has memory channel 99
              t2 devices (job gold/big:9): gold/big may open memory channel 21
              t2 imex lacks channel 21 of gold/big
              t2 devices lacks channel 99 of gold/big
        "#]],
    );
}

#[test]
fn the_fabric_forgets_an_interface_that_the_machine_has() {
    check(
        |world| {
            let guid = world.guid(world.node("n1"), 2);
            world.cut(
                "subnet-p",
                Dialect::Pkey,
                |line| matches!(line, Hold::Member { guid: held, .. } if *held == guid),
            );
        },
        expect![[r#"
            severed: n1: pkey does not give red/train its interface 2
              subnet-p pkey lacks interface 2 of red/train
        "#]],
    );
}

#[test]
fn a_board_joins_a_jobs_gpus_one_by_one() {
    check(
        |world| {
            world.cut("n1", Dialect::Nvlink, |line| matches!(line, Hold::Active { partition: 3 }));
            world.add("n1", Dialect::Nvlink, Hold::Active { partition: 7 });
            world.add("n1", Dialect::Nvlink, Hold::Active { partition: 9 });
        },
        expect![[r#"
            severed: n1: nvlink does not join GPUs 1, 3 of red/train with each other
              n1 nvlink (head:16): NVLink partition 7 is active
              n1 nvlink (head:17): NVLink partition 9 is active
              n1 nvlink lacks GPUs 1, 3 of red/train together
        "#]],
    );
}

#[test]
fn a_container_shares_the_host_of_a_machine() {
    check(
        |world| {
            let job = "red/train".parse().unwrap();
            let minor = world.fleet.node_models[0].pci.minor(0).unwrap();
            let file = DeviceFile::Gpu(minor);
            world.add("n1", Dialect::Devices, Hold::Opens { job, file });
        },
        expect![[r#"
            wrong-runtime: n1: red/train shares the host's kernel; it must run in a virtual machine
              n1 devices (head:1): red/train may open GPU device 4
        "#]],
    );
}

#[test]
fn why_answers_on_every_layer() {
    let mut world = crate::rules::town();
    world.settle();
    let mut verifier = world.verifier();
    verifier.judge();
    let told = |one: &str, other: &str| {
        let steps = verifier.why_layers(&one.parse().unwrap(), &other.parse().unwrap());
        let mut told = String::new();
        for step in steps {
            let mark = if step.fence { "apart" } else { "open" };
            told += &format!("{} {mark}: {}\n", step.layer, step.answer);
            assert!(step.said_by.len() <= 64);
        }
        told
    };
    expect![[r#"
        host apart: both are on n1, each in a machine of its own (grades gpu and gpu)
        vfio apart: red/train is in IOMMU group 10 of n1, IOMMU group 12 of n1, IOMMU group 100 of n1, IOMMU group 102 of n1; blue/infer in IOMMU group 11 of n1, IOMMU group 13 of n1, IOMMU group 101 of n1, IOMMU group 103 of n1
        nvlink apart: red/train is in NVLink partition 3 of n1; blue/infer in NVLink partition 4 of n1
        pkey apart: red/train is in InfiniBand partition 0x0011 of subnet-p; blue/infer in InfiniBand partition 0x0012 of subnet-p
        devices apart: red/train is in GPU 1 of n1, GPU 3 of n1; blue/infer in GPU 2 of n1, GPU 4 of n1
        vm apart: red/train is in GPU 1 of n1, GPU 3 of n1; blue/infer in GPU 2 of n1, GPU 4 of n1
        slurm apart: red/train is in Slurm partition red; blue/infer in Slurm partition blue
        kubernetes apart: red/train is in namespace red; blue/infer in namespace blue
    "#]].assert_eq(&told("red/train", "blue/infer"));
    expect![[r#"
        host open: both are on n2 and share its kernel (grades node and node)
        vfio apart: green/sweep is in IOMMU group 10 of n2, IOMMU group 11 of n2, IOMMU group 12 of n2, IOMMU group 13 of n2 and 4 more; green/tune in IOMMU group 14 of n2, IOMMU group 15 of n2, IOMMU group 16 of n2, IOMMU group 17 of n2 and 4 more
        nvlink apart: green/sweep is in NVLink partition 1 of n2; green/tune in NVLink partition 2 of n2
        pkey apart: green/sweep is in InfiniBand partition 0x0013 of subnet-p; green/tune in InfiniBand partition 0x0014 of subnet-p
        devices apart: green/sweep is in GPU 1 of n2, GPU 2 of n2, GPU 3 of n2, GPU 4 of n2; green/tune in GPU 5 of n2, GPU 6 of n2, GPU 7 of n2, GPU 8 of n2
        slurm open: both are in Slurm partition green
        kubernetes open: both are in namespace green
    "#]].assert_eq(&told("green/sweep", "green/tune"));
    expect![[r#"
        host apart: gold/big and red/train are on no node together
        vfio apart: gold/big is in IOMMU group 10 of t1, IOMMU group 11 of t1, IOMMU group 12 of t1, IOMMU group 13 of t1 and 12 more; red/train in IOMMU group 10 of n1, IOMMU group 12 of n1, IOMMU group 100 of n1, IOMMU group 102 of n1
        nvlink apart: gold/big is in NVLink partition 21 of nvlink-rack-1; red/train in NVLink partition 3 of n1
        imex apart: gold/big is in NVLink memory channel 21 of rack-1; red/train in nothing
        pkey apart: gold/big is in InfiniBand partition 0x0015 of subnet-p; red/train in InfiniBand partition 0x0011 of subnet-p
        devices apart: gold/big is in GPU 1 of t1, GPU 2 of t1, GPU 3 of t1, GPU 4 of t1 and 4 more; red/train in GPU 1 of n1, GPU 3 of n1
        vm apart: gold/big is in nothing; red/train in GPU 1 of n1, GPU 3 of n1
        slurm apart: gold/big is in Slurm partition gold; red/train in Slurm partition red
        kubernetes apart: gold/big is in namespace gold; red/train in namespace red
    "#]].assert_eq(&told("gold/big", "red/train"));
}
