//! What the room promises, held by stories and by random traces.

mod contradictions;
mod keys;
mod promises;
mod properties;
mod refusals;
mod stories;
mod world;
