#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "a list of elements is not a list of lines")]
mod page;

use expect_test::{Expect, expect};
use model::{Dialect, Part};
use page::{any_text, cut, no_line_is_known_and_unknown, parts, told};
use proptest::prelude::*;
use read::{Fact, Hold};

const HEAD: &str = "\
# slurm.conf
ClusterName=small
SlurmctldHost=slurm
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
ConstrainRAMSpace=yes
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
            2: Holds(SlurmSays { fact: Cluster, value: "small" })
            3: Holds(SlurmSays { fact: Controller, value: "slurm" })
            8: Holds(KeepsLabelsApart(true))
            14: Holds(SlurmSays { fact: Gpus(Name("gpu1")), value: "h100:8" })
            14: Holds(SlurmSays { fact: Gpus(Name("gpu2")), value: "h100:8" })
            17: Holds(SlurmSays { fact: Product(Name("gpu1")), value: "h100" })
            17: Holds(Schedulable { node: Name("gpu1"), minors: 143 })
            17: Holds(SlurmSays { fact: Product(Name("gpu2")), value: "h100" })
            17: Holds(Schedulable { node: Name("gpu2"), minors: 143 })
            18: Holds(SlurmSays { fact: Product(Name("mi-1")), value: "mi300x" })
            18: Holds(Schedulable { node: Name("mi-1"), minors: 1 })
            20: Holds(Together { place: "leaf-1", nodes: [Name("gpu1"), Name("gpu2")] })
            21: Holds(SlurmSays { fact: Above(Name("leaf-1")), value: "spine-1" })
            21: Holds(SlurmSays { fact: Above(Name("leaf-2")), value: "spine-1" })
            23: Holds(Together { place: "rack-1", nodes: [Name("tray-01"), Name("tray-02")] })
            27: Holds(ConstrainsDevices(true))
            ignored: [1, 4, 6, 9, 10, 11, 13, 15, 16, 19, 22, 24, 25, 26, 28]
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
PartitionName=a Nodes=gpu1 AllowGroups=wheel
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
ReservationName=acme.train Nodes=gpu1 Flags=SPEC_NODES Users=(null) Accounts=acme
ReservationName=acme.train Nodes=gpu1 Accounts=acme,blue
ReservationName=acme.train Nodes=gpu1 Accounts=-blue
ReservationName=maintenance Nodes=gpu1 Accounts=acme
# jobs
JobId=1 JobState=RUNNING Nodes=gpu1 GRES=gpu:h100:1(IDX:0)
JobId=2 JobName=x JobState=PENDING JobState=RUNNING Reservation=acme.train
JobId=3 Account=acme JobState=RUNNING Reservation=acme.train Nodes=gpu1 GRES=gpu:h100:1(IDX:N/A)
",
        expect![[r#"
            2? PartitionName=a Nodes=gpu1 AllowGroups=wheel
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
               no line of this file that keeps tenants apart is written so
            8? NodeName=gpu1 Gres=shard:8
               nodes have GPUs alone
            10? Name=gpu File=/dev/nvidia0
               a line names its nodes and their GPUs, or it is for all of them
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
            19? ReservationName=acme.train Nodes=gpu1 Flags=SPEC_NODES Users=(null) Accounts=acme
               Slurm refuses the reservation while jobs run there, and keeps nobody out
            20? ReservationName=acme.train Nodes=gpu1 Accounts=acme,blue
               a reservation is for one account
            21? ReservationName=acme.train Nodes=gpu1 Accounts=-blue
               a reservation is for one account
            22? ReservationName=maintenance Nodes=gpu1 Accounts=acme
               a reservation is called as its job, such as acme.research.train
            24? JobId=1 JobState=RUNNING Nodes=gpu1 GRES=gpu:h100:1(IDX:0)
               a job says its JobId, JobState, Account and Reservation
            25? JobId=2 JobName=x JobState=PENDING JobState=RUNNING Reservation=acme.train
               the key stands there twice; a user can write one
            26? JobId=3 Account=acme JobState=RUNNING Reservation=acme.train Nodes=gpu1 GRES=gpu:h100:1(IDX:N/A)
               GPUs are given as gpu:h100:2(IDX:0-1)
            ignored: [1, 9, 14, 16, 23]
        "#]],
    );
}

#[test]
fn files_are_read_as_slurm_reads_them() {
    // Letter case, spaces, quotes, comments and joined lines say what they say to slurmctld.
    for (line, instead) in [
        ("GresTypes=gpu", "grestypes = \"gpu\" # GPUs alone"),
        ("TaskPlugin=task/affinity,task/cgroup", "TaskPlugin=task/affinity,\\\ntask/cgroup"),
        ("TaskPlugin=task/affinity,task/cgroup", "TaskPlugin=cgroup"),
        ("MCSPlugin=mcs/account", "MCSPlugin=mcs/none\nmcsplugin=mcs/account"),
        ("MCSParameters=enforced,select,privatedata", "MCSParameters=Select,Enforced"),
        ("PrologFlags=Alloc,Contain", "PrologFlags=DeferBatch,contain"),
        ("ConstrainDevices=yes", "CONSTRAINDEVICES=True"),
        ("AccountingStorageEnforce=associations,limits", "AccountingStorageEnforce=safe,qos"),
        (
            "NodeName=gpu[1-2] Gres",
            "nodename=gpu[1-2] nodehostname=gpu[1-2] NodeAddr=gpu[1-2] GRES",
        ),
    ] {
        let text = instead_of(line, instead);
        assert_eq!(opened(&text), [""; 0], "{instead}");
    }
}

#[test]
fn what_only_looks_right_is_not() {
    for (line, instead, found) in [
        ("TaskPlugin=task/", "TaskPlugin=task/none # task/", "TaskPlugin=task/cgroup"),
        ("TaskPlugin=task/affinity", "TaskPlugin=task/affinity#", "TaskPlugin=task/cgroup"),
        (
            "MCSPlugin=mcs/account",
            "MCSPlugin=mcs/account\nmcsplugin=mcs/user",
            "MCSPlugin=mcs/account",
        ),
        ("enforced,select,privatedata", "enforced,ondemandselect", "MCSParameters=select"),
        ("enforced,select,privatedata", "ondemand,select", "MCSParameters=enforced"),
        ("enforced,select,privatedata", "enforced,select MCSPlugin=mcs/none", "one key"),
        ("GresTypes=gpu", "GresTypes=GPU", "GresTypes=gpu"),
        ("GresTypes=gpu", "GresTypes=gpu,shard", "GresTypes=gpu"),
        ("GresTypes=gpu", "GresTypes=gpu\\\n", "GresTypes=gpu"),
        ("GresTypes=gpu", "GresTypes=gpu\\# and so on", "a backslash"),
        ("PrologFlags=Alloc,Contain", "PrologFlags=Alloc", "the fence must stand"),
        ("PrologFlags=Alloc,Contain", "PrologFlags=Alloc,Contain,X11", "the fence must stand"),
        ("associations,limits", "associations", "AccountingStorageEnforce=limits"),
        ("associations,limits", "associations,limits,nojobs", "AccountingStorageEnforce"),
        ("ClusterName=small", "ClusterName=small\ninclude /etc/slurm/more", "another file"),
        ("ProctrackType=proctrack/cgroup", "ProctrackType=proctrack/linuxproc", "no line of this"),
        ("AutoDetect=off", "AutoDetect=nvml", "GPUs are those that are named"),
        ("ConstrainCores=yes", "ConstrainCores=no", "ConstrainCores=yes"),
        ("SwitchName=leaf-1 Nodes=gpu[1-2]", "SwitchName=leaf-1 Nodes=gpu[1-2],#", "node"),
    ] {
        let text = instead_of(line, instead);
        let opened = opened(&text);
        assert!(opened.iter().any(|why| why.contains(found)), "{instead}: {opened:?}");
    }
}

#[test]
fn every_line_that_must_be_there_is_named_when_it_is_gone() {
    for line in [
        "SlurmctldHost=slurm",
        "ClusterName=small",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageEnforce=associations,limits",
        "GresTypes=gpu",
        "MCSPlugin=mcs/account",
        "MCSParameters=enforced,select,privatedata",
        "ProctrackType=proctrack/cgroup",
        "PrologFlags=Alloc,Contain",
        "SelectType=select/cons_tres",
        "TaskPlugin=task/affinity,task/cgroup",
        "TopologyPlugin=topology/tree",
        "AutoDetect=off",
        "ConstrainCores=yes",
        "ConstrainRAMSpace=yes",
    ] {
        let key = line.split('=').next().unwrap();
        for gone in [instead_of(line, ""), instead_of(line, &format!("# {line}"))] {
            let reading = read::part(Dialect::Slurm, &Part::Head, &gone);
            let mut lacking = reading.lacking.iter();
            assert!(lacking.any(|lacking| lacking.text.starts_with(key)), "{line}: {reading:?}");
        }
    }
}

#[test]
fn what_passes_over_is_one_value_and_no_other() {
    for line in [
        "SlurmUser=ann",
        "SlurmdUser=ann",
        "AuthType=auth/none",
        "AuthAltTypes=auth/jwt",
        "AuthInfo=socket=/home/ann/munge",
        "CredType=cred/none",
        "JobSubmitPlugins=lua",
        "Prolog=/home/ann/x",
        "Epilog=/home/ann/x",
        "TaskProlog=/home/ann/x",
        "PrologSlurmctld=/home/ann/x",
        "LaunchParameters=ulimit_pam_adopt",
        "X11Parameters=home_xauthority",
        "PlugStackConfig=/home/ann/plugstack.conf",
        "RebootProgram=/bin/sh",
        "UnkillableStepProgram=/bin/sh",
        "HealthCheckProgram=/bin/sh",
        "MailProg=/home/ann/mail",
        "SchedulerParameters=enable_user_top",
        "SchedulerParameters=defer,nohold_on_prolog_fail",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=GANG",
        "DefMemPerCPU=1",
        "InactiveLimit=1",
        "MaxJobCount=1",
        "SlurmdSpoolDir=/tmp/spool",
        "StateSaveLocation=/home/ann/state",
        "SlurmdParameters=config_overrides",
        "PluginDir=/home/ann/lib",
        "SelectTypeParameters=CR_ONE_TASK_PER_CORE",
        "PartitionName=a Nodes=ALL AllowAccounts=acme",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme AllowGroups=wheel",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme AllowQos=high",
        "PartitionName=a Nodes=gpu1 DenyAccounts=blue",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme Alternate=all",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme Shared=YES",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme PreemptMode=CANCEL",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme QOS=high",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme RootOnly=YES",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme MaxTime=1",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme State=DOWN",
        "PartitionName=DEFAULT Nodes=gpu1",
        "PartitionName=DEFAULT AllowAccounts=ALL",
        "NodeName=gpu1 NodeHostname=gpu2",
        "NodeName=gpu[1-2] NodeHostname=gpu[2,1]",
        "NodeName=gpu1 State=DOWN",
        "NodeName=DEFAULT Gres=gpu:h100:1",
        "NodeSet=all Nodes=ALL",
        "DownNodes=gpu1",
    ] {
        let reading = read::claims(Dialect::Slurm, &format!("# slurm.conf\n{line}\n"));
        assert_eq!((reading.unknown.len(), reading.claims.len()), (1, 0), "{line}");
    }
    for line in [
        "SlurmUser=slurm",
        "SchedulerParameters=defer,bf_interval=60",
        "PrivateData=jobs,usage",
        "PartitionName=DEFAULT State=UP MaxTime=INFINITE",
        "NodeName=DEFAULT CPUs=64 RealMemory=512000",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme LLN=YES Hidden=YES TRESBillingWeights=CPU=1.0",
        "PartitionName=a Nodes=gpu1 AllowAccounts=acme MaxTime=7-00:00:00 DefaultTime=60",
    ] {
        let reading = read::claims(Dialect::Slurm, &format!("# slurm.conf\n{line}\n"));
        assert_eq!(reading.unknown, [], "{line}");
    }
}

#[test]
fn two_nodes_have_two_addresses() {
    let text = "# slurm.conf\nNodeName=gpu1 NodeAddr=10.0.0.1\nNodeName=gpu2 NodeAddr=10.0.0.1\n";
    let reading = read::claims(Dialect::Slurm, text);
    assert_eq!((reading.claims.len(), reading.unknown[0].line), (1, 3));
}

#[test]
fn a_job_holds_what_it_was_given_unless_its_state_surely_holds_nothing() {
    let job = |state: &str, more: &str| {
        format!(
            "# jobs\nJobId=1 Account=acme JobState={state} Nodes=gpu1 GRES=gpu:h100:1{more} \
             Reservation=acme.train\n"
        )
    };
    for state in [
        "RUNNING",
        "STOPPED",
        "SUSPENDED",
        "COMPLETING",
        "CONFIGURING",
        "RESIZING",
        "SIGNALING",
        "STAGE_OUT",
        "POWER_UP_NODE",
        "SPECIAL_EXIT",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "UPDATE_DB",
        "ANOTHER",
    ] {
        let reading = read::claims(Dialect::Slurm, &job(state, "(IDX:0)"));
        assert_eq!((reading.claims.len(), reading.unknown.len()), (1, 0), "{state}");
    }
    for state in ["PENDING", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "REVOKED"] {
        let ended = read::claims(Dialect::Slurm, &job(state, ""));
        assert_eq!((ended.claims.len(), ended.unknown.len()), (0, 0), "{state}");
        // Whoever prints what it holds, holds it.
        let holding = read::claims(Dialect::Slurm, &job(state, "(IDX:0)"));
        assert_eq!(holding.claims.len(), 1, "{state}");
    }
}

#[test]
fn a_job_has_the_account_of_its_reservation() {
    for (account, unknown) in [
        ("Account=acme", 0),
        ("Account=ACME", 0),
        ("Account=blue", 1),
        ("Account=(null)", 1),
        ("", 1),
    ] {
        let text = format!(
            "# jobs\nJobId=1 {account} JobState=RUNNING Nodes=gpu1 GRES=gpu:h100:1(IDX:0) \
             Reservation=acme.train\n"
        );
        assert_eq!(read::claims(Dialect::Slurm, &text).unknown.len(), unknown, "{account}");
    }
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

fn instead_of(line: &str, instead: &str) -> String {
    let text = HEAD.replacen(line, instead, 1);
    assert_ne!(text, HEAD, "{line} stands there");
    text
}

/// Everything in a head that is not as it must be.
fn opened(text: &str) -> Vec<String> {
    let reading = read::part(Dialect::Slurm, &Part::Head, text);
    let unknown = reading.unknown.iter().map(|unknown| unknown.why.to_owned());
    let lacking = reading.lacking.iter().map(|lacking| lacking.text.to_string());
    let fences = reading.claims.iter().filter_map(|claim| match claim.fact {
        Fact::Holds(Hold::ConstrainsDevices(false) | Hold::KeepsLabelsApart(false)) => {
            Some(claim.fact.to_string())
        }
        _ => None,
    });
    unknown.chain(lacking).chain(fences).collect()
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
