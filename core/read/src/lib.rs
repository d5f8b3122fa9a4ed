//! What does this text let through?
//!
//! Takes: the text of one artifact or one part of it. Gives: claims, each with the line that
//! says it. Never: skips a line it does not know.

mod amd;
mod attest;
mod claim;
mod devices;
mod dialect;
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
mod pattern;
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
pub use dialect::{Demanded, Description, Ignored, claims, description, part};
pub use differ::{Difference, differences};
pub use hold::{
    AttestReport, ClaimRequest, ClaimedGpu, Cleaned, DeviceFile, Direction, Function, GpuClass,
    Hold, PastOwner, Peer, SlurmFact,
};

use smol_str::SmolStr;

/// What a text says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reading {
    /// What it says that matters here, in the order of its lines.
    pub claims: Vec<Claim>,
    /// Lines that nobody knows. A text with such a line is never cleared.
    pub unknown: Vec<Unknown>,
    /// Lines that are none of our business, by the dialect's explicit list.
    pub ignored: Vec<u32>,
    /// Lines that must be there and are not. A text without one is never cleared.
    pub lacking: Vec<Lacking>,
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

/// A line that must be there and is not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lacking {
    /// The line that opens the block it belongs into; 0 if it belongs into none.
    pub line: u32,
    /// What should stand there.
    pub text: SmolStr,
    /// What happens without it.
    pub why: &'static str,
}
