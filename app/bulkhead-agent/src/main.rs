//! The agent of one node, and nothing else: what is installed on leaves and hosts.
//!
//! Takes: arguments. Gives: an agent until somebody ends it, and an exit code: 0 done, 2 broken, 64
//! wrong usage. Never: thinks.

use std::io;
use std::process::ExitCode;

use bulkhead_agent::{Serve, chain};
use clap::Parser;

/// Works on this node for the controller
///
/// The agent lets in whoever proves to be the controller, and nobody else. It makes this node hold
/// what it is sent, tells what the node holds, notices when somebody changes it, and keeps the
/// packet program's gate open as long as the controller's lease lasts. It touches no other node.
#[derive(Parser)]
#[command(
    name = "bulkhead-agent",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  bulkhead-agent --listen 10.0.0.1:4647 --identity /etc/bulkhead/identity\n      \
                  serve the controller, on a leaf or a host\n\n\
                  Exit codes: 0 done, 2 broken, 64 wrong usage."
)]
struct Arguments {
    #[command(flatten)]
    serve: Serve,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => {
            // Nobody is left to be told when this cannot be printed.
            let _ = usage.print();
            return if usage.use_stderr() { ExitCode::from(64) } else { ExitCode::SUCCESS };
        }
    };
    match arguments.serve.run(&mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Broken: {}", chain(&*error));
            ExitCode::from(2)
        }
    }
}
