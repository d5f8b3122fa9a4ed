//! Packets between two workloads: as many as possible, and one after the other.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::lab::{Lab, Workload};

use crate::command::lab::bench::report::{Times, Unit};
use crate::ending::Stop;

const TCP_FOR: Duration = Duration::from_secs(3);
const UDP_FOR: Duration = Duration::from_secs(2);
const THERE_AND_BACK_FOR: Duration = Duration::from_secs(2);
const PAYLOAD: [u8; 64] = [0x42; 64];
/// Who hears nothing for so long stops to listen.
const SILENCE: Duration = Duration::from_millis(300);

/// Sockets in the namespaces of two workloads. They stay there, whoever uses them.
pub(super) struct Ends {
    from: TcpStream,
    to: TcpStream,
    /// Each knows the other.
    udp: [UdpSocket; 2],
}

/// What was measured between them.
pub(super) struct Figures {
    pub(super) tcp_gigabits: f64,
    /// Those that arrived, a second.
    pub(super) udp_packets: f64,
    /// The middle one, and the one that 99 of 100 are not above.
    pub(super) there_and_back_us: [f64; 2],
}

/// Packets that should arrive do not.
#[derive(Debug, thiserror::Error)]
#[error("{from} cannot send to {to}")]
struct Cut {
    from: String,
    to: String,
    source: io::Error,
}

impl Ends {
    pub(super) fn open(lab: &Lab, one: &Workload, other: &Workload) -> Result<Self, Stop> {
        let cut = |source| Cut { from: one.name.clone(), to: other.name.clone(), source };
        let listener = lab.run_in(&other.name, || TcpListener::bind((other.address, 0)))?;
        let listener = listener.map_err(cut)?;
        let door = listener.local_addr().map_err(cut)?;
        let from = lab.run_in(&one.name, || connect(door))?.map_err(cut)?;
        let (to, _) = listener.accept().map_err(cut)?;
        let bind = |end: &Workload| {
            let address = end.address;
            lab.run_in(&end.name, move || UdpSocket::bind((address, 0)))
        };
        let udp = [bind(one)?.map_err(cut)?, bind(other)?.map_err(cut)?];
        introduce(&udp).map_err(cut)?;
        Ok(Self { from, to, udp })
    }

    pub(super) fn measure(self) -> Result<Figures, Stop> {
        let there_and_back = there_and_back(&self.udp)?;
        let udp_packets = small_packets(&self.udp)?;
        let tcp_gigabits = one_stream(self.from, self.to)?;
        Ok(Figures { tcp_gigabits, udp_packets, there_and_back_us: there_and_back })
    }
}

/// The first packet after a change of judges may be lost, and TCP then waits for a second.
fn connect(door: SocketAddr) -> io::Result<TcpStream> {
    const TIMES: usize = 20;
    let mut last = io::Error::from(io::ErrorKind::TimedOut);
    for _ in 0..TIMES {
        match TcpStream::connect_timeout(&door, SILENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn introduce([one, other]: &[UdpSocket; 2]) -> io::Result<()> {
    one.connect(other.local_addr()?)?;
    other.connect(one.local_addr()?)?;
    one.set_read_timeout(Some(SILENCE))?;
    other.set_read_timeout(Some(SILENCE))
}

/// How fast one connection is, in gigabits a second of what arrived.
fn one_stream(mut from: TcpStream, mut to: TcpStream) -> io::Result<f64> {
    const PIECE: usize = 256 << 10;
    let began = Instant::now();
    let sending = thread::spawn(move || {
        let piece = vec![0x42; PIECE];
        while began.elapsed() < TCP_FOR {
            from.write_all(&piece)?;
        }
        io::Result::Ok(())
    });
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        match to.read(&mut piece)? {
            0 => break,
            more => bytes += more,
        }
    }
    let took = began.elapsed().as_secs_f64();
    joined(sending.join())?;
    Ok(bytes as f64 * 8.0 / took / 1e9)
}

/// How many small packets arrive, a second, when one thread sends as many as it can.
fn small_packets([one, other]: &[UdpSocket; 2]) -> io::Result<f64> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut packet = [0; PAYLOAD.len()];
            let mut count = 0_u64;
            loop {
                match other.recv(&mut packet) {
                    Ok(_) => count += 1,
                    Err(_) if is_over.load(Ordering::Relaxed) => return count,
                    Err(_) => {}
                }
            }
        });
        let began = Instant::now();
        while began.elapsed() < UDP_FOR {
            // A full queue is no reason to stop; what is lost is not counted.
            let _ = one.send(&PAYLOAD);
        }
        let took = began.elapsed().as_secs_f64();
        is_over.store(true, Ordering::Relaxed);
        Ok(joined(receiving.join().map(Ok))? as f64 / took)
    })
}

/// How long a small packet takes there and back, in microseconds: p50 and p99.
fn there_and_back([one, other]: &[UdpSocket; 2]) -> io::Result<[f64; 2]> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut packet = [0; PAYLOAD.len()];
            while !is_over.load(Ordering::Relaxed) {
                if other.recv(&mut packet).is_ok() {
                    let _ = other.send(&packet); // who waits for it asks again
                }
            }
        });
        let mut times = Vec::new();
        let mut packet = [0; PAYLOAD.len()];
        let began = Instant::now();
        while began.elapsed() < THERE_AND_BACK_FOR {
            let sent = Instant::now();
            one.send(&PAYLOAD)?;
            if one.recv(&mut packet).is_ok() {
                times.push(sent.elapsed());
            }
        }
        is_over.store(true, Ordering::Relaxed);
        let times = Times::of(times);
        Ok([50, 99].map(|percent| Unit::Microseconds.of(times.percent(percent))))
    })
}

fn joined<T>(ended: thread::Result<io::Result<T>>) -> io::Result<T> {
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread of the bench is gone")))
}
