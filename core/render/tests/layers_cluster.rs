#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

//! What libvirt and Slurm are told.

mod cluster;

use cluster::{device, plan, text};
use expect_test::{Expect, expect};
use model::{Dialect, Part};

#[test]
fn a_machine_has_the_functions_of_its_job_and_memory_near_them() {
    check(
        "hgx-1",
        Dialect::Vm,
        "job acme/research/train",
        expect![[r#"
            <domain type='kvm'>
              <name>acme.research.train</name>
              <metadata>
                <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>acme/research/train</tenancy:job>
              </metadata>
              <memory unit='GiB'>64</memory>
              <vcpu>8</vcpu>
              <numatune>
                <memory mode='strict' nodeset='0'/>
              </numatune>
              <os firmware='efi'>
                <type arch='x86_64' machine='q35'>hvm</type>
              </os>
              <features>
                <acpi/>
              </features>
              <devices>
                <hostdev mode='subsystem' type='pci' managed='no'>
                  <source>
                    <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
                  </source>
                </hostdev>
                <hostdev mode='subsystem' type='pci' managed='no'>
                  <source>
                    <address domain='0x0000' bus='0x84' slot='0x00' function='0x0'/>
                  </source>
                </hostdev>
              </devices>
              <launchSecurity type='sev-snp'>
                <policy>0x00030000</policy>
              </launchSecurity>
            </domain>
        "#]],
    );
}

#[test]
fn a_container_is_no_machine() {
    let plan = plan();
    let tray = device(&plan, "tray-1");
    let part = Part::Job("red/wide".parse().unwrap());
    assert_eq!(render::part(&plan, tray, Dialect::Vm, &part), None);
}

#[test]
fn slurm_has_a_file_for_nodes_gpus_topology_and_cgroups() {
    check(
        "slurm",
        Dialect::Slurm,
        "head",
        expect![[r#"
        # slurm.conf
        SlurmctldHost=slurm
        ClusterName=small
        AccountingStorageType=accounting_storage/slurmdbd
        AccountingStorageEnforce=associations,limits
        GresTypes=gpu
        MCSPlugin=mcs/account
        MCSParameters=enforced,select,privatedata
        ProctrackType=proctrack/cgroup
        PrologFlags=Alloc,Contain
        SelectType=select/cons_tres
        TaskPlugin=task/affinity,task/cgroup
        TopologyPlugin=topology/tree
        NodeName=mi-1 Gres=gpu:mi300x-192gb:1
        NodeName=hgx-1 Gres=gpu:h100-80gb:2
        NodeName=tray-1 Gres=gpu:gb200-186gb:1
        NodeName=tray-2 Gres=gpu:gb200-186gb:1
        # gres.conf
        AutoDetect=off
        NodeName=mi-1 Name=gpu Type=mi300x-192gb File=/dev/dri/renderD128
        NodeName=hgx-1 Name=gpu Type=h100-80gb File=/dev/nvidia[0-1]
        NodeName=tray-1 Name=gpu Type=gb200-186gb File=/dev/nvidia0
        NodeName=tray-2 Name=gpu Type=gb200-186gb File=/dev/nvidia0
        # topology.conf
        SwitchName=leaf-1 Nodes=hgx-1
        SwitchName=leaf-2 Nodes=mi-1,tray-1,tray-2
        SwitchName=spine-1 Switches=leaf-1,leaf-2
        # topology-block.conf
        BlockName=ams-pod-r1 Nodes=tray-1,tray-2
        # cgroup.conf
        ConstrainCores=yes
        ConstrainDevices=yes
        ConstrainRAMSpace=yes
    "#]],
    );
}

#[test]
fn a_tenant_has_a_partition_for_its_account() {
    check(
        "slurm",
        Dialect::Slurm,
        "holdings red",
        expect![[r#"
        # slurm.conf
        PartitionName=red Nodes=mi-1,tray-1,tray-2 AllowAccounts=red ExclusiveUser=YES OverSubscribe=NO State=UP
    "#]],
    );
    check(
        "slurm",
        Dialect::Slurm,
        "holdings acme/research",
        expect![[r#"
        # slurm.conf
        PartitionName=acme.research Nodes=hgx-1 AllowAccounts=acme.research ExclusiveUser=NO OverSubscribe=NO State=UP
    "#]],
    );
}

#[test]
fn a_job_has_a_reservation_that_overlaps_where_it_has_half_a_node() {
    check(
        "slurm",
        Dialect::Slurm,
        "job red/wide",
        expect![[r#"
        # reservations
        ReservationName=red.wide Nodes=tray-1,tray-2 NodeCnt=2 Flags=IGNORE_JOBS,SPEC_NODES Users=(null) Accounts=red
    "#]],
    );
    check(
        "slurm",
        Dialect::Slurm,
        "job acme/research/train",
        expect![[r#"
        # reservations
        ReservationName=acme.research.train Nodes=hgx-1 NodeCnt=1 Flags=OVERLAP,IGNORE_JOBS,SPEC_NODES Users=(null) Accounts=acme.research
    "#]],
    );
}

fn check(device: &str, dialect: Dialect, part: &str, expected: Expect) {
    expected.assert_eq(&text(device, dialect, part));
}
