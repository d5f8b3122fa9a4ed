//! The layers besides the network, judged together: what others' clusters suffered, told on one
//! hall of machines, and pairs of layers of which each is right alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its world has failed")]

mod attest;
mod cuts;
mod fabric;
mod hall;
mod incidents;
mod matrix;
mod recorded;
mod scrub;
