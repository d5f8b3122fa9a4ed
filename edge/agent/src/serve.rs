//! The agent's door: lets the controller in, and nobody else.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apply::{Gate, ManagedNode};
use model::Name;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::address::{Listener, Stream};
use crate::identity::{CONTROLLER, Identity, IdentityError, is_named};
use crate::keeper::{AgentTerms, Changes, Desk};
use crate::message::{Answer, Greeting, News, Request, Status, VERSION, hear, say};
use crate::probe::{Sounding, Station};
use crate::record::now_ms;

/// Whoever has not proved its name by then is sent away.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// So many may be proving their names at once.
const HANDSHAKES: usize = 64;
/// A controller that asks nothing for so long must come again.
const IDLE: Duration = Duration::from_secs(600);

/// One node's agent.
pub struct Agent {
    name: Name,
    identity: Mutex<(Identity, Arc<ServerConfig>)>,
    desk: Desk,
    station: Option<Arc<Station>>,
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It does not know who it is.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// It is somebody, but no node.
    #[error("this identity is not that of a node: `ca enroll NAME` makes one")]
    NoNode,
    /// What an agent before it wrote down cannot be read.
    #[error("cannot go on where the agent before ended")]
    State(#[from] io::Error),
}

impl Agent {
    /// Begins to work on the node, first with what was begun and not finished; it can be asked
    /// once it is served.
    pub fn open(
        identity: Identity,
        node: Box<dyn ManagedNode>,
        changes: Option<Box<dyn Changes>>,
        terms: AgentTerms,
    ) -> Result<Self, AgentError> {
        let name = identity.node().ok_or(AgentError::NoNode)?;
        let server = identity.server()?;
        let desk = Desk::open(&name, node, changes, terms)?;
        Ok(Self { name, identity: Mutex::new((identity, server)), desk, station: None })
    }

    /// The same agent, which also sends and hears probes.
    #[must_use]
    pub fn with_station(mut self, station: Station) -> Self {
        self.station = Some(Arc::new(station));
        self
    }

    /// The node it works on.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// How to prove the name: with the newest certificate, so that a rotation needs no restart.
    /// As long as the new files are not complete, the old ones do.
    fn server(&self) -> Arc<ServerConfig> {
        let mut held = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        if held.0.is_outdated()
            && let Ok(identity) = Identity::open(held.0.folder())
            && identity.node().as_ref() == Some(&self.name)
            && let Ok(server) = identity.server()
        {
            *held = (identity, server);
        }
        Arc::clone(&held.1)
    }
}

/// Serves the controller until told to stop.
pub async fn serve(
    listener: Listener,
    agent: Agent,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    /// After an error of the machine, such as too many open files.
    const PAUSE: Duration = Duration::from_millis(100);
    let agent = Arc::new(agent);
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    let mut sessions = tokio::task::JoinSet::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => return Ok(()),
            stream = listener.accept() => stream,
            Some(_) = sessions.join_next() => continue,
        };
        let Ok(stream) = stream else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (agent, handshakes) = (Arc::clone(&agent), Arc::clone(&handshakes));
        sessions.spawn(async move {
            // Whoever goes away, is not believed or talks nonsense ends its own session only.
            let _ = session(&agent, stream, &handshakes).await;
        });
    }
}

async fn session(agent: &Agent, stream: Box<dyn Stream>, handshakes: &Semaphore) -> io::Result<()> {
    let mut stream = {
        let _turn = handshakes.acquire().await.map_err(io::Error::other)?;
        timeout(HANDSHAKE, TlsAcceptor::from(agent.server()).accept(stream)).await??
    };
    if let Err(why) = may_command(&stream) {
        return say(&mut stream, &Greeting::Refused { why }).await;
    }
    say(&mut stream, &Greeting::Welcome { version: VERSION, node: agent.name.clone() }).await?;
    while let Some(request) = timeout(IDLE, hear(&mut stream)).await?? {
        let answer = match request {
            Request::Subscribe => return tell_news(agent, &mut stream).await,
            Request::Probe(what) => agent.probe(what).await,
            request => agent.desk.ask(request).await,
        };
        say(&mut stream, &answer).await?;
    }
    Ok(())
}

/// A certificate of our authority is not enough: only the controller commands.
fn may_command(stream: &TlsStream<Box<dyn Stream>>) -> Result<(), String> {
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    commands(chain.first())
}

fn commands(certificate: Option<&CertificateDer<'_>>) -> Result<(), String> {
    let certificate = certificate.ok_or("no certificate was shown")?;
    is_named(certificate, CONTROLLER).map_err(|error| {
        format!("only the certificate named `{CONTROLLER}` may command an agent: {error}")
    })
}

/// Tells all news, first what is held and what is wrong now. A listener that is too slow is left,
/// and comes back to a fresh beginning.
async fn tell_news(agent: &Agent, stream: &mut TlsStream<Box<dyn Stream>>) -> io::Result<()> {
    let mut news = agent.desk.listen();
    match agent.desk.ask(Request::Held).await {
        Answer::Held(holding) => tell(stream, News::Held(holding)).await?,
        Answer::Failed { step, said } => {
            let said = format!("{step}: {said}");
            tell(stream, News::ObservationFailed { at_ms: now_ms(), said }).await?;
        }
        _ => return Ok(()),
    }
    if let Answer::Status(status) = agent.desk.ask(Request::Status).await {
        for news in wrong_now(&status) {
            tell(stream, news).await?;
        }
    }
    loop {
        let mut sign = [0; 1];
        let next = tokio::select! {
            next = news.recv() => next,
            // Nothing more is expected from the listener but that it goes away.
            _ = tokio::io::AsyncReadExt::read(stream, &mut sign) => return Ok(()),
        };
        match next {
            Ok(news) => tell(stream, news).await?,
            Err(RecvError::Lagged(_) | RecvError::Closed) => return Ok(()),
        }
    }
}

fn wrong_now(status: &Status) -> Vec<News> {
    let mut news = Vec::new();
    if let (Some(generation), false) = (status.generation, status.drift.is_empty()) {
        news.push(News::Drift {
            generation,
            at_ms: now_ms(),
            differences: status.drift.clone(),
            on_drift: status.on_drift,
        });
    }
    if status.gate != Gate::Open {
        news.push(News::Gate(status.gate));
    }
    news
}

async fn tell(stream: &mut TlsStream<Box<dyn Stream>>, news: News) -> io::Result<()> {
    say(stream, &Answer::News(news)).await
}

impl Agent {
    /// A probe does not need the node's thread: it may take its time.
    async fn probe(&self, sounding: Sounding) -> Answer {
        let failed = |said: String| Answer::Failed { step: "probe".into(), said };
        let Some(station) = self.station.clone() else {
            return failed("this agent's node is made of memory and has no ports".into());
        };
        match tokio::task::spawn_blocking(move || station.answer(sounding)).await {
            Ok(Ok(sounded)) => Answer::Probed(sounded),
            Ok(Err(said)) => failed(said),
            Err(error) => failed(error.to_string()),
        }
    }
}
