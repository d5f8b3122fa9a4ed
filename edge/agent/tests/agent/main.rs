//! Agents and their controller, through real sockets and proofs of identity. Only the nodes are
//! made of memory.

#![allow(clippy::unwrap_used, reason = "a stage that breaks ends the test")]

mod authority;
mod drift;
mod lease;
mod probe;
mod proof;
mod push;
mod rehearse;
mod restart;
mod stage;
mod trial;
