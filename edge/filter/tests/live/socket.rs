//! Frames as they are, sent and received at one interface.
//!
//! The only unsafe code of these tests: nix gives the address of an interface no other door.
#![allow(unsafe_code, reason = "the address of a packet socket can only be made from raw parts")]

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike as _, bind, recvfrom, send,
    setsockopt, socket, sockopt,
};

use crate::lab::Namespace;

/// A packet socket that sees what arrives at one interface.
pub(crate) struct Socket(OwnedFd);

impl Socket {
    pub(crate) fn on(namespace: &Namespace, interface: &str) -> Self {
        namespace.run(|| {
            let flags = SockFlag::SOCK_CLOEXEC;
            let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).unwrap();
            setsockopt(&socket, sockopt::RcvBufForce, &(64 << 20)).unwrap();
            bind(socket.as_raw_fd(), &all_of(interface)).unwrap();
            Self(socket)
        })
    }

    /// Sends a frame; whether the kernel took it.
    pub(crate) fn send(&self, frame: &[u8]) -> bool {
        send(self.0.as_raw_fd(), frame, MsgFlags::empty()).is_ok()
    }

    /// The next frame that arrives, if one does in time.
    pub(crate) fn receive(&self, within: Duration) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 65_536];
        while self.waits(within) {
            let (len, from) = recvfrom::<LinkAddr>(self.0.as_raw_fd(), &mut bytes).unwrap();
            if from.is_some_and(|from| from.as_ref().sll_pkttype != libc::PACKET_OUTGOING) {
                bytes.truncate(len);
                return Some(bytes);
            }
        }
        None
    }

    fn waits(&self, within: Duration) -> bool {
        let timeout = PollTimeout::try_from(within).unwrap();
        let mut descriptors = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        poll(&mut descriptors, timeout).unwrap() > 0
    }
}

/// Everything that comes to an interface of the calling thread's namespace.
fn all_of(interface: &str) -> LinkAddr {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: filter::interface_index(interface).unwrap() as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the pointer is to a whole address of the kind that its family says, and it is copied.
    unsafe { LinkAddr::from_raw((&raw const address).cast(), None) }.unwrap()
}
