//! One socket to the kernel's routing tables, in the network namespace where it was opened.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::thread;

use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::constants::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::libc::MSG_TRUNC;
use nix::sched::{CloneFlags, setns};

use crate::Trouble;
use crate::entry::{About, Entry};
use crate::link::Interface;

/// As many bytes as one send takes: the kernel works through them before it answers, and the
/// answers have to fit the socket.
const SEND_BYTES: usize = 16 << 10;
/// Room for the answers of one send, and for notifications that nobody has read yet.
const RECEIVE_BYTES: usize = 4 << 20;

/// More than the kernel says at once: it packs what it is asked for into 32 KiB (af_netlink.c).
const ANSWER_BYTES: usize = 64 << 10;

/// An interface came or changed (linux/rtnetlink.h).
const RTM_NEWLINK: u16 = 16;

/// A socket to the kernel's routing tables. It stays in the namespace where it was opened, so that
/// one thread can speak to many.
pub struct Door {
    socket: Socket,
    sequence: u32,
}

/// One change that is asked of the kernel.
#[derive(Clone, Debug)]
pub struct KernelRequest {
    /// What it is about, for the sentence if it fails.
    pub what: String,
    /// The message.
    pub message: RouteNetlinkMessage,
    /// Its flags besides those of every request.
    pub flags: u16,
    /// Errors that mean it is so already.
    pub forgives: &'static [i32],
}

/// What the kernel says.
pub(crate) enum Told {
    /// How an interface is, and in the eyes of whom.
    Link { family: AddressFamily, interface: Interface },
    /// What somebody set by hand, or we, or somebody took away; none if the kernel or the routing
    /// daemons hold it by themselves.
    Entry(Option<Entry>),
    /// Anything else.
    Other(RouteNetlinkMessage),
}

impl Door {
    /// One in the namespace of the calling thread.
    pub fn here() -> Result<Self, Trouble> {
        let failed = Trouble::kernel("open a netlink socket");
        let mut socket = Socket::new(NETLINK_ROUTE).map_err(&failed)?;
        socket.bind_auto().map_err(&failed)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(&failed)?;
        socket.set_rx_buf_sz(RECEIVE_BYTES as i32).map_err(&failed)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// One in this namespace.
    pub fn inside(namespace: &File) -> Result<Self, Trouble> {
        run_inside(namespace, Self::here)?
    }

    /// Hears what changes from now on: bits of `RTMGRP_*`.
    pub fn listening(namespace: &File, groups: u32) -> Result<Self, Trouble> {
        run_inside(namespace, || {
            let failed = Trouble::kernel("tell what changes");
            let mut socket = Socket::new(NETLINK_ROUTE).map_err(&failed)?;
            socket.bind(&SocketAddr::new(0, groups)).map_err(&failed)?;
            socket.set_rx_buf_sz(RECEIVE_BYTES as i32).map_err(&failed)?;
            socket.set_non_blocking(true).map_err(&failed)?;
            Ok(Self { socket, sequence: 0 })
        })?
    }

    /// Reads away what was told since, and gives the messages. More than fits is a change as well.
    pub(crate) fn told(&self) -> Result<Vec<Told>, Trouble> {
        let mut told = Vec::new();
        while let Some(bytes) = self.next_told()? {
            for (_, message) in messages(&bytes)? {
                told.extend(inner(message));
            }
            if bytes.is_empty() {
                told.push(Told::Other(RouteNetlinkMessage::GetLink(Default::default())));
            }
        }
        Ok(told)
    }

    /// Reads away what was told since, and says whether it was anything.
    pub(crate) fn was_told(&self) -> Result<bool, Trouble> {
        let mut any = false;
        while self.next_told()?.is_some() {
            any = true;
        }
        Ok(any)
    }

    /// The next bytes that were told; none of them if more was told than fits.
    fn next_told(&self) -> Result<Option<Vec<u8>>, Trouble> {
        match self.receive() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => Ok(Some(Vec::new())),
            Err(error) => Err(Trouble::kernel("tell what changed")(error)),
        }
    }

    /// Everything of one kind.
    pub(crate) fn dump(&mut self, question: RouteNetlinkMessage) -> Result<Vec<Told>, Trouble> {
        let failed = Trouble::kernel("say what it holds");
        let bytes = self.frame(question, NLM_F_DUMP);
        self.socket.send(&bytes, 0).map_err(&failed)?;
        let mut found = Vec::new();
        loop {
            let bytes = self.receive().map_err(&failed)?;
            for (header, message) in messages(&bytes)? {
                if header.sequence_number != self.sequence {
                    continue; // the rest of an answer that nobody waited for
                }
                match message {
                    NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::Error(error) => return Err(failed(error.to_io())),
                    other => found.extend(inner(other)),
                }
            }
        }
    }

    /// Asks for these changes, in this order. All of them are tried; the first refusal is told.
    pub fn change(&mut self, requests: &[KernelRequest]) -> Result<(), Trouble> {
        let mut refused = None;
        let mut rest = requests;
        while !rest.is_empty() {
            let first = self.sequence.wrapping_add(1);
            let mut bytes = Vec::new();
            let mut count = 0;
            for request in rest {
                bytes.extend(self.frame(request.message.clone(), request.flags | NLM_F_ACK));
                count += 1;
                if bytes.len() > SEND_BYTES {
                    break;
                }
            }
            let (now, later) = rest.split_at(count);
            self.socket.send(&bytes, 0).map_err(Trouble::kernel("take a change"))?;
            let answer = self.answers(now, first)?;
            refused = refused.or(answer);
            rest = later;
        }
        refused.map_or(Ok(()), Err)
    }

    /// Waits until each of these was answered, and gives the first refusal.
    fn answers(&self, requests: &[KernelRequest], first: u32) -> Result<Option<Trouble>, Trouble> {
        let mut refused = None;
        let mut left = requests.len();
        while left > 0 {
            let bytes = self.receive().map_err(Trouble::kernel("answer a change"))?;
            for (header, message) in messages(&bytes)? {
                let place = header.sequence_number.wrapping_sub(first) as usize;
                let (Some(request), NetlinkPayload::Error(error)) = (requests.get(place), message)
                else {
                    continue;
                };
                left -= 1;
                let code = -error.raw_code();
                if code != 0 && !request.forgives.contains(&code) {
                    refused.get_or_insert_with(|| Trouble::kernel(&request.what)(error.to_io()));
                }
            }
        }
        Ok(refused)
    }

    /// What the kernel says next, all that it says at once. To ask first how much that is would
    /// double the calls.
    fn receive(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        let length = self.socket.recv(&mut bytes, MSG_TRUNC)?;
        match length == bytes.len() {
            true => Ok(bytes),
            false => Err(io::Error::other(format!("it says {length} bytes at once"))),
        }
    }

    fn frame(&mut self, message: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags | NLM_F_REQUEST;
        header.sequence_number = self.sequence;
        let mut whole = NetlinkMessage::new(header, NetlinkPayload::from(message));
        whole.finalize();
        let mut bytes = vec![0; whole.buffer_len().next_multiple_of(4)];
        whole.serialize(&mut bytes);
        bytes
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Does something in a network namespace, in a thread of its own: the caller's stays where it is.
pub fn run_inside<T: Send>(
    namespace: &File,
    what: impl FnOnce() -> T + Send,
) -> Result<T, Trouble> {
    let inside = || {
        setns(namespace, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Trouble::kernel("enter a network namespace")(errno.into()))?;
        Ok(what())
    };
    let done = thread::scope(|scope| scope.spawn(inside).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The namespace of the calling thread.
pub fn own_namespace() -> Result<File, Trouble> {
    let path = Path::new("/proc/thread-self/ns/net");
    File::open(path).map_err(Trouble::file(path))
}

type Payload = NetlinkPayload<Told>;

fn messages(bytes: &[u8]) -> Result<Vec<(NetlinkHeader, Payload)>, Trouble> {
    let strange = |error: DecodeError| Trouble::Answer { said: error.to_string() };
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = NetlinkBuffer::new_checked(rest).map_err(strange)?.length() as usize;
        let message = NetlinkMessage::<Told>::deserialize(rest).map_err(strange)?;
        found.push(message.into_parts());
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(found)
}

fn inner(payload: Payload) -> Option<Told> {
    match payload {
        NetlinkPayload::InnerMessage(message) => Some(message),
        _ => None,
    }
}

impl NetlinkDeserializable for Told {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        if let Some(about) = About::of(header.message_type) {
            return Entry::read(about, payload).map(Self::Entry);
        }
        if header.message_type != RTM_NEWLINK {
            return RouteNetlinkMessage::deserialize(header, payload).map(Self::Other);
        }
        let family = payload.first().copied().unwrap_or_default().into();
        Ok(Self::Link { family, interface: Interface::read(payload)? })
    }
}
