//! Many agents at once, seen from the controller.

mod reached;
mod survey;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use model::{DeviceId, Dialect, Name};
use observe::{Held, Holds, Unreachable};
use rustls::ClientConfig;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::{AbortHandle, JoinSet};

use crate::address::Address;
use crate::authority::{Authority, AuthorityError};
use crate::identity::{Identity, IdentityError};
use crate::line::{Line, TalkError};
use crate::message::{Answer, Holding, News, Request, Status};

pub use reached::Reached;
pub use survey::{Fate, SurveyError};

/// So many agents are talked to at once.
const AT_ONCE: usize = 256;
/// A change may take this long: a daemon that restarts, a first plan with all its tunnels.
const CHANGE: Duration = Duration::from_secs(60);
/// Everything else is quick.
const QUICK: Duration = Duration::from_secs(10);
/// An agent that went away is looked for so often.
const AGAIN: Duration = Duration::from_millis(500);

/// The agents that an authority knows. Lines stay open from one question to the next, on the
/// threads of whoever opened them.
pub struct Agents {
    seats: Arc<BTreeMap<Name, Seat>>,
    tls: Arc<ClientConfig>,
    runtime: Handle,
    /// Those who listen.
    ears: Lock<Vec<AbortHandle>>,
}

struct Seat {
    address: Address,
    line: Mutex<Option<Line>>,
}

/// Why the agents cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// There is no authority that knows them.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// We have no identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Our identity is not the controller's.
    #[error("the identity in the folder `controller` is not named so: `ca rotate` makes a new one")]
    NoController,
}

/// What happens at an agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event {
    /// It tells something.
    News(News),
    /// It does not answer.
    Gone(TalkError),
    /// It answers again.
    Back,
}

/// What all agents said about what their nodes hold, at one time.
pub struct AgentsSaid<'a> {
    fleet: &'a model::Fleet,
    /// By node.
    pub held: BTreeMap<Name, Result<Holding, TalkError>>,
}

impl Agents {
    /// The agents of the authority in this folder.
    pub fn open(folder: &Path, runtime: Handle) -> Result<Self, FleetError> {
        let authority = Authority::open(folder)?;
        let identity = Identity::open(&authority.controller())?;
        Self::of(&identity, authority.nodes()?, runtime)
    }

    /// These agents, asked by whoever has this identity.
    pub fn of(
        identity: &Identity,
        addresses: BTreeMap<Name, Address>,
        runtime: Handle,
    ) -> Result<Self, FleetError> {
        if !identity.is_controller() {
            return Err(FleetError::NoController);
        }
        let seat = |address| Seat { address, line: Mutex::new(None) };
        let seats = addresses.into_iter().map(|(name, address)| (name, seat(address)));
        let (seats, tls) = (Arc::new(seats.collect()), identity.client()?);
        Ok(Self { seats, tls, runtime, ears: Lock::default() })
    }

    /// Who they are and where they listen.
    pub fn nodes(&self) -> impl Iterator<Item = (&Name, &Address)> {
        self.seats.iter().map(|(name, seat)| (name, &seat.address))
    }

    /// How all of them are.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<Name, Result<Status, TalkError>> {
        self.ask_all(|| Request::Status, status)
    }

    /// What all of them hold, to be judged.
    #[must_use]
    pub fn look<'a>(&self, fleet: &'a model::Fleet) -> AgentsSaid<'a> {
        AgentsSaid { fleet, held: self.ask_all(|| Request::Held, holding) }
    }

    /// Closes the gate of one node until it is sent something.
    pub fn close(&self, node: &Name) -> Result<(), TalkError> {
        self.ask_one(node, Request::Close, done)
    }

    /// Listens to all agents until the fleet is dropped, and tells each event as it comes.
    pub fn listen(&self, tell: impl Fn(&Name, Event) + Send + Sync + 'static) {
        let tell = Arc::new(tell);
        for name in self.seats.keys() {
            let (name, tell) = (name.clone(), Arc::clone(&tell));
            let (seats, tls) = (Arc::clone(&self.seats), Arc::clone(&self.tls));
            let ear = self.runtime.spawn(async move {
                let mut was_there = true;
                loop {
                    let told = |event| tell(&name, event);
                    let gone = listen_once(&name, &seats, &tls, &told, &mut was_there).await;
                    if std::mem::replace(&mut was_there, false) {
                        tell(&name, Event::Gone(gone));
                    }
                    tokio::time::sleep(AGAIN).await;
                }
            });
            let mut ears = self.ears.lock().unwrap_or_else(PoisonError::into_inner);
            ears.push(ear.abort_handle());
        }
    }

    /// Asks each of these its own question.
    pub(crate) fn answers(
        &self,
        asks: Vec<(Name, Request)>,
    ) -> BTreeMap<Name, Result<Answer, TalkError>> {
        self.runtime.block_on(self.each(asks))
    }

    fn ask_one<T>(
        &self,
        node: &Name,
        request: Request,
        meaning: impl Fn(Answer) -> Option<T>,
    ) -> Result<T, TalkError> {
        let answers = self.answers(vec![(node.clone(), request)]);
        let mut answers = understand(answers, meaning);
        answers.remove(node).unwrap_or_else(|| Err(TalkError::NotEnrolled(node.clone())))
    }

    fn ask_all<T>(
        &self,
        request: impl Fn() -> Request,
        meaning: impl Fn(Answer) -> Option<T>,
    ) -> BTreeMap<Name, Result<T, TalkError>> {
        let asks = self.seats.keys().map(|name| (name.clone(), request())).collect();
        understand(self.answers(asks), meaning)
    }

    /// Asks each of them its own question, many at once.
    async fn each(&self, asks: Vec<(Name, Request)>) -> BTreeMap<Name, Result<Answer, TalkError>> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        let mut talks = JoinSet::new();
        for (name, request) in asks {
            let (seats, tls) = (Arc::clone(&self.seats), Arc::clone(&self.tls));
            let turns = Arc::clone(&turns);
            talks.spawn(async move {
                let _turn = turns.acquire().await;
                let answer = match seats.get(&name) {
                    Some(seat) => seat.ask(&name, &tls, &request).await,
                    None => Err(TalkError::NotEnrolled(name.clone())),
                };
                (name, answer)
            });
        }
        talks.join_all().await.into_iter().collect()
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        let ears = self.ears.get_mut().unwrap_or_else(PoisonError::into_inner);
        ears.iter().for_each(AbortHandle::abort);
    }
}

impl Seat {
    /// Asks over the line that stands, or over a new one. A line may have broken since it was last
    /// used, so that is tried once more: every question can be asked twice.
    async fn ask(
        &self,
        name: &Name,
        tls: &Arc<ClientConfig>,
        request: &Request,
    ) -> Result<Answer, TalkError> {
        let at_most = match request {
            Request::Hold { .. } | Request::Start { .. } | Request::Probe(_) => CHANGE,
            _ => QUICK,
        };
        let mut line = self.line.lock().await;
        if let Some(standing) = line.as_mut() {
            match standing.ask(request, at_most).await {
                Err(TalkError::Broke(_)) => {}
                other => {
                    if matches!(other, Err(TalkError::Late(_))) {
                        *line = None;
                    }
                    return other;
                }
            }
        }
        *line = None;
        let mut fresh = Line::open(name, &self.address, tls).await?;
        let answer = fresh.ask(request, at_most).await;
        if matches!(answer, Ok(_) | Err(TalkError::Failed { .. })) {
            *line = Some(fresh);
        }
        answer
    }
}

async fn listen_once(
    name: &Name,
    seats: &BTreeMap<Name, Seat>,
    tls: &Arc<ClientConfig>,
    tell: &(dyn Fn(Event) + Send + Sync),
    was_there: &mut bool,
) -> TalkError {
    let Some(seat) = seats.get(name) else {
        return TalkError::NotEnrolled(name.clone());
    };
    let mut line = match Line::open(name, &seat.address, tls).await {
        Ok(line) => line,
        Err(error) => return error,
    };
    if let Err(error) = line.subscribe().await {
        return error;
    }
    if !std::mem::replace(was_there, true) {
        tell(Event::Back);
    }
    loop {
        match line.news().await {
            Ok(news) => tell(Event::News(news)),
            Err(error) => return error,
        }
    }
}

/// Takes from each answer what was asked for.
fn understand<T>(
    answers: BTreeMap<Name, Result<Answer, TalkError>>,
    meaning: impl Fn(Answer) -> Option<T>,
) -> BTreeMap<Name, Result<T, TalkError>> {
    let meant = answers.into_iter().map(|(name, answer)| {
        (name, answer.and_then(|answer| meaning(answer).ok_or_else(strange)))
    });
    meant.collect()
}

pub(crate) fn strange() -> TalkError {
    TalkError::Broke("it answers what nobody asked".into())
}

pub(crate) fn status(answer: Answer) -> Option<Status> {
    if let Answer::Status(status) = answer { Some(*status) } else { None }
}

pub(crate) fn holding(answer: Answer) -> Option<Holding> {
    if let Answer::Held(holding) = answer { Some(holding) } else { None }
}

pub(crate) fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

impl Holds for AgentsSaid<'_> {
    fn held(&self, device: DeviceId, dialect: Dialect) -> Result<Option<Held>, Unreachable> {
        let name = self.fleet.device_name(device);
        match self.held.get(name) {
            Some(Ok(holding)) => Ok(holding.in_dialect(dialect)),
            Some(Err(error)) => Err(unreachable(name, error.clone())),
            None => Err(unreachable(name, TalkError::NotEnrolled(name.clone()))),
        }
    }
}

impl Holding {
    /// What is held in this dialect.
    fn in_dialect(&self, dialect: Dialect) -> Option<Held> {
        let (_, text) = self.texts.iter().find(|(known, _)| *known == dialect)?;
        let generation = self.generation.unwrap_or_default();
        Some(Held { generation, text: text.clone() })
    }
}

fn unreachable(device: &Name, error: TalkError) -> Unreachable {
    Unreachable { device: device.clone(), source: io::Error::other(error) }
}
