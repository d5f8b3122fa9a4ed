//! One thread that asks everything and hears everything.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::booth::{Booth, Ear, begin, port, send_echo, take};
use super::packet::{TOKEN_LEN, Token, echo, read_echo, read_roce, roce};
use super::{Family, Probe, ProbeWay, Seen};
use crate::lab::Lab;
use crate::workload::Workload;
use crate::{LabTrouble, namespace};

/// How long a forbidden probe is waited for.
const FORBIDDEN: Duration = Duration::from_millis(1000);
/// How long a probe that must pass is waited for.
const ALLOWED: Duration = Duration::from_secs(6);
/// What was not answered is asked again after this: a datagram may be lost while its receiver is
/// looked for.
const AGAIN: Duration = Duration::from_millis(400);
/// Nobody is asked so often that the queues between namespaces overflow.
const BURST: usize = 32;
/// So many connections are begun at once at most.
const WAVE: usize = 4000;

/// Asks all probes, in waves that the limit of open files allows.
pub(super) fn ask(lab: &Lab, probes: &[Probe]) -> Result<Vec<Seen>, LabTrouble> {
    let wave = allow_files();
    let mut seen = Vec::with_capacity(probes.len());
    let mut rest = probes;
    while !rest.is_empty() {
        let is_tcp = |probe: &Probe| matches!(probe.way, ProbeWay::Tcp(_));
        let mut connections = 0;
        let fits = rest.iter().take_while(|probe| {
            connections += usize::from(is_tcp(probe));
            connections <= wave
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        seen.extend(Pump::open(lab, now)?.run()?);
        rest = later;
    }
    Ok(seen)
}

/// Raises the limit of open files as far as it goes, and says how many connections that allows.
fn allow_files() -> usize {
    const OTHERS: u64 = 1024;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return BURST;
    };
    let soft = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    usize::try_from(soft.saturating_sub(OTHERS) / 2).unwrap_or(WAVE).clamp(BURST, WAVE)
}

struct Pump<'a> {
    lab: &'a Lab,
    workloads: BTreeMap<&'a str, usize>,
    probes: &'a [Probe],
    seen: Vec<Seen>,
    run: u32,
    poll: Epoll,
    /// Each with the workload it is of. A connection that ended leaves its place empty.
    ears: Vec<Option<(usize, Ear)>>,
    /// Where the sockets of a workload begin in the list of ears.
    booths: BTreeMap<(usize, Family), usize>,
}

impl<'a> Pump<'a> {
    fn open(lab: &'a Lab, probes: &'a [Probe]) -> Result<Self, LabTrouble> {
        let workloads = lab.workloads().iter().map(|one| one.name.as_str());
        let workloads = workloads.enumerate().map(|(place, name)| (name, place)).collect();
        let poll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
            .map_err(LabTrouble::kernel("wait for answers"))?;
        let seen = probes.iter().map(Seen::nothing).collect();
        // Packets of an earlier run that are still on their way are not ours.
        let run = std::process::id() ^ nonce();
        let (ears, booths) = (Vec::new(), BTreeMap::new());
        let mut pump = Self { lab, workloads, probes, seen, run, poll, ears, booths };
        pump.open_booths()?;
        Ok(pump)
    }

    fn open_booths(&mut self) -> Result<(), LabTrouble> {
        let ways: BTreeSet<ProbeWay> = self.probes.iter().map(|probe| probe.way).collect();
        let ways: Vec<ProbeWay> = ways.into_iter().collect();
        let named = self.probes.iter().flat_map(|probe| [&probe.from, &probe.to]);
        let named: BTreeSet<usize> =
            named.map(|name| self.place(name)).collect::<Result<_, _>>()?;
        for place in named {
            let workload = &self.lab.workloads()[place];
            for family in [Family::V4, Family::V6] {
                let address = workload.address_in(family);
                let booth = self.within(workload, || Booth::open(address, &ways))?;
                self.booths.insert((place, family), self.ears.len());
                for ear in booth.ears {
                    self.add(place, ear, EpollFlags::EPOLLIN)?;
                }
            }
        }
        Ok(())
    }

    fn run(mut self) -> Result<Vec<Seen>, LabTrouble> {
        let begin = Instant::now();
        let mut asked = Instant::now();
        self.ask_all(true)?;
        loop {
            self.hear(Duration::from_millis(20))?;
            let passed = begin.elapsed();
            let mut waiting = self.seen.iter().filter(|seen| seen.probe.expected);
            let done = waiting.all(|seen| seen.arrived && seen.answered);
            if (done && passed >= FORBIDDEN) || passed >= ALLOWED {
                return Ok(self.seen);
            }
            if asked.elapsed() >= AGAIN {
                asked = Instant::now();
                self.ask_all(false)?;
            }
        }
    }

    /// Asks everything that was not answered. Connections ask again by themselves.
    fn ask_all(&mut self, first: bool) -> Result<(), LabTrouble> {
        if first {
            self.begin_connections()?;
        }
        for number in 0..self.probes.len() {
            let probe = &self.probes[number];
            if self.seen[number].answered || matches!(probe.way, ProbeWay::Tcp(_)) {
                continue;
            }
            // A datagram that cannot even be sent does not arrive, and that is what is asked.
            let _ = self.send(number, probe);
            if number % BURST == 0 {
                self.hear(Duration::ZERO)?;
            }
        }
        Ok(())
    }

    fn begin_connections(&mut self) -> Result<(), LabTrouble> {
        let mut of: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (number, probe) in (0_u32..).zip(self.probes) {
            if matches!(probe.way, ProbeWay::Tcp(_)) {
                of.entry(self.place(&probe.from)?).or_default().push(number);
            }
        }
        for (place, numbers) in of {
            let from = &self.lab.workloads()[place];
            let spots: Vec<_> = numbers
                .into_iter()
                .map(|number| {
                    let probe = &self.probes[number as usize];
                    let own = from.address_in(probe.family);
                    self.target(probe).map(|to| (number, own, to))
                })
                .collect::<Result<_, _>>()?;
            let begun = self.within(from, || {
                Ok(spots
                    .iter()
                    .map(|&(number, own, to)| (number, begin(own, to)))
                    .collect::<Vec<_>>())
            })?;
            for (number, stream) in begun {
                // One that is refused at once was not met.
                if let Ok(stream) = stream {
                    self.add(place, Ear::Asking(stream, number), EpollFlags::EPOLLOUT)?;
                }
            }
            self.hear(Duration::ZERO)?;
        }
        Ok(())
    }

    fn send(&self, number: usize, probe: &Probe) -> io::Result<()> {
        let Some(&from) = self.workloads.get(probe.from.as_str()) else {
            return Ok(());
        };
        let Some(&booth) = self.booths.get(&(from, probe.family)) else {
            return Ok(());
        };
        let Ok(to) = self.target(probe) else {
            return Ok(());
        };
        let token = Token { run: self.run, answers: false, probe: number as u32 };
        let ear = |at: usize| self.ears.get(booth + at).and_then(Option::as_ref);
        match (probe.way, ear(0), ear(1)) {
            (ProbeWay::Icmp, Some((_, Ear::Echo(socket))), _) => {
                send_echo(socket, to.ip(), &echo(probe.family == Family::V6, token))
            }
            (ProbeWay::Udp(_), _, Some((_, Ear::Answer(socket)))) => {
                socket.send_to(&token.bytes(), to).map(drop)
            }
            (ProbeWay::Roce, _, Some((_, Ear::Answer(socket)))) => {
                socket.send_to(&roce(token), to).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Hears what there is to hear, and waits at most so long for it.
    fn hear(&mut self, at_most: Duration) -> Result<(), LabTrouble> {
        let mut events = [EpollEvent::empty(); 256];
        let timeout = EpollTimeout::try_from(at_most).unwrap_or(EpollTimeout::ZERO);
        let count = match self.poll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(LabTrouble::kernel("wait for answers")(error)),
        };
        for event in &events[..count] {
            let at = event.data() as usize;
            if let Some((place, ear)) = self.ears.get_mut(at).and_then(Option::take) {
                let kept = self.hear_one(at, place, ear);
                self.ears[at] = kept.map(|ear| (place, ear));
            }
        }
        Ok(())
    }

    /// Hears one socket, and gives it back unless it is done.
    fn hear_one(&mut self, at: usize, place: usize, ear: Ear) -> Option<Ear> {
        match ear {
            Ear::Echo(socket) => {
                self.hear_echoes(place, &socket);
                Some(Ear::Echo(socket))
            }
            Ear::Answer(socket) => {
                self.hear_datagrams(place, &socket, Token::read, |_, _| {});
                Some(Ear::Answer(socket))
            }
            Ear::Datagram(socket) => {
                self.hear_datagrams(place, &socket, Token::read, |token, to| {
                    let _ = socket.send_to(&token.answer().bytes(), to);
                });
                Some(Ear::Datagram(socket))
            }
            Ear::Roce(socket) => {
                self.hear_datagrams(place, &socket, read_roce, |token, to| {
                    let to = SocketAddr::new(to.ip(), port(ProbeWay::Roce));
                    let _ = socket.send_to(&roce(token.answer()), to);
                });
                Some(Ear::Roce(socket))
            }
            Ear::Listener(listener) => {
                while let Ok((stream, _)) = listener.accept() {
                    if stream.set_nonblocking(true).is_ok() {
                        // One that cannot be served is not answered, and so is told.
                        let _ = self.add(place, Ear::Accepted(stream), EpollFlags::EPOLLIN);
                    }
                }
                Some(Ear::Listener(listener))
            }
            Ear::Accepted(stream) => self.hear_accepted(place, stream),
            Ear::Asking(stream, number) => self.hear_asking(at, place, stream, number),
        }
    }

    fn hear_echoes(&mut self, place: usize, socket: &OwnedFd) {
        let mut packet = [0; 256];
        while let Some(len) = take(socket, &mut packet) {
            // Only IPv4 gives its own header along, and that begins with its version.
            let is_v6 = packet[0] >> 4 != 4;
            if let Some(token) = read_echo(is_v6, &packet[..len]) {
                self.note(place, token);
            }
        }
    }

    fn hear_datagrams(
        &mut self,
        place: usize,
        socket: &UdpSocket,
        read: fn(&[u8]) -> Option<Token>,
        answer: impl Fn(Token, SocketAddr),
    ) {
        let mut packet = [0; 256];
        while let Ok((len, from)) = socket.recv_from(&mut packet) {
            if let Some(token) = read(&packet[..len]) {
                self.note(place, token);
                if !token.answers {
                    answer(token, from);
                }
            }
        }
    }

    fn hear_accepted(&mut self, place: usize, mut stream: TcpStream) -> Option<Ear> {
        let mut bytes = [0; TOKEN_LEN];
        match stream.read(&mut bytes) {
            Ok(len) => {
                let token = Token::read(&bytes[..len])?;
                self.note(place, token);
                // So few bytes always fit into an empty buffer.
                let _ = stream.write_all(&token.answer().bytes());
                Some(Ear::Accepted(stream))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(Ear::Accepted(stream)),
            Err(_) => None,
        }
    }

    fn hear_asking(
        &mut self,
        at: usize,
        place: usize,
        mut stream: TcpStream,
        number: u32,
    ) -> Option<Ear> {
        let mut bytes = [0; TOKEN_LEN];
        match stream.read(&mut bytes) {
            Ok(len) => {
                self.note(place, Token::read(&bytes[..len])?);
                None
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let token = Token { run: self.run, answers: false, probe: number };
                stream.write_all(&token.bytes()).ok()?;
                let mut event = EpollEvent::new(EpollFlags::EPOLLIN, at as u64);
                self.poll.modify(&stream, &mut event).ok()?;
                Some(Ear::Asking(stream, number))
            }
            Err(_) => None,
        }
    }

    /// Somebody saw a token.
    fn note(&mut self, place: usize, token: Token) {
        let number = token.probe as usize;
        if token.run != self.run || number >= self.seen.len() {
            return;
        }
        let seer = &self.lab.workloads()[place];
        let probe = &self.probes[number];
        if token.answers {
            self.seen[number].answered |= seer.name == probe.from;
        } else if seer.name == probe.to {
            self.seen[number].arrived = true;
        } else if seer.name == probe.from || self.may_see(probe, seer) {
            self.seen[number].instead = Some(seer.name.clone());
        } else {
            self.seen[number].astray = Some(seer.name.clone());
        }
    }

    /// Whether one that was not meant may see a probe: it has the address that was meant, and may
    /// be asked by the one who did.
    fn may_see(&self, probe: &Probe, seer: &Workload) -> bool {
        let from = self.workloads.get(probe.from.as_str());
        from.is_some_and(|&from| {
            let from = &self.lab.workloads()[from];
            self.lab.crowd().may_meet(from, seer, probe.way)
        })
    }

    fn add(&mut self, place: usize, ear: Ear, flags: EpollFlags) -> Result<(), LabTrouble> {
        let event = EpollEvent::new(flags, self.ears.len() as u64);
        self.poll.add(ear.fd(), event).map_err(LabTrouble::kernel("listen for answers"))?;
        self.ears.push(Some((place, ear)));
        Ok(())
    }

    fn target(&self, probe: &Probe) -> Result<SocketAddr, LabTrouble> {
        let to = &self.lab.workloads()[self.place(&probe.to)?];
        Ok(SocketAddr::new(to.address_in(probe.family), port(probe.way)))
    }

    fn place(&self, name: &str) -> Result<usize, LabTrouble> {
        self.workloads.get(name).copied().ok_or_else(|| LabTrouble::Unknown {
            wanted: name.to_owned(),
            known: self.workloads.keys().copied().collect::<Vec<_>>().join(", "),
        })
    }

    fn within<T: Send>(
        &self,
        workload: &Workload,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<T, LabTrouble> {
        let path = self.lab.namespace_of(&workload.name)?;
        let doing = || format!("open sockets in {}", workload.name);
        namespace::within(&path, || {
            work().map_err(|source| LabTrouble::Kernel { doing: doing(), source })
        })
    }
}

/// Differs from one run of a process to the next.
fn nonce() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static RUNS: AtomicU32 = AtomicU32::new(0);
    RUNS.fetch_add(1, Ordering::Relaxed) << 22
}
