//! What a node runs, and whether it booted securely.
//!
//! A version below the one that the fleet says, or that a tenant demands, has holes that were
//! closed: a fence is down. So it is where the boot was not secure. Any other version than the
//! fleet says is not what somebody was given.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::facts::Facts;
use super::{Meaning, Statement};

pub(super) fn versions(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    let planned = |component: &str| match component {
        "driver" => node.versions.driver.as_str(),
        "kernel" => node.versions.kernel.as_str(),
        "firmware" => node.versions.firmware.as_str(),
        _ => node.versions.toolkit.as_str(),
    };
    for words in said {
        match words.as_slice() {
            ["secure-boot", "yes"] => drop(meaning.given.insert("a secure boot".into())),
            ["secure-boot", "no"] => drop(meaning.open.insert("no secure boot".into())),
            [component @ ("driver" | "kernel" | "firmware" | "toolkit"), version @ ..] => {
                if version.is_empty() {
                    return None;
                }
                let version = version.join(" ");
                let demands = node.jobs.values().map(|(_, trust)| &trust.versions.at_least);
                let demands = demands.filter_map(|least| least.get(*component));
                let mut least = demands.map(|least| least.as_str()).chain([planned(component)]);
                if least.any(|least| compare(&version, least).is_lt()) {
                    meaning.open.insert(format!("{component} {version} is old"));
                }
            }
            _ => return None,
        }
    }
    for component in ["driver", "kernel", "firmware", "toolkit"] {
        let held = said.iter().filter(|words| words[0] == component);
        let held: Vec<String> = held.map(|words| words[1..].join(" ")).collect();
        // A node runs one version of each.
        meaning.is_refused |= held.len() > 1;
        if held == [planned(component)] {
            meaning.given.insert(format!("{component} as the fleet says"));
        }
    }
    Some(meaning)
}

/// Numbers by their value, all else by its letters, one after the other.
fn compare(one: &str, other: &str) -> Ordering {
    let parts = |version: &str| -> Vec<String> {
        version.split(['.', '-', '_', '+', ' ', '~']).map(str::to_owned).collect()
    };
    for (one, other) in parts(one).iter().zip(&parts(other)) {
        let ordering = match (one.parse::<u64>(), other.parse::<u64>()) {
            (Ok(one), Ok(other)) => one.cmp(&other),
            _ => one.cmp(other),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    parts(one).len().cmp(&parts(other).len())
}
