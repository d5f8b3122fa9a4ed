//! Frames through worlds whose texts are written by hand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test's world that cannot be built shall fail loudly"
)]

mod applied;
mod held;
mod linux;
mod mixed;
mod nxos;
mod underlay;
mod world;
