//! The lease by which the filter stays open.

use std::io::Write;
use std::os::fd::AsFd as _;

use bulkhead_agent::Span;
use clap::Args;
use filter::Kernel;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use super::Place;
use crate::ending::{Ended, Stop};
use crate::words::{GOOD, NOTE, examples};

/// Keep the gate open for so long from now on
///
/// The kernel itself closes the gate when the lease ends, whatever became of whoever renewed it.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter renew --lease 30s" => "once",
    "bulkhead filter renew --lease 30s --hold" => "again and again, until interrupted",
))]
pub(crate) struct Renew {
    /// For how long: 500ms, 30s, 15m
    #[arg(long, value_name = "TIME")]
    lease: Span,
    /// Renew it every third of that time, until SIGINT or SIGTERM
    #[arg(long)]
    hold: bool,
    #[command(flatten)]
    place: Place,
}

impl Renew {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let kernel = self.place.open()?;
        let lease = self.lease;
        kernel.renew(lease.0)?;
        if kernel.held()?.is_none() {
            writeln!(
                out,
                "{NOTE}Renewed{NOTE:#} for {lease}, but no policy is in force: nothing of a tenant \
                 passes."
            )?;
        } else {
            writeln!(out, "{GOOD}Open{GOOD:#} for {lease}.")?;
        }
        if self.hold {
            self.hold(&kernel, out)?;
        }
        Ok(Ended::Done)
    }

    fn hold(&self, kernel: &Kernel, out: &mut dyn Write) -> Result<(), Stop> {
        let lease = self.lease;
        let ends = Ends::new()?;
        writeln!(out, "Renewing it every third of that. Interrupt to let it run out.")?;
        out.flush()?;
        while !ends.within(lease)? {
            kernel.renew(lease.0)?;
        }
        writeln!(out, "{NOTE}Interrupted{NOTE:#}: the lease ends by itself, within {lease}.")?;
        Ok(())
    }
}

/// The signals that end this command.
struct Ends(SignalFd);

impl Ends {
    fn new() -> Result<Self, nix::Error> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block()?;
        SignalFd::new(&signals).map(Self)
    }

    /// Waits for a third of the lease, or until one of them comes.
    fn within(&self, lease: Span) -> Result<bool, nix::Error> {
        let third = PollTimeout::try_from(lease.0 / 3).unwrap_or(PollTimeout::MAX);
        let mut descriptors = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut descriptors, third) {
            Ok(count) => Ok(count > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }
}
