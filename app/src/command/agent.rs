//! The agent of this machine, and a look at the others.

mod status;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use agent::{Address, Changes, Identity, Memory, Station, Terms};
use apply::{Linux, Node, NodeError};
use clap::{Args, Subcommand};
use observe::{Backing, Place, Trouble, Vrfs, Watch};
use tokio::signal::unix::{SignalKind, signal};

use crate::ending::{Ended, Stop};
use crate::span::Span;
use crate::words::{Format, GOOD, NAME, NOTE, examples};
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
}

#[derive(Subcommand)]
enum Ask {
    Status(status::Status),
}

/// How to serve.
#[derive(Args)]
struct Serve {
    /// Where to listen: unix:/path/to/socket, or ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,
    /// The folder with this node's name, certificate and key, and its authority
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// The folder of the routing daemons' sockets
    #[arg(long, value_name = "DIR", default_value = "/run/frr")]
    frr: PathBuf,
    /// Where the kernel keeps the packet program, below /sys/fs/bpf
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/bpf/bulkhead")]
    filter: PathBuf,
    /// What VRFs are made of: `devices` or `namespaces` [default: devices where the kernel makes
    /// them, unless zebra runs with -n]
    #[arg(long, value_name = "KIND")]
    vrfs: Option<Backing>,
    /// The folder of the VRFs' network namespaces, if they are made of those
    #[arg(long, value_name = "DIR", default_value = "/run/netns")]
    namespaces: PathBuf,
    /// Where to keep what was sent
    #[arg(long, value_name = "DIR", default_value = "/var/lib/bulkhead/node")]
    state: PathBuf,
    /// For how long the gate stays open without a word from the controller
    #[arg(long, value_name = "TIME", default_value = "15m")]
    lease: Span,
    /// Work on a node made of memory: nothing on this machine is touched, nothing is kept
    #[arg(long)]
    rehearse: bool,
}

/// This node cannot be worked on.
#[derive(Debug, thiserror::Error)]
#[error("cannot work on this node: run as root, with FRR running")]
struct NoNode(#[source] NodeError);

/// What the kernel and the routing daemons tell.
struct Told(Watch);

impl Agent {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match (&self.ask, &self.serve) {
            (Some(Ask::Status(status)), _) => status.run(out),
            (None, Some(serve)) => serve.run(out),
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

/// A node, and who tells of its changes.
type Watched = (Box<dyn Node>, Box<dyn Changes>);

impl Serve {
    fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let identity = Identity::open(&self.identity)?;
        let terms = Terms { lease: self.lease.0, state: self.own_state(), ..Terms::default() };
        let place = if self.rehearse { None } else { Some(self.place()?) };
        let (node, changes) = node(place.clone())?;
        let mut agent = agent::Agent::open(identity, node, Some(changes), terms)?;
        if let Some(place) = place {
            agent = agent.with_station(Station::new(place));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = self.listen.listen().await?;
            let (name, address) = (agent.name(), listener.address()?);
            say(
                out,
                format_args!("{GOOD}Ready{GOOD:#}: {NAME}{name}{NAME:#} listens at {address}."),
            );
            if self.rehearse {
                let said = format_args!("{NOTE}Rehearsing{NOTE:#}: the node is made of memory.");
                say(out, said);
            }
            agent::serve(listener, agent, ended()?).await
        })?;
        let said = "the gate stays open for a moment, for a successor.";
        say(out, format_args!("{NOTE}Ended{NOTE:#}: {said}"));
        Ok(Ended::Done)
    }

    fn place(&self) -> Result<Place, Trouble> {
        let backing = match self.vrfs {
            Some(backing) => backing.made_here()?,
            None => Backing::of_node(&self.frr)?,
        };
        Ok(Place {
            frr: self.frr.clone(),
            filter: self.filter.clone(),
            vrfs: match backing {
                Backing::Devices => Vrfs::Devices,
                Backing::Namespaces => Vrfs::Namespaces(self.namespaces.clone()),
            },
            state: self.state.clone(),
        })
    }

    fn own_state(&self) -> Option<PathBuf> {
        (!self.rehearse).then(|| self.state.join("agent"))
    }
}

/// The node of a place, or one made of memory.
fn node(place: Option<Place>) -> Result<Watched, Stop> {
    let Some(place) = place else {
        let memory = Memory::default();
        return Ok((Box::new(memory.node()), Box::new(memory.changes())));
    };
    let watch = Watch::begin(&place)?;
    Ok((Box::new(Linux::open(place).map_err(NoNode)?), Box::new(Told(watch))))
}

/// Says a line at once. An agent outlives whoever reads its words.
fn say(out: &mut dyn Write, line: fmt::Arguments<'_>) {
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Waits for SIGINT or SIGTERM.
fn ended() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

impl Changes for Told {
    fn next(&mut self, at_most: Duration) -> Result<bool, NodeError> {
        let blind = |error: observe::Trouble| NodeError::at("watch", &error);
        self.0.next(at_most).map_err(blind)
    }
}
