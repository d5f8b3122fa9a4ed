//! Frames sent as a workload would send them, and heard on their way to one.
//!
//! A probe enters at a port as if the workload behind it had sent it: whatever judges that port
//! judges it, and neither the workload nor its namespace is entered.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use aya::programs::{SocketFilter, TestRun as _, TestRunAttrs, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use nix::sys::socket::sockopt::RcvBuf;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket,
};

use crate::Fault;
use crate::kernel::{found, map_call, program};

/// The compiled programs; `cargo xtask object` makes them and `cargo xtask test` compares them.
const OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/probe.o");

/// No probe is longer than what the packet program tells of a frame it drops.
const LONGEST: usize = 192;
/// Probes that wait to be heard take so much of the kernel's memory at most.
const WAITING_BYTES: usize = 4 << 20;

/// What a probe ends with: who asked, and which question it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Mark {
    /// Differs from one run to the next.
    pub run: u64,
    /// Which probe of the run.
    pub number: u32,
}

impl Mark {
    /// How many bytes it has.
    pub const LEN: usize = 24;
    /// What it begins with.
    const WORD: u64 = 0x9f6e_3b52_c1d8_a407;

    /// As it stands at the end of a frame. The last four bytes are where a RoCEv2 packet has its
    /// checksum, and are no checksum.
    #[must_use]
    pub fn bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&Self::WORD.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.run.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// The mark at the end of a frame, if it has one.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = frame.last_chunk()?;
        let (word, rest) = bytes.split_first_chunk()?;
        let (run, rest) = rest.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        (u64::from_be_bytes(*word) == Self::WORD)
            .then_some(Self { run: u64::from_be_bytes(*run), number: u32::from_be_bytes(*number) })
    }
}

/// The two programs: they are attached to nothing, and gone when this is.
pub struct Prober(Ebpf);

/// Hears probes that leave through an interface of one namespace.
pub struct Ear(OwnedFd);

impl Prober {
    /// Loads them.
    pub fn load() -> Result<Self, Fault> {
        let mut object = EbpfLoader::new().load(OBJECT).map_err(Fault::load)?;
        let enter: &mut Xdp = found(&mut object, "enter")?;
        enter.load().map_err(program("enter"))?;
        let marked: &mut SocketFilter = found(&mut object, "marked")?;
        marked.load().map_err(program("marked"))?;
        Ok(Self(object))
    }

    /// Lets this frame enter at an interface of the calling thread's namespace, as if it had been
    /// received there.
    pub fn send(&mut self, interface: u32, frame: &[u8]) -> Result<(), Fault> {
        // `struct xdp_md`: where the frame ends, and where it was received.
        let mut context = [0; 24];
        context[4..8].copy_from_slice(&(frame.len() as u32).to_ne_bytes()); // a few dozen
        context[12..16].copy_from_slice(&interface.to_ne_bytes());
        let enter: &mut Xdp = found(&mut self.0, "enter")?;
        let options = TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(&context),
            attrs: TestRunAttrs::new().xdp_live_frames(1),
            ..TestRunOptions::default()
        };
        enter.test_run(options).map(drop).map_err(program("enter"))
    }

    /// Begins to hear in the namespace of the calling thread.
    pub fn ear(&mut self) -> Result<Ear, Fault> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let opened =
            socket(AddressFamily::Packet, SockType::Raw, flags, Some(SockProtocol::EthAll));
        let socket = opened.map_err(|errno| Fault::Deaf { source: errno.into() })?;
        let marked: &mut SocketFilter = found(&mut self.0, "marked")?;
        marked.attach(&socket).map_err(program("marked"))?;
        setsockopt(&socket, RcvBuf, &WAITING_BYTES).map_err(|errno| call(errno.into()))?;
        Ok(Ear(socket))
    }
}

impl Ear {
    /// The next probe that left through an interface with this number, if one is there.
    pub fn take(&self) -> Result<Option<(u32, Mark)>, Fault> {
        let mut frame = [0; LONGEST];
        loop {
            match recvfrom::<LinkAddr>(self.0.as_raw_fd(), &mut frame) {
                Ok((len, Some(from))) => {
                    let interface = u32::try_from(from.ifindex()).unwrap_or_default();
                    // What came before the program stood at the socket has no mark.
                    if let Some(mark) = frame.get(..len).and_then(Mark::of) {
                        return Ok(Some((interface, mark)));
                    }
                }
                Ok((_, None)) | Err(nix::Error::EINTR) => {}
                Err(nix::Error::EAGAIN) => return Ok(None),
                // An interface that goes down ends nothing.
                Err(nix::Error::ENETDOWN) => {}
                Err(errno) => return Err(call(errno.into())),
            }
        }
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn call(source: io::Error) -> Fault {
    map_call("probe")(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_at_the_end_of_a_frame_and_nowhere_else() {
        let mark = Mark { run: 0x0102_0304_0506_0708, number: 70_000 };
        let frame = [&[0xaa; 50][..], &mark.bytes()].concat();
        assert_eq!(Mark::of(&frame), Some(mark));
        assert_eq!(Mark::of(&frame[..frame.len() - 1]), None);
        assert_eq!(Mark::of(&mark.bytes()[1..]), None);
        assert_eq!(Mark::of(&[0; 64]), None);
    }
}
