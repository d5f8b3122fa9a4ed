//! Says what is new: lines for people, objects for programs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use agent::{Differing, Event, News};
use apply::{Gate, OnDrift};
use control::{Concern, Draft, Judgement, Observation, SpoofedSource};
use model::{Generation, JobName, Name, TenantName, Timestamp};
use next::State;
use serde::Serialize;
use store::Revision;

use super::summary;
use crate::evidence::{Found, Texts};
use crate::passage;
use crate::state::now;
use crate::words::{self, BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, painted, plural, some};

/// What was observed, and how much of it was told.
pub(super) struct Post {
    observation: Observation,
    format: Format,
    told: usize,
}

/// One thing, for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
enum View<'a> {
    Heartbeat {
        at: Timestamp,
        revision: Revision,
        generation: Generation,
        findings: usize,
        silent: usize,
        closed: usize,
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
    Repaired {
        device: &'a Name,
        by_agent: bool,
        left: usize,
        trouble: Option<&'a str>,
    },
    SpoofedSource {
        device: &'a Name,
        reason: &'a str,
        frames: u64,
        jobs: Vec<String>,
    },
    Gate {
        device: &'a Name,
        gate: Gate,
    },
    ObservationFailed {
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
        why: &'a str,
    },
    Back {
        device: &'a Name,
    },
}

#[derive(Serialize)]
struct LineView<'a> {
    #[serde(flatten)]
    differing: &'a Differing,
    tenants: &'a BTreeSet<TenantName>,
    jobs: Vec<String>,
}

impl<'a> LineView<'a> {
    fn of((differing, concern): (&'a Differing, &'a Concern)) -> Self {
        Self { differing, tenants: &concern.tenants, jobs: all(&concern.jobs) }
    }
}

impl Post {
    pub(super) fn new(draft: Draft, format: Format, agents: BTreeSet<Name>) -> Self {
        Self { observation: Observation::new(draft, agents), format, told: 0 }
    }

    /// Whether the log says another plan than the one that is judged by.
    pub(super) fn is_behind(&self, state: &State) -> bool {
        self.observation.is_behind(state)
    }

    /// Judges by this plan from now on.
    pub(super) fn follow(&mut self, draft: Draft) {
        self.observation.follow(draft);
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
        let seen = &self.observation;
        let beat = View::Heartbeat {
            at,
            revision,
            generation: seen.generation(),
            findings: seen.findings(),
            silent: seen.silent(),
            closed: seen.passage().closed.len(),
        };
        words::data(out, self.format, &beat)
    }

    /// Whether every agent was heard, or does not answer and was named.
    pub(super) fn heard_all(&self) -> bool {
        self.observation.heard_all()
    }

    pub(super) const fn has_found(&self) -> bool {
        self.told > 0
    }

    /// How it stands at the end, and how much was told.
    pub(super) fn write_summary(&self, now: Timestamp, out: &mut dyn Write) -> io::Result<()> {
        if self.format != Format::Text {
            return Ok(());
        }
        passage::write_closed(&self.observation.passage(), now, out)?;
        summary(out, self.told)
    }

    /// Takes in what an agent tells.
    pub(super) fn take(
        &mut self,
        name: &Name,
        event: Event,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match event {
            Event::News(news) => {
                self.observation.hear(name);
                self.tell_news(name, news, out)
            }
            Event::Gone(error) => {
                let why = error.to_string();
                self.observation.lose(name, why.clone());
                self.told += 1;
                let view = View::Gone { device: name, why: &why };
                self.say(out, name, BAD, "gone", &why, &view)
            }
            Event::Back => {
                self.observation.hear(name);
                self.say(out, name, GOOD, "back", "", &View::Back { device: name })
            }
        }
    }

    /// Judges what changed, and tells what is new or over.
    pub(super) fn judge(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Judgement { new, resolved, left } = self.observation.judge(now());
        self.told += new.len();
        let artifacts = self.observation.artifacts();
        let texts = Texts::of(self.observation.fleet(), &artifacts);
        if self.format == Format::Text {
            texts.write_findings(out, &new)?;
            if resolved > 0 {
                let resolved = plural(resolved, "finding");
                writeln!(out, "{GOOD}resolved{GOOD:#}  {resolved}; {left} left")?;
            }
        } else {
            for finding in &texts.found(&new) {
                words::data(out, self.format, &View::Finding { finding })?;
            }
            if resolved > 0 {
                words::data(out, self.format, &View::Resolved { findings: resolved })?;
            }
        }
        Ok(())
    }

    fn tell_news(&mut self, name: &Name, news: News, out: &mut dyn Write) -> io::Result<()> {
        match news {
            News::Held(holding) => {
                self.observation.take(name, holding.generation, holding.texts);
                Ok(())
            }
            News::Counted(counters) => {
                let spoofed = self.observation.spoofed(name, &counters.drops);
                spoofed.iter().try_for_each(|one| self.tell_spoofed(name, one, out))
            }
            News::Drift { differences, on_drift, .. } => {
                self.tell_drift(name, &differences, on_drift, out)
            }
            News::ObservationFailed { said, .. } => {
                self.told += 1;
                self.say(
                    out,
                    name,
                    BAD,
                    "not observed",
                    &said,
                    &View::ObservationFailed { device: name, why: &said },
                )
            }
            News::Repaired { by_agent, left, trouble, .. } => {
                self.tell_repaired(name, by_agent, &left, trouble.as_deref(), out)
            }
            News::Gate(gate) => {
                self.observation.turn(name, gate);
                self.told += usize::from(gate != Gate::Open);
                let (style, words) = match gate {
                    Gate::Open => (GOOD, "open again"),
                    Gate::Empty | Gate::Told => (NOTE, passage::gate(gate)),
                    _ => (BAD, passage::gate(gate)),
                };
                self.say(out, name, style, "gate", words, &View::Gate { device: name, gate })
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

    fn tell_spoofed(
        &mut self,
        name: &Name,
        SpoofedSource { reason, frames, jobs }: &SpoofedSource,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.told += 1;
        let (reason, frames) = (reason.as_str(), *frames);
        let words = format!(
            "{} refused at a port of {}: another host is there, or it lies ({reason})",
            plural(usize::try_from(frames).unwrap_or(usize::MAX), "frame"),
            some(jobs, 3),
        );
        let jobs = all(jobs);
        let view = View::SpoofedSource { device: name, reason, frames, jobs };
        self.say(out, name, BAD, "spoofed source", &words, &view)
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
        let concerns = differences.iter().map(|one| self.observation.concern(name, &whole(one)));
        let concerns: Vec<Concern> = concerns.collect();
        let lines = differences.iter().zip(&concerns);
        if self.format != Format::Text {
            let lines = lines.map(LineView::of).collect();
            return words::data(out, self.format, &View::Drift { device: name, on_drift, lines });
        }
        let count = plural(differences.len(), "line");
        writeln!(
            out,
            "{BAD}drift{BAD:#}  {NAME}{name}{NAME:#}: {count} differ; policy {on_drift}"
        )?;
        let mut table = Table::new(2);
        for (differing, concern) in lines.take(MOST) {
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

    fn tell_repaired(
        &self,
        name: &Name,
        by_agent: bool,
        left: &[Differing],
        trouble: Option<&str>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (style, what, words) = match (trouble, left.len()) {
            (Some(trouble), _) => (BAD, "not repaired", trouble.to_owned()),
            (None, 0) if by_agent => (GOOD, "repaired", "by its agent".to_owned()),
            (None, 0) => (GOOD, "repaired", "by whoever changed it".to_owned()),
            (None, left) => (BAD, "not repaired", format!("{} differ", plural(left, "line"))),
        };
        let view = View::Repaired { device: name, by_agent, left: left.len(), trouble };
        self.say(out, name, style, what, &words, &view)
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
            return words::data(out, self.format, view);
        }
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        writeln!(out, "{style}{what}{style:#}  {NAME}{name}{NAME:#}{words}")
    }
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

fn all<'a>(jobs: impl IntoIterator<Item = &'a JobName>) -> Vec<String> {
    jobs.into_iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::Dialect;

    use super::*;
    use crate::command::schema;

    #[test]
    fn whatever_is_told_to_programs_is_written_as_its_schema_has_it() {
        let device: &Name = &"leaf-1".parse().unwrap();
        let (job, why): (JobName, _) = ("red/train".parse().unwrap(), "nobody answers");
        let differing = &Differing {
            dialect: Dialect::Frr,
            is_missing: true,
            blocks: vec!["router bgp 65001".to_owned()],
            statement: "neighbor 10.0.0.1 remote-as 65000".to_owned(),
            line: 7,
        };
        let (tenants, jobs) = (BTreeSet::from([job.tenant.clone()]), BTreeSet::from([job]));
        let concern = &Concern { tenants, jobs };
        let lines = || vec![LineView::of((differing, concern))];
        let mut views = vec![
            View::Heartbeat {
                at: Timestamp(1_795_040_127_250),
                revision: Revision(12),
                generation: Generation(3),
                findings: 1,
                silent: 0,
                closed: 2,
            },
            View::Resolved { findings: 1 },
            View::SpoofedSource {
                device,
                reason: "source-mac",
                frames: 3,
                jobs: all(&concern.jobs),
            },
            View::ObservationFailed { device, why },
            View::Gone { device, why },
            View::Back { device },
        ];
        for trouble in [None, Some("FRR does not answer")] {
            views.push(View::Repaired { device, by_agent: true, left: 0, trouble });
            let to = trouble.map(|_| 2);
            views.push(View::WentBack { device, from: 3, to, trouble });
        }
        for policy in [OnDrift::Alarm, OnDrift::Repair, OnDrift::Quarantine] {
            let on_drift = super::super::super::agent::policy(policy);
            views.push(View::Drift { device, on_drift, lines: lines() });
        }
        for gate in [Gate::Open, Gate::Empty, Gate::Told, Gate::Quarantine, Gate::LeaseOver] {
            views.push(View::Gate { device, gate });
        }
        views.push(View::Gate { device, gate: Gate::Fault });
        views.iter().for_each(|view| schema::insist("watch", view));
    }
}
