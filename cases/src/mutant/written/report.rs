//! Who vouches for confidential machines.
//!
//! A machine whose tenant demands reports has a young one, and all about it say what the tenant
//! expects: another launch is a machine that somebody else built. A report about a machine of a job
//! that is not here says that one runs where nobody planned it. Who vouches, and the time beside the
//! age, are for people.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::files::{is_job, is_name};
use super::{Meaning, Statement};

pub(super) fn vouched(facts: &Facts, said: &BTreeSet<Statement<'_>>) -> Option<Meaning> {
    let node = facts.node.as_ref()?;
    let mut meaning = Meaning::default();
    let mut ages: Vec<(&str, u64)> = Vec::new();
    for words in said {
        let [
            "report",
            job,
            "on",
            on,
            technology,
            "measurement",
            measured,
            "by",
            by,
            "at",
            _,
            "age",
            age,
        ] = *words.as_slice()
        else {
            return None;
        };
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_measurement = measured.len() == 96 && measured.bytes().all(is_hex);
        let is_age =
            age.bytes().all(|byte| byte.is_ascii_digit()) && (age == "0" || !age.starts_with('0'));
        if !is_job(job)
            || !is_name(by)
            || !matches!(technology, "sev-snp" | "tdx")
            || !is_measurement
            || !is_age
        {
            return None;
        }
        let age: u64 = age.parse().ok()?;
        let here = node.jobs.get(job).filter(|_| node.is_in_machine(job) && on == node.name);
        let Some((_, trust)) = here else {
            // Of a job or a node that nobody knows there is no machine.
            if facts.jobs.contains(job) && facts.nodes.contains_key(on) {
                meaning.open.insert(format!("a machine of {job} on {on}"));
            }
            continue;
        };
        let Some(demand) = &trust.attestation else { continue };
        let is_expected = demand.measurement.is_none_or(|one| one.to_string() == measured);
        let is_asked = trust.confidential.is_some_and(|one| one.to_string() == technology);
        if !is_expected || !is_asked {
            meaning.open.insert(format!("the machine of {job} is {technology} {measured}"));
        }
        ages.push((job, age));
    }
    for (job, (_, trust)) in node.jobs.iter().filter(|(job, _)| node.is_in_machine(job)) {
        let Some(demand) = &trust.attestation else { continue };
        let youngest = ages.iter().filter(|(of, _)| of == job).map(|(_, age)| *age).min();
        if youngest.is_none_or(|age| age > u64::from(demand.max_age_s)) {
            meaning.open.insert(format!("nobody vouches for {job}"));
        }
    }
    Some(meaning)
}
