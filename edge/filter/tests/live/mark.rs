//! Frames that tell when they were sent and of which kind they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wire::forge::ForgedPacket;

use crate::lab::{Namespace, address, mac, now_ns};
use crate::socket::Socket;

/// The service that marked frames go to.
const SERVICE: u16 = 7777;
/// Bytes of a mark: when, which kind, and that it is one.
const MARK: usize = 20;
const MAGIC: [u8; 4] = *b"mark";

/// A marked frame that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) kind: u64,
    /// Taken before it was sent.
    pub(crate) sent_ns: u64,
    /// Taken after it arrived.
    pub(crate) seen_ns: u64,
}

/// A packet from one workload to another with room for a mark at its end.
pub(crate) fn packet(from: u8, to: u8) -> ForgedPacket {
    ForgedPacket::udp(address(from), address(to), SERVICE, SERVICE, MARK)
}

/// What a workload sends to another over a bridge.
pub(crate) fn bridged(from: u8, to: u8) -> Vec<u8> {
    packet(from, to).ethernet(mac(from), mac(to)).into_bytes()
}

/// Sends a frame with a mark at its end; tells when.
pub(crate) fn send(socket: &Socket, frame: &mut [u8], kind: u64) -> u64 {
    let sent_ns = now_ns();
    let at = frame.len() - MARK;
    frame[at..at + 4].copy_from_slice(&MAGIC);
    frame[at + 4..at + 12].copy_from_slice(&kind.to_le_bytes());
    frame[at + 12..].copy_from_slice(&sent_ns.to_le_bytes());
    socket.send(frame);
    sent_ns
}

/// The next marked frame that arrives in time.
pub(crate) fn next(socket: &Socket, within: Duration) -> Option<Seen> {
    loop {
        let frame = socket.receive(within)?;
        if let Some(seen) = read(&frame) {
            return Some(seen);
        }
    }
}

/// All marked frames that arrive at an interface until somebody says it is enough.
pub(crate) fn collect(namespace: &Namespace, interface: &str, enough: &AtomicBool) -> Vec<Seen> {
    let socket = Socket::on(namespace, interface);
    let mut all = Vec::new();
    loop {
        let done = enough.load(Ordering::SeqCst);
        while let Some(seen) = next(&socket, Duration::from_millis(if done { 200 } else { 5 })) {
            all.push(seen);
        }
        if done {
            return all;
        }
    }
}

fn read(frame: &[u8]) -> Option<Seen> {
    let mark = frame.get(frame.len().checked_sub(MARK)?..)?;
    let number = |at: usize| mark.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let seen = Seen { kind: number(4)?, sent_ns: number(12)?, seen_ns: now_ns() };
    (mark[..4] == MAGIC).then_some(seen)
}
