//! What the kernel holds, as text.

use std::io::Write;

use clap::Args;
use wire::Tables;

use super::Place;
use super::policy::Names;
use crate::ending::{Ended, Stop};
use crate::words::examples;

/// Say what the kernel holds, as the table artifact it came from
///
/// `read` and `verify` can so check the kernel itself. While the gate is closed nothing is let
/// through, and so only the head is said.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter dump" => "the policy in force",
    "bulkhead filter dump | bulkhead read --dialect table -" => "what it lets through",
    "bulkhead filter dump | diff - leaf-2.table" => "whether it is what was sent",
))]
pub(crate) struct Dump {
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    place: Place,
}

/// The table in the kernel is damaged.
#[derive(Debug, thiserror::Error)]
#[error(
    "the table in the kernel contradicts itself, so that its packets are dropped: load a new one"
)]
struct Contradicts;

impl Dump {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let held = kernel.held()?;
        let tables = held.as_deref().map(Tables::new).filter(|tables| tables.is_policy());
        let is_open = kernel.gate()?.open;
        match tables {
            Some(tables) if is_open => {
                let text = filter::say(tables, &|index| self.names.port(index));
                write!(out, "{}", text.map_err(|_| Contradicts)?)?;
            }
            tables => {
                if let Some(vtep) = tables.and_then(Tables::vtep) {
                    writeln!(out, "vtep {vtep}")?;
                }
                writeln!(out, "default drop")?;
                let why = if tables.is_some() { "no lease" } else { "no policy" };
                writeln!(out, "# closed: there is {why}, and nothing of a tenant is let through")?;
            }
        }
        Ok(Ended::Done)
    }
}
