//! What was found, with the lines that say so.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use control::{Assumption, Passage, ProofResult, ProofVerdict};
use model::{Artifact, DeviceId, Dialect, Fleet, Owners, Timestamp};
use serde::Serialize;
use verify::{Code, Diagnosis, Finding, Owner, Party, Said};

use crate::passage;
use crate::words::{BAD, DIM, GOOD, NOTE, Table, cell, grouped, painted, plural, wrapped};

/// The version of `schema/findings.json`.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// More findings than this are for programs.
const MOST: usize = 40;

/// The texts that lines are quoted from.
pub(crate) struct Texts<'a> {
    fleet: &'a Fleet,
    artifacts: BTreeMap<(DeviceId, Dialect), &'a Artifact>,
}

/// A line of a text.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    device: String,
    dialect: Dialect,
    line: u32,
    text: String,
}

/// A finding for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Found {
    /// Stays the same as long as the same is wrong at the same place.
    id: String,
    code: &'static str,
    severity: &'static str,
    layer: &'static str,
    place: String,
    members: Vec<Member>,
    sentence: String,
    devices: Vec<String>,
    present: Vec<Line>,
    missing: Vec<Missing>,
    remedy: &'static str,
}

/// Who takes part in a finding.
#[derive(Serialize)]
struct Member {
    name: String,
    tenant: Option<String>,
    job: Option<String>,
}

/// A line that is not there.
#[derive(Serialize)]
struct Missing {
    device: String,
    dialect: Option<Dialect>,
    text: String,
}

impl<'a> Texts<'a> {
    /// Quotes from these artifacts.
    pub(crate) fn of(fleet: &'a Fleet, artifacts: &'a [Artifact]) -> Self {
        let keyed = artifacts.iter();
        Self {
            fleet,
            artifacts: keyed
                .map(|artifact| ((artifact.device, artifact.dialect), artifact))
                .collect(),
        }
    }

    /// The lines that say something.
    pub(crate) fn lines(&self, said_by: &[Said]) -> Vec<Line> {
        let quote = |said: &Said| {
            let artifact = self.artifacts.get(&(said.device, said.dialect))?;
            let (line, text) = said.quote(artifact)?;
            Some(Line {
                device: self.fleet.device_name(said.device).to_string(),
                dialect: said.dialect,
                line,
                text: text.trim().to_owned(),
            })
        };
        said_by.iter().filter_map(quote).collect()
    }

    /// Writes the lines below what they say.
    pub(crate) fn write_lines(
        &self,
        out: &mut dyn Write,
        indent: usize,
        said_by: &[Said],
    ) -> io::Result<()> {
        let mut table = Table::new(indent);
        for line in self.lines(said_by) {
            table.push(vec![
                painted(DIM, format!("{} {}:{}", line.device, line.dialect, line.line)),
                cell(line.text),
            ]);
        }
        table.write(out)
    }

    /// Writes the findings, each with its lines.
    pub(crate) fn write_findings(
        &self,
        out: &mut dyn Write,
        findings: &[Finding],
    ) -> io::Result<()> {
        for finding in findings.iter().take(MOST) {
            self.write_finding(out, finding)?;
        }
        if let Some(more) = findings.len().checked_sub(MOST).filter(|&more| more > 0) {
            let more = grouped(more);
            writeln!(out, "{DIM}... and {more} more; `-o json` has all of them{DIM:#}")?;
        }
        Ok(())
    }

    /// Writes one finding, its lines, those that are not there, and what to do.
    pub(crate) fn write_finding(&self, out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
        let style = match finding.diagnosis {
            Diagnosis::Weak(_) => NOTE,
            _ => BAD,
        };
        let (code, sentence) = (finding.code().as_str(), finding.sentence(self.fleet));
        // The code is part of the first line, so the others begin below the sentence.
        let indent = code.len() + 2;
        let sentence = wrapped(&sentence, indent).join("\n");
        writeln!(out, "{style}{code}{style:#}  {}", sentence.trim_start())?;
        self.write_lines(out, 2, &finding.present)?;
        for line in &finding.missing {
            writeln!(out, "  {NOTE}{}{NOTE:#}", line.show(self.fleet))?;
        }
        let (severity, remedy) = (finding.severity(), finding.remedy());
        writeln!(out, "  {DIM}{severity}: {remedy}{DIM:#}")
    }

    /// The findings for programs.
    pub(crate) fn found(&self, findings: &[Finding]) -> Vec<Found> {
        findings.iter().map(|finding| self.found_one(finding)).collect()
    }

    fn found_one(&self, finding: &Finding) -> Found {
        let name = |device: DeviceId| self.fleet.device_name(device).to_string();
        let missing = finding.missing.iter().map(|line| Missing {
            device: name(line.device),
            dialect: line.dialect,
            text: line.text.clone(),
        });
        Found {
            id: finding.id(self.fleet),
            code: finding.code().as_str(),
            severity: finding.severity().as_str(),
            layer: finding.layer(),
            place: finding.place(self.fleet),
            members: finding.members(self.fleet).into_iter().map(Member::from).collect(),
            sentence: finding.sentence(self.fleet),
            devices: finding.devices().into_iter().map(name).collect(),
            present: self.lines(&finding.present),
            missing: missing.collect(),
            remedy: finding.remedy(),
        }
    }
}

impl From<Party> for Member {
    fn from(Party { name, owner }: Party) -> Self {
        let (tenant, job) = match owner {
            Owner::Job(job) => (Some(job.tenant.to_string()), Some(job.to_string())),
            Owner::Tenant(tenant) => (Some(tenant.to_string()), None),
            Owner::Nobody => (None, None),
        };
        Self { name, tenant, job }
    }
}

/// What is taken for granted, or what nothing judged keeps closed, each with its code.
pub(crate) fn write_assumptions(assumptions: &[Assumption], out: &mut dyn Write) -> io::Result<()> {
    for Assumption { code, sentence } in assumptions {
        let text = wrapped(&format!("{code}: {sentence}"), 2).join("\n");
        let text = text.trim_start().strip_prefix(code).unwrap_or(&text);
        writeln!(out, "  {NOTE}{code}{NOTE:#}{text}")?;
    }
    Ok(())
}

/// How much was judged.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Extent {
    tenants: usize,
    jobs: usize,
    endpoints: usize,
    devices: usize,
    consents: usize,
}

impl Extent {
    /// On how many devices.
    pub(crate) const fn devices(&self) -> usize {
        self.devices
    }

    /// What these owners have on the devices of these artifacts.
    pub(crate) fn of(owners: &Owners, artifacts: &[Artifact]) -> Self {
        let jobs: BTreeSet<_> = owners.ports.values().collect();
        let tenants: BTreeSet<_> = jobs.iter().map(|job| &job.tenant).collect();
        let devices: BTreeSet<_> = artifacts.iter().map(|artifact| artifact.device).collect();
        Self {
            tenants: tenants.len(),
            jobs: jobs.len(),
            endpoints: owners.ports.len(),
            devices: devices.len(),
            consents: owners.consents.len(),
        }
    }

    /// The verdict in one sentence, and where it does not hold.
    pub(crate) fn write_verdict(
        &self,
        out: &mut dyn Write,
        findings: &[Finding],
        verdict: &ProofVerdict,
    ) -> io::Result<()> {
        if findings.is_empty() {
            return self.write_proved(out, verdict);
        }
        let count = |is: fn(&Finding) -> bool| findings.iter().filter(|one| is(one)).count();
        let breaches = count(|finding| finding.code() == Code::Breach);
        let severed = count(|finding| finding.code() == Code::Severed);
        let disagreements = count(|finding| finding.code() == Code::Disagree);
        let weak = count(|finding| matches!(finding.diagnosis, Diagnosis::Weak(_)));
        let counts: Vec<String> = [
            (breaches, "breach"),
            (severed, "severed pair"),
            (disagreements, "disagreement"),
            (weak, "weakness"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, thing)| plural(count, thing))
        .collect();
        writeln!(out, "{BAD}Not proved{BAD:#}: {}.", counts.join(", "))
    }

    /// The same of what devices hold: whether anybody can meet anybody there is a part of it.
    pub(crate) fn write_verdict_held(
        &self,
        out: &mut dyn Write,
        findings: &[Finding],
        verdict: &ProofVerdict,
        passage: &Passage,
        now: Timestamp,
    ) -> io::Result<()> {
        passage::write_silent(passage, out)?;
        if !findings.is_empty() {
            self.write_verdict(out, findings, verdict)?;
        } else if !passage.silent.is_empty() {
            let silent = plural(passage.silent.len(), "device");
            writeln!(
                out,
                "{BAD}Not known{BAD:#}: {silent} may hold anything. No two owners can meet by what \
                 the others hold."
            )?;
        } else if let Some(closed) = passage::closed(passage, now) {
            writeln!(out, "{NOTE}Proved apart{NOTE:#}: {}, and {closed}.", self.counted())?;
            return passage::write_remedy(out);
        } else {
            self.write_proved(out, verdict)?;
        }
        passage::write_closed(passage, now, out)
    }

    fn write_proved(&self, out: &mut dyn Write, verdict: &ProofVerdict) -> io::Result<()> {
        let without = if self.consents > 0 { " without consent" } else { "" };
        let (counted, judged) = (self.counted(), verdict.judged());
        let (style, result, end) = match verdict.result {
            ProofResult::Proved => (GOOD, "Proved", "."),
            _ => (NOTE, "Proved except", ", except:"),
        };
        let apart = format!("no two owners can meet{without}{end}");
        let text = format!("{result} ({judged}): {counted}; {apart}");
        let text = wrapped(&text, 2).join("\n");
        let text = text.trim_start().strip_prefix(result).unwrap_or(&text);
        writeln!(out, "{style}{result}{style:#}{text}")?;
        write_assumptions(&verdict.except, out)
    }

    fn counted(&self) -> String {
        format!(
            "{} of {} of {} on {}",
            plural(self.endpoints, "endpoint"),
            plural(self.jobs, "job"),
            plural(self.tenants, "tenant"),
            plural(self.devices, "device"),
        )
    }
}
