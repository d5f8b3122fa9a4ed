//! Slurm's files, each line below the name of the file it stands in, and what `scontrol` prints on
//! one line: `show reservation -o`, `show job -d -o`.

mod hosts;

use model::JobName;
use smol_str::SmolStr;

use crate::dialect::{self, COMMENT, Compared, Description, Ignored};
use crate::lines::{Line, lines, words};
use crate::values::Why;
use crate::{Claim, Fact, Hold, Reading, Unknown};
use hosts::hosts;

/// What is known of it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "slurmctld and slurmd of Slurm 22.05 and later",
    ignored: &[
        COMMENT,
        Ignored::free("slurm.conf", "AccountingStorageHost=<name>", "where accounts are kept"),
        Ignored::free("slurm.conf", "AccountingStoragePort=<number>", "where accounts are kept"),
        Ignored::fixed(
            "slurm.conf",
            "AccountingStorageType=accounting_storage/slurmdbd",
            "the only one that is known",
        ),
        Ignored::free("slurm.conf", "AuthInfo=<word>", "how daemons know each other"),
        Ignored::fixed("slurm.conf", "AuthType=auth/munge", "the only one that is known"),
        Ignored::free("slurm.conf", "ClusterName=<name>", "a name for people"),
        Ignored::free("slurm.conf", "ControlMachine=<name>", "where the controller is"),
        Ignored::free("slurm.conf", "InactiveLimit=<number>", "how long is waited"),
        Ignored::free("slurm.conf", "JobAcctGatherFrequency=<word>", "what is counted"),
        Ignored::free("slurm.conf", "JobAcctGatherType=<word>", "what is counted"),
        Ignored::free("slurm.conf", "KillWait=<number>", "how long is waited"),
        Ignored::free("slurm.conf", "MessageTimeout=<number>", "how long is waited"),
        Ignored::free("slurm.conf", "MinJobAge=<number>", "how long ended jobs are told of"),
        Ignored::free("slurm.conf", "MpiDefault=<word>", "how processes of a job find each other"),
        Ignored::free("slurm.conf", "ReturnToService=<number>", "when nodes come back"),
        Ignored::free("slurm.conf", "SchedulerParameters=<word>", "the order of those who wait"),
        Ignored::free("slurm.conf", "SchedulerType=<word>", "the order of those who wait"),
        Ignored::free("slurm.conf", "SlurmUser=<name>", "as whom the controller runs"),
        Ignored::free("slurm.conf", "SlurmctldDebug=<word>", "what the daemon writes"),
        Ignored::free("slurm.conf", "SlurmctldHost=<name>", "where the controller is"),
        Ignored::free("slurm.conf", "SlurmctldLogFile=<path>", "what the daemon writes"),
        Ignored::free("slurm.conf", "SlurmctldPidFile=<path>", "where the daemon keeps its number"),
        Ignored::free("slurm.conf", "SlurmctldPort=<number>", "where the daemon listens"),
        Ignored::free("slurm.conf", "SlurmctldTimeout=<number>", "how long is waited"),
        Ignored::free("slurm.conf", "SlurmdDebug=<word>", "what the daemon writes"),
        Ignored::free("slurm.conf", "SlurmdLogFile=<path>", "what the daemon writes"),
        Ignored::free("slurm.conf", "SlurmdPidFile=<path>", "where the daemon keeps its number"),
        Ignored::free("slurm.conf", "SlurmdPort=<number>", "where the daemon listens"),
        Ignored::free("slurm.conf", "SlurmdSpoolDir=<path>", "where the daemon keeps its state"),
        Ignored::free("slurm.conf", "SlurmdTimeout=<number>", "how long is waited"),
        Ignored::free("slurm.conf", "StateSaveLocation=<path>", "where the daemon keeps its state"),
        Ignored::free("slurm.conf", "Waittime=<number>", "how long is waited"),
        Ignored::free("cgroup.conf", "CgroupAutomount=(yes|no)", "how control groups are mounted"),
        Ignored::free("cgroup.conf", "CgroupMountpoint=<path>", "where control groups are"),
        Ignored::free(
            "cgroup.conf",
            "CgroupPlugin=(autodetect|cgroup/v1|cgroup/v2)",
            "which control groups",
        ),
        Ignored::fixed("cgroup.conf", "ConstrainCores=yes", "jobs keep to their cores"),
        Ignored::fixed("cgroup.conf", "ConstrainRAMSpace=yes", "jobs keep to their memory"),
        Ignored::free("cgroup.conf", "ConstrainSwapSpace=(yes|no)", "swap is not given out"),
    ],
    demanded: &[],
    uncompared: &[],
    compared: Compared::Claims,
    otherwise: &[],
    read,
};

const NOT_WRITTEN: Why = "no line of this file that keeps tenants apart is written so";
const NOT_NODES: Why = "nodes are named one by one, or as a range such as gpu[1-4,7]";
const NOT_FILES: Why = "GPUs are device files such as /dev/nvidia[0-7]";

/// What a line stands in.
#[derive(Clone, Copy, PartialEq)]
enum File {
    Slurm,
    Gres,
    Topology,
    Cgroup,
    Reservations,
    Jobs,
}

impl File {
    /// The file that a comment names.
    fn named(comment: &str) -> Option<Self> {
        Some(match comment.strip_prefix('#')?.trim_ascii() {
            "slurm.conf" => Self::Slurm,
            "gres.conf" => Self::Gres,
            "topology.conf" | "topology-block.conf" => Self::Topology,
            "cgroup.conf" => Self::Cgroup,
            "reservations" => Self::Reservations,
            "jobs" => Self::Jobs,
            _ => return None,
        })
    }
}

fn read(text: &str) -> Reading {
    let mut reader = Reader { reading: Reading::with_room_for(text), fences: Fences::default() };
    let mut file = None;
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        if line.text.starts_with('#') {
            file = File::named(line.text).or(file);
            reader.reading.ignored.push(line.number);
            continue;
        }
        if let Err(why) = reader.line(file, &line) {
            let Line { number, text, .. } = line;
            reader.reading.unknown.push(Unknown { line: number, text: text.into(), why });
        }
    }
    reader.fences.claim(&mut reader.reading);
    reader.reading
}

struct Reader {
    reading: Reading,
    fences: Fences,
}

impl Reader {
    fn line(&mut self, file: Option<File>, line: &Line<'_>) -> Result<(), Why> {
        let Some(file) = file else {
            return Err("say which file this is with a line such as # slurm.conf");
        };
        match file {
            File::Slurm => self.slurm(line),
            File::Gres => self.gres(line),
            File::Topology => self.topology(line),
            File::Cgroup => self.cgroup(line),
            File::Reservations => self.reservation(line),
            File::Jobs => self.job(line),
        }
    }

    fn claim(&mut self, line: &Line<'_>, hold: Hold) {
        self.reading.claims.push(Claim { line: line.number, fact: Fact::Holds(hold) });
    }

    fn slurm(&mut self, line: &Line<'_>) -> Result<(), Why> {
        let (key, value) = line.text.split_once('=').ok_or(NOT_WRITTEN)?;
        let has = |word: &str| value.split(',').any(|part| part.eq_ignore_ascii_case(word));
        let must = |is_so: bool, why: Why| if is_so { Ok(()) } else { Err(why) };
        match key {
            "NodeName" => self.node(line)?,
            "PartitionName" => self.partition(line)?,
            "MCSPlugin" => self.fences.labels_by_account = value == "mcs/account",
            "MCSParameters" => {
                self.fences.labels = Some((line.number, has("enforced") && has("select")));
            }
            "AccountingStorageEnforce" => {
                self.fences.known_accounts = has("associations") || has("limits") || has("all");
            }
            "TaskPlugin" => self.fences.tasks_in_cgroups = has("task/cgroup") || has("cgroup"),
            "GresTypes" => must(value == "gpu", "the only resources beside processors are GPUs")?,
            "ProctrackType" => {
                must(value == "proctrack/cgroup", "processes can leave what is not a cgroup")?;
            }
            "PrologFlags" => {
                must(has("Alloc") || has("Contain"), "the fence must stand before the job starts")?;
            }
            "SelectType" => {
                must(value == "select/cons_tres", "GPUs are given out by select/cons_tres")?;
            }
            "TopologyPlugin" => {
                must(matches!(value, "topology/tree" | "topology/block"), "a tree or blocks")?;
            }
            _ if dialect::passes(&DESCRIPTION, "slurm.conf", line.text) => {
                self.reading.ignored.push(line.number);
            }
            _ => return Err(NOT_WRITTEN),
        }
        Ok(())
    }

    /// How many GPUs a node has is said again, and exactly, by their files.
    fn node(&mut self, line: &Line<'_>) -> Result<(), Why> {
        for (key, value) in pairs(line.text) {
            match key {
                "NodeName" => drop(hosts(value).ok_or(NOT_NODES)?),
                "Gres" => drop(value.strip_prefix("gpu:").ok_or("nodes have GPUs alone")?),
                "Boards" | "CPUs" | "CoresPerSocket" | "Feature" | "MemSpecLimit" | "NodeAddr"
                | "NodeHostname" | "Port" | "RealMemory" | "Sockets" | "State"
                | "ThreadsPerCore" | "TmpDisk" | "Weight" => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        once(line.text)
    }

    fn partition(&mut self, line: &Line<'_>) -> Result<(), Why> {
        let (mut partition, mut nodes) = (SmolStr::default(), Vec::new());
        let (mut accounts, mut exclusive) = (Vec::new(), false);
        for (key, value) in pairs(line.text) {
            match key {
                "PartitionName" => partition = value.into(),
                "Nodes" => nodes = hosts(value).ok_or(NOT_NODES)?,
                "AllowAccounts" if value != "ALL" => {
                    accounts = value.split(',').map(SmolStr::from).collect();
                }
                "AllowAccounts" => {}
                "ExclusiveUser" => exclusive |= value == "YES",
                "OverSubscribe" => match value {
                    "NO" => {}
                    "EXCLUSIVE" => exclusive = true,
                    _ => return Err("processors and GPUs are never given out twice"),
                },
                "Default" | "DefaultTime" | "MaxTime" | "PriorityTier" | "State" => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        once(line.text)?;
        if nodes.is_empty() {
            return Err("a partition names its nodes");
        }
        accounts.sort();
        self.claim(line, Hold::Partition { partition, nodes, accounts, exclusive });
        Ok(())
    }

    fn gres(&mut self, line: &Line<'_>) -> Result<(), Why> {
        if line.text == "AutoDetect=off" {
            return Ok(());
        }
        let (mut nodes, mut minors) = (Vec::new(), 0);
        for (key, value) in pairs(line.text) {
            match (key, value) {
                ("NodeName", nodes_of) => nodes = hosts(nodes_of).ok_or(NOT_NODES)?,
                ("Name", "gpu") => {}
                ("Name", _) => return Err("what else is given out than GPUs, nobody judges"),
                ("File", files) => minors = self::minors(files).ok_or(NOT_FILES)?,
                ("Count", "0") => {}
                ("Cores" | "Links" | "Type", _) => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        once(line.text)?;
        if nodes.is_empty() {
            return Err("a line names its nodes, or it is for all of them");
        }
        for node in nodes {
            self.claim(line, Hold::Schedulable { node, minors });
        }
        Ok(())
    }

    fn topology(&mut self, line: &Line<'_>) -> Result<(), Why> {
        let (mut place, mut nodes) = (None, Vec::new());
        let mut joins = false;
        for (key, value) in pairs(line.text) {
            match key {
                "SwitchName" | "BlockName" => place = Some(SmolStr::from(value)),
                "Nodes" => nodes = hosts(value).ok_or(NOT_NODES)?,
                "Switches" | "BlockSizes" => joins = true,
                "LinkSpeed" => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        once(line.text)?;
        match place {
            Some(place) if !nodes.is_empty() => {
                self.claim(line, Hold::Together { place, nodes });
                Ok(())
            }
            // Which switches a switch joins puts no node anywhere.
            _ if joins => Ok(()),
            _ => Err(NOT_WRITTEN),
        }
    }

    fn cgroup(&mut self, line: &Line<'_>) -> Result<(), Why> {
        let (key, value) = line.text.split_once('=').ok_or(NOT_WRITTEN)?;
        let is_yes = value.eq_ignore_ascii_case("yes");
        match key {
            "ConstrainDevices" => self.fences.devices = Some((line.number, is_yes)),
            _ if dialect::passes(&DESCRIPTION, "cgroup.conf", line.text) => {
                self.reading.ignored.push(line.number);
            }
            _ => return Err(NOT_WRITTEN),
        }
        Ok(())
    }

    fn reservation(&mut self, line: &Line<'_>) -> Result<(), Why> {
        let (mut job, mut account, mut nodes) = (None, SmolStr::default(), Vec::new());
        for (key, value) in pairs(line.text) {
            match key {
                "ReservationName" => job = self::job(value),
                "Nodes" => nodes = hosts(value).ok_or(NOT_NODES)?,
                "Accounts" => account = value.into(),
                "Users" | "Groups" if value != "(null)" => {
                    return Err("a reservation is for its tenant's account and nobody else");
                }
                "Flags" => flags(value)?,
                "BurstBuffer" | "CoreCnt" | "Duration" | "EndTime" | "Features" | "Groups"
                | "Licenses" | "MaxStartDelay" | "NodeCnt" | "PartitionName" | "StartTime"
                | "State" | "TRES" | "Users" | "Watts" => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        once(line.text)?;
        let job = job.ok_or("a reservation is called as its job, such as acme.research.train")?;
        if account.is_empty() || account.starts_with('-') || account.contains([',', '(']) {
            return Err("a reservation is for one account");
        }
        self.claim(line, Hold::Reserved { job, account, nodes });
        Ok(())
    }

    /// What a job in Slurm was given. Its name is what its user calls it; whose it is says the
    /// reservation it runs in, which only its tenant's account may use.
    fn job(&mut self, line: &Line<'_>) -> Result<(), Why> {
        const HOLDING: [&str; 5] =
            ["RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STAGE_OUT"];
        let one = |key: &str| {
            let mut values = pairs(line.text).filter(|(found, _)| *found == key);
            match (values.next(), values.next()) {
                (Some((_, value)), None) => Ok(value),
                (None, _) => Err("a job says its JobId, JobState and Reservation"),
                (Some(_), Some(_)) => Err("the key stands there twice; a user can write one"),
            }
        };
        one("JobId")?;
        if !HOLDING.contains(&one("JobState")?) {
            self.reading.ignored.push(line.number);
            return Ok(());
        }
        let reservation = one("Reservation")?;
        let job = job(reservation).ok_or("a job runs in the reservation of a planned one")?;
        let mut nodes = None;
        let mut given = Vec::new();
        for (key, value) in pairs(line.text) {
            match key {
                "Nodes" => nodes = Some(hosts(value).ok_or(NOT_NODES)?),
                "GRES" => {
                    let minors = indexes(value).ok_or("GPUs are given as gpu:h100:2(IDX:0-1)")?;
                    let nodes = nodes.take().ok_or("GPUs are given on nodes")?;
                    given.extend(nodes.into_iter().map(|node| (node, minors)));
                }
                _ => {}
            }
        }
        for (node, minors) in given {
            self.claim(line, Hold::Allocated { job: job.clone(), node, minors });
        }
        Ok(())
    }
}

/// Fences that several lines make together: one of them alone keeps nobody out.
#[derive(Default)]
struct Fences {
    /// `ConstrainDevices`, which works on tasks in cgroups only.
    devices: Option<(u32, bool)>,
    tasks_in_cgroups: bool,
    /// `MCSParameters`, which work on labels that users cannot choose.
    labels: Option<(u32, bool)>,
    labels_by_account: bool,
    known_accounts: bool,
}

impl Fences {
    fn claim(&self, reading: &mut Reading) {
        let devices = self
            .devices
            .map(|(line, is_on)| (line, Hold::ConstrainsDevices(is_on && self.tasks_in_cgroups)));
        let labels = self.labels.map(|(line, are_kept)| {
            let are_true = self.labels_by_account && self.known_accounts;
            (line, Hold::KeepsLabelsApart(are_kept && are_true))
        });
        for (line, hold) in labels.into_iter().chain(devices) {
            let at = reading.claims.partition_point(|claim| claim.line <= line);
            reading.claims.insert(at, Claim { line, fact: Fact::Holds(hold) });
        }
    }
}

/// Words with an equals sign. A word without one goes on with the value before, which is none of
/// our business: free text has spaces.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    words(text).filter_map(|word| word.split_once('='))
}

/// Refuses a line that says something twice, or has a word that says nothing.
fn once(text: &str) -> Result<(), Why> {
    let mut seen: [&str; 24] = [""; 24];
    for (place, word) in words(text).enumerate() {
        let Some((key, _)) = word.split_once('=') else { return Err(NOT_WRITTEN) };
        let Some(slot) = seen.get_mut(place) else { return Err(NOT_WRITTEN) };
        *slot = key;
        if seen[..place].contains(&key) {
            return Err("the key stands there twice");
        }
    }
    Ok(())
}

/// `acme.research.train`: names have no dots.
fn job(path: &str) -> Option<JobName> {
    path.replace('.', "/").parse().ok()
}

/// What a reservation may be besides a list of nodes. Others let jobs in that are not its own.
fn flags(value: &str) -> Result<(), Why> {
    const HARMLESS: [&str; 4] = ["IGNORE_JOBS", "OVERLAP", "SPEC_NODES", "(null)"];
    if value.split(',').all(|flag| HARMLESS.contains(&flag)) {
        return Ok(());
    }
    Err("a reservation with this flag is not only its tenant's")
}

/// `/dev/nvidia[0-7]` or `/dev/dri/renderD[128-135]`, as bits.
fn minors(files: &str) -> Option<u64> {
    const FIRST_RENDER_NODE: u64 = 128;
    let (numbers, first) = match files.strip_prefix("/dev/nvidia") {
        Some(numbers) => (numbers, 0),
        None => (files.strip_prefix("/dev/dri/renderD")?, FIRST_RENDER_NODE),
    };
    let inner = numbers.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bits(inner.unwrap_or(numbers), first)
}

/// `gpu:h100:2(IDX:0-1,4)`, as bits. An empty list of resources is none.
fn indexes(given: &str) -> Option<u64> {
    if given.is_empty() {
        return Some(0);
    }
    let (_, indexes) = given.strip_prefix("gpu:")?.split_once("(IDX:")?;
    let indexes = indexes.strip_suffix(')')?;
    if indexes == "N/A" { None } else { bits(indexes, 0) }
}

/// Numbers and ranges from this first one on, of 64 at most.
fn bits(list: &str, from: u64) -> Option<u64> {
    let mut bits = 0;
    for piece in list.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last) = (hosts::number(first)?, hosts::number(last)?);
        let (first, last) = (first.checked_sub(from)?, last.checked_sub(from)?);
        if first > last || last >= 64 {
            return None;
        }
        (first..=last).for_each(|bit| bits |= 1 << bit);
    }
    Some(bits)
}
