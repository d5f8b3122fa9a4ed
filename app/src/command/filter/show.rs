//! What the filter is attached to and holds.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use filter::{Kernel, interface_name};
use model::Rate;
use serde::Serialize;
use wire::{PortSeat, Tables};

use super::load::held;
use super::names::{Known, Share};
use super::policy::Size;
use super::time::now_ns;
use super::{Output, Place};
use crate::ending::{Ended, Stop};
use crate::words::{
    self, BAD, DIM, Format, GOOD, HEAD, NAME, Table, cell, examples, grouped, number, painted,
    plural, some,
};

/// Show what is in force: gate, generation, interfaces, tenants and jobs
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter show" => "the filter of this machine",
    "bulkhead filter show -o json" => "the same for programs",
))]
pub(crate) struct Show {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    share: Share,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
struct View {
    place: String,
    gate: GateView,
    policy: Option<PolicyView>,
    interfaces: BTreeMap<String, Vec<String>>,
    jobs: Vec<JobView>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateView {
    open: bool,
    left_ms: u64,
    lapses: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyView {
    #[serde(flatten)]
    size: Size,
    vtep: String,
    block_bytes: u32,
    bytes_per_endpoint: f64,
}

#[derive(Serialize)]
struct JobView {
    tenant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    tag: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling: Option<String>,
    ports: Vec<PortView>,
}

#[derive(Serialize)]
struct PortView {
    interface: String,
    address: String,
    mac: String,
}

impl Show {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let view = View::of(&kernel, &self.share.names())?;
        if self.output.format == Format::Text {
            view.write(out)?;
        } else {
            words::data(out, self.output.format, &view)?;
        }
        Ok(Ended::Done)
    }
}

impl View {
    fn of(kernel: &Kernel, names: &Known) -> Result<Self, Stop> {
        let gate = kernel.gate()?;
        let left_ns = if gate.open { gate.until_ns.saturating_sub(now_ns()?) } else { 0 };
        let bytes = kernel.held()?;
        let tables = bytes.as_deref().map(Tables::new);
        let vtep = tables.and_then(Tables::vtep).map(|vtep| vtep.to_string()).unwrap_or_default();
        let policy = held(kernel)?.map(|size| PolicyView {
            bytes_per_endpoint: size.bytes_per_endpoint(),
            block_bytes: kernel.block_bytes(),
            vtep,
            size,
        });
        let mut interfaces: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (hook, index) in kernel.attached()? {
            interfaces.entry(name_of(index)).or_default().push(hook);
        }
        Ok(Self {
            place: kernel.place().display().to_string(),
            gate: GateView { open: gate.open, left_ms: left_ns / 1_000_000, lapses: gate.lapses },
            policy,
            interfaces,
            jobs: tables.map(|tables| jobs(tables, names)).unwrap_or_default(),
        })
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), Stop> {
        self.write_gate(out)?;
        if let Some(policy) = &self.policy {
            policy.write(out)?;
        }
        writeln!(out, "\n{HEAD}Interfaces{HEAD:#}")?;
        let mut table = Table::new(2);
        for (interface, hooks) in &self.interfaces {
            table.push(vec![painted(NAME, interface), cell(hooks.join(", "))]);
        }
        table.write(out)?;
        if !self.jobs.is_empty() {
            writeln!(out, "\n{HEAD}Jobs{HEAD:#}")?;
            self.jobs_table().write(out)?;
        }
        Ok(())
    }

    fn write_gate(&self, out: &mut dyn Write) -> Result<(), Stop> {
        let lapses = match self.gate.lapses {
            0 => String::new(),
            some => format!("; {} ended without being renewed", plural(some as usize, "lease")),
        };
        let left = self.gate.left_ms as f64 / 1000.0;
        match (self.gate.open, self.policy.is_some()) {
            (true, true) => {
                writeln!(out, "{GOOD}Open{GOOD:#}: the lease has {left:.1} s left{lapses}.")?;
            }
            (true, false) => {
                writeln!(out, "{BAD}Closed{BAD:#}: there is a lease, but no policy{lapses}.")?;
            }
            (false, _) => {
                writeln!(out, "{BAD}Closed{BAD:#}: nothing of a tenant passes{lapses}.")?;
            }
        }
        Ok(())
    }

    fn jobs_table(&self) -> Table {
        let mut table =
            Table::with_head(2, &["tenant", "job or tag", "ports", "guarantee", "ceiling", "at"]);
        for job in &self.jobs {
            let seats = job.ports.iter().map(|port| format!("{} {}", port.interface, port.address));
            table.push(vec![
                painted(NAME, &job.tenant),
                job.job.as_ref().map_or_else(|| cell(job.tag), cell),
                number(job.ports.len()),
                cell(job.guarantee.as_deref().unwrap_or("-")),
                cell(job.ceiling.as_deref().unwrap_or("-")),
                cell(some(seats, 4)),
            ]);
        }
        table
    }
}

impl PolicyView {
    fn write(&self, out: &mut dyn Write) -> Result<(), Stop> {
        let Size { generation, tenants, endpoints, peers, ports, permits, bytes } = self.size;
        writeln!(
            out,
            "Generation {generation} of tunnel endpoint {}: {}, {} ({} here, {} elsewhere), {}.",
            self.vtep,
            plural(tenants as usize, "tenant"),
            plural(endpoints as usize, "endpoint"),
            grouped(ports as usize),
            grouped(peers as usize),
            plural(permits as usize, "permit"),
        )?;
        let [used, all] = [bytes, self.block_bytes].map(|bytes| grouped(bytes as usize));
        writeln!(out, "{DIM}{used} of {all} bytes of the table are used.{DIM:#}")?;
        Ok(())
    }
}

/// The jobs behind the ports of this device.
fn jobs(tables: Tables<'_>, names: &Known) -> Vec<JobView> {
    let mut by_job: BTreeMap<(u32, u16), Vec<PortSeat>> = BTreeMap::new();
    for index in 0..tables.ports().unwrap_or(0) {
        if let Ok(seat) = tables.port(index) {
            by_job.entry((seat.space, seat.tag)).or_default().push(seat);
        }
    }
    let view = |((space, tag), seats): ((u32, u16), Vec<PortSeat>)| {
        let space = tables.space(space).ok()?;
        let rate = |bps: u64| (bps > 0).then(|| Rate { bps }.to_string());
        let ports = seats.iter().map(|seat| PortView {
            interface: name_of(seat.interface),
            address: seat.address.to_string(),
            mac: seat.mac.to_string(),
        });
        Some(JobView {
            tenant: names.tenant(space.number),
            job: names.job(tag).map(ToString::to_string),
            tag,
            guarantee: rate(space.guarantee_bps),
            ceiling: rate(space.ceiling_bps),
            ports: ports.collect(),
        })
    };
    by_job.into_iter().filter_map(view).collect()
}

/// What an interface is called; one that is gone, or of another namespace, has only its number.
pub(super) fn name_of(index: u32) -> String {
    let name = interface_name(index).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("#{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::schema;

    #[test]
    fn a_known_job_with_rates_is_written_as_its_schema_has_it() {
        let job = JobView {
            tenant: "red".to_owned(),
            job: Some("red/train".to_owned()),
            tag: 17,
            guarantee: Some("100Gbps".to_owned()),
            ceiling: Some("400Gbps".to_owned()),
            ports: Vec::new(),
        };
        let view = View {
            place: "/sys/fs/bpf/bulkhead".to_owned(),
            gate: GateView { open: false, left_ms: 0, lapses: 1 },
            policy: None,
            interfaces: BTreeMap::new(),
            jobs: vec![job],
        };
        schema::insist("filter show", &view);
    }
}
