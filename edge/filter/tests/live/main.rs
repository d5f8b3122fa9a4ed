//! The filter with real traffic, between network namespaces of its own.
//!
//! Needs root; without it every test says so and passes. `ROUNDS=10 cargo test -p filter --test
//! live` does ten times as much of everything that is repeated.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a world that fails is a failed test")]

mod errors;
mod events;
mod first;
mod lab;
mod lease;
mod mark;
mod probe;
mod rate;
mod replay;
mod socket;
mod swap;
mod told;
mod ways;
