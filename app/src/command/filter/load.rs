//! Another policy in place of the one in force.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use filter::Kernel;
use serde::Serialize;
use wire::Tables;

use super::policy::{Policy, Size, Terms};
use super::{Output, Place};
use crate::ending::{Ended, Stop};
use crate::words::{self, DIM, Format, GOOD, NOTE, Table, cell, examples, number};

/// Put a table in force, all of it at one instant
///
/// The table is the artifact that `render --dialect table` writes. When this returns, no packet is
/// filtered by the one before. An older generation than the one in force is refused.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead render cluster.yaml --device leaf-2 --dialect table | bulkhead filter load -"
        => "what the plan says of this device",
    "bulkhead filter load leaf-2.table --generation 12" => "as the plan numbers it",
    "bulkhead filter load leaf-2.table --map swp5=veth3" => "swp5 is veth3 here",
))]
pub(crate) struct Load {
    /// The table, or `-` for the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    terms: Terms,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    pub(super) output: Output,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    before: Option<Size>,
    after: Size,
    took_ms: f64,
    open: bool,
}

impl Load {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut kernel = self.place.open()?;
        let before = held(&kernel)?;
        let policy = Policy::read(&self.file, &self.terms, Some(&kernel))?;
        let begin = Instant::now();
        let after = policy.put(&mut kernel)?;
        let took_ms = begin.elapsed().as_secs_f64() * 1000.0;
        let answer = Answer { before, after, took_ms, open: kernel.gate()?.open };
        if self.output.format == Format::Text {
            answer.write(out)?;
        } else {
            words::data(out, self.output.format, &answer)?;
        }
        Ok(Ended::Done)
    }
}

/// How much the kernel holds now.
pub(super) fn held(kernel: &Kernel) -> Result<Option<Size>, Stop> {
    let held = kernel.held()?;
    Ok(held.as_deref().map(Tables::new).and_then(Size::of))
}

impl Answer {
    fn write(&self, out: &mut dyn Write) -> Result<(), Stop> {
        let mut table = Table::with_head(2, &["", "before", "after"]);
        let rows = |size: &Size| {
            let Size { tenants, endpoints, peers, permits, bytes, .. } = *size;
            [tenants, endpoints, peers, permits, bytes].map(|count| number(count as usize))
        };
        let names = ["tenants", "endpoints", "peers elsewhere", "permits", "bytes"];
        let before = self.before.as_ref().map_or_else(|| [(); 5].map(|()| cell("-")), rows);
        for ((name, before), after) in names.into_iter().zip(before).zip(rows(&self.after)) {
            table.push(vec![cell(name), before, after]);
        }
        table.write(out)?;
        let before = self.before.map_or("none".into(), |size| size.generation.to_string());
        let (after, ms) = (self.after.generation, self.took_ms);
        writeln!(
            out,
            "{GOOD}In force{GOOD:#}: generation {after} {DIM}(before: {before}){DIM:#}, \
             within {ms:.1} ms."
        )?;
        if !self.open {
            writeln!(
                out,
                "{NOTE}Closed{NOTE:#}: no lease keeps the gate open; `bulkhead filter renew` does."
            )?;
        }
        Ok(())
    }
}
