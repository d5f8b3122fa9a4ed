#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "a list of elements is not a list of lines")]
mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use page::{any_text, cut, no_line_is_known_and_unknown, parts, told};
use proptest::prelude::*;

const HEAD: &str = "\
# slurm.conf
ClusterName=small
SlurmctldHost=slurm
AccountingStorageEnforce=associations,limits
GresTypes=gpu
MCSPlugin=mcs/account
MCSParameters=enforced,select,privatedata
TaskPlugin=task/affinity,task/cgroup
NodeName=gpu[1-2] Gres=gpu:h100:8 CPUs=64 State=UNKNOWN
# gres.conf
AutoDetect=off
NodeName=gpu[1-2] Name=gpu Type=h100 File=/dev/nvidia[0-3,7]
NodeName=mi-1 Name=gpu Type=mi300x File=/dev/dri/renderD128
# topology.conf
SwitchName=leaf-1 Nodes=gpu[1-2]
SwitchName=spine-1 Switches=leaf-[1-2]
# topology-block.conf
BlockName=rack-1 Nodes=tray-[01-02]
BlockSizes=2
# cgroup.conf
ConstrainCores=yes
ConstrainDevices=yes
";

const TENANT: &str = "\
# slurm.conf
PartitionName=acme.research Nodes=gpu1,gpu2 AllowAccounts=acme.research ExclusiveUser=YES OverSubscribe=NO State=UP
";

const JOB: &str = "\
# reservations
ReservationName=acme.research.train StartTime=2026-11-16T10:00:00 EndTime=2027-11-16T10:00:00 Duration=365-00:00:00 Nodes=gpu[1-2] NodeCnt=2 CoreCnt=128 Features=(null) PartitionName=acme.research Flags=IGNORE_JOBS,SPEC_NODES TRES=cpu=128 Users=(null) Groups=(null) Accounts=acme.research Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a MaxStartDelay=(null)
# jobs
JobId=12 JobName=my run UserId=ann(1001) MCS_label=acme.research Account=acme.research JobState=RUNNING Reason=None NodeList=gpu[1-2] JOB_GRES=gpu:h100:3 Nodes=gpu1 CPU_IDs=0-3 Mem=0 GRES=gpu:h100:2(IDX:0-1) Nodes=gpu2 CPU_IDs=0-3 Mem=0 GRES=gpu:h100:1(IDX:5) Reservation=acme.research.train Command=/bin/true
JobId=13 JobName=later Account=acme.research JobState=PENDING Reservation=acme.research.train
";

#[test]
fn the_files_say_gpus_topology_and_fences() {
    check(
        HEAD,
        expect![[r#"
        7: Holds(KeepsLabelsApart(true))
        12: Holds(Schedulable { node: Name("gpu1"), minors: 143 })
        12: Holds(Schedulable { node: Name("gpu2"), minors: 143 })
        13: Holds(Schedulable { node: Name("mi-1"), minors: 1 })
        15: Holds(Together { place: "leaf-1", nodes: [Name("gpu1"), Name("gpu2")] })
        18: Holds(Together { place: "rack-1", nodes: [Name("tray-01"), Name("tray-02")] })
        22: Holds(ConstrainsDevices(true))
        ignored: [1, 2, 3, 10, 14, 17, 20, 21]
    "#]],
    );
}

#[test]
fn a_tenants_partition_and_a_jobs_reservation_and_allocation() {
    check(
        TENANT,
        expect![[r#"
        2: Holds(Partition { partition: "acme.research", nodes: [Name("gpu1"), Name("gpu2")], accounts: ["acme.research"], exclusive: true })
        ignored: [1]
    "#]],
    );
    check(
        JOB,
        expect![[r#"
        2: Holds(Reserved { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, account: "acme.research", nodes: [Name("gpu1"), Name("gpu2")] })
        4: Holds(Allocated { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, node: Name("gpu1"), minors: 3 })
        4: Holds(Allocated { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, node: Name("gpu2"), minors: 32 })
        ignored: [1, 3, 5]
    "#]],
    );
}

#[test]
fn a_partition_for_everybody_has_no_accounts() {
    check(
        "# slurm.conf\nPartitionName=all Nodes=gpu[1-2] Default=YES\n",
        expect![[r#"
        2: Holds(Partition { partition: "all", nodes: [Name("gpu1"), Name("gpu2")], accounts: [], exclusive: false })
        ignored: [1]
    "#]],
    );
}

#[test]
fn devices_are_constrained_only_where_tasks_are_in_cgroups() {
    fence("ConstrainDevices=yes", "ConstrainDevices=no", "ConstrainsDevices(false)");
    fence("task/affinity,task/cgroup", "task/affinity", "ConstrainsDevices(false)");
}

#[test]
fn labels_keep_apart_only_if_they_are_enforced_and_nobody_chooses_them() {
    fence("enforced,select", "ondemand,select", "KeepsLabelsApart(false)");
    fence("mcs/account", "mcs/user", "KeepsLabelsApart(false)");
    fence("AccountingStorageEnforce=associations,limits\n", "", "KeepsLabelsApart(false)");
}

#[test]
fn what_opens_is_refused() {
    check(
        "\
# slurm.conf
PartitionName=a Nodes=gpu1 AllowGroups=all
PartitionName=a Nodes=gpu1 OverSubscribe=FORCE:4
PartitionName=a Nodes=gpu1 Nodes=gpu2
PartitionName=a
Prolog=/tmp/x
ProctrackType=proctrack/linuxproc
NodeName=gpu1 Gres=shard:8
# gres.conf
Name=gpu File=/dev/nvidia0
NodeName=gpu1 Name=shard Count=8
NodeName=gpu1 Name=gpu File=/dev/*
NodeName=gpu1 Name=gpu File=/dev/nvidia[0-64]
# cgroup.conf
AllowedDevicesFile=/etc/all
# reservations
ReservationName=acme.train Nodes=gpu1 Users=eve Accounts=acme
ReservationName=acme.train Nodes=gpu1 Flags=FLEX,SPEC_NODES Users=(null) Accounts=acme
ReservationName=acme.train Nodes=gpu1 Accounts=acme,blue
ReservationName=acme.train Nodes=gpu1 Accounts=-blue
ReservationName=maintenance Nodes=gpu1 Accounts=acme
# jobs
JobId=1 JobState=RUNNING Nodes=gpu1 GRES=gpu:h100:1(IDX:0)
JobId=2 JobName=x JobState=PENDING JobState=RUNNING Reservation=acme.train
JobId=3 JobState=RUNNING Reservation=acme.train Nodes=gpu1 GRES=gpu:h100:1(IDX:N/A)
",
        expect![[r#"
            2? PartitionName=a Nodes=gpu1 AllowGroups=all
               no line of this file that keeps tenants apart is written so
            3? PartitionName=a Nodes=gpu1 OverSubscribe=FORCE:4
               processors and GPUs are never given out twice
            4? PartitionName=a Nodes=gpu1 Nodes=gpu2
               the key stands there twice
            5? PartitionName=a
               a partition names its nodes
            6? Prolog=/tmp/x
               no line of this file that keeps tenants apart is written so
            7? ProctrackType=proctrack/linuxproc
               processes can leave what is not a cgroup
            8? NodeName=gpu1 Gres=shard:8
               nodes have GPUs alone
            10? Name=gpu File=/dev/nvidia0
               a line names its nodes, or it is for all of them
            11? NodeName=gpu1 Name=shard Count=8
               what else is given out than GPUs, nobody judges
            12? NodeName=gpu1 Name=gpu File=/dev/*
               GPUs are device files such as /dev/nvidia[0-7]
            13? NodeName=gpu1 Name=gpu File=/dev/nvidia[0-64]
               GPUs are device files such as /dev/nvidia[0-7]
            15? AllowedDevicesFile=/etc/all
               no line of this file that keeps tenants apart is written so
            17? ReservationName=acme.train Nodes=gpu1 Users=eve Accounts=acme
               a reservation is for its tenant's account and nobody else
            18? ReservationName=acme.train Nodes=gpu1 Flags=FLEX,SPEC_NODES Users=(null) Accounts=acme
               a reservation with this flag is not only its tenant's
            19? ReservationName=acme.train Nodes=gpu1 Accounts=acme,blue
               a reservation is for one account
            20? ReservationName=acme.train Nodes=gpu1 Accounts=-blue
               a reservation is for one account
            21? ReservationName=maintenance Nodes=gpu1 Accounts=acme
               a reservation is called as its job, such as acme.research.train
            23? JobId=1 JobState=RUNNING Nodes=gpu1 GRES=gpu:h100:1(IDX:0)
               a job says its JobId, JobState and Reservation
            24? JobId=2 JobName=x JobState=PENDING JobState=RUNNING Reservation=acme.train
               the key stands there twice; a user can write one
            25? JobId=3 JobState=RUNNING Reservation=acme.train Nodes=gpu1 GRES=gpu:h100:1(IDX:N/A)
               GPUs are given as gpu:h100:2(IDX:0-1)
            ignored: [1, 9, 14, 16, 22]
        "#]],
    );
}

#[test]
fn a_line_stands_in_a_file() {
    check(
        "ConstrainDevices=yes\n",
        expect![[r#"
        1? ConstrainDevices=yes
           say which file this is with a line such as # slurm.conf
    "#]],
    );
    check(
        "# slurm.conf\nConstrainDevices=yes\n",
        expect![[r#"
        2? ConstrainDevices=yes
           no line of this file that keeps tenants apart is written so
        ignored: [1]
    "#]],
    );
}

#[test]
fn lists_of_nodes_are_names_and_bounded() {
    for list in ["gpu[1-", "gpu[2-1]", "gpu[a-b]", "gpu[1-999999999]", "GPU1", "a[[1]]", "gpu[]"] {
        let text = format!("# topology.conf\nSwitchName=s Nodes={list}\n");
        let reading = read::claims(Dialect::Slurm, &text);
        assert_eq!((reading.claims.len(), reading.unknown.len()), (0, 1), "{list}");
    }
    let zeros = format!("# topology.conf\nSwitchName=s Nodes=a[{}1-2]\n", "0".repeat(70_000));
    assert_eq!(read::claims(Dialect::Slurm, &zeros).unknown.len(), 1);
}

#[test]
fn what_is_on_the_list_is_passed_over_in_its_file() {
    for ignored in read::description(Dialect::Slurm).ignored {
        let (file, line) = (ignored.place, ignored.example());
        let reading = read::claims(Dialect::Slurm, &format!("# {file}\n{line}\n"));
        assert_eq!((reading.unknown, reading.ignored), (vec![], vec![1, 2]), "{line}");
    }
}

const PARTS: &[&str] = &[HEAD, TENANT, JOB];

proptest! {
    /// A head stands once in a text: what keeps its fences up is said once.
    #[test]
    fn parts_say_together_what_they_say_alone(parts in parts(&PARTS[1..])) {
        let parts: Vec<&str> = [HEAD].into_iter().chain(parts).collect();
        page::parts_say_together_what_they_say_alone(Dialect::Slurm, &parts);
    }

    #[test]
    fn any_text_is_read(text in any_text()) {
        no_line_is_known_and_unknown(Dialect::Slurm, &text);
        no_line_is_known_and_unknown(Dialect::Slurm, &format!("# jobs\n{text}"));
    }

    #[test]
    fn cut_text_is_read(text in cut(PARTS)) {
        no_line_is_known_and_unknown(Dialect::Slurm, &text);
    }
}

fn fence(line: &str, instead: &str, claim: &str) {
    assert!(!told(Dialect::Slurm, HEAD).contains(claim));
    let cut = HEAD.replace(line, instead);
    assert_ne!(cut, HEAD);
    let told = told(Dialect::Slurm, &cut);
    assert!(told.contains(claim), "{told}");
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(Dialect::Slurm, text));
}
