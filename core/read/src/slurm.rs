//! Slurm's files, each line below the name of the file it stands in, and what `scontrol` prints on
//! one line: `show reservation -o`, `show job -d -o`.

mod hosts;
mod jobs;
mod known;
mod nodes;
mod text;

use std::collections::BTreeMap;

use model::JobName;
use smol_str::SmolStr;

use crate::hold::SlurmFact;
use crate::lines::lines;
use crate::values::Why;
use crate::{Claim, Fact, Hold, Reading, Unknown};
pub(crate) use known::DESCRIPTION;
use known::{canonical, listed, passes};
use text::{Logical, settings, truth};

const NOT_WRITTEN: Why = "no line of this file that keeps tenants apart is written so";
const NOT_NODES: Why = "nodes are named one by one, or as a range such as gpu[1-4,7]";
const NOT_FILES: Why = "GPUs are device files such as /dev/nvidia[0-7]";

/// What a line stands in.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum File {
    Slurm,
    Gres,
    Topology,
    Blocks,
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
            "topology.conf" => Self::Topology,
            "topology-block.conf" => Self::Blocks,
            "cgroup.conf" => Self::Cgroup,
            "reservations" => Self::Reservations,
            "jobs" => Self::Jobs,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Slurm => "slurm.conf",
            Self::Gres => "gres.conf",
            Self::Topology => "topology.conf",
            Self::Blocks => "topology-block.conf",
            Self::Cgroup => "cgroup.conf",
            Self::Reservations => "reservations",
            Self::Jobs => "jobs",
        }
    }

    /// Whether Slurm's parser reads it, and not only people.
    const fn is_parsed(self) -> bool {
        !matches!(self, Self::Reservations | Self::Jobs)
    }
}

/// One line, or several that are one, in its file; a comment has none.
struct Entry<'a> {
    file: Option<File>,
    logical: Logical<'a>,
    is_comment: bool,
}

impl Entry<'_> {
    /// The key and the value of a line that sets one thing for all of Slurm.
    fn setting(&self) -> Option<(File, &'static str, &str)> {
        let file = self.file.filter(|file| matches!(file, File::Slurm | File::Cgroup))?;
        let text = self.logical.text.as_deref().ok().filter(|_| !self.is_comment)?;
        let settings = settings(text).ok()?;
        let [(key, value)] = settings.as_slice() else { return None };
        let key = canonical(key).filter(|key| !matches!(*key, "NodeName" | "PartitionName"))?;
        Some((file, key, value))
    }
}

/// Every line, with those that backslashes join to it.
fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut file = None;
    let mut rest = lines(text).filter(|line| !line.text.is_empty() || line.indent > 0);
    let mut all = Vec::new();
    while let Some(line) = rest.next() {
        if line.text.is_empty() {
            continue;
        }
        let is_comment = line.text.starts_with('#');
        if is_comment {
            file = File::named(line.text).or(file);
        }
        let is_parsed = !is_comment && file.is_none_or(File::is_parsed);
        let logical = if is_parsed { Logical::gather(line, &mut rest) } else { Logical::of(line) };
        all.push(Entry { file, logical, is_comment });
    }
    all
}

/// Which entry counts for each key that is set once for all of Slurm: the last one.
fn counting(entries: &[Entry<'_>]) -> BTreeMap<(File, &'static str), usize> {
    let settings = entries.iter().enumerate();
    let settings = settings.filter_map(|(at, entry)| Some((entry.setting()?, at)));
    settings.map(|((file, key, _), at)| ((file, key), at)).collect()
}

/// What Slurm is left with of a text: each setting that counts, on a line of its own, and each word
/// of a list, with those that it implies.
pub(crate) fn as_read(text: &str) -> String {
    let entries = entries(text);
    let mut out = String::new();
    for ((file, key), at) in counting(&entries) {
        let Some((.., value)) = entries[at].setting() else { continue };
        let words = match listed(key, value) {
            Some(words) => implied(key, words.unwrap_or_default()),
            None => vec![match truth(value) {
                Some(true) => "yes".to_owned(),
                Some(false) | None => value.to_owned(),
            }],
        };
        for word in words {
            out += &format!("# {}\n{key}={word}\n", file.name());
        }
    }
    let gres = entries.iter().filter(|entry| entry.file == Some(File::Gres));
    for text in gres.filter_map(|entry| entry.logical.text.as_deref().ok()) {
        if let Ok([(key, value)]) = settings(text).as_deref()
            && key.eq_ignore_ascii_case("AutoDetect")
        {
            let value = value.to_ascii_lowercase();
            out += &format!("# gres.conf\nAutoDetect={value}\n");
        }
    }
    out
}

/// What some words of a list say besides themselves.
fn implied(key: &str, mut words: Vec<String>) -> Vec<String> {
    let has =
        |words: &[String], any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    match key {
        "PrologFlags" if has(&words, &["Contain"]) => words.push("Alloc".into()),
        "AccountingStorageEnforce" => {
            if has(&words, &["safe", "all"]) {
                words.push("limits".into());
            }
            if has(&words, &["limits", "qos", "wckeys"]) {
                words.push("associations".into());
            }
        }
        "TaskPlugin" if has(&words, &["cgroup"]) => words.push("task/cgroup".into()),
        _ => {}
    }
    words
}

fn read(text: &str) -> Reading {
    let entries = entries(text);
    let counting = counting(&entries);
    let reading = Reading::with_room_for(text);
    let mut reader = Reader { reading, fences: Fences::default(), addresses: BTreeMap::new() };
    for (at, entry) in entries.iter().enumerate() {
        let Logical { number, joined, shown, .. } = entry.logical;
        let setting = entry.setting();
        // Each controller counts: those behind the first are there for when it fails.
        let is_last = setting.is_none_or(|(file, key, _)| {
            key == "SlurmctldHost" || counting.get(&(file, key)) == Some(&at)
        });
        if entry.is_comment || !is_last {
            reader.reading.ignored.push(number);
        } else if let Err(why) = reader.entry(entry) {
            reader.reading.unknown.push(Unknown { line: number, text: shown.into(), why });
        }
        reader.reading.ignored.extend(number + 1..=number + joined);
    }
    reader.fences.claim(&mut reader.reading);
    reader.reading
}

struct Reader {
    reading: Reading,
    fences: Fences,
    /// Which line said first that a node is at this address.
    addresses: BTreeMap<SmolStr, u32>,
}

impl Reader {
    fn entry(&mut self, entry: &Entry<'_>) -> Result<(), Why> {
        let Some(file) = entry.file else {
            return Err("say which file this is with a line such as # slurm.conf");
        };
        let number = entry.logical.number;
        let text = entry.logical.text.as_deref().map_err(|why| *why)?;
        if !file.is_parsed() {
            return match file {
                File::Jobs => self.job(number, text),
                _ => self.reservation(number, text),
            };
        }
        let first = text.split([' ', '\t']).next().unwrap_or_default();
        if first.eq_ignore_ascii_case("include") {
            return Err("what another file says, nobody reads here");
        }
        let settings = settings(text)?;
        match file {
            File::Gres => self.gres(number, &settings),
            File::Topology => self.topology(number, "switchname", &settings),
            File::Blocks => self.topology(number, "blockname", &settings),
            _ => self.set(number, file, &settings),
        }
    }

    fn claim(&mut self, line: u32, hold: Hold) {
        self.reading.claims.push(Claim { line, fact: Fact::Holds(hold) });
    }

    fn fact(&mut self, line: u32, fact: SlurmFact, value: &str) {
        self.claim(line, Hold::SlurmSays { fact, value: value.into() });
    }

    /// A line of slurm.conf or cgroup.conf.
    fn set(&mut self, line: u32, file: File, settings: &[(&str, &str)]) -> Result<(), Why> {
        let (key, value) = *settings.first().ok_or(NOT_WRITTEN)?;
        let key = canonical(key).ok_or(NOT_WRITTEN)?;
        match (file, key) {
            (File::Slurm, "NodeName") => return self.node(line, settings),
            (File::Slurm, "PartitionName") => return self.partition(line, settings),
            _ => {}
        }
        if settings.len() > 1 {
            return Err("a line of this file sets one key");
        }
        match (file, key) {
            (File::Slurm, "SlurmctldHost") => self.fact(line, SlurmFact::Controller, value),
            (File::Slurm, "AccountingStorageHost") => self.fact(line, SlurmFact::Accounts, value),
            (File::Slurm, "ClusterName") => self.fact(line, SlurmFact::Cluster, value),
            (File::Slurm, "MCSPlugin") => {
                self.fences.labels_by_account = value == "mcs/account";
                self.fences.open_labels.extend((value != "mcs/account").then_some(line));
            }
            (File::Cgroup, "ConstrainDevices") => {
                self.fences.devices = Some((line, truth(value) == Some(true)));
            }
            (File::Slurm, _) if let Some(words) = listed(key, value) => {
                return self.list(line, key, words);
            }
            _ if passes(file.name(), key, value) => self.reading.ignored.push(line),
            _ => return Err(NOT_WRITTEN),
        }
        Ok(())
    }

    /// A list whose words are all known, or not.
    fn list(&mut self, line: u32, key: &str, words: Option<Vec<String>>) -> Result<(), Why> {
        let words = words.map(|words| implied(key, words));
        let has = |word: &str| words.iter().flatten().any(|known| known == word);
        let fences = &mut self.fences;
        match key {
            "MCSParameters" => {
                fences.labels = Some((line, has("enforced") && has("select")));
            }
            "AccountingStorageEnforce" => {
                fences.known_accounts = has("associations");
                fences.open_labels.extend((!fences.known_accounts).then_some(line));
            }
            "TaskPlugin" => {
                fences.tasks_in_cgroups = has("task/cgroup");
                fences.open_devices = (!fences.tasks_in_cgroups).then_some(line);
            }
            "PrologFlags" if !has("Contain") => {
                return Err("the fence must stand before the job starts: Alloc,Contain");
            }
            _ if words.is_none() => return Err("a word of this list is not known to be harmless"),
            _ => self.reading.ignored.push(line),
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
    /// Lines that alone take either fence down.
    open_devices: Option<u32>,
    open_labels: Vec<u32>,
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
        let open = self.open_labels.iter().map(|line| (*line, Hold::KeepsLabelsApart(false)));
        let open = open.chain(self.open_devices.map(|line| (line, Hold::ConstrainsDevices(false))));
        for (line, hold) in labels.into_iter().chain(devices).chain(open) {
            let at = reading.claims.partition_point(|claim| claim.line <= line);
            reading.claims.insert(at, Claim { line, fact: Fact::Holds(hold) });
        }
    }
}

/// `acme.research.train`: names have no dots.
fn job(path: &str) -> Option<JobName> {
    path.replace('.', "/").parse().ok()
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
