//! How long, how much, and how far from the bound?
//!
//! Takes: work to measure. Gives: rows of a table. Never: judges a test by the clock; a row over
//! its bound is printed as such and nothing more.

mod clock;
mod figure;
mod memory;
mod scale;
mod table;

pub use clock::{Times, repeat, timed};
pub use figure::Figure;
pub use memory::Peak;
pub use scale::Scale;
pub use table::{Row, Table};
