//! The real kernel: what a node is told to hold, it holds, and says so in the same words.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod hold;
mod kills;
mod packets;
mod queues;
mod strays;
mod world;
