//! The one thread that works on the node: whoever asks, waits for its turn.

mod drift;
mod trial;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use apply::{Admitted, Gate, ManagedNode, NodeError, NotAdmitted, Offer, OnDrift};
use model::{Dialect, Epoch, Generation, Name};
use tokio::sync::{broadcast, oneshot, watch};

use crate::message::{Answer, Counters, Holding, News, Request, Status};
use crate::record::{Record, Span, now_ms};
use drift::Drift;

/// So much news may wait for a slow listener before it must begin anew.
const NEWS_WAITING: usize = 256;
/// The gate is kept open for so long while the thread is busy with a change.
const WORK: Duration = Duration::from_secs(15);
/// The gate stays open for so long when an agent ends in peace: its successor takes over.
const HANDOVER: Duration = Duration::from_secs(10);
/// Changes come in swarms; one look serves them all.
const GATHER: Duration = Duration::from_millis(20);
/// Between holding and starting nobody looks for drift: what we did ourselves is half done.
const QUIET: Duration = Duration::from_secs(1);
/// A cable tells a little after its port was opened that it carries.
const SETTLE: Duration = Duration::from_millis(500);
/// How often an idle thread that nobody asks looks whether it is still needed.
const TURN: Duration = Duration::from_millis(250);

/// For how long things hold.
#[derive(Clone, Debug)]
pub struct AgentTerms {
    /// After each word of the controller the node may keep its gate open for so long.
    pub lease: Duration,
    /// The packet program closes the gate when nobody renewed it for so long.
    pub gate: Duration,
    /// Even if nothing seems to change, what the node holds is looked at so often.
    pub look_every: Duration,
    /// Where the agent keeps what it must know after it was killed; none to forget it.
    pub state: Option<PathBuf>,
}

impl Default for AgentTerms {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15 * 60),
            gate: Duration::from_secs(3),
            look_every: Duration::from_secs(10),
            state: None,
        }
    }
}

/// Tells that something on the node may have changed.
pub trait Changes: Send {
    /// Waits until something may have changed, or that time is over. Whether something did.
    fn next(&mut self, at_most: Duration) -> Result<bool, NodeError>;
}

/// The way to the thread. It ends when nobody has one any more.
#[derive(Clone)]
pub(crate) struct Desk {
    work: Arc<Sender<Work>>,
    status: watch::Receiver<Status>,
    news: broadcast::Sender<News>,
}

enum Work {
    Ask(Request, oneshot::Sender<Answer>),
    Changed,
    Blind(NodeError),
}

struct Keeper {
    name: Name,
    node: Box<dyn ManagedNode>,
    terms: AgentTerms,
    record: Record,
    gate: Gate,
    drift: Drift,
    counters: Counters,
    lease_until: Instant,
    trial_until: Option<Instant>,
    renew_at: Instant,
    look_at: Instant,
    quiet_until: Instant,
    settle_until: Instant,
    status: watch::Sender<Status>,
    news: broadcast::Sender<News>,
}

impl Desk {
    /// Begins to work on a node, first with what was begun and not finished.
    pub(crate) fn open(
        name: &Name,
        node: Box<dyn ManagedNode>,
        changes: Option<Box<dyn Changes>>,
        terms: AgentTerms,
    ) -> io::Result<Self> {
        let record = match &terms.state {
            Some(folder) => Record::open(folder)?,
            None => Record::default(),
        };
        let (status, status_seen) = watch::channel(first_status(name));
        let news = broadcast::channel(NEWS_WAITING).0;
        let (asks, work) = mpsc::channel();
        let keeper = Keeper::new(name.clone(), node, terms, record, status, news.clone());
        keeper.publish();
        named(format!("node {name}")).spawn(move || keeper.run(&work))?;
        let asks = Arc::new(asks);
        if let Some(changes) = changes {
            let told = Arc::downgrade(&asks);
            named(format!("watch {name}")).spawn(move || watch(changes, &told))?;
        }
        Ok(Self { work: asks, status: status_seen, news })
    }

    /// Asks, and waits for the turn. Only how the node is can be told without waiting.
    pub(crate) async fn ask(&self, request: Request) -> Answer {
        if matches!(request, Request::Status) {
            return Answer::Status(Box::new(self.status.borrow().clone()));
        }
        let (reply, answer) = oneshot::channel();
        let gone = || Answer::Failed {
            step: "agent".into(),
            said: "its working thread is gone: restart the agent".into(),
        };
        if self.work.send(Work::Ask(request, reply)).is_err() {
            return gone();
        }
        answer.await.unwrap_or_else(|_| gone())
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }
}

/// A thread whose name tells what it does; a thousand of them must fit into one process.
fn named(name: String) -> thread::Builder {
    const STACK_BYTES: usize = 2 << 20;
    thread::Builder::new().name(name).stack_size(STACK_BYTES)
}

fn first_status(node: &Name) -> Status {
    Status {
        node: node.clone(),
        epoch: Epoch::default(),
        generation: None,
        digest: None,
        went_back_to: None,
        started: false,
        gate: Gate::Empty,
        on_drift: OnDrift::default(),
        drift: Vec::new(),
        trouble: None,
        doing: None,
        lease_until_ms: 0,
        confirm_until_ms: None,
    }
}

/// Hands on what changes, as long as anybody has use for it.
fn watch(mut changes: Box<dyn Changes>, told: &Weak<Sender<Work>>) {
    loop {
        let next = changes.next(TURN);
        let Some(told) = told.upgrade() else { return };
        // A watch that fails is a blind spot: it is told, and looked at again in a while.
        let work = match next {
            Ok(false) => continue,
            Ok(true) => Work::Changed,
            Err(error) => {
                thread::sleep(TURN);
                Work::Blind(error)
            }
        };
        if told.send(work).is_err() {
            return;
        }
        drop(told);
        // What comes now belongs to the same swarm, and is looked at together.
        thread::sleep(GATHER);
    }
}

impl Keeper {
    fn new(
        name: Name,
        node: Box<dyn ManagedNode>,
        terms: AgentTerms,
        record: Record,
        status: watch::Sender<Status>,
        news: broadcast::Sender<News>,
    ) -> Self {
        let now = Instant::now();
        let left = record.lease.left(now_ms()).min(terms.lease);
        let gate = match record.shut {
            _ if node.sent().is_none() => Gate::Empty,
            Some(shut) => shut,
            None if left.is_zero() => Gate::LeaseOver,
            None => Gate::Open,
        };
        let trial_until = record.trial.as_ref().map(|trial| now + trial.time.left(now_ms()));
        Self {
            name,
            node,
            gate,
            drift: Drift::default(),
            counters: Counters::default(),
            lease_until: now + left,
            trial_until,
            renew_at: now,
            look_at: now,
            quiet_until: now,
            settle_until: now,
            terms,
            record,
            status,
            news,
        }
    }

    fn run(mut self, work: &Receiver<Work>) {
        self.pick_up();
        loop {
            let wait = self.next_due().saturating_duration_since(Instant::now());
            let first = match work.recv_timeout(wait) {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.hand_over(),
            };
            // Whoever asks comes before our own errands, except that the gate stays open.
            for work in first.into_iter().chain(work.try_iter()) {
                self.take(work);
                self.renew_if_due();
            }
            self.do_errands();
        }
    }

    /// Goes on where the agent before ended: finishes what was begun, and keeps closed what was
    /// closed.
    fn pick_up(&mut self) {
        let Some(sent) = self.node.sent().cloned() else {
            return;
        };
        let made = self.make(&sent).and_then(|_| self.start_again(&sent));
        match made {
            Ok(()) => self.turn_gate(self.gate),
            Err(error) => self.fault(&error),
        }
    }

    fn take(&mut self, work: Work) {
        match work {
            Work::Ask(request, reply) => {
                let answer = self
                    .answer(request)
                    .unwrap_or_else(|error| Answer::Failed { step: error.step, said: error.said });
                self.publish();
                // Whoever asked may have gone away meanwhile.
                let _ = reply.send(answer);
            }
            Work::Changed => self.look_at = self.look_at.min(Instant::now() + GATHER),
            Work::Blind(error) => self.blind(&error),
        }
    }

    fn answer(&mut self, request: Request) -> Result<Answer, NodeError> {
        match request {
            Request::Hold { offer, on_drift, confirm_within_ms } => {
                let within = confirm_within_ms.map(Duration::from_millis);
                self.admit(offer, on_drift, within)
            }
            Request::Start { epoch, generation } => self.start(epoch, generation),
            Request::Confirm { epoch, generation } => self.confirm(epoch, generation),
            Request::Renew { epoch, generation } => self.renew_lease(epoch, generation),
            Request::Close => {
                self.turn_gate(Gate::Told);
                Ok(Answer::Done)
            }
            Request::Held => {
                let generation = self.node.sent().map(Admitted::generation);
                let texts = self.node.held()?;
                Ok(Answer::Held(Holding { generation, texts }))
            }
            Request::Counted => Ok(Answer::Counted(self.node.counted()?.into())),
            Request::Status | Request::Subscribe | Request::Probe(_) => {
                unreachable!("these are answered without the node")
            }
        }
    }

    /// Nothing is done about what is not admitted: whoever comes late is told so.
    fn admit(
        &mut self,
        offer: Offer,
        on_drift: OnDrift,
        within: Option<Duration>,
    ) -> Result<Answer, NodeError> {
        match offer.admit(&self.name, self.node.sent()) {
            Ok(sent) => self.hold(&sent, on_drift, within),
            Err(NotAdmitted::Late { epoch, generation }) => Ok(Answer::Stale { epoch, generation }),
            Err(NotAdmitted::Lacks(parts)) => Ok(Answer::Lacks { parts }),
            Err(why) => Err(refused("admit", &why.to_string())),
        }
    }

    fn hold(
        &mut self,
        sent: &Admitted,
        on_drift: OnDrift,
        within: Option<Duration>,
    ) -> Result<Answer, NodeError> {
        self.grant_lease();
        let before = self.record.clone();
        self.record.trial = within.map(|within| self.trial(sent.generation(), within));
        self.trial_until = within.map(|within| Instant::now() + within);
        self.record.on_drift = on_drift;
        self.record.went_back_to = None;
        self.record.shut = None;
        // A longer lease alone is written down when the plan starts: without it the gate would only
        // close earlier.
        if self.record != before {
            self.save();
        }
        let made = self.make(sent);
        self.drift = Drift::default();
        self.quiet_until = Instant::now() + QUIET;
        match made {
            Ok(changed) => {
                self.turn_gate(Gate::Open);
                Ok(Answer::Kept { changed })
            }
            Err(error) => {
                self.fault(&error);
                Err(error)
            }
        }
    }

    fn start(&mut self, epoch: Epoch, generation: Generation) -> Result<Answer, NodeError> {
        self.insist_on(epoch, generation, "start")?;
        if self.gate == Gate::Fault {
            return Err(refused("start", "it could not hold this plan: apply it again"));
        }
        self.grant_lease();
        self.node.start(generation)?;
        self.record.started = Some(generation);
        self.save();
        let now = Instant::now();
        self.quiet_until = now;
        self.settle_until = now + SETTLE;
        self.look_at = now + GATHER;
        Ok(Answer::Done)
    }

    /// A lease that ended is not renewed: what this node holds may have been given to others since.
    fn renew_lease(&mut self, epoch: Epoch, generation: Generation) -> Result<Answer, NodeError> {
        self.insist_on(epoch, generation, "renew")?;
        if self.gate == Gate::LeaseOver {
            let said =
                "the lease is over and the gate is closed: apply, to send it what it may hold";
            return Err(refused("renew", said));
        }
        self.grant_lease();
        self.save();
        Ok(Answer::Done)
    }

    fn insist_on(&self, epoch: Epoch, generation: Generation, step: &str) -> Result<(), NodeError> {
        match self.node.sent() {
            Some(sent) if (sent.epoch(), sent.generation()) == (epoch, generation) => Ok(()),
            Some(sent) if sent.epoch() != epoch => {
                let ours = sent.epoch();
                let said = format!(
                    "it was sent something of the log's epoch {ours}, not {epoch}: apply again"
                );
                Err(refused(step, &said))
            }
            Some(sent) => {
                let ours = sent.generation();
                let said = format!("it was sent generation {ours}, not {generation}: apply again");
                Err(refused(step, &said))
            }
            None => Err(refused(step, "it was never sent anything: apply first")),
        }
    }

    /// Makes the node hold this. One thread does all, so the gate gets time enough for a long
    /// change before.
    fn make(&mut self, sent: &Admitted) -> Result<Vec<Dialect>, NodeError> {
        if self.gate == Gate::Open {
            self.node.renew(WORK.min(self.lease_left()))?;
        }
        let status = &self.status;
        let mut step = |name: &str| {
            status.send_modify(|status| status.doing = Some(name.to_owned()));
        };
        let made = self.node.hold(sent, &mut step);
        self.status.send_modify(|status| status.doing = None);
        self.renew_at = Instant::now();
        made
    }

    /// Opens the ports of a plan that was started before.
    fn start_again(&mut self, sent: &Admitted) -> Result<(), NodeError> {
        if self.record.started == Some(sent.generation()) {
            self.node.start(sent.generation())?;
        }
        Ok(())
    }

    fn do_errands(&mut self) {
        let now = Instant::now();
        if self.gate == Gate::Open && self.lease_until <= now {
            self.turn_gate(Gate::LeaseOver);
        }
        if self.trial_until.is_some_and(|until| until <= now) {
            self.go_back();
        }
        if self.renew_at <= now {
            self.renew_if_due();
            self.tell_counters();
        }
        if self.look_at.max(self.quiet_until) <= now {
            self.look();
        }
        self.publish();
    }

    fn next_due(&self) -> Instant {
        let look = self.look_at.max(self.quiet_until);
        let due = look.min(self.renew_at);
        let due = if self.gate == Gate::Open { due.min(self.lease_until) } else { due };
        self.trial_until.map_or(due, |until| due.min(until))
    }

    fn renew_if_due(&mut self) {
        let now = Instant::now();
        if self.renew_at > now {
            return;
        }
        self.renew_at = now + self.terms.gate / 3;
        if self.gate == Gate::Open && now < self.lease_until {
            let renewed = self.node.renew(self.terms.gate.min(self.lease_left()));
            self.note(renewed);
        }
    }

    /// A node that cannot hold what it was sent is closed, and tried again later. One that must
    /// stay closed anyway does.
    fn fault(&mut self, error: &NodeError) {
        self.drift.trouble = Some(error.to_string());
        self.turn_gate(self.record.shut.unwrap_or(Gate::Fault));
        self.look_at = Instant::now() + self.terms.look_every;
    }

    /// Opens or closes the gate, and keeps in mind why.
    fn turn_gate(&mut self, gate: Gate) {
        let stays = matches!(gate, Gate::Told | Gate::Quarantine | Gate::Empty);
        let shut = stays.then_some(gate);
        if self.record.shut != shut {
            self.record.shut = shut;
            self.save();
        }
        let turned = if gate == Gate::Open {
            self.renew_at = Instant::now() + self.terms.gate / 3;
            self.node.renew(self.terms.gate.min(self.lease_left()))
        } else {
            self.node.close()
        };
        // Whoever hears of it may rely on it.
        if self.gate != gate {
            self.gate = gate;
            self.tell(News::Gate(gate));
        }
        self.note(turned);
        self.publish();
    }

    fn grant_lease(&mut self) {
        self.lease_until = Instant::now() + self.terms.lease;
        self.record.lease = Span::new(now_ms(), self.terms.lease);
    }

    fn lease_left(&self) -> Duration {
        self.lease_until.saturating_duration_since(Instant::now())
    }

    fn tell_counters(&mut self) {
        if self.news.receiver_count() == 0 {
            return;
        }
        if let Ok(counted) = self.node.counted() {
            let counters = Counters::from(counted);
            if counters != self.counters {
                self.counters = counters.clone();
                self.tell(News::Counted(counters));
            }
        }
    }

    /// Tells everybody who listens; if nobody does, nothing is lost.
    fn tell(&self, news: News) {
        let _ = self.news.send(news);
    }

    fn note(&mut self, done: Result<(), NodeError>) {
        if let Err(error) = done {
            self.drift.trouble = Some(error.to_string());
        }
    }

    fn save(&mut self) {
        if let Some(folder) = &self.terms.state
            && let Err(error) = self.record.save(folder)
        {
            let trouble = format!("cannot write into {}: {error}", folder.display());
            self.drift.trouble = Some(trouble);
        }
    }

    fn publish(&self) {
        let sent = self.node.sent().map(Admitted::generation);
        let number = self.node.sent().map(|sent| (sent.epoch(), sent.digest()));
        self.status.send_modify(|status| {
            status.epoch = number.map(|(epoch, _)| epoch).unwrap_or_default();
            status.generation = sent;
            status.digest = number.map(|(_, digest)| digest);
            status.went_back_to = self.record.went_back_to;
            status.started = sent.is_some() && self.record.started == sent;
            status.gate = self.gate;
            status.on_drift = self.record.on_drift;
            status.drift.clone_from(&self.drift.seen);
            status.trouble.clone_from(&self.drift.trouble);
            status.lease_until_ms = self.record.lease.until_ms;
            status.confirm_until_ms = self.record.trial.as_ref().map(|trial| trial.time.until_ms);
        });
    }

    /// The next agent finds the gate open if it comes soon.
    fn hand_over(&mut self) {
        if self.gate == Gate::Open {
            // Nobody is left to be told: the gate then closes a little earlier.
            let _ = self.node.renew(HANDOVER.min(self.lease_left()));
        }
    }
}

fn refused(step: &str, said: &str) -> NodeError {
    NodeError { step: step.to_owned(), said: said.to_owned() }
}
