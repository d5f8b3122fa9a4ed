//! Packet sockets on the only interface of a workload, and the mark by which frames are known.

use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};

/// What a frame of ours ends with: a word and the place of its sender among the workloads.
pub(crate) const MARK_LEN: usize = 8;
const WORD: &[u8; 4] = b"bhdr";

/// Hears every frame at an interface of this thread's network.
pub(crate) struct Ear(OwnedFd);

impl Ear {
    pub(crate) fn open(interface: &str) -> Self {
        let socket = raw(interface, Some(SockProtocol::EthAll));
        setsockopt(&socket, sockopt::RcvBufForce, &(4 << 20)).unwrap();
        Self(socket)
    }

    /// The frames since the last call.
    pub(crate) fn hear(&self, mut take: impl FnMut(&[u8])) {
        let mut frame = [0; 9216];
        loop {
            match recv(self.0.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
                Ok(len) => take(&frame[..len]),
                // An interface that goes down and up again says so once.
                Err(Errno::ENETDOWN) => {}
                Err(Errno::EAGAIN) => return,
                Err(errno) => panic!("a packet socket does not hear: {errno}"),
            }
        }
    }
}

/// Sends whole frames into an interface of this thread's network.
pub(crate) struct Mouth(OwnedFd);

impl Mouth {
    pub(crate) fn open(interface: &str) -> Self {
        Self(raw(interface, None))
    }

    /// Whether it left.
    pub(crate) fn say(&self, frame: &[u8]) -> bool {
        match send(self.0.as_raw_fd(), frame, MsgFlags::empty()) {
            Ok(_) => true,
            Err(Errno::ENOBUFS | Errno::ENETDOWN | Errno::EAGAIN) => false,
            Err(errno) => panic!("a packet socket does not speak: {errno}"),
        }
    }
}

/// Marks a frame as sent by the workload of this place.
pub(crate) fn mark(mut frame: Vec<u8>, place: usize) -> Vec<u8> {
    let at = frame.len() - MARK_LEN;
    frame[at..at + 4].copy_from_slice(WORD);
    frame[at + 4..].copy_from_slice(&(place as u32).to_be_bytes());
    frame
}

/// Who sent a frame of ours. Messages of ICMP quote what they are about, and are none.
pub(crate) fn sender(frame: &[u8]) -> Option<usize> {
    const ICMP: u8 = 1;
    let mark = frame.get(frame.len().checked_sub(MARK_LEN)?..)?;
    let is_quote = frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&ICMP);
    let place = u32::from_be_bytes([mark[4], mark[5], mark[6], mark[7]]);
    (mark.starts_with(WORD) && !is_quote).then_some(place as usize)
}

fn raw(interface: &str, protocol: Option<SockProtocol>) -> OwnedFd {
    let (family, flags) = (AddressFamily::Packet, SockFlag::SOCK_CLOEXEC);
    let socket = socket(family, SockType::Raw, flags, protocol).unwrap();
    let all = getifaddrs().unwrap();
    let mut named = all.filter(|one| one.interface_name == interface);
    let address: Option<LinkAddr> = named.find_map(|one| one.address?.as_link_addr().copied());
    bind(socket.as_raw_fd(), &address.unwrap()).unwrap();
    socket
}
