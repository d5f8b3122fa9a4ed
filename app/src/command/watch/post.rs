//! Keeps what the agents tell, judges it, and says what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use agent::{Differing, Event, Holding, News};
use apply::{Gate, OnDrift};
use control::Draft;
use model::{
    Artifact, DeviceId, Dialect, Fleet, Generation, JobName, Name, Part, PartText, Timestamp,
};
use next::State;
use plan::Plan;
use serde::Serialize;
use store::Revision;
use verify::{Finding, Verifier};

use super::concern::{self, Concern};
use super::stranger::{Mark, Strangers};
use super::summary;
use crate::evidence::{Found, Texts};
use crate::words::{BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, painted, plural, some};

/// What is known about the devices, and what was told.
pub(super) struct Post {
    /// The last that was planned when this plan was read.
    generation: Generation,
    plan: Plan,
    fleet: Arc<Fleet>,
    format: Format,
    devices: BTreeMap<Name, DeviceId>,
    silent: BTreeSet<Name>,
    verifier: Verifier,
    /// What each agent said that its device holds.
    held: BTreeMap<Name, Holding>,
    artifacts: BTreeMap<(DeviceId, Dialect), Artifact>,
    findings: BTreeSet<Finding>,
    strangers: Strangers,
    told: usize,
}

/// One thing, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
enum View<'a> {
    Heartbeat {
        at: Timestamp,
        revision: Revision,
        generation: Generation,
        findings: usize,
        silent: usize,
    },
    Finding {
        finding: &'a Found,
    },
    Resolved {
        findings: usize,
    },
    Drift {
        device: &'a Name,
        on_drift: &'static str,
        lines: Vec<LineView<'a>>,
    },
    Mended {
        device: &'a Name,
        by_agent: bool,
        left: usize,
        trouble: Option<&'a str>,
    },
    Stranger {
        device: &'a Name,
        reason: &'a str,
        frames: u64,
        jobs: Vec<&'a JobName>,
    },
    Gate {
        device: &'a Name,
        gate: Gate,
    },
    Blind {
        device: &'a Name,
        why: &'a str,
    },
    WentBack {
        device: &'a Name,
        from: u64,
        to: Option<u64>,
        trouble: Option<&'a str>,
    },
    Gone {
        device: &'a Name,
        why: String,
    },
    Back {
        device: &'a Name,
    },
}

#[derive(Serialize)]
struct LineView<'a> {
    #[serde(flatten)]
    differing: &'a Differing,
    #[serde(flatten)]
    concern: Concern,
}

impl Post {
    pub(super) fn new<'b>(
        draft: Draft,
        format: Format,
        agents: impl Iterator<Item = &'b Name>,
    ) -> Self {
        let generation = draft.ledger().generation();
        let plan = draft.next.plan;
        let fleet = draft.intent.fleet;
        Self {
            generation,
            devices: named(&fleet),
            silent: agents.cloned().collect(),
            verifier: Verifier::new(Arc::clone(&fleet), &plan.owners()),
            plan,
            fleet,
            format,
            held: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            findings: BTreeSet::new(),
            strangers: Strangers::default(),
            told: 0,
        }
    }

    /// Whether the log says another plan than the one that is judged by.
    pub(super) fn is_behind(&self, state: &State) -> bool {
        state.ledger().generation() > self.generation
    }

    /// Judges by this plan from now on.
    pub(super) fn follow(&mut self, draft: Draft) {
        self.generation = draft.ledger().generation();
        self.plan = draft.next.plan;
        self.fleet = draft.intent.fleet;
        self.devices = named(&self.fleet);
        self.verifier = Verifier::new(Arc::clone(&self.fleet), &self.plan.owners());
        self.artifacts.clear();
        for (name, holding) in self.held.clone() {
            self.hold(&name, holding);
        }
    }

    /// Programs hear that the watch goes on, and how it stands.
    pub(super) fn beat(
        &self,
        revision: Revision,
        at: Timestamp,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.format == Format::Text {
            return Ok(());
        }
        let (findings, silent) = (self.findings.len(), self.silent.len());
        let generation = self.generation;
        line(out, &View::Heartbeat { at, revision, generation, findings, silent })
    }

    /// Whether every agent was heard, or does not answer and was named.
    pub(super) fn heard_all(&self) -> bool {
        self.silent.is_empty()
    }

    pub(super) const fn has_found(&self) -> bool {
        self.told > 0
    }

    pub(super) fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.format == Format::Text { summary(out, self.told) } else { Ok(()) }
    }

    /// Takes in what an agent tells.
    pub(super) fn take(
        &mut self,
        name: &Name,
        event: Event,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match event {
            Event::News(News::Held(holding)) => {
                self.silent.remove(name);
                self.hold(name, holding);
                Ok(())
            }
            Event::News(news) => {
                self.silent.remove(name);
                self.tell_news(name, &news, out)
            }
            Event::Gone(error) => {
                self.silent.remove(name);
                self.told += 1;
                let why = error.to_string();
                self.say(
                    out,
                    name,
                    BAD,
                    "gone",
                    &why,
                    &View::Gone { device: name, why: why.clone() },
                )
            }
            Event::Back => self.say(out, name, GOOD, "back", "", &View::Back { device: name }),
        }
    }

    /// Judges what changed, and tells what is new or over.
    pub(super) fn judge(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let now: BTreeSet<Finding> = self.verifier.judge().into_iter().collect();
        let new: Vec<Finding> = now.difference(&self.findings).cloned().collect();
        let over = self.findings.difference(&now).count();
        self.told += new.len();
        let artifacts: Vec<Artifact> = self.artifacts.values().cloned().collect();
        let texts = Texts::of(&self.fleet, &artifacts);
        if self.format == Format::Text {
            texts.write_findings(out, &new)?;
            if over > 0 {
                let over = plural(over, "finding");
                writeln!(out, "{GOOD}resolved{GOOD:#}  {over}; {} left", now.len())?;
            }
        } else {
            for finding in &texts.found(&new) {
                line(out, &View::Finding { finding })?;
            }
            if over > 0 {
                line(out, &View::Resolved { findings: over })?;
            }
        }
        self.findings = now;
        Ok(())
    }

    fn hold(&mut self, name: &Name, holding: Holding) {
        self.held.insert(name.clone(), holding.clone());
        let Some(&device) = self.devices.get(name) else {
            return;
        };
        for (dialect, text) in holding.texts {
            let reading = read::claims(dialect, &text);
            self.verifier.take(device, dialect, &Part::Whole, Some(reading));
            let generation = holding.generation.unwrap_or_default();
            let parts = vec![PartText { part: Part::Whole, text }];
            let artifact = Artifact { device, dialect, generation, parts };
            self.artifacts.insert((device, dialect), artifact);
        }
    }

    fn tell_news(&mut self, name: &Name, news: &News, out: &mut dyn Write) -> io::Result<()> {
        match news {
            News::Held(_) => Ok(()),
            News::Counted(counters) => {
                let strangers = self.strangers.take(name, counters);
                strangers
                    .iter()
                    .try_for_each(|(mark, frames)| self.tell_stranger(name, mark, *frames, out))
            }
            News::Drift { differences, on_drift, .. } => {
                self.tell_drift(name, differences, *on_drift, out)
            }
            News::Blind { said, .. } => {
                self.told += 1;
                self.say(out, name, BAD, "blind", said, &View::Blind { device: name, why: said })
            }
            News::Mended { by_agent, left, trouble, .. } => {
                self.tell_mended(name, *by_agent, left, trouble.as_deref(), out)
            }
            News::Gate(gate) => {
                let (style, words) = match gate {
                    Gate::Open => (GOOD, "open again"),
                    Gate::Empty => (NOTE, "closed: nothing was sent"),
                    Gate::Told => (NOTE, "closed by the controller"),
                    Gate::Quarantine => (BAD, "closed: in quarantine until something is applied"),
                    Gate::LeaseOver => (BAD, "closed: the controller was away for too long"),
                    Gate::Fault => (BAD, "closed: it could not hold what it was sent"),
                };
                self.told += usize::from(*gate != Gate::Open);
                self.say(out, name, style, "gate", words, &View::Gate { device: name, gate: *gate })
            }
            News::WentBack { from, to, trouble } => {
                self.told += 1;
                let to = to.map(|to| to.0);
                let words = match to {
                    Some(to) => {
                        format!("nobody confirmed generation {from}: holds the texts of {to}")
                    }
                    None => format!("nobody confirmed generation {from}: closed"),
                };
                let trouble = trouble.as_deref();
                let view = View::WentBack { device: name, from: from.0, to, trouble };
                self.say(out, name, NOTE, "went back", &words, &view)
            }
        }
    }

    /// A frame with a source that does not belong at its port: another host, or one that lies.
    fn tell_stranger(
        &mut self,
        name: &Name,
        (reason, tag): &Mark,
        frames: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.told += 1;
        let jobs = self.plan.jobs.iter().filter(|(_, job)| job.tag.get() == *tag);
        let jobs: Vec<&JobName> = jobs.map(|(name, _)| name).collect();
        let words = format!(
            "{} refused at a port of {}: another host is there, or it lies ({reason})",
            plural(usize::try_from(frames).unwrap_or(usize::MAX), "frame"),
            some(&jobs, 3),
        );
        let view = View::Stranger { device: name, reason, frames, jobs };
        self.say(out, name, BAD, "stranger", &words, &view)
    }

    fn tell_drift(
        &mut self,
        name: &Name,
        differences: &[Differing],
        on_drift: OnDrift,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        /// More lines than this are for programs.
        const MOST: usize = 12;
        self.told += 1;
        let on_drift = super::super::agent::policy(on_drift);
        let concerns = differences.iter().map(|one| self.concern(name, one));
        let lines: Vec<LineView<'_>> = differences
            .iter()
            .zip(concerns)
            .map(|(differing, concern)| LineView { differing, concern })
            .collect();
        if self.format != Format::Text {
            return line(out, &View::Drift { device: name, on_drift, lines });
        }
        let count = plural(differences.len(), "line");
        writeln!(
            out,
            "{BAD}drift{BAD:#}  {NAME}{name}{NAME:#}: {count} otherwise; policy {on_drift}"
        )?;
        let mut table = Table::new(2);
        for LineView { differing, concern } in lines.iter().take(MOST) {
            let (style, sign) = if differing.is_missing { (BAD, "-") } else { (NOTE, "+") };
            table.push(vec![
                painted(style, sign),
                painted(DIM, format!("{}:{}", differing.dialect, differing.line)),
                cell(whole(differing)),
                painted(NAME, whom(concern)),
            ]);
        }
        table.write(out)?;
        if let Some(more) = differences.len().checked_sub(MOST).filter(|&more| more > 0) {
            writeln!(out, "  {DIM}and {}{DIM:#}", plural(more, "more line"))?;
        }
        Ok(())
    }

    fn concern(&self, name: &Name, differing: &Differing) -> Concern {
        match self.devices.get(name) {
            Some(device) => concern::of_line(&self.plan, *device, &whole(differing)),
            None => Concern::default(),
        }
    }

    fn tell_mended(
        &self,
        name: &Name,
        by_agent: bool,
        left: &[Differing],
        trouble: Option<&str>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (style, words) = match (trouble, left.len(), by_agent) {
            (Some(trouble), _, _) => (BAD, format!("not repaired: {trouble}")),
            (None, 0, true) => (GOOD, "repaired by its agent".to_owned()),
            (None, 0, false) => (GOOD, "as it should be again".to_owned()),
            (None, left, _) => (BAD, format!("{} still otherwise", plural(left, "line"))),
        };
        let view = View::Mended { device: name, by_agent, left: left.len(), trouble };
        self.say(out, name, style, "mended", &words, &view)
    }

    /// One line for people, one object for programs.
    fn say(
        &self,
        out: &mut dyn Write,
        name: &Name,
        style: anstyle::Style,
        what: &str,
        words: &str,
        view: &View<'_>,
    ) -> io::Result<()> {
        if self.format != Format::Text {
            return line(out, view);
        }
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        writeln!(out, "{style}{what}{style:#}  {NAME}{name}{NAME:#}{words}")
    }
}

fn named(fleet: &Fleet) -> BTreeMap<Name, DeviceId> {
    fleet.devices().map(|device| (fleet.device_name(device).clone(), device)).collect()
}

/// A statement with the blocks it stands in.
fn whole(differing: &Differing) -> String {
    let mut words = differing.blocks.join(" / ");
    if !words.is_empty() {
        words.push_str(" / ");
    }
    words + &differing.statement
}

fn whom(concern: &Concern) -> String {
    if concern.jobs.is_empty() { some(&concern.tenants, 3) } else { some(&concern.jobs, 3) }
}

fn line(out: &mut dyn Write, view: &View<'_>) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(view).map_err(io::Error::other)?)
}
