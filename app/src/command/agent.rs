//! The agent of this machine, and a look at the others.

mod status;

use std::error::Error;
use std::io::Write;

use agent::MemoryDevice;
use bulkhead_agent::Serve;
use clap::{Args, Subcommand};

use crate::ending::{Ended, Stop};
use crate::words::{Format, NOTE, aside, examples};
pub(super) use status::policy;

/// Work on this node for the controller, or look at how the agents are
///
/// The agent lets in whoever proves to be the controller, and nobody else. It makes this node hold
/// what it is sent, tells what the node holds, notices when somebody changes it, and keeps the
/// packet program's gate open as long as the controller's lease lasts. It touches no other node.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = examples!(
        "bulkhead agent --listen 10.0.0.1:4647 --identity /etc/bulkhead/identity"
            => "serve the controller, on a leaf or a host",
        "bulkhead agent --listen unix:/tmp/leaf-1.sock --identity bulkhead-ca/nodes/leaf-1 --rehearse"
            => "with a node made of memory: nothing here is touched",
        "bulkhead agent status" => "how all agents are",
        "bulkhead agent status leaf-1 -o json" => "how one of them is, for programs",
    ),
)]
pub(crate) struct Agent {
    #[command(subcommand)]
    ask: Option<Ask>,
    #[command(flatten)]
    serve: Option<Serve>,
    /// Work on a node made of memory: nothing on this machine is touched, nothing is kept
    #[arg(long)]
    rehearse: bool,
}

#[derive(Subcommand)]
enum Ask {
    Status(status::Status),
}

impl Agent {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match (&self.ask, &self.serve) {
            (Some(Ask::Status(status)), _) => status.run(out),
            (None, Some(serve)) if self.rehearse => rehearse(serve, out),
            (None, Some(serve)) => served(serve.run(out)),
            (None, None) => Err(Stop::argument(
                "nothing-asked",
                "an agent needs to know where to listen and who it is".into(),
                "`bulkhead agent --listen ADDRESS --identity DIR`, or `bulkhead agent status`",
            )),
        }
    }

    pub(super) const fn format(&self) -> Format {
        match &self.ask {
            Some(Ask::Status(status)) => status.output.format,
            None => Format::Text,
        }
    }
}

fn rehearse(serve: &Serve, out: &mut dyn Write) -> Result<Ended, Stop> {
    let memory = MemoryDevice::default();
    aside(format_args!("{NOTE}Rehearsing{NOTE:#}: the node is made of memory."));
    served(serve.rehearse((Box::new(memory.node()), Box::new(memory.changes())), out))
}

fn served(ended: Result<(), Box<dyn Error>>) -> Result<Ended, Stop> {
    ended.map(|()| Ended::Done).map_err(Stop::Broken)
}
