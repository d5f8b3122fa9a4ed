//! Tells that something on a node may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use filter::{Kernel, PinnedLink};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::seen::Seen;
use crate::{Door, Place, Spaces, Trouble};

/// Bits of linux/rtnetlink.h: links, neighbours with forwarding entries, queues, addresses, routes
/// and rules.
const LINK: u32 = 0x1;
const NEIGHBOUR: u32 = 0x4;
const QUEUES: u32 = 0x8;
const ADDRESSES: u32 = 0x10 | 0x100;
const ROUTES: u32 = 0x40 | 0x400;
const RULES: u32 = 0x80 | 0x4_0000;

/// How often what tells nothing by itself is asked: the packet program and the routing daemons.
const EVERY: Duration = Duration::from_millis(250);

/// Tells that something on a node may have changed.
pub struct Watch {
    place: Place,
    spaces: Spaces,
    doors: BTreeMap<Option<String>, Door>,
    /// What was seen in each namespace.
    seen: BTreeMap<Option<String>, Seen>,
    /// The namespaces that said something since.
    heard: BTreeSet<Option<String>>,
    polled: Polled,
    next_poll: Instant,
}

/// What has to be asked for.
#[derive(Default, Eq, PartialEq)]
struct Polled {
    links: Vec<PinnedLink>,
    policy: Option<Vec<u8>>,
    /// A daemon that does not answer is a change, when it begins and when it ends.
    frr: Option<String>,
}

impl Watch {
    /// Watches the node where the calling thread is.
    pub fn begin(place: &Place) -> Result<Self, Trouble> {
        let mut watch = Self {
            place: place.clone(),
            spaces: Spaces::open(place)?,
            doors: BTreeMap::new(),
            seen: BTreeMap::new(),
            heard: BTreeSet::new(),
            polled: Polled::at(place)?,
            next_poll: Instant::now() + EVERY,
        };
        watch.listen()?;
        Ok(watch)
    }

    /// Blocks until something changed or the time is over; says whether something did.
    pub fn next(&mut self, at_most: Duration) -> Result<bool, Trouble> {
        let end = Instant::now() + at_most;
        loop {
            let until = self.next_poll.min(end);
            self.wait(until)?;
            if self.told()? {
                // Whoever hears of it looks at everything, also at what tells nothing by itself.
                self.next_poll = Instant::now() + EVERY;
                return Ok(true);
            }
            let now = Instant::now();
            if now >= self.next_poll {
                self.next_poll = now + EVERY;
                let polled = Polled::at(&self.place)?;
                let mut changed = polled != self.polled;
                self.polled = polled;
                changed |= self.refresh()?;
                changed |= self.look_again()?;
                if changed {
                    return Ok(true);
                }
            }
            if now >= end {
                return Ok(false);
            }
        }
    }

    /// VRFs came or went: listens to those there are, and says whether they are others.
    pub fn refresh(&mut self) -> Result<bool, Trouble> {
        let changed = self.spaces.refresh()?;
        if changed {
            self.listen()?;
        }
        Ok(changed)
    }

    fn listen(&mut self) -> Result<(), Trouble> {
        self.doors.clear();
        self.seen.clear();
        for (vrf, namespace) in self.spaces.namespaces() {
            self.doors.insert(vrf.map(str::to_owned), ear(namespace)?);
        }
        self.heard = self.doors.keys().cloned().collect();
        self.look_again().map(drop)
    }

    /// Looks at namespaces that said something, and says whether anything is otherwise there. What
    /// goes is told in words that are also said of what the kernel learnt by itself: a neighbour that
    /// somebody takes away was last seen to fail, like any other.
    fn look_again(&mut self) -> Result<bool, Trouble> {
        let mut changed = false;
        for vrf in std::mem::take(&mut self.heard) {
            let Some(door) = self.spaces.door(vrf.as_deref()) else { continue };
            let seen = Seen::through(door)?;
            changed |= self.seen.get(&vrf) != Some(&seen);
            self.seen.insert(vrf, seen);
        }
        Ok(changed)
    }

    /// Waits for the kernel to say something, or until then.
    fn wait(&self, until: Instant) -> Result<(), Trouble> {
        let left = until.saturating_duration_since(Instant::now());
        let left =
            PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let mut descriptors: Vec<PollFd<'_>> =
            self.doors.values().map(|door| PollFd::new(door.as_fd(), PollFlags::POLLIN)).collect();
        match poll(&mut descriptors, left) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(errno) => Err(Trouble::kernel("wait for changes")(errno.into())),
        }
    }

    /// Whether something was told that surely changes what the node holds. What the routing daemons
    /// and the kernel learn by themselves does not; whether it was that is seen later.
    fn told(&mut self) -> Result<bool, Trouble> {
        let mut matters = false;
        for (vrf, door) in &self.doors {
            let told = door.told()?;
            matters |= told.iter().any(Seen::knows);
            if !told.is_empty() {
                self.heard.insert(vrf.clone());
            }
        }
        Ok(matters)
    }
}

/// Hears of every change in a namespace that can change what is seen there.
pub(crate) fn ear(namespace: &File) -> Result<Door, Trouble> {
    Door::listening(namespace, LINK | NEIGHBOUR | QUEUES | ADDRESSES | ROUTES | RULES)
}

impl Polled {
    fn at(place: &Place) -> Result<Self, Trouble> {
        let policy = Kernel::held_at(&place.filter)?;
        let links = Kernel::links(&place.filter)?;
        Ok(Self { links, policy, frr: crate::frr(&place.frr).ok() })
    }
}
