//! The node's side: sends probes through the node's ports, and hears those of all nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use apply::with_causes;
use filter::{DropEvent, Ear, Events, Kernel, Mark, Prober};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use observe::{Found, Place, Spaces, run_inside};
use wire::{FlowTransport, Spoken, Tables};

use super::frame::{self, Sender};
use super::{Dropped, Heard, ProbeRequest, Sounded, Sounding};

/// More probes are asked for in several words.
pub(crate) const MOST: usize = 4096;
/// Of drops of one job the packet program tells 32 in an eighth of a second: fewer are sent, so that
/// none of them ends without a word.
const AT_ONCE: usize = 24;
const PAUSE: Duration = Duration::from_millis(140);
/// Ears cost every packet of the node a look, so they close when nobody asks any more.
const IDLE: Duration = Duration::from_secs(30);
/// How often a listener that hears nothing looks whether it is still needed.
const TURN: Duration = Duration::from_millis(100);

/// Where a node's agent sends and hears probes. One run at a time.
pub struct Station {
    place: Place,
    run: Mutex<Option<Run>>,
}

struct Run {
    id: u64,
    prober: Prober,
    kernel: Kernel,
    spaces: Spaces,
    found: Found,
    notes: Arc<Notes>,
}

/// What the listening thread and whoever asks it share. It ends when it is told to, or forgotten.
struct Notes {
    heard: Mutex<Heard>,
    last_word: Mutex<Instant>,
    is_over: AtomicBool,
}

/// A probe that is ready to be sent.
struct Ready {
    number: u32,
    vrf: Option<String>,
    interface: u32,
    tag: u16,
    frame: Vec<u8>,
}

impl Station {
    /// The one of the node where the calling process is.
    #[must_use]
    pub fn new(place: Place) -> Self {
        Self { place, run: Mutex::new(None) }
    }

    pub(crate) fn answer(&self, sounding: Sounding) -> Result<Sounded, String> {
        let mut run = lock(&self.run);
        match sounding {
            Sounding::Listen { run: id } => {
                if let Some(other) = run.as_ref().filter(|run| run.id != id && run.is_alive()) {
                    return Err(format!(
                        "another test of connectivity is under way here (run {:016x}): wait until \
                         it ends; one that was broken off is forgotten after {} s",
                        other.id,
                        IDLE.as_secs()
                    ));
                }
                *run = Some(Run::begin(id, &self.place)?);
                Ok(Sounded::Done)
            }
            Sounding::Send { run: id, asks } => {
                Ok(Sounded::Sent { unsent: known(&mut run, id)?.send(&asks)? })
            }
            Sounding::Heard { run: id } => {
                let run = known(&mut run, id)?;
                Ok(Sounded::Heard(std::mem::take(&mut *lock(&run.notes.heard))))
            }
            Sounding::End { run: id } => {
                run.take_if(|run| run.id == id);
                Ok(Sounded::Done)
            }
        }
    }
}

/// The run with this number, which lives on.
fn known(run: &mut Option<Run>, id: u64) -> Result<&mut Run, String> {
    let known = run.as_mut().filter(|run| run.id == id && run.is_alive());
    let known = known.ok_or("this run is not known here, or ended: begin again")?;
    *lock(&known.notes.last_word) = Instant::now();
    Ok(known)
}

impl Run {
    /// Opens an ear in every namespace with ports before it is said that one listens.
    fn begin(id: u64, place: &Place) -> Result<Self, String> {
        let mut spaces = Spaces::open(place).map_err(said)?;
        let found = spaces.look().map_err(said)?;
        let kernel = Kernel::open(&place.filter).map_err(said)?;
        let mut prober = Prober::load().map_err(said)?;
        let vrfs: Vec<String> = spaces.vrfs().map(str::to_owned).collect();
        let mut ears = Vec::new();
        for vrf in vrfs.iter().map(String::as_str) {
            let ports: BTreeMap<u32, String> =
                found.ports(vrf).map(|(name, index)| (index, name.to_owned())).collect();
            if let Some(namespace) = spaces.namespace(Some(vrf)).filter(|_| !ports.is_empty()) {
                let ear = run_inside(namespace, || prober.ear()).map_err(said)?.map_err(said)?;
                ears.push((ear, ports));
            }
        }
        let events = kernel.events().map_err(said)?;
        let notes = Arc::new(Notes {
            heard: Mutex::default(),
            last_word: Mutex::new(Instant::now()),
            is_over: AtomicBool::new(false),
        });
        let standing = kernel.attached().map_err(said)?;
        let named = |(_, index): (String, u32)| Some((index, found.name(index)?));
        let names = standing.into_iter().filter_map(named).collect();
        let listener = Listener { run: id, ears, events, names, notes: Arc::clone(&notes) };
        let thread = thread::Builder::new().name("probes".into());
        thread.spawn(move || listener.listen()).map_err(said)?;
        Ok(Self { id, prober, kernel, spaces, found, notes })
    }

    fn is_alive(&self) -> bool {
        !self.notes.is_over.load(Ordering::Relaxed)
    }

    /// Sends what may be sent; says of the rest why not.
    fn send(&mut self, asks: &[(u32, ProbeRequest)]) -> Result<Vec<(u32, String)>, String> {
        if asks.len() > MOST {
            return Err(format!("{} probes at once are refused: at most {MOST}", asks.len()));
        }
        let held = self.kernel.held().map_err(said)?;
        let held = held.ok_or("no table is in force here: apply first")?;
        let mut unsent = Vec::new();
        let mut waiting = Vec::new();
        for (number, ask) in asks {
            match self.ready(*number, ask, Tables::new(&held)) {
                Ok(ready) => waiting.push(ready),
                Err(why) => unsent.push((*number, why)),
            }
        }
        while !waiting.is_empty() {
            let (now, later) = round(waiting);
            unsent.extend(self.send_round(&now)?);
            *lock(&self.notes.last_word) = Instant::now();
            if !later.is_empty() {
                thread::sleep(PAUSE);
            }
            waiting = later;
        }
        Ok(unsent)
    }

    /// The frame of a probe, from the endpoint that the packet program knows behind the port. What
    /// nobody would judge is not sent.
    fn ready(&self, number: u32, ask: &ProbeRequest, tables: Tables<'_>) -> Result<Ready, String> {
        if let Some(why) = frame::refused(ask) {
            return Err(why);
        }
        let port = &ask.port;
        let (vrf, interface) =
            self.found.interface(port).ok_or_else(|| format!("there is no port {port} here"))?;
        if !self.found.judged(vrf, &["workload"], interface) {
            return Err(format!(
                "the packet program does not stand at {port}: nothing is sent there"
            ));
        }
        let broken = |_| "the table in force contradicts itself".to_owned();
        let place = tables.port_of(interface).map_err(broken)?;
        let place = place.ok_or_else(|| format!("the table knows no endpoint behind {port}"))?;
        let seat = tables.port(place).map_err(broken)?;
        let space = tables.space(seat.space).map_err(broken)?;
        let tenant = u16::try_from(space.number).unwrap_or_default();
        let sender = Sender { mac: seat.mac, address: seat.address, tenant };
        let frame = frame::frame(sender, ask, Mark { run: self.id, number });
        Ok(Ready { number, vrf: vrf.map(str::to_owned), interface, tag: seat.tag, frame })
    }

    fn send_round(&mut self, ready: &[Ready]) -> Result<Vec<(u32, String)>, String> {
        let mut unsent = Vec::new();
        let vrfs: BTreeSet<Option<&str>> = ready.iter().map(|one| one.vrf.as_deref()).collect();
        for vrf in vrfs {
            let Some(namespace) = self.spaces.namespace(vrf) else { continue };
            let prober = &mut self.prober;
            let sent = run_inside(namespace, || {
                let here = ready.iter().filter(|one| one.vrf.as_deref() == vrf);
                let sent = here.map(|one| (one.number, prober.send(one.interface, &one.frame)));
                sent.filter_map(|(number, sent)| Some((number, said(sent.err()?)))).collect()
            });
            unsent.extend::<Vec<(u32, String)>>(sent.map_err(said)?);
        }
        Ok(unsent)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.notes.is_over.store(true, Ordering::Relaxed);
    }
}

/// So many of each job that each drop is told, and the rest.
fn round(waiting: Vec<Ready>) -> (Vec<Ready>, Vec<Ready>) {
    let mut sent: BTreeMap<u16, usize> = BTreeMap::new();
    waiting.into_iter().partition(|ready| {
        let sent = sent.entry(ready.tag).or_default();
        *sent += 1;
        *sent <= AT_ONCE
    })
}

/// The thread that hears.
struct Listener {
    run: u64,
    /// Each with the ports of its namespace.
    ears: Vec<(Ear, BTreeMap<u32, String>)>,
    events: Events,
    /// What interfaces are called where frames are dropped.
    names: BTreeMap<u32, String>,
    notes: Arc<Notes>,
}

impl Listener {
    fn listen(mut self) {
        while !self.is_over() {
            self.wait();
            self.hear();
        }
        self.notes.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.notes.is_over.load(Ordering::Relaxed) || lock(&self.notes.last_word).elapsed() > IDLE
    }

    /// Waits for something to hear. What cannot be waited for is looked at in turns.
    fn wait(&self) {
        let mut fds: Vec<PollFd<'_>> =
            self.ears.iter().map(|(ear, _)| PollFd::new(ear.as_fd(), PollFlags::POLLIN)).collect();
        fds.push(PollFd::new(self.events.as_fd(), PollFlags::POLLIN));
        let turn = PollTimeout::try_from(TURN).unwrap_or(PollTimeout::ZERO);
        if poll(&mut fds, turn).is_err() {
            thread::sleep(TURN);
        }
    }

    fn hear(&mut self) {
        for (ear, ports) in &self.ears {
            // One that hears nothing more leaves its probes unaccounted for, and that is told.
            while let Ok(Some((interface, mark))) = ear.take() {
                if let Some(port) = ports.get(&interface).filter(|_| mark.run == self.run) {
                    lock(&self.notes.heard).arrived.push((mark.number, port.clone()));
                }
            }
        }
        while let Some(event) = self.events.take() {
            if let Some(mark) = Mark::of(&event.bytes).filter(|mark| mark.run == self.run) {
                let dropped = self.dropped(&event);
                lock(&self.notes.heard).dropped.push((mark.number, dropped));
            }
        }
    }

    fn dropped(&self, event: &DropEvent) -> Dropped {
        let named = self.names.get(&event.interface).cloned();
        let port = named.unwrap_or_else(|| format!("interface {}", event.interface));
        if is_word_about(event) {
            return Dropped {
                hook: "route".to_owned(),
                port,
                reason: "unroutable".to_owned(),
                meaning: "The device knows no way to that address.".to_owned(),
                source: 0,
                destination: event.destination,
            };
        }
        Dropped {
            hook: event.hook.to_string(),
            port,
            reason: event.reason.to_string(),
            meaning: event.reason.meaning().to_owned(),
            source: event.source,
            destination: event.destination,
        }
    }
}

/// Whether the frame is no probe but what a router says about one, with the probe at its end: that
/// it cannot go on (RFC 792, RFC 4443). Such words do not reach workloads either.
fn is_word_about(event: &DropEvent) -> bool {
    let Some(Spoken::Packet(packet)) = wire::flow(event.hook, &event.bytes).spoken else {
        return false;
    };
    let FlowTransport::Icmp { kind, .. } = packet.service else { return false };
    match packet.source {
        IpAddr::V4(_) => matches!(kind, 3 | 5 | 11 | 12),
        IpAddr::V6(_) => matches!(kind, 1..=4 | 137),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn said(error: impl Error) -> String {
    with_causes(&error)
}
