//! What `bulkhead-agent` and `bulkhead agent` both do: serve the controller on this node.
//!
//! Takes: where to listen, who the node is, where its parts are. Gives: an agent until somebody
//! ends it. Never: commands another one; says who is who.

mod span;

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use agent::{Address, Agent, AgentTerms, Changes, Identity, Station};
use apply::{Linux, ManagedNode, NodeError};
use clap::Args;
use observe::{Backing, Place, Trouble, Vrfs, Watch};
use tokio::signal::unix::{SignalKind, signal};

pub use span::{NotASpan, Span};

/// How to serve.
#[derive(Args, Debug)]
pub struct Serve {
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
}

/// A node, and who tells of its changes.
pub type Watched = (Box<dyn ManagedNode>, Box<dyn Changes>);

/// This node cannot be worked on.
#[derive(Debug, thiserror::Error)]
#[error("cannot work on this node: run as root, with FRR running")]
struct NoNode(#[source] NodeError);

/// What the kernel and the routing daemons tell.
struct Told(Watch);

impl Serve {
    /// Serves until SIGINT or SIGTERM, on this machine.
    pub fn run(&self, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
        let identity = Identity::open(&self.identity)?;
        let place = self.place()?;
        let changes = Box::new(Told(Watch::begin(&place)?));
        let node = Box::new(Linux::open(place.clone()).map_err(NoNode)?);
        let terms = self.terms(Some(self.state.join("agent")));
        let agent = Agent::open(identity, node, Some(changes), terms)?;
        self.serve(agent.with_station(Station::new(place)), out)
    }

    /// Serves with another node in place of this machine. Nothing is kept.
    pub fn rehearse(
        &self,
        (node, changes): Watched,
        out: &mut dyn Write,
    ) -> Result<(), Box<dyn Error>> {
        let identity = Identity::open(&self.identity)?;
        self.serve(Agent::open(identity, node, Some(changes), self.terms(None))?, out)
    }

    fn terms(&self, state: Option<PathBuf>) -> AgentTerms {
        AgentTerms { lease: self.lease.0, state, ..AgentTerms::default() }
    }

    fn serve(&self, agent: Agent, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = self.listen.listen().await?;
            let (name, address) = (agent.name(), listener.address()?);
            say(out, format_args!("Ready: {name} listens at {address}."));
            agent::serve(listener, agent, ended()?).await
        })?;
        say(out, format_args!("Ended: the gate stays open for a moment, for a successor."));
        Ok(())
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
        let blind = |error: Trouble| NodeError::at("watch", &error);
        self.0.next(at_most).map_err(blind)
    }
}

/// An error with its causes. Each says only its own part, so the chain is a sentence.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
