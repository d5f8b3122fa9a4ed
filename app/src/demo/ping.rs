//! An echo request, sent by hand: not every machine has a `ping`, and none lies about its tag.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrIn, connect, setsockopt, socket,
    sockopt,
};

/// How long an answer may take between namespaces of one machine.
const PATIENCE: Duration = Duration::from_millis(400);
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const IP_HEADER: usize = 20;

/// Asks once from the namespace of this thread. `mark` is what a tunnel device sends as the tag.
pub(super) fn ping(to: Ipv4Addr, mark: u16) -> io::Result<bool> {
    let (inet, raw) = (AddressFamily::Inet, SockType::Raw);
    let socket: OwnedFd = socket(inet, raw, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
    setsockopt(&socket, sockopt::Mark, &u32::from(mark))?;
    connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(to, 0)))?;
    let mut socket = File::from(socket);
    socket.write_all(&request())?;
    let until = Instant::now() + PATIENCE;
    while is_readable(&socket, until)? {
        let mut packet = [0; 256];
        let len = socket.read(&mut packet)?;
        if packet[..len].get(IP_HEADER) == Some(&ECHO_REPLY) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_readable(socket: &File, until: Instant) -> io::Result<bool> {
    let left = until.saturating_duration_since(Instant::now());
    let mut descriptors = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
    Ok(poll(&mut descriptors, timeout)? > 0)
}

/// Type, code, checksum, identifier, sequence and some data (RFC 792).
fn request() -> [u8; 64] {
    let mut message = [0; 64];
    message[0] = ECHO_REQUEST;
    message[6..8].copy_from_slice(&1_u16.to_be_bytes());
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// The internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(folded as u16 + (folded >> 16) as u16)
}
