//! What others' clusters suffered, and what makes layers disagree, told on the hall: each is found,
//! with the lines that say so. The numbers are those of the list of incidents this house keeps.

use expect_test::expect;

use crate::hall::{check, document, refused};

/// Incident 2: released GPUs fell into a shared default partition.
#[test]
fn a_released_gpu_that_fell_into_a_default_partition_with_others_is_a_breach() {
    check(
        &["
             h1 nvlink
             -active 1
             +active 0
            "],
        expect![[r#"
            breach: h1 GPU 5 (blue/tune) meets h1 GPU 1 (red/train) in NVLink partition 0 of h1: data can cross
              h1 nvlink:1  partition 0 gpus 1 2 3 4 5 6 7 8
              h1 nvlink:17  active 0
            breach: h1 GPU 5 (blue/tune) meets h1 GPU 6 (nobody's) in NVLink partition 0 of h1: data can cross
              h1 nvlink:1  partition 0 gpus 1 2 3 4 5 6 7 8
              h1 nvlink:17  active 0
            disagree: h1: of blue/tune vfio names GPUs 5, 7 and nvlink names GPUs 1, 2, 3, 4, 5, 6, 7, 8
              h1 vfio:17  bind 0000:0f:00.0 vfio-pci
              h1 vfio:18  bind 0000:10:00.0 vfio-pci
              h1 nvlink:16  active 5
              h1 nvlink:17  active 0
            disagree: h1: of red/train vfio names GPUs 1, 2, 3, 4 and nvlink names GPUs 1, 2, 3, 4, 5, 6, 7, 8
              h1 vfio:21  bind 0000:86:00.0 vfio-pci
              h1 vfio:22  bind 0000:b8:00.0 vfio-pci
              h1 vfio:23  bind 0000:87:00.0 vfio-pci
              h1 vfio:24  bind 0000:bb:00.0 vfio-pci
              h1 nvlink:17  active 0
            double-partition: h1: NVLink partitions 5 and 0 are both active and have GPUs in common
              h1 nvlink:16  active 5
              h1 nvlink:17  active 0
        "#]],
    );
}

/// Incident 3: a partition was deleted while it was in use.
#[test]
fn a_partition_that_is_gone_while_a_job_uses_it_severs_the_job() {
    check(
        &["
             h1 nvlink
             -active 5
            "],
        expect![[r#"
            severed: h1: nvlink does not name blue/tune
        "#]],
    );
}

/// Incident 1: what left one layer stayed in another, because the record of another device decided.
#[test]
fn a_node_that_was_never_taken_out_of_a_partition_is_found_by_what_the_fabric_says() {
    check(
        &["
             h2 vfio
             -bind 0000:44:00.0 nvidia
            "],
        expect![[r#"
            disagree: h2: of green/serve nvlink names GPUs 1, 2, 3, 4, 5, 6, 7, 8 and vfio names GPUs 1, 2, 3, 4, 5, 6, 7
              h2 vfio:17  bind 0000:86:00.0 nvidia
              h2 vfio:18  bind 0000:b8:00.0 nvidia
              h2 vfio:19  bind 0000:87:00.0 nvidia
              h2 vfio:20  bind 0000:bb:00.0 nvidia
              h2 vfio:21  bind 0000:0f:00.0 nvidia
              h2 vfio:22  bind 0000:41:00.0 nvidia
              h2 vfio:23  bind 0000:10:00.0 nvidia
              h2 nvlink:16  active 0
        "#]],
    );
}

/// Incident 4: a plugin failed to set the channel and went on.
#[test]
fn a_channel_that_was_not_set_is_no_isolation() {
    check(
        &["
             t1 imex
             -channel 1 violet/pre
            "],
        expect![[r#"
            severed: t1: imex does not name violet/pre
              t1 devices:11  open violet/pre /dev/nvidia-caps-imex-channels/channel1
        "#]],
    );
}

/// Incident 5: every domain used channel 0.
#[test]
fn channel_zero_is_nobodys() {
    check(
        &[
            "
             t1 imex
             -channel 1 violet/pre
             +channel 0 violet/pre
            ",
            "
             t2 imex
             -channel 1 violet/pre
             +channel 0 violet/pre
            ",
            "
             t1 devices
             -open violet/pre /dev/nvidia-caps-imex-channels/channel1
             +open violet/pre /dev/nvidia-caps-imex-channels/channel0
            ",
            "
             t2 devices
             -open violet/pre /dev/nvidia-caps-imex-channels/channel1
             +open violet/pre /dev/nvidia-caps-imex-channels/channel0
            ",
        ],
        expect![[r#"
            default-channel: t1: violet/pre has memory channel 0, which is everybody's who chose none
              t1 imex:1  channel 0 violet/pre
        "#]],
    );
}

/// Incident 6: GPUs were limited by an environment variable only.
#[test]
fn a_scheduler_that_only_sets_a_variable_isolates_nothing() {
    check(
        &["
             slurm slurm
             -ConstrainDevices=yes
             +ConstrainDevices=no
            "],
        expect![[r#"
            unconstrained: slurm: Slurm does not keep jobs from devices that it did not give them
              slurm slurm:34  ConstrainDevices=no
        "#]],
    );
}

/// Incident 7: forwarding the InfiniBand directory handed over management devices and others' cards.
#[test]
fn a_whole_directory_of_devices_is_more_than_a_job_was_given() {
    check(
        &["
             h2 devices
             -open green/serve /dev/infiniband/uverbs0
             +open green/serve /dev/infiniband/
            "],
        expect![[r#"
            disagree: h2: of green/serve vfio names interfaces 0, 1, 2, 3, 4, 5, 6, 7 and devices names interfaces 1, 2, 3, 4, 5, 6, 7
              h2 devices:12  open green/serve /dev/infiniband/uverbs1
              h2 devices:13  open green/serve /dev/infiniband/uverbs2
              h2 devices:14  open green/serve /dev/infiniband/uverbs3
              h2 devices:15  open green/serve /dev/infiniband/uverbs4
              h2 devices:16  open green/serve /dev/infiniband/uverbs5
              h2 devices:17  open green/serve /dev/infiniband/uverbs6
              h2 devices:18  open green/serve /dev/infiniband/uverbs7
            open-devices: h2: green/serve may open /dev/infiniband/, which is more than one device
              h2 devices:11  open green/serve /dev/infiniband/
        "#]],
    );
}

/// Incident 7 again: one file of that directory is enough.
#[test]
fn management_of_the_fabric_is_nobodys_to_open() {
    check(
        &["
             h2 devices
              open green/serve /dev/infiniband/uverbs0
             +open green/serve /dev/infiniband/umad0
            "],
        expect![[r#"
            open-devices: h2: green/serve may open /dev/infiniband/umad0, which manages the fabric of all
              h2 devices:12  open green/serve /dev/infiniband/umad0
        "#]],
    );
}

/// Incident 8: a check read the controller's records. Here the cluster's claims are right and the board joined two others.
#[test]
fn records_that_are_right_do_not_make_a_fabric_right() {
    check(
        &["
             h1 nvlink
             -active 5
             +active 6
            "],
        expect![[r#"
            severed: h1: nvlink does not name blue/tune
            leftover-partition: h1: NVLink partition 6 joins GPUs that nobody owns
              h1 nvlink:16  active 6
        "#]],
    );
}

/// Incident 17: the GPUs with device files 0 and 1 are modules 5 and 7, not 1 and 2.
#[test]
fn numbers_by_address_are_not_module_ids() {
    check(
        &["
             h1 nvlink
             -active 5
             +active 7
             +active 8
            "],
        expect![[r#"
            severed: h1: nvlink does not name blue/tune
            double-partition: h1: NVLink partitions 7 and 1 are both active and have GPUs in common
              h1 nvlink:16  active 7
              h1 nvlink:18  active 1
        "#]],
    );
}

/// Incident 17 before it happens: interfaces 4 and 5 come with modules 5 and 6, which stand side by
/// side and are in no partition of the board.
#[test]
fn gpus_that_no_partition_joins_are_refused_before_anything_is_written() {
    let work = document("work.yaml").replace("[h1/4, h1/6]", "[h1/4, h1/5]");
    expect![[r#"
        not-joinable: job blue/tune wants GPUs 5, 6 of node h1, which no partition of its board joins
    "#]].assert_eq(&refused(&work));
}

/// A GPU whose IOMMU group holds another tenant's device.
#[test]
fn two_tenants_in_one_iommu_group_are_a_breach() {
    check(
        &["
             h1 vfio
             -function 0000:0f:00.0 gpu 5 group 28 numa 1
             +function 0000:0f:00.0 gpu 5 group 24 numa 1
            "],
        expect![[r#"
            breach: h1 GPU 5 (blue/tune) meets h1 GPU 1 (red/train) in IOMMU group 24 of h1: data can cross
              h1 vfio:1  function 0000:86:00.0 gpu 1 group 24 numa 0
              h1 vfio:5  function 0000:0f:00.0 gpu 5 group 24 numa 1
            breach: h1 (blue/tune) was given h1 IOMMU group 28 (nobody's) by devices: data can cross
              h1 devices:3  open blue/tune /dev/vfio/28
            breach: h1 (red/train) was given h1 GPU 5 (blue/tune) by devices: data can cross
              h1 devices:10  open red/train /dev/vfio/24
            disagree: h1: of blue/tune vfio names GPUs 5, 7 and devices names GPU 7
              h1 vfio:17  bind 0000:0f:00.0 vfio-pci
              h1 vfio:18  bind 0000:10:00.0 vfio-pci
              h1 devices:4  open blue/tune /dev/vfio/30
            disagree: h1: of red/train vfio names GPUs 1, 2, 3, 4 and devices names GPUs 1, 2, 3, 4, 5
              h1 vfio:21  bind 0000:86:00.0 vfio-pci
              h1 vfio:22  bind 0000:b8:00.0 vfio-pci
              h1 vfio:23  bind 0000:87:00.0 vfio-pci
              h1 vfio:24  bind 0000:bb:00.0 vfio-pci
              h1 devices:10  open red/train /dev/vfio/24
              h1 devices:11  open red/train /dev/vfio/25
              h1 devices:12  open red/train /dev/vfio/26
              h1 devices:13  open red/train /dev/vfio/27
            drift: h1: the IOMMU group of GPU 5 is 24; the fleet says 28
              h1 vfio:5  function 0000:0f:00.0 gpu 5 group 24 numa 1
        "#]],
    );
}

/// ACS missing on the path: what stands in two groups is one.
#[test]
fn a_bridge_without_access_control_merges_groups() {
    check(
        &["
             h1 vfio
              bind 0000:0f:00.0 vfio-pci
             +beneath 0000:0e:00.0 0000:0f:00.0
             +beneath 0000:0e:00.0 0000:86:00.0
            "],
        expect![[r#"
            breach: h1 GPU 5 (blue/tune) meets h1 GPU 1 (red/train) in IOMMU group 24 of h1: data can cross
              h1 vfio:1  function 0000:86:00.0 gpu 1 group 24 numa 0
              h1 vfio:5  function 0000:0f:00.0 gpu 5 group 28 numa 1
              h1 vfio:18  beneath 0000:0e:00.0 0000:0f:00.0
              h1 vfio:19  beneath 0000:0e:00.0 0000:86:00.0
        "#]],
    );
}

#[test]
fn a_guest_with_anothers_gpu_is_a_breach() {
    check(
        &["
             h1 vm
             -        <address domain='0x0000' bus='0x0f' slot='0x00' function='0x0'/>
             +        <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
            "],
        expect![[r#"
            breach: h1 (blue/tune) was given h1 GPU 1 (red/train) by vm: data can cross
              h1 vm:20  <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
            disagree: h1: of blue/tune vfio names GPUs 5, 7 and vm names GPUs 1, 7
              h1 vfio:17  bind 0000:0f:00.0 vfio-pci
              h1 vfio:18  bind 0000:10:00.0 vfio-pci
              h1 vm:20  <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
              h1 vm:25  <address domain='0x0000' bus='0x10' slot='0x00' function='0x0'/>
        "#]],
    );
}

#[test]
fn a_guest_that_is_not_confidential_where_its_tenant_asks_for_it_is_found() {
    check(
        &["
             h1 vm
             -  <launchSecurity type='sev-snp'>
             -    <policy>0x00030000</policy>
             -  </launchSecurity>
            "],
        expect![[r#"
            not-confidential: h1: the machine of red/train is launched with nothing; it asks for sev-snp
              h1 vm:43  <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>red/train</tenancy:job>
        "#]],
    );
}

#[test]
fn everybody_in_the_default_partition_of_infiniband_is_an_open_default() {
    check(
        &["
             subnet-ams-hall pkey
             -Default=0x7fff, ipoib : ALL=limited, SELF=full ;
             +Default=0x7fff, ipoib : ALL=full, SELF=full ;
            "],
        expect![[r#"
            open-key: subnet-ams-hall: everybody can reach the full members of InfiniBand partition 0x7fff
              subnet-ams-hall pkey:1  Default=0x7fff, ipoib : ALL=full, SELF=full ;
        "#]],
    );
}

#[test]
fn one_partition_key_for_two_jobs_is_a_breach() {
    check(
        &["
             subnet-ams-hall pkey
             -blue.tune=0x0001 : 0x020100fffe000004=full, 0x020100fffe000006=full ;
             +blue.tune=0x0004 : 0x020100fffe000004=full, 0x020100fffe000006=full ;
            "],
        expect![[r#"
            breach: h1 interface 4 (blue/tune) meets h1 interface 0 (red/train) in InfiniBand partition 0x0004 of subnet-ams-hall: data can cross
              subnet-ams-hall pkey:2  blue.tune=0x0004 : 0x020100fffe000004=full, 0x020100fffe000006=full ;
              subnet-ams-hall pkey:5  red.train=0x0004 : 0x020100fffe000000=full, 0x020100fffe000001=full, 0x020100fffe000002=full, 0x020100fffe000003=full ;
        "#]],
    );
}

/// The scheduler says GPUs 6 and 8, the partition holds 5 and 7.
#[test]
fn the_scheduler_and_the_board_name_different_gpus() {
    check(
        &[
            "
             slurm slurm
              ReservationName=blue.tune Nodes=h1 NodeCnt=1 Flags=OVERLAP,IGNORE_JOBS,SPEC_NODES Users=(null) Accounts=blue
             +# jobs
             +JobId=7 JobName=tune Account=blue Reservation=blue.tune JobState=RUNNING NodeList=h1 Nodes=h1 CPU_IDs=0-15 Mem=0 GRES=gpu:h100-80gb:2(IDX:2-3)
            ",
        ],
        expect![[r#"
            breach: h1 (blue/tune) was given h1 GPU 6 (nobody's) by slurm: data can cross
              slurm slurm:49  JobId=7 JobName=tune Account=blue Reservation=blue.tune JobState=RUNNING NodeList=h1 Nodes=h1 CPU_IDs=0-15 Mem=0 GRES=gpu:h100-80gb:2(IDX:2-3)
            disagree: h1: of blue/tune vfio names GPUs 5, 7 and slurm names GPUs 6, 8
              h1 vfio:17  bind 0000:0f:00.0 vfio-pci
              h1 vfio:18  bind 0000:10:00.0 vfio-pci
              slurm slurm:49  JobId=7 JobName=tune Account=blue Reservation=blue.tune JobState=RUNNING NodeList=h1 Nodes=h1 CPU_IDs=0-15 Mem=0 GRES=gpu:h100-80gb:2(IDX:2-3)
        "#]],
    );
}

#[test]
fn an_old_driver_and_a_machine_that_did_not_boot_securely_are_found() {
    check(
        &[
            "
             h2 versions
             -kernel 6.8.0-60
             +kernel 6.5.0-10
            ",
            "
             h2 versions
             -secure-boot yes
             +secure-boot no
            ",
        ],
        expect![[r#"
            drift: h2: its boot is not secure; the fleet says secure
              h2 versions:5  secure-boot no
            drift: h2: kernel is 6.5.0-10; the fleet says 6.8.0-60
              h2 versions:2  kernel 6.5.0-10
            old-version: h2: kernel is 6.5.0-10; green, which is here, needs 6.8.0
              h2 versions:2  kernel 6.5.0-10
            insecure-boot: h2: it did not boot securely, which green on it demands
              h2 versions:5  secure-boot no
        "#]],
    );
}

#[test]
fn a_label_that_contradicts_the_cables_is_found() {
    check(
        &["
             kubernetes kubernetes
                name: h2
                labels:
                  fabric.topograph.run/tier-1: ams-hall
             -    fabric.topograph.run/tier-0: leaf-1
             +    fabric.topograph.run/tier-0: leaf-2
            "],
        expect![[r#"
            drift: h2: the label fabric.topograph.run/tier-0 is leaf-2; the fleet says leaf-1
              kubernetes kubernetes:1197  fabric.topograph.run/tier-0: leaf-2
        "#]],
    );
}

#[test]
fn a_role_for_strangers_is_a_breach() {
    check(
        &["
             kubernetes kubernetes
             -  name: violet-admins
             +  name: blue-admins
            "],
        expect![[r#"
            breach: group blue-admins (blue) meets namespace violet-t5 (violet) in role tenant-member of namespace violet-t5: data can cross
              kubernetes kubernetes:1854  bulkhead.dev/tenant: violet
              kubernetes kubernetes:1983  name: blue-admins
            no-role: kubernetes: members of violet-admins have no role in their namespace violet-t5
              kubernetes kubernetes:1854  bulkhead.dev/tenant: violet
        "#]],
    );
}

#[test]
fn a_gpu_that_is_cut_although_nobody_asked_for_a_part_of_it_is_found() {
    check(
        &["
             h1 mig
             +gpu 1 mig on
             +instance 1 3g.40gb start 0
             +instance 1 3g.40gb start 4
            "],
        expect![[r#"
            leftover-cut: h1: GPU 1 is cut, and nobody asked for a part of it
              h1 mig:1  gpu 1 mig on
              h1 mig:2  instance 1 3g.40gb start 0
              h1 mig:3  instance 1 3g.40gb start 4
        "#]],
    );
}
