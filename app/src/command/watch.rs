//! What happens on the devices, as it happens.

mod concern;
mod post;
mod stranger;

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use agent::{Event, Fleet};
use clap::Args;
use model::{Generation, Name};

use super::Output;
use super::ca::CaFolder;
use crate::documents::Documents;
use crate::draft::Draft;
use crate::ending::{Ended, Stop};
use crate::is_broken_pipe;
use crate::span::Span;
use crate::state::State;
use crate::words::{DIM, Format, GOOD, HEAD, NOTE, aside, examples, plural};
use post::Post;

/// The agents hear so often that the controller lives.
const RENEW: Duration = Duration::from_secs(60);
/// News come in swarms; one judgement serves them all.
const GATHER: Duration = Duration::from_millis(20);

/// Judge what the devices hold, all the time, and tell what is not as it must be
///
/// Agents tell when somebody changes a device behind their backs. Each change is read and judged at
/// once, together with what all others hold: which device, which line, which tenants and jobs it
/// concerns, and what the agent did about it. As long as this runs, the agents' leases are renewed.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead watch cluster.yaml" => "until interrupted",
    "bulkhead watch cluster.yaml --once" => "judge what all devices hold now, and end",
    "bulkhead watch cluster.yaml --for 10s -o json" => "one JSON object a line, for programs";
    "Exit codes: 0 all was as it must be, 1 something was found, 2 broken."
))]
pub(crate) struct Watch {
    #[command(flatten)]
    documents: Documents,
    /// End when every agent was heard and what they hold was judged
    #[arg(long, conflicts_with = "time")]
    once: bool,
    /// End after this time
    #[arg(long = "for", id = "time", value_name = "TIME")]
    time: Option<Span>,
    /// Do not renew the agents' leases: only look
    #[arg(long)]
    only_look: bool,
    #[command(flatten)]
    ca: CaFolder,
    #[command(flatten)]
    state: State,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Something to react to.
enum Sign {
    Agent(Name, Event),
    Interrupted,
}

impl Watch {
    pub(super) const fn is_endless(&self) -> bool {
        !self.once && self.time.is_none()
    }

    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let draft = Draft::new(&self.documents, &self.state)?;
        let agents = self.ca.agents()?;
        let mut post = Post::new(&draft, self.output.format, agents.nodes().map(|(name, _)| name));
        let (tell, signs) = channel();
        listen(&agents, &tell);
        wait_for_interrupt(tell)?;
        if self.output.format == Format::Text {
            let count = plural(agents.nodes().count(), "agent");
            writeln!(out, "{HEAD}Watching{HEAD:#} {count}. {DIM}Interrupt to end.{DIM:#}")?;
            out.flush()?;
        }
        let followed = self.follow(&agents, &mut post, &signs, draft.ledger.generation(), out);
        match followed.and_then(|()| post.write_summary(out).map_err(Stop::from)) {
            // Whoever watched went away; what was found was found all the same.
            Err(Stop::Broken(error)) if is_broken_pipe(&*error) => {}
            ended => ended?,
        }
        Ok(if post.has_found() { Ended::Found } else { Ended::Done })
    }

    fn follow(
        &self,
        agents: &Fleet,
        post: &mut Post<'_>,
        signs: &Receiver<Sign>,
        generation: Generation,
        out: &mut dyn Write,
    ) -> Result<(), Stop> {
        let end = self.time.map(|time| Instant::now() + time.0);
        let mut renew_at = Instant::now();
        loop {
            if !self.only_look && renew_at <= Instant::now() {
                renew(agents, generation);
                renew_at = Instant::now() + RENEW;
            }
            let until = end.map_or(renew_at, |end| end.min(renew_at));
            match signs.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Sign::Agent(name, event)) => post.take(&name, event, out)?,
                Ok(Sign::Interrupted) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Ok(sign) = signs.recv_timeout(GATHER) {
                match sign {
                    Sign::Agent(name, event) => post.take(&name, event, out)?,
                    Sign::Interrupted => return Ok(()),
                }
            }
            if post.heard_all() {
                post.judge(out)?;
            }
            out.flush()?;
            let is_over = end.is_some_and(|end| end <= Instant::now());
            if is_over || (self.once && post.heard_all()) {
                return Ok(());
            }
        }
    }
}

fn listen(agents: &Fleet, tell: &Sender<Sign>) {
    let tell = tell.clone();
    agents.listen(move |name, event| {
        // Nobody listens any more when the command ends.
        let _ = tell.send(Sign::Agent(name.clone(), event));
    });
}

/// An agent that holds another plan, or whose lease is over, is not renewed, and that is told.
fn renew(agents: &Fleet, generation: Generation) {
    for (name, renewed) in agents.renew(generation) {
        // One that does not answer at all is told by those who listen to it.
        if let Err(error @ agent::TalkError::Failed { .. }) = renewed {
            aside(format_args!("{NOTE}{name} is not renewed{NOTE:#}: {error}"));
        }
    }
}

fn wait_for_interrupt(tell: Sender<Sign>) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("interrupt".into()).spawn(move || {
        // Without the signal the command ends as any other does: at once.
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            let _ = tell.send(Sign::Interrupted);
        }
    })?;
    Ok(())
}

/// `nothing` or how many.
fn summary(out: &mut dyn Write, told: usize) -> std::io::Result<()> {
    match told {
        0 => writeln!(out, "{GOOD}All was as it must be.{GOOD:#}"),
        told => writeln!(out, "{NOTE}Told {}.{NOTE:#}", plural(told, "thing")),
    }
}
