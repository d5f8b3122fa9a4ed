//! A packet filter on its way into the kernel, at uplinks and ports.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use bulkhead_agent::Span;
use clap::Args;
use filter::{Fault, Kernel, Mode, Settings, interface_index};
use model::Rate;
use serde::Serialize;

use super::policy::{Policy, Size, Terms};
use super::{Output, Place};
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, GOOD, NAME, NOTE, Table, cell, examples, painted, plural};

/// Put the filter at uplinks and ports: at all of them, or at none
///
/// The ports are closed first and opened last: the program is attached without a policy, which
/// lets nothing of a tenant through, then the table is put in force, and then the lease opens it.
/// Interfaces where the filter is already stay as they are.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter attach --uplink eth0 --port swp1 swp2" => "close these ports",
    "bulkhead filter attach --uplink eth0 --port swp1 swp2 --table leaf-2.table --lease 30s"
        => "filter them by this table for 30 seconds",
    "bulkhead filter attach --port veth7 --table leaf-2.table --map swp5=veth7"
        => "what the table calls swp5 is veth7 here",
))]
pub(crate) struct Attach {
    /// Interfaces towards the fabric
    #[arg(long, value_name = "INTERFACE", num_args = 1.., required_unless_present = "port")]
    uplink: Vec<String>,
    /// Interfaces towards one workload each
    #[arg(long, value_name = "INTERFACE", num_args = 1..)]
    port: Vec<String>,
    /// The table to put in force, or `-` for the standard input
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    terms: Terms,
    /// Open the gate for so long: 500ms, 30s, 15m
    #[arg(long, value_name = "TIME", requires = "table")]
    lease: Option<Span>,
    /// What all uplinks together can send; guarantees are kept out of it
    #[arg(long, value_name = "RATE")]
    link: Option<Rate>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    loaded: bool,
    attached: Vec<Attached>,
    policy: Option<Size>,
    lease: Option<String>,
}

#[derive(Serialize)]
struct Attached {
    interface: String,
    hooks: &'static str,
    how: &'static str,
}

impl Attach {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let loaded = self.place.is_loaded()?;
        let mut undo = Undo { place: self.place.path(), loaded: false, links: Vec::new() };
        let answer = self.attach(loaded, &mut undo);
        match answer {
            Ok(answer) if self.output.format == Format::Text => answer.write(out)?,
            Ok(answer) => words::data(out, self.output.format, &answer)?,
            Err(stop) => {
                undo.run();
                return Err(stop);
            }
        }
        Ok(Ended::Done)
    }

    fn attach(&self, loaded: bool, undo: &mut Undo<'_>) -> Result<Answer, Stop> {
        // What can be refused is refused before anything is touched.
        for interface in self.uplink.iter().chain(&self.port) {
            interface_index(interface)?;
        }
        if loaded && self.link.is_some() {
            return Err(Stop::argument(
                "link-is-chosen",
                "what the uplinks can send was chosen when the filter was loaded".into(),
                "leave --link out",
            ));
        }
        let held = if loaded { Some(Kernel::open(self.place.path())?) } else { None };
        let policy = match &self.table {
            Some(file) => Some(Policy::read(file, &self.terms, held.as_ref())?),
            None => None,
        };
        let needed = policy.as_ref().map(|policy| policy.compile()).transpose()?;
        let mut kernel = match held {
            Some(kernel) => kernel,
            None => {
                let needed = needed.map_or(0, |compiled| compiled.bytes.len());
                let kernel = Kernel::load(self.place.path(), &self.settings(needed))?;
                undo.loaded = true;
                kernel
            }
        };
        let attached = self.attach_all(&mut kernel, undo)?;
        let policy = policy.map(|policy| policy.put(&mut kernel)).transpose()?;
        if let Some(lease) = self.lease {
            kernel.renew(lease.0)?;
        }
        let lease = self.lease.map(|lease| lease.to_string());
        Ok(Answer { loaded: !loaded, attached, policy, lease })
    }

    fn settings(&self, needed: usize) -> Settings {
        let needed = u32::try_from(needed).unwrap_or(u32::MAX);
        let link_bps = self.link.map_or(0, |rate| rate.bps);
        Settings { link_bps, ..Settings::for_policy(needed) }
    }

    /// Ports before uplinks: nothing comes in from the fabric to a port that is not filtered.
    fn attach_all(&self, kernel: &mut Kernel, undo: &mut Undo<'_>) -> Result<Vec<Attached>, Stop> {
        let mut all = Vec::new();
        for interface in &self.port {
            let how = match undo.begin(kernel, "workload", interface)? {
                Known::Here => "was already",
                Known::New => {
                    kernel.attach_port(interface)?;
                    undo.done(&["workload", "local"], interface)?;
                    "by the kernel"
                }
            };
            all.push(Attached { interface: interface.clone(), hooks: "workload, local", how });
        }
        for interface in &self.uplink {
            let how = match undo.begin(kernel, "fabric", interface)? {
                Known::Here => "was already",
                Known::New => {
                    let mode = kernel.attach_uplink(interface)?;
                    undo.done(&["fabric"], interface)?;
                    match mode {
                        Mode::Driver => "by the driver",
                        Mode::Generic => "by the kernel: the driver cannot",
                    }
                }
            };
            all.push(Attached { interface: interface.clone(), hooks: "fabric", how });
        }
        Ok(all)
    }
}

/// Whether the filter is at an interface already.
enum Known {
    Here,
    New,
}

/// What this call did, so that it can be taken back when a later step fails.
struct Undo<'a> {
    place: &'a Path,
    loaded: bool,
    links: Vec<String>,
}

impl Undo<'_> {
    fn begin(&self, kernel: &Kernel, hook: &str, interface: &str) -> Result<Known, Fault> {
        let index = interface_index(interface)?;
        let known = kernel.attached()?.iter().any(|(at, number)| at == hook && *number == index);
        Ok(if known { Known::Here } else { Known::New })
    }

    fn done(&mut self, hooks: &[&str], interface: &str) -> Result<(), Fault> {
        let index = interface_index(interface)?;
        self.links.extend(hooks.iter().map(|hook| format!("{hook}-{index}")));
        Ok(())
    }

    /// The interfaces are as they were before; a second failure would only hide the first.
    fn run(&self) {
        if self.loaded {
            let _ = Kernel::danger_detach(self.place);
            return;
        }
        for link in &self.links {
            // A link lives as long as its name does.
            let _ = fs::remove_file(self.place.join(link));
        }
    }
}

impl Answer {
    fn write(&self, out: &mut dyn Write) -> Result<(), Stop> {
        let mut table = Table::new(2);
        for Attached { interface, hooks, how } in &self.attached {
            table.push(vec![painted(NAME, interface), cell(hooks), painted(DIM, how)]);
        }
        table.write(out)?;
        let count = plural(self.attached.len(), "interface");
        match (&self.policy, &self.lease) {
            (Some(size), Some(lease)) => {
                let (generation, endpoints) = (size.generation, size.endpoints as usize);
                let endpoints = plural(endpoints, "endpoint");
                writeln!(
                    out,
                    "{GOOD}Open{GOOD:#} for {lease}: {count} filtered by generation {generation}, \
                     {endpoints}. Renew the lease, or it closes."
                )?;
            }
            (Some(size), None) => writeln!(
                out,
                "{NOTE}Attached{NOTE:#}: {count}, with generation {}. The gate is as it was; \
                 `bulkhead filter renew` opens it.",
                size.generation
            )?,
            (None, _) => writeln!(
                out,
                "{NOTE}Attached{NOTE:#}: {count}. What no policy allows does not pass; \
                 `bulkhead filter load` puts one in force.",
            )?,
        }
        Ok(())
    }
}
