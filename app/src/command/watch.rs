//! What happens on the devices, as it happens.

mod post;

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use agent::{Agents, Event, Reached, TalkError};
use apply::Devices as _;
use bulkhead_agent::Span;
use clap::Args;
use control::Journal;
use model::Name;
use observe::Unreachable;
use store::Folder;

use super::Output;
use super::ca::CaFolder;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::is_broken_pipe;
use crate::state::{State, now};
use crate::words::{DIM, Format, GOOD, HEAD, NOTE, aside, examples, plural};
use post::Post;

/// The agents hear so often that the controller lives.
const RENEW: Duration = Duration::from_secs(60);
/// Events come in swarms; one judgement serves them all.
const GATHER: Duration = Duration::from_millis(20);
/// The log is read on so often.
const FOLLOW: Duration = Duration::from_millis(200);
/// A plan that was written down is judged when every device holds it, or after so long.
const SETTLE: Duration = Duration::from_secs(10);
/// Programs hear so often that the watch goes on.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Judge what the devices hold, all the time, and tell what is not as it must be
///
/// Agents tell when somebody changes a device behind their backs. Each change is read and judged at
/// once, together with what all others hold: which device, which line, which tenants and jobs it
/// concerns, and what the agent did about it. It is judged by what was applied last, also after the
/// next `apply`. As long as this runs, the agents' leases are renewed.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead watch" => "until interrupted",
    "bulkhead watch --once" => "judge what all devices hold now, and end",
    "bulkhead watch --for 10s -o json" => "one JSON object a line, for programs";
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
    NotRenewed(Name, String),
    Interrupted,
}

impl Watch {
    pub(super) const fn is_endless(&self) -> bool {
        !self.once && self.time.is_none()
    }

    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut journal = self.state.look()?;
        self.tell_unapplied(&journal)?;
        let draft = journal.in_force(now()).map_err(Stop::no_draft)?;
        let agents = Arc::new(self.ca.agents()?);
        let nodes = agents.nodes().map(|(name, _)| name.clone()).collect();
        let mut post = Post::new(draft, self.output.format, nodes);
        let (tell, signs) = channel();
        listen(&agents, &tell);
        if !self.only_look {
            renew_all_the_time(self.state.look()?, Arc::clone(&agents), tell.clone())?;
        }
        wait_for_interrupt(tell)?;
        if self.output.format == Format::Text {
            let count = plural(agents.nodes().count(), "agent");
            writeln!(out, "{HEAD}Watching{HEAD:#} {count}. {DIM}Interrupt to end.{DIM:#}")?;
            out.flush()?;
        }
        let followed = self.follow(&mut journal, &mut post, &signs, out);
        match followed.and_then(|()| post.write_summary(now(), out).map_err(Stop::from)) {
            // Whoever watched went away; what was found was found all the same.
            Err(Stop::Broken(error)) if is_broken_pipe(&*error) => {}
            ended => ended?,
        }
        Ok(if post.has_found() { Ended::Found } else { Ended::Done })
    }

    /// What is watched is what was applied, whatever these documents ask for.
    fn tell_unapplied(&self, journal: &Journal<Folder>) -> Result<(), Stop> {
        if self.documents.is_empty() {
            return Ok(());
        }
        let draft =
            journal.draft(&self.documents.request(false)?, now()).map_err(Stop::no_draft)?;
        if !draft.repeats() {
            aside(format_args!(
                "{NOTE}Not applied{NOTE:#}: the documents ask for more than the log says. What was \
                 applied is watched; `bulkhead apply` sends the rest."
            ));
        }
        Ok(())
    }

    fn follow(
        &self,
        journal: &mut Journal<Folder>,
        post: &mut Post,
        signs: &Receiver<Sign>,
        out: &mut dyn Write,
    ) -> Result<(), Stop> {
        let end = self.time.map(|time| Instant::now() + time.0);
        let mut beat_at = Instant::now();
        let mut settle_until = Instant::now();
        loop {
            if beat_at <= Instant::now() {
                post.beat(journal.at(), now(), out)?;
                beat_at = Instant::now() + HEARTBEAT;
            }
            let until = Instant::now() + FOLLOW;
            let until = end.map_or(until, |end| end.min(until));
            match signs.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(sign) => {
                    if !take(sign, post, out)? {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Ok(sign) = signs.recv_timeout(GATHER) {
                if !take(sign, post, out)? {
                    return Ok(());
                }
            }
            // Read on before anything is judged: it may be judged by another plan now.
            journal.catch_up()?;
            if post.is_behind(&journal.state_at(now())) {
                post.follow(journal.in_force(now()).map_err(Stop::no_draft)?);
                settle_until = Instant::now() + SETTLE;
                beat_at = Instant::now();
            }
            let is_settled = next::due(journal.state(), now()).is_empty();
            if post.heard_all() && (is_settled || settle_until <= Instant::now()) {
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

/// Whether to go on.
fn take(sign: Sign, post: &mut Post, out: &mut dyn Write) -> Result<bool, Stop> {
    match sign {
        Sign::Agent(name, event) => post.take(&name, event, out)?,
        Sign::NotRenewed(name, why) => {
            aside(format_args!("{NOTE}{name} is not renewed{NOTE:#}: {why}"));
        }
        Sign::Interrupted => return Ok(false),
    }
    Ok(true)
}

fn listen(agents: &Agents, tell: &Sender<Sign>) {
    let tell = tell.clone();
    agents.listen(move |name, event| {
        // Nobody listens any more when the command ends.
        let _ = tell.send(Sign::Agent(name.clone(), event));
    });
}

/// A loop of its own, which nothing that a device says can hold up: each device hears that the
/// controller lives and knows what the log says is in force there. It ends with the watch.
fn renew_all_the_time(
    mut journal: Journal<Folder>,
    agents: Arc<Agents>,
    tell: Sender<Sign>,
) -> Result<(), Stop> {
    thread::Builder::new().name("renew".into()).spawn(move || {
        let mut renew_at = Instant::now();
        loop {
            let is_moved = journal.catch_up().unwrap_or(false);
            if (is_moved || renew_at <= Instant::now())
                && let Ok(draft) = journal.in_force(now())
            {
                let fleet = &draft.intent.fleet;
                let numbered = journal.acknowledged(fleet);
                let renewed = Reached { fleet, agents: &agents }.renew(&numbered);
                for (device, error) in renewed {
                    // One that does not answer at all is told by those who listen to it.
                    let Some(why) = error.err().and_then(refused) else { continue };
                    let name = fleet.device_name(device).clone();
                    if tell.send(Sign::NotRenewed(name, why)).is_err() {
                        return;
                    }
                }
                renew_at = Instant::now() + RENEW;
            }
            thread::sleep(FOLLOW);
        }
    })?;
    Ok(())
}

/// What an agent said that answers and does not do it.
fn refused(error: Unreachable) -> Option<String> {
    let error = error.source.into_inner()?;
    let error = error.downcast::<TalkError>().ok()?;
    matches!(*error, TalkError::Failed { .. }).then(|| error.to_string())
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
        told => writeln!(out, "{NOTE}{}.{NOTE:#}", plural(told, "event")),
    }
}
