//! Why a policy is not in force: it was refused, it is late, or the kernel failed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use aya::EbpfError;
use aya::maps::MapError;
use aya::pin::PinError;
use aya::programs::ProgramError;
use aya::programs::links::LinkError;
use model::Generation;

use crate::TableRefusal;

/// Why a policy is not in force.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// It cannot be held.
    #[error(transparent)]
    Refused(#[from] TableRefusal),
    /// A later one is in force.
    #[error("generation {ours} is older than {theirs}, which is in force")]
    Stale {
        /// What was to be put in force.
        ours: Generation,
        /// What is.
        theirs: Generation,
    },
    /// The kernel failed us.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// How the kernel failed us. Nothing is half attached after one.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The kernel does not let us.
    #[error(
        "loading a packet program needs the capabilities CAP_BPF and CAP_NET_ADMIN: run it as root"
    )]
    Privilege {
        /// Its answer.
        source: io::Error,
    },
    /// There is nothing to work with.
    #[error("no filter is loaded at {place}: `filter attach` loads it")]
    NotLoaded {
        /// Where it was looked for.
        place: PathBuf,
    },
    /// There is a filter already.
    #[error("a filter is loaded at {place} already")]
    AlreadyLoaded {
        /// Where.
        place: PathBuf,
    },
    /// The kernel is too old.
    #[error("this kernel cannot keep a program attached by itself: Linux 6.6 or later is needed")]
    OldKernel,
    /// The interface is not here.
    #[error("there is no interface {interface} in this network namespace")]
    NoInterface {
        /// Its name.
        interface: String,
    },
    /// The kernel refused the object.
    #[error("the kernel does not take the packet program")]
    Load {
        /// Its answer.
        source: Box<EbpfError>,
    },
    /// The object lacks a program.
    #[error("the packet program has no part `{name}`")]
    Object {
        /// The part.
        name: &'static str,
    },
    /// The kernel refused one program.
    #[error("the kernel does not take the program `{program}`")]
    Program {
        /// Which one.
        program: &'static str,
        /// Its answer.
        source: Box<ProgramError>,
    },
    /// A program cannot stand at an interface.
    #[error("the program `{hook}` cannot stand at {interface}")]
    Attach {
        /// Which one.
        hook: &'static str,
        /// Where.
        interface: String,
        /// The kernel's answer.
        source: ProgramError,
    },
    /// Something cannot be pinned.
    #[error("the kernel does not keep what was loaded")]
    Pin {
        /// Its answer.
        source: PinError,
    },
    /// A program cannot take the place of another.
    #[error("the kernel does not change a program that is attached")]
    Link {
        /// Its answer.
        source: LinkError,
    },
    /// A map cannot be read or written.
    #[error("the table `{map}` does not answer")]
    Map {
        /// Which one.
        map: &'static str,
        /// The kernel's answer.
        source: MapError,
    },
    /// A map cannot be made, read or written.
    #[error("the table `{map}` does not answer")]
    Call {
        /// Which one.
        map: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel's timer does not start.
    #[error("the kernel does not time the lease; the gate is as it was")]
    Lease,
    /// Another process changes the filter, and does not come to its end.
    #[error(
        "{} holds the filter at {} and does not let it go: let it go on, or end it",
        Holder(*holder),
        place.display()
    )]
    Held {
        /// The process, if it can be seen from here.
        holder: Option<u32>,
        /// Which filter.
        place: PathBuf,
    },
    /// Probes cannot be heard.
    #[error("hearing probes needs a packet socket, and with it the capability CAP_NET_RAW")]
    Deaf {
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file cannot be read or written.
    #[error("{} does not answer", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Who holds the lock, in words.
struct Holder(Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("a process that cannot be seen from here"),
        }
    }
}

impl Fault {
    /// Whether the interface that a program stood at is no more.
    pub(crate) fn is_severed(&self) -> bool {
        let Self::Program { source, .. } = self else { return false };
        matches!(&**source, ProgramError::SyscallError(call)
            if call.io_error.raw_os_error() == Some(libc::ENOLINK))
    }

    pub(crate) fn load(source: EbpfError) -> Self {
        Self::Load { source: Box::new(source) }
    }
}
