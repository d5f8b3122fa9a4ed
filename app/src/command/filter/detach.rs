//! The filter taken away.

use std::io::Write;

use clap::Args;
use filter::Kernel;

use super::Place;
use crate::ending::{Ended, Stop};
use crate::words::{BAD, examples, plural};

/// Take the filter away; every port is open then
///
/// There is no way to do this by mistake: without the flag it is refused. To stop all traffic
/// instead, let the lease end.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter detach --danger-open" => "take it away, knowing what that means",
))]
pub(crate) struct Detach {
    /// Yes, every port shall be open
    #[arg(long)]
    danger_open: bool,
    #[command(flatten)]
    place: Place,
}

impl Detach {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let mut interfaces: Vec<u32> =
            kernel.attached()?.into_iter().map(|(_, interface)| interface).collect();
        interfaces.sort_unstable();
        interfaces.dedup();
        let count = plural(interfaces.len(), "interface");
        if !self.danger_open {
            return Err(Stop::argument(
                "would-open",
                format!("without the filter, {count} would let everything through"),
                "say --danger-open if that is what you want",
            ));
        }
        Kernel::danger_detach(self.place.path())?;
        writeln!(out, "{BAD}Open{BAD:#}: nothing filters the packets of {count} any more.")?;
        Ok(Ended::Done)
    }
}
