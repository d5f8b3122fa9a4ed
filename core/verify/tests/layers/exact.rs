//! What must be said, and is not: each layer says all of it, and nothing else.

use std::sync::Arc;

use expect_test::expect;
use model::Dialect;
use read::{ClaimedGpu, DeviceFile, Direction, GpuClass, Hold, Peer};

use crate::rules::check;

#[test]
fn a_job_without_the_files_of_its_drivers_is_severed() {
    check(
        |world| {
            let is_control =
                |line: &Hold| matches!(line, Hold::Opens { file: DeviceFile::Control(_), .. });
            world.cut("n1", Dialect::Devices, |line| {
                is_control(line) && line.to_string().contains("red/train")
            });
            world.cut("t1", Dialect::Devices, is_control);
        },
        expect![[r#"
            severed: t1: devices does not give gold/big its files /dev/nvidiactl, /dev/nvidia-uvm
              t1 devices (job gold/big:1): gold/big may open GPU device 0
              t1 devices (job gold/big:2): gold/big may open GPU device 2
              t1 devices (job gold/big:3): gold/big may open GPU device 1
              t1 devices (job gold/big:4): gold/big may open GPU device 3
              t1 devices (job gold/big:5): gold/big may open interface 0
              t1 devices (job gold/big:6): gold/big may open interface 1
              t1 devices (job gold/big:7): gold/big may open interface 2
              t1 devices (job gold/big:8): gold/big may open interface 3
              t1 devices (job gold/big:9): gold/big may open memory channel 21
              t1 devices lacks files /dev/nvidiactl, /dev/nvidia-uvm of gold/big
            severed: n1: devices does not give red/train its file /dev/vfio/vfio
              n1 devices (job red/train:1): red/train may open IOMMU group 10
              n1 devices (job red/train:2): red/train may open IOMMU group 12
              n1 devices (job red/train:3): red/train may open IOMMU group 100
              n1 devices (job red/train:4): red/train may open IOMMU group 102
              n1 devices lacks file /dev/vfio/vfio of red/train
        "#]],
    );
}

#[test]
fn a_board_joins_what_boards_of_its_kind_do() {
    check(
        |world| {
            world.cut("n1", Dialect::Nvlink, |line| {
                matches!(line, Hold::Joinable { partition: 14, .. })
            });
            world.add("n1", Dialect::Nvlink, Hold::Joinable { partition: 20, gpus: 0b11 });
            world.change("n2", Dialect::Nvlink, |line| match line {
                Hold::Joinable { partition: 7, gpus } => {
                    *gpus = 0b11;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            drift: n1: NVLink partition 14 is unknown; the fleet says GPU 8
              n1 nvlink lacks NVLink partition 14: GPU 8
            drift: n1: NVLink partition 20 is GPUs 1, 2; the fleet says that there is none
              n1 nvlink (head:15): NVLink partition 20 can join GPUs 1, 2
            drift: n2: NVLink partition 7 is GPUs 1, 2; the fleet says GPU 1
              n2 nvlink (head:8): NVLink partition 7 can join GPUs 1, 2
        "#]],
    );
}

/// A board tells of its own GPUs and a domain of those of its nodes: what one says that is the
/// other's to say joins nobody, and is told.
#[test]
fn a_board_tells_of_no_domain_and_a_domain_of_no_board() {
    check(
        |world| {
            let node = world.fleet.nodes[world.node("t1").index()].name.clone();
            world.add("n1", Dialect::Nvlink, Hold::Linked { partition: 1, node, gpus: 0b1 });
            let domain = "nvlink-rack-1";
            world.add(domain, Dialect::Nvlink, Hold::Joinable { partition: 1, gpus: 0b11 });
            world.add(domain, Dialect::Nvlink, Hold::Active { partition: 1 });
        },
        expect![[r#"
            drift: nvlink-rack-1: what it says of a board is NVLink partition 1 can join GPUs 1, 2; the fleet says that this is for the board to say
              nvlink-rack-1 nvlink (head:1): NVLink partition 1 can join GPUs 1, 2
            drift: nvlink-rack-1: what it says of a board is NVLink partition 1 is active; the fleet says that this is for the board to say
              nvlink-rack-1 nvlink (head:2): NVLink partition 1 is active
            drift: n1: what it says of a domain is NVLink partition 1 joins GPU 1 of t1; the fleet says that this is for the domain to say
              n1 nvlink (head:16): NVLink partition 1 joins GPU 1 of t1
        "#]],
    );
}

/// A function has one driver, an interface as well as a GPU: whoever is told of first is not the
/// one who counts.
#[test]
fn an_interface_with_two_drivers_contradicts_itself() {
    check(
        |world| {
            let node = world.node("n1").index();
            let model = world.fleet.nodes[node].model.index();
            let pci = world.fleet.node_models[model].pci.nics[0];
            world.add("n1", Dialect::Vfio, Hold::Driven { pci, driver: "mlx5_core".into() });
        },
        expect![[r#"
            disagree: n1: of red/train devices names interfaces 0, 2 and vfio names interface 2
              n1 vfio (head:17): 0000:20:00.0 is driven by mlx5_core
              n1 vfio (job red/train:4): 0000:22:00.0 is driven by vfio-pci
              n1 devices (job red/train:3): red/train may open IOMMU group 100
              n1 devices (job red/train:4): red/train may open IOMMU group 102
              n1 vfio lacks interface 0 of red/train
            contradiction: n1: the driver of a function is said to be mlx5_core and to be vfio-pci
              n1 vfio (head:17): 0000:20:00.0 is driven by mlx5_core
              n1 vfio (job red/train:3): 0000:20:00.0 is driven by vfio-pci
        "#]],
    );
}

#[test]
fn a_gpu_of_amd_is_known_to_be_one() {
    check(
        |world| {
            let fleet = Arc::make_mut(&mut world.fleet);
            fleet.node_models[1].gpu.product = "MI300X-192GB".into();
            fleet.layers.dialects.push(Dialect::Amd);
            world.settle();
            for tray in ["t1", "t2"] {
                for gpu in 0..4 {
                    let (compute, memory) = ("SPX".into(), "NPS1".into());
                    world.add(tray, Dialect::Amd, Hold::Divided { gpu, compute, memory });
                }
            }
            world.cut("t1", Dialect::Amd, |line| matches!(line, Hold::Divided { gpu: 3, .. }));
            for (gpu, compute, memory) in [(1, "SPX", "NPS4"), (9, "SPX", "NPS1")] {
                let (compute, memory) = (compute.into(), memory.into());
                world.add("t2", Dialect::Amd, Hold::Divided { gpu, compute, memory });
            }
        },
        expect![[r#"
            severed: t1: devices does not give gold/big its file /dev/kfd
              t1 devices (job gold/big:1): gold/big may open GPU device 0
              t1 devices (job gold/big:2): gold/big may open GPU device 2
              t1 devices (job gold/big:3): gold/big may open GPU device 1
              t1 devices (job gold/big:4): gold/big may open GPU device 3
              t1 devices (job gold/big:5): gold/big may open interface 0
              t1 devices (job gold/big:6): gold/big may open interface 1
              t1 devices (job gold/big:7): gold/big may open interface 2
              t1 devices (job gold/big:8): gold/big may open interface 3
              t1 devices (job gold/big:9): gold/big may open memory channel 21
              t1 devices (job gold/big:10): gold/big may open /dev/nvidiactl
              t1 devices (job gold/big:11): gold/big may open /dev/nvidia-uvm
              t1 devices lacks file /dev/kfd of gold/big
            severed: t2: devices does not give gold/big its file /dev/kfd
              t2 devices (job gold/big:1): gold/big may open GPU device 0
              t2 devices (job gold/big:2): gold/big may open GPU device 2
              t2 devices (job gold/big:3): gold/big may open GPU device 1
              t2 devices (job gold/big:4): gold/big may open GPU device 3
              t2 devices (job gold/big:5): gold/big may open interface 0
              t2 devices (job gold/big:6): gold/big may open interface 1
              t2 devices (job gold/big:7): gold/big may open interface 2
              t2 devices (job gold/big:8): gold/big may open interface 3
              t2 devices (job gold/big:9): gold/big may open memory channel 21
              t2 devices (job gold/big:10): gold/big may open /dev/nvidiactl
              t2 devices (job gold/big:11): gold/big may open /dev/nvidia-uvm
              t2 devices lacks file /dev/kfd of gold/big
            wrong-quota: kubernetes: the quota of gold is 0 GPUs of gpu.amd.com; what its tenant has allows 8
              kubernetes kubernetes (tenant gold:11): namespace gold may use 0 of gpu.amd.com.deviceclass.resource.k8s.io/devices
            wrong-quota: kubernetes: the quota of gold is 8 GPUs of gpu.nvidia.com; what its tenant has allows 0
              kubernetes kubernetes (tenant gold:9): namespace gold may use 8 of gpu.nvidia.com.deviceclass.resource.k8s.io/devices
            drift: t2: the division of GPU 10 is SPX NPS1; the fleet says that there is none
              t2 amd (head:6): GPU 10 is divided as SPX and NPS1
            drift: t2: the division of GPU 2 is SPX NPS4; the fleet says SPX NPS1
              t2 amd (head:5): GPU 2 is divided as SPX and NPS4
            drift: t1: the division of GPU 4 is unknown; the fleet says SPX NPS1
              t1 amd lacks the division of GPU 4: SPX NPS1
        "#]],
    );
}

#[test]
fn a_machine_is_bound_to_where_its_gpus_are() {
    check(
        |world| world.cut("n1", Dialect::Vm, |line| matches!(line, Hold::GuestNear { .. })),
        expect![[r#"
            loose-memory: n1: the machine of blue/infer is not bound to NUMA node 0, where GPUs of it are
              n1 vm (job blue/infer:1): blue/infer runs in a virtual machine with tdx
            loose-memory: n1: the machine of red/train is not bound to NUMA node 0, where GPUs of it are
              n1 vm (job red/train:1): red/train runs in a virtual machine
        "#]],
    );
}

#[test]
fn how_a_node_booted_is_known() {
    check(
        |world| world.cut("n1", Dialect::Versions, |line| matches!(line, Hold::BootedSecurely(_))),
        expect![[r#"
            drift: n1: its boot is unknown; the fleet says secure
              n1 versions lacks its boot: secure
        "#]],
    );
}

#[test]
fn slurm_gives_out_every_gpu_and_knows_where_nodes_hang() {
    check(
        |world| {
            world.cut("slurm", Dialect::Slurm, |line| match line {
                Hold::Schedulable { node, .. } => node.as_str() == "n1",
                Hold::Together { place, .. } => place == "rack-1",
                _ => false,
            });
            world.change("slurm", Dialect::Slurm, |line| match line {
                Hold::Partition { partition, nodes, .. } if partition == "gold" => {
                    nodes.pop().is_some()
                }
                _ => false,
            });
        },
        expect![[r#"
            severed: slurm does not give gold its node t2
              slurm slurm (tenant gold:1): in Slurm partition gold gold may use t1, one user to a node
              slurm slurm lacks node t2 of gold
            drift: n1: what Slurm gives out is no GPU device; the fleet says GPU devices 0, 1, 2, 3, 4, 5, 6, 7
              slurm slurm lacks GPU devices 0, 1, 2, 3, 4, 5, 6, 7 of n1
            drift: slurm: where t1 hangs is unknown; the fleet says rack-1
              slurm slurm lacks t1 at rack-1
            drift: slurm: where t2 hangs is unknown; the fleet says rack-1
              slurm slurm lacks t2 at rack-1
        "#]],
    );
}

#[test]
fn ports_that_are_not_in_the_default_partition_are_told() {
    check(
        |world| {
            world.cut("subnet-p", Dialect::Pkey, |line| matches!(line, Hold::EveryMember { .. }))
        },
        expect![[r#"
            drift: subnet-p: InfiniBand partition 0x7fff is unknown; the fleet says that every port is in it
              subnet-p pkey lacks InfiniBand partition 0x7fff with every port
        "#]],
    );
}

#[test]
fn kubernetes_labels_and_publishes_all_of_a_node_that_it_knows() {
    check(
        |world| {
            world.cut("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Label { node, key, .. } => node.as_str() == "n1" && key.ends_with("domain"),
                Hold::Published { node, minor, .. } => node.as_str() == "n1" && *minor == 3,
                _ => false,
            });
        },
        expect![[r#"
            drift: n1: the label accelerator.topograph.run/domain is unknown; the fleet says n1
              kubernetes kubernetes lacks the label accelerator.topograph.run/domain: n1
            drift: n1: the published device gpu-3 is unknown; the fleet says 0000:44:00.0
              kubernetes kubernetes lacks the published device gpu-3: 0000:44:00.0
        "#]],
    );
}

#[test]
fn a_job_across_fabric_domains_is_told() {
    check(
        |world| {
            let pod = world.fleet.layers.labels.pod.clone();
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Label { node, key, value } if node.as_str() == "t2" && *key == pod => {
                    *value = "q".into();
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            across-pods: slurm: gold/big is in pod p, and is also placed in pod q, which another fabric joins
              slurm slurm (job gold/big:1): Slurm keeps t1, t2 for gold/big of account gold
              kubernetes kubernetes (head:19): t2 has label fabric.topograph.run/tier-1=q
            drift: t2: the label fabric.topograph.run/tier-1 is q; the fleet says p
              kubernetes kubernetes (head:19): t2 has label fabric.topograph.run/tier-1=q
        "#]],
    );
}

#[test]
fn a_namespace_is_open_to_itself_and_as_large_as_its_tenant() {
    check(
        |world| {
            world.cut("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Lets { namespace, direction: Direction::Egress, peer: Peer::Resolver } => {
                    namespace.as_str() == "red"
                }
                Hold::Role { namespace: Some(namespace), .. } => namespace.as_str() == "red",
                Hold::Volumes { class, .. } => class == "blue",
                _ => false,
            });
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::GpuQuota { namespace, gpus, .. } if namespace.as_str() == "gold" => {
                    *gpus += 1;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            shut-namespace: kubernetes: pods of red cannot ask for names
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks what lets pods of red ask for names
            wrong-quota: kubernetes: the quota of gold is 9 GPUs of gpu.nvidia.com; what its tenant has allows 8
              kubernetes kubernetes (tenant gold:9): namespace gold may use 9 of gpu.nvidia.com.deviceclass.resource.k8s.io/devices
            nobodys-volumes: kubernetes: volumes of class blue may be asked for, and are no tenant's
              kubernetes kubernetes (tenant blue:14): namespace blue may store 2199023255552 bytes in class blue
              kubernetes kubernetes lacks whose volumes of class blue are
            no-role: kubernetes: members of red-people have no role in their namespace red
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks a role for red-people in red
        "#]],
    );
}

#[test]
fn where_calico_denies_it_also_lets_through_what_may_pass() {
    check(
        |world| {
            for namespace in ["red", "blue"] {
                let (namespace, direction) = (namespace.parse().unwrap(), Direction::Egress);
                let line = Hold::CalicoDenies { namespace, direction };
                world.add("kubernetes", Dialect::Kubernetes, line);
            }
            let line = Hold::CalicoResolves { namespace: "blue".parse().unwrap() };
            world.add("kubernetes", Dialect::Kubernetes, line);
            let (namespace, direction) = ("blue".parse().unwrap(), Direction::Egress);
            let job = "blue/infer".parse().unwrap();
            let line = Hold::CalicoLetsJob { namespace, job, direction };
            world.add("kubernetes", Dialect::Kubernetes, line);
        },
        expect![[r#"
            shut-namespace: kubernetes: pods of red cannot ask for names
              kubernetes kubernetes (tenant red:1): namespace red is red's
              kubernetes kubernetes lacks what lets pods of red ask for names
            shut-job: kubernetes: pods of red/train cannot reach each other
              kubernetes kubernetes (job red/train:7): pods of red/train in namespace red may reach each other
              kubernetes kubernetes lacks what lets pods of red/train reach each other by Calico
        "#]],
    );
}

#[test]
fn a_device_that_is_published_twice_is_given_to_nobody() {
    check(
        |world| {
            let (node, pci) = ("t1".parse().unwrap(), "0000:86:00.0".parse().unwrap());
            world.add("kubernetes", Dialect::Kubernetes, Hold::Published { node, minor: 0, pci });
        },
        expect![[r#"
            drift: t1: how often device gpu-0 is published is twice; the fleet says once
              kubernetes kubernetes (head:74): t1 publishes 0000:86:00.0 as GPU device 0
        "#]],
    );
}

/// A machine gets GPUs that are passed through to it, and containers those with a device file.
#[test]
fn a_claim_is_of_the_class_that_its_job_runs_in() {
    check(
        |world| {
            for (tenant, of) in [("red", GpuClass::Nvidia), ("gold", GpuClass::NvidiaVfio)] {
                world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                    Hold::Claimed { job, gpu: ClaimedGpu::At { pci, class, .. }, .. }
                        if job.tenant.as_str() == tenant && pci.bus == 0x86 =>
                    {
                        *class = of;
                        true
                    }
                    _ => false,
                });
            }
        },
        expect![[r#"
            drift: kubernetes: the class of the claim of gold/big for 0000:86:00.0 is vfio.gpu.nvidia.com; the fleet says gpu.nvidia.com
              kubernetes kubernetes (job gold/big:1): gold/big claims 0000:86:00.0 of t1 by vfio.gpu.nvidia.com as gpu-0 in namespace gold
            drift: kubernetes: the class of the claim of red/train for 0000:86:00.0 is gpu.nvidia.com; the fleet says vfio.gpu.nvidia.com
              kubernetes kubernetes (job red/train:3): red/train claims 0000:86:00.0 of n1 by gpu.nvidia.com as gpu-4 in namespace red
        "#]],
    );
}

/// A machine whose claim calls a GPU otherwise never starts, and one that does not take all of its
/// claims starts without.
#[test]
fn a_machine_takes_what_its_claims_call_so() {
    check(
        |world| {
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::Claimed { job, gpu: ClaimedGpu::At { pci, request, .. }, .. }
                    if job.tenant.as_str() == "red" && pci.bus == 0x86 =>
                {
                    request.minor = 7;
                    true
                }
                _ => false,
            });
            world.change("kubernetes", Dialect::Kubernetes, |line| match line {
                Hold::GuestTakes { job, request, .. } if job.tenant.as_str() == "blue" => {
                    request.claim = 1;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            drift: kubernetes: gpu-4 of the machine of red/train is taken; the fleet says that no claim of it asks for this
              kubernetes kubernetes (job red/train:1): red/train runs in a virtual machine on n1 in namespace red
              kubernetes kubernetes (job red/train:2): the virtual machine of red/train on n1 takes gpu-4
            drift: kubernetes: gpu-6 of claim 1 of the machine of blue/infer is taken; the fleet says that no claim of it asks for this
              kubernetes kubernetes (job blue/infer:1): blue/infer runs in a virtual machine with tdx on n1 in namespace blue
              kubernetes kubernetes (job blue/infer:2): the virtual machine of blue/infer on n1 takes gpu-6 of claim 1
            drift: kubernetes: gpu-6 of the machine of blue/infer is claimed and not taken; the fleet says that the machine has it
              kubernetes kubernetes (job blue/infer:1): blue/infer runs in a virtual machine with tdx on n1 in namespace blue
              kubernetes kubernetes (job blue/infer:3): blue/infer claims 0000:b8:00.0 of n1 by vfio.gpu.nvidia.com as gpu-6 in namespace blue
            drift: kubernetes: gpu-7 of the machine of red/train is claimed and not taken; the fleet says that the machine has it
              kubernetes kubernetes (job red/train:1): red/train runs in a virtual machine on n1 in namespace red
              kubernetes kubernetes (job red/train:3): red/train claims 0000:86:00.0 of n1 by vfio.gpu.nvidia.com as gpu-7 in namespace red
            drift: kubernetes: the name in the claim of red/train for 0000:86:00.0 is gpu-7; the fleet says gpu-4
              kubernetes kubernetes (job red/train:3): red/train claims 0000:86:00.0 of n1 by vfio.gpu.nvidia.com as gpu-7 in namespace red
        "#]],
    );
}
