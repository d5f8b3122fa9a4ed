//! What is known of Slurm's files besides what their lines say.

use super::read;
use super::text::truth;
use crate::dialect::{COMMENT, Compared, Demanded, Description, Ignored};
use crate::pattern;

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "slurmctld and slurmd of Slurm 22.05 and later",
    ignored: IGNORED,
    demanded: DEMANDED,
    uncompared: &[],
    compared: Compared::Claims,
    otherwise: &[
        "Keys have no letter case; of two same keys the last one counts, and the first passes over.",
        "What stands behind `#` is a comment, wherever it begins: `TaskPlugin=task/none # ,task/cgroup`.",
        "A backslash at the end of a line joins it with the next; any other backslash is refused.",
        "A value may stand in quotes, and spaces around the equals sign; one line of slurm.conf or \
         cgroup.conf sets one key.",
        "`include` is refused: what another file says, nobody reads here.",
        "`PrologFlags=Contain` is also `Alloc`; enforced limits are also enforced associations.",
        "Where `AuthType` and `CredType` are not set they are munge, so they are not demanded.",
        "A job holds what it was given in every state but PENDING, COMPLETED, CANCELLED, FAILED, \
         TIMEOUT, NODE_FAIL, PREEMPTED, BOOT_FAIL, DEADLINE, OUT_OF_MEMORY and REVOKED: a user can \
         stop one, and it keeps its GPUs.",
    ],
    read,
};

const SLURM: &str = "slurm.conf";
const CGROUP: &str = "cgroup.conf";

const fn free(line: &'static str, why: &'static str) -> Ignored {
    Ignored::free(SLURM, line, why)
}

const fn fixed(line: &'static str, why: &'static str) -> Ignored {
    Ignored::fixed(SLURM, line, why)
}

const WAITS: &str = "how long is waited";
const LOGS: &str = "what the daemon writes";
const STATE: &str = "where the daemon keeps its state: a folder that only root writes";
const ORDER: &str = "the order of those who wait";
const COUNTS: &str = "what is counted";
const DEFAULT: &str = "as if it were not there";

const IGNORED: &[Ignored] = &[
    COMMENT,
    free("AccountingStoragePort=<port>", "where accounts are kept"),
    free("AccountingStorageUser=(root|slurm)", "as whom accounts are asked for"),
    fixed("AccountingStorageType=accounting_storage/slurmdbd", "the only one that is known"),
    free("AuthInfo=socket=/run/munge/munge.socket.2", "how daemons know each other"),
    free("AuthInfo=socket=/var/run/munge/munge.socket.2", "how daemons know each other"),
    fixed("AuthType=auth/munge", "the only one that is known"),
    free("BatchStartTimeout=<seconds>", WAITS),
    free("CompleteWait=<number>", WAITS),
    fixed("CredType=cred/munge", "the only one that is known"),
    free("DebugFlags=<name>", LOGS),
    free("DefMemPerCPU=<many>", "what a job gets that asks for nothing"),
    free("DefMemPerNode=0", DEFAULT),
    free("DefMemPerNode=<many>", "what a job gets that asks for nothing"),
    free("DisableRootJobs=(yes|no)", "root is no tenant"),
    free("EnforcePartLimits=(NO|ANY|ALL|YES)", "when a job that never fits is refused"),
    free("FirstJobId=<number>", "numbers of jobs"),
    fixed("GresTypes=gpu", "the only resources beside processors are GPUs"),
    free("GroupUpdateTime=<seconds>", WAITS),
    free("HealthCheckInterval=0", DEFAULT),
    free("InactiveLimit=0", DEFAULT),
    free("JobAcctGatherFrequency=<number>", COUNTS),
    free("JobAcctGatherFrequency=task=<number>", COUNTS),
    free("JobAcctGatherType=jobacct_gather/(none|linux|cgroup)", COUNTS),
    free("JobCompType=jobcomp/none", DEFAULT),
    free("JobRequeue=(0|1)", "whether a job that failed begins anew"),
    free("KillOnBadExit=(0|1)", "when a job's own processes end"),
    free("KillWait=<seconds>", WAITS),
    free("LogTimeFormat=<name>", LOGS),
    free("MailProg=(/bin/mail|/usr/bin/mail)", "how users are told"),
    free("MaxArraySize=<many>", "how much may wait"),
    free("MaxJobCount=<many>", "how much may wait"),
    free("MessageTimeout=<seconds>", WAITS),
    free("MinJobAge=<seconds>", "how long ended jobs are told of"),
    free("MpiDefault=(none|pmi2|pmix|pmix_v3|pmix_v4|pmix_v5)", "how a job's processes meet"),
    fixed("PreemptMode=OFF", DEFAULT),
    fixed("PreemptType=preempt/none", DEFAULT),
    free("PriorityCalcPeriod=<name>", ORDER),
    free("PriorityDecayHalfLife=<name>", ORDER),
    free("PriorityFavorSmall=(yes|no)", ORDER),
    free("PriorityMaxAge=<name>", ORDER),
    free("PriorityType=priority/(basic|multifactor)", ORDER),
    free("PriorityUsageResetPeriod=<name>", ORDER),
    free("PriorityWeightAge=<number>", ORDER),
    free("PriorityWeightAssoc=<number>", ORDER),
    free("PriorityWeightFairshare=<number>", ORDER),
    free("PriorityWeightJobSize=<number>", ORDER),
    free("PriorityWeightPartition=<number>", ORDER),
    free("PriorityWeightQOS=<number>", ORDER),
    fixed("ProctrackType=proctrack/cgroup", "processes cannot leave what is a cgroup"),
    free("PropagateResourceLimits=(ALL|NONE)", "limits of a user's own shell"),
    free("ReturnToService=(0|1|2)", "when nodes come back"),
    free("SchedulerType=sched/(backfill|builtin)", ORDER),
    fixed("SelectType=select/cons_tres", "GPUs are given out by it alone"),
    free("SelectTypeParameters=(CR_Core_Memory|CR_CORE_MEMORY)", DEFAULT),
    free("SlurmUser=(root|slurm)", "as whom the controller runs: never a tenant"),
    free("SlurmctldDebug=(quiet|fatal|error|info|verbose|debug|debug2|debug3|3)", LOGS),
    free("SlurmctldLogFile=/var/log<path>", LOGS),
    free("SlurmctldPidFile=/run<path>", "where the daemon keeps its number"),
    free("SlurmctldPidFile=/var/run<path>", "where the daemon keeps its number"),
    free("SlurmctldPort=<port>", "where the daemon listens"),
    free("SlurmctldSyslogDebug=<name>", LOGS),
    free("SlurmctldTimeout=<seconds>", WAITS),
    free("SlurmdDebug=(quiet|fatal|error|info|verbose|debug|debug2|debug3|3)", LOGS),
    free("SlurmdLogFile=/var/log<path>", LOGS),
    free("SlurmdPidFile=/run<path>", "where the daemon keeps its number"),
    free("SlurmdPidFile=/var/run<path>", "where the daemon keeps its number"),
    free("SlurmdPort=<port>", "where the daemon listens"),
    free("SlurmdSpoolDir=/var/lib<path>", STATE),
    free("SlurmdSpoolDir=/var/spool<path>", STATE),
    free("SlurmdSyslogDebug=<name>", LOGS),
    free("SlurmdTimeout=<seconds>", WAITS),
    fixed("SlurmdUser=root", DEFAULT),
    free("StateSaveLocation=/var/lib<path>", STATE),
    free("StateSaveLocation=/var/spool<path>", STATE),
    fixed("SwitchType=switch/none", DEFAULT),
    free("TCPTimeout=<seconds>", WAITS),
    fixed("TopologyPlugin=topology/(tree|block)", "where nodes hang is said"),
    free("TrackWCKey=(yes|no)", COUNTS),
    free("TreeWidth=<number>", "how daemons reach each other"),
    free("UnkillableStepTimeout=<seconds>", WAITS),
    free("UsePAM=0", DEFAULT),
    free("VSizeFactor=0", DEFAULT),
    free("WaitTime=0", DEFAULT),
    Ignored::free(CGROUP, "CgroupAutomount=(yes|no)", "how control groups are mounted"),
    Ignored::free(CGROUP, "CgroupMountpoint=/sys/fs/cgroup", "where control groups are"),
    Ignored::free(CGROUP, "CgroupPlugin=(autodetect|cgroup/v1|cgroup/v2)", "which control groups"),
    Ignored::fixed(CGROUP, "ConstrainCores=yes", "jobs keep to their cores"),
    Ignored::free(CGROUP, "ConstrainKmemSpace=no", "as if it were not there"),
    Ignored::fixed(CGROUP, "ConstrainRAMSpace=yes", "jobs keep to their memory"),
    Ignored::free(CGROUP, "ConstrainSwapSpace=(yes|no)", "swap is not given out"),
    Ignored::fixed("gres.conf", "AutoDetect=off", "GPUs are those that are named"),
];

const fn demanded(line: &'static str, why: &'static str) -> Demanded {
    Demanded { place: SLURM, line, beside: "", why }
}

/// `ConstrainDevices` is not among them: the verifier demands it.
const DEMANDED: &[Demanded] = &[
    demanded("SlurmctldHost=<word>", "nobody knows which host rules the cluster"),
    demanded("ClusterName=<name>", "accounts are those of no cluster"),
    demanded(
        "AccountingStorageType=accounting_storage/slurmdbd",
        "an account is what a user says it is",
    ),
    demanded("AccountingStorageEnforce=associations", "an account is what a user says it is"),
    demanded("AccountingStorageEnforce=limits", "a tenant may take more than it has"),
    demanded("GresTypes=gpu", "GPUs are given to nobody, and fenced off from nobody"),
    demanded("MCSPlugin=mcs/account", "jobs of different accounts share nodes"),
    demanded("MCSParameters=enforced", "jobs without a label share nodes with any"),
    demanded("MCSParameters=select", "jobs of different labels share nodes"),
    demanded("ProctrackType=proctrack/cgroup", "processes can leave what is not a cgroup"),
    demanded("PrologFlags=Alloc", "a job can start before its fences stand"),
    demanded("PrologFlags=Contain", "a process that does not come by Slurm is in no fence"),
    demanded("SelectType=select/cons_tres", "whole nodes are given out, and no GPUs"),
    demanded("TaskPlugin=task/cgroup", "nothing keeps a job from devices it was not given"),
    demanded("TopologyPlugin=topology/(tree|block)", "jobs are put anywhere in the fabric"),
    Demanded {
        place: CGROUP,
        line: "ConstrainCores=yes",
        beside: "",
        why: "jobs take the cores of others",
    },
    Demanded {
        place: CGROUP,
        line: "ConstrainRAMSpace=yes",
        beside: "",
        why: "jobs take the memory of others",
    },
    Demanded {
        place: "gres.conf",
        line: "AutoDetect=off",
        beside: "",
        why: "GPUs are those that a library finds, not those that are named",
    },
];

/// Keys whose value is a list: what may stand in it, in any order and letter case. Options that
/// have a number of their own end with an equals sign.
pub(super) const LISTS: &[(&str, &[&str])] = &[
    ("AccountingStorageEnforce", &["associations", "limits", "qos", "safe", "wckeys", "all"]),
    (
        "AccountingStorageTRES",
        &["billing", "cpu", "energy", "fs/disk", "gres/gpu", "mem", "node", "pages", "vmem"],
    ),
    ("AccountingStoreFlags", &["job_comment"]),
    ("LaunchParameters", &["use_interactive_step"]),
    ("MCSParameters", &["enforced", "select", "privatedata"]),
    (
        "PrivateData",
        &["accounts", "events", "jobs", "nodes", "partitions", "reservations", "usage", "users"],
    ),
    ("PrologFlags", &["Alloc", "Contain", "DeferBatch", "ForceRequeueOnFail", "Serial"]),
    (
        "SchedulerParameters",
        &[
            "assoc_limit_stop",
            "batch_sched_delay=",
            "bf_continue",
            "bf_interval=",
            "bf_max_job_test=",
            "bf_max_time=",
            "bf_resolution=",
            "bf_window=",
            "bf_yield_interval=",
            "bf_yield_sleep=",
            "default_queue_depth=",
            "defer",
            "max_rpc_cnt=",
            "sched_interval=",
            "sched_max_job_start=",
            "sched_min_interval=",
        ],
    ),
    ("SlurmctldParameters", &["enable_configless"]),
    ("TaskPlugin", &["task/affinity", "task/cgroup", "affinity", "cgroup"]),
];

/// Keys that lines are read by.
const READ: &[&str] = &[
    "AccountingStorageHost",
    "ClusterName",
    "ConstrainDevices",
    "MCSPlugin",
    "NodeName",
    "PartitionName",
    "SlurmctldHost",
];

/// A key as it is written here, whatever letters it has there.
pub(super) fn canonical(key: &str) -> Option<&'static str> {
    let ignored = IGNORED.iter().filter_map(|ignored| Some(ignored.line.split_once('=')?.0));
    let lists = LISTS.iter().map(|(key, _)| *key);
    let mut all = READ.iter().copied().chain(lists).chain(ignored);
    all.find(|known| known.eq_ignore_ascii_case(key))
}

/// Whether a setting of this file passes over.
pub(super) fn passes(place: &str, key: &str, value: &str) -> bool {
    let line = format!("{key}={value}");
    let plain = || Some(format!("{key}={}", if truth(value)? { "yes" } else { "no" }));
    let here = |line: &str| {
        let mut here = IGNORED.iter().filter(|ignored| ignored.place == place);
        here.any(|ignored| pattern::matches(ignored.line, line))
    };
    here(&line) || plain().is_some_and(|line| here(&line))
}

/// The words of a list, each as it is written here; none if one of them is not known to be
/// harmless.
pub(super) fn listed(key: &str, value: &str) -> Option<Option<Vec<String>>> {
    let (_, known) = LISTS.iter().find(|(list, _)| *list == key)?;
    let word = |word: &str| {
        let word = word.trim_matches(' ');
        let same = known.iter().find(|known| match known.strip_suffix('=') {
            None => known.eq_ignore_ascii_case(word),
            Some(option) => word.split_once('=').is_some_and(|(name, number)| {
                let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
                name.eq_ignore_ascii_case(option) && is_number && number.len() < 10
            }),
        })?;
        // Plugins are files, whose names have letter case.
        (!word.contains('/') || *same == word).then(|| (*same).to_owned())
    };
    Some(value.split(',').filter(|word| !word.is_empty()).map(word).collect())
}
