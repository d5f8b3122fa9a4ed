//! The rule on frames made by hand.

mod attacks;
mod broken;
mod edges;
mod forged;
mod jobs;
mod neighbours;
mod reasons;
mod total;
mod world;
