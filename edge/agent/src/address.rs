//! Where an agent listens.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Where an agent listens: `unix:/run/agent.sock`, or a host and a port such as `10.0.0.3:4647`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host (a name, an IPv4 address, or an IPv6 address in brackets) and a port.
    Tcp(String),
}

/// The text is no address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is no address: write unix:/path/to/socket, or HOST:PORT such as 10.0.0.3:4647")]
pub struct NotAnAddress(String);

/// An open door.
pub struct Listener(Door);

enum Door {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// Bytes both ways.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        let wrong = || NotAnAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.starts_with('/') { Ok(Self::Unix(path.into())) } else { Err(wrong()) };
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
        match port.parse::<u16>() {
            Ok(_) if is_host => Ok(Self::Tcp(text.to_owned())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(place) => f.write_str(place),
        }
    }
}

impl Address {
    /// Begins to listen there. A socket that a dead agent left behind is taken over; one where
    /// somebody still answers is not.
    pub async fn listen(&self) -> io::Result<Listener> {
        let door = match self {
            Self::Unix(path) => {
                clear_away(path).await?;
                Door::Unix(UnixListener::bind(path)?, path.clone())
            }
            Self::Tcp(place) => Door::Tcp(TcpListener::bind(place).await?),
        };
        Ok(Listener(door))
    }

    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Self::Tcp(place) => {
                let stream = TcpStream::connect(place).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

async fn clear_away(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path).await {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("an agent answers at {} already: stop that one first", path.display()),
        )),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Err(_) => Ok(()),
    }
}

impl Listener {
    /// Where it listens: also when the port was left to the kernel.
    pub fn address(&self) -> io::Result<Address> {
        match &self.0 {
            Door::Unix(_, path) => Ok(Address::Unix(path.clone())),
            Door::Tcp(listener) => Ok(Address::Tcp(listener.local_addr()?.to_string())),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match &self.0 {
            Door::Unix(listener, _) => Ok(Box::new(listener.accept().await?.0)),
            Door::Tcp(listener) => {
                let stream = listener.accept().await?.0;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_it_is_read_and_nonsense_is_refused() {
        for text in ["unix:/run/a.sock", "10.0.0.3:4647", "leaf-3.lan:4647", "[2001:db8::1]:4647"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in
            ["", "unix:", "unix:a.sock", "leaf-3", ":4647", "leaf-3:", "2001:db8::1", "a:70000"]
        {
            assert_eq!(text.parse::<Address>(), Err(NotAnAddress(text.to_owned())), "{text}");
        }
    }
}
