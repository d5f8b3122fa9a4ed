//! Nodes, partitions, GPUs and topology.

use smol_str::SmolStr;

use super::hosts::{hosts, number};
use super::text::{once, truth};
use super::{NOT_FILES, NOT_NODES, NOT_WRITTEN, Reader, minors};
use crate::Hold;
use crate::hold::SlurmFact;
use crate::pattern;
use crate::values::Why;

/// What a line sets, in order.
type Settings<'a> = [(&'a str, &'a str)];

impl Reader {
    /// A line that begins with `NodeName`.
    pub(super) fn node(&mut self, line: u32, settings: &Settings<'_>) -> Result<(), Why> {
        once(settings)?;
        let (_, named) = *settings.first().ok_or(NOT_WRITTEN)?;
        let is_default = named.eq_ignore_ascii_case("default");
        let nodes = if is_default { Vec::new() } else { hosts(named).ok_or(NOT_NODES)? };
        let (mut gpus, mut address) = (None, None);
        for (key, value) in &settings[1..] {
            match key.to_ascii_lowercase().as_str() {
                "gres" if !is_default => {
                    let given = value.strip_prefix("gpu:").ok_or("nodes have GPUs alone")?;
                    gpus = Some(given);
                }
                "nodehostname" if *value != named => {
                    return Err("a node that runs on the host of another is taken for that one");
                }
                "nodeaddr" if !is_default => address = Some(*value),
                "state" if !value.eq_ignore_ascii_case("unknown") => {
                    return Err("Slurm finds out by itself whether a node is there");
                }
                "nodehostname" | "state" => {}
                "boards" | "cpus" | "corespersocket" | "realmemory" | "sockets"
                | "socketsperboard" | "threadspercore"
                    if number(value).is_some_and(|number| number > 0) => {}
                "memspeclimit" | "tmpdisk" | "weight" if number(value).is_some() => {}
                "feature" | "features" if is_one("<names>", value) => {}
                "port" if is_one("<port>", value) => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        if is_default {
            self.reading.ignored.push(line);
            return Ok(());
        }
        if let Some(address) = address.filter(|address| *address != named) {
            if nodes.len() > 1 {
                return Err("nodes have addresses of their own, each on its own line");
            }
            self.address(line, address)?;
        }
        for node in nodes {
            if let Some(gpus) = gpus {
                self.fact(line, SlurmFact::Gpus(node.clone()), gpus);
            }
            if let Some(address) = address.filter(|address| *address != named) {
                self.fact(line, SlurmFact::Address(node), address);
            }
        }
        Ok(())
    }

    /// Two nodes at one address are one.
    fn address(&mut self, line: u32, address: &str) -> Result<(), Why> {
        if let Some(before) = self.addresses.insert(address.into(), line)
            && before != line
        {
            return Err("another node has this address");
        }
        Ok(())
    }

    /// A line that begins with `PartitionName`.
    pub(super) fn partition(&mut self, line: u32, settings: &Settings<'_>) -> Result<(), Why> {
        once(settings)?;
        let (_, named) = *settings.first().ok_or(NOT_WRITTEN)?;
        let is_default = named.eq_ignore_ascii_case("default");
        let (mut nodes, mut accounts, mut exclusive) = (Vec::new(), Vec::new(), false);
        for (key, value) in &settings[1..] {
            match key.to_ascii_lowercase().as_str() {
                "nodes" if !is_default => nodes = hosts(value).ok_or(NOT_NODES)?,
                "allowaccounts" if !is_default => {
                    if !value.eq_ignore_ascii_case("all") {
                        accounts = value.split(',').map(SmolStr::from).collect();
                    }
                }
                "exclusiveuser" => exclusive |= truth(value).ok_or(NOT_WRITTEN)?,
                "oversubscribe" | "shared" => match value.to_ascii_uppercase().as_str() {
                    "NO" => {}
                    "EXCLUSIVE" => exclusive = true,
                    _ => return Err("processors and GPUs are never given out twice"),
                },
                "maxtime" | "defaulttime" => time(key, value)?,
                key => harmless(key, value)?,
            }
        }
        if is_default {
            self.reading.ignored.push(line);
            return Ok(());
        }
        if nodes.is_empty() {
            return Err("a partition names its nodes");
        }
        accounts.sort();
        let partition = named.into();
        self.claim(line, Hold::Partition { partition, nodes, accounts, exclusive });
        Ok(())
    }

    /// A line of gres.conf.
    pub(super) fn gres(&mut self, line: u32, settings: &Settings<'_>) -> Result<(), Why> {
        once(settings)?;
        if let [(key, value)] = settings
            && key.eq_ignore_ascii_case("autodetect")
        {
            let is_off = value.eq_ignore_ascii_case("off");
            self.reading.ignored.extend(is_off.then_some(line));
            return if is_off { Ok(()) } else { Err("GPUs are those that are named") };
        }
        let (mut nodes, mut given, mut product, mut count) = (Vec::new(), 0, None, None);
        let mut are_gpus = false;
        for (key, value) in settings {
            match (key.to_ascii_lowercase().as_str(), *value) {
                ("nodename", named) => nodes = hosts(named).ok_or(NOT_NODES)?,
                ("name", "gpu") => are_gpus = true,
                ("name", _) => return Err("what else is given out than GPUs, nobody judges"),
                ("file", files) => given = minors(files).ok_or(NOT_FILES)?,
                ("count", number) => count = Some(super::hosts::number(number).ok_or(NOT_WRITTEN)?),
                ("type", value) => product = Some(value),
                ("cores" | "links", list) if is_one("<list>", list) => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        if nodes.is_empty() || !are_gpus {
            return Err("a line names its nodes and their GPUs, or it is for all of them");
        }
        if count.is_some_and(|count| count != u64::from(given.count_ones())) {
            return Err("a line counts as many GPUs as it has files");
        }
        for node in nodes {
            if let Some(product) = product {
                self.fact(line, SlurmFact::Product(node.clone()), product);
            }
            self.claim(line, Hold::Schedulable { node, minors: given });
        }
        Ok(())
    }

    /// A line of topology.conf or topology-block.conf, whose places are of one kind.
    pub(super) fn topology(
        &mut self,
        line: u32,
        named: &str,
        settings: &Settings<'_>,
    ) -> Result<(), Why> {
        once(settings)?;
        let (mut place, mut nodes, mut below) = (None, Vec::new(), None);
        let mut is_sizes = false;
        for (key, value) in settings {
            match key.to_ascii_lowercase().as_str() {
                key if key == named => place = Some(SmolStr::from(*value)),
                "nodes" => nodes = hosts(value).ok_or(NOT_NODES)?,
                "switches" => {
                    below = Some(hosts(value).ok_or("switches are named as nodes are")?);
                }
                "blocksizes" if is_one("<list>", value) => is_sizes = true,
                "linkspeed" if number(value).is_some() => {}
                _ => return Err(NOT_WRITTEN),
            }
        }
        match (place, below) {
            (Some(place), None) if !nodes.is_empty() => {
                self.claim(line, Hold::Together { place, nodes });
            }
            (Some(place), Some(below)) if nodes.is_empty() => {
                for lower in below {
                    self.fact(line, SlurmFact::Above(lower), &place);
                }
            }
            (None, None) if is_sizes && nodes.is_empty() => self.reading.ignored.push(line),
            _ => return Err(NOT_WRITTEN),
        }
        Ok(())
    }
}

/// What a partition may say besides, in the words in which it is printed.
fn harmless(key: &str, value: &str) -> Result<(), Why> {
    /// By key in small letters: what its value may be.
    const KNOWN: &[(&str, &str)] = &[
        ("allocnodes", "ALL"),
        ("allowgroups", "ALL"),
        ("allowqos", "ALL"),
        ("default", "(YES|NO)"),
        ("defmempercpu", "<many>"),
        ("defmempernode", "(UNLIMITED|0)"),
        ("disablerootjobs", "(YES|NO)"),
        ("gracetime", "0"),
        ("hidden", "(YES|NO)"),
        ("lln", "(YES|NO)"),
        ("maxcpuspernode", "UNLIMITED"),
        ("maxmempernode", "(UNLIMITED|0)"),
        ("maxnodes", "UNLIMITED"),
        ("minnodes", "(0|1)"),
        ("overtimelimit", "(NONE|0)"),
        ("preemptmode", "OFF"),
        ("priorityjobfactor", "<number>"),
        ("prioritytier", "<number>"),
        ("reqresv", "NO"),
        ("rootonly", "NO"),
        ("tresbillingweights", "<word>"),
    ];
    if key == "state" {
        let is_up = value.eq_ignore_ascii_case("up");
        return if is_up { Ok(()) } else { Err("a partition that is not up runs nothing") };
    }
    let known = KNOWN.iter().find(|(known, _)| *known == key);
    let (_, class) = known.ok_or(NOT_WRITTEN)?;
    let is_known = is_one(class, value) || is_one(class, &value.to_ascii_uppercase());
    if is_known { Ok(()) } else { Err(NOT_WRITTEN) }
}

/// How long a job may run. The default is what a job gets that asks for nothing; the most is a day
/// or longer, or planned work is cut short.
fn time(key: &str, value: &str) -> Result<(), Why> {
    const DAY_MIN: u64 = 1440;
    let value = value.to_ascii_uppercase();
    if matches!(value.as_str(), "INFINITE" | "UNLIMITED" | "NONE") {
        return Ok(());
    }
    let days = |days: &str| number(days).map(|days| days * DAY_MIN);
    let (whole, clock) = value.split_once('-').unwrap_or(("0", &value));
    let parts: Option<Vec<u64>> = clock.split(':').map(number).collect();
    let parts = parts.filter(|parts| parts.len() <= 3 && whole.len() <= 6 && clock.len() <= 12);
    let parts = parts.ok_or("a time is written 1-00:00:00, or INFINITE")?;
    let clock_min = match (value.contains('-'), parts.as_slice()) {
        (true, [hours, ..]) | (false, [hours, _, _]) => hours * 60,
        (_, [minutes, ..]) => *minutes,
        _ => 0,
    };
    let all_min = days(whole).ok_or(NOT_WRITTEN)? + clock_min;
    if all_min >= DAY_MIN || (key.eq_ignore_ascii_case("defaulttime") && all_min > 0) {
        return Ok(());
    }
    Err("work of less than a day would be all that is let run")
}

/// Whether a value is one of a class.
fn is_one(class: &str, value: &str) -> bool {
    match class {
        "<names>" => value.split(',').all(|name| pattern::matches("<name>", name)),
        "<list>" => {
            let is_listed = |byte: u8| byte.is_ascii_digit() || b",-".contains(&byte);
            !value.is_empty() && value.bytes().all(is_listed)
        }
        _ => pattern::matches(class, value),
    }
}
