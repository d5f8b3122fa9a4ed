//! What does this text let through?
//!
//! Takes: the text of one artifact or one part of it. Gives: claims, each with the line that
//! says it. Never: skips a line it does not know.

mod amd;
mod attest;
mod claim;
mod devices;
mod differ;
mod frr;
mod hold;
mod imex;
mod kubernetes;
mod lines;
mod linux;
mod mig;
mod nvlink;
mod nxos;
mod pkey;
mod run;
mod scrub;
mod slurm;
mod statement;
mod table;
mod values;
mod versions;
mod vfio;
mod vm;
mod words;
mod yaml;

pub use claim::{Bridge, Claim, Fact, Scope, Stray};
pub use differ::{Difference, differences};
pub use hold::{AttestReport, Cleaned, DeviceFile, Direction, Function, Hold, PastOwner, Peer};

use model::Dialect;

/// What a text says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reading {
    /// What it says that matters here, in the order of its lines.
    pub claims: Vec<Claim>,
    /// Lines that nobody knows. A text with such a line is never cleared.
    pub unknown: Vec<Unknown>,
    /// Lines that are none of our business, by the dialect's explicit list.
    pub ignored: Vec<u32>,
}

impl Reading {
    /// An empty one with room for as many claims as a text of this size usually makes.
    fn with_room_for(text: &str) -> Self {
        const USUAL_LINE_BYTES: usize = 32;
        Self { claims: Vec::with_capacity(text.len() / USUAL_LINE_BYTES), ..Self::default() }
    }
}

/// A line that nobody knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unknown {
    /// The line, counted from 1.
    pub line: u32,
    /// What stands there.
    pub text: String,
    /// Why it cannot be understood.
    pub why: &'static str,
}

/// Reads a text in its dialect.
#[must_use]
pub fn claims(dialect: Dialect, text: &str) -> Reading {
    match dialect {
        Dialect::Frr => frr::read(text),
        Dialect::Nxos => nxos::read(text),
        Dialect::Linux => linux::read(text),
        Dialect::Table => table::read(text),
        Dialect::Vfio => vfio::read(text),
        Dialect::Versions => versions::read(text),
        Dialect::Mig => mig::read(text),
        Dialect::Amd => amd::read(text),
        Dialect::Nvlink => nvlink::read(text),
        Dialect::Imex => imex::read(text),
        Dialect::Pkey => pkey::read(text),
        Dialect::Devices => devices::read(text),
        Dialect::Vm => vm::read(text),
        Dialect::Slurm => slurm::read(text),
        Dialect::Kubernetes => kubernetes::read(text),
        Dialect::Scrub => scrub::read(text),
        Dialect::Attest => attest::read(text),
    }
}

/// The lines of a dialect that are none of our business. All others are read or refused.
#[must_use]
pub fn ignored(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Frr => frr::IGNORED,
        Dialect::Nxos => nxos::IGNORED,
        Dialect::Linux => linux::IGNORED,
        Dialect::Table => table::IGNORED,
        Dialect::Vfio => vfio::IGNORED,
        Dialect::Versions => versions::IGNORED,
        Dialect::Mig => mig::IGNORED,
        Dialect::Amd => amd::IGNORED,
        Dialect::Nvlink => nvlink::IGNORED,
        Dialect::Imex => imex::IGNORED,
        Dialect::Pkey => pkey::IGNORED,
        Dialect::Devices => devices::IGNORED,
        Dialect::Vm => vm::IGNORED,
        Dialect::Slurm => slurm::IGNORED,
        Dialect::Kubernetes => kubernetes::IGNORED,
        Dialect::Scrub => scrub::IGNORED,
        Dialect::Attest => attest::IGNORED,
    }
}
