//! Whatever a device of dialect frr may hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_whatever(model::Dialect::Frr, bytes));
