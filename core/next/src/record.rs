//! What the log says, in names and digests. Each record is small: what it speaks of stands beside
//! the log under its digest.

use intent::Key;
use model::{Digest, Epoch, Generation, Name, Timestamp};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One thing that happened.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// The log began, or goes on in a new life after it was lost, cut or restored.
    Began {
        /// The form of the records.
        format: u32,
        /// Which installation it is of.
        installation: SmolStr,
        /// Which life this is.
        epoch: Epoch,
        /// The last record of the life before, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// What follows is on trial: devices go back by themselves unless it is confirmed in time.
    Tried {
        /// Until when.
        until: Timestamp,
    },
    /// Documents were taken: from now on they are what is asked for.
    Accepted {
        /// Those that are new or differ from before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        put: Vec<Put>,
        /// Those that are taken away.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delete: Vec<Key>,
    },
    /// A choice was made, or something was seen that frees one.
    Choice(plan::Choice),
    /// The texts of this generation were judged and found without fault, and are about to be sent.
    Proved {
        /// Which generation.
        generation: Generation,
        /// What all texts of all devices come down to.
        root: Digest,
        /// The devices whose text differs from before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<Target>,
        /// The devices that are configured no longer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<Name>,
    },
    /// Something was asked for that cannot be; nothing else of the request is kept.
    Refused {
        /// How many reasons there are.
        reasons: u32,
        /// The first of them, each with its code.
        first: Vec<SmolStr>,
    },
    /// These devices said that they hold what they were sent last.
    Acknowledged {
        /// Which generation each of them holds: the last that changed it.
        devices: Vec<(Name, Generation)>,
    },
    /// These devices opened the ports of what they hold.
    Started {
        /// Which generation each of them started.
        devices: Vec<(Name, Generation)>,
    },
    /// The plan on trial stays: every device that was sent it said so.
    Confirmed {
        /// Which one.
        generation: Generation,
        /// But for these, which nobody asked: they may go back by themselves.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<Name>,
    },
    /// Nobody confirmed the plan on trial in time: its documents are no longer asked for, and the
    /// choices that follow take everything back that it changed.
    WentBack {
        /// Which one.
        generation: Generation,
    },
    /// Devices hold, or do, what they must not.
    Found {
        /// A short word for the kind of finding.
        code: SmolStr,
        /// What tells this finding from all others, as long as it stands.
        id: SmolStr,
        /// The devices whose texts say so.
        devices: Vec<Name>,
    },
    /// A finding stands no longer.
    Resolved {
        /// Which one.
        id: SmolStr,
    },
    /// A device held something else than it was sent, and its agent acted.
    Drifted {
        /// The device.
        device: Name,
        /// How many statements differed.
        statements: u32,
        /// Whether it holds again what it was sent.
        is_repaired: bool,
    },
}

/// A document that was taken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// What it is about.
    pub key: Key,
    /// Its text, which stands beside the log.
    pub digest: Digest,
    /// The file it came from, as whoever sent it called it.
    pub file: SmolStr,
    /// How many lines of that file are before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_before: u32,
}

/// What one device shall hold.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The device.
    pub device: Name,
    /// What its texts come down to.
    pub digest: Digest,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}
