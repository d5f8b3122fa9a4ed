//! A sound hall with one hole cut at random into one text of one layer: it is always found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use cases::Chance;
use model::{Artifact, Dialect, JobName, Part};
use plan::{Ledger, Plan};
use read::{Claim, Fact, Reading};
use verify::{Code, Finding, MissingLine, Said, Verifier};

use crate::hall::{document, load};

/// How many cuts are made. Cuts that change nothing of what a text says do not count.
const CUTS: usize = 10_000;

/// How many cuts a world gets.
const CUTS_OF_A_WORLD: usize = 400;

#[test]
fn every_cut_is_found_and_its_line_is_named() {
    let mut made = Made::default();
    let (mut seed, mut unfound) = (0, Vec::new());
    while made.cuts.values().sum::<usize>() < CUTS {
        seed += 1;
        cut_world(seed, &mut made, &mut unfound);
    }
    let count = unfound.len();
    assert_eq!(count, 0, "nobody finds:\n{}", unfound[..count.min(40)].join("\n"));
    // Every dialect of which the hall has lines was cut, and not only once.
    let dialects: Vec<Dialect> =
        made.cuts.iter().filter(|(_, cuts)| **cuts > 20).map(|(d, _)| *d).collect();
    let jobs_write =
        [Dialect::Vfio, Dialect::Versions, Dialect::Amd, Dialect::Nvlink, Dialect::Imex];
    let jobs_write = jobs_write.into_iter().chain([Dialect::Pkey, Dialect::Devices, Dialect::Vm]);
    let expected: Vec<Dialect> = jobs_write.chain([Dialect::Slurm, Dialect::Kubernetes]).collect();
    assert_eq!(dialects, expected, "{made:?}");
    let have_numbers = [Dialect::Nvlink, Dialect::Imex, Dialect::Pkey, Dialect::Devices];
    assert_eq!(made.collisions, BTreeSet::from(have_numbers));
}

/// What was cut.
#[derive(Debug, Default)]
struct Made {
    cuts: BTreeMap<Dialect, usize>,
    /// Where a job got the number of another one.
    collisions: BTreeSet<Dialect>,
}

fn cut_world(seed: u64, made: &mut Made, unfound: &mut Vec<String>) {
    let mut chance = Chance::new(seed);
    let plan = planned(&mut chance);
    let artifacts = render::all(&plan);
    let owners = plan.owners();
    let mut verifier = verify::reading(&plan.fleet, &owners, &artifacts);
    assert_eq!(verifier.judge(), [], "seed {seed} makes a sound world");
    let layers: Vec<&Artifact> =
        artifacts.iter().filter(|artifact| !artifact.dialect.is_network()).collect();
    for _ in 0..CUTS_OF_A_WORLD {
        let artifact = layers[chance.below(layers.len())];
        if let Some(cut) = Cut::at_random(artifact, &plan, &mut chance) {
            unfound.extend(cut.judge(artifact, seed, &mut verifier));
            *made.cuts.entry(artifact.dialect).or_default() += 1;
            made.collisions.extend(cut.collides.then_some(artifact.dialect));
        }
    }
    assert_eq!(verifier.judge(), [], "seed {seed}: every cut was healed");
}

/// One part of an artifact with a hole.
struct Cut {
    part: usize,
    /// Which line of it, from 0.
    line: usize,
    text: String,
    collides: bool,
    /// What was done, for whoever must look at it.
    told: String,
}

impl Cut {
    /// A line is gone, said of another job, has another job's number, or another number somewhere;
    /// unless the text says the same afterwards.
    fn at_random(artifact: &Artifact, plan: &Plan, chance: &mut Chance) -> Option<Self> {
        let part = chance.below(artifact.parts.len());
        let whole = &artifact.parts[part].text;
        let lines: Vec<&str> = whole.lines().collect();
        if lines.is_empty() {
            return None;
        }
        let at = chance.below(lines.len());
        let number = Number::of(artifact.dialect, &artifact.parts[part].part, plan);
        let kind = chance.below(4);
        let other = match kind {
            0 => None,
            1 => Some(of_another_job(lines[at], plan, chance)?),
            2 => Some(number?.of_another_job(lines[at], plan, chance)?),
            _ => {
                // Whoever reads a single line cannot know the number that was meant.
                let free = number.filter(|number| number.count(&lines) == 1);
                Some(with_another_number(lines[at], free.as_ref(), chance)?)
            }
        };
        let new: Vec<&str> = lines[..at]
            .iter()
            .copied()
            .chain(other.as_deref())
            .chain(lines[at + 1..].iter().copied())
            .collect();
        let text = new.join("\n") + "\n";
        let told = format!("{:?} -> {other:?}", lines[at]);
        let before = read::claims(artifact.dialect, whole);
        let after = read::claims(artifact.dialect, &text);
        (said(&before) != said(&after)).then_some(Self {
            part,
            line: at,
            text,
            collides: kind == 2,
            told,
        })
    }

    /// What is told of the cut if nobody finds it.
    fn judge(&self, artifact: &Artifact, seed: u64, verifier: &mut Verifier) -> Option<String> {
        let (device, dialect) = (artifact.device, artifact.dialect);
        let part = &artifact.parts[self.part];
        verifier.take(
            device,
            dialect,
            &part.part,
            Some(read::part(dialect, &part.part, &self.text)),
        );
        let found = verifier.judge();
        verifier.take(
            device,
            dialect,
            &part.part,
            Some(read::part(dialect, &part.part, &part.text)),
        );
        // A thing of Kubernetes or libvirt is a document of many lines: it is named by one of them.
        let is_nested = matches!(dialect, Dialect::Kubernetes | Dialect::Vm);
        let says = |said: &Said| {
            (said.device, said.dialect, &said.part) == (device, dialect, &part.part)
                && (is_nested || said.line as usize == self.line + 1)
        };
        let lacks = |line: &MissingLine| (line.device, line.dialect) == (device, Some(dialect));
        let names = |finding: &Finding| {
            finding.present.iter().any(says) || finding.missing.iter().any(lacks)
        };
        (!found.iter().any(names)).then(|| {
            let codes: Vec<Code> = found.iter().map(Finding::code).collect();
            format!("seed {seed}, {dialect}, {}: {}: {codes:?}", part.part, self.told)
        })
    }
}

/// What a text says, wherever it stands.
fn said(reading: &Reading) -> (Vec<Fact>, Vec<String>) {
    let fact = |claim: &Claim| claim.fact.clone();
    let mut facts: Vec<Fact> = reading.claims.iter().map(fact).collect();
    facts.sort();
    facts.dedup();
    (facts, reading.unknown.iter().map(|unknown| unknown.text.clone()).collect())
}

fn of_another_job(line: &str, plan: &Plan, chance: &mut Chance) -> Option<String> {
    let names: Vec<String> = plan.jobs.keys().map(ToString::to_string).collect();
    let own = names.iter().find(|name| line.contains(name.as_str()))?;
    let other = &names[chance.below(names.len())];
    (own != other).then(|| line.replace(own.as_str(), other))
}

/// A number of a job that nobody looks up in the plan: it has to be the same in all lines of the
/// job and no other job's. So a job's only line may have any number that is free, and that alone is
/// not a hole; another job's number in its place is one.
struct Number {
    dialect: Dialect,
    job: JobName,
    /// How a line says it.
    text: String,
}

impl Number {
    fn of(dialect: Dialect, part: &Part, plan: &Plan) -> Option<Self> {
        let Part::Job(job) = part else { return None };
        let text = Self::text(dialect, job, plan)?;
        Some(Self { dialect, job: job.clone(), text })
    }

    fn text(dialect: Dialect, job: &JobName, plan: &Plan) -> Option<String> {
        let keys = plan.jobs[job].keys;
        match dialect {
            Dialect::Pkey => Some(format!("=0x{:04x} ", keys.pkey?)),
            Dialect::Nvlink => Some(format!("partition {} node ", keys.channel?)),
            Dialect::Imex => Some(format!("channel {} ", keys.channel?)),
            Dialect::Devices => Some(format!("/channel{}", keys.channel?)),
            _ => None,
        }
    }

    fn count(&self, lines: &[&str]) -> usize {
        lines.iter().filter(|line| line.contains(&self.text)).count()
    }

    /// Where the number stands that may be any. The two layers that name a channel must agree.
    fn digits(&self, line: &str) -> Option<Range<usize>> {
        let is_alone = matches!(self.dialect, Dialect::Pkey | Dialect::Nvlink);
        let start = line.find(&self.text).filter(|_| is_alone)?;
        Some(start..start + self.text.len())
    }

    fn of_another_job(&self, line: &str, plan: &Plan, chance: &mut Chance) -> Option<String> {
        let others = plan.jobs.keys().filter(|job| **job != self.job);
        let others = others.filter_map(|job| Self::text(self.dialect, job, plan));
        let others: Vec<String> = others.filter(|text| *text != self.text).collect();
        let other = others.get(chance.below(others.len().max(1)))?;
        line.contains(&self.text).then(|| line.replace(&self.text, other))
    }
}

fn with_another_number(line: &str, free: Option<&Number>, chance: &mut Chance) -> Option<String> {
    let free = free.and_then(|number| number.digits(line)).unwrap_or_default();
    let digits: Vec<usize> = line
        .bytes()
        .enumerate()
        .filter(|(at, byte)| byte.is_ascii_digit() && !free.contains(at))
        .map(|(at, _)| at)
        .collect();
    if digits.is_empty() {
        return None;
    }
    let at = digits[chance.below(digits.len())];
    let digit = (line.as_bytes()[at] - b'0' + 1 + chance.below(9) as u8) % 10;
    Some(format!("{}{digit}{}", &line[..at], &line[at + 1..]))
}

/// The hall with other jobs on it.
fn planned(chance: &mut Chance) -> Plan {
    let tenants = document("work.yaml");
    let tenants: Vec<&str> =
        tenants.split("---\n").filter(|text| text.contains("kind: Tenant")).collect();
    let mut work = tenants.join("---\n");
    for (name, (tenant, endpoints)) in jobs(chance).into_iter().enumerate() {
        work += &format!(
            "---
apiVersion: bulkhead.dev/v1
kind: Job
metadata: {{name: j{name}}}
spec: {{tenant: {tenant}, endpoints: [{endpoints}]}}
"
        );
    }
    let Ok(next) = plan::next(&load(&work), &Ledger::default()) else {
        panic!("the jobs of this world fit:\n{work}");
    };
    let fleet = Arc::clone(&next.plan.fleet);
    Plan { fleet, ..next.plan }
}

/// Boards in halves, pairs or whole; trays together or each for itself.
fn jobs(chance: &mut Chance) -> Vec<(&'static str, String)> {
    const SETS: [&[u16]; 9] = [
        &[0, 1, 2, 3, 4, 5, 6, 7],
        &[0, 1, 2, 3],
        &[4, 5, 6, 7],
        &[0, 2],
        &[1, 3],
        &[4, 6],
        &[5, 7],
        &[0],
        &[7],
    ];
    let mut jobs = Vec::new();
    let mut give = |tenant, node: &str, nics: &[u16]| {
        let nics: Vec<String> = nics.iter().map(|nic| format!("{node}/{nic}")).collect();
        jobs.push((tenant, nics.join(", ")));
    };
    let mut taken = 0_u16;
    for _ in 0..4 {
        let set = SETS[chance.below(SETS.len())];
        let mask = set.iter().fold(0, |mask, nic| mask | 1 << nic);
        if taken & mask == 0 {
            taken |= mask;
            give(["red", "blue"][chance.below(2)], "h1", set);
        }
    }
    give("green", "h2", SETS[chance.below(SETS.len())]);
    if chance.below(2) == 0 {
        give("green/lab", "a1", &[0, 1]);
    }
    if chance.below(2) == 0 {
        give("violet", "t1", &[0, 1, 2, 3]);
        give("violet", "t2", &[0, 1]);
    } else {
        give("violet", "t1", &[0, 1, 2]);
        let last = jobs.len() - 1;
        jobs[last].1 += ", t2/0, t2/3";
    }
    jobs
}
