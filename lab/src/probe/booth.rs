//! What stands in each workload's namespace: sockets that ask and sockets that answer.
//!
//! A socket stays in the namespace it was made in, whoever uses it: one thread serves them all.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, SockaddrIn6, bind,
    connect, recv, sendto, socket,
};

use super::{Family, ProbeWay};
use crate::workload::Workload;

/// What is heard on a socket.
pub(super) enum Ear {
    /// Echoes and their answers.
    Echo(OwnedFd),
    /// Answers to datagrams.
    Answer(UdpSocket),
    /// Datagrams that ask.
    Datagram(UdpSocket),
    /// RoCE, both ways: its answers come to the same port.
    Roce(UdpSocket),
    /// Connections.
    Listener(TcpListener),
    /// A connection that was accepted.
    Accepted(TcpStream),
    /// A connection that asks, with the number of its probe.
    Asking(TcpStream, u32),
}

/// The sockets of one workload in one protocol.
pub(super) struct Booth {
    /// In the order: echo, answers, then one for each way.
    pub(super) ears: Vec<Ear>,
}

/// The port of RoCEv2.
const ROCE_PORT: u16 = 4791;

impl Workload {
    pub(super) const fn address_in(&self, family: Family) -> IpAddr {
        match family {
            Family::V4 => IpAddr::V4(self.address),
            Family::V6 => IpAddr::V6(self.twin),
        }
    }
}

impl Booth {
    /// Opens it in the namespace of this thread.
    pub(super) fn open(address: IpAddr, ways: &[ProbeWay]) -> io::Result<Self> {
        let mut ears = vec![Ear::Echo(raw(address)?), Ear::Answer(datagram(address, 0)?)];
        for way in ways {
            match way {
                ProbeWay::Icmp => {}
                ProbeWay::Udp(port) => ears.push(Ear::Datagram(datagram(address, *port)?)),
                ProbeWay::Roce => ears.push(Ear::Roce(datagram(address, ROCE_PORT)?)),
                ProbeWay::Tcp(port) => {
                    let listener = TcpListener::bind(SocketAddr::new(address, *port))?;
                    listener.set_nonblocking(true)?;
                    ears.push(Ear::Listener(listener));
                }
            }
        }
        Ok(Self { ears })
    }
}

impl Ear {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Echo(socket) => socket.as_fd(),
            Self::Answer(socket) | Self::Datagram(socket) | Self::Roce(socket) => socket.as_fd(),
            Self::Listener(socket) => socket.as_fd(),
            Self::Accepted(socket) | Self::Asking(socket, _) => socket.as_fd(),
        }
    }
}

/// Where datagrams of a way go.
pub(super) const fn port(way: ProbeWay) -> u16 {
    match way {
        ProbeWay::Icmp => 0,
        ProbeWay::Tcp(port) | ProbeWay::Udp(port) => port,
        ProbeWay::Roce => ROCE_PORT,
    }
}

/// Begins a connection from the namespace of this thread; whether it comes about is heard later.
pub(super) fn begin(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = open(from, SockType::Stream, None)?;
    match (from, to) {
        (IpAddr::V4(from), SocketAddr::V4(to)) => {
            bind(socket.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(from, 0)))?;
            begun(connect(socket.as_raw_fd(), &SockaddrIn::from(to)))?;
        }
        (IpAddr::V6(from), SocketAddr::V6(to)) => {
            let own = std::net::SocketAddrV6::new(from, 0, 0, 0);
            bind(socket.as_raw_fd(), &SockaddrIn6::from(own))?;
            begun(connect(socket.as_raw_fd(), &SockaddrIn6::from(to)))?;
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    }
    Ok(TcpStream::from(socket))
}

fn begun(connecting: nix::Result<()>) -> io::Result<()> {
    match connecting {
        Ok(()) | Err(nix::Error::EINPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sends an echo request.
pub(super) fn send_echo(socket: &OwnedFd, to: IpAddr, message: &[u8]) -> io::Result<()> {
    let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
    match to {
        IpAddr::V4(to) => {
            let to = SockaddrIn::from(std::net::SocketAddrV4::new(to, 0));
            sendto(fd, message, &to, flags)?;
        }
        IpAddr::V6(to) => {
            let to = SockaddrIn6::from(std::net::SocketAddrV6::new(to, 0, 0, 0));
            sendto(fd, message, &to, flags)?;
        }
    }
    Ok(())
}

/// Takes a packet off a raw socket; none if there is none left.
pub(super) fn take(socket: &OwnedFd, packet: &mut [u8]) -> Option<usize> {
    recv(socket.as_raw_fd(), packet, MsgFlags::MSG_DONTWAIT).ok()
}

fn datagram(address: IpAddr, port: u16) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::new(address, port))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn raw(address: IpAddr) -> io::Result<OwnedFd> {
    let protocol = if address.is_ipv4() { SockProtocol::Icmp } else { SockProtocol::IcmpV6 };
    let socket = open(address, SockType::Raw, Some(protocol))?;
    // Without this the kernel would choose a source, and might choose one that nobody planned.
    match address {
        IpAddr::V4(own) => {
            bind(socket.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(own, 0)))?;
        }
        IpAddr::V6(own) => {
            let own = std::net::SocketAddrV6::new(own, 0, 0, 0);
            bind(socket.as_raw_fd(), &SockaddrIn6::from(own))?;
        }
    }
    Ok(socket)
}

fn open(address: IpAddr, kind: SockType, protocol: Option<SockProtocol>) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socket(family, kind, flags, protocol)?)
}
