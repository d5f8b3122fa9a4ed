//! Dropped frames, as the kernel tells of them.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use aya::maps::{MapData, RingBuf};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use wire::{Hook, Reason};

use crate::Fault;
use crate::kernel::{Kernel, map};

/// A dropped frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DropEvent {
    /// When, in the kernel's monotonic nanoseconds.
    pub time_ns: u64,
    /// Where.
    pub hook: Hook,
    /// Why.
    pub reason: Reason,
    /// The interface's number.
    pub interface: u32,
    /// The source's tag; 0 if it is not known.
    pub source: u16,
    /// The destination's tag; 0 if it is not known.
    pub destination: u16,
    /// The tenant's number; 0 if it is not known.
    pub tenant: u32,
    /// How long the frame was.
    pub len: u32,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// How many drops of the same origin were counted but not told before this one.
    pub missed: u32,
}

/// The list of events of one filter. Whoever takes an event has it alone.
pub struct Events(RingBuf<MapData>);

impl Kernel {
    /// The list of dropped frames.
    pub fn events(&self) -> Result<Events, Fault> {
        self.map("events")?.try_into().map(Events).map_err(map("events"))
    }
}

impl Events {
    /// The next event, if one is there.
    pub fn take(&mut self) -> Option<DropEvent> {
        loop {
            let item = self.0.next()?;
            if let Some(event) = decode(&item) {
                return Some(event);
            }
        }
    }

    /// Waits until there is an event, at most so long.
    pub fn wait(&self, longest: Duration) -> Result<(), Fault> {
        let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
        let mut descriptors = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        match poll(&mut descriptors, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(Fault::Call { map: "events", source: errno.into() }),
        }
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `struct event` of the program.
fn decode(bytes: &[u8]) -> Option<DropEvent> {
    let u16_at = |at: usize| bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes);
    let u32_at = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let seen = u32_at(16)? as usize;
    Some(DropEvent {
        time_ns: u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?),
        interface: u32_at(8)?,
        len: u32_at(12)?,
        tenant: u32_at(20)?,
        missed: u32_at(28)?,
        source: u16_at(32)?,
        destination: u16_at(34)?,
        hook: Hook::from_code(*bytes.get(38)?)?,
        reason: Reason::from_code(*bytes.get(39)?)?,
        bytes: bytes.get(40..40 + seen)?.to_vec(),
    })
}
