//! What the verifier says of the layers besides the network.

#![allow(clippy::unwrap_used, reason = "a fixture that is wrong fails its test")]

mod attest;
mod clusters;
mod exact;
mod random;
mod rules;
mod together;
mod world;
