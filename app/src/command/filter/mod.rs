//! The packet filter of this machine: put in place, given a policy, kept open, looked at.

mod attach;
mod bench;
mod detach;
mod drops;
mod dump;
mod judge;
mod load;
mod names;
mod policy;
mod renew;
mod show;
mod stats;
mod time;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use filter::{Kernel, PutError};

use super::Output;
use crate::ending::{Ended, Stop};
use crate::words::{Format, examples};

/// Filter every packet of this machine by tenant and job
///
/// A program in the kernel stands at the uplinks and at the workloads' ports. It lets through what
/// the table of this device allows, as long as its lease is renewed, and drops and counts all else.
/// It stays when this command ends; a lease that nobody renews closes it.
#[derive(Subcommand)]
#[command(after_help = examples!(
    "bulkhead filter attach --uplink eth0 --port swp1 swp2 --table leaf-2.table --lease 30s"
        => "filter these ports by this table, and open the gate for 30 seconds",
    "bulkhead filter renew --lease 30s --hold" => "keep the gate open",
    "bulkhead filter show" => "what is in force",
    "bulkhead filter drops --follow" => "what is dropped, and why",
    "bulkhead filter dump | bulkhead read --dialect table -" => "what the kernel really holds",
))]
pub(crate) enum Filter {
    Attach(attach::Attach),
    Load(load::Load),
    Renew(renew::Renew),
    Detach(detach::Detach),
    Show(show::Show),
    Dump(dump::Dump),
    Drops(drops::Drops),
    Stats(stats::Stats),
    Judge(judge::Judge),
    Bench(bench::Bench),
}

/// Which filter: a machine may have more than one.
#[derive(Args)]
struct Place {
    /// Where the kernel keeps the filter, below /sys/fs/bpf
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/bpf/bulkhead", display_order = 800)]
    place: PathBuf,
}

impl Filter {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Attach(attach) => attach.run(out),
            Self::Load(load) => load.run(out),
            Self::Renew(renew) => renew.run(out),
            Self::Detach(detach) => detach.run(out),
            Self::Show(show) => show.run(out),
            Self::Dump(dump) => dump.run(out),
            Self::Drops(drops) => drops.run(out),
            Self::Stats(stats) => stats.run(out),
            Self::Judge(judge) => judge.run(out),
            Self::Bench(bench) => bench.run(out),
        }
    }

    pub(super) const fn is_endless(&self) -> bool {
        matches!(self, Self::Drops(drops) if drops.is_endless())
    }

    pub(super) const fn is_stream(&self) -> bool {
        match self {
            Self::Drops(_) => true,
            Self::Stats(stats) => stats.is_watch(),
            _ => false,
        }
    }

    pub(super) const fn format(&self) -> Format {
        match self {
            Self::Attach(attach) => attach.output.format,
            Self::Load(load) => load.output.format,
            Self::Show(show) => show.output.format,
            Self::Drops(drops) => drops.output.format,
            Self::Stats(stats) => stats.output.format,
            Self::Judge(judge) => judge.output.format,
            Self::Bench(bench) => bench.output.format,
            Self::Renew(_) | Self::Detach(_) | Self::Dump(_) => Format::Text,
        }
    }
}

/// The filter may not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("the filter at {} is for root only: run this as root", place.display())]
struct NotPermitted {
    place: PathBuf,
    source: io::Error,
}

impl Place {
    /// The filter that is loaded there.
    fn open(&self) -> Result<Kernel, Stop> {
        self.is_loaded()?;
        Ok(Kernel::open(&self.place)?)
    }

    /// Whether a filter is loaded there, if we may know that.
    fn is_loaded(&self) -> Result<bool, NotPermitted> {
        let there = self.place.join("policy").try_exists();
        there.map_err(|source| NotPermitted { place: self.place.clone(), source })
    }

    fn path(&self) -> &Path {
        &self.place
    }
}

/// A policy that cannot be in force is an answer; a kernel that fails is not.
fn put_stop(error: PutError) -> Stop {
    match error {
        PutError::Refused(refusal) => Stop::argument(
            "table-refused",
            format!("the table cannot be held: {refusal}"),
            "`bulkhead render FILES --device NAME --dialect table` writes one that can",
        ),
        PutError::Stale { .. } => Stop::argument(
            "stale",
            error.to_string(),
            "generations only grow: plan again on top of what is in force",
        ),
        PutError::Fault(fault) => fault.into(),
    }
}
