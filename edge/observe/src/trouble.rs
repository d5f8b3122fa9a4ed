//! Why a node does not say what it holds.

use std::io;
use std::path::{Path, PathBuf};

/// Why a node does not say what it holds.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The kernel refused a request.
    #[error("the kernel does not {what}")]
    Kernel {
        /// What was asked.
        what: String,
        /// Its answer.
        source: io::Error,
    },
    /// The kernel's answer is not understood.
    #[error("the kernel's answer is not understood: {said}")]
    Answer {
        /// What is wrong with it.
        said: String,
    },
    /// A file or a socket does not answer.
    #[error("{} does not answer", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// VRFs shall be devices, and there are none.
    #[error(
        "this kernel makes no VRF devices: take one with CONFIG_NET_VRF and load its module `vrf`, \
         or let VRFs be namespaces (--vrfs namespaces, with zebra -n)"
    )]
    NoDevices,
    /// The packet program does not answer.
    #[error(transparent)]
    Filter(#[from] filter::Fault),
    /// The table of the packet program contradicts itself.
    #[error("the packet program's table contradicts itself: put it in force anew")]
    Table,
    /// The routing daemons do not answer as they should.
    #[error(transparent)]
    Daemon(#[from] crate::VtyTrouble),
}

impl Trouble {
    /// The system's word on a file.
    pub fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { path: path.into(), source }
    }

    /// The kernel's word on a request.
    pub fn kernel(what: &str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Kernel { what: what.into(), source }
    }

    /// Whether what was asked for is not there (any more).
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let (Self::Kernel { source, .. } | Self::File { source, .. }) = self else { return false };
        source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(nix::libc::ENODEV)
    }
}
