//! `bulkhead agent status`: what agents hold, whether packets pass there, and what differs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use agent::TalkError;
use apply::{Gate, OnDrift};
use clap::Args;
use model::Name;
use serde::Serialize;

use super::super::Output;
use super::super::ca::CaFolder;
use crate::ending::{Ended, Stop};
use crate::passage;
use crate::words::{
    self, BAD, DIM, Format, GOOD, NAME, NOTE, Table, cell, examples, painted, plural,
};

/// How the agents are: what they hold, whether packets pass, what differs
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead agent status" => "all of them",
    "bulkhead agent status leaf-1" => "one of them, with every line that differs",
    "bulkhead agent status -o json" => "for programs",
))]
pub(crate) struct Status {
    /// Only this one
    #[arg(value_name = "NODE")]
    node: Option<Name>,
    #[command(flatten)]
    ca: CaFolder,
    #[command(flatten)]
    pub(super) output: Output,
}

type Statuses = BTreeMap<Name, Result<agent::Status, TalkError>>;

#[derive(Serialize)]
#[serde(untagged)]
enum View<'a> {
    Answered(&'a agent::Status),
    Silent { node: &'a Name, silent: String },
}

impl Status {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut statuses = self.ca.agents()?.statuses();
        if let Some(node) = &self.node {
            statuses.retain(|name, _| name == node);
            if statuses.is_empty() {
                return Err(Stop::argument(
                    "node-unknown",
                    format!("no agent of `{node}` is enrolled"),
                    "`bulkhead ca list` lists them; `bulkhead ca enroll` adds one",
                ));
            }
        }
        if self.output.format == Format::Text {
            self.write(&statuses, out)?;
        } else {
            let views: Vec<View<'_>> = statuses.iter().map(view).collect();
            words::data(out, self.output.format, &views)?;
        }
        let is_sound = statuses.values().all(|status| status.as_ref().is_ok_and(is_sound));
        Ok(if is_sound { Ended::Done } else { Ended::Found })
    }

    fn write(&self, statuses: &Statuses, out: &mut dyn Write) -> io::Result<()> {
        let mut table =
            Table::with_head(0, &["node", "generation", "gate", "on drift", "lease", ""]);
        for (node, status) in statuses {
            match status {
                Ok(status) => table.push(vec![
                    painted(NAME, node),
                    cell(generation(status)),
                    gate(status.gate),
                    cell(policy(status.on_drift)),
                    cell(left(status.lease_until_ms)),
                    remark(status),
                ]),
                Err(error) => table.push(vec![
                    painted(NAME, node),
                    cell("-"),
                    painted(BAD, "silent"),
                    cell("-"),
                    cell("-"),
                    cell(error),
                ]),
            }
        }
        table.write(out)?;
        for status in statuses.values().flatten().filter(|_| self.node.is_some()) {
            write_drift(status, out)?;
        }
        Ok(())
    }
}

fn is_sound(status: &agent::Status) -> bool {
    status.gate == Gate::Open && status.drift.is_empty() && status.trouble.is_none()
}

fn view<'a>((node, status): (&'a Name, &'a Result<agent::Status, TalkError>)) -> View<'a> {
    match status {
        Ok(status) => View::Answered(status),
        Err(error) => View::Silent { node, silent: error.to_string() },
    }
}

fn generation(status: &agent::Status) -> String {
    match (status.generation, status.went_back_to) {
        (None, _) => "none".into(),
        (Some(generation), None) => generation.to_string(),
        (Some(generation), Some(before)) => format!("{generation} (texts of {before})"),
    }
}

fn gate(gate: Gate) -> words::Cell {
    let words = passage::gate(gate);
    match gate {
        Gate::Open => painted(GOOD, words),
        Gate::Empty | Gate::Told => painted(NOTE, words),
        Gate::Quarantine | Gate::LeaseOver | Gate::Fault => painted(BAD, words),
    }
}

pub(crate) const fn policy(on_drift: OnDrift) -> &'static str {
    match on_drift {
        OnDrift::Alarm => "alarm",
        OnDrift::Repair => "repair",
        OnDrift::Quarantine => "quarantine",
    }
}

/// How long until then.
fn left(until_ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = u128::from(until_ms).saturating_sub(now.as_millis()) / 1000;
    match left {
        0 => "over".into(),
        1..120 => format!("{left}s"),
        _ => format!("{}m", left / 60),
    }
}

fn remark(status: &agent::Status) -> words::Cell {
    if let Some(trouble) = &status.trouble {
        painted(BAD, trouble)
    } else if !status.drift.is_empty() {
        painted(BAD, format!("{} not as sent", plural(status.drift.len(), "line")))
    } else if let Some(until) = status.confirm_until_ms {
        painted(NOTE, format!("goes back in {} unless confirmed", left(until)))
    } else if let Some(doing) = &status.doing {
        painted(DIM, doing)
    } else if status.generation.is_some() && !status.started {
        painted(NOTE, "not started: some other node could not hold this plan")
    } else {
        cell("")
    }
}

fn write_drift(status: &agent::Status, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(2);
    for one in &status.drift {
        let (style, sign) = if one.is_missing { (BAD, "-") } else { (NOTE, "+") };
        table.push(vec![
            painted(style, sign),
            painted(DIM, format!("{}:{}", one.dialect, one.line)),
            cell([&one.blocks[..], std::slice::from_ref(&one.statement)].concat().join(" / ")),
        ]);
    }
    table.write(out)
}

#[cfg(test)]
mod tests {
    use agent::Differing;
    use model::{Dialect, Digest, Epoch, Generation};

    use super::*;
    use crate::command::schema;

    #[test]
    fn whatever_agents_say_is_written_as_its_schema_has_it() {
        let node: Name = "leaf-1".parse().unwrap();
        let differing = Differing {
            dialect: Dialect::Linux,
            is_missing: false,
            blocks: Vec::new(),
            statement: "link leak0".to_owned(),
            line: 4,
        };
        let troubled = agent::Status {
            node: node.clone(),
            epoch: Epoch(1),
            generation: Some(Generation(7)),
            digest: Some(Digest::of(b"texts")),
            went_back_to: Some(Generation(6)),
            started: true,
            gate: Gate::Quarantine,
            on_drift: OnDrift::Alarm,
            drift: vec![differing],
            trouble: Some("FRR does not answer".to_owned()),
            doing: Some("undoing".to_owned()),
            lease_until_ms: 1_795_040_127_250,
            confirm_until_ms: Some(1_795_040_127_250),
        };
        let new = agent::Status {
            generation: None,
            digest: None,
            went_back_to: None,
            started: false,
            gate: Gate::Empty,
            on_drift: OnDrift::Repair,
            drift: Vec::new(),
            trouble: None,
            doing: None,
            confirm_until_ms: None,
            ..troubled.clone()
        };
        let silent = View::Silent { node: &node, silent: "nobody answers".to_owned() };
        let views = [View::Answered(&troubled), View::Answered(&new), silent];
        schema::insist("agent status", &views);
    }
}
