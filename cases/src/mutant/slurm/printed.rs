//! What Slurm says that it took, as keys with values: as `scontrol` prints it, or as a small parser
//! after Slurm's own has it.

use std::collections::BTreeMap;

/// By what is said: `TaskPlugin`, or `node h1 Gres`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Printed(pub(super) BTreeMap<String, String>);

/// What of a printing is another every time, or follows from the rest.
const NOISE: &[&str] = &[
    "BOOT_TIME",
    "HASH_VAL",
    "SLURM_CONF",
    "BootTime",
    "SlurmdStartTime",
    "LastBusyTime",
    "CfgTRES",
    "CPULoad",
    "AllocTRES",
    "NodeName",
    "PartitionName",
    "SwitchName",
    "CPUAlloc",
    "LinkSpeed",
    "Level",
    "TRES",
    "TotalCPUs",
    "TotalNodes",
];

/// What `scontrol show config`, `show node -o`, `show partition -o` and `show topology` printed, one
/// behind the other.
pub(super) fn by_scontrol(said: &str) -> Printed {
    let mut printed = Printed::default();
    for line in said.lines() {
        let thing = ["NodeName=", "PartitionName=", "SwitchName="].into_iter().zip([
            "node",
            "partition",
            "switch",
        ]);
        let thing = thing.clone().find_map(|(begin, kind)| {
            let name = line.strip_prefix(begin)?.split(' ').next()?;
            Some(format!("{kind} {name} "))
        });
        if let Some(about) = thing {
            let pairs = line.split(' ').filter_map(|word| word.split_once('='));
            for (key, value) in pairs.filter(|(key, _)| !NOISE.contains(key)) {
                printed.0.insert(format!("{about}{key}"), value.to_owned());
            }
        } else if let Some((key, value)) = line.split_once(" = ")
            && !NOISE.contains(&key.trim())
        {
            printed.0.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    printed
}

/// What only slurmd and people read of a text: GPUs and reservations.
pub(super) fn slurmd(text: &str) -> Option<Printed> {
    let mut own: Vec<(String, String)> = files(text);
    // Slurm reads blocks from 23.11 on, and the one that is asked here is older.
    own.retain(|(file, _)| {
        !matches!(file.as_str(), "slurm.conf" | "topology.conf" | "cgroup.conf")
    });
    let text: String = own.iter().map(|(file, text)| format!("# {file}\n{text}\n")).collect();
    parsed(&text)
}

/// Values that a key has where it does not stand.
const DEFAULTS: &[(&str, &str)] = &[
    ("AuthType", "auth/munge"),
    ("CredType", "cred/munge"),
    ("InactiveLimit", "0"),
    ("JobCompType", "jobcomp/none"),
    ("MailProg", "/bin/mail"),
    ("PreemptMode", "OFF"),
    ("PreemptType", "preempt/none"),
    ("ProctrackType", "proctrack/cgroup"),
    ("SelectTypeParameters", "CR_CORE_MEMORY"),
    ("SlurmUser", "root"),
    ("SwitchType", "switch/none"),
    ("WaitTime", "0"),
    ("CgroupMountpoint", "/sys/fs/cgroup"),
    ("ConstrainKmemSpace", "no"),
    ("AutoDetect", "off"),
];

/// A text as Slurm's parser has it; none where it would refuse it.
pub(super) fn parsed(text: &str) -> Option<Printed> {
    let mut printed = Printed::default();
    for (key, value) in DEFAULTS {
        printed.0.insert((*key).to_owned(), (*value).to_owned());
    }
    for (file, text) in files(text) {
        match file.as_str() {
            "reservations" | "jobs" => {
                let said = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
                for line in text.lines().filter(said) {
                    let pairs: Option<Vec<(&str, &str)>> =
                        line.split_whitespace().map(|word| word.split_once('=')).collect();
                    put(&mut printed, "reservation", &pairs?)?;
                }
            }
            _ => {
                for line in logical(&text) {
                    let pairs = pairs(&line)?;
                    set(&mut printed, &file, &pairs)?;
                }
            }
        }
    }
    Some(printed)
}

/// Each file with its text; a file that is named twice goes on.
pub(super) fn files(text: &str) -> Vec<(String, String)> {
    const NAMES: [&str; 7] = [
        "slurm.conf",
        "gres.conf",
        "topology.conf",
        "topology-block.conf",
        "cgroup.conf",
        "reservations",
        "jobs",
    ];
    let mut files: Vec<(String, String)> = Vec::new();
    let mut at = None;
    for line in text.split_inclusive('\n') {
        let blank = [' ', '\t', '\r', '\n'];
        let named = line.trim_matches(blank).strip_prefix('#').map(|name| name.trim_matches(blank));
        if let Some(name) = named.filter(|name| NAMES.contains(name)) {
            let known = files.iter().position(|(file, _)| file == name);
            at = Some(known.unwrap_or_else(|| {
                files.push((name.to_owned(), String::new()));
                files.len() - 1
            }));
        } else if let Some(at) = at {
            files[at].1.push_str(line);
        }
    }
    files
}

/// Lines without comments, joined where a backslash says so.
fn logical(text: &str) -> Vec<String> {
    let (mut all, mut open) = (Vec::new(), String::new());
    for line in text.split('\n') {
        let end = line
            .bytes()
            .enumerate()
            .position(|(at, byte)| byte == b'#' && !line[..at].ends_with('\\'));
        let line = line[..end.unwrap_or(line.len())].split('\r').next().unwrap_or_default();
        let trimmed = line.trim_end();
        match trimmed.strip_suffix('\\') {
            Some(begin) => open.push_str(begin),
            None => {
                open.push_str(line);
                all.push(std::mem::take(&mut open));
            }
        }
    }
    all.push(open);
    all.retain(|line| !line.trim().is_empty());
    all
}

/// `Key=value`, with spaces around the sign and quotes around the value.
fn pairs(line: &str) -> Option<Vec<(&str, &str)>> {
    let mut all = Vec::new();
    let mut rest = line.trim_matches([' ', '\t', '\u{b}', '\u{c}']);
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let key = key.trim_end_matches([' ', '\t']);
        let after = after.trim_start_matches([' ', '\t']);
        let (value, behind) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => {
                after.split_at(after.find([' ', '\t', '\u{b}', '\u{c}']).unwrap_or(after.len()))
            }
        };
        let is_key = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if key.is_empty() || value.is_empty() || !is_key {
            return None;
        }
        all.push((key, value));
        rest = behind.trim_start_matches([' ', '\t', '\u{b}', '\u{c}']);
    }
    Some(all)
}

fn set(printed: &mut Printed, file: &str, pairs: &[(&str, &str)]) -> Option<()> {
    let (key, value) = *pairs.first()?;
    match (file, key.to_ascii_lowercase().as_str()) {
        ("slurm.conf", "nodename") => put(printed, "node", pairs),
        ("slurm.conf", "partitionname") => put(printed, "partition", pairs),
        ("gres.conf", "nodename" | "name") => put(printed, "gres", pairs),
        ("topology.conf" | "topology-block.conf", _) => put(printed, "switch", pairs),
        _ if pairs.len() > 1 => None,
        _ => {
            let key = known(key)?;
            let value = match (key, value.to_ascii_lowercase().as_str()) {
                ("PrologFlags", "contain") => "Alloc,Contain".to_owned(),
                ("TaskPlugin", "cgroup") => "task/cgroup".to_owned(),
                (_, "yes" | "up" | "true") => "yes".to_owned(),
                (_, "no" | "down" | "false") => "no".to_owned(),
                ("AutoDetect" | "SelectTypeParameters", _) => value.to_owned(),
                _ => value.to_owned(),
            };
            printed.0.insert(key.to_owned(), value);
            Some(())
        }
    }
}

/// Something with a name of its own, which stands there once.
fn put(printed: &mut Printed, kind: &str, pairs: &[(&str, &str)]) -> Option<()> {
    let (key, name) = *pairs.first()?;
    if kind == "reservation" && key != "ReservationName" {
        return None;
    }
    if name.eq_ignore_ascii_case("default") {
        // What is a default for lines behind is said of each of them by nobody here.
        return None;
    }
    let begin = format!("{kind} {name} ");
    let is_again = printed.0.keys().any(|key| key.starts_with(&begin));
    if is_again && kind != "gres" {
        return None;
    }
    printed.0.insert(format!("{begin}is"), "there".into());
    for (key, value) in &pairs[1..] {
        let key = spelled(key);
        // Words of a closed list have no letter case.
        let value = match key.as_str() {
            "ExclusiveUser" | "OverSubscribe" | "State" => value.to_ascii_uppercase(),
            _ => (*value).to_owned(),
        };
        printed.0.insert(format!("{begin}{key}"), value);
    }
    Some(())
}

/// A key of a node or a partition as `scontrol` writes it.
fn spelled(key: &str) -> String {
    const KEYS: [&str; 26] = [
        "Nodes",
        "AllowAccounts",
        "ExclusiveUser",
        "OverSubscribe",
        "State",
        "Gres",
        "NodeAddr",
        "NodeHostname",
        "Type",
        "File",
        "Name",
        "Cores",
        "Links",
        "Count",
        "Flags",
        "Users",
        "Accounts",
        "NodeCnt",
        "Switches",
        "Default",
        "MaxTime",
        "DefaultTime",
        "Hidden",
        "LLN",
        "Port",
        "Weight",
    ];
    let known = KEYS.iter().find(|known| known.eq_ignore_ascii_case(key));
    (*known.unwrap_or(&key)).to_owned()
}

/// A key of slurm.conf, cgroup.conf or gres.conf as it is written in its manual.
fn known(key: &str) -> Option<&'static str> {
    MANUAL.split_whitespace().find(|known| known.eq_ignore_ascii_case(key))
}

const MANUAL: &str = "\
AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageHost AccountingStoragePass \
AccountingStoragePort AccountingStorageTRES AccountingStorageType AccountingStorageUser \
AccountingStoreFlags AllowedRAMSpace AuthAltParameters AuthAltTypes AuthInfo AuthType AutoDetect \
BatchStartTimeout CgroupAutomount CgroupMountpoint CgroupPlugin CliFilterPlugins ClusterName \
CommunicationParameters CompleteWait ConstrainCores ConstrainDevices ConstrainKmemSpace \
ConstrainRAMSpace ConstrainSwapSpace CredType DebugFlags DefMemPerCPU DefMemPerNode \
DisableRootJobs EnforcePartLimits Epilog EpilogSlurmctld FirstJobId GresTypes GroupUpdateTime \
HealthCheckInterval HealthCheckProgram InactiveLimit JobAcctGatherFrequency JobAcctGatherType \
JobCompType JobRequeue JobSubmitPlugins KillOnBadExit KillWait LaunchParameters LogTimeFormat \
MCSParameters MCSPlugin MailProg MaxArraySize MaxJobCount MaxRAMPercent MessageTimeout MinJobAge \
MpiDefault PlugStackConfig PluginDir PreemptMode PreemptType PriorityCalcPeriod \
PriorityDecayHalfLife PriorityFavorSmall PriorityMaxAge PriorityType PriorityUsageResetPeriod \
PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize \
PriorityWeightPartition PriorityWeightQOS PrivateData ProctrackType Prolog PrologFlags \
PrologSlurmctld PropagateResourceLimits RebootProgram ReturnToService SchedulerParameters \
SchedulerType SelectType SelectTypeParameters SlurmUser SlurmctldDebug SlurmctldHost \
SlurmctldLogFile SlurmctldParameters SlurmctldPidFile SlurmctldPort SlurmctldSyslogDebug \
SlurmctldTimeout SlurmdDebug SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdPort \
SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser SrunEpilog SrunProlog \
StateSaveLocation SwitchType TCPTimeout TaskEpilog TaskPlugin TaskProlog TopologyPlugin \
TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UsePAM VSizeFactor WaitTime \
X11Parameters";
