//! A small world for the demonstration: its documents, and namespaces in which the real packet
//! program judges real packets.

mod host;
mod namespace;
mod ping;

use intent::Source;

pub(crate) use host::{Host, Peer, Workload};
pub(crate) use namespace::Trouble;

/// A host that two tenants share, with all its layers.
pub(crate) const HALL: [Source<'static>; 1] =
    [Source { file: "hall.yaml", text: include_str!("../hall/hall.yaml") }];

/// What the demonstration is about.
pub(crate) const DOCUMENTS: [Source<'static>; 3] = [
    Source { file: "fleet.yaml", text: include_str!("fleet.yaml") },
    Source { file: "work.yaml", text: include_str!("work.yaml") },
    Source { file: "permits.yaml", text: include_str!("permits.yaml") },
];
