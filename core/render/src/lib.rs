//! (in building)
