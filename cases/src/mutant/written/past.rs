//! Who had a job's interfaces before it, and by what evidence nothing is left.
//!
//! What another one owed and nobody vouches for is where both meet. Evidence says when, how and
//! what was read back; words that do not are none. What the job itself left is no secret to it.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::Facts;
use super::files::{is_job, is_name};
use super::{Meaning, Statement, number};

const MEMORIES: [&str; 5] = ["hbm", "sram", "ram", "nvme", "nic"];
const METHODS: [&str; 6] = ["zeros", "ones", "random", "crypto-erase", "reset", "power-cycle"];

pub(super) fn left(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    // By job and interface: whether somebody says who had it, and what others owed.
    let mut known: BTreeSet<(&str, u16)> = BTreeSet::new();
    let mut owed: BTreeMap<(&str, u16), Vec<(&str, &str)>> = BTreeMap::new();
    let mut evidence: BTreeSet<(&str, u16, &str, &str)> = BTreeSet::new();
    for words in said {
        match words.as_slice() {
            ["clean", job, "nics", nics] => {
                known.extend(interfaces(job, nics)?.into_iter().map(|nic| (*job, nic)));
            }
            ["after", job, "nics", nics, by, "owing", owing] => {
                let owing: Vec<&str> = owing.split(',').collect();
                if !is_job(by) || !owing.iter().all(|memory| MEMORIES.contains(memory)) {
                    return None;
                }
                for nic in interfaces(job, nics)? {
                    known.insert((job, nic));
                    let owing = owing.iter().map(|memory| (*by, *memory));
                    owed.entry((job, nic)).or_default().extend(owing.filter(|(by, _)| by != job));
                }
            }
            [
                "scrubbed",
                job,
                "nics",
                nics,
                after,
                memory,
                "by",
                by,
                "at",
                at,
                "method",
                method,
                "read-back",
                how,
            ] => {
                if !is_name(by) || !is_job(after) || !MEMORIES.contains(memory) {
                    return None;
                }
                let nics = interfaces(job, nics)?;
                if METHODS.contains(method) && is_moment(at) && is_digest(how) {
                    evidence.extend(nics.into_iter().map(|nic| (*job, nic, *after, *memory)));
                }
            }
            _ => return None,
        }
    }
    for (job, (share, _)) in &node.jobs {
        for nic in (0..64).filter(|nic| share.nics >> nic & 1 == 1) {
            let job = job.as_str();
            if !known.contains(&(job, nic)) {
                meaning.open.insert(format!("nobody knows who had {nic} of {job}"));
            }
            for (by, memory) in owed.get(&(job, nic)).into_iter().flatten() {
                if !evidence.contains(&(job, nic, by, memory)) {
                    meaning.open.insert(format!("{memory} of {by} behind {nic} of {job}"));
                }
            }
        }
    }
    Some(meaning)
}

fn interfaces(job: &str, list: &str) -> Option<Vec<u16>> {
    let nics: Vec<u16> = list.split(',').map(number).collect::<Option<_>>()?;
    let each: BTreeSet<u16> = nics.iter().copied().collect();
    let is_list = each.len() == nics.len() && each.iter().all(|nic| *nic < 64);
    (is_list && is_job(job)).then_some(nics)
}

/// A moment in UTC that there is: `2026-11-16T09:00:00Z` (RFC 3339).
fn is_moment(word: &str) -> bool {
    let Some((day, time)) = word.strip_suffix('Z').and_then(|word| word.split_once('T')) else {
        return false;
    };
    let (time, part) = time.split_once('.').unwrap_or((time, "0"));
    let numbers = |text: &str, between, lengths: [usize; 3]| -> Option<[u32; 3]> {
        let words: Vec<&str> = text.split(between).collect();
        let is_long = |(word, len): (&&str, usize)| {
            word.len() == len && word.bytes().all(|byte| byte.is_ascii_digit())
        };
        let fits = words.len() == 3 && words.iter().zip(lengths).all(is_long);
        let numbers: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
        <[u32; 3]>::try_from(numbers).ok().filter(|_| fits)
    };
    let (Some([year, month, day]), Some([hour, minute, second])) =
        (numbers(day, '-', [4, 2, 2]), numbers(time, ':', [2, 2, 2]))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_part = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (1..=12).contains(&month)
        && (1..=last).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60
        && is_part
}

fn is_digest(word: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    word.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(is_hex))
}
