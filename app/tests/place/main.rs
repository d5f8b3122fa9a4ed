//! Where gangs go, who makes way for them, and what is left: as people and programs read it.

#![allow(clippy::unwrap_used, reason = "an answer that cannot be read has failed the test")]

#[path = "../desk/mod.rs"]
mod desk;
mod gang;
mod room;
mod yard;
