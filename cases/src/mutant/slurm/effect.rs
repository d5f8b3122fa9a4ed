//! The table: what it does when Slurm takes something otherwise than it was planned.

use std::collections::BTreeSet;

use super::printed::Printed;
use crate::mutant::Effect;

/// By the first word of what is printed: what another value does. What stands in no row opens:
/// nobody wrote down that it does not.
const KEYS: &[(&str, Effect)] = &[
    ("AccountingStorageTRES", Effect::Harmless),
    ("AccountingStoragePort", Effect::Harmless),
    ("AccountingStorageUser", Effect::Harmless),
    ("AccountingStoreFlags", Effect::Harmless),
    ("AllowedRAMSpace", Effect::Cuts),
    ("BatchStartTimeout", Effect::Harmless),
    ("CgroupAutomount", Effect::Harmless),
    ("CgroupPlugin", Effect::Harmless),
    ("ClusterName", Effect::Cuts),
    ("CompleteWait", Effect::Harmless),
    ("ConstrainKmemSpace", Effect::Harmless),
    ("ConstrainSwapSpace", Effect::Harmless),
    ("DebugFlags", Effect::Harmless),
    ("DisableRootJobs", Effect::Harmless),
    ("EnforcePartLimits", Effect::Harmless),
    ("FairShareDampeningFactor", Effect::Harmless),
    ("FirstJobId", Effect::Harmless),
    ("NEXT_JOB_ID", Effect::Harmless),
    ("GroupUpdateTime", Effect::Harmless),
    ("JobAcctGatherFrequency", Effect::Harmless),
    ("JobAcctGatherType", Effect::Harmless),
    ("JobRequeue", Effect::Harmless),
    ("KillOnBadExit", Effect::Harmless),
    ("LogTimeFormat", Effect::Harmless),
    ("MpiDefault", Effect::Harmless),
    ("MULTIPLE_SLURMD", Effect::Harmless),
    ("PropagateResourceLimits", Effect::Harmless),
    ("ReturnToService", Effect::Harmless),
    ("SchedulerType", Effect::Harmless),
    ("SlurmctldDebug", Effect::Harmless),
    ("SlurmctldPort", Effect::Harmless),
    ("SlurmctldSyslogDebug", Effect::Harmless),
    ("SlurmdDebug", Effect::Harmless),
    ("SlurmdPort", Effect::Harmless),
    ("SlurmdSyslogDebug", Effect::Harmless),
    ("TopologyPlugin", Effect::Cuts),
    ("TrackWCKey", Effect::Harmless),
    ("TreeWidth", Effect::Harmless),
];

/// Folders that only root writes.
const FOLDERS: [&str; 5] = ["/var/log/", "/var/spool/", "/var/lib/", "/run/", "/var/run/"];

/// What the difference of two printings does: the worst of all that differs.
pub(super) fn of(sound: &Printed, edited: &Printed) -> Effect {
    let keys: BTreeSet<&String> = sound.0.keys().chain(edited.0.keys()).collect();
    let differs = keys.into_iter().filter(|key| sound.0.get(*key) != edited.0.get(*key));
    let value = |printed: &Printed, key: &String| printed.0.get(key).cloned().unwrap_or_default();
    let effects = differs.map(|key| effect(key, &value(sound, key), &value(edited, key)));
    effects.min().unwrap_or(Effect::Harmless)
}

/// What another value of one key does.
fn effect(key: &str, sound: &str, edited: &str) -> Effect {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(',').map(|word| word.trim().to_ascii_lowercase()).collect()
    };
    let (had, has) = (words(sound), words(edited));
    let lost: Vec<&String> = had.difference(&has).collect();
    let gained: Vec<&str> = has.difference(&had).map(String::as_str).collect();
    let are = |known: &[&str]| gained.iter().all(|word| known.contains(word) || word.is_empty());
    let harmless = |is: bool| if is { Effect::Harmless } else { Effect::Opens };
    let seconds = || edited.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    let (of, about) = key.split_once(' ').unwrap_or((key, ""));
    match of {
        "node" | "partition" | "switch" | "gres" | "reservation" => thing(of, about, sound, edited),
        "MCSParameters" => harmless(
            has.contains("enforced")
                && has.contains("select")
                && are(&["privatedata", "enforced", "select"]),
        ),
        "AccountingStorageEnforce" => harmless(lost.is_empty() && are(&["qos", "safe", "wckeys"])),
        "PrologFlags" => {
            harmless(lost.is_empty() && are(&["deferbatch", "serial", "forcerequeueonfail"]))
        }
        "TaskPlugin" => {
            let is_whole =
                edited.split(',').any(|word| matches!(word.trim(), "task/cgroup" | "cgroup"));
            harmless(is_whole && are(&["task/affinity", "task/cgroup", "affinity", "cgroup"]))
        }
        "PrivateData" => harmless(are(&[
            "jobs",
            "usage",
            "users",
            "nodes",
            "accounts",
            "reservations",
            "partitions",
            "events",
        ])),
        "LaunchParameters" => harmless(are(&["use_interactive_step"])),
        "SlurmctldParameters" => harmless(are(&["enable_configless"])),
        "SchedulerParameters" => {
            let known = |word: &&str| {
                *word == "defer" || word.starts_with("bf_") || *word == "assoc_limit_stop"
            };
            harmless(gained.iter().all(known))
        }
        "SlurmUser" => harmless(edited.starts_with("root") || edited.starts_with("slurm")),
        "SlurmctldLogFile" | "SlurmdLogFile" | "SlurmctldPidFile" | "SlurmdPidFile"
        | "SlurmdSpoolDir" | "StateSaveLocation" => {
            harmless(FOLDERS.iter().any(|folder| edited.starts_with(folder)))
        }
        // Where munge listens as it is packaged.
        "AuthInfo" => harmless(edited == "socket=/run/munge/munge.socket.2"),
        "UsePAM" => harmless(matches!(edited, "0" | "no")),
        "MailProg" => harmless(matches!(edited, "/bin/mail" | "/usr/bin/mail")),
        "SelectTypeParameters" => harmless(edited.eq_ignore_ascii_case("CR_CORE_MEMORY")),
        "KillWait"
        | "MessageTimeout"
        | "MinJobAge"
        | "SlurmctldTimeout"
        | "SlurmdTimeout"
        | "TCPTimeout"
        | "UnkillableStepTimeout" => match seconds() {
            Some(2..) => Effect::Harmless,
            _ => Effect::Cuts,
        },
        "DefMemPerCPU" | "DefMemPerNode" | "MaxArraySize" | "MaxJobCount" => match seconds() {
            Some(1000..) => Effect::Harmless,
            // Without a default there is none.
            Some(0) if of.starts_with("DefMem") => Effect::Harmless,
            _ if edited == "UNLIMITED" || edited.is_empty() => Effect::Harmless,
            _ => Effect::Cuts,
        },
        "InactiveLimit" | "MaxRAMPercent" | "PreemptMode" | "PreemptType" | "SelectType" => {
            Effect::Cuts
        }
        // The order of those who wait.
        _ if of.starts_with("Priority") && of != "PrioritySiteFactorPlugin" => Effect::Harmless,
        _ => {
            let known = KEYS.iter().find(|(known, _)| *known == of);
            known.map_or(Effect::Opens, |(_, effect)| *effect)
        }
    }
}

/// What it does when a node, a partition, a switch or a reservation says something else.
fn thing(of: &str, about: &str, sound: &str, edited: &str) -> Effect {
    let list = |text: &str| -> BTreeSet<String> { text.split(',').map(Into::into).collect() };
    let (had, has) = (list(sound), list(edited));
    let is_more = !has.is_subset(&had);
    if had == has {
        return Effect::Harmless;
    }
    let key = about.rsplit(' ').next().unwrap_or_default();
    match (of, key) {
        // A name says something that only one of the two has.
        ("switch", _) => Effect::Cuts,
        ("partition", "Default" | "DefaultTime" | "Hidden" | "LLN" | "PriorityJobFactor")
        | ("partition", "PriorityTier" | "ExclusiveUser" | "GraceTime" | "DisableRootJobs")
        | ("partition", "TRESBillingWeights" | "TotalCPUs" | "TRES" | "TotalNodes")
        | ("node", "Weight" | "Feature" | "Features" | "TmpDisk" | "Port" | "Partitions")
        | ("gres", "Cores" | "Links")
        | ("reservation", "NodeCnt") => Effect::Harmless,
        ("reservation", "Users") if edited.is_empty() || edited == "(null)" => Effect::Harmless,
        ("partition", "MaxTime" | "MaxNodes" | "State" | "MinNodes" | "RootOnly") => Effect::Cuts,
        ("partition", "OverSubscribe") => match edited {
            "EXCLUSIVE" => Effect::Harmless,
            _ => Effect::Opens,
        },
        ("partition" | "reservation", "Nodes") if sound.is_empty() || is_more => Effect::Opens,
        ("partition" | "reservation", "Nodes") => Effect::Cuts,
        ("node", "Gres" | "State") | ("gres", "Type") => Effect::Cuts,
        ("gres", "File") if is_more => Effect::Opens,
        ("gres", "File") => Effect::Cuts,
        // Whose it is.
        _ if edited.is_empty() => Effect::Cuts,
        _ => Effect::Opens,
    }
}
