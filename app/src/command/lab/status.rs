//! How a lab is: sessions, agents, workloads.

use std::io::Write;

use clap::Args;
use control::Passage;
use model::Timestamp;
use serde::Serialize;

use super::Which;
use crate::command::Output;
use crate::ending::{Ended, Stop};
use crate::passage;
use crate::state::now;
use crate::words::{self, BAD, Format, GOOD, NAME, Table, cell, examples, painted, plural};

/// Show the switches, sessions, agents, gates and workloads of a lab
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead lab status" => "one line for each switch",
    "bulkhead lab status --workloads" => "and one for each workload",
    "bulkhead lab status -o json" => "the same for programs",
))]
pub(crate) struct Status {
    #[command(flatten)]
    which: Which,
    /// List the workloads too
    #[arg(long)]
    workloads: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct View {
    name: String,
    switches: Vec<SwitchView>,
    workloads: Vec<WorkloadView>,
    passage: Passage,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SwitchView {
    name: String,
    /// Those that stand.
    sessions: usize,
    sessions_wanted: usize,
    /// What runs there.
    processes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    agent: String,
    is_well: bool,
    drift: usize,
    /// How long the controller may stay away.
    lease_seconds: u64,
}

#[derive(Serialize)]
struct WorkloadView {
    name: String,
    job: String,
    device: String,
    port: String,
    address: String,
    twin: String,
}

impl Status {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let view = View::of(&self.which.open()?)?;
        match self.output.format {
            Format::Text => view.write(self.workloads, out)?,
            format => words::data(out, format, &view)?,
        }
        let well = view.switches.iter().all(|switch| switch.is_well);
        Ok(if well { Ended::Done } else { Ended::Found })
    }
}

impl View {
    fn of(lab: &lab::Lab) -> Result<Self, Stop> {
        let statuses = agent::Agents::open(&lab.authority(), crate::runtime::handle()?)?.statuses();
        let said = statuses.iter().map(|(name, status)| {
            let until = |status: &agent::Status| Some(Timestamp(status.lease_until_ms));
            let said = status.as_ref().map(|status| (status.gate, until(status)));
            (name.clone(), said.map_err(ToString::to_string))
        });
        let passage = Passage::of(&lab.plan().fleet, &lab.plan().owners(), said);
        let switches = lab.devices().into_iter().map(|device| {
            let status = statuses.iter().find(|(name, _)| name.as_str() == device);
            SwitchView::of(lab, device, status.map(|(_, status)| status))
        });
        let workloads = lab.workloads().iter().map(|one| WorkloadView {
            name: one.name.clone(),
            job: one.job.to_string(),
            device: one.device.clone(),
            port: one.port.clone(),
            address: one.address.to_string(),
            twin: one.twin.to_string(),
        });
        Ok(Self {
            name: lab.name().to_owned(),
            switches: switches.collect(),
            workloads: workloads.collect(),
            passage,
        })
    }

    fn write(&self, workloads: bool, out: &mut dyn Write) -> Result<(), Stop> {
        let head = ["switch", "sessions", "generation", "agent", "drift", "lease", "processes"];
        let mut table = Table::with_head(0, &head);
        for switch in &self.switches {
            let colour = if switch.is_well { GOOD } else { BAD };
            let generation = switch.generation.map_or("-".to_owned(), |number| number.to_string());
            table.push(vec![
                painted(NAME, &switch.name),
                cell(format_args!("{} of {}", switch.sessions, switch.sessions_wanted)),
                cell(generation),
                painted(colour, &switch.agent),
                cell(switch.drift),
                cell(format_args!("{} s", switch.lease_seconds)),
                cell(switch.processes.join(" ")),
            ]);
        }
        table.write(out)?;
        if workloads {
            let head = ["workload", "job", "leaf", "port", "address", "twin"];
            let mut table = Table::with_head(0, &head);
            for one in &self.workloads {
                let row = [&one.name, &one.job, &one.device, &one.port, &one.address, &one.twin];
                table.push(row.into_iter().map(cell).collect());
            }
            writeln!(out)?;
            table.write(out)?;
        } else {
            writeln!(out, "{}.", plural(self.workloads.len(), "workload"))?;
        }
        passage::write_silent(&self.passage, out)?;
        passage::write_closed(&self.passage, now(), out)?;
        Ok(())
    }
}

impl SwitchView {
    fn of(
        lab: &lab::Lab,
        name: String,
        status: Option<&Result<agent::Status, agent::TalkError>>,
    ) -> Self {
        let (sessions, sessions_wanted) = lab.sessions(&name);
        let processes = lab.running(&name);
        let (agent, generation, drift, until) = match status {
            None => ("not enrolled".to_owned(), None, 0, 0),
            Some(Err(_)) => ("silent".to_owned(), None, 0, 0),
            Some(Ok(status)) => {
                let generation = status.generation.map(|generation| generation.0);
                (said(status), generation, status.drift.len(), status.lease_until_ms)
            }
        };
        let is_well = agent == "open" && drift == 0 && sessions >= sessions_wanted;
        let lease_seconds = until.saturating_sub(now().0) / 1000;
        Self {
            name,
            sessions,
            sessions_wanted,
            processes,
            generation,
            agent,
            is_well,
            drift,
            lease_seconds,
        }
    }
}

fn said(status: &agent::Status) -> String {
    match (&status.trouble, status.gate) {
        (Some(trouble), _) => format!("trouble: {trouble}"),
        (None, gate) => passage::gate(gate).to_owned(),
    }
}
