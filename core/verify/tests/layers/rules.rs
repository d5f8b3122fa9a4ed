//! One rule at a time: what the verifier says of a sound world in which one thing is another one.
//!
//! Red (in machines) has GPUs 1 and 3 of `n1`, blue (in machines) 2 and 4, and nobody the rest.
//! Green has two jobs in containers on `n2`; gold one on both trays of a rack.

use expect_test::{Expect, expect};
use model::{Confidential, Dialect, Grade, Part};
use read::{DeviceFile, Function, Hold};
use verify::{Code, Finding};

use crate::world::{Sheet, World};

/// Judges the world after a change, and shows every finding with the lines that say so. Whoever
/// judged the sound world before, and reads the change alone, finds the same.
pub(crate) fn check(change: impl FnOnce(&mut World), expect: Expect) {
    let mut sound = town();
    sound.settle();
    let mut world = sound.clone();
    change(&mut world);
    let findings = world.verifier().judge();
    // Another fleet is another verifier.
    if (&sound.fleet, &sound.owners) == (&world.fleet, &world.owners) {
        assert_eq!(world.show(&findings_of_change(&sound, &world)), world.show(&findings));
    }
    let network: Vec<_> =
        findings.iter().filter(|finding| finding.code() == Code::Silent).collect();
    assert_eq!(network.len(), 1, "only the leaf is silent");
    let layers: Vec<_> =
        findings.iter().filter(|one| one.code() != Code::Silent).cloned().collect();
    expect.assert_eq(&world.show(&layers));
}

/// What a verifier finds that judged the sound world before, and reads only what is not as it was.
fn findings_of_change(sound: &World, world: &World) -> Vec<Finding> {
    let mut verifier = sound.verifier();
    verifier.judge();
    let place = |sheet: &Sheet| (sheet.device, sheet.dialect, sheet.part.clone());
    for sheet in &sound.sheets {
        if world.sheets.iter().all(|held| place(held) != place(sheet)) {
            verifier.take(sheet.device, sheet.dialect, &sheet.part, None);
        }
    }
    let changed = world.sheets.iter().filter(|sheet| !sound.sheets.contains(sheet));
    changed.for_each(|sheet| world.take(&mut verifier, sheet));
    verifier.judge()
}

#[test]
fn a_layer_that_speaks_and_says_nothing_is_judged_from_then_on() {
    let mut silent = town();
    silent.settle();
    let node = silent.device("n1");
    silent.sheets.retain(|sheet| (sheet.device, sheet.dialect) != (node, Dialect::Versions));
    let mut world = silent.clone();
    let (dialect, part) = (Dialect::Versions, Part::Head);
    world.sheets.push(Sheet { device: node, dialect, part, lines: Vec::new() });
    let found = world.show(&findings_of_change(&silent, &world));
    assert!(found.contains("n1: driver is unknown"), "{found}");
    assert_eq!(found, world.show(&world.verifier().judge()));
}

pub(crate) fn town() -> World {
    let mut world = World::new(2, 2);
    world.tenant("red", Grade::Gpu, None);
    world.tenant("blue", Grade::Gpu, Some(Confidential::Tdx));
    world.tenant("green", Grade::Node, None);
    world.tenant("gold", Grade::Domain, None);
    world.give("red/train", "n1", 0b101);
    world.give("blue/infer", "n1", 0b1010);
    world.give("green/sweep", "n2", 0x0f);
    world.give("green/tune", "n2", 0xf0);
    world.give("gold/big", "t1", 0x0f);
    world.give("gold/big", "t2", 0x0f);
    world
}

impl World {
    /// The lines of a device in a dialect that are of this kind, changed.
    pub(crate) fn change(
        &mut self,
        device: &str,
        dialect: Dialect,
        one: impl Fn(&mut Hold) -> bool,
    ) {
        let device = self.device(device);
        let sheets = self.sheets.iter_mut();
        let sheets = sheets.filter(|sheet| (sheet.device, sheet.dialect) == (device, dialect));
        let mut lines = sheets.flat_map(|sheet| sheet.lines.iter_mut());
        assert!(lines.any(one), "no line is changed");
    }

    /// Takes away the lines of a device in a dialect that are of this kind.
    pub(crate) fn cut(&mut self, device: &str, dialect: Dialect, is: impl Fn(&Hold) -> bool) {
        let device = self.device(device);
        let before = self.count();
        for sheet in &mut self.sheets {
            if (sheet.device, sheet.dialect) == (device, dialect) {
                sheet.lines.retain(|line| !is(line));
            }
        }
        assert_ne!(before, self.count(), "no line is cut");
    }

    /// Adds a line to the head of a device.
    pub(crate) fn add(&mut self, device: &str, dialect: Dialect, line: Hold) {
        let device = self.device(device);
        let sheets = self.sheets.iter_mut();
        let mut sheets = sheets.filter(|sheet| (sheet.device, sheet.dialect) == (device, dialect));
        sheets.next().unwrap().lines.push(line);
    }

    fn count(&self) -> usize {
        self.sheets.iter().map(|sheet| sheet.lines.len()).sum()
    }
}

#[test]
fn a_sound_world_is_met_with_silence() {
    check(|_| {}, expect![[""]]);
}

#[test]
fn an_iommu_group_of_two_owners_is_a_breach() {
    check(
        |world| {
            world.change("n1", Dialect::Vfio, |line| match line {
                Hold::Function { what: Function::Gpu(1), group, .. } => {
                    *group = 10;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            breach: n1 GPU 2 (blue/infer) meets n1 GPU 1 (red/train) in IOMMU group 10 of n1: data can cross
              n1 vfio (head:1): 0000:86:00.0 is GPU 1 in IOMMU group 10 on NUMA node 0
              n1 vfio (head:2): 0000:b8:00.0 is GPU 2 in IOMMU group 10 on NUMA node 0
            breach: n1 (blue/infer) was given n1 IOMMU group 11 (nobody's) by devices: data can cross
              n1 devices (job blue/infer:1): blue/infer may open IOMMU group 11
            breach: n1 (red/train) was given n1 GPU 2 (blue/infer) by devices: data can cross
              n1 devices (job red/train:1): red/train may open IOMMU group 10
            disagree: n1: of blue/infer vfio names GPUs 2, 4 and devices names GPU 4
              n1 vfio (job blue/infer:1): 0000:b8:00.0 is driven by vfio-pci
              n1 vfio (job blue/infer:2): 0000:bb:00.0 is driven by vfio-pci
              n1 devices (job blue/infer:2): blue/infer may open IOMMU group 13
              n1 devices lacks GPU 2 of blue/infer
            disagree: n1: of red/train vfio names GPUs 1, 3 and devices names GPUs 1, 2, 3
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
              n1 vfio (job red/train:2): 0000:87:00.0 is driven by vfio-pci
              n1 devices (job red/train:1): red/train may open IOMMU group 10
              n1 devices (job red/train:2): red/train may open IOMMU group 12
            drift: n1: the IOMMU group of GPU 2 is 10; the fleet says 11
              n1 vfio (head:2): 0000:b8:00.0 is GPU 2 in IOMMU group 10 on NUMA node 0
        "#]],
    );
}

#[test]
fn a_bridge_without_acs_joins_the_groups_below_it() {
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.clone();
            let bridge = "0000:80:01.0".parse().unwrap();
            for gpu in [0, 1] {
                let pci = pci.gpus[gpu];
                world.add("n1", Dialect::Vfio, Hold::Beneath { bridge, pci });
            }
        },
        expect![[r#"
            breach: n1 GPU 2 (blue/infer) meets n1 GPU 1 (red/train) in IOMMU group 10 of n1: data can cross
              n1 vfio (head:1): 0000:86:00.0 is GPU 1 in IOMMU group 10 on NUMA node 0
              n1 vfio (head:2): 0000:b8:00.0 is GPU 2 in IOMMU group 11 on NUMA node 0
              n1 vfio (head:17): 0000:86:00.0 is below 0000:80:01.0, which lets functions reach each other
              n1 vfio (head:18): 0000:b8:00.0 is below 0000:80:01.0, which lets functions reach each other
        "#]],
    );
}

#[test]
fn something_of_the_host_in_a_group_of_a_machine_is_told() {
    check(
        |world| {
            let pci = "0000:86:00.1".parse().unwrap();
            let line = Hold::Function { pci, what: Function::Other, group: 10, numa: 0 };
            world.add("n1", Dialect::Vfio, line);
        },
        expect![[r#"
            unviable-group: n1: IOMMU group 10 is given to a virtual machine while the host has function 0000:86:00.1 of it
              n1 vfio (head:1): 0000:86:00.0 is GPU 1 in IOMMU group 10 on NUMA node 0
              n1 vfio (head:17): 0000:86:00.1 is something else in IOMMU group 10 on NUMA node 0
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
        "#]],
    );
}

#[test]
fn released_gpus_in_a_partition_with_somebodys_are_a_breach() {
    // Incident 2: what nobody owns is in a quarantine of one.
    check(
        |world| {
            world.change("n1", Dialect::Nvlink, |line| match line {
                Hold::Active { partition } if *partition == 3 => {
                    *partition = 0;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            breach: n1 GPU 2 (blue/infer) meets n1 GPU 1 (red/train) in NVLink partition 0 of n1: data can cross
              n1 nvlink (head:1): NVLink partition 0 can join GPUs 1, 2, 3, 4, 5, 6, 7, 8
              n1 nvlink (job red/train:1): NVLink partition 0 is active
            breach: n1 GPU 2 (blue/infer) meets n1 GPU 5 (nobody's) in NVLink partition 0 of n1: data can cross
              n1 nvlink (head:1): NVLink partition 0 can join GPUs 1, 2, 3, 4, 5, 6, 7, 8
              n1 nvlink (job red/train:1): NVLink partition 0 is active
            disagree: n1: of blue/infer vfio names GPUs 2, 4 and nvlink names GPUs 1, 2, 3, 4, 5, 6, 7, 8
              n1 vfio (job blue/infer:1): 0000:b8:00.0 is driven by vfio-pci
              n1 vfio (job blue/infer:2): 0000:bb:00.0 is driven by vfio-pci
              n1 nvlink (job blue/infer:1): NVLink partition 4 is active
              n1 nvlink (job red/train:1): NVLink partition 0 is active
            disagree: n1: of red/train vfio names GPUs 1, 3 and nvlink names GPUs 1, 2, 3, 4, 5, 6, 7, 8
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
              n1 vfio (job red/train:2): 0000:87:00.0 is driven by vfio-pci
              n1 nvlink (job red/train:1): NVLink partition 0 is active
            double-partition: n1: NVLink partitions 4 and 0 are both active and have GPUs in common
              n1 nvlink (job blue/infer:1): NVLink partition 4 is active
              n1 nvlink (job red/train:1): NVLink partition 0 is active
        "#]],
    );
}

#[test]
fn a_partition_left_over_from_the_last_job_is_told() {
    check(
        |world| world.add("n1", Dialect::Nvlink, Hold::Active { partition: 5 }),
        expect![[r#"
            leftover-partition: n1: NVLink partition 5 joins GPUs that nobody owns
              n1 nvlink (head:16): NVLink partition 5 is active
        "#]],
    );
}

#[test]
fn a_gpu_that_nobody_owns_has_no_driver() {
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.gpus[7];
            world.add("n1", Dialect::Vfio, Hold::Driven { pci, driver: "nvidia".into() });
        },
        expect![[r#"
            nobodys-driver: n1: GPU 8 is nobody's and driven by nvidia
              n1 vfio (head:17): 0000:44:00.0 is driven by nvidia
        "#]],
    );
}

#[test]
fn a_channel_of_two_jobs_is_a_breach() {
    // Incident 5: every domain used channel 0.
    check(
        |world| {
            let tray = world.node("t2");
            world.owners.shares.remove(&tray);
            world.give("green/third", "t2", 0x0f);
            world.settle();
            world.change("t2", Dialect::Imex, |line| match line {
                Hold::Channel { channel, .. } => {
                    *channel = 21;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            breach: t1 (gold/big) meets t2 (green/third) in NVLink memory channel 21 of rack-1: data can cross
              t1 imex (job gold/big:1): gold/big has memory channel 21
              t2 imex (job green/third:1): green/third has memory channel 21
            disagree: t2: of green/third imex names channel 21 and devices names channel 22
              t2 imex (job green/third:1): green/third has memory channel 21
              t2 devices (job green/third:9): green/third may open memory channel 22
              t2 imex lacks channel 22 of green/third
              t2 devices lacks channel 21 of green/third
        "#]],
    );
}

#[test]
fn a_job_whose_channel_was_never_set_is_severed() {
    // Incident 4: a plugin logged an error and went on.
    check(
        |world| world.cut("t1", Dialect::Imex, |_| true),
        expect![[r#"
            severed: t1: imex does not name gold/big
              t1 devices (job gold/big:9): gold/big may open memory channel 21
              t1 imex lacks gold/big
        "#]],
    );
}

#[test]
fn a_port_of_another_job_in_a_key_is_a_breach() {
    check(
        |world| {
            let guid = world.guid(world.node("n1"), 1);
            world.add("subnet-p", Dialect::Pkey, Hold::Member { pkey: 17, guid, full: false });
        },
        expect![[r#"
            breach: n1 interface 0 (red/train) meets n1 interface 1 (blue/infer) in InfiniBand partition 0x0011 of subnet-p: data can cross
              subnet-p pkey (head:2): port 0x020000fffe000001 is a limited member of partition 0x0011
              subnet-p pkey (job red/train:1): port 0x020000fffe000000 is a full member of partition 0x0011
        "#]],
    );
}

#[test]
fn a_default_key_with_full_members_is_open() {
    check(
        |world| {
            world.change("subnet-p", Dialect::Pkey, |line| match line {
                Hold::EveryMember { full, .. } => {
                    *full = true;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            open-key: subnet-p: everybody can reach the full members of InfiniBand partition 0x7fff
              subnet-p pkey (head:1): every port is a full member of partition 0x7fff
        "#]],
    );
}

#[test]
fn a_machine_with_another_jobs_gpu_is_a_breach() {
    check(
        |world| {
            let pci = world.fleet.node_models[0].pci.gpus[1];
            let job = "red/train".parse().unwrap();
            world.add("n1", Dialect::Vm, Hold::GuestHas { job, pci });
        },
        expect![[r#"
            breach: n1 (red/train) was given n1 GPU 2 (blue/infer) by vm: data can cross
              n1 vm (head:1): the virtual machine of red/train has 0000:b8:00.0
            disagree: n1: of red/train vfio names GPUs 1, 3 and vm names GPUs 1, 2, 3
              n1 vfio (job red/train:1): 0000:86:00.0 is driven by vfio-pci
              n1 vfio (job red/train:2): 0000:87:00.0 is driven by vfio-pci
              n1 vm (head:1): the virtual machine of red/train has 0000:b8:00.0
              n1 vm (job red/train:3): the virtual machine of red/train has 0000:86:00.0
              n1 vm (job red/train:4): the virtual machine of red/train has 0000:87:00.0
        "#]],
    );
}

#[test]
fn a_machine_that_is_not_confidential_is_told() {
    check(
        |world| {
            world.change("n1", Dialect::Vm, |line| match line {
                Hold::Guest { confidential: confidential @ Some(_), .. } => {
                    *confidential = None;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            not-confidential: n1: the machine of blue/infer is launched with nothing; it asks for tdx
              n1 vm (job blue/infer:1): blue/infer runs in a virtual machine
        "#]],
    );
}

#[test]
fn a_whole_directory_of_devices_is_told() {
    // Incident 7: it held subnet-manager devices and other tenants' cards.
    check(
        |world| {
            let job: model::JobName = "green/sweep".parse().unwrap();
            for file in [
                DeviceFile::Many("/dev/infiniband".into()),
                DeviceFile::Management("/dev/infiniband/umad0".into()),
                DeviceFile::Strange("/dev/mem".into()),
            ] {
                world.add("n2", Dialect::Devices, Hold::Opens { job: job.clone(), file });
            }
        },
        expect![[r#"
            open-devices: n2: green/sweep may open /dev/infiniband, which is more than one device
              n2 devices (head:1): green/sweep may open whatever is in /dev/infiniband
            open-devices: n2: green/sweep may open /dev/infiniband/umad0, which manages the fabric of all
              n2 devices (head:2): green/sweep may open /dev/infiniband/umad0, which manages the fabric
            open-devices: n2: green/sweep may open /dev/mem, which leads somewhere nobody knows
              n2 devices (head:3): green/sweep may open /dev/mem, which leads nobody knows where
        "#]],
    );
}

#[test]
fn a_job_that_ended_and_is_still_named_is_told() {
    check(
        |world| {
            let node = world.node("n2");
            let job = "green/tune".parse().unwrap();
            world.owners.shares.get_mut(&node).unwrap().remove(&job);
        },
        expect![[r#"
            breach: n2 (green/tune) was given n2 GPU 5 (nobody's) by devices: data can cross
              n2 devices (job green/tune:1): green/tune may open GPU device 0
            breach: n2 (green/tune) was given n2 GPU 5 (nobody's) by slurm: data can cross
              slurm slurm (job green/tune:2): Slurm gave green/tune GPU devices 0, 1, 2, 3 of n2
            breach: n2 (green/tune) was given n2 GPU 5 (nobody's) by kubernetes: data can cross
              kubernetes kubernetes (job green/tune:1): green/tune claims 0000:0f:00.0 of n2 by gpu.nvidia.com as gpu-0 in namespace green
            leftover: n2: devices still names green/tune, which has nothing here
              n2 devices (job green/tune:1): green/tune may open GPU device 0
            leftover: n2: slurm still names green/tune, which has nothing here
              slurm slurm (job green/tune:2): Slurm gave green/tune GPU devices 0, 1, 2, 3 of n2
            leftover: slurm: slurm still names green/tune, which has nothing here
              slurm slurm (job green/tune:1): Slurm keeps n2 for green/tune of account green
            leftover: n2: kubernetes still names green/tune, which has nothing here
              kubernetes kubernetes (job green/tune:1): green/tune claims 0000:0f:00.0 of n2 by gpu.nvidia.com as gpu-0 in namespace green
            leftover: kubernetes: kubernetes still names green/tune, which has nothing here
              kubernetes kubernetes (job green/tune:5): pods of green/tune in namespace green may be reached by each other
              kubernetes kubernetes (job green/tune:6): pods of green/tune in namespace green may reach each other
            leftover-partition: n2: NVLink partition 2 joins GPUs that nobody owns
              n2 nvlink (job green/tune:1): NVLink partition 2 is active
            leftover-key: subnet-p: InfiniBand partition 0x0014 joins ports that nobody owns
              subnet-p pkey (job green/tune:1): port 0x020000fffe000104 is a full member of partition 0x0014
              subnet-p pkey (job green/tune:2): port 0x020000fffe000105 is a full member of partition 0x0014
              subnet-p pkey (job green/tune:3): port 0x020000fffe000106 is a full member of partition 0x0014
              subnet-p pkey (job green/tune:4): port 0x020000fffe000107 is a full member of partition 0x0014
            nobodys-driver: n2: GPU 5 is nobody's and driven by nvidia
              n2 vfio (job green/tune:1): 0000:0f:00.0 is driven by nvidia
            nobodys-driver: n2: GPU 6 is nobody's and driven by nvidia
              n2 vfio (job green/tune:2): 0000:41:00.0 is driven by nvidia
            nobodys-driver: n2: GPU 7 is nobody's and driven by nvidia
              n2 vfio (job green/tune:3): 0000:10:00.0 is driven by nvidia
            nobodys-driver: n2: GPU 8 is nobody's and driven by nvidia
              n2 vfio (job green/tune:4): 0000:44:00.0 is driven by nvidia
            wrong-quota: kubernetes: the quota of green is 8 GPUs of gpu.nvidia.com; what its tenant has allows 4
              kubernetes kubernetes (tenant green:9): namespace green may use 8 of gpu.nvidia.com.deviceclass.resource.k8s.io/devices
            wrong-quota: kubernetes: the quota of green is 8796093022208 bytes; what its tenant has allows 4398046511104
              kubernetes kubernetes (tenant green:14): namespace green may store 8796093022208 bytes in class green
        "#]],
    );
}

#[test]
fn two_tenants_on_one_kernel_are_a_breach() {
    check(
        |world| {
            world.give("gold/small", "n2", 0xf0);
            let node = world.node("n2");
            let job = "green/tune".parse().unwrap();
            world.owners.shares.get_mut(&node).unwrap().remove(&job);
            world.settle();
        },
        expect![[r#"
            breach: n2 (gold/small) meets n2 (green/sweep) in the host kernel of n2: data can cross
              n2 devices (job gold/small:1): gold/small may open GPU device 0
              n2 devices (job green/sweep:1): green/sweep may open GPU device 4
              kubernetes kubernetes (job gold/small:1): gold/small claims 0000:0f:00.0 of n2 by gpu.nvidia.com as gpu-0 in namespace gold
              kubernetes kubernetes (job green/sweep:1): green/sweep claims 0000:86:00.0 of n2 by gpu.nvidia.com as gpu-4 in namespace green
        "#]],
    );
}

/// Both have GPU 1, and it is cut into halves.
fn halve(world: &mut World) {
    world.give("red/train", "n1", 1);
    world.give("blue/infer", "n1", 1);
    world.settle();
    let half = |start| Hold::Instance { gpu: 0, profile: "3g.40gb".into(), start };
    world.add("n1", Dialect::Mig, half(0));
    world.add("n1", Dialect::Mig, half(4));
}

#[test]
fn grades_that_take_parts_share_a_gpu_that_is_cut() {
    check(
        |world| {
            world.tenant("red", Grade::Slice, None);
            world.tenant("blue", Grade::Slice, None);
            halve(world);
        },
        expect![[""]],
    );
}

#[test]
fn a_gpu_that_is_not_cut_is_not_shared() {
    check(
        |world| {
            world.tenant("red", Grade::Slice, None);
            world.tenant("blue", Grade::Slice, None);
            halve(world);
            world.cut("n1", Dialect::Mig, |_| true);
        },
        expect![[r#"
            breach: n1 GPU 1 (blue/infer) meets n1 GPU 1 (red/train) in GPU 1 of n1: data can cross
        "#]],
    );
}

#[test]
fn a_grade_that_takes_whole_gpus_shows_its_timing_to_a_neighbour_on_a_part() {
    check(
        |world| {
            world.tenant("blue", Grade::Slice, None);
            halve(world);
        },
        expect![[r#"
            breach: n1 GPU 1 (blue/infer) meets n1 GPU 1 (red/train) in GPU 1 of n1: timing can be seen
              n1 mig (head:1): GPU 1 has an instance 3g.40gb from slot 0
              n1 mig (head:2): GPU 1 has an instance 3g.40gb from slot 4
        "#]],
    );
}

#[test]
fn instances_that_lie_on_each_other_or_that_nobody_asked_for_are_told() {
    check(
        |world| {
            let cut = |start| Hold::Instance { gpu: 0, profile: "3g.40gb".into(), start };
            world.add("n1", Dialect::Mig, cut(0));
            world.add("n1", Dialect::Mig, cut(0));
        },
        expect![[r#"
            leftover-cut: n1: GPU 1 is cut, and nobody asked for a part of it
              n1 mig (head:1): GPU 1 has an instance 3g.40gb from slot 0
              n1 mig (head:2): GPU 1 has an instance 3g.40gb from slot 0
            bad-instance: n1: GPU 1 cannot have the instance 3g.40gb at slot 0
              n1 mig (head:1): GPU 1 has an instance 3g.40gb from slot 0
              n1 mig (head:2): GPU 1 has an instance 3g.40gb from slot 0
        "#]],
    );
}

#[test]
fn a_version_that_a_tenant_does_not_accept_is_told() {
    check(
        |world| {
            let trust = world.owners.trusts.get_mut(&"gold".parse().unwrap()).unwrap();
            trust.versions.at_least.insert("driver".into(), "570".into());
            trust.versions.at_least.insert("toolkit".into(), "1.17.8".into());
            trust.versions.secure_boot = true;
            world.change("t1", Dialect::Versions, |line| match line {
                Hold::BootedSecurely(securely) => {
                    *securely = false;
                    true
                }
                _ => false,
            });
        },
        expect![[r#"
            drift: t1: its boot is not secure; the fleet says secure
              t1 versions (head:3): the node did not boot securely
            old-version: t1: driver is 550.90.07; gold, which is here, needs 570
              t1 versions (head:1): the driver is 550.90.07
            old-version: t2: driver is 550.90.07; gold, which is here, needs 570
              t2 versions (head:1): the driver is 550.90.07
            old-version: t1: toolkit is unknown; gold, which is here, needs 1.17.8
            old-version: t2: toolkit is unknown; gold, which is here, needs 1.17.8
            insecure-boot: t1: it did not boot securely, which gold on it demands
              t1 versions (head:3): the node did not boot securely
        "#]],
    );
}
